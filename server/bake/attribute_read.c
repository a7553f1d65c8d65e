#include "server/bake/attribute_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/accessor.h"

enum { SETS_MAX = SCENE_INFLUENCES_MAX / 4 };

// Quantised unit vectors are off by a percent and no one's fault.
static const double UNIT_TOLERANCE = 0.02;

const struct vec3 *attribute_read_positions(struct source *src, const struct doc_at *at,
                                            int32_t accessor, uint32_t *vertex_count)
{
    const struct source_accessor *a = accessor_expect(src, at, accessor, ACCESSOR_VEC3);
    if (!a) return NULL;
    *vertex_count = a->count;
    return (const struct vec3 *)accessor_floats(src, at, accessor);
}

// ---- one attribute: decode, mend, keep

typedef void fix_fn(struct scene *notes, float *values, uint32_t count);

static void fix_uvs(struct scene *notes, float *values, uint32_t count)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < 2 * (size_t)count; i++)
        if (!isfinite(values[i])) {
            values[i] = 0;
            bad++;
        }
    if (bad)
        scene_note(notes, NOTE_REPAIRED, bad, "texture coordinates that are no numbers, now 0");
}

static void fix_colors(struct scene *notes, float *values, uint32_t count)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < 4 * (size_t)count; i++)
        if (!isfinite(values[i])) {
            values[i] = 1;
            bad++;
        }
    if (bad) scene_note(notes, NOTE_REPAIRED, bad, "vertex colours that are no numbers, now white");
}

struct unit_counts {
    uint32_t unusable, off;
};

static void make_unit(float *v, const float fallback[3], struct unit_counts *counts)
{
    double x = (double)v[0], y = (double)v[1], z = (double)v[2];
    double length = sqrt(x * x + y * y + z * z);
    if (!(length > 1e-20) || !isfinite(length)) {
        memcpy(v, fallback, 3 * sizeof *v);
        counts->unusable++;
        return;
    }
    counts->off += fabs(length - 1) > UNIT_TOLERANCE;
    v[0] = (float)(x / length);
    v[1] = (float)(y / length);
    v[2] = (float)(z / length);
}

static void note_units(struct scene *notes, const struct unit_counts *counts, const char *what)
{
    if (counts->unusable)
        scene_note(notes, NOTE_REPAIRED, counts->unusable, "%s without a direction, replaced",
                   what);
    if (counts->off)
        scene_note(notes, NOTE_REPAIRED, counts->off, "%s that are not unit, normalised", what);
}

static void fix_normals(struct scene *notes, float *values, uint32_t count)
{
    struct unit_counts counts = {0};
    for (size_t i = 0; i < count; i++)
        make_unit(values + 3 * i, (const float[3]){0, 1, 0}, &counts);
    note_units(notes, &counts, "normals");
}

static void fix_tangents(struct scene *notes, float *values, uint32_t count)
{
    struct unit_counts counts = {0};
    uint32_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        float *w = values + 4 * i + 3;
        make_unit(values + 4 * i, (const float[3]){1, 0, 0}, &counts);
        bad += fabsf(*w) != 1.0F;
        *w = *w < 0 ? -1.0F : 1.0F;
    }
    note_units(notes, &counts, "tangents");
    if (bad) scene_note(notes, NOTE_REPAIRED, bad, "tangents whose sign is not 1 or -1");
}

struct want {
    enum memo_kind kind;
    struct accessor_shape shape;
    fix_fn *fix;
};

static const struct source_accessor *expect_count(struct source *src, const struct doc_at *at,
                                                  int32_t accessor, struct accessor_shape shape,
                                                  uint32_t vertex_count)
{
    const struct source_accessor *a = accessor_expect(src, at, accessor, shape);
    if (!a || a->count == vertex_count) return a;
    (void)doc_fail(&src->doc, at, ERR_MALFORMED, "%u elements, but POSITION has %u", a->count,
                   vertex_count);
    return NULL;
}

// RGB in place to RGBA, from the end so that nothing is overwritten too early.
static void widen_colors(float *values, uint32_t count)
{
    for (size_t i = count; i-- > 0;) {
        float rgb[3] = {values[3 * i], values[3 * i + 1], values[3 * i + 2]};
        memcpy(values + 4 * i, rgb, sizeof rgb);
        values[4 * i + 3] = 1;
    }
}

static const float *read_one(struct source *src, const struct doc_at *at, int32_t accessor,
                             const struct want *want, uint32_t vertex_count)
{
    struct doc *d = &src->doc;
    const struct source_accessor *a = expect_count(src, at, accessor, want->shape, vertex_count);
    if (!a) return NULL;
    struct memo_key key = {{(int32_t)want->kind, accessor}};
    const float *known = memo_find(&src->memo, &key);
    if (known || !accessor_check_bytes(src, at, accessor)) return known;
    bool rgb = want->kind == MEMO_COLORS && a->layout.rows == 3;
    size_t room = (size_t)a->count * a->layout.columns * (rgb ? 4U : a->layout.rows);
    if (a->view == SCENE_NONE) doc_declare(d, room * sizeof(float));
    float *values = DOC_KEEP(d, at, float, room);
    if (!values || !accessor_decode(src, at, accessor, values)) return NULL;
    if (rgb) widen_colors(values, a->count);
    want->fix(d->scene, values, a->count);
    memo_add(&src->memo, d, at, &key, values);
    return values;
}

// NULL when absent (or on failure).
static const float *read_named(struct source *src, const struct doc_at *attributes,
                               const char *name, const struct want *want, uint32_t vertex_count)
{
    struct doc_at at = doc_member(attributes, name);
    int32_t accessor = doc_index(&src->doc, attributes, name, src->accessor_count);
    if (accessor == SCENE_NONE) return NULL;
    return read_one(src, &at, accessor, want, vertex_count);
}

static void note_beyond(struct source *src, const struct doc_at *attributes, const char *stem,
                        uint32_t set)
{
    for (uint32_t i = set; i < set + 2; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "%s_%u", stem, i);
        struct doc_at at = doc_member(attributes, name);
        if (at.value)
            scene_note(src->doc.scene, NOTE_LEFT_OUT, 1, "%s of primitives: set %u is not used",
                       name, i);
    }
}

static void read_uvs_and_colors(struct source *src, const struct doc_at *attributes,
                                struct scene_primitive *p)
{
    static const struct want uv = {MEMO_UV, {2, 1}, fix_uvs},
                             color = {MEMO_COLORS, {0, 1}, fix_colors};
    char name[24];
    for (; p->uv_set_count < SCENE_UV_SETS_MAX; p->uv_set_count++) {
        (void)snprintf(name, sizeof name, "TEXCOORD_%u", p->uv_set_count);
        const float *values = read_named(src, attributes, name, &uv, p->vertex_count);
        if (!values) break;
        memcpy(&p->uv[p->uv_set_count], &values, sizeof values); // see attribute_read
    }
    for (; p->color_set_count < SCENE_COLOR_SETS_MAX; p->color_set_count++) {
        (void)snprintf(name, sizeof name, "COLOR_%u", p->color_set_count);
        struct doc_at at = doc_member(attributes, name);
        int32_t accessor = doc_index(&src->doc, attributes, name, src->accessor_count);
        if (accessor == SCENE_NONE) break;
        const struct source_layout *l = &src->accessors[accessor].layout;
        struct want want = color;
        want.shape = l->rows == 3 ? ACCESSOR_VEC3 : ACCESSOR_VEC4;
        const float *values = read_one(src, &at, accessor, &want, p->vertex_count);
        if (!values) break;
        memcpy(&p->colors[p->color_set_count], &values, sizeof values);
    }
    note_beyond(src, attributes, "TEXCOORD", p->uv_set_count);
    note_beyond(src, attributes, "COLOR", p->color_set_count);
}

// ---- joints and weights

struct influences { // what the memo keeps
    uint32_t per_vertex, joint_end;
    uint16_t *joints;
    float *weights;
};

struct sets {
    uint32_t count;
    int32_t joints[SETS_MAX], weights[SETS_MAX];
};

static bool find_sets(struct source *src, const struct doc_at *attributes, uint32_t vertex_count,
                      struct sets *out)
{
    struct doc *d = &src->doc;
    *out = (struct sets){0};
    for (uint32_t i = 0; i < SETS_MAX; i++) {
        char joints_name[16], weights_name[16];
        (void)snprintf(joints_name, sizeof joints_name, "JOINTS_%u", i);
        (void)snprintf(weights_name, sizeof weights_name, "WEIGHTS_%u", i);
        struct doc_at joints_at = doc_member(attributes, joints_name),
                      weights_at = doc_member(attributes, weights_name);
        int32_t joints = doc_index(d, attributes, joints_name, src->accessor_count);
        int32_t weights = doc_index(d, attributes, weights_name, src->accessor_count);
        if (d->error != ERR_OK) return false;
        if ((joints == SCENE_NONE) != (weights == SCENE_NONE))
            scene_note(d->scene, NOTE_LEFT_OUT, 1, "%s of primitives that have no %s",
                       joints == SCENE_NONE ? weights_name : joints_name,
                       joints == SCENE_NONE ? joints_name : weights_name);
        if (joints == SCENE_NONE || weights == SCENE_NONE) continue;
        if (!expect_count(src, &joints_at, joints, ACCESSOR_VEC4, vertex_count) ||
            !expect_count(src, &weights_at, weights, ACCESSOR_VEC4, vertex_count))
            return false;
        out->joints[out->count] = joints;
        out->weights[out->count++] = weights;
    }
    return true;
}

// One set into its four columns. Joints whose weight is 0 become 0: exporters leave anything there.
static bool fill_set(struct source *src, const struct doc_at *at, const struct sets *sets,
                     uint32_t set, uint32_t vertex_count, struct influences *out)
{
    struct doc *d = &src->doc;
    float *temp = source_temp(src, at, 8 * (size_t)vertex_count);
    if (!temp) return false;
    float *weights = temp;
    uint32_t *joints = (uint32_t *)(void *)(temp + 4 * (size_t)vertex_count);
    memset(joints, 0, 4 * (size_t)vertex_count * sizeof *joints);
    if (!accessor_decode(src, at, sets->weights[set], weights) ||
        !accessor_decode_uint(src, at, sets->joints[set], joints))
        return false;
    uint32_t bad = 0;
    for (size_t i = 0; i < 4 * (size_t)vertex_count; i++) {
        size_t to = i / 4 * out->per_vertex + 4 * (size_t)set + i % 4;
        float w = weights[i];
        bad += !(w >= 0) || !isfinite(w);
        if (!(w > 0) || !isfinite(w)) continue; // both stay 0
        if (joints[i] > UINT16_MAX)
            return doc_fail(d, at, ERR_LIMIT, "joint %u; a skin may have 65536", joints[i]);
        out->joints[to] = (uint16_t)joints[i];
        out->weights[to] = w;
        if (joints[i] + 1 > out->joint_end) out->joint_end = joints[i] + 1;
    }
    if (bad) scene_note(d->scene, NOTE_REPAIRED, bad, "skin weights below 0 or no numbers, now 0");
    return true;
}

static const struct influences *make_influences(struct source *src, const struct doc_at *at,
                                                const struct sets *sets, uint32_t vertex_count)
{
    struct doc *d = &src->doc;
    for (uint32_t i = 0; i < sets->count; i++) {
        if (!accessor_check_bytes(src, at, sets->joints[i]) ||
            !accessor_check_bytes(src, at, sets->weights[i]))
            return NULL;
        if (src->accessors[sets->weights[i]].view == SCENE_NONE ||
            src->accessors[sets->joints[i]].view == SCENE_NONE)
            doc_declare(d, 24 * (size_t)vertex_count);
    }
    struct influences *out = DOC_SCRATCH(d, at, struct influences, 1);
    size_t count = (size_t)vertex_count * 4 * sets->count;
    uint16_t *joints = DOC_KEEP(d, at, uint16_t, count);
    float *weights = DOC_KEEP(d, at, float, count);
    if (!out || !joints || !weights) return NULL;
    *out = (struct influences){4 * sets->count, 0, joints, weights};
    for (uint32_t i = 0; i < sets->count; i++)
        if (!fill_set(src, at, sets, i, vertex_count, out)) return NULL;
    return out;
}

static void read_influences(struct source *src, const struct doc_at *attributes,
                            struct scene_primitive *p, uint32_t *joint_end)
{
    struct sets sets;
    if (!find_sets(src, attributes, p->vertex_count, &sets) || sets.count == 0) return;
    struct doc_at at = doc_member(attributes, "JOINTS_0");
    struct memo_key key = {{MEMO_JOINTS}};
    for (uint32_t i = 0; i < sets.count; i++) {
        key.part[1 + 2 * i] = sets.joints[i] + 1;
        key.part[2 + 2 * i] = sets.weights[i] + 1;
    }
    const struct influences *known = memo_find(&src->memo, &key);
    if (!known) {
        known = make_influences(src, &at, &sets, p->vertex_count);
        if (!known) return;
        memo_add(&src->memo, &src->doc, &at, &key, known);
    }
    p->influences_per_vertex = known->per_vertex;
    p->joints = known->joints;
    p->weights = known->weights;
    if (known->joint_end > *joint_end) *joint_end = known->joint_end;
}

bool attribute_read(struct source *src, const struct doc_at *attributes, struct scene_primitive *p,
                    uint32_t *joint_end)
{
    static const struct want normal = {MEMO_UNITS, {3, 1}, fix_normals},
                             tangent = {MEMO_TANGENTS, {4, 1}, fix_tangents};
    p->normals =
        (const struct vec3 *)read_named(src, attributes, "NORMAL", &normal, p->vertex_count);
    // Before C23 no cast leads from const floats to rows of const floats; the bits are the same.
    const float *tangents = read_named(src, attributes, "TANGENT", &tangent, p->vertex_count);
    memcpy(&p->tangents, &tangents, sizeof tangents);
    read_uvs_and_colors(src, attributes, p);
    read_influences(src, attributes, p, joint_end);
    note_beyond(src, attributes, "JOINTS", SETS_MAX);
    return src->doc.error == ERR_OK;
}

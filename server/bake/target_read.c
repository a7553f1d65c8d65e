#include "server/bake/target_read.h"

#include <math.h>
#include <string.h>

#include "server/bake/accessor.h"

enum { ATTRIBUTES = 3 };

struct deltas { // of one attribute
    int32_t accessor;
    uint32_t count;          // of entries
    const uint32_t *indices; // ascending; NULL = dense
    float *values;           // NULL = the attribute is absent
    uint32_t cursor;
    bool used; // some entry is not zero
};

struct target {
    struct deltas of[ATTRIBUTES];
    uint32_t vertex_count;
    bool dense; // any of them
};

// The deltas of vertex v, or NULL; v must not go back between rewinds.
static const float *deltas_at(struct deltas *a, uint32_t v)
{
    if (!a->values) return NULL;
    if (!a->indices) return a->values + 3 * (size_t)v;
    while (a->cursor < a->count && a->indices[a->cursor] < v)
        a->cursor++;
    if (a->cursor == a->count || a->indices[a->cursor] != v) return NULL;
    return a->values + 3 * (size_t)a->cursor;
}

// The next vertex from v on that may be touched; vertex_count at the end.
static uint32_t next_vertex(struct target *t, uint32_t v)
{
    if (t->dense) return v;
    uint32_t next = t->vertex_count;
    for (int i = 0; i < ATTRIBUTES; i++) {
        struct deltas *a = &t->of[i];
        if (!a->values) continue;
        (void)deltas_at(a, v);
        if (a->cursor < a->count && a->indices[a->cursor] < next) next = a->indices[a->cursor];
    }
    return next;
}

static void rewind_cursors(struct target *t)
{
    for (int i = 0; i < ATTRIBUTES; i++)
        t->of[i].cursor = 0;
}

static bool find_accessors(struct source *src, const struct doc_at *at, struct target *t)
{
    static const char *const names[ATTRIBUTES] = {"POSITION", "NORMAL", "TANGENT"};
    struct doc *d = &src->doc;
    for (int i = 0; i < ATTRIBUTES; i++) {
        struct deltas *a = &t->of[i];
        struct doc_at name_at = doc_member(at, names[i]);
        a->accessor = doc_index(d, at, names[i], src->accessor_count);
        if (d->error != ERR_OK) return false;
        if (a->accessor == SCENE_NONE) continue;
        const struct source_accessor *accessor =
            accessor_expect(src, &name_at, a->accessor, ACCESSOR_VEC3);
        if (!accessor) return false;
        if (accessor->count != t->vertex_count)
            return doc_fail(d, &name_at, ERR_MALFORMED, "%u deltas for %u vertices",
                            accessor->count, t->vertex_count);
        if (!accessor_check_bytes(src, &name_at, a->accessor)) return false;
        a->count = accessor->view == SCENE_NONE ? accessor->sparse_count : accessor->count;
        t->dense = t->dense || accessor->view != SCENE_NONE;
    }
    return true;
}

static bool is_sparse_only(const struct source *src, const struct deltas *a)
{
    return src->accessors[a->accessor].view == SCENE_NONE;
}

static bool decode(struct source *src, const struct doc_at *at, struct target *t)
{
    size_t room = 0;
    for (int i = 0; i < ATTRIBUTES; i++)
        room += t->of[i].accessor == SCENE_NONE ? 0 : 4 * (size_t)t->of[i].count;
    float *temp = source_temp(src, at, room + 1);
    if (!temp) return false;
    for (int i = 0; i < ATTRIBUTES; i++) {
        struct deltas *a = &t->of[i];
        if (a->accessor == SCENE_NONE || a->count == 0) continue;
        a->values = temp;
        temp += 3 * (size_t)a->count;
        if (is_sparse_only(src, a)) {
            uint32_t *indices = (uint32_t *)(void *)temp;
            temp += a->count;
            a->indices = indices;
            if (!accessor_decode_sparse(src, at, a->accessor, indices, a->values)) return false;
        } else if (!accessor_decode(src, at, a->accessor, a->values))
            return false;
    }
    return true;
}

static bool check_finite(struct source *src, const struct doc_at *at, struct target *t)
{
    uint32_t mended = 0;
    for (int i = 0; i < ATTRIBUTES; i++)
        for (size_t k = 0; t->of[i].values && k < 3 * (size_t)t->of[i].count; k++) {
            if (isfinite(t->of[i].values[k])) continue;
            if (i == 0)
                return doc_fail(&src->doc, at, ERR_MALFORMED, "position delta %zu is not finite",
                                k / 3);
            t->of[i].values[k] = 0;
            mended++;
        }
    if (mended)
        scene_note(src->doc.scene, NOTE_REPAIRED, mended,
                   "normal or tangent deltas that are no numbers, now 0");
    return true;
}

static bool touches(struct target *t, uint32_t v)
{
    bool any = false;
    for (int i = 0; i < ATTRIBUTES; i++) {
        const float *delta = deltas_at(&t->of[i], v);
        bool here = delta && (delta[0] != 0 || delta[1] != 0 || delta[2] != 0);
        t->of[i].used = t->of[i].used || here;
        any = any || here;
    }
    return any;
}

static uint32_t count_touched(struct target *t)
{
    uint32_t count = 0;
    rewind_cursors(t);
    for (uint32_t v = next_vertex(t, 0); v < t->vertex_count; v = next_vertex(t, v + 1))
        count += touches(t, v);
    return count;
}

static const struct vec3 *keep_values(struct source *src, const struct doc_at *at, struct deltas *a,
                                      const uint32_t *vertices, uint32_t count)
{
    if (!a->used) return NULL;
    struct vec3 *out = DOC_KEEP(&src->doc, at, struct vec3, count);
    a->cursor = 0;
    for (uint32_t i = 0; out && i < count; i++) {
        const float *delta = deltas_at(a, vertices ? vertices[i] : i);
        if (delta) memcpy(&out[i], delta, sizeof out[i]);
    }
    return out;
}

static bool keep(struct source *src, const struct doc_at *at, struct target *t,
                 struct scene_target *out)
{
    struct doc *d = &src->doc;
    uint32_t count = count_touched(t);
    uint32_t *vertices = NULL;
    *out = (struct scene_target){.count = count};
    if (count == 0) return d->error == ERR_OK;
    if (count > t->vertex_count - t->vertex_count / 4) {
        out->count = t->vertex_count;
    } else {
        vertices = DOC_KEEP(d, at, uint32_t, count);
        if (!vertices) return false;
        rewind_cursors(t);
        uint32_t n = 0;
        for (uint32_t v = next_vertex(t, 0); v < t->vertex_count; v = next_vertex(t, v + 1))
            if (touches(t, v)) vertices[n++] = v;
        out->vertices = vertices;
    }
    t->of[1].used =
        t->of[1].accessor != SCENE_NONE; // deltas of 0 say that normals stay as they are
    out->positions = keep_values(src, at, &t->of[0], vertices, out->count);
    out->normals = keep_values(src, at, &t->of[1], vertices, out->count);
    out->tangents = keep_values(src, at, &t->of[2], vertices, out->count);
    return d->error == ERR_OK;
}

static void note_other_attributes(struct source *src, const struct doc_at *at)
{
    static const char *const names[] = {"TEXCOORD_0", "COLOR_0"};
    for (int i = 0; i < 2; i++) {
        struct doc_at name_at = doc_member(at, names[i]);
        if (name_at.value)
            scene_note(src->doc.scene, NOTE_LEFT_OUT, 1, "%s deltas of morph targets", names[i]);
    }
}

bool target_read(struct source *src, const struct doc_at *at, uint32_t vertex_count,
                 struct scene_target *out)
{
    struct doc *d = &src->doc;
    if (!doc_is_object(d, at)) {
        if (d->error == ERR_OK) (void)doc_fail(d, at, ERR_MALFORMED, "must be an object");
        return false;
    }
    struct target t = {.vertex_count = vertex_count};
    if (!find_accessors(src, at, &t)) return false;
    note_other_attributes(src, at);
    struct memo_key key = {
        {MEMO_TARGET, (int32_t)vertex_count, t.of[0].accessor, t.of[1].accessor, t.of[2].accessor}};
    const struct scene_target *known = memo_find(&src->memo, &key);
    if (known) {
        *out = *known;
        return true;
    }
    struct scene_target *made = DOC_SCRATCH(d, at, struct scene_target, 1);
    if (!made || !decode(src, at, &t) || !check_finite(src, at, &t) || !keep(src, at, &t, made))
        return false;
    memo_add(&src->memo, d, at, &key, made);
    *out = *made;
    return d->error == ERR_OK;
}

#include "tests/character/synthetic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/character/surface/normals.h"

static const double pi = 3.14159265358979323846;

uint64_t synthetic_bits(struct synthetic_random *r) // splitmix64
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double synthetic_between(struct synthetic_random *r, double low, double high)
{
    return low + (high - low) * ((double)(synthetic_bits(r) >> 11) * 0x1p-53);
}

struct quat synthetic_rotation(struct synthetic_random *r, double angle_max)
{
    double a[3], n = 0;
    for (int i = 0; i < 3; i++) {
        a[i] = synthetic_between(r, -1, 1);
        n += a[i] * a[i];
    }
    double angle = synthetic_between(r, -angle_max, angle_max), s = sin(angle / 2) / sqrt(n + 1e-9);
    struct quat q = {(float)(a[0] * s), (float)(a[1] * s), (float)(a[2] * s),
                     (float)cos(angle / 2)};
    return quat_normalise(q);
}

struct maker {
    const struct synthetic_settings *set;
    struct synthetic *out;
    struct synthetic_random random;
    uint32_t vertex_count;
    uint32_t *order; // vertices by influence set
    struct model_track *tracks;
    float *times, *values;
    size_t track_at, time_at, value_at;
};

static void *take(struct maker *k, size_t count, size_t bytes)
{
    void *p = pool_take(&k->out->pool, count, bytes);
    CHECK(p);
    return p;
}
#define TAKE(k, type, count) ((type *)take((k), (count), sizeof(type)))
#define TABLE(k, field, pointer, count)                                                            \
    ((k)->out->model.field = (pointer), (k)->out->model.field##_count = (count))

static void make_nodes(struct maker *k)
{
    uint32_t count = k->set->nodes;
    struct model_node *nodes = TAKE(k, struct model_node, count);
    struct model_slot *slots = TAKE(k, struct model_slot, count);
    struct xform *bind = TAKE(k, struct xform, count);
    struct trs *base_pose = TAKE(k, struct trs, count);
    double scale = k->set->root_scale > 0 ? (double)k->set->root_scale : 1;
    for (uint32_t i = 0; i < count; i++) {
        struct model_node *n = &nodes[i];
        float s = i == 0 ? (float)scale : (float)synthetic_between(&k->random, 0.9, 1.1);
        double reach = i == 0 ? 0.1 : 0.3 / scale;
        uint32_t back = 1 + (uint32_t)(synthetic_bits(&k->random) % 4);
        n->parent = i == 0 ? MODEL_NONE : (int32_t)(i < back ? 0 : i - back);
        n->source = i;
        n->flags = MODEL_NODE_JOINT | MODEL_NODE_IN_SCENE;
        n->rest.rotation = synthetic_rotation(&k->random, 0.6);
        n->rest.scale = (struct vec3){i == 0 && k->set->mirrored ? -s : s, s, s};
        n->rest.translation = (struct vec3){(float)synthetic_between(&k->random, -reach, reach),
                                            (float)synthetic_between(&k->random, -reach, reach),
                                            (float)synthetic_between(&k->random, -reach, reach)};
        struct xform local = xform_from_trs(&n->rest), inverse;
        n->rest_local = mat34_from_xform(&local);
        struct trs bent = n->rest; // the bind pose is not the rest pose
        bent.rotation = synthetic_rotation(&k->random, 0.6);
        bent.scale.x = fabsf(bent.scale.x);
        base_pose[i] = bent;
        local = xform_from_trs(&bent);
        bind[i] = i == 0 ? local : xform_mul(&bind[n->parent], &local);
        CHECK(xform_invert(&bind[i], &inverse));
        slots[i] = (struct model_slot){.node = i, .inverse_bind = mat34_from_xform(&inverse)};
    }
    TABLE(k, nodes, nodes, count);
    TABLE(k, slots, slots, count);
    TABLE(k, base_pose, base_pose, count);
}

static void place_vertex(struct maker *k, uint32_t ring, uint32_t segment,
                         struct synthetic_vertex *v)
{
    double u = 2 * pi * (segment % k->set->segments) / k->set->segments;
    double along = (double)ring / (k->set->rings - 1);
    double radius = 0.3 + 0.1 * sin(7 * along + 2 * cos(u)) + 0.02 * cos(5 * u);
    v->position[0] = (float)(radius * cos(u));
    v->position[1] = (float)(2 * along - 0.5);
    v->position[2] = (float)(-radius * sin(u));
}

// One slot set a region, weights of each vertex's own; twins at the seam are equal.
static void weigh_vertex(struct maker *k, uint32_t ring, uint32_t segment,
                         struct synthetic_vertex *v)
{
    uint32_t around = segment % k->set->segments;
    uint64_t region = (uint64_t)ring * 24 / k->set->rings * 8 + around * 8 / k->set->segments;
    struct synthetic_random set = {k->set->seed * 977 + region};
    struct synthetic_random own = {k->set->seed * 31 + (uint64_t)ring * 100003 + around};
    uint32_t most = k->set->influences, first = (uint32_t)(synthetic_bits(&set) % k->set->nodes);
    v->influence_count =
        k->set->all_influences ? most : 1 + (uint32_t)(synthetic_bits(&set) % most);
    double sum = 0;
    for (uint32_t i = 0; i < v->influence_count; i++) {
        v->slots[i] = (uint16_t)((first + i) % k->set->nodes);
        v->weights[i] = (float)synthetic_between(&own, 0.05, 1);
        sum += (double)v->weights[i];
    }
    for (uint32_t i = 0; i < v->influence_count; i++)
        v->weights[i] = v->influence_count == 1 ? 1 : (float)((double)v->weights[i] / sum);
}

static void make_vertices(struct maker *k)
{
    uint32_t columns = k->set->segments + 1;
    k->vertex_count = columns * k->set->rings;
    k->out->vertices = TAKE(k, struct synthetic_vertex, k->vertex_count);
    uint32_t *weld = TAKE(k, uint32_t, k->vertex_count);
    for (uint32_t v = 0; v < k->vertex_count; v++) {
        place_vertex(k, v / columns, v % columns, &k->out->vertices[v]);
        weigh_vertex(k, v / columns, v % columns, &k->out->vertices[v]);
        weld[v] = v % columns == columns - 1 ? v - (columns - 1) : v;
    }
    TABLE(k, weld, weld, k->vertex_count);
}

static void make_topology(struct maker *k)
{
    uint32_t columns = k->set->segments + 1, quads = k->set->segments * (k->set->rings - 1);
    uint32_t *indices = TAKE(k, uint32_t, (size_t)quads * 6), at = 0;
    uint32_t *first = TAKE(k, uint32_t, (size_t)k->vertex_count + 1);
    uint32_t *corners = TAKE(k, uint32_t, (size_t)quads * 6);
    uint32_t *fill = TAKE(k, uint32_t, k->vertex_count);
    for (uint32_t ring = 0; ring + 1 < k->set->rings; ring++)
        for (uint32_t segment = 0; segment < k->set->segments; segment++) {
            uint32_t a = ring * columns + segment, b = a + 1, c = a + columns, d = c + 1;
            const uint32_t quad[6] = {a, b, c, b, d, c};
            memcpy(indices + at, quad, sizeof quad);
            at += 6;
        }
    const uint32_t *weld = k->out->model.weld;
    for (uint32_t i = 0; i < at; i++)
        first[weld[indices[i]] + 1]++;
    for (uint32_t v = 0; v < k->vertex_count; v++)
        first[v + 1] += first[v];
    memcpy(fill, first, k->vertex_count * sizeof *fill);
    for (uint32_t i = 0; i < at; i++)
        corners[fill[weld[indices[i]]]++] = i;
    TABLE(k, indices, indices, at);
    TABLE(k, corner_first, first, (size_t)k->vertex_count + 1);
    TABLE(k, corners, corners, at);
}

static void make_normals(struct maker *k)
{
    float *positions = TAKE(k, float, (size_t)k->vertex_count * 3);
    float *normals = TAKE(k, float, (size_t)k->vertex_count * 3);
    for (size_t v = 0; v < k->vertex_count; v++)
        memcpy(positions + 3 * v, k->out->vertices[v].position, sizeof(float[3]));
    const struct model *m = &k->out->model;
    struct normals_mesh mesh = {k->vertex_count, positions,  m->weld,
                                m->corner_first, m->corners, m->indices};
    normals_make(&mesh, normals);
    for (size_t v = 0; v < k->vertex_count; v++)
        memcpy(k->out->vertices[v].normal, normals + 3 * v, sizeof(float[3]));
}

static const struct synthetic_vertex *sorted_vertices; // for qsort only

static int same_set_order(const void *a, const void *b)
{
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const struct synthetic_vertex *v = &sorted_vertices[i], *w = &sorted_vertices[j];
    if (v->influence_count != w->influence_count)
        return v->influence_count < w->influence_count ? -1 : 1;
    int order = memcmp(v->slots, w->slots, v->influence_count * sizeof v->slots[0]);
    return order != 0 ? order : (i > j) - (i < j);
}

static bool same_set(const struct synthetic_vertex *v, const struct synthetic_vertex *w)
{
    return v->influence_count == w->influence_count &&
           memcmp(v->slots, w->slots, v->influence_count * sizeof v->slots[0]) == 0;
}

static void fill_lane(struct maker *k, uint32_t vertex, struct model_rest_block *rest,
                      float *weights, struct model_tangent_block *tangent, uint32_t place)
{
    const struct synthetic_vertex *v = &k->out->vertices[vertex];
    for (int r = 0; r < 3; r++) {
        rest->position[r][place] = v->position[r];
        rest->normal[r][place] = v->normal[r];
    }
    for (uint32_t i = 0; i < v->influence_count; i++)
        weights[i * MODEL_LANES + place] = v->weights[i];
    const double n[3] = {(double)v->normal[0], (double)v->normal[1], (double)v->normal[2]};
    double length = hypot(n[0], n[2]) + 1e-12;
    tangent->direction[0][place] = (float)(n[2] / length);
    tangent->direction[2][place] = (float)(-n[0] / length);
    tangent->sign[place] = 1;
}

static void make_blocks(struct maker *k)
{
    uint32_t count = k->vertex_count, most = k->set->influences;
    uint32_t *lanes = TAKE(k, uint32_t, count);
    k->order = TAKE(k, uint32_t, count);
    for (uint32_t v = 0; v < count; v++)
        k->order[v] = v;
    sorted_vertices = k->out->vertices;
    qsort(k->order, count, sizeof *k->order, same_set_order);

    // Space for the worst case, one vertex a block.
    struct model_block *blocks = TAKE(k, struct model_block, count);
    struct model_rest_block *rest = TAKE(k, struct model_rest_block, count);
    struct model_tangent_block *tangents = TAKE(k, struct model_tangent_block, count);
    uint16_t *slots = TAKE(k, uint16_t, (size_t)count * most);
    float *weights = TAKE(k, float, (size_t)count *most *MODEL_LANES);
    size_t block = 0, slot_at = 0, weight_at = 0;
    for (uint32_t i = 0, next; i < count; i = next, block++) {
        const struct synthetic_vertex *head = &k->out->vertices[k->order[i]];
        for (next = i + 1; next < count && next < i + MODEL_LANES; next++)
            if (!same_set(head, &k->out->vertices[k->order[next]])) break;
        blocks[block] = (struct model_block){next - i, head->influence_count, (uint32_t)slot_at,
                                             (uint32_t)weight_at};
        memcpy(slots + slot_at, head->slots, head->influence_count * sizeof *slots);
        for (uint32_t place = 0; place < MODEL_LANES; place++) {
            uint32_t from = i + place < next ? i + place : next - 1;
            fill_lane(k, k->order[from], &rest[block], weights + weight_at, &tangents[block],
                      place);
            if (i + place < next) lanes[k->order[from]] = (uint32_t)block * MODEL_LANES + place;
        }
        slot_at += head->influence_count;
        weight_at += (size_t)head->influence_count * MODEL_LANES;
    }
    TABLE(k, blocks, blocks, block);
    TABLE(k, rest, rest, block);
    TABLE(k, tangents, tangents, k->set->tangents ? block : 0);
    TABLE(k, block_slots, slots, slot_at);
    TABLE(k, weights, weights, weight_at);
    TABLE(k, vertex_lanes, lanes, count);
}

// A bump that slides along the tube from channel to channel; every lane is zero outside it.
static void vertex_delta(const struct maker *k, uint32_t channel, uint32_t vertex, float p[3],
                         float n[3])
{
    uint32_t columns = k->set->segments + 1, ring = vertex / columns;
    uint32_t around = vertex % columns % k->set->segments;
    double along = (double)ring / (k->set->rings - 1);
    double centre = (channel + 0.5) / k->set->channels, width = 0.2;
    double bump = 1 - pow((along - centre) / width, 2);
    struct synthetic_random r = {channel * 7919u + ring * 104729u + around};
    for (int e = 0; e < 3; e++) {
        double jitter = synthetic_between(&r, -1, 1), jitter_n = synthetic_between(&r, -1, 1);
        p[e] = bump > 0 ? (float)(bump * (0.05 * (e == 0) + 0.01 * jitter)) : 0;
        n[e] = bump > 0 ? (float)(bump * 0.4 * jitter_n) : 0;
    }
}

static void make_channels(struct maker *k)
{
    uint32_t count = k->set->channels;
    size_t blocks = k->out->model.blocks_count, at = 0, normal_at = 0;
    struct model_channel *channels = TAKE(k, struct model_channel, count);
    struct model_shape *shapes = TAKE(k, struct model_shape, count);
    struct model_morph_block *deltas = TAKE(k, struct model_morph_block, count * blocks);
    struct model_morph_normal_block *normals =
        TAKE(k, struct model_morph_normal_block, k->set->channels_with_normals * blocks);
    for (uint32_t c = 0; c < count; c++) {
        channels[c] = (struct model_channel){.target = c,
                                             .shape = c,
                                             .block_first = (uint32_t)at,
                                             .normal_first = (uint32_t)normal_at,
                                             .has_normals = c < k->set->channels_with_normals};
        shapes[c].channel_count = 1;
        uint32_t i = 0;
        for (size_t block = 0; block < blocks; block++) {
            struct model_morph_block d = {.block = (uint32_t)block};
            struct model_morph_normal_block dn = {{{0}}};
            bool touched = false;
            for (uint32_t place = 0; place < k->out->model.blocks[block].lane_count; place++) {
                float p[3], n[3];
                vertex_delta(k, c, k->order[i++], p, n);
                for (int r = 0; r < 3; r++) {
                    d.position[r][place] = p[r];
                    dn.normal[r][place] = n[r];
                    touched = touched || p[r] != 0;
                }
            }
            if (!touched) continue;
            deltas[at++] = d;
            if (channels[c].has_normals) normals[normal_at++] = dn;
        }
        channels[c].block_count = (uint32_t)at - channels[c].block_first;
    }
    TABLE(k, channels, channels, count);
    TABLE(k, shapes, shapes, count);
    TABLE(k, morph_blocks, deltas, at);
    TABLE(k, morph_normal_blocks, normals, normal_at);
}

static void key_value(struct maker *k, uint32_t path, uint32_t target, bool tangent, float *out)
{
    const struct trs *rest = path == MODEL_WEIGHTS ? NULL : &k->out->model.nodes[target].rest;
    struct synthetic_random *r = &k->random;
    double small = 0.1 / (k->set->root_scale > 1 ? (double)k->set->root_scale : 1);
    if (path == MODEL_ROTATION && !tangent) {
        struct quat q = synthetic_rotation(r, 2.5);
        float sign = synthetic_bits(r) & 1 ? -1 : 1; // q and -q are one rotation
        const float v[4] = {sign * q.x, sign * q.y, sign * q.z, sign * q.w};
        memcpy(out, v, sizeof v);
        return;
    }
    for (int i = 0; i < (path == MODEL_ROTATION ? 4 : path == MODEL_WEIGHTS ? 1 : 3); i++) {
        double base = 0;
        if (!tangent && path == MODEL_SCALE) base = (double)(&rest->scale.x)[i];
        if (!tangent && path == MODEL_TRANSLATION) base = (double)(&rest->translation.x)[i];
        double swing = path == MODEL_TRANSLATION ? small : path == MODEL_WEIGHTS ? 0.5 : 0.1;
        out[i] = (float)(base + synthetic_between(r, -swing, swing));
    }
}

// One axis and swing a track: neighbouring keys some degrees apart, as in recorded motion.
static void smooth_rotation(struct maker *k, uint32_t target, uint32_t key, float *out)
{
    struct synthetic_random own = {k->set->seed * 131 + target};
    struct quat q = synthetic_rotation(&own, 2);
    double half = 0.5 * sin(0.2 * key + target), n = 0;
    const float axis[3] = {q.x, q.y, q.z};
    for (int i = 0; i < 3; i++)
        n += (double)axis[i] * (double)axis[i];
    for (int i = 0; i < 3; i++)
        out[i] = (float)((double)axis[i] * sin(half) / sqrt(n + 1e-12));
    out[3] = (float)cos(half);
}

static void make_track(struct maker *k, uint32_t path, uint32_t target, uint32_t interpolation)
{
    static const uint32_t widths[] = {3, 4, 3, 1};
    uint32_t keys = k->set->keys, width = widths[path];
    struct model_track *t = &k->tracks[k->track_at++];
    *t = (struct model_track){path, interpolation,        target,
                              keys, (uint32_t)k->time_at, (uint32_t)k->value_at};
    for (uint32_t i = 0; i < keys; i++) {
        bool cubic = interpolation == MODEL_CUBIC;
        k->times[k->time_at++] = 0.1f + (float)i / 30;
        for (int part = cubic ? 0 : 1; part < (cubic ? 3 : 2); part++) {
            if (k->set->smooth && path == MODEL_ROTATION && part == 1)
                smooth_rotation(k, target, i, k->values + k->value_at);
            else
                key_value(k, path, target, part != 1, k->values + k->value_at);
            k->value_at += width;
        }
    }
}

static void make_clips(struct maker *k)
{
    uint32_t clips = k->set->clips, nodes = k->set->nodes, channels = k->set->channels;
    size_t tracks = (size_t)clips * (nodes + nodes / 8 + 2 + channels);
    struct model_clip *table = TAKE(k, struct model_clip, clips);
    k->tracks = TAKE(k, struct model_track, tracks);
    k->times = TAKE(k, float, tracks * k->set->keys);
    k->values = TAKE(k, float, tracks * k->set->keys * 12);
    static const uint32_t kinds[3] = {MODEL_LINEAR, MODEL_CUBIC, MODEL_STEP};
    for (uint32_t c = 0; c < clips; c++) {
        table[c] = (struct model_clip){.loop = 1, .track_first = (uint32_t)k->track_at};
        make_track(k, MODEL_TRANSLATION, 0, kinds[c % 3]);
        for (uint32_t i = 0; i < nodes; i++)
            make_track(k, MODEL_ROTATION, i, kinds[c % 3]);
        for (uint32_t i = 4; i < nodes; i += 8)
            make_track(k, MODEL_SCALE, i, kinds[c % 3]);
        for (uint32_t i = 0; i < channels; i++)
            make_track(k, MODEL_WEIGHTS, i, kinds[c % 3]);
        table[c].track_count = (uint32_t)k->track_at - table[c].track_first;
        table[c].duration_s = 0.1f + (float)(k->set->keys - 1) / 30;
    }
    TABLE(k, clips, table, clips);
    TABLE(k, tracks, k->tracks, k->track_at);
    TABLE(k, track_times, k->times, k->time_at);
    TABLE(k, track_values, k->values, k->value_at);
}

static void make_rest_of_it(struct maker *k)
{
    struct model_info *info = TAKE(k, struct model_info, 1);
    struct model_part *part = TAKE(k, struct model_part, 1);
    info->unit_m = 1;
    *part = (struct model_part){
        .material = MODEL_NONE,
        .flags = MODEL_PART_SKINNED | (k->set->tangents ? MODEL_PART_HAS_TANGENTS : 0),
        .vertex_count = k->vertex_count,
        .index_count = (uint32_t)k->out->model.indices_count,
    };
    TABLE(k, info, info, 1);
    TABLE(k, text, TAKE(k, char, 1), 1);
    TABLE(k, parts, part, 1);
}

void synthetic_make(const struct synthetic_settings *settings, struct synthetic *out)
{
    CHECK(settings->nodes >= 1 && settings->segments >= 3 && settings->rings >= 2);
    CHECK(settings->influences >= 1 && settings->influences <= MODEL_INFLUENCES_MAX);
    CHECK(settings->influences <= settings->nodes);
    memset(out, 0, sizeof *out);
    pool_init(&out->pool, (size_t)2 << 30);
    struct maker k = {.set = settings, .out = out, .random = {settings->seed}};
    make_nodes(&k);
    make_vertices(&k);
    make_topology(&k);
    make_normals(&k);
    make_blocks(&k);
    make_channels(&k);
    make_clips(&k);
    make_rest_of_it(&k);
}

void synthetic_free(struct synthetic *s)
{
    pool_free(&s->pool);
}

double synthetic_diagonal(const struct synthetic *s)
{
    double low[3], high[3], sum = 0;
    for (int r = 0; r < 3; r++)
        low[r] = high[r] = (double)s->vertices[0].position[r];
    for (size_t v = 0; v < model_vertex_count(&s->model); v++)
        for (int r = 0; r < 3; r++) {
            low[r] = fmin(low[r], (double)s->vertices[v].position[r]);
            high[r] = fmax(high[r], (double)s->vertices[v].position[r]);
        }
    for (int r = 0; r < 3; r++)
        sum += (high[r] - low[r]) * (high[r] - low[r]);
    return sqrt(sum);
}

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/builder.h"
#include "server/bake/rig.h"
#include "server/character/pose/skeleton.h"
#include "server/model/lookup.h"

// The rig file's extras. Jiggle and muscle are used; the other types of the format are kept with a
// line.

enum { EXTRAS_MAX = 64 };

struct region {
    double (*place)[3]; // [vertex] in the base pose's world
    struct xform *nodes;
    float *share; // [vertex]
};

static bool is_listed(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0) return true;
    return false;
}

static enum err check_keys(struct builder *b, const cJSON *json, const char *where,
                           const char *const *known)
{
    for (const cJSON *k = json->child; k; k = k->next)
        if (!is_listed(k->string, known))
            return fault_set(b->fault, ERR_MALFORMED, "%s/%.60s: unknown key", where, k->string);
    return ERR_OK;
}

static enum err read_number(struct builder *b, const cJSON *json, const char *where,
                            const char *key, double otherwise, double low, double high, double *out)
{
    const cJSON *v = rig_get(json, key);
    *out = v ? v->valuedouble : otherwise;
    if (v && (!cJSON_IsNumber(v) || !(*out >= low && *out <= high)))
        return fault_set(b->fault, ERR_MALFORMED, "%s/%s: must be a number from %g to %g", where,
                         key, low, high);
    return ERR_OK;
}

static enum err measure(struct builder *b, struct region *r)
{
    const struct model *m = &b->model;
    r->nodes = BUILDER_ARRAY(b, struct xform, m->nodes_count);
    r->share = BUILDER_ARRAY(b, float, model_vertex_count(m));
    if (!r->nodes || !r->share) return builder_no_memory(b);
    return builder_places(b, m->base_pose, r->nodes, &r->place);
}

// The whole share at the joint, fading to none at the radius with no edge.
static void share_by_radius(const struct model *m, struct region *r, const struct model_extra *e)
{
    const double *at = r->nodes[e->node].col[3];
    for (size_t v = 0; v < model_vertex_count(m); v++) {
        double d = 0;
        for (int k = 0; k < 3; k++)
            d += (r->place[v][k] - at[k]) * (r->place[v][k] - at[k]);
        double inside = fmax(0, 1 - d / (e->radius * e->radius));
        r->share[v] = (float)(inside * inside);
    }
}

// The red channel of COLOR_n; parts without it have no share.
static enum err share_by_color(struct builder *b, struct region *r, const cJSON *json,
                               const char *where)
{
    const struct model *m = &b->model;
    const cJSON *set = rig_get(json, "color");
    if (!cJSON_IsNumber(set) || !(set->valuedouble >= 0 && set->valuedouble <= 255) ||
        set->valuedouble != floor(set->valuedouble) || json->child->next)
        return fault_set(b->fault, ERR_MALFORMED,
                         "%s/vertices: must be {\"color\": N}, the red channel of COLOR_N", where);
    bool any = false;
    memset(r->share, 0, model_vertex_count(m) * sizeof *r->share);
    for (size_t p = 0; p < m->parts_count; p++) {
        const struct model_part *part = &m->parts[p];
        if (set->valuedouble >= part->color_set_count) continue;
        const float *color =
            m->colors +
            ((size_t)part->color_first + (size_t)set->valuedouble * part->vertex_count) * 4;
        for (uint32_t i = 0; i < part->vertex_count; i++) {
            float red = fminf(fmaxf(color[4 * (size_t)i], 0), 1);
            r->share[part->vertex_first + i] = red;
            any = any || red > 0;
        }
    }
    if (!any)
        return fault_set(b->fault, ERR_NOT_FOUND,
                         "%s/vertices/color: no vertex has red in COLOR_%d", where,
                         (int)set->valuedouble);
    return ERR_OK;
}

static enum err share_by_list(struct builder *b, struct region *r, const cJSON *json,
                              const char *where)
{
    const struct model *m = &b->model;
    const cJSON *list = rig_get(json, "vertices");
    if (cJSON_IsObject(list)) return share_by_color(b, r, list, where);
    memset(r->share, 0, model_vertex_count(m) * sizeof *r->share);
    if (!cJSON_IsArray(list))
        return fault_set(b->fault, ERR_MALFORMED,
                         "%s/vertices: must be a list of vertices or {\"color\": N}", where);
    for (const cJSON *v = list->child; v; v = v->next) {
        if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0) ||
            v->valuedouble != floor(v->valuedouble) ||
            !(v->valuedouble < (double)model_vertex_count(m)))
            return fault_set(b->fault, ERR_MALFORMED, "%s/vertices: no such vertex", where);
        r->share[(size_t)v->valuedouble] = 1;
    }
    for (size_t v = 0; v < model_vertex_count(m); v++) // seams stay closed
        r->share[m->weld[v]] = fmaxf(r->share[m->weld[v]], r->share[v]);
    for (size_t v = 0; v < model_vertex_count(m); v++)
        r->share[v] = r->share[m->weld[v]];
    return ERR_OK;
}

// The region's middle rides on the joint.
static void find_center(const struct model *m, const struct region *r, struct model_extra *e)
{
    double sum = 0, middle[3] = {0};
    struct xform inverse;
    for (size_t v = 0; v < model_vertex_count(m); v++) {
        sum += (double)r->share[v];
        for (int k = 0; k < 3; k++)
            middle[k] += (double)r->share[v] * r->place[v][k];
    }
    for (int k = 0; k < 3; k++)
        middle[k] = sum > 0 ? middle[k] / sum : r->nodes[e->node].col[3][k];
    if (xform_invert(&r->nodes[e->node], &inverse)) xform_point(&inverse, middle, e->center);
}

static enum err write_blocks(struct builder *b, const struct region *r, struct model_extra *e,
                             struct model_extra_block *blocks, uint32_t *count)
{
    const struct model *m = &b->model;
    uint32_t *at = BUILDER_ARRAY(b, uint32_t, m->blocks_count);
    if (!at) return builder_no_memory(b);
    for (size_t v = 0; v < model_vertex_count(m); v++)
        if (r->share[v] > 0) at[m->vertex_lanes[v] / MODEL_LANES] = 1;
    e->block_first = *count;
    for (uint32_t i = 0; i < m->blocks_count; i++) {
        if (!at[i]) continue;
        at[i] = *count;
        blocks[(*count)++] = (struct model_extra_block){.block = i};
        e->block_count++;
    }
    for (size_t v = 0; v < model_vertex_count(m); v++) {
        uint32_t lane = m->vertex_lanes[v];
        if (r->share[v] > 0) blocks[at[lane / MODEL_LANES]].share[lane % MODEL_LANES] = r->share[v];
    }
    return ERR_OK;
}

static enum err read_node(struct builder *b, const cJSON *json, const char *where, const char *key,
                          const char *what, uint32_t *node)
{
    const cJSON *name = rig_get(json, key);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", where, key);
    if (!cJSON_IsString(name)) return fault_set(b->fault, ERR_MALFORMED, "%s: %s", path, what);
    return lookup_name(&b->model, LOOKUP_NODE, name->valuestring, path, node, b->fault);
}

static enum err read_jiggle(struct builder *b, struct region *r, const cJSON *json,
                            const char *where, double unit_m, struct model_extra *e)
{
    static const char *const known[] = {"type",          "name",     "joint",
                                        "radius_m",      "vertices", "frequency_hz",
                                        "damping_ratio", "amount",   NULL};
    const cJSON *name = rig_get(json, "name");
    double radius_m = 0;
    enum err err = check_keys(b, json, where, known);
    if (err != ERR_OK) return err;
    err = read_node(b, json, where, "joint", "names the joint whose motion drives it", &e->node);
    if (err == ERR_OK)
        err = read_number(b, json, where, "frequency_hz", 4, 0.1, 100, &e->frequency_hz);
    if (err == ERR_OK)
        err = read_number(b, json, where, "damping_ratio", 0.2, 0, 10, &e->damping_ratio);
    if (err == ERR_OK) err = read_number(b, json, where, "amount", 1, 0, 10, &e->amount);
    if (err == ERR_OK) err = read_number(b, json, where, "radius_m", 0.2, 1e-6, 1e6, &radius_m);
    if (err != ERR_OK) return err;
    e->kind = MODEL_EXTRA_JIGGLE;
    e->name = builder_text(b, cJSON_IsString(name) ? name->valuestring : "");
    e->radius = radius_m / unit_m;
    if (rig_get(json, "vertices"))
        err = share_by_list(b, r, json, where);
    else
        share_by_radius(&b->model, r, e);
    find_center(&b->model, r, e);
    return err;
}

static bool hangs_below(const struct model *m, uint32_t node, uint32_t above)
{
    int32_t at = m->nodes[node].parent;
    while (at != MODEL_NONE && (uint32_t)at != above)
        at = m->nodes[at].parent;
    return at != MODEL_NONE;
}

// The part of each vertex's weight that the joint has.
static void share_by_weight(const struct builder *b, struct region *r, uint32_t node)
{
    const struct model *m = &b->model;
    for (size_t v = 0; v < model_vertex_count(m); v++) {
        double sum = 0;
        for (uint32_t i = b->influence_first[v]; i < b->influence_first[v + 1]; i++)
            if (m->slots[b->influence_slots[i]].node == node)
                sum += (double)b->influence_weights[i];
        r->share[v] = (float)fmin(sum, 1);
    }
}

static void rest_of_muscle(const struct region *r, const struct model_extra *e,
                           struct model_muscle *x)
{
    struct xform back, rest = xform_identity();
    if (xform_invert(&r->nodes[e->node], &back)) rest = xform_mul(&back, &r->nodes[x->to]);
    for (int i = 0; i < 3; i++) {
        double n = sqrt(rest.col[i][0] * rest.col[i][0] + rest.col[i][1] * rest.col[i][1] +
                        rest.col[i][2] * rest.col[i][2]);
        for (int k = 0; k < 3; k++)
            x->rest[i][k] = n > 0 ? rest.col[i][k] / n : i == k;
    }
}

// Between the joints, as far as the flesh is the muscle's own: where it is shared, the map that
// keeps its volume would not.
static void find_fibre(const struct builder *b, const struct region *r, struct model_extra *e,
                       struct model_muscle *x)
{
    const double *from = r->nodes[e->node].col[3], *to = r->nodes[x->to].col[3];
    double low = 1, high = 0, square = 0, middle[3];
    struct xform back;
    for (int k = 0; k < 3; k++)
        square += (to[k] - from[k]) * (to[k] - from[k]);
    for (size_t v = 0; v < model_vertex_count(&b->model); v++) {
        double along = 0;
        for (int k = 0; k < 3; k++)
            along += (r->place[v][k] - from[k]) * (to[k] - from[k]) / square;
        if (r->share[v] < 0.9f || along < 0 || along > 1) continue;
        low = fmin(low, along);
        high = fmax(high, along);
    }
    if (high - low < 0.1) low = 0, high = 1; // nothing is its own
    x->half = (high - low) / 2;
    for (int k = 0; k < 3; k++)
        middle[k] = from[k] + (to[k] - from[k]) * (low + high) / 2;
    if (xform_invert(&r->nodes[e->node], &back)) xform_point(&back, middle, e->center);
}

static enum err read_muscle(struct builder *b, struct region *r, const cJSON *json,
                            const char *where, double unit_m, struct model_extra *e,
                            struct model_muscle *x)
{
    static const char *const known[] = {"type",         "name",          "from",   "to",
                                        "volume_l",     "angle_rad",     "bulge",  "vertices",
                                        "frequency_hz", "damping_ratio", "amount", NULL};
    const cJSON *name = rig_get(json, "name");
    double litres = 0.2, length = 0, *number[] = {&e->frequency_hz, &e->damping_ratio, &e->amount,
                                                  &x->angle_rad,    &x->bulge,         &litres};
    static const struct {
        const char *key;
        double otherwise, low, high;
    } keys[] = {{"frequency_hz", 9, 0.1, 100}, {"damping_ratio", 0.3, 0, 10},
                {"amount", 0.3, 0, 10},        {"angle_rad", 2.2, 0.01, 3.14159},
                {"bulge", 0.2, 0, 0.4},        {"volume_l", 0.2, 1e-9, 1e9}};
    enum err err = check_keys(b, json, where, known);
    if (err == ERR_OK)
        err =
            read_node(b, json, where, "from", "names the joint that carries the muscle", &e->node);
    if (err == ERR_OK)
        err = read_node(b, json, where, "to", "names the joint that bends with it", &x->to);
    if (err == ERR_OK && !hangs_below(&b->model, x->to, e->node))
        return fault_set(b->fault, ERR_MALFORMED, "%s/to: must hang below `from`", where);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && err == ERR_OK; i++)
        err = read_number(b, json, where, keys[i].key, keys[i].otherwise, keys[i].low, keys[i].high,
                          number[i]);
    if (err != ERR_OK) return err;
    e->kind = MODEL_EXTRA_MUSCLE;
    e->name = builder_text(b, cJSON_IsString(name) ? name->valuestring : "");
    rest_of_muscle(r, e, x);
    for (int k = 0; k < 3; k++) {
        double d = r->nodes[x->to].col[3][k] - r->nodes[e->node].col[3][k];
        length += d * d;
    }
    length = sqrt(length) * unit_m;
    if (!(length > 0))
        return fault_set(b->fault, ERR_MALFORMED, "%s/to: is where `from` is", where);
    // As thick as a spindle of that volume and length.
    e->radius = sqrt(litres * 1e-3 * 6 / (3.14159265358979 * length)) / unit_m;
    if (rig_get(json, "vertices"))
        err = share_by_list(b, r, json, where);
    else
        share_by_weight(b, r, e->node);
    find_fibre(b, r, e, x);
    return err;
}

static enum err read_extra(struct builder *b, struct region *r, const cJSON *json, int index,
                           double unit_m, struct model_extra *out, uint32_t *count,
                           struct model_extra_block *blocks, uint32_t *block_count,
                           struct model_muscle *muscles)
{
    static const char *const later[] = {"cloth", "plugin", NULL};
    const cJSON *type = rig_get(json, "type");
    char where[64];
    (void)snprintf(where, sizeof where, "/extras/%d", index);
    if (!cJSON_IsString(type) ||
        (strcmp(type->valuestring, "jiggle") != 0 && strcmp(type->valuestring, "muscle") != 0 &&
         !is_listed(type->valuestring, later)))
        return fault_set(b->fault, ERR_MALFORMED,
                         "%s/type: must be jiggle, muscle, cloth or plugin", where);
    if (is_listed(type->valuestring, later)) {
        scene_note(b->scene, NOTE_LEFT_OUT, 1,
                   "extra %d: type \"%s\" is kept but not used by this version", index,
                   type->valuestring);
        return ERR_OK;
    }
    struct model_extra *e = &out[*count];
    enum err err = ERR_OK;
    if (strcmp(type->valuestring, "muscle") == 0) {
        e->muscle = (uint32_t)b->model.muscles_count;
        err = read_muscle(b, r, json, where, unit_m, e, &muscles[b->model.muscles_count++]);
    } else {
        err = read_jiggle(b, r, json, where, unit_m, e);
    }
    if (err == ERR_OK) err = write_blocks(b, r, e, blocks, block_count);
    *count += err == ERR_OK;
    return err;
}

enum err compile_extras(struct builder *b, double unit_m)
{
    const cJSON *list = b->settings->rig ? rig_get(b->settings->rig->json, "extras") : NULL;
    int wanted = cJSON_GetArraySize(list), index = 0;
    struct region r;
    if (wanted == 0) return ERR_OK;
    if (wanted > EXTRAS_MAX)
        return fault_set(b->fault, ERR_LIMIT, "/extras: more than %d", EXTRAS_MAX);
    struct model_extra *extras = BUILDER_ARRAY(b, struct model_extra, wanted);
    struct model_extra_block *blocks =
        BUILDER_ARRAY(b, struct model_extra_block, (size_t)wanted * b->model.blocks_count);
    struct model_muscle *muscles = BUILDER_ARRAY(b, struct model_muscle, wanted);
    if (!extras || !blocks || !muscles) return builder_no_memory(b);
    uint32_t count = 0, block_count = 0;
    enum err e = measure(b, &r);
    for (const cJSON *x = list->child; x && e == ERR_OK; x = x->next)
        e = read_extra(b, &r, x, index++, unit_m, extras, &count, blocks, &block_count, muscles);
    b->model.muscles = muscles;
    b->model.extras = extras;
    b->model.extras_count = count;
    b->model.extra_blocks = blocks;
    b->model.extra_blocks_count = block_count;
    return e;
}

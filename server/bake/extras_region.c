#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "server/bake/extras.h"
#include "server/bake/rig.h"

// Which vertices an extra moves, and how much each is its own.

bool extras_region_listed(const cJSON *json)
{
    return rig_get(json, "vertices") != NULL;
}

// The red channel of COLOR_n; parts without it have no share.
static enum err by_color(struct extras_reader *r, double set)
{
    const struct model *m = &r->b->model;
    bool any = false;
    for (size_t p = 0; p < m->parts_count; p++) {
        const struct model_part *part = &m->parts[p];
        if (set >= part->color_set_count) continue;
        const float *color =
            m->colors + ((size_t)part->color_first + (size_t)set * part->vertex_count) * 4;
        for (uint32_t i = 0; i < part->vertex_count; i++) {
            float red = fminf(fmaxf(color[4 * (size_t)i], 0), 1);
            r->share[part->vertex_first + i] = red;
            any = any || red > 0;
        }
    }
    if (!any)
        return fault_set(r->b->fault, ERR_NOT_FOUND,
                         "%s/vertices/color: no vertex has red in COLOR_%d", r->path, (int)set);
    return ERR_OK;
}

// `freedom` stands beside the list, one for each of its vertices.
static enum err by_list(struct extras_reader *r, const cJSON *list, const cJSON *freedom)
{
    const struct model *m = &r->b->model;
    const cJSON *f = freedom ? freedom->child : NULL;
    if (freedom && cJSON_GetArraySize(freedom) != cJSON_GetArraySize(list))
        return extras_bad(r, "freedom", "must have one number for each of `vertices`");
    for (const cJSON *v = list->child; v; v = v->next, f = f ? f->next : NULL) {
        if (!(v->valuedouble < (double)model_vertex_count(m)))
            return extras_bad(r, "vertices", "no such vertex");
        r->share[(size_t)v->valuedouble] = f ? (float)f->valuedouble : 1;
    }
    return ERR_OK;
}

enum err extras_region_read(struct extras_reader *r, const cJSON *json)
{
    const struct model *m = &r->b->model;
    const cJSON *list = rig_get(json, "vertices");
    enum err e = cJSON_IsObject(list) ? by_color(r, rig_get(list, "color")->valuedouble)
                                      : by_list(r, list, rig_get(json, "freedom"));
    if (e != ERR_OK) return e;
    for (size_t v = 0; v < model_vertex_count(m); v++) // seams stay closed
        r->share[m->weld[v]] = fmaxf(r->share[m->weld[v]], r->share[v]);
    for (size_t v = 0; v < model_vertex_count(m); v++)
        r->share[v] = r->share[m->weld[v]];
    return ERR_OK;
}

// The whole share in the middle, fading to none at the radius with no edge.
void extras_region_round(struct extras_reader *r, const double at[3], double radius)
{
    for (size_t v = 0; v < model_vertex_count(&r->b->model); v++) {
        double d = 0;
        for (int k = 0; k < 3; k++)
            d += (r->place[v][k] - at[k]) * (r->place[v][k] - at[k]);
        double inside = fmax(0, 1 - d / (radius * radius));
        r->share[v] = (float)(inside * inside);
    }
}

// The part of each vertex's weight that the joint has.
void extras_region_by_weight(struct extras_reader *r, uint32_t node)
{
    const struct builder *b = r->b;
    const struct model *m = &b->model;
    for (size_t v = 0; v < model_vertex_count(m); v++) {
        double sum = 0;
        for (uint32_t i = b->influence_first[v]; i < b->influence_first[v + 1]; i++)
            if (m->slots[b->influence_slots[i]].node == node)
                sum += (double)b->influence_weights[i];
        r->share[v] = (float)fmin(sum, 1);
    }
}

void extras_region_center(const struct extras_reader *r, double middle[3])
{
    double sum = 0;
    memset(middle, 0, 3 * sizeof *middle);
    for (size_t v = 0; v < model_vertex_count(&r->b->model); v++) {
        sum += (double)r->share[v];
        for (int k = 0; k < 3; k++)
            middle[k] += (double)r->share[v] * r->place[v][k];
    }
    for (int k = 0; k < 3 && sum > 0; k++)
        middle[k] /= sum;
}

enum err extras_region_write(struct extras_reader *r, struct model_extra_block *blocks)
{
    struct model *m = &r->b->model;
    uint32_t *at = BUILDER_ARRAY(r->b, uint32_t, m->blocks_count);
    if (!at) return builder_no_memory(r->b);
    for (size_t v = 0; v < model_vertex_count(m); v++)
        if (r->share[v] > 0) at[m->vertex_lanes[v] / MODEL_LANES] = 1;
    r->extra->block_first = (uint32_t)m->extra_blocks_count;
    for (uint32_t i = 0; i < m->blocks_count; i++) {
        if (!at[i]) continue;
        at[i] = (uint32_t)m->extra_blocks_count;
        blocks[m->extra_blocks_count++] = (struct model_extra_block){.block = i};
        r->extra->block_count++;
    }
    for (size_t v = 0; v < model_vertex_count(m); v++) {
        uint32_t lane = m->vertex_lanes[v];
        if (r->share[v] > 0) blocks[at[lane / MODEL_LANES]].share[lane % MODEL_LANES] = r->share[v];
    }
    return ERR_OK;
}

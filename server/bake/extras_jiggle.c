#include <cjson/cJSON.h>
#include <math.h>

#include "server/bake/extras.h"
#include "server/bake/rig.h"

// Jiggle: one mass in the middle of its region, or several spread over it.

static const double REACH = 0.5; // of the radius: how far it goes when nobody says

enum { MASS_SHARE = 20 }; // masses stand where the share is more than the largest / this

static float largest_share(const struct extras_reader *r)
{
    float most = 0;
    for (size_t v = 0; v < model_vertex_count(&r->b->model); v++)
        most = fmaxf(most, r->share[v]);
    return most;
}

static enum err add_middle(struct extras_reader *r)
{
    struct model_particle p = {.node = {r->extra->node}, .weight = {1}, .freedom = 1};
    for (int k = 0; k < 3; k++)
        p.at[0][k] = (float)r->extra->center[k];
    return extras_particle_add(r, &p);
}

static enum err add_masses(struct extras_reader *r, uint32_t masses, float coupling,
                           struct extras_net *net)
{
    const struct model *m = &r->b->model;
    float least = largest_share(r) / MASS_SHARE;
    uint8_t *inside = BUILDER_ARRAY(r->b, uint8_t, model_vertex_count(m));
    if (!inside) return builder_no_memory(r->b);
    for (size_t v = 0; v < model_vertex_count(m); v++)
        inside[v] = r->share[v] > least;
    enum err e = extras_net_spread(r, inside, masses, net);
    for (uint32_t p = 0; p < net->count && e == ERR_OK; p++) {
        struct model_particle mass = extras_particle_at(r, net->vertex[p]);
        e = extras_particle_add(r, &mass);
    }
    for (uint32_t p = 0; p < net->count && e == ERR_OK; p++)
        for (uint32_t i = net->first[p]; i < net->first[p + 1] && e == ERR_OK; i++)
            if (net->neighbour[i] > p) e = extras_link_add(r, p, net->neighbour[i], coupling);
    return e;
}

// What each mass sweeps when it moves by one, and the rim that takes it up again: see jiggle.c.
static enum err measure_areas(struct extras_reader *r, struct model_soft *soft)
{
    const struct model *m = &r->b->model;
    uint32_t *at = BUILDER_ARRAY(r->b, uint32_t, m->blocks_count); // [block] in the extra's
    struct xform back;
    if (!at) return builder_no_memory(r->b);
    for (uint32_t n = 0; n < r->extra->block_count; n++)
        at[m->extra_blocks[r->extra->block_first + n].block] = n;
    if (!xform_invert(&r->nodes[r->extra->node], &back)) return ERR_OK;
    for (size_t i = 0; i + 2 < m->indices_count; i += 3) {
        double side[2][3], area[3], size = 0;
        for (size_t k = 0; k < 2; k++)
            for (int c = 0; c < 3; c++)
                side[k][c] = r->place[m->indices[i + 1 + k]][c] - r->place[m->indices[i]][c];
        for (int c = 0; c < 3; c++) {
            int c1 = (c + 1) % 3, c2 = (c + 2) % 3;
            area[c] = (side[0][c1] * side[1][c2] - side[0][c2] * side[1][c1]) / 6;
            size += area[c] * area[c];
        }
        for (size_t k = 0; k < 3; k++) {
            uint32_t lane = m->vertex_lanes[m->indices[i + k]];
            double s = (double)r->share[m->indices[i + k]], local[3];
            if (!(s > 0)) continue;
            soft->ring += 4 * s * (1 - s) * sqrt(size);
            for (int c = 0; c < 3; c++)
                local[c] =
                    back.col[0][c] * area[0] + back.col[1][c] * area[1] + back.col[2][c] * area[2];
            const struct model_hold *b =
                soft->hold_count ? &r->holds[soft->hold_first + at[lane / MODEL_LANES]] : NULL;
            for (int j = 0; j < (b ? 4 : 1); j++) {
                uint32_t p = b ? b->particle[j][lane % MODEL_LANES] : 0;
                double w = b ? (double)b->weight[j][lane % MODEL_LANES] : s;
                for (int c = 0; c < 3; c++)
                    r->particles[soft->particle_first + p].area[c] += (float)(w * local[c]);
            }
        }
    }
    return ERR_OK;
}

enum err extras_read_jiggle(struct extras_reader *r, const cJSON *json,
                            struct model_extra_block *blocks)
{
    struct model *m = &r->b->model;
    struct model_extra *e = r->extra;
    struct model_soft soft = {.particle_first = (uint32_t)m->particles_count,
                              .link_first = (uint32_t)m->links_count,
                              .hold_first = (uint32_t)m->holds_count};
    struct xform inverse;
    double middle[3];
    uint32_t masses = (uint32_t)extras_number(json, "masses", 1);
    enum err err = extras_node(r, json, "joint", &e->node);
    if (err != ERR_OK) return err;
    e->frequency_hz = extras_number(json, "frequency_hz", 4);
    e->damping_ratio = extras_number(json, "damping_ratio", 0.2);
    e->amount = extras_number(json, "amount", 1);
    e->radius = extras_length(r, json, "radius_m", 0.2);
    soft.limit = extras_length(r, json, "limit_m", REACH * e->radius * r->unit_m);
    soft.hit_radius = extras_length(r, json, "hit_radius_m", 0);
    soft.volume = extras_number(json, "volume", 0.5);
    if (masses > 1 && e->frequency_hz > 40)
        return extras_bad(r, "frequency_hz", "several masses swing at 40 Hz at most");
    if (extras_region_listed(json))
        err = extras_region_read(r, json);
    else
        extras_region_round(r, r->nodes[e->node].col[3], e->radius);
    if (err == ERR_OK && !(largest_share(r) > 0))
        err = extras_bad(r, "radius_m", "no vertex lies in the region");
    if (err != ERR_OK) return err;
    extras_region_center(r, middle);
    if (xform_invert(&r->nodes[e->node], &inverse)) xform_point(&inverse, middle, e->center);
    err = extras_region_write(r, blocks);
    struct extras_net net;
    if (err == ERR_OK && masses == 1) err = add_middle(r);
    if (err == ERR_OK && masses > 1)
        err = add_masses(r, masses, (float)extras_number(json, "coupling", 0.3), &net);
    if (err == ERR_OK && masses > 1) err = extras_bind(r, &net, true, false, blocks);
    if (err != ERR_OK) return err;
    soft.particle_count = (uint32_t)m->particles_count - soft.particle_first;
    soft.link_count = (uint32_t)m->links_count - soft.link_first;
    soft.hold_count = (uint32_t)m->holds_count - soft.hold_first;
    err = measure_areas(r, &soft);
    if (err == ERR_OK) err = extras_read_colliders(r, json, &soft);
    e->item = (uint32_t)m->softs_count;
    r->softs[m->softs_count++] = soft;
    return err;
}

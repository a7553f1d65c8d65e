#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/bake/extras.h"
#include "server/bake/rig.h"

// Cloth: particles on the region and on the vertices that hold it, links along edges against
// stretching and over two edges against bending. A vertex's share is its freedom: 0 the skin holds
// it, 1 it hangs.

enum { PARTICLES = 320 }; // when nobody says
enum { HELD_PART = 12 };  // where nothing holds the cloth, one part of so many is held

struct cloth {
    struct extras_reader *r;
    struct extras_net net;
    float *freedom;  // [particle]
    uint32_t *depth; // [particle] edges from where it is held
};
struct wanted_link {
    uint32_t depth, a, b;
    float strength;
};

// The region, and what shares an edge with it.
static enum err mark_inside(struct extras_reader *r, uint8_t **out)
{
    const struct model *m = &r->b->model;
    uint8_t *inside = BUILDER_ARRAY(r->b, uint8_t, model_vertex_count(m));
    bool any = false;
    if (!inside) return builder_no_memory(r->b);
    for (size_t i = 0; i + 2 < m->indices_count; i += 3) {
        bool touches = false;
        for (size_t k = 0; k < 3; k++)
            touches = touches || r->share[m->indices[i + k]] > 0;
        for (size_t k = 0; k < 3 && touches; k++)
            inside[m->weld[m->indices[i + k]]] = 1;
    }
    for (size_t v = 0; v < model_vertex_count(m); v++) {
        if (r->share[v] > 0) inside[m->weld[v]] = 1;
        any = any || r->share[v] > 0;
    }
    *out = inside;
    return any ? ERR_OK : extras_bad(r, "vertices", "no vertex is free");
}

static uint32_t nearest_to(const struct cloth *c, const double at[3], const uint8_t *taken)
{
    uint32_t best = UINT32_MAX;
    double least = HUGE_VAL;
    for (uint32_t p = 0; p < c->net.count; p++) {
        double d = 0;
        for (int k = 0; k < 3; k++)
            d += (c->r->place[c->net.vertex[p]][k] - at[k]) *
                 (c->r->place[c->net.vertex[p]][k] - at[k]);
        if (taken[p] || d >= least) continue;
        least = d;
        best = p;
    }
    return best;
}

// Somebody must hold it: what is nearest to `attach`, where the rig file holds nothing.
static enum err hold(struct cloth *c)
{
    struct extras_reader *r = c->r;
    uint32_t held = 0, wanted = c->net.count / HELD_PART + 1;
    for (uint32_t p = 0; p < c->net.count; p++) {
        c->freedom[p] = r->share[c->net.vertex[p]];
        held += c->freedom[p] < 0.25f;
    }
    if (held > 0) return ERR_OK;
    uint8_t *taken = BUILDER_ARRAY(r->b, uint8_t, c->net.count);
    if (!taken) return builder_no_memory(r->b);
    for (uint32_t i = 0; i < wanted; i++) {
        uint32_t p = nearest_to(c, r->nodes[r->extra->node].col[3], taken);
        taken[p] = 1;
        c->freedom[p] = 0;
    }
    scene_note(r->b->scene, NOTE_READ, wanted,
               "%s: nothing holds the cloth: the particles nearest to `attach` do", r->path);
    return ERR_OK;
}

static enum err measure_depth(struct cloth *c)
{
    uint32_t *queue = BUILDER_ARRAY(c->r->b, uint32_t, c->net.count), head = 0, tail = 0;
    c->depth = BUILDER_ARRAY(c->r->b, uint32_t, c->net.count);
    if (!queue || !c->depth) return builder_no_memory(c->r->b);
    for (uint32_t p = 0; p < c->net.count; p++) {
        c->depth[p] = c->freedom[p] < 0.25f ? 0 : UINT32_MAX;
        if (c->depth[p] == 0) queue[tail++] = p;
    }
    while (head < tail) {
        uint32_t p = queue[head++];
        for (uint32_t i = c->net.first[p]; i < c->net.first[p + 1]; i++) {
            uint32_t q = c->net.neighbour[i];
            if (c->depth[q] != UINT32_MAX) continue;
            c->depth[q] = c->depth[p] + 1;
            queue[tail++] = q;
        }
    }
    return ERR_OK;
}

// The particle after `q` that goes on as straight as can be from p over q.
static uint32_t straight_on(const struct cloth *c, uint32_t p, uint32_t q)
{
    double(*place)[3] = c->r->place, best = 0.5;
    uint32_t found = UINT32_MAX, a = c->net.vertex[p], b = c->net.vertex[q];
    for (uint32_t i = c->net.first[q]; i < c->net.first[q + 1]; i++) {
        uint32_t e = c->net.vertex[c->net.neighbour[i]];
        double dot = 0, u = 0, v = 0;
        for (int k = 0; k < 3; k++) {
            double x = place[b][k] - place[a][k], y = place[e][k] - place[b][k];
            dot += x * y;
            u += x * x;
            v += y * y;
        }
        if (c->net.neighbour[i] == p || !(dot > best * sqrt(u * v))) continue;
        best = dot / sqrt(u * v);
        found = c->net.neighbour[i];
    }
    return found;
}

static int outwards(const void *a, const void *b)
{
    const struct wanted_link *x = a, *y = b;
    if (x->depth != y->depth) return x->depth < y->depth ? -1 : 1;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    if (x->b != y->b) return x->b < y->b ? -1 : 1;
    return x->strength > y->strength ? -1 : x->strength < y->strength;
}

// From where it is held outwards, so that one pass carries far.
static enum err add_links(struct cloth *c, float stretch, float bend)
{
    const struct extras_net *n = &c->net;
    size_t edges = n->first[n->count], count = 0;
    struct wanted_link *links = BUILDER_ARRAY(c->r->b, struct wanted_link, 2 * edges + 1);
    enum err e = ERR_OK;
    if (!links) return builder_no_memory(c->r->b);
    for (uint32_t p = 0; p < n->count; p++)
        for (uint32_t i = n->first[p]; i < n->first[p + 1]; i++) {
            uint32_t q = n->neighbour[i], far = straight_on(c, p, q);
            uint32_t nearest = c->depth[p] < c->depth[q] ? c->depth[p] : c->depth[q];
            if (q > p) links[count++] = (struct wanted_link){nearest, p, q, stretch};
            if (far != UINT32_MAX && far > p && bend > 0)
                links[count++] = (struct wanted_link){nearest, p, far, bend};
        }
    if (count > 1) qsort(links, count, sizeof *links, outwards);
    for (size_t i = 0; i < count && e == ERR_OK; i++) {
        bool held = !(c->freedom[links[i].a] > 0) && !(c->freedom[links[i].b] > 0);
        bool twice = i > 0 && links[i].a == links[i - 1].a && links[i].b == links[i - 1].b;
        if (!held && !twice) e = extras_link_add(c->r, links[i].a, links[i].b, links[i].strength);
    }
    return e;
}

static double size_of(const struct extras_reader *r)
{
    double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    double square = 0;
    for (size_t v = 0; v < model_vertex_count(&r->b->model); v++)
        for (int k = 0; k < 3 && r->share[v] > 0; k++) {
            low[k] = fmin(low[k], r->place[v][k]);
            high[k] = fmax(high[k], r->place[v][k]);
        }
    for (int k = 0; k < 3; k++)
        square += (high[k] - low[k]) * (high[k] - low[k]);
    return sqrt(square);
}

static enum err read_region(struct extras_reader *r, const cJSON *json)
{
    enum err e = extras_node(r, json, "attach", &r->extra->node);
    if (e != ERR_OK) return e;
    if (extras_region_listed(json)) return extras_region_read(r, json);
    extras_region_round(r, r->nodes[r->extra->node].col[3],
                        extras_length(r, json, "radius_m", 0.2));
    return ERR_OK;
}

enum err extras_read_cloth(struct extras_reader *r, const cJSON *json,
                           struct model_extra_block *blocks)
{
    struct model *m = &r->b->model;
    struct model_soft soft = {.particle_first = (uint32_t)m->particles_count,
                              .link_first = (uint32_t)m->links_count,
                              .hold_first = (uint32_t)m->holds_count,
                              .gravity = extras_number(json, "gravity", 0),
                              .drag_per_s = extras_number(json, "drag_per_s", 0.6),
                              .hit_radius = extras_length(r, json, "thickness_m", 0.01),
                              .iterations = 1};
    struct cloth c = {.r = r};
    uint8_t *inside = NULL;
    enum err e = read_region(r, json);
    if (e == ERR_OK) e = mark_inside(r, &inside);
    if (e == ERR_OK)
        e = extras_net_spread(r, inside, (uint32_t)extras_number(json, "particles", PARTICLES),
                              &c.net);
    if (e != ERR_OK) return e;
    c.freedom = BUILDER_ARRAY(r->b, float, c.net.count);
    if (!c.freedom) return builder_no_memory(r->b);
    r->extra->frequency_hz = extras_number(json, "frequency_hz", 0.7);
    r->extra->damping_ratio = extras_number(json, "damping_ratio", 0.15);
    r->extra->radius = size_of(r);
    soft.limit = extras_length(r, json, "limit_m", 0.5 * r->extra->radius * r->unit_m);
    e = extras_region_write(r, blocks);
    if (e == ERR_OK) e = hold(&c);
    if (e == ERR_OK) e = measure_depth(&c);
    for (uint32_t p = 0; p < c.net.count && e == ERR_OK; p++) {
        struct model_particle particle = extras_particle_at(r, c.net.vertex[p]);
        particle.freedom = c.freedom[p];
        e = extras_particle_add(r, &particle);
    }
    if (e == ERR_OK)
        e = add_links(&c, (float)extras_number(json, "stretch", 0.9),
                      (float)extras_number(json, "bend", 0.1));
    if (e == ERR_OK) e = extras_bind(r, &c.net, false, true, blocks);
    soft.particle_count = (uint32_t)m->particles_count - soft.particle_first;
    soft.link_count = (uint32_t)m->links_count - soft.link_first;
    soft.hold_count = (uint32_t)m->holds_count - soft.hold_first;
    if (e == ERR_OK) e = extras_read_colliders(r, json, &soft);
    r->extra->item = (uint32_t)m->softs_count;
    r->softs[m->softs_count++] = soft;
    return e;
}

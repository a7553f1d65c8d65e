#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/bake/dense.h"
#include "server/bake/drivers.h"
#include "server/bake/partners.h"
#include "server/character/pose/mirror.h"
#include "server/character/pose/skeleton.h"
#include "server/character/surface/skin.h"

// Drivers that mirror another, in world space about the plane x = 0: a mirrored joint stands at
//   G' of the partner = M G G(P0)^-1 M G(P0) of the partner
// so that differing joint axes of left and right do not matter; deltas mirror through the base
// pose: D' = B'^-1 M B D at the vertex that lies across.

static const double PAIR_TOLERANCE = 1e-3; // of the box diagonal

// ---- poses

static void mirror_axis(const struct mirror *p, struct model_driver_joint *j, uint32_t from)
{
    struct xform inverse;
    double world[3], length = 0;
    for (int r = 0; r < 3; r++)
        world[r] = p->base[from].col[0][r] * j->axis[0] + p->base[from].col[1][r] * j->axis[1] +
                   p->base[from].col[2][r] * j->axis[2];
    world[0] = -world[0];
    if (!xform_invert(&p->base[j->node], &inverse)) return;
    for (int r = 0; r < 3; r++) {
        j->axis[r] = inverse.col[0][r] * world[0] + inverse.col[1][r] * world[1] +
                     inverse.col[2][r] * world[2];
        length += j->axis[r] * j->axis[r];
    }
    for (int r = 0; length > 0 && r < 3; r++)
        j->axis[r] /= sqrt(length);
}

static enum err mirror_plan(struct driver_bake *k, struct mirror *p, const struct driver_plan *from,
                            struct driver_plan *to)
{
    const struct model *m = &k->b->model;
    const char *name = to->name, *mirror_of = to->mirror_of;
    char path[sizeof to->path];
    bool stands = to->stands;
    struct example_plan *own = to->examples;
    uint32_t own_count = to->example_count;
    memcpy(path, to->path, sizeof path);
    *to = *from;
    to->name = name;
    to->mirror_of = mirror_of;
    memcpy(to->path, path, sizeof path);
    to->joints = DRIVERS_ARRAY(k, struct model_driver_joint, from->joint_count);
    to->examples = DRIVERS_ARRAY(k, struct example_plan, from->example_count);
    if (!to->joints || !to->examples) return drivers_no_memory(k);
    to->stands = stands;
    for (uint32_t j = 0; j < from->joint_count; j++) {
        to->joints[j] = from->joints[j];
        to->joints[j].node = p->partners[from->joints[j].node];
        mirror_axis(p, &to->joints[j], from->joints[j].node);
    }
    if (stands) { // of an edit that does not touch it: only its joints were wanted
        to->examples = own;
        to->example_count = own_count;
        return ERR_OK;
    }
    for (uint32_t i = 0; i < from->example_count; i++) {
        to->examples[i] = from->examples[i];
        to->examples[i].locals = DRIVERS_ARRAY(k, struct trs, m->nodes_count);
        if (!to->examples[i].locals) return drivers_no_memory(k);
        (void)snprintf(to->examples[i].path, sizeof to->examples[i].path, "%s/mirror_of", path);
        mirror_pose(p, from->examples[i].locals, to->examples[i].locals);
    }
    return ERR_OK;
}

static struct driver_plan *source_of(struct driver_bake *k, const struct driver_plan *d)
{
    for (uint32_t i = 0; i < k->driver_count; i++)
        if (!k->drivers[i].mirror_of && strcmp(k->drivers[i].name, d->mirror_of) == 0)
            return &k->drivers[i];
    return NULL;
}

static enum err start_poses(struct driver_bake *k, struct mirror *p)
{
    const struct model *m = &k->b->model;
    enum err e = mirror_partners(k->b, &p->partners);
    if (e != ERR_OK) return e;
    p->model = m;
    p->base = DRIVERS_ARRAY(k, struct xform, m->nodes_count);
    p->posed = DRIVERS_ARRAY(k, struct xform, m->nodes_count);
    p->across = DRIVERS_ARRAY(k, struct xform, m->nodes_count);
    if (!p->base || !p->posed || !p->across) return drivers_no_memory(k);
    mirror_prepare(p);
    return ERR_OK;
}

enum err driver_mirror_poses(struct driver_bake *k)
{
    struct mirror p;
    enum err started = start_poses(k, &p);
    if (started != ERR_OK) return started;
    for (uint32_t i = 0; i < k->driver_count; i++) {
        struct driver_plan *d = &k->drivers[i];
        if (!d->mirror_of) continue;
        const struct driver_plan *from = source_of(k, d);
        if (!from)
            return fault_set(k->fault, ERR_NOT_FOUND,
                             "%s/mirror_of: no driver with examples is called \"%.60s\"", d->path,
                             d->mirror_of);
        enum err e = mirror_plan(k, &p, from, d);
        if (e != ERR_OK) return e;
    }
    return ERR_OK;
}

// ---- deltas

struct mirror_surface {
    double (*place)[3];     // [vertex] in the base pose's world
    double (*linear)[3][3]; // [vertex] B
    uint32_t *across;       // [vertex] the one that lies mirrored, or UINT32_MAX
    uint32_t *part;         // [vertex] whose it is
};

struct by_height {
    double y;
    uint32_t vertex;
};

static int height_order(const void *a, const void *b)
{
    const struct by_height *x = a, *y = b;
    if (x->y != y->y) return x->y < y->y ? -1 : 1;
    return x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

// Of the same part where there is one: clothes lie on skin, and layers share places.
static uint32_t nearest_across(const struct by_height *sorted, size_t count, double tolerance,
                               const struct mirror_surface *s, uint32_t part, const double want[3])
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sorted[middle].y < want[1] - tolerance)
            low = middle + 1;
        else
            high = middle;
    }
    double best = HUGE_VAL;
    uint32_t found = UINT32_MAX;
    for (; low < count && sorted[low].y <= want[1] + tolerance; low++) {
        const double *p = s->place[sorted[low].vertex];
        double d = 0;
        for (int r = 0; r < 3; r++)
            d += (p[r] - want[r]) * (p[r] - want[r]);
        if (d > tolerance * tolerance) continue;
        if (s->part[sorted[low].vertex] != part) d += tolerance * tolerance;
        if (d < best) {
            best = d;
            found = sorted[low].vertex;
        }
    }
    return found;
}

static enum err measure_base(struct driver_bake *k, struct mirror_surface *s)
{
    const struct model *m = &k->b->model;
    size_t count = model_vertex_count(m);
    struct skeleton_slot *palette =
        aligned_alloc(64, (m->slots_count * sizeof *palette + 63) & ~(size_t)63);
    struct xform *nodes = DRIVERS_ARRAY(k, struct xform, m->nodes_count);
    struct by_height *sorted = DRIVERS_ARRAY(k, struct by_height, count);
    if (!palette || !nodes || !sorted) {
        free(palette);
        return drivers_no_memory(k);
    }
    skeleton_model_from_nodes(m, m->base_pose, nodes);
    skeleton_palette(m, nodes, palette);
    for (uint32_t v = 0; v < count; v++) {
        const float *x = k->b->positions + (size_t)v * 3;
        double shift[3] = {0};
        skin_linear_part(m, palette, m->vertex_lanes[v], s->linear[v]);
        for (uint32_t i = k->b->influence_first[v]; i < k->b->influence_first[v + 1]; i++)
            for (int r = 0; r < 3; r++)
                shift[r] += (double)k->b->influence_weights[i] *
                            (double)palette[k->b->influence_slots[i]].col[3][r];
        for (int r = 0; r < 3; r++)
            s->place[v][r] = s->linear[v][0][r] * (double)x[0] + s->linear[v][1][r] * (double)x[1] +
                             s->linear[v][2][r] * (double)x[2] + shift[r];
        sorted[v] = (struct by_height){s->place[v][1], v};
    }
    free(palette);
    qsort(sorted, count, sizeof *sorted, height_order);
    for (uint32_t v = 0; v < count; v++) {
        double want[3] = {-s->place[v][0], s->place[v][1], s->place[v][2]};
        s->across[v] =
            nearest_across(sorted, count, PAIR_TOLERANCE * k->diagonal, s, s->part[v], want);
    }
    return ERR_OK;
}

static bool mirror_vertex(struct mirror_surface *s, uint32_t from, uint32_t to, const double in[3],
                          double out[3])
{
    double world[3], inverse[3][3];
    if (!dense_invert3(s->linear[to], inverse)) return false;
    for (int r = 0; r < 3; r++)
        world[r] = s->linear[from][0][r] * in[0] + s->linear[from][1][r] * in[1] +
                   s->linear[from][2][r] * in[2];
    world[0] = -world[0];
    for (int r = 0; r < 3; r++)
        out[r] = inverse[0][r] * world[0] + inverse[1][r] * world[1] + inverse[2][r] * world[2];
    return true;
}

// Gathers: each vertex takes the delta of the one that lies across, so that seam twins both get
// theirs.
static enum err mirror_set(struct driver_bake *k, struct mirror_surface *s,
                           const struct delta_set *from, struct delta_set *to, uint32_t *at)
{
    size_t count = model_vertex_count(&k->b->model);
    memset(at, 0, count * sizeof *at);
    for (uint32_t i = 0; i < from->count; i++)
        at[from->vertices[i]] = i + 1;
    uint32_t found = 0;
    for (uint32_t v = 0; v < count; v++)
        found += s->across[v] != UINT32_MAX && at[s->across[v]];
    *to = (struct delta_set){.vertices = DRIVERS_ARRAY(k, uint32_t, found),
                             .deltas = pool_take(k->pool, found, sizeof *to->deltas)};
    if (!to->vertices || !to->deltas) return drivers_no_memory(k);
    for (uint32_t v = 0; v < count; v++) {
        uint32_t other = s->across[v];
        if (other == UINT32_MAX || !at[other]) continue;
        if (mirror_vertex(s, other, v, from->deltas[at[other] - 1], to->deltas[to->count]))
            to->vertices[to->count++] = v;
    }
    return ERR_OK;
}

static enum err start_surface(struct driver_bake *k, struct mirror_surface *s, uint32_t **at)
{
    size_t count = model_vertex_count(&k->b->model);
    *s = (struct mirror_surface){.place = pool_take(k->pool, count, sizeof *s->place),
                                 .linear = pool_take(k->pool, count, sizeof *s->linear),
                                 .across = DRIVERS_ARRAY(k, uint32_t, count),
                                 .part = DRIVERS_ARRAY(k, uint32_t, count)};
    *at = DRIVERS_ARRAY(k, uint32_t, count);
    if (!s->place || !s->linear || !s->across || !s->part || !*at) return drivers_no_memory(k);
    for (uint32_t i = 0; i < k->b->model.parts_count; i++)
        for (uint32_t v = 0; v < k->b->model.parts[i].vertex_count; v++)
            s->part[k->b->model.parts[i].vertex_first + v] = i;
    return measure_base(k, s);
}

enum err driver_mirror_deltas(struct driver_bake *k)
{
    bool any = false;
    for (uint32_t i = 0; i < k->driver_count; i++)
        any = any || (k->drivers[i].mirror_of && !k->drivers[i].stands);
    if (!any) return ERR_OK;
    struct mirror_surface s;
    uint32_t *at;
    enum err e = start_surface(k, &s, &at);
    for (uint32_t i = 0; e == ERR_OK && i < k->driver_count; i++) {
        struct driver_plan *d = &k->drivers[i];
        if (!d->mirror_of || d->stands) continue;
        const struct driver_plan *from = source_of(k, d);
        uint32_t lost = 0;
        for (uint32_t n = 0; e == ERR_OK && n < d->example_count; n++) {
            e = mirror_set(k, &s, &from->examples[n].d, &d->examples[n].d, at);
            if (e == ERR_OK && d->examples[n].d.count < from->examples[n].d.count)
                lost += from->examples[n].d.count - d->examples[n].d.count;
            d->examples[n].gain = from->examples[n].gain;
        }
        if (lost)
            scene_note(k->b->scene, NOTE_LEFT_OUT, lost,
                       "driver \"%.60s\": sculpted vertex without a partner across the middle",
                       d->name);
    }
    return e;
}

// ---- of an edit

enum err driver_mirror_is_across(struct driver_bake *k, const struct driver_plan *a,
                                 const struct driver_plan *b, bool *is)
{
    struct mirror p;
    enum err e = start_poses(k, &p);
    if (e != ERR_OK) return e;
    *is = a->joint_count == b->joint_count;
    for (uint32_t i = 0; *is && i < a->joint_count; i++) {
        bool found = false;
        for (uint32_t n = 0; n < b->joint_count; n++)
            found = found || p.partners[a->joints[i].node] == b->joints[n].node;
        *is = found;
    }
    return ERR_OK;
}

enum err driver_mirror_example(struct driver_bake *k, const struct example_plan *from,
                               struct example_plan *to)
{
    struct mirror p;
    struct mirror_surface s;
    uint32_t *at;
    enum err e = start_poses(k, &p);
    if (e == ERR_OK) e = start_surface(k, &s, &at);
    if (e != ERR_OK) return e;
    to->locals = DRIVERS_ARRAY(k, struct trs, k->b->model.nodes_count);
    if (!to->locals) return drivers_no_memory(k);
    mirror_pose(&p, from->locals, to->locals);
    e = driver_delta_admit(k, to->locals);
    if (e == ERR_OK) e = mirror_set(k, &s, &from->d, &to->d, at);
    to->gain = from->gain;
    return e;
}

#include <string.h>

#include "common/check.h"
#include "server/bake/dense.h"
#include "server/bake/drivers.h"
#include "server/character/surface/surface.h"

// The examples' deltas in base space: D = Av(Pi)^-1 (Y - X).

static const double SINGULAR_LIMIT = 0.25; // of Lv B^-1: below it Av is the vertex's R H
// Of the box diagonal: where the base surface went, every example follows back.
static const double FOLLOW_THRESHOLD = 1e-8;
static const double KEEP_THRESHOLD = 2e-6; // of the posed box's diagonal, in pose space

// One pose of the model, ready to be asked for surfaces and pose transforms.
struct posed {
    struct arena arena;
    struct face_map map;
    struct pose pose;
    struct skeleton_slot *palette;
    struct skeleton_dual_slot *dual;
    struct xform *model_from_node;
    struct surface_block *blocks;
    float *positions;
    double diagonal;
    bool skin_is_dual;
};

static bool posed_start(struct driver_bake *k, struct posed *p)
{
    const struct model *m = &k->b->model;
    size_t bytes = face_map_bytes(m) + pose_bytes(m) + m->slots_count * sizeof *p->palette +
                   m->slots_count * sizeof *p->dual + m->nodes_count * sizeof *p->model_from_node +
                   m->blocks_count * sizeof *p->blocks + model_vertex_count(m) * 3 * sizeof(float) +
                   8192;
    *p = (struct posed){.skin_is_dual = k->rig->skinning == MODEL_DQ};
    if (!arena_create(&p->arena, bytes)) return false;
    face_map_build(m, &p->arena, &p->map);
    p->pose = pose_take(m, &p->arena);
    p->palette = ARENA_ARRAY(&p->arena, struct skeleton_slot, m->slots_count);
    p->dual = ARENA_ARRAY(&p->arena, struct skeleton_dual_slot, m->slots_count);
    p->model_from_node = ARENA_ARRAY(&p->arena, struct xform, m->nodes_count);
    p->blocks = ARENA_ARRAY(&p->arena, struct surface_block, m->blocks_count);
    p->positions = ARENA_ARRAY(&p->arena, float, model_vertex_count(m) * 3);
    return true;
}

static void posed_set(struct driver_bake *k, struct posed *p, const struct trs *locals)
{
    const struct model *m = &k->b->model;
    pose_rest(m, p->pose);
    memcpy(p->pose.locals, locals, m->nodes_count * sizeof *locals);
    skeleton_model_from_nodes(m, locals, p->model_from_node);
    skeleton_palette(m, p->model_from_node, p->palette);
    skeleton_dual_palette(m, p->model_from_node, p->dual);
}

// X: the base surface skinned into the pose.
static enum err posed_surface(struct driver_bake *k, struct posed *p)
{
    const struct model *m = &k->b->model;
    struct arena scratch;
    if (!arena_create(&scratch, surface_bytes(m, &p->map, NULL))) return drivers_no_memory(k);
    struct surface_job job = {.model = m,
                              .map = &p->map,
                              .pose = p->pose,
                              .skinning = k->rig->skinning,
                              .level = SIMD_PLAIN,
                              .out = p->blocks};
    surface_run(&job, &scratch);
    arena_destroy(&scratch);
    surface_gather(m, p->blocks, p->positions, NULL);
    double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    for (size_t i = 0; i < model_vertex_count(m) * 3; i++) {
        low[i % 3] = fmin(low[i % 3], (double)p->positions[i]);
        high[i % 3] = fmax(high[i % 3], (double)p->positions[i]);
    }
    double sum = 0;
    for (int r = 0; r < 3; r++)
        sum += (high[r] - low[r]) * (high[r] - low[r]);
    p->diagonal = sqrt(sum);
    return ERR_OK;
}

static void pose_transform(const struct driver_bake *k, const struct posed *p, uint32_t vertex,
                           double out[3][3])
{
    const struct model *m = &k->b->model;
    if (p->skin_is_dual || k->dual_vertex[vertex])
        skin_dual_linear_part(m, p->dual, m->vertex_lanes[vertex], out);
    else
        skin_linear_part(m, p->palette, m->vertex_lanes[vertex], out);
}

static void product3(double a[3][3], double b[3][3], double out[3][3])
{
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++)
            out[c][r] = a[0][r] * b[c][0] + a[1][r] * b[c][1] + a[2][r] * b[c][2];
}

static void apply3(double m[3][3], const double v[3], double out[3])
{
    for (int r = 0; r < 3; r++)
        out[r] = m[0][r] * v[0] + m[1][r] * v[1] + m[2][r] * v[2];
}

static double length3(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

// B^-1 of every vertex: the inverse of its linear part in the base pose.
static enum err base_inverses(struct driver_bake *k, struct posed *p, double (*out)[3][3])
{
    const struct model *m = &k->b->model;
    posed_set(k, p, m->base_pose);
    for (uint32_t v = 0; v < model_vertex_count(m); v++) {
        double linear[3][3];
        skin_linear_part(m, p->palette, m->vertex_lanes[v], linear);
        if (!dense_invert3(linear, out[v])) memset(out[v], 0, sizeof out[v]);
    }
    return ERR_OK;
}

// One influence has R H = L, so only blended vertices can differ.
static void flag_collapsing(struct driver_bake *k, const struct posed *p,
                            double (*base_inverse)[3][3])
{
    const struct model *m = &k->b->model;
    for (uint32_t v = 0; v < model_vertex_count(m); v++) {
        double linear[3][3], relative[3][3], values[3];
        if (k->dual_vertex[v] || m->blocks[m->vertex_lanes[v] / MODEL_LANES].influence_count == 1)
            continue;
        skin_linear_part(m, p->palette, m->vertex_lanes[v], linear);
        product3(linear, base_inverse[v], relative);
        dense_singular3(relative, values);
        k->dual_vertex[v] = values[2] < SINGULAR_LIMIT;
    }
}

struct delta_scratch {
    double *surface;    // Y or E
    double (*dense)[3]; // D by vertex
    double (*base_inverse)[3][3];
    uint32_t lost; // moved vertices whose Av has no inverse
};

static bool vertex_delta(struct driver_bake *k, const struct posed *p, struct delta_scratch *s,
                         struct example_plan *e, uint32_t v, bool is_base)
{
    double av[3][3], inverse[3][3], relative[3][3], values[3], moved[3];
    const double *y = s->surface + (size_t)v * 3;
    pose_transform(k, p, v, av);
    if (is_base) {
        for (size_t r = 0; r < 3; r++)
            s->dense[v][r] = y[r] - (double)k->b->positions[(size_t)v * 3 + r];
        apply3(av, s->dense[v], moved);
    } else {
        for (size_t r = 0; r < 3; r++)
            moved[r] = y[r] - (double)p->positions[(size_t)v * 3 + r];
    }
    if (!(length3(moved) > KEEP_THRESHOLD * p->diagonal)) return false;
    product3(av, s->base_inverse[v], relative);
    dense_singular3(relative, values);
    if (values[2] > 0) e->gain = fmax(e->gain, 1 / values[2]);
    if (is_base) return true;
    if (!dense_invert3(av, inverse)) {
        s->lost++;
        return false;
    }
    apply3(inverse, moved, s->dense[v]);
    return true;
}

static enum err example_delta(struct driver_bake *k, struct posed *p, struct delta_scratch *s,
                              struct example_plan *e)
{
    uint32_t vertices = (uint32_t)model_vertex_count(&k->b->model), count = 0;
    bool is_base = false;
    enum err err = driver_surface_read(k, e, s->surface, &is_base);
    if (err != ERR_OK) return err;
    posed_set(k, p, e->locals);
    err = posed_surface(k, p);
    if (err != ERR_OK) return err;
    uint32_t *touched = DRIVERS_ARRAY(k, uint32_t, vertices);
    if (!touched) return drivers_no_memory(k);
    for (uint32_t v = 0; v < vertices; v++)
        if (vertex_delta(k, p, s, e, v, is_base)) touched[count++] = v;
    e->d.deltas = pool_take(k->pool, count, sizeof *e->d.deltas);
    if (!e->d.deltas) return drivers_no_memory(k);
    e->d.count = count;
    e->d.vertices = touched;
    for (uint32_t i = 0; i < count; i++)
        memcpy(e->d.deltas[i], s->dense[touched[i]], sizeof e->d.deltas[i]);
    return ERR_OK;
}

static enum err all_examples(struct driver_bake *k, struct posed *p, struct delta_scratch *s)
{
    for (uint32_t i = 0; i < k->driver_count && !p->skin_is_dual; i++)
        for (uint32_t n = 0; n < k->drivers[i].example_count; n++) {
            posed_set(k, p, k->drivers[i].examples[n].locals);
            flag_collapsing(k, p, s->base_inverse);
        }
    for (uint32_t i = 0; i < k->driver_count; i++)
        for (uint32_t n = 0; n < k->drivers[i].example_count && !k->drivers[i].mirror_of; n++) {
            enum err e = example_delta(k, p, s, &k->drivers[i].examples[n]);
            if (e != ERR_OK) return e;
        }
    if (s->lost)
        scene_note(k->b->scene, NOTE_LEFT_OUT, s->lost,
                   "sculpted vertex of an example whose joint is scaled to nothing there");
    return ERR_OK;
}

enum err driver_delta_make(struct driver_bake *k)
{
    size_t vertices = model_vertex_count(&k->b->model);
    struct delta_scratch s = {
        .surface = DRIVERS_ARRAY(k, double, vertices * 3),
        .dense = pool_take(k->pool, vertices, sizeof *s.dense),
        .base_inverse = pool_take(k->pool, vertices, sizeof *s.base_inverse),
    };
    struct posed p;
    if (!s.surface || !s.dense || !s.base_inverse || !posed_start(k, &p))
        return drivers_no_memory(k);
    enum err e = base_inverses(k, &p, s.base_inverse);
    if (e == ERR_OK) e = all_examples(k, &p, &s);
    arena_destroy(&p.arena);
    return e;
}

// ---- of an edit

struct edit_scratch {
    struct posed p;
    double (*base_inverse)[3][3];
};

static enum err start_edit(struct driver_bake *k, struct edit_scratch *s)
{
    size_t vertices = model_vertex_count(&k->b->model);
    s->base_inverse = pool_take(k->pool, vertices, sizeof *s->base_inverse);
    if (!s->base_inverse || !posed_start(k, &s->p)) return drivers_no_memory(k);
    return base_inverses(k, &s->p, s->base_inverse);
}

static enum err take_set(struct driver_bake *k, double (*dense)[3], const uint8_t *has,
                         struct delta_set *out)
{
    uint32_t vertices = (uint32_t)model_vertex_count(&k->b->model), count = 0;
    for (uint32_t v = 0; v < vertices; v++)
        count += has[v];
    struct delta_set set = {.vertices = DRIVERS_ARRAY(k, uint32_t, count),
                            .deltas = pool_take(k->pool, count, sizeof *set.deltas)};
    if (!set.vertices || !set.deltas) return drivers_no_memory(k);
    for (uint32_t v = 0; v < vertices; v++) {
        if (!has[v]) continue;
        memcpy(set.deltas[set.count], dense[v], sizeof dense[v]);
        set.vertices[set.count++] = v;
    }
    *out = set;
    return ERR_OK;
}

static void spread_set(const struct delta_set *set, double (*dense)[3], uint8_t *has)
{
    for (uint32_t i = 0; i < set->count; i++) {
        memcpy(dense[set->vertices[i]], set->deltas[i], sizeof set->deltas[i]);
        has[set->vertices[i]] = 1;
    }
}

enum err driver_delta_surface(struct driver_bake *k, const struct example_plan *e,
                              double *positions)
{
    struct posed p;
    if (!posed_start(k, &p)) return drivers_no_memory(k);
    posed_set(k, &p, e->locals);
    enum err err = posed_surface(k, &p);
    for (size_t i = 0; err == ERR_OK && i < model_vertex_count(&k->b->model) * 3; i++)
        positions[i] = (double)p.positions[i];
    for (uint32_t i = 0; err == ERR_OK && i < e->d.count; i++) {
        double av[3][3], moved[3];
        pose_transform(k, &p, e->d.vertices[i], av);
        apply3(av, e->d.deltas[i], moved);
        for (size_t r = 0; r < 3; r++)
            positions[(size_t)e->d.vertices[i] * 3 + r] += moved[r];
    }
    arena_destroy(&p.arena);
    return err;
}

static bool is_where_it_was(const double *y, const double *before)
{
    return (float)y[0] == (float)before[0] && (float)y[1] == (float)before[1] &&
           (float)y[2] == (float)before[2];
}

enum err driver_delta_sculpt(struct driver_bake *k, struct example_plan *e, const double *y,
                             const double *before)
{
    size_t vertices = model_vertex_count(&k->b->model);
    double(*dense)[3] = pool_take(k->pool, vertices, sizeof *dense);
    uint8_t *has = DRIVERS_ARRAY(k, uint8_t, vertices);
    struct edit_scratch s;
    enum err err = start_edit(k, &s);
    if (err != ERR_OK) return err;
    if (!dense || !has) err = drivers_no_memory(k);
    posed_set(k, &s.p, e->locals);
    if (err == ERR_OK) err = posed_surface(k, &s.p);
    struct delta_scratch one = {.surface = NULL, .dense = dense, .base_inverse = s.base_inverse};
    if (err == ERR_OK) {
        double *copy = DRIVERS_ARRAY(k, double, vertices * 3);
        if (!copy) err = drivers_no_memory(k);
        if (copy) memcpy(copy, y, vertices * 3 * sizeof *copy);
        one.surface = copy;
        spread_set(&e->d, dense, has);
    }
    for (uint32_t v = 0; err == ERR_OK && v < vertices; v++) {
        if (before && is_where_it_was(y + (size_t)v * 3, before + (size_t)v * 3)) continue;
        has[v] = vertex_delta(k, &s.p, &one, e, v, false);
    }
    if (err == ERR_OK && one.lost)
        err = fault_set(k->fault, ERR_MALFORMED,
                        "%u vertices were moved whose joints are scaled to nothing at this pose",
                        one.lost);
    if (err == ERR_OK) err = take_set(k, dense, has, &e->d);
    arena_destroy(&s.p.arena);
    return err;
}

enum err driver_delta_follow(struct driver_bake *k, struct example_plan *e, const double *moved)
{
    size_t vertices = model_vertex_count(&k->b->model);
    double(*dense)[3] = pool_take(k->pool, vertices, sizeof *dense);
    uint8_t *has = DRIVERS_ARRAY(k, uint8_t, vertices);
    const struct model *m = &k->b->model;
    struct posed p;
    if (!dense || !has || !posed_start(k, &p)) return drivers_no_memory(k);
    posed_set(k, &p, e->locals);
    spread_set(&e->d, dense, has);
    for (uint32_t v = 0; v < vertices; v++) {
        const double *u = moved + (size_t)v * 3;
        double skin[3][3], av[3][3], inverse[3][3], carried[3], back[3];
        if (u[0] == 0 && u[1] == 0 && u[2] == 0) continue;
        pose_transform(k, &p, v, av);
        if (!dense_invert3(av, inverse)) continue;
        if (p.skin_is_dual)
            skin_dual_linear_part(m, p.dual, m->vertex_lanes[v], skin);
        else
            skin_linear_part(m, p.palette, m->vertex_lanes[v], skin);
        apply3(skin, u, carried);
        apply3(inverse, carried, back);
        for (size_t r = 0; r < 3; r++)
            dense[v][r] -= back[r];
        has[v] = length3(dense[v]) > FOLLOW_THRESHOLD * k->diagonal;
    }
    arena_destroy(&p.arena);
    return take_set(k, dense, has, &e->d);
}

// Av has changed at flagged vertices: A_new D_new = A_old D_old.
static void convert_example(struct driver_bake *k, struct posed *p, struct example_plan *e,
                            const uint8_t *changed)
{
    const struct model *m = &k->b->model;
    bool any = false;
    for (uint32_t i = 0; i < e->d.count; i++)
        any = any || changed[e->d.vertices[i]];
    if (!any) return;
    posed_set(k, p, e->locals);
    for (uint32_t i = 0; i < e->d.count; i++) {
        double old[3][3], now[3][3], inverse[3][3], carried[3];
        uint32_t v = e->d.vertices[i];
        if (!changed[v]) continue;
        skin_linear_part(m, p->palette, m->vertex_lanes[v], old);
        skin_dual_linear_part(m, p->dual, m->vertex_lanes[v], now);
        if (!dense_invert3(now, inverse)) continue;
        apply3(old, e->d.deltas[i], carried);
        apply3(inverse, carried, e->d.deltas[i]);
    }
}

enum err driver_delta_admit(struct driver_bake *k, const struct trs *locals)
{
    size_t vertices = model_vertex_count(&k->b->model);
    uint8_t *changed = DRIVERS_ARRAY(k, uint8_t, vertices);
    struct edit_scratch s;
    bool any = false;
    if (k->rig->skinning == MODEL_DQ) return ERR_OK; // Av is R H everywhere
    if (!changed) return drivers_no_memory(k);
    enum err e = start_edit(k, &s);
    if (e != ERR_OK) return e;
    memcpy(changed, k->dual_vertex, vertices);
    posed_set(k, &s.p, locals);
    flag_collapsing(k, &s.p, s.base_inverse);
    for (size_t v = 0; v < vertices; v++) {
        changed[v] = changed[v] != k->dual_vertex[v];
        any = any || changed[v];
    }
    for (uint32_t i = 0; any && i < k->driver_count; i++)
        for (uint32_t n = 0; n < k->drivers[i].example_count; n++) {
            convert_example(k, &s.p, &k->drivers[i].examples[n], changed);
            for (uint32_t d = 0; d < k->drivers[i].examples[n].d.count; d++)
                if (changed[k->drivers[i].examples[n].d.vertices[d]]) k->drivers[i].same = false;
        }
    arena_destroy(&s.p.arena);
    return ERR_OK;
}

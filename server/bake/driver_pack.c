#include <math.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/drivers.h"

// Driver plans to the model's tables.

static const double PACK_ERROR = 5e-6; // of the box diagonal, at every sampled pose

struct counts {
    size_t solves, joints, center_doubles, matrix_doubles, examples, corrections;
    size_t example_deltas;
};

static struct counts count_all(const struct driver_bake *k)
{
    struct counts n = {0};
    for (uint32_t i = 0; i < k->driver_count; i++) {
        const struct driver_plan *d = &k->drivers[i];
        n.solves += d->solve_count;
        n.examples += d->example_count;
        for (uint32_t e = 0; e < d->example_count; e++)
            n.example_deltas += d->examples[e].d.count;
        for (uint32_t s = 0; s < d->solve_count; s++) {
            const struct solve_plan *p = &d->solves[s];
            n.joints += p->joint_count;
            n.center_doubles += (size_t)p->center_count * p->joint_count * MODEL_CENTER_DOUBLES;
            n.matrix_doubles += (size_t)p->center_count * p->center_count;
            n.corrections += p->center_count;
        }
    }
    return n;
}

struct tables {
    struct model_driver *drivers;
    struct model_solve *solves;
    struct model_driver_joint *joints;
    double *centers, *matrix;
    struct model_example *examples;
    struct model_correction *corrections;
    struct model_correction_block *blocks;
    struct model_packed_block *packed;
    struct trs *poses;
    struct model_example_delta *deltas;
    uint32_t solve, joint, center, entry, example, correction, block, packed_block, weight;
    size_t delta;
};

static void pack_solve(const struct solve_plan *p, uint32_t driver, struct tables *t)
{
    size_t center_doubles = (size_t)p->center_count * p->joint_count * MODEL_CENTER_DOUBLES;
    size_t entries = (size_t)p->center_count * p->center_count;
    t->solves[t->solve++] = (struct model_solve){.driver = driver,
                                                 .joint_first = t->joint,
                                                 .joint_count = p->joint_count,
                                                 .center_count = p->center_count,
                                                 .center_first = t->center,
                                                 .matrix_first = t->entry,
                                                 .weight_first = t->weight,
                                                 .radius = p->radius};
    memcpy(t->joints + t->joint, p->joints, p->joint_count * sizeof *p->joints);
    memcpy(t->centers + t->center, p->centers, center_doubles * sizeof *p->centers);
    memcpy(t->matrix + t->entry, p->matrix, entries * sizeof *p->matrix);
    t->joint += p->joint_count;
    t->center += (uint32_t)center_doubles;
    t->entry += (uint32_t)entries;
    t->weight += p->center_count;
}

// Names that an edited model has already are not written again.
static uint32_t name_offset(struct driver_bake *k, const char *name)
{
    const struct model *old = k->edited;
    for (size_t i = 0; old && i < old->drivers_count; i++)
        if (strcmp(model_text(old, old->drivers[i].name), name) == 0) return old->drivers[i].name;
    for (size_t i = 0; old && i < old->examples_count; i++)
        if (strcmp(model_text(old, old->examples[i].name), name) == 0) return old->examples[i].name;
    return builder_text(k->b, name);
}

static void pack_examples(struct driver_bake *k, const struct driver_plan *d, uint32_t driver,
                          struct tables *t)
{
    size_t nodes = k->b->model.nodes_count;
    for (uint32_t i = 0; i < d->example_count; i++) {
        const struct example_plan *e = &d->examples[i];
        memcpy(t->poses + t->example * nodes, e->locals, nodes * sizeof *t->poses);
        for (uint32_t n = 0; n < e->d.count; n++)
            t->deltas[t->delta++] = (struct model_example_delta){
                t->example,
                e->d.vertices[n],
                {(float)e->d.deltas[n][0], (float)e->d.deltas[n][1], (float)e->d.deltas[n][2]}};
        t->examples[t->example++] = (struct model_example){
            .name = name_offset(k, e->name),
            .driver = driver,
            .center = e->center,
            .residual = (float)e->residual,
            .gain = (float)e->gain,
        };
    }
}

// ---- deltas in blocks

struct lanes { // one correction, dense by lane
    double (*delta)[3];
    uint8_t *touched; // [block]
    double largest;
};

static void spread(const struct driver_bake *k, const struct solve_plan *p, uint32_t center,
                   struct lanes *l)
{
    const struct model *m = &k->b->model;
    memset(l->touched, 0, m->blocks_count);
    memset(l->delta, 0, m->blocks_count * MODEL_LANES * sizeof *l->delta);
    l->largest = 0;
    for (uint32_t i = 0; i < p->touched_count; i++) {
        const double *d = p->deltas[(size_t)center * p->touched_count + i];
        uint32_t lane = m->vertex_lanes[p->touched[i]];
        if (d[0] == 0 && d[1] == 0 && d[2] == 0) continue;
        memcpy(l->delta[lane], d, sizeof l->delta[lane]);
        l->touched[lane / MODEL_LANES] = 1;
        for (int r = 0; r < 3; r++)
            l->largest = fmax(l->largest, fabs(d[r]));
    }
}

static void write_packed(const struct lanes *l, uint32_t block, struct model_packed_block *out)
{
    double largest = 0;
    for (uint32_t lane = 0; lane < MODEL_LANES; lane++)
        for (int r = 0; r < 3; r++)
            largest = fmax(largest, fabs(l->delta[block * MODEL_LANES + lane][r]));
    float scale = (float)(largest / INT16_MAX);
    *out = (struct model_packed_block){.block = block, .scale = scale};
    for (uint32_t lane = 0; lane < MODEL_LANES; lane++)
        for (int r = 0; r < 3 && scale > 0; r++) {
            double units = rint(l->delta[block * MODEL_LANES + lane][r] / (double)scale);
            out->position[r][lane] = (int16_t)fmin(fmax(units, -INT16_MAX), INT16_MAX);
        }
}

static void write_floats(const struct lanes *l, uint32_t block, struct model_correction_block *out)
{
    out->block = block;
    for (uint32_t lane = 0; lane < MODEL_LANES; lane++)
        for (int r = 0; r < 3; r++)
            out->position[r][lane] = (float)l->delta[block * MODEL_LANES + lane][r];
}

// Rounding to int16 moves a delta by at most half a unit an axis; weights multiply it.
static bool may_pack(const struct driver_bake *k, const struct solve_plan *p, struct lanes *l)
{
    double unit = 0;
    for (uint32_t c = 0; c < p->center_count; c++) {
        spread(k, p, c, l);
        unit = fmax(unit, l->largest / INT16_MAX);
    }
    return p->weight_sum * unit * 0.8661 <= PACK_ERROR * k->diagonal;
}

static void pack_corrections(const struct driver_bake *k, const struct solve_plan *p,
                             uint32_t solve, struct lanes *l, struct tables *t)
{
    bool packed = may_pack(k, p, l);
    for (uint32_t c = 0; c < p->center_count; c++) {
        struct model_correction out = {.solve = solve,
                                       .center = c,
                                       .block_first = packed ? t->packed_block : t->block,
                                       .packed = packed};
        spread(k, p, c, l);
        for (uint32_t b = 0; b < k->b->model.blocks_count; b++) {
            if (!l->touched[b]) continue;
            out.block_count++;
            if (packed) {
                if (t->packed) write_packed(l, b, &t->packed[t->packed_block]);
                t->packed_block++;
            } else {
                if (t->blocks) write_floats(l, b, &t->blocks[t->block]);
                t->block++;
            }
        }
        if (out.block_count > 0 && t->packed) t->corrections[t->correction] = out;
        t->correction += out.block_count > 0;
    }
}

// Of an edit: nothing of this solve has changed, so its blocks keep their bits.
static void copy_corrections(const struct model *old, uint32_t old_solve, uint32_t solve,
                             struct tables *t)
{
    for (size_t i = 0; i < old->corrections_count; i++) {
        struct model_correction c = old->corrections[i];
        if (c.solve != old_solve) continue;
        uint32_t *at = c.packed ? &t->packed_block : &t->block;
        if (c.packed && t->packed)
            memcpy(t->packed + *at, old->packed_blocks + c.block_first,
                   c.block_count * sizeof *t->packed);
        if (!c.packed && t->blocks)
            memcpy(t->blocks + *at, old->correction_blocks + c.block_first,
                   c.block_count * sizeof *t->blocks);
        c.solve = solve;
        c.block_first = *at;
        *at += c.block_count;
        if (t->packed) t->corrections[t->correction] = c;
        t->correction++;
    }
}

static void pack_all_corrections(const struct driver_bake *k, struct lanes *l, struct tables *t)
{
    t->correction = t->block = t->packed_block = 0;
    for (uint32_t i = 0, solve = 0; i < k->driver_count; i++)
        for (uint32_t s = 0; s < k->drivers[i].solve_count; s++, solve++) {
            if (k->drivers[i].same)
                copy_corrections(k->edited, k->edited->drivers[i].solve_first + s, solve, t);
            else
                pack_corrections(k, &k->drivers[i].solves[s], solve, l, t);
        }
}

static enum err make_corrections(struct driver_bake *k, struct tables *t)
{
    struct model *m = &k->b->model;
    size_t lane_count = m->blocks_count * MODEL_LANES;
    struct lanes l = {.delta = pool_take(k->pool, lane_count, sizeof *l.delta),
                      .touched = DRIVERS_ARRAY(k, uint8_t, m->blocks_count)};
    if (!l.delta || !l.touched) return drivers_no_memory(k);
    pack_all_corrections(k, &l, t); // to count
    size_t block_count = t->block, packed_count = t->packed_block;
    t->blocks = BUILDER_ARRAY(k->b, struct model_correction_block, block_count);
    t->packed = BUILDER_ARRAY(k->b, struct model_packed_block, packed_count);
    if (!t->blocks || !t->packed) return builder_no_memory(k->b);
    pack_all_corrections(k, &l, t);
    CHECK(t->block == block_count && t->packed_block == packed_count);
    m->corrections = t->corrections;
    m->corrections_count = t->correction;
    m->correction_blocks = t->blocks;
    m->correction_blocks_count = block_count;
    m->packed_blocks = t->packed;
    m->packed_blocks_count = packed_count;
    return ERR_OK;
}

// ---- per-lane limits and flags

static enum err make_lane_tables(struct driver_bake *k)
{
    struct model *m = &k->b->model;
    float *limits = BUILDER_ARRAY(k->b, float, m->blocks_count *MODEL_LANES);
    uint16_t *dual = BUILDER_ARRAY(k->b, uint16_t, m->blocks_count);
    if (!limits || !dual) return builder_no_memory(k->b);
    for (uint32_t i = 0; i < k->driver_count; i++)
        for (uint32_t e = 0; e < k->drivers[i].example_count; e++) {
            const struct delta_set *d = &k->drivers[i].examples[e].d;
            for (uint32_t n = 0; n < d->count; n++) {
                float *limit = &limits[m->vertex_lanes[d->vertices[n]]];
                const double *x = d->deltas[n];
                *limit = fmaxf(*limit, (float)sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]));
            }
        }
    bool any_dual = false;
    for (uint32_t v = 0; v < model_vertex_count(m); v++) {
        uint32_t lane = m->vertex_lanes[v];
        if (!k->dual_vertex[v]) continue;
        any_dual = true;
        dual[lane / MODEL_LANES] = (uint16_t)(dual[lane / MODEL_LANES] | 1u << lane % MODEL_LANES);
    }
    m->correction_limits = limits;
    m->correction_limits_count = m->blocks_count * MODEL_LANES;
    m->dual_lanes = dual;
    m->dual_lanes_count = any_dual ? m->blocks_count : 0;
    return ERR_OK;
}

static enum err take_tables(struct driver_bake *k, const struct counts *n, struct tables *t)
{
    t->drivers = BUILDER_ARRAY(k->b, struct model_driver, k->driver_count);
    t->solves = BUILDER_ARRAY(k->b, struct model_solve, n->solves);
    t->joints = BUILDER_ARRAY(k->b, struct model_driver_joint, n->joints);
    t->centers = BUILDER_ARRAY(k->b, double, n->center_doubles);
    t->matrix = BUILDER_ARRAY(k->b, double, n->matrix_doubles);
    t->examples = BUILDER_ARRAY(k->b, struct model_example, n->examples);
    t->corrections = BUILDER_ARRAY(k->b, struct model_correction, n->corrections);
    t->poses = BUILDER_ARRAY(k->b, struct trs, n->examples * k->b->model.nodes_count);
    t->deltas = BUILDER_ARRAY(k->b, struct model_example_delta, n->example_deltas);
    bool ok = t->drivers && t->solves && t->joints && t->centers && t->matrix && t->examples &&
              t->corrections && t->poses && t->deltas;
    return ok ? ERR_OK : builder_no_memory(k->b);
}

enum err driver_pack_tables(struct driver_bake *k)
{
    struct model *m = &k->b->model;
    struct counts n = count_all(k);
    struct tables t = {0};
    enum err e = take_tables(k, &n, &t);
    if (e != ERR_OK) return e;
    for (uint32_t i = 0; i < k->driver_count; i++) {
        const struct driver_plan *d = &k->drivers[i];
        t.drivers[i] = (struct model_driver){.name = name_offset(k, d->name),
                                             .solver = MODEL_SOLVER,
                                             .kernel = (uint32_t)d->kernel,
                                             .weights = (uint32_t)d->weights,
                                             .solve_first = t.solve,
                                             .solve_count = d->solve_count,
                                             .example_first = t.example,
                                             .example_count = d->example_count};
        for (uint32_t s = 0; s < d->solve_count; s++)
            pack_solve(&d->solves[s], i, &t);
        pack_examples(k, d, i, &t);
    }
    m->drivers = t.drivers;
    m->drivers_count = k->driver_count;
    m->solves = t.solves;
    m->solves_count = n.solves;
    m->driver_joints = t.joints;
    m->driver_joints_count = n.joints;
    m->driver_centers = t.centers;
    m->driver_centers_count = n.center_doubles;
    m->driver_matrix = t.matrix;
    m->driver_matrix_count = n.matrix_doubles;
    m->examples = t.examples;
    m->examples_count = n.examples;
    m->example_poses = t.poses;
    m->example_poses_count = n.examples * m->nodes_count;
    m->example_deltas = t.deltas;
    m->example_deltas_count = n.example_deltas;
    e = make_corrections(k, &t);
    return e == ERR_OK ? make_lane_tables(k) : e;
}

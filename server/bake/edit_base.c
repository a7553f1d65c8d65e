#include <math.h>
#include <string.h>

#include "server/bake/edit_own.h"
#include "server/character/surface/normals.h"

// The base surface M0 itself: new positions, normals turned as the triangles have turned, the box;
// every example keeps its deltas, or its surface.

// Vertices at one place (the sides of a seam) stay at one place.
static enum err join_seams(struct editing *e, const struct edit *step, const double *before,
                           double *after)
{
    const struct model *m = &e->b.model;
    const double near = 1e-6 * e->k.diagonal;
    for (uint32_t v = 0; v < m->weld_count; v++) {
        const double *first = after + (size_t)m->weld[v] * 3;
        double *mine = after + (size_t)v * 3, apart = 0;
        if (m->weld[v] == v) continue;
        for (size_t r = 0; r < 3; r++)
            apart = fmax(apart, fabs(mine[r] - first[r]));
        if (apart > near && !step->force)
            return fault_set(e->k.fault, ERR_MALFORMED,
                             "vertices %u and %u are the two sides of a seam and must stay at one "
                             "place (force=1 moves both to the first one's)",
                             m->weld[v], v);
        memcpy(mine, first, 3 * sizeof *mine);
    }
    (void)before;
    return ERR_OK;
}

static void cross3(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

// v turned by the shortest turn from a to b, both unit.
static void turn(const double a[3], const double b[3], double v[3])
{
    double axis[3], across[3], twice[3], cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    if (cosine < -0.999999) return; // turned inside out: no shortest way
    cross3(a, b, axis);
    cross3(axis, v, across);
    cross3(axis, across, twice);
    for (int r = 0; r < 3; r++)
        v[r] += across[r] + twice[r] / (1 + cosine);
}

static void unit3(double v[3])
{
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int r = 0; r < 3 && length > 0; r++)
        v[r] /= length;
}

static void load3(float from[3][MODEL_LANES], uint32_t lane, double out[3])
{
    for (int r = 0; r < 3; r++)
        out[r] = (double)from[r][lane];
}

static void turn_lane(struct model_rest_block *rest, struct model_tangent_block *tangents,
                      uint32_t lane, const double m0[3], const double m1[3])
{
    double n[3];
    if (m0[0] == m1[0] && m0[1] == m1[1] && m0[2] == m1[2]) return;
    load3(rest->normal, lane, n);
    turn(m0, m1, n);
    unit3(n);
    for (int r = 0; r < 3; r++)
        rest->normal[r][lane] = (float)n[r];
    if (!tangents) return;
    double t[3], along;
    load3(tangents->direction, lane, t);
    if (t[0] == 0 && t[1] == 0 && t[2] == 0) return;
    turn(m0, m1, t);
    along = t[0] * n[0] + t[1] * n[1] + t[2] * n[2];
    for (int r = 0; r < 3; r++)
        t[r] -= along * n[r];
    unit3(t);
    for (int r = 0; r < 3; r++)
        tangents->direction[r][lane] = (float)t[r];
}

// Writes positions and turned normals into blocks of the model's own.
static enum err write_rest(struct editing *e, const float *positions)
{
    struct builder *b = &e->b;
    struct model *m = &b->model;
    size_t vertices = model_vertex_count(m);
    float *old_smooth = BUILDER_ARRAY(b, float, vertices * 3);
    float *new_smooth = BUILDER_ARRAY(b, float, vertices * 3);
    struct model_rest_block *rest = BUILDER_ARRAY(b, struct model_rest_block, m->blocks_count);
    struct model_tangent_block *tangents =
        BUILDER_ARRAY(b, struct model_tangent_block, m->tangents_count);
    if (!old_smooth || !new_smooth || !rest || !tangents) return builder_no_memory(b);
    struct normals_mesh mesh = {.vertex_count = vertices,
                                .positions = b->positions,
                                .weld = m->weld,
                                .corner_first = m->corner_first,
                                .corners = m->corners,
                                .indices = m->indices};
    normals_make(&mesh, old_smooth);
    mesh.positions = positions;
    normals_make(&mesh, new_smooth);
    memcpy(rest, m->rest, m->blocks_count * sizeof *rest);
    if (m->tangents_count) memcpy(tangents, m->tangents, m->tangents_count * sizeof *tangents);
    // Lanes past a block's end repeat its last.
    for (size_t block = 0; block < m->blocks_count; block++)
        for (uint32_t lane = 0; lane < MODEL_LANES; lane++) {
            uint32_t count = m->blocks[block].lane_count, from = lane < count ? lane : count - 1;
            uint32_t v = e->k.vertex_of_lane[block * MODEL_LANES + from];
            double m0[3], m1[3];
            for (size_t r = 0; r < 3; r++) {
                rest[block].position[r][lane] = positions[(size_t)v * 3 + r];
                m0[r] = (double)old_smooth[(size_t)v * 3 + r];
                m1[r] = (double)new_smooth[(size_t)v * 3 + r];
            }
            unit3(m0);
            unit3(m1);
            turn_lane(&rest[block], m->tangents_count ? &tangents[block] : NULL, lane, m0, m1);
        }
    m->rest = rest;
    if (m->tangents_count) m->tangents = tangents;
    return ERR_OK;
}

static enum err write_box(struct editing *e)
{
    struct builder *b = &e->b;
    struct model_info *info = BUILDER_ARRAY(b, struct model_info, 1);
    if (!info) return builder_no_memory(b);
    *info = *b->model.info;
    b->model.info = info;
    return compile_measure_box(b, info);
}

static void before_of(const struct editing *e, double *out)
{
    for (size_t i = 0; i < model_vertex_count(&e->b.model) * 3; i++)
        out[i] = (double)e->b.positions[i];
}

static enum err wanted(struct editing *e, const struct edit *step, const double *before,
                       double *after)
{
    const struct model *from = step->from;
    if (step->kind != EDIT_TAKE) return edit_wanted(e, step, before, after);
    for (size_t v = 0; v < model_vertex_count(from); v++)
        for (size_t r = 0; r < 3; r++) {
            uint32_t lane = from->vertex_lanes[v];
            after[v * 3 + r] =
                (double)from->rest[lane / MODEL_LANES].position[r][lane % MODEL_LANES];
        }
    return ERR_OK;
}

enum err edit_base_step(struct editing *e, struct edit *step)
{
    struct builder *b = &e->b;
    size_t count = model_vertex_count(&b->model) * 3;
    double *before = POOL_ARRAY(&e->pool, double, count);
    double *after = POOL_ARRAY(&e->pool, double, count);
    float *positions = BUILDER_ARRAY(b, float, count);
    if (!before || !after || !positions) return drivers_no_memory(&e->k);
    if (step->kind == EDIT_POSE || step->kind == EDIT_MIRROR || step->kind == EDIT_REMOVE)
        return fault_set(e->k.fault, ERR_USAGE,
                         "the base surface stays, without pose or mirror image");
    before_of(e, before);
    enum err err = wanted(e, step, before, after);
    if (err == ERR_OK) err = join_seams(e, step, before, after);
    if (err == ERR_OK) err = edit_measure(e, step, before, after);
    if (err != ERR_OK) return err;
    for (size_t i = 0; i < count; i++) {
        positions[i] = (float)after[i];
        after[i] = (double)positions[i] - before[i]; // as it will be
        e->out->moved += i % 3 == 2 && (after[i] != 0 || after[i - 1] != 0 || after[i - 2] != 0);
    }
    for (uint32_t i = 0; i < e->k.driver_count; i++) {
        struct driver_plan *d = &e->k.drivers[i];
        d->stands = d->same = false;
        for (uint32_t n = 0; n < d->example_count && step->keep_sculpts && err == ERR_OK; n++)
            err = driver_delta_follow(&e->k, &d->examples[n], after);
    }
    if (err == ERR_OK) err = write_rest(e, positions);
    if (err != ERR_OK) return err;
    memcpy(b->positions, positions, count * sizeof *positions);
    e->k.diagonal = driver_box_diagonal(b->positions, count / 3);
    e->base_changed = true;
    return write_box(e);
}

// The tables of pose drivers, and what the validators share.
#include <math.h>
#include <string.h>

#include "server/model/validate_own.h"

enum err validate_bad(struct fault *f, const char *table, size_t entry, const char *what)
{
    return fault_set(f, ERR_MALFORMED, "the model's %s[%zu] is wrong: %s: bake again", table, entry,
                     what);
}

bool validate_range(uint64_t first, uint64_t count, uint64_t total)
{
    return first <= total && count <= total - first;
}

bool validate_finite(const void *floats, size_t bytes)
{
    const unsigned char *at = floats;
    uint32_t any = 0;
    for (size_t i = 0; i < bytes / 4; i++) {
        uint32_t bits;
        memcpy(&bits, at + i * 4, 4);
        any |= (uint32_t)((bits & 0x7f800000u) == 0x7f800000u);
    }
    return any == 0;
}

static enum err check_solve(const struct model *m, size_t i, uint64_t *weight_next, struct fault *f)
{
    const struct model_solve *s = &m->solves[i];
    uint64_t centers = s->center_count;
    if (s->driver >= m->drivers_count) return validate_bad(f, "solves", i, "no such driver");
    if (s->joint_count < 1 || s->joint_count > MODEL_DRIVER_JOINTS_MAX || centers < 1 ||
        centers > 4096)
        return validate_bad(f, "solves", i, "a count is out of range");
    if (!(s->radius > 0) || !(s->radius < HUGE_VAL))
        return validate_bad(f, "solves", i, "its radius");
    if (!validate_range(s->joint_first, s->joint_count, m->driver_joints_count) ||
        !validate_range(s->center_first, centers * s->joint_count * MODEL_CENTER_DOUBLES,
                        m->driver_centers_count) ||
        !validate_range(s->matrix_first, centers * centers, m->driver_matrix_count))
        return validate_bad(f, "solves", i, "its numbers lie outside their table");
    if (s->weight_first != *weight_next) return validate_bad(f, "solves", i, "its weights' place");
    *weight_next += centers;
    return ERR_OK;
}

static enum err check_driver_joint(const struct model *m, size_t i, struct fault *f)
{
    const struct model_driver_joint *j = &m->driver_joints[i];
    const double numbers[] = {j->weight, j->per_unit, j->axis[0], j->axis[1], j->axis[2]};
    if (j->node >= m->nodes_count || j->read > MODEL_READ_TRANSFORM)
        return validate_bad(f, "driver_joints", i, "no such node or reading");
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
        if (!(fabs(numbers[k]) < 1e30))
            return validate_bad(f, "driver_joints", i, "a number is not finite");
    return ERR_OK;
}

static enum err check_correction(const struct model *m, size_t i, struct fault *f)
{
    const struct model_correction *c = &m->corrections[i];
    if (c->solve >= m->solves_count || c->center >= m->solves[c->solve].center_count)
        return validate_bad(f, "corrections", i, "no such solve or center");
    if (!validate_range(c->block_first, c->block_count,
                        c->packed ? m->packed_blocks_count : m->correction_blocks_count))
        return validate_bad(f, "corrections", i, "its deltas lie outside their table");
    int64_t before = -1;
    for (uint32_t k = 0; k < c->block_count; k++) {
        uint32_t block = c->packed ? m->packed_blocks[c->block_first + k].block
                                   : m->correction_blocks[c->block_first + k].block;
        if (block >= m->blocks_count || block <= before)
            return validate_bad(f, "corrections", i, "a block that is not there, or out of order");
        before = block;
    }
    return ERR_OK;
}

static enum err check_driver_tables(const struct model *m, struct fault *f)
{
    size_t lanes = m->blocks_count * MODEL_LANES;
    if (m->base_pose_count != m->nodes_count)
        return validate_bad(f, "base_pose", 0, "one a node is needed");
    if (!validate_finite(m->base_pose, m->base_pose_count * sizeof *m->base_pose) ||
        !validate_finite(m->example_poses, m->example_poses_count * sizeof *m->example_poses) ||
        !validate_finite(m->correction_limits, m->correction_limits_count * sizeof(float)) ||
        !validate_finite(m->correction_blocks,
                         m->correction_blocks_count * sizeof *m->correction_blocks))
        return validate_bad(f, "drivers", 0, "a number is not finite");
    for (size_t i = 0; i < m->packed_blocks_count; i++)
        if (!isfinite(m->packed_blocks[i].scale))
            return validate_bad(f, "packed_blocks", i, "its scale");
    for (size_t i = 0; i < m->driver_centers_count; i++)
        if (!(fabs(m->driver_centers[i]) < 1e30))
            return validate_bad(f, "driver_centers", i, "not finite");
    for (size_t i = 0; i < m->driver_matrix_count; i++)
        if (!(fabs(m->driver_matrix[i]) < 1e30))
            return validate_bad(f, "driver_matrix", i, "not finite");
    if ((m->correction_limits_count != 0 && m->correction_limits_count != lanes) ||
        (m->corrections_count != 0 && m->correction_limits_count == 0))
        return validate_bad(f, "correction_limits", 0, "one a lane is needed");
    if (m->dual_lanes_count != 0 && m->dual_lanes_count != m->blocks_count)
        return validate_bad(f, "dual_lanes", 0, "one a block is needed");
    if (m->example_poses_count != m->examples_count * m->nodes_count)
        return validate_bad(f, "example_poses", 0, "one an example and node is needed");
    return ERR_OK;
}

// What an edit goes by (bake/edit.h): by example, then vertex.
static enum err check_authoring(const struct model *m, struct fault *f)
{
    for (size_t i = 0; i < m->example_deltas_count; i++) {
        const struct model_example_delta *d = &m->example_deltas[i], *before = d - 1;
        if (d->example >= m->examples_count || d->vertex >= m->vertex_lanes_count)
            return validate_bad(f, "example_deltas", i, "no such example or vertex");
        if (i > 0 && (d->example < before->example ||
                      (d->example == before->example && d->vertex <= before->vertex)))
            return validate_bad(f, "example_deltas", i, "out of order");
        if (!validate_finite(&d->delta, sizeof d->delta))
            return validate_bad(f, "example_deltas", i, "not finite");
    }
    if (m->rig_json_count > 0 && m->rig_json[m->rig_json_count - 1] != '\0')
        return validate_bad(f, "rig_json", 0, "a text without its end");
    if (m->drivers_json_count > 0 && m->drivers_json[m->drivers_json_count - 1] != '\0')
        return validate_bad(f, "drivers_json", 0, "a text without its end");
    return ERR_OK;
}

static enum err check_example(const struct model *m, size_t i, struct fault *f)
{
    const struct model_example *e = &m->examples[i];
    if (e->name >= m->text_count || e->driver >= m->drivers_count)
        return validate_bad(f, "examples", i, "its name or driver");
    const struct model_driver *d = &m->drivers[e->driver];
    if (i < d->example_first || i - d->example_first >= d->example_count)
        return validate_bad(f, "examples", i, "its driver does not list it");
    for (uint32_t s = 0; s < d->solve_count; s++)
        if (e->center >= m->solves[d->solve_first + s].center_count)
            return validate_bad(f, "examples", i, "no such center");
    return ERR_OK;
}

enum err validate_drivers(const struct model *m, struct fault *f)
{
    uint64_t weight_next = 0;
    enum err e = check_driver_tables(m, f);
    for (size_t i = 0; i < m->drivers_count && e == ERR_OK; i++) {
        const struct model_driver *d = &m->drivers[i];
        if (d->name >= m->text_count || d->kernel > MODEL_KERNEL_INVERSE_MULTIQUADRIC ||
            d->weights > MODEL_WEIGHTS_NORMALISE)
            e = validate_bad(f, "drivers", i, "its name, kernel or weights");
        else if (d->solver != MODEL_SOLVER)
            e = fault_set(f, ERR_VERSION, "driver %zu was solved by version %u, not %d: bake again",
                          i, d->solver, MODEL_SOLVER);
        else if (!validate_range(d->solve_first, d->solve_count, m->solves_count) ||
                 !validate_range(d->example_first, d->example_count, m->examples_count))
            e = validate_bad(f, "drivers", i, "its solves or examples lie outside their table");
    }
    for (size_t i = 0; i < m->solves_count && e == ERR_OK; i++)
        e = check_solve(m, i, &weight_next, f);
    for (size_t i = 0; i < m->driver_joints_count && e == ERR_OK; i++)
        e = check_driver_joint(m, i, f);
    for (size_t i = 0; i < m->examples_count && e == ERR_OK; i++)
        e = check_example(m, i, f);
    if (e == ERR_OK) e = check_authoring(m, f);
    for (size_t i = 0; i < m->corrections_count && e == ERR_OK; i++)
        e = check_correction(m, i, f);
    return e;
}

#include <math.h>

#include "common/check.h"
#include "server/model/validate_own.h"

static bool is_size(float v)
{
    return v >= 0 && v < 1e30F;
}

static enum err check_joint(const struct model *m, size_t i, struct fault *f)
{
    const struct model_spring_joint *j = &m->spring_joints[i];
    float square = j->tail[0] * j->tail[0] + j->tail[1] * j->tail[1] + j->tail[2] * j->tail[2];
    if (j->spring >= m->springs_count || j->node >= m->nodes_count)
        return validate_bad(f, "spring_joints", i, "no such spring or node");
    if (!validate_finite(j, sizeof *j) || !(square > 0 && square < 1e30F) ||
        !is_size(j->hit_radius) || !(j->drag >= 0 && j->drag <= 1) ||
        !(fabsf(j->stiffness) < 1e30F))
        return validate_bad(f, "spring_joints", i, "a number is out of range");
    return ERR_OK;
}

enum err validate_collider(const struct model *m, const char *table,
                           const struct model_spring_collider *c, size_t i, struct fault *f)
{
    if (c->node >= m->nodes_count || c->shape > MODEL_SPRING_PLANE || c->inside > 1)
        return validate_bad(f, table, i, "its node or shape");
    if (!validate_finite(c->offset, sizeof c->offset) || !validate_finite(c->end, sizeof c->end) ||
        !is_size(c->radius))
        return validate_bad(f, table, i, "a number is out of range");
    return ERR_OK;
}

// Steps come in an order that may be walked once: parents first, every node once, every joint once.
// Whoever walks them marks nothing, so the order is proved by looking back along it.
static enum err check_step(const struct model *m, size_t i, uint32_t *joint_count, struct fault *f)
{
    const struct model_spring_step *s = &m->spring_steps[i];
    if (s->node >= m->nodes_count) return validate_bad(f, "spring_steps", i, "no such node");
    bool parent = m->nodes[s->node].parent == MODEL_NONE;
    for (size_t k = 0; k < i; k++) {
        if (m->spring_steps[k].node == s->node)
            return validate_bad(f, "spring_steps", i, "its node stands twice");
        parent = parent || (int64_t)m->spring_steps[k].node == m->nodes[s->node].parent;
    }
    if (!parent) return validate_bad(f, "spring_steps", i, "its parent must stand before it");
    if (s->joint == MODEL_NONE) return ERR_OK;
    if (s->joint < 0 || (size_t)s->joint >= m->spring_joints_count ||
        m->spring_joints[s->joint].node != s->node)
        return validate_bad(f, "spring_steps", i, "its joint is another node's");
    (*joint_count)++;
    return ERR_OK;
}

static bool is_stepped(const struct model *m, uint32_t node)
{
    for (size_t i = 0; i < m->spring_steps_count; i++)
        if (m->spring_steps[i].node == node) return true;
    return false;
}

static enum err check_spring(const struct model *m, size_t i, uint64_t *joint_next, struct fault *f)
{
    const struct model_spring *s = &m->springs[i];
    if (s->name >= m->text_count) return validate_bad(f, "springs", i, "its name");
    if (s->center < MODEL_NONE || s->center >= (int64_t)m->nodes_count ||
        (s->center != MODEL_NONE && !is_stepped(m, (uint32_t)s->center)))
        return validate_bad(f, "springs", i, "its center is no node of the steps");
    if (s->joint_first != *joint_next ||
        !validate_range(s->joint_first, s->joint_count, m->spring_joints_count) ||
        !validate_range(s->use_first, s->use_count, m->spring_uses_count))
        return validate_bad(f, "springs", i, "its joints or colliders lie outside their table");
    *joint_next += s->joint_count;
    for (uint32_t k = 0; k < s->joint_count; k++)
        if (m->spring_joints[s->joint_first + k].spring != i)
            return validate_bad(f, "springs", i, "a joint belongs to another");
    return ERR_OK;
}

enum err validate_springs(const struct model *m, struct fault *f)
{
    uint64_t joint_next = 0;
    uint32_t stepped = 0;
    enum err e = ERR_OK;
    if (m->spring_joints_count > MODEL_SPRING_JOINTS_MAX ||
        m->spring_steps_count > MODEL_SPRING_STEPS_MAX ||
        m->spring_colliders_count > MODEL_SPRING_JOINTS_MAX ||
        m->spring_uses_count > MODEL_SPRING_USES_MAX)
        return validate_bad(f, "springs", 0, "too many joints, nodes or colliders");
    for (size_t i = 0; i < m->spring_joints_count && e == ERR_OK; i++)
        e = check_joint(m, i, f);
    for (size_t i = 0; i < m->spring_colliders_count && e == ERR_OK; i++)
        e = validate_collider(m, "spring_colliders", &m->spring_colliders[i], i, f);
    for (size_t i = 0; i < m->spring_steps_count && e == ERR_OK; i++)
        e = check_step(m, i, &stepped, f);
    for (size_t i = 0; i < m->springs_count && e == ERR_OK; i++)
        e = check_spring(m, i, &joint_next, f);
    for (size_t i = 0; i < m->spring_uses_count && e == ERR_OK; i++)
        if (m->spring_uses[i] >= m->spring_colliders_count ||
            !is_stepped(m, m->spring_colliders[m->spring_uses[i]].node))
            e = validate_bad(f, "spring_uses", i, "no such collider, or its node is no step");
    if (e == ERR_OK && (joint_next != m->spring_joints_count || stepped != m->spring_joints_count))
        e = validate_bad(f, "springs", 0, "joints without a spring or a step");
    return e;
}

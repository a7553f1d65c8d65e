#include <string.h>

#include "server/stage/body.h"

// What swings goes on swinging where the springs are the same: by number, since nodes may differ.
static void inherit_springs(struct body *b, const struct body *from)
{
    const struct model *m = b->options.model, *old = from->options.model;
    if (!b->springs.model || !from->springs.model || !from->springs.started ||
        m->spring_joints_count != old->spring_joints_count ||
        m->spring_steps_count != old->spring_steps_count ||
        memcmp(m->spring_joints, old->spring_joints,
               m->spring_joints_count * sizeof *m->spring_joints) != 0 ||
        memcmp(m->spring_steps, old->spring_steps,
               m->spring_steps_count * sizeof *m->spring_steps) != 0)
        return;
    springs_inherit(&b->springs, &from->springs);
}

static int32_t same_node(const struct model *m, const struct model *old, uint32_t node)
{
    const struct model_node *wanted = &old->nodes[node];
    for (size_t i = 0; i < m->nodes_count; i++)
        if (m->nodes[i].source == wanted->source &&
            strcmp(model_text(m, m->nodes[i].name), model_text(old, wanted->name)) == 0)
            return (int32_t)i;
    return MODEL_NONE;
}

static int32_t same_clip(const struct model *m, const struct model *old, int32_t clip)
{
    for (size_t i = 0; clip != MODEL_NONE && i < m->clips_count; i++)
        if (strcmp(model_text(m, m->clips[i].name), model_text(old, old->clips[clip].name)) == 0 &&
            m->clips[i].source == old->clips[clip].source)
            return (int32_t)i;
    return MODEL_NONE;
}

static void inherit_extras(struct body *b, const struct body *from)
{
    b->extras_age_s = from->extras_age_s;
    if (b->extras.model && from->extras.model) extras_inherit(&b->extras, &from->extras);
    body_plugins_inherit(b, from);
}

static void inherit_roots(struct body *b, const struct body *from)
{
    const struct model *m = b->options.model, *old = from->options.model;
    b->roots_age_s = from->roots_age_s;
    for (size_t i = 0; from->rooted && i < m->roots_count; i++)
        for (size_t k = 0; k < old->roots_count; k++) {
            if (strcmp(model_text(m, m->roots[i].name), model_text(old, old->roots[k].name)) != 0)
                continue;
            b->motions[i] = from->motions[k];
            b->motions[i].clip = same_clip(m, old, from->motions[k].clip);
            b->motions[i].before = same_clip(m, old, from->motions[k].before);
            b->rooted = true;
        }
}

static void inherit_face(struct body *b, const struct body *from)
{
    const struct model *m = b->options.model, *old = from->options.model;
    for (size_t i = 0; i < m->shapes_count; i++)
        for (size_t k = 0; k < old->shapes_count; k++)
            if (strcmp(model_text(m, m->shapes[i].name), model_text(old, old->shapes[k].name)) == 0)
                b->face.values[i] = from->face.values[k];
    for (size_t i = 0; i < m->expressions_count; i++)
        for (size_t k = 0; k < old->expressions_count; k++)
            if (strcmp(model_text(m, m->expressions[i].name),
                       model_text(old, old->expressions[k].name)) == 0)
                b->face.values[m->shapes_count + i] = from->face.values[old->shapes_count + k];
    for (uint32_t i = 0; i < m->parameters_count; i++)
        for (size_t k = 0; k < old->parameters_count; k++)
            if (strcmp(model_text(m, m->parameters[i].name),
                       model_text(old, old->parameters[k].name)) == 0 &&
                from->face.customise.told[k])
                customise_set(&b->face.customise, i, from->face.customise.values[k]);
    // What is drawn back stays drawn back, by the joint.
    for (size_t i = 0; i < m->face_bones_count; i++)
        for (size_t k = 0; k < old->face_bones_count; k++)
            if (same_node(m, old, old->face_bones[k].node) == (int32_t)m->face_bones[i].node) {
                b->face.customise.shares[i] = from->face.customise.shares[k];
                b->face.customise.wanted[i] = from->face.customise.wanted[k];
            }
    b->face.customise.started = from->face.customise.started;
    b->face_age_s = from->face_age_s;
}

void body_inherit(struct body *b, const struct body *from)
{
    const struct model *m = b->options.model, *old = from->options.model;
    b->state = from->state;
    b->state.clip = same_clip(m, old, from->state.clip);
    b->state.joint_count = 0;
    for (uint32_t i = 0; i < from->state.joint_count; i++) {
        struct body_joint joint = from->state.joints[i];
        int32_t node = same_node(m, old, joint.node);
        if (node == MODEL_NONE) continue;
        joint.node = (uint32_t)node;
        b->state.joints[b->state.joint_count++] = joint;
    }
    inherit_face(b, from);
    b->control = from->control;
    b->control.press_count = 0; // their numbers are the old version's
    b->sensors = from->sensors;
    b->sensors.live = b->sensors.live && b->options.puppet && b->options.puppet->is_human;
    b->change++;
    b->way = from->way;
    b->posed_age_s = from->posed_age_s;
    inherit_extras(b, from);
    inherit_roots(b, from);
    inherit_springs(b, from);
    b->surface = from->surface; // numbers go on: what was encoded is of another surface
    b->jumped = from->jumped;
}

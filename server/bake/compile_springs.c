#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/builder.h"
#include "server/bake/rig.h"
#include "server/character/pose/skeleton.h"
#include "server/model/lookup.h"

// Springs of a VRM, or those of the rig file in their place. Both are one schema, VRM 1.0's
// `springBone`, and have been checked against it (vrm_spring_read.c, rig_schema.c). A rig file may
// also give the list of springs alone, each with its own `colliders`, and names nodes where a VRM
// counts them.
struct reader {
    struct builder *b;
    const struct xform *rest; // [node] model from node, rest pose
    double unit;              // file units a metre, of the numbers read
    bool named;               // the rig file's: nodes by name, faults are errors
    struct model_spring *springs;
    struct model_spring_joint *joints;
    struct model_spring_collider *colliders;
    uint32_t *uses;
    int32_t *joint_of_node; // [node]
    const cJSON *groups;    // colliderGroups of the whole
    uint32_t shared;        // colliders of the whole
    char path[160];
};

static enum err bad(const struct reader *r, const char *key, const char *what)
{
    return fault_set(r->b->fault, ERR_MALFORMED, "%s%s%s: %s", r->path, *key ? "/" : "", key, what);
}

// Goes down in the path; what is returned is where it ended, to cut it there again.
static size_t enter(struct reader *r, const char *key, int index)
{
    size_t length = strlen(r->path);
    if (index >= 0)
        (void)snprintf(r->path + length, sizeof r->path - length, "/%s/%d", key, index);
    else
        (void)snprintf(r->path + length, sizeof r->path - length, "/%s", key);
    return length;
}

static enum err read_number(const struct reader *r, const cJSON *json, const char *key,
                            double otherwise, double low, double high, float *out)
{
    const cJSON *v = rig_get(json, key);
    double value = v ? v->valuedouble : otherwise;
    if (!(value >= low && value <= high)) {
        char what[80];
        (void)snprintf(what, sizeof what, "must be a number from %g to %g", low, high);
        return bad(r, key, what);
    }
    *out = (float)value;
    return ERR_OK;
}

static enum err read_vector(const struct reader *r, const cJSON *json, const char *key,
                            const double otherwise[3], double out[3])
{
    const cJSON *list = rig_get(json, key), *v = list ? list->child : NULL;
    memcpy(out, otherwise, 3 * sizeof *out);
    for (int i = 0; v && i < 3; i++, v = v->next) {
        if (!(fabs(v->valuedouble) < 1e9)) return bad(r, key, "a number is out of range");
        out[i] = v->valuedouble;
    }
    return ERR_OK;
}

static enum err read_node(const struct reader *r, const cJSON *json, const char *key, uint32_t *out)
{
    const cJSON *v = rig_get(json, key);
    const struct model *m = &r->b->model;
    char path[220];
    if (cJSON_IsString(v)) {
        (void)snprintf(path, sizeof path, "%s/%s", r->path, key);
        return lookup_name(m, LOOKUP_NODE, v->valuestring, path, out, r->b->fault);
    }
    if (!(v->valuedouble < (double)r->b->scene->node_count))
        return bad(r, key, "there is no node of this index");
    *out = r->b->node_of_source[(size_t)v->valuedouble];
    return ERR_OK;
}

// ---- colliders ----------------------------------------------------------------------------

static enum err read_shape(struct reader *r, const cJSON *shape, struct model_spring_collider *c)
{
    static const char *const kinds[] = {"sphere", "capsule", "plane"};
    static const double zero[3] = {0}, forward[3] = {0, 0, 1};
    const cJSON *json = shape ? shape->child : NULL;
    double offset[3] = {0}, end[3] = {0};
    if (!json || json->next) return bad(r, "shape", "must be one of sphere, capsule, plane");
    while (strcmp(kinds[c->shape], json->string) != 0)
        c->shape++;
    size_t length = enter(r, "shape", -1);
    (void)enter(r, json->string, -1);
    enum err e = read_vector(r, json, "offset", zero, offset);
    if (e == ERR_OK && c->shape == MODEL_SPRING_CAPSULE)
        e = read_vector(r, json, "tail", zero, end);
    if (e == ERR_OK && c->shape == MODEL_SPRING_PLANE)
        e = read_vector(r, json, "normal", forward, end);
    if (e == ERR_OK) e = read_number(r, json, "radius", 0, 0, 1e6, &c->radius);
    if (e != ERR_OK) return e;
    c->inside = cJSON_IsTrue(rig_get(json, "inside")) ? 1 : 0;
    double size = sqrt(end[0] * end[0] + end[1] * end[1] + end[2] * end[2]);
    if (c->shape == MODEL_SPRING_PLANE && !(size > 0)) return bad(r, "normal", "must not be zero");
    for (int k = 0; k < 3; k++) {
        c->offset[k] = (float)(offset[k] * r->unit);
        c->end[k] = (float)(c->shape == MODEL_SPRING_PLANE ? end[k] / size : end[k] * r->unit);
    }
    c->radius *= (float)r->unit;
    r->path[length] = 0;
    return ERR_OK;
}

// Appends to `to`, which has room for `most`.
static enum err read_colliders(struct reader *r, const cJSON *owner,
                               struct model_spring_collider *to, size_t most, size_t *count)
{
    const cJSON *list = rig_get(owner, "colliders");
    int index = 0;
    for (const cJSON *json = list ? list->child : NULL; json; json = json->next) {
        if (*count == most) {
            char what[40];
            (void)snprintf(what, sizeof what, "more than %zu colliders", most);
            return bad(r, "colliders", what);
        }
        size_t length = enter(r, "colliders", index++);
        struct model_spring_collider c = {0};
        enum err e = read_node(r, json, "node", &c.node);
        if (e == ERR_OK) e = read_shape(r, rig_get(json, "shape"), &c);
        if (e != ERR_OK) return e;
        to[(*count)++] = c;
        r->path[length] = 0;
    }
    return ERR_OK;
}

enum err springs_read_colliders(struct builder *b, const cJSON *owner, const char *path,
                                double units_a_m, struct model_spring_collider *to, uint32_t most,
                                uint32_t *count)
{
    struct reader r = {.b = b, .unit = units_a_m, .named = true};
    size_t made = 0;
    (void)snprintf(r.path, sizeof r.path, "%s", path);
    enum err e = read_colliders(&r, owner, to, most, &made);
    *count = (uint32_t)made;
    return e;
}

static enum err read_own(struct reader *r, const cJSON *owner)
{
    return read_colliders(r, owner, r->colliders, MODEL_SPRING_JOINTS_MAX,
                          &r->b->model.spring_colliders_count);
}

static enum err use(struct reader *r, uint32_t collider)
{
    struct model *m = &r->b->model;
    if (m->spring_uses_count == MODEL_SPRING_USES_MAX)
        return bad(r, "colliderGroups", "more than 8192 colliders over all springs");
    r->uses[m->spring_uses_count++] = collider;
    return ERR_OK;
}

static bool read_index(const cJSON *v, size_t count, uint32_t *out)
{
    if (!(v->valuedouble < (double)count)) return false;
    *out = (uint32_t)v->valuedouble;
    return true;
}

// What stops a spring: the colliders of its groups, and its own.
static enum err read_uses(struct reader *r, const cJSON *json)
{
    const cJSON *groups = rig_get(json, "colliderGroups");
    enum err e = ERR_OK;
    uint32_t index;
    for (const cJSON *g = groups ? groups->child : NULL; g && e == ERR_OK; g = g->next) {
        if (!read_index(g, (size_t)cJSON_GetArraySize(r->groups), &index))
            return bad(r, "colliderGroups", "no such group");
        const cJSON *list = rig_get(cJSON_GetArrayItem(r->groups, (int)index), "colliders");
        for (const cJSON *c = list ? list->child : NULL; c && e == ERR_OK; c = c->next) {
            if (!read_index(c, r->shared, &index))
                return bad(r, "colliderGroups", "a group lists a collider that is not there");
            e = use(r, index);
        }
    }
    uint32_t own = (uint32_t)r->b->model.spring_colliders_count;
    if (e == ERR_OK) e = read_own(r, json);
    for (; own < r->b->model.spring_colliders_count && e == ERR_OK; own++)
        e = use(r, own);
    return e;
}

// ---- springs ------------------------------------------------------------------------------

static bool is_below(const struct model *m, uint32_t node, uint32_t above)
{
    for (int32_t up = m->nodes[node].parent; up != MODEL_NONE; up = m->nodes[up].parent)
        if ((uint32_t)up == above) return true;
    return false;
}

static enum err read_joint(const struct reader *r, const cJSON *json, struct model_spring_joint *j)
{
    static const double down[3] = {0, -1, 0};
    double gravity[3] = {0};
    float power = 0;
    enum err e = read_node(r, json, "node", &j->node);
    if (e == ERR_OK) e = read_number(r, json, "hitRadius", 0, 0, 1e6, &j->hit_radius);
    if (e == ERR_OK) e = read_number(r, json, "stiffness", 1, 0, 1e6, &j->stiffness);
    if (e == ERR_OK) e = read_number(r, json, "gravityPower", 0, -1e6, 1e6, &power);
    if (e == ERR_OK) e = read_vector(r, json, "gravityDir", down, gravity);
    if (e == ERR_OK) e = read_number(r, json, "dragForce", 0.5, 0, 1, &j->drag);
    j->hit_radius *= (float)r->unit;
    j->stiffness *= (float)r->unit;
    for (int k = 0; k < 3; k++)
        j->gravity[k] = (float)(gravity[k] * (double)power * r->unit);
    return e;
}

// The tail of a joint: where the next one stands, in the rest pose.
static bool tail_to(const struct reader *r, struct model_spring_joint *j, uint32_t next)
{
    const struct model_node *node = &r->b->model.nodes[next];
    double at[3] = {(double)node->rest.translation.x, (double)node->rest.translation.y,
                    (double)node->rest.translation.z};
    if (node->parent != (int32_t)j->node) {
        struct xform inverse;
        if (!xform_invert(&r->rest[j->node], &inverse)) return false;
        xform_point(&inverse, r->rest[next].col[3], at);
    }
    for (int k = 0; k < 3; k++)
        j->tail[k] = (float)at[k];
    return true;
}

// VRM 0.x: the last joint swings too, its tail as long as given, along its own place in its parent.
static void tail_at_end(const struct reader *r, struct model_spring_joint *j, double length)
{
    const struct vec3 *at = &r->b->model.nodes[j->node].rest.translation;
    double v[3] = {(double)at->x, (double)at->y, (double)at->z};
    double size = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; k++)
        j->tail[k] = (float)(size > 0 ? v[k] / size * length : (k == 1) * length);
}

static bool has_tail(const struct model_spring_joint *j)
{
    double square = 0;
    for (int k = 0; k < 3; k++)
        square += (double)j->tail[k] * (double)j->tail[k];
    return square > 1e-20 && square < 1e28;
}

static enum err keep_joint(struct reader *r, struct model_spring_joint *j)
{
    struct model *m = &r->b->model;
    if (!has_tail(j)) {
        scene_note(r->b->scene, NOTE_REPAIRED, 1, "%s: joint #%u has no length and does not swing",
                   r->path, m->nodes[j->node].source);
        return ERR_OK;
    }
    if (m->spring_joints_count == MODEL_SPRING_JOINTS_MAX)
        return bad(r, "joints", "more than 1024 joints swing");
    if (r->joint_of_node[j->node] != MODEL_NONE)
        return bad(r, "joints", "a joint of another spring already");
    r->joint_of_node[j->node] = (int32_t)m->spring_joints_count;
    r->joints[m->spring_joints_count++] = *j;
    return ERR_OK;
}

static enum err read_chain(struct reader *r, const cJSON *json, uint32_t spring, double end_length)
{
    const cJSON *list = rig_get(json, "joints");
    struct model_spring_joint last = {0};
    int index = 0;
    for (const cJSON *item = list->child; item; item = item->next, index++) {
        struct model_spring_joint next = {.spring = spring};
        size_t length = enter(r, "joints", index);
        enum err e = read_joint(r, item, &next);
        if (e != ERR_OK) return e;
        if (index > 0 && !is_below(&r->b->model, next.node, last.node))
            return bad(r, "node", "must stand below the joint before it");
        r->path[length] = 0;
        if (index > 0 && tail_to(r, &last, next.node)) e = keep_joint(r, &last);
        if (e != ERR_OK) return e;
        last = next;
    }
    if (index == 0 || !(end_length > 0)) return ERR_OK;
    tail_at_end(r, &last, end_length);
    return keep_joint(r, &last);
}

static enum err read_spring(struct reader *r, const cJSON *json)
{
    struct model *m = &r->b->model;
    const cJSON *name = rig_get(json, "name");
    uint32_t center = 0;
    float end = 0;
    enum err e = ERR_OK;
    if (m->springs_count == MODEL_SPRING_JOINTS_MAX) e = bad(r, "", "more than 1024 springs");
    if (e == ERR_OK && rig_get(json, "center")) e = read_node(r, json, "center", &center);
    if (e == ERR_OK) e = read_number(r, json, "endLength", 0, 0, 1e6, &end);
    if (e != ERR_OK) return e;
    struct model_spring s = {.name =
                                 builder_text(r->b, cJSON_IsString(name) ? name->valuestring : ""),
                             .center = rig_get(json, "center") ? (int32_t)center : MODEL_NONE,
                             .joint_first = (uint32_t)m->spring_joints_count,
                             .use_first = (uint32_t)m->spring_uses_count};
    e = read_chain(r, json, (uint32_t)m->springs_count, (double)end * r->unit);
    if (e == ERR_OK) e = read_uses(r, json);
    s.joint_count = (uint32_t)m->spring_joints_count - s.joint_first;
    s.use_count = (uint32_t)m->spring_uses_count - s.use_first;
    r->springs[m->springs_count++] = s;
    return e;
}

static void forget(struct reader *r, const struct model_spring *before, size_t joints, size_t uses,
                   size_t colliders)
{
    struct model *m = &r->b->model;
    for (size_t i = joints; i < m->spring_joints_count; i++)
        r->joint_of_node[r->joints[i].node] = MODEL_NONE;
    m->springs_count = (size_t)(before - r->springs);
    m->spring_joints_count = joints;
    m->spring_uses_count = uses;
    m->spring_colliders_count = colliders;
}

// A VRM is optional by nature: a spring that is broken is left out with a line.
static enum err read_springs(struct reader *r, const cJSON *list)
{
    struct model *m = &r->b->model;
    int index = 0;
    for (const cJSON *json = list->child; json; json = json->next, index++) {
        size_t length = strlen(r->path);
        (void)snprintf(r->path + length, sizeof r->path - length, "/%d", index);
        size_t joints = m->spring_joints_count, uses = m->spring_uses_count,
               colliders = m->spring_colliders_count;
        const struct model_spring *before = r->springs + m->springs_count;
        enum err e = read_spring(r, json);
        if (e != ERR_OK && (r->named || e != ERR_MALFORMED)) return e;
        if (e != ERR_OK) {
            scene_note(r->b->scene, NOTE_LEFT_OUT, 1, "%s", r->b->fault->line);
            *r->b->fault = (struct fault){0};
            forget(r, before, joints, uses, colliders);
        }
        r->path[length] = 0;
    }
    return ERR_OK;
}

// ---- the order to walk the nodes in -------------------------------------------------------

static void need(const struct model *m, uint8_t *needed, uint32_t node)
{
    for (int32_t at = (int32_t)node; at != MODEL_NONE && !needed[at]; at = m->nodes[at].parent)
        needed[at] = 1;
}

// Whether every node that `node` reads stands in the order already.
static bool is_free(const struct reader *r, const int32_t *place, uint32_t node, bool strict)
{
    const struct model *m = &r->b->model;
    int32_t parent = m->nodes[node].parent, joint = r->joint_of_node[node];
    if (parent != MODEL_NONE && place[parent] == MODEL_NONE) return false;
    if (joint == MODEL_NONE || !strict) return true;
    const struct model_spring *s = &m->springs[m->spring_joints[joint].spring];
    if (s->center != MODEL_NONE && place[s->center] == MODEL_NONE) return false;
    for (uint32_t i = 0; i < s->use_count; i++)
        if (place[m->spring_colliders[m->spring_uses[s->use_first + i]].node] == MODEL_NONE)
            return false;
    return true;
}

// Nodes as early as what they read allows, lowest first. Where colliders hang on what they stop,
// the lowest node goes first and reads those where they were.
static enum err order_steps(struct reader *r)
{
    struct model *m = &r->b->model;
    uint8_t *needed = BUILDER_ARRAY(r->b, uint8_t, m->nodes_count);
    int32_t *place = BUILDER_ARRAY(r->b, int32_t, m->nodes_count);
    uint32_t count = 0;
    if (!needed || !place) return builder_no_memory(r->b);
    for (size_t i = 0; i < m->spring_joints_count; i++)
        need(m, needed, m->spring_joints[i].node);
    for (size_t i = 0; i < m->spring_uses_count; i++)
        need(m, needed, m->spring_colliders[m->spring_uses[i]].node);
    for (size_t i = 0; i < m->springs_count; i++)
        if (m->springs[i].center != MODEL_NONE) need(m, needed, (uint32_t)m->springs[i].center);
    for (size_t i = 0; i < m->nodes_count; i++) {
        place[i] = MODEL_NONE;
        count += needed[i];
    }
    if (count > MODEL_SPRING_STEPS_MAX)
        return fault_set(r->b->fault, ERR_LIMIT, "/springs: they hang on more than %d nodes",
                         MODEL_SPRING_STEPS_MAX);
    struct model_spring_step *steps = BUILDER_ARRAY(r->b, struct model_spring_step, count);
    if (!steps) return builder_no_memory(r->b);
    for (uint32_t made = 0; made < count;) {
        uint32_t before = made;
        for (int strict = 1; strict >= 0 && made == before; strict--)
            for (uint32_t n = 0; n < m->nodes_count; n++) {
                if (!needed[n] || place[n] != MODEL_NONE || !is_free(r, place, n, strict == 1))
                    continue;
                place[n] = (int32_t)made;
                steps[made++] = (struct model_spring_step){n, r->joint_of_node[n]};
                if (!strict) break;
            }
        CHECK(made > before); // parents come first, so one is always free
    }
    m->spring_steps = steps;
    m->spring_steps_count = count;
    return ERR_OK;
}

// -------------------------------------------------------------------------------------------

static enum err read_all(struct reader *r, const cJSON *json)
{
    struct model *m = &r->b->model;
    if (cJSON_IsArray(json)) return read_springs(r, json);
    enum err e = read_own(r, json);
    if (e != ERR_OK) return e;
    r->shared = (uint32_t)m->spring_colliders_count;
    r->groups = rig_get(json, "colliderGroups");
    (void)enter(r, "springs", -1);
    return read_springs(r, rig_get(json, "springs"));
}

static enum err make_room(struct reader *r)
{
    struct model *m = &r->b->model;
    struct xform *rest = BUILDER_ARRAY(r->b, struct xform, m->nodes_count);
    struct trs *locals = BUILDER_ARRAY(r->b, struct trs, m->nodes_count);
    r->springs = BUILDER_ARRAY(r->b, struct model_spring, MODEL_SPRING_JOINTS_MAX);
    r->joints = BUILDER_ARRAY(r->b, struct model_spring_joint, MODEL_SPRING_JOINTS_MAX);
    r->colliders = BUILDER_ARRAY(r->b, struct model_spring_collider, MODEL_SPRING_JOINTS_MAX);
    r->uses = BUILDER_ARRAY(r->b, uint32_t, MODEL_SPRING_USES_MAX);
    r->joint_of_node = BUILDER_ARRAY(r->b, int32_t, m->nodes_count);
    if (!rest || !locals || !r->springs || !r->joints || !r->colliders || !r->uses ||
        !r->joint_of_node)
        return builder_no_memory(r->b);
    for (size_t i = 0; i < m->nodes_count; i++) {
        locals[i] = m->nodes[i].rest;
        r->joint_of_node[i] = MODEL_NONE;
    }
    skeleton_model_from_nodes(m, locals, rest);
    r->rest = rest;
    m->springs = r->springs;
    m->spring_joints = r->joints;
    m->spring_colliders = r->colliders;
    m->spring_uses = r->uses;
    return ERR_OK;
}

enum err compile_springs(struct builder *b, double unit_m)
{
    const struct rig *rig = b->settings->rig;
    const cJSON *own = rig ? rig_get(rig->json, "springs") : NULL;
    const cJSON *used = cJSON_IsArray(own) || cJSON_IsObject(own) ? own : NULL;
    cJSON *vrm = NULL;
    if (!used && b->scene->vrm.json) {
        vrm = cJSON_Parse(b->scene->vrm.json);
        used = rig_get(vrm, "springBone");
    }
    // A VRM is in metres by its own rule; a rig file's lengths are metres by ours.
    struct reader r = {.b = b, .unit = used == own ? 1 / unit_m : 1, .named = used == own};
    (void)snprintf(r.path, sizeof r.path, "%s",
                   r.named ? "/springs" : "/extensions/VRMC_springBone");
    enum err e = ERR_OK;
    if (used) e = make_room(&r);
    if (used && e == ERR_OK) e = read_all(&r, used);
    if (used && e == ERR_OK && b->model.spring_joints_count > 0) e = order_steps(&r);
    if (b->model.spring_joints_count == 0)
        b->model.springs_count = b->model.spring_colliders_count = b->model.spring_uses_count = 0;
    if (e == ERR_OK && own && !used)
        scene_note(b->scene, NOTE_READ, 1, "springs: the source has none");
    if (e == ERR_OK && b->model.spring_joints_count > 0)
        scene_note(b->scene, NOTE_READ, 1, "springs: %zu, joints that swing: %zu, colliders: %zu",
                   b->model.springs_count, b->model.spring_joints_count,
                   b->model.spring_colliders_count);
    cJSON_Delete(vrm);
    return e;
}

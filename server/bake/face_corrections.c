#include "server/bake/face_corrections.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/bake/drivers.h"
#include "server/model/lookup.h"

// The corrections that the rig file lists: meshes of the author's, or generated where it says so.

// All that moves the bone along its axis, but for parameters that the shape has corrections of its
// own for.
static enum err bone_terms(struct face_bake *k, uint32_t bone_parameter, uint32_t shape)
{
    const struct model_face_move *axis = &k->moves[k->parameters[bone_parameter].move_first];
    const struct vec3 *t = &axis->translation, *s = &axis->scale;
    const struct quat *q = &axis->rotation;
    double turn = sqrt((double)(q->x * q->x + q->y * q->y + q->z * q->z));
    double size = (double)(s->x * s->x + s->y * s->y + s->z * s->z);
    for (uint32_t i = 0; i < k->parameters_count; i++) {
        const struct model_parameter *p = &k->parameters[i];
        if (face_has_correction(k, shape, i)) continue;
        double gain = 0;
        for (uint32_t n = 0; n < p->move_count; n++) {
            const struct model_face_move *v = &k->moves[p->move_first + n];
            if (v->bone != axis->bone) continue;
            gain += (double)(v->translation.x * t->x + v->translation.y * t->y +
                             v->translation.z * t->z);
            if (size > 0)
                gain += (double)(v->scale.x * s->x + v->scale.y * s->y + v->scale.z * s->z) / size;
            double along =
                (double)(v->rotation.x * q->x + v->rotation.y * q->y + v->rotation.z * q->z);
            if (turn > 0) gain += 2 * atan2(along / turn, (double)v->rotation.w);
        }
        if (fabs(gain) < 1e-12) continue;
        struct model_face_term *term = FACE_ADD(k, terms);
        if (!term) return builder_no_memory(k->b);
        *term = (struct model_face_term){i, (int32_t)axis->bone, (float)gain};
    }
    return ERR_OK;
}

enum err face_dial_of_bone(struct face_bake *k, uint32_t bone_parameter, uint32_t shape,
                           uint32_t *out)
{
    const struct model_parameter *p = &k->parameters[bone_parameter];
    struct model_face_dial dial = {
        .name = p->name, .term_first = (uint32_t)k->terms_count, .low = p->low, .high = p->high};
    enum err e = bone_terms(k, bone_parameter, shape);
    dial.term_count = (uint32_t)k->terms_count - dial.term_first;
    struct model_face_dial *added = e == ERR_OK ? FACE_ADD(k, dials) : NULL;
    if (!added) return e == ERR_OK ? builder_no_memory(k->b) : e;
    *added = dial;
    *out = (uint32_t)k->dials_count - 1;
    return ERR_OK;
}

enum err face_dial_of_parameter(struct face_bake *k, uint32_t parameter, uint32_t *out)
{
    const struct model_parameter *p = &k->parameters[parameter];
    struct model_face_dial *dial = FACE_ADD(k, dials);
    struct model_face_term *term = FACE_ADD(k, terms);
    if (!dial || !term) return builder_no_memory(k->b);
    *dial = (struct model_face_dial){.name = p->name,
                                     .term_first = (uint32_t)k->terms_count - 1,
                                     .term_count = 1,
                                     .low = p->low,
                                     .high = p->high};
    *term = (struct model_face_term){parameter, MODEL_NONE, 1};
    *out = (uint32_t)k->dials_count - 1;
    return ERR_OK;
}

bool face_has_correction(const struct face_bake *k, uint32_t shape, uint32_t parameter)
{
    for (size_t i = 0; i < k->corrections_count; i++) {
        const struct model_face_correction *c = &k->corrections[i];
        const struct model_face_term *t = &k->terms[k->dials[c->dial].term_first];
        if (k->channels[c->channel].shape == shape && t->bone == MODEL_NONE &&
            t->parameter == parameter)
            return true;
    }
    return false;
}

void face_leave_to_parameter(struct face_bake *k, uint32_t shape, uint32_t parameter)
{
    for (size_t i = 0; i < k->corrections_count; i++) {
        const struct model_face_correction *c = &k->corrections[i];
        const struct model_face_dial *d = &k->dials[c->dial];
        if (k->channels[c->channel].shape != shape) continue;
        for (uint32_t n = 0; n < d->term_count; n++) {
            struct model_face_term *t = &k->terms[d->term_first + n];
            if (t->bone != MODEL_NONE && t->parameter == parameter) t->gain = 0;
        }
    }
}

void face_hat(const double *knots, uint32_t count, uint32_t i, float hat[3])
{
    double before = knots[i], after = knots[i];
    bool first = true, last = true;
    for (uint32_t n = 0; n <= count; n++) {
        double x = n < count ? knots[n] : 0; // neutral is a knot too
        if (x < knots[i]) before = first ? x : fmax(before, x), first = false;
        if (x > knots[i]) after = last ? x : fmin(after, x), last = false;
    }
    hat[0] = (float)before;
    hat[1] = (float)knots[i];
    hat[2] = (float)after;
}

// ---- reading

struct listed { // one correction of the rig file
    char path[128];
    uint32_t shape, parameter, dial;
    uint32_t count;
    double knots[MODEL_DIAL_KNOTS_MAX];
    const cJSON *targets[MODEL_DIAL_KNOTS_MAX];
};

static enum err read_knots(struct face_bake *k, const cJSON *targets, struct listed *l)
{
    const struct model_parameter *p = &k->parameters[l->parameter];
    for (const cJSON *v = targets->child; v; v = v->next) {
        char *end = NULL;
        double at = strtod(v->string, &end);
        if (end == v->string || *end || !isfinite(at) || at == 0)
            return fault_set(k->b->fault, ERR_MALFORMED,
                             "%s/targets/%.40s: a target is named by its offset or value, not 0",
                             l->path, v->string);
        if (l->count == MODEL_DIAL_KNOTS_MAX)
            return fault_set(k->b->fault, ERR_LIMIT, "%s/targets: more than %d", l->path,
                             MODEL_DIAL_KNOTS_MAX);
        if (at < (double)p->low - 1e-6 || at > (double)p->high + 1e-6)
            return fault_set(k->b->fault, ERR_MALFORMED,
                             "%s/targets/%.40s: outside the range %g .. %g", l->path, v->string,
                             (double)p->low, (double)p->high);
        for (uint32_t i = 0; i < l->count; i++)
            if (!((float)l->knots[i] < (float)at || (float)l->knots[i] > (float)at))
                return fault_set(k->b->fault, ERR_MALFORMED, "%s/targets/%.40s: given twice",
                                 l->path, v->string);
        l->knots[l->count] = at;
        l->targets[l->count++] = v;
    }
    return l->count ? ERR_OK
                    : fault_set(k->b->fault, ERR_MALFORMED, "%s/targets: is empty", l->path);
}

static enum err read_listed(struct face_bake *k, const cJSON *json, struct listed *l)
{
    const cJSON *joint = rig_get(json, "joint"), *parameter = rig_get(json, "parameter");
    char where[200];
    (void)snprintf(where, sizeof where, "%s/shape", l->path);
    enum err e = lookup_name(&k->b->model, LOOKUP_SHAPE, rig_get(json, "shape")->valuestring, where,
                             &l->shape, k->b->fault);
    if (e != ERR_OK) return e;
    if (!joint == !parameter)
        return fault_set(k->b->fault, ERR_MALFORMED, "%s: needs either joint or parameter",
                         l->path);
    const char *name = (joint ? joint : parameter)->valuestring;
    int32_t found = face_parameter_find(k, name);
    if (found == MODEL_NONE || k->parameters[found].kind != MODEL_PARAMETER_SHAPE ||
        (joint && !k->parameters[found].bone))
        return fault_set(k->b->fault, ERR_NOT_FOUND,
                         joint ? "%s/joint: \"%.60s\" is not in face/bones, which gives its axis "
                                 "and range"
                               : "%s/parameter: there is no parameter of kind shape called "
                                 "\"%.60s\"",
                         l->path, name);
    l->parameter = (uint32_t)found;
    e = read_knots(k, rig_get(json, "targets"), l);
    if (e != ERR_OK) return e;
    // Where all is generated, each parameter that moves the bone gets its own (face_correct.c):
    // sums of them may leave the range over which the bone's own meshes are made.
    bool meshes = false;
    for (uint32_t i = 0; i < l->count; i++)
        meshes = meshes || !cJSON_IsString(l->targets[i]);
    return joint && meshes ? face_dial_of_bone(k, l->parameter, l->shape, &l->dial)
                           : face_dial_of_parameter(k, l->parameter, &l->dial);
}

// ---- meshes of the author's

// From the surface at the target: skinned with the bone there and the shape at 1, or in base space.
static enum err mesh_deltas(struct face_bake *k, struct face_probe *p, const struct listed *l,
                            uint32_t i, double *mesh, double (*deltas)[3])
{
    struct driver_bake read = {.b = k->b,
                               .rig = k->b->settings->rig,
                               .pool = &k->b->scene->pool,
                               .fault = k->b->fault,
                               .vertex_of_lane = k->vertex_of_lane};
    struct example_plan plan = {.surface = l->targets[i]};
    bool is_base = false;
    (void)snprintf(plan.path, sizeof plan.path, "%.40s/targets/%.40s", l->path,
                   l->targets[i]->string);
    if (!rig_get(plan.surface, "file") == !rig_get(plan.surface, "morph"))
        return fault_set(k->b->fault, ERR_MALFORMED, "%s: needs either file or morph", plan.path);
    enum err e = driver_surface_read(&read, &plan, mesh, &is_base);
    if (e != ERR_OK) return e;
    face_probe_clear(p);
    p->weights[l->shape] = 1;
    p->values[l->parameter] = (float)l->knots[i];
    face_probe_pose(p);
    for (uint32_t v = 0; v < model_vertex_count(&k->b->model); v++) {
        double x[3], place[3], apart[3];
        struct xform t, back;
        face_probe_vertex(p, v, x, place, &t);
        for (int r = 0; r < 3; r++)
            apart[r] = mesh[(size_t)v * 3 + (size_t)r] - (is_base ? x[r] : place[r]);
        memcpy(deltas[v], apart, sizeof apart);
        if (is_base || !xform_invert(&t, &back)) continue;
        for (int r = 0; r < 3; r++)
            deltas[v][r] =
                back.col[0][r] * apart[0] + back.col[1][r] * apart[1] + back.col[2][r] * apart[2];
    }
    return ERR_OK;
}

// What float32 in a file cannot tell from nothing is nothing.
static void drop_noise(const struct face_bake *k, double (*deltas)[3])
{
    double size = 0;
    for (size_t i = 0; i < model_vertex_count(&k->b->model) * 3; i++)
        size = fmax(size, fabs((double)k->b->positions[i]));
    for (uint32_t v = 0; v < model_vertex_count(&k->b->model); v++)
        if (fabs(deltas[v][0]) + fabs(deltas[v][1]) + fabs(deltas[v][2]) < 3e-7 * size)
            memset(deltas[v], 0, sizeof *deltas);
}

static enum err generate_listed(struct face_generator *g, const struct listed *l, uint32_t i,
                                float *values)
{
    struct face_bake *k = g->k;
    bool any = false;
    float hat[3];
    face_hat(l->knots, l->count, i, hat);
    memset(values, 0, k->parameters_count * sizeof *values);
    values[l->parameter] = (float)l->knots[i];
    for (size_t c = 0; c < k->contours_count; c++)
        for (uint32_t n = 0; n < k->contours[c].closer_count; n++) {
            if (k->contours[c].closers[n] != l->shape) continue;
            any = true;
            enum err e = face_generate(g, &k->contours[c], n, values, l->dial, hat);
            if (e != ERR_OK) return e;
        }
    if (any) return ERR_OK;
    return fault_set(k->b->fault, ERR_NOT_FOUND,
                     "%s/targets/%.40s: no contour is closed by this shape, so nothing says what "
                     "to generate: list it in closed_by, or give a mesh",
                     l->path, l->targets[i]->string);
}

static enum err make_listed(struct face_generator *g, const struct listed *l, bool authored)
{
    struct face_bake *k = g->k;
    size_t vertices = model_vertex_count(&k->b->model);
    float *values = BUILDER_ARRAY(k->b, float, k->parameters_count);
    struct arena scratch;
    if (!values || !arena_create(&scratch, vertices * 6 * sizeof(double) + 256))
        return builder_no_memory(k->b);
    double *mesh = ARENA_ARRAY(&scratch, double, vertices * 3);
    double(*deltas)[3] = arena_take(&scratch, vertices * sizeof *deltas);
    enum err e = ERR_OK;
    for (uint32_t i = 0; i < l->count && e == ERR_OK; i++) {
        if (cJSON_IsString(l->targets[i]) == authored) continue;
        if (!authored) {
            e = generate_listed(g, l, i, values);
            continue;
        }
        e = mesh_deltas(k, g->probe, l, i, mesh, deltas);
        if (e != ERR_OK) break;
        drop_noise(k, deltas);
        float hat[3];
        face_hat(l->knots, l->count, i, hat);
        e = face_add_mesh(k, l->shape, (const double(*)[3])deltas, l->dial, hat);
    }
    arena_destroy(&scratch);
    return e;
}

enum err face_read_corrections(struct face_generator *g)
{
    struct face_bake *k = g->k;
    const cJSON *list = rig_get(k->json, "corrections");
    int count = cJSON_GetArraySize(list);
    if (count > MODEL_PARAMETERS_MAX)
        return fault_set(k->b->fault, ERR_LIMIT, "/face/corrections: more than %d",
                         MODEL_PARAMETERS_MAX);
    struct listed *all = BUILDER_ARRAY(k->b, struct listed, count);
    if (!all) return builder_no_memory(k->b);
    enum err e = ERR_OK;
    // Parameters' first: bones take no correction of their own for those.
    for (int pass = 0; pass < 2; pass++) {
        int index = 0;
        for (const cJSON *v = list ? list->child : NULL; v && e == ERR_OK; v = v->next, index++) {
            struct listed *l = &all[index];
            if (!rig_get(v, "joint") == (pass == 1)) continue;
            (void)snprintf(l->path, sizeof l->path, "/face/corrections/%d", index);
            e = read_listed(k, v, l);
            face_show(k);
            if (e == ERR_OK) e = make_listed(g, l, true);
            if (e == ERR_OK) e = make_listed(g, l, false);
        }
    }
    return e;
}

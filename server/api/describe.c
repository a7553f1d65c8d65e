#include "server/api/describe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/json_guard.h"
#include "server/bake/edit.h"

void describe_time(int64_t ms, char out[32])
{
    time_t s = (time_t)(ms / 1000);
    struct tm t;
    out[0] = '\0';
    if (!gmtime_r(&s, &t)) return;
    size_t n = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &t);
    (void)snprintf(out + n, 32 - n, ".%03dZ", (int)(ms % 1000));
}

static void add_number(cJSON *o, const char *key, double value)
{
    (void)cJSON_AddNumberToObject(o, key, value);
}

static void add_text(cJSON *o, const char *key, const char *text)
{
    (void)cJSON_AddStringToObject(o, key, text);
}

static void add_time(cJSON *o, const char *key, int64_t ms)
{
    char text[32];
    describe_time(ms, text);
    add_text(o, key, text);
}

static void add_tag(cJSON *o, const char *key, const char *tag)
{
    char text[STORE_HASH_BYTES + 2];
    (void)snprintf(text, sizeof text, "\"%s\"", tag);
    add_text(o, key, text);
}

static void add_json(cJSON *o, const char *key, const char *text)
{
    cJSON *value = text && *text ? cJSON_Parse(text) : NULL;
    if (value) (void)cJSON_AddItemToObject(o, key, value);
}

static void add_drivers(cJSON *o, const struct model *m)
{
    static const char *const kernels[] = {"rotation",   "linear",       "gaussian",
                                          "thin_plate", "multiquadric", "inverse_multiquadric"};
    cJSON *list = cJSON_AddArrayToObject(o, "drivers");
    struct json_limits limits = json_limits_for(m->drivers_json_count);
    cJSON *report = NULL; // without it names of joints are left out
    if (m->drivers_json_count > 1 &&
        json_parse(m->drivers_json, strlen(m->drivers_json), &limits, &report, NULL) != ERR_OK)
        report = NULL;
    for (size_t i = 0; i < m->drivers_count; i++) {
        const struct model_driver *d = &m->drivers[i];
        cJSON *one = cJSON_CreateObject(), *joints = cJSON_AddArrayToObject(one, "joints");
        cJSON *examples = cJSON_AddArrayToObject(one, "examples");
        const cJSON *said = cJSON_GetArrayItem(report, (int)i);
        const cJSON *mirror = cJSON_GetObjectItemCaseSensitive(said, "mirror_of");
        const cJSON *j = cJSON_GetObjectItemCaseSensitive(said, "joints");
        add_text(one, "name", model_text(m, d->name));
        add_text(one, "kernel", kernels[d->kernel]);
        for (j = j ? j->child : NULL; j; j = j->next)
            (void)cJSON_AddItemToArray(
                joints, cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(j, "joint"), 1));
        for (uint32_t k = 0; k < d->example_count; k++)
            (void)cJSON_AddItemToArray(examples, cJSON_CreateString(model_text(
                                                     m, m->examples[d->example_first + k].name)));
        if (cJSON_IsString(mirror)) add_text(one, "mirror_of", mirror->valuestring);
        (void)cJSON_AddItemToArray(list, one);
    }
    cJSON_Delete(report);
}

cJSON *describe_model(const struct library_model *m)
{
    char etag[LIBRARY_ETAG_BYTES];
    cJSON *o = cJSON_CreateObject();
    const struct store_version *newest = library_newest(m);
    add_text(o, "name", m->name);
    (void)cJSON_AddBoolToObject(o, "retired", m->retired);
    if (newest) {
        library_etag(newest, etag);
        add_number(o, "version", newest->number);
        add_text(o, "etag", etag);
    }
    if (!m->head) return o;
    const struct model *x = m->head->model;
    add_number(o, "vertices", (double)model_vertex_count(x));
    add_number(o, "unit_m", (double)x->info->unit_m);
    add_text(o, "skinning", x->info->skinning == MODEL_DQ ? "dq" : "lbs");
    add_number(o, "examples", (double)x->examples_count);
    add_text(o, "topology", m->head->topology);
    add_drivers(o, x);
    return o;
}

cJSON *describe_version(const struct store_version *v, const char *report)
{
    char etag[LIBRARY_ETAG_BYTES];
    cJSON *o = cJSON_CreateObject();
    library_etag(v, etag);
    add_text(o, "model", v->model);
    add_number(o, "version", v->number);
    add_number(o, "parent", v->parent);
    add_text(o, "etag", etag);
    add_text(o, "kind", v->kind);
    if (v->item[0]) add_text(o, "item", v->item);
    add_text(o, "author", v->author);
    add_text(o, "message", v->message);
    add_time(o, "time", v->time_ms);
    add_number(o, "bytes", (double)v->bytes);
    add_text(o, "sha256", v->sha256);
    if (v->restores) add_number(o, "restores", v->restores);
    add_json(o, "report", report);
    return o;
}

static void add_floats(cJSON *o, const char *key, const float *values, int count)
{
    (void)cJSON_AddItemToObject(o, key, cJSON_CreateFloatArray(values, count));
}

static bool same_floats(const float *a, const float *b, int count)
{
    for (int i = 0; i < count; i++)
        if (a[i] != b[i]) return false;
    return true;
}

static void add_pose(cJSON *o, const struct edition *e, const struct trs *locals)
{
    const struct model *m = e->model;
    char name[16];
    cJSON *joints = cJSON_AddObjectToObject(cJSON_AddObjectToObject(o, "pose"), "joints");
    for (uint32_t i = 0; i < m->nodes_count; i++) {
        const struct trs *t = &locals[i], *rest = &m->nodes[i].rest;
        bool turned = !same_floats(&t->rotation.x, &rest->rotation.x, 4);
        bool placed = !same_floats(&t->translation.x, &rest->translation.x, 3);
        bool scaled = !same_floats(&t->scale.x, &rest->scale.x, 3);
        if (!turned && !placed && !scaled) continue;
        const float turn[4] = {t->rotation.x, t->rotation.y, t->rotation.z, t->rotation.w};
        const float place[3] = {t->translation.x, t->translation.y, t->translation.z};
        const float scale[3] = {t->scale.x, t->scale.y, t->scale.z};
        (void)snprintf(name, sizeof name, "#%u", m->nodes[i].source);
        cJSON *joint = cJSON_AddObjectToObject(
            joints, e->name_is_alone[i] ? model_text(m, m->nodes[i].name) : name);
        add_floats(joint, "rotation", turn, 4);
        if (placed) add_floats(joint, "translation", place, 3);
        if (scaled) add_floats(joint, "scale", scale, 3);
    }
}

cJSON *describe_held(const struct store_grant *g)
{
    cJSON *o = cJSON_CreateObject();
    add_text(o, "name", g->holder);
    add_time(o, "since", g->since_ms);
    add_time(o, "expires", g->expires_ms);
    return o;
}

static void add_root(cJSON *o, const struct model *m, uint32_t root)
{
    size_t vertices = model_vertex_count(m), moved = 0;
    for (size_t v = 0; v < vertices; v++)
        moved += m->root_weights[root * vertices + v] > 0;
    add_text(o, "name", model_text(m, m->roots[root].name));
    add_number(o, "index", root);
    add_number(o, "moved", (double)moved);
}

static void add_correction(cJSON *o, const struct model *m, uint32_t row)
{
    const struct model_face_correction *c = &m->face_corrections[row];
    char name[EDIT_NAME_BYTES];
    double moved = 0;
    edit_correction_name(m, row, name, sizeof name);
    for (uint32_t i = 0; i < m->channels[c->channel].block_count; i++) {
        const struct model_morph_block *b =
            &m->morph_blocks[m->channels[c->channel].block_first + i];
        for (int lane = 0; lane < MODEL_LANES; lane++)
            moved +=
                b->position[0][lane] != 0 || b->position[1][lane] != 0 || b->position[2][lane] != 0;
    }
    add_text(o, "name", name);
    add_number(o, "index", row);
    add_text(o, "shape", model_text(m, m->shapes[m->channels[c->channel].shape].name));
    add_text(o, "of", model_text(m, m->face_dials[c->dial].name));
    add_number(o, "at", (double)c->at);
    add_number(o, "moved", moved);
}

static const char *kind_of(int32_t place)
{
    if (place == EDIT_BASE) return "base";
    return edit_is_root(place) ? "root" : edit_is_correction(place) ? "correction" : "example";
}

static void add_example(cJSON *o, const struct edition *e, int32_t example)
{
    const struct model *m = e->model;
    const struct model_example *row = &m->examples[example];
    add_text(o, "name", model_text(m, row->name));
    add_text(o, "driver", model_text(m, m->drivers[row->driver].name));
    add_number(o, "index", example);
    add_number(o, "moved", e->moved[example]);
    add_number(o, "center", row->center);
    add_number(o, "residual", (double)row->residual);
    add_number(o, "inverse_gain", (double)row->gain);
    add_pose(o, e, m->example_poses + (size_t)example * m->nodes_count);
}

cJSON *describe_item(const struct library_model *m, const struct edition *e, int32_t place,
                     const struct library_grant *g, int64_t now_ms)
{
    const struct model *x = e->model;
    cJSON *o = cJSON_CreateObject();
    add_text(o, "model", m->name);
    add_number(o, "version", library_newest(m) ? library_newest(m)->number : 0);
    add_text(o, "kind", kind_of(place));
    add_number(o, "vertices", (double)model_vertex_count(x));
    add_tag(o, "etag", edition_tag(e, place));
    if (place == EDIT_BASE)
        add_text(o, "name", "base");
    else if (edit_is_root(place))
        add_root(o, x, edit_root_of(place));
    else if (edit_is_correction(place))
        add_correction(o, x, edit_correction_of(place));
    else
        add_example(o, e, place);
    if (g && g->row.expires_ms > now_ms)
        (void)cJSON_AddItemToObject(o, "held_by", describe_held(&g->row));
    return o;
}

static void put_item(const struct store_grant *g, char *out, size_t out_bytes)
{
    (void)snprintf(out, out_bytes, "%s%s%s", g->driver, g->driver[0] ? ":" : "", g->item);
}

cJSON *describe_grant(const struct store_grant *g, const char *tag, bool own)
{
    char item[2 * STORE_ITEM_BYTES];
    cJSON *o = cJSON_CreateObject();
    put_item(g, item, sizeof item);
    if (own) {
        add_text(o, "grant", g->id);
        add_number(o, "fence", (double)g->fence);
    }
    add_text(o, "model", g->model);
    add_text(o, "kind", g->kind);
    add_text(o, "item", item);
    add_text(o, "held_by", g->holder);
    add_time(o, "since", g->since_ms);
    add_time(o, "expires", g->expires_ms);
    add_number(o, "base_version", g->base_version);
    add_tag(o, "etag", tag);
    return o;
}

cJSON *describe_draft(const struct store_grant *g, const struct store_draft *d)
{
    char item[2 * STORE_ITEM_BYTES];
    cJSON *o = cJSON_CreateObject();
    put_item(g, item, sizeof item);
    add_text(o, "model", g->model);
    add_text(o, "kind", g->kind);
    add_text(o, "item", item);
    add_tag(o, "etag", d->tag);
    add_number(o, "base_version", d->base_version);
    add_number(o, "moved", d->moved);
    add_number(o, "largest_move", d->largest_move);
    add_json(o, "report", d->report);
    return o;
}

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/v1.h"
#include "server/api/v1_draft.h"

// The changes of items: each reads what is asked into a step of an edit.

static bool copy_body(struct errand *e, struct http_exchange *x)
{
    size_t size;
    const uint8_t *body = http_exchange_body(x, &size);
    e->body = malloc(size + 1);
    if (!e->body) {
        errand_end(e);
        return false;
    }
    memcpy(e->body, body, size);
    e->body[size] = 0;
    e->body_bytes = size;
    return true;
}

// A finished upload of one's own as the body. False: answered.
static bool take_upload(struct errand *e, const char *id)
{
    struct library *l = e->api->options.library;
    const struct store_upload *u = id ? library_upload(l, id) : NULL;
    bool fine = u && u->token == e->who.token && u->offset == u->size_bytes;
    if (fine) {
        store_upload_path(l->store, id, e->upload_path, sizeof e->upload_path);
        return true;
    }
    errand_refuse(e, 422, "upload", "The upload cannot be used",
                  u ? "It is not complete yet." : "There is no such upload of yours.", NULL);
    return false;
}

static bool is_type(const char *type, const char *wanted)
{
    size_t n = strlen(wanted);
    return type && strncmp(type, wanted, n) == 0 && (type[n] == '\0' || type[n] == ';');
}

static bool flag(struct http_exchange *x, const char *key)
{
    char value[8];
    return http_exchange_query_value(x, key, value, sizeof value) && strcmp(value, "0") != 0;
}

static bool read_keep(struct errand *e, struct http_exchange *x)
{
    char keep[16] = "deltas";
    (void)http_exchange_query_value(x, "keep", keep, sizeof keep);
    e->steps[0].keep_sculpts = strcmp(keep, "sculpts") == 0;
    if (e->steps[0].keep_sculpts || strcmp(keep, "deltas") == 0) return true;
    errand_refuse(e, 400, "bad-keep", "keep is deltas or sculpts", NULL, NULL);
    return false;
}

static bool read_surface_body(struct errand *e, struct http_exchange *x)
{
    static const struct {
        const char *type;
        enum edit_format format;
    } types[] = {{"application/octet-stream", EDIT_F32},
                 {"application/vnd.sinew.f32", EDIT_F32},
                 {"model/obj", EDIT_OBJ},
                 {"text/plain", EDIT_OBJ},
                 {"model/gltf-binary", EDIT_GLB}};
    const char *type = http_exchange_header(x, "content-type");
    struct edit *step = &e->steps[0];
    step->kind = EDIT_SURFACE;
    if (is_type(type, "application/json")) {
        static const char *const formats[] = {"f32", "obj", "glb"};
        if (!errand_json(e)) return false;
        const char *format = errand_text(e, "format");
        for (size_t i = 0; format && i < 3; i++)
            if (strcmp(format, formats[i]) == 0) {
                step->format = (enum edit_format)i;
                return take_upload(e, errand_text(e, "upload"));
            }
        errand_refuse(e, 400, "bad-format", "format is f32, obj or glb", NULL, NULL);
        return false;
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (is_type(type, types[i].type)) {
            step->format = types[i].format;
            return copy_body(e, x);
        }
    errand_refuse(e, 415, "content-type", "This kind of body is not taken here",
                  "application/octet-stream (f32), model/obj, model/gltf-binary, or JSON with an "
                  "upload",
                  NULL);
    return false;
}

void v1_put_surface(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    if (!e || !v1_draft_begin(e) || !read_keep(e, x) || !read_surface_body(e, x)) return;
    e->steps[0].force = flag(x, "force");
    errand_work(e, v1_draft_build, v1_draft_made);
}

static bool read_json_deltas(struct errand *e)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(e->json, "deltas");
    size_t count = (size_t)cJSON_GetArraySize(list), at = 0;
    e->deltas = calloc(count + 1, sizeof *e->deltas);
    bool fine = cJSON_IsArray(list) && e->deltas;
    for (const cJSON *d = fine ? list->child : NULL; d && fine; d = d->next, at++) {
        const cJSON *n = cJSON_IsArray(d) ? d->child : NULL;
        double values[4];
        for (int i = 0; i < 4; i++, n = n ? n->next : NULL)
            values[i] = n && cJSON_IsNumber(n) ? n->valuedouble : -1e300;
        fine = !n && values[0] >= 0 && values[0] < UINT32_MAX && values[0] == floor(values[0]) &&
               values[1] > -1e30 && values[2] > -1e30 && values[3] > -1e30;
        if (fine)
            e->deltas[at] = (struct edit_delta){
                (uint32_t)values[0], {(float)values[1], (float)values[2], (float)values[3]}};
    }
    e->steps[0].deltas = e->deltas;
    e->steps[0].delta_count = at;
    if (fine) return true;
    errand_refuse(e, 422, "surface", "These are no deltas", "{\"deltas\": [[vertex, x, y, z], …]}",
                  NULL);
    return false;
}

void v1_patch_surface(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    const char *type = http_exchange_header(x, "content-type");
    if (!e || !v1_draft_begin(e) || !read_keep(e, x)) return;
    e->steps[0].kind = EDIT_DELTAS;
    e->steps[0].force = flag(x, "force");
    if (is_type(type, "application/json")) {
        if (!errand_json(e)) return;
        const char *upload = errand_text(e, "upload");
        if (upload ? !take_upload(e, upload) : !read_json_deltas(e)) return;
    } else if (is_type(type, "application/vnd.sinew.deltas")) {
        if (!copy_body(e, x)) return;
    } else {
        errand_refuse(e, 415, "content-type", "This kind of body is not taken here",
                      "application/vnd.sinew.deltas, or JSON", NULL);
        return;
    }
    errand_work(e, v1_draft_build, v1_draft_made);
}

void v1_remove(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    if (!e || !v1_draft_begin(e)) return;
    e->steps[0].kind = EDIT_REMOVE;
    errand_work(e, v1_draft_build, v1_draft_made);
}

static bool need_pose(struct errand *e)
{
    e->steps[0].pose = cJSON_GetObjectItemCaseSensitive(e->json, "pose");
    if (cJSON_IsObject(e->steps[0].pose)) return true;
    errand_refuse(e, 422, "pose", "The pose is missing",
                  "{\"pose\": {\"joints\": {NAME: {\"rotation\": [x, y, z, w]}}}}", NULL);
    return false;
}

void v1_put_pose(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    if (!e || !v1_draft_begin(e) || !errand_json(e) || !need_pose(e)) return;
    const char *keep = errand_text(e, "keep");
    e->steps[0].kind = EDIT_POSE;
    e->steps[0].keep_surface = keep && strcmp(keep, "surface") == 0;
    if (!keep || (!e->steps[0].keep_surface && strcmp(keep, "delta") != 0)) {
        errand_refuse(e, 422, "bad-keep", "keep is surface or delta",
                      "Say which of the two the example keeps at its new pose.", NULL);
        return;
    }
    errand_work(e, v1_draft_build, v1_draft_made);
}

static void mirror(struct errand *e)
{
    if (!v1_draft_begin(e) || !errand_json(e)) return;
    e->steps[0].kind = EDIT_MIRROR;
    e->steps[0].driver = errand_text(e, "driver");
    errand_work(e, v1_draft_build, v1_draft_made);
}

void v1_mirror(struct http_exchange *x, void *api)
{
    errand_keyed(x, api, mirror);
}

// --- New examples -------------------------------------------------------------------------------

// What can stand in a path.
static bool is_new_name(const char *name)
{
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == '/' || *c == '\\') return false;
    return name[0] != '#';
}

static void new_example(struct errand *e)
{
    struct library *l = e->api->options.library;
    if (!errand_json(e) || !need_pose(e)) return;
    const char *driver = errand_text(e, "driver"), *name = errand_text(e, "name");
    if (!driver || !name || !*name || strlen(name) >= STORE_ITEM_BYTES ||
        strlen(driver) >= STORE_ITEM_BYTES || !is_new_name(name)) {
        errand_refuse(e, 422, "name", "driver and name are needed",
                      "A name has 1 to 127 bytes, does not begin with #, and holds no slash.",
                      NULL);
        return;
    }
    if (!errand_served(e)) return;
    (void)snprintf(e->kind, sizeof e->kind, "example");
    (void)snprintf(e->driver, sizeof e->driver, "%s", driver);
    (void)snprintf(e->item, sizeof e->item, "%s", name);
    struct library_grant *g = library_grant_of(l, e->model->name, e->kind, e->driver, e->item);
    if (edition_find(e->model->head->model, driver, name) >= 0 ||
        (g && g->row.expires_ms > errand_now_ms())) {
        errand_refuse(e, 409, "name-taken", "The example is there already",
                      "Edit it, or choose another name.", NULL);
        return;
    }
    if (g) v1_grant_end_old(e, g);
    struct store_grant *row = &e->commit.grant;
    if (!v1_grant_fill(e, row) || library_numbers(l, e->model, &e->numbers, &e->fault) != ERR_OK) {
        errand_end(e);
        return;
    }
    row->base_version = library_newest(e->model)->number;
    (void)snprintf(row->base_tag, sizeof row->base_tag, "%s",
                   edition_tag(e->model->head, EDIT_ABSENT));
    e->base = edition_ref(e->model->head);
    e->like = role_ref(e->model->head->role);
    e->numbers.like = e->like;
    e->steps[0].kind = EDIT_NEW;
    e->steps[0].driver = e->driver;
    e->steps[0].name = e->item;
    e->step_count = 1;
    v1_item_path(e, e->location, sizeof e->location);
    errand_work(e, v1_draft_build, v1_draft_made);
}

void v1_new_example(struct http_exchange *x, void *api)
{
    errand_keyed(x, api, new_example);
}

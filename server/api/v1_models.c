#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "server/api/describe.h"
#include "server/api/v1.h"
#include "server/api/v1_version.h"
#include "server/bake/bake.h"
#include "server/stream/secret.h"

// Adding, replacing and retiring models.

static bool is_plain_name(const char *name)
{
    size_t n = strlen(name);
    return n >= 1 && n < 128 && name[0] != '.' && !strchr(name, '/') && !strchr(name, '\\');
}

// Files named in the request, as links to uploads, in a folder of their own.
static enum err lay_files(struct errand *e)
{
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(e->json, "files");
    char path[2048], from[1200];
    for (const cJSON *f = files ? files->child : NULL; f; f = f->next) {
        store_upload_path(e->api->options.library->store, f->valuestring, from, sizeof from);
        (void)snprintf(path, sizeof path, "%s/%s", e->folder, f->string);
        if (link(from, path) != 0) return file_fault(&e->fault, "take the upload of", f->string);
    }
    return ERR_OK;
}

static enum err lay_rig(struct errand *e, char *input, size_t input_bytes)
{
    const cJSON *rig = cJSON_GetObjectItemCaseSensitive(e->json, "rig");
    const char *source = errand_text(e, "source");
    if (!cJSON_IsObject(rig)) {
        (void)snprintf(input, input_bytes, "%s/%s", e->folder, source);
        return ERR_OK;
    }
    cJSON *whole = cJSON_Duplicate(rig, 1);
    cJSON_DeleteItemFromObjectCaseSensitive(whole, "source");
    (void)cJSON_AddStringToObject(whole, "source", source);
    char *text = cJSON_PrintUnformatted(whole);
    cJSON_Delete(whole);
    (void)snprintf(input, input_bytes, "%s/sinew.rig.json", e->folder);
    enum err err = text ? file_write_atomic(input, text, strlen(text), &e->fault) : ERR_MEMORY;
    cJSON_free(text);
    return err;
}

static enum err bake_model(struct errand *e)
{
    char input[2048];
    struct bake_result baked = {0};
    struct model_file *file = NULL;
    enum err err = ERR_OK;
    if (mkdir(e->folder, 0700) != 0) return file_fault(&e->fault, "make", e->folder);
    if (e->json) {
        err = lay_files(e);
        if (err == ERR_OK) err = lay_rig(e, input, sizeof input);
    } else if (e->form == 0) {
        (void)snprintf(input, sizeof input, "%s/model.glb", e->folder);
        err = file_write_atomic(input, e->body, e->body_bytes, &e->fault);
    }
    if (e->form == 1) { // a .sinew as it is
        err = model_file_from_bytes(e->body, e->body_bytes, &file, &e->fault);
    } else if (err == ERR_OK) {
        err = bake_run(input, NULL, &baked, &e->fault);
        if (err == ERR_OK)
            err = model_file_from_bytes(baked.bytes, baked.size_bytes, &file, &e->fault);
        bake_free(&baked);
    }
    if (err == ERR_OK) err = edition_build(file, &e->numbers, &e->edition, &e->fault);
    model_file_unref(file);
    return err;
}

static void apply_model(struct errand *e)
{
    e->model->retired = false;
    e->model->source[0] = '\0';
    v1_version_push(e);
    cJSON *json = describe_model(e->model);
    cJSON_free(e->reply);
    e->reply = cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
}

static void on_baked(struct errand *e)
{
    struct store_commit *c = &e->commit;
    if (e->result != ERR_OK) {
        v1_version_refuse(e, "model");
        return;
    }
    bool replaces = library_newest(e->model) != NULL;
    v1_version_begin(e, replaces ? "replace" : "import",
                     e->json ? errand_text(e, "message") : NULL);
    c->parts |= STORE_MODEL;
    memcpy(c->model.name, e->model->name, sizeof c->model.name);
    c->body = model_file_bytes(e->edition->file, &c->body_bytes);
    api_sha256(c->body, c->body_bytes, c->version.sha256);
    c->version.bytes = c->body_bytes;
    library_etag(&c->version, e->etag);
    (void)snprintf(e->location, sizeof e->location, "/v1/models/%s", e->model->name);
    errand_commit(e, replaces ? 200 : 201, describe_version(&c->version, NULL),
                  replaces ? "model.replace" : "model.add", apply_model);
}

static void bake_now(struct library_waiter *w)
{
    struct errand *e = v1_version_waiter(w);
    struct library *l = e->api->options.library;
    char secret[SECRET_TEXT_BYTES];
    bool replaces = library_newest(e->model) != NULL;
    if (replaces && !v1_version_matches(e)) return;
    if (!secret_make(secret) || library_numbers(l, e->model, &e->numbers, &e->fault) != ERR_OK) {
        if (e->fault.line[0])
            errand_problem(e, 422, "limit", "It cannot be served", e->fault.line, NULL);
        errand_end(e);
        return;
    }
    store_upload_path(l->store, "", e->folder, sizeof e->folder);
    size_t n = strlen(e->folder);
    (void)snprintf(e->folder + n, sizeof e->folder - n, "bake-%.16s", secret);
    e->like = e->model->head ? role_ref(e->model->head->role) : NULL;
    e->numbers.like = e->like;
    errand_work(e, bake_model, on_baked);
}

static bool check_files(struct errand *e)
{
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(e->json, "files");
    const char *source = errand_text(e, "source");
    bool fine =
        cJSON_IsObject(files) && source && cJSON_GetObjectItemCaseSensitive(files, source) != NULL;
    for (const cJSON *f = fine ? files->child : NULL; f && fine; f = f->next) {
        const struct store_upload *u =
            cJSON_IsString(f) ? library_upload(e->api->options.library, f->valuestring) : NULL;
        fine =
            is_plain_name(f->string) && u && u->token == e->who.token && u->offset == u->size_bytes;
    }
    if (!fine) {
        errand_refuse(e, 422, "upload", "The files are not there",
                      "\"files\": {NAME: UPLOAD, …} of complete uploads of yours, \"source\": one "
                      "of the names.",
                      NULL);
    }
    return fine;
}

static bool read_model_body(struct errand *e, struct http_exchange *x)
{
    const char *type = http_exchange_header(x, "content-type");
    size_t size;
    const uint8_t *body = http_exchange_body(x, &size);
    if (type && strncmp(type, "application/json", 16) == 0) return errand_json(e) && check_files(e);
    e->form = type && strcmp(type, "application/vnd.sinew") == 0;
    if (!type || (!e->form && strcmp(type, "model/gltf-binary") != 0)) {
        errand_refuse(e, 415, "content-type", "This kind of body is not taken here",
                      "model/gltf-binary (GLB, VRM), application/vnd.sinew, or JSON with uploads",
                      NULL);
        return false;
    }
    e->body = malloc(size + 1);
    if (e->body) memcpy(e->body, body, size);
    e->body_bytes = size;
    if (!e->body) errand_end(e);
    return e->body != NULL;
}

static void add_model(struct errand *e)
{
    struct http_exchange *x = errand_exchange(e);
    char name[STORE_NAME_BYTES] = "";
    if (!x || !read_model_body(e, x)) {
        if (!x) errand_end(e);
        return;
    }
    const char *given = e->json ? errand_text(e, "name") : NULL;
    if (given && strlen(given) < sizeof name) (void)snprintf(name, sizeof name, "%s", given);
    if (!e->json) (void)http_exchange_query_value(x, "name", name, sizeof name);
    struct library_model *m =
        is_plain_name(name) ? library_find(e->api->options.library, name) : NULL;
    if (!is_plain_name(name) || (m && library_newest(m)) ||
        !auth_may(&e->api->options.auth, &e->who, name)) {
        if (!is_plain_name(name))
            errand_problem(e, 422, "name", "A name is needed",
                           "1 to 63 bytes without slashes: ?name=N, or \"name\".", NULL);
        else if (m)
            errand_problem(e, 409, "name-taken", "The model is there already",
                           "PUT replaces it; restore brings a retired one back.", NULL);
        else
            errand_problem(e, 403, "forbidden", "The token does not allow this model", NULL, NULL);
        errand_end(e);
        return;
    }
    if (!errand_not_loading(e, name)) {
        errand_end(e);
        return;
    }
    e->model = library_model(e->api->options.library, name);
    if (!e->model)
        errand_end(e);
    else if (v1_version_turn(e, bake_now))
        bake_now(&e->waiter);
}

void v1_add_model(struct http_exchange *x, void *api)
{
    errand_keyed(x, api, add_model);
}

void v1_replace_model(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    if (!e || !read_model_body(e, x)) return;
    if (v1_version_turn(e, bake_now)) bake_now(&e->waiter);
}

static void apply_retire(struct errand *e)
{
    struct library_model *m = e->model;
    m->retired = true;
    cast_retire(stage_cast(e->api->options.stage), m->name);
    edition_unref(m->head);
    m->head = NULL;
    v1_version_tell(e);
}

static void retire_now(struct library_waiter *w)
{
    struct errand *e = v1_version_waiter(w);
    if (!v1_version_matches(e)) return;
    e->commit.parts = STORE_MODEL;
    e->commit.model.retired = true;
    memcpy(e->commit.model.name, e->model->name, sizeof e->commit.model.name);
    memcpy(e->commit.model.source, e->model->source, sizeof e->commit.model.source);
    errand_commit(e, 204, NULL, "model.retire", apply_retire);
}

void v1_retire_model(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    if (e && v1_version_turn(e, retire_now)) retire_now(&e->waiter);
}

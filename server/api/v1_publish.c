#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "common/log.h"
#include "server/api/describe.h"
#include "server/api/errand.h"
#include "server/api/v1.h"
#include "server/bake/bake.h"
#include "server/stream/secret.h"

// What makes versions: publishing a draft, restoring an old version, adding and replacing models.
// One at a time for a model, in the order in which they came; each looks at the model's state when
// its turn comes.

static bool take_turn(struct errand *e, void (*go)(struct library_waiter *w))
{
    e->waiter.go = go;
    e->holds_model = library_enter(e->model, &e->waiter);
    return e->holds_model;
}

static struct errand *of_waiter(struct library_waiter *w)
{
    struct errand *e = (struct errand *)(void *)((char *)w - offsetof(struct errand, waiter));
    e->holds_model = true;
    return e;
}

static bool model_matches(struct errand *e)
{
    char etag[LIBRARY_ETAG_BYTES], tag[LIBRARY_ETAG_BYTES];
    const struct store_version *newest = library_newest(e->model);
    library_etag(newest, etag);
    (void)snprintf(tag, sizeof tag, "%.*s", (int)strlen(etag) - 2, etag + 1);
    return errand_if_match(e, tag, etag, newest->number);
}

static void begin_version(struct errand *e, const char *kind, const char *message)
{
    struct store_version *v = &e->commit.version;
    const struct store_version *newest = library_newest(e->model);
    v->parent = newest ? newest->number : 0;
    v->number = v->parent + 1;
    v->time_ms = errand_now_ms();
    (void)snprintf(v->model, sizeof v->model, "%s", e->model->name);
    (void)snprintf(v->kind, sizeof v->kind, "%s", kind);
    (void)snprintf(v->author, sizeof v->author, "%s", e->who.name);
    (void)snprintf(v->message, sizeof v->message, "%.250s", message ? message : "");
    e->commit.parts |= STORE_VERSION;
}

static void tell_served(struct errand *e)
{
    models_follow(e->api->options.models, e->model->name,
                  e->model->head ? e->model->head->role : NULL);
}

static void push(struct errand *e)
{
    struct edition *edition = e->edition;
    e->edition = NULL;
    enum err err = library_push(e->api->options.library, e->model, &e->commit.version, edition);
    if (err != ERR_OK) // it is kept; running streams show it after a restart
        log_event(LOG_LEVEL_ERROR, "version.not_shown", LOG_T("model", e->model->name),
                  LOG_T("why", err_text(err)));
    tell_served(e);
}

static void commit_version(struct errand *e, const char *report, const char *action, int status,
                           void (*apply)(struct errand *e))
{
    struct store_version *v = &e->commit.version;
    v->report = report;
    library_etag(v, e->etag);
    (void)snprintf(e->location, sizeof e->location, "/v1/models/%s/versions/%u", e->model->name,
                   v->number);
    errand_commit(e, status, describe_version(v, report), action, apply);
}

static void refuse_bake(struct errand *e, const char *type)
{
    bool memory = e->result == ERR_MEMORY || e->result == ERR_TIMEOUT;
    errand_refuse(e, memory ? 503 : 422, memory ? "busy" : type, "It cannot be made", e->fault.line,
                  NULL);
}

// --- Publishing ---------------------------------------------------------------------------------

static void apply_publish(struct errand *e)
{
    struct library *l = e->api->options.library;
    struct library_grant *g = e->grant;
    push(e);
    (void)library_grant_add(l, &e->commit.grant);
    library_draft_end(l, g);
}

static void finish_publish(struct errand *e)
{
    struct store_commit *c = &e->commit;
    const struct store_grant *g = &e->grant->row;
    const struct model *m = e->edition->model;
    bool is_base = strcmp(g->kind, "base") == 0;
    int32_t example = is_base ? EDIT_BASE : edition_find(m, g->driver, g->item);
    (void)snprintf(c->version.item, sizeof c->version.item, "%s%s%s", g->driver,
                   g->driver[0] ? ":" : "", g->item);
    // The grant goes on, from what has just been published.
    c->parts |= STORE_DRAFT_END | STORE_GRANT;
    memcpy(c->draft.grant, g->id, sizeof c->draft.grant);
    c->grant = *g;
    c->grant.base_version = c->version.number;
    (void)snprintf(c->grant.base_tag, sizeof c->grant.base_tag, "%s",
                   is_base ? e->edition->base_tag : e->edition->tags[example]);
    commit_version(e, e->made.report ? e->made.report : e->grant->draft.row.report, "publish", 201,
                   apply_publish);
}

static void on_rebased(struct errand *e)
{
    struct store_commit *c = &e->commit;
    if (e->result != ERR_OK) {
        refuse_bake(e, "surface");
        return;
    }
    if (e->made.bytes) { // baked onto a newer version
        uint8_t *bytes = e->made.bytes;
        c->body = bytes;
        c->body_bytes = e->made.size_bytes;
        api_sha256(bytes, e->made.size_bytes, c->version.sha256);
        c->version.bytes = e->made.size_bytes;
    }
    finish_publish(e);
}

static enum err open_draft(struct errand *e, struct edition **out)
{
    struct model_file *file = NULL;
    enum err err = model_file_open(e->base_path, &file, &e->fault);
    if (err == ERR_OK) err = edition_build(file, &e->numbers, out, &e->fault);
    model_file_unref(file);
    return err;
}

static enum err rebase(struct errand *e)
{
    struct edition *draft = e->edition;
    struct model_file *file = NULL;
    e->edition = NULL;
    enum err err = draft ? ERR_OK : open_draft(e, &draft);
    if (err == ERR_OK && !e->base) { // only to be loaded
        e->edition = draft;
        return ERR_OK;
    }
    for (size_t i = 0; i < e->step_count && err == ERR_OK; i++) {
        struct edit *step = &e->steps[i];
        step->from = draft->model;
        if (step->example == EDIT_BASE && strcmp(e->kind, "base") == 0) continue;
        step->from_example = edition_find(draft->model, i ? step->driver : e->driver, e->item);
        step->example = 0;
        if (step->from_example < 0) err = ERR_NOT_FOUND;
    }
    if (err == ERR_OK)
        err = edit_apply(e->base->model, e->steps, e->step_count, &e->made, &e->fault);
    if (err == ERR_OK)
        err = model_file_from_bytes(e->made.bytes, e->made.size_bytes, &file, &e->fault);
    if (err == ERR_OK) err = edition_build(file, &e->numbers, &e->edition, &e->fault);
    model_file_unref(file);
    edition_unref(draft);
    return err;
}

// Whether the item in the newest version is still what the draft was made from.
static bool item_is_untouched(const struct errand *e)
{
    const struct store_grant *g = &e->grant->row;
    const struct edition *head = e->model->head;
    if (strcmp(g->kind, "base") == 0) return strcmp(head->base_tag, g->base_tag) == 0;
    int32_t example = edition_find(head->model, g->driver, g->item);
    if (example < 0) return g->base_tag[0] == '\0';
    return strcmp(head->tags[example], g->base_tag) == 0;
}

static void prepare_rebase(struct errand *e)
{
    const struct store_draft *d = &e->grant->draft.row;
    e->base = edition_ref(e->model->head);
    e->steps[0] = (struct edit){.kind = EDIT_TAKE,
                                .example = strcmp(e->kind, "base") == 0 ? EDIT_BASE : 0,
                                .force = true,
                                .keep_sculpts = strcmp(d->keep, "sculpts") == 0};
    e->step_count = 1;
    if (!d->mirror[0]) return;
    e->steps[1] = (struct edit){.kind = EDIT_TAKE, .force = true, .driver = d->mirror};
    e->step_count = 2;
}

static void publish_now(struct library_waiter *w)
{
    struct errand *e = of_waiter(w);
    struct library *l = e->api->options.library;
    const struct store_version *newest = library_newest(e->model);
    if (!model_matches(e)) return;
    const struct store_draft *d = &e->grant->draft.row;
    bool fits = d->base_version == newest->number;
    if (!fits && !item_is_untouched(e)) {
        errand_refuse(e, 409, "conflict", "The item has changed in the meantime",
                      "Let the grant go, and edit the newest state.", NULL);
        return;
    }
    begin_version(e, "edit", errand_text(e, "message"));
    e->edition = e->grant->draft.edition ? edition_ref(e->grant->draft.edition) : NULL;
    memcpy(e->commit.version.sha256, d->sha256, sizeof d->sha256);
    e->commit.version.bytes = e->grant->draft.bytes;
    if (fits && e->edition) {
        finish_publish(e);
        return;
    }
    if (!fits) prepare_rebase(e);
    store_body_path(l->store, d->sha256, e->base_path, sizeof e->base_path);
    if (library_numbers(l, e->model, &e->numbers, &e->fault) != ERR_OK) {
        errand_end(e);
        return;
    }
    e->like = role_ref(e->model->head->role);
    e->numbers.like = e->like;
    errand_work(e, rebase, on_rebased);
}

static void publish(struct errand *e)
{
    int32_t example;
    if (!errand_json(e) || !errand_item(e, &example) || !errand_grant(e)) return;
    if (!e->grant->has_draft) {
        errand_refuse(e, 409, "no-draft", "There is nothing to publish",
                      "PUT a surface or a pose first.", NULL);
        return;
    }
    if (take_turn(e, publish_now)) publish_now(&e->waiter);
}

void v1_publish(struct http_exchange *x, void *api)
{
    errand_keyed(x, api, publish);
}

// --- Restoring ----------------------------------------------------------------------------------

static enum err open_version(struct errand *e)
{
    return open_draft(e, &e->edition);
}

static void apply_restore(struct errand *e)
{
    e->model->retired = false;
    push(e);
}

static void on_restored(struct errand *e)
{
    if (e->result != ERR_OK) {
        refuse_bake(e, "unreadable");
        return;
    }
    if (e->model->retired) {
        e->commit.parts |= STORE_MODEL;
        (void)snprintf(e->commit.model.name, sizeof e->commit.model.name, "%s", e->model->name);
        memcpy(e->commit.model.source, e->model->source, sizeof e->commit.model.source);
    }
    commit_version(e, NULL, "restore", 201, apply_restore);
}

static void restore_now(struct library_waiter *w)
{
    struct errand *e = of_waiter(w);
    struct library *l = e->api->options.library;
    if (!model_matches(e)) return;
    const struct store_version *v = library_version(e->model, e->commit.version.restores);
    begin_version(e, "restore", errand_text(e, "message"));
    memcpy(e->commit.version.sha256, v->sha256, sizeof v->sha256);
    e->commit.version.bytes = v->bytes;
    store_body_path(l->store, v->sha256, e->base_path, sizeof e->base_path);
    if (library_numbers(l, e->model, &e->numbers, &e->fault) != ERR_OK) {
        errand_end(e);
        return;
    }
    e->like = e->model->head ? role_ref(e->model->head->role) : NULL;
    e->numbers.like = e->like;
    errand_work(e, open_version, on_restored);
}

static void restore(struct errand *e)
{
    struct http_exchange *x = errand_exchange(e);
    const char *n = x ? http_exchange_param(x, "n") : "";
    char *end = NULL;
    unsigned long number = strtoul(n, &end, 10);
    const struct store_version *v = end != n && *end == '\0' && number <= UINT32_MAX
                                        ? library_version(e->model, (uint32_t)number)
                                        : NULL;
    if (!errand_json(e)) return;
    if (!v) {
        errand_refuse(e, 404, "no-such-version", "There is no such version", NULL, NULL);
        return;
    }
    e->commit.version.restores = v->number;
    if (take_turn(e, restore_now)) restore_now(&e->waiter);
}

void v1_restore(struct http_exchange *x, void *api)
{
    errand_keyed(x, api, restore);
}

// --- Adding and replacing models ----------------------------------------------------------------

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
    push(e);
    cJSON *json = describe_model(e->model);
    cJSON_free(e->reply);
    e->reply = cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
}

static void on_baked(struct errand *e)
{
    struct store_commit *c = &e->commit;
    if (e->result != ERR_OK) {
        refuse_bake(e, "model");
        return;
    }
    bool replaces = library_newest(e->model) != NULL;
    begin_version(e, replaces ? "replace" : "import", e->json ? errand_text(e, "message") : NULL);
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
    struct errand *e = of_waiter(w);
    struct library *l = e->api->options.library;
    char secret[SECRET_TEXT_BYTES];
    bool replaces = library_newest(e->model) != NULL;
    if (replaces && !model_matches(e)) return;
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
    e->model = library_model(e->api->options.library, name);
    if (!e->model)
        errand_end(e);
    else if (take_turn(e, bake_now))
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
    if (take_turn(e, bake_now)) bake_now(&e->waiter);
}

static void apply_retire(struct errand *e)
{
    struct library_model *m = e->model;
    m->retired = true;
    cast_retire(stage_cast(e->api->options.stage), m->name);
    edition_unref(m->head);
    m->head = NULL;
    tell_served(e);
}

static void retire_now(struct library_waiter *w)
{
    struct errand *e = of_waiter(w);
    if (!model_matches(e)) return;
    e->commit.parts = STORE_MODEL;
    e->commit.model.retired = true;
    memcpy(e->commit.model.name, e->model->name, sizeof e->commit.model.name);
    memcpy(e->commit.model.source, e->model->source, sizeof e->commit.model.source);
    errand_commit(e, 204, NULL, "model.retire", apply_retire);
}

void v1_retire_model(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    if (e && take_turn(e, retire_now)) retire_now(&e->waiter);
}

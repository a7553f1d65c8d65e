#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/file.h"
#include "common/json_guard.h"
#include "server/api/describe.h"
#include "server/api/errand.h"
#include "server/api/v1.h"
#include "server/stream/secret.h"

// Grants, and the changes that they allow: each makes a draft.

enum { TTL_S = 300, TTL_MAX_S = 600, UPLOAD_BYTES_MAX = 1 << 30 };

// --- Grants -------------------------------------------------------------------------------------

static bool make_id(char out[STORE_ID_BYTES])
{
    char secret[SECRET_TEXT_BYTES];
    if (!secret_make(secret)) return false;
    (void)snprintf(out, STORE_ID_BYTES, "%.22s", secret);
    return true;
}

static int64_t ttl_ms(const struct errand *e)
{
    const cJSON *ttl = cJSON_GetObjectItemCaseSensitive(e->json, "ttl_s");
    double s = cJSON_IsNumber(ttl) ? ttl->valuedouble : TTL_S;
    if (!(s >= 1)) s = 1;
    return (int64_t)(fmin(s, TTL_MAX_S) * 1000);
}

static bool fill_grant(struct errand *e, struct store_grant *g)
{
    struct library *l = e->api->options.library;
    g->fence = ++l->fence;
    g->token = e->who.token;
    g->since_ms = errand_now_ms();
    g->expires_ms = g->since_ms + ttl_ms(e);
    (void)snprintf(g->model, sizeof g->model, "%s", e->model->name);
    memcpy(g->kind, e->kind, sizeof g->kind);
    memcpy(g->driver, e->driver, sizeof g->driver);
    memcpy(g->item, e->item, sizeof g->item);
    (void)snprintf(g->holder, sizeof g->holder, "%s", e->who.name);
    return make_id(g->id);
}

static const char *state_tag(const struct edition *edition, int32_t example)
{
    return example == EDIT_BASE ? edition->base_tag : edition->tags[example];
}

static void put_item_path(const struct errand *e, char *out, size_t out_bytes)
{
    // What stands in a path segment as it is; the rest is escaped.
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:";
    const char *const parts[] = {"/v1/models/", e->model->name, "/examples/", e->driver,
                                 ":",           e->item};
    size_t at = 0;
    for (size_t i = 0; i < 6; i++)
        for (const char *c = parts[i]; *c && at + 4 < out_bytes; c++) {
            if (i % 2 == 0 || strchr(plain, *c))
                out[at++] = *c;
            else
                at += (size_t)snprintf(out + at, out_bytes - at, "%%%02X", (unsigned char)*c);
        }
    out[at] = '\0';
    if (strcmp(e->kind, "base") == 0)
        (void)snprintf(out, out_bytes, "/v1/models/%s/base", e->model->name);
}

static void apply_grant(struct errand *e)
{
    // Without memory it is in the store alone, and runs out there.
    (void)library_grant_add(e->api->options.library, &e->commit.grant);
}

static void refuse_held(struct errand *e, const struct library_grant *g)
{
    cJSON *more = cJSON_CreateObject();
    char when[32], detail[160];
    describe_time(g->row.expires_ms, when);
    (void)cJSON_AddItemToObject(more, "held_by", describe_held(&g->row));
    (void)snprintf(detail, sizeof detail, "%s holds it until %s.", g->row.holder, when);
    errand_refuse(e, 423, "held", "Somebody else edits this", detail, more);
}

static void end_grant_job(struct store_job *job)
{
    free(job);
}

// What held the item before goes, with its draft, before the new grant comes.
static void end_old(struct errand *e, struct library_grant *g)
{
    struct store_commit *c = calloc(1, sizeof *c);
    struct library *l = e->api->options.library;
    if (!c) return; // the new row replaces it where it matters: in memory, below
    c->parts = STORE_GRANT_END;
    memcpy(c->grant.id, g->row.id, sizeof c->grant.id);
    c->job.done = end_grant_job;
    store_commit(l->store, c);
    library_grant_end(l, g);
}

// False: answered and ended.
static bool may_take(struct errand *e, const struct library_grant *g, int32_t example, bool force)
{
    bool mine = g && g->row.token == e->who.token;
    bool late = g && g->row.expires_ms <= errand_now_ms();
    if (force && !(e->who.scopes & AUTH_ADMIN)) {
        errand_problem(e, 403, "forbidden", "Only an admin may break a grant", NULL, NULL);
    } else if (mine && g->busy) {
        errand_problem(e, 409, "in-progress", "A change of this draft is at work",
                       "Wait for its answer.", NULL);
    } else if (g && !mine && (g->busy || (!late && !force))) {
        refuse_held(e, g);
        return false;
    } else if (!mine && example < 0 && strcmp(e->kind, "base") != 0) {
        errand_problem(e, 404, "no-such-item", "There is no such example", NULL, NULL);
    } else {
        return true;
    }
    errand_end(e);
    return false;
}

static void edit(struct errand *e)
{
    struct library *l = e->api->options.library;
    struct store_grant *row = &e->commit.grant;
    int32_t example;
    if (!errand_json(e) || !errand_item(e, &example)) return;
    struct library_grant *g = library_grant_of(l, e->model->name, e->kind, e->driver, e->item);
    bool force = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(e->json, "force"));
    if (!may_take(e, g, example, force)) return;
    bool renewed = g && g->row.token == e->who.token;
    if (!fill_grant(e, row)) {
        errand_end(e);
        return;
    }
    if (renewed) { // the same, but for its fence and its time
        memcpy(row->id, g->row.id, sizeof row->id);
        memcpy(row->base_tag, g->row.base_tag, sizeof row->base_tag);
        row->base_version = g->row.base_version;
    } else {
        if (g) end_old(e, g);
        row->base_version = library_newest(e->model)->number;
        (void)snprintf(row->base_tag, sizeof row->base_tag, "%s",
                       state_tag(e->model->head, example));
    }
    bool has_draft = renewed && g->has_draft;
    const char *tag = has_draft ? g->draft.row.tag : row->base_tag;
    (void)snprintf(e->etag, sizeof e->etag, "\"%s\"", tag);
    cJSON *json = describe_grant(row, tag, true);
    if (has_draft)
        (void)cJSON_AddItemToObject(json, "draft", describe_draft(&g->row, &g->draft.row));
    e->commit.parts = STORE_GRANT;
    errand_commit(e, 201, json,
                  force     ? "grant.break"
                  : renewed ? "grant.renew"
                            : "grant",
                  apply_grant);
}

void v1_edit(struct http_exchange *x, void *api)
{
    errand_keyed(x, api, edit);
}

static void apply_release(struct errand *e)
{
    e->grant->busy = false;
    e->holds_grant = false;
    library_grant_end(e->api->options.library, e->grant);
}

void v1_release(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    int32_t example;
    if (!e || !errand_item(e, &example) || !errand_grant(e)) return;
    e->commit.parts = STORE_GRANT_END;
    e->commit.grant = e->grant->row;
    errand_commit(e, 204, NULL, "grant.end", apply_release);
}

// --- Changes ------------------------------------------------------------------------------------

static enum err open_base(struct errand *e)
{
    struct model_file *file = NULL;
    if (e->base) return ERR_OK;
    enum err err = model_file_open(e->base_path, &file, &e->fault);
    if (err == ERR_OK) err = edition_build(file, &e->numbers, &e->base, &e->fault);
    model_file_unref(file);
    return err;
}

// 16 bytes each: u32 vertex, float32 x, y, z.
static enum err read_deltas(struct errand *e)
{
    struct edit *step = &e->steps[0];
    size_t count = e->body_bytes / sizeof(struct edit_delta);
    _Static_assert(sizeof(struct edit_delta) == 16, "as on the wire");
    if (step->kind != EDIT_DELTAS || e->deltas) return ERR_OK;
    if (e->body_bytes % sizeof(struct edit_delta) != 0)
        return fault_set(&e->fault, ERR_MALFORMED, "deltas have 16 bytes each");
    e->deltas = malloc(e->body_bytes + 1);
    if (!e->deltas) return ERR_MEMORY;
    if (e->body_bytes) memcpy(e->deltas, e->body, e->body_bytes);
    step->deltas = e->deltas;
    step->delta_count = count;
    return ERR_OK;
}

static enum err build_draft(struct errand *e)
{
    struct model_file *file = NULL;
    enum err err = open_base(e);
    if (err == ERR_OK && e->upload_path[0])
        err = file_read(e->upload_path, UPLOAD_BYTES_MAX, &e->body, &e->body_bytes, &e->fault);
    if (err == ERR_OK) err = read_deltas(e);
    if (err != ERR_OK) return err;
    struct edit *step = &e->steps[0];
    if (step->kind == EDIT_SURFACE) {
        step->bytes = e->body;
        step->size_bytes = e->body_bytes;
    }
    // The driver's name and place are those of the state that is edited.
    if (step->kind != EDIT_NEW && step->example != EDIT_BASE)
        step->example = edition_find(e->base->model, e->driver, e->item);
    if (step->kind != EDIT_NEW && step->example == -1 && strcmp(e->kind, "base") != 0)
        return fault_set(&e->fault, ERR_NOT_FOUND, "the example is not in this state any more");
    err = edit_apply(e->base->model, e->steps, e->step_count, &e->made, &e->fault);
    if (err == ERR_OK)
        err = model_file_from_bytes(e->made.bytes, e->made.size_bytes, &file, &e->fault);
    if (err == ERR_OK) err = edition_build(file, &e->numbers, &e->edition, &e->fault);
    model_file_unref(file);
    return err;
}

static void refuse_edit(struct errand *e)
{
    static const struct {
        enum err err;
        int status;
        const char *type, *title;
    } rows[] = {
        {ERR_MALFORMED, 422, "surface", "This is no change of this surface"},
        {ERR_DENIED, 422, "moved-too-far", "A vertex would move too far"},
        {ERR_NOT_FOUND, 422, "no-such-name", "A name is not known"},
        {ERR_AMBIGUOUS, 409, "name-taken", "The name is taken, or not unique"},
        {ERR_USAGE, 422, "surface", "This is no change of this surface"},
        {ERR_UNSUPPORTED, 422, "surface", "This cannot be read"},
        {ERR_TRUNCATED, 422, "surface", "The file ends too early"},
        {ERR_VERSION, 422, "surface", "This cannot be read"},
        {ERR_LIMIT, 422, "limit", "It is too large"},
        {ERR_TIMEOUT, 503, "stopping", "The server is stopping"},
        {ERR_MEMORY, 503, "no-memory", "Out of memory"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].err == e->result) {
            errand_problem(e, rows[i].status, rows[i].type, rows[i].title, e->fault.line, NULL);
            break;
        }
    errand_end(e);
}

static void apply_draft(struct errand *e)
{
    struct library *l = e->api->options.library;
    struct store_draft row = e->commit.draft;
    e->grant = library_grant_add(l, &e->commit.grant);
    row.report = e->made.report;
    e->made.report = NULL;
    struct edition *edition = e->edition;
    e->edition = NULL;
    if (e->grant) {
        library_draft_set(l, e->grant, &row, e->made.size_bytes, edition);
        return;
    }
    edition_unref(edition);
}

// {"solved", "drivers", "notes"} gets "bake_ms" too.
static void time_report(struct errand *e)
{
    cJSON *report = cJSON_Parse(e->made.report);
    (void)cJSON_AddNumberToObject(report, "bake_ms", e->bake_ms);
    char *text = cJSON_PrintUnformatted(report);
    cJSON_Delete(report);
    if (!text) return;
    free(e->made.report);
    e->made.report = strdup(text);
    cJSON_free(text);
}

static void on_draft(struct errand *e)
{
    if (e->result != ERR_OK) {
        refuse_edit(e);
        return;
    }
    struct store_commit *c = &e->commit;
    bool is_new = e->steps[0].kind == EDIT_NEW;
    if (!is_new) c->grant = e->grant->row; // with what it stands on now
    const struct store_grant *g = &c->grant;
    struct store_draft *d = &c->draft;
    int32_t example = strcmp(g->kind, "base") == 0
                          ? EDIT_BASE
                          : edition_find(e->edition->model, g->driver, g->item);
    time_report(e);
    c->parts = STORE_GRANT | STORE_DRAFT;
    c->body = e->made.bytes;
    c->body_bytes = e->made.size_bytes;
    memcpy(d->grant, g->id, sizeof d->grant);
    CHECK(example == EDIT_BASE || example >= 0);
    (void)snprintf(d->tag, sizeof d->tag, "%s", state_tag(e->edition, example));
    const struct store_draft *old = e->grant && e->grant->has_draft ? &e->grant->draft.row : NULL;
    d->base_version = old ? old->base_version : g->base_version;
    d->moved = e->made.moved;
    d->largest_move = e->made.largest_move;
    if (old) memcpy(d->mirror, old->mirror, sizeof d->mirror);
    if (e->made.mirror_driver[0])
        (void)snprintf(d->mirror, sizeof d->mirror, "%s", e->made.mirror_driver);
    (void)snprintf(d->keep, sizeof d->keep, "%s", e->steps[0].keep_sculpts ? "sculpts" : "deltas");
    d->report = e->made.report;
    (void)snprintf(e->etag, sizeof e->etag, "\"%s\"", d->tag);
    cJSON *json;
    if (is_new) {
        json = describe_grant(g, d->tag, true);
        (void)cJSON_AddItemToObject(json, "draft", describe_draft(g, d));
        errand_commit(e, 201, json, "example.new", apply_draft);
    } else {
        json = describe_draft(g, d);
        errand_commit(e, 200, json, "draft", apply_draft);
    }
}

// From the state that If-Match names: the draft's, else the newest version's.
static bool begin_change(struct errand *e)
{
    int32_t example;
    char now[STORE_HASH_BYTES + 2];
    struct library *l = e->api->options.library;
    if (!errand_item(e, &example) || !errand_grant(e)) return false;
    const struct library_grant *g = e->grant;
    const char *tag = g->has_draft ? g->draft.row.tag
                      : example != -1 || strcmp(e->kind, "base") == 0
                          ? state_tag(e->model->head, example)
                          : g->row.base_tag;
    (void)snprintf(now, sizeof now, "\"%s\"", tag);
    if (!errand_if_match(e, tag, now, 0)) return false;
    e->steps[0].example = strcmp(e->kind, "base") == 0 ? EDIT_BASE : 0;
    e->step_count = 1;
    if (!g->has_draft) {
        e->base = edition_ref(e->model->head);
        // What is edited is the newest version: that is what the draft stands on.
        e->grant->row.base_version = library_newest(e->model)->number;
        (void)snprintf(e->grant->row.base_tag, sizeof e->grant->row.base_tag, "%s", tag);
    } else if (g->draft.edition) {
        e->base = edition_ref(g->draft.edition);
    } else {
        store_body_path(l->store, g->draft.row.sha256, e->base_path, sizeof e->base_path);
    }
    if (library_numbers(l, e->model, &e->numbers, &e->fault) != ERR_OK) {
        errand_end(e);
        return false;
    }
    e->like = e->model->head ? role_ref(e->model->head->role) : NULL;
    e->numbers.like = e->like;
    return true;
}

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
    if (!e || !begin_change(e) || !read_keep(e, x) || !read_surface_body(e, x)) return;
    e->steps[0].force = flag(x, "force");
    errand_work(e, build_draft, on_draft);
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
    if (!e || !begin_change(e) || !read_keep(e, x)) return;
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
    errand_work(e, build_draft, on_draft);
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
    if (!e || !begin_change(e) || !errand_json(e) || !need_pose(e)) return;
    const char *keep = errand_text(e, "keep");
    e->steps[0].kind = EDIT_POSE;
    e->steps[0].keep_surface = keep && strcmp(keep, "surface") == 0;
    if (!keep || (!e->steps[0].keep_surface && strcmp(keep, "delta") != 0)) {
        errand_refuse(e, 422, "bad-keep", "keep is surface or delta",
                      "Say which of the two the example keeps at its new pose.", NULL);
        return;
    }
    errand_work(e, build_draft, on_draft);
}

static void mirror(struct errand *e)
{
    if (!begin_change(e) || !errand_json(e)) return;
    e->steps[0].kind = EDIT_MIRROR;
    e->steps[0].driver = errand_text(e, "driver");
    errand_work(e, build_draft, on_draft);
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
        strlen(driver) >= STORE_ITEM_BYTES || !is_new_name(name) || !e->model->head) {
        errand_refuse(e, 422, "name", "driver and name are needed",
                      "A name has 1 to 127 bytes, does not begin with #, and holds no slash.",
                      NULL);
        return;
    }
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
    if (g) end_old(e, g);
    struct store_grant *row = &e->commit.grant;
    if (!fill_grant(e, row) || library_numbers(l, e->model, &e->numbers, &e->fault) != ERR_OK) {
        errand_end(e);
        return;
    }
    row->base_version = library_newest(e->model)->number;
    e->base = edition_ref(e->model->head);
    e->like = role_ref(e->model->head->role);
    e->numbers.like = e->like;
    e->steps[0].kind = EDIT_NEW;
    e->steps[0].driver = e->driver;
    e->steps[0].name = e->item;
    e->step_count = 1;
    put_item_path(e, e->location, sizeof e->location);
    errand_work(e, build_draft, on_draft);
}

void v1_new_example(struct http_exchange *x, void *api)
{
    errand_keyed(x, api, new_example);
}

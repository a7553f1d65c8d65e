#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/api/describe.h"
#include "server/api/errand.h"
#include "server/api/v1.h"
#include "server/bake/surface_out.h"
#include "server/net/chunk.h"

// Reading: lists, states, surfaces.

enum { LIST_MAX = 1000 };

static uint64_t query_number(struct http_exchange *x, const char *key, uint64_t otherwise)
{
    char text[24];
    if (!http_exchange_query_value(x, key, text, sizeof text)) return otherwise;
    char *end = NULL;
    unsigned long long n = strtoull(text, &end, 10);
    return end != text && *end == '\0' && n <= INT64_MAX ? n : otherwise;
}

static bool may_see(struct errand *e, const char *model)
{
    return auth_may(&e->api->options.auth, &e->who, model);
}

// Names of what is not there yet, so that a list that is short of them says so.
static void add_loading(struct errand *e, cJSON *root)
{
    cJSON *list = cJSON_AddArrayToObject(root, "loading");
    for (size_t i = 0; i < models_count(e->api->options.models); i++) {
        const struct models_row *row = models_at(e->api->options.models, i);
        if (row->state == MODELS_LOADING && may_see(e, row->name))
            (void)cJSON_AddItemToArray(list, cJSON_CreateString(row->name));
    }
}

void v1_models(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    if (!e) return;
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "models");
    for (const struct library_model *m = e->api->options.library->models; m; m = m->next)
        if (library_newest(m) && may_see(e, m->name))
            (void)cJSON_AddItemToArray(list, describe_model(m));
    add_loading(e, root);
    errand_answer(e, 200, root);
    errand_end(e);
}

void v1_model(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    if (!e) return;
    library_etag(library_newest(e->model), e->etag);
    errand_answer(e, 200, describe_model(e->model));
    errand_end(e);
}

void v1_versions(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    if (!e) return;
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "versions");
    uint64_t limit = query_number(x, "limit", 200);
    uint64_t before = query_number(x, "before", (uint64_t)e->model->version_count + 1);
    if (limit > LIST_MAX) limit = LIST_MAX;
    size_t i = before > e->model->version_count ? e->model->version_count
               : before > 0                     ? (size_t)before - 1
                                                : 0;
    for (; i-- > 0 && limit > 0; limit--)
        (void)cJSON_AddItemToArray(list, describe_version(&e->model->versions[i], NULL));
    errand_answer(e, 200, root);
    errand_end(e);
}

static const struct store_version *find_version(struct errand *e, struct http_exchange *x)
{
    const char *text = http_exchange_param(x, "n");
    char *end = NULL;
    unsigned long n = strtoul(text, &end, 10);
    const struct store_version *v = end != text && *end == '\0' && n <= UINT32_MAX
                                        ? library_version(e->model, (uint32_t)n)
                                        : NULL;
    if (v) return v;
    errand_refuse(e, 404, "no-such-version", "There is no such version",
                  "GET the model's versions to list those there are.", NULL);
    return NULL;
}

struct version_read {
    struct store_report store;
    struct errand *errand;
};

static void on_report(struct store_job *job)
{
    struct version_read *r = job->owner;
    const struct store_version *v = library_version(r->errand->model, r->store.number);
    errand_answer(r->errand, 200, describe_version(v, r->store.report));
    errand_end(r->errand);
    free(r->store.report);
    free(r);
}

void v1_version(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    const struct store_version *v = e ? find_version(e, x) : NULL;
    if (!v) return;
    struct version_read *r = calloc(1, sizeof *r);
    library_etag(v, e->etag);
    if (!r) {
        errand_end(e);
        return;
    }
    r->errand = e;
    r->store.job.done = on_report;
    r->store.job.owner = r;
    (void)snprintf(r->store.model, sizeof r->store.model, "%s", e->model->name);
    r->store.number = v->number;
    store_report(e->api->options.library->store, &r->store);
}

// --- Bytes --------------------------------------------------------------------------------------

static void answer_bytes(struct errand *e, const char *type)
{
    struct http_exchange *x = errand_exchange(e);
    if (e->result != ERR_OK) {
        errand_refuse(e, e->result == ERR_NOT_FOUND ? 404 : 500, "unreadable",
                      "It could not be read", e->fault.line, NULL);
        return;
    }
    struct chunk *chunk = x ? chunk_copy(e->out, e->out_bytes) : NULL;
    if (chunk) {
        e->is_answered = true;
        http_answer_header(x, "ETag", e->etag);
        if (e->location[0]) http_answer_header(x, "Sinew-Version", e->location);
        http_answer_chunk(x, 200, type, chunk);
    } else {
        e->is_answered = true; // gone, or no memory: the connection's deadline ends it
        if (x) http_answer_problem(x, 503, "no-memory", "Out of memory", "Try again later.");
    }
    errand_end(e);
}

static enum err read_file(struct errand *e)
{
    struct model_file *file = NULL;
    enum err err = model_file_open(e->base_path, &file, &e->fault);
    if (err != ERR_OK) return err;
    const uint8_t *bytes = model_file_bytes(file, &e->out_bytes);
    e->out = malloc(e->out_bytes);
    if (e->out) memcpy(e->out, bytes, e->out_bytes);
    model_file_unref(file);
    return e->out ? ERR_OK : ERR_MEMORY;
}

static void on_file(struct errand *e)
{
    answer_bytes(e, "application/vnd.sinew");
}

void v1_version_file(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    const struct store_version *v = e ? find_version(e, x) : NULL;
    if (!v) return;
    library_etag(v, e->etag);
    store_body_path(e->api->options.library->store, v->sha256, e->base_path, sizeof e->base_path);
    errand_work(e, read_file, on_file);
}

// --- Items --------------------------------------------------------------------------------------

void v1_examples(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    if (!e) return;
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "examples");
    const struct edition *head = e->model->head;
    for (size_t i = 0; head && i < head->model->examples_count; i++) {
        const struct model *m = head->model;
        const struct library_grant *g =
            library_grant_of(e->api->options.library, e->model->name, "example",
                             model_text(m, m->drivers[m->examples[i].driver].name),
                             model_text(m, m->examples[i].name));
        (void)cJSON_AddItemToArray(list,
                                   describe_item(e->model, head, (int32_t)i, g, errand_now_ms()));
    }
    errand_answer(e, 200, root);
    errand_end(e);
}

void v1_roots(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    if (!e) return;
    const struct edition *head = e->model->head;
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "roots");
    for (uint32_t i = 0;
         head && head->model->root_weights_count > 0 && i < head->model->roots_count; i++) {
        const struct library_grant *g =
            library_grant_of(e->api->options.library, e->model->name, "root", "",
                             model_text(head->model, head->model->roots[i].name));
        (void)cJSON_AddItemToArray(list,
                                   describe_item(e->model, head, edit_root(i), g, errand_now_ms()));
    }
    errand_answer(e, 200, root);
    errand_end(e);
}

void v1_corrections(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    if (!e) return;
    const struct edition *head = e->model->head;
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "corrections");
    for (uint32_t i = 0; head && i < head->model->face_corrections_count; i++) {
        char name[EDIT_NAME_BYTES];
        if (!edit_correction_leads(head->model, i)) continue;
        edit_correction_name(head->model, i, name, sizeof name);
        const struct library_grant *g =
            library_grant_of(e->api->options.library, e->model->name, "correction", "", name);
        (void)cJSON_AddItemToArray(
            list, describe_item(e->model, head, edit_correction(i), g, errand_now_ms()));
    }
    errand_answer(e, 200, root);
    errand_end(e);
}

// The asker's own draft when the request names its grant, else what is published.
static const struct edition *shown(struct errand *e, int32_t *place)
{
    struct http_exchange *x = errand_exchange(e);
    const char *id = x ? http_exchange_header(x, "sinew-grant") : NULL;
    struct library_grant *g = id ? library_grant_by_id(e->api->options.library, id) : NULL;
    bool mine = g && g->row.token == e->who.token && g->has_draft && g->draft.edition &&
                strcmp(g->row.model, e->model->name) == 0;
    if (!mine) return e->model->head;
    *place = edition_place(g->draft.edition->model, e->kind, e->driver, e->item);
    return g->draft.edition;
}

static const struct edition *find_shown(struct errand *e, int32_t *place)
{
    if (!errand_item(e, place)) return NULL;
    const struct edition *edition = shown(e, place);
    if (*place != EDIT_ABSENT) return edition;
    errand_refuse(e, 404, "no-such-item", "There is no such example",
                  "It is in a draft only (send its Sinew-Grant), or this draft removes it.", NULL);
    return NULL;
}

void v1_item(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    int32_t place;
    const struct edition *edition = e ? find_shown(e, &place) : NULL;
    if (!edition) return;
    const struct library_grant *g =
        library_grant_of(e->api->options.library, e->model->name, e->kind, e->driver, e->item);
    (void)snprintf(e->etag, sizeof e->etag, "\"%s\"", edition_tag(edition, place));
    errand_answer(e, 200, describe_item(e->model, edition, place, g, errand_now_ms()));
    errand_end(e);
}

static enum err make_weights(struct errand *e)
{
    const struct model *m = e->base->model;
    size_t count = model_vertex_count(m);
    e->out_bytes = count * sizeof(float);
    e->out = malloc(e->out_bytes + 1);
    if (!e->out) return ERR_MEMORY;
    memcpy(e->out, m->root_weights + edit_root_of(e->steps[0].example) * count, e->out_bytes);
    return ERR_OK;
}

static enum err make_surface(struct errand *e)
{
    const struct model *m = e->base->model;
    if (edit_is_root(e->steps[0].example)) return make_weights(e);
    float *positions = malloc(model_vertex_count(m) * 3 * sizeof *positions);
    if (!positions) return ERR_MEMORY;
    enum err err = edit_surface(m, e->steps[0].example, positions, &e->fault);
    struct surface_file file = {0};
    if (err == ERR_OK)
        err = surface_out(m, e->steps[0].example, positions, (enum surface_form)e->form, &file,
                          &e->fault);
    e->out = file.bytes;
    e->out_bytes = file.size_bytes;
    free(positions);
    return err;
}

static void on_surface(struct errand *e)
{
    answer_bytes(e, surface_form_types[e->form]);
}

void v1_surface(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    char form[16] = "glb";
    int32_t place;
    const struct edition *edition = e ? find_shown(e, &place) : NULL;
    if (!edition) return;
    if (edit_is_root(place)) (void)snprintf(form, sizeof form, "f32");
    (void)http_exchange_query_value(x, "format", form, sizeof form);
    e->form = 0;
    while (e->form < SURFACE_FORMS && strcmp(surface_form_names[e->form], form) != 0)
        e->form++;
    if (e->form == SURFACE_FORMS || (edit_is_root(place) && e->form != SURFACE_F32)) {
        errand_refuse(e, 400, "bad-format", "There is no such format",
                      edit_is_root(place) ? "f32" : "glb, obj or f32", NULL);
        return;
    }
    (void)snprintf(e->etag, sizeof e->etag, "\"%s-%s\"", edition_tag(edition, place), form);
    const char *have = http_exchange_header(x, "if-none-match");
    if (have && strstr(have, e->etag)) {
        errand_answer(e, 304, NULL);
        errand_end(e);
        return;
    }
    (void)snprintf(e->location, sizeof e->location, "%u", library_newest(e->model)->number);
    e->base = edition_ref((struct edition *)(uintptr_t)edition);
    e->steps[0].example = place;
    errand_work(e, make_surface, on_surface);
}

// --- Grants and the audit -----------------------------------------------------------------------

void v1_grants(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    if (!e) return;
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "grants");
    int64_t now = errand_now_ms();
    for (const struct library_grant *g = e->api->options.library->grants; g; g = g->next) {
        bool own = g->row.token == e->who.token;
        if (strcmp(g->row.model, e->model->name) != 0 || g->row.expires_ms <= now) continue;
        cJSON *o =
            describe_grant(&g->row, g->has_draft && own ? g->draft.row.tag : g->row.base_tag, own);
        if (own && g->has_draft)
            (void)cJSON_AddItemToObject(o, "draft", describe_draft(&g->row, &g->draft.row));
        (void)cJSON_AddItemToArray(list, o);
    }
    errand_answer(e, 200, root);
    errand_end(e);
}

struct audit_read {
    struct store_audit_page store;
    struct errand *errand;
};

static void on_audit(struct store_job *job)
{
    struct audit_read *r = job->owner;
    if (job->result == ERR_OK) errand_answer_text(r->errand, 200, r->store.json);
    errand_end(r->errand);
    cJSON_free(r->store.json);
    free(r);
}

void v1_audit(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    struct audit_read *r = e ? calloc(1, sizeof *r) : NULL;
    if (!e) return;
    if (!r) {
        errand_end(e);
        return;
    }
    uint64_t limit = query_number(x, "limit", 100);
    r->errand = e;
    r->store.job.done = on_audit;
    r->store.job.owner = r;
    r->store.after = query_number(x, "after", 0);
    r->store.limit = (uint32_t)(limit < 1 ? 1 : limit > LIST_MAX ? LIST_MAX : limit);
    store_audit_page(e->api->options.library->store, &r->store);
}

#include "server/api/errand.h"

#include <dirent.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/json_guard.h"

enum { WRITES_PER_S = 100, WRITES_BURST = 400 };

int64_t errand_now_ms(void)
{
    return (int64_t)(clock_wall_ns() / 1000000u);
}

void api_sha256(const void *bytes, size_t size_bytes, char out[STORE_HASH_BYTES])
{
    uint8_t hash[32];
    CHECK(mbedtls_sha256_ret(bytes, size_bytes, hash, 0) == 0);
    for (size_t i = 0; i < sizeof hash; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

// --- The end ------------------------------------------------------------------------------------

static void remove_folder(const char *folder)
{
    char path[2048];
    DIR *dir = opendir(folder);
    for (struct dirent *d;
         dir && (d = readdir(dir));) { // NOLINT(concurrency-mt-unsafe): a stream of our own
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0) continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
        (void)unlink(path);
    }
    if (dir) (void)closedir(dir);
    (void)rmdir(folder);
}

static void unlist(struct errand *e)
{
    struct errand **at = &e->api->keyed;
    while (*at && *at != e)
        at = &(*at)->next_keyed;
    if (*at) *at = e->next_keyed;
    e->is_keyed = false;
}

void errand_end(struct errand *e)
{
    if (!e->is_answered)
        errand_problem(e, 500, "internal", "The server could not do it",
                       e->fault.line[0] ? e->fault.line : NULL, NULL);
    if (e->is_keyed) unlist(e);
    if (e->holds_grant) e->grant->busy = false;
    struct library_model *model = e->holds_model ? e->model : NULL;
    if (e->folder[0]) remove_folder(e->folder);
    edition_unref(e->base);
    edition_unref(e->edition);
    role_unref(e->like);
    edit_free(&e->made);
    cJSON_Delete(e->json);
    free(e->deltas);
    free(e->body);
    free(e->out);
    cJSON_free(e->reply);
    free(e);
    if (model) library_leave(model); // the next one's turn
}

// --- Answers ------------------------------------------------------------------------------------

struct http_exchange *errand_exchange(struct errand *e)
{
    return e->is_answered ? NULL : http_exchange_find(e->api->http, e->exchange);
}

static void put_headers(struct errand *e, struct http_exchange *x)
{
    if (e->etag[0]) http_answer_header(x, "ETag", e->etag);
    if (e->location[0]) http_answer_header(x, "Location", e->location);
}

void errand_answer(struct errand *e, int status, cJSON *json)
{
    struct http_exchange *x = errand_exchange(e);
    e->is_answered = true;
    if (x) {
        put_headers(e, x);
        if (json)
            http_answer_json(x, status, json);
        else
            http_answer_empty(x, status);
    }
    cJSON_Delete(json);
}

void errand_answer_text(struct errand *e, int status, const char *json)
{
    struct http_exchange *x = errand_exchange(e);
    e->is_answered = true;
    if (!x) return;
    put_headers(e, x);
    if (json && *json)
        http_answer(x, status, "application/json", json, strlen(json));
    else
        http_answer_empty(x, status);
}

void errand_problem(struct errand *e, int status, const char *type, const char *title,
                    const char *detail, cJSON *more)
{
    struct http_exchange *x = errand_exchange(e);
    e->is_answered = true;
    if (x)
        http_answer_problem_with(x, status, type, title, detail, more);
    else
        cJSON_Delete(more);
}

void errand_refuse(struct errand *e, int status, const char *type, const char *title,
                   const char *detail, cJSON *more)
{
    errand_problem(e, status, type, title, detail, more);
    errand_end(e);
}

// --- The beginning ------------------------------------------------------------------------------

static bool within_rate(struct api *a, uint64_t token)
{
    struct api_bucket *b = &a->buckets[token % API_BUCKETS];
    uint64_t now = clock_ns();
    if (b->token != token || b->bucket.burst == 0) {
        b->token = token;
        bucket_init(&b->bucket, WRITES_BURST, WRITES_PER_S, now);
    }
    return bucket_take(&b->bucket, 1, now);
}

static bool find_model(struct errand *e, struct http_exchange *x)
{
    const char *name = http_exchange_param(x, "model");
    if (!name) return true;
    e->model = library_find(e->api->options.library, name);
    if (e->model && library_newest(e->model)) return true;
    errand_problem(e, 404, "no-such-model", "There is no such model",
                   "GET /v1/models lists those there are.", NULL);
    return false;
}

static void on_tidied(struct store_job *job)
{
    free(job);
}

static void drop_kept(struct library *l, uint32_t part, const char *id)
{
    struct store_commit *c = calloc(1, sizeof *c);
    if (!c) return; // the next one does it
    c->parts = part;
    (void)snprintf(part == STORE_GRANT_END ? c->grant.id : c->upload.id, STORE_ID_BYTES, "%s", id);
    c->job.done = on_tidied;
    store_commit(l->store, c);
}

// What has run out: a draft leaves the memory with its grant, and the disk a day later; its maker
// may ask for the grant again until then. Uploads end.
static void tidy(struct api *a)
{
    const int64_t day_ms = (int64_t)24 * 3600 * 1000;
    struct library *l = a->options.library;
    int64_t now = errand_now_ms();
    if (now - a->tidied_ms < 1000) return;
    a->tidied_ms = now;
    for (struct library_grant *g = l->grants, *next; g; g = next) {
        next = g->next;
        if (g->busy || g->row.expires_ms > now) continue;
        library_draft_unload(l, g);
        if (g->row.expires_ms + day_ms > now) continue;
        drop_kept(l, STORE_GRANT_END, g->row.id);
        library_grant_end(l, g);
    }
    for (size_t i = l->upload_count; i-- > 0;) {
        char id[STORE_ID_BYTES];
        if (l->uploads[i].expires_ms > now) continue;
        memcpy(id, l->uploads[i].id, sizeof id);
        drop_kept(l, STORE_UPLOAD_END, id);
        library_upload_end(l, id);
    }
}

struct errand *errand_begin(struct http_exchange *x, struct api *a)
{
    const struct auth_identity *who = http_exchange_data(x);
    bool writes =
        http_exchange_method(x) != HTTP_METHOD_GET && http_exchange_method(x) != HTTP_METHOD_HEAD;
    if (writes && !within_rate(a, who ? who->token : 0)) {
        http_answer_header(x, "Retry-After", "1");
        http_answer_problem(x, 429, "rate-limited", "Too many changes at once",
                            "At most 100 a second for one token.");
        return NULL;
    }
    if (!a->stopping) tidy(a);
    struct errand *e = calloc(1, sizeof *e);
    if (!e) {
        http_answer_problem(x, 503, "no-memory", "Out of memory", "Try again later.");
        return NULL;
    }
    e->api = a;
    e->exchange = http_exchange_id(x);
    if (who) e->who = *who;
    (void)snprintf(e->address, sizeof e->address, "%s", conn_peer(http_exchange_conn(x))->text);
    if (find_model(e, x)) return e;
    errand_end(e);
    return NULL;
}

// --- Idempotency --------------------------------------------------------------------------------

struct recall {
    struct store_recall store;
    struct errand *errand;
    void (*go)(struct errand *e);
};

static void hash_request(struct errand *e, struct http_exchange *x)
{
    uint8_t hash[32];
    size_t size;
    const uint8_t *body = http_exchange_body(x, &size);
    const char *parts[] = {http_exchange_route(x)->pattern, http_exchange_path(x),
                           http_exchange_query(x)};
    const char *if_match = http_exchange_header(x, "if-match");
    mbedtls_sha256_context sha;
    mbedtls_sha256_init(&sha);
    (void)mbedtls_sha256_starts_ret(&sha, 0);
    for (size_t i = 0; i < 3; i++)
        (void)mbedtls_sha256_update_ret(&sha, (const uint8_t *)parts[i], strlen(parts[i]) + 1);
    if (if_match)
        (void)mbedtls_sha256_update_ret(&sha, (const uint8_t *)if_match, strlen(if_match));
    (void)mbedtls_sha256_update_ret(&sha, body, size);
    (void)mbedtls_sha256_finish_ret(&sha, hash);
    mbedtls_sha256_free(&sha);
    for (size_t i = 0; i < sizeof hash; i++)
        (void)snprintf(e->request + 2 * i, 3, "%02x", hash[i]);
}

static bool is_key(const char *key)
{
    size_t n = strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
    return n >= 1 && n <= 64 && key[n] == '\0' && n < STORE_NAME_BYTES;
}

static void replay(struct errand *e, const struct store_recall *r)
{
    struct http_exchange *x = errand_exchange(e);
    memcpy(e->etag, r->reply.etag, sizeof e->etag);
    memcpy(e->location, r->reply.location, sizeof e->location);
    if (x) http_answer_header(x, "Idempotency-Replayed", "true");
    errand_answer_text(e, r->reply.status, r->body);
}

static void on_recalled(struct store_job *job)
{
    struct recall *r = job->owner;
    struct errand *e = r->errand;
    if (job->result == ERR_NOT_FOUND) {
        r->go(e);
    } else {
        if (job->result == ERR_OK && strcmp(r->store.reply.request, e->request) == 0)
            replay(e, &r->store);
        else if (job->result == ERR_OK)
            errand_problem(e, 422, "idempotency-key-reused", "The key belongs to another request",
                           "Make a new Idempotency-Key for every new request.", NULL);
        errand_end(e);
    }
    free(r->store.body);
    free(r);
}

static bool is_at_work(const struct api *a, const struct errand *e)
{
    for (const struct errand *other = a->keyed; other; other = other->next_keyed)
        if (other->who.token == e->who.token && strcmp(other->key, e->key) == 0) return true;
    return false;
}

void errand_keyed(struct http_exchange *x, struct api *a, void (*go)(struct errand *e))
{
    struct errand *e = errand_begin(x, a);
    const char *key = http_exchange_header(x, "idempotency-key");
    if (!e) return;
    if (!key) {
        go(e);
        return;
    }
    struct recall *r = is_key(key) ? calloc(1, sizeof *r) : NULL;
    if (r) {
        (void)snprintf(e->key, sizeof e->key, "%s", key);
        hash_request(e, x);
    }
    if (!r || is_at_work(a, e)) {
        if (!is_key(key))
            errand_problem(e, 400, "idempotency-key", "The Idempotency-Key is malformed",
                           "1 to 63 of A-Z a-z 0-9 - _", NULL);
        else
            errand_problem(e, 409, "in-progress", "The same request is at work", NULL, NULL);
        free(r);
        errand_end(e);
        return;
    }
    e->is_keyed = true;
    e->next_keyed = a->keyed;
    a->keyed = e;
    r->errand = e;
    r->go = go;
    r->store.job.done = on_recalled;
    r->store.job.owner = r;
    r->store.reply.token = e->who.token;
    (void)snprintf(r->store.reply.key, sizeof r->store.reply.key, "%s", key);
    store_recall(a->options.library->store, &r->store);
}

// --- Work and commit ----------------------------------------------------------------------------

static void run_job(struct background_job *job)
{
    struct errand *e = job->owner;
    uint64_t begun = clock_ns();
    e->result = e->run(e);
    e->bake_ms = (double)(clock_ns() - begun) * 1e-6;
}

static void on_job(struct background_job *job)
{
    struct errand *e = job->owner;
    if (e->result != ERR_OK && !e->fault.line[0])
        (void)fault_set(&e->fault, e->result, "%s", err_text(e->result));
    e->then(e);
}

void errand_work(struct errand *e, enum err (*run)(struct errand *e),
                 void (*then)(struct errand *e))
{
    e->run = run;
    e->then = then;
    e->result = ERR_TIMEOUT; // the pool was closed before it ran
    e->job = (struct background_job){.run = run_job, .done = on_job, .owner = e};
    if (!e->api->stopping &&
        background_submit(e->api->options.background, BACKGROUND_SLOW, &e->job))
        return;
    errand_refuse(e, 503, "busy", "Too much is waiting", "Try again in some seconds.", NULL);
}

static void refuse_commit(struct errand *e, const struct store_job *job)
{
    if (job->result == ERR_LIMIT)
        errand_problem(e, 507, "disk-full", "The disk is full", job->fault.line, NULL);
    else if (job->result == ERR_STALE && e->model)
        errand_stale_model(e);
    else
        errand_problem(e, 500, "store", "It could not be kept", job->fault.line, NULL);
}

static void on_commit(struct store_job *job)
{
    struct errand *e = job->owner;
    e->api->edits[job->result == ERR_OK ? 0 : 1]++;
    if (job->result == ERR_OK) {
        if (e->apply) e->apply(e);
        errand_answer_text(e, e->status, e->reply);
    } else {
        refuse_commit(e, job);
    }
    errand_end(e);
}

void errand_commit(struct errand *e, int status, cJSON *json, const char *action,
                   void (*apply)(struct errand *e))
{
    struct store_commit *c = &e->commit;
    if (e->api->stopping) {
        cJSON_Delete(json);
        errand_refuse(e, 503, "stopping", "The server is stopping", "Try again shortly.", NULL);
        return;
    }
    e->status = status;
    e->apply = apply;
    e->reply = json ? cJSON_PrintUnformatted(json) : NULL;
    cJSON_Delete(json);
    c->parts |= STORE_AUDIT;
    c->audit.actor = e->who.name;
    c->audit.token = e->who.token;
    c->audit.address = e->address;
    c->audit.action = action;
    c->audit.model = e->model ? e->model->name : NULL;
    (void)snprintf(e->label, sizeof e->label, "%s%s%s", e->driver, e->driver[0] ? ":" : "",
                   e->item);
    c->audit.item = e->label;
    if (c->parts & STORE_VERSION && c->version.sha256[0]) c->audit.sha256 = c->version.sha256;
    if (c->parts & STORE_VERSION) {
        c->audit.base = c->version.parent;
        c->audit.number = c->version.number;
    } else if (c->parts & STORE_GRANT) {
        c->audit.base = c->grant.base_version;
    }
    c->audit.result = "done";
    if (e->is_keyed) {
        c->parts |= STORE_REPLY;
        c->reply.token = e->who.token;
        memcpy(c->reply.key, e->key, sizeof c->reply.key);
        memcpy(c->reply.request, e->request, sizeof c->reply.request);
        c->reply.status = status;
        memcpy(c->reply.etag, e->etag, sizeof c->reply.etag);
        memcpy(c->reply.location, e->location, sizeof c->reply.location);
        c->reply.body = e->reply;
        c->reply.time_ms = errand_now_ms();
    }
    c->job.done = on_commit;
    c->job.owner = e;
    store_commit(e->api->options.library->store, c);
}

// --- Checks -------------------------------------------------------------------------------------

// Whether one of the listed tags names this state: whole, or up to its last '-'.
static bool lists_tag(const char *list, const char *tag)
{
    size_t n = strlen(tag);
    for (const char *at = list; (at = strchr(at, '"'));) {
        const char *end = strchr(++at, '"');
        if (!end) return false;
        bool weak = at - list >= 3 && at[-2] == '/';
        size_t length = (size_t)(end - at);
        if (!weak && length >= n && memcmp(at, tag, n) == 0 &&
            (length == n || (at[n] == '-' && !memchr(at + n + 1, '-', length - n - 1))))
            return true;
        at = end + 1;
    }
    return false;
}

bool errand_if_match(struct errand *e, const char *tag, const char *now_etag, uint32_t version)
{
    struct http_exchange *x = errand_exchange(e);
    const char *given = x ? http_exchange_header(x, "if-match") : NULL;
    if (given && lists_tag(given, tag)) return true;
    cJSON *more = cJSON_CreateObject();
    if (given) {
        (void)cJSON_AddStringToObject(more, "etag", now_etag);
        if (version) (void)cJSON_AddNumberToObject(more, "version", version);
        errand_problem(e, 412, "stale", "It has changed since",
                       "Read the newest state, and send again with its ETag.", more);
    } else {
        errand_problem(e, 428, "precondition-required", "If-Match is needed",
                       "Send the ETag of the state that this change is made from.", more);
    }
    errand_end(e);
    return false;
}

void errand_stale_model(struct errand *e)
{
    char etag[LIBRARY_ETAG_BYTES];
    cJSON *more = cJSON_CreateObject();
    const struct store_version *newest = library_newest(e->model);
    if (newest) {
        library_etag(newest, etag);
        (void)cJSON_AddStringToObject(more, "etag", etag);
        (void)cJSON_AddNumberToObject(more, "version", newest->number);
    }
    errand_problem(e, 412, "stale", "It has changed since",
                   "Read the newest state, and send again with its ETag.", more);
}

bool errand_json(struct errand *e)
{
    struct http_exchange *x = errand_exchange(e);
    struct json_limits limits = json_limits_for(16 << 20);
    size_t size = 0;
    const uint8_t *body = x ? http_exchange_body(x, &size) : NULL;
    if (x && size == 0) {
        e->json = cJSON_CreateObject();
        return true;
    }
    if (x && json_parse((const char *)body, size, &limits, &e->json, &e->fault) == ERR_OK &&
        cJSON_IsObject(e->json))
        return true;
    errand_refuse(e, 400, "bad-json", "The body is no JSON object",
                  e->fault.line[0] ? e->fault.line : NULL, NULL);
    return false;
}

const char *errand_text(const struct errand *e, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(e->json, key);
    return cJSON_IsString(v) ? v->valuestring : NULL;
}

// --- Items --------------------------------------------------------------------------------------

static void take_names(struct errand *e, const struct model *m, size_t i)
{
    (void)snprintf(e->driver, sizeof e->driver, "%s",
                   model_text(m, m->drivers[m->examples[i].driver].name));
    (void)snprintf(e->item, sizeof e->item, "%s", model_text(m, m->examples[i].name));
}

static bool is_called(const struct model *m, size_t i, const char *text)
{
    const char *driver = model_text(m, m->drivers[m->examples[i].driver].name);
    size_t n = strlen(driver);
    return strncmp(text, driver, n) == 0 && text[n] == ':' &&
           strcmp(text + n + 1, model_text(m, m->examples[i].name)) == 0;
}

static void refuse_ambiguous(struct errand *e, const struct model *m, const char *text)
{
    cJSON *more = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(more, "candidates");
    char name[2 * STORE_ITEM_BYTES + 32];
    for (size_t i = 0; i < m->examples_count; i++) {
        if (strcmp(model_text(m, m->examples[i].name), text) != 0) continue;
        (void)snprintf(name, sizeof name, "#%zu", i);
        (void)cJSON_AddItemToArray(list, cJSON_CreateString(name));
        (void)snprintf(name, sizeof name, "%s:%s",
                       model_text(m, m->drivers[m->examples[i].driver].name), text);
        (void)cJSON_AddItemToArray(list, cJSON_CreateString(name));
    }
    errand_refuse(e, 409, "ambiguous", "Several examples are called that",
                  "Name one of the candidates.", more);
}

// Only in a draft of the asker's: a new example.
static bool find_in_drafts(struct errand *e, const char *text)
{
    char name[2 * STORE_ITEM_BYTES];
    for (struct library_grant *g = e->api->options.library->grants; g; g = g->next) {
        (void)snprintf(name, sizeof name, "%s:%s", g->row.driver, g->row.item);
        if (g->row.token != e->who.token || strcmp(g->row.model, e->model->name) != 0 ||
            strcmp(g->row.kind, "example") != 0 ||
            (strcmp(name, text) != 0 && strcmp(g->row.item, text) != 0))
            continue;
        memcpy(e->driver, g->row.driver, sizeof e->driver);
        memcpy(e->item, g->row.item, sizeof e->item);
        return true;
    }
    return false;
}

bool errand_item(struct errand *e, int32_t *example)
{
    struct http_exchange *x = errand_exchange(e);
    const char *text = x ? http_exchange_param(x, "item") : NULL;
    if (!e->model->head) {
        errand_refuse(e, 409, "not-loaded", "This model is not served",
                      "It was retired, or its file is missing: restore or replace it.", NULL);
        return false;
    }
    const struct model *m = e->model->head->model;
    size_t found = 0, at = 0;
    *example = EDIT_BASE;
    (void)snprintf(e->kind, sizeof e->kind, "%s", text ? "example" : "base");
    if (!text) {
        (void)snprintf(e->item, sizeof e->item, "base");
        return true;
    }
    if (text[0] == '#') {
        char *end = NULL;
        at = strtoul(text + 1, &end, 10);
        found = end != text + 1 && *end == '\0' && at < m->examples_count;
    }
    for (size_t i = 0; !found && i < m->examples_count; i++)
        if (is_called(m, i, text)) {
            at = i;
            found = 1;
        }
    for (size_t i = 0, exact = found; !exact && i < m->examples_count; i++)
        if (strcmp(model_text(m, m->examples[i].name), text) == 0) {
            at = i;
            found++;
        }
    if (found == 1) {
        take_names(e, m, at);
        *example = (int32_t)at;
        return true;
    }
    if (found > 1) {
        refuse_ambiguous(e, m, text);
        return false;
    }
    if (find_in_drafts(e, text)) return true;
    errand_refuse(e, 404, "no-such-item", "There is no such example",
                  "GET the model's examples to list those there are.", NULL);
    return false;
}

void errand_hold(struct errand *e)
{
    e->grant->busy = true;
    e->holds_grant = true;
}

bool errand_grant(struct errand *e)
{
    struct http_exchange *x = errand_exchange(e);
    const char *id = x ? http_exchange_header(x, "sinew-grant") : NULL;
    const char *fence = x ? http_exchange_header(x, "sinew-fence") : NULL;
    struct library_grant *g = id ? library_grant_by_id(e->api->options.library, id) : NULL;
    char *end = NULL;
    uint64_t number = fence ? strtoull(fence, &end, 10) : 0;
    if (!id || !fence || end == fence || *end) {
        errand_problem(e, 428, "grant-required", "A grant is needed",
                       "POST to the item's edit; send Sinew-Grant and Sinew-Fence.", NULL);
    } else if (!g || g->row.token != e->who.token || g->row.expires_ms <= errand_now_ms() ||
               strcmp(g->row.model, e->model->name) != 0 || strcmp(g->row.kind, e->kind) != 0 ||
               strcmp(g->row.driver, e->driver) != 0 || strcmp(g->row.item, e->item) != 0) {
        errand_problem(e, 409, "grant-gone", "This grant is not good any more",
                       "It ran out, was let go or broken, or is of another item: ask for a new "
                       "one.",
                       NULL);
    } else if (number != g->row.fence) {
        errand_problem(e, 409, "fence-stale", "A newer fence has been given out",
                       "The grant was renewed since: send its newest Sinew-Fence.", NULL);
    } else if (g->busy) {
        errand_problem(e, 409, "in-progress", "Another change of this draft is at work",
                       "Wait for its answer.", NULL);
    } else {
        e->grant = g;
        errand_hold(e);
        return true;
    }
    errand_end(e);
    return false;
}

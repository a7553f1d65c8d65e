#include "server/api/errand.h"

#include <dirent.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"

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
    if (x && status == 503) http_answer_header(x, "Retry-After", "1");
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
    if (!errand_not_loading(e, name)) return false;
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

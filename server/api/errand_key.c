#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/errand.h"

// Idempotency keys: the same request twice is answered from what was stored the first time.

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

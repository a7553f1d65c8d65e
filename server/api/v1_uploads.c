#include <mbedtls/base64.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/api/errand.h"
#include "server/api/v1.h"
#include "server/stream/secret.h"

// tus 1.0: core, creation, checksum, expiration, termination. An upload is its maker's alone.

enum { LIFE_MS = 24 * 3600 * 1000, UPLOADS_MAX = 256 };
static const uint64_t SIZE_MAX_BYTES = (uint64_t)1 << 30;

static void tus(struct http_exchange *x, const struct store_upload *u)
{
    char text[64];
    struct tm t;
    http_answer_header(x, "Tus-Resumable", "1.0.0");
    if (!u) return;
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)u->offset);
    http_answer_header(x, "Upload-Offset", text);
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)u->size_bytes);
    http_answer_header(x, "Upload-Length", text);
    time_t s = (time_t)(u->expires_ms / 1000);
    if (gmtime_r(&s, &t) && strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &t))
        http_answer_header(x, "Upload-Expires", text);
}

static bool read_number(const char *text, uint64_t *out)
{
    char *end = NULL;
    if (!text || *text < '0' || *text > '9') return false;
    *out = strtoull(text, &end, 10);
    return *end == '\0';
}

static struct store_upload *find(struct errand *e, struct http_exchange *x)
{
    struct store_upload *u = library_upload(e->api->options.library, http_exchange_param(x, "id"));
    if (u && u->token == e->who.token && u->expires_ms > errand_now_ms()) return u;
    errand_refuse(e, 404, "no-such-upload", "There is no such upload", "Begin again.", NULL);
    return NULL;
}

static void apply_create(struct errand *e)
{
    struct http_exchange *x = errand_exchange(e);
    if (!library_upload_add(e->api->options.library, &e->commit.upload)) return;
    if (x) tus(x, &e->commit.upload);
}

static void create(struct errand *e)
{
    struct http_exchange *x = errand_exchange(e);
    struct library *l = e->api->options.library;
    struct store_upload *u = &e->commit.upload;
    uint64_t size = 0;
    char secret[SECRET_TEXT_BYTES];
    if (!x || !read_number(http_exchange_header(x, "upload-length"), &size) || size == 0) {
        errand_problem(e, 400, "upload-length", "Upload-Length is needed", "In bytes, above 0.",
                       NULL);
    } else if (size > SIZE_MAX_BYTES) {
        errand_problem(e, 413, "body-too-large", "The upload is too large", "At most 1 GiB.", NULL);
    } else if (l->upload_count >= UPLOADS_MAX) {
        errand_problem(e, 429, "too-many-uploads", "Too many uploads are open",
                       "DELETE those that are done with; they end by themselves after a day.",
                       NULL);
    } else if (secret_make(secret)) {
        (void)snprintf(u->id, sizeof u->id, "%.22s", secret);
        u->size_bytes = size;
        u->token = e->who.token;
        u->expires_ms = errand_now_ms() + LIFE_MS;
        (void)snprintf(e->location, sizeof e->location, "/v1/uploads/%s", u->id);
        e->commit.parts = STORE_UPLOAD;
        errand_commit(e, 201, NULL, "upload", apply_create);
        return;
    }
    errand_end(e);
}

void v1_upload_create(struct http_exchange *x, void *api)
{
    errand_keyed(x, api, create);
}

void v1_upload_head(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    const struct store_upload *u = e ? find(e, x) : NULL;
    if (!u) return;
    tus(x, u);
    errand_answer(e, 200, NULL);
    errand_end(e);
}

struct appending {
    struct store_append store;
    struct errand *errand;
};

static void on_appended(struct store_job *job)
{
    struct appending *a = job->owner;
    struct errand *e = a->errand;
    struct store_upload *u = library_upload(e->api->options.library, a->store.id);
    struct http_exchange *x = errand_exchange(e);
    if (u) u->token &= ~(UINT64_C(1) << 63); // free for the next piece
    if (job->result == ERR_OK && u) {
        u->offset = a->store.offset;
        if (x) tus(x, u);
        errand_answer(e, 204, NULL);
    } else if (job->result == ERR_LIMIT) {
        errand_problem(e, 507, "disk-full", "The disk is full", job->fault.line, NULL);
    } else {
        errand_problem(e, job->result == ERR_NOT_FOUND ? 404 : 500, "store", "It could not be kept",
                       job->fault.line, NULL);
    }
    errand_end(e);
    free(a);
}

// False: it does not have that sum, or names another kind.
static bool checksum_fits(const char *header, const uint8_t *bytes, size_t size_bytes)
{
    uint8_t want[64], have[32];
    size_t n = 0;
    if (strncmp(header, "sha256 ", 7) != 0) return false;
    const char *text = header + 7;
    if (mbedtls_base64_decode(want, sizeof want, &n, (const uint8_t *)text, strlen(text)) != 0 ||
        n != sizeof have || mbedtls_sha256_ret(bytes, size_bytes, have, 0) != 0)
        return false;
    return memcmp(want, have, sizeof have) == 0;
}

static bool check_piece(struct errand *e, struct http_exchange *x, const struct store_upload *u,
                        size_t size)
{
    const char *type = http_exchange_header(x, "content-type");
    const char *sum = http_exchange_header(x, "upload-checksum");
    uint64_t offset = 0;
    const uint8_t *bytes = http_exchange_body(x, NULL);
    if (!type || strcmp(type, "application/offset+octet-stream") != 0)
        errand_problem(e, 415, "content-type", "This kind of body is not taken here",
                       "application/offset+octet-stream", NULL);
    else if (!read_number(http_exchange_header(x, "upload-offset"), &offset) || offset != u->offset)
        errand_problem(e, 409, "upload-offset", "The upload stands elsewhere",
                       "HEAD tells its Upload-Offset: go on from there.", NULL);
    else if (size > u->size_bytes - u->offset)
        errand_problem(e, 413, "body-too-large", "That is more than Upload-Length said", NULL,
                       NULL);
    else if (sum && !checksum_fits(sum, bytes, size))
        errand_problem(e, 460, "checksum", "The piece arrived damaged",
                       "Send it again; only sha256 sums are known.", NULL);
    else
        return true;
    errand_end(e);
    return false;
}

void v1_upload_append(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    struct store_upload *u = e ? find(e, x) : NULL;
    size_t size = 0;
    if (!u) return;
    const uint8_t *body = http_exchange_body(x, &size);
    if (!check_piece(e, x, u, size)) return;
    struct appending *a = calloc(1, sizeof *a);
    e->body = malloc(size + 1);
    if (!a || !e->body) {
        free(a);
        errand_end(e);
        return;
    }
    memcpy(e->body, body, size);
    a->errand = e;
    a->store.job.done = on_appended;
    a->store.job.owner = a;
    memcpy(a->store.id, u->id, sizeof a->store.id);
    a->store.bytes = e->body;
    a->store.size_bytes = size;
    a->store.offset = u->offset;
    u->token |= UINT64_C(1) << 63; // a second piece meanwhile finds nothing
    store_append(e->api->options.library->store, &a->store);
}

static void apply_delete(struct errand *e)
{
    library_upload_end(e->api->options.library, e->commit.upload.id);
}

void v1_upload_delete(struct http_exchange *x, void *api)
{
    struct errand *e = errand_begin(x, api);
    const struct store_upload *u = e ? find(e, x) : NULL;
    if (!u) return;
    e->commit.parts = STORE_UPLOAD_END;
    e->commit.upload = *u;
    errand_commit(e, 204, NULL, "upload.end", apply_delete);
}

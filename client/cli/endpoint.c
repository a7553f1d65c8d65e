#include "client/cli/endpoint.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/report.h"
#include "client/lib/net.h"
#include "common/json_guard.h"

enum { PATIENCE_US = 20000000, QUIET_S = 60 };

// What a refusal means for whoever types commands: instead of the server's own detail, which speaks
// of requests, or behind it.
static const struct {
    const char *problem;
    bool behind;
    const char *next;
} hints[] = {
    {"unauthorised", false,
     "give --token-file FILE with a token that is good ('sinewd token add' makes one)"},
    {"forbidden", false, "the token does not allow this: ask for one with the scope or the model"},
    {"no-such-model", false, "'sinew edit URL list' shows those there are"},
    {"no-such-item", false, "'sinew edit URL list MODEL' shows those there are"},
    {"no-such-version", false, "'sinew edit URL history MODEL' shows those there are"},
    {"held", true, "Wait, ask for its release, or as an admin: checkout --force"},
    {"grant-gone", false,
     "it ran out and was taken, or was let go: 'sinew edit URL checkout … --keep-file'"},
    {"fence-stale", false,
     "it was checked out anew elsewhere with this token: 'sinew edit URL checkout … --keep-file'"},
    {"conflict", false, "release it, check it out again and submit anew"},
    {"no-draft", false, "submit first"},
    {"moved-too-far", true, "(submit --force)"},
    {"disk-full", true, "Free space on the server, then the same command again"},
};

bool endpoint_refused(const struct endpoint *p, const char *problem)
{
    return strcmp(p->problem, problem) == 0;
}

static void copy_clean(char *out, size_t out_bytes, const cJSON *text)
{
    (void)snprintf(out, out_bytes, "%s", cJSON_IsString(text) ? text->valuestring : "");
    report_clean(out);
}

static void add_candidates(const cJSON *json, char *detail, size_t detail_bytes)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "candidates"), *c;
    cJSON_ArrayForEach(c, list)
    {
        size_t at = strlen(detail);
        if (!cJSON_IsString(c) || at + 40 > detail_bytes) continue;
        (void)snprintf(detail + at, detail_bytes - at, " %.120s", c->valuestring);
    }
    report_clean(detail);
}

static enum err code_of(unsigned status)
{
    switch (status) {
    case 401:
    case 403:
        return ERR_DENIED;
    case 404:
        return ERR_NOT_FOUND;
    case 409:
    case 412:
    case 428:
        return ERR_STALE;
    case 423:
        return ERR_BUSY;
    case 413:
    case 507:
        return ERR_LIMIT;
    default:
        return status >= 500 ? ERR_IO : ERR_MALFORMED;
    }
}

// "Somebody else edits this: bob holds it until …; wait, or …"
static enum err tell(struct endpoint *p, const struct fetch *f, struct fault *fault)
{
    struct json_limits limits = json_limits_for(FETCH_BYTES_MAX);
    char title[96], detail[200], type[80];
    cJSON *json = NULL;
    if (json_parse(f->body, f->body_bytes, &limits, &json, NULL) != ERR_OK) json = NULL;
    copy_clean(title, sizeof title, cJSON_GetObjectItemCaseSensitive(json, "title"));
    copy_clean(detail, sizeof detail, cJSON_GetObjectItemCaseSensitive(json, "detail"));
    copy_clean(type, sizeof type, cJSON_GetObjectItemCaseSensitive(json, "type"));
    add_candidates(json, detail, sizeof detail);
    cJSON_Delete(json);
    const char *slash = strrchr(type, '/');
    (void)snprintf(p->problem, sizeof p->problem, "%.39s", slash ? slash + 1 : "");
    enum err e = code_of(f->status);
    const char *next = NULL;
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (strcmp(hints[i].problem, p->problem) == 0) {
            next = hints[i].next;
            if (!hints[i].behind) detail[0] = '\0';
        }
    if (!title[0])
        return fault_set(fault, e, "%.100s answered %u: is this a sinewd server?", p->url.origin,
                         f->status);
    if (!detail[0] && !next) return fault_set(fault, e, "%s (%u)", title, f->status);
    return fault_set(fault, e, "%s: %s%s%s", title, detail, detail[0] && next ? " " : "",
                     next ? next : "");
}

static void wait_ms(unsigned ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&t, NULL);
}

// How long to wait before asking again; 0: this answer stands.
static unsigned busy_ms(const struct fetch *f, unsigned otherwise)
{
    char text[16];
    // in-progress: the first of two, whose answer was lost, is still at work.
    bool at_work = f->status == 409 && strstr(f->body, "/problems/in-progress");
    if (f->status != 429 && f->status != 503 && !at_work) return 0;
    if (!fetch_header(f, "retry-after", text, sizeof text)) return otherwise;
    unsigned long s = strtoul(text, NULL, 10);
    return s > 0 && s < 60 ? (unsigned)(s * 1000) : otherwise;
}

static size_t put_headers(const struct endpoint_ask *ask, struct fetch_header *out)
{
    const struct fetch_header all[] = {
        {"Content-Type",
         ask->body_bytes == 0 ? NULL : (ask->type ? ask->type : "application/json")},
        {"If-Match", ask->if_match},
        {"Sinew-Grant", ask->grant},
        {"Sinew-Fence", ask->fence},
        {"Idempotency-Key", ask->key},
        ask->more[0],
        ask->more[1],
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].name && all[i].value) out[count++] = all[i];
    return count;
}

enum err endpoint_run(struct endpoint *p, const struct endpoint_ask *ask, struct fetch *reply,
                      struct fault *fault)
{
    struct fetch_header headers[7];
    const struct fetch_ask raw = {.method = ask->method,
                                  .target = ask->target,
                                  .headers = headers,
                                  .header_count = put_headers(ask, headers),
                                  .body = ask->body,
                                  .body_bytes = ask->body_bytes,
                                  .reply_bytes_max = ask->reply_bytes_max,
                                  .quiet_s = QUIET_S};
    uint64_t until = sinew_now_us() + PATIENCE_US;
    p->cut = false;
    p->problem[0] = '\0';
    for (unsigned pause = 250;; pause = pause < 4000 ? pause * 2 : pause) {
        struct fault lost = {0};
        unsigned ms = pause;
        enum err e = fetch_run(&p->url, &p->options, &raw, reply, &lost);
        if (e == ERR_OK) {
            p->reached = true;
            ms = busy_ms(reply, pause);
            if (reply->status < 400) return ERR_OK;
        } else {
            p->cut = true;
        }
        bool mends = e == ERR_IO || e == ERR_TRUNCATED || e == ERR_TIMEOUT;
        bool again =
            (e == ERR_OK ? ms > 0 : mends && p->reached) && sinew_now_us() + ms * 1000ull < until;
        if (!again && e == ERR_OK)
            e = tell(p, reply, fault);
        else if (!again)
            e = fault_set(fault, e, "%s", lost.line);
        fetch_free(reply);
        if (!again) return e;
        wait_ms(ms);
    }
}

enum err endpoint_json(struct endpoint *p, const struct endpoint_ask *ask, cJSON **out, char *etag,
                       struct fault *fault)
{
    struct json_limits limits = json_limits_for(FETCH_BYTES_MAX);
    struct fetch reply = {0};
    struct fault inner = {0};
    enum err e = endpoint_run(p, ask, &reply, fault);
    if (e) return e;
    if (etag && !fetch_header(&reply, "etag", etag, ENDPOINT_ETAG_BYTES)) etag[0] = '\0';
    e = json_parse(reply.body, reply.body_bytes, &limits, out, &inner);
    fetch_free(&reply);
    if (e) return fault_set(fault, e, "the reply is no JSON: %.200s", inner.line);
    return ERR_OK;
}

bool endpoint_path(char target[ENDPOINT_TARGET_BYTES], const char *plain, const char *escaped)
{
    static const char kept[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    size_t at = strlen(target);
    int n = snprintf(target + at, ENDPOINT_TARGET_BYTES - at, "%s", plain);
    if (n < 0 || (at += (size_t)n) >= ENDPOINT_TARGET_BYTES) return false;
    for (const char *c = escaped; c && *c; c++) {
        if (at + 4 > ENDPOINT_TARGET_BYTES) return false;
        at +=
            (size_t)snprintf(target + at, 4, strchr(kept, *c) ? "%c" : "%%%02X", (unsigned char)*c);
    }
    return true;
}

bool endpoint_key(char out[ENDPOINT_KEY_BYTES])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint8_t bytes[ENDPOINT_KEY_BYTES - 1];
    if (!net_random(bytes, sizeof bytes)) return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        out[i] = digits[bytes[i] % 64];
    out[sizeof bytes] = '\0';
    return true;
}

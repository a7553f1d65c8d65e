#include "client/cli/edit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client/cli/report.h"

enum err edit_get(struct edit *e, const char *model, const char *tail, cJSON **out, char *etag)
{
    char target[ENDPOINT_TARGET_BYTES] = "";
    struct endpoint_ask ask = {.method = "GET", .target = target};
    bool fits = endpoint_path(target, "/v1/models", NULL) &&
                (!model || endpoint_path(target, "/", model)) && endpoint_path(target, tail, NULL);
    if (!fits) return fault_set(e->fault, ERR_LIMIT, "the name is too long");
    return endpoint_json(&e->at, &ask, out, etag, e->fault);
}

// What a path cannot carry (servers and proxies split at '/') goes by its number.
static enum err number_of(struct edit *e, const char *model, const char *item, char out[32])
{
    cJSON *json = NULL;
    char label[600];
    enum err err = edit_get(e, model, "/examples", &json, NULL);
    if (err) return err;
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "examples"), *x;
    out[0] = '\0';
    cJSON_ArrayForEach(x, list)
    {
        (void)snprintf(label, sizeof label, "%s:%s", edit_text(x, "driver"), edit_text(x, "name"));
        if (strcmp(label, item) == 0 || strcmp(edit_text(x, "name"), item) == 0)
            (void)snprintf(out, 32, "#%.0f", edit_number(x, "index"));
    }
    cJSON_Delete(json);
    if (out[0]) return ERR_OK;
    return fault_set(
        e->fault, ERR_NOT_FOUND,
        "there is no example \"%.100s\": 'sinew edit URL list %.60s' shows those there "
        "are",
        item, model);
}

enum err edit_target(struct edit *e, const char *model, const char *item, const char *tail,
                     char target[ENDPOINT_TARGET_BYTES])
{
    char number[32];
    const char *folder = "/examples/";
    if (checkout_is_root(item)) {
        folder = "/roots/";
        item += strlen("roots/");
    } else if (checkout_is_correction(item)) {
        folder = "/corrections/";
        item += strlen("corrections/");
    } else if (strpbrk(item, "/\\")) {
        enum err err = number_of(e, model, item, number);
        if (err) return err;
        item = number;
    }
    if (strcmp(item, "base") == 0 && strcmp(folder, "/examples/") == 0) {
        folder = "/base";
        item = NULL;
    }
    target[0] = '\0';
    bool fits = endpoint_path(target, "/v1/models/", model) &&
                endpoint_path(target, folder, item) && endpoint_path(target, tail, NULL);
    return fits ? ERR_OK : fault_set(e->fault, ERR_LIMIT, "the name is too long");
}

const char *edit_text(const cJSON *object, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsString(v)) return "";
    report_clean(v->valuestring);
    return v->valuestring;
}

double edit_number(const cJSON *object, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(v) ? v->valuedouble : 0;
}

bool edit_print_json(const struct edit *e, cJSON *json)
{
    if (e->json) report_print(json);
    return e->json;
}

static void take(char *out, size_t out_bytes, const cJSON *json, const char *key)
{
    (void)snprintf(out, out_bytes, "%s", edit_text(json, key));
}

enum err edit_take_reply(struct edit *e, struct checkout *c, const cJSON *json)
{
    take(c->grant, sizeof c->grant, json, "grant");
    take(c->expires, sizeof c->expires, json, "expires");
    const char *kind = edit_text(json, "kind");
    const char *folder = strcmp(kind, "root") == 0         ? "roots/"
                         : strcmp(kind, "correction") == 0 ? "corrections/"
                                                           : "";
    (void)snprintf(c->item, sizeof c->item, "%s%s", folder, edit_text(json, "item"));
    (void)snprintf(c->fence, sizeof c->fence, "%.0f", edit_number(json, "fence"));
    c->base_version = (uint32_t)edit_number(json, "base_version");
    if (c->grant[0] && c->item[0]) return ERR_OK;
    return fault_set(e->fault, ERR_MALFORMED, "%.100s answered without a grant", e->at.url.origin);
}

enum err edit_take_grant(struct edit *e, struct checkout *c, const char *item, cJSON **json)
{
    char target[ENDPOINT_TARGET_BYTES], key[ENDPOINT_KEY_BYTES], body[96], etag[96];
    cJSON *grant = NULL;
    int n = snprintf(body, sizeof body, "{\"ttl_s\": %.0f%s}", e->ttl_s,
                     e->force ? ", \"force\": true" : "");
    enum err err = edit_target(e, c->model, item, "/edit", target);
    if (err == ERR_OK && !endpoint_key(key)) err = fault_set(e->fault, ERR_IO, "no random bytes");
    const struct endpoint_ask ask = {
        .method = "POST", .target = target, .body = body, .body_bytes = (size_t)n, .key = key};
    if (err == ERR_OK) err = endpoint_json(&e->at, &ask, &grant, etag, e->fault);
    if (err == ERR_OK) err = edit_take_reply(e, c, grant);
    if (err == ERR_OK) memcpy(c->etag, etag, sizeof c->etag);
    if (json && err == ERR_OK)
        *json = grant;
    else
        cJSON_Delete(grant);
    return err;
}

// Seconds from now to an RFC 3339 time in UTC, by this machine's clock.
static double seconds_until(const char *time_text)
{
    struct tm t = {0};
    if (sscanf(time_text, "%d-%d-%dT%d:%d:%d", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour,
               &t.tm_min, &t.tm_sec) != 6)
        return 0;
    // Days since 1970 of a proleptic Gregorian date, March first.
    long y = t.tm_mon <= 2 ? t.tm_year - 1 : t.tm_year, era = y / 400, year = y - era * 400;
    long day = (153 * (t.tm_mon + (t.tm_mon > 2 ? -3 : 9)) + 2) / 5 + t.tm_mday - 1;
    long days = era * 146097 + year * 365 + year / 4 - year / 100 + day - 719468;
    double at = (double)days * 86400 + t.tm_hour * 3600 + t.tm_min * 60 + t.tm_sec;
    return at - (double)time(NULL);
}

enum err edit_renew(struct edit *e, struct checkout *c, bool always)
{
    enum { SOON_S = 60 };
    char before[sizeof c->etag], grant[sizeof c->grant];
    if (!always && seconds_until(c->expires) > SOON_S) return ERR_OK;
    memcpy(before, c->etag, sizeof before);
    memcpy(grant, c->grant, sizeof grant);
    enum err err = edit_take_grant(e, c, c->item, NULL);
    if (err) return err;
    // The same grant: nobody else can have changed it, but a change of one's own may have landed
    // whose answer was lost.
    bool own = c->is_sending && strcmp(grant, c->grant) == 0;
    if (strcmp(before, c->etag) == 0 || own) return checkout_save(c, e->fault);
    return fault_set(e->fault, ERR_STALE,
                     "%.200s has changed since it was checked out: 'sinew edit URL checkout %.60s "
                     "%.100s -o %.200s --keep-file' goes on from the new state with the file as "
                     "it is",
                     c->item, c->model, c->item, c->folder);
}

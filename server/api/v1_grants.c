#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/describe.h"
#include "server/api/v1.h"
#include "server/api/v1_draft.h"
#include "server/stream/secret.h"

// Grants: who may change an item, for how long.

enum { TTL_S = 300, TTL_MAX_S = 600 };

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

bool v1_grant_fill(struct errand *e, struct store_grant *g)
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

void v1_item_path(const struct errand *e, char *out, size_t out_bytes)
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
void v1_grant_end_old(struct errand *e, struct library_grant *g)
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
static bool may_take(struct errand *e, const struct library_grant *g, int32_t place, bool force)
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
    } else if (!mine && place == EDIT_ABSENT) {
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
    int32_t place;
    if (!errand_json(e) || !errand_item(e, &place)) return;
    struct library_grant *g = library_grant_of(l, e->model->name, e->kind, e->driver, e->item);
    bool force = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(e->json, "force"));
    if (!may_take(e, g, place, force)) return;
    bool renewed = g && g->row.token == e->who.token;
    if (!v1_grant_fill(e, row)) {
        errand_end(e);
        return;
    }
    if (renewed) { // the same, but for its fence and its time
        memcpy(row->id, g->row.id, sizeof row->id);
        memcpy(row->base_tag, g->row.base_tag, sizeof row->base_tag);
        row->base_version = g->row.base_version;
    } else {
        if (g) v1_grant_end_old(e, g);
        row->base_version = library_newest(e->model)->number;
        (void)snprintf(row->base_tag, sizeof row->base_tag, "%s",
                       edition_tag(e->model->head, place));
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
    int32_t place;
    if (!e || !errand_item(e, &place) || !errand_grant(e)) return;
    e->commit.parts = STORE_GRANT_END;
    e->commit.grant = e->grant->row;
    errand_commit(e, 204, NULL, "grant.end", apply_release);
}

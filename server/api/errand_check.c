#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_guard.h"
#include "server/api/errand.h"
#include "server/model/lookup.h"

// What a request must bring: the state it is made from, a body, an item, a grant. Each check that
// fails answers and ends the errand.

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

bool errand_not_loading(struct errand *e, const char *model)
{
    const struct models_row *row = models_find(e->api->options.models, model);
    if (!row || row->state != MODELS_LOADING) return true;
    errand_problem(e, 503, "loading", "This model is still being loaded", "Try again in a second.",
                   NULL);
    return false;
}

bool errand_served(struct errand *e)
{
    if (e->model->head) return true;
    const struct models_row *row = models_find(e->api->options.models, e->model->name);
    errand_refuse(e, 409, "not-loaded", "This model is not served",
                  row && row->state == MODELS_FAILED
                      ? row->line
                      : "It was retired, or its file is missing: restore or replace it.",
                  NULL);
    return false;
}

// --- Items --------------------------------------------------------------------------------------

// False: answered and ended. What a grant could not name whole is not to be confused with another.
static bool take_names(struct errand *e, const char *driver, const char *item)
{
    if (strlen(driver) >= sizeof e->driver || strlen(item) >= sizeof e->item) {
        errand_refuse(e, 409, "name-too-long", "The name is too long to be edited by",
                      "Names of drivers, examples and roots may have 127 bytes: shorten it in the "
                      "rig file.",
                      NULL);
        return false;
    }
    (void)snprintf(e->driver, sizeof e->driver, "%s", driver);
    (void)snprintf(e->item, sizeof e->item, "%s", item);
    return true;
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
            strcmp(g->row.kind, e->kind) != 0 ||
            (strcmp(name, text) != 0 && strcmp(g->row.item, text) != 0))
            continue;
        memcpy(e->driver, g->row.driver, sizeof e->driver);
        memcpy(e->item, g->row.item, sizeof e->item);
        return true;
    }
    return false;
}

// {root}: its name, or #N.
static bool find_root(struct errand *e, const struct model *m, const char *text, int32_t *place)
{
    uint32_t root = 0;
    if (m->root_weights_count == 0 ||
        lookup_name(m, LOOKUP_ROOT, text, "root", &root, &e->fault) != ERR_OK) {
        errand_refuse(e, 404, "no-such-item", "There is no such root with a table",
                      "GET the model's roots to list those there are.", NULL);
        return false;
    }
    *place = edit_root(root);
    return take_names(e, "", model_text(m, m->roots[root].name));
}

// {correction}: its name, or #N.
static bool find_correction(struct errand *e, const struct model *m, const char *text,
                            int32_t *place)
{
    *place = edition_place(m, "correction", "", text);
    if (*place == EDIT_ABSENT) {
        errand_refuse(e, 404, "no-such-item", "There is no such correction",
                      "GET the model's corrections to list those there are.", NULL);
        return false;
    }
    edit_correction_name(m, edit_correction_of(*place), e->item, sizeof e->item);
    return true;
}

static bool find_example(struct errand *e, const struct model *m, const char *text, int32_t *place)
{
    size_t found = 0, at = 0;
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
        *place = (int32_t)at;
        return take_names(e, model_text(m, m->drivers[m->examples[at].driver].name),
                          model_text(m, m->examples[at].name));
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

bool errand_item(struct errand *e, int32_t *place)
{
    struct http_exchange *x = errand_exchange(e);
    const char *example = x ? http_exchange_param(x, "item") : NULL;
    const char *root = x ? http_exchange_param(x, "root") : NULL;
    const char *correction = x ? http_exchange_param(x, "correction") : NULL;
    if (!errand_served(e)) return false;
    *place = EDIT_ABSENT;
    (void)snprintf(e->kind, sizeof e->kind, "%s",
                   example      ? "example"
                   : root       ? "root"
                   : correction ? "correction"
                                : "base");
    if (correction) return find_correction(e, e->model->head->model, correction, place);
    if (example) return find_example(e, e->model->head->model, example, place);
    if (root) return find_root(e, e->model->head->model, root, place);
    (void)snprintf(e->item, sizeof e->item, "base");
    *place = EDIT_BASE;
    return true;
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

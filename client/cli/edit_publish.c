#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/edit.h"

// What makes versions. Both compare the model's state, and go on from the newest where another
// version came in between: the server refuses what would undo somebody's work.
enum { TRIES = 20 };

static enum err make_version(struct edit *e, const char *model, const char *target,
                             struct endpoint_ask *ask, cJSON **version)
{
    char etag[ENDPOINT_ETAG_BYTES], key[ENDPOINT_KEY_BYTES];
    cJSON *body = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(body, "message", e->message ? e->message : "");
    char *text = cJSON_PrintUnformatted(body);
    cJSON_Delete(body);
    enum err err = text ? ERR_OK : fault_set(e->fault, ERR_MEMORY, "no memory");
    for (int tries = 0; err == ERR_OK; tries++) {
        cJSON *state = NULL;
        struct fault inner = {0};
        err = edit_get(e, model, "", &state, etag);
        cJSON_Delete(state);
        if (err == ERR_OK && !endpoint_key(key)) err = fault_set(e->fault, ERR_IO, "no randomness");
        if (err) break;
        ask->method = "POST";
        ask->target = target;
        ask->body = text;
        ask->body_bytes = strlen(text);
        ask->if_match = etag;
        ask->key = key;
        err = endpoint_json(&e->at, ask, version, NULL, &inner);
        if (err == ERR_OK) break;
        if (!endpoint_refused(&e->at, "stale") || tries == TRIES)
            err = fault_set(e->fault, err, "%.380s", inner.line);
        else
            err = ERR_OK;
    }
    cJSON_free(text);
    return err;
}

static enum err tell(struct edit *e, cJSON *version, const char *what)
{
    if (edit_print_json(e, version)) return ERR_OK;
    (void)printf("version %.0f of %s: %s; every stream of it shows that now\n",
                 edit_number(version, "version"), edit_text(version, "model"), what);
    cJSON_Delete(version);
    return ERR_OK;
}

enum err edit_publish(struct edit *e)
{
    struct checkout c;
    char target[ENDPOINT_TARGET_BYTES];
    cJSON *version = NULL;
    enum err err = checkout_load(e->operands[0], &c, e->fault);
    if (err == ERR_OK) err = edit_renew(e, &c, false);
    if (err == ERR_OK) err = edit_target(e, c.model, c.item, "/publish", target);
    struct endpoint_ask ask = {.grant = c.grant, .fence = c.fence};
    if (err == ERR_OK) err = make_version(e, c.model, target, &ask, &version);
    if (err) return err;
    // From here on the folder stands on what has just been published.
    c.base_version = (uint32_t)edit_number(version, "version");
    e->keep_file = true;
    struct fault inner = {0}, *outer = e->fault;
    e->fault = &inner;
    err = edit_take_grant(e, &c, c.item, NULL);
    if (err == ERR_OK) err = edit_fetch(e, &c);
    e->fault = outer;
    // An example that was removed has nothing to go on with.
    if (err != ERR_OK && err != ERR_NOT_FOUND)
        (void)fprintf(stderr, "sinew edit: published, but the folder was not renewed: %s\n",
                      inner.line);
    return tell(e, version, c.item);
}

enum err edit_restore(struct edit *e)
{
    char target[ENDPOINT_TARGET_BYTES] = "", tail[64], what[64], *end = NULL;
    cJSON *version = NULL;
    struct endpoint_ask ask = {0};
    unsigned long number = strtoul(e->operands[1], &end, 10);
    if (end == e->operands[1] || *end || number == 0 || number > UINT32_MAX)
        return fault_set(e->fault, ERR_USAGE,
                         "\"%.40s\" is no version: 'sinew edit URL history %.60s' lists them",
                         e->operands[1], e->operands[0]);
    (void)snprintf(tail, sizeof tail, "/versions/%lu/restore", number);
    (void)snprintf(what, sizeof what, "version %lu again", number);
    bool fits =
        endpoint_path(target, "/v1/models/", e->operands[0]) && endpoint_path(target, tail, NULL);
    if (!fits) return fault_set(e->fault, ERR_LIMIT, "the name is too long");
    enum err err = make_version(e, e->operands[0], target, &ask, &version);
    return err ? err : tell(e, version, what);
}

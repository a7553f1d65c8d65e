#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/edit.h"
#include "client/cli/surface_read.h"
#include "common/file.h"
#include "common/json_guard.h"

// Taking something to edit, and letting it go.

// --- Files of a checkout ------------------------------------------------------------------------

static enum err fetch_surface(struct edit *e, const struct checkout *c, const char *format,
                              const char *name, char hash[17])
{
    char target[ENDPOINT_TARGET_BYTES], path[CHECKOUT_PATH_BYTES], tail[32];
    struct fetch reply = {0};
    (void)snprintf(tail, sizeof tail, "/%s?format=%s",
                   checkout_is_root(c->item) ? "weights" : "surface", format);
    enum err err = edit_target(e, c->model, c->item, tail, target);
    const struct endpoint_ask ask = {.method = "GET",
                                     .target = target,
                                     .grant = c->grant,
                                     .reply_bytes_max = EDIT_FILE_BYTES_MAX};
    if (err == ERR_OK) err = endpoint_run(&e->at, &ask, &reply, e->fault);
    if (err == ERR_OK) err = checkout_file(c, name, path, e->fault);
    if (err == ERR_OK) err = file_write_atomic(path, reply.body, reply.body_bytes, e->fault);
    if (err == ERR_OK && hash) checkout_hash(reply.body, reply.body_bytes, hash);
    fetch_free(&reply);
    return err;
}

static enum err fetch_pose(struct edit *e, const struct checkout *c)
{
    char target[ENDPOINT_TARGET_BYTES], path[CHECKOUT_PATH_BYTES];
    cJSON *item = NULL;
    enum err err = edit_target(e, c->model, c->item, "", target);
    const struct endpoint_ask ask = {.method = "GET", .target = target, .grant = c->grant};
    if (err == ERR_OK) err = endpoint_json(&e->at, &ask, &item, NULL, e->fault);
    if (err) return err;
    char *text = cJSON_Print(cJSON_GetObjectItemCaseSensitive(item, "pose"));
    cJSON_Delete(item);
    err = checkout_file(c, "pose.json", path, e->fault);
    if (err == ERR_OK && text) err = file_write_atomic(path, text, strlen(text), e->fault);
    cJSON_free(text);
    return err;
}

enum err edit_fetch(struct edit *e, struct checkout *c)
{
    enum err err = ERR_OK;
    if (!e->keep_file) err = fetch_surface(e, c, c->format, c->surface, c->taken);
    if (err == ERR_OK) err = fetch_surface(e, c, "f32", "original.f32", NULL);
    if (err == ERR_OK && checkout_is_example(c->item)) err = fetch_pose(e, c);
    return err == ERR_OK ? checkout_save(c, e->fault) : err;
}

// --- checkout -----------------------------------------------------------------------------------

// Work that was not submitted is not written over.
static enum err guard_changes(struct edit *e, const struct checkout *old)
{
    char path[CHECKOUT_PATH_BYTES], hash[17];
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (e->discard || e->keep_file) return ERR_OK;
    enum err err = checkout_file(old, old->surface, path, e->fault);
    if (err) return err;
    if (file_read(path, EDIT_FILE_BYTES_MAX, &bytes, &size, NULL) != ERR_OK) return ERR_OK;
    checkout_hash(bytes, size, hash);
    free(bytes);
    if (strcmp(hash, old->taken) == 0) return ERR_OK;
    return fault_set(e->fault, ERR_DENIED,
                     "%.200s has changes since it was taken: --keep-file keeps it, --discard "
                     "writes over it",
                     path);
}

static enum err open_folder(struct edit *e, struct checkout *c, const char *item)
{
    struct checkout old;
    if (checkout_is_at(c->folder)) {
        enum err err = checkout_load(c->folder, &old, e->fault);
        if (err) return err;
        if (strcmp(old.model, c->model) != 0)
            return fault_set(e->fault, ERR_DENIED,
                             "\"%.200s\" holds %.100s of %.60s: choose "
                             "another folder with -o",
                             c->folder, old.item, old.model);
        if (e->keep_file) { // its format stays too
            memcpy(c->format, old.format, sizeof c->format);
            memcpy(c->surface, old.surface, sizeof c->surface);
            memcpy(c->taken, old.taken, sizeof c->taken);
        }
        return guard_changes(e, &old);
    }
    if (e->keep_file)
        return fault_set(e->fault, ERR_USAGE, "\"%.200s\" holds no file to keep", c->folder);
    if (mkdir(c->folder, 0777) == 0 || errno == EEXIST) return ERR_OK;
    (void)item;
    return file_fault(e->fault, "make the folder", c->folder);
}

static enum err read_pose_file(struct edit *e, cJSON **out)
{
    enum { POSE_BYTES_MAX = 256 << 10 };
    struct json_limits limits = json_limits_for(POSE_BYTES_MAX);
    struct fault inner = {0};
    uint8_t *bytes = NULL;
    size_t size = 0;
    enum err err = file_read(e->pose, POSE_BYTES_MAX, &bytes, &size, e->fault);
    if (err) return err;
    err = json_parse((const char *)bytes, size, &limits, out, &inner);
    free(bytes);
    return err ? fault_set(e->fault, err, "%.150s: %.200s", e->pose, inner.line) : ERR_OK;
}

char *edit_pose_body(struct edit *e, cJSON *body)
{
    cJSON *pose = NULL;
    enum err err = read_pose_file(e, &pose);
    char *text = NULL;
    if (err == ERR_OK) {
        (void)cJSON_AddItemToObject(body, "pose", pose);
        text = cJSON_PrintUnformatted(body);
        if (!text) (void)fault_set(e->fault, ERR_MEMORY, "no memory");
    }
    cJSON_Delete(body);
    return text;
}

// A new example: its grant comes with it.
static enum err take_new(struct edit *e, struct checkout *c, const char *label, cJSON **json)
{
    char target[ENDPOINT_TARGET_BYTES] = "", key[ENDPOINT_KEY_BYTES], driver[256];
    const char *colon = strchr(label, ':');
    if (!colon || colon == label || !colon[1] || (size_t)(colon - label) >= sizeof driver)
        return fault_set(e->fault, ERR_USAGE, "a new example is named DRIVER:EXAMPLE");
    if (!e->pose)
        return fault_set(e->fault, ERR_USAGE, "a new example wants its pose: --pose POSE.json");
    (void)snprintf(driver, sizeof driver, "%.*s", (int)(colon - label), label);
    cJSON *body = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(body, "driver", driver);
    (void)cJSON_AddStringToObject(body, "name", colon + 1);
    (void)cJSON_AddNumberToObject(body, "ttl_s", e->ttl_s);
    char *text = edit_pose_body(e, body);
    if (!text) return e->fault->code;
    bool fits = endpoint_path(target, "/v1/models/", c->model) &&
                endpoint_path(target, "/examples", NULL) && endpoint_key(key);
    const struct endpoint_ask ask = {
        .method = "POST", .target = target, .body = text, .body_bytes = strlen(text), .key = key};
    enum err err = fits ? endpoint_json(&e->at, &ask, json, c->etag, e->fault)
                        : fault_set(e->fault, ERR_LIMIT, "the name is too long");
    cJSON_free(text);
    return err ? err : edit_take_reply(e, c, *json);
}

static enum err choose_format(struct edit *e, struct checkout *c, const char *item)
{
    char name[16];
    bool root = checkout_is_root(item);
    const char *format = e->format ? e->format : root ? "f32" : "glb";
    (void)snprintf(name, sizeof name, "x.%.8s", format);
    if (surface_kind_of(name) == SURFACE_NONE || strlen(format) != 3)
        return fault_set(e->fault, ERR_USAGE, "--format is glb, obj or f32");
    if (root && strcmp(format, "f32") != 0)
        return fault_set(e->fault, ERR_USAGE, "a root's weights are f32: one float32 a vertex");
    (void)snprintf(c->format, sizeof c->format, "%.7s", format);
    (void)snprintf(c->surface, sizeof c->surface, "surface.%.7s", format);
    return ERR_OK;
}

enum err edit_checkout(struct edit *e)
{
    struct checkout c = {0};
    const char *item = e->operands[1];
    cJSON *json = NULL;
    if (strlen(e->operands[0]) >= sizeof c.model || strlen(item) >= sizeof c.item)
        return fault_set(e->fault, ERR_USAGE, "names have at most %zu bytes", sizeof c.model - 1);
    (void)snprintf(c.model, sizeof c.model, "%s", e->operands[0]);
    if (e->out)
        (void)snprintf(c.folder, sizeof c.folder, "%.1000s", e->out);
    else
        checkout_name(c.model, item, c.folder, sizeof c.folder);
    enum err err = choose_format(e, &c, item);
    if (err == ERR_OK) err = open_folder(e, &c, item);
    if (err == ERR_OK)
        err = e->is_new ? take_new(e, &c, item, &json) : edit_take_grant(e, &c, item, &json);
    // What is held is written down before anything else can fail.
    if (err == ERR_OK) err = checkout_save(&c, e->fault);
    if (err == ERR_OK) err = edit_fetch(e, &c);
    if (err != ERR_OK) {
        cJSON_Delete(json);
        return err;
    }
    if (e->json) (void)cJSON_AddStringToObject(json, "folder", c.folder);
    if (edit_print_json(e, json)) return ERR_OK;
    (void)printf("%s of %s, version %u, is yours until %s\n", c.item, c.model, c.base_version,
                 c.expires);
    (void)printf("edit %s/%s (%s), then\n"
                 "  sinew edit URL submit %s\n",
                 c.folder, c.surface,
                 checkout_is_root(c.item) ? "one float32 a vertex, 0 to 1"
                                          : "keep the vertices' number and order",
                 c.folder);
    cJSON_Delete(json);
    return ERR_OK;
}

// --- release ------------------------------------------------------------------------------------

enum err edit_release(struct edit *e)
{
    struct checkout c;
    char target[ENDPOINT_TARGET_BYTES], path[CHECKOUT_PATH_BYTES];
    struct fetch reply = {0};
    enum err err = checkout_load(e->operands[0], &c, e->fault);
    if (err == ERR_OK) err = edit_target(e, c.model, c.item, "/edit", target);
    const struct endpoint_ask ask = {
        .method = "DELETE", .target = target, .grant = c.grant, .fence = c.fence};
    struct fault inner = {0};
    if (err == ERR_OK) {
        err = endpoint_run(&e->at, &ask, &reply, &inner);
        // Gone already is what was wanted.
        if (err && !endpoint_refused(&e->at, "grant-gone") &&
            !endpoint_refused(&e->at, "no-such-item"))
            return fault_set(e->fault, err, "%s", inner.line);
        fetch_free(&reply);
        err = checkout_file(&c, "checkout.json", path, e->fault);
    }
    if (err) return err;
    if (unlink(path) != 0 && errno != ENOENT) return file_fault(e->fault, "remove", path);
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, "released", c.item);
    if (edit_print_json(e, json)) return ERR_OK;
    cJSON_Delete(json);
    (void)printf("%s of %s is released; what was not published is gone from the server, %s/%s is "
                 "still yours\n",
                 c.item, c.model, c.folder, c.surface);
    return ERR_OK;
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/edit.h"
#include "client/cli/surface_read.h"
#include "common/file.h"

// Sending what was changed: each step makes the draft anew, from the state that If-Match names.
enum { INLINE_BYTES = 1 << 20 };

// --- The report ---------------------------------------------------------------------------------

static void print_driver(const cJSON *d, const char *item)
{
    const cJSON *solves = cJSON_GetObjectItemCaseSensitive(d, "solves");
    const cJSON *s = solves ? solves->child : NULL;
    if (s)
        (void)printf("  %-20s condition %.3g, weights %.3g to %.3g, at most %.2g a degree, radius "
                     "%.3g, left out %.3g\n",
                     edit_text(d, "name"), edit_number(s, "condition"),
                     edit_number(s, "weight_min"), edit_number(s, "weight_max"),
                     edit_number(s, "steepest_per_degree"), edit_number(s, "radius"),
                     edit_number(s, "leave_one_out"));
    const cJSON *examples = cJSON_GetObjectItemCaseSensitive(d, "examples");
    for (const cJSON *x = examples ? examples->child : NULL; x; x = x->next) {
        char label[600];
        (void)snprintf(label, sizeof label, "%s:%s", edit_text(d, "name"), edit_text(x, "name"));
        if (strcmp(label, item) != 0) continue;
        (void)printf("  %-20s %.0f vertices, residual %.2g, inverse gain %.3g\n",
                     edit_text(x, "name"), edit_number(x, "vertices"), edit_number(x, "residual"),
                     edit_number(x, "inverse_gain"));
    }
}

static void print_draft(const cJSON *draft, const struct checkout *c)
{
    const cJSON *report = cJSON_GetObjectItemCaseSensitive(draft, "report");
    const cJSON *drivers = cJSON_GetObjectItemCaseSensitive(report, "drivers");
    const cJSON *notes = cJSON_GetObjectItemCaseSensitive(report, "notes");
    (void)printf("draft of %s on version %.0f: %.0f %s, by at most %.5g in this edit\n", c->item,
                 edit_number(draft, "base_version"), edit_number(draft, "moved"),
                 checkout_is_root(c->item) ? "shares changed" : "vertices sculpted, moved",
                 edit_number(draft, "largest_move"));
    (void)printf("solved in %.1f ms:\n", edit_number(report, "bake_ms"));
    for (const cJSON *d = drivers ? drivers->child : NULL; d; d = d->next)
        print_driver(d, c->item);
    for (cJSON *n = notes ? notes->child : NULL; n; n = n->next)
        if (cJSON_IsString(n)) (void)printf("note: %s\n", n->valuestring);
}

// --- Steps --------------------------------------------------------------------------------------

// One change, with the grant renewed once where it ran out under way, and taken up again where an
// earlier answer was lost: what is sent is whole, so sending it twice does no harm.
static enum err change(struct edit *e, struct checkout *c, struct endpoint_ask *ask, cJSON **draft)
{
    char etag[sizeof c->etag];
    c->is_sending = true;
    enum err err = checkout_save(c, e->fault);
    for (int tries = 0; err == ERR_OK; tries++) {
        struct fault inner = {0};
        ask->grant = c->grant;
        ask->fence = c->fence;
        ask->if_match = c->etag;
        err = endpoint_json(&e->at, ask, draft, etag, &inner);
        if (err == ERR_OK) return ERR_OK;
        bool renewable = endpoint_refused(&e->at, "grant-gone");
        // Lost answers: what stands may be this very change. The fence shows it is nobody else's.
        bool lost = endpoint_refused(&e->at, "stale") && (e->at.cut || tries > 0);
        bool again = tries < 2 && (renewable || lost);
        if (!again) {
            c->is_sending = !e->at.problem[0]; // refused: it did not land
            err = fault_set(e->fault, err, "%.380s", inner.line);
            enum err kept = checkout_save(c, e->fault);
            return kept ? kept : err;
        }
        err = edit_renew(e, c, true);
    }
    return err;
}

static enum err finish(struct edit *e, struct checkout *c, const cJSON *draft)
{
    (void)snprintf(c->etag, sizeof c->etag, "%s", edit_text(draft, "etag"));
    c->is_sending = false;
    return checkout_save(c, e->fault);
}

static enum err send_surface(struct edit *e, struct checkout *c, uint8_t *bytes, size_t size,
                             enum surface_kind kind, cJSON **draft)
{
    static const char *const types[] = {"", "application/octet-stream", "model/obj",
                                        "model/gltf-binary"};
    static const char *const formats[] = {"", "f32", "obj", "glb"};
    char target[ENDPOINT_TARGET_BYTES], tail[64], body[128], id[64];
    bool base = strcmp(c->item, "base") == 0;
    (void)snprintf(tail, sizeof tail, "/%s?force=%d%s%.8s",
                   checkout_is_root(c->item) ? "weights" : "surface", e->force,
                   base && e->keep ? "&keep=" : "", base && e->keep ? e->keep : "");
    enum err err = edit_target(e, c->model, c->item, tail, target);
    struct endpoint_ask ask = {
        .method = "PUT", .target = target, .type = types[kind], .body = bytes, .body_bytes = size};
    bool piecewise = size > INLINE_BYTES;
    if (err == ERR_OK && piecewise) {
        err = edit_upload(e, c, bytes, size, id);
        ask.type = NULL;
        ask.body = body;
        if (err == ERR_OK)
            ask.body_bytes = (size_t)snprintf(
                body, sizeof body, "{\"upload\": \"%s\", \"format\": \"%s\"}", id, formats[kind]);
    }
    if (err == ERR_OK) err = change(e, c, &ask, draft);
    if (err == ERR_OK && piecewise) { // used up; should that fail, it runs out by itself
        const struct endpoint_ask end = {
            .method = "DELETE", .target = c->upload, .more = {{"Tus-Resumable", "1.0.0"}}};
        struct fetch reply = {0};
        if (endpoint_run(&e->at, &end, &reply, NULL) == ERR_OK) fetch_free(&reply);
        c->upload[0] = c->upload_of[0] = '\0';
    }
    return err == ERR_OK ? finish(e, c, *draft) : err;
}

static enum err submit_surface(struct edit *e, struct checkout *c, const char *path, cJSON **draft,
                               bool *sent)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    char hash[17];
    enum surface_kind kind = surface_kind_of(path);
    if (kind == SURFACE_NONE)
        return fault_set(e->fault, ERR_USAGE, "%.200s: a surface's file ends in .glb, .obj or .f32",
                         path);
    enum err err = file_read(path, EDIT_FILE_BYTES_MAX, &bytes, &size, e->fault);
    if (err) return err;
    checkout_hash(bytes, size, hash);
    // With another change asked for, a surface that is as it was taken need not be sent.
    *sent = strcmp(hash, c->taken) != 0 || !(e->pose || e->mirror || e->remove);
    if (*sent) err = send_surface(e, c, bytes, size, kind, draft);
    free(bytes);
    if (err || !*sent) return err;
    memcpy(c->taken, hash, sizeof hash);
    return checkout_save(c, e->fault);
}

static enum err submit_pose(struct edit *e, struct checkout *c, cJSON **draft)
{
    char target[ENDPOINT_TARGET_BYTES];
    if (!e->keep || (strcmp(e->keep, "surface") != 0 && strcmp(e->keep, "delta") != 0))
        return fault_set(e->fault, ERR_USAGE,
                         "a new pose wants --keep surface or --keep delta: what the example keeps");
    cJSON *body = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(body, "keep", e->keep);
    char *text = edit_pose_body(e, body);
    if (!text) return e->fault->code;
    enum err err = edit_target(e, c->model, c->item, "/pose", target);
    struct endpoint_ask ask = {
        .method = "PUT", .target = target, .body = text, .body_bytes = strlen(text)};
    if (err == ERR_OK) err = change(e, c, &ask, draft);
    cJSON_free(text);
    if (err == ERR_OK) err = finish(e, c, *draft);
    return err == ERR_OK ? edit_fetch(e, c) : err; // the surface at its new pose
}

static enum err submit_mirror(struct edit *e, struct checkout *c, cJSON **draft)
{
    char target[ENDPOINT_TARGET_BYTES], key[ENDPOINT_KEY_BYTES];
    cJSON *body = cJSON_CreateObject();
    if (e->mirror_to) (void)cJSON_AddStringToObject(body, "driver", e->mirror_to);
    char *text = cJSON_PrintUnformatted(body);
    cJSON_Delete(body);
    enum err err = text && endpoint_key(key) ? edit_target(e, c->model, c->item, "/mirror", target)
                                             : fault_set(e->fault, ERR_MEMORY, "no memory");
    struct endpoint_ask ask = {.method = "POST",
                               .target = target,
                               .body = text,
                               .body_bytes = text ? strlen(text) : 0,
                               .key = key};
    if (err == ERR_OK) err = change(e, c, &ask, draft);
    cJSON_free(text);
    return err == ERR_OK ? finish(e, c, *draft) : err;
}

static enum err submit_removal(struct edit *e, struct checkout *c, cJSON **draft)
{
    char target[ENDPOINT_TARGET_BYTES];
    enum err err = edit_target(e, c->model, c->item, "", target);
    struct endpoint_ask ask = {.method = "DELETE", .target = target};
    if (err == ERR_OK) err = change(e, c, &ask, draft);
    return err == ERR_OK ? finish(e, c, *draft) : err;
}

static enum err run_steps(struct edit *e, struct checkout *c, const char *path, cJSON **draft)
{
    bool sent = false;
    enum err err = e->remove ? ERR_OK : submit_surface(e, c, path, draft, &sent);
    if (err == ERR_OK && e->pose) {
        cJSON_Delete(*draft);
        *draft = NULL;
        err = submit_pose(e, c, draft);
    }
    if (err == ERR_OK && e->mirror) {
        cJSON_Delete(*draft);
        *draft = NULL;
        err = submit_mirror(e, c, draft);
    }
    return err == ERR_OK && e->remove ? submit_removal(e, c, draft) : err;
}

enum err edit_submit(struct edit *e)
{
    struct checkout c;
    char own[CHECKOUT_PATH_BYTES];
    cJSON *draft = NULL;
    enum err err = checkout_load(e->operands[0], &c, e->fault);
    bool example = err == ERR_OK && checkout_is_example(c.item);
    if (err == ERR_OK && !example && (e->pose || e->mirror || e->remove))
        err = fault_set(e->fault, ERR_USAGE,
                        "only an example has a pose and a mirror image, and can be removed");
    if (err == ERR_OK) err = checkout_file(&c, c.surface, own, e->fault);
    if (err == ERR_OK) err = edit_renew(e, &c, false);
    const char *path = e->operand_count > 1 ? e->operands[1] : own;
    if (err == ERR_OK) err = run_steps(e, &c, path, &draft);
    if (err != ERR_OK) {
        cJSON_Delete(draft);
        return err;
    }
    if (edit_print_json(e, draft)) return ERR_OK;
    print_draft(draft, &c);
    (void)printf("your own streams show it (role modeller); 'sinew edit URL publish %s' shows it "
                 "to all\n",
                 c.folder);
    cJSON_Delete(draft);
    return ERR_OK;
}

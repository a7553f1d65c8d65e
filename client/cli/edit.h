#pragma once
#include <cjson/cJSON.h>
#include <stdbool.h>

#include "client/cli/checkout.h"
#include "client/cli/endpoint.h"

// What the verbs of `sinew edit` share. Each gets its operands and options from here.
enum { EDIT_OPERANDS_MAX = 2, EDIT_FILE_BYTES_MAX = 1 << 30 };
struct edit {
    struct endpoint at;
    const char *operands[EDIT_OPERANDS_MAX];
    size_t operand_count;
    bool json, force, is_new, keep_file, discard, remove, mirror;
    const char *out, *format, *pose, *keep, *message, *mirror_to;
    double ttl_s, limit;
    struct fault *fault;
};

// The verbs.
enum err edit_list(struct edit *e);
enum err edit_status(struct edit *e);
enum err edit_diff(struct edit *e);
enum err edit_history(struct edit *e);
enum err edit_checkout(struct edit *e);
enum err edit_release(struct edit *e);
enum err edit_submit(struct edit *e);
enum err edit_publish(struct edit *e);
enum err edit_restore(struct edit *e);

// /v1/models/MODEL/base…, …/examples/ITEM… or …/roots/NAME…, with `tail` as it is.
MUST_CHECK enum err edit_target(struct edit *e, const char *model, const char *item,
                                const char *tail, char target[ENDPOINT_TARGET_BYTES]);
// A GET of /v1/models[/MODEL][tail], answered in JSON.
MUST_CHECK enum err edit_get(struct edit *e, const char *model, const char *tail, cJSON **out,
                             char *etag);
// Asks for the grant of `item` and takes what is answered into the checkout. With `json` the whole
// GRANT is the caller's.
MUST_CHECK enum err edit_take_grant(struct edit *e, struct checkout *c, const char *item,
                                    cJSON **json);
// The grant, its times and what it stands on, out of a GRANT.
MUST_CHECK enum err edit_take_reply(struct edit *e, struct checkout *c, const cJSON *json);
// The grant of a checkout for some time to come: again, when it has run out or soon does.
MUST_CHECK enum err edit_renew(struct edit *e, struct checkout *c, bool always);
// What stands on the server into the folder: the surface in its format (unless keep_file), the
// same as original.f32, and an example's pose.
MUST_CHECK enum err edit_fetch(struct edit *e, struct checkout *c);
// Sends a body above the inline limit in pieces, going on where it broke off; `id` of the upload.
MUST_CHECK enum err edit_upload(struct edit *e, struct checkout *c, const uint8_t *bytes,
                                size_t size_bytes, char id[64]);

// `body` with the pose of --pose's file in it, as text for cJSON_free; NULL: the fault tells. Takes
// `body`.
char *edit_pose_body(struct edit *e, cJSON *body);
const char *edit_text(const cJSON *object, const char *key); // clean for a terminal; "": none
double edit_number(const cJSON *object, const char *key);    // 0: none
// The answer itself with --json (deleted then, true), else false.
bool edit_print_json(const struct edit *e, cJSON *json);

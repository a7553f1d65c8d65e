#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "common/err.h"

// What outlives the program: models and their versions, grants, drafts, uploads in progress,
// tokens, answers to idempotent requests, and the audit. Large bodies are files named by their
// SHA-256, written before the row that names them; everything else is rows. A job runs on the
// store's own thread, jobs in their order, and comes back to the loop. What a done job reports as
// ERR_OK is on the disk. Nothing here decides who may do what: that is for the caller.
//
// This header is what another back end has to provide. Times are milliseconds since 1970.
struct store;

enum {
    STORE_NAME_BYTES = 64,
    STORE_ITEM_BYTES = 128,
    STORE_HASH_BYTES = 65, // 64 hex digits
    STORE_ID_BYTES = 24,
    STORE_TOKEN_HASH_BYTES = 32,
    STORE_MODELS_BYTES = 512
};

struct store_model {
    char name[STORE_NAME_BYTES];
    char source[STORE_HASH_BYTES]; // of the file it was served from; "" when it came over HTTP
    bool retired;
};
struct store_version { // immutable
    char model[STORE_NAME_BYTES];
    uint32_t number, parent, restores; // parent 0: the first; restores 0: none
    char sha256[STORE_HASH_BYTES];     // of the body, a .sinew file
    uint64_t bytes;
    char kind[12], item[2 * STORE_ITEM_BYTES], author[STORE_NAME_BYTES], message[256];
    int64_t time_ms;
    const char *report; // JSON, or NULL; what store_load gives is good in the call only
};
struct store_grant { // a lease on one editable thing; a renewal has the id and a higher fence
    char id[STORE_ID_BYTES];
    uint64_t fence, token; // token: who holds it
    char model[STORE_NAME_BYTES], kind[12], driver[STORE_ITEM_BYTES], item[STORE_ITEM_BYTES];
    char holder[STORE_NAME_BYTES];
    int64_t since_ms, expires_ms;
    uint32_t base_version;
    char base_tag[STORE_HASH_BYTES]; // the thing's state then; "": it is new
};
struct store_draft { // what a grant has made so far; goes with it
    char grant[STORE_ID_BYTES];
    char sha256[STORE_HASH_BYTES], tag[STORE_HASH_BYTES];
    uint32_t base_version, moved;
    double largest_move;
    char mirror[STORE_ITEM_BYTES]; // the driver that holds its mirror image too, or ""
    char keep[12];                 // of a base surface: what the examples keep
    const char *report;
};
struct store_upload {
    char id[STORE_ID_BYTES];
    uint64_t size_bytes, offset, token;
    int64_t expires_ms;
};
struct store_token {
    uint64_t id;
    char name[STORE_NAME_BYTES], scope[12];
    char models[STORE_MODELS_BYTES]; // names, one a line; "": all
    uint8_t hash[STORE_TOKEN_HASH_BYTES];
    int64_t created_ms, expires_ms, revoked_ms; // 0: never
};
struct store_reply { // of an idempotent request
    uint64_t token;
    char key[STORE_NAME_BYTES], request[STORE_HASH_BYTES];
    int status;
    char etag[96], location[512];
    const char *body; // JSON
    int64_t time_ms;
};
struct store_audit { // for the audit's entry; "" and 0 stay out of it
    const char *actor, *address, *action, *model, *item, *result;
    uint64_t token;
    uint32_t base, number;
    const char *sha256;
};

struct store_options {
    uv_loop_t *loop;
    const char *folder; // is made
    // The tokens have changed, by this program or another: store_tokens tells them. Loop.
    void (*on_tokens)(void *owner);
    void *owner;
};
// Takes the folder (ERR_BUSY: another server has it), migrates, sweeps files that no row names.
MUST_CHECK enum err store_open(const struct store_options *options, struct store **out,
                               struct fault *fault);
// Finishes the jobs that wait, with their `done`; then closes its handle: run the loop once more.
void store_close(struct store *s); // NULL is fine

// Everything that is there, before the first job. A version whose body is missing or has another
// size is told with bytes = 0. NULL: not wanted.
struct store_visitor {
    void (*model)(void *owner, const struct store_model *m);
    void (*version)(void *owner, const struct store_version *v); // by model, ascending
    void (*grant)(void *owner, const struct store_grant *g);
    void (*draft)(void *owner, const struct store_draft *d);
    void (*upload)(void *owner, const struct store_upload *u);
    void *owner;
};
MUST_CHECK enum err store_load(struct store *s, const struct store_visitor *v, struct fault *fault);

struct store_job {
    void (*done)(struct store_job *job); // on the loop; may free the job
    void *owner;
    enum err result; // ERR_STALE: the version's parent is not the newest; ERR_LIMIT: the disk
    struct fault fault;
    void (*run)(struct store *s, struct store_job *job); // private
    struct store_job *next;                              // private
};

// One transaction: all or nothing. `body`, when given, is written first; its SHA-256 goes to
// `sha256`, and into version and draft where they have none.
enum store_parts {
    STORE_MODEL = 1,
    STORE_VERSION = 2,
    STORE_GRANT = 4,
    STORE_GRANT_END = 8, // grant.id, with its draft
    STORE_DRAFT = 16,
    STORE_DRAFT_END = 32, // draft.grant
    STORE_UPLOAD = 64,
    STORE_UPLOAD_END = 128, // upload.id
    STORE_REPLY = 256,
    STORE_AUDIT = 512
};
struct store_commit {
    struct store_job job;
    uint32_t parts;
    const uint8_t *body; // borrowed until done, as the texts
    size_t body_bytes;
    char sha256[STORE_HASH_BYTES]; // out
    struct store_model model;
    struct store_version version;
    struct store_grant grant;
    struct store_draft draft;
    struct store_upload upload;
    struct store_reply reply;
    struct store_audit audit;
};
void store_commit(struct store *s, struct store_commit *c);

// The stored answer of a token's key. ERR_NOT_FOUND: none. `body` is malloc'd, the caller's.
struct store_recall {
    struct store_job job;
    struct store_reply reply; // token and key in
    char *body;
};
void store_recall(struct store *s, struct store_recall *r);

// A piece of an upload, at its offset; ERR_STALE: the file is elsewhere by now. The row follows the
// file. `offset` becomes the new one.
struct store_append {
    struct store_job job;
    char id[STORE_ID_BYTES];
    const uint8_t *bytes;
    size_t size_bytes;
    uint64_t offset;
};
void store_append(struct store *s, struct store_append *a);

// The report that a version was made with: JSON (malloc'd, the caller's), "" without.
struct store_report {
    struct store_job job;
    char model[STORE_NAME_BYTES];
    uint32_t number;
    char *report;
};
void store_report(struct store *s, struct store_report *r);

// Audit rows after a number, oldest first, as the JSON of GET /v1/audit (malloc'd, the caller's).
struct store_audit_page {
    struct store_job job;
    uint64_t after;
    uint32_t limit;
    char *json;
};
void store_audit_page(struct store *s, struct store_audit_page *p);

// Any thread.
void store_body_path(const struct store *s, const char *sha256, char *out, size_t out_bytes);
void store_upload_path(const struct store *s, const char *id, char *out, size_t out_bytes);
// Less than 5 % of the disk is left: what writes is refused, with a line.
bool store_is_full(const struct store *s);
uint64_t store_wal_bytes(const struct store *s);

// Tokens. The loop's copy, newest; good until on_tokens is called again.
const struct store_token *store_tokens(const struct store *s, size_t *count);

// By another program too, while a server has the folder: opened for the call, one transaction, then
// waits up to 2 s until the server has seen it. `t->id` and created_ms are filled in.
MUST_CHECK enum err store_token_add(const char *folder, struct store_token *t, struct fault *fault);
// By id or name (0, NULL: not by it); `count`: how many became revoked.
MUST_CHECK enum err store_token_revoke(const char *folder, uint64_t id, const char *name,
                                       size_t *count, struct fault *fault);
// *out is malloc'd.
MUST_CHECK enum err store_token_list(const char *folder, struct store_token **out, size_t *count,
                                     struct fault *fault);

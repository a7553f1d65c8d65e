#pragma once
#include <cjson/cJSON.h>

#include "server/api/api_internal.h"
#include "server/bake/edit.h"
#include "server/net/background.h"

// One request to the modellers' endpoint that takes more than a call: what it asks, what has been
// made of it, and its answer. It goes on when the peer is gone: what is half done would be worse.
// Loop thread, but for what its background job writes.
//
//   errand_begin -> checks, each may answer and end it -> errand_work (background) -> its `then`
//   -> errand_commit (store) -> its `apply` (library) -> answer
struct errand {
    struct api *api;
    uint64_t exchange; // its answer goes there, if it is there still
    struct auth_identity who;
    char address[64];
    char key[STORE_NAME_BYTES], request[STORE_HASH_BYTES]; // Idempotency-Key; "" without
    struct errand *next_keyed;                             // those at work with a key
    bool is_keyed, is_answered;

    struct library_model *model;
    char kind[12], driver[STORE_ITEM_BYTES], item[STORE_ITEM_BYTES];
    char label[2 * STORE_ITEM_BYTES]; // DRIVER:EXAMPLE, for the audit
    struct library_grant *grant;      // busy until the end when holds_grant
    bool holds_grant, holds_model;
    struct library_waiter waiter;

    // The background's: inputs, then outputs.
    struct background_job job;
    enum err (*run)(struct errand *e); // on a pool thread
    void (*then)(struct errand *e);    // on the loop; e->result tells
    enum err result;
    struct fault fault;
    struct edition *base;   // what is edited; a reference
    char base_path[1200];   // when it has to be opened first
    char upload_path[1200]; // the body is there
    struct edit steps[2];
    size_t step_count;
    uint8_t *body;
    size_t body_bytes;
    struct edit_delta *deltas;
    cJSON *json; // of the request
    struct edit_result made;
    struct edition_options numbers;
    struct role *like;       // numbers.like, held
    struct edition *edition; // made; a reference
    double bake_ms;
    uint8_t *out; // a surface to hand out
    size_t out_bytes;
    int form;
    char folder[1200]; // of files to bake; removed at the end

    struct store_commit commit;
    void (*apply)(struct errand *e); // the store has it
    int status;
    char etag[96], location[512];
    char *reply; // JSON
};

// NULL: answered (no memory, too many requests). Finds {model} when the route has it; unknown: 404,
// still being loaded: 503.
struct errand *errand_begin(struct http_exchange *x, struct api *a);
// The same, once an Idempotency-Key has been looked up: `go` runs unless the request was answered
// before, or is at work.
void errand_keyed(struct http_exchange *x, struct api *a, void (*go)(struct errand *e));
struct http_exchange *errand_exchange(struct errand *e); // NULL: gone, or answered

void errand_answer(struct errand *e, int status, cJSON *json); // takes json; with etag, location
void errand_answer_text(struct errand *e, int status, const char *json); // "" or NULL: no body
void errand_problem(struct errand *e, int status, const char *type, const char *title,
                    const char *detail, cJSON *more);
void errand_end(struct errand *e); // frees it; answers 500 when nothing has been said
// A problem, and that was all.
void errand_refuse(struct errand *e, int status, const char *type, const char *title,
                   const char *detail, cJSON *more);

// Runs e->run in the background, then e->then. Ends with 503 when the queue is full.
void errand_work(struct errand *e, enum err (*run)(struct errand *e),
                 void (*then)(struct errand *e));
// Commits e->commit, with audit and answer (takes json); then apply, the answer, the end.
void errand_commit(struct errand *e, int status, cJSON *json, const char *action,
                   void (*apply)(struct errand *e));

// Checks: false: answered and ended.
bool errand_if_match(struct errand *e, const char *tag, const char *now_etag, uint32_t version);
bool errand_json(struct errand *e);                           // the body as an object; empty: {}
bool errand_not_loading(struct errand *e, const char *model); // answered when it is; not ended
bool errand_served(struct errand *e);      // the model has a head; after a wait it may be retired
void errand_stale_model(struct errand *e); // 412 with the newest
const char *errand_text(const struct errand *e, const char *key); // of the JSON; NULL: none
int64_t errand_now_ms(void);
// What {item}, {root} or neither names, in kind, driver and item; its place in the head
// (EDIT_ABSENT: only in a draft of the asker's own).
bool errand_item(struct errand *e, int32_t *place);
bool errand_grant(struct errand *e); // Sinew-Grant and Sinew-Fence; marks it busy
void errand_hold(struct errand *e);

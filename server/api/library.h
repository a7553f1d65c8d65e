#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/api/edition.h"
#include "server/stage/stage.h"
#include "server/store/store.h"

// What there is to edit, in memory: models with their history, grants with their drafts, uploads.
// The store is what lasts; this follows what it has acknowledged. Loop thread. Decides nothing
// about who may do what.
enum { LIBRARY_ETAG_BYTES = 40 };

struct library_draft {
    struct store_draft row;  // report owned
    uint64_t bytes;          // of its body
    struct edition *edition; // NULL after a restart, until it is needed
};
struct library_grant {
    struct store_grant row;
    bool has_draft, busy; // busy: a change of it is at work
    struct library_draft draft;
    struct library_grant *next;
};
struct library_model {
    char name[STORE_NAME_BYTES], source[STORE_HASH_BYTES];
    bool retired;
    uint32_t number;                // in the cast; 0: never served by this process
    struct store_version *versions; // ascending; number = place + 1
    size_t version_count, version_capacity;
    struct edition *head; // NULL: not loaded (retired, or its file is missing)
    bool publishing;      // one at a time; others wait in their order
    struct library_waiter *waiting, **waiting_end;
    struct library_model *next;
};
struct library_waiter { // lies in what waits
    void (*go)(struct library_waiter *w);
    struct library_waiter *next;
};

struct library {
    struct store *store;
    struct stage *stage;
    enum simd_level level;
    struct library_model *models; // by name
    struct library_grant *grants;
    struct store_upload *uploads;
    size_t upload_count, upload_capacity;
    uint64_t fence; // newest given out
    // A token's newest draft of a model has changed: NULL when it has none. May be NULL itself.
    void (*on_draft)(void *owner, uint64_t token, const struct library_model *m, struct role *role);
    void *owner;
};

MUST_CHECK enum err library_open(struct library *l, struct store *store, struct stage *stage,
                                 struct fault *fault);
void library_close(struct library *l); // safe on zero

struct library_model *library_find(const struct library *l, const char *name);
// Makes the entry when it is new. NULL: memory.
struct library_model *library_model(struct library *l, const char *name);
const struct store_version *library_newest(const struct library_model *m);
const struct store_version *library_version(const struct library_model *m, uint32_t number);
void library_etag(const struct store_version *v, char out[LIBRARY_ETAG_BYTES]); // with its quotes
// A version that the store has; it is the newest. Takes over the reference and serves it; actors
// change between two ticks. NULL: not loaded.
MUST_CHECK enum err library_push(struct library *l, struct library_model *m,
                                 const struct store_version *v, struct edition *edition);
// Numbers for an edition that may be shown: role numbers, and what streams show now.
MUST_CHECK enum err library_numbers(struct library *l, struct library_model *m,
                                    struct edition_options *out, struct fault *fault);

struct library_grant *library_grant_by_id(const struct library *l, const char *id);
// Who holds that thing, however late.
struct library_grant *library_grant_of(const struct library *l, const char *model, const char *kind,
                                       const char *driver, const char *item);
struct library_grant *library_grant_add(struct library *l, const struct store_grant *row);
void library_grant_end(struct library *l, struct library_grant *g);
// Takes over edition and report; the draft before goes.
void library_draft_set(struct library *l, struct library_grant *g, const struct store_draft *row,
                       uint64_t bytes, struct edition *edition);
void library_draft_unload(struct library *l, struct library_grant *g); // it stays on the disk
void library_draft_end(struct library *l, struct library_grant *g);
// The role of a token's newest draft of a model that is loaded, or NULL.
struct role *library_draft_role(const struct library *l, uint64_t token, const char *model);

struct store_upload *library_upload(const struct library *l, const char *id);
struct store_upload *library_upload_add(struct library *l, const struct store_upload *u);
void library_upload_end(struct library *l, const char *id);

// One publishes on a model at a time. True: go on; library_leave after. False: `w` is called later.
bool library_enter(struct library_model *m, struct library_waiter *w);
void library_leave(struct library_model *m);

#pragma once
#include <sqlite3.h>
#include <stdatomic.h>

#include "server/store/store.h"

// What the files of the store share. Everything but `tokens` and the counters belongs to the
// store's thread once it runs.
enum { STORE_PATH_BYTES = 1024 };

struct store {
    struct store_options options;
    char folder[STORE_PATH_BYTES]; // FOLDER/store
    int lock_fd;
    sqlite3 *db;
    uv_thread_t thread;
    bool thread_runs;
    uv_mutex_t mutex; // waiting, finished, stopping, fresh
    uv_cond_t work;
    uv_async_t wake; // closes last; the memory goes with it
    struct store_job *waiting, **waiting_end, *finished, **finished_end;
    bool stopping;
    struct store_token *fresh; // read by the thread, not yet taken over by the loop
    size_t fresh_count;
    bool has_fresh;
    struct store_token *tokens; // the loop's
    size_t token_count;
    int64_t data_version;
    uint64_t checkpointed_ms;
    atomic_bool full;
    atomic_ullong wal_bytes;
};

int64_t store_now_ms(void);

// store_schema.c: opens the database of FOLDER/store, with its settings, migrated.
MUST_CHECK enum err store_schema_open(const char *folder, sqlite3 **out, struct fault *fault);

// store_commit.c, store_lists.c: on the store's thread.
void store_run_commit(struct store *s, struct store_job *job);
void store_run_append(struct store *s, struct store_job *job);
void store_run_recall(struct store *s, struct store_job *job);
void store_run_report(struct store *s, struct store_job *job);
void store_run_audit(struct store *s, struct store_job *job);
void store_sweep(struct store *s); // before the thread runs

// body_files.c. Writes `bytes` under its hash unless it is there; synced, with its folder, when it
// returns ERR_OK. A sync that failed is final: what was written goes.
MUST_CHECK enum err body_files_put(const char *folder, const uint8_t *bytes, size_t size_bytes,
                                   char sha256[STORE_HASH_BYTES], struct fault *fault);
MUST_CHECK enum err body_files_sync_folder(const char *path, struct fault *fault);
void body_files_path(const char *folder, const char *sha256, char *out, size_t out_bytes);
// Removes every file that `is_named` does not know.
void body_files_sweep(const char *folder, bool (*is_named)(const char *sha256, void *owner),
                      void *owner);
bool body_files_disk_full(const char *folder); // less than 5 % left
MUST_CHECK enum err body_files_make_folder(const char *path, struct fault *fault);

// audit_chain.c. Inside a transaction.
MUST_CHECK enum err audit_chain_add(sqlite3 *db, const struct store_audit *a, struct fault *fault);

// token_rows.c
MUST_CHECK enum err token_rows_read(sqlite3 *db, struct store_token **out, size_t *count,
                                    struct fault *fault);
// Tells programs that changed tokens that this server knows.
void token_rows_seen(sqlite3 *db);

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "common/file.h"
#include "common/log.h"
#include "server/store/rows.h"
#include "server/store/store_own.h"

// Tokens, by the server's thread and by `sinewd token`.

enum { SEEN_WAIT_MS = 2000 };

enum err token_rows_read(sqlite3 *db, struct store_token **out, size_t *count, struct fault *fault)
{
    sqlite3_stmt *stmt = NULL;
    size_t capacity = (size_t)rows_one(db, "SELECT count(*) FROM tokens", 0) + 16, n = 0;
    struct store_token *list = calloc(capacity, sizeof *list);
    if (!list) return fault_set(fault, ERR_MEMORY, "no memory for the tokens");
    enum err e = rows_prepare(db,
                              "SELECT id, name, scope, models, hash, created, expires, revoked "
                              "FROM tokens ORDER BY id",
                              &stmt, fault, "");
    while (n < capacity && rows_next(stmt, &e, fault)) {
        struct store_token *t = &list[n];
        t->id = (uint64_t)sqlite3_column_int64(stmt, 0);
        rows_text(stmt, 1, t->name, sizeof t->name);
        rows_text(stmt, 2, t->scope, sizeof t->scope);
        rows_text(stmt, 3, t->models, sizeof t->models);
        if (sqlite3_column_bytes(stmt, 4) != STORE_TOKEN_HASH_BYTES) continue;
        memcpy(t->hash, sqlite3_column_blob(stmt, 4), STORE_TOKEN_HASH_BYTES);
        t->created_ms = sqlite3_column_int64(stmt, 5);
        t->expires_ms = sqlite3_column_int64(stmt, 6);
        t->revoked_ms = sqlite3_column_int64(stmt, 7);
        n++;
    }
    (void)sqlite3_finalize(stmt);
    if (e != ERR_OK) {
        free(list);
        return e;
    }
    *out = list;
    *count = n;
    return ERR_OK;
}

void token_rows_seen(sqlite3 *db)
{
    // Where it fails they wait out their two seconds.
    enum err e =
        rows_run(db,
                 "UPDATE meta SET value = (SELECT value FROM meta WHERE key = 'tokens_changed') "
                 "WHERE key = 'tokens_seen' AND value <> "
                 "(SELECT value FROM meta WHERE key = 'tokens_changed')",
                 NULL, "");
    if (e != ERR_OK) log_event(LOG_LEVEL_WARN, "store.tokens_seen", LOG_T("error", err_text(e)));
}

// --- For a program of its own -------------------------------------------------------------------

static enum err open_beside(const char *folder, char *path, size_t path_bytes, sqlite3 **db,
                            struct fault *fault)
{
    (void)snprintf(path, path_bytes, "%s/store", folder);
    enum err e = body_files_make_folder(path, fault);
    return e == ERR_OK ? store_schema_open(path, db, fault) : e;
}

static bool server_is_there(const char *store_folder)
{
    char path[STORE_PATH_BYTES + 16];
    (void)snprintf(path, sizeof path, "%s/lock", store_folder);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return false;
    bool held = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    (void)close(fd);
    return held;
}

// A change that has returned is one that the server goes by.
static void wait_until_seen(sqlite3 *db, const char *store_folder)
{
    int64_t mine = rows_one(db, "SELECT value FROM meta WHERE key = 'tokens_changed'", 0);
    const struct timespec nap = {.tv_nsec = 5000000};
    for (int ms = 0; ms < SEEN_WAIT_MS && server_is_there(store_folder); ms += 5) {
        if (rows_one(db, "SELECT value FROM meta WHERE key = 'tokens_seen'", 0) >= mine) return;
        (void)nanosleep(&nap, NULL);
    }
}

static enum err end_change(sqlite3 *db, const struct store_audit *audit, enum err e,
                           struct fault *fault)
{
    if (e == ERR_OK) e = audit_chain_add(db, audit, fault);
    if (e == ERR_OK)
        e = rows_run(db, "UPDATE meta SET value = value + 1 WHERE key = 'tokens_changed'", fault,
                     "");
    if (e == ERR_OK) e = rows_run(db, "COMMIT", fault, "");
    if (e != ERR_OK) (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return e;
}

enum err store_token_add(const char *folder, struct store_token *t, struct fault *fault)
{
    char path[STORE_PATH_BYTES];
    sqlite3 *db = NULL;
    enum err e = open_beside(folder, path, sizeof path, &db, fault);
    if (e != ERR_OK) return e;
    t->created_ms = store_now_ms();
    e = rows_run(db, "BEGIN IMMEDIATE", fault, "");
    if (e == ERR_OK) {
        e = rows_run(db,
                     "INSERT INTO tokens (name, scope, models, hash, created, expires, revoked) "
                     "VALUES (?, ?, ?, ?, ?, ?, 0)",
                     fault, "ssshii", t->name, t->scope, t->models, t->hash, t->created_ms,
                     t->expires_ms);
        t->id = (uint64_t)sqlite3_last_insert_rowid(db);
        const struct store_audit audit = {.actor = "sinewd token",
                                          .action = "token.add",
                                          .item = t->name,
                                          .token = t->id,
                                          .result = t->scope};
        e = end_change(db, &audit, e, fault);
    }
    if (e == ERR_OK) wait_until_seen(db, path);
    (void)sqlite3_close(db);
    return e;
}

enum err store_token_revoke(const char *folder, uint64_t id, const char *name, size_t *count,
                            struct fault *fault)
{
    char path[STORE_PATH_BYTES];
    sqlite3 *db = NULL;
    enum err e = open_beside(folder, path, sizeof path, &db, fault);
    if (e != ERR_OK) return e;
    e = rows_run(db, "BEGIN IMMEDIATE", fault, "");
    if (e == ERR_OK) {
        e = rows_run(db,
                     "UPDATE tokens SET revoked = ?1 WHERE revoked = 0 AND "
                     "((?2 <> 0 AND id = ?2) OR (?3 <> '' AND name = ?3))",
                     fault, "ius", store_now_ms(), id, name);
        *count = e == ERR_OK ? (size_t)sqlite3_changes(db) : 0;
        const struct store_audit audit = {.actor = "sinewd token",
                                          .action = "token.revoke",
                                          .item = name,
                                          .token = id,
                                          .result = *count ? "revoked" : "none"};
        e = end_change(db, &audit, e, fault);
    }
    if (e == ERR_OK) wait_until_seen(db, path);
    (void)sqlite3_close(db);
    return e;
}

enum err store_token_list(const char *folder, struct store_token **out, size_t *count,
                          struct fault *fault)
{
    char path[STORE_PATH_BYTES];
    sqlite3 *db = NULL;
    enum err e = open_beside(folder, path, sizeof path, &db, fault);
    if (e != ERR_OK) return e;
    e = token_rows_read(db, out, count, fault);
    (void)sqlite3_close(db);
    return e;
}

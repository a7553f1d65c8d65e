#include <stdio.h>

#include "server/store/rows.h"
#include "server/store/store_own.h"

// Each entry brings the schema from the version of its place to the next; entries never change.
static const char *const migrations[] = {
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE models (name TEXT PRIMARY KEY, source TEXT NOT NULL, retired INTEGER NOT NULL)"
    "  WITHOUT ROWID;"
    "CREATE TABLE versions (model TEXT NOT NULL, number INTEGER NOT NULL, parent INTEGER NOT NULL,"
    "  restores INTEGER NOT NULL, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, kind TEXT NOT NULL,"
    "  item TEXT NOT NULL, author TEXT NOT NULL, message TEXT NOT NULL, time INTEGER NOT NULL,"
    "  report TEXT NOT NULL, PRIMARY KEY (model, number)) WITHOUT ROWID;"
    "CREATE INDEX versions_bodies ON versions (sha256);"
    "CREATE TABLE grants (id TEXT PRIMARY KEY, fence INTEGER NOT NULL, token INTEGER NOT NULL,"
    "  model TEXT NOT NULL, kind TEXT NOT NULL, driver TEXT NOT NULL, item TEXT NOT NULL,"
    "  holder TEXT NOT NULL, since INTEGER NOT NULL, expires INTEGER NOT NULL,"
    "  base_version INTEGER NOT NULL, base_tag TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE drafts (grant_id TEXT PRIMARY KEY, sha256 TEXT NOT NULL, tag TEXT NOT NULL,"
    "  base_version INTEGER NOT NULL, moved INTEGER NOT NULL, largest REAL NOT NULL,"
    "  mirror TEXT NOT NULL, keep TEXT NOT NULL, report TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE uploads (id TEXT PRIMARY KEY, size INTEGER NOT NULL, offset INTEGER NOT NULL,"
    "  token INTEGER NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE replies (token INTEGER NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL,"
    "  status INTEGER NOT NULL, etag TEXT NOT NULL, location TEXT NOT NULL, body TEXT NOT NULL,"
    "  time INTEGER NOT NULL, PRIMARY KEY (token, key)) WITHOUT ROWID;"
    "CREATE INDEX replies_time ON replies (time);"
    "CREATE TABLE audit (sequence INTEGER PRIMARY KEY, entry TEXT NOT NULL, hash TEXT NOT NULL);"
    "CREATE TABLE tokens (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,"
    "  scope TEXT NOT NULL, models TEXT NOT NULL, hash BLOB NOT NULL UNIQUE,"
    "  created INTEGER NOT NULL, expires INTEGER NOT NULL, revoked INTEGER NOT NULL);"
    "INSERT INTO meta VALUES ('tokens_changed', 0), ('tokens_seen', 0);",
};
enum { SCHEMA_VERSION = sizeof migrations / sizeof migrations[0] };

static enum err run_script(sqlite3 *db, const char *sql, struct fault *fault)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? ERR_OK : rows_fault(db, fault);
}

static enum err migrate_one(sqlite3 *db, int from, struct fault *fault)
{
    char stamp[64];
    (void)snprintf(stamp, sizeof stamp, "PRAGMA user_version = %d", from + 1);
    enum err e = run_script(db, migrations[from], fault);
    return e == ERR_OK ? run_script(db, stamp, fault) : e;
}

// In one transaction, so that two programs that start at once do it once.
static enum err migrate(sqlite3 *db, struct fault *fault)
{
    if (rows_one(db, "PRAGMA user_version", 0) == SCHEMA_VERSION) return ERR_OK;
    enum err e = run_script(db, "BEGIN IMMEDIATE", fault);
    if (e != ERR_OK) return e;
    int64_t version = rows_one(db, "PRAGMA user_version", 0);
    if (version > SCHEMA_VERSION)
        e = fault_set(fault, ERR_VERSION,
                      "the store is of a newer program (schema %lld, this one reads %d)",
                      (long long)version, (int)SCHEMA_VERSION);
    for (int i = (int)version; e == ERR_OK && i < SCHEMA_VERSION; i++)
        e = migrate_one(db, i, fault);
    if (e == ERR_OK) return run_script(db, "COMMIT", fault);
    (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return e;
}

enum err store_schema_open(const char *folder, sqlite3 **out, struct fault *fault)
{
    // FULL: what a commit has acknowledged survives a power cut.
    static const char settings[] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                                   "PRAGMA journal_size_limit = 67108864;"
                                   "PRAGMA trusted_schema = OFF;";
    char path[STORE_PATH_BYTES + 32];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof path, "%s/sinew.db", folder);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK) {
        enum err e = fault_set(fault, ERR_IO, "cannot open %s: %s", path,
                               db ? sqlite3_errmsg(db) : "no memory");
        (void)sqlite3_close(db);
        return e;
    }
    (void)sqlite3_busy_timeout(db, 5000);
    enum err e = run_script(db, settings, fault);
    if (e == ERR_OK) e = migrate(db, fault);
    // SQLite passes over a failed sync of the folder in which it has made its log: done here, where
    // a failure is one.
    if (e == ERR_OK) e = body_files_sync_folder(folder, fault);
    if (e == ERR_OK)
        *out = db;
    else
        (void)sqlite3_close(db);
    return e;
}

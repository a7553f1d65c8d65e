#include <cjson/cJSON.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/store/rows.h"
#include "server/store/store_own.h"

// Reading: everything at start, then answers and the audit on the store's thread.

static const char *column_text(sqlite3_stmt *stmt, int column)
{
    const unsigned char *text = sqlite3_column_text(stmt, column);
    return text ? (const char *)text : "";
}

static uint32_t column_u32(sqlite3_stmt *stmt, int column)
{
    return (uint32_t)sqlite3_column_int64(stmt, column);
}

static enum err load_models(struct store *s, const struct store_visitor *v, struct fault *fault)
{
    sqlite3_stmt *stmt = NULL;
    enum err e = rows_prepare(s->db, "SELECT name, source, retired FROM models ORDER BY name",
                              &stmt, fault, "");
    while (rows_next(stmt, &e, fault)) {
        struct store_model m = {.retired = sqlite3_column_int(stmt, 2) != 0};
        rows_text(stmt, 0, m.name, sizeof m.name);
        rows_text(stmt, 1, m.source, sizeof m.source);
        v->model(v->owner, &m);
    }
    (void)sqlite3_finalize(stmt);
    return e;
}

static bool body_is_there(const struct store *s, const char *sha256, uint64_t bytes)
{
    char path[STORE_PATH_BYTES + 96];
    struct stat st;
    body_files_path(s->folder, sha256, path, sizeof path);
    return stat(path, &st) == 0 && (uint64_t)st.st_size == bytes;
}

static enum err load_versions(struct store *s, const struct store_visitor *v, struct fault *fault)
{
    sqlite3_stmt *stmt = NULL;
    enum err e = rows_prepare(s->db,
                              "SELECT model, number, parent, restores, sha256, bytes, kind, item, "
                              "author, message, time, report FROM versions ORDER BY model, number",
                              &stmt, fault, "");
    while (rows_next(stmt, &e, fault)) {
        struct store_version x = {.number = column_u32(stmt, 1),
                                  .parent = column_u32(stmt, 2),
                                  .restores = column_u32(stmt, 3),
                                  .bytes = (uint64_t)sqlite3_column_int64(stmt, 5),
                                  .time_ms = sqlite3_column_int64(stmt, 10),
                                  .report = column_text(stmt, 11)};
        rows_text(stmt, 0, x.model, sizeof x.model);
        rows_text(stmt, 4, x.sha256, sizeof x.sha256);
        rows_text(stmt, 6, x.kind, sizeof x.kind);
        rows_text(stmt, 7, x.item, sizeof x.item);
        rows_text(stmt, 8, x.author, sizeof x.author);
        rows_text(stmt, 9, x.message, sizeof x.message);
        if (!body_is_there(s, x.sha256, x.bytes)) x.bytes = 0;
        v->version(v->owner, &x);
    }
    (void)sqlite3_finalize(stmt);
    return e;
}

static enum err load_grants(struct store *s, const struct store_visitor *v, struct fault *fault)
{
    sqlite3_stmt *stmt = NULL;
    enum err e = rows_prepare(s->db,
                              "SELECT id, fence, token, model, kind, driver, item, holder, since, "
                              "expires, base_version, base_tag FROM grants ORDER BY fence",
                              &stmt, fault, "");
    while (rows_next(stmt, &e, fault)) {
        struct store_grant g = {.fence = (uint64_t)sqlite3_column_int64(stmt, 1),
                                .token = (uint64_t)sqlite3_column_int64(stmt, 2),
                                .since_ms = sqlite3_column_int64(stmt, 8),
                                .expires_ms = sqlite3_column_int64(stmt, 9),
                                .base_version = column_u32(stmt, 10)};
        rows_text(stmt, 0, g.id, sizeof g.id);
        rows_text(stmt, 3, g.model, sizeof g.model);
        rows_text(stmt, 4, g.kind, sizeof g.kind);
        rows_text(stmt, 5, g.driver, sizeof g.driver);
        rows_text(stmt, 6, g.item, sizeof g.item);
        rows_text(stmt, 7, g.holder, sizeof g.holder);
        rows_text(stmt, 11, g.base_tag, sizeof g.base_tag);
        v->grant(v->owner, &g);
    }
    (void)sqlite3_finalize(stmt);
    return e;
}

static enum err load_drafts(struct store *s, const struct store_visitor *v, struct fault *fault)
{
    sqlite3_stmt *stmt = NULL;
    enum err e = rows_prepare(s->db,
                              "SELECT grant_id, sha256, tag, base_version, moved, largest, mirror, "
                              "keep, report FROM drafts",
                              &stmt, fault, "");
    while (rows_next(stmt, &e, fault)) {
        struct store_draft d = {.base_version = column_u32(stmt, 3),
                                .moved = column_u32(stmt, 4),
                                .largest_move = sqlite3_column_double(stmt, 5),
                                .report = column_text(stmt, 8)};
        rows_text(stmt, 0, d.grant, sizeof d.grant);
        rows_text(stmt, 1, d.sha256, sizeof d.sha256);
        rows_text(stmt, 2, d.tag, sizeof d.tag);
        rows_text(stmt, 6, d.mirror, sizeof d.mirror);
        rows_text(stmt, 7, d.keep, sizeof d.keep);
        v->draft(v->owner, &d);
    }
    (void)sqlite3_finalize(stmt);
    return e;
}

static enum err load_uploads(struct store *s, const struct store_visitor *v, struct fault *fault)
{
    sqlite3_stmt *stmt = NULL;
    enum err e = rows_prepare(s->db, "SELECT id, size, offset, token, expires FROM uploads", &stmt,
                              fault, "");
    while (rows_next(stmt, &e, fault)) {
        struct store_upload u = {.size_bytes = (uint64_t)sqlite3_column_int64(stmt, 1),
                                 .offset = (uint64_t)sqlite3_column_int64(stmt, 2),
                                 .token = (uint64_t)sqlite3_column_int64(stmt, 3),
                                 .expires_ms = sqlite3_column_int64(stmt, 4)};
        rows_text(stmt, 0, u.id, sizeof u.id);
        v->upload(v->owner, &u);
    }
    (void)sqlite3_finalize(stmt);
    return e;
}

enum err store_load(struct store *s, const struct store_visitor *v, struct fault *fault)
{
    enum err e = ERR_OK;
    if (v->model) e = load_models(s, v, fault);
    if (e == ERR_OK && v->version) e = load_versions(s, v, fault);
    if (e == ERR_OK && v->grant) e = load_grants(s, v, fault);
    if (e == ERR_OK && v->draft) e = load_drafts(s, v, fault);
    if (e == ERR_OK && v->upload) e = load_uploads(s, v, fault);
    return e;
}

// --- The sweep ----------------------------------------------------------------------------------

static bool has_row(sqlite3 *db, const char *sql, const char *key)
{
    sqlite3_stmt *stmt = NULL;
    enum err e = rows_prepare(db, sql, &stmt, NULL, "s", key);
    bool found = e != ERR_OK; // what cannot be asked is left alone
    if (e == ERR_OK) found = rows_next(stmt, &e, NULL) || e != ERR_OK;
    (void)sqlite3_finalize(stmt);
    return found;
}

static bool is_named(const char *sha256, void *owner)
{
    const struct store *s = owner;
    return has_row(s->db,
                   "SELECT 1 FROM versions WHERE sha256 = ?1 UNION ALL "
                   "SELECT 1 FROM drafts WHERE sha256 = ?1 LIMIT 1",
                   sha256);
}

void store_sweep(struct store *s)
{
    char path[STORE_PATH_BYTES + 512];
    enum err e =
        rows_run(s->db, "DELETE FROM uploads WHERE expires < ?", NULL, "i", store_now_ms());
    if (e != ERR_OK) return; // what cannot be read is left alone
    body_files_sweep(s->folder, is_named, s);
    (void)snprintf(path, sizeof path, "%s/uploads", s->folder);
    DIR *dir = opendir(path);
    for (struct dirent *d;
         dir && (d = readdir(dir));) { // NOLINT(concurrency-mt-unsafe): a stream of our own
        if (d->d_name[0] == '.' || has_row(s->db, "SELECT 1 FROM uploads WHERE id = ?", d->d_name))
            continue;
        (void)snprintf(path, sizeof path, "%s/uploads/%s", s->folder, d->d_name);
        (void)unlink(path);
    }
    if (dir) (void)closedir(dir);
}

// --- Jobs ---------------------------------------------------------------------------------------

void store_run_recall(struct store *s, struct store_job *job)
{
    struct store_recall *r = (struct store_recall *)job;
    sqlite3_stmt *stmt = NULL;
    enum err e = rows_prepare(s->db,
                              "SELECT request, status, etag, location, body, time FROM replies "
                              "WHERE token = ? AND key = ?",
                              &stmt, &job->fault, "us", r->reply.token, r->reply.key);
    if (rows_next(stmt, &e, &job->fault)) {
        rows_text(stmt, 0, r->reply.request, sizeof r->reply.request);
        r->reply.status = sqlite3_column_int(stmt, 1);
        rows_text(stmt, 2, r->reply.etag, sizeof r->reply.etag);
        rows_text(stmt, 3, r->reply.location, sizeof r->reply.location);
        r->body = strdup(column_text(stmt, 4));
        r->reply.time_ms = sqlite3_column_int64(stmt, 5);
        if (!r->body) e = ERR_MEMORY;
    } else if (e == ERR_OK) {
        e = ERR_NOT_FOUND;
    }
    (void)sqlite3_finalize(stmt);
    job->result = e;
}

void store_run_report(struct store *s, struct store_job *job)
{
    struct store_report *r = (struct store_report *)job;
    sqlite3_stmt *stmt = NULL;
    enum err e = rows_prepare(s->db, "SELECT report FROM versions WHERE model = ? AND number = ?",
                              &stmt, &job->fault, "sn", r->model, r->number);
    if (rows_next(stmt, &e, &job->fault)) r->report = strdup(column_text(stmt, 0));
    (void)sqlite3_finalize(stmt);
    job->result = e == ERR_OK && !r->report ? ERR_NOT_FOUND : e;
}

void store_run_audit(struct store *s, struct store_job *job)
{
    struct store_audit_page *p = (struct store_audit_page *)job;
    sqlite3_stmt *stmt = NULL;
    cJSON *root = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(root, "rows");
    uint64_t last = p->after;
    enum err e = rows_prepare(s->db,
                              "SELECT sequence, entry, hash FROM audit WHERE sequence > ? "
                              "ORDER BY sequence LIMIT ?",
                              &stmt, &job->fault, "un", p->after, p->limit);
    while (rows_next(stmt, &e, &job->fault)) {
        cJSON *row = cJSON_CreateObject();
        last = (uint64_t)sqlite3_column_int64(stmt, 0);
        (void)cJSON_AddNumberToObject(row, "sequence", (double)last);
        (void)cJSON_AddStringToObject(row, "entry", column_text(stmt, 1));
        (void)cJSON_AddStringToObject(row, "hash", column_text(stmt, 2));
        (void)cJSON_AddItemToArray(rows, row);
    }
    (void)sqlite3_finalize(stmt);
    (void)cJSON_AddNumberToObject(root, "last", (double)last);
    p->json = e == ERR_OK ? cJSON_PrintUnformatted(root) : NULL;
    if (e == ERR_OK && !p->json) e = ERR_MEMORY;
    cJSON_Delete(root);
    job->result = e;
}

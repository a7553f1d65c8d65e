#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "server/store/rows.h"
#include "server/store/store_own.h"

// Transactions, on the store's thread. A body's file stands before the row that names it; a file
// whose row did not come is swept at the next start.

static enum err put_version(sqlite3 *db, const struct store_version *v, struct fault *fault)
{
    sqlite3_stmt *stmt = NULL;
    int64_t newest = 0;
    enum err e = rows_prepare(db, "SELECT coalesce(max(number), 0) FROM versions WHERE model = ?",
                              &stmt, fault, "s", v->model);
    if (e == ERR_OK && rows_next(stmt, &e, fault)) newest = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    if (e != ERR_OK) return e;
    if (newest != v->parent || v->number != v->parent + 1)
        return fault_set(fault, ERR_STALE, "version %u is not the newest of %s: %lld is", v->parent,
                         v->model, (long long)newest);
    return rows_run(db, "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", fault,
                    "snnnsussssis", v->model, v->number, v->parent, v->restores, v->sha256,
                    v->bytes, v->kind, v->item, v->author, v->message, v->time_ms, v->report);
}

static enum err put_grant(sqlite3 *db, const struct store_grant *g, struct fault *fault)
{
    return rows_run(db, "INSERT OR REPLACE INTO grants VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", fault,
                    "suusssssiins", g->id, g->fence, g->token, g->model, g->kind, g->driver,
                    g->item, g->holder, g->since_ms, g->expires_ms, g->base_version, g->base_tag);
}

static enum err put_draft(sqlite3 *db, const struct store_draft *d, struct fault *fault)
{
    return rows_run(db, "INSERT OR REPLACE INTO drafts VALUES (?,?,?,?,?,?,?,?,?)", fault,
                    "sssnndsss", d->grant, d->sha256, d->tag, d->base_version, d->moved,
                    d->largest_move, d->mirror, d->keep, d->report);
}

static enum err put_reply(sqlite3 *db, const struct store_reply *r, struct fault *fault)
{
    const int64_t day_ms = (int64_t)24 * 3600 * 1000;
    enum err e =
        rows_run(db, "DELETE FROM replies WHERE time < ?", fault, "i", r->time_ms - day_ms);
    if (e != ERR_OK) return e;
    return rows_run(db, "INSERT OR REPLACE INTO replies VALUES (?,?,?,?,?,?,?,?)", fault,
                    "ussisssi", r->token, r->key, r->request, (int64_t)r->status, r->etag,
                    r->location, r->body, r->time_ms);
}

static enum err put_ends(sqlite3 *db, const struct store_commit *c, struct fault *fault)
{
    enum err e = ERR_OK;
    if (c->parts & STORE_GRANT_END) {
        e = rows_run(db, "DELETE FROM drafts WHERE grant_id = ?", fault, "s", c->grant.id);
        if (e == ERR_OK)
            e = rows_run(db, "DELETE FROM grants WHERE id = ?", fault, "s", c->grant.id);
    }
    if (e == ERR_OK && c->parts & STORE_DRAFT_END)
        e = rows_run(db, "DELETE FROM drafts WHERE grant_id = ?", fault, "s", c->draft.grant);
    if (e == ERR_OK && c->parts & STORE_UPLOAD_END)
        e = rows_run(db, "DELETE FROM uploads WHERE id = ?", fault, "s", c->upload.id);
    return e;
}

static enum err put_parts(sqlite3 *db, const struct store_commit *c, struct fault *fault)
{
    enum err e = put_ends(db, c, fault);
    if (e == ERR_OK && c->parts & STORE_MODEL)
        e = rows_run(db, "INSERT OR REPLACE INTO models VALUES (?, ?, ?)", fault, "ssn",
                     c->model.name, c->model.source, (uint32_t)c->model.retired);
    if (e == ERR_OK && c->parts & STORE_VERSION) e = put_version(db, &c->version, fault);
    if (e == ERR_OK && c->parts & STORE_GRANT) e = put_grant(db, &c->grant, fault);
    if (e == ERR_OK && c->parts & STORE_DRAFT) e = put_draft(db, &c->draft, fault);
    if (e == ERR_OK && c->parts & STORE_UPLOAD)
        e = rows_run(db, "INSERT OR REPLACE INTO uploads VALUES (?, ?, ?, ?, ?)", fault, "suuui",
                     c->upload.id, c->upload.size_bytes, c->upload.offset, c->upload.token,
                     c->upload.expires_ms);
    if (e == ERR_OK && c->parts & STORE_REPLY) e = put_reply(db, &c->reply, fault);
    if (e == ERR_OK && c->parts & STORE_AUDIT) e = audit_chain_add(db, &c->audit, fault);
    return e;
}

// The body of the draft that this transaction replaces or ends, if any.
static void body_before(sqlite3 *db, const struct store_commit *c, char out[STORE_HASH_BYTES])
{
    sqlite3_stmt *stmt = NULL;
    enum err e = ERR_OK;
    const char *grant = c->parts & STORE_GRANT_END ? c->grant.id : c->draft.grant;
    out[0] = '\0';
    if (!(c->parts & (STORE_GRANT_END | STORE_DRAFT_END | STORE_DRAFT))) return;
    if (rows_prepare(db, "SELECT sha256 FROM drafts WHERE grant_id = ?", &stmt, NULL, "s", grant) !=
        ERR_OK)
        return;
    if (rows_next(stmt, &e, NULL)) rows_text(stmt, 0, out, STORE_HASH_BYTES);
    (void)sqlite3_finalize(stmt);
}

static void drop_body(struct store *s, const char *sha256)
{
    char path[STORE_PATH_BYTES + 96];
    sqlite3_stmt *stmt = NULL;
    enum err e = ERR_OK;
    int64_t uses = 1;
    if (!sha256[0] || rows_prepare(s->db,
                                   "SELECT (SELECT count(*) FROM versions WHERE sha256 = ?1) + "
                                   "(SELECT count(*) FROM drafts WHERE sha256 = ?1)",
                                   &stmt, NULL, "s", sha256) != ERR_OK)
        return;
    if (rows_next(stmt, &e, NULL)) uses = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    body_files_path(s->folder, sha256, path, sizeof path);
    if (uses == 0) (void)unlink(path);
}

static enum err write_body(struct store *s, struct store_commit *c)
{
    if (!c->body) return ERR_OK;
    enum err e = body_files_put(s->folder, c->body, c->body_bytes, c->sha256, &c->job.fault);
    if (e != ERR_OK) return e;
    if (c->parts & STORE_VERSION && !c->version.sha256[0]) {
        memcpy(c->version.sha256, c->sha256, sizeof c->sha256);
        c->version.bytes = c->body_bytes;
    }
    if (c->parts & STORE_DRAFT && !c->draft.sha256[0])
        memcpy(c->draft.sha256, c->sha256, sizeof c->sha256);
    if (c->parts & STORE_AUDIT && !c->audit.sha256) c->audit.sha256 = c->sha256;
    return ERR_OK;
}

static enum err refuse_when_full(struct store *s, uint32_t parts, struct fault *fault)
{
    // What gives space back, or only says no, may go on.
    const uint32_t growing = STORE_MODEL | STORE_VERSION | STORE_GRANT | STORE_DRAFT | STORE_UPLOAD;
    bool full = body_files_disk_full(s->folder);
    atomic_store(&s->full, full);
    if (!full || !(parts & growing)) return ERR_OK;
    return fault_set(fault, ERR_LIMIT,
                     "less than 5 %% of the data folder's disk is free: nothing is taken until "
                     "there is space");
}

void store_run_commit(struct store *s, struct store_job *job)
{
    struct store_commit *c = (struct store_commit *)job;
    char before[STORE_HASH_BYTES];
    enum err e = refuse_when_full(s, c->parts, &job->fault);
    if (e == ERR_OK) e = write_body(s, c);
    if (e == ERR_OK) e = rows_run(s->db, "BEGIN IMMEDIATE", &job->fault, "");
    if (e == ERR_OK) {
        body_before(s->db, c, before);
        e = put_parts(s->db, c, &job->fault);
        if (e == ERR_OK) e = rows_run(s->db, "COMMIT", &job->fault, "");
        if (e == ERR_OK)
            drop_body(s, before);
        else
            (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    }
    if (e != ERR_OK) drop_body(s, c->sha256);
    if (e == ERR_OK && c->parts & STORE_UPLOAD_END) {
        char path[STORE_PATH_BYTES + 64];
        store_upload_path(s, c->upload.id, path, sizeof path);
        (void)unlink(path);
    }
    job->result = e;
}

// --- Uploads ------------------------------------------------------------------------------------

static enum err append_bytes(int fd, const struct store_append *a, const char *path,
                             struct fault *fault)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return file_fault(fault, "read", path);
    // Bytes beyond the row's offset were never acknowledged: they are written over.
    if ((uint64_t)st.st_size < a->offset)
        return fault_set(fault, ERR_STALE, "the upload is shorter than its offset");
    for (size_t at = 0; at < a->size_bytes;) {
        ssize_t n = pwrite(fd, a->bytes + at, a->size_bytes - at, (off_t)(a->offset + at));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == ENOSPC || errno == EDQUOT))
            return fault_set(fault, ERR_LIMIT,
                             "the disk of the data folder is full: free some space");
        if (n < 0) return file_fault(fault, "write", path);
        at += (size_t)n;
    }
    if (ftruncate(fd, (off_t)(a->offset + a->size_bytes)) != 0 || fsync(fd) != 0)
        return file_fault(fault, "sync", path);
    return ERR_OK;
}

void store_run_append(struct store *s, struct store_job *job)
{
    struct store_append *a = (struct store_append *)job;
    char path[STORE_PATH_BYTES + 64];
    store_upload_path(s, a->id, path, sizeof path);
    enum err e = refuse_when_full(s, STORE_UPLOAD, &job->fault);
    int fd = e == ERR_OK ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640) : -1;
    if (e == ERR_OK && fd < 0) e = file_fault(&job->fault, "open", path);
    if (e == ERR_OK) e = append_bytes(fd, a, path, &job->fault);
    if (fd >= 0) (void)close(fd);
    if (e == ERR_OK)
        e = rows_run(s->db, "UPDATE uploads SET offset = ? WHERE id = ?", &job->fault, "us",
                     a->offset + a->size_bytes, a->id);
    if (e == ERR_OK && sqlite3_changes(s->db) != 1)
        e = fault_set(&job->fault, ERR_NOT_FOUND, "the upload is gone");
    if (e == ERR_OK) a->offset += a->size_bytes;
    job->result = e;
}

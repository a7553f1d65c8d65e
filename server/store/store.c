#include "server/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/log.h"
#include "server/store/rows.h"
#include "server/store/store_own.h"

enum {
    LOOK_MS = 25, // how often other programs' changes are looked for
    CHECKPOINT_MS = 30000
};

int64_t store_now_ms(void)
{
    return (int64_t)(clock_wall_ns() / 1000000u);
}

void store_body_path(const struct store *s, const char *sha256, char *out, size_t out_bytes)
{
    body_files_path(s->folder, sha256, out, out_bytes);
}

void store_upload_path(const struct store *s, const char *id, char *out, size_t out_bytes)
{
    (void)snprintf(out, out_bytes, "%s/uploads/%s", s->folder, id);
}

bool store_is_full(const struct store *s)
{
    return atomic_load(&s->full);
}

uint64_t store_wal_bytes(const struct store *s)
{
    return atomic_load(&s->wal_bytes);
}

const struct store_token *store_tokens(const struct store *s, size_t *count)
{
    *count = s->token_count;
    return s->tokens;
}

// --- The thread ---------------------------------------------------------------------------------

static void look_for_tokens(struct store *s)
{
    int64_t version = rows_one(s->db, "PRAGMA data_version", 0);
    struct store_token *list;
    size_t count;
    struct fault fault = {0};
    if (version == s->data_version) return;
    if (token_rows_read(s->db, &list, &count, &fault) != ERR_OK) {
        log_event(LOG_LEVEL_ERROR, "store.tokens", LOG_T("error", fault.line));
        return;
    }
    s->data_version = version;
    uv_mutex_lock(&s->mutex);
    free(s->fresh);
    s->fresh = list;
    s->fresh_count = count;
    s->has_fresh = true;
    uv_mutex_unlock(&s->mutex);
    CHECK(uv_async_send(&s->wake) == 0);
}

static void look_after(struct store *s)
{
    char path[STORE_PATH_BYTES + 32];
    struct stat st;
    uint64_t now = clock_ns() / 1000000u;
    look_for_tokens(s);
    (void)snprintf(path, sizeof path, "%s/sinew.db-wal", s->folder);
    atomic_store(&s->wal_bytes, stat(path, &st) == 0 ? (uint64_t)st.st_size : 0);
    if (now - s->checkpointed_ms < CHECKPOINT_MS) return;
    s->checkpointed_ms = now;
    atomic_store(&s->full, body_files_disk_full(s->folder));
    (void)sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

static void finish(struct store *s, struct store_job *job)
{
    job->next = NULL;
    uv_mutex_lock(&s->mutex);
    *s->finished_end = job;
    s->finished_end = &job->next;
    uv_mutex_unlock(&s->mutex);
    CHECK(uv_async_send(&s->wake) == 0);
}

static void thread_main(void *arg)
{
    struct store *s = arg;
    for (;;) {
        uv_mutex_lock(&s->mutex);
        if (!s->waiting && !s->stopping)
            (void)uv_cond_timedwait(&s->work, &s->mutex, LOOK_MS * (uint64_t)1000000);
        struct store_job *job = s->waiting;
        bool stop = s->stopping && !job;
        if (job) {
            s->waiting = job->next;
            if (!s->waiting) s->waiting_end = &s->waiting;
        }
        uv_mutex_unlock(&s->mutex);
        if (stop) return;
        if (job) {
            job->run(s, job);
            finish(s, job);
        } else {
            look_after(s);
        }
    }
}

static void take_tokens(struct store *s)
{
    uv_mutex_lock(&s->mutex);
    bool has = s->has_fresh;
    struct store_token *list = s->fresh;
    size_t count = s->fresh_count;
    s->fresh = NULL;
    s->has_fresh = false;
    uv_mutex_unlock(&s->mutex);
    if (!has) return;
    free(s->tokens);
    s->tokens = list;
    s->token_count = count;
    if (s->options.on_tokens) s->options.on_tokens(s->options.owner);
}

struct seen_job {
    struct store_job job;
};

static void run_seen(struct store *s, struct store_job *job)
{
    token_rows_seen(s->db);
    job->result = ERR_OK;
}

static void on_seen(struct store_job *job)
{
    free(job);
}

static void submit(struct store *s, struct store_job *job,
                   void (*run)(struct store *, struct store_job *))
{
    job->run = run;
    job->next = NULL;
    job->result = ERR_OK;
    job->fault = (struct fault){0};
    uv_mutex_lock(&s->mutex);
    *s->waiting_end = job;
    s->waiting_end = &job->next;
    uv_cond_signal(&s->work);
    uv_mutex_unlock(&s->mutex);
}

// The loop goes by the new tokens now: those who wait for that may go on.
static void tell_seen(struct store *s)
{
    struct seen_job *seen = calloc(1, sizeof *seen);
    if (!seen) return;
    seen->job.done = on_seen;
    submit(s, &seen->job, run_seen);
}

static void take_finished(struct store *s)
{
    uv_mutex_lock(&s->mutex);
    struct store_job *job = s->finished;
    s->finished = NULL;
    s->finished_end = &s->finished;
    uv_mutex_unlock(&s->mutex);
    while (job) {
        struct store_job *next = job->next;
        job->done(job);
        job = next;
    }
}

static void on_wake(uv_async_t *wake)
{
    struct store *s = wake->data;
    bool fresh;
    uv_mutex_lock(&s->mutex);
    fresh = s->has_fresh;
    uv_mutex_unlock(&s->mutex);
    if (fresh) {
        take_tokens(s);
        tell_seen(s);
    }
    take_finished(s);
}

void store_commit(struct store *s, struct store_commit *c)
{
    submit(s, &c->job, store_run_commit);
}

void store_recall(struct store *s, struct store_recall *r)
{
    submit(s, &r->job, store_run_recall);
}

void store_append(struct store *s, struct store_append *a)
{
    submit(s, &a->job, store_run_append);
}

void store_report(struct store *s, struct store_report *r)
{
    submit(s, &r->job, store_run_report);
}

void store_audit_page(struct store *s, struct store_audit_page *p)
{
    submit(s, &p->job, store_run_audit);
}

// --- Opening and closing ------------------------------------------------------------------------

static enum err make_folders(struct store *s, struct fault *fault)
{
    static const char *const below[] = {"", "/bodies", "/uploads"};
    char path[STORE_PATH_BYTES + 16];
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < sizeof below / sizeof below[0]; i++) {
        (void)snprintf(path, sizeof path, "%s%s", s->folder, below[i]);
        e = body_files_make_folder(path, fault);
    }
    return e;
}

static enum err take_lock(struct store *s, struct fault *fault)
{
    char path[STORE_PATH_BYTES + 16];
    (void)snprintf(path, sizeof path, "%s/lock", s->folder);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (s->lock_fd < 0) return file_fault(fault, "open", path);
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) == 0) return ERR_OK;
    return fault_set(fault, ERR_BUSY,
                     "%s is in use by another server: stop it, or choose another folder with "
                     "--data",
                     s->options.folder);
}

static enum err open_rows(struct store *s, struct fault *fault)
{
    enum err e = store_schema_open(s->folder, &s->db, fault);
    if (e != ERR_OK) return e;
    // Before the tokens are read: a change in between is read twice rather than not at all.
    s->data_version = rows_one(s->db, "PRAGMA data_version", 0);
    e = token_rows_read(s->db, &s->tokens, &s->token_count, fault);
    if (e != ERR_OK) return e;
    token_rows_seen(s->db);
    store_sweep(s);
    atomic_store(&s->full, body_files_disk_full(s->folder));
    return ERR_OK;
}

static void free_store(struct store *s)
{
    if (s->db) (void)sqlite3_close(s->db);
    if (s->lock_fd >= 0) (void)close(s->lock_fd);
    free(s->tokens);
    free(s->fresh);
    free(s);
}

enum err store_open(const struct store_options *options, struct store **out, struct fault *fault)
{
    struct store *s = calloc(1, sizeof *s);
    if (!s) return fault_set(fault, ERR_MEMORY, "no memory for the store");
    s->options = *options;
    s->lock_fd = -1;
    s->waiting_end = &s->waiting;
    s->finished_end = &s->finished;
    s->checkpointed_ms = clock_ns() / 1000000u;
    enum err e = ERR_OK;
    int n = snprintf(s->folder, sizeof s->folder, "%s/store", options->folder);
    if (n < 0 || (size_t)n >= sizeof s->folder)
        e = fault_set(fault, ERR_LIMIT, "the data folder's path is too long");
    if (e == ERR_OK) e = make_folders(s, fault);
    if (e == ERR_OK) e = take_lock(s, fault);
    if (e == ERR_OK) e = open_rows(s, fault);
    if (e != ERR_OK) {
        free_store(s);
        return e;
    }
    CHECK(uv_mutex_init(&s->mutex) == 0);
    CHECK(uv_cond_init(&s->work) == 0);
    CHECK(uv_async_init(options->loop, &s->wake, on_wake) == 0);
    s->wake.data = s;
    s->thread_runs = uv_thread_create(&s->thread, thread_main, s) == 0;
    *out = s;
    if (s->thread_runs) return ERR_OK;
    store_close(s);
    return fault_set(fault, ERR_MEMORY, "no thread for the store");
}

static void on_closed(uv_handle_t *handle)
{
    struct store *s = handle->data;
    uv_cond_destroy(&s->work);
    uv_mutex_destroy(&s->mutex);
    free_store(s);
}

void store_close(struct store *s)
{
    if (!s) return;
    uv_mutex_lock(&s->mutex);
    s->stopping = true;
    uv_cond_signal(&s->work);
    uv_mutex_unlock(&s->mutex);
    if (s->thread_runs) CHECK(uv_thread_join(&s->thread) == 0);
    s->options.on_tokens = NULL;
    take_finished(s);
    (void)sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    uv_close((uv_handle_t *)&s->wake, on_closed);
}

// The store: all or nothing, files before rows, what was acknowledged is there after a restart.
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uv.h>

#include "server/store/store.h"
#include "tests/testing.h"
int testing_failures;

static uv_loop_t loop;
static char folder[64];
static struct store *store;
static int token_calls, models, versions, grants, drafts, uploads;
static struct store_version last_version;

// The program's own fsync and fdatasync stand before the system's, for SQLite too: the one that is
// counted down to fails as a broken disk's would.
static atomic_int syncs_left = -1, syncs_done; // -1: none fails
// Folders that were synced before: SQLite syncs the one of its log again, and may pass over that.
static ino_t synced[64];
static size_t synced_count;
static atomic_bool was_synced;

static bool is_synced_folder(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISDIR(st.st_mode)) return false;
    for (size_t i = 0; i < synced_count; i++)
        if (synced[i] == st.st_ino) return true;
    if (synced_count < sizeof synced / sizeof synced[0]) synced[synced_count++] = st.st_ino;
    return false;
}

static int sync_or_fail(long number, int fd)
{
    int left = atomic_load(&syncs_left);
    bool again = is_synced_folder(fd);
    atomic_fetch_add(&syncs_done, 1);
    if (left > 0) atomic_store(&syncs_left, left - 1);
    if (left != 0) return (int)syscall(number, fd);
    atomic_store(&syncs_left, -1);
    atomic_store(&was_synced, again);
    errno = EIO;
    return -1;
}
int fsync(int fd)
{
    return sync_or_fail(SYS_fsync, fd);
}
int fdatasync(int fd)
{
    return sync_or_fail(SYS_fdatasync, fd);
}

static void on_tokens(void *owner)
{
    (void)owner;
    token_calls++;
}

static bool open_store(void)
{
    struct fault fault = {0};
    const struct store_options options = {.loop = &loop, .folder = folder, .on_tokens = on_tokens};
    enum err e = store_open(&options, &store, &fault);
    if (e != ERR_OK) printf("  %s\n", fault.line);
    return e == ERR_OK;
}

static void close_store(void)
{
    store_close(store);
    store = NULL;
    (void)uv_run(&loop, UV_RUN_DEFAULT);
}

static void on_done(struct store_job *job)
{
    *(bool *)job->owner = true;
}

static enum err commit(struct store_commit *c)
{
    bool done = false;
    c->job.done = on_done;
    c->job.owner = &done;
    store_commit(store, c);
    while (!done)
        (void)uv_run(&loop, UV_RUN_ONCE);
    return c->job.result;
}

static struct store_commit version_commit(const char *model, uint32_t number, const char *body)
{
    struct store_commit c = {.parts = STORE_VERSION | STORE_AUDIT,
                             .body = (const uint8_t *)body,
                             .body_bytes = strlen(body)};
    snprintf(c.version.model, sizeof c.version.model, "%s", model);
    c.version.number = number;
    c.version.parent = number - 1;
    c.audit =
        (struct store_audit){.action = "test", .actor = "me", .model = model, .number = number};
    return c;
}

static void body_path(const char *sha256, char *out, size_t out_bytes)
{
    store_body_path(store, sha256, out, out_bytes);
}

static void count_model(void *owner, const struct store_model *m)
{
    (void)owner;
    (void)m;
    models++;
}
static void count_version(void *owner, const struct store_version *v)
{
    (void)owner;
    versions++;
    last_version = *v;
}
static void count_grant(void *owner, const struct store_grant *g)
{
    (void)owner;
    (void)g;
    grants++;
}
static void count_draft(void *owner, const struct store_draft *d)
{
    (void)owner;
    (void)d;
    drafts++;
}
static void count_upload(void *owner, const struct store_upload *u)
{
    (void)owner;
    uploads += u->offset == 5;
}

static void load(void)
{
    struct fault fault = {0};
    const struct store_visitor v = {count_model, count_version, count_grant,
                                    count_draft, count_upload,  NULL};
    models = versions = grants = drafts = uploads = 0;
    EXPECT(store_load(store, &v, &fault) == ERR_OK);
}

static const char *counted; // only this model's versions
static void count_version_of(void *owner, const struct store_version *v)
{
    if (strcmp(v->model, counted) == 0) count_version(owner, v);
}

static void load_model(const char *model)
{
    struct fault fault = {0};
    const struct store_visitor v = {count_model, count_version_of, count_grant,
                                    count_draft, count_upload,     NULL};
    counted = model;
    versions = 0;
    EXPECT(store_load(store, &v, &fault) == ERR_OK);
}

static void versions_make_a_line_or_nothing(void)
{
    EXPECT(open_store());
    struct store_commit one = version_commit("m", 1, "first"),
                        again = version_commit("m", 1, "other"),
                        far = version_commit("m", 3, "third"),
                        two = version_commit("m", 2, "second");
    char path[1200];
    EXPECT(commit(&one) == ERR_OK && strlen(one.sha256) == 64);
    EXPECT(commit(&again) == ERR_STALE);
    EXPECT(commit(&far) == ERR_STALE);
    body_path(again.sha256, path, sizeof path);
    EXPECT(access(path, F_OK) != 0); // no half version: its body is gone too
    EXPECT(commit(&two) == ERR_OK);
    struct store_commit whole = version_commit("m", 3, "whole");
    whole.parts |= STORE_MODEL | STORE_GRANT;
    whole.version.parent = 1; // one wrong part: none of them
    EXPECT(commit(&whole) == ERR_STALE);
    close_store();
    EXPECT(open_store());
    load();
    EXPECT(versions == 2 && models == 0 && grants == 0 && last_version.number == 2 &&
           last_version.bytes == 6);
    close_store();
}

static void bodies_go_with_their_last_row(void)
{
    char path[1200], orphan[1200], part[1210];
    EXPECT(open_store());
    struct store_commit c = {
        .parts = STORE_GRANT | STORE_DRAFT, .body = (const uint8_t *)"draft one", .body_bytes = 9};
    snprintf(c.grant.id, sizeof c.grant.id, "g");
    snprintf(c.draft.grant, sizeof c.draft.grant, "g");
    EXPECT(commit(&c) == ERR_OK);
    body_path(c.sha256, path, sizeof path);
    EXPECT(access(path, F_OK) == 0);
    struct store_commit next = c;
    next.draft.sha256[0] = '\0';
    next.body = (const uint8_t *)"draft two";
    EXPECT(commit(&next) == ERR_OK);
    EXPECT(access(path, F_OK) != 0);
    struct store_commit end = {.parts = STORE_GRANT_END};
    snprintf(end.grant.id, sizeof end.grant.id, "g");
    EXPECT(commit(&end) == ERR_OK);
    body_path(next.sha256, path, sizeof path);
    EXPECT(access(path, F_OK) != 0);
    // What a crash left behind is swept; what a row names stays.
    struct store_commit keep = version_commit("m", 3, "kept");
    EXPECT(commit(&keep) == ERR_OK);
    body_path(keep.sha256, path, sizeof path);
    snprintf(orphan, sizeof orphan, "%s", path);
    memset(strrchr(orphan, '/') + 3, '0', 62);
    snprintf(part, sizeof part, "%s.part", path);
    for (int i = 0; i < 2; i++) {
        int fd = open(i ? part : orphan, O_CREAT | O_WRONLY, 0600);
        EXPECT(fd >= 0 && write(fd, "x", 1) == 1);
        close(fd);
    }
    close_store();
    EXPECT(open_store());
    EXPECT(access(path, F_OK) == 0 && access(orphan, F_OK) != 0 && access(part, F_OK) != 0);
    // A body that has gone is told, not served.
    EXPECT(truncate(path, 2) == 0);
    load();
    EXPECT(last_version.number == 3 && last_version.bytes == 0);
    close_store();
    EXPECT(open_store());
    struct store_commit repair = version_commit("m", 4, "kept");
    EXPECT(commit(&repair) == ERR_OK); // the same bytes again: the damaged file is written anew
    load();
    EXPECT(last_version.number == 4 && last_version.bytes == 4);
    close_store();
}

static void answers_are_kept_with_what_they_answered(void)
{
    EXPECT(open_store());
    struct store_commit c = version_commit("n", 1, "x");
    c.parts |= STORE_REPLY;
    c.reply =
        (struct store_reply){.token = 7, .key = "k", .request = "r", .status = 201, .body = "{}"};
    c.reply.time_ms = 1; // long ago
    EXPECT(commit(&c) == ERR_OK);
    struct store_recall r = {.reply = {.token = 7, .key = "k"}};
    bool done = false;
    r.job.done = on_done;
    r.job.owner = &done;
    store_recall(store, &r);
    while (!done)
        (void)uv_run(&loop, UV_RUN_ONCE);
    EXPECT(r.job.result == ERR_OK && r.reply.status == 201 && strcmp(r.body, "{}") == 0);
    free(r.body);
    r = (struct store_recall){.reply = {.token = 8, .key = "k"}};
    r.job.done = on_done;
    r.job.owner = &done;
    done = false;
    store_recall(store, &r);
    while (!done)
        (void)uv_run(&loop, UV_RUN_ONCE);
    EXPECT(r.job.result == ERR_NOT_FOUND);
    close_store();
}

static void uploads_go_on_after_a_restart(void)
{
    EXPECT(open_store());
    struct store_commit c = {.parts = STORE_UPLOAD};
    snprintf(c.upload.id, sizeof c.upload.id, "u");
    c.upload.size_bytes = 10;
    c.upload.expires_ms = INT64_MAX;
    EXPECT(commit(&c) == ERR_OK);
    struct store_append a = {.id = "u", .bytes = (const uint8_t *)"hello", .size_bytes = 5};
    bool done = false;
    a.job.done = on_done;
    a.job.owner = &done;
    store_append(store, &a);
    while (!done)
        (void)uv_run(&loop, UV_RUN_ONCE);
    EXPECT(a.job.result == ERR_OK && a.offset == 5);
    // Bytes that came and were never acknowledged are written over.
    char path[1200], text[16] = "";
    store_upload_path(store, "u", path, sizeof path);
    int fd = open(path, O_WRONLY | O_APPEND);
    EXPECT(write(fd, "junk", 4) == 4);
    close(fd);
    close_store();
    EXPECT(open_store());
    load();
    EXPECT(uploads == 1);
    a.bytes = (const uint8_t *)"world";
    done = false;
    store_append(store, &a);
    while (!done)
        (void)uv_run(&loop, UV_RUN_ONCE);
    fd = open(path, O_RDONLY);
    EXPECT(read(fd, text, sizeof text - 1) == 10 && strcmp(text, "helloworld") == 0);
    close(fd);
    close_store();
}

static void revoke_ann(void *revoked)
{
    struct fault fault = {0};
    EXPECT(store_token_revoke(folder, 0, "ann", revoked, &fault) == ERR_OK);
}

static void tokens_of_another_program_are_seen(void)
{
    struct fault fault = {0};
    struct store_token t = {.name = "ann", .scope = "viewer", .hash = {1}};
    size_t count = 0, revoked = 0;
    EXPECT(store_token_add(folder, &t, &fault) == ERR_OK && t.id > 0);
    EXPECT(open_store());
    EXPECT(store_tokens(store, &count) && count == 1);
    token_calls = 0;
    // Beside this one's loop, which has to run meanwhile.
    uv_thread_t other;
    EXPECT(uv_thread_create(&other, revoke_ann, &revoked) == 0);
    for (int i = 0; i < 2000 && token_calls == 0; i++) {
        (void)uv_run(&loop, UV_RUN_NOWAIT);
        (void)usleep(1000);
    }
    EXPECT(token_calls >= 1 && store_tokens(store, &count)[0].revoked_ms > 0);
    // It returns as soon as the server has said that it goes by the change.
    for (int i = 0; i < 300; i++) {
        (void)uv_run(&loop, UV_RUN_NOWAIT);
        (void)usleep(1000);
    }
    EXPECT(revoked == 1);
    EXPECT(uv_thread_join(&other) == 0);
    close_store();
}

static void one_server_has_the_folder(void)
{
    struct store *second = NULL;
    struct fault fault = {0};
    const struct store_options options = {.loop = &loop, .folder = folder};
    EXPECT(open_store());
    EXPECT(store_open(&options, &second, &fault) == ERR_BUSY &&
           strstr(fault.line, "another server"));
    close_store();
}

static void a_newer_schema_is_left_alone(void)
{
    char path[128];
    sqlite3 *db;
    struct fault fault = {0};
    const struct store_options options = {.loop = &loop, .folder = folder};
    snprintf(path, sizeof path, "%s/store/sinew.db", folder);
    EXPECT(sqlite3_open(path, &db) == SQLITE_OK);
    EXPECT(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
    EXPECT(store_open(&options, &store, &fault) == ERR_VERSION && strstr(fault.line, "newer"));
    store = NULL;
}

static bool holds(const char *sha256, const char *body)
{
    char path[1200], text[64] = "";
    body_path(sha256, path, sizeof path);
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) (void)fclose(f);
    return f && n == strlen(body) && strcmp(text, body) == 0;
}

// Each sync of a commit fails once: nothing of that commit is there, neither now nor after a
// restart, what was acknowledged before is, and the same commit again is made anew, not trusted.
static void a_sync_that_fails_is_final(void)
{
    uint32_t number = 0;
    int failed = 0;
    for (int at = 0; at < 32; at++) {
        char body[32];
        (void)snprintf(body, sizeof body, "body of sync %d", at);
        synced_count = 0;
        EXPECT(open_store());
        struct store_commit c = version_commit("s", number + 1, body);
        atomic_store(&syncs_done, 0);
        atomic_store(&syncs_left, at);
        enum err e = commit(&c);
        bool hit = atomic_exchange(&syncs_left, -1) == -1;
        int syncs = atomic_load(&syncs_done);
        EXPECT(hit == (e != ERR_OK) || (hit && atomic_load(&was_synced)));
        if (e == ERR_OK) {
            number++;
            close_store();
            if (hit) continue;
            printf("     %d syncs a commit, each failed once: %d refused it\n", syncs, failed);
            break;
        }
        failed++;
        EXPECT(c.job.fault.line[0]);
        char path[1200];
        body_path(c.sha256, path, sizeof path);
        EXPECT(access(path, F_OK) != 0);
        close_store();
        EXPECT(open_store());
        load_model("s");
        EXPECT(versions == (int)number);
        struct store_commit again = version_commit("s", number + 1, body);
        EXPECT(commit(&again) == ERR_OK && holds(again.sha256, body));
        number++;
        close_store();
    }
    EXPECT(failed >= 3); // the file, its folder, the transaction
    EXPECT(open_store());
    load_model("s");
    EXPECT(versions == (int)number);
    close_store();
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/sinew-store-XXXXXX");
    EXPECT(mkdtemp(folder));
    EXPECT(uv_loop_init(&loop) == 0);
    RUN(versions_make_a_line_or_nothing);
    RUN(bodies_go_with_their_last_row);
    RUN(answers_are_kept_with_what_they_answered);
    RUN(uploads_go_on_after_a_restart);
    RUN(tokens_of_another_program_are_seen);
    RUN(a_sync_that_fails_is_final);
    RUN(one_server_has_the_folder);
    RUN(a_newer_schema_is_left_alone);
    (void)uv_loop_close(&loop);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    (void)!system(command);
    TESTING_MAIN_END;
}

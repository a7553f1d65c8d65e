#include "server/api/models.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/simd.h"
#include "server/api/edition.h"
#include "server/api/library.h"
#include "server/api/model_cache.h"
#include "server/model/model_file.h"

struct load {
    struct background_job job;
    struct store_commit commit; // of a file that becomes a version
    struct models *models;
    struct models_row *row;
    char path[1024];                               // "": only what is kept
    char kept_path[1200], known[STORE_HASH_BYTES]; // the newest version, and what it was made from
    struct edition_options options;
    uint64_t begun_ns;
    struct edition *edition; // what came out
    struct model_cache_result cached;
    bool is_kept; // the edition is the library's newest
    struct fault fault;
};

struct models {
    struct models_options options;
    struct models_row rows[CAST_MAX];
    size_t count;
    enum simd_level level;
};

struct models *models_create(const struct models_options *options)
{
    struct models *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->options = *options;
    m->level = simd_best();
    return m;
}

void models_destroy(struct models *m)
{
    if (!m) return;
    for (size_t i = 0; i < m->count; i++)
        role_unref(m->rows[i].role);
    free(m);
}

size_t models_count(const struct models *m)
{
    return m->count;
}

const struct models_row *models_at(const struct models *m, size_t i)
{
    CHECK(i < m->count);
    return &m->rows[i];
}

const struct models_row *models_find(const struct models *m, const char *name)
{
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->rows[i].name, name) == 0) return &m->rows[i];
    return NULL;
}

size_t models_in(const struct models *m, enum models_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < m->count; i++)
        n += m->rows[i].state == state;
    return n;
}

static enum err open_file(struct load *l)
{
    char inputs[STORE_HASH_BYTES];
    enum err e = ERR_OK;
    if (l->path[0] && l->known[0]) e = model_cache_inputs(l->path, inputs, &l->fault);
    if (e != ERR_OK) return e;
    l->is_kept = l->kept_path[0] && (!l->path[0] || strcmp(inputs, l->known) == 0);
    if (l->is_kept) return model_file_open(l->kept_path, &l->cached.file, &l->fault);
    return model_cache_open(l->models->options.data_folder, l->path, &l->cached, &l->fault);
}

static void run_load(struct background_job *job) // on a pool thread
{
    struct load *l = job->owner;
    if (open_file(l) != ERR_OK) return;
    if (edition_build(l->cached.file, &l->options, &l->edition, &l->fault) != ERR_OK)
        l->edition = NULL;
    model_file_unref(l->cached.file);
}

static void finish_load(struct load *l)
{
    struct models_row *row = l->row;
    if (!row->role) {
        const char *why = l->fault.line[0] ? l->fault.line : "loading was cut short";
        row->state = MODELS_FAILED;
        if (strstr(why, l->path)) // where it comes from stands in some lines already
            (void)snprintf(row->line, sizeof row->line, "%s", why);
        else
            (void)snprintf(row->line, sizeof row->line, "%.180s: %.200s", l->path, why);
    }
    const struct models_options *o = &l->models->options;
    if (o->on_row) o->on_row(row, o->owner);
    free(l);
}

static void take_role(struct load *l, enum err e, struct role *role)
{
    struct models_row *row = l->row;
    if (e == ERR_OK) {
        if (row->role != role) {
            role_unref(row->role);
            row->role = role_ref(role);
        }
        row->state = MODELS_READY;
        (void)snprintf(row->line, sizeof row->line, "%s", l->cached.still_reason);
    } else {
        (void)fault_set(&l->fault, e, "%s: %s", l->path, err_text(e));
    }
}

// Streams show it whatever the store said; without a version there it cannot be edited.
static void on_kept(struct store_job *job)
{
    struct store_commit *c = (struct store_commit *)job;
    struct load *l = job->owner;
    struct library *library = l->models->options.library;
    struct edition *edition = l->edition;
    struct role *role = role_ref(edition->role);
    enum err e;
    if (job->result == ERR_OK) {
        struct library_model *m = library_model(library, l->row->name);
        if (m) (void)snprintf(m->source, sizeof m->source, "%s", c->model.source);
        e = m ? library_push(library, m, &c->version, edition) : ERR_MEMORY;
    } else {
        log_event(LOG_LEVEL_ERROR, "model.not_kept", LOG_T("name", l->row->name),
                  LOG_T("why", job->fault.line));
        e = stage_serve(l->models->options.stage, role_ref(role));
        edition_unref(edition);
    }
    take_role(l, e, role);
    role_unref(role);
    finish_load(l);
}

static void keep(struct load *l)
{
    struct store_commit *c = &l->commit;
    const struct library_model *m = library_find(l->models->options.library, l->row->name);
    const struct store_version *newest = m ? library_newest(m) : NULL;
    c->parts = STORE_MODEL | STORE_VERSION | STORE_AUDIT;
    c->body = model_file_bytes(l->edition->file, &c->body_bytes);
    (void)snprintf(c->model.name, sizeof c->model.name, "%s", l->row->name);
    (void)snprintf(c->model.source, sizeof c->model.source, "%s", l->cached.inputs);
    c->version = (struct store_version){.parent = newest ? newest->number : 0,
                                        .number = (newest ? newest->number : 0) + 1,
                                        .kind = "import",
                                        .author = "sinewd serve",
                                        .time_ms = (int64_t)(clock_wall_ns() / 1000000u)};
    const char *slash = strrchr(l->path, '/');
    (void)snprintf(c->version.model, sizeof c->version.model, "%s", l->row->name);
    (void)snprintf(c->version.message, sizeof c->version.message, "%.200s",
                   slash ? slash + 1 : l->path);
    c->audit = (struct store_audit){.actor = "sinewd serve",
                                    .action = "model.import",
                                    .model = l->row->name,
                                    .base = c->version.parent,
                                    .number = c->version.number,
                                    .result = "done"};
    c->job.done = on_kept;
    c->job.owner = l;
    store_commit(l->models->options.library->store, c);
}

static void on_load(struct background_job *job)
{
    struct load *l = job->owner;
    struct library *library = l->models->options.library;
    l->row->load_s = (double)(clock_ns() - l->begun_ns) * 1e-9;
    l->row->from_cache = l->is_kept || l->cached.from_cache;
    struct library_model *m = library ? library_find(library, l->row->name) : NULL;
    if (l->edition && library && !l->is_kept) {
        keep(l);
        return;
    }
    if (l->edition) {
        struct role *role = role_ref(l->edition->role);
        take_role(l, stage_serve(l->models->options.stage, role_ref(role)), role);
        if (m) {
            m->head = l->edition;
            m->number = role->number;
        } else {
            edition_unref(l->edition);
        }
        role_unref(role);
    }
    finish_load(l);
}

static enum err check_file(const struct models *m, const char *path, struct fault *fault)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        char why[ERR_SYSTEM_BYTES];
        enum err e = errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO;
        return fault_set(fault, e, "%s: %s; give the path of a .glb, .gltf, .vrm or .sinew file",
                         path, err_system(errno, why));
    }
    if (!S_ISREG(st.st_mode))
        return fault_set(fault, ERR_IO, "%s: not a file; give a .glb, .gltf, .vrm or .sinew", path);
    if (m->options.file_bytes_max && (size_t)st.st_size > m->options.file_bytes_max)
        return fault_set(fault, ERR_LIMIT, "%s: %zu MB; raise limits.model_mbytes to load it", path,
                         (size_t)st.st_size >> 20);
    return ERR_OK;
}

static struct models_row *find_row(struct models *m, const char *name)
{
    const struct models_row *row = models_find(m, name);
    return row ? &m->rows[row - m->rows] : NULL;
}

static struct models_row *new_row(struct models *m, const char *name)
{
    if (m->count == CAST_MAX) return NULL;
    struct models_row *row = &m->rows[m->count++];
    *row = (struct models_row){.state = MODELS_LOADING};
    (void)snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

void models_follow(struct models *m, const char *name, struct role *role)
{
    struct models_row *row = find_row(m, name);
    CHECK(!row || row->state != MODELS_LOADING); // nothing changes before it is there
    if (!row && role) row = new_row(m, name);
    if (!row) return; // more than the stage can name
    role_unref(row->role);
    row->role = role ? role_ref(role) : NULL;
    row->state = role ? MODELS_READY : MODELS_RETIRED;
    row->line[0] = '\0';
}

static enum err begin_load(struct models *m, const char *name, const char *path,
                           struct fault *fault)
{
    struct load *l = calloc(1, sizeof *l);
    struct library *library = m->options.library;
    const struct library_model *kept = library ? library_find(library, name) : NULL;
    const struct store_version *newest = kept ? library_newest(kept) : NULL;
    if (!l) return ERR_MEMORY;
    (void)snprintf(l->path, sizeof l->path, "%s", path);
    if (newest && newest->bytes > 0) {
        store_body_path(library->store, newest->sha256, l->kept_path, sizeof l->kept_path);
        memcpy(l->known, kept->source, sizeof l->known);
    }
    l->models = m;
    l->begun_ns = clock_ns();
    l->job = (struct background_job){.run = run_load, .done = on_load, .owner = l};
    l->options.level = m->level;
    enum err e = cast_reserve(stage_cast(m->options.stage), name, &l->options.number,
                              &l->options.version, fault);
    if (e == ERR_OK) {
        l->row = new_row(m, name);
        l->options.name = l->row->name;
        if (!background_submit(m->options.background, BACKGROUND_SLOW, &l->job)) {
            m->count--;
            e = fault_set(fault, ERR_LIMIT, "%s: too many models wait to be loaded", path);
        }
    }
    if (e != ERR_OK) free(l);
    return e;
}

enum err models_add_kept(struct models *m, struct fault *fault)
{
    enum err e = ERR_OK;
    if (!m->options.library) return ERR_OK;
    for (struct library_model *k = m->options.library->models; k && e == ERR_OK; k = k->next)
        if (!k->retired && library_newest(k) && !find_row(m, k->name) && m->count < CAST_MAX)
            e = begin_load(m, k->name, "", fault);
    return e;
}

enum err models_add(struct models *m, const char *name, const char *path, struct fault *fault)
{
    if (m->count == CAST_MAX)
        return fault_set(fault, ERR_LIMIT, "at most %d characters can be served", CAST_MAX);
    if (find_row(m, name))
        return fault_set(fault, ERR_AMBIGUOUS, "two characters are named \"%s\"; give one NAME=%s",
                         name, path);
    if (strlen(name) >= SESSION_NAME_MAX)
        return fault_set(fault, ERR_LIMIT, "the character's name is longer than %d bytes: %.40s",
                         SESSION_NAME_MAX - 1, name);
    enum err e = check_file(m, path, fault);
    if (e != ERR_OK) return e;
    const struct library_model *kept =
        m->options.library ? library_find(m->options.library, name) : NULL;
    if (kept && kept->retired) {
        log_event(LOG_LEVEL_WARN, "model.retired", LOG_T("name", name),
                  LOG_T("why", "it was retired over HTTP; PUT or restore brings it back"));
        return ERR_OK;
    }
    return begin_load(m, name, path, fault);
}

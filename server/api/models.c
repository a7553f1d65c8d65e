#include "server/api/models.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/simd.h"
#include "server/api/model_cache.h"

struct load {
    struct background_job job;
    struct models *models;
    struct models_row *row;
    char path[1024];
    uint32_t number, version;
    uint64_t begun_ns;
    struct role *role; // what came out
    struct model_cache_result cached;
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

size_t models_in(const struct models *m, enum models_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < m->count; i++)
        n += m->rows[i].state == state;
    return n;
}

static void run_load(struct background_job *job) // on a pool thread
{
    struct load *l = job->owner;
    enum err e = model_cache_open(l->models->options.data_folder, l->path, &l->cached, &l->fault);
    if (e != ERR_OK) return;
    struct role_options options = {.name = l->row->name,
                                   .number = l->number,
                                   .version = l->version,
                                   .level = l->models->level};
    if (role_build(l->cached.file, &options, &l->role, &l->fault) != ERR_OK) l->role = NULL;
    model_file_unref(l->cached.file);
}

static void on_load(struct background_job *job)
{
    struct load *l = job->owner;
    struct models_row *row = l->row;
    row->load_s = (double)(clock_ns() - l->begun_ns) * 1e-9;
    row->from_cache = l->cached.from_cache;
    if (l->role) {
        struct role *keep = role_ref(l->role);
        enum err e = stage_serve(l->models->options.stage, l->role);
        if (e == ERR_OK) {
            row->role = keep;
            row->state = MODELS_READY;
            (void)snprintf(row->line, sizeof row->line, "%s", l->cached.still_reason);
        } else {
            role_unref(keep);
            (void)fault_set(&l->fault, e, "%s: %s", l->path, err_text(e));
        }
    }
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

enum err models_add(struct models *m, const char *name, const char *path, struct fault *fault)
{
    if (m->count == CAST_MAX)
        return fault_set(fault, ERR_LIMIT, "at most %d characters can be served", CAST_MAX);
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->rows[i].name, name) == 0)
            return fault_set(fault, ERR_AMBIGUOUS,
                             "two characters are named \"%s\"; give one NAME=%s", name, path);
    enum err e = check_file(m, path, fault);
    if (e != ERR_OK) return e;
    struct load *l = calloc(1, sizeof *l);
    if (!l) return ERR_MEMORY;
    struct models_row *row = &m->rows[m->count];
    *row = (struct models_row){.state = MODELS_LOADING};
    (void)snprintf(row->name, sizeof row->name, "%s", name);
    (void)snprintf(l->path, sizeof l->path, "%s", path);
    l->models = m;
    l->row = row;
    l->begun_ns = clock_ns();
    l->job = (struct background_job){.run = run_load, .done = on_load, .owner = l};
    e = cast_reserve(stage_cast(m->options.stage), name, &l->number, &l->version, fault);
    if (e == ERR_OK && !background_submit(m->options.background, BACKGROUND_SLOW, &l->job))
        e = fault_set(fault, ERR_LIMIT, "%s: too many models wait to be loaded", path);
    if (e != ERR_OK) {
        free(l);
        return e;
    }
    m->count++;
    return ERR_OK;
}

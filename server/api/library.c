#include "server/api/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/check.h"
#include "common/log.h"

// --- Models and versions ------------------------------------------------------------------------

struct library_model *library_find(const struct library *l, const char *name)
{
    for (struct library_model *m = l->models; m; m = m->next)
        if (strcmp(m->name, name) == 0) return m;
    return NULL;
}

struct library_model *library_model(struct library *l, const char *name)
{
    struct library_model *m = library_find(l, name), **at = &l->models;
    if (m) return m;
    CHECK(strlen(name) < sizeof m->name);
    m = calloc(1, sizeof *m);
    if (!m) return NULL;
    (void)snprintf(m->name, sizeof m->name, "%s", name);
    m->waiting_end = &m->waiting;
    while (*at && strcmp((*at)->name, name) < 0)
        at = &(*at)->next;
    m->next = *at;
    *at = m;
    return m;
}

const struct store_version *library_newest(const struct library_model *m)
{
    return m->version_count ? &m->versions[m->version_count - 1] : NULL;
}

const struct store_version *library_version(const struct library_model *m, uint32_t number)
{
    return number >= 1 && number <= m->version_count ? &m->versions[number - 1] : NULL;
}

void library_etag(const struct store_version *v, char out[LIBRARY_ETAG_BYTES])
{
    (void)snprintf(out, LIBRARY_ETAG_BYTES, "\"%u.%.16s\"", v->number, v->sha256);
}

static bool append_version(struct library_model *m, const struct store_version *v)
{
    if (m->version_count == m->version_capacity) {
        size_t capacity = m->version_capacity * 2 + 8;
        struct store_version *grown = realloc(m->versions, capacity * sizeof *grown);
        if (!grown) return false;
        m->versions = grown;
        m->version_capacity = capacity;
    }
    CHECK(v->number == m->version_count + 1);
    m->versions[m->version_count] = *v;
    m->versions[m->version_count++].report = NULL; // asked for from the store
    return true;
}

enum err library_push(struct library *l, struct library_model *m, const struct store_version *v,
                      struct edition *edition)
{
    if (!append_version(m, v)) {
        edition_unref(edition);
        return ERR_MEMORY;
    }
    edition_unref(m->head);
    m->head = edition;
    if (!edition) return ERR_OK;
    m->number = edition->role->number;
    return stage_serve(l->stage, role_ref(edition->role));
}

enum err library_numbers(struct library *l, struct library_model *m, struct edition_options *out,
                         struct fault *fault)
{
    *out = (struct edition_options){.name = m->name, .level = l->level};
    out->like = m->head ? m->head->role : NULL;
    return cast_reserve(stage_cast(l->stage), m->name, &out->number, &out->version, fault);
}

// --- Grants and drafts --------------------------------------------------------------------------

struct library_grant *library_grant_by_id(const struct library *l, const char *id)
{
    for (struct library_grant *g = l->grants; g; g = g->next)
        if (strcmp(g->row.id, id) == 0) return g;
    return NULL;
}

struct library_grant *library_grant_of(const struct library *l, const char *model, const char *kind,
                                       const char *driver, const char *item)
{
    for (struct library_grant *g = l->grants; g; g = g->next)
        if (strcmp(g->row.model, model) == 0 && strcmp(g->row.kind, kind) == 0 &&
            strcmp(g->row.driver, driver) == 0 && strcmp(g->row.item, item) == 0)
            return g;
    return NULL;
}

struct library_grant *library_grant_add(struct library *l, const struct store_grant *row)
{
    struct library_grant *g = library_grant_by_id(l, row->id);
    if (!g) {
        g = calloc(1, sizeof *g);
        if (!g) return NULL;
        g->next = l->grants;
        l->grants = g;
    }
    g->row = *row;
    if (row->fence > l->fence) l->fence = row->fence;
    return g;
}

static void drop_draft(struct library_grant *g)
{
    edition_unref(g->draft.edition);
    union {
        const char *read;
        char *mine;
    } report = {.read = g->draft.row.report};
    free(report.mine);
    g->draft = (struct library_draft){0};
    g->has_draft = false;
}

static void tell_draft(struct library *l, uint64_t token, const char *model)
{
    struct library_model *m = library_find(l, model);
    if (m && l->on_draft) l->on_draft(l->owner, token, m, library_draft_role(l, token, model));
}

void library_grant_end(struct library *l, struct library_grant *g)
{
    struct library_grant **at = &l->grants;
    CHECK(!g->busy);
    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    bool had = g->has_draft;
    drop_draft(g);
    if (had) tell_draft(l, g->row.token, g->row.model);
    free(g);
}

void library_draft_set(struct library *l, struct library_grant *g, const struct store_draft *row,
                       uint64_t bytes, struct edition *edition)
{
    drop_draft(g);
    g->draft = (struct library_draft){.row = *row, .bytes = bytes, .edition = edition};
    g->has_draft = true;
    tell_draft(l, g->row.token, g->row.model);
}

void library_draft_end(struct library *l, struct library_grant *g)
{
    drop_draft(g);
    tell_draft(l, g->row.token, g->row.model);
}

void library_draft_unload(struct library *l, struct library_grant *g)
{
    if (!g->has_draft || !g->draft.edition) return;
    edition_unref(g->draft.edition);
    g->draft.edition = NULL;
    tell_draft(l, g->row.token, g->row.model);
}

struct role *library_draft_role(const struct library *l, uint64_t token, const char *model)
{
    const struct library_grant *newest = NULL;
    for (const struct library_grant *g = l->grants; g; g = g->next)
        if (g->row.token == token && g->has_draft && g->draft.edition &&
            strcmp(g->row.model, model) == 0 && (!newest || g->row.fence > newest->row.fence))
            newest = g;
    return newest ? newest->draft.edition->role : NULL;
}

// --- Uploads ------------------------------------------------------------------------------------

struct store_upload *library_upload(const struct library *l, const char *id)
{
    for (size_t i = 0; i < l->upload_count; i++)
        if (strcmp(l->uploads[i].id, id) == 0) return &l->uploads[i];
    return NULL;
}

struct store_upload *library_upload_add(struct library *l, const struct store_upload *u)
{
    if (l->upload_count == l->upload_capacity) {
        size_t capacity = l->upload_capacity * 2 + 16;
        struct store_upload *grown = realloc(l->uploads, capacity * sizeof *grown);
        if (!grown) return NULL;
        l->uploads = grown;
        l->upload_capacity = capacity;
    }
    l->uploads[l->upload_count] = *u;
    return &l->uploads[l->upload_count++];
}

void library_upload_end(struct library *l, const char *id)
{
    struct store_upload *u = library_upload(l, id);
    if (u) *u = l->uploads[--l->upload_count];
}

// --- Publishing in turn -------------------------------------------------------------------------

bool library_enter(struct library_model *m, struct library_waiter *w)
{
    if (!m->publishing) {
        m->publishing = true;
        return true;
    }
    w->next = NULL;
    *m->waiting_end = w;
    m->waiting_end = &w->next;
    return false;
}

void library_leave(struct library_model *m)
{
    struct library_waiter *w = m->waiting;
    CHECK(m->publishing);
    if (!w) {
        m->publishing = false;
        return;
    }
    m->waiting = w->next;
    if (!m->waiting) m->waiting_end = &m->waiting;
    w->go(w); // the turn is its own now
}

// --- Opening ------------------------------------------------------------------------------------

struct loading {
    struct library *l;
    bool memory;
};

static void on_model(void *owner, const struct store_model *row)
{
    struct loading *x = owner;
    struct library_model *m = library_model(x->l, row->name);
    if (!m) {
        x->memory = false;
        return;
    }
    (void)snprintf(m->source, sizeof m->source, "%s", row->source);
    m->retired = row->retired;
}

static void on_version(void *owner, const struct store_version *v)
{
    struct loading *x = owner;
    struct library_model *m = library_model(x->l, v->model);
    if (v->bytes == 0)
        log_event(LOG_LEVEL_ERROR, "store.body_missing", LOG_T("model", v->model),
                  LOG_I("version", v->number), LOG_T("sha256", v->sha256));
    x->memory = x->memory && m && append_version(m, v);
}

static void on_grant(void *owner, const struct store_grant *g)
{
    struct loading *x = owner;
    x->memory = x->memory && library_grant_add(x->l, g);
}

static void on_draft(void *owner, const struct store_draft *d)
{
    struct loading *x = owner;
    struct library_grant *g = library_grant_by_id(x->l, d->grant);
    struct store_draft row = *d;
    char path[1200];
    struct stat st = {0};
    if (!g) return;
    store_body_path(x->l->store, d->sha256, path, sizeof path);
    if (stat(path, &st) != 0) {
        log_event(LOG_LEVEL_ERROR, "store.body_missing", LOG_T("grant", d->grant));
        return;
    }
    row.report = strdup(d->report);
    x->memory = x->memory && row.report;
    library_draft_set(x->l, g, &row, (uint64_t)st.st_size, NULL);
}

static void on_upload(void *owner, const struct store_upload *u)
{
    struct loading *x = owner;
    x->memory = x->memory && library_upload_add(x->l, u);
}

enum err library_open(struct library *l, struct store *store, struct stage *stage,
                      struct fault *fault)
{
    struct loading x = {.l = l, .memory = true};
    const struct store_visitor visitor = {.model = on_model,
                                          .version = on_version,
                                          .grant = on_grant,
                                          .draft = on_draft,
                                          .upload = on_upload,
                                          .owner = &x};
    l->store = store;
    l->stage = stage;
    l->level = simd_best();
    enum err e = store_load(store, &visitor, fault);
    if (e == ERR_OK && !x.memory) e = fault_set(fault, ERR_MEMORY, "no memory for the models");
    return e;
}

void library_close(struct library *l)
{
    l->on_draft = NULL;
    while (l->grants) {
        l->grants->busy = false;
        library_grant_end(l, l->grants);
    }
    while (l->models) {
        struct library_model *m = l->models;
        l->models = m->next;
        edition_unref(m->head);
        free(m->versions);
        free(m);
    }
    free(l->uploads);
    *l = (struct library){0};
}

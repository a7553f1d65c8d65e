#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/v1.h"
#include "server/api/v1_version.h"

// Publishing drafts, and restoring old versions.

// --- Publishing ---------------------------------------------------------------------------------

static void apply_publish(struct errand *e)
{
    struct library *l = e->api->options.library;
    struct library_grant *g = e->grant;
    v1_version_push(e);
    if (e->commit.parts & STORE_GRANT_END) {
        g->busy = false;
        e->holds_grant = false;
        library_grant_end(l, g);
        return;
    }
    (void)library_grant_add(l, &e->commit.grant);
    library_draft_end(l, g);
}

static void finish_publish(struct errand *e)
{
    struct store_commit *c = &e->commit;
    const struct store_grant *g = &e->grant->row;
    int32_t place = edition_place(e->edition->model, g->kind, g->driver, g->item);
    (void)snprintf(c->version.item, sizeof c->version.item, "%s%s%s", g->driver,
                   g->driver[0] ? ":" : "", g->item);
    memcpy(c->draft.grant, g->id, sizeof c->draft.grant);
    c->grant = *g;
    // The grant goes on, from what has just been published; with what is gone it ends.
    if (place == EDIT_ABSENT) {
        c->parts |= STORE_GRANT_END;
    } else {
        c->parts |= STORE_DRAFT_END | STORE_GRANT;
        c->grant.base_version = c->version.number;
        (void)snprintf(c->grant.base_tag, sizeof c->grant.base_tag, "%s",
                       edition_tag(e->edition, place));
    }
    v1_version_commit(e, e->made.report ? e->made.report : e->grant->draft.row.report, "publish",
                      201, apply_publish);
}

static void on_rebased(struct errand *e)
{
    struct store_commit *c = &e->commit;
    if (e->result != ERR_OK) {
        v1_version_refuse(e, "surface");
        return;
    }
    if (e->made.bytes) { // baked onto a newer version
        uint8_t *bytes = e->made.bytes;
        c->body = bytes;
        c->body_bytes = e->made.size_bytes;
        api_sha256(bytes, e->made.size_bytes, c->version.sha256);
        c->version.bytes = e->made.size_bytes;
    }
    finish_publish(e);
}

static enum err rebase(struct errand *e)
{
    struct edition *draft = e->edition;
    struct model_file *file = NULL;
    e->edition = NULL;
    enum err err = draft ? ERR_OK : v1_version_open(e, &draft);
    if (err == ERR_OK && !e->base) { // only to be loaded
        e->edition = draft;
        return ERR_OK;
    }
    for (size_t i = 0; i < e->step_count && err == ERR_OK; i++) {
        struct edit *step = &e->steps[i];
        const char *driver = i ? step->driver : e->driver;
        step->from = draft->model;
        step->from_example = edition_place(draft->model, e->kind, driver, e->item);
        step->example = edition_place(e->base->model, e->kind, driver, e->item);
        // An example that the draft alone has is made; one that it has not goes.
        if (step->from_example == EDIT_ABSENT) step->kind = EDIT_REMOVE;
        if (step->example == EDIT_ABSENT) step->example = step->from_example;
        if (step->example == EDIT_ABSENT) err = ERR_NOT_FOUND;
    }
    if (err == ERR_OK)
        err = edit_apply(e->base->model, e->steps, e->step_count, &e->made, &e->fault);
    if (err == ERR_OK)
        err = model_file_from_bytes(e->made.bytes, e->made.size_bytes, &file, &e->fault);
    if (err == ERR_OK) err = edition_build(file, &e->numbers, &e->edition, &e->fault);
    model_file_unref(file);
    edition_unref(draft);
    return err;
}

// Whether the item in the newest version is still what the draft was made from.
static bool item_is_untouched(const struct errand *e)
{
    const struct store_grant *g = &e->grant->row;
    const struct edition *head = e->model->head;
    int32_t place = edition_place(head->model, g->kind, g->driver, g->item);
    return strcmp(edition_tag(head, place), g->base_tag) == 0;
}

static void prepare_rebase(struct errand *e)
{
    const struct store_draft *d = &e->grant->draft.row;
    e->base = edition_ref(e->model->head);
    e->steps[0] = (struct edit){
        .kind = EDIT_TAKE, .force = true, .keep_sculpts = strcmp(d->keep, "sculpts") == 0};
    e->step_count = 1;
    if (!d->mirror[0]) return;
    e->steps[1] = (struct edit){.kind = EDIT_TAKE, .force = true, .driver = d->mirror};
    e->step_count = 2;
}

static void publish_now(struct library_waiter *w)
{
    struct errand *e = v1_version_waiter(w);
    struct library *l = e->api->options.library;
    const struct store_version *newest = library_newest(e->model);
    if (!v1_version_matches(e) || !errand_served(e)) return;
    const struct store_draft *d = &e->grant->draft.row;
    bool fits = d->base_version == newest->number;
    if (!fits && !item_is_untouched(e)) {
        errand_refuse(e, 409, "conflict", "The item has changed in the meantime",
                      "Let the grant go, and edit the newest state.", NULL);
        return;
    }
    v1_version_begin(e, "edit", errand_text(e, "message"));
    e->edition = e->grant->draft.edition ? edition_ref(e->grant->draft.edition) : NULL;
    memcpy(e->commit.version.sha256, d->sha256, sizeof d->sha256);
    e->commit.version.bytes = e->grant->draft.bytes;
    if (fits && e->edition) {
        finish_publish(e);
        return;
    }
    if (!fits) prepare_rebase(e);
    store_body_path(l->store, d->sha256, e->base_path, sizeof e->base_path);
    if (library_numbers(l, e->model, &e->numbers, &e->fault) != ERR_OK) {
        errand_end(e);
        return;
    }
    e->like = role_ref(e->model->head->role);
    e->numbers.like = e->like;
    errand_work(e, rebase, on_rebased);
}

static void publish(struct errand *e)
{
    int32_t place;
    if (!errand_json(e) || !errand_item(e, &place) || !errand_grant(e)) return;
    if (!e->grant->has_draft) {
        errand_refuse(e, 409, "no-draft", "There is nothing to publish",
                      "PUT a surface or a pose first.", NULL);
        return;
    }
    if (v1_version_turn(e, publish_now)) publish_now(&e->waiter);
}

void v1_publish(struct http_exchange *x, void *api)
{
    errand_keyed(x, api, publish);
}

// --- Restoring ----------------------------------------------------------------------------------

static enum err open_version(struct errand *e)
{
    return v1_version_open(e, &e->edition);
}

static void apply_restore(struct errand *e)
{
    e->model->retired = false;
    v1_version_push(e);
}

static void on_restored(struct errand *e)
{
    if (e->result != ERR_OK) {
        v1_version_refuse(e, "unreadable");
        return;
    }
    if (e->model->retired) {
        e->commit.parts |= STORE_MODEL;
        (void)snprintf(e->commit.model.name, sizeof e->commit.model.name, "%s", e->model->name);
        memcpy(e->commit.model.source, e->model->source, sizeof e->commit.model.source);
    }
    v1_version_commit(e, NULL, "restore", 201, apply_restore);
}

static void restore_now(struct library_waiter *w)
{
    struct errand *e = v1_version_waiter(w);
    struct library *l = e->api->options.library;
    if (!v1_version_matches(e)) return;
    const struct store_version *v = library_version(e->model, e->commit.version.restores);
    v1_version_begin(e, "restore", errand_text(e, "message"));
    memcpy(e->commit.version.sha256, v->sha256, sizeof v->sha256);
    e->commit.version.bytes = v->bytes;
    store_body_path(l->store, v->sha256, e->base_path, sizeof e->base_path);
    if (library_numbers(l, e->model, &e->numbers, &e->fault) != ERR_OK) {
        errand_end(e);
        return;
    }
    e->like = e->model->head ? role_ref(e->model->head->role) : NULL;
    e->numbers.like = e->like;
    errand_work(e, open_version, on_restored);
}

static void restore(struct errand *e)
{
    struct http_exchange *x = errand_exchange(e);
    const char *n = x ? http_exchange_param(x, "n") : "";
    char *end = NULL;
    unsigned long number = strtoul(n, &end, 10);
    const struct store_version *v = end != n && *end == '\0' && number <= UINT32_MAX
                                        ? library_version(e->model, (uint32_t)number)
                                        : NULL;
    if (!errand_json(e)) return;
    if (!v) {
        errand_refuse(e, 404, "no-such-version", "There is no such version", NULL, NULL);
        return;
    }
    e->commit.version.restores = v->number;
    if (v1_version_turn(e, restore_now)) restore_now(&e->waiter);
}

void v1_restore(struct http_exchange *x, void *api)
{
    errand_keyed(x, api, restore);
}

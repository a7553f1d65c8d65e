#include "server/api/v1_draft.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/file.h"
#include "server/api/describe.h"

// From a change to a draft: the model that it is made from, the new one, the store.

enum { UPLOAD_BYTES_MAX = 1 << 30 };

static enum err open_base(struct errand *e)
{
    struct model_file *file = NULL;
    if (e->base) return ERR_OK;
    enum err err = model_file_open(e->base_path, &file, &e->fault);
    if (err == ERR_OK) err = edition_build(file, &e->numbers, &e->base, &e->fault);
    model_file_unref(file);
    return err;
}

// 16 bytes each: u32 vertex, float32 x, y, z.
static enum err read_deltas(struct errand *e)
{
    struct edit *step = &e->steps[0];
    size_t count = e->body_bytes / sizeof(struct edit_delta);
    _Static_assert(sizeof(struct edit_delta) == 16, "as on the wire");
    if (step->kind != EDIT_DELTAS || e->deltas) return ERR_OK;
    if (e->body_bytes % sizeof(struct edit_delta) != 0)
        return fault_set(&e->fault, ERR_MALFORMED, "deltas have 16 bytes each");
    e->deltas = malloc(e->body_bytes + 1);
    if (!e->deltas) return ERR_MEMORY;
    if (e->body_bytes) memcpy(e->deltas, e->body, e->body_bytes);
    step->deltas = e->deltas;
    step->delta_count = count;
    return ERR_OK;
}

enum err v1_draft_build(struct errand *e)
{
    struct model_file *file = NULL;
    enum err err = open_base(e);
    if (err == ERR_OK && e->upload_path[0])
        err = file_read(e->upload_path, UPLOAD_BYTES_MAX, &e->body, &e->body_bytes, &e->fault);
    if (err == ERR_OK) err = read_deltas(e);
    if (err != ERR_OK) return err;
    struct edit *step = &e->steps[0];
    if (step->kind == EDIT_SURFACE) {
        step->bytes = e->body;
        step->size_bytes = e->body_bytes;
    }
    // Its place is that in the state that is edited.
    step->example = edition_place(e->base->model, e->kind, e->driver, e->item);
    if (step->kind != EDIT_NEW && step->example == EDIT_ABSENT)
        return fault_set(&e->fault, ERR_NOT_FOUND, "the example is not in this state any more");
    err = edit_apply(e->base->model, e->steps, e->step_count, &e->made, &e->fault);
    if (err == ERR_OK)
        err = model_file_from_bytes(e->made.bytes, e->made.size_bytes, &file, &e->fault);
    if (err == ERR_OK) err = edition_build(file, &e->numbers, &e->edition, &e->fault);
    model_file_unref(file);
    return err;
}

static void refuse_edit(struct errand *e)
{
    static const struct {
        enum err err;
        int status;
        const char *type, *title;
    } rows[] = {
        {ERR_MALFORMED, 422, "surface", "This is no change of this surface"},
        {ERR_DENIED, 422, "moved-too-far", "A vertex would move too far"},
        {ERR_NOT_FOUND, 422, "no-such-name", "A name is not known"},
        {ERR_AMBIGUOUS, 409, "name-taken", "The name is taken, or not unique"},
        {ERR_USAGE, 422, "surface", "This is no change of this surface"},
        {ERR_UNSUPPORTED, 422, "surface", "This cannot be read"},
        {ERR_TRUNCATED, 422, "surface", "The file ends too early"},
        {ERR_VERSION, 422, "surface", "This cannot be read"},
        {ERR_LIMIT, 422, "limit", "It is too large"},
        {ERR_TIMEOUT, 503, "stopping", "The server is stopping"},
        {ERR_MEMORY, 503, "no-memory", "Out of memory"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].err == e->result) {
            errand_problem(e, rows[i].status, rows[i].type, rows[i].title, e->fault.line, NULL);
            break;
        }
    errand_end(e);
}

static void apply_draft(struct errand *e)
{
    struct library *l = e->api->options.library;
    struct store_draft row = e->commit.draft;
    e->grant = library_grant_add(l, &e->commit.grant);
    row.report = e->made.report;
    e->made.report = NULL;
    struct edition *edition = e->edition;
    e->edition = NULL;
    if (e->grant) {
        library_draft_set(l, e->grant, &row, e->made.size_bytes, edition);
        return;
    }
    edition_unref(edition);
}

// {"solved", "drivers", "notes"} gets "bake_ms" too.
static void time_report(struct errand *e)
{
    cJSON *report = cJSON_Parse(e->made.report);
    (void)cJSON_AddNumberToObject(report, "bake_ms", e->bake_ms);
    char *text = cJSON_PrintUnformatted(report);
    cJSON_Delete(report);
    if (!text) return;
    free(e->made.report);
    e->made.report = strdup(text);
    cJSON_free(text);
}

void v1_draft_made(struct errand *e)
{
    if (e->result != ERR_OK) {
        refuse_edit(e);
        return;
    }
    struct store_commit *c = &e->commit;
    bool is_new = e->steps[0].kind == EDIT_NEW;
    if (!is_new) c->grant = e->grant->row; // with what it stands on now
    const struct store_grant *g = &c->grant;
    struct store_draft *d = &c->draft;
    int32_t place = edition_place(e->edition->model, g->kind, g->driver, g->item);
    time_report(e);
    c->parts = STORE_GRANT | STORE_DRAFT;
    c->body = e->made.bytes;
    c->body_bytes = e->made.size_bytes;
    memcpy(d->grant, g->id, sizeof d->grant);
    CHECK(place != EDIT_ABSENT || e->steps[0].kind == EDIT_REMOVE);
    (void)snprintf(d->tag, sizeof d->tag, "%s", edition_tag(e->edition, place));
    const struct store_draft *old = e->grant && e->grant->has_draft ? &e->grant->draft.row : NULL;
    d->base_version = old ? old->base_version : g->base_version;
    d->moved = e->made.moved;
    d->largest_move = e->made.largest_move;
    if (old) memcpy(d->mirror, old->mirror, sizeof d->mirror);
    if (e->made.mirror_driver[0])
        (void)snprintf(d->mirror, sizeof d->mirror, "%s", e->made.mirror_driver);
    (void)snprintf(d->keep, sizeof d->keep, "%s", e->steps[0].keep_sculpts ? "sculpts" : "deltas");
    d->report = e->made.report;
    (void)snprintf(e->etag, sizeof e->etag, "\"%s\"", d->tag);
    cJSON *json;
    if (is_new) {
        json = describe_grant(g, d->tag, true);
        (void)cJSON_AddItemToObject(json, "draft", describe_draft(g, d));
        errand_commit(e, 201, json, "example.new", apply_draft);
    } else {
        json = describe_draft(g, d);
        errand_commit(e, 200, json, "draft", apply_draft);
    }
}

// From the state that If-Match names: the draft's, else the newest version's.
bool v1_draft_begin(struct errand *e)
{
    int32_t place;
    char now[STORE_HASH_BYTES + 2];
    struct library *l = e->api->options.library;
    if (!errand_item(e, &place) || !errand_grant(e)) return false;
    const struct library_grant *g = e->grant;
    const char *tag = g->has_draft ? g->draft.row.tag : edition_tag(e->model->head, place);
    (void)snprintf(now, sizeof now, "\"%s\"", tag);
    if (!errand_if_match(e, tag, now, 0)) return false;
    e->step_count = 1;
    if (!g->has_draft) {
        e->base = edition_ref(e->model->head);
        // What is edited is the newest version: that is what the draft stands on.
        e->grant->row.base_version = library_newest(e->model)->number;
        (void)snprintf(e->grant->row.base_tag, sizeof e->grant->row.base_tag, "%s", tag);
    } else if (g->draft.edition) {
        e->base = edition_ref(g->draft.edition);
    } else {
        store_body_path(l->store, g->draft.row.sha256, e->base_path, sizeof e->base_path);
    }
    if (library_numbers(l, e->model, &e->numbers, &e->fault) != ERR_OK) {
        errand_end(e);
        return false;
    }
    e->like = e->model->head ? role_ref(e->model->head->role) : NULL;
    e->numbers.like = e->like;
    return true;
}

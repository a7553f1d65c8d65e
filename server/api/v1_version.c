#include "server/api/v1_version.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "server/api/describe.h"

bool v1_version_turn(struct errand *e, void (*go)(struct library_waiter *w))
{
    e->waiter.go = go;
    e->holds_model = library_enter(e->model, &e->waiter);
    return e->holds_model;
}

struct errand *v1_version_waiter(struct library_waiter *w)
{
    struct errand *e = (struct errand *)(void *)((char *)w - offsetof(struct errand, waiter));
    e->holds_model = true;
    return e;
}

bool v1_version_matches(struct errand *e)
{
    char etag[LIBRARY_ETAG_BYTES], tag[LIBRARY_ETAG_BYTES];
    const struct store_version *newest = library_newest(e->model);
    library_etag(newest, etag);
    (void)snprintf(tag, sizeof tag, "%.*s", (int)strlen(etag) - 2, etag + 1);
    return errand_if_match(e, tag, etag, newest->number);
}

void v1_version_begin(struct errand *e, const char *kind, const char *message)
{
    struct store_version *v = &e->commit.version;
    const struct store_version *newest = library_newest(e->model);
    v->parent = newest ? newest->number : 0;
    v->number = v->parent + 1;
    v->time_ms = errand_now_ms();
    (void)snprintf(v->model, sizeof v->model, "%s", e->model->name);
    (void)snprintf(v->kind, sizeof v->kind, "%s", kind);
    (void)snprintf(v->author, sizeof v->author, "%s", e->who.name);
    (void)snprintf(v->message, sizeof v->message, "%.250s", message ? message : "");
    e->commit.parts |= STORE_VERSION;
}

void v1_version_tell(struct errand *e)
{
    models_follow(e->api->options.models, e->model->name,
                  e->model->head ? e->model->head->role : NULL);
}

void v1_version_push(struct errand *e)
{
    struct edition *edition = e->edition;
    e->edition = NULL;
    enum err err = library_push(e->api->options.library, e->model, &e->commit.version, edition);
    if (err != ERR_OK) // it is kept; running streams show it after a restart
        log_event(LOG_LEVEL_ERROR, "version.not_shown", LOG_T("model", e->model->name),
                  LOG_T("why", err_text(err)));
    v1_version_tell(e);
}

void v1_version_commit(struct errand *e, const char *report, const char *action, int status,
                       void (*apply)(struct errand *e))
{
    struct store_version *v = &e->commit.version;
    v->report = report;
    library_etag(v, e->etag);
    (void)snprintf(e->location, sizeof e->location, "/v1/models/%s/versions/%u", e->model->name,
                   v->number);
    errand_commit(e, status, describe_version(v, report), action, apply);
}

void v1_version_refuse(struct errand *e, const char *type)
{
    bool memory = e->result == ERR_MEMORY || e->result == ERR_TIMEOUT;
    errand_refuse(e, memory ? 503 : 422, memory ? "busy" : type, "It cannot be made", e->fault.line,
                  NULL);
}

enum err v1_version_open(struct errand *e, struct edition **out)
{
    struct model_file *file = NULL;
    enum err err = model_file_open(e->base_path, &file, &e->fault);
    if (err == ERR_OK) err = edition_build(file, &e->numbers, out, &e->fault);
    model_file_unref(file);
    return err;
}

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/edit.h"
#include "client/cli/report.h"
#include "client/cli/surface_read.h"
#include "common/file.h"

// What only looks: list, status, history, diff.

static const cJSON *list_of(const cJSON *json, const char *key)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, key);
    return cJSON_IsArray(list) ? list->child : NULL;
}

// --- list ---------------------------------------------------------------------------------------

static void print_models(const cJSON *json)
{
    (void)printf("%-20s %8s %9s %8s %8s\n", "model", "version", "vertices", "drivers", "examples");
    for (const cJSON *m = list_of(json, "models"); m; m = m->next) {
        const cJSON *drivers = cJSON_GetObjectItemCaseSensitive(m, "drivers");
        bool retired = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(m, "retired"));
        (void)printf("%-20s %8.0f %9.0f %8d %8.0f%s\n", edit_text(m, "name"),
                     edit_number(m, "version"), edit_number(m, "vertices"),
                     cJSON_GetArraySize(drivers), edit_number(m, "examples"),
                     retired ? "  retired" : "");
    }
    for (const cJSON *name = list_of(json, "loading"); name; name = name->next)
        (void)printf("%-20s  is still being loaded\n",
                     cJSON_IsString(name) ? name->valuestring : "");
}

static void print_holder(const cJSON *item)
{
    const cJSON *held = cJSON_GetObjectItemCaseSensitive(item, "held_by");
    if (held)
        (void)printf("  held by %s until %s", edit_text(held, "name"), edit_text(held, "expires"));
    (void)putchar('\n');
}

static void print_examples(const cJSON *json)
{
    char label[600];
    (void)printf("%-36s %9s  %s\n", "example", "sculpted", "joints that differ from the rest pose");
    for (const cJSON *x = list_of(json, "examples"); x; x = x->next) {
        const cJSON *pose = cJSON_GetObjectItemCaseSensitive(x, "pose");
        const cJSON *joints = cJSON_GetObjectItemCaseSensitive(pose, "joints");
        (void)snprintf(label, sizeof label, "%s:%s", edit_text(x, "driver"), edit_text(x, "name"));
        (void)printf("%-36s %9.0f ", label, edit_number(x, "moved"));
        int shown = 0;
        for (cJSON *j = joints ? joints->child : NULL; j; j = j->next, shown++) {
            if (shown < 3) report_clean(j->string);
            if (shown < 3) (void)printf(" %s", j->string);
        }
        if (shown > 3) (void)printf(" and %d more", shown - 3);
        print_holder(x);
    }
    (void)printf("%-36s\n", "base  (the surface itself)");
    for (const cJSON *r = list_of(json, "corrections"); r; r = r->next) {
        (void)snprintf(label, sizeof label, "corrections/%s", edit_text(r, "name"));
        (void)printf("%-36s %9.0f  a correction mesh", label, edit_number(r, "moved"));
        print_holder(r);
    }
    for (const cJSON *r = list_of(json, "roots"); r; r = r->next) {
        (void)snprintf(label, sizeof label, "roots/%s", edit_text(r, "name"));
        (void)printf("%-36s %9.0f  a root's weights", label, edit_number(r, "moved"));
        print_holder(r);
    }
}

// A list of one answer into another; the rest of it goes.
static void move_list(cJSON *to, cJSON *from, const char *key)
{
    if (to && from)
        (void)cJSON_AddItemToObject(to, key, cJSON_DetachItemFromObjectCaseSensitive(from, key));
    cJSON_Delete(from);
}

enum err edit_list(struct edit *e)
{
    const char *model = e->operand_count ? e->operands[0] : NULL;
    cJSON *json = NULL;
    cJSON *roots = NULL, *corrections = NULL;
    enum err err = edit_get(e, model, model ? "/examples" : "", &json, NULL);
    if (err == ERR_OK && model) err = edit_get(e, model, "/roots", &roots, NULL);
    if (err == ERR_OK && model) err = edit_get(e, model, "/corrections", &corrections, NULL);
    move_list(json, roots, "roots");
    move_list(json, corrections, "corrections");
    if (err != ERR_OK) {
        cJSON_Delete(json);
        return err;
    }
    if (edit_print_json(e, json)) return ERR_OK;
    if (model)
        print_examples(json);
    else
        print_models(json);
    cJSON_Delete(json);
    return ERR_OK;
}

// --- history ------------------------------------------------------------------------------------

enum err edit_history(struct edit *e)
{
    char tail[64];
    cJSON *json = NULL;
    (void)snprintf(tail, sizeof tail, "/versions?limit=%.0f", fmin(fmax(e->limit, 1), 1000));
    enum err err = edit_get(e, e->operands[0], tail, &json, NULL);
    if (err) return err;
    if (edit_print_json(e, json)) return ERR_OK;
    for (const cJSON *v = list_of(json, "versions"); v; v = v->next) {
        (void)printf("%5.0f  %.19s  %-8s %-12s %s", edit_number(v, "version"), edit_text(v, "time"),
                     edit_text(v, "kind"), edit_text(v, "author"), edit_text(v, "item"));
        if (edit_number(v, "restores") > 0)
            (void)printf("version %.0f again", edit_number(v, "restores"));
        if (edit_text(v, "message")[0]) (void)printf("  \"%s\"", edit_text(v, "message"));
        (void)putchar('\n');
    }
    cJSON_Delete(json);
    return ERR_OK;
}

// --- diff ---------------------------------------------------------------------------------------

struct difference {
    size_t vertices, moved, worst;
    double largest, mean;
};

static enum err read_surface(struct edit *e, const struct checkout *c, const char *name,
                             float **out, size_t *vertices, char hash[17])
{
    char path[CHECKOUT_PATH_BYTES];
    uint8_t *bytes = NULL;
    size_t size = 0;
    enum err err = checkout_file(c, name, path, e->fault);
    if (err == ERR_OK) err = file_read(path, EDIT_FILE_BYTES_MAX, &bytes, &size, e->fault);
    if (err) return err;
    if (hash) checkout_hash(bytes, size, hash);
    enum surface_kind kind = checkout_is_root(c->item) ? SURFACE_SHARES : surface_kind_of(path);
    err = surface_read(kind, bytes, size, out, vertices, e->fault);
    free(bytes);
    return err;
}

// `width` floats a vertex: a position, or a share.
static struct difference compare(const float *a, const float *b, size_t vertices, size_t width)
{
    struct difference d = {.vertices = vertices};
    double sum = 0;
    for (size_t v = 0; v < vertices; v++) {
        double square = 0;
        for (size_t k = 0; k < width; k++) {
            double by = (double)a[v * width + k] - (double)b[v * width + k];
            square += by * by;
        }
        if (!(square > 0)) continue;
        double length = sqrt(square);
        d.moved++;
        sum += length;
        if (length > d.largest) d.worst = v;
        d.largest = fmax(d.largest, length);
    }
    if (d.moved > 0) d.mean = sum / (double)d.moved;
    return d;
}

static enum err measure(struct edit *e, const struct checkout *c, struct difference *out,
                        bool *changed)
{
    float *now = NULL, *then = NULL;
    size_t now_count = 0, then_count = 0;
    char hash[17];
    enum err err = read_surface(e, c, c->surface, &now, &now_count, hash);
    if (err == ERR_OK) err = read_surface(e, c, "original.f32", &then, &then_count, NULL);
    if (err == ERR_OK && now_count != then_count)
        err = fault_set(e->fault, ERR_MALFORMED,
                        "%.60s has %zu vertices, the model %zu: number and order must stay",
                        c->surface, now_count, then_count);
    if (err == ERR_OK) {
        *out = compare(now, then, now_count, checkout_is_root(c->item) ? 1 : 3);
        *changed = strcmp(hash, c->taken) != 0;
    }
    free(now);
    free(then);
    return err;
}

enum err edit_diff(struct edit *e)
{
    struct checkout c;
    struct difference d = {0};
    bool changed = false;
    enum err err = checkout_load(e->operands[0], &c, e->fault);
    if (err == ERR_OK) err = measure(e, &c, &d, &changed);
    if (err) return err;
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, "item", c.item);
    (void)cJSON_AddNumberToObject(json, "vertices", (double)d.vertices);
    (void)cJSON_AddNumberToObject(json, "moved", (double)d.moved);
    (void)cJSON_AddNumberToObject(json, "largest_move", d.largest);
    (void)cJSON_AddNumberToObject(json, "mean_move", d.mean);
    (void)cJSON_AddNumberToObject(json, "farthest_vertex", (double)d.worst);
    if (edit_print_json(e, json)) return ERR_OK;
    cJSON_Delete(json);
    if (d.moved == 0)
        (void)printf("%s: no vertex has moved since it was taken%s\n", c.item,
                     changed ? " (the file was saved anew)" : "");
    else
        (void)printf("%s: %zu of %zu vertices moved, by %.5g on average, at most by %.5g (vertex "
                     "%zu), file units\n",
                     c.item, d.moved, d.vertices, d.mean, d.largest, d.worst);
    return ERR_OK;
}

// --- status -------------------------------------------------------------------------------------

static void print_grant(const cJSON *g)
{
    const cJSON *draft = cJSON_GetObjectItemCaseSensitive(g, "draft");
    (void)printf("%-36s %s until %s, on version %.0f", edit_text(g, "item"),
                 edit_text(g, "held_by"), edit_text(g, "expires"), edit_number(g, "base_version"));
    if (draft)
        (void)printf("; your draft: %.0f vertices sculpted, moved by at most %.5g",
                     edit_number(draft, "moved"), edit_number(draft, "largest_move"));
    (void)putchar('\n');
}

static enum err status_of_model(struct edit *e, const char *model)
{
    cJSON *json = NULL;
    enum err err = edit_get(e, model, "/grants", &json, NULL);
    if (err) return err;
    if (edit_print_json(e, json)) return ERR_OK;
    if (!list_of(json, "grants")) (void)printf("nobody edits %s\n", model);
    for (const cJSON *g = list_of(json, "grants"); g; g = g->next)
        print_grant(g);
    cJSON_Delete(json);
    return ERR_OK;
}

// Whether this folder's grant is among those that are still good.
static const cJSON *find_grant(const cJSON *json, const struct checkout *c)
{
    for (const cJSON *g = list_of(json, "grants"); g; g = g->next)
        if (strcmp(edit_text(g, "grant"), c->grant) == 0) return g;
    return NULL;
}

static enum err status_of_folder(struct edit *e, const char *folder)
{
    struct checkout c;
    struct difference d = {0};
    bool changed = false;
    cJSON *grants = NULL, *model = NULL;
    enum err err = checkout_load(folder, &c, e->fault);
    if (err == ERR_OK) err = measure(e, &c, &d, &changed);
    if (err == ERR_OK) err = edit_get(e, c.model, "/grants", &grants, NULL);
    if (err == ERR_OK) err = edit_get(e, c.model, "", &model, NULL);
    const cJSON *g = err == ERR_OK ? find_grant(grants, &c) : NULL;
    const cJSON *draft = cJSON_GetObjectItemCaseSensitive(g, "draft");
    bool fence_is_new = g && strtod(c.fence, NULL) < edit_number(g, "fence");
    double newest = edit_number(model, "version");
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, "model", c.model);
    (void)cJSON_AddStringToObject(json, "item", c.item);
    (void)cJSON_AddBoolToObject(json, "held", g && !fence_is_new);
    (void)cJSON_AddStringToObject(json, "expires", g ? edit_text(g, "expires") : "");
    (void)cJSON_AddNumberToObject(json, "base_version", c.base_version);
    (void)cJSON_AddNumberToObject(json, "newest_version", newest);
    (void)cJSON_AddBoolToObject(json, "has_draft", draft != NULL);
    (void)cJSON_AddBoolToObject(json, "is_changed", changed);
    (void)cJSON_AddNumberToObject(json, "moved", (double)d.moved);
    (void)cJSON_AddNumberToObject(json, "largest_move", d.largest);
    if (err == ERR_OK && !edit_print_json(e, json)) {
        (void)printf("%s of %s, taken from version %u; the newest is %.0f\n", c.item, c.model,
                     c.base_version, newest);
        (void)printf("grant: %s%s\n",
                     fence_is_new ? "taken anew elsewhere with this token"
                     : g          ? "yours until "
                                  : "run out or released; submit asks for it again",
                     g && !fence_is_new ? edit_text(g, "expires") : "");
        (void)printf("draft: %s\n", draft ? "there, not published" : "none");
        (void)printf("%s: %zu vertices moved since it was taken, at most by %.5g\n", c.surface,
                     d.moved, d.largest);
    }
    if (err != ERR_OK || !e->json) cJSON_Delete(json);
    cJSON_Delete(grants);
    cJSON_Delete(model);
    return err;
}

enum err edit_status(struct edit *e)
{
    const char *what = e->operand_count ? e->operands[0] : ".";
    return checkout_is_at(what) || !e->operand_count ? status_of_folder(e, what)
                                                     : status_of_model(e, what);
}

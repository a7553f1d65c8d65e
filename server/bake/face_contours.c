#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/bake/face_bake.h"
#include "server/bake/face_probe.h"
#include "server/model/lookup.h"

// Contours that the rig file gives.

enum { CONTOURS_MAX = 64, RIM_MAX = 4096 };

static enum err read_rim(struct face_bake *k, const cJSON *list, const char *path, uint32_t **out,
                         uint32_t *count)
{
    int length = cJSON_GetArraySize(list);
    if (length < 2 || length > RIM_MAX)
        return fault_set(k->b->fault, ERR_MALFORMED, "%s: needs 2 to %d vertices", path,
                         (int)RIM_MAX);
    *out = BUILDER_ARRAY(k->b, uint32_t, length);
    if (!*out) return builder_no_memory(k->b);
    for (const cJSON *v = list->child; v; v = v->next) {
        if (!(v->valuedouble >= 0) || v->valuedouble != floor(v->valuedouble) ||
            !(v->valuedouble < (double)model_vertex_count(&k->b->model)))
            return fault_set(k->b->fault, ERR_MALFORMED, "%s: there is no vertex %g", path,
                             v->valuedouble);
        (*out)[(*count)++] = (uint32_t)v->valuedouble;
    }
    return ERR_OK;
}

static enum err read_contour(struct face_bake *k, const cJSON *json)
{
    char path[200], place[120];
    struct face_contour c = {.name = json->string};
    (void)snprintf(place, sizeof place, "/face/contours/%.80s", json->string);
    if (k->contours_count == CONTOURS_MAX)
        return fault_set(k->b->fault, ERR_LIMIT, "%s: more than %d contours", place,
                         (int)CONTOURS_MAX);
    (void)snprintf(path, sizeof path, "%s/upper", place);
    enum err e = read_rim(k, rig_get(json, "upper"), path, &c.upper, &c.upper_count);
    (void)snprintf(path, sizeof path, "%s/lower", place);
    if (e == ERR_OK) e = read_rim(k, rig_get(json, "lower"), path, &c.lower, &c.lower_count);
    const cJSON *by = rig_get(json, "closed_by");
    (void)snprintf(path, sizeof path, "%s/closed_by", place);
    for (const cJSON *v = by ? by->child : NULL; v && e == ERR_OK; v = v->next) {
        if (c.closer_count == FACE_CLOSERS_MAX)
            return fault_set(k->b->fault, ERR_LIMIT, "%s: more than %d shapes", path,
                             (int)FACE_CLOSERS_MAX);
        e = lookup_name(&k->b->model, LOOKUP_SHAPE, v->valuestring, path,
                        &c.closers[c.closer_count], k->b->fault);
        c.openers[c.closer_count++] = MODEL_NONE;
    }
    if (e != ERR_OK) return e;
    struct face_contour *out = FACE_ADD(k, contours);
    if (!out) return builder_no_memory(k->b);
    *out = c;
    return ERR_OK;
}

enum err face_read_contours(struct face_bake *k)
{
    const cJSON *list = rig_get(k->json, "contours");
    enum err e = ERR_OK;
    for (const cJSON *v = list ? list->child : NULL; v && e == ERR_OK; v = v->next)
        e = read_contour(k, v);
    return e;
}

#include "server/bake/bake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "server/bake/compile.h"
#include "server/bake/import.h"
#include "server/bake/rig.h"
#include "server/bake/rig_body.h"
#include "server/model/model_file.h"

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_rig_file(const char *path)
{
    size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".json") == 0;
}

static enum err find_source(const char *input, const struct rig *rig, char *out, size_t out_bytes,
                            struct fault *fault)
{
    if (!is_rig_file(input)) {
        if (snprintf(out, out_bytes, "%s", input) >= (int)out_bytes)
            return fault_set(fault, ERR_LIMIT, "the path is too long: %.100s", input);
        return ERR_OK;
    }
    if (!rig->source)
        return fault_set(fault, ERR_MALFORMED,
                         "%s: /source is missing: name the GLB, glTF or VRM beside it", rig->path);
    if (file_beside(rig->path, rig->source, out, out_bytes) != ERR_OK)
        return fault_set(fault, ERR_DENIED,
                         "%.200s: /source must stay in the rig file's folder: %.100s", rig->path,
                         rig->source);
    return ERR_OK;
}

static enum err add_clips(const struct rig *rig, const struct import_limits *limits,
                          struct scene *scene, struct fault *fault)
{
    for (uint32_t i = 0; i < rig->clip_count; i++) {
        char path[2048];
        struct fault inner = {0};
        const struct rig_clip *c = &rig->clips[i];
        if (file_beside(rig->path, c->file, path, sizeof path) != ERR_OK)
            return fault_set(fault, ERR_DENIED,
                             "/clips/%u/file must stay in the rig file's folder: %.100s", i,
                             c->file);
        enum err e = import_clips(path, c->name, c->loop, limits, scene, &inner);
        if (e != ERR_OK) return fault_set(fault, e, "/clips/%u/file: %s", i, inner.line);
    }
    return ERR_OK;
}

static enum err copy_notes(const struct scene *scene, struct bake_result *out)
{
    uint32_t count = scene->notes.count;
    out->notes = calloc(count + !count, sizeof *out->notes);
    if (!out->notes) return ERR_MEMORY;
    if (count) memcpy(out->notes, scene->notes.items, count * sizeof *out->notes);
    out->note_count = count;
    return ERR_OK;
}

static enum err bake_scene(struct scene *scene, const char *source, const struct rig *rig,
                           const struct import_limits *limits, struct bake_result *out,
                           struct fault *fault)
{
    enum err e = rig->json ? rig_body_read(rig, scene, fault) : ERR_OK; // clips follow its bones
    if (e == ERR_OK) e = add_clips(rig, limits, scene, fault);
    if (e != ERR_OK) return e;
    struct compile_settings settings = {.source_name = file_name(source),
                                        .rig = rig->json ? rig : NULL};
    e = compile_scene(scene, &settings, &out->bytes, &out->size_bytes, fault);
    if (e == ERR_OK && copy_notes(scene, out) != ERR_OK)
        e = fault_set(fault, ERR_MEMORY, "no memory for the bake's notes");
    return e;
}

// A bake that its own loader would refuse must not leave this file.
static enum err prove(const struct bake_result *r, struct fault *fault)
{
    struct model_file *file = NULL;
    enum err e = model_file_from_bytes(r->bytes, r->size_bytes, &file, fault);
    model_file_unref(file);
    return e;
}

enum err bake_run(const char *input, const char *rig_path, struct bake_result *out,
                  struct fault *fault)
{
    struct import_limits limits = import_limits_default();
    struct rig rig = {0};
    struct scene scene = {0};
    struct bake_result result = {0};
    char source[2048];
    enum err e = ERR_OK;
    if (is_rig_file(input) && rig_path)
        return fault_set(fault, ERR_USAGE, "%s is a rig file already: leave --rig out", input);
    if (is_rig_file(input)) rig_path = input;
    if (rig_path) e = rig_read(rig_path, &rig, fault);
    if (e == ERR_OK) e = find_source(input, &rig, source, sizeof source, fault);
    if (e == ERR_OK && is_rig_file(input) && access(source, F_OK) != 0)
        e = fault_set(fault, ERR_NOT_FOUND,
                      "/source: the file %.100s is missing; put it beside the rig file",
                      rig.source);
    if (e == ERR_OK) e = import_file(source, &limits, &scene, fault);
    if (e == ERR_OK) e = bake_scene(&scene, source, &rig, &limits, &result, fault);
    scene_free(&scene);
    if (e == ERR_OK) e = prove(&result, fault);
    rig_free(&rig);
    if (e != ERR_OK) {
        bake_free(&result);
        return e;
    }
    *out = result;
    return ERR_OK;
}

void bake_free(struct bake_result *r)
{
    free(r->bytes);
    free(r->notes);
    *r = (struct bake_result){0};
}

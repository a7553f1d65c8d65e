#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "server/bake/bvh.h"
#include "server/bake/clip_map.h"
#include "server/bake/import.h"

// How a clip file's motion goes over.
enum carry { CARRY_AS_IT_IS, CARRY_RETARGETED };

struct adding {
    const char *file; // name without folders, for lines
    const char *name;
    bool loop;
    bool is_bvh, is_vrma;
    struct scene *target;
    const struct scene *source;
    struct clip_map map;
    struct fault *fault;
    struct pool scratch;
};

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static enum err out_of_room(struct adding *a)
{
    return fault_set(a->fault, ERR_LIMIT, "%.80s: its clips need too much memory", a->file);
}

// ---- names

static const char *stem_of(struct adding *a)
{
    const char *dot = strrchr(a->file, '.');
    size_t length = dot && dot != a->file ? (size_t)(dot - a->file) : strlen(a->file);
    return pool_copy_text(&a->target->pool, a->file, length);
}

static const char *clip_name(struct adding *a, uint32_t clip)
{
    const char *own = a->source->clips[clip].name;
    bool single = a->source->clip_count == 1;
    if (a->name && single) return pool_copy_text(&a->target->pool, a->name, strlen(a->name));
    if (a->name && clip == 0)
        scene_note(a->target, NOTE_LEFT_OUT, 1,
                   "the name given for %.60s, which holds more than one clip", a->file);
    return *own ? pool_copy_text(&a->target->pool, own, strlen(own)) : stem_of(a);
}

// ---- which way

static bool *animated_nodes(struct adding *a)
{
    bool *animated = POOL_ARRAY(&a->scratch, bool, a->source->node_count);
    for (uint32_t i = 0; animated && i < a->source->clip_count; i++)
        for (uint32_t c = 0; c < a->source->clips[i].channel_count; c++)
            animated[a->source->clips[i].channels[c].node] = true;
    return animated;
}

static uint32_t count_animated(const struct clip_map *m, const bool *animated)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->pair_count; i++)
        count += animated[m->pairs[i].source];
    return count;
}

// Names count where they carry at least half of what moves, else the humanoid bones. A glTF with
// the character's own joint names goes over as it is; everything else is fitted to its rest pose.
static enum err choose(struct adding *a, enum carry *carry, const bool *animated)
{
    struct clip_map names = clip_map_by_name(a->source, a->target, &a->scratch);
    struct clip_map bones = clip_map_by_bone(a->source, a->target, &a->scratch);
    if (!names.pairs || !bones.pairs) return out_of_room(a);
    uint32_t moving = 0, by_name = count_animated(&names, animated),
             by_bone = count_animated(&bones, animated);
    for (uint32_t i = 0; i < a->source->node_count; i++)
        moving += animated[i];
    bool use_names = !a->is_vrma && by_name > 0 && (2 * by_name >= moving || by_bone == 0);
    a->map = use_names ? names : bones;
    *carry = use_names && !a->is_bvh ? CARRY_AS_IT_IS : CARRY_RETARGETED;
    if (use_names && names.source_named_twice)
        scene_note(a->target, NOTE_LEFT_OUT, names.source_named_twice,
                   "joints of %.60s whose name the character has twice", a->file);
    if (use_names || by_bone > 0) return ERR_OK;
    return fault_set(a->fault, ERR_NOT_FOUND,
                     "%.80s: moves no joint that this character has, by name or humanoid bone",
                     a->file);
}

static void note_left_out(struct adding *a, const bool *animated)
{
    const char *first = NULL;
    uint32_t count = 0;
    bool *paired = POOL_ARRAY(&a->scratch, bool, a->source->node_count);
    if (!paired) return;
    for (uint32_t i = 0; i < a->map.pair_count; i++)
        paired[a->map.pairs[i].source] = true;
    for (uint32_t i = 0; i < a->source->node_count; i++) {
        if (!animated[i] || paired[i]) continue;
        if (!first) first = a->source->nodes[i].name;
        count++;
    }
    if (count)
        scene_note(a->target, NOTE_LEFT_OUT, count,
                   "moving joints of %.60s without a partner of their own (\"%.40s\" …)", a->file,
                   first);
}

// ---- as it is

struct copied { // key times are shared by many channels
    const float *from, *to;
};
enum { COPIED_COUNT = 16 };

static const float *copy_floats(struct adding *a, const float *values, size_t count)
{
    float *copy = POOL_ARRAY(&a->target->pool, float, count);
    if (copy) memcpy(copy, values, count * sizeof *copy);
    return copy;
}

static const float *copy_times(struct adding *a, struct copied *known, const float *times,
                               uint32_t count)
{
    for (int i = 0; i < COPIED_COUNT; i++)
        if (known[i].from == times) return known[i].to;
    memmove(known + 1, known, (COPIED_COUNT - 1) * sizeof *known);
    known[0] = (struct copied){times, copy_floats(a, times, count)};
    return known[0].to;
}

static enum err copy_clip(struct adding *a, const struct scene_clip *clip, struct scene_clip *out)
{
    struct copied known[COPIED_COUNT] = {{0}};
    int32_t *target_of = POOL_ARRAY(&a->scratch, int32_t, a->source->node_count);
    *out = (struct scene_clip){
        .channels = POOL_ARRAY(&a->target->pool, struct scene_channel, clip->channel_count)};
    if (!target_of || !out->channels) return out_of_room(a);
    for (uint32_t i = 0; i < a->map.pair_count; i++)
        target_of[a->map.pairs[i].source] = a->map.pairs[i].target + 1;
    for (uint32_t i = 0; i < clip->channel_count; i++) {
        struct scene_channel c = clip->channels[i];
        if (target_of[c.node] == 0) continue;
        c.node = target_of[c.node] - 1;
        int32_t mesh = a->target->nodes[c.node].mesh;
        if (c.path == SCENE_WEIGHTS &&
            (mesh == SCENE_NONE || a->target->meshes[mesh].target_count != c.width)) {
            scene_note(a->target, NOTE_LEFT_OUT, 1,
                       "weights of %.60s for another number of morph targets", a->file);
            continue;
        }
        size_t parts = c.interpolation == SCENE_CUBIC ? 3 : 1;
        c.times = copy_times(a, known, c.times, c.key_count);
        c.values = copy_floats(a, c.values, parts * c.width * c.key_count);
        if (!c.times || !c.values) return out_of_room(a);
        out->channels[out->channel_count++] = c;
        if (c.times[c.key_count - 1] > out->duration_s) out->duration_s = c.times[c.key_count - 1];
    }
    return ERR_OK;
}

// ---- adding

static enum err carry_clip(struct adding *a, enum carry carry, uint32_t clip,
                           struct scene_clip *out)
{
    const struct scene_clip *from = &a->source->clips[clip];
    if (carry == CARRY_AS_IT_IS) return copy_clip(a, from, out);
    struct retarget_job job = {.source = a->source,
                               .clip = from,
                               .target = a->target,
                               .pairs = a->map.pairs,
                               .pair_count = a->map.pair_count,
                               .rest_on_ground = !a->is_bvh};
    struct fault fault = {0};
    enum err e = retarget_clip(&job, out, &fault);
    return e == ERR_OK ? e : fault_set(a->fault, e, "%.80s: %.200s", a->file, fault.line);
}

static enum err add_clips(struct adding *a)
{
    struct scene *target = a->target;
    enum carry carry = CARRY_AS_IT_IS;
    bool *animated = animated_nodes(a);
    if (!animated) return out_of_room(a);
    if (a->source->clip_count == 0)
        return fault_set(a->fault, ERR_NOT_FOUND, "%.80s: holds no animation", a->file);
    enum err e = choose(a, &carry, animated);
    if (e != ERR_OK) return e;
    note_left_out(a, animated);
    uint32_t count = target->clip_count + a->source->clip_count;
    struct scene_clip *clips = POOL_ARRAY(&target->pool, struct scene_clip, count);
    if (!clips) return out_of_room(a);
    if (target->clip_count) memcpy(clips, target->clips, target->clip_count * sizeof *clips);
    for (uint32_t i = 0; i < a->source->clip_count; i++) {
        struct scene_clip *clip = &clips[target->clip_count + i];
        e = carry_clip(a, carry, i, clip);
        if (e != ERR_OK) return e;
        clip->name = clip_name(a, i);
        clip->loop = a->loop;
        if (!clip->name) return out_of_room(a);
    }
    target->clips = clips;
    target->clip_count = count;
    return ERR_OK;
}

static enum err read_source(struct adding *a, const char *path, const uint8_t *bytes, size_t size,
                            const struct import_limits *limits, struct scene *out)
{
    struct fault fault = {0};
    a->is_bvh = bvh_is((const char *)bytes, size);
    enum err e = a->is_bvh ? bvh_parse((const char *)bytes, size, out, &fault)
                           : import_bytes(bytes, size, path, limits, out, &fault);
    if (e != ERR_OK) return fault_set(a->fault, e, "%.80s: %.280s", a->file, fault.line);
    a->is_vrma = out->vrm.is_animation;
    return ERR_OK;
}

enum err import_clips(const char *path, const char *name, bool loop,
                      const struct import_limits *limits, struct scene *scene, struct fault *fault)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    enum err e = file_read(path, limits->file_bytes_max, &bytes, &size, fault);
    if (e != ERR_OK) return e;
    struct scene source = {0};
    struct adding a = {.file = file_of(path),
                       .name = name,
                       .loop = loop,
                       .target = scene,
                       .source = &source,
                       .fault = fault};
    size_t room = ((size_t)64 << 20) + 16 * size;
    pool_init(&a.scratch, room);
    e = read_source(&a, path, bytes, size, limits, &source);
    free(bytes);
    if (e == ERR_OK) {
        pool_raise_cap(&scene->pool, scene->pool.used_bytes + room);
        e = add_clips(&a);
        scene_free(&source);
    }
    pool_free(&a.scratch);
    return e;
}

#include "server/bake/clip_map.h"

#include <stdlib.h>
#include <string.h>

#include "server/character/pose/humanoid.h"

// ---- humanoid bones of a skeleton

static uint32_t depth_of(const struct scene *s, uint32_t node)
{
    uint32_t depth = 0;
    for (int32_t at = s->nodes[node].parent; at != SCENE_NONE && depth < 1000; depth++)
        at = s->nodes[at].parent;
    return depth;
}

struct found {
    int32_t node;
    uint32_t depth;
};

// The topmost node of a bone counts; `second` keeps the next below it.
static void offer(struct found *first, struct found *second, uint32_t node, uint32_t depth)
{
    struct found here = {(int32_t)node, depth};
    if (first->node == SCENE_NONE || depth < first->depth) {
        if (second) *second = *first;
        *first = here;
    } else if (second && (second->node == SCENE_NONE || depth < second->depth)) {
        *second = here;
    }
}

// Where elbows and wrists are named, "shoulder" is the upper arm's joint and the collar the
// shoulder.
static void mend_arms(struct found *bones, const struct found *seconds)
{
    static const char *const sides[2][3] = {{"leftShoulder", "leftUpperArm", "leftLowerArm"},
                                            {"rightShoulder", "rightUpperArm", "rightLowerArm"}};
    for (int i = 0; i < 2; i++) {
        struct found *shoulder = &bones[humanoid_find(sides[i][0])];
        struct found *upper = &bones[humanoid_find(sides[i][1])];
        const struct found *lower = &bones[humanoid_find(sides[i][2])];
        if (upper->node != SCENE_NONE || lower->node == SCENE_NONE) continue;
        const struct found *second = &seconds[humanoid_find(sides[i][0])];
        if (second->node != SCENE_NONE) {
            *upper = *second;
        } else {
            *upper = *shoulder;
            shoulder->node = SCENE_NONE;
        }
    }
}

static void bones_of(const struct scene *s, int32_t out[HUMANOID_BONE_COUNT])
{
    struct found bones[HUMANOID_BONE_COUNT], seconds[HUMANOID_BONE_COUNT];
    for (int i = 0; i < HUMANOID_BONE_COUNT; i++) {
        bones[i].node = seconds[i].node = SCENE_NONE;
        bones[i].depth = seconds[i].depth = 0;
    }
    if (s->vrm.bone_count > 0) {
        for (uint32_t i = 0; i < s->vrm.bone_count; i++)
            bones[humanoid_find(s->vrm.bones[i].bone)].node = s->vrm.bones[i].node;
    } else {
        for (uint32_t i = 0; i < s->node_count; i++) {
            int32_t bone = s->nodes[i].mesh == SCENE_NONE ? humanoid_guess(s->nodes[i].name) : -1;
            if (bone >= 0) offer(&bones[bone], &seconds[bone], i, depth_of(s, i));
        }
        mend_arms(bones, seconds);
    }
    for (int i = 0; i < HUMANOID_BONE_COUNT; i++)
        out[i] = bones[i].node;
}

// ---- pairs

static bool add_pair(struct clip_map *m, int32_t source, int32_t target, int32_t bone,
                     bool *source_taken, bool *target_taken)
{
    if (source_taken[source] || target_taken[target]) return false;
    source_taken[source] = target_taken[target] = true;
    m->pairs[m->pair_count++] = (struct retarget_pair){source, target, bone};
    return true;
}

struct clip_map clip_map_by_bone(const struct scene *source, const struct scene *target,
                                 struct pool *pool)
{
    struct clip_map m = {.pairs = POOL_ARRAY(pool, struct retarget_pair, HUMANOID_BONE_COUNT)};
    bool *source_taken = POOL_ARRAY(pool, bool, source->node_count),
         *target_taken = POOL_ARRAY(pool, bool, target->node_count);
    int32_t from[HUMANOID_BONE_COUNT], to[HUMANOID_BONE_COUNT];
    if (!m.pairs || !source_taken || !target_taken) return (struct clip_map){0};
    bones_of(source, from);
    bones_of(target, to);
    for (int32_t i = 0; i < HUMANOID_BONE_COUNT; i++)
        if (from[i] != SCENE_NONE && to[i] != SCENE_NONE)
            (void)add_pair(&m, from[i], to[i], i, source_taken, target_taken);
    return m;
}

struct named {
    const char *name;
    int32_t node;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

static const struct named *find_name(const struct named *names, uint32_t count, const char *name)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(names[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && strcmp(names[low].name, name) == 0 ? &names[low] : NULL;
}

// The bone that a pair stands for, once each.
static void name_bones(struct clip_map *m, const struct scene *source)
{
    int32_t bones[HUMANOID_BONE_COUNT];
    bones_of(source, bones);
    for (uint32_t i = 0; i < m->pair_count; i++)
        for (int32_t b = 0; b < HUMANOID_BONE_COUNT; b++)
            if (bones[b] == m->pairs[i].source) m->pairs[i].bone = b;
}

struct clip_map clip_map_by_name(const struct scene *source, const struct scene *target,
                                 struct pool *pool)
{
    struct clip_map m = {.pairs = POOL_ARRAY(pool, struct retarget_pair, source->node_count)};
    struct named *names = POOL_ARRAY(pool, struct named, target->node_count);
    bool *source_taken = POOL_ARRAY(pool, bool, source->node_count),
         *target_taken = POOL_ARRAY(pool, bool, target->node_count);
    if (!m.pairs || !names || !source_taken || !target_taken) return (struct clip_map){0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < target->node_count; i++)
        if (*target->nodes[i].name)
            names[count++] = (struct named){target->nodes[i].name, (int32_t)i};
    qsort(names, count, sizeof *names, by_name);
    for (uint32_t i = 0; i < source->node_count; i++) {
        const char *name = source->nodes[i].name;
        const struct named *n = *name ? find_name(names, count, name) : NULL;
        if (!n) continue;
        if (n + 1 < names + count && strcmp(n[1].name, name) == 0)
            m.source_named_twice++;
        else
            (void)add_pair(&m, (int32_t)i, n->node, -1, source_taken, target_taken);
    }
    name_bones(&m, source);
    return m;
}

#include "server/bake/clip_map.h"

#include <stdlib.h>
#include <string.h>

#include "server/character/pose/humanoid_map.h"

// ---- humanoid bones of a skeleton

bool clip_map_bones(const struct scene *s, struct pool *pool, int32_t out[HUMANOID_BONE_COUNT])
{
    if (s->vrm.bone_count > 0) {
        for (int i = 0; i < HUMANOID_BONE_COUNT; i++)
            out[i] = SCENE_NONE;
        for (uint32_t i = 0; i < s->vrm.bone_count; i++)
            out[humanoid_find(s->vrm.bones[i].bone)] = s->vrm.bones[i].node;
        return true;
    }
    const char **names = POOL_ARRAY(pool, const char *, s->node_count);
    int32_t *parents = POOL_ARRAY(pool, int32_t, s->node_count);
    if (!names || !parents) return false;
    for (uint32_t i = 0; i < s->node_count; i++) {
        names[i] = s->nodes[i].mesh == SCENE_NONE ? s->nodes[i].name : NULL;
        parents[i] = s->nodes[i].parent;
    }
    humanoid_map(names, parents, s->node_count, out);
    return true;
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
    if (!clip_map_bones(source, pool, from) || !clip_map_bones(target, pool, to))
        return (struct clip_map){0};
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
static bool name_bones(struct clip_map *m, const struct scene *source, struct pool *pool)
{
    int32_t bones[HUMANOID_BONE_COUNT];
    if (!clip_map_bones(source, pool, bones)) return false;
    for (uint32_t i = 0; i < m->pair_count; i++)
        for (int32_t b = 0; b < HUMANOID_BONE_COUNT; b++)
            if (bones[b] == m->pairs[i].source) m->pairs[i].bone = b;
    return true;
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
    return name_bones(&m, source, pool) ? m : (struct clip_map){0};
}

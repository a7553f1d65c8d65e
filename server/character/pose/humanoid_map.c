#include "server/character/pose/humanoid_map.h"

#include <stdlib.h>

static uint32_t depth_of(const int32_t *parents, int32_t node)
{
    uint32_t depth = 0;
    for (int32_t at = parents[node]; at >= 0 && depth < 1000; depth++)
        at = parents[at];
    return depth;
}

struct found {
    int32_t node;
    uint32_t depth;
};

// The topmost node of a bone counts; `second` keeps the next below it.
static void offer(struct found *first, struct found *second, int32_t node, uint32_t depth)
{
    struct found here = {node, depth};
    if (first->node < 0 || depth < first->depth) {
        *second = *first;
        *first = here;
    } else if (second->node < 0 || depth < second->depth) {
        *second = here;
    }
}

static void mend_arms(struct found *bones, const struct found *seconds)
{
    static const char *const sides[2][3] = {{"leftShoulder", "leftUpperArm", "leftLowerArm"},
                                            {"rightShoulder", "rightUpperArm", "rightLowerArm"}};
    for (int i = 0; i < 2; i++) {
        struct found *shoulder = &bones[humanoid_find(sides[i][0])];
        struct found *upper = &bones[humanoid_find(sides[i][1])];
        const struct found *lower = &bones[humanoid_find(sides[i][2])];
        if (upper->node >= 0 || lower->node < 0) continue;
        const struct found *second = &seconds[humanoid_find(sides[i][0])];
        if (second->node >= 0) {
            *upper = *second;
        } else {
            *upper = *shoulder;
            shoulder->node = -1;
        }
    }
}

void humanoid_map(const char *const *names, const int32_t *parents, size_t count,
                  int32_t out[HUMANOID_BONE_COUNT])
{
    struct found bones[HUMANOID_BONE_COUNT], seconds[HUMANOID_BONE_COUNT];
    for (int i = 0; i < HUMANOID_BONE_COUNT; i++)
        bones[i] = seconds[i] = (struct found){-1, 0};
    for (size_t i = 0; i < count; i++) {
        int32_t bone = names[i] ? humanoid_guess(names[i]) : -1;
        if (bone >= 0)
            offer(&bones[bone], &seconds[bone], (int32_t)i, depth_of(parents, (int32_t)i));
    }
    mend_arms(bones, seconds);
    for (int i = 0; i < HUMANOID_BONE_COUNT; i++)
        out[i] = bones[i].node;
}

enum err humanoid_map_model(const struct model *m, int32_t out[HUMANOID_BONE_COUNT])
{
    size_t count = m->nodes_count;
    const char **names = malloc((count + 1) * sizeof *names);
    int32_t *parents = malloc((count + 1) * sizeof *parents);
    enum err err = names && parents ? ERR_OK : ERR_MEMORY;
    for (size_t i = 0; err == ERR_OK && i < count; i++) {
        names[i] = m->text + m->nodes[i].name;
        parents[i] = m->nodes[i].parent;
    }
    if (err == ERR_OK) humanoid_map(names, parents, count, out);
    for (size_t i = 0; m->bones_count > 0 && i < HUMANOID_BONE_COUNT; i++)
        out[i] = -1;
    for (size_t i = 0; i < m->bones_count; i++) {
        int32_t bone = humanoid_find(m->text + m->bones[i].bone);
        if (bone >= 0) out[bone] = (int32_t)m->bones[i].node;
    }
    free(names);
    free(parents);
    return err;
}

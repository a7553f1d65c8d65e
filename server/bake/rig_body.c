#include "server/bake/rig_body.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "server/bake/clip_map.h"

// A name, or #N; SCENE_NONE when it is none or not unique.
static int32_t node_called(const struct scene *s, const char *name)
{
    int32_t found = SCENE_NONE;
    char *end = NULL;
    unsigned long at = name[0] == '#' ? strtoul(name + 1, &end, 10) : 0;
    if (end && end != name + 1 && *end == '\0' && at < s->node_count) return (int32_t)at;
    for (uint32_t i = 0; i < s->node_count; i++) {
        if (strcmp(s->nodes[i].name, name) != 0) continue;
        if (found != SCENE_NONE) return SCENE_NONE;
        found = (int32_t)i;
    }
    return found;
}

static enum err read_bones(const cJSON *json, const struct scene *s,
                           int32_t nodes[HUMANOID_BONE_COUNT], struct fault *fault)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, json)
    {
        int32_t bone = humanoid_find(item->string);
        if (bone < 0)
            return fault_set(fault, ERR_NOT_FOUND,
                             "/body/humanoid/%.60s: no bone of a humanoid is called that; the "
                             "names are VRM 1.0's: hips, spine, head, leftUpperArm ...",
                             item->string);
        int32_t node = node_called(s, item->valuestring);
        for (int32_t k = 0; node != SCENE_NONE && k < HUMANOID_BONE_COUNT; k++)
            if (k != bone && nodes[k] == node) {
                const cJSON *other = rig_get(json, humanoid_name(k));
                if (other)
                    return fault_set(fault, ERR_MALFORMED,
                                     "/body/humanoid/%.60s: %.60s is %s already", item->string,
                                     item->valuestring, humanoid_name(k));
                nodes[k] = SCENE_NONE; // the source said so, the rig file says otherwise
            }
        nodes[bone] = node;
    }
    return ERR_OK;
}

enum err rig_body_read(const struct rig *rig, struct scene *scene, struct fault *fault)
{
    const cJSON *humanoid = rig_get(rig_get(rig->json, "body"), "humanoid");
    struct scene_vrm *vrm = &scene->vrm;
    int32_t nodes[HUMANOID_BONE_COUNT];
    if (!cJSON_IsObject(humanoid)) return ERR_OK; // "auto"
    struct scene_bone *bones = POOL_ARRAY(&scene->pool, struct scene_bone, HUMANOID_BONE_COUNT);
    if (!bones || !clip_map_bones(scene, &scene->pool, nodes))
        return fault_set(fault, ERR_MEMORY, "no memory for the humanoid's bones");
    enum err e = read_bones(humanoid, scene, nodes, fault);
    if (e != ERR_OK) return e;
    vrm->bones = bones;
    vrm->bone_count = 0;
    for (int32_t i = 0; i < HUMANOID_BONE_COUNT; i++)
        if (nodes[i] != SCENE_NONE)
            bones[vrm->bone_count++] = (struct scene_bone){humanoid_name(i), nodes[i]};
    return ERR_OK;
}

#include <string.h>

#include "common/check.h"
#include "server/bake/builder.h"

// Ascending source order, but every parent first: walk up to the first placed ancestor, then
// place the chain downwards. Each node is walked once.
static void order_nodes(const struct scene *s, uint32_t *node_of_source, uint32_t *source_of_node,
                        uint32_t *chain)
{
    uint32_t placed = 0;
    memset(node_of_source, 0xFF, s->node_count * sizeof *node_of_source);
    for (uint32_t i = 0; i < s->node_count; i++) {
        uint32_t length = 0;
        for (int32_t n = (int32_t)i; n != SCENE_NONE && node_of_source[n] == UINT32_MAX;
             n = s->nodes[n].parent)
            chain[length++] = (uint32_t)n;
        while (length > 0) {
            uint32_t n = chain[--length];
            node_of_source[n] = placed;
            source_of_node[placed++] = n;
        }
    }
    CHECK(placed == s->node_count);
}

static struct model_node make_node(struct builder *b, uint32_t source)
{
    const struct scene_node *from = &b->scene->nodes[source];
    return (struct model_node){
        .parent =
            from->parent == SCENE_NONE ? MODEL_NONE : (int32_t)b->node_of_source[from->parent],
        .source = source,
        .name = builder_text(b, from->name),
        .flags = (from->in_default_scene ? MODEL_NODE_IN_SCENE : 0) |
                 (from->has_matrix && !from->matrix_is_exact ? MODEL_NODE_SHEARED : 0),
        .rest = from->rest,
        .rest_local = mat34_from_xform(&from->local),
    };
}

static enum err compile_bones(struct builder *b)
{
    const struct scene_vrm *vrm = &b->scene->vrm;
    struct model_bone *bones = BUILDER_ARRAY(b, struct model_bone, vrm->bone_count);
    if (!bones) return builder_no_memory(b);
    for (uint32_t i = 0; i < vrm->bone_count; i++)
        bones[i] = (struct model_bone){builder_text(b, vrm->bones[i].bone),
                                       b->node_of_source[vrm->bones[i].node]};
    b->model.bones = bones;
    b->model.bones_count = vrm->bone_count;
    return ERR_OK;
}

enum err compile_nodes(struct builder *b)
{
    const struct scene *s = b->scene;
    if (s->node_count == 0)
        return fault_set(
            b->fault, ERR_NOT_FOUND,
            "/nodes: there is none, so nothing to show: give a file with a mesh in a scene");
    uint32_t *source_of_node = BUILDER_ARRAY(b, uint32_t, s->node_count);
    uint32_t *chain = BUILDER_ARRAY(b, uint32_t, s->node_count);
    struct model_node *nodes = BUILDER_ARRAY(b, struct model_node, s->node_count);
    b->node_of_source = BUILDER_ARRAY(b, uint32_t, s->node_count);
    if (!source_of_node || !chain || !nodes || !b->node_of_source) return builder_no_memory(b);
    order_nodes(s, b->node_of_source, source_of_node, chain);
    for (uint32_t i = 0; i < s->node_count; i++)
        nodes[i] = make_node(b, source_of_node[i]);
    for (uint32_t k = 0; k < s->skin_count; k++)
        for (uint32_t j = 0; j < s->skins[k].joint_count; j++)
            nodes[b->node_of_source[s->skins[k].joints[j]]].flags |= MODEL_NODE_JOINT;
    b->model.nodes = nodes;
    b->model.nodes_count = s->node_count;
    return compile_bones(b);
}

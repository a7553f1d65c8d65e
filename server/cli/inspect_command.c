#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "common/json_guard.h"
#include "server/bake/scene.h"
#include "server/cli/args.h"
#include "server/cli/command.h"
#include "server/cli/describe_face.h"
#include "server/cli/model_arg.h"
#include "server/model/model.h"

static const char help[] = "usage: sinewd inspect MODEL [--json]\n"
                           "\n"
                           "Shows what a model holds: joints, clips, shapes, parts, and what the "
                           "bake repaired. MODEL is a\n"
                           ".sinew file or anything that 'sinewd bake' takes.\n"
                           "\n"
                           "examples:\n"
                           "  sinewd inspect fox.sinew\n"
                           "  sinewd inspect Fox.glb --json | jq .clips\n";

static const char *const kinds[] = {"read", "repaired", "left_out"};
static const char *const base_poses[] = {"bind", "rest", "pose"};

static cJSON *list_joints(const struct model *m)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < m->nodes_count; i++) {
        const struct model_node *n = &m->nodes[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddNumberToObject(item, "node", n->source);
        cJSON_AddStringToObject(item, "name", model_text(m, n->name));
        if (n->parent == MODEL_NONE)
            cJSON_AddNullToObject(item, "parent");
        else
            cJSON_AddNumberToObject(item, "parent", m->nodes[n->parent].source);
        cJSON_AddBoolToObject(item, "skin_joint", (n->flags & MODEL_NODE_JOINT) != 0);
        for (size_t b = 0; b < m->bones_count; b++)
            if (m->bones[b].node == i)
                cJSON_AddStringToObject(item, "humanoid", model_text(m, m->bones[b].bone));
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *list_clips(const struct model *m)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < m->clips_count; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddNumberToObject(item, "index", (double)i);
        cJSON_AddStringToObject(item, "name", model_text(m, m->clips[i].name));
        cJSON_AddNumberToObject(item, "duration_s", (double)m->clips[i].duration_s);
        cJSON_AddNumberToObject(item, "tracks", m->clips[i].track_count);
        cJSON_AddBoolToObject(item, "loop", m->clips[i].loop != 0);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *list_shapes(const struct model *m)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < m->shapes_count; i++) {
        uint32_t blocks = 0;
        for (size_t c = 0; c < m->channels_count; c++)
            if (m->channels[c].shape == i) blocks += m->channels[c].block_count;
        cJSON *item = cJSON_CreateObject();
        cJSON_AddNumberToObject(item, "index", (double)i);
        cJSON_AddStringToObject(item, "name", model_text(m, m->shapes[i].name));
        cJSON_AddNumberToObject(item, "channels", m->shapes[i].channel_count);
        cJSON_AddNumberToObject(item, "blocks", blocks);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *list_primitives(const struct model *m)
{
    static const char *const topologies[] = {"triangles", "lines", "points"};
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < m->parts_count; i++) {
        const struct model_part *p = &m->parts[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddNumberToObject(item, "node", m->nodes[p->node].source);
        cJSON_AddNumberToObject(item, "mesh", p->mesh);
        cJSON_AddNumberToObject(item, "primitive", p->primitive);
        cJSON_AddNumberToObject(item, "vertices", p->vertex_count);
        cJSON_AddNumberToObject(item, "indices", p->index_count);
        cJSON_AddStringToObject(item, "topology", topologies[p->topology]);
        cJSON_AddBoolToObject(item, "skinned", (p->flags & MODEL_PART_SKINNED) != 0);
        if (p->material != MODEL_NONE)
            cJSON_AddStringToObject(item, "material",
                                    model_text(m, m->materials[p->material].name));
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *list_repairs(const struct model *m)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < m->notes_count; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "kind", kinds[m->notes[i].kind % 3]);
        cJSON_AddNumberToObject(item, "count", m->notes[i].count);
        cJSON_AddStringToObject(item, "text", model_text(m, m->notes[i].text));
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *describe_layout(const struct model *m)
{
    uint64_t influences = 0;
    for (size_t i = 0; i < m->blocks_count; i++)
        influences += (uint64_t)m->blocks[i].lane_count * m->blocks[i].influence_count;
    cJSON *layout = cJSON_CreateObject();
    cJSON_AddNumberToObject(layout, "blocks", (double)m->blocks_count);
    cJSON_AddNumberToObject(layout, "lanes_used",
                            (double)model_vertex_count(m) /
                                (double)(m->blocks_count * MODEL_LANES));
    cJSON_AddNumberToObject(layout, "influences_per_vertex",
                            (double)influences / (double)model_vertex_count(m));
    cJSON_AddNumberToObject(layout, "slots", (double)m->slots_count);
    return layout;
}

// What the model keeps of VRM; the text is our own canonical JSON, checked at bake.
static cJSON *describe_vrm(const struct model *m)
{
    if (m->vrm_json_count == 0) return NULL;
    return cJSON_ParseWithLength(m->vrm_json, m->vrm_json_count);
}

// The bake's report, our own JSON.
static cJSON *describe_drivers(const struct model *m)
{
    cJSON *list = m->drivers_json_count
                      ? cJSON_ParseWithLength(m->drivers_json, m->drivers_json_count)
                      : NULL;
    return list ? list : cJSON_CreateArray();
}

static cJSON *list_roots(const struct model *m)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < m->roots_count; i++) {
        const struct model_root *r = &m->roots[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", model_text(m, r->name));
        cJSON_AddStringToObject(item, "joint", model_text(m, m->nodes[r->node].name));
        cJSON_AddNumberToObject(item, "joint_index", m->nodes[r->node].source);
        cJSON_AddNumberToObject(item, "border", (double)r->border);
        if (r->ride != MODEL_NONE)
            cJSON_AddStringToObject(item, "ride", model_text(m, m->roots[r->ride].name));
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *list_extras(const struct model *m)
{
    static const char *const types[] = {"jiggle", "muscle", "cloth", "plugin"};
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < m->extras_count; i++) {
        const struct model_extra *e = &m->extras[i];
        cJSON *extra = cJSON_CreateObject();
        size_t vertices = 0;
        for (uint32_t k = 0; k < e->block_count; k++)
            for (uint32_t lane = 0; lane < MODEL_LANES; lane++)
                vertices += m->extra_blocks[e->block_first + k].share[lane] > 0;
        cJSON_AddStringToObject(extra, "type", types[e->kind]);
        cJSON_AddStringToObject(extra, "name", model_text(m, e->name));
        cJSON_AddStringToObject(extra, "joint", model_text(m, m->nodes[e->node].name));
        cJSON_AddNumberToObject(extra, "vertices", (double)vertices);
        cJSON_AddItemToArray(list, extra);
    }
    return list;
}

static void describe_way(const struct model *m, const struct model_action_way *w, cJSON *item)
{
    if (w->root != MODEL_NONE)
        cJSON_AddStringToObject(item, "root", model_text(m, m->roots[w->root].name));
    if (w->priority) cJSON_AddNumberToObject(item, "priority", w->priority);
    cJSON *mask = w->mask_count ? cJSON_AddArrayToObject(item, "mask") : NULL;
    for (uint32_t k = 0; k < w->mask_count; k++)
        cJSON_AddItemToArray(mask, cJSON_CreateString(model_text(
                                       m, m->nodes[m->action_masks[w->mask_first + k]].name)));
}

// Its joints, and the node its first sole is part of; when it stands in each move.
static cJSON *describe_leg(const struct model *m, uint32_t leg)
{
    const struct model_leg *l = &m->legs[leg];
    const int32_t nodes[] = {l->hip, l->knee, l->ankle, l->foot};
    static const char *const names[] = {"hip", "knee", "ankle", "foot"};
    cJSON *item = cJSON_CreateObject();
    for (int k = 0; k < 4; k++)
        if (nodes[k] != MODEL_NONE)
            cJSON_AddStringToObject(item, names[k], model_text(m, m->nodes[nodes[k]].name));
    cJSON_AddStringToObject(item, "sole", model_text(m, m->nodes[l->sole_nodes[0]].name));
    cJSON *stands = cJSON_AddObjectToObject(item, "stands");
    for (size_t i = 0; i < m->moves_count; i++) {
        const struct model_contact *c = &m->contacts[i * m->legs_count + leg];
        const float share[2] = {c->start, c->length};
        cJSON *list = cJSON_CreateFloatArray(share, 2);
        cJSON_AddItemToObject(stands, model_text(m, m->clips[m->moves[i].clip].name), list);
    }
    return item;
}

static cJSON *describe_controls(const struct model *m)
{
    static const char *const moves[] = {"idle",        "walk",         "run",       "back",
                                        "strafe_left", "strafe_right", "turn_left", "turn_right",
                                        "jump",        "fall",         "land"};
    static const char *const sources[] = {"given", "name", "motion"};
    cJSON *root = cJSON_CreateObject(), *locomotion = cJSON_AddObjectToObject(root, "locomotion"),
          *actions = cJSON_AddObjectToObject(root, "actions");
    for (size_t i = 0; i < m->moves_count; i++) {
        const struct model_move *v = &m->moves[i];
        cJSON *item = cJSON_AddObjectToObject(locomotion, moves[v->kind]);
        cJSON_AddStringToObject(item, "clip", model_text(m, m->clips[v->clip].name));
        cJSON_AddNumberToObject(item, "index", v->clip);
        if (v->speed > 0) {
            cJSON_AddNumberToObject(item, "speed_m_s", (double)v->speed * (double)m->info->unit_m);
            cJSON_AddNumberToObject(item, "stride_m", (double)v->stride * (double)m->info->unit_m);
            cJSON_AddNumberToObject(item, "phase", (double)v->phase);
            cJSON_AddBoolToObject(item, "root_motion", v->root != MODEL_NONE);
        }
        cJSON_AddStringToObject(item, "from", sources[v->source]);
    }
    cJSON *legs = cJSON_AddArrayToObject(root, "legs");
    for (size_t i = 0; i < m->legs_count; i++)
        cJSON_AddItemToArray(legs, describe_leg(m, (uint32_t)i));
    for (size_t i = 0; i < m->actions_count; i++) {
        const struct model_action *a = &m->actions[i];
        cJSON *item = cJSON_AddObjectToObject(actions, model_text(m, a->name));
        cJSON_AddStringToObject(item, "clip", model_text(m, m->clips[a->clip].name));
        cJSON_AddNumberToObject(item, "fade_s", (double)a->fade_s);
        describe_way(m, &m->action_ways[i], item);
        cJSON_AddStringToObject(item, "from", sources[a->source]);
    }
    cJSON *lists[2] = {cJSON_AddObjectToObject(root, "bindings"),
                       cJSON_AddObjectToObject(root, "gestures")};
    for (size_t i = 0; i < m->bindings_count; i++) {
        const struct model_binding *b = &m->bindings[i];
        const char *action =
            b->action == MODEL_NONE ? "goto" : model_text(m, m->actions[b->action].name);
        cJSON_AddStringToObject(lists[b->kind], model_text(m, b->input), action);
    }
    return root;
}

static cJSON *describe(const struct model *m)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "source", model_text(m, m->info->source));
    cJSON_AddStringToObject(root, "generator", model_text(m, m->info->generator));
    cJSON_AddNumberToObject(root, "unit_m", (double)m->info->unit_m);
    cJSON_AddBoolToObject(root, "unit_guessed", m->info->unit_guessed != 0);
    cJSON_AddStringToObject(root, "skinning", m->info->skinning == MODEL_DQ ? "dq" : "lbs");
    cJSON_AddStringToObject(root, "base_pose", base_poses[m->info->base_pose % 3]);
    cJSON_AddNumberToObject(root, "vertices", (double)model_vertex_count(m));
    cJSON_AddNumberToObject(root, "triangles", (double)m->corners_count / 3);
    cJSON_AddItemToObject(root, "primitives", list_primitives(m));
    cJSON_AddItemToObject(root, "joints", list_joints(m));
    cJSON_AddItemToObject(root, "clips", list_clips(m));
    cJSON_AddItemToObject(root, "shapes", list_shapes(m));
    cJSON_AddItemToObject(root, "roots", list_roots(m));
    cJSON_AddItemToObject(root, "drivers", describe_drivers(m));
    cJSON_AddItemToObject(root, "face", describe_face(m));
    cJSON_AddItemToObject(root, "extras", list_extras(m));
    cJSON_AddItemToObject(root, "controls", describe_controls(m));
    cJSON_AddItemToObject(root, "layout", describe_layout(m));
    cJSON *vrm = describe_vrm(m);
    if (vrm) cJSON_AddItemToObject(root, "vrm", vrm);
    cJSON_AddItemToObject(root, "repairs", list_repairs(m));
    return root;
}

static void print_text(const struct model *m)
{
    (void)printf("%s: %zu vertices in %zu primitives, %zu nodes, 1 unit = %.4g m%s\n",
                 model_text(m, m->info->source), model_vertex_count(m), m->parts_count,
                 m->nodes_count, (double)m->info->unit_m,
                 m->info->unit_guessed ? " (guessed)" : "");
    (void)printf("clips: %zu\n", m->clips_count);
    for (size_t i = 0; i < m->clips_count; i++)
        (void)printf("  #%zu %s  %.3f s\n", i, model_text(m, m->clips[i].name),
                     (double)m->clips[i].duration_s);
    (void)printf("shapes: %zu\n", m->shapes_count);
    for (size_t i = 0; i < m->shapes_count; i++)
        (void)printf("  #%zu %s\n", i, model_text(m, m->shapes[i].name));
    for (size_t i = 0; i < m->notes_count; i++)
        (void)printf("%s: %s (%u)\n", kinds[m->notes[i].kind % 3], model_text(m, m->notes[i].text),
                     m->notes[i].count);
}

static int run(int argc, char **argv)
{
    bool json = false;
    const struct arg_option options[] = {{"--json", ARG_FLAG, {.flag = &json}}};
    struct args args = {.options = options,
                        .option_count = 1,
                        .operand_names = "MODEL",
                        .operand_min = 1,
                        .operand_max = 1};
    struct fault fault = {0};
    struct model_file *file = NULL;
    enum err e = args_read(&args, argc, argv, &fault);
    if (e == ERR_OK) e = model_arg_open(args.operands[0], &file, &fault);
    if (e != ERR_OK) return command_fail("inspect", &fault);
    if (json) {
        cJSON *root = describe(model_file_model(file));
        char *text = cJSON_Print(root);
        if (text) (void)puts(text);
        cJSON_free(text);
        cJSON_Delete(root);
    } else {
        print_text(model_file_model(file));
    }
    model_file_unref(file);
    return 0;
}

const struct command command_inspect = {"inspect", "what a model holds", help, run};

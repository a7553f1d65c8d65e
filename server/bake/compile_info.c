#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/simd.h"
#include "server/bake/builder.h"
#include "server/bake/rig.h"
#include "server/character/surface/surface.h"

// Skins the rest pose with the model's own kernels; the box is what a frame would fill.
enum err compile_measure_box(struct builder *b, struct model_info *info)
{
    const struct model *m = &b->model;
    struct arena arena;
    size_t out_bytes = m->blocks_count * sizeof(struct surface_block);
    if (!arena_create(&arena, face_map_bytes(m) + 4096)) return builder_no_memory(b);
    struct face_map map;
    face_map_build(m, &arena, &map);
    struct arena scratch;
    if (!arena_create(&scratch, surface_bytes(m, &map, NULL) + pose_bytes(m) + out_bytes + 4096)) {
        arena_destroy(&arena);
        return builder_no_memory(b);
    }
    struct surface_job job = {.model = m,
                              .map = &map,
                              .pose = pose_take(m, &scratch),
                              .skinning = MODEL_LBS,
                              .level = SIMD_PLAIN, // the same bytes on every machine
                              .out = arena_take(&scratch, out_bytes)};
    pose_rest(m, job.pose);
    surface_run(&job, &scratch);
    for (size_t r = 0; r < 3; r++) {
        info->box_min[r] = INFINITY;
        info->box_max[r] = -INFINITY;
        for (size_t k = 0; k < m->blocks_count; k++)
            for (size_t lane = 0; lane < MODEL_LANES; lane++) {
                info->box_min[r] = fminf(info->box_min[r], job.out[k].position[r][lane]);
                info->box_max[r] = fmaxf(info->box_max[r], job.out[k].position[r][lane]);
            }
    }
    arena_destroy(&scratch);
    arena_destroy(&arena);
    for (size_t r = 0; r < 3; r++)
        if (!isfinite(info->box_min[r]) || !isfinite(info->box_max[r]))
            return fault_set(b->fault, ERR_LIMIT,
                             "/nodes: the rest pose carries vertices out of range: check the node "
                             "transforms and inverse bind matrices");
    return ERR_OK;
}

enum err builder_places(struct builder *b, const struct trs *locals, struct xform *nodes,
                        double (**place)[3])
{
    const struct model *m = &b->model;
    size_t vertices = model_vertex_count(m);
    struct skeleton_slot *palette =
        aligned_alloc(64, (m->slots_count * sizeof *palette + 63) & ~(size_t)63);
    double(*out)[3] = pool_take(&b->scene->pool, vertices, sizeof *out);
    if (!palette || !out) {
        free(palette);
        return builder_no_memory(b);
    }
    skeleton_model_from_nodes(m, locals, nodes);
    skeleton_palette(m, nodes, palette);
    for (uint32_t v = 0; v < vertices; v++)
        for (uint32_t i = b->influence_first[v]; i < b->influence_first[v + 1]; i++) {
            const struct skeleton_slot *s = &palette[b->influence_slots[i]];
            const float *x = b->positions + (size_t)v * 3;
            for (int k = 0; k < 3; k++)
                out[v][k] += (double)b->influence_weights[i] *
                             (double)(s->col[0][k] * x[0] + s->col[1][k] * x[1] +
                                      s->col[2][k] * x[2] + s->col[3][k]);
        }
    free(palette);
    *place = out;
    return ERR_OK;
}

// Bodies are between a hand and some metres tall: of the usual units the one that makes it so.
float builder_guess_unit(float height)
{
    if (height > 1000) return 0.001f;
    return height > 10 ? 0.01f : 1;
}

static void note_counts(struct builder *b)
{
    const struct model *m = &b->model;
    size_t joints = 0;
    for (size_t i = 0; i < m->nodes_count; i++)
        joints += (m->nodes[i].flags & MODEL_NODE_JOINT) != 0;
    scene_note(b->scene, NOTE_READ, 1,
               "vertices: %zu, primitives: %zu, joints: %zu, clips: %zu, shapes: %zu, "
               "materials: %zu",
               model_vertex_count(m), m->parts_count, joints, m->clips_count, m->shapes_count,
               m->materials_count);
}

static enum err compile_notes(struct builder *b)
{
    const struct notes *notes = &b->scene->notes;
    struct model_note *out = BUILDER_ARRAY(b, struct model_note, notes->count);
    if (!out) return builder_no_memory(b);
    for (uint32_t i = 0; i < notes->count; i++)
        out[i] = (struct model_note){(uint32_t)notes->items[i].kind, notes->items[i].count,
                                     builder_text(b, notes->items[i].text)};
    b->model.notes = out;
    b->model.notes_count = notes->count;
    return ERR_OK;
}

enum err compile_info(struct builder *b)
{
    struct model_info *info = BUILDER_ARRAY(b, struct model_info, 1);
    if (!info) return builder_no_memory(b);
    b->model.info = info;
    b->model.info_count = 1;
    info->source = builder_text(b, b->settings->source_name);
    info->generator = builder_text(b, b->scene->generator);
    const struct rig *rig = b->settings->rig;
    info->skinning = (uint32_t)(rig ? rig->skinning : MODEL_LBS);
    info->base_pose = rig ? rig->base_pose : 0;
    info->vrm_version = b->scene->vrm.version;
    enum err e = compile_measure_box(b, info);
    if (e != ERR_OK) return e;
    note_counts(b);
    info->unit_m = rig ? rig->unit_m : 0;
    info->unit_guessed = info->unit_m == 0;
    if (info->unit_guessed) {
        info->unit_m = builder_guess_unit(info->box_max[1] - info->box_min[1]);
        scene_note(b->scene, NOTE_READ, 1,
                   "unit guessed from a height of %.4g: 1 file unit is %.4g m (unit_m in a rig "
                   "file says otherwise)",
                   (double)(info->box_max[1] - info->box_min[1]), (double)info->unit_m);
    }
    e = compile_extras(b, (double)info->unit_m);
    if (e == ERR_OK) e = compile_springs(b, (double)info->unit_m);
    if (e == ERR_OK) e = compile_controls(b, (double)info->unit_m);
    if (e != ERR_OK) return e;
    const char *vrm = b->scene->vrm.json ? b->scene->vrm.json : "";
    b->model.vrm_json = vrm;
    b->model.vrm_json_count = *vrm ? strlen(vrm) + 1 : 0;
    b->model.rig_json = rig ? rig->text : "";
    b->model.rig_json_count = rig ? strlen(rig->text) + 1 : 0;
    return compile_notes(b);
}

#include "tests/character/skin_rig.h"

#include <string.h>

#include "common/check.h"

double (*skin_rig_points(struct skin_rig *b))[3]
{
    return arena_take(&b->arena, b->vertices * sizeof(double[3]));
}

void skin_rig_open(struct skin_rig *b, const struct synthetic_settings *settings)
{
    memset(b, 0, sizeof *b);
    synthetic_make(settings, &b->s);
    const struct model *m = &b->s.model;
    b->vertices = model_vertex_count(m);
    CHECK(arena_create(&b->arena, (size_t)64 << 20));
    b->pose.locals = ARENA_ARRAY(&b->arena, struct trs, m->nodes_count);
    b->pose.weights = ARENA_ARRAY(&b->arena, float, m->channels_count);
    b->x = skin_rig_points(b);
    b->n = skin_rig_points(b);
    b->want_x = skin_rig_points(b);
    b->want_n = skin_rig_points(b);
    b->model_from_node = ARENA_ARRAY(&b->arena, struct xform, m->nodes_count);
    b->palette = ARENA_ARRAY(&b->arena, struct skeleton_slot, m->slots_count);
    b->dual_palette = ARENA_ARRAY(&b->arena, struct skeleton_dual_slot, m->slots_count);
    b->out = ARENA_ARRAY(&b->arena, struct surface_block, m->blocks_count);
    b->positions = ARENA_ARRAY(&b->arena, float, b->vertices * 3);
    b->normals = ARENA_ARRAY(&b->arena, float, b->vertices * 3);
    for (size_t i = 0; i < m->nodes_count; i++)
        b->pose.locals[i] = m->nodes[i].rest;
    for (size_t i = 0; i < m->channels_count; i++)
        b->pose.weights[i] = 0;
    for (size_t v = 0; v < b->vertices; v++)
        for (int r = 0; r < 3; r++) {
            b->x[v][r] = (double)b->s.vertices[v].position[r];
            b->n[v][r] = (double)b->s.vertices[v].normal[r];
        }
}

void skin_rig_close(struct skin_rig *b)
{
    arena_destroy(&b->arena);
    synthetic_free(&b->s);
}

void skin_rig_pose(struct skin_rig *b, uint64_t seed, double angle_max)
{
    struct synthetic_random r = {seed};
    for (size_t i = 0; i < b->s.model.nodes_count; i++)
        b->pose.locals[i].rotation = synthetic_rotation(&r, angle_max);
}

void skin_rig_run(struct skin_rig *b, enum model_skinning skinning, enum simd_level level)
{
    const struct model *m = &b->s.model;
    skeleton_model_from_nodes(m, b->pose.locals, b->model_from_node);
    skeleton_palette(m, b->model_from_node, b->palette);
    skeleton_dual_palette(m, b->model_from_node, b->dual_palette);
    skin_run(&(struct skin_job){.model = m,
                                .level = level,
                                .skinning = skinning,
                                .palette = b->palette,
                                .dual_palette = b->dual_palette,
                                .block_count = m->blocks_count,
                                .rest = m->rest,
                                .out = b->out});
    for (size_t v = 0; v < b->vertices; v++) {
        uint32_t lane = m->vertex_lanes[v], place = lane % MODEL_LANES;
        for (size_t r = 0; r < 3; r++) {
            b->positions[3 * v + r] = b->out[lane / MODEL_LANES].position[r][place];
            b->normals[3 * v + r] = b->out[lane / MODEL_LANES].normal[r][place];
        }
    }
}

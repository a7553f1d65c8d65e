#include "server/bake/face_probe.h"

#include <string.h>

#include "server/character/pose/skeleton.h"

enum err face_probe_open(struct face_bake *k, struct face_probe *out)
{
    const struct model *m = &k->b->model;
    struct face_probe p = {.k = k};
    // Room for channels that corrections add.
    enum { MORE_CHANNELS = 1 << 16 };
    if (!arena_create(&p.arena,
                      pose_bytes(m) + (m->channels_count + MORE_CHANNELS) * sizeof(float) +
                          m->parameters_count * sizeof(float) + m->shapes_count * sizeof(float) +
                          (m->nodes_count + m->slots_count) * sizeof(struct xform) + 4096))
        return builder_no_memory(k->b);
    p.pose.locals = ARENA_ARRAY(&p.arena, struct trs, m->nodes_count);
    p.pose.weights = ARENA_ARRAY(&p.arena, float, m->channels_count + MORE_CHANNELS);
    p.values = ARENA_ARRAY(&p.arena, float, m->parameters_count);
    p.weights = ARENA_ARRAY(&p.arena, float, m->shapes_count);
    p.nodes = ARENA_ARRAY(&p.arena, struct xform, m->nodes_count);
    p.slots = ARENA_ARRAY(&p.arena, struct xform, m->slots_count);
    face_probe_clear(&p);
    *out = p;
    return ERR_OK;
}

void face_probe_close(struct face_probe *p)
{
    arena_destroy(&p->arena);
    *p = (struct face_probe){0};
}

void face_probe_clear(struct face_probe *p)
{
    const struct model *m = &p->k->b->model;
    memset(p->values, 0, m->parameters_count * sizeof *p->values);
    memset(p->weights, 0, m->shapes_count * sizeof *p->weights);
}

void face_probe_pose(struct face_probe *p)
{
    const struct model *m = &p->k->b->model;
    struct arena scratch;
    pose_rest(m, p->pose);
    for (size_t c = 0; c < m->channels_count; c++)
        p->pose.weights[c] += p->weights[m->channels[c].shape];
    if (arena_create(&scratch, customise_bytes(m))) {
        struct customise c = customise_take(m, &scratch);
        for (size_t i = 0; i < m->parameters_count; i++)
            c.values[i] = p->values[i];
        customise_mix(&c, p->pose.weights);
        if (!p->bare) customise_advance(&c, p->pose.weights, 0);
        if (!p->bare) customise_correct(&c, p->pose.weights);
        customise_bones(&c, p->pose.locals);
        arena_destroy(&scratch);
    }
    skeleton_model_from_nodes(m, p->pose.locals, p->nodes);
    for (size_t i = 0; i < m->slots_count; i++) {
        struct xform bind = xform_from_mat34(&m->slots[i].inverse_bind);
        p->slots[i] = xform_mul(&p->nodes[m->slots[i].node], &bind);
    }
}

void face_channel_delta(const struct face_bake *k, uint32_t channel, uint32_t v, double weight,
                        double sum[3])
{
    const struct model *m = &k->b->model;
    const struct model_channel *c = &m->channels[channel];
    uint32_t lane = m->vertex_lanes[v], block = lane / MODEL_LANES, low = 0, high = c->block_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (m->morph_blocks[c->block_first + middle].block < block)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == c->block_count || m->morph_blocks[c->block_first + low].block != block) return;
    const struct model_morph_block *d = &m->morph_blocks[c->block_first + low];
    for (int r = 0; r < 3; r++)
        sum[r] += weight * (double)d->position[r][lane % MODEL_LANES];
}

void face_probe_vertex(const struct face_probe *p, uint32_t v, double x[3], double place[3],
                       struct xform *transform)
{
    const struct builder *b = p->k->b;
    double at[3];
    struct xform t = {{{0}}};
    for (int r = 0; r < 3; r++)
        at[r] = (double)b->positions[(size_t)v * 3 + (size_t)r];
    for (uint32_t c = 0; c < b->model.channels_count; c++)
        if (p->pose.weights[c] != 0) face_channel_delta(p->k, c, v, (double)p->pose.weights[c], at);
    for (uint32_t i = b->influence_first[v]; i < b->influence_first[v + 1]; i++) {
        const struct xform *s = &p->slots[b->influence_slots[i]];
        for (int c = 0; c < 4; c++)
            for (int r = 0; r < 3; r++)
                t.col[c][r] += (double)b->influence_weights[i] * s->col[c][r];
    }
    if (x) memcpy(x, at, sizeof at);
    if (place) xform_point(&t, at, place);
    if (transform) *transform = t;
}

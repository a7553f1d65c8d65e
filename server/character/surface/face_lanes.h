// The kernel's body, included once by each face_*.c: LANES_WIDTH lanes of the row at a time, as
// wide as the file's flags allow.
#include "server/character/surface/face_kernel.h"
#include "server/character/surface/lanes.h"

enum { LANES = MODEL_LANES };

// Of lanes l .. l + LANES_WIDTH.
struct face_sums {
    lanes turning[3]; // position deltas of channels without normals
    lanes carried[3]; // ... of channels that bring normals
    lanes normal[3];
};

static inline void add_scaled(lanes sum[3], lanes w, const float (*delta)[LANES], int l)
{
    for (int r = 0; r < 3; r++)
        sum[r] = lanes_add(sum[r], lanes_mul(w, lanes_load(&delta[r][l])));
}

static inline void sum_deltas(const struct face_row *row, int l, struct face_sums *s)
{
    const struct face *f = row->face;
    const struct model *m = f->model;
    for (int r = 0; r < 3; r++)
        s->turning[r] = s->carried[r] = s->normal[r] = lanes_all(0);
    for (uint32_t at = row->first; at != FACE_NONE; at = f->next[at]) {
        uint32_t channel = f->map->delta_channels[at];
        const struct model_channel *c = &m->channels[channel];
        const float(*position)[LANES] = m->morph_blocks[at].position;
        lanes w = lanes_all(f->weights[channel]);
        if (!c->has_normals) {
            add_scaled(s->turning, w, position, l);
            continue;
        }
        add_scaled(s->carried, w, position, l);
        uint32_t normal = c->normal_first + (at - c->block_first);
        add_scaled(s->normal, w, m->morph_normal_blocks[normal].normal, l);
    }
}

// Only where the sum is not zero, so that lanes which nothing touches keep their bits (-0 + 0
// would not).
static inline void apply(const float (*base)[LANES], const lanes sum[3], int l, float (*out)[LANES])
{
    for (int r = 0; r < 3; r++) {
        lanes rest = lanes_load(&base[r][l]);
        lanes_mask any = lanes_above(lanes_abs(sum[r]), lanes_all(0));
        lanes_store(&out[r][l], lanes_choose(any, lanes_add(rest, sum[r]), rest));
    }
}

static inline bool any_of(const lanes sum[3])
{
    lanes zero = lanes_all(0);
    return lanes_any(lanes_above(lanes_abs(sum[0]), zero)) ||
           lanes_any(lanes_above(lanes_abs(sum[1]), zero)) ||
           lanes_any(lanes_above(lanes_abs(sum[2]), zero));
}

// Lanes past the block's own repeat the last one, whatever the deltas hold there.
static inline void repeat_last(uint32_t lane_count, float (*rows)[LANES])
{
    for (int r = 0; r < 3; r++)
        for (uint32_t i = lane_count; i < LANES; i++)
            rows[r][i] = rows[r][lane_count - 1];
}

static bool face_row_run(const struct face_row *row)
{
    bool turning = false;
    for (int l = 0; l < LANES; l += LANES_WIDTH) {
        struct face_sums s;
        sum_deltas(row, l, &s);
        turning = any_of(s.turning) || turning;
        if (row->before) apply(row->rest->position, s.carried, l, (float(*)[LANES])row->before);
        for (int r = 0; r < 3; r++)
            s.carried[r] = lanes_add(s.carried[r], s.turning[r]);
        apply(row->rest->position, s.carried, l, row->out->position);
        apply(row->rest->normal, s.normal, l, row->out->normal);
    }
    repeat_last(row->lane_count, row->out->position);
    repeat_last(row->lane_count, row->out->normal);
    return turning;
}

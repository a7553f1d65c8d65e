// The face map: what a model's morph channels can reach, worked out once.
#include <string.h>

#include "server/character/surface/face.h"

enum { LANES = MODEL_LANES };

static size_t padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

size_t face_map_bytes(const struct model *m)
{
    if (m->channels_count == 0) return 0;
    size_t blocks = m->blocks_count;
    return turn_map_bytes(m) + padded(blocks * sizeof(uint16_t)) + padded(blocks) +
           2 * padded(m->morph_blocks_count * sizeof(uint32_t)) +
           padded(blocks * LANES * sizeof(struct normals_place));
}

// Lanes that some channel without normal deltas moves, and all blocks that any channel reaches.
static void mark_reach(const struct model *m, uint16_t *turning, uint8_t *reached)
{
    memset(turning, 0, m->blocks_count * sizeof *turning);
    memset(reached, 0, m->blocks_count);
    for (size_t c = 0; c < m->channels_count; c++) {
        const struct model_channel *channel = &m->channels[c];
        for (uint32_t i = 0; i < channel->block_count; i++) {
            const struct model_morph_block *d = &m->morph_blocks[channel->block_first + i];
            reached[d->block] = 1;
            for (int place = 0; place < LANES && !channel->has_normals; place++)
                if (d->position[0][place] != 0 || d->position[1][place] != 0 ||
                    d->position[2][place] != 0)
                    turning[d->block] |= (uint16_t)(1U << place);
        }
    }
}

void face_map_build(const struct model *m, struct arena *a, struct face_map *out)
{
    *out = (struct face_map){0};
    if (m->channels_count == 0) return;
    uint16_t *turning = ARENA_ARRAY(a, uint16_t, m->blocks_count);
    uint8_t *reached = ARENA_ARRAY(a, uint8_t, m->blocks_count);
    mark_reach(m, turning, reached);
    turn_map_build(m, turning, reached, a, &out->turns);
    size_t rows = out->turns.row_count;
    uint32_t *delta_rows = ARENA_ARRAY(a, uint32_t, m->morph_blocks_count);
    uint32_t *delta_channels = ARENA_ARRAY(a, uint32_t, m->morph_blocks_count);
    for (size_t c = 0; c < m->channels_count; c++)
        for (uint32_t i = 0; i < m->channels[c].block_count; i++) {
            uint32_t at = m->channels[c].block_first + i;
            delta_rows[at] = (uint32_t)out->turns.rows[m->morph_blocks[at].block];
            delta_channels[at] = (uint32_t)c;
        }
    out->delta_count = m->morph_blocks_count;
    out->delta_rows = delta_rows;
    out->delta_channels = delta_channels;
    struct normals_place *rest = ARENA_ARRAY(a, struct normals_place, rows * LANES);
    for (size_t row = 0; row < rows; row++)
        turn_take_places(m->rest[out->turns.blocks[row]].position[0], &rest[row * LANES]);
    out->rest = rest;
}

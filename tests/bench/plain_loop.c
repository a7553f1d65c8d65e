#include "tests/bench/plain_loop.h"

#include <math.h>

void plain_loop(size_t vertex_count, const struct skeleton_slot *restrict palette,
                const struct plain_vertex *restrict vertices,
                const struct plain_influence *restrict influences, float *restrict positions,
                float *restrict normals)
{
    for (size_t v = 0; v < vertex_count; v++) {
        const struct plain_vertex *p = &vertices[v];
        float m[12] = {0};
        for (uint32_t k = 0; k < p->influence_count; k++) {
            const struct plain_influence *i = &influences[p->influence_first + k];
            const struct skeleton_slot *s = &palette[i->slot];
            float w = i->weight;
            for (int c = 0; c < 4; c++)
                for (int r = 0; r < 3; r++)
                    m[3 * c + r] += w * s->col[c][r];
        }
        float x = p->position[0], y = p->position[1], z = p->position[2];
        for (int r = 0; r < 3; r++)
            positions[3 * v + (size_t)r] = m[r] * x + m[3 + r] * y + m[6 + r] * z + m[9 + r];

        float c[9] = {
            m[4] * m[8] - m[5] * m[7], m[5] * m[6] - m[3] * m[8], m[3] * m[7] - m[4] * m[6],
            m[7] * m[2] - m[8] * m[1], m[8] * m[0] - m[6] * m[2], m[6] * m[1] - m[7] * m[0],
            m[1] * m[5] - m[2] * m[4], m[2] * m[3] - m[0] * m[5], m[0] * m[4] - m[1] * m[3]};
        float sign = copysignf(1, m[0] * c[0] + m[1] * c[1] + m[2] * c[2]);
        float nx = p->normal[0], ny = p->normal[1], nz = p->normal[2], n[3];
        for (int r = 0; r < 3; r++)
            n[r] = c[r] * nx + c[3 + r] * ny + c[6 + r] * nz;
        float s = sign / sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int r = 0; r < 3; r++)
            normals[3 * v + (size_t)r] = n[r] * s;
    }
}

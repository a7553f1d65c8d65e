#include <math.h>
#include <stdlib.h>

#include "proto/surface/codec.h"

// A point of the octahedron |x| + |y| + |z| = 127 pushed out to the sphere. The square root of a
// whole number below 2^52, cut to a whole number, is exact in doubles everywhere.
static void push_out(int x, int y, int z, int16_t out[4])
{
    int32_t length = (int32_t)sqrt((double)(x * x + y * y + z * z) * 65536.0);
    int32_t xyz[3] = {x, y, z};
    for (int k = 0; k < 3; k++)
        out[k] = (int16_t)((xyz[k] * (32767 * 256) + length / 2) / length);
    out[3] = 0;
}

void surface_normals_build(struct surface_normals *table)
{
    for (int u = 0; u < 128; u++)
        for (int v = 0; v < 128; v++) {
            int z = 127 - u - v;
            if (z >= 0)
                push_out(u, v, z, table->quadrant[u][v]);
            else // below the equator: unfold; -z is kept positive for push_out
                push_out(127 - v, 127 - u, -z, table->quadrant[u][v]);
            if (z < 0) table->quadrant[u][v][2] = (int16_t)-table->quadrant[u][v][2];
        }
}

void surface_normals_get(const struct surface_normals *table, int u, int v, int16_t out[3])
{
    const int16_t *q = table->quadrant[abs(u)][abs(v)];
    out[0] = (int16_t)(u < 0 ? -q[0] : q[0]);
    out[1] = (int16_t)(v < 0 ? -q[1] : q[1]);
    out[2] = q[2];
}

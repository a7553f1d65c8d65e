#include "server/character/surface/normals_lanes.h"

void normals_row_avx512(const struct normals_row *row)
{
    normals_row_run(row);
}

#include "server/character/surface/normals_lanes.h"

void normals_group_avx512(const struct normals_group *group)
{
    normals_group_run(group);
}

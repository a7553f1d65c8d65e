#include "server/character/surface/normals_lanes.h"

void normals_group_plain(const struct normals_group *group)
{
    normals_group_run(group);
}

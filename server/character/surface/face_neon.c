#include "server/character/surface/face_lanes.h"

bool face_row_neon(const struct face_row *row)
{
    return face_row_run(row);
}

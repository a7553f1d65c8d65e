#include "server/character/surface/correct_lanes.h"

int correct_row_neon(const struct correct_row *row)
{
    return correct_row_run(row);
}

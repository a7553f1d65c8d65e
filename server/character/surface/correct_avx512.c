#include "server/character/surface/correct_lanes.h"

int correct_row_avx512(const struct correct_row *row)
{
    return correct_row_run(row);
}

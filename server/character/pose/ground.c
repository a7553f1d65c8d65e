#include "server/character/pose/ground.h"

#include <math.h>

double ground_height(const struct ground *g, double x, double z)
{
    double height = 0;
    for (size_t i = 0; g && i < g->box_count; i++) {
        const struct ground_box *b = &g->boxes[i];
        if (x >= b->low[0] && x <= b->high[0] && z >= b->low[1] && z <= b->high[1])
            height = fmax(height, b->top);
    }
    return height;
}

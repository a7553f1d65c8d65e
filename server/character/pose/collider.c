#include "server/character/pose/collider.h"

#include <math.h>
#include <string.h>

#include "common/vector.h"

bool collider_place_at(const struct xform *node, const struct model_spring_collider *c,
                       struct collider_place *out)
{
    double offset[3], end[3];
    for (int r = 0; r < 3; r++) {
        offset[r] = (double)c->offset[r];
        end[r] = (double)c->end[r];
    }
    *out = (struct collider_place){
        .radius = (double)c->radius, .shape = c->shape, .inside = c->inside != 0};
    xform_point(node, offset, out->at);
    if (c->shape == MODEL_SPRING_CAPSULE) xform_point(node, end, out->other);
    if (c->shape != MODEL_SPRING_PLANE) return true;
    double across[3];
    for (int r = 0; r < 3; r++)
        across[r] = node->col[0][r] * end[0] + node->col[1][r] * end[1] + node->col[2][r] * end[2];
    double size = sqrt(vector_dot(across, across));
    if (!(size > 0)) return false;
    for (int r = 0; r < 3; r++)
        out->other[r] = across[r] / size;
    return true;
}

static bool push_plane(const struct collider_place *c, double hit_radius, double point[3])
{
    double d[3] = {point[0] - c->at[0], point[1] - c->at[1], point[2] - c->at[2]};
    double way = vector_dot(d, c->other) - hit_radius;
    if (!(way < 0)) return false;
    for (int r = 0; r < 3; r++)
        point[r] -= way * c->other[r];
    return true;
}

bool collider_push(const struct collider_place *c, double hit_radius, double point[3])
{
    double at[3], to[3];
    if (c->shape == MODEL_SPRING_PLANE) return push_plane(c, hit_radius, point);
    memcpy(at, c->at, sizeof at);
    if (c->shape == MODEL_SPRING_CAPSULE) {
        double line[3], d[3];
        for (int r = 0; r < 3; r++) {
            line[r] = c->other[r] - at[r];
            d[r] = point[r] - at[r];
        }
        double square = vector_dot(line, line);
        double part = square > 0 ? vector_dot(line, d) / square : 0;
        part = fmin(fmax(part, 0), 1);
        for (int r = 0; r < 3; r++)
            at[r] += part * line[r];
    }
    for (int r = 0; r < 3; r++)
        to[r] = point[r] - at[r];
    double square = vector_dot(to, to), reach = c->radius + (c->inside ? -hit_radius : hit_radius);
    if (c->inside ? square <= reach * reach && reach >= 0 : square >= reach * reach) return false;
    double size = sqrt(square);
    if (!(size > 0)) return false;
    double way = c->inside ? reach - size : size - reach;
    if (!(way < 0)) return false;
    for (int r = 0; r < 3; r++)
        point[r] -= way * (c->inside ? -1 : 1) * to[r] / size;
    return true;
}

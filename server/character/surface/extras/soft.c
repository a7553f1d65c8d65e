#include "server/character/surface/extras/soft.h"

#include <math.h>

void soft_anchor(const struct model_particle *p, const struct extra_motion *now,
                 const struct drive_scene *scene, double out[3])
{
    double at[3] = {0};
    for (int k = 0; k < 4 && p->weight[k] > 0; k++) {
        const struct xform *node = &now->model_from_node[p->node[k]];
        double w = (double)p->weight[k], x = (double)p->at[k][0], y = (double)p->at[k][1],
               z = (double)p->at[k][2];
        for (int r = 0; r < 3; r++)
            at[r] += w * (node->col[0][r] * x + node->col[1][r] * y + node->col[2][r] * z +
                          node->col[3][r]);
    }
    drive_to_scene(scene, at, out);
}

bool soft_jumps(const struct extra_motion *now, const double from[3], const double to[3])
{
    double square = 0, most = SOFT_JUMP_M_S / (double)now->model->info->unit_m * now->dt_s;
    for (int r = 0; r < 3; r++)
        square += (to[r] - from[r]) * (to[r] - from[r]);
    return !(square <= most * most);
}

void soft_colliders_next(const struct model *m, const struct model_soft *s,
                         const struct extra_motion *now, const struct drive_scene *scene, bool cut,
                         struct soft_collider *colliders)
{
    for (uint32_t i = 0; i < s->collider_count; i++) {
        const struct model_spring_collider *c = &m->extra_colliders[s->collider_first + i];
        struct xform node = now->model_from_node[c->node];
        for (int k = 0; k < 3; k++)
            drive_turn(scene, 1, now->model_from_node[c->node].col[k], node.col[k]);
        drive_to_scene(scene, now->model_from_node[c->node].col[3], node.col[3]);
        colliders[i].from = colliders[i].to;
        colliders[i].stops = collider_place_at(&node, c, &colliders[i].to);
        if (cut) colliders[i].from = colliders[i].to;
    }
}

bool soft_push(const struct soft_collider *colliders, uint32_t count, double u, double hit_radius,
               double point[3])
{
    bool pushed = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct soft_collider *c = &colliders[i];
        struct collider_place at = c->to;
        if (!c->stops) continue;
        for (int r = 0; r < 3; r++) {
            at.at[r] += (1 - u) * (c->from.at[r] - c->to.at[r]);
            at.other[r] += (1 - u) * (c->from.other[r] - c->to.other[r]);
        }
        pushed = collider_push(&at, hit_radius, point) || pushed;
    }
    return pushed;
}

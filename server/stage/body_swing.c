#include "server/stage/body_swing.h"

#include <math.h>
#include <string.h>

#include "server/character/surface/extras/soft.h"
#include "server/stage/body.h"

static const double HZ = 60;
static const double SLACK = 1e-6; // of an instant
static const double GAP_S = 1.0;  // nobody looked for longer: no instants in between

bool body_is_carried(const struct body *b)
{
    const struct body_way *w = &b->way;
    return memcmp(w->told, b->state.position, sizeof w->told) != 0 ||
           memcmp(&w->told_yaw_rad, &b->state.yaw_rad, sizeof w->told_yaw_rad) != 0;
}

// The short way round.
static double turned_by(double from, double to)
{
    return remainder(to - from, 6.283185307179586);
}

void body_carry(struct body *b, double dt_s)
{
    const struct body_state *s = &b->state;
    struct body_way *w = &b->way;
    double square = 0;
    for (int r = 0; r < 3; r++) {
        double step = ((double)s->position[r] - (double)w->told[r]) / (double)s->scale;
        square += step * step;
        w->to[r] += step;
        w->told[r] = s->position[r];
    }
    w->yaw_rad += turned_by((double)w->told_yaw_rad, (double)s->yaw_rad);
    w->told_yaw_rad = s->yaw_rad;
    double most = SOFT_JUMP_M_S / (double)b->options.model->info->unit_m * dt_s;
    bool cut = !(dt_s > 0) || square > most * most;
    (void)drive_next(&w->path, w->to, cut ? 1 : dt_s, w->slope_s, cut);
    (void)drive_next(&w->turn, (double[3]){w->yaw_rad, 0, 0}, cut ? 1 : dt_s, w->slope_s, cut);
    w->slope_s = w->dt_s = cut ? 0 : dt_s;
    body_carry_to(b, 0);
}

void body_carry_to(struct body *b, double left_s)
{
    struct body_way *w = &b->way;
    double velocity[3], turn[3];
    if (left_s > 0 && w->dt_s > 0) {
        struct drive_weights at = drive_weights_at(w->dt_s, left_s);
        drive_at(&w->path, &at, w->place, velocity);
        drive_at(&w->turn, &at, turn, velocity);
        w->place_yaw_rad = turn[0];
        return;
    }
    memcpy(w->place, w->to, sizeof w->place);
    w->place_yaw_rad = w->yaw_rad;
}

bool body_next_instant(double from_s, double until_s, double *at_s)
{
    double next = (floor(from_s * HZ + SLACK) + 1) / HZ;
    if (!(until_s - from_s <= GAP_S) || next * HZ > until_s * HZ - SLACK) return false;
    *at_s = next;
    return true;
}

double body_nearest_instant(double at_s, bool *whole)
{
    double near = floor(at_s * HZ + 0.5);
    *whole = fabs(at_s * HZ - near) <= SLACK;
    return *whole ? near / HZ : at_s;
}

void body_swing_extras(struct body *b, double at_s, bool keep)
{
    struct extra_motion now = {.model = b->options.model,
                               .model_from_node = b->nodes,
                               .age_s = at_s,
                               .dt_s = at_s - b->extras_age_s,
                               .yaw_rad = b->way.place_yaw_rad};
    memcpy(now.place, b->way.place, sizeof now.place);
    skeleton_model_from_nodes(b->options.model, b->pose.locals, b->nodes);
    if (extras_advance(&b->extras, &now, keep)) b->extras_age_s = at_s;
}

// Put elsewhere, rather than moved there: more than half its size at once, faster than anyone runs.
static bool is_put_elsewhere(const struct body *b, const struct springs_place *to, double dt_s)
{
    const struct model_info *info = b->options.model->info;
    double square = 0, size = 0;
    for (int r = 0; r < 3; r++) {
        double side = (double)info->box_max[r] - (double)info->box_min[r];
        double step = to->position[r] - b->springs.last_place.position[r];
        size += side * side;
        square += step * step;
    }
    double reach = fmax(0.5, 10 * dt_s);
    return square > reach * reach * size;
}

void body_swing_springs(struct body *b, double at_s)
{
    double half = b->way.place_yaw_rad / 2;
    struct springs_place place = {.rotation = {0, sin(half), 0, cos(half)}};
    memcpy(place.position, b->way.place, sizeof place.position);
    bool elsewhere = is_put_elsewhere(b, &place, at_s - b->springs.time_s);
    springs_advance(&b->springs, at_s, &place, elsewhere, b->pose.locals);
}

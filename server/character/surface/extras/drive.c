#include "server/character/surface/extras/drive.h"

#include <math.h>
#include <string.h>

void drive_settle(struct drive *d, const double at[3])
{
    *d = (struct drive){0};
    memcpy(d->from, at, sizeof d->from);
    memcpy(d->to, at, sizeof d->to);
}

void drive_stand(struct drive *d)
{
    drive_settle(d, (double[3]){d->to[0], d->to[1], d->to[2]});
}

bool drive_next(struct drive *d, const double to[3], double dt_s, double slope_s, bool cut)
{
    bool moves = false;
    for (int r = 0; r < 3; r++)
        moves = moves || fabs(to[r] - d->to[r]) > 0;
    for (int r = 0; r < 3; r++) {
        double slope = cut ? 0 : (to[r] - d->to[r]) / dt_s;
        d->from[r] = cut ? to[r] : d->to[r];
        d->to[r] = to[r];
        d->leave[r] = cut ? 0 : d->arrive[r];
        d->arrive[r] = slope;
        if (slope_s > 0 && moves && !cut)
            d->arrive[r] += (slope - d->slope[r]) * dt_s / (dt_s + slope_s);
        d->slope[r] = slope;
    }
    return moves;
}

struct drive_weights drive_weights_at(double dt_s, double left_s)
{
    double t = 1 - fmin(left_s / dt_s, 1), u = 1 - t, to = t * t * (3 - 2 * t);
    return (struct drive_weights){.from = 1 - to,
                                  .to = to,
                                  .leave = t * u * u * dt_s,
                                  .arrive = -t * t * u * dt_s,
                                  .at_step = 6 * t * u / dt_s,
                                  .at_leave = u * (1 - 3 * t),
                                  .at_arrive = t * (3 * t - 2)};
}

void drive_at(const struct drive *d, const struct drive_weights *w, double at[3],
              double velocity[3])
{
    for (int r = 0; r < 3; r++) {
        at[r] = w->from * d->from[r] + w->to * d->to[r] + w->leave * d->leave[r] +
                w->arrive * d->arrive[r];
        velocity[r] = w->at_step * (d->to[r] - d->from[r]) + w->at_leave * d->leave[r] +
                      w->at_arrive * d->arrive[r];
    }
}

struct drive_scene drive_scene_of(const struct extra_motion *now)
{
    return (struct drive_scene){
        cos(now->yaw_rad), sin(now->yaw_rad), {now->place[0], now->place[1], now->place[2]}};
}

void drive_turn(const struct drive_scene *s, double direction, const double in[3], double out[3])
{
    double c = s->cosine, sine = direction * s->sine, x = in[0], z = in[2];
    out[0] = c * x + sine * z;
    out[1] = in[1];
    out[2] = c * z - sine * x;
}

void drive_to_scene(const struct drive_scene *s, const double at[3], double out[3])
{
    drive_turn(s, 1, at, out);
    for (int r = 0; r < 3; r++)
        out[r] += s->place[r];
}

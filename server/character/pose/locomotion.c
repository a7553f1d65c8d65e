#include "server/character/pose/locomotion.h"

#include <math.h>
#include <string.h>

#include "common/stable_math.h"

#define STEP_S     (1.0 / 240)
#define SPEED_RATE 7.0 // of the spring that speeds up, 1/s
#define TURN_RATE  8.0
#define TURN_REACH 1.2 // radians that the turn spring sees at most: bounds its acceleration
#define LOOK_RATE  2.5 // radians a second of a full stick
#define PI         3.14159265358979323846

const struct model_move *locomotion_move(const struct model *m, uint32_t kind)
{
    for (size_t i = 0; i < m->moves_count; i++)
        if (m->moves[i].kind == kind) return &m->moves[i];
    return NULL;
}

static const struct model_move *gait_of(const struct model *m)
{
    const struct model_move *walk = locomotion_move(m, MODEL_MOVE_WALK),
                            *run = locomotion_move(m, MODEL_MOVE_RUN);
    return walk && walk->speed > 0 ? walk : run;
}

struct locomotion locomotion_of(const struct model *m)
{
    struct locomotion l = {.facing = {0, 1}, .view = {0, 1}};
    const struct model_move *walk = locomotion_move(m, MODEL_MOVE_WALK),
                            *run = locomotion_move(m, MODEL_MOVE_RUN);
    l.height = fmax(1e-6, (double)m->info->box_max[1] - (double)m->info->box_min[1]);
    l.idles = locomotion_move(m, MODEL_MOVE_IDLE) != NULL;
    if (walk && walk->speed > 0) {
        l.walk_speed = (double)walk->speed;
        l.walk_stride = l.walk_speed * (double)m->clips[walk->clip].duration_s;
    }
    if (run && (double)run->speed > l.walk_speed) {
        l.run_speed = (double)run->speed;
        l.run_stride = l.run_speed * (double)m->clips[run->clip].duration_s;
    }
    if (l.walk_speed == 0 && l.run_speed == 0) { // it glides, a height a second
        l.walk_speed = l.height;
        l.walk_stride = l.height;
    }
    return l;
}

static void rotate(double v[2], double angle) // anticlockwise from above: +Z towards +X
{
    double a2 = angle * angle, s = angle * (1 - a2 / 6 * (1 - a2 / 20)),
           c = 1 - a2 / 2 * (1 - a2 / 12 * (1 - a2 / 30));
    double x = v[0] * c + v[1] * s, z = v[1] * c - v[0] * s, n = 1 / sqrt(x * x + z * z);
    v[0] = x * n;
    v[1] = z * n;
}

void locomotion_place(struct locomotion *l, const struct model *m, const float position[3],
                      float yaw_rad)
{
    const struct model_move *gait = gait_of(m);
    uint32_t quarter = gait ? gait->quarter : 0;
    l->position[0] = (double)position[0];
    l->position[1] = (double)position[2];
    l->yaw = (double)yaw_rad;
    double x = sin(l->yaw), z = cos(l->yaw);
    for (uint32_t i = 0; i < quarter; i++) { // +Z, +X, -Z, -X
        double turned = z;
        z = -x;
        x = turned;
    }
    l->facing[0] = l->view[0] = x;
    l->facing[1] = l->view[1] = z;
}

// Where to and how fast; false: it stands.
static bool wish(struct locomotion *l, struct control *c, double scale, double way[2],
                 double *speed)
{
    double most = fmax(l->run_speed, l->walk_speed);
    if (c->going) {
        double x = (double)c->go_to[0] - l->position[0], z = (double)c->go_to[1] - l->position[1];
        double distance = sqrt(x * x + z * z) / scale;
        if (!(distance > 0.02 * l->height)) {
            c->going = false;
            return false;
        }
        way[0] = x / (distance * scale);
        way[1] = z / (distance * scale);
        *speed = fmin(most, 2 * distance);
        return true;
    }
    double right = (double)c->move[0], ahead = (double)c->move[1];
    double size = sqrt(right * right + ahead * ahead);
    if (size < 0.02) return false;
    way[0] = (l->view[0] * ahead - l->view[1] * right) / size;
    way[1] = (l->view[1] * ahead + l->view[0] * right) / size;
    *speed = most * fmin(1, size);
    return true;
}

// Critically damped, closed form: x and its rate towards 0 after h.
static void spring(double *x, double *rate, double omega, double h)
{
    double decay = stable_exp(-omega * h), b = *rate + omega * *x;
    double next = (*x + b * h) * decay;
    *rate = (*rate - omega * b * h) * decay;
    *x = next;
}

// Straight up or down says nothing about where forward is.
static void look_along(struct locomotion *l, const float view[3])
{
    double x = (double)view[0], z = (double)view[2], size = sqrt(x * x + z * z);
    if (size < 1e-3) return;
    l->view[0] = x / size;
    l->view[1] = z / size;
}

static void step(struct locomotion *l, struct control *c, double h, double scale)
{
    double way[2] = {0, 0}, wanted = 0, error = 0;
    if (c->viewed)
        look_along(l, c->view);
    else
        rotate(l->view, -(double)c->look[0] * LOOK_RATE * h);
    if (wish(l, c, scale, way, &wanted)) {
        double along = l->facing[0] * way[0] + l->facing[1] * way[1];
        double across = l->facing[1] * way[0] - l->facing[0] * way[1];
        error = stable_atan2(fabs(across), along);
        if (across < 0) error = -error;
        wanted *= fmax(0, along);
    }
    double left = fmin(fmax(error, -TURN_REACH), TURN_REACH), before = left, rate = -l->turning;
    spring(&left, &rate, TURN_RATE, h);
    double turn = before - left;
    l->turning = -rate;
    l->yaw += turn;
    if (l->yaw > PI) l->yaw -= 2 * PI;
    if (l->yaw < -PI) l->yaw += 2 * PI;
    rotate(l->facing, turn);
    double off = l->speed - wanted;
    spring(&off, &l->speed_rate, SPEED_RATE, h);
    l->speed = fmax(0, wanted + off);
    if (wanted == 0 && l->speed < 1e-3 * l->height) l->speed = l->speed_rate = 0;
    l->position[0] += l->facing[0] * l->speed * scale * h;
    l->position[1] += l->facing[1] * l->speed * scale * h;
    double weights[3];
    locomotion_weights(l, weights);
    double stride = weights[1] * l->walk_stride + weights[2] * l->run_stride;
    if (stride > 0) l->phase += l->speed * h / stride;
    if (l->phase >= 1) l->phase -= floor(l->phase);
}

void locomotion_advance(struct locomotion *l, struct control *c, double dt_s, double scale)
{
    int count = (int)ceil(fmin(dt_s, 1) / STEP_S - 1e-6);
    for (int i = 0; i < count; i++)
        step(l, c, fmin(dt_s, 1) / count, scale);
}

void locomotion_weights(const struct locomotion *l, double out[3])
{
    double v = l->speed, slow = l->walk_speed > 0 ? l->walk_speed : l->run_speed;
    int slow_at = l->walk_speed > 0 ? 1 : 2;
    out[0] = out[1] = out[2] = 0;
    if (v <= slow) {
        out[slow_at] = l->idles ? v / slow : 1;
        out[0] = 1 - out[slow_at];
    } else if (slow_at == 1 && l->run_speed > slow) {
        out[2] = fmin(1, (v - slow) / (l->run_speed - slow));
        out[1] = 1 - out[2];
    } else {
        out[slow_at] = 1;
    }
}

#include "server/character/pose/locomotion.h"

#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "server/character/pose/ease.h"

#define STEP_S     (1.0 / 240)
#define SPEED_RATE 6.0 // of the spring that speeds up, 1/s
#define TURN_RATE  8.0
#define TURN_REACH 1.2  // radians that the turn spring sees at most: bounds its acceleration
#define LOOK_RATE  2.5  // radians a second of a full stick
#define RISE_MOST  1.2  // radians
#define GAIT_PACE  1.5  // of the change from walking to running, 1/s
#define AIM_PULL   0.5  // of the left trigger
#define EAGER      0.25 // how soon steps grow long when it starts, share of the walk's speed
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
    l.height = fmax(1e-6, (double)m->info->box_max[1] - (double)m->info->box_min[1]);
    l.idles = locomotion_move(m, MODEL_MOVE_IDLE) != NULL;
    for (size_t i = 0; i < m->moves_count; i++) {
        const struct model_move *v = &m->moves[i];
        if (!(v->speed > 0) || v->kind > MODEL_MOVE_STRAFE_RIGHT) continue;
        l.speeds[v->kind] = (double)v->speed;
        l.strides[v->kind] = (double)v->stride;
    }
    double *speeds = l.speeds, *strides = l.strides;
    if (speeds[MODEL_MOVE_RUN] <= speeds[MODEL_MOVE_WALK]) speeds[MODEL_MOVE_RUN] = 0;
    if (speeds[MODEL_MOVE_WALK] == 0 &&
        speeds[MODEL_MOVE_RUN] == 0) { // it glides, a height a second
        speeds[MODEL_MOVE_WALK] = l.height;
        strides[MODEL_MOVE_WALK] = l.height;
    }
    l.runs = speeds[MODEL_MOVE_WALK] > 0 ? 0 : 1;
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
    double most = fmax(l->speeds[MODEL_MOVE_RUN], l->speeds[MODEL_MOVE_WALK]);
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

// Straight up or down says nothing about where forward is.
static void look_along(struct locomotion *l, const float view[3])
{
    double x = (double)view[0], z = (double)view[2], size = sqrt(x * x + z * z);
    if (size < 1e-3) return;
    l->view[0] = x / size;
    l->view[1] = z / size;
    double up = stable_atan2(fabs((double)view[1]), size);
    l->rise = fmin(view[1] < 0 ? -up : up, RISE_MOST);
}

static double angle_to(const double from[2], const double to[2])
{
    double along = from[0] * to[0] + from[1] * to[1], across = from[1] * to[0] - from[0] * to[1];
    double angle = stable_atan2(fabs(across), along);
    return across < 0 ? -angle : angle;
}

static bool has_side_steps(const struct locomotion *l)
{
    return l->speeds[MODEL_MOVE_BACK] > 0 && l->speeds[MODEL_MOVE_STRAFE_LEFT] > 0 &&
           l->speeds[MODEL_MOVE_STRAFE_RIGHT] > 0;
}

bool locomotion_aims(const struct control *c)
{
    return (double)c->triggers[0] >= AIM_PULL;
}

// What it turns to, and how it goes against that.
static void choose_course(const struct locomotion *l, const struct control *c, const double way[2],
                          bool goes, double face[2], double *course)
{
    bool aims = locomotion_aims(c);
    face[0] = goes ? way[0] : l->facing[0];
    face[1] = goes ? way[1] : l->facing[1];
    *course = 0;
    if (!aims) return;
    bool backs =
        goes && l->speeds[MODEL_MOVE_BACK] > 0 && l->view[0] * way[0] + l->view[1] * way[1] < -0.5;
    if (has_side_steps(l) || !goes) {
        face[0] = l->view[0];
        face[1] = l->view[1];
        if (goes) *course = angle_to(l->view, way);
    } else if (backs) {
        face[0] = -way[0];
        face[1] = -way[1];
        *course = PI;
    }
}

// The most it does in a direction: what its side steps are made for.
static double fastest(const struct locomotion *l, double wanted, double course)
{
    double back = l->speeds[MODEL_MOVE_BACK], side = l->speeds[MODEL_MOVE_STRAFE_LEFT], s, c;
    if (course == 0) return wanted;
    stable_sincos(course, &s, &c);
    double most = c > 0 ? fmax(l->speeds[MODEL_MOVE_RUN], l->speeds[MODEL_MOVE_WALK]) : back;
    if (!(side > 0)) side = most;
    return fmin(wanted, 1.5 * (s * s * side + c * c * most));
}

static void turn_to(struct locomotion *l, double error, double h)
{
    double left = fmin(fmax(error, -TURN_REACH), TURN_REACH), before = left, rate = -l->turning;
    ease_spring(&left, &rate, TURN_RATE, h);
    double turn = before - left;
    l->turning = -rate;
    l->yaw += turn;
    if (l->yaw > PI) l->yaw -= 2 * PI;
    if (l->yaw < -PI) l->yaw += 2 * PI;
    rotate(l->facing, turn);
}

// From one way of stepping to another, the shorter way round; at once while it stands.
static double change_course(struct locomotion *l, double wanted, double h)
{
    double off = l->course - wanted;
    if (off > PI) off -= 2 * PI;
    if (off < -PI) off += 2 * PI;
    double kept = l->speed < 0.01 * l->height ? 0 : off * stable_exp(-TURN_RATE * h);
    l->course = wanted + kept;
    return kept;
}

static void change_gait(struct locomotion *l, double h)
{
    double walk = l->speeds[MODEL_MOVE_WALK], run = l->speeds[MODEL_MOVE_RUN];
    double wanted = walk > 0 ? 0 : 1;
    if (walk > 0 && run > walk) wanted = fmin(fmax((l->speed - walk) / (run - walk), 0), 1);
    l->runs += fmin(fmax(wanted - l->runs, -GAIT_PACE * h), GAIT_PACE * h);
}

void locomotion_velocity(const struct locomotion *l, double out[2])
{
    double s = 0, c = 1;
    if (l->course != 0) stable_sincos(l->course, &s, &c);
    out[0] = (l->facing[0] * c + l->facing[1] * s) * l->speed;
    out[1] = (l->facing[1] * c - l->facing[0] * s) * l->speed;
}

static void step(struct locomotion *l, struct control *c, double h, double scale)
{
    double way[2] = {0, 0}, wanted = 0, face[2], course, weights[MODEL_MOVE_COUNT], stride = 0;
    if (c->viewed) {
        look_along(l, c->view);
    } else {
        rotate(l->view, -(double)c->look[0] * LOOK_RATE * h);
        l->rise = fmin(fmax(l->rise + (double)c->look[1] * LOOK_RATE * h, -RISE_MOST), RISE_MOST);
    }
    bool goes = wish(l, c, scale, way, &wanted);
    choose_course(l, c, way, goes, face, &course);
    double error = angle_to(l->facing, face);
    if (goes) wanted *= fmax(0, l->facing[0] * face[0] + l->facing[1] * face[1]);
    turn_to(l, error, h);
    if (goes || l->speed == 0) {
        double off = fabs(change_course(l, course, h));
        wanted = off < PI / 2 ? fastest(l, wanted, course) * (1 - off / (PI / 2)) : 0;
    }
    double slower = l->speed - wanted;
    ease_spring(&slower, &l->speed_rate, SPEED_RATE, h);
    l->speed = fmax(0, wanted + slower);
    if (wanted == 0 && l->speed < 1e-4 * l->height) l->speed = l->speed_rate = 0;
    double velocity[2];
    locomotion_velocity(l, velocity);
    l->position[0] += velocity[0] * scale * h;
    l->position[1] += velocity[1] * scale * h;
    change_gait(l, h);
    locomotion_weights(l, weights);
    for (int i = 0; i < MODEL_MOVE_COUNT; i++)
        stride += weights[i] * l->strides[i];
    if (stride > 0) l->phase += l->speed * h / stride;
    if (l->phase >= 1) l->phase -= floor(l->phase);
}

void locomotion_advance(struct locomotion *l, struct control *c, double dt_s, double scale)
{
    int count = (int)ceil(fmin(dt_s, 1) / STEP_S - 1e-6);
    for (int i = 0; i < count; i++)
        step(l, c, fmin(dt_s, 1) / count, scale);
}

// How much of the way goes ahead, back, left and right; sum 1, by the moves that there are.
static void directions(const struct locomotion *l, double out[4])
{
    double s = 0, c = 1, sum = 0;
    if (l->course != 0) stable_sincos(l->course, &s, &c);
    out[0] = fmax(0, c);
    out[1] = l->speeds[MODEL_MOVE_BACK] > 0 ? fmax(0, -c) : 0;
    out[2] = l->speeds[MODEL_MOVE_STRAFE_LEFT] > 0 ? fmax(0, s) : 0;
    out[3] = l->speeds[MODEL_MOVE_STRAFE_RIGHT] > 0 ? fmax(0, -s) : 0;
    for (int i = 0; i < 4; i++)
        sum += out[i];
    if (!(sum > 0)) out[0] = sum = 1;
    for (int i = 0; i < 4; i++)
        out[i] /= sum;
}

void locomotion_weights(const struct locomotion *l, double out[MODEL_MOVE_COUNT])
{
    double way[4], v = l->speed, walk = l->speeds[MODEL_MOVE_WALK], run = l->speeds[MODEL_MOVE_RUN];
    double slow = walk > 0 ? walk : run, usual, goes = 1;
    memset(out, 0, MODEL_MOVE_COUNT * sizeof *out);
    directions(l, way);
    usual = way[0] * slow + way[1] * l->speeds[MODEL_MOVE_BACK] +
            way[2] * l->speeds[MODEL_MOVE_STRAFE_LEFT] +
            way[3] * l->speeds[MODEL_MOVE_STRAFE_RIGHT];
    if (v < usual && l->idles) goes = (1 + EAGER) * v / (v + EAGER * usual);
    out[MODEL_MOVE_WALK] = goes * way[0] * (1 - l->runs);
    out[MODEL_MOVE_RUN] = goes * way[0] * l->runs;
    out[MODEL_MOVE_BACK] = goes * way[1];
    out[MODEL_MOVE_STRAFE_LEFT] = goes * way[2];
    out[MODEL_MOVE_STRAFE_RIGHT] = goes * way[3];
    out[MODEL_MOVE_IDLE] = 1 - goes;
}

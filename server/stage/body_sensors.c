#include "server/stage/body_sensors.h"

#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "server/character/pose/body_prior.h"
#include "server/character/pose/rotation.h"

enum { FIRST_DIGIT = 6 }; // eyes, jaw; the body's own bones up to the hands are in the human

static void lay_bones(const struct body_sensors *s, const struct puppet *p, const struct model *m,
                      struct pose pose)
{
    struct human_pose human;
    bones_pose(&s->bones, &p->human, &human);
    human_lay(&p->human, &human, pose.locals);
    for (int32_t i = FIRST_DIGIT; i < HUMANOID_BONE_COUNT; i++) {
        const float *q = s->bones.rotation[i];
        const double turn[4] = {(double)q[0], (double)q[1], (double)q[2], (double)q[3]};
        if (s->bones.given[i]) digits_turn(&p->digits, m, i, turn, pose.locals);
    }
}

static void lay_devices(struct body_sensors *s, const struct puppet *p, const struct model *m,
                        double dt_s, double place_scale, struct pose pose)
{
    struct body_frame frame;
    struct human_pose human;
    double gaze[4];
    wearer_frame(&s->wearer, &p->human, dt_s, place_scale, &frame);
    if (!s->started) body_start(&s->memory);
    body_solve(&p->human, body_prior_standard(), &frame, &s->memory, &human);
    human_lay(&p->human, &human, pose.locals);
    for (int side = 0; side < 2; side++)
        digits_hand(&p->digits, m, &s->wearer.sensor.hands[side], pose.locals);
    s->looks = wearer_turn(&s->wearer, INPUT_DEVICE_gaze, gaze);
    if (!s->looks) return;
    rotation_from(human.turns[p->human.trunk_count - 1], gaze, gaze);
    rotation_apply(gaze, (const double[3]){0, 0, 1}, s->gaze);
    if (m->look_at_count == 0) digits_gaze(&p->digits, m, s->gaze, pose.locals);
}

static double degrees(double opposite, double adjacent)
{
    double angle = stable_atan2(fabs(opposite), adjacent) * (180 / 3.14159265358979323846);
    return opposite < 0 ? -angle : angle;
}

bool body_sensors_look(const struct body_sensors *s, double *yaw, double *pitch)
{
    const double *g = s->gaze;
    if (!s->looks || s->boned) return false;
    *yaw = degrees(g[0], g[2]);
    *pitch = degrees(-g[1], sqrt(g[0] * g[0] + g[2] * g[2]));
    return true;
}

void body_sensors_pose(struct body_sensors *s, const struct puppet *p, const struct model *m,
                       double age_s, double place_scale, struct pose pose)
{
    pose_rest(m, pose);
    if (s->boned)
        lay_bones(s, p, m, pose);
    else
        lay_devices(s, p, m, s->started ? age_s - s->age_s : 0, place_scale, pose);
    s->started = !s->boned;
    s->age_s = age_s;
}

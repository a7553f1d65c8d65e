#include "server/character/pose/aim.h"

#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "server/character/pose/ease.h"
#include "server/character/pose/humanoid_map.h"
#include "server/character/pose/ik.h"
#include "server/character/pose/joint_limits.h"
#include "server/character/pose/rotation.h"
#include "server/character/pose/skeleton.h"

#define AIM_RATE   9.0 // of its springs, 1/s
#define BEHIND     2.3 // radians: nobody looks further round than that
#define YAW_MOST   1.3
#define RISE_MOST  0.8
#define STICK_YAW  1.0 // of a full look stick
#define STICK_RISE 0.6

struct aim aim_of(const struct model *m, struct xform *nodes)
{
    static const struct {
        const char *bone;
        double share;
    } chain[AIM_JOINTS_MAX] = {
        {"spine", 0.1}, {"chest", 0.1}, {"upperChest", 0.1}, {"neck", 0.3}, {"head", 0.4}};
    struct aim a = {.nodes = nodes};
    int32_t bones[HUMANOID_BONE_COUNT];
    const struct model_move *walk = locomotion_move(m, MODEL_MOVE_WALK);
    if (walk) a.quarter = walk->quarter;
    if (humanoid_map_model(m, bones) != ERR_OK || bones[humanoid_find("head")] < 0) return a;
    double sum = 0;
    for (int i = 0; i < AIM_JOINTS_MAX; i++) {
        int32_t bone = humanoid_find(chain[i].bone), node = bones[bone];
        struct joint_limit limit = joint_limit_of(bone);
        if (node < 0) continue;
        struct aim_joint *j = &a.joints[a.joint_count++];
        *j = (struct aim_joint){.node = node,
                                .share = chain[i].share,
                                .side = 1.5707963267948966,
                                .up = 1.5707963267948966};
        sum += j->share;
        if (limit.free) continue;
        j->side = fmin(fabs(limit.twist_low), fabs(limit.twist_high));
        j->up = fmin(fmin(fabs(limit.low[0]), fabs(limit.high[0])),
                     fmin(fabs(limit.low[1]), fabs(limit.high[1])));
    }
    for (uint32_t i = 0; i < a.joint_count; i++)
        a.joints[i].share /= sum;
    return a;
}

// Where to look, against the way that it faces.
static void wanted(const struct locomotion *l, const struct control *c, double *yaw, double *rise)
{
    *yaw = -(double)c->look[0] * STICK_YAW;
    *rise = (double)c->look[1] * STICK_RISE;
    bool aims = locomotion_aims(c);
    if (!c->viewed && !aims) return;
    double along = l->facing[0] * l->view[0] + l->facing[1] * l->view[1];
    double across = l->facing[1] * l->view[0] - l->facing[0] * l->view[1];
    *yaw = stable_atan2(fabs(across), along);
    if (across < 0) *yaw = -*yaw;
    *rise = l->rise;
    if (fabs(*yaw) > BEHIND) *yaw = *rise = 0;
}

static void turn_chain(const struct aim *a, const struct model *m, struct trs *locals)
{
    static const double ways[4][2] = {{0, 1}, {1, 0}, {0, -1}, {-1, 0}};
    const double left[3] = {ways[a->quarter][1], 0, -ways[a->quarter][0]};
    double above[4] = {0, 0, 0, 1};
    skeleton_model_from_nodes(m, locals, a->nodes);
    for (uint32_t i = 0; i < a->joint_count; i++) {
        const struct aim_joint *j = &a->joints[i];
        double yaw = fmin(fmax(a->yaw * j->share, -j->side), j->side), s, c, q[4];
        double rise = fmin(fmax(a->rise * j->share, -j->up), j->up);
        stable_sincos(-rise / 2, &s, &c);
        double pitch[4] = {left[0] * s, 0, left[2] * s, c}, turn[4] = {0, 0, 0, 1};
        stable_sincos(yaw / 2, &turn[1], &turn[3]);
        rotation_mul(turn, pitch, turn);
        // The joint hangs on what has been turned already.
        rotation_mul(turn, above, q);
        double all[4] = {q[0], q[1], q[2], q[3]};
        rotation_from(above, all, q);
        ik_turn_node(m, a->nodes, j->node, q, locals);
        memcpy(above, all, sizeof above);
    }
}

void aim_lay(struct aim *a, const struct model *m, const struct locomotion *l,
             const struct control *c, double dt_s, struct trs *locals)
{
    double yaw, rise;
    if (a->joint_count == 0) return;
    wanted(l, c, &yaw, &rise);
    yaw = fmin(fmax(yaw, -YAW_MOST), YAW_MOST);
    rise = fmin(fmax(rise, -RISE_MOST), RISE_MOST);
    double off = a->yaw - yaw, over = a->rise - rise;
    ease_spring(&off, &a->yaw_rate, AIM_RATE, dt_s);
    ease_spring(&over, &a->rise_rate, AIM_RATE, dt_s);
    a->yaw = yaw + off;
    a->rise = rise + over;
    if (fabs(a->yaw) + fabs(a->rise) > 1e-6) turn_chain(a, m, locals);
}

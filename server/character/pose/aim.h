#pragma once
#include "server/character/pose/locomotion.h"
#include "server/character/pose/pose.h"
#include "server/model/model.h"

// Looking and aiming with head, neck and spine: along the view while the player aims or has one,
// else as far aside as the look stick goes. What one joint may not do within human limits
// (joint_limits.h) stays undone; eyes follow by themselves (gaze.h). Remembers the two angles and
// their rates.
enum { AIM_JOINTS_MAX = 5 };
struct aim {
    double yaw, yaw_rate, rise, rise_rate; // radians, to the left and up, of the whole chain
    // of the model
    struct aim_joint {
        int32_t node;
        double share, side, up; // of the turn, and how far it goes at most
    } joints[AIM_JOINTS_MAX];   // from the spine up
    uint32_t joint_count;       // 0: no joint is known to be a head
    uint32_t quarter;           // it looks towards 0: +Z, 1: +X, 2: -Z, 3: -X
    struct xform *nodes;        // [node] scratch, borrowed
};
// nodes: scratch of nodes_count, for the aim's whole life.
struct aim aim_of(const struct model *m, struct xform *nodes);
void aim_lay(struct aim *a, const struct model *m, const struct locomotion *l,
             const struct control *c, double dt_s, struct trs *locals);

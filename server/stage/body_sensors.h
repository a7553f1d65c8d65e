#pragma once
#include <stdbool.h>

#include "common/err.h"
#include "server/character/input/bones.h"
#include "server/character/input/osc_source.h"
#include "server/character/input/puppet.h"
#include "server/character/input/wearer.h"
#include "server/character/pose/body.h"
#include "server/character/pose/pose.h"

// The part of a body that sensors drive: what devices or a client's own solver have said, and the
// whole pose from it. Plain data, so that a body of a new version takes it over as it is.
struct body_sensors {
    bool live;  // sensors drive the pose
    bool boned; // by bones, rather than by devices: whichever was told last
    struct wearer wearer;
    struct input_bones bones;

    // private
    struct body_memory memory;
    bool started, looks;
    double gaze[3]; // where the eyes look, the head's axes, unit; while `looks`
    double age_s;   // of the last pose
};

// The pose of this tick, over the file's rest in `pose`.
void body_sensors_pose(struct body_sensors *s, const struct puppet *p, const struct model *m,
                       double age_s, double place_scale, struct pose pose);
// After it: degrees to the left and down, from straight ahead of the head. False: nobody says.
bool body_sensors_look(const struct body_sensors *s, double *yaw, double *pitch);

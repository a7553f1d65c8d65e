#pragma once
#include "server/character/surface/extras/soft.h"

// Masses on damped springs behind points that skinning carries through the scene: what jiggles,
// and what a muscle does when it is hit. They step at a fixed rate over the points' paths, so that
// frame rates do not change how they swing.
struct swing_mass {
    struct drive drive;       // of its point
    double mass[3], speed[3]; // scene axes, model lengths
    double before[3];         // the point at the last whole step
    double shown[3];          // displacement at this instant, model space
};
struct swing {      // of all masses of one extra
    double phase_s; // since the last whole step
    double slope_s; // how long the frame before took; 0: there was none
    double yaw_rad; // at the last instant
};
struct swing_spring {
    double frequency_hz, damping_ratio, amount;
    double limit; // `shown` / amount approaches it smoothly
    const struct model_link *links;
    uint32_t link_count;
    const struct soft_collider *colliders; // as of now; may be NULL
    uint32_t collider_count;
    double hit_radius;
};

// anchors: [mass], scene. At rest there.
void swing_settle(struct swing *s, struct swing_mass *masses, uint32_t count, double (*anchors)[3],
                  const struct extra_motion *now);
// False: all at rest, and then exactly. Where any point jumps (soft_jumps) all masses go along.
bool swing_advance(struct swing *s, struct swing_mass *masses, uint32_t count, double (*anchors)[3],
                   const struct swing_spring *k, const struct extra_motion *now);

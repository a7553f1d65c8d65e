#pragma once
#include "server/character/pose/collider.h"
#include "server/character/surface/extras/drive.h"

// What jiggle and cloth share: where skinning has their particles, and what stops them.

static inline const struct model_soft *soft_of(const struct model *m, const struct model_extra *e)
{
    return &m->softs[e->item];
}
void soft_anchor(const struct model_particle *p, const struct extra_motion *now,
                 const struct drive_scene *scene, double out[3]); // scene
// Steps of a point faster than this are cuts: a clip that begins anew, a character put elsewhere.
#define SOFT_JUMP_M_S 15.0
bool soft_jumps(const struct extra_motion *now, const double from[3], const double to[3]);

// A collider over one frame.
struct soft_collider {
    struct collider_place from, to;
    bool stops; // false: it is none in this pose
};
// Where they are now; `cut`: and have been all the time.
void soft_colliders_next(const struct model *m, const struct model_soft *s,
                         const struct extra_motion *now, const struct drive_scene *scene, bool cut,
                         struct soft_collider *colliders);
// At share `u` of the frame; false: free of all of them.
bool soft_push(const struct soft_collider *colliders, uint32_t count, double u, double hit_radius,
               double point[3]);

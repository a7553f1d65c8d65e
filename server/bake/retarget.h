#pragma once
#include "common/err.h"
#include "server/bake/scene.h"

// Carries a clip of one skeleton over to another whose joints rest in other directions, have
// other lengths, and stand in other places.
//
// What moves over is how each joint has turned, in the axes of the world, since its rest: with
// the source at rest the target stands in its own rest. Between paired joints there may be
// others on either side; those of the source count into the next pair below, those of the target
// stay at rest. The skeletons may face and stand along different axes (told by hips, head and
// legs); the hips' place in the world is scaled by the ratio of hip heights.
struct retarget_pair {
    int32_t source, target; // nodes; each at most once
    int32_t bone;           // humanoid bone, or -1
};

struct retarget_job {
    const struct scene *source; // nodes and clip
    const struct scene_clip *clip;
    struct scene *target; // its pool keeps the new channels
    const struct retarget_pair *pairs;
    uint32_t pair_count;
    // Heights of the hips are measured from the ground (y = 0) as VRMA says, or along the
    // legs where the source's rest stands nowhere in particular (BVH).
    bool rest_on_ground;
};

// Fills *out but for its name. No channel at all is no failure. ERR_LIMIT when it would take too
// much memory or work; ERR_MEMORY.
MUST_CHECK enum err retarget_clip(const struct retarget_job *job, struct scene_clip *out,
                                  struct fault *fault);

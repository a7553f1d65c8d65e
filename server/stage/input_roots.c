#include <math.h>

#include "server/model/lookup.h"
#include "server/stage/input.h"

enum { SPEED_MAX = 16, OFFSET_MAX_S = 3600 };

static enum err resolve(const struct model *m, const struct input_root *in, uint32_t *root,
                        uint32_t *clip, struct fault *fault)
{
    enum err e = lookup_name(m, LOOKUP_ROOT, in->root, "control/root", root, fault);
    if (e == ERR_OK && in->clip[0])
        e = lookup_name(m, LOOKUP_CLIP, in->clip, "control/root/clip", clip, fault);
    return e;
}

enum err input_roots(struct body *b, const struct input_root *roots, size_t count,
                     struct fault *fault)
{
    const struct model *m = b->options.model;
    uint32_t root = 0, clip = 0;
    for (size_t i = 0; i < count; i++) {
        enum err e = resolve(m, &roots[i], &root, &clip, fault);
        if (e != ERR_OK) return e;
    }
    for (size_t i = 0; i < count; i++) {
        const struct input_root *in = &roots[i];
        struct fault unused;
        if (resolve(m, in, &root, &clip, &unused) != ERR_OK) continue; // it was checked above
        struct root_motion *motion = &b->motions[root];
        motion->set = b->rooted = true;
        if (in->clip[0]) root_motion_clip(motion, (int32_t)clip);
        if (in->fields & INPUT_ROOT_SIDE)
            root_motion_mirror(motion, (in->fields & INPUT_ROOT_MIRRORED) != 0);
        if (in->fields & INPUT_ROOT_SPEED)
            roots_ease_to(&motion->speed, fmin(fmax((double)in->speed, 0), SPEED_MAX));
        if (in->fields & INPUT_ROOT_WEIGHT)
            roots_ease_to(&motion->weight, fmin(fmax((double)in->weight, 0), 1));
        if (in->fields & INPUT_ROOT_OFFSET)
            roots_ease_to(&motion->offset_s, fmin(fmax((double)in->offset_s, 0), OFFSET_MAX_S));
    }
    if (count > 0) b->change++;
    return ERR_OK;
}

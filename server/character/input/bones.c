#include "server/character/input/bones.h"

#include <math.h>
#include <string.h>

#include "server/character/pose/rotation.h"

// [bone] its parent in a VRM 1.0 humanoid that has every bone; parents come before children.
static const int8_t parents[HUMANOID_BONE_COUNT] = {
    -1, 0,  1,  2,  3,  4,                                      // hips .. head
    5,  5,  5,                                                  // eyes, jaw
    0,  9,  10, 11, 0,  13, 14, 15,                             // legs
    3,  17, 18, 19, 3,  21, 22, 23,                             // arms
    20, 25, 26, 20, 28, 29, 20, 31, 32, 20, 34, 35, 20, 37, 38, // fingers
    24, 40, 41, 24, 43, 44, 24, 46, 47, 24, 49, 50, 24, 52, 53};
enum { HIPS = 0, LEFT_LOWER_LEG = 10, LEFT_FOOT = 11 };

static void load4(const float from[4], double out[4])
{
    for (int i = 0; i < 4; i++)
        out[i] = (double)from[i];
    rotation_unit(out);
}

static double length_of(const struct input_bones *b, int bone)
{
    double sum = 0;
    for (int r = 0; r < 3; r++)
        sum += (double)b->position[bone][r] * (double)b->position[bone][r];
    return b->given[bone] ? sqrt(sum) : 0;
}

// The sender tells the lengths of its bones with every pose; lengths that its own hips could not
// stand on are not believed.
static double leg_ratio(const struct input_bones *b, const struct human *h)
{
    double theirs = length_of(b, LEFT_LOWER_LEG) + length_of(b, LEFT_FOOT), ours = 0;
    for (uint32_t k = 1; k < 3; k++) {
        const double *offset = h->bones[human_limb_bone(HUMAN_LEG_L, k)].offset;
        ours += sqrt(offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2]);
    }
    double hips = b->given[HIPS] ? fabs((double)b->position[HIPS][1]) : 0;
    return theirs > 0.05 && theirs < 20 && hips < 2 * theirs ? ours / theirs : 1;
}

void bones_pose(const struct input_bones *b, const struct human *h, struct human_pose *out)
{
    double turns[HUMANOID_BONE_COUNT][4], root[4] = {0, 0, 0, 1}, ratio = leg_ratio(b, h);
    if (b->rooted) load4(b->root_rotation, root);
    for (int i = 0; i < HUMANOID_BONE_COUNT; i++) {
        const double *above = parents[i] < 0 ? root : turns[parents[i]];
        double local[4];
        memcpy(turns[i], above, sizeof turns[i]);
        if (!b->given[i]) continue;
        load4(b->rotation[i], local);
        rotation_mul(above, local, turns[i]);
    }
    human_rest(h, out);
    if (b->given[HIPS]) {
        for (int r = 0; r < 3; r++)
            out->hips[r] = (double)b->position[HIPS][r] * ratio;
        rotation_apply(root, out->hips, out->hips);
    }
    for (int r = 0; b->rooted && r < 3; r++)
        out->hips[r] += (double)b->root_position[r] * ratio;
    for (uint32_t i = 0; i < HUMAN_BONES; i++) {
        const struct human_bone *bone = &h->bones[i];
        if (i >= h->trunk_count && i < HUMAN_TRUNK_MAX) continue;
        // A bone of the trunk that no humanoid has goes with the one below it.
        if (bone->humanoid >= 0)
            memcpy(out->turns[i], turns[bone->humanoid], sizeof out->turns[i]);
        else if (bone->parent >= 0)
            memcpy(out->turns[i], out->turns[bone->parent], sizeof out->turns[i]);
    }
}

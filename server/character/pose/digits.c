#include "server/character/pose/digits.h"

#include <math.h>
#include <string.h>

#include "server/character/pose/humanoid_map.h"
#include "server/character/pose/rotation.h"

enum { // of the humanoid's bones, humanoid.c
    LEFT_EYE = 6,
    JAW = 8,
    FINGERS = 25,
    FINGER_BONES = 3,
    HAND_BONES = 15
};
#define ROOT_HALF 0.70710678118654752

// Full turns of each bone of a curled finger and of a thumb laid into the palm: sine and cosine of
// half the angle. 90, 100 and 65 degrees; 35, 45 and 60.
static const double finger_curl[FINGER_BONES][2] = {
    {ROOT_HALF, ROOT_HALF}, {0.76604444, 0.64278761}, {0.53729961, 0.84339145}};
static const double thumb_curl[FINGER_BONES][2] = {
    {0.30070580, 0.95371695}, {0.38268343, 0.92387953}, {0.5, 0.8660254}};
// A finger spread to the side: 15 degrees, of the outer ones; the middle finger stays.
static const double splay_turn[2] = {0.13052619, 0.99144486};
static const double splay_share[5] = {1, 1, 0, -0.7, -1.3};
static const double GAZE_COSINE = 0.81915204; // eyes turn 35 degrees at most

// ---- which bones there are ----------------------------------------------------------------

static void rest_turn(const struct model *m, int32_t node, double out[4])
{
    out[0] = out[1] = out[2] = 0;
    out[3] = 1;
    for (; node >= 0; node = m->nodes[node].parent) {
        double local[4];
        rotation_load(m->nodes[node].rest.rotation, local);
        rotation_mul(local, out, out);
    }
    rotation_unit(out);
}

static const struct human_bone *bone_at(const struct human *h, int32_t node)
{
    for (uint32_t i = 0; i < HUMAN_BONES; i++)
        if ((i < h->trunk_count || i >= HUMAN_TRUNK_MAX) && h->bones[i].node == node)
            return &h->bones[i];
    return NULL;
}

// The axes of a digit's parent follow from those of the body's bone above it, and the rest between.
static void find_digit(const struct model *m, const struct human *h, int32_t node,
                       struct digit *out)
{
    int32_t above = node < 0 ? -1 : m->nodes[node].parent;
    out->node = -1;
    while (above >= 0 && !bone_at(h, above))
        above = m->nodes[above].parent;
    if (above < 0) return;
    double base[4], parent[4], between[4];
    rest_turn(m, above, base);
    rest_turn(m, m->nodes[node].parent, parent);
    rotation_from(base, parent, between);
    rotation_mul(bone_at(h, above)->axes, between, out->axes);
    out->node = node;
}

enum err digits_of_model(const struct model *m, const struct human *h, struct digits *out)
{
    int32_t nodes[HUMANOID_BONE_COUNT];
    memset(out, 0, sizeof *out);
    enum err e = humanoid_map_model(m, nodes);
    if (e != ERR_OK) return e;
    for (int32_t bone = 0; bone < HUMANOID_BONE_COUNT; bone++) {
        out->bones[bone].node = -1;
        if ((bone >= LEFT_EYE && bone <= JAW) || bone >= FINGERS)
            find_digit(m, h, nodes[bone], &out->bones[bone]);
    }
    return ERR_OK;
}

// ---- turns --------------------------------------------------------------------------------

void digits_turn(const struct digits *d, const struct model *m, int32_t bone, const double turn[4],
                 struct trs *locals)
{
    const struct digit *digit = &d->bones[bone];
    double q[4], rest[4];
    if (digit->node < 0) return;
    rotation_mul(turn, digit->axes, q);
    rotation_from(digit->axes, q, q);
    rotation_load(m->nodes[digit->node].rest.rotation, rest);
    rotation_mul(q, rest, q);
    locals[digit->node].rotation = rotation_round(q);
}

// About an axis, `share` of a turn whose half has this sine and cosine; both ways.
static void part_turn(const double axis[3], const double full[2], double share, double out[4])
{
    const double none[4] = {0, 0, 0, 1};
    double sign = share < 0 ? -1 : 1;
    double whole[4] = {sign * axis[0] * full[0], sign * axis[1] * full[0], sign * axis[2] * full[0],
                       full[1]};
    rotation_slerp(none, whole, fabs(share), out);
    rotation_unit(out);
}

// Axes in the T-pose's body frame, of the left hand; the right one mirrors them.
static const double bends[3] = {0, 0, -1};                       // fingers, into the palm
static const double spreads[3] = {0, -1, 0};                     // towards the thumb
static const double opposes[3] = {1, 0, 0};                      // the thumb, across the palm
static const double thumb_bends[3] = {0, ROOT_HALF, -ROOT_HALF}; // at its further joints

static void mirrored(const double axis[3], bool right, double out[3])
{
    out[0] = axis[0];
    out[1] = right ? -axis[1] : axis[1];
    out[2] = right ? -axis[2] : axis[2];
}

static void curl(const struct digits *d, const struct model *m, const struct input_hand *hand,
                 struct trs *locals)
{
    bool right = hand->side == 1;
    for (int f = 0; f < 5; f++)
        for (int k = 0; k < FINGER_BONES; k++) {
            double axis[3], turn[4], side[4];
            const double *full = f == 0 ? thumb_curl[k] : finger_curl[k];
            const double *about = f > 0 ? bends : k == 0 ? opposes : thumb_bends;
            double share = hand->fields & INPUT_HAND_CURL ? (double)hand->curl[f] : 0;
            mirrored(about, right, axis);
            part_turn(axis, full, share, turn);
            if (k == 0 && hand->fields & INPUT_HAND_SPLAY) {
                mirrored(spreads, right, axis);
                part_turn(axis, splay_turn, (double)hand->splay[f] * splay_share[f], side);
                rotation_mul(side, turn, turn);
            }
            digits_turn(d, m, FINGERS + HAND_BONES * hand->side + FINGER_BONES * f + k, turn,
                        locals);
        }
}

// ---- measured joints ----------------------------------------------------------------------

static const int palm_wrist = 1, first_joint[5] = {2, 7, 12, 17, 22}; // OpenXR's order

static void load(const struct input_hand *hand, int joint, double out[4])
{
    for (int i = 0; i < 4; i++)
        out[i] = (double)hand->rotation[joint][i];
    rotation_unit(out);
}

// Where the thumb's first bone points on a flat hand, in the wrist's axes, left hand.
static void flat_thumb(bool right, double out[3])
{
    out[0] = right ? -0.55 : 0.55;
    out[1] = -0.25;
    out[2] = -0.7969;
    double size = sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]);
    for (int r = 0; r < 3; r++)
        out[r] /= size;
}

// A thumb's axes differ from runtime to runtime in how they roll: only where it points is used.
static void thumb_turn(const double local[4], bool right, int k, double out[4])
{
    const double ahead[3] = {0, 0, -1};
    double points[3], flat[3], axis[3];
    rotation_apply(local, ahead, points);
    if (k == 0) {
        flat_thumb(right, flat);
        rotation_between(flat, points, out);
        return;
    }
    double cosine = fmin(fmax(-points[2], -1), 1), sine = sqrt((1 - cosine) / 2);
    mirrored(thumb_bends, right, axis);
    for (int r = 0; r < 3; r++)
        out[r] = axis[r] * (points[1] > 0 ? -sine : sine);
    out[3] = sqrt((1 + cosine) / 2);
}

static void measured(const struct digits *d, const struct model *m, const struct input_hand *hand,
                     struct trs *locals)
{
    bool right = hand->side == 1;
    // A finger's axes in the T-pose: -Z along it, +Y out of the back of the hand.
    const double axes[4] = {0, right ? ROOT_HALF : -ROOT_HALF, 0, ROOT_HALF};
    for (int f = 0; f < 5; f++)
        for (int k = 0; k < FINGER_BONES; k++) {
            double parent[4], joint[4], turn[4];
            load(hand, k == 0 ? palm_wrist : first_joint[f] + k - 1, parent);
            load(hand, first_joint[f] + k, joint);
            rotation_from(parent, joint, turn);
            bool bent = f == 0 && k > 0; // in the body's axes already
            if (f == 0) thumb_turn(turn, right, k, turn);
            if (!bent) {
                rotation_mul(axes, turn, turn);
                rotation_mul(turn, (const double[4]){0, -axes[1], 0, axes[3]}, turn);
            }
            digits_turn(d, m, FINGERS + HAND_BONES * hand->side + FINGER_BONES * f + k, turn,
                        locals);
        }
}

void digits_hand(const struct digits *d, const struct model *m, const struct input_hand *hand,
                 struct trs *locals)
{
    if (hand->fields & INPUT_HAND_JOINTS_SET)
        measured(d, m, hand, locals);
    else if (hand->fields & (INPUT_HAND_CURL | INPUT_HAND_SPLAY))
        curl(d, m, hand, locals);
}

void digits_gaze(const struct digits *d, const struct model *m, const double direction[3],
                 struct trs *locals)
{
    const double ahead[3] = {0, 0, 1};
    double looks[3] = {direction[0], direction[1], direction[2]}, q[4];
    if (looks[2] < GAZE_COSINE) {
        double side = sqrt(looks[0] * looks[0] + looks[1] * looks[1]);
        double sine = sqrt(1 - GAZE_COSINE * GAZE_COSINE);
        if (side < 1e-9) return; // straight back: nothing that eyes could do
        looks[0] *= sine / side;
        looks[1] *= sine / side;
        looks[2] = GAZE_COSINE;
    }
    rotation_between(ahead, looks, q);
    for (int eye = 0; eye < 2; eye++)
        digits_turn(d, m, LEFT_EYE + eye, q, locals);
}

#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "server/character/pose/body_own.h"
#include "server/character/pose/ik.h"
#include "server/character/pose/rotation.h"

static const double POLE_STEP = 0.28;      // most that a pole turns about its line in a frame
static const double POLE_SPEED = 12;       // and in a second
static const double FOLD = 0.30;           // of the limb's length: elbows and knees fold no further
static const double PLACE_COUNTS = 5;      // radians that a metre is worth
static const double MET = 2e-4;            // a target missed by no more is met

struct limb {
    enum human_limb which;
    uint32_t upper; // bone; lower and end follow
    double side;    // 1 left, -1 right
    bool arm;
    double lengths[2], least;
};

static struct limb limb_of(const struct human *h, enum human_limb which)
{
    bool arm = which <= HUMAN_ARM_R;
    struct limb l = {.which = which,
                     .upper = human_limb_bone(which, arm ? 1 : 0),
                     .side = which == HUMAN_ARM_L || which == HUMAN_LEG_L ? 1 : -1,
                     .arm = arm};
    for (uint32_t k = 0; k < 2; k++) {
        const double *o = h->bones[l.upper + 1 + k].offset;
        l.lengths[k] = sqrt(vector_dot(o, o));
    }
    l.least = fmax(FOLD * (l.lengths[0] + l.lengths[1]) / 2, fabs(l.lengths[0] - l.lengths[1]));
    return l;
}

void body_place_limb(struct body_work *w, enum human_limb limb, uint32_t from)
{
    const struct human *h = w->human;
    for (uint32_t k = from; k < HUMAN_LIMB_BONES; k++) {
        uint32_t bone = human_limb_bone(limb, k);
        int32_t parent = h->bones[bone].parent;
        rotation_apply(w->pose->turns[parent], h->bones[bone].offset, w->places[bone]);
        for (int r = 0; r < 3; r++)
            w->places[bone][r] += w->places[parent][r];
    }
}

// The turn of a bone that points along unit `along` and bends about unit `hinge`, square to it:
// forearms forward about y, shanks back about x.
static void turn_of(const struct limb *l, const double along[3], const double hinge[3],
                    double turn[4])
{
    double basis[3][3];
    if (l->arm) {
        for (int r = 0; r < 3; r++) {
            basis[0][r] = l->side * along[r];
            basis[1][r] = -l->side * hinge[r];
        }
    } else {
        for (int r = 0; r < 3; r++) {
            basis[0][r] = hinge[r];
            basis[1][r] = -along[r];
        }
    }
    vector_cross(basis[0], basis[1], basis[2]);
    xform_rotation(basis, turn);
}

static void unit_between(const double from[3], const double to[3], double out[3])
{
    double size = 0;
    for (int r = 0; r < 3; r++) {
        out[r] = to[r] - from[r];
        size += out[r] * out[r];
    }
    size = sqrt(size);
    for (int r = 0; size > 0 && r < 3; r++)
        out[r] /= size;
}

// Sets the turns of both bones and, of an arm, lets the lower one twist halfway with the hand.
static void turn_bones(struct body_work *w, const struct limb *l, const struct ik_bend *bend,
                       const double *root, const double end_turn[4])
{
    double(*turns)[4] = w->pose->turns, upper[3], lower[3], hinge[3], back[3], relative[4];
    for (int r = 0; r < 3; r++)
        back[r] = -bend->pole[r];
    vector_cross(bend->line, back, hinge);
    unit_between(root, bend->middle, upper);
    unit_between(bend->middle, bend->end, lower);
    turn_of(l, upper, hinge, turns[l->upper]);
    turn_of(l, lower, hinge, turns[l->upper + 1]);
    if (!l->arm) return;
    rotation_from(turns[l->upper + 1], end_turn, relative);
    double size = sqrt(relative[0] * relative[0] + relative[3] * relative[3]);
    if (!(size > 1e-6)) return;
    double sign = relative[3] < 0 ? -1 : 1, limit = w->human->bones[l->upper + 2].limit.twist_high;
    double angle = 2 * stable_atan2(fabs(relative[0]), fabs(relative[3]));
    if (sign * relative[0] < 0) angle = -angle;
    double share = fmin(fabs(angle) / 2, 0.9 * limit), kept = fabs(angle) - share;
    double twist[4] = {0, 0, 0, 1};
    stable_sincos((angle < 0 ? -kept : kept) / 2, &twist[0], &twist[3]);
    rotation_mul(turns[l->upper + 1], twist, turns[l->upper + 1]);
    rotation_unit(turns[l->upper + 1]);
}

// Turns the bent limb about its line.
static void swivel(const struct ik_bend *from, const double root[3], double angle,
                   struct ik_bend *out)
{
    double arm[3];
    *out = *from;
    ik_turn(from->line, angle, from->pole, out->pole);
    for (int r = 0; r < 3; r++)
        arm[r] = from->middle[r] - root[r];
    ik_turn(from->line, angle, arm, out->middle);
    for (int r = 0; r < 3; r++)
        out->middle[r] += root[r];
}

// A pole goes round its line by limited steps: it never flips.
static void slow_pole(const struct body_work *w, const struct limb *l, const double root[3],
                      struct ik_bend *bend)
{
    const struct body_limb_memory *m = &w->memory->limbs[l->which];
    double carried[3], most = fmin(POLE_STEP, POLE_SPEED * w->dt_s);
    if (!w->started) return;
    ik_carry(m->line, bend->line, m->pole, carried);
    double angle = ik_angle(bend->line, carried, bend->pole);
    if (fabs(angle) <= most) return;
    swivel(bend, root, (angle < 0 ? -most : most) - angle, bend);
}

// Limits before targets: whatever they cut, the bones below aim at the target again. Returns what
// is missed: metres times PLACE_COUNTS plus radians of the end.
static double hold_limb(struct body_work *w, const struct limb *l, const double target[3])
{
    double(*turns)[4] = w->pose->turns;
    uint32_t k = l->upper - human_limb_bone(l->which, 0);
    double cut = body_hold(w, l->upper);
    body_place_limb(w, l->which, k + 1);
    if (cut > 0) {
        double is[3], want[3], turn[4];
        unit_between(w->places[l->upper + 1], w->places[l->upper + 2], is);
        unit_between(w->places[l->upper + 1], target, want);
        rotation_between(is, want, turn);
        rotation_mul(turn, turns[l->upper + 1], turns[l->upper + 1]);
        rotation_unit(turns[l->upper + 1]);
    }
    (void)body_hold(w, l->upper + 1);
    cut = body_hold(w, l->upper + 2);
    body_place_limb(w, l->which, k + 1);
    double miss2 = 0;
    for (int r = 0; r < 3; r++) {
        double d = w->places[l->upper + 2][r] - target[r];
        miss2 += d * d;
    }
    return PLACE_COUNTS * sqrt(miss2) + cut;
}

static double try_bend(struct body_work *w, const struct limb *l, const struct ik_bend *bend,
                       const double root[3], const double end_turn[4])
{
    turn_bones(w, l, bend, root, end_turn);
    memcpy(w->pose->turns[l->upper + 2], end_turn, 4 * sizeof(double));
    return hold_limb(w, l, bend->end);
}

// The swivel nearest to none where the target is met within the limits; where there is none, the
// one that misses least.
static void find_swivel(struct body_work *w, const struct limb *l, const double root[3],
                        const double end_turn[4], struct ik_bend *bend)
{
    enum { STEPS = 16 };
    struct ik_bend best = *bend, tried;
    double least = try_bend(w, l, bend, root, end_turn);
    bool last = true; // the pose is that of `best`
    for (int k = 1; least > MET && k <= STEPS; k++)
        for (int sign = -1; sign <= 1; sign += 2) {
            double angle = 0.012 * k * k;
            swivel(bend, root, sign * angle, &tried);
            double miss = try_bend(w, l, &tried, root, end_turn);
            last = miss <= MET || miss + 0.02 * angle < least;
            if (!last) continue;
            best = tried;
            least = miss <= MET ? 0 : miss + 0.02 * angle;
            if (least == 0) break;
        }
    if (!last) (void)try_bend(w, l, &best, root, end_turn);
    *bend = best;
}

static void solve_limb(struct body_work *w, const struct limb *l, const struct body_goal *end,
                       const double pole[3])
{
    struct body_limb_memory *m = &w->memory->limbs[l->which];
    const double *root = w->places[l->upper];
    struct ik_bend bend;
    double before_line[3] = {l->arm ? l->side : 0, l->arm ? 0 : -1, 0};
    double before_pole[3] = {0, 0, l->arm ? -1 : 1};
    if (w->started) {
        memcpy(before_line, m->line, sizeof before_line);
        memcpy(before_pole, m->pole, sizeof before_pole);
    }
    ik_bend(root, end->place, l->lengths[0], l->lengths[1], l->least, pole, before_line,
            before_pole, &bend);
    slow_pole(w, l, root, &bend);
    find_swivel(w, l, root, end->turn, &bend);
    memcpy(m->line, bend.line, sizeof m->line);
    memcpy(m->pole, bend.pole, sizeof m->pole);
}

// ---- arms

// Turns the blade towards a hand that is out of reach until the arm reaches it, or all the way.
static void follow_hand(struct body_work *w, const struct limb *l, uint32_t blade,
                        const double hand[3])
{
    double(*turns)[4] = w->pose->turns, is[3], to[3], axis[3], far2 = 0, size2 = 0;
    double most = 0.9999 * (l->lengths[0] + l->lengths[1]);
    for (int r = 0; r < 3; r++) {
        double d = hand[r] - w->places[l->upper][r];
        far2 += d * d;
        d = w->places[l->upper][r] - w->places[blade][r];
        size2 += d * d;
    }
    if (far2 <= most * most) return;
    unit_between(w->places[blade], w->places[l->upper], is);
    unit_between(w->places[blade], hand, to);
    double size = sqrt(size2), far = 0;
    for (int r = 0; r < 3; r++)
        far += to[r] * (hand[r] - w->places[blade][r]);
    if (!(far > 1e-6)) return;
    double cosine = fmin((size2 + far * far - most * most) / (2 * size * far), 1);
    double want = stable_atan2(sqrt(1 - cosine * cosine), cosine);
    vector_cross(is, to, axis);
    double sine = sqrt(vector_dot(axis, axis)), has = stable_atan2(sine, vector_dot(is, to));
    if (!(sine > 1e-9) || has <= want) return;
    double turn[4];
    stable_sincos((has - want) / 2, &turn[0], &turn[3]);
    double s = turn[0] / sine;
    for (int r = 0; r < 3; r++)
        turn[r] = s * axis[r];
    rotation_mul(turn, turns[blade], turns[blade]);
    rotation_unit(turns[blade]);
    (void)body_hold(w, blade);
    body_place_limb(w, l->which, 1);
}

// The shoulder blade: where the guess has it, and after the hand where that is out of reach.
static void turn_shoulder(struct body_work *w, const struct limb *l, int side,
                          const struct body_goal *hand)
{
    const struct human *h = w->human;
    uint32_t blade = l->upper - 1;
    double(*turns)[4] = w->pose->turns, is[3], want[3], turn[4], size;
    const double *offset = h->bones[l->upper].offset;
    memcpy(turns[blade], turns[h->chest], sizeof turns[0]);
    body_place_limb(w, l->which, 0);
    if (h->bones[blade].node < 0) return;
    size = sqrt(vector_dot(offset, offset));
    if (!(size > 1e-6)) return;
    for (int r = 0; r < 3; r++) {
        is[r] = offset[r] / size;
        want[r] = offset[r] + w->guess.shoulders[side][r];
    }
    double wanted = sqrt(vector_dot(want, want));
    for (int r = 0; r < 3; r++)
        want[r] = wanted > 1e-6 ? want[r] / wanted : is[r];
    rotation_between(is, want, turn);
    rotation_mul(turns[h->chest], turn, turns[blade]);
    (void)body_hold(w, blade);
    body_place_limb(w, l->which, 1);
    follow_hand(w, l, blade, hand->place);
}

// Where the elbow goes, seen from the middle between shoulder and hand; a tracked elbow or upper
// arm says it, else the guess.
static void find_pole(struct body_work *w, const struct limb *l, enum human_part part,
                      const double guess[3], const struct body_goal *end, double pole[3])
{
    const double *root = w->places[l->upper];
    double length = l->lengths[0] + l->lengths[1], place[3];
    const double *was = w->started ? w->memory->parts[part].place : NULL;
    (void)was;
    for (int r = 0; r < 3; r++) {
        pole[r] = guess[r];
        place[r] = (root[r] + end->place[r]) / 2 + length * guess[r];
    }
    struct body_goal middle = body_ease(w, part, place, w->memory->parts[part].turn);
    if (middle.has_place) {
        for (int r = 0; r < 3; r++)
            pole[r] = (middle.place[r] - (root[r] + end->place[r]) / 2) / length;
    } else if (middle.has_turn) {
        double upper[3];
        rotation_apply(middle.turn, w->human->bones[l->upper + 1].offset, upper);
        for (int r = 0; r < 3; r++)
            pole[r] = (root[r] + upper[r] - (root[r] + end->place[r]) / 2) / length;
    }
}

void body_arms(struct body_work *w, const struct body_goal hands[2])
{
    for (int side = 0; side < 2; side++) {
        struct limb l = limb_of(w->human, side == 0 ? HUMAN_ARM_L : HUMAN_ARM_R);
        double pole[3];
        turn_shoulder(w, &l, side, &hands[side]);
        find_pole(w, &l, side == 0 ? HUMAN_ELBOW_L : HUMAN_ELBOW_R, w->guess.elbows[side],
                  &hands[side], pole);
        solve_limb(w, &l, &hands[side], pole);
    }
}

// ---- legs

void body_legs(struct body_work *w)
{
    for (int side = 0; side < 2; side++) {
        struct limb l = limb_of(w->human, side == 0 ? HUMAN_LEG_L : HUMAN_LEG_R);
        enum human_part part = side == 0 ? HUMAN_FOOT_L : HUMAN_FOOT_R;
        struct body_goal foot = {.has_place = true, .has_turn = true};
        double pole[3];
        memcpy(w->pose->turns[l.upper], w->pose->turns[0], sizeof(double[4]));
        body_place_limb(w, l.which, 0);
        body_foot(w, side, &foot);
        struct body_goal told = body_ease(w, part, foot.place, foot.turn);
        if (told.has_place) memcpy(foot.place, told.place, sizeof foot.place);
        if (told.has_turn) memcpy(foot.turn, told.turn, sizeof foot.turn);
        find_pole(w, &l, side == 0 ? HUMAN_KNEE_L : HUMAN_KNEE_R, w->guess.knees[side], &foot,
                  pole);
        solve_limb(w, &l, &foot, pole);
        memcpy(w->pose->turns[l.upper + 3], w->pose->turns[l.upper + 2], sizeof(double[4]));
        body_place_limb(w, l.which, 3);
    }
}

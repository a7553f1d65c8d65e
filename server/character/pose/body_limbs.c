#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "server/character/pose/body_own.h"
#include "server/character/pose/ik.h"
#include "server/character/pose/rotation.h"

static const double POLE_STEP = 0.28; // most that a pole turns about its line in a frame
static const double POLE_SPEED = 12;  // and in a second
static const double FOLD = 0.30;      // of the limb's length: elbows and knees fold no further
static const double CALM_STEP =
    0.15;                           // most that line and pole of a limb turn in a frame, pulled in
static const double LOST_M = 0.005; // a foot so far from where it was to stand has let go
static const double BLADE_STEP = 0.05; // and of a shoulder blade
static const double ALLOWED_M = 5e-4;  // a target missed by no more is let be
static const double PI = 3.14159265358979323846;
static const double PLACE_COUNTS = 5; // radians that a metre is worth
static const double COMFORT = 0.85;   // of their limits: joints that go further are turned early
static const double MET = 2e-4;       // a target missed by no more is met

struct limb {
    enum human_limb which;
    uint32_t upper; // bone; lower and end follow
    double side;    // 1 left, -1 right
    bool arm;
    bool exact;  // its end is told, not guessed
    bool driven; // turns alone are told
    bool swings; // a foot that nothing tells of, on its way
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

// What the whole limb turns along with: the shoulder blade or the pelvis.
static uint32_t parent_of(const struct body_work *w, const struct limb *l)
{
    return (uint32_t)w->human->bones[l->upper].parent;
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

// A pole goes round its line by limited steps: it never flips. What of `angle`, counted from
// `bend`, the step allows.
static double slow_pole(const struct body_work *w, const struct limb *l, const struct ik_bend *bend,
                        double angle)
{
    const struct body_limb_memory *m = &w->memory->limbs[l->which];
    double carried[3], most = fmin(POLE_STEP, POLE_SPEED * w->dt_s);
    if (!w->started) return angle;
    ik_carry(m->line, bend->line, m->pole, carried);
    double start = ik_angle(bend->line, carried, bend->pole), to = start + angle;
    if (to > PI) to -= 2 * PI;
    if (to < -PI) to += 2 * PI;
    return fmin(fmax(to, -most), most) - start;
}

// How far a bone is beyond `comfort` of its limits, radians.
static double strain(const struct body_work *w, uint32_t bone, double comfort)
{
    const struct human_bone *b = &w->human->bones[bone];
    double relative[4];
    if (comfort >= 1) return 0;
    struct joint_limit limit = joint_limit_scaled(b->limit, comfort);
    rotation_from(w->pose->turns[b->parent], w->pose->turns[bone], relative);
    return joint_limit_excess(&limit, relative);
}

struct miss {
    double place; // metres, of the target and of the place that the middle joint was meant to have
    double turn;  // radians, of the end, where that counts, and of joints beyond their comfort
};

static double distance(const double a[3], const double b[3])
{
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(vector_dot(d, d));
}

// Limits before targets: whatever they cut, the bones below aim at the target again.
static struct miss hold_limb(struct body_work *w, const struct limb *l, const struct ik_bend *bend,
                             double comfort)
{
    double(*turns)[4] = w->pose->turns;
    uint32_t k = l->upper - human_limb_bone(l->which, 0);
    double cut = body_hold(w, l->upper);
    body_place_limb(w, l->which, k + 1);
    if (cut > 0) {
        double is[3], want[3], turn[4];
        unit_between(w->places[l->upper + 1], w->places[l->upper + 2], is);
        unit_between(w->places[l->upper + 1], bend->end, want);
        rotation_between(is, want, turn);
        rotation_mul(turn, turns[l->upper + 1], turns[l->upper + 1]);
        rotation_unit(turns[l->upper + 1]);
    }
    (void)body_hold(w, l->upper + 1);
    cut = body_hold(w, l->upper + 2);
    if (!l->exact) cut = 0;
    cut += strain(w, l->upper, comfort) + strain(w, l->upper + 2, comfort);
    body_place_limb(w, l->which, k + 1);
    return (struct miss){distance(w->places[l->upper + 2], bend->end) +
                             distance(w->places[l->upper + 1], bend->middle) / 4,
                         cut};
}

static struct miss try_swivel(struct body_work *w, const struct limb *l, const struct ik_bend *bend,
                              double angle, const double end_turn[4], double comfort)
{
    const double *root = w->places[l->upper];
    struct ik_bend tried;
    swivel(bend, root, angle, &tried);
    turn_bones(w, l, &tried, root, end_turn);
    memcpy(w->pose->turns[l->upper + 2], end_turn, 4 * sizeof(double));
    return hold_limb(w, l, &tried, comfort);
}

// How far to turn the bent limb about its line: the least where the target is met within the
// limits; where that is nowhere, where it is missed least.
static double find_swivel(struct body_work *w, const struct limb *l, const struct ik_bend *bend,
                          double from, const double end_turn[4])
{
    enum { STEPS = 16 };
    double best = from, least = HUGE_VAL;
    for (int k = 0; k <= STEPS; k++)
        for (int sign = -1; sign <= (k ? 1 : -1); sign += 2) {
            double angle = 0.012 * k * k;
            struct miss m = try_swivel(w, l, bend, from + sign * angle, end_turn, COMFORT);
            double miss = PLACE_COUNTS * m.place + m.turn;
            if (miss <= MET) return from + sign * angle;
            if (miss + 0.02 * angle >= least) continue;
            best = from + sign * angle;
            least = miss + 0.02 * angle;
        }
    return best;
}

// Bends towards `place` with the pole as it was last, or by limited steps nearer to `pole`; with
// `search` on the way to where the limits allow it.
static struct miss bend_towards(struct body_work *w, const struct limb *l, const double place[3],
                                const double pole[3], const double end_turn[4], bool search,
                                struct ik_bend *shown)
{
    const struct body_limb_memory *m = &w->memory->limbs[l->which];
    const double *root = w->places[l->upper];
    double line[3] = {l->arm ? l->side : 0, l->arm ? 0 : -1, 0};
    double before[3] = {0, 0, l->arm ? -1 : 1};
    struct ik_bend bend;
    if (w->started) {
        memcpy(line, m->line, sizeof line);
        memcpy(before, m->pole, sizeof before);
    }
    ik_bend(root, place, l->lengths[0], l->lengths[1], l->least, pole, line, before, &bend);
    double angle = slow_pole(w, l, &bend, 0);
    if (search) angle = slow_pole(w, l, &bend, find_swivel(w, l, &bend, angle, end_turn));
    swivel(&bend, root, angle, shown);
    return try_swivel(w, l, &bend, angle, end_turn, 1);
}

// From where an end is at ease, in front of the chest or under the pelvis, `share` of the way to
// `place`: as seen from the root, the direction turns and the distance grows.
static void pull(const struct body_work *w, const struct limb *l, const double place[3],
                 double share, double out[3])
{
    static const double none[4] = {0, 0, 0, 1}, arm[3] = {0.15, -0.35, 0.55},
                        leg[3] = {0.05, -0.70, 0.40};
    const double *parent = w->pose->turns[l->arm ? w->human->chest : 0];
    const double *root = w->places[l->upper], *at = l->arm ? arm : leg;
    double in[3] = {l->side * at[0], at[1], at[2]}, ease[3], to[3], turn[4];
    double near = sqrt(vector_dot(in, in)), length = l->lengths[0] + l->lengths[1];
    rotation_apply(parent, in, ease);
    double far = distance(root, place);
    unit_between(root, place, to);
    for (int r = 0; r < 3; r++)
        ease[r] /= near;
    rotation_between(ease, to, turn);
    rotation_slerp(none, turn, share, turn);
    rotation_unit(turn);
    rotation_apply(turn, ease, out);
    for (int r = 0; r < 3; r++)
        out[r] = root[r] + out[r] * (near * length + share * (far - near * length));
}

// A limb that limits pull in would jump where the way in changes: it goes from where it was,
// carried along with its parent, by steps that the limits allow, until it has caught up. Whether it
// has not.
static bool calm(struct body_work *w, const struct limb *l, const double end_turn[4],
                 struct ik_bend *shown)
{
    static const double none[4] = {0, 0, 0, 1};
    const struct body_limb_memory *m = &w->memory->limbs[l->which];
    const double *root = w->places[l->upper], *parent = w->pose->turns[parent_of(w, l)];
    double back[4] = {-m->parent[0], -m->parent[1], -m->parent[2], m->parent[3]}, along[4];
    double line[3], pole[3], turn[4], carried[3], goal_far = distance(root, shown->end);
    if (!w->started) return false;
    rotation_mul(parent, back, along);
    rotation_apply(along, m->line, line);
    rotation_apply(along, m->pole, pole);
    double cosine = fmin(fmax(vector_dot(line, shown->line), -1), 1);
    double line_angle = stable_atan2(sqrt(1 - cosine * cosine), cosine);
    ik_carry(line, shown->line, pole, carried);
    double pole_angle = ik_angle(shown->line, carried, shown->pole);
    if (line_angle <= CALM_STEP && fabs(pole_angle) <= CALM_STEP) return false;
    double step = fmin(CALM_STEP / fmax(line_angle, CALM_STEP),
                       CALM_STEP / fmax(fabs(pole_angle), CALM_STEP));
    for (int part = 4; part >= 0; part--) {
        double share = step * part / 4, to[3], side[3], swung[3], place[3];
        double far = m->far + share * (goal_far - m->far);
        rotation_between(line, shown->line, turn);
        rotation_slerp(none, turn, share, turn);
        rotation_unit(turn);
        rotation_apply(turn, line, to);
        ik_carry(line, to, pole, side);
        ik_turn(to, share * pole_angle, side, swung);
        for (int r = 0; r < 3; r++)
            place[r] = root[r] + far * to[r];
        struct ik_bend tried;
        ik_bend(root, place, l->lengths[0], l->lengths[1], l->least, swung, to, swung, &tried);
        if (try_swivel(w, l, &tried, 0, end_turn, 1).place > ALLOWED_M && part > 0) continue;
        *shown = tried;
        return true;
    }
    return true;
}

static void solve_limb(struct body_work *w, const struct limb *l, const struct body_goal *end,
                       const double pole[3])
{
    struct body_limb_memory *m = &w->memory->limbs[l->which];
    struct ik_bend shown;
    struct miss miss = bend_towards(w, l, end->place, pole, end->turn, !l->driven, &shown);
    bool pulled_in = miss.place > ALLOWED_M;
    if (pulled_in) {
        // Limits say no: as near as they let it on the way from where it is at ease.
        enum { COARSE = 20, FINE = 5 };
        double near = 0, far = 1, pulled[3], kept[3];
        memcpy(kept, shown.pole, sizeof kept);
        for (int step = 1; step <= COARSE && near == 0; step++) {
            double share = 1 - (double)step / COARSE;
            pull(w, l, end->place, share, pulled);
            if (bend_towards(w, l, pulled, kept, end->turn, false, &shown).place > ALLOWED_M)
                far = share;
            else
                near = share;
        }
        for (int step = 0; step <= FINE; step++) {
            double share = step < FINE ? (near + far) / 2 : near;
            pull(w, l, end->place, share, pulled);
            if (bend_towards(w, l, pulled, kept, end->turn, false, &shown).place > ALLOWED_M)
                far = share;
            else
                near = share;
        }
    }
    m->pulled = (pulled_in || m->pulled || l->swings) && calm(w, l, end->turn, &shown);
    m->pulled = m->pulled || pulled_in;
    memcpy(m->line, shown.line, sizeof m->line);
    memcpy(m->pole, shown.pole, sizeof m->pole);
    memcpy(m->parent, w->pose->turns[parent_of(w, l)], sizeof m->parent);
    m->far = distance(w->places[l->upper], shown.end);
    for (uint32_t k = 0; k < 2; k++)
        rotation_from(w->pose->turns[w->human->bones[l->upper + k].parent],
                      w->pose->turns[l->upper + k], m->turns[k]);
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

// While its arm catches up, a blade turns by limited steps too.
static void slow_blade(struct body_work *w, const struct limb *l, uint32_t blade)
{
    struct body_limb_memory *m = &w->memory->limbs[l->which];
    double(*turns)[4] = w->pose->turns, relative[4];
    const double *chest = turns[w->human->chest];
    rotation_from(chest, turns[blade], relative);
    if (w->started && m->pulled) {
        double cosine = fmin(fabs(rotation_dot(m->blade, relative)), 1);
        double angle = 2 * stable_atan2(sqrt(1 - cosine * cosine), cosine);
        if (angle > BLADE_STEP) {
            rotation_slerp(m->blade, relative, BLADE_STEP / angle, relative);
            rotation_unit(relative);
            rotation_mul(chest, relative, turns[blade]);
            (void)body_hold(w, blade);
            body_place_limb(w, l->which, 1);
        }
    }
    rotation_from(chest, turns[blade], m->blade);
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
    slow_blade(w, l, blade);
}

// Where the end comes to stand when the bones turn as they are told: an upper bone by its tracker,
// else as it was; a lower bone like its end, which a tracker tells, else as it was.
static void drive(struct body_work *w, const struct limb *l, const struct body_goal *middle,
                  struct body_goal *end)
{
    const struct human_bone *bones = &w->human->bones[l->upper];
    double upper[3], lower[3], turn[4];
    rotation_apply(middle->turn, bones[1].offset, upper);
    memcpy(turn, end->turn, sizeof turn);
    if (!end->has_turn) rotation_mul(middle->turn, w->memory->limbs[l->which].turns[1], turn);
    rotation_apply(turn, bones[2].offset, lower);
    for (int r = 0; r < 3; r++)
        end->place[r] = w->places[l->upper][r] + upper[r] + lower[r];
}

// Where the middle joint goes, seen from the middle between root and end, as a share of the limb's
// length: a tracker there says it, by its place or by the upper bone's turn, else the guess. An end
// without a place of its own goes where the tracked turns take it.
static void find_pole(struct body_work *w, struct limb *l, enum human_part part,
                      const double guess[3], struct body_goal *end, double pole[3])
{
    const struct human_bone *bones = &w->human->bones[l->upper];
    const double *root = w->places[l->upper];
    double length = l->lengths[0] + l->lengths[1], place[3], turn[4];
    memcpy(turn, w->pose->turns[bones[0].parent], sizeof turn);
    if (w->started) rotation_mul(turn, w->memory->limbs[l->which].turns[0], turn);
    for (int r = 0; r < 3; r++)
        place[r] = (root[r] + end->place[r]) / 2 + length * guess[r];
    struct body_goal middle = body_ease(w, part, place, turn);
    l->driven = !end->has_place && (middle.has_turn || (end->has_turn && l->arm));
    if (l->driven) drive(w, l, &middle, end);
    double upper[3];
    rotation_apply(middle.turn, bones[1].offset, upper);
    for (int r = 0; r < 3; r++) {
        double half = (root[r] + end->place[r]) / 2;
        pole[r] = guess[r];
        if (middle.has_place)
            pole[r] = (middle.place[r] - half) / length;
        else if (middle.has_turn)
            pole[r] = (root[r] + upper[r] - half) / length;
    }
}

void body_arms(struct body_work *w, const struct body_goal hands[2])
{
    for (int side = 0; side < 2; side++) {
        struct limb l = limb_of(w->human, side == 0 ? HUMAN_ARM_L : HUMAN_ARM_R);
        struct body_goal hand = hands[side];
        double pole[3];
        l.exact = true;
        turn_shoulder(w, &l, side, &hand);
        find_pole(w, &l, side == 0 ? HUMAN_ELBOW_L : HUMAN_ELBOW_R, w->guess.elbows[side], &hand,
                  pole);
        solve_limb(w, &l, &hand, pole);
    }
}

// ---- legs

void body_legs(struct body_work *w)
{
    for (int side = 0; side < 2; side++) {
        struct limb l = limb_of(w->human, side == 0 ? HUMAN_LEG_L : HUMAN_LEG_R);
        enum human_part part = side == 0 ? HUMAN_FOOT_L : HUMAN_FOOT_R;
        struct body_goal foot;
        double pole[3];
        memcpy(w->pose->turns[l.upper], w->pose->turns[0], sizeof(double[4]));
        body_place_limb(w, l.which, 0);
        body_foot(w, side, &foot);
        struct body_goal told = body_ease(w, part, foot.place, foot.turn);
        l.exact = told.has_place;
        l.swings = !told.has_place && !w->memory->feet[side].planted;
        if (!told.has_place) memcpy(told.place, foot.place, sizeof foot.place);
        if (!told.has_turn) memcpy(told.turn, foot.turn, sizeof foot.turn);
        find_pole(w, &l, side == 0 ? HUMAN_KNEE_L : HUMAN_KNEE_R, w->guess.knees[side], &told,
                  pole);
        solve_limb(w, &l, &told, pole);
        if (!told.has_place && distance(w->places[l.upper + 2], told.place) > LOST_M) {
            // It steps on from where it got to.
            struct body_foot_memory *m = &w->memory->feet[side];
            memcpy(m->place, w->places[l.upper + 2], sizeof m->place);
            m->planted = 0;
        }
        memcpy(w->pose->turns[l.upper + 3], w->pose->turns[l.upper + 2], sizeof(double[4]));
        body_place_limb(w, l.which, 3);
    }
}

#include "server/character/input/seating.h"

#include <math.h>
#include <string.h>

#include "server/character/pose/rotation.h"

static const double USUAL_HEIGHT = 1.70;
static const double EYES_UP = 0.075, EYES_AHEAD = 0.085; // from the head's joint, of that height
static const double PALM = 0.08;                         // from the wrist
static const double TOO_FAR =
    0.22; // of the eye height: a tracker this far from a part is not on it
static const double SPAN_LEAST = 0.6, SPAN_MOST = 1.4; // between palms, of the eye height
static const double EASE_COSINE = 0.199;               // of hanging arms, against the horizon

static double part_of_height(const struct human *h, double usual)
{
    return usual * h->height / USUAL_HEIGHT;
}

static bool is_hand(int part)
{
    return part == HUMAN_HAND_L || part == HUMAN_HAND_R;
}

bool seating_is_arm(enum human_part part)
{
    return is_hand((int)part) || part == HUMAN_ELBOW_L || part == HUMAN_ELBOW_R;
}

void seating_eyes(const struct human *h, double out[3])
{
    out[0] = 0;
    out[1] = part_of_height(h, EYES_UP);
    out[2] = part_of_height(h, EYES_AHEAD);
}

static void rest_places(const struct human *h, double places[HUMAN_BONES][3])
{
    struct human_pose rest;
    human_rest(h, &rest);
    human_places(h, &rest, places);
}

void seating_eyes_at_rest(const struct human *h, double out[3])
{
    double places[HUMAN_BONES][3], up[3];
    rest_places(h, places);
    seating_eyes(h, up);
    for (int r = 0; r < 3; r++)
        out[r] = places[h->trunk_count - 1][r] + up[r];
}

double seating_shoulder_height(const struct human *h)
{
    double places[HUMAN_BONES][3];
    rest_places(h, places);
    return places[human_limb_bone(HUMAN_ARM_L, 1)][1];
}

// The bone's turn from the device's rotation, where the device lies along its part: it looks along
// its own -Z, the bone at rest along +Z.
static const double along[4] = {0, -1, 0, 0};
// A grip's axes in the T-pose: its -Y along the fingers, X out of the left palm, into the right.
static const double grips[2][4] = {{0.70710678118654752, -0.70710678118654752, 0, 0},
                                   {0.70710678118654752, 0.70710678118654752, 0, 0}};

void seating_usual(const struct human *h, enum human_part part, struct calibration_seat *out)
{
    *out = (struct calibration_seat){.found = true};
    memcpy(out->rotation, along, sizeof along);
    if (part == HUMAN_HEAD) {
        double eyes[3];
        seating_eyes(h, eyes);
        out->position[1] = -eyes[1];
        out->position[2] = eyes[2];
    }
    if (is_hand((int)part)) {
        memcpy(out->rotation, grips[part == HUMAN_HAND_R], sizeof out->rotation);
        out->position[1] = part_of_height(h, PALM);
    }
}

// ---- the stance ---------------------------------------------------------------------------

// Turns of a body that stands at ease: the arms hang, nearly.
static void take_stance(const struct human *h, enum seating_stance stance, struct human_pose *out)
{
    human_rest(h, out);
    if (stance == SEATING_T_POSE) return;
    for (int side = 0; side < 2; side++) {
        double half = sqrt((1 - EASE_COSINE) / 2);
        double q[4] = {0, 0, side ? half : -half, sqrt((1 + EASE_COSINE) / 2)};
        enum human_limb limb = side ? HUMAN_ARM_R : HUMAN_ARM_L;
        for (uint32_t k = 1; k < HUMAN_LIMB_BONES; k++)
            memcpy(out->turns[human_limb_bone(limb, k)], q, sizeof q);
    }
}

struct stance {
    double places[HUMAN_PART_COUNT][3], turns[HUMAN_PART_COUNT][4];
};

static void stance_of(const struct human *h, enum seating_stance kind, struct stance *out)
{
    struct human_pose pose;
    double places[HUMAN_BONES][3];
    take_stance(h, kind, &pose);
    human_places(h, &pose, places);
    for (int i = 0; i < HUMAN_PART_COUNT; i++) {
        enum human_part part = (enum human_part)i;
        memcpy(out->places[i], places[human_part_joint(h, part)], sizeof out->places[i]);
        memcpy(out->turns[i], pose.turns[human_part_bone(h, part)], sizeof out->turns[i]);
    }
}

// ---- which tracker is where ---------------------------------------------------------------

enum { SETS = 1 << (HUMAN_PART_COUNT - 1) }; // of parts other than the head

// Squared distance, in eye heights, from where the part would be on a wearer of that height.
static double cost(const struct seating_view *v, const struct stance *s, int part,
                   const struct seating_device *d)
{
    double sum = 0;
    for (int r = 0; r < 3; r++) {
        double gap = (d->place[r] - s->places[part][r] / v->scale) / v->eye_height;
        // Chests and calves are thick: how far ahead a strap sits says little.
        sum += gap * gap * (r == 2 ? 0.25 : 1);
    }
    return sum;
}

// Trackers one after another, each on a free part or on none: the least sum over all choices.
static double assign(const struct seating_view *v, const struct stance *s, uint32_t held,
                     uint8_t part_of[INPUT_TRACKERS])
{
    double best[SETS], next[SETS];
    int8_t took[INPUT_TRACKERS][SETS];
    for (uint32_t set = 0; set < SETS; set++)
        best[set] = set ? HUGE_VAL : 0;
    for (int t = 0; t < INPUT_TRACKERS; t++) {
        const struct seating_device *d = &v->devices[INPUT_DEVICE_tracker_1 + t];
        for (uint32_t set = 0; set < SETS; set++) {
            next[set] = best[set] + (d->placed ? TOO_FAR * TOO_FAR : 0);
            took[t][set] = -1;
        }
        for (int part = 1; d->placed && part < HUMAN_PART_COUNT; part++) {
            uint32_t bit = 1U << (part - 1);
            double own = cost(v, s, part, d);
            if (held & bit || (d->held && !is_hand(part))) continue;
            for (uint32_t set = 0; set < SETS; set++)
                if (set & bit && best[set ^ bit] + own < next[set]) {
                    next[set] = best[set ^ bit] + own;
                    took[t][set] = (int8_t)part;
                }
        }
        memcpy(best, next, sizeof best);
    }
    uint32_t set = 0;
    for (uint32_t i = 1; i < SETS; i++)
        if (best[i] < best[set]) set = i;
    double sum = best[set];
    for (int t = INPUT_TRACKERS - 1; t >= 0; t--) {
        part_of[t] = took[t][set] < 0 ? 0 : (uint8_t)(took[t][set] + 1);
        if (took[t][set] > 0) set ^= 1U << (took[t][set] - 1);
    }
    return sum;
}

// Hands that are known decide the stance by themselves.
static double known_cost(const struct seating_view *v, const struct stance *s)
{
    double sum = 0;
    for (int part = 1; part < HUMAN_PART_COUNT; part++)
        if (v->devices[part].placed) sum += cost(v, s, part, &v->devices[part]);
    return sum;
}

enum seating_stance seating_find(const struct seating_view *v, uint8_t part_of[INPUT_TRACKERS])
{
    uint8_t found[2][INPUT_TRACKERS];
    double costs[2];
    uint32_t held = 0;
    for (uint32_t part = 1; part < HUMAN_PART_COUNT; part++)
        if (v->devices[part].placed || v->devices[part].turned) held |= 1U << (part - 1);
    for (int k = 0; k < 2; k++) {
        struct stance s;
        stance_of(v->human, (enum seating_stance)k, &s);
        costs[k] = assign(v, &s, held, found[k]) + known_cost(v, &s);
    }
    enum seating_stance stance = costs[0] <= costs[1] ? SEATING_T_POSE : SEATING_AT_EASE;
    memcpy(part_of, found[stance], INPUT_TRACKERS);
    return stance;
}

// ---- how a device sits --------------------------------------------------------------------

// From the middle of the palm to the wrist, in the part's own axes at rest.
static void to_wrist(const struct human *h, int part, double out[3])
{
    out[0] = part_of_height(h, part == HUMAN_HAND_L ? -PALM : PALM);
    out[1] = out[2] = 0;
}

static void seat(const struct seating_view *v, const struct stance *s, int part,
                 const struct seating_device *d, struct calibration_seat *out)
{
    double gap[3];
    seating_usual(v->human, (enum human_part)part, out);
    if (d->held) return;
    if (d->turned) rotation_from(d->turn, s->turns[part], out->rotation);
    memset(out->position, 0, sizeof out->position);
    if (!d->placed || !d->turned) return;
    bool arm = seating_is_arm((enum human_part)part);
    for (int r = 0; r < 3; r++)
        gap[r] = s->places[part][r] - d->fitted[arm][r];
    if (arm && v->world) { // it stays where the wearer's is, and a hand is as long as a hand
        memset(gap, 0, sizeof gap);
        if (is_hand(part)) to_wrist(v->human, part, gap);
        rotation_apply(s->turns[part], gap, gap);
    }
    rotation_apply_inverse(d->turn, gap, out->position);
}

void seating_measure(const struct seating_view *v, enum seating_stance stance,
                     struct calibration *c)
{
    struct stance s;
    stance_of(v->human, stance, &s);
    for (int part = HUMAN_PELVIS; part < HUMAN_PART_COUNT; part++) {
        const struct seating_device *d = &v->devices[part];
        if (d->turned && c->state == CALIBRATION_MEASURED) seat(v, &s, part, d, &c->seats[part]);
    }
    for (int t = 0; t < INPUT_TRACKERS; t++)
        if (c->part_of[t])
            seat(v, &s, c->part_of[t] - 1, &v->devices[INPUT_DEVICE_tracker_1 + t],
                 &c->seats[c->part_of[t] - 1]);
}

// The device of a hand, named or found; NULL: none.
static const struct seating_device *hand_of(const struct seating_view *v,
                                            const uint8_t part_of[INPUT_TRACKERS], int part)
{
    if (v->devices[part].placed && v->devices[part].turned) return &v->devices[part];
    for (int t = 0; t < INPUT_TRACKERS; t++)
        if (part_of[t] == part + 1) return &v->devices[INPUT_DEVICE_tracker_1 + t];
    return NULL;
}

double seating_span(const struct seating_view *v, const uint8_t part_of[INPUT_TRACKERS])
{
    const struct seating_device *left = hand_of(v, part_of, HUMAN_HAND_L);
    const struct seating_device *right = hand_of(v, part_of, HUMAN_HAND_R);
    double square = 0;
    if (!left || !right || !left->placed || !right->placed) return 0;
    for (int r = 0; r < 3; r++)
        square += (left->place[r] - right->place[r]) * (left->place[r] - right->place[r]);
    double span = sqrt(square) / v->eye_height;
    return span > SPAN_LEAST && span < SPAN_MOST ? sqrt(square) : 0;
}

double seating_span_of(const struct human *h)
{
    double places[HUMAN_BONES][3];
    rest_places(h, places);
    return places[human_limb_bone(HUMAN_ARM_L, 3)][0] - places[human_limb_bone(HUMAN_ARM_R, 3)][0] +
           2 * part_of_height(h, PALM);
}

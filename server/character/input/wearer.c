#include "server/character/input/wearer.h"

#include <math.h>
#include <string.h>

#include "server/character/input/seating.h"
#include "server/character/pose/rotation.h"

static const double STANDS_FROM = 1.35, STANDS_TO = 2.2; // eyes of somebody who stands, metres
static const double USUAL_EYES = 1.58; // of a wearer who was first seen sitting or bent
static const double FLOOR_BELOW = 0.5; // eyes lower than this: the space has no floor at 0
static const double RECENTRED_M = 0.5, RECENTRED_COSINE = 0.70710678;
static const double STEADY_M_S = 0.15, STEADY_S = 0.5; // the head of somebody who stands
static const double SETTLE_S = 1;                      // unknown trackers are looked at for so long
static const double ARM_RATIO_MAX = 1.6;

static const double level[4] = {0, 1, 0, 0}; // half a turn about Y: OpenXR's forward is -Z

// ---- the tracking space -------------------------------------------------------------------

// Body frame from the tracking space.
static void space_turn(const struct calibration *c, double out[4])
{
    double cosine = sqrt(fmax(0, (1 + c->forward[1]) / 2));
    out[0] = out[2] = 0;
    if (cosine < 1e-6) {
        out[1] = 1;
        out[3] = 0;
        return;
    }
    out[1] = -c->forward[0] / (2 * cosine);
    out[3] = cosine;
}

static void space_place(const struct calibration *c, const float from[3], double out[3])
{
    double x = (double)from[0] - c->origin[0], z = (double)from[2] - c->origin[1];
    out[0] = x * c->forward[1] - z * c->forward[0];
    out[1] = (double)from[1] - c->floor;
    out[2] = x * c->forward[0] + z * c->forward[1];
}

static void device_rotation(const struct calibration *c, const struct input_device *d,
                            double out[4])
{
    double q[4] = {(double)d->rotation[0], (double)d->rotation[1], (double)d->rotation[2],
                   (double)d->rotation[3]};
    double space[4];
    rotation_unit(q);
    space_turn(c, space);
    rotation_mul(space, q, out);
}

bool wearer_turn(const struct wearer *w, uint8_t device, double out[4])
{
    const struct input_device *d = sensor_device(&w->sensor, device);
    if (!d || !(d->flags & INPUT_ROTATION_VALID) || !w->calibration.oriented) return false;
    double q[4];
    device_rotation(&w->calibration, d, q);
    rotation_mul(q, (const double[4]){-level[0], -level[1], -level[2], level[3]}, out);
    return true;
}

// Where a device looks on the ground, in the tracking space; false: straight up or down.
static bool looks_along(const struct input_device *d, double out[2])
{
    double q[4] = {(double)d->rotation[0], (double)d->rotation[1], (double)d->rotation[2],
                   (double)d->rotation[3]};
    double ahead[3];
    rotation_unit(q);
    rotation_apply(q, (const double[3]){0, 0, -1}, ahead);
    double size = sqrt(ahead[0] * ahead[0] + ahead[2] * ahead[2]);
    if (size < 0.2) return false;
    out[0] = ahead[0] / size;
    out[1] = ahead[2] / size;
    return true;
}

static double scale_of(const struct calibration *c, const struct human *h)
{
    double eyes[3];
    seating_eyes_at_rest(h, eyes);
    return eyes[1] / c->eye_height;
}

// The character's place is below the eyes, so that at rest its own eyes are there.
static void face(struct calibration *c, const struct human *h, const struct input_device *head)
{
    double eyes[3], scale = scale_of(c, h);
    if (!looks_along(head, c->forward)) return;
    seating_eyes_at_rest(h, eyes);
    c->origin[0] = (double)head->position[0] - c->forward[0] * eyes[2] / scale;
    c->origin[1] = (double)head->position[2] - c->forward[1] * eyes[2] / scale;
}

// ---- calibration --------------------------------------------------------------------------

static const struct input_device *head_of(const struct wearer *w)
{
    const struct input_device *d = sensor_device(&w->sensor, INPUT_DEVICE_head);
    const uint8_t both = INPUT_POSITION_VALID | INPUT_ROTATION_VALID;
    return d && (d->flags & both) == both ? d : NULL;
}

// The first sample: a space that a runtime has centred on its wearer is taken as it is.
static void begin(struct wearer *w, const struct human *h)
{
    struct calibration *c = &w->calibration;
    const struct input_device *head = head_of(w);
    if (!head) {
        if (c->oriented) return;
        c->forward[0] = 0;
        c->forward[1] = -1;
        return; // until there is a head
    }
    double y = (double)head->position[1], forward[2] = {0, -1};
    if (c->state == CALIBRATION_NONE) {
        c->floor = y < FLOOR_BELOW ? y - USUAL_EYES : 0;
        y -= c->floor;
        c->eye_height = y >= STANDS_FROM && y <= STANDS_TO ? y : USUAL_EYES;
        c->state = CALIBRATION_GUESSED;
    }
    c->forward[0] = c->origin[0] = c->origin[1] = 0;
    c->forward[1] = -1;
    c->oriented = true;
    bool known = looks_along(head, forward);
    double away = sqrt((double)head->position[0] * (double)head->position[0] +
                       (double)head->position[2] * (double)head->position[2]);
    if (away > RECENTRED_M || (known && -forward[1] < RECENTRED_COSINE)) face(c, h, head);
}

// Somebody who stands up is taller than was thought.
static void grow(struct wearer *w, double dt_s)
{
    struct calibration *c = &w->calibration;
    const struct input_device *head = head_of(w);
    if (c->state != CALIBRATION_GUESSED || !head || dt_s <= 0) return;
    double y = (double)head->position[1] - c->floor;
    if (y > c->eye_height && y <= STANDS_TO && fabs(y - w->steady_height) <= STEADY_M_S * STEADY_S)
        w->steady_s += dt_s;
    else
        w->steady_s = 0;
    w->steady_height += (y - w->steady_height) * fmin(1, dt_s / STEADY_S);
    if (w->steady_s >= STEADY_S && w->steady_height > c->eye_height)
        c->eye_height = w->steady_height;
}

// ---- proportions --------------------------------------------------------------------------

struct fit {
    const struct calibration *calibration;
    const struct human *human;
    double scale, arms, world; // of all, of the arms besides, and of the world
    double shoulders[3];       // what arms are scaled about; metres of the character
};

static void seat_of(const struct fit *f, enum human_part part, struct calibration_seat *out)
{
    if (f->calibration->seats[part].found)
        *out = f->calibration->seats[part];
    else
        seating_usual(f->human, part, out);
}

static struct fit fit_of(const struct wearer *w, const struct human *h, double place_scale)
{
    const struct calibration *c = &w->calibration;
    struct fit f = {.calibration = c, .human = h, .scale = scale_of(c, h), .arms = 1};
    f.world = place_scale > 0 ? 1 / place_scale : 1;
    if (c->span > 0)
        f.arms =
            fmin(fmax(seating_span_of(h) / (c->span * f.scale), 1 / ARM_RATIO_MAX), ARM_RATIO_MAX);
    const struct input_device *head = sensor_device(&w->sensor, INPUT_DEVICE_head);
    struct calibration_seat seat;
    double turn[4], joint[3];
    if (!head) return f;
    seat_of(&f, HUMAN_HEAD, &seat);
    space_place(c, head->position, f.shoulders);
    device_rotation(c, head, turn);
    rotation_apply(turn, seat.position, joint);
    for (int i = 0; i < 3; i++)
        f.shoulders[i] = f.shoulders[i] * f.scale + joint[i];
    f.shoulders[1] -= h->head_height - seating_shoulder_height(h);
    return f;
}

static void place_of(const struct fit *f, enum human_part part, const float from[3], double out[3])
{
    space_place(f->calibration, from, out);
    bool world = f->calibration->world && seating_is_arm(part);
    for (int i = 0; i < 3; i++)
        out[i] *= world ? f->world : f->scale;
    for (int i = 0; i < 3 && !world && seating_is_arm(part); i++)
        out[i] = f->shoulders[i] + (out[i] - f->shoulders[i]) * f->arms;
}

// ---- measuring ----------------------------------------------------------------------------

// The devices of this instant, for what finds where they sit.
static void look(const struct wearer *w, const struct human *h, struct seating_view *out)
{
    const struct calibration *c = &w->calibration;
    const struct fit f = fit_of(w, h, 1);
    *out = (struct seating_view){
        .human = h, .scale = f.scale, .eye_height = c->eye_height, .world = c->world};
    for (uint8_t id = 0; id < INPUT_DEVICE_COUNT; id++) {
        const struct input_device *d = sensor_device(&w->sensor, id);
        struct seating_device *to = &out->devices[id];
        if (!d || !(d->flags & (INPUT_POSITION_VALID | INPUT_ROTATION_VALID))) continue;
        to->placed = d->flags & INPUT_POSITION_VALID;
        to->turned = d->flags & INPUT_ROTATION_VALID;
        space_place(c, d->position, to->place);
        device_rotation(c, d, to->turn);
        to->held = d->flags & INPUT_HELD;
        place_of(&f, HUMAN_PELVIS, d->position, to->fitted[0]);
        place_of(&f, HUMAN_HAND_L, d->position, to->fitted[1]);
    }
}

// What was asked for: the wearer stands in a T-pose or at ease, and faces where the character is
// to face.
static bool measure(struct wearer *w, const struct human *h)
{
    struct calibration *c = &w->calibration;
    const struct input_device *head = head_of(w);
    struct seating_view view;
    if (!head) return false;
    double y = (double)head->position[1];
    if (y < FLOOR_BELOW) c->floor = y - USUAL_EYES;
    c->eye_height = fmin(fmax(y - c->floor, 0.3), 3);
    c->state = CALIBRATION_MEASURED;
    c->oriented = true;
    face(c, h, head);
    memset(c->part_of, 0, sizeof c->part_of);
    memset(c->seats, 0, sizeof c->seats);
    c->span = 0;
    look(w, h, &view);
    enum seating_stance stance = seating_find(&view, c->part_of);
    c->span = stance == SEATING_T_POSE ? seating_span(&view, c->part_of) : 0;
    look(w, h, &view); // now that the arms are known
    seating_measure(&view, stance, c);
    w->changed = true;
    return true;
}

static uint32_t trackers_of(const struct wearer *w)
{
    return w->sensor.given & ~((1U << INPUT_DEVICE_tracker_1) - 1);
}

// Trackers that nobody has calibrated: their places are guessed after a moment.
static void settle(struct wearer *w, const struct human *h, double dt_s)
{
    struct seating_view view;
    struct calibration *c = &w->calibration;
    uint32_t trackers = trackers_of(w);
    if (c->state != CALIBRATION_GUESSED || trackers == w->settled || !head_of(w)) {
        w->trackers_s = 0;
        return;
    }
    w->trackers_s += dt_s;
    if (w->trackers_s < SETTLE_S) return;
    w->trackers_s = 0;
    w->settled = trackers;
    look(w, h, &view);
    seating_measure(&view, seating_find(&view, c->part_of), c);
}

static void answer_requests(struct wearer *w, const struct human *h)
{
    uint16_t asked = w->sensor.requests;
    struct calibration *c = &w->calibration;
    if (asked & INPUT_FORGET) {
        *c = (struct calibration){.world = c->world};
        w->steady_s = w->trackers_s = 0;
        w->settled = 0;
        w->changed = true;
    }
    if (asked & (INPUT_HANDS_WORLD | INPUT_HANDS_SCALED)) {
        bool world = asked & INPUT_HANDS_WORLD;
        w->changed = w->changed || world != c->world;
        c->world = world;
    }
    w->sensor.requests = 0;
    // Before the head has been seen it cannot be measured: it is asked again.
    if (asked & INPUT_CALIBRATE && !measure(w, h)) w->sensor.requests = INPUT_CALIBRATE;
}

void wearer_calibrate(struct wearer *w, const struct calibration *saved)
{
    struct calibration before = w->calibration;
    w->calibration = *saved;
    w->calibration.oriented = before.oriented;
    memcpy(w->calibration.origin, before.origin, sizeof before.origin);
    memcpy(w->calibration.forward, before.forward, sizeof before.forward);
}

// ---- the frame ----------------------------------------------------------------------------

static void put(const struct fit *f, enum human_part part, const struct input_device *d,
                struct body_target *out)
{
    struct calibration_seat seat;
    double turn[4], joint[3];
    seat_of(f, part, &seat);
    *out = (struct body_target){.rotation = {0, 0, 0, 1}};
    device_rotation(f->calibration, d, turn);
    rotation_mul(turn, seat.rotation, out->rotation);
    place_of(f, part, d->position, out->position);
    rotation_apply(turn, seat.position, joint);
    for (int i = 0; i < 3 && d->flags & INPUT_ROTATION_VALID; i++)
        out->position[i] += joint[i];
    out->flags = (d->flags & INPUT_POSITION_VALID ? (uint32_t)BODY_POSITION : 0U) |
                 (d->flags & INPUT_ROTATION_VALID ? (uint32_t)BODY_ROTATION : 0U) |
                 (d->flags & INPUT_TRACKED ? (uint32_t)BODY_TRACKED : 0U);
    if (!(out->flags & (BODY_POSITION | BODY_ROTATION))) out->flags = 0;
}

void wearer_frame(struct wearer *w, const struct human *h, double dt_s, double place_scale,
                  struct body_frame *out)
{
    struct calibration *c = &w->calibration;
    *out = (struct body_frame){.dt_s = dt_s};
    if (!c->oriented || c->state == CALIBRATION_NONE) begin(w, h);
    answer_requests(w, h);
    if (!c->oriented || c->state == CALIBRATION_NONE) begin(w, h); // forgotten
    if (c->state == CALIBRATION_NONE) c->eye_height = USUAL_EYES;  // no head yet
    grow(w, dt_s);
    settle(w, h, dt_s);
    struct fit f = fit_of(w, h, place_scale);
    const struct input_device *head = sensor_device(&w->sensor, INPUT_DEVICE_head);
    if (head) put(&f, HUMAN_HEAD, head, &out->parts[HUMAN_HEAD]);
    for (uint8_t id = 1; id < HUMAN_PART_COUNT; id++) {
        const struct input_device *d = sensor_device(&w->sensor, id);
        if (d) put(&f, (enum human_part)id, d, &out->parts[id]);
    }
    for (int i = 0; i < INPUT_TRACKERS; i++) {
        const struct input_device *d =
            sensor_device(&w->sensor, (uint8_t)(INPUT_DEVICE_tracker_1 + i));
        if (!d || !c->part_of[i]) continue;
        enum human_part part = (enum human_part)(c->part_of[i] - 1);
        // A device that says itself which part it is on goes before.
        if (!out->parts[part].flags) put(&f, part, d, &out->parts[part]);
    }
}

#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "server/character/pose/body_own.h"
#include "server/character/pose/rotation.h"

static const double EASE_S = 0.12;  // time constant of a step after a change of source
static const double HOLD_S = 0.25;  // a lost part stays with the body so long
static const double LET_GO_S = 1.0; // and then goes over to the guess in this time
static const double FAR_M = 100;

enum source { NEVER, GUESSED, VALID, MEASURED };

static bool is_place(const double p[3])
{
    for (int r = 0; r < 3; r++)
        if (!(fabs(p[r]) <= FAR_M)) return false; // written so that NaN fails too
    return true;
}

static bool is_turn(const double q[4])
{
    double n2 = rotation_dot(q, q);
    return n2 > 0.25 && n2 < 4; // a norm within 0.5 .. 2
}

static enum source source_of(bool valid, uint32_t flags, uint32_t before)
{
    if (valid) return flags & BODY_TRACKED ? MEASURED : VALID;
    return before == NEVER ? NEVER : GUESSED;
}

// 0 .. 1: how far a lost part has gone over to the guess.
static double let_go(double lost_s)
{
    double t = fmin(fmax((lost_s - HOLD_S) / LET_GO_S, 0), 1);
    return t * t * (3 - 2 * t);
}

// As told last, carried along with the head's heading, on its way to the guess.
static void lost_place(const struct body_work *w, const struct body_part_memory *m,
                       const double guess[3], double out[3])
{
    double t = let_go(m->lost_s);
    rotation_apply(w->sense.frame, m->last, out);
    for (int r = 0; r < 3; r++)
        out[r] += w->sense.head[r] + t * (guess[r] - out[r] - w->sense.head[r]);
}

static void lost_turn(const struct body_work *w, const struct body_part_memory *m,
                      const double guess[4], double out[4])
{
    double held[4];
    rotation_mul(w->sense.frame, m->last_turn, held);
    rotation_slerp(held, guess, let_go(m->lost_s), out);
    rotation_unit(out);
}

static void ease_place(struct body_work *w, struct body_part_memory *m, enum source source,
                       const double told[3], const double guess[3], struct body_goal *out)
{
    double want[3], fade = stable_exp(-w->dt_s / EASE_S), left = 0;
    if (source >= VALID)
        memcpy(want, told, sizeof want);
    else
        lost_place(w, m, guess, want);
    if (!w->started)
        memset(m->offset, 0, sizeof m->offset);
    else if (m->source != source)
        for (int r = 0; r < 3; r++)
            m->offset[r] = (m->source == NEVER ? guess[r] : m->place[r]) - want[r];
    else
        for (int r = 0; r < 3; r++)
            m->offset[r] *= fade;
    for (int r = 0; r < 3; r++)
        left += fabs(m->offset[r]);
    if (left < 1e-4) memset(m->offset, 0, sizeof m->offset);
    for (int r = 0; r < 3; r++)
        out->place[r] = m->place[r] = want[r] + m->offset[r];
    out->has_place = source >= VALID || left >= 1e-4 || m->lost_s < HOLD_S + LET_GO_S;
    m->source = out->has_place ? source : NEVER;
    if (source < VALID) return;
    double from_head[3];
    for (int r = 0; r < 3; r++)
        from_head[r] = told[r] - w->sense.head[r];
    rotation_apply_inverse(w->sense.frame, from_head, m->last);
}

static void ease_turn(struct body_work *w, struct body_part_memory *m, enum source source,
                      const double told[4], const double guess[4], struct body_goal *out)
{
    static const double none[4] = {0, 0, 0, 1};
    double want[4], fade = stable_exp(-w->dt_s / EASE_S);
    if (source >= VALID)
        memcpy(want, told, sizeof want);
    else
        lost_turn(w, m, guess, want);
    if (!w->started) {
        memcpy(m->twist, none, sizeof none);
    } else if (m->turn_source != source) { // shown = twist * want
        double back[4] = {-want[0], -want[1], -want[2], want[3]};
        rotation_mul(m->turn_source == NEVER ? guess : m->turn, back, m->twist);
        if (m->twist[3] < 0)
            for (int i = 0; i < 4; i++)
                m->twist[i] = -m->twist[i];
    } else {
        rotation_slerp(none, m->twist, fade, m->twist);
        rotation_unit(m->twist);
    }
    bool left = m->twist[3] < 1 - 1e-7;
    if (!left) memcpy(m->twist, none, sizeof none);
    rotation_mul(m->twist, want, out->turn);
    rotation_unit(out->turn);
    memcpy(m->turn, out->turn, sizeof m->turn);
    out->has_turn = source >= VALID || left || m->lost_s < HOLD_S + LET_GO_S;
    m->turn_source = out->has_turn ? source : NEVER;
    if (source >= VALID) rotation_from(w->sense.frame, told, m->last_turn);
}

struct body_goal body_ease(struct body_work *w, enum human_part part, const double guess_place[3],
                           const double guess_turn[4])
{
    const struct body_target *t = &w->in->parts[part];
    struct body_part_memory *m = &w->memory->parts[part];
    struct body_goal out = {.has_place = false};
    double turn[4];
    bool place_told = (t->flags & BODY_POSITION) && is_place(t->position);
    bool turn_told = (t->flags & BODY_ROTATION) && is_turn(t->rotation);
    memcpy(turn, t->rotation, sizeof turn);
    if (turn_told) rotation_unit(turn);
    memcpy(out.place, guess_place, sizeof out.place);
    memcpy(out.turn, guess_turn, sizeof out.turn);
    m->lost_s = place_told || turn_told ? 0 : m->lost_s + w->dt_s;
    enum source place_source = source_of(place_told, t->flags, m->source);
    enum source turn_source = source_of(turn_told, t->flags, m->turn_source);
    if (place_source != NEVER)
        ease_place(w, m, place_source, t->position, guess_place, &out);
    else
        memcpy(m->place, guess_place, sizeof m->place);
    if (turn_source != NEVER)
        ease_turn(w, m, turn_source, turn, guess_turn, &out);
    else
        memcpy(m->turn, guess_turn, sizeof m->turn);
    return out;
}

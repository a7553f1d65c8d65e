#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "server/character/pose/body_own.h"
#include "server/character/pose/rotation.h"

static const double LEAN_MOST = 0.17, TWIST_MOST = 0.34; // sines of half the angles: 20, 40 degrees
static const double BLADE_GIVES = 0.3;                   // of the shoulder blade's length

static const double PELVIS_TIPS = 0.4; // of what the trunk tips over near the floor
static const double SITTING = 0.07; // height of the hips of one who sits on the floor, of its own

static const double PI = 3.14159265358979323846;
static const double ACROSS = 1.9, ACROSS_END = 2.8, BEHIND = -1.0; // angles of an arm, radians
static const double ACROSS_MOST = 0.8;                             // turn of the chest for it

enum { FLOOR_ROUNDS = 5, CRANE_ROUNDS = 12, REACH_ROUNDS = 16, BEND_ROUNDS = 6, CHAIN_ROUNDS = 24 };

static uint32_t head_of(const struct human *h)
{
    return h->trunk_count - 1;
}

// Turns between hips and chest, chest and head by the joints' shares.
static void spread(struct body_work *w)
{
    const struct human *h = w->human;
    double(*turns)[4] = w->pose->turns, pelvis[4], chest[4], head[4], t = 0;
    memcpy(pelvis, turns[0], sizeof pelvis);
    memcpy(chest, turns[h->chest], sizeof chest);
    memcpy(head, turns[head_of(h)], sizeof head);
    for (uint32_t i = 1; i < head_of(h); i++) {
        if (i == h->chest) {
            t = 0;
            continue;
        }
        t += h->bones[i].share;
        if (i < h->chest)
            rotation_slerp(pelvis, chest, t, turns[i]);
        else
            rotation_slerp(chest, head, t, turns[i]);
        rotation_unit(turns[i]);
    }
}

double body_hold(struct body_work *w, uint32_t bone)
{
    const struct human_bone *b = &w->human->bones[bone];
    double(*turns)[4] = w->pose->turns, relative[4];
    rotation_from(turns[b->parent], turns[bone], relative);
    double cut = joint_limit_hold(&b->limit, relative);
    if (cut > 0) {
        rotation_mul(turns[b->parent], relative, turns[bone]);
        rotation_unit(turns[bone]);
    }
    return cut;
}

// From the head down: the head stays as it is, what it hangs from follows.
static void hold_from_head(struct body_work *w)
{
    double(*turns)[4] = w->pose->turns;
    for (uint32_t i = head_of(w->human); i > 0; i--) {
        double relative[4];
        rotation_from(turns[i - 1], turns[i], relative);
        if (joint_limit_hold(&w->human->bones[i].limit, relative) == 0) continue;
        double back[4] = {-relative[0], -relative[1], -relative[2], relative[3]};
        rotation_mul(turns[i], back, turns[i - 1]);
        rotation_unit(turns[i - 1]);
    }
}

static void place_trunk(struct body_work *w, const double hips[3])
{
    const struct human *h = w->human;
    memcpy(w->places[0], hips, sizeof w->places[0]);
    for (uint32_t i = 1; i < h->trunk_count; i++) {
        rotation_apply(w->pose->turns[i - 1], h->bones[i].offset, w->places[i]);
        for (int r = 0; r < 3; r++)
            w->places[i][r] += w->places[i - 1][r];
    }
}

static void hang(struct body_work *w, const double head[3])
{
    double move[3];
    place_trunk(w, head);
    for (int r = 0; r < 3; r++)
        move[r] = head[r] - w->places[head_of(w->human)][r];
    for (uint32_t i = 0; i < w->human->trunk_count; i++)
        for (int r = 0; r < 3; r++)
            w->places[i][r] += move[r];
}

// ---- a tracked pelvis

// Turns chest so that a trunk that starts at the pelvis ends nearer to the head.
static void bend_to(struct body_work *w, const double hips[3], const double head[3])
{
    const struct human *h = w->human;
    double(*turns)[4] = w->pose->turns;
    for (int round = 0; round < BEND_ROUNDS; round++) {
        double lever[3] = {0, 0, 0}, miss[3], axis[3], t = 0;
        spread(w);
        place_trunk(w, hips);
        for (int r = 0; r < 3; r++)
            miss[r] = head[r] - w->places[head_of(h)][r];
        for (uint32_t i = 1; i < head_of(h); i++) { // how much each segment turns with the chest
            t += h->bones[i].share;
            double share = i < h->chest ? t : i == h->chest ? 1 : 1 - t;
            if (i == h->chest) t = 0;
            for (int r = 0; r < 3; r++)
                lever[r] += share * (w->places[i + 1][r] - w->places[i][r]);
        }
        double length2 = vector_dot(lever, lever);
        if (vector_dot(miss, miss) < 1e-10 || !(length2 > 1e-8)) break;
        vector_cross(lever, miss, axis);
        double turn[4] = {axis[0] / length2 / 2, axis[1] / length2 / 2, axis[2] / length2 / 2, 1};
        rotation_unit(turn);
        rotation_mul(turn, turns[h->chest], turns[h->chest]);
        rotation_unit(turns[h->chest]);
    }
    spread(w);
    place_trunk(w, hips);
}

static void pull_towards(const double fixed[3], double length, double moved[3])
{
    double d[3] = {moved[0] - fixed[0], moved[1] - fixed[1], moved[2] - fixed[2]};
    double size = sqrt(vector_dot(d, d));
    for (int r = 0; r < 3; r++)
        moved[r] = size > 1e-9 ? fixed[r] + length * d[r] / size : fixed[r];
}

// What bending leaves: joints between pelvis and head are moved forth and back, lengths kept
// (FABRIK: Aristidou, Lasenby, Graphical Models 73, 2011), and turns follow the segments.
static void close_chain(struct body_work *w, const double head[3])
{
    const struct human *h = w->human;
    uint32_t last = head_of(h);
    double lengths[HUMAN_TRUNK_MAX], at[HUMAN_TRUNK_MAX][3];
    for (uint32_t i = 0; i <= last; i++) {
        const double *o = h->bones[i].offset;
        lengths[i] = sqrt(vector_dot(o, o));
        memcpy(at[i], w->places[i], sizeof at[i]);
    }
    for (int round = 0; round < CHAIN_ROUNDS; round++) {
        double miss2 = 0;
        for (int r = 0; r < 3; r++)
            miss2 += (head[r] - at[last][r]) * (head[r] - at[last][r]);
        if (miss2 < 1e-10) break;
        memcpy(at[last], head, sizeof at[last]);
        for (uint32_t i = last - 1; i >= 2; i--)
            pull_towards(at[i + 1], lengths[i + 1], at[i]);
        for (uint32_t i = 2; i <= last; i++)
            pull_towards(at[i - 1], lengths[i], at[i]);
    }
    for (uint32_t i = 1; i < last; i++) {
        double was[3], is[3], turn[4];
        if (lengths[i + 1] < 1e-6) continue;
        for (int r = 0; r < 3; r++) {
            was[r] = (w->places[i + 1][r] - w->places[i][r]) / lengths[i + 1];
            is[r] = (at[i + 1][r] - at[i][r]) / lengths[i + 1];
        }
        rotation_between(was, is, turn);
        rotation_mul(turn, w->pose->turns[i], w->pose->turns[i]);
        rotation_unit(w->pose->turns[i]);
    }
}

// ---- hands out of reach

static double arm_length(const struct human *h, int side)
{
    uint32_t upper = human_limb_bone(side == 0 ? HUMAN_ARM_L : HUMAN_ARM_R, 1);
    const double *a = h->bones[upper + 1].offset, *b = h->bones[upper + 2].offset;
    return sqrt(vector_dot(a, a)) + sqrt(vector_dot(b, b));
}

static void place_shoulder(const struct body_work *w, int side, double out[3])
{
    const struct human *h = w->human;
    uint32_t shoulder = human_limb_bone(side == 0 ? HUMAN_ARM_L : HUMAN_ARM_R, 0);
    double offset[3];
    for (int r = 0; r < 3; r++)
        offset[r] = h->bones[shoulder].offset[r] + h->bones[shoulder + 1].offset[r] +
                    w->guess.shoulders[side][r];
    rotation_apply(w->pose->turns[h->chest], offset, out);
    for (int r = 0; r < 3; r++)
        out[r] += w->places[h->chest][r];
}

// How the hand of a side is missed: unit `away` from the shoulder to it, the metres that are
// missing (negative: it is nearer than the arm folds). What the shoulder blade gives is not
// missing.
static double short_of(const struct body_work *w, int side, const struct body_goal *hand,
                       double shoulder[3], double away[3])
{
    const struct human *h = w->human;
    uint32_t upper = human_limb_bone(side == 0 ? HUMAN_ARM_L : HUMAN_ARM_R, 1);
    double arm = arm_length(h, side), blade[3], from_blade[3];
    place_shoulder(w, side, shoulder);
    rotation_apply(w->pose->turns[h->chest], h->bones[upper].offset, blade);
    for (int r = 0; r < 3; r++) {
        away[r] = hand->place[r] - shoulder[r];
        from_blade[r] = away[r] + blade[r];
    }
    double far = sqrt(vector_dot(away, away)), size = sqrt(vector_dot(blade, blade));
    if (!hand->has_place || !(far > 1e-6)) return 0;
    for (int r = 0; r < 3; r++)
        away[r] /= far;
    double gives = far - (sqrt(vector_dot(from_blade, from_blade)) - size);
    double most = 0.9995 * arm + fmin(0.9 * gives, BLADE_GIVES * size);
    return fmax(far - most, 0) + fmin(far - 0.18 * arm, 0);
}

// A lean no further than LEAN_MOST, about +Y no further than TWIST_MOST: sines of half angles.
static void hold_lean(double q[4])
{
    if (q[3] < 0)
        for (int i = 0; i < 4; i++)
            q[i] = -q[i];
    double tilt = sqrt(q[0] * q[0] + q[2] * q[2]), twist = fabs(q[1]);
    double tilt_scale = tilt > LEAN_MOST ? LEAN_MOST / tilt : 1;
    double twist_scale = twist > TWIST_MOST ? TWIST_MOST / twist : 1;
    q[0] *= tilt_scale;
    q[1] *= twist_scale;
    q[2] *= tilt_scale;
    q[3] = sqrt(fmax(1 - vector_dot(q, q), 0));
}

// How far an arm that reaches across the body, or behind it, asks its chest to turn along: from the
// angle at which it leaves the shoulder, out 0, ahead a quarter turn.
static double asks(double angle)
{
    if (angle > ACROSS_END) return ACROSS_MOST * (PI - angle) / (PI - ACROSS_END);
    if (angle > ACROSS) return ACROSS_MOST * (angle - ACROSS) / (ACROSS_END - ACROSS);
    if (angle < -ACROSS_END) return -ACROSS_MOST * (PI + angle) / (PI - ACROSS_END);
    if (angle < BEHIND) return -ACROSS_MOST * (BEHIND - angle) / (BEHIND + ACROSS_END);
    return 0;
}

static void twist_to_hands(struct body_work *w, const double head[3],
                           const struct body_goal hands[2], double share)
{
    const struct human *h = w->human;
    double(*turns)[4] = w->pose->turns, sum = 0;
    for (int side = 0; side < 2; side++) {
        double shoulder[3], away[3], to[3];
        (void)short_of(w, side, &hands[side], shoulder, away);
        double far = 0, sign = side == 0 ? 1 : -1;
        for (int r = 0; r < 3; r++)
            far += (hands[side].place[r] - shoulder[r]) * (hands[side].place[r] - shoulder[r]);
        rotation_apply_inverse(turns[h->chest], away, to);
        double out = sign * to[0], level = sqrt(out * out + to[2] * to[2]);
        double counts = level * fmin(sqrt(far) / (0.6 * arm_length(h, side)), 1);
        if (!hands[side].has_place || !(level > 1e-6)) continue;
        double angle = stable_atan2(fabs(to[2]), out);
        sum -= sign * counts * asks(to[2] < 0 ? -angle : angle);
    }
    if (sum == 0) return;
    double turn[4] = {0, 0, 0, 1}, part[4] = {0, 0, 0, 1};
    stable_sincos(sum / 2, &turn[1], &turn[3]);
    stable_sincos(share * sum / 2, &part[1], &part[3]);
    rotation_mul(turns[h->chest], turn, turns[h->chest]);
    rotation_mul(turns[0], part, turns[0]);
    spread(w);
    hold_from_head(w);
    hang(w, head);
}

// Turns chest, and the pelvis `share` as much, about the head until both hands are within reach.
// Whether that was needed.
static bool lean_to_hands(struct body_work *w, const double head[3],
                          const struct body_goal hands[2], double share)
{
    const struct human *h = w->human;
    double(*turns)[4] = w->pose->turns, start[4], pelvis[4];
    memcpy(start, turns[h->chest], sizeof start);
    memcpy(pelvis, turns[0], sizeof pelvis);
    for (int round = 0; round < REACH_ROUNDS; round++) {
        double turn[4] = {0, 0, 0, 1}, all[4],
               back[4] = {-start[0], -start[1], -start[2], start[3]};
        bool needed = false;
        for (int side = 0; side < 2; side++) {
            double shoulder[3], away[3], lever[3], axis[3];
            double missing = short_of(w, side, &hands[side], shoulder, away);
            for (int r = 0; r < 3; r++)
                lever[r] = shoulder[r] - head[r];
            double lever2 = vector_dot(lever, lever);
            if (missing == 0 || !(lever2 > 1e-4)) continue;
            needed = true;
            vector_cross(lever, away, axis);
            for (int r = 0; r < 3; r++)
                turn[r] += 0.6 * axis[r] * missing / lever2;
        }
        if (!needed) return round > 0;
        double size = sqrt(vector_dot(turn, turn));
        for (int r = 0; size > 0.15 && r < 3; r++)
            turn[r] *= 0.15 / size;
        rotation_unit(turn);
        // All of it so far: so much and no more; the pelvis only turns along.
        rotation_mul(turn, turns[h->chest], all);
        rotation_mul(all, back, all);
        hold_lean(all);
        rotation_mul(all, start, turns[h->chest]);
        double part[4] = {0, share * all[1], 0, 1};
        rotation_unit(part);
        rotation_mul(part, pelvis, turns[0]);
        rotation_unit(turns[h->chest]);
        rotation_unit(turns[0]);
        spread(w);
        hold_from_head(w);
        hang(w, head);
    }
    return true;
}

// What leaning leaves: the neck's joints bend so that the chest moves towards the hands as it is.
static void crane_neck(struct body_work *w, const double head[3], const struct body_goal hands[2])
{
    const struct human *h = w->human;
    for (int round = 0; round < CRANE_ROUNDS; round++) {
        double move[3] = {0, 0, 0}, sum = 0;
        for (int side = 0; side < 2; side++) {
            double shoulder[3], away[3];
            double missing = short_of(w, side, &hands[side], shoulder, away);
            sum += fabs(missing);
            for (int r = 0; r < 3; r++)
                move[r] += 0.7 * missing * away[r];
        }
        if (sum == 0) return;
        uint32_t count = head_of(h) - h->chest - 1;
        for (uint32_t i = h->chest + 1; i < head_of(h); i++) {
            double segment[3], axis[3], length2;
            for (int r = 0; r < 3; r++)
                segment[r] = w->places[i + 1][r] - w->places[i][r];
            length2 = vector_dot(segment, segment);
            if (!(length2 > 1e-6)) continue;
            vector_cross(move, segment, axis);
            double half = 0.5 / length2 / count;
            double turn[4] = {half * axis[0], half * axis[1], half * axis[2], 1};
            rotation_unit(turn);
            rotation_mul(turn, w->pose->turns[i], w->pose->turns[i]);
            rotation_unit(w->pose->turns[i]);
        }
        hold_from_head(w);
        hang(w, head);
    }
}

// Between a pelvis and a head that are both told.
static void span(struct body_work *w, const double pelvis[3], const double head[3])
{
    bend_to(w, pelvis, head);
    close_chain(w, head);
    hold_from_head(w);
    hang(w, head);
}

// A trunk that would sink into the floor tips over about the head instead, the way it leans
// already, or backward as one who sits down.
static void keep_off_floor(struct body_work *w, const double head[3])
{
    const struct human *h = w->human;
    double(*turns)[4] = w->pose->turns, least = SITTING * h->height;
    static const double behind[3] = {0, 0, -0.15};
    for (int round = 0; round < FLOOR_ROUNDS && least - w->places[0][1] > 1e-3; round++) {
        double down[3], level[3], to[3], turn[4], part[4], back[3];
        rotation_apply(turns[0], behind, back);
        for (int r = 0; r < 3; r++)
            down[r] = w->places[0][r] - head[r];
        double far = sqrt(vector_dot(down, down)), drop = fmax(head[1] - least, -0.9 * far);
        for (int r = 0; r < 3; r++)
            level[r] = r == 1 ? 0 : down[r] + back[r];
        double size = sqrt(vector_dot(level, level));
        if (!(far > 1e-6) || !(size > 1e-6) || drop >= far) return;
        for (int r = 0; r < 3; r++) {
            to[r] = (r == 1 ? -drop : level[r] / size * sqrt(far * far - drop * drop)) / far;
            down[r] /= far;
        }
        rotation_between(down, to, turn);
        for (int i = 0; i < 4; i++) // the back bends, the pelvis sits
            part[i] = i == 3 ? turn[3] : PELVIS_TIPS * turn[i];
        rotation_unit(part);
        rotation_mul(part, turns[0], turns[0]);
        rotation_mul(turn, turns[h->chest], turns[h->chest]);
        rotation_unit(turns[0]);
        rotation_unit(turns[h->chest]);
        spread(w);
        hold_from_head(w);
        hang(w, head);
    }
}

void body_trunk(struct body_work *w, const struct body_goal *head, const struct body_goal hands[2])
{
    const struct human *h = w->human;
    double(*turns)[4] = w->pose->turns;
    memcpy(turns[head_of(h)], head->turn, sizeof turns[0]);
    memcpy(turns[h->chest], w->guess.chest, sizeof turns[0]);
    memcpy(turns[0], w->guess.pelvis, sizeof turns[0]);
    spread(w);
    hold_from_head(w);
    hang(w, head->place);
    struct body_goal chest = body_ease(w, HUMAN_CHEST, w->places[h->chest], turns[h->chest]);
    struct body_goal pelvis = body_ease(w, HUMAN_PELVIS, w->places[0], turns[0]);
    if (chest.has_turn) memcpy(turns[h->chest], chest.turn, sizeof turns[0]);
    if (pelvis.has_turn) memcpy(turns[0], pelvis.turn, sizeof turns[0]);
    if (pelvis.has_place) {
        span(w, pelvis.place, head->place);
        for (int round = 0; round < 3 && lean_to_hands(w, head->place, hands, 0); round++)
            span(w, pelvis.place, head->place);
    } else {
        spread(w);
        hold_from_head(w);
        hang(w, head->place);
        keep_off_floor(w, head->place);
        twist_to_hands(w, head->place, hands, 0.4);
        (void)lean_to_hands(w, head->place, hands, 0.5);
    }
    crane_neck(w, head->place, hands); // hands count for more than the pelvis
    memcpy(w->pose->hips, w->places[0], sizeof w->pose->hips);
}

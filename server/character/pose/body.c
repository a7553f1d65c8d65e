#include "server/character/pose/body.h"

#include <math.h>
#include <string.h>

#include "server/character/pose/body_own.h"
#include "server/character/pose/body_prior.h"
#include "server/character/pose/rotation.h"

void body_start(struct body_memory *memory)
{
    memset(memory, 0, sizeof *memory);
}

static void rest_goal(const struct human *h, double place[3], double turn[4])
{
    place[0] = place[2] = 0;
    place[1] = h->head_height;
    for (int i = 0; i < 4; i++)
        turn[i] = i == 3;
}

// A hand that is not told of hangs at the side of a body that faces where it did.
static void hanging_hand(const struct body_work *w, int side, const double head[3], double place[3],
                         double turn[4])
{
    const struct human *h = w->human;
    const double *ahead = w->memory->sense.ahead;
    double size = sqrt(ahead[0] * ahead[0] + ahead[1] * ahead[1]), half, yaw[4] = {0, 0, 0, 1};
    if (w->started && size > 1e-6) {
        half = sqrt(fmax((1 + ahead[1] / size) / 2, 0));
        yaw[1] = half > 1e-6 ? ahead[0] / size / (2 * half) : 1;
        yaw[3] = half > 1e-6 ? half : 0;
        rotation_unit(yaw);
    }
    double sign = side == 0 ? 1 : -1;
    double out[3] = {sign * 0.15 * h->head_height, -0.47 * h->head_height, 0.04 * h->head_height};
    rotation_apply(yaw, out, place);
    for (int r = 0; r < 3; r++)
        place[r] += head[r];
    double down[4] = {0, 0, -sign * 0.67559020761566024, 0.73727733681012408}; // 85 degrees
    rotation_mul(yaw, down, turn);
}

void body_solve(const struct human *h, const struct body_prior *prior, const struct body_frame *in,
                struct body_memory *memory, struct human_pose *out)
{
    struct body_work w = {.human = h,
                          .in = in,
                          .memory = memory,
                          .dt_s = fmin(fmax(in->dt_s, 0), 1),
                          .started = memory->started,
                          .pose = out};
    double place[3], turn[4], hand_places[2][3], hand_turns[2][4];
    if (!(w.dt_s == w.dt_s)) w.dt_s = 0;
    human_rest(h, out);
    // Lost parts are carried along with the head as it was last.
    w.sense.frame[3] = 1;
    rest_goal(h, place, turn);
    if (w.started) {
        memcpy(place, memory->parts[HUMAN_HEAD].place, sizeof place);
        memcpy(turn, memory->parts[HUMAN_HEAD].turn, sizeof turn);
    }
    struct body_goal head = body_ease(&w, HUMAN_HEAD, place, turn), hands[2];
    for (int side = 0; side < 2; side++) {
        memcpy(w.sense.head, head.place, sizeof w.sense.head);
        hanging_hand(&w, side, head.place, hand_places[side], hand_turns[side]);
        hands[side] = body_ease(&w, side == 0 ? HUMAN_HAND_L : HUMAN_HAND_R, hand_places[side],
                                hand_turns[side]);
        memcpy(hand_places[side], hands[side].place, sizeof hand_places[0]);
        memcpy(hand_turns[side], hands[side].turn, sizeof hand_turns[0]);
    }
    body_sense(h, head.place, head.turn, hand_places, hand_turns, w.dt_s, w.started, &memory->sense,
               &w.sense);
    body_guess_by_rule(h, &w.sense, &w.guess);
    if (prior) {
        double numbers[BODY_GUESS_NUMBERS];
        body_guess_pack(h, &w.sense, &w.guess, numbers);
        body_prior_add(prior, w.sense.features, numbers);
        body_guess_unpack(h, &w.sense, numbers, &w.guess);
    }
    body_trunk(&w, &head, hands);
    body_arms(&w, hands);
    body_legs(&w);
    memory->started = 1;
    memory->frames++;
}

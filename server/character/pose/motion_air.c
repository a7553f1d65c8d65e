#include <math.h>

#include "common/stable_math.h"
#include "server/character/pose/motion_own.h"

// Up and down: a jump is a take-off clip, a flight that gravity shapes, and a landing clip, where
// the character has a clip of falling. One whose jump is a single clip just plays it, see
// motion_actions.c. Steps of the ground are climbed smoothly; from higher ones it falls.

#define GRAVITY_M     9.81
#define JUMP_SHARE    0.22 // of its height that it jumps
#define STEP_SHARE    0.3  // of its height: higher edges are fallen from
#define CLIMB_RATE    12.0 // 1/s
#define RUNNING_SHARE 0.6  // of a take-off clip that a moving character leaves out

static void enter(struct motion *n, enum motion_flight stage)
{
    n->flight = stage;
    n->flight_s = 0;
    n->eases = true;
    n->ease_rate = 13;
}

void motion_jump(struct motion *n, const struct model *m)
{
    const struct model_move *jump = locomotion_move(m, MODEL_MOVE_JUMP);
    if (n->flight == MOTION_TAKE_OFF || n->flight == MOTION_FLIGHT || !jump) return;
    enter(n, MOTION_TAKE_OFF);
    if (motion_walks(n)) n->flight_s = RUNNING_SHARE * (double)m->clips[jump->clip].duration_s;
}

const struct model_move *motion_flight_move(const struct motion *n, const struct model *m)
{
    static const uint32_t kinds[] = {MODEL_MOVE_IDLE, MODEL_MOVE_JUMP, MODEL_MOVE_FALL,
                                     MODEL_MOVE_LAND};
    return n->flight == MOTION_GROUND ? NULL : locomotion_move(m, kinds[n->flight]);
}

static double length_of(const struct motion *n, const struct model *m)
{
    const struct model_move *move = motion_flight_move(n, m);
    return move ? (double)m->clips[move->clip].duration_s : 0;
}

static void fall(struct motion *n, const struct model *m, double dt_s)
{
    double gravity = GRAVITY_M / (double)m->info->unit_m;
    n->above += n->climb * dt_s - gravity * dt_s * dt_s / 2;
    n->climb -= gravity * dt_s;
    if (n->above > 0) return;
    n->above = n->climb = 0;
    if (locomotion_move(m, MODEL_MOVE_LAND) && !motion_walks(n))
        enter(n, MOTION_LANDING);
    else
        enter(n, MOTION_GROUND);
}

void motion_fly(struct motion *n, const struct model *m, double dt_s, double scale)
{
    double ground = n->ground ? ground_height(n->ground, n->way.position[0], n->way.position[1]) /
                                    fmax(scale, 1e-9)
                              : n->level;
    double step = ground - n->level, gravity = GRAVITY_M / (double)m->info->unit_m;
    if (n->flight == MOTION_FLIGHT || step < -STEP_SHARE * n->way.height) {
        n->above -= step; // it stays where it is
        n->level = ground;
        if (n->flight != MOTION_FLIGHT) {
            enter(n, MOTION_FLIGHT);
            n->climb = 0;
        }
    } else {
        double kept = stable_exp(-CLIMB_RATE * dt_s);
        n->level = ground - step * kept;
    }
    n->flight_s += dt_s;
    if (n->flight == MOTION_FLIGHT) fall(n, m, dt_s);
    if (n->flight == MOTION_TAKE_OFF && n->flight_s >= length_of(n, m)) {
        n->climb = sqrt(2 * gravity * JUMP_SHARE * n->way.height);
        enter(n, MOTION_FLIGHT);
    }
    if (n->flight == MOTION_LANDING && (n->flight_s >= length_of(n, m) || motion_walks(n)))
        enter(n, MOTION_GROUND);
}

double motion_height(const struct motion *n, double scale)
{
    return (n->level + n->above) * scale;
}

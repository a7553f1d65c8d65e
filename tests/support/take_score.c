#include "tests/support/take_score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/stable_math.h"
#include "server/character/pose/rotation.h"

static const double DEGREES = 57.29577951308232;

static double distance(const double a[3], const double b[3])
{
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(vector_dot(d, d));
}

static double degrees_between(const double a[4], const double b[4])
{
    double cosine = fmin(fabs(rotation_dot(a, b)), 1);
    return 2 * stable_atan2(sqrt(1 - cosine * cosine), cosine) * DEGREES;
}

struct foot_track {
    double start[3];
    bool standing;
};

// How far joints are beyond their limits.
static void score_limits(const struct take *t, const struct human_pose *p, struct take_score *f)
{
    for (uint32_t i = 1; i < HUMAN_BONES; i++) {
        const struct human_bone *b = &t->human.bones[i];
        double relative[4];
        if (b->node < 0) continue;
        rotation_from(p->turns[b->parent], p->turns[i], relative);
        f->limit_deg = fmax(f->limit_deg, DEGREES * joint_limit_excess(&b->limit, relative));
    }
}

// How far tracked parts are from what was told.
static void score_parts(const struct take *t, const struct body_frame *in,
                        const struct human_pose *out, double places[HUMAN_BONES][3],
                        struct take_score *f)
{
    bool hands = true;
    for (int i = 0; i < HUMAN_PART_COUNT; i++) {
        enum human_part part = (enum human_part)i;
        if (!in->parts[i].flags) continue;
        double mm =
            1000 * distance(places[human_part_joint(&t->human, part)], in->parts[i].position);
        double deg =
            degrees_between(out->turns[human_part_bone(&t->human, part)], in->parts[i].rotation);
        if (part == HUMAN_HEAD) {
            f->head_mm = fmax(f->head_mm, mm);
            f->head_deg = fmax(f->head_deg, deg);
        } else if (part == HUMAN_HAND_L || part == HUMAN_HAND_R) {
            f->hand_mm = fmax(f->hand_mm, mm);
            f->hand_deg = fmax(f->hand_deg, deg);
            hands = hands && mm <= 1 && deg <= 0.5;
        } else {
            f->other_mm = fmax(f->other_mm, mm);
        }
    }
    f->hands_met += hands;
}

// All joints against the truth, relative to the head.
static void score_joints(const struct take *t, double (*solved)[3], double (*truth)[3],
                         size_t upper_count, struct take_score *f)
{
    size_t head = (size_t)t->human.bones[t->human.trunk_count - 1].node;
    double upper = 0, whole = 0;
    for (size_t i = 0; i < t->joint_count; i++) {
        double e[3];
        for (int r = 0; r < 3; r++)
            e[r] = (solved[i][r] - solved[head][r]) - (truth[i][r] - truth[head][r]);
        double error = sqrt(vector_dot(e, e));
        whole += error;
        if (!take_is_leg(t, i)) upper += error;
    }
    f->upper_cm += 100 * upper / (double)upper_count / (double)t->frames;
    f->whole_cm += 100 * whole / (double)t->joint_count / (double)t->frames;
}

// How far feet that stand have moved since they came down.
static void score_slide(const struct take *t, double solved[HUMAN_BONES][3], unsigned parts,
                        struct foot_track tracks[2], struct take_score *f)
{
    for (int side = 0; side < 2; side++) {
        double ankle = t->human.hips_height;
        uint32_t upper = human_limb_bone(side == 0 ? HUMAN_LEG_L : HUMAN_LEG_R, 0);
        for (uint32_t k = 0; k < 3; k++)
            ankle += t->human.bones[upper + k].offset[1];
        if (parts & (1u << (side == 0 ? HUMAN_FOOT_L : HUMAN_FOOT_R))) continue;
        const double *at = solved[human_limb_bone(side == 0 ? HUMAN_LEG_L : HUMAN_LEG_R, 2)];
        bool standing = at[1] < ankle + 0.01;
        if (standing && !tracks[side].standing) memcpy(tracks[side].start, at, sizeof(double[3]));
        tracks[side].standing = standing;
        double dx = at[0] - tracks[side].start[0], dz = at[2] - tracks[side].start[2];
        if (standing) f->slide_cm = fmax(f->slide_cm, 100 * sqrt(dx * dx + dz * dz));
    }
}

static double cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

struct take_score take_score(const struct take *t, const struct body_prior *prior, unsigned parts)
{
    struct take_score f = {.frames = t->frames};
    size_t upper_count = 0;
    double(*truth)[3] = malloc(t->joint_count * sizeof *truth);
    double(*solved)[3] = malloc(t->joint_count * sizeof *solved);
    struct body_memory memory;
    struct foot_track tracks[2] = {{{0}, false}};
    if (!truth || !solved) abort();
    body_start(&memory);
    for (size_t i = 0; i < t->joint_count; i++)
        upper_count += !take_is_leg(t, i);
    for (size_t frame = 0; frame < t->frames; frame++) {
        struct human_pose pose, out;
        struct body_frame in;
        double places[HUMAN_BONES][3];
        take_pose(t, frame, &pose);
        take_frame(t, &pose, parts, &in);
        double start = cpu_us();
        body_solve(&t->human, prior, &in, &memory, &out);
        f.us += (cpu_us() - start) / (double)t->frames;
        take_places(t, frame, truth);
        take_solved(t, &out, solved);
        human_places(&t->human, &out, places);
        score_joints(t, solved, truth, upper_count, &f);
        score_parts(t, &in, &out, places, &f);
        score_limits(t, &out, &f);
        score_slide(t, places, parts, tracks, &f);
    }
    free(truth);
    free(solved);
    return f;
}

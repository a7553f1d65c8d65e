#include "tests/support/body_teach.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "server/character/pose/rotation.h"
#include "tests/support/take.h"
#include "tests/testing.h"

const char *const body_teachers[] = {"cmu/01_01.bvh",       "cmu/02_01.bvh", "cmu/131_01.bvh",
                                     "cmu/14_14_short.bvh", "fair/dab.bvh",  "fair/jumping.bvh",
                                     "fair/wave_hello.bvh"};
// Takes that show the same motion as a teacher does, at another rate: without that one for them.
static const struct {
    const char *clip;
    size_t teacher;
} twins[] = {{"cmu/jumping_jacks.bvh", 3}};
enum { TEACHERS = sizeof body_teachers / sizeof body_teachers[0] };
const size_t body_teacher_count = TEACHERS;

static const double EVERY_S = 0.06; // a moment is learned from
static const double SLOPE_COSTS = 100, CENTER_COSTS = 1;
enum { CENTERS = 256, ROWS = 1 + BODY_FEATURES + CENTERS, ROWS_MAX = 4096 };

struct lesson { // a moment: what is told, and what had to be added to the rule
    int16_t features[BODY_PRIOR_WIDTH];
    double numbers[BODY_GUESS_NUMBERS];
    double weight;
};
struct lessons {
    size_t count;
    struct lesson *items;
};

// ---- moments

static void find_contact(const struct take *t, size_t frame, struct body_guess *g)
{
    struct human_pose a, b;
    double from[HUMAN_BONES][3], to[HUMAN_BONES][3];
    size_t before = frame > 0 ? frame - 1 : 0,
           after = frame + 1 < t->frames ? frame + 1 : t->frames - 1;
    take_pose(t, before, &a);
    take_pose(t, after, &b);
    human_places(&t->human, &a, from);
    human_places(&t->human, &b, to);
    for (int side = 0; side < 2; side++) {
        uint32_t upper = human_limb_bone(side == 0 ? HUMAN_LEG_L : HUMAN_LEG_R, 0);
        double move2 = 0, span = (double)(after - before) * t->dt_s, floor = t->human.hips_height;
        for (uint32_t k = 0; k < 3; k++)
            floor += t->human.bones[upper + k].offset[1];
        for (int r = 0; r < 3; r++)
            move2 +=
                (to[upper + 2][r] - from[upper + 2][r]) * (to[upper + 2][r] - from[upper + 2][r]);
        bool still = sqrt(move2) < 0.35 * span;
        g->contact[side] = still && to[upper + 2][1] < floor + 0.08 ? 1 : 0;
    }
}

static void add_lesson(struct lessons *l, const double features[BODY_FEATURES],
                       const double numbers[BODY_GUESS_NUMBERS])
{
    if (l->count == ROWS_MAX) return;
    struct lesson *item = &l->items[l->count++];
    body_prior_scale(features, item->features);
    memcpy(item->numbers, numbers, sizeof item->numbers);
    item->weight = 1;
}

static void learn_frame(const struct take *t, size_t frame, const struct human_pose *pose,
                        const struct body_sense *s, struct lessons *l)
{
    struct body_guess truth, rule;
    double is[BODY_GUESS_NUMBERS], told[BODY_GUESS_NUMBERS], mirrored[BODY_GUESS_NUMBERS];
    double features[BODY_FEATURES];
    body_guess_of_pose(&t->human, pose, &truth);
    find_contact(t, frame, &truth);
    body_guess_by_rule(&t->human, s, &rule);
    body_guess_pack(&t->human, s, &truth, is);
    body_guess_pack(&t->human, s, &rule, told);
    for (int i = 0; i < BODY_GUESS_NUMBERS; i++)
        is[i] -= told[i];
    add_lesson(l, s->features, is);
    body_sense_mirror(s->features, features);
    body_guess_mirror(is, mirrored);
    add_lesson(l, features, mirrored);
}

static bool learn(const char *path, struct lessons *l)
{
    struct take t;
    struct fault fault;
    struct body_sense_memory memory = {0};
    double since = EVERY_S;
    if (!take_open(&t, path, &fault)) return false;
    for (size_t f = 0; f < t.frames; f++) {
        struct human_pose pose;
        struct body_sense s;
        double places[HUMAN_BONES][3], hands[2][3], turns[2][4];
        take_pose(&t, f, &pose);
        human_places(&t.human, &pose, places);
        for (int side = 0; side < 2; side++) {
            uint32_t hand = human_limb_bone(side == 0 ? HUMAN_ARM_L : HUMAN_ARM_R, 3);
            memcpy(hands[side], places[hand], sizeof hands[side]);
            memcpy(turns[side], pose.turns[hand], sizeof turns[side]);
        }
        uint32_t head = t.human.trunk_count - 1;
        body_sense(&t.human, places[head], pose.turns[head], hands, turns, t.dt_s, f > 0, &memory,
                   &s);
        since += t.dt_s;
        if (since < EVERY_S) continue;
        since = 0;
        learn_frame(&t, f, &pose, &s, l);
    }
    take_close(&t);
    return true;
}

// ---- the table

// Moments far from each other: each next one is the one farthest from those taken.
static uint32_t pick_centers(const struct lessons *l, int16_t *out)
{
    static int32_t far2[ROWS_MAX];
    size_t next = 0;
    uint32_t count = 0;
    for (size_t i = 0; i < l->count; i++)
        far2[i] = INT32_MAX;
    for (; count < CENTERS && count < l->count; count++) {
        const int16_t *center = l->items[next].features;
        memcpy(out + (size_t)count * BODY_PRIOR_WIDTH, center, sizeof l->items[next].features);
        size_t farthest = 0;
        for (size_t i = 0; i < l->count; i++) {
            int32_t d = body_prior_distance2(l->items[i].features, center);
            if (d < far2[i]) far2[i] = d;
            if (far2[i] > far2[farthest]) farthest = i;
        }
        next = farthest;
    }
    return count;
}

// In place: the lower triangle of a symmetric positive definite matrix to its Cholesky factor.
static bool factor(double *m, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        double d = m[j * n + j];
        for (size_t k = 0; k < j; k++)
            d -= m[j * n + k] * m[j * n + k];
        if (!(d > 0)) return false;
        d = sqrt(d);
        m[j * n + j] = d;
        for (size_t i = j + 1; i < n; i++) {
            double v = m[i * n + j];
            for (size_t k = 0; k < j; k++)
                v -= m[i * n + k] * m[j * n + k];
            m[i * n + j] = v / d;
        }
    }
    return true;
}

static void solve(const double *m, size_t n, double *b, size_t columns)
{
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < columns; c++) {
            double v = b[i * columns + c];
            for (size_t k = 0; k < i; k++)
                v -= m[i * n + k] * b[k * columns + c];
            b[i * columns + c] = v / m[i * n + i];
        }
    for (size_t i = n; i-- > 0;)
        for (size_t c = 0; c < columns; c++) {
            double v = b[i * columns + c];
            for (size_t k = i + 1; k < n; k++)
                v -= m[k * n + i] * b[k * columns + c];
            b[i * columns + c] = v / m[i * n + i];
        }
}

// Ridge regression of the lessons on the basis.
static bool fit(const struct lessons *l, uint32_t centers, const int16_t *center, float *weights)
{
    size_t n = 1 + BODY_FEATURES + centers;
    double *m = calloc(n * n, sizeof *m), *b = calloc(n * BODY_GUESS_NUMBERS, sizeof *b);
    float *basis = malloc(n * sizeof *basis);
    bool ok = m && b && basis;
    for (size_t i = 0; ok && i < l->count; i++) {
        body_prior_basis(center, centers, l->items[i].features, basis);
        double weight = l->items[i].weight;
        for (size_t r = 0; r < n; r++) {
            double v = weight * (double)basis[r];
            for (size_t c = 0; c <= r; c++)
                m[r * n + c] += v * (double)basis[c];
            for (size_t k = 0; k < BODY_GUESS_NUMBERS; k++)
                b[r * BODY_GUESS_NUMBERS + k] += v * l->items[i].numbers[k];
        }
    }
    for (size_t r = 0; ok && r < n; r++)
        m[r * n + r] += r == 0 ? 1 : r <= BODY_FEATURES ? SLOPE_COSTS : CENTER_COSTS;
    ok = ok && factor(m, n);
    if (ok) solve(m, n, b, BODY_GUESS_NUMBERS);
    for (size_t i = 0; ok && i < n * BODY_GUESS_NUMBERS; i++)
        weights[i] = (float)b[i];
    free(m);
    free(b);
    free(basis);
    return ok;
}

struct body_prior *body_teach(const char *folder, size_t without)
{
    struct lessons l = {.items = malloc(ROWS_MAX * sizeof *l.items)};
    struct body_prior *p = malloc(sizeof *p);
    int16_t *centers = malloc(CENTERS * BODY_PRIOR_WIDTH * sizeof *centers);
    float *weights = malloc(ROWS * BODY_GUESS_NUMBERS * sizeof *weights);
    bool ok = l.items && p && centers && weights;
    for (size_t i = 0; ok && i < TEACHERS; i++) {
        char path[4096];
        size_t first = l.count;
        (void)snprintf(path, sizeof path, "%s/%s", folder, body_teachers[i]);
        if (i == without) continue;
        ok = learn(path, &l);
        // A long clip does not count by its length alone.
        for (size_t k = first; k < l.count; k++)
            l.items[k].weight = sqrt(200.0 / (double)(l.count - first));
    }
    uint32_t count = ok ? pick_centers(&l, centers) : 0;
    ok = ok && fit(&l, count, centers, weights);
    free(l.items);
    if (ok) {
        *p = (struct body_prior){count, centers, weights};
        return p;
    }
    free(centers);
    free(weights);
    free(p);
    return NULL;
}

void body_teach_free(struct body_prior *p)
{
    if (!p) return;
    free((void *)(uintptr_t)p->centers);
    free((void *)(uintptr_t)p->weights);
    free(p);
}

// ---- for a clip under test

static bool same_file(const char *a, const char *b)
{
    uint8_t *bytes[2] = {NULL, NULL};
    size_t sizes[2] = {0, 0};
    struct fault fault;
    bool same = file_read(a, (size_t)256 << 20, &bytes[0], &sizes[0], &fault) == ERR_OK &&
                file_read(b, (size_t)256 << 20, &bytes[1], &sizes[1], &fault) == ERR_OK &&
                sizes[0] == sizes[1] && memcmp(bytes[0], bytes[1], sizes[0]) == 0;
    free(bytes[0]);
    free(bytes[1]);
    return same;
}

const struct body_prior *body_teach_for(const char *path, const char **said)
{
    static struct body_prior *made;
    const char *data = testing_data();
    char folder[4096], teacher[4200];
    body_teach_free(made);
    made = NULL;
    *said = "committed";
    (void)snprintf(folder, sizeof folder, "%s/mocap", data ? data : ".");
    for (size_t k = 0; data && k < TEACHERS + sizeof twins / sizeof twins[0]; k++) {
        size_t i = k < TEACHERS ? k : twins[k - TEACHERS].teacher;
        (void)snprintf(teacher, sizeof teacher, "%s/%s", folder,
                       k < TEACHERS ? body_teachers[k] : twins[k - TEACHERS].clip);
        if (!same_file(path, teacher)) continue;
        made = body_teach(folder, i);
        *said = made ? "without this clip" : "none: a teacher is missing";
        return made;
    }
    return body_prior_standard();
}

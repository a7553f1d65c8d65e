// bench_body BVH_FOLDER [PARTS]: how near the body solve comes to recorded motion when it is told
// of PARTS alone (default head,hand_l,hand_r). One JSON line a clip and one for all; what the
// fields mean stands in README.md beside this file.
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/stable_math.h"
#include "server/character/pose/body_prior.h"
#include "server/character/pose/rotation.h"
#include "tests/support/body_teach.h"
#include "tests/support/take.h"

enum { CLIPS_MAX = 4096 };

struct figures {
    double upper_cm, whole_cm, head_mm, hand_mm, head_deg, hand_deg, slide_cm, us;
    double other_mm, limit_deg;
    size_t frames;
};

static double distance(const double a[3], const double b[3])
{
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(vector_dot(d, d));
}

static double degrees_between(const double a[4], const double b[4])
{
    double cosine = fmin(fabs(rotation_dot(a, b)), 1);
    return 2 * stable_atan2(sqrt(1 - cosine * cosine), cosine) * 57.29577951308232;
}

struct foot_track {
    double start[3];
    bool standing;
};

// Beyond the limits, degrees; and how far off the other tracked parts are.
static void look_closer(const struct take *t, const struct human_pose *p, struct figures *f)
{
    for (uint32_t i = 1; i < HUMAN_BONES; i++) {
        const struct human_bone *b = &t->human.bones[i];
        double relative[4];
        if (b->node < 0) continue;
        rotation_from(p->turns[b->parent], p->turns[i], relative);
        f->limit_deg =
            fmax(f->limit_deg, 57.29577951308232 * joint_limit_excess(&b->limit, relative));
    }
}

static void slide(const struct take *t, double solved[HUMAN_BONES][3], unsigned parts,
                  struct foot_track tracks[2], struct figures *f)
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

static struct figures run(const struct take *t, const struct body_prior *prior, unsigned parts)
{
    struct figures f = {.frames = t->frames};
    size_t n = t->joint_count, upper_count = 0;
    double(*truth)[3] = malloc(n * sizeof *truth), (*solved)[3] = malloc(n * sizeof *solved);
    struct body_memory memory;
    struct foot_track tracks[2] = {{{0}, false}};
    double ns = 0;
    body_start(&memory);
    for (size_t i = 0; i < n; i++)
        upper_count += !take_is_leg(t, i);
    for (size_t frame = 0; frame < t->frames; frame++) {
        struct human_pose pose, out;
        struct body_frame in;
        double places[HUMAN_BONES][3], true_places[HUMAN_BONES][3], upper = 0, whole = 0;
        take_pose(t, frame, &pose);
        take_frame(t, &pose, parts, &in);
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        body_solve(&t->human, prior, &in, &memory, &out);
        clock_gettime(CLOCK_MONOTONIC, &to);
        ns += 1e9 * (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec);
        take_places(t, frame, truth);
        take_solved(t, &out, solved);
        size_t head = (size_t)t->human.bones[t->human.trunk_count - 1].node;
        for (size_t i = 0; i < n; i++) {
            double e[3];
            for (int r = 0; r < 3; r++)
                e[r] = (solved[i][r] - solved[head][r]) - (truth[i][r] - truth[head][r]);
            double error = sqrt(vector_dot(e, e));
            whole += error;
            if (!take_is_leg(t, i)) upper += error;
        }
        f.upper_cm += 100 * upper / (double)upper_count / (double)t->frames;
        f.whole_cm += 100 * whole / (double)n / (double)t->frames;
        human_places(&t->human, &out, places);
        human_places(&t->human, &pose, true_places);
        for (int part = 0; part < HUMAN_PART_COUNT; part++) {
            if (!(parts & (1u << part))) continue;
            uint32_t joint = human_part_joint(&t->human, (enum human_part)part);
            uint32_t bone = human_part_bone(&t->human, (enum human_part)part);
            double mm = 1000 * distance(places[joint], in.parts[part].position);
            double deg = degrees_between(out.turns[bone], in.parts[part].rotation);
            double *to_mm = part == HUMAN_HEAD     ? &f.head_mm
                            : part <= HUMAN_HAND_R ? &f.hand_mm
                                                   : &f.other_mm;
            double none = 0, *to_deg = part == HUMAN_HEAD     ? &f.head_deg
                                       : part <= HUMAN_HAND_R ? &f.hand_deg
                                                              : &none;
            *to_mm = fmax(*to_mm, mm);
            *to_deg = fmax(*to_deg, deg);
        }
        look_closer(t, &out, &f);
        slide(t, places, parts, tracks, &f);
    }
    f.us = ns / 1000 / (double)t->frames;
    free(truth);
    free(solved);
    return f;
}

static void print(const char *clip, const struct figures *with, const struct figures *without,
                  const char *prior)
{
    printf("{\"clip\": \"%s\", \"frames\": %zu, \"upper_cm\": %.2f, \"whole_cm\": %.2f, "
           "\"head_mm\": %.3f, \"hand_mm\": %.3f, \"slide_cm\": %.2f, \"us_per_frame\": %.1f, "
           "\"head_deg\": %.3f, \"hand_deg\": %.3f, \"other_mm\": %.1f, \"limit_deg\": %.3f, "
           "\"prior\": \"%s\", \"upper_without_cm\": %.2f, \"whole_without_cm\": %.2f}\n",
           clip, with->frames, with->upper_cm, with->whole_cm, with->head_mm, with->hand_mm,
           fmax(with->slide_cm, without->slide_cm), with->us, with->head_deg, with->hand_deg,
           with->other_mm, with->limit_deg, prior, without->upper_cm, without->whole_cm);
    fflush(stdout);
}

static void add(struct figures *sum, const struct figures *f)
{
    sum->upper_cm += f->upper_cm;
    sum->whole_cm += f->whole_cm;
    sum->us += f->us;
    sum->frames += f->frames;
    sum->head_mm = fmax(sum->head_mm, f->head_mm);
    sum->hand_mm = fmax(sum->hand_mm, f->hand_mm);
    sum->head_deg = fmax(sum->head_deg, f->head_deg);
    sum->hand_deg = fmax(sum->hand_deg, f->hand_deg);
    sum->other_mm = fmax(sum->other_mm, f->other_mm);
    sum->limit_deg = fmax(sum->limit_deg, f->limit_deg);
    sum->slide_cm = fmax(sum->slide_cm, f->slide_cm);
}

static void mean(struct figures *f, double clips)
{
    f->upper_cm /= clips;
    f->whole_cm /= clips;
    f->us /= clips;
}

// Paths of the BVH files of a folder and those below it, sorted.
static size_t list(const char *folder, char **paths, size_t count)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    while (d && (e = readdir(d)) && count < CLIPS_MAX) {
        char path[4096];
        size_t n = strlen(e->d_name);
        if (e->d_name[0] == '.') continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (n > 4 && strcmp(e->d_name + n - 4, ".bvh") == 0)
            paths[count++] = strdup(path);
        else
            count = list(path, paths, count);
    }
    if (d) closedir(d);
    return count;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
    static char *paths[CLIPS_MAX];
    unsigned parts = take_parts(argc > 2 ? argv[2] : "head,hand_l,hand_r");
    if (argc < 2 || argc > 3 || !parts) {
        fprintf(stderr, "usage: bench_body BVH_FOLDER [PARTS]\n"
                        "PARTS: head,hand_l,hand_r,pelvis,chest,shoulder_l,shoulder_r,elbow_l,"
                        "elbow_r,knee_l,knee_r,foot_l,foot_r\n");
        return 2;
    }
    size_t count = list(argv[1], paths, 0), done = 0;
    qsort(paths, count, sizeof *paths, by_text);
    struct figures with_all = {0}, without_all = {0};
    for (size_t i = 0; i < count; i++) {
        struct take t;
        struct fault fault;
        if (!take_open(&t, paths[i], &fault)) {
            fprintf(stderr, "%s: %s\n", paths[i], fault.line);
            take_close(&t);
            continue;
        }
        const char *said;
        const struct body_prior *prior = body_teach_for(paths[i], &said);
        struct figures with = run(&t, prior, parts), without = run(&t, NULL, parts);
        print(paths[i], &with, &without, said);
        add(&with_all, &with);
        add(&without_all, &without);
        done++;
        take_close(&t);
    }
    if (done == 0) {
        fprintf(stderr, "%s: no BVH file that shows a body\n", argv[1]);
        return 1;
    }
    mean(&with_all, (double)done);
    mean(&without_all, (double)done);
    print("all", &with_all, &without_all, "as above");
    return 0;
}

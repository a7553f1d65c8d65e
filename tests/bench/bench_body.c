// bench_body BVH_FOLDER [PARTS]: how near the body solve comes to recorded motion when it is told
// of PARTS alone (default head,hand_l,hand_r). One JSON line a clip and one for all; what the
// fields mean stands in README.md beside this file.
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/body_teach.h"
#include "tests/support/take_score.h"

enum { CLIPS_MAX = 4096 };

static void print(const char *clip, const struct take_score *with, const struct take_score *without,
                  const char *prior)
{
    printf("{\"clip\": \"%s\", \"frames\": %zu, \"upper_cm\": %.2f, \"whole_cm\": %.2f, "
           "\"head_mm\": %.3f, \"hand_mm\": %.3f, \"slide_cm\": %.2f, \"us_per_frame\": %.1f, "
           "\"head_deg\": %.3f, \"hand_deg\": %.3f, \"hands_met\": %zu, \"other_mm\": %.1f, "
           "\"limit_deg\": %.3f, "
           "\"prior\": \"%s\", \"upper_without_cm\": %.2f, \"whole_without_cm\": %.2f}\n",
           clip, with->frames, with->upper_cm, with->whole_cm, with->head_mm, with->hand_mm,
           fmax(with->slide_cm, without->slide_cm), with->us, with->head_deg, with->hand_deg,
           with->hands_met, with->other_mm, with->limit_deg, prior, without->upper_cm,
           without->whole_cm);
    fflush(stdout);
}

static void add(struct take_score *sum, const struct take_score *f)
{
    sum->upper_cm += f->upper_cm;
    sum->whole_cm += f->whole_cm;
    sum->us += f->us;
    sum->frames += f->frames;
    sum->hands_met += f->hands_met;
    sum->head_mm = fmax(sum->head_mm, f->head_mm);
    sum->hand_mm = fmax(sum->hand_mm, f->hand_mm);
    sum->head_deg = fmax(sum->head_deg, f->head_deg);
    sum->hand_deg = fmax(sum->hand_deg, f->hand_deg);
    sum->other_mm = fmax(sum->other_mm, f->other_mm);
    sum->limit_deg = fmax(sum->limit_deg, f->limit_deg);
    sum->slide_cm = fmax(sum->slide_cm, f->slide_cm);
}

static void mean(struct take_score *f, double clips)
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
    struct take_score with_all = {0}, without_all = {0};
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
        struct take_score with = take_score(&t, prior, parts),
                          without = take_score(&t, NULL, parts);
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

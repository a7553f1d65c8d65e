#include "tests/stage/dance.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/file.h"
#include "server/bake/bake.h"
#include "server/model/lookup.h"

// A folder with what stands beside the rig file.
static void link_folder(const char *from, const char *to)
{
    DIR *open = opendir(from);
    char target[4096], path[1024];
    CHECK(open != NULL);
    for (struct dirent *e; (e = readdir(open)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        (void)snprintf(target, sizeof target, "%s/%s", from, e->d_name);
        (void)snprintf(path, sizeof path, "%s/%s", to, e->d_name);
        CHECK(symlink(target, path) == 0);
    }
    (void)closedir(open);
}

static void remove_folder(const char *folder)
{
    DIR *open = opendir(folder);
    char path[1024];
    CHECK(open != NULL);
    for (struct dirent *e; (e = readdir(open)) != NULL;) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.') (void)unlink(path);
    }
    (void)closedir(open);
    (void)rmdir(folder);
}

static char *changed_rig(const char *rig, const char *extras, bool plain)
{
    static const char *const dropped[] = {"drivers", "face"};
    uint8_t *bytes;
    size_t size;
    CHECK(file_read(rig, 1u << 24, &bytes, &size, NULL) == ERR_OK);
    cJSON *json = cJSON_ParseWithLength((const char *)bytes, size);
    free(bytes);
    CHECK(json != NULL);
    for (size_t i = 0; i < 2 && plain; i++)
        cJSON_DeleteItemFromObject(json, dropped[i]);
    if (!plain) cJSON_DeleteItemFromObject(json, "face");
    if (extras) {
        cJSON *list = cJSON_Parse(extras);
        CHECK(list != NULL);
        cJSON_DeleteItemFromObject(json, "extras");
        cJSON_AddItemToObject(json, "extras", list);
    }
    char *text = cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
    CHECK(text != NULL);
    return text;
}

bool dance_open(struct dance *d, const char *rig, const char *extras, bool plain, char *line)
{
    char from[2048], folder[] = "/tmp/sinew_dance_XXXXXX", path[64];
    struct bake_result baked = {0};
    struct fault fault = {0};
    char *text = changed_rig(rig, extras, plain);
    *d = (struct dance){0};
    CHECK(mkdtemp(folder) != NULL && getcwd(from, sizeof from / 2) != NULL);
    size_t length = strlen(from);
    (void)snprintf(from + length, sizeof from - length, "/%.*s", (int)(strrchr(rig, '/') - rig),
                   rig);
    link_folder(from, folder);
    (void)snprintf(path, sizeof path, "%s/changed.json", folder);
    CHECK(file_write_atomic(path, text, strlen(text), NULL) == ERR_OK);
    cJSON_free(text);
    enum err e = bake_run(path, NULL, &baked, &fault);
    if (e == ERR_OK) e = model_file_from_bytes(baked.bytes, baked.size_bytes, &d->file, &fault);
    bake_free(&baked);
    remove_folder(folder);
    if (line) (void)snprintf(line, sizeof fault.line, "%s", fault.line);
    if (e != ERR_OK && !line) printf("  %s\n", fault.line);
    if (e != ERR_OK) return false;
    d->model = model_file_model(d->file);
    CHECK(arena_create(&d->arena, face_map_bytes(d->model) + correct_map_bytes(d->model) + 4096));
    face_map_build(d->model, &d->arena, &d->map);
    correct_map_build(d->model, NULL, &d->arena, &d->correct);
    for (int r = 0; r < 3; r++) {
        double side = (double)d->model->info->box_max[r] - (double)d->model->info->box_min[r];
        d->diagonal += side * side;
    }
    d->diagonal = sqrt(d->diagonal);
    return true;
}

void dance_close(struct dance *d)
{
    arena_destroy(&d->arena);
    model_file_unref(d->file);
    *d = (struct dance){0};
}

void dance_body(const struct dance *d, const char *clip, int without, struct body *out)
{
    uint32_t found = 0;
    if (clip) CHECK(lookup_name(d->model, LOOKUP_CLIP, clip, "test", &found, NULL) == ERR_OK);
    struct body_options options = {.model = d->model,
                                   .map = &d->map,
                                   .correct = &d->correct,
                                   .default_clip = clip ? (int32_t)found : MODEL_NONE,
                                   .skinning = d->model->info->skinning,
                                   .level = simd_best(),
                                   .plugins = d->plugins,
                                   .without_extras = (without & DANCE_EXTRAS) != 0,
                                   .without_correctives = (without & DANCE_CORRECTIVES) != 0,
                                   .without_springs = (without & DANCE_SPRINGS) != 0};
    CHECK(body_create(&options, out) == ERR_OK);
}

void dance_to(struct body *b, double age_s)
{
    if (body_pose(b, age_s)) body_run(b);
}

static double coordinate(const struct body *b, size_t v, int r)
{
    uint32_t lane = b->options.model->vertex_lanes[v];
    return (double)b->blocks[lane / MODEL_LANES].position[r][lane % MODEL_LANES];
}

double dance_distance(const struct body *a, const struct body *b)
{
    double worst = 0;
    for (size_t v = 0; v < model_vertex_count(a->options.model); v++) {
        double square = 0;
        for (int r = 0; r < 3; r++)
            square += pow(coordinate(a, v, r) - coordinate(b, v, r), 2);
        worst = square >= 0 ? fmax(worst, square) : HUGE_VAL; // not of NaN
    }
    return sqrt(worst);
}

double dance_difference(const struct body *a, const struct body *b, const struct body *c,
                        const struct body *d)
{
    double worst = 0;
    for (size_t v = 0; v < model_vertex_count(a->options.model); v++)
        for (int r = 0; r < 3; r++) {
            double x = (coordinate(a, v, r) - coordinate(b, v, r)) -
                       (coordinate(c, v, r) - coordinate(d, v, r));
            worst = x == x ? fmax(worst, fabs(x)) : HUGE_VAL;
        }
    return worst;
}

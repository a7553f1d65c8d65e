#include "tests/support/sculpt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/file.h"
#include "server/bake/bake.h"
#include "server/model/lookup.h"

static struct quat turned(struct quat rest, const float axis[3], float angle)
{
    double n = sqrt((double)(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]));
    double s = sin((double)angle / 2) / n, w = cos((double)angle / 2);
    double x = (double)axis[0] * s, y = (double)axis[1] * s, z = (double)axis[2] * s;
    double rx = (double)rest.x, ry = (double)rest.y, rz = (double)rest.z, rw = (double)rest.w;
    return (struct quat){
        (float)(rw * x + rx * w + ry * z - rz * y), (float)(rw * y - rx * z + ry * w + rz * x),
        (float)(rw * z + rx * y - ry * x + rz * w), (float)(rw * w - rx * x - ry * y - rz * z)};
}

void sculpt_pose(const struct stand *s, const struct sculpt_example *e)
{
    pose_rest(s->model, s->pose);
    for (int i = 0; i < 3 && e->driver_joint[i]; i++) {
        uint32_t node;
        CHECK(lookup_name(s->model, LOOKUP_NODE, e->driver_joint[i], "test", &node, NULL) ==
              ERR_OK);
        struct trs *local = &s->pose.locals[node];
        local->rotation = turned(local->rotation, e->axis[i], e->angle_rad[i]);
    }
}

double sculpt_diagonal(const struct stand *s)
{
    double low[3] = {1e30, 1e30, 1e30}, high[3] = {-1e30, -1e30, -1e30}, sum = 0;
    for (size_t i = 0; i < model_vertex_count(s->model) * 3; i++) {
        low[i % 3] = fmin(low[i % 3], (double)s->positions[i]);
        high[i % 3] = fmax(high[i % 3], (double)s->positions[i]);
    }
    for (int r = 0; r < 3; r++)
        sum += (high[r] - low[r]) * (high[r] - low[r]);
    return sqrt(sum);
}

// A smooth field of the place in the rest pose, so that twins move alike: a few waves.
static void push(float *y, const float *rest, size_t count, const struct sculpt_example *e,
                 double size, const double center[3])
{
    double seed = (double)e->seed;
    for (size_t v = 0; v < count; v++) {
        double d = 0;
        for (size_t r = 0; r < 3; r++)
            d += pow((double)rest[v * 3 + r] - center[r], 2);
        d = e->radius > 0 ? fmax(0, 1 - d / (double)(e->radius * e->radius)) : 1;
        for (size_t r = 0; d > 0 && r < 3; r++) {
            double phase = seed * (1.7 + (double)r);
            for (size_t k = 0; k < 3; k++)
                phase += (double)rest[v * 3 + k] / size * (7 + (double)((e->seed * (k + 3)) % 5));
            y[v * 3 + r] += e->amount * (float)(d * d * sin(phase));
        }
    }
}

static void write_pose(FILE *f, const struct stand *s, const struct sculpt_example *e)
{
    (void)fprintf(f, "{\"joints\": {");
    for (int i = 0; i < 3 && e->driver_joint[i]; i++) {
        uint32_t node;
        CHECK(lookup_name(s->model, LOOKUP_NODE, e->driver_joint[i], "test", &node, NULL) ==
              ERR_OK);
        struct quat q = s->pose.locals[node].rotation;
        (void)fprintf(f, "%s\"%s\": {\"rotation\": [%.9g, %.9g, %.9g, %.9g]}", i ? ", " : "",
                      e->driver_joint[i], (double)q.x, (double)q.y, (double)q.z, (double)q.w);
    }
    (void)fprintf(f, "}}");
}

static void joint_place(const struct stand *s, const struct sculpt_example *e, double out[3])
{
    const struct model *m = s->model;
    struct xform *nodes = malloc(m->nodes_count * sizeof *nodes);
    uint32_t node;
    CHECK(nodes != NULL &&
          lookup_name(m, LOOKUP_NODE, e->driver_joint[0], "test", &node, NULL) == ERR_OK);
    pose_rest(m, s->pose);
    skeleton_model_from_nodes(m, s->pose.locals, nodes);
    memcpy(out, nodes[node].col[3], 3 * sizeof *out);
    free(nodes);
    sculpt_pose(s, e);
}

static void write_example(FILE *f, struct sculpt *s, enum model_skinning skinning,
                          const struct sculpt_example *e, const float *rest, double size)
{
    size_t count = model_vertex_count(s->source.model);
    char path[128];
    float *y = malloc(count * 3 * sizeof *y);
    CHECK(y != NULL);
    sculpt_pose(&s->source, e);
    stand_evaluate(&s->source, skinning, SIMD_PLAIN);
    memcpy(y, s->source.positions, count * 3 * sizeof *y);
    double center[3];
    joint_place(&s->source, e, center);
    if (e->seed) push(y, rest, count, e, size, center);
    (void)snprintf(path, sizeof path, "%s/%zu.f32", s->folder, s->surface_count);
    CHECK(file_write_atomic(path, y, count * 3 * sizeof *y, NULL) == ERR_OK);
    (void)fprintf(f, "{\"name\": \"%s\", \"surface\": {\"file\": \"%zu.f32\"}, \"pose\": ", e->name,
                  s->surface_count);
    write_pose(f, &s->source, e);
    (void)fprintf(f, "}");
    s->surfaces = realloc(s->surfaces, (s->surface_count + 1) * sizeof *s->surfaces);
    CHECK(s->surfaces != NULL);
    s->surfaces[s->surface_count++] = y;
}

static void write_driver(FILE *f, struct sculpt *s, enum model_skinning skinning,
                         const struct sculpt_driver *d, const float *rest, double size)
{
    if (d->mirror_of) {
        (void)fprintf(f, "{\"name\": \"%s\", \"mirror_of\": \"%s\"}", d->name, d->mirror_of);
        return;
    }
    (void)fprintf(f, "{\"name\": \"%s\", %s%s\"joints\": [", d->name, d->settings,
                  *d->settings ? ", " : "");
    for (size_t j = 0; j < d->joint_count; j++)
        (void)fprintf(f, "%s{\"joint\": \"%s\", \"read\": \"%s\"%s%s}", j ? ", " : "",
                      d->joints[j].name, d->joints[j].read, d->joints[j].more ? ", " : "",
                      d->joints[j].more ? d->joints[j].more : "");
    (void)fprintf(f, "], \"examples\": [");
    for (size_t e = 0; e < d->example_count; e++) {
        if (e) (void)fprintf(f, ",\n");
        write_example(f, s, skinning, &d->examples[e], rest, size);
    }
    (void)fprintf(f, "]}");
}

static void copy_source(const struct sculpt *s, const char *source)
{
    char path[128];
    uint8_t *bytes;
    size_t size;
    CHECK(file_read(source, 256u << 20, &bytes, &size, NULL) == ERR_OK);
    (void)snprintf(path, sizeof path, "%s/source.glb", s->folder);
    CHECK(file_write_atomic(path, bytes, size, NULL) == ERR_OK);
    free(bytes);
}

static _Bool bake(struct sculpt *s, const char *rig_path, char *line)
{
    struct bake_result result = {0};
    struct fault fault = {0};
    struct model_file *file = NULL;
    enum err e = bake_run(rig_path, NULL, &result, &fault);
    if (e == ERR_OK) e = model_file_from_bytes(result.bytes, result.size_bytes, &file, &fault);
    bake_free(&result);
    if (line) (void)snprintf(line, sizeof fault.line, "%s", fault.line);
    if (e == ERR_OK) return stand_take(&s->stand, file);
    if (!line) printf("  %s\n", fault.line);
    return 0;
}

_Bool sculpt_bake(struct sculpt *s, const char *source, const char *skinning,
                  const struct sculpt_driver *drivers, size_t driver_count, char *line)
{
    return sculpt_bake_with(s, source, skinning, drivers, driver_count, "", line);
}

_Bool sculpt_bake_with(struct sculpt *s, const char *source, const char *skinning,
                       const struct sculpt_driver *drivers, size_t driver_count, const char *more,
                       char *line)
{
    char path[128];
    *s = (struct sculpt){.folder = "/tmp/sinew_sculpt_XXXXXX"};
    CHECK(mkdtemp(s->folder) != NULL);
    if (!stand_open(&s->source, source)) return 0;
    copy_source(s, source);
    stand_evaluate(&s->source, MODEL_LBS, SIMD_PLAIN);
    double size = sculpt_diagonal(&s->source);
    size_t count = model_vertex_count(s->source.model);
    float *rest = malloc(count * 3 * sizeof *rest);
    CHECK(rest != NULL);
    memcpy(rest, s->source.positions, count * 3 * sizeof *rest);
    (void)snprintf(path, sizeof path, "%s/rig.json", s->folder);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    (void)fprintf(f,
                  "{\"sinew_rig\": 1, \"source\": \"source.glb\", \"skinning\": \"%s\", "
                  "%s\"drivers\": [",
                  skinning, more);
    for (size_t i = 0; i < driver_count; i++) {
        if (i) (void)fprintf(f, ",\n");
        write_driver(f, s, strcmp(skinning, "dq") == 0 ? MODEL_DQ : MODEL_LBS, &drivers[i], rest,
                     size);
    }
    (void)fprintf(f, "]}\n");
    CHECK(fclose(f) == 0);
    free(rest);
    return bake(s, path, line);
}

void sculpt_close(struct sculpt *s)
{
    char path[128];
    for (size_t i = 0; i < s->surface_count; i++) {
        (void)snprintf(path, sizeof path, "%s/%zu.f32", s->folder, i);
        (void)unlink(path);
        free(s->surfaces[i]);
    }
    free(s->surfaces);
    (void)snprintf(path, sizeof path, "%s/source.glb", s->folder);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/rig.json", s->folder);
    (void)unlink(path);
    (void)rmdir(s->folder);
    stand_close(&s->source);
    stand_close(&s->stand);
}

// Edits of a baked model: what was sculpted is shown, what was to be kept is kept, what nobody
// touched keeps its bits.
#include <cjson/cJSON.h>
#include <time.h>

#include "common/file.h"
#include "server/bake/bake.h"
#include "server/bake/edit.h"
#include "server/character/pose/customise.h"
#include "server/model/container.h"
#include "server/model/model_file.h"
#include "tests/support/stand.h"
#include "tests/testing.h"
int testing_failures;

static const char mira[] = "tests/assets/characters/mira.rig.json";
static struct model_file *file;
static const struct model *model;

static int32_t example_of(const struct model *m, const char *driver, size_t place)
{
    for (size_t i = 0; i < m->drivers_count; i++)
        if (strcmp(model_text(m, m->drivers[i].name), driver) == 0 &&
            place < m->drivers[i].example_count)
            return (int32_t)(m->drivers[i].example_first + place);
    return -1;
}

static float *surface_of(const struct model *m, int32_t example)
{
    struct fault fault = {0};
    float *out = malloc(model_vertex_count(m) * 3 * sizeof *out);
    if (edit_surface(m, example, out, &fault) != ERR_OK) printf("  %s\n", fault.line);
    return out;
}

static struct model_file *apply(const struct model *m, struct edit *step, struct edit_result *r)
{
    struct fault fault = {0};
    struct model_file *out = NULL;
    if (edit_apply(m, step, 1, r, &fault) != ERR_OK) {
        printf("  %s\n", fault.line);
        return NULL;
    }
    EXPECT(model_file_from_bytes(r->bytes, r->size_bytes, &out, &fault) == ERR_OK);
    return out;
}

static double largest_difference(const float *a, const float *b, size_t vertices)
{
    double worst = 0;
    for (size_t v = 0; v < vertices; v++) {
        double d = 0;
        for (size_t r = 0; r < 3; r++)
            d += pow((double)a[v * 3 + r] - (double)b[v * 3 + r], 2);
        worst = fmax(worst, sqrt(d));
    }
    return worst;
}

// A dent around the vertex that this example moves most.
static void push(const struct model *m, int32_t example, float *surface)
{
    uint32_t center = 0;
    float best = -1;
    for (size_t i = 0; i < m->example_deltas_count; i++) {
        const struct model_example_delta *d = &m->example_deltas[i];
        float size = fabsf(d->delta.x) + fabsf(d->delta.y) + fabsf(d->delta.z);
        if (d->example != (uint32_t)example || size <= best) continue;
        best = size;
        center = d->vertex;
    }
    const float c[3] = {surface[center * 3], surface[center * 3 + 1], surface[center * 3 + 2]};
    for (size_t v = 0; v < model_vertex_count(m); v++) {
        float *p = surface + v * 3;
        float d = hypotf(hypotf(p[0] - c[0], p[1] - c[1]), p[2] - c[2]);
        if (d < 0.05f) p[2] += 0.01f * (1 - d / 0.05f);
    }
}

// The frame at the example's pose, as a stream evaluates it.
static double off_in_a_frame(struct model_file *f, int32_t example, const float *want)
{
    struct stand s;
    EXPECT(stand_take(&s, model_file_ref(f)));
    const struct model *m = s.model;
    memcpy(s.pose.locals, m->example_poses + (size_t)example * m->nodes_count,
           m->nodes_count * sizeof *s.pose.locals);
    for (size_t i = 0; i < m->channels_count; i++)
        s.pose.weights[i] = m->channels[i].default_weight;
    stand_evaluate(&s, (enum model_skinning)m->info->skinning, simd_best());
    double off = largest_difference(s.positions, want, model_vertex_count(m));
    stand_close(&s);
    return off;
}

static void a_sculpt_is_shown_and_the_rest_keeps_its_bits(void)
{
    int32_t e = example_of(model, "elbow_l", 1);
    float *surface = surface_of(model, e);
    size_t vertices = model_vertex_count(model);
    EXPECT(e >= 0);
    push(model, e, surface);
    float *copy = malloc(vertices * 12);
    memcpy(copy, surface, vertices * 12);
    struct edit step = {
        .kind = EDIT_SURFACE, .example = e, .bytes = (uint8_t *)copy, .size_bytes = vertices * 12};
    struct edit_result r;
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    struct model_file *f = apply(model, &step, &r);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    if (!f) {
        EXPECT(f);
        return;
    }
    const struct model *now = model_file_model(f);
    float *back = surface_of(now, e);
    double off = off_in_a_frame(f, e, surface);
    printf("  edit of %u vertices in %.0f ms, %zu bytes; off by %.2g, in a frame by %.2g; solved "
           "%.24s\n",
           r.moved, (double)(t1.tv_sec - t0.tv_sec) * 1e3 + (double)(t1.tv_nsec - t0.tv_nsec) / 1e6,
           r.size_bytes, largest_difference(back, surface, vertices), off,
           strstr(r.report, "solved"));
    EXPECT(largest_difference(back, surface, vertices) < 1e-5);
    EXPECT(off < 1e-4 * 1.7);
    EXPECT_NEAR(r.largest_move, 0.01, 1e-4);
    // Only this driver and its mirror image were solved.
    cJSON *report = cJSON_Parse(r.report), *solved = cJSON_GetObjectItem(report, "solved");
    EXPECT(cJSON_GetArraySize(solved) >= 1 && cJSON_GetArraySize(solved) <= 2);
    cJSON_Delete(report);
    size_t same = 0;
    for (size_t i = 0; i < model->examples_count; i++)
        same += model->examples[i].residual == now->examples[i].residual;
    EXPECT(same >= model->examples_count / 2);
    EXPECT(now->weld_count == model->weld_count &&
           memcmp(now->rest, model->rest, model->rest_count * sizeof *model->rest) == 0);
    // An edit that puts the old surface back gives the old surface.
    float *old = surface_of(model, e);
    struct edit undo = {
        .kind = EDIT_SURFACE, .example = e, .bytes = (uint8_t *)old, .size_bytes = vertices * 12};
    struct edit_result r2;
    struct model_file *f2 = apply(now, &undo, &r2);
    float *again = surface_of(model_file_model(f2), e), *first = surface_of(model, e);
    EXPECT(largest_difference(again, first, vertices) < 1e-5);
    EXPECT(off_in_a_frame(f2, e, first) < 1e-4 * 1.7);
    free(again), free(first), free(old), free(back), free(copy), free(surface);
    model_file_unref(f2);
    model_file_unref(f);
    edit_free(&r2);
    edit_free(&r);
}

// The frame of a stand at a pose between examples: elbow and wrist turned.
static void between(struct stand *s, float elbow, float wrist)
{
    static const char *const joints[] = {"leftLowerArm", "leftHand", "rightLowerArm"};
    const float angles[] = {elbow, wrist, -elbow};
    const struct model *m = s->model;
    pose_rest(m, s->pose);
    for (size_t i = 0; i < m->nodes_count; i++)
        for (int k = 0; k < 3; k++)
            if (strcmp(model_text(m, m->nodes[i].name), joints[k]) == 0)
                s->pose.locals[i].rotation = quat_normalise((struct quat){
                    0.1f * angles[k], -sinf(angles[k] / 2), 0.05f, cosf(angles[k] / 2)});
    stand_evaluate(s, (enum model_skinning)m->info->skinning, simd_best());
}

// What an edit makes is what a bake of the changed source would make.
static void an_edit_is_as_good_as_a_whole_bake(void)
{
    int32_t e = example_of(model, "elbow_l", 1);
    size_t vertices = model_vertex_count(model);
    float *surface = surface_of(model, e);
    struct bake_result baked = {0};
    struct fault fault = {0};
    struct edit_result r;
    char path[256];
    push(model, e, surface);
    char folder[] = "/tmp/sinew-edit-XXXXXX", rig_path[128], command[256];
    EXPECT(mkdtemp(folder));
    snprintf(command, sizeof command, "cp -r tests/assets/characters/mira* %s/", folder);
    EXPECT(system(command) == 0);
    snprintf(rig_path, sizeof rig_path, "%s/mira.rig.json", folder);
    snprintf(path, sizeof path, "%s/pushed.f32", folder);
    FILE *f = fopen(path, "wb");
    EXPECT(f && fwrite(surface, 12, vertices, f) == vertices);
    fclose(f);
    uint8_t *text;
    size_t size;
    EXPECT(file_read(rig_path, 1 << 20, &text, &size, &fault) == ERR_OK);
    cJSON *rig = cJSON_Parse((char *)text), *d, *x;
    cJSON_ArrayForEach(d, cJSON_GetObjectItem(rig, "drivers"))
    {
        if (strcmp(cJSON_GetObjectItem(d, "name")->valuestring, "elbow_l") != 0) continue;
        x = cJSON_GetArrayItem(cJSON_GetObjectItem(d, "examples"), 1);
        cJSON_ReplaceItemInObject(x, "surface", cJSON_Parse("{\"file\": \"pushed.f32\"}"));
    }
    char *printed = cJSON_PrintUnformatted(rig);
    EXPECT(file_write_atomic(rig_path, printed, strlen(printed), &fault) == ERR_OK);
    EXPECT(bake_run(rig_path, NULL, &baked, &fault) == ERR_OK);
    if (fault.line[0]) printf("  %s\n", fault.line);
    struct model_file *whole = NULL;
    EXPECT(model_file_from_bytes(baked.bytes, baked.size_bytes, &whole, &fault) == ERR_OK);
    struct edit step = {.kind = EDIT_SURFACE,
                        .example = e,
                        .bytes = (uint8_t *)surface,
                        .size_bytes = vertices * 12};
    struct model_file *edited = apply(model, &step, &r);
    struct stand a, b;
    EXPECT(stand_take(&a, whole) && stand_take(&b, edited));
    double worst = 0;
    for (int i = 0; i <= 20; i++) {
        between(&a, 0.13f * (float)i, 0.07f * (float)i);
        between(&b, 0.13f * (float)i, 0.07f * (float)i);
        worst = fmax(worst, largest_difference(a.positions, b.positions, vertices));
    }
    printf("  over 21 poses at most %.2g apart\n", worst);
    EXPECT(worst < 1e-5 * 1.9);
    stand_close(&a);
    stand_close(&b);
    cJSON_Delete(rig);
    cJSON_free(printed);
    free(text), free(surface);
    bake_free(&baked);
    edit_free(&r);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    EXPECT(system(command) == 0);
}

static void a_new_pose_keeps_the_surface_or_the_deltas(void)
{
    int32_t e = example_of(model, "elbow_l", 1);
    size_t vertices = model_vertex_count(model), nodes = model->nodes_count;
    float *before = surface_of(model, e);
    uint32_t joint =
        model
            ->driver_joints[model->solves[model->drivers[model->examples[e].driver].solve_first]
                                .joint_first]
            .node;
    const struct quat q = model->example_poses[(size_t)e * nodes + joint].rotation;
    char text[256];
    snprintf(text, sizeof text, "{\"joints\": {\"#%u\": {\"rotation\": [%.6f, %.6f, %.6f, %.6f]}}}",
             model->nodes[joint].source, (double)q.x, (double)q.y, (double)q.z + 0.15, (double)q.w);
    for (int keep = 0; keep < 2; keep++) {
        cJSON *pose = cJSON_Parse(text);
        struct edit step = {
            .kind = EDIT_POSE, .example = e, .pose = pose, .keep_surface = keep == 1};
        struct edit_result r;
        struct model_file *f = apply(model, &step, &r);
        const struct model *now = model_file_model(f);
        float *after = surface_of(now, e);
        if (keep) {
            double off = largest_difference(after, before, vertices);
            printf("  surface kept to %.2g\n", off);
            EXPECT(off <= 1e-5);
            EXPECT(off_in_a_frame(f, e, before) < 1e-4 * 1.7);
        } else {
            // The same deltas, bit for bit where no vertex changed its transform.
            size_t a = 0, b = 0, checked = 0;
            double worst = 0;
            for (; a < model->example_deltas_count; a++) {
                if (model->example_deltas[a].example != (uint32_t)e) continue;
                while (b < now->example_deltas_count &&
                       (now->example_deltas[b].example != (uint32_t)e ||
                        now->example_deltas[b].vertex < model->example_deltas[a].vertex))
                    b++;
                EXPECT(b < now->example_deltas_count);
                worst = fmax(worst, fabs((double)model->example_deltas[a].delta.x -
                                         (double)now->example_deltas[b].delta.x));
                checked++;
            }
            printf("  %zu deltas kept to %.2g\n", checked, worst);
            EXPECT(checked > 0 && worst <= 1e-5);
            EXPECT(largest_difference(after, before, vertices) > 1e-3);
        }
        free(after);
        cJSON_Delete(pose);
        edit_free(&r);
        model_file_unref(f);
    }
    free(before);
}

static void a_new_base_surface_keeps_sculpts_or_deltas(void)
{
    int32_t e = example_of(model, "elbow_l", 1);
    size_t vertices = model_vertex_count(model);
    float *base = surface_of(model, EDIT_BASE), *before = surface_of(model, e);
    // Everything swells a little, by a smooth field, so that twins stay together.
    for (size_t v = 0; v < vertices; v++) {
        float *p = base + v * 3;
        p[0] += 0.004f * sinf(9 * p[1]);
        p[2] += 0.004f * cosf(7 * p[1]);
    }
    for (int keep = 0; keep < 2; keep++) {
        float *copy = malloc(vertices * 12);
        memcpy(copy, base, vertices * 12);
        struct edit step = {.kind = EDIT_SURFACE,
                            .example = EDIT_BASE,
                            .bytes = (uint8_t *)copy,
                            .size_bytes = vertices * 12,
                            .keep_sculpts = keep == 1};
        struct edit_result r;
        struct model_file *f = apply(model, &step, &r);
        const struct model *now = model_file_model(f);
        float *now_base = surface_of(now, EDIT_BASE), *after = surface_of(now, e);
        EXPECT(largest_difference(now_base, base, vertices) <= 1e-7);
        EXPECT(r.moved > vertices / 2);
        if (keep) {
            double off = largest_difference(after, before, vertices);
            printf("  every sculpt kept to %.2g\n", off);
            EXPECT(off <= 1e-5);
        } else {
            EXPECT(now->example_deltas_count == model->example_deltas_count);
            EXPECT(memcmp(now->example_deltas, model->example_deltas,
                          model->example_deltas_count * sizeof *now->example_deltas) == 0);
        }
        EXPECT(now->indices_count == model->indices_count);
        free(now_base), free(after), free(copy);
        edit_free(&r);
        model_file_unref(f);
    }
    free(base), free(before);
}

static void a_new_example_and_its_mirror_image(void)
{
    int32_t e;
    struct edit_result r, r2;
    cJSON *pose =
        cJSON_Parse("{\"joints\": {\"leftLowerArm\": {\"rotation\": [0.1, 0.2, 0.3, 0.93]}}}");
    struct edit step = {.kind = EDIT_NEW, .driver = "elbow_l", .name = "odd", .pose = pose};
    struct model_file *f = apply(model, &step, &r);
    EXPECT(f);
    if (!f) return;
    const struct model *now = model_file_model(f);
    EXPECT(now->examples_count >= model->examples_count + 1);
    e = example_of(now, "elbow_l", model->drivers[0].example_count);
    for (size_t i = 0; i < now->examples_count; i++)
        if (strcmp(model_text(now, now->examples[i].name), "odd") == 0 && e < 0) e = (int32_t)i;
    for (size_t i = 0; i < now->example_deltas_count; i++)
        EXPECT(strcmp(model_text(now, now->examples[now->example_deltas[i].example].name), "odd"));
    // The mirrored driver stops following once it is edited itself.
    int32_t right = example_of(now, "elbow_r", 0);
    float *surface = surface_of(now, right);
    push(now, right, surface);
    struct edit other = {.kind = EDIT_SURFACE,
                         .example = right,
                         .bytes = (uint8_t *)surface,
                         .size_bytes = model_vertex_count(now) * 12};
    struct model_file *f2 = apply(now, &other, &r2);
    EXPECT(f2);
    if (f2) {
        EXPECT(strstr(model_file_model(f2)->rig_json, "elbow_r"));
        struct edit_result r3;
        struct edit mirror = {.kind = EDIT_MIRROR, .example = example_of(now, "elbow_r", 0)};
        struct model_file *f3 = apply(model_file_model(f2), &mirror, &r3);
        EXPECT(f3 && strcmp(r3.mirror_driver, "elbow_l") == 0);
        edit_free(&r3);
        model_file_unref(f3);
    }
    free(surface);
    cJSON_Delete(pose);
    edit_free(&r);
    edit_free(&r2);
    model_file_unref(f);
    model_file_unref(f2);
}

static void refuse(struct edit step, enum err want)
{
    struct edit_result r;
    struct fault fault = {0};
    enum err e = edit_apply(model, &step, 1, &r, &fault);
    if (e != want) printf("  %s: %s\n", err_name(e), fault.line);
    EXPECT(e == want);
    EXPECT(!r.bytes && !r.report);
    if (e == ERR_OK) edit_free(&r);
}

static void wrong_surfaces_are_refused(void)
{
    int32_t e = example_of(model, "elbow_l", 1);
    size_t bytes = model_vertex_count(model) * 12;
    float *s = surface_of(model, e);
    struct edit step = {
        .kind = EDIT_SURFACE, .example = e, .bytes = (uint8_t *)s, .size_bytes = bytes - 12};
    refuse(step, ERR_MALFORMED);
    step.size_bytes = bytes - 1;
    refuse(step, ERR_MALFORMED);
    step.size_bytes = bytes;
    s[7] = NAN;
    refuse(step, ERR_MALFORMED);
    s[7] = 1000;
    refuse(step, ERR_DENIED);
    struct edit_delta deltas[] = {{5, {0, 0, 0}}, {5, {0, 0, 0}}};
    refuse((struct edit){.kind = EDIT_DELTAS, .example = e, .deltas = deltas, .delta_count = 2},
           ERR_MALFORMED);
    deltas[1].vertex = (uint32_t)model_vertex_count(model);
    refuse((struct edit){.kind = EDIT_DELTAS, .example = e, .deltas = deltas, .delta_count = 2},
           ERR_MALFORMED);
    refuse((struct edit){.kind = EDIT_DELTAS, .example = 1 << 20}, ERR_NOT_FOUND);
    free(s);
}

static void try_hostile(const struct model *hostile)
{
    size_t size = container_size(hostile);
    uint8_t *bytes = malloc(size);
    struct model_file *f = NULL;
    struct fault fault = {0};
    container_write(hostile, bytes);
    enum err e = model_file_from_bytes(bytes, size, &f, &fault);
    if (e == ERR_OK) { // what the loader lets in, an edit has to refuse
        struct edit_result r;
        struct edit_delta d = {1, {0, 0, 0.001f}};
        struct edit step = {.kind = EDIT_DELTAS, .example = 1, .deltas = &d, .delta_count = 1};
        e = edit_apply(model_file_model(f), &step, 1, &r, &fault);
        if (e == ERR_OK) edit_free(&r);
        model_file_unref(f);
    }
    if (e == ERR_OK) printf("  was taken\n");
    EXPECT(e != ERR_OK && fault.line[0]);
    free(bytes);
}

static void authoring_tables_of_anyone_are_checked(void)
{
    static const char *const rigs[] = {
        "{\"sinew_rig\": 1, \"drivers\": [{}]}",
        "{",
        "[]",
        "{\"sinew_rig\": 1}",
        "{\"sinew_rig\": 1, \"drivers\": [{\"name\": \"a\", \"joints\": 3}]}",
        "{\"sinew_rig\": 1, \"drivers\": [{\"joints\": [{\"axis\": 3}]}]}"};
    struct model m = *model;
    for (size_t i = 0; i < sizeof rigs / sizeof rigs[0]; i++) {
        m.rig_json = rigs[i];
        m.rig_json_count = strlen(rigs[i]) + 1;
        try_hostile(&m);
    }
    m = *model;
    m.rig_json_count--;
    try_hostile(&m);
    m = *model;
    struct model_example *examples = malloc(m.examples_count * sizeof *examples);
    memcpy(examples, m.examples, m.examples_count * sizeof *examples);
    m.examples = examples;
    examples[1].center = 1u << 30;
    try_hostile(&m);
    examples[1] = model->examples[1];
    examples[1].driver = (uint32_t)m.drivers_count - 1;
    try_hostile(&m);
    m = *model;
    struct model_example_delta *deltas = malloc(m.example_deltas_count * sizeof *deltas);
    memcpy(deltas, m.example_deltas, m.example_deltas_count * sizeof *deltas);
    m.example_deltas = deltas;
    deltas[3].vertex = deltas[2].vertex;
    try_hostile(&m);
    deltas[3] = model->example_deltas[3];
    deltas[3].delta.y = NAN;
    try_hostile(&m);
    free(deltas);
    free(examples);
}

// --- correction meshes --------------------------------------------------------------------------

// The surface of a correction, as a stream shows it with that parameter and that shape.
static double off_when_customised(struct model_file *f, const char *shape, const char *parameter,
                                  float value, const float *want)
{
    struct stand s;
    EXPECT(stand_take(&s, model_file_ref(f)));
    const struct model *m = s.model;
    struct arena arena;
    EXPECT(arena_create(&arena, customise_bytes(m) + 4096));
    struct customise c = customise_take(m, &arena);
    for (uint32_t i = 0; i < m->parameters_count; i++)
        if (strcmp(model_text(m, m->parameters[i].name), parameter) == 0)
            customise_set(&c, i, value);
    memset(s.pose.weights, 0, m->channels_count * sizeof *s.pose.weights);
    for (size_t i = 0; i < m->channels_count; i++)
        if (strcmp(model_text(m, m->shapes[m->channels[i].shape].name), shape) == 0)
            s.pose.weights[i] = 1;
    for (size_t i = 0; i < m->face_corrections_count; i++)
        s.pose.weights[m->face_corrections[i].channel] = 0;
    customise_mix(&c, s.pose.weights);
    customise_advance(&c, s.pose.weights, 0);
    customise_correct(&c, s.pose.weights);
    customise_bones(&c, s.pose.locals);
    stand_evaluate(&s, (enum model_skinning)m->info->skinning, simd_best());
    double off = largest_difference(s.positions, want, model_vertex_count(m));
    arena_destroy(&arena);
    stand_close(&s);
    return off;
}

// Deltas of all channels but those of the correction's mesh.
static bool others_are_the_same(const struct model *a, const struct model *b, uint32_t row)
{
    uint32_t shape = a->channels[a->face_corrections[row].channel].shape;
    for (size_t c = 0; c < a->channels_count; c++) {
        const struct model_channel *x = &a->channels[c], *y = &b->channels[c];
        bool mine = false;
        for (size_t i = 0; i < a->face_corrections_count; i++)
            mine = mine || (a->face_corrections[i].channel == c && x->shape == shape &&
                            a->face_corrections[i].dial == a->face_corrections[row].dial &&
                            a->face_corrections[i].at == a->face_corrections[row].at);
        if (mine) continue;
        if (x->block_count != y->block_count ||
            memcmp(a->morph_blocks + x->block_first, b->morph_blocks + y->block_first,
                   x->block_count * sizeof *a->morph_blocks) != 0)
            return false;
    }
    return true;
}

static void a_correction_mesh_is_sculpted_like_an_example(void)
{
    static const char name[] = "eyeBlinkLeft:leftEyeCornerOuter:0.006";
    size_t vertices = model_vertex_count(model);
    int32_t place = edit_correction_find(model, name);
    EXPECT(edit_is_correction(place) && !edit_is_root(place));
    uint32_t row = edit_correction_of(place);
    float *surface = surface_of(model, place);
    double shown = off_when_customised(file, "eyeBlinkLeft", "leftEyeCornerOuter", 0.006f, surface);
    printf("  what is handed out is off what is shown by %.2g\n", shown);
    EXPECT(shown < 1e-6);
    const struct model_channel *channel = &model->channels[model->face_corrections[row].channel];
    uint32_t block = model->morph_blocks[channel->block_first].block, vertex = 0;
    while (model->vertex_lanes[vertex] != block * MODEL_LANES)
        vertex++;
    struct edit_delta deltas[] = {{vertex, {0.001f, -0.002f, 0.0015f}}};
    struct edit step = {.kind = EDIT_DELTAS, .example = place, .deltas = deltas, .delta_count = 1};
    struct edit_result r;
    struct model_file *f = apply(model, &step, &r);
    EXPECT(f);
    if (!f) return;
    const struct model *now = model_file_model(f);
    for (int k = 0; k < 3; k++)
        surface[vertex * 3 + (uint32_t)k] += deltas[0].delta[k];
    float *back = surface_of(now, place);
    double off = largest_difference(back, surface, vertices);
    shown = off_when_customised(f, "eyeBlinkLeft", "leftEyeCornerOuter", 0.006f, surface);
    printf("  %u vertices, read again off by %.2g, shown by %.2g\n", r.moved, off, shown);
    EXPECT(off < 1e-6 && shown < 1e-6 && r.largest_move > 0.0026 && r.largest_move < 0.0028);
    EXPECT(others_are_the_same(model, now, row));
    EXPECT(now->face_corrections_count == model->face_corrections_count);
    // As another version has it, taken over.
    struct edit take = {.kind = EDIT_TAKE, .example = place, .from = model, .from_example = place};
    struct edit_result again;
    struct model_file *g = apply(now, &take, &again);
    EXPECT(g);
    float *old = surface_of(model, place),
          *taken = g ? surface_of(model_file_model(g), place) : old;
    EXPECT(largest_difference(old, taken, vertices) == 0);
    if (taken != old) free(taken);
    free(old);
    free(back);
    free(surface);
    model_file_unref(g);
    model_file_unref(f);
    edit_free(&r);
    edit_free(&again);
}

static void wrong_edits_of_a_correction_are_refused(void)
{
    int32_t place = edit_correction_find(model, "eyeBlinkLeft:leftEyeCornerOuter:0.006");
    struct edit_delta nan_delta = {3, {NAN, 0, 0}}, far = {3, {0, 50, 0}};
    float *short_one = calloc(4, sizeof *short_one);
    struct edit steps[] = {
        {.kind = EDIT_DELTAS, .example = place, .deltas = &nan_delta, .delta_count = 1},
        {.kind = EDIT_DELTAS, .example = place, .deltas = &far, .delta_count = 1},
        {.kind = EDIT_SURFACE, .example = place, .bytes = (uint8_t *)short_one, .size_bytes = 12},
        {.kind = EDIT_POSE, .example = place},
        {.kind = EDIT_MIRROR, .example = place},
        {.kind = EDIT_REMOVE, .example = place},
        {.kind = EDIT_DELTAS, .example = edit_correction(100000)}};
    static const enum err want[] = {ERR_MALFORMED, ERR_DENIED, ERR_MALFORMED, ERR_USAGE,
                                    ERR_USAGE,     ERR_USAGE,  ERR_NOT_FOUND};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct edit_result r;
        struct fault fault = {0};
        EXPECT(edit_apply(model, &steps[i], 1, &r, &fault) == want[i]);
        EXPECT(fault.line[0] && !r.bytes);
    }
    EXPECT(edit_correction_find(model, "eyeBlinkLeft:leftEyeCornerOuter:0.005") == EDIT_ABSENT);
    free(short_one);
}

int main(void)
{
    struct bake_result baked;
    struct fault fault = {0};
    if (bake_run(mira, NULL, &baked, &fault) != ERR_OK ||
        model_file_from_bytes(baked.bytes, baked.size_bytes, &file, &fault) != ERR_OK) {
        printf("%s\n", fault.line);
        return 1;
    }
    model = model_file_model(file);
    printf("%zu drivers, %zu examples, %zu deltas, %zu vertices\n", model->drivers_count,
           model->examples_count, model->example_deltas_count, model_vertex_count(model));
    RUN(a_sculpt_is_shown_and_the_rest_keeps_its_bits);
    RUN(an_edit_is_as_good_as_a_whole_bake);
    RUN(a_new_pose_keeps_the_surface_or_the_deltas);
    RUN(a_new_base_surface_keeps_sculpts_or_deltas);
    RUN(a_new_example_and_its_mirror_image);
    RUN(a_correction_mesh_is_sculpted_like_an_example);
    RUN(wrong_edits_of_a_correction_are_refused);
    RUN(wrong_surfaces_are_refused);
    RUN(authoring_tables_of_anyone_are_checked);
    model_file_unref(file);
    bake_free(&baked);
    TESTING_MAIN_END;
}

// The face: active deltas of blendshapes against the scalar loop that scatters the same ones, and
// what a shape that touches a twentieth of the vertices costs beside one that touches all.
//
//     bench_face [MODEL …]   default: the ICT face and the Face Cap model of the test data
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/check.h"
#include "server/character/surface/face.h"
#include "server/character/surface/face_kernel.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_model.h"
#include "tests/character/synthetic.h"
int testing_failures;

enum { ROUNDS = 400, PATCHES = 24 };

struct scatter_delta {
    uint32_t vertex; // of positions, then of normals
    float delta[3];
};

struct subject {
    const struct model *model;
    struct arena arena;
    struct face_map map;
    float *weights; // [channel]
    // The same deltas for the scalar loop, channel by channel.
    struct scatter_delta *list;
    size_t *list_first;      // [channel + 1]
    float *rest, *positions; // positions, then normals
    size_t active;
};

static void list_block(struct subject *s, const uint32_t *vertices, const float (*d)[MODEL_LANES],
                       uint32_t shift, size_t *at)
{
    for (int l = 0; l < MODEL_LANES; l++)
        if (vertices[l] != UINT32_MAX && (d[0][l] != 0 || d[1][l] != 0 || d[2][l] != 0))
            s->list[(*at)++] =
                (struct scatter_delta){vertices[l] + shift, {d[0][l], d[1][l], d[2][l]}};
}

static void take_deltas(struct subject *s)
{
    const struct model *m = s->model;
    uint32_t *vertex_of = malloc(m->blocks_count * MODEL_LANES * sizeof *vertex_of);
    size_t at = 0, count = model_vertex_count(m);
    s->list = malloc((m->morph_blocks_count + m->morph_normal_blocks_count) * MODEL_LANES *
                     sizeof *s->list);
    s->list_first = malloc((m->channels_count + 1) * sizeof *s->list_first);
    s->rest = malloc(count * 6 * sizeof *s->rest);
    s->positions = calloc(count * 6, sizeof *s->positions);
    CHECK(vertex_of && s->list && s->list_first && s->rest && s->positions);
    memset(vertex_of, 0xFF, m->blocks_count * MODEL_LANES * sizeof *vertex_of);
    for (uint32_t v = 0; v < count; v++) {
        uint32_t lane = m->vertex_lanes[v];
        vertex_of[lane] = v;
        for (size_t r = 0; r < 3; r++)
            s->rest[(size_t)v * 3 + r] =
                m->rest[lane / MODEL_LANES].position[r][lane % MODEL_LANES];
        for (size_t r = 0; r < 3; r++)
            s->rest[(count + v) * 3 + r] =
                m->rest[lane / MODEL_LANES].normal[r][lane % MODEL_LANES];
    }
    for (size_t c = 0; c < m->channels_count; c++) {
        const struct model_channel *channel = &m->channels[c];
        s->list_first[c] = at;
        for (uint32_t i = 0; i < channel->block_count; i++) {
            const struct model_morph_block *b = &m->morph_blocks[channel->block_first + i];
            list_block(s, vertex_of + b->block * MODEL_LANES, b->position, 0, &at);
        }
        for (uint32_t i = 0; channel->has_normals && i < channel->block_count; i++)
            list_block(s, vertex_of + m->morph_blocks[channel->block_first + i].block * MODEL_LANES,
                       m->morph_normal_blocks[channel->normal_first + i].normal, (uint32_t)count,
                       &at);
    }
    s->list_first[m->channels_count] = at;
    free(vertex_of);
}

static void subject_open(struct subject *s, const struct model *m)
{
    *s = (struct subject){.model = m};
    CHECK(arena_create(&s->arena, 2 * face_map_bytes(m) + ((size_t)256 << 20)));
    face_map_build(m, &s->arena, &s->map);
    s->weights = calloc(m->channels_count + 1, sizeof *s->weights);
    CHECK(s->weights != NULL);
    take_deltas(s);
}

static void subject_close(struct subject *s)
{
    free(s->weights);
    free(s->list);
    free(s->list_first);
    free(s->rest);
    free(s->positions);
    arena_destroy(&s->arena);
}

static void activate(struct subject *s, size_t channel)
{
    s->weights[channel] = 0.6f;
    s->active += s->list_first[channel + 1] - s->list_first[channel];
}

static void run_scatter(void *context)
{
    struct subject *s = context;
    for (size_t c = 0; c < s->model->channels_count; c++) {
        float w = s->weights[c];
        if (w == 0) continue;
        for (size_t i = s->list_first[c]; i < s->list_first[c + 1]; i++) {
            float *p = s->positions + 3 * (size_t)s->list[i].vertex;
            p[0] += w * s->list[i].delta[0];
            p[1] += w * s->list[i].delta[1];
            p[2] += w * s->list[i].delta[2];
        }
    }
}

static void run_scatter_on_rest(void *context)
{
    struct subject *s = context;
    memcpy(s->positions, s->rest, model_vertex_count(s->model) * 6 * sizeof *s->rest);
    run_scatter(context);
}

struct run {
    struct subject *subject;
    enum simd_level level;
    bool turn;
};

// What a delta costs: which are active, and their sums, on one block over and over, so that what a
// row costs however many there are is left out. The scalar loop does as little.
static void run_sums(void *context)
{
    static face_row_fn *const kernels[SIMD_LEVEL_COUNT] = {
        [SIMD_PLAIN] = face_row_plain,
#if defined(__x86_64__)
        [SIMD_AVX2] = face_row_avx2,
        [SIMD_AVX512] = face_row_avx512
#elif defined(__aarch64__)
        [SIMD_NEON] = face_row_neon
#endif
    };
    static struct model_rest_block out;
    const struct run *r = context;
    struct subject *s = r->subject;
    size_t mark = arena_mark(&s->arena);
    struct face f = face_begin(s->model, &s->map, s->weights, &s->arena);
    for (size_t row = 0; row < s->map.turns.row_count; row++)
        if (f.copied[row])
            (void)kernels[r->level](&(struct face_row){.face = &f,
                                                       .first = f.first[row],
                                                       .lane_count = MODEL_LANES,
                                                       .rest = &s->model->rest[0],
                                                       .out = &out});
    arena_rewind(&s->arena, mark);
}

static void run_face(void *context)
{
    const struct run *r = context;
    struct subject *s = r->subject;
    size_t mark = arena_mark(&s->arena);
    struct face f = face_begin(s->model, &s->map, s->weights, &s->arena);
    f.level = r->level;
    face_move(&f, 0, s->map.turns.row_count);
    if (r->turn) face_turn_normals(&f, 0, s->map.turns.group_count);
    arena_rewind(&s->arena, mark);
}

struct part {
    const char *name;
    void (*reference)(void *);
    void (*run)(void *);
};

// Every `step`th channel that moves anything, all kernels.
static void bench_deltas(const struct model *m, const char *label, size_t step)
{
    static const struct part parts[] = {{"face, deltas", run_scatter, run_sums},
                                        {"face, stage", run_scatter_on_rest, run_face}};
    struct subject s;
    size_t shapes = 0;
    char inputs[256];
    subject_open(&s, m);
    for (size_t c = 0, n = 0; c < m->channels_count; c++)
        if (m->channels[c].block_count > 0 && n++ % step == 0) {
            activate(&s, c);
            shapes++;
        }
    for (int p = 0; p < 2; p++) {
        struct run runs[SIMD_LEVEL_COUNT];
        struct bench_variant v[1 + SIMD_LEVEL_COUNT] = {
            {"scatter", parts[p].reference, &s, 0, 0, 0}};
        size_t count = 1;
        for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
            if (!simd_has((enum simd_level)level)) continue;
            runs[level] = (struct run){&s, (enum simd_level)level, false};
            v[count++] = (struct bench_variant){
                simd_name((enum simd_level)level), parts[p].run, &runs[level], 0, 0, 0};
        }
        bench_alternate(v, count, ROUNDS);
        for (size_t i = 0; i < count; i++) {
            snprintf(inputs, sizeof inputs,
                     "\"character\":\"%.60s\",\"vertices\":%zu,\"active_shapes\":%zu,"
                     "\"active_deltas\":%zu,\"ns_a_delta\":%.2f",
                     label, model_vertex_count(m), shapes, s.active,
                     v[i].median_ns / (double)(s.active ? s.active : 1));
            bench_print(parts[p].name, &v[i], inputs, &v[0], 0);
        }
    }
    subject_close(&s);
}

// ---- a twentieth of the vertices

struct patches {
    struct model model;                         // the given one's surface with channels of our own
    struct model_channel channels[1 + PATCHES]; // the whole surface, then patches
    struct model_morph_block *blocks;
    size_t touched;
};

static void place_of(const struct model *m, uint32_t vertex, double out[3])
{
    uint32_t lane = m->vertex_lanes[vertex];
    for (int r = 0; r < 3; r++)
        out[r] = (double)m->rest[lane / MODEL_LANES].position[r][lane % MODEL_LANES];
}

static int by_distance(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

// A ball around a vertex that holds a twentieth of all.
static void take_patch(const struct model *m, uint32_t middle, struct patches *p,
                       struct model_channel *channel)
{
    size_t count = model_vertex_count(m);
    double *far = malloc(count * sizeof *far), *sorted = malloc(count * sizeof *sorted), at[3];
    int32_t *of_block = malloc(m->blocks_count * sizeof *of_block);
    CHECK(far && sorted && of_block);
    place_of(m, middle, at);
    for (uint32_t v = 0; v < count; v++) {
        double here[3];
        place_of(m, v, here);
        far[v] = sorted[v] = hypot(hypot(here[0] - at[0], here[1] - at[1]), here[2] - at[2]);
    }
    qsort(sorted, count, sizeof *sorted, by_distance);
    memset(of_block, 0, m->blocks_count * sizeof *of_block);
    for (uint32_t v = 0; v < count; v++)
        if (far[v] < sorted[count / 20]) of_block[m->vertex_lanes[v] / MODEL_LANES] = 1;
    for (size_t b = 0; b < m->blocks_count; b++) {
        if (!of_block[b]) continue;
        of_block[b] = (int32_t)p->model.morph_blocks_count;
        p->blocks[p->model.morph_blocks_count++] = (struct model_morph_block){(uint32_t)b, {{0}}};
        channel->block_count++;
    }
    for (uint32_t v = 0; v < count; v++) {
        if (!(far[v] < sorted[count / 20])) continue;
        uint32_t lane = m->vertex_lanes[v];
        for (int r = 0; r < 3; r++)
            p->blocks[of_block[lane / MODEL_LANES]].position[r][lane % MODEL_LANES] = 0.001f;
        p->touched++;
    }
    free(far);
    free(sorted);
    free(of_block);
}

static void take_patches(const struct model *m, struct patches *p)
{
    struct synthetic_random random = {5};
    *p = (struct patches){.model = *m};
    p->blocks = malloc((1 + PATCHES) * m->blocks_count * sizeof *p->blocks);
    CHECK(p->blocks != NULL);
    p->model.morph_blocks = p->blocks;
    p->model.channels = p->channels;
    p->model.channels_count = 1 + PATCHES;
    p->model.morph_blocks_count = m->blocks_count;
    p->channels[0].block_count = (uint32_t)m->blocks_count;
    for (size_t b = 0; b < m->blocks_count; b++) {
        p->blocks[b].block = (uint32_t)b;
        for (int r = 0; r < 3; r++)
            for (int l = 0; l < MODEL_LANES; l++)
                p->blocks[b].position[r][l] = 0.001f;
    }
    for (int i = 0; i < PATCHES; i++) {
        struct model_channel *c = &p->channels[1 + i];
        c->block_first = (uint32_t)p->model.morph_blocks_count;
        take_patch(m, (uint32_t)(synthetic_bits(&random) % model_vertex_count(m)), p, c);
    }
}

static void bench_sparse(const struct model *m, const char *label)
{
    struct patches p;
    struct subject whole, part[PATCHES];
    struct run runs[2 * (1 + PATCHES)];
    struct bench_variant v[BENCH_VARIANTS_MAX];
    char inputs[256];
    take_patches(m, &p);
    subject_open(&whole, &p.model);
    activate(&whole, 0);
    for (int turn = 0; turn < 2; turn++) {
        double dense = 0, sparse = 0;
        runs[0] = (struct run){&whole, simd_best(), turn};
        for (int i = 0; i < PATCHES; i++) {
            part[i] = whole;
            part[i].weights = calloc(p.model.channels_count, sizeof(float));
            CHECK(part[i].weights != NULL);
            part[i].weights[1 + i] = 0.6f;
            runs[1 + i] = (struct run){&part[i], simd_best(), turn};
            v[0] = (struct bench_variant){"whole", run_face, &runs[0], 0, 0, 0};
            v[1] = (struct bench_variant){"a twentieth", run_face, &runs[1 + i], 0, 0, 0};
            bench_alternate(v, 2, ROUNDS / PATCHES + 1);
            dense += v[0].median_ns;
            sparse += v[1].median_ns;
            free(part[i].weights);
        }
        v[0].median_ns = v[0].p10_ns = v[0].p90_ns = dense / PATCHES;
        v[1].median_ns = v[1].p10_ns = v[1].p90_ns = sparse / PATCHES;
        snprintf(inputs, sizeof inputs,
                 "\"character\":\"%.60s\",\"vertices\":%zu,\"patches\":%d,\"normals\":%s,"
                 "\"touched\":%.3f,\"bytes\":%.3f",
                 label, model_vertex_count(m), PATCHES, turn ? "true" : "false",
                 (double)p.touched / PATCHES / (double)model_vertex_count(m),
                 (double)(p.model.morph_blocks_count - m->blocks_count) / PATCHES /
                     (double)m->blocks_count);
        bench_print("face, sparse", &v[1], inputs, &v[0], 1);
    }
    subject_close(&whole);
    free(p.blocks);
}

static void bench_file(const char *path)
{
    struct model_file *file = bench_model_open("face", path);
    const char *name = strrchr(path, '/');
    if (!file) return;
    const struct model *m = model_file_model(file);
    bench_deltas(m, name ? name + 1 : path, 4);
    bench_deltas(m, name ? name + 1 : path, 1);
    bench_sparse(m, name ? name + 1 : path);
    model_file_unref(file);
}

int main(int argc, char **argv)
{
    static const char *const files[] = {"face/ict/ict_face_arkit.glb",
                                        "face/facecap/facecap_plain.glb",
                                        "psd/makehuman/mh_cmu.glb"};
    for (int i = 1; i < argc; i++)
        bench_file(argv[i]);
    for (size_t i = 0; argc == 1 && i < sizeof files / sizeof files[0]; i++)
        bench_file(files[i]);
    return 0;
}

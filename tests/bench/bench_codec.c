// The surface codec v1 against the usual practice: meshoptimizer's vertex codec on deltas to the
// previous frame, and zstd-1 on byte planes of those deltas. Bits per vertex and frame, and GB/s
// of raw grid vertices (8 bytes each: u16 x 3 and an octahedral pair).
//
// bench_codec [FILE...]: FILE is an animated mesh: u32 vertex, index and frame counts; the indices;
// for each frame the positions, then the normals, as float triples. Without: a made-up tube.
#include <meshoptimizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/check.h"
#include "proto/surface/codec.h"
#include "tests/bench/bench.h"
#include "tests/proto/animation.h"

int testing_failures; // of testing.h, which animation.h includes

enum { ROUNDS = 60, FRAMES_MAX = 120, GAP_COUNT = 3 };

static const int gaps[GAP_COUNT] = {1, 5, 12}; // frames back to the anchor

struct plain_vertex8 { // what the usual practice sends
    uint16_t position[3];
    int8_t normal[2];
};

struct clip {
    size_t vertex_count, index_count, frame_count;
    uint32_t *indices, *lanes;
    uint16_t *predictors;
    float *blocks[FRAMES_MAX];
    struct surface_row *rows[FRAMES_MAX];   // by lane
    struct surface_row *stream[FRAMES_MAX]; // in stream order
    struct surface_grid grid;
    struct surface_packer *packer;
    enum simd_level level;
};

struct run {
    struct clip *clip;
    int gap; // 0: key frames
    size_t next, bytes, frames;
    uint8_t *packed[FRAMES_MAX];
    size_t packed_bytes[FRAMES_MAX];
    struct surface_row *out;
    struct plain_vertex8 *deltas;
    uint8_t *planes;
    ZSTD_CCtx *zstd;
    ZSTD_DCtx *unzstd;
};

static void *take(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    CHECK(p != NULL);
    memset(p, 0, bytes);
    return p;
}

static size_t step(struct run *r)
{
    size_t first = 12, frame = first + r->next % (r->clip->frame_count - first);
    r->next++;
    return frame;
}

static void run_quantise(void *context)
{
    struct run *r = context;
    struct clip *c = r->clip;
    size_t frame = step(r);
    struct surface_quantise_job job = {.level = c->level,
                                       .blocks = c->blocks[frame],
                                       .block_count = (c->vertex_count + 15) / 16,
                                       .grid = c->grid,
                                       .rows = c->rows[frame]};
    (void)surface_quantise(&job);
}

static void run_encode(void *context)
{
    struct run *r = context;
    struct clip *c = r->clip;
    size_t frame = step(r);
    struct surface_encode_job job = {.level = c->level,
                                     .lane_rows = c->rows[frame],
                                     .lanes = c->lanes,
                                     .vertex_count = c->vertex_count,
                                     .predictors = c->predictors,
                                     .anchor = r->gap ? c->stream[frame - (size_t)r->gap] : NULL,
                                     .current = r->out,
                                     .out = r->packed[frame],
                                     .capacity_bytes = surface_encode_bound(c->vertex_count)};
    surface_encode(&job, c->packer);
    r->packed_bytes[frame] = job.size_bytes;
    r->bytes += job.size_bytes;
    r->frames++;
}

static void run_decode(void *context)
{
    struct run *r = context;
    struct clip *c = r->clip;
    size_t frame = step(r);
    struct surface_decode_job job = {.level = c->level,
                                     .payload = r->packed[frame],
                                     .size_bytes = r->packed_bytes[frame],
                                     .vertex_count = c->vertex_count,
                                     .bits = c->grid.bits,
                                     .predictors = c->predictors,
                                     .anchor = r->gap ? c->stream[frame - (size_t)r->gap] : NULL,
                                     .rows = r->out};
    if (job.size_bytes == 0) return; // a still frame
    enum err e = surface_decode(&job, c->packer);
    CHECK(e == ERR_OK);
}

static void make_deltas(struct run *r, size_t frame)
{
    const struct surface_row *now = r->clip->stream[frame], *before = r->clip->stream[frame - 1];
    for (size_t i = 0; i < r->clip->vertex_count; i++) {
        for (int k = 0; k < 3; k++)
            r->deltas[i].position[k] = (uint16_t)(now[i].position[k] - before[i].position[k]);
        for (int k = 0; k < 2; k++)
            r->deltas[i].normal[k] = (int8_t)(now[i].normal[k] - before[i].normal[k]);
    }
}

static void run_meshopt(void *context)
{
    struct run *r = context;
    size_t frame = step(r), n = r->clip->vertex_count;
    make_deltas(r, frame);
    size_t bytes = meshopt_encodeVertexBuffer(
        r->packed[frame], meshopt_encodeVertexBufferBound(n, 8), r->deltas, n, 8);
    r->packed_bytes[frame] = bytes;
    r->bytes += bytes;
    r->frames++;
}

static void run_meshopt_decode(void *context)
{
    struct run *r = context;
    size_t frame = step(r);
    CHECK(meshopt_decodeVertexBuffer(r->deltas, r->clip->vertex_count, 8, r->packed[frame],
                                     r->packed_bytes[frame]) == 0);
}

static void run_planes(void *context)
{
    struct run *r = context;
    size_t frame = step(r), n = r->clip->vertex_count;
    make_deltas(r, frame);
    const uint8_t *bytes = (const uint8_t *)r->deltas;
    for (size_t b = 0; b < 8; b++)
        for (size_t i = 0; i < n; i++)
            r->planes[b * n + i] = bytes[8 * i + b];
    size_t size = ZSTD_compressCCtx(r->zstd, r->packed[frame], ZSTD_compressBound(8 * n), r->planes,
                                    8 * n, 1);
    r->packed_bytes[frame] = size;
    r->bytes += size;
    r->frames++;
}

static void run_planes_decode(void *context)
{
    struct run *r = context;
    size_t frame = step(r), n = r->clip->vertex_count;
    CHECK(!ZSTD_isError(ZSTD_decompressDCtx(r->unzstd, r->planes, 8 * n, r->packed[frame],
                                            r->packed_bytes[frame])));
}

static void run_open(struct run *r, struct clip *c, int gap)
{
    *r = (struct run){.clip = c, .gap = gap};
    size_t bound = surface_encode_bound(c->vertex_count);
    size_t meshopt = meshopt_encodeVertexBufferBound(c->vertex_count, 8);
    for (size_t f = 0; f < c->frame_count; f++)
        r->packed[f] = take(bound > meshopt ? bound : meshopt);
    r->out = take(c->vertex_count * sizeof *r->out);
    r->deltas = take(c->vertex_count * sizeof *r->deltas);
    r->planes = take(c->vertex_count * 8);
    r->zstd = ZSTD_createCCtx();
    r->unzstd = ZSTD_createDCtx();
}

static void run_close(struct run *r)
{
    for (size_t f = 0; f < r->clip->frame_count; f++)
        free(r->packed[f]);
    free(r->out);
    free(r->deltas);
    free(r->planes);
    ZSTD_freeCCtx(r->zstd);
    ZSTD_freeDCtx(r->unzstd);
}

static void clip_quantise(struct clip *c)
{
    float low[3], high[3];
    for (size_t f = 0; f < c->frame_count; f++) {
        struct surface_quantise_job job = {.blocks = c->blocks[f],
                                           .block_count = (c->vertex_count + 15) / 16,
                                           .grid = {.step = 1, .bits = 16},
                                           .rows = c->rows[f]};
        (void)surface_quantise(&job);
        for (int k = 0; k < 3; k++) {
            low[k] = f && low[k] < job.box_min[k] ? low[k] : job.box_min[k];
            high[k] = f && high[k] > job.box_max[k] ? high[k] : job.box_max[k];
        }
    }
    c->grid = surface_grid_fit(low, high, SURFACE_BITS_DEFAULT, 0);
    for (size_t f = 0; f < c->frame_count; f++) {
        struct surface_quantise_job job = {.level = c->level,
                                           .blocks = c->blocks[f],
                                           .block_count = (c->vertex_count + 15) / 16,
                                           .grid = c->grid,
                                           .rows = c->rows[f]};
        CHECK(surface_quantise(&job));
        for (size_t i = 0; i < c->vertex_count; i++)
            c->stream[f][i] = c->rows[f][c->lanes[i]];
    }
}

static void clip_memory(struct clip *c)
{
    size_t lanes = (c->vertex_count + 15) / 16 * 16;
    c->level = simd_best();
    CHECK(surface_packer_create(c->vertex_count, &c->packer) == ERR_OK);
    for (size_t f = 0; f < c->frame_count; f++) {
        c->blocks[f] = take(lanes * 6 * sizeof(float));
        c->rows[f] = take(lanes * sizeof(struct surface_row));
        c->stream[f] = take(c->vertex_count * sizeof(struct surface_row));
    }
}

static void clip_free(struct clip *c)
{
    for (size_t f = 0; f < c->frame_count; f++) {
        free(c->blocks[f]);
        free(c->rows[f]);
        free(c->stream[f]);
    }
    surface_packer_destroy(c->packer);
    free(c->indices);
    free(c->lanes);
    free(c->predictors);
}

static void clip_synthetic(struct clip *c)
{
    enum { RING = 120, ALONG = 112 };
    struct animation a = animation_make(RING, ALONG);
    *c = (struct clip){
        .vertex_count = a.vertex_count, .index_count = a.index_count, .frame_count = 60};
    clip_memory(c);
    for (size_t f = 0; f < c->frame_count; f++) {
        animation_frame(&a, RING, (float)f / 60);
        memcpy(c->blocks[f], a.blocks, (size_t)a.block_count * 96 * sizeof(float));
    }
    c->indices = a.indices;
    c->lanes = a.lanes;
    c->predictors = a.predictors;
    free(a.order);
    free(a.blocks);
    clip_quantise(c);
}

static bool read_all(FILE *f, void *out, size_t bytes)
{
    return fread(out, 1, bytes, f) == bytes;
}

// Stream order and predictors as the server makes them, from the first frame.
static void clip_order(struct clip *c)
{
    size_t n = c->vertex_count;
    uint32_t *weld = take(n * 4), *place = take(n * 4), *stream_weld = take(n * 4);
    (void)meshopt_generateVertexRemap(weld, NULL, n, c->stream[0], n, sizeof(struct surface_row));
    uint32_t *first = place; // remapped id -> first vertex
    memset(first, 0xff, n * 4);
    for (size_t v = 0; v < n; v++) {
        if (first[weld[v]] == UINT32_MAX) first[weld[v]] = (uint32_t)v;
        weld[v] = first[weld[v]];
    }
    CHECK(surface_order_choose(c->indices, c->index_count, weld, c->stream[0], n, c->lanes) ==
          ERR_OK);
    for (size_t i = 0; i < n; i++)
        place[c->lanes[i]] = (uint32_t)i;
    for (size_t i = 0; i < c->index_count; i++)
        c->indices[i] = place[c->indices[i]];
    memset(stream_weld, 0xff, n * 4);
    uint32_t *lowest = take(n * 4);
    memset(lowest, 0xff, n * 4);
    for (size_t i = 0; i < n; i++) {
        uint32_t group = weld[c->lanes[i]];
        if (lowest[group] == UINT32_MAX) lowest[group] = (uint32_t)i;
        stream_weld[i] = lowest[group];
    }
    CHECK(surface_predictors_make(c->indices, c->index_count, stream_weld, n, c->predictors) ==
          ERR_OK);
    free(weld);
    free(place);
    free(stream_weld);
    free(lowest);
    for (size_t f = 0; f < c->frame_count; f++)
        for (size_t i = 0; i < n; i++)
            c->stream[f][i] = c->rows[f][c->lanes[i]];
}

static bool clip_load(struct clip *c, const char *path)
{
    FILE *f = fopen(path, "rb");
    uint32_t counts[3];
    if (!f || !read_all(f, counts, sizeof counts)) return false;
    *c = (struct clip){.vertex_count = counts[0],
                       .index_count = counts[1],
                       .frame_count = counts[2] < FRAMES_MAX ? counts[2] : FRAMES_MAX};
    c->indices = take(c->index_count * 4);
    c->lanes = take(c->vertex_count * 4);
    c->predictors = take(c->vertex_count * SURFACE_PREDICTORS_WIDTH * 2);
    clip_memory(c);
    bool good = read_all(f, c->indices, c->index_count * 4);
    float *triples = take(c->vertex_count * 12);
    for (size_t k = 0; k < c->frame_count * 2 && good; k++) {
        good = read_all(f, triples, c->vertex_count * 12);
        for (size_t i = 0; i < c->vertex_count * 3; i++)
            c->blocks[k / 2][i / 3 / 16 * 96 + (k % 2) * 48 + i % 3 * 16 + i / 3 % 16] = triples[i];
    }
    for (size_t i = 0; i < c->vertex_count; i++)
        c->lanes[i] = (uint32_t)i;
    free(triples);
    fclose(f);
    if (!good) return false;
    clip_quantise(c);
    clip_order(c);
    return true;
}

static void report(const char *label, const struct clip *c, const struct bench_variant *v,
                   const struct run *r, const struct bench_variant *reference)
{
    char inputs[200];
    int n = snprintf(inputs, sizeof inputs, "\"mesh\":\"%s\",\"vertices\":%zu,\"gb_per_s\":%.2f",
                     label, c->vertex_count, 8.0 * (double)c->vertex_count / v->median_ns);
    if (r->frames)
        snprintf(inputs + n, sizeof inputs - (size_t)n, ",\"bits_per_vertex\":%.2f",
                 8.0 * (double)r->bytes / (double)r->frames / (double)c->vertex_count);
    bench_print("codec", v, inputs, reference, 0);
}

static void bench_clip(const char *label, struct clip *c)
{
    enum { VARIANTS = 5 + 2 * (GAP_COUNT + 1) };
    static const char *const names[2 * (GAP_COUNT + 1)] = {
        "v1 key encode",   "v1 key decode",   "v1 gap 1 encode",  "v1 gap 1 decode",
        "v1 gap 5 encode", "v1 gap 5 decode", "v1 gap 12 encode", "v1 gap 12 decode"};
    struct run quantise, meshopt, planes, v1[GAP_COUNT + 1];
    run_open(&quantise, c, 0);
    run_open(&meshopt, c, 1);
    run_open(&planes, c, 1);
    struct bench_variant v[VARIANTS] = {
        {.name = "meshopt previous frame encode", .run = run_meshopt, .context = &meshopt},
        {.name = "meshopt previous frame decode", .run = run_meshopt_decode, .context = &meshopt},
        {.name = "zstd-1 planes encode", .run = run_planes, .context = &planes},
        {.name = "zstd-1 planes decode", .run = run_planes_decode, .context = &planes},
        {.name = "v1 quantise", .run = run_quantise, .context = &quantise}};
    const struct run *runs[VARIANTS] = {&meshopt, &meshopt, &planes, &planes, &quantise};
    for (int k = 0; k <= GAP_COUNT; k++) {
        run_open(&v1[k], c, k ? gaps[k - 1] : 0);
        v[5 + 2 * k] =
            (struct bench_variant){.name = names[2 * k], .run = run_encode, .context = &v1[k]};
        v[6 + 2 * k] =
            (struct bench_variant){.name = names[2 * k + 1], .run = run_decode, .context = &v1[k]};
        runs[5 + 2 * k] = runs[6 + 2 * k] = &v1[k];
    }
    // Everything is packed once, so that decoders find something whichever frame they are at.
    for (size_t f = 12; f < c->frame_count; f++) {
        run_meshopt(&meshopt);
        run_planes(&planes);
        for (int k = 0; k <= GAP_COUNT; k++)
            run_encode(&v1[k]);
    }
    bench_alternate(v, VARIANTS, ROUNDS);
    for (int i = 0; i < VARIANTS; i++)
        report(label, c, &v[i], runs[i], &v[strstr(v[i].name, "decode") ? 1 : 0]);
    run_close(&quantise);
    run_close(&meshopt);
    run_close(&planes);
    for (int k = 0; k <= GAP_COUNT; k++)
        run_close(&v1[k]);
}

int main(int argc, char **argv)
{
    static struct clip c;
    for (int i = 1; i < argc; i++) {
        if (!clip_load(&c, argv[i])) {
            bench_skip("codec", "the file cannot be read");
            continue;
        }
        bench_clip(argv[i], &c);
        clip_free(&c);
    }
    if (argc > 1) return 0;
    clip_synthetic(&c);
    bench_clip("tube", &c);
    clip_free(&c);
    return 0;
}

#include <float.h>

#include "proto/surface_message.h"
#include "tests/proto/animation.h"

int testing_failures;

enum { RING = 37, ALONG = 29, VERTICES = RING * ALONG };

// Encoder, decoder and all their memory for one small animation.
struct rig {
    struct animation a;
    struct surface_packer *packer;
    struct surface_quantise_job q;
    struct surface_anchors sent, received;
    uint8_t *out;
    struct surface_row *rows; // of the last decode
    size_t bytes;
};

static void rig_open(struct rig *r, uint8_t bits)
{
    memset(r, 0, sizeof *r);
    r->a = animation_make(RING, ALONG);
    if (surface_packer_create(VERTICES, &r->packer)) abort();
    r->q.blocks = r->a.blocks;
    r->q.block_count = r->a.block_count;
    r->q.rows = aligned_alloc(16, r->a.block_count * 16 * sizeof(struct surface_row));
    r->q.grid.step = 1; // only to read the box
    r->q.grid.bits = bits;
    (void)surface_quantise(&r->q);
    r->q.grid = surface_grid_fit(r->q.box_min, r->q.box_max, bits, 0.5f);
    size_t bytes = surface_anchors_bytes(VERTICES);
    surface_anchors_init(&r->sent, aligned_alloc(16, bytes), VERTICES);
    surface_anchors_init(&r->received, aligned_alloc(16, bytes), VERTICES);
    r->out = malloc(surface_encode_bound(VERTICES));
    r->rows = aligned_alloc(16, VERTICES * sizeof(struct surface_row));
}

static void rig_close(struct rig *r)
{
    animation_free(&r->a);
    surface_packer_destroy(r->packer);
    free(r->q.rows);
    free(r->sent.rows);
    free(r->received.rows);
    free(r->out);
    free(r->rows);
}

static struct surface_encode_job encode_job(struct rig *r, enum simd_level level, uint32_t anchor)
{
    return (struct surface_encode_job){.level = level,
                                       .lane_rows = r->q.rows,
                                       .lanes = r->a.lanes,
                                       .vertex_count = VERTICES,
                                       .predictors = r->a.predictors,
                                       .anchor = surface_anchors_find(&r->sent, anchor),
                                       .current = surface_anchors_spare(&r->sent),
                                       .out = r->out,
                                       .capacity_bytes = surface_encode_bound(VERTICES)};
}

static enum err decode(struct rig *r, enum simd_level level, uint32_t anchor,
                       const uint8_t *payload, size_t size, struct surface_row *rows)
{
    const struct surface_decode_job job = {.level = level,
                                           .payload = payload,
                                           .size_bytes = size,
                                           .vertex_count = VERTICES,
                                           .bits = r->q.grid.bits,
                                           .predictors = r->a.predictors,
                                           .anchor = surface_anchors_find(&r->received, anchor),
                                           .rows = rows};
    return surface_decode(&job, r->packer);
}

static void what_is_decoded_is_what_was_quantised(void)
{
    for (uint8_t bits = 10; bits <= 16; bits++) {
        struct rig r;
        rig_open(&r, bits);
        uint32_t anchor = 0;
        for (uint32_t frame = 1; frame <= 12; frame++) {
            animation_frame(&r.a, RING, (float)frame / 60);
            EXPECT(surface_quantise(&r.q));
            struct surface_encode_job job = encode_job(&r, SIMD_PLAIN, anchor);
            surface_encode(&job, r.packer);
            EXPECT(!job.still && job.size_bytes > 0);
            struct surface_row *rows = surface_anchors_spare(&r.received);
            EXPECT(decode(&r, SIMD_PLAIN, anchor, r.out, job.size_bytes, rows) == ERR_OK);
            EXPECT(memcmp(rows, job.current, VERTICES * sizeof *rows) == 0);
            for (uint32_t i = 0; i < VERTICES; i++)
                EXPECT(memcmp(&rows[i], &r.q.rows[r.a.lanes[i]], sizeof *rows) == 0);
            if (frame % 3 != 1) continue; // anchors are some frames old
            surface_anchors_keep(&r.sent, frame);
            surface_anchors_keep(&r.received, frame);
            anchor = frame;
        }
        rig_close(&r);
    }
}

static void positions_are_within_half_a_step_and_normals_within_a_degree(void)
{
    struct rig r;
    rig_open(&r, 14);
    animation_frame(&r.a, RING, 0.3f);
    EXPECT(surface_quantise(&r.q));
    static struct surface_normals table;
    surface_normals_build(&table);
    for (uint32_t i = 0; i < VERTICES; i++)
        r.rows[i] = r.q.rows[r.a.lanes[i]];
    struct {
        float position[3], normal[3];
    } *vertices = malloc(VERTICES * sizeof *vertices);
    const struct surface_view view = {vertices->position, sizeof *vertices, SURFACE_FLOAT3,
                                      vertices->normal,   sizeof *vertices, SURFACE_FLOAT3};
    surface_view_write(&view, r.rows, VERTICES, &r.q.grid, &table);
    double worst = 0, worst_angle = 0;
    for (uint32_t i = 0; i < VERTICES; i++) {
        const float *lane = r.a.blocks + (size_t)(r.a.lanes[i] / 16) * 96 + r.a.lanes[i] % 16;
        double dot = 0, length = 0;
        for (int k = 0; k < 3; k++) {
            worst = fmax(worst, fabs((double)vertices[i].position[k] - (double)lane[16 * k]));
            dot += (double)vertices[i].normal[k] * (double)lane[48 + 16 * k];
            length += (double)vertices[i].normal[k] * (double)vertices[i].normal[k];
        }
        EXPECT_NEAR(length, 1, 2e-4);
        worst_angle = fmax(worst_angle, acos(fmin(1, dot / sqrt(length))) * 57.29578);
    }
    EXPECT(worst <= (double)r.q.grid.step * 0.501);
    EXPECT(worst_angle < 0.95);
    free(vertices);
    rig_close(&r);
}

// Random directions, all octants and borders: the pair unfolds to within the documented error.
static void every_direction_survives_the_octahedron(void)
{
    static struct surface_normals table;
    surface_normals_build(&table);
    uint32_t seed = 1;
    double worst = 0;
    for (int i = 0; i < 200000; i++) {
        float n[3];
        double length = 0;
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525 + 1013904223;
            n[k] = i < 27 ? (float)((i / (k == 0   ? 1
                                          : k == 1 ? 3
                                                   : 9)) %
                                        3 -
                                    1)
                          : (float)(seed >> 8) / 8388608.0f - 1;
            length += (double)n[k] * (double)n[k];
        }
        int16_t pair[2], back[3];
        surface_normal_pack(n, pair);
        EXPECT(abs(pair[0]) <= 127 && abs(pair[1]) <= 127);
        if (length == 0) continue;
        surface_normals_get(&table, pair[0], pair[1], back);
        double dot = 0, norm = 0;
        for (int k = 0; k < 3; k++) {
            dot += (double)n[k] * back[k];
            norm += (double)back[k] * back[k];
        }
        worst = fmax(worst, acos(fmin(1, dot / sqrt(length * norm))) * 57.29578);
    }
    EXPECT_NEAR(worst, 0, 0.955);
}

static void odd_floats_are_held_on_the_grid(void)
{
    struct rig r, s;
    rig_open(&r, 14);
    rig_open(&s, 14);
    static const float odd[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, -0.0f, FLT_MIN, 1e30f};
    for (int i = 0; i < 96 * 4; i++)
        if (i % 5 == 0) r.a.blocks[i] = odd[(i / 5) % 8];
    memcpy(s.a.blocks, r.a.blocks, r.a.block_count * 96 * sizeof(float));
    r.q.level = SIMD_PLAIN;
    bool plain = surface_quantise(&r.q);
    EXPECT(!plain);
    for (uint32_t i = 0; i < VERTICES; i++)
        for (int k = 0; k < 3; k++)
            EXPECT(r.q.rows[i].position[k] < 1 << 14);
    if (simd_has(SIMD_AVX2)) {
        s.q.level = SIMD_AVX2;
        EXPECT(!surface_quantise(&s.q));
        EXPECT(memcmp(r.q.rows, s.q.rows, r.a.block_count * 16 * sizeof(struct surface_row)) == 0);
        for (int k = 0; k < 3; k++)
            EXPECT(r.q.box_min[k] == s.q.box_min[k] && r.q.box_max[k] == s.q.box_max[k]);
    }
    struct surface_grid g = surface_grid_fit(r.q.box_min, r.q.box_max, 14, 0.25f);
    EXPECT(surface_grid_valid(&g));
    static const float low[3] = {1, 1, 1}, high[3] = {-1, -1, -1};
    g = surface_grid_fit(low, high, 14, 0); // nothing was seen
    EXPECT(surface_grid_valid(&g));
    rig_close(&r);
    rig_close(&s);
}

static void every_simd_level_gives_the_same_bytes(void)
{
    if (!simd_has(SIMD_AVX2)) {
        printf("  only plain kernels here\n");
        return;
    }
    struct rig plain, wide;
    rig_open(&plain, 16);
    rig_open(&wide, 16);
    wide.q.level = SIMD_AVX2;
    for (uint32_t frame = 1; frame <= 6; frame++) {
        animation_frame(&plain.a, RING, (float)frame / 10);
        animation_frame(&wide.a, RING, (float)frame / 10);
        EXPECT(surface_quantise(&plain.q) == surface_quantise(&wide.q));
        EXPECT(memcmp(plain.q.rows, wide.q.rows, VERTICES * sizeof *plain.rows) == 0);
        struct surface_encode_job p = encode_job(&plain, SIMD_PLAIN, frame - 1);
        struct surface_encode_job w = encode_job(&wide, SIMD_AVX2, frame - 1);
        surface_encode(&p, plain.packer);
        surface_encode(&w, wide.packer);
        EXPECT(p.size_bytes == w.size_bytes && memcmp(p.out, w.out, p.size_bytes) == 0);
        struct surface_row *rows = surface_anchors_spare(&wide.received);
        EXPECT(decode(&wide, SIMD_AVX2, frame - 1, p.out, p.size_bytes, rows) == ERR_OK);
        EXPECT(memcmp(rows, p.current, VERTICES * sizeof *rows) == 0);
        surface_anchors_keep(&plain.sent, frame);
        surface_anchors_keep(&wide.sent, frame);
        surface_anchors_keep(&wide.received, frame);
    }
    rig_close(&plain);
    rig_close(&wide);
}

static void a_still_surface_costs_nothing(void)
{
    struct rig r;
    rig_open(&r, 14);
    EXPECT(surface_quantise(&r.q));
    struct surface_encode_job job = encode_job(&r, simd_best(), 0);
    surface_encode(&job, r.packer);
    size_t key_bytes = job.size_bytes;
    surface_anchors_keep(&r.sent, 1);
    job = encode_job(&r, simd_best(), 1);
    surface_encode(&job, r.packer);
    EXPECT(job.still && job.size_bytes == 0 && key_bytes > 0);
    rig_close(&r);
}

static void leaving_the_grid_is_noticed(void)
{
    struct rig r;
    rig_open(&r, 14);
    EXPECT(surface_quantise(&r.q));
    float *x = &r.a.blocks[5], before = *x;
    // A whole step past the far side; half a step still rounds onto it.
    *x = r.q.grid.origin[0] + r.q.grid.step * 16384;
    EXPECT(!surface_quantise(&r.q));
    EXPECT(r.q.rows[5].position[0] == 16383);
    struct surface_grid larger = surface_grid_fit(r.q.box_min, r.q.box_max, 14, 0.25f);
    r.q.grid = larger;
    EXPECT(surface_quantise(&r.q));
    *x = before;
    rig_close(&r);
}

static void hostile_payloads_give_errors_or_rows_in_range(void)
{
    struct rig r;
    rig_open(&r, 12);
    EXPECT(surface_quantise(&r.q));
    struct surface_encode_job job = encode_job(&r, SIMD_PLAIN, 0);
    surface_encode(&job, r.packer);
    static const enum simd_level levels[] = {SIMD_PLAIN, SIMD_AVX2};
    for (int l = 0; l < 2; l++) {
        if (!simd_has(levels[l])) continue;
        for (size_t n = 0; n < job.size_bytes; n++) { // every prefix, exact-sized
            uint8_t *exact = malloc(n + !n);
            memcpy(exact, r.out, n);
            EXPECT(decode(&r, levels[l], 0, exact, n, r.rows) != ERR_OK);
            free(exact);
        }
        uint32_t seed = 7;
        uint8_t *copy = malloc(job.size_bytes + 1);
        for (int i = 0; i < 4000; i++) {
            memcpy(copy, r.out, job.size_bytes);
            for (int k = 0; k < 1 + i % 3; k++) {
                seed = seed * 1664525 + 1013904223;
                copy[(seed >> 8) % job.size_bytes] ^= (uint8_t)(1u << (seed >> 5 & 7));
            }
            if (decode(&r, levels[l], 0, copy, job.size_bytes, r.rows)) continue;
            for (uint32_t v = 0; v < VERTICES; v++)
                EXPECT((r.rows[v].position[0] | r.rows[v].position[1] | r.rows[v].position[2]) <
                           1 << 12 &&
                       abs(r.rows[v].normal[0]) <= 127 && abs(r.rows[v].normal[1]) <= 127);
        }
        memcpy(copy, r.out, job.size_bytes);
        copy[job.size_bytes] = 0;
        EXPECT(decode(&r, levels[l], 0, copy, job.size_bytes + 1, r.rows) == ERR_MALFORMED);
        free(copy);
    }
    rig_close(&r);
}

static void anchors_are_a_ring_of_four(void)
{
    _Alignas(16) struct surface_row memory[5 * 2] = {0};
    struct surface_anchors a;
    surface_anchors_init(&a, memory, 2);
    for (uint32_t frame = 1; frame <= 9; frame++) {
        surface_anchors_spare(&a)[1].position[0] = (uint16_t)frame;
        surface_anchors_keep(&a, frame);
        for (uint32_t f = 1; f <= frame; f++) {
            const struct surface_row *rows = surface_anchors_find(&a, f);
            EXPECT((rows != NULL) == (f + SURFACE_ANCHORS > frame));
            if (rows) EXPECT(rows[1].position[0] == f && rows != surface_anchors_spare(&a));
        }
    }
    EXPECT(surface_anchors_find(&a, 0) == NULL);
    surface_anchors_clear(&a);
    EXPECT(surface_anchors_find(&a, 9) == NULL);
}

static void predictors_never_look_ahead(void)
{
    struct animation a = animation_make(RING, ALONG);
    EXPECT(surface_predictors_valid(a.predictors, a.vertex_count));
    a.predictors[8 * 5 + 2] = 7; // vertex 5 may look back 6 at most
    EXPECT(!surface_predictors_valid(a.predictors, a.vertex_count));
    a.predictors[8 * 5 + 2] = 0;
    EXPECT(!surface_predictors_valid(a.predictors, a.vertex_count));
    animation_free(&a);
    // A fan of 100,000 triangles, degenerate triangles, lonely vertices, welds: all in bounds.
    enum { N = 100000 };
    uint32_t *indices = malloc(3 * N * sizeof *indices), *weld = malloc((N + 10) * sizeof *weld);
    uint16_t *predictors = malloc((N + 10) * 16);
    for (uint32_t i = 0; i < N; i++) {
        indices[3 * i] = 0;
        indices[3 * i + 1] = i;
        indices[3 * i + 2] = i + 1;
    }
    for (uint32_t v = 0; v < N + 10; v++)
        weld[v] = v % 10 == 9 ? v - 9 : v;
    EXPECT(surface_predictors_make(indices, 3 * N, weld, N + 10, predictors) == ERR_OK);
    EXPECT(surface_predictors_valid(predictors, N + 10));
    EXPECT(surface_predictors_make(NULL, 0, NULL, 0, predictors) == ERR_OK);
    free(indices);
    free(weld);
    free(predictors);
}

static void the_better_order_is_taken(void)
{
    struct rig r;
    rig_open(&r, 14);
    EXPECT(surface_quantise(&r.q));
    uint32_t *order = malloc(VERTICES * sizeof *order), seen = 0;
    EXPECT(surface_order_choose(r.a.indices, r.a.index_count, NULL, r.q.rows, VERTICES, order) ==
           ERR_OK);
    uint8_t *used = calloc(VERTICES, 1);
    for (uint32_t i = 0; i < VERTICES; i++) {
        seen += !used[order[i]];
        used[order[i]] = 1;
    }
    EXPECT(seen == VERTICES);
    free(order);
    free(used);
    rig_close(&r);
}

static void raw_frames_carry_the_floats(void)
{
    struct rig r;
    rig_open(&r, 14);
    surface_encode_raw(r.a.blocks, r.a.lanes, VERTICES, r.out);
    size_t size = (size_t)VERTICES * SURFACE_RAW_VERTEX_BYTES;
    EXPECT(surface_decode_raw_check(r.out, size, VERTICES) == ERR_OK);
    EXPECT(surface_decode_raw_check(r.out, size - 1, VERTICES) == ERR_TRUNCATED);
    EXPECT(surface_decode_raw_check(r.out, size + 1, VERTICES) == ERR_MALFORMED);
    float *positions = malloc(VERTICES * 12);
    const struct surface_view view = {
        .positions = positions, .position_stride_bytes = 12, .normal_format = SURFACE_NOTHING};
    surface_view_write_raw(&view, r.out, VERTICES);
    for (uint32_t i = 0; i < VERTICES; i++)
        EXPECT(positions[3 * i + 1] ==
               r.a.blocks[(size_t)(r.a.lanes[i] / 16) * 96 + 16 + r.a.lanes[i] % 16]);
    static const float nan_value = NAN;
    memcpy(r.out + 100, &nan_value, 4);
    EXPECT(surface_decode_raw_check(r.out, size, VERTICES) == ERR_MALFORMED);
    free(positions);
    rig_close(&r);
}

static void a_surface_of_nothing_works(void)
{
    struct surface_packer *packer = NULL;
    EXPECT(surface_packer_create(0, &packer) == ERR_OK);
    uint8_t out[128];
    struct surface_row none[1];
    struct surface_encode_job e = {
        .lane_rows = none, .current = none, .out = out, .capacity_bytes = sizeof out};
    surface_encode(&e, packer);
    struct surface_decode_job d = {
        .payload = out, .size_bytes = e.size_bytes, .bits = 14, .rows = none};
    EXPECT(surface_decode(&d, packer) == ERR_OK);
    surface_packer_destroy(packer);
}

int main(void)
{
    RUN(what_is_decoded_is_what_was_quantised);
    RUN(positions_are_within_half_a_step_and_normals_within_a_degree);
    RUN(every_direction_survives_the_octahedron);
    RUN(odd_floats_are_held_on_the_grid);
    RUN(every_simd_level_gives_the_same_bytes);
    RUN(a_still_surface_costs_nothing);
    RUN(leaving_the_grid_is_noticed);
    RUN(hostile_payloads_give_errors_or_rows_in_range);
    RUN(anchors_are_a_ring_of_four);
    RUN(predictors_never_look_ahead);
    RUN(the_better_order_is_taken);
    RUN(raw_frames_carry_the_floats);
    RUN(a_surface_of_nothing_works);
    TESTING_MAIN_END;
}

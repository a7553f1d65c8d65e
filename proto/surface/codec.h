#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/simd.h"

// The surface codec v1: positions on a grid, octahedral normals, predicted in integers from an
// anchor frame and from mesh neighbours, byte planes, zstd. Lossless on the grid; the same bits on
// every machine and at every SIMD level. Nothing here allocates after set-up. proto/README.md has
// the format as pseudo-code.
//
// Server:  surface_quantise (once per character, bits)  ->  surface_encode (once per detail)
// Client:  surface_decode  ->  surface_view_write (vertex buffer for a GPU)
//
// Threads: jobs that share no output, packer, encoder or decoder may run at the same time.

enum surface_codec {
    SURFACE_CODEC_RAW = 0,  // 6 x f32 per vertex: position, normal
    SURFACE_CODEC_GRID = 1, // this file
    SURFACE_CODEC_COUNT     // ids above: later predictors (motion basis)
};
enum {
    SURFACE_BITS_MIN = 10,
    SURFACE_BITS_MAX = 16,
    SURFACE_BITS_DEFAULT = 14,
    SURFACE_ANCHORS = 4,       // kept by encoder and decoder per actor, detail and quality
    SURFACE_LANES = 16,        // vertices in one SoA block
    SURFACE_BLOCK_FLOATS = 96, // position[3][16], normal[3][16]
    SURFACE_RAW_VERTEX_BYTES = 24
};

// A vertex on the grid. Positions 0 .. 2^bits - 1; normals octahedral, -127 .. 127.
struct surface_row {
    uint16_t position[3];
    int16_t normal[2];
    uint16_t zero[3]; // always 0: rows are one 128-bit register
};
_Static_assert(sizeof(struct surface_row) == 16, "one register");

struct surface_grid {
    float origin[3];
    float step; // > 0; position = origin + step * integer, two float operations
    uint8_t bits;
};

// The smallest grid over the box, with `margin` (e.g. 0.25) of the box's longest side around it.
// Boxes without extent get a step of 1e-6 or so of their distance from zero.
struct surface_grid surface_grid_fit(const float box_min[3], const float box_max[3], uint8_t bits,
                                     float margin);
bool surface_grid_valid(const struct surface_grid *grid);

// ---- encoder side -------------------------------------------------------------------------

// Positions and normals in the kernels' layout: block b is 96 floats,
// position[3][16] then normal[3][16]. Every lane is quantised, padding too.
struct surface_quantise_job {
    enum simd_level level;
    const float *blocks; // 16-byte aligned or better
    size_t block_count;
    struct surface_grid grid;
    struct surface_row *rows;     // block_count * 16, written, 16-byte aligned
    float box_min[3], box_max[3]; // out: of the positions given (NaN counts as nothing)
};
// True when every position is on the grid: otherwise the rows are clamped, and the caller takes a
// larger grid (surface_grid_fit on the box) and makes a key frame.
bool surface_quantise(struct surface_quantise_job *job);

// Predictors, 8 numbers a vertex: how far back in stream order its parents are. Each is 1 .. i + 1,
// at most 65535; i + 1 stands for a row of zeros before the first vertex.
//   [0..3]  the neighbours that are averaged (delta frames); fewer than four repeat
//   [4..6]  a, b, c: a + b - c is the fourth corner of a parallelogram (key frames)
//   [7]     0
// Chosen once per detail from its topology; sent in SURFACE. `indices`: triangles of stream
// vertices, index_count / 3 of them (lines and points are left out); `weld` (may be NULL): for each
// vertex the first stream vertex at the same place, its only parent when it is another one. A
// neighbour further back than 65535 is not used. Scratch is malloc'd: at load. ERR_MEMORY.
enum { SURFACE_PREDICTORS_WIDTH = 8 };
MUST_CHECK enum err surface_predictors_make(const uint32_t *indices, size_t index_count,
                                            const uint32_t *weld, size_t vertex_count,
                                            uint16_t *predictors);
bool surface_predictors_valid(const uint16_t *predictors, size_t vertex_count);

// A stream order by locality: order[i] = which vertex comes at place i, so that neighbours are
// near. Source order is often as good (modelling tools number in sweeps): surface_order_choose
// codes the rest surface in both and keeps the smaller, ties to source order. `rest`: rows of the
// rest surface, [vertex]. Malloc'd scratch: at load. ERR_MEMORY.
MUST_CHECK enum err surface_order_make(const uint32_t *indices, size_t index_count,
                                       size_t vertex_count, uint32_t *order);
MUST_CHECK enum err surface_order_choose(const uint32_t *indices, size_t index_count,
                                         const uint32_t *weld, const struct surface_row *rest,
                                         size_t vertex_count, uint32_t *order);

// zstd state and scratch for one thread of encoding or decoding; shared by all surfaces there.
struct surface_packer;
MUST_CHECK enum err surface_packer_create(size_t vertices_max, struct surface_packer **out);
void surface_packer_destroy(struct surface_packer *p); // safe on NULL

size_t surface_encode_bound(size_t vertex_count); // payload bytes at most, any codec

struct surface_encode_job {
    enum simd_level level;
    const struct surface_row *lane_rows; // from surface_quantise
    const uint32_t *lanes;               // stream order: the lane of each vertex
    size_t vertex_count;
    const uint16_t *predictors;
    const struct surface_row *anchor; // stream order, vertex_count; NULL: a key frame
    struct surface_row *current;      // written: this frame in stream order, to become an anchor
    uint8_t *out;                     // surface_encode_bound(vertex_count)
    size_t capacity_bytes;
    size_t size_bytes; // out
    bool still;        // out: equal to its anchor; size_bytes is 0
};
void surface_encode(struct surface_encode_job *job, struct surface_packer *packer);

// Raw floats: 24 bytes a vertex, in stream order.
void surface_encode_raw(const float *blocks, const uint32_t *lanes, size_t vertex_count,
                        uint8_t *out);

// The anchors of one actor, detail and quality, for an encoder or a decoder. Memory is lent:
// surface_anchors_bytes, 16-byte aligned.
struct surface_anchors {
    struct surface_row *rows; // (SURFACE_ANCHORS + 1) * vertex_count: the anchors, and a spare
    size_t vertex_count;
    uint32_t frames[SURFACE_ANCHORS];   // frame number in each slot, 0 = empty
    uint8_t slots[SURFACE_ANCHORS + 1]; // slots[i]: which stretch of rows; the last one is spare
};
size_t surface_anchors_bytes(size_t vertex_count);
void surface_anchors_init(struct surface_anchors *a, void *memory, size_t vertex_count);
void surface_anchors_clear(struct surface_anchors *a); // e.g. a new grid
const struct surface_row *surface_anchors_find(const struct surface_anchors *a, uint32_t frame);
struct surface_row *surface_anchors_spare(struct surface_anchors *a); // for the next frame
// The spare becomes the anchor `frame`; the oldest one's memory becomes the spare.
void surface_anchors_keep(struct surface_anchors *a, uint32_t frame);

// ---- decoder side -------------------------------------------------------------------------

struct surface_decode_job {
    enum simd_level level;
    const uint8_t *payload;
    size_t size_bytes;
    size_t vertex_count;
    uint8_t bits;
    const uint16_t *predictors;       // valid (surface_predictors_valid)
    const struct surface_row *anchor; // NULL: a key frame
    struct surface_row *rows;         // written, vertex_count; undefined after an error;
                                      // not the anchor
};
// Hostile-safe: any payload gives an error or rows in range; work is bounded by vertex_count.
// ERR_MALFORMED; ERR_TRUNCATED.
MUST_CHECK enum err surface_decode(const struct surface_decode_job *job,
                                   struct surface_packer *packer);
// size_bytes must be 24 * vertex_count and every number finite.
MUST_CHECK enum err surface_decode_raw_check(const uint8_t *payload, size_t size_bytes,
                                             size_t vertex_count);

// Unit normals for octahedral pairs, as int16 (32767 = 1), exact in integers. 128 KiB, built once,
// shared by all decoders.
struct surface_normals {
    int16_t quadrant[128][128][4]; // [|u|][|v|] -> |x|, |y|, z, 0
};
void surface_normals_build(struct surface_normals *table);
void surface_normals_get(const struct surface_normals *table, int u, int v, int16_t out[3]);

// Octahedral quantisation as surface_quantise does it; a zero or non-finite normal gives (0, 0).
void surface_normal_pack(const float normal[3], int16_t out[2]);

enum surface_format {
    SURFACE_FLOAT3,   // 3 x f32 (normals: int16 / 32767)
    SURFACE_UINT16_4, // positions: grid integers, then 0; draw with origin and step
    SURFACE_INT16_4,  // normals: snorm16, then 0
    SURFACE_INT8_2,   // normals: the octahedral pair, for shaders that unfold it
    SURFACE_NOTHING
};
struct surface_view {
    void *positions; // first vertex's; NULL with SURFACE_NOTHING
    size_t position_stride_bytes;
    enum surface_format position_format;
    void *normals;
    size_t normal_stride_bytes;
    enum surface_format normal_format;
};
void surface_view_write(const struct surface_view *view, const struct surface_row *rows,
                        size_t vertex_count, const struct surface_grid *grid,
                        const struct surface_normals *normals);
// From a raw payload that passed surface_decode_raw_check; only SURFACE_FLOAT3 and NOTHING.
void surface_view_write_raw(const struct surface_view *view, const uint8_t *payload,
                            size_t vertex_count);

#pragma once
#include <stddef.h>
#include <stdint.h>

#include "proto/surface/codec.h"

// Inside the codec: the loops that exist plain and for AVX2, same bits from each. The wide files
// are compiled for their instruction set and called only after simd_has.

struct surface_limits { // of one quantised range
    float low[3], high[3];
    bool inside;
};

// Rows of `block_count` blocks; limits grow (the caller begins them).
void surface_quantise_plain(const float *blocks, size_t block_count,
                            const struct surface_grid *grid, struct surface_row *rows,
                            struct surface_limits *limits);
void surface_quantise_avx2(const float *blocks, size_t block_count, const struct surface_grid *grid,
                           struct surface_row *rows, struct surface_limits *limits);

// deltas[i] = row - anchor row (anchor may be NULL), positions mod 2^16, normals as signed bytes.
// deltas[-1] is zero. Copies the row to `current`.
void surface_delta_plain(const struct surface_encode_job *job, struct surface_row *deltas);
void surface_delta_avx2(const struct surface_encode_job *job, struct surface_row *deltas);

// Zigzag residuals of vertices [first, count) into 8 planes of `count` bytes each: position high
// bytes x y z, low bytes x y z, normals u v.
enum surface_predictor { SURFACE_MEAN, SURFACE_PARALLELOGRAM };
enum { SURFACE_PLANES = 8 };
void surface_residual_plain(const struct surface_row *deltas, const uint16_t *predictors,
                            enum surface_predictor predictor, size_t first, size_t count,
                            uint8_t *planes);
void surface_residual_avx2(const struct surface_row *deltas, const uint16_t *predictors,
                           enum surface_predictor predictor, size_t first, size_t count,
                           uint8_t *planes);

// The way back: deltas[first .. count) from planes, in order.
void surface_restore_plain(struct surface_row *deltas, const uint16_t *predictors,
                           enum surface_predictor predictor, size_t first, size_t count,
                           const uint8_t *planes);
void surface_restore_avx2(struct surface_row *deltas, const uint16_t *predictors,
                          enum surface_predictor predictor, size_t count, const uint8_t *planes);

// rows = deltas + anchor; true when every value is one that an encoder may make.
bool surface_add_plain(const struct surface_decode_job *job, const struct surface_row *deltas);
bool surface_add_avx2(const struct surface_decode_job *job, const struct surface_row *deltas);

// Scratch and zstd state of one thread (packer.c).
struct surface_packer {
    size_t vertices_max;
    struct surface_row *deltas;      // vertices_max + 1; [0] is the row of zeros
    uint8_t *planes;                 // SURFACE_PLANES * vertices_max
    void *compressor, *decompressor; // ZSTD_CCtx, ZSTD_DCtx in memory of ours: they never allocate
    void *memory[4];
};
// zstd of `size` bytes into out; 0 when it does not fit (never with ZSTD_compressBound).
size_t surface_packer_pack(struct surface_packer *p, const uint8_t *bytes, size_t size_bytes,
                           uint8_t *out, size_t capacity_bytes);
// True when `packed` is one zstd frame of exactly size_bytes.
bool surface_packer_unpack(struct surface_packer *p, const uint8_t *packed, size_t packed_bytes,
                           uint8_t *out, size_t size_bytes);

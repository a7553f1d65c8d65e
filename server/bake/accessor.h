#pragma once
#include "server/bake/source.h"

// The table /accessors and their elements as plain arrays: any component type, normalised,
// strided, sparse, with or without a view. `min` and `max` are never trusted.
bool accessor_open(struct source *src);

struct accessor_shape {
    uint8_t rows, columns; // 0 rows = any
};
static const struct accessor_shape ACCESSOR_SCALAR = {1, 1}, ACCESSOR_VEC2 = {2, 1},
                                   ACCESSOR_VEC3 = {3, 1}, ACCESSOR_VEC4 = {4, 1},
                                   ACCESSOR_MAT4 = {4, 4};

// What the file says about it; fails at `at` when the shape is another.
const struct source_accessor *accessor_expect(struct source *src, const struct doc_at *at,
                                              int32_t index, struct accessor_shape shape);
// Elements as floats, columns one after another, without gaps; kept with the scene and decoded
// once however often it is asked for. Fails where a value is not finite.
const float *accessor_floats(struct source *src, const struct doc_at *at, int32_t index);
// The same into the caller's array of count * rows * columns floats, finite or not.
bool accessor_decode(struct source *src, const struct doc_at *at, int32_t index, float *out);
// Unsigned integers, not normalised, as 32 bits each.
bool accessor_decode_uint(struct source *src, const struct doc_at *at, int32_t index,
                          uint32_t *out);
// Fails before anything of that size is allocated when the bytes behind it do not reach.
bool accessor_check_bytes(struct source *src, const struct doc_at *at, int32_t index);

// Sparse without a base: only what differs from zero. `indices` has sparse_count entries,
// ascending; `values` an element each.
bool accessor_decode_sparse(struct source *src, const struct doc_at *at, int32_t index,
                            uint32_t *indices, float *values);

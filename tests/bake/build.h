#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Small glTF sources made in memory: bytes for one buffer, JSON around them.
struct build {
    uint8_t bin[32768];
    size_t bin_bytes;
    char views[8192]; // the items of /bufferViews so far
    uint32_t view_count;
};

// Adds a buffer view (4-byte aligned); returns its index.
uint32_t build_view(struct build *b, const void *bytes, size_t size_bytes, uint32_t stride);
uint32_t build_floats(struct build *b, const float *values, uint32_t count);

struct built {
    uint8_t *bytes; // malloc'd
    size_t size_bytes;
};
// `body` is what stands beside asset, buffers and bufferViews ("\"nodes\": [...], ...").
struct built build_gltf(const struct build *b, const char *body); // data URI
struct built build_glb(const struct build *b, const char *body);
// Any JSON in a GLB with these bytes as its binary chunk.
struct built build_glb_raw(const char *json, const uint8_t *bin, size_t bin_bytes);

// The kinds of source that fuzzing and the hostile tests start from, each below 20 kB.
enum { BUILD_SEED_COUNT = 7 };
const char *build_seed_name(int seed); // file name, ends in .gltf, .glb, .vrm
struct built build_seed(int seed);

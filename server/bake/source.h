#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/bake/doc.h"
#include "server/bake/import.h"
#include "server/bake/memo.h"

// One glTF document while it is read: the JSON, the tables that point into its bytes, and what
// has been decoded so far. Private to this folder's readers.

struct source_buffer {
    const char *uri; // borrowed from the JSON; "" when it has none
    size_t declared_bytes;
    bool fallback;        // EXT_meshopt_compression: may hold nothing
    const uint8_t *bytes; // NULL until it is first used
};

struct source_meshopt {
    bool present;
    int32_t buffer;
    size_t offset, size_bytes, stride, count;
    uint8_t mode, filter; // enum view_mode, enum view_filter (view_codec.h)
};

struct source_view {
    int32_t buffer;
    size_t offset, size_bytes;
    size_t stride; // 0 = tight
    struct source_meshopt meshopt;
    const uint8_t *bytes; // NULL until it is first used
};

enum source_component {
    SOURCE_I8 = 5120,
    SOURCE_U8 = 5121,
    SOURCE_I16 = 5122,
    SOURCE_U16 = 5123,
    SOURCE_U32 = 5125,
    SOURCE_F32 = 5126,
};

struct source_layout { // of one element
    enum source_component component;
    bool normalised;
    uint8_t rows, columns; // a scalar is 1 x 1, a VEC3 3 x 1
    size_t component_bytes, column_bytes, element_bytes;
};

struct source_accessor {
    int32_t view; // or SCENE_NONE: all zeros
    size_t offset;
    uint32_t count;
    struct source_layout layout;
    uint32_t sparse_count; // 0 = dense
    int32_t sparse_indices_view, sparse_values_view;
    size_t sparse_indices_offset, sparse_values_offset;
    enum source_component sparse_indices_component;
};

struct source_file { // a file beside the document, held for the import
    struct source_file *next;
    const char *real_path;
    uint8_t *bytes;
    size_t size_bytes;
};

struct source {
    struct doc doc;
    const struct import_limits *limits;
    const char *path; // NULL: nothing beside it may be read
    bool is_glb;
    const uint8_t *bin; // the GLB's BIN chunk, borrowed
    size_t bin_bytes;
    uint32_t buffer_count, view_count, accessor_count, node_count, mesh_count, skin_count;
    struct source_buffer *buffers;
    struct source_view *views;
    struct source_accessor *accessors;
    struct memo memo;
    struct source_file *files; // newest first; freed by source_close
    size_t external_bytes;
    float *temp; // reused by source_temp
    size_t temp_count;
    uint32_t *mesh_joint_end; // per mesh: highest joint index in use + 1, 0 = no joints
};

enum memo_kind {
    MEMO_FLOATS = 1,
    MEMO_UV,
    MEMO_UNITS,
    MEMO_TANGENTS,
    MEMO_COLORS,
    MEMO_JOINTS,
    MEMO_INDICES,
    MEMO_TARGET,
    MEMO_BINDS,
    MEMO_KEYS,
    MEMO_IMAGE,
};

// Opens a GLB or glTF JSON document: parses, checks asset and required extensions, reads the
// tables of buffers, views and accessors. source_close is to be called in any case.
bool source_open(struct source *src, const uint8_t *bytes, size_t size_bytes, const char *path,
                 const struct import_limits *limits, struct scene *scene);
void source_close(struct source *src);
// One array that is used again and again (not zeroed); valid until the next call.
float *source_temp(struct source *src, const struct doc_at *at, size_t count);
// Hands the failure, if any, to the caller's fault.
enum err source_result(const struct source *src, struct fault *fault);

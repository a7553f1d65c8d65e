#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/pool.h"
#include "common/xform.h"

// An imported source as plain, decoded data: what a glTF 2.0, GLB or VRM file says, with every
// accessor resolved (sparse, strided, normalised, quantised, meshopt) but nothing yet arranged
// for the kernels. import (import.h) fills it, compile (compile.h) reads it.
//
// Frames and units: the file's own; right-handed, +Y up. Indices are the file's own glTF indices
// unless a comment says otherwise. Everything lives in `pool` and is freed with it. Every index
// in here has been checked and every float is finite: later stages may rely on it.

enum {
    SCENE_INFLUENCES_MAX = 16, // JOINTS_0 .. JOINTS_3
    SCENE_UV_SETS_MAX = 8,
    SCENE_COLOR_SETS_MAX = 2,
    SCENE_NONE = -1,
};

struct scene_node {
    const char *name; // "" when the file gives none
    int32_t parent;   // or SCENE_NONE; the hierarchy has been checked to be a forest
    int32_t mesh;     // or SCENE_NONE
    int32_t skin;     // or SCENE_NONE; only with a mesh
    bool in_default_scene;
    bool has_matrix;      // the file gave `matrix`: local below is it, rest its decomposition
    bool matrix_is_exact; // rest says the same as the matrix (no shear)
    struct trs rest;
    struct xform local;
    uint32_t weight_count; // the node's own morph weights, 0 = use the mesh's
    const float *weights;
};

enum scene_topology { SCENE_TRIANGLES, SCENE_LINES, SCENE_POINTS }; // strips, fans, loops unrolled

// A morph target of one primitive: deltas in the POSITION accessor's space. A NULL array means
// the target does not touch that attribute. `vertices` lists the touched vertices, ascending, one
// delta each; NULL = all of them in order.
struct scene_target {
    uint32_t count;
    const uint32_t *vertices;
    const struct vec3 *positions, *normals, *tangents;
};

struct scene_primitive {
    enum scene_topology topology;
    int32_t material; // or SCENE_NONE
    uint32_t vertex_count;
    const struct vec3 *positions;
    const struct vec3 *normals; // unit, or NULL
    const float (*tangents)[4]; // xyz unit, w = +-1, or NULL
    uint32_t uv_set_count;
    const float (*uv[SCENE_UV_SETS_MAX])[2];
    uint32_t color_set_count;
    const float (*colors[SCENE_COLOR_SETS_MAX])[4]; // linear, alpha 1 when the file has RGB
    uint32_t influences_per_vertex;                 // 0, 4, 8, 12, 16: as in the file
    const uint16_t *joints;                         // indices into the skin's joint list
    const float *weights; // >= 0 and finite, as in the file: not renormalised, zeros included
    uint32_t index_count; // 3 a triangle, 2 a line, 1 a point
    const uint32_t *indices;
    const struct scene_target *targets; // the mesh's target_count
};

struct scene_mesh {
    const char *name;
    uint32_t primitive_count;
    struct scene_primitive *primitives;
    uint32_t target_count;           // equal in all its primitives
    const char *const *target_names; // "" where the file gives none
    const float *weights;            // target_count defaults
};

struct scene_skin {
    const char *name;
    uint32_t joint_count; // >= 1
    const int32_t *joints;
    const struct xform *inverse_binds; // identity where the file gives none
};

enum scene_path { SCENE_TRANSLATION, SCENE_ROTATION, SCENE_SCALE, SCENE_WEIGHTS };
enum scene_interpolation { SCENE_STEP, SCENE_LINEAR, SCENE_CUBIC };

struct scene_channel {
    int32_t node;
    enum scene_path path;
    enum scene_interpolation interpolation;
    uint32_t key_count;  // >= 1
    uint32_t width;      // floats a key: 3, 4, 3, or the target count
    const float *times;  // seconds, strictly rising
    const float *values; // width * key_count; cubic: in-tangent, value, out-tangent per key.
                         // Rotations of step and linear channels are within 2 % of unit.
};

struct scene_clip {
    const char *name;
    float duration_s;       // the last key of all its channels
    bool loop;              // the rig file may say so; else true
    uint32_t channel_count; // may be 0: clips keep the file's numbers
    struct scene_channel *channels;
};

struct scene_texture_use {
    int32_t texture; // or SCENE_NONE
    uint32_t uv_set;
    float offset[2], scale[2], rotation; // KHR_texture_transform; identity otherwise
    float strength;                      // normal scale or occlusion strength; 1 otherwise
};

enum scene_alpha { SCENE_ALPHA_OPAQUE, SCENE_ALPHA_MASK, SCENE_ALPHA_BLEND };

struct scene_material {
    const char *name;
    float base_color[4], emissive[3]; // linear
    float metallic, roughness, alpha_cutoff;
    enum scene_alpha alpha;
    bool double_sided, unlit;
    struct scene_texture_use base_color_texture, metallic_roughness_texture, normal_texture,
        occlusion_texture, emissive_texture;
};

struct scene_texture {
    int32_t image;        // or SCENE_NONE (then a viewer shows the plain factor)
    int32_t basisu_image; // KHR_texture_basisu source, or SCENE_NONE
    uint16_t mag_filter, min_filter, wrap_s, wrap_t; // glTF enums, 0 = unset filter
};

struct scene_image {
    const char *name, *mime_type; // e.g. "image/png", "image/ktx2"; "" when unknown
    const uint8_t *bytes;         // passed through as they are; NULL when missing (noted)
    size_t size_bytes;
};

// VRM 0.x and 1.0 alike. `bone` is the VRM 1.0 name ("hips", "leftThumbMetacarpal"; 0.x thumbs
// are renamed). `json` is what both versions say about expressions, look-at, spring bones,
// colliders and constraints, rewritten into the VRM 1.0 schema with node, mesh and material
// indices checked; canonical text, so equal input gives equal bytes. "" for no VRM.
struct scene_bone {
    const char *bone;
    int32_t node;
};
struct scene_vrm {
    uint32_t version; // 0 = none, 1 = came as VRM 0.x, 2 = VRM 1.0
    uint32_t bone_count;
    const struct scene_bone *bones;
    const char *json;
    bool is_animation; // a VRMA: bones say which node is which bone, version stays 0
};

// What the bake has to say, counted; printed by `sinewd bake`, kept for `inspect`.
enum note_kind { NOTE_READ, NOTE_REPAIRED, NOTE_LEFT_OUT };
struct note {
    enum note_kind kind;
    uint32_t count; // occurrences of the same text
    char text[244]; // a line a person can act on, without the count
};
struct notes {
    uint32_t count;
    struct note *items; // grows in the scene's pool; capped, the last one says "more"
    uint32_t capacity;
};

struct scene {
    struct pool pool;
    const char *generator; // asset.generator, ""
    uint32_t node_count, mesh_count, skin_count, clip_count, material_count, texture_count,
        image_count;
    struct scene_node *nodes;
    struct scene_mesh *meshes;
    struct scene_skin *skins;
    struct scene_clip *clips;
    struct scene_material *materials;
    struct scene_texture *textures;
    struct scene_image *images;
    struct scene_vrm vrm;
    struct notes notes;
};

// Adds one occurrence; equal texts are one note with a count. Never fails (drops past the cap).
void scene_note(struct scene *s, enum note_kind kind, uint32_t count, const char *format, ...)
    PRINTF_LIKE(4, 5);
void scene_free(struct scene *s); // safe on zero

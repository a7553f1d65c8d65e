#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/model/model.h"

// A baked model and a change to one of its examples, to its base surface, or to a root's weights,
// to a new baked model (methods A, making, and C). Needs no source file: the authoring sections say
// all. Only drivers that share vertices with what has changed are made anew; the others keep their
// bits.
//
// Blocking: background pool. Vertices are in source order, positions in the file's unit: world
// space at the example's pose, or base space for the base surface.
struct cJSON;

enum edit_kind {
    EDIT_SURFACE, // the surface of `example` (EDIT_BASE: of M0), whole, from bytes
    EDIT_DELTAS,  // added to it at some vertices
    EDIT_POSE,    // the example's pose; keeps its surface, or its deltas
    EDIT_NEW,     // an example of `driver` at a pose, not sculpted
    EDIT_MIRROR,  // the example's mirror image, in `driver` or the one across
    EDIT_REMOVE,  // the example goes
    EDIT_TAKE     // what is edited as another bake of this model has it
};
enum edit_format { EDIT_F32, EDIT_OBJ, EDIT_GLB };
// What is edited, by its place: an example's index, or one of these.
enum { EDIT_BASE = -1, EDIT_ABSENT = -2, EDIT_ROOTS = -16, EDIT_CORRECTIONS = -1024 };
static inline int32_t edit_root(uint32_t root) // a root's weights: one float32 a vertex, 0 to 1
{
    return EDIT_ROOTS - (int32_t)root;
}
static inline bool edit_is_root(int32_t place)
{
    return place <= EDIT_ROOTS && place > EDIT_CORRECTIONS;
}
static inline uint32_t edit_root_of(int32_t place)
{
    return (uint32_t)(EDIT_ROOTS - place);
}
// A face's correction mesh: its first row of face_corrections.
static inline int32_t edit_correction(uint32_t row)
{
    return EDIT_CORRECTIONS - (int32_t)row;
}
static inline bool edit_is_correction(int32_t place)
{
    return place <= EDIT_CORRECTIONS;
}
static inline uint32_t edit_correction_of(int32_t place)
{
    return (uint32_t)(EDIT_CORRECTIONS - place);
}
bool edit_correction_leads(const struct model *m, uint32_t row); // it stands for a mesh
// SHAPE:BONE:PLACE, or #ROW where that is long or not alone.
enum { EDIT_NAME_BYTES = 128 };
void edit_correction_name(const struct model *m, uint32_t row, char *out, size_t out_bytes);
int32_t edit_correction_find(const struct model *m, const char *name); // EDIT_ABSENT: none
struct edit_delta {
    uint32_t vertex;
    float delta[3];
};
struct edit {
    enum edit_kind kind;
    int32_t example;   // its place. EDIT_NEW: unused
    bool force;        // vertices may move further than the body is high; seams are joined
    bool keep_sculpts; // EDIT_BASE: examples keep their surfaces; else their deltas
    enum edit_format format;
    uint8_t *bytes; // EDIT_SURFACE; may be written to; a NUL follows (EDIT_OBJ)
    size_t size_bytes;
    const struct edit_delta *deltas; // EDIT_DELTAS, ascending
    size_t delta_count;
    const struct cJSON *pose; // EDIT_POSE, EDIT_NEW: a POSE object
    bool keep_surface;        // EDIT_POSE
    const char *driver;       // EDIT_NEW; EDIT_MIRROR: may be NULL
    const char *name;         // EDIT_NEW
    const struct model *from; // EDIT_TAKE
    int32_t from_example;     // in `from`
};
struct edit_result {
    uint8_t *bytes; // malloc'd: a .sinew, proven by its own loader
    size_t size_bytes;
    char *report;            // malloc'd: JSON, see server/api/README.md
    char mirror_driver[128]; // EDIT_MIRROR: where it went; "": to one that follows anyway
    uint32_t moved;          // vertices of the example that differ from the skinned model; of a
                             // root's weights, those that changed
    double largest_move;     // of this edit, file units; of weights, their largest change
};

// The steps one after the other, solved once. ERR_MALFORMED: not this topology, not finite, wrong
// pose; ERR_NOT_FOUND: a name; ERR_AMBIGUOUS: the example's name is taken; ERR_DENIED: a vertex
// moved too far. On failure *out is zero.
MUST_CHECK enum err edit_apply(const struct model *m, struct edit *steps, size_t step_count,
                               struct edit_result *out, struct fault *fault);
void edit_free(struct edit_result *r); // safe on zero

// Surfaces to hand out, vertex_count * 3 floats: Y of an example, M0, or what is seen where a
// correction counts whole: its shape at 1 and its bone, or parameter, at its place.
MUST_CHECK enum err edit_surface(const struct model *m, int32_t example, float *positions,
                                 struct fault *fault);

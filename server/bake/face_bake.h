#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/xform.h"
#include "server/bake/builder.h"
#include "server/bake/rig.h"

// What the files of the face's bake share: the rig file's `face`, read into tables that grow, then
// contours, how customisation opens them, and the corrections for that. Private to face_*.c and
// compile_face.c.

#define FACE_LIST(type, name)                                                                      \
    type *name;                                                                                    \
    size_t name##_count, name##_capacity

// A contour: two rims that shapes close, paired by arc length. Points go along `upper`.
enum { FACE_CLOSERS_MAX = 8 };
struct face_pair {
    uint32_t upper;    // vertex
    uint32_t lower[2]; // vertices of the segment that lies across
    double along;      // 0 .. 1 from lower[0] to lower[1]
};
struct face_contour {
    const char *name;
    uint32_t *upper, *lower; // vertices along the rims, ends included
    uint32_t upper_count, lower_count;
    uint32_t closers[FACE_CLOSERS_MAX], closer_count; // shapes
    int32_t openers[FACE_CLOSERS_MAX]; // shape that must stand open for the closer, or MODEL_NONE
    bool found;                        // from the closing shapes, not given
    // by face_measure
    struct face_pair *pairs;          // one an upper vertex
    double way[3];                    // unit: from the lower rim to the upper, neutral and open
    double *stands[FACE_CLOSERS_MAX]; // [pair] gap when open, at least a tenth of the widest
    double open[FACE_CLOSERS_MAX], left[FACE_CLOSERS_MAX]; // gaps: widest open; widest left closed
};

struct face_bake {
    struct builder *b;
    const struct cJSON *json; // the rig file's face, or NULL
    double threshold;         // of the open gap: above it a bone is a target
    FACE_LIST(struct model_parameter, parameters);
    FACE_LIST(struct model_face_move, moves);
    FACE_LIST(struct model_face_mix, mixes);
    FACE_LIST(struct model_face_option, options);
    FACE_LIST(struct model_face_bone, bones);
    FACE_LIST(struct model_face_pull, pulls);
    FACE_LIST(struct model_face_dial, dials);
    FACE_LIST(struct model_face_term, terms);
    FACE_LIST(struct model_face_correction, corrections);
    FACE_LIST(struct model_face_rule, rules);
    FACE_LIST(struct model_channel, channels); // all: the shapes' own, then corrections'
    FACE_LIST(struct model_morph_block, morph_blocks);
    FACE_LIST(struct face_contour, contours);
    FACE_LIST(struct model_expression, expressions);
    FACE_LIST(struct model_expression_color, colors);
    FACE_LIST(struct model_expression_transform, transforms);
    uint32_t *vertex_of_lane; // UINT32_MAX for lanes past the end
    uint32_t own_channels;    // of shapes; corrections' follow
    struct cJSON *report;
};

// Room for one more of a list; false: out of memory.
bool face_grow(struct face_bake *k, void **items, size_t *capacity, size_t count,
               size_t item_bytes);
#define FACE_ADD(k, name)                                                                          \
    (face_grow((k), (void **)&(k)->name, &(k)->name##_capacity, (k)->name##_count,                 \
               sizeof *(k)->name)                                                                  \
         ? &(k)->name[(k)->name##_count++]                                                         \
         : NULL)

// The tables as the model has them: what customise and the measures read while baking.
void face_show(struct face_bake *k);

// Of a joint that customisation moves; made when first asked for. UINT32_MAX: out of memory.
uint32_t face_bone_of(struct face_bake *k, uint32_t node);
int32_t face_parameter_find(const struct face_bake *k, const char *name);

MUST_CHECK enum err face_read_parameters(struct face_bake *k);
MUST_CHECK enum err face_read_appearance(struct face_bake *k, const struct cJSON *json,
                                         const char *path, struct model_parameter *p);
MUST_CHECK enum err face_read_rules(struct face_bake *k);
MUST_CHECK enum err face_read_contours(struct face_bake *k);
// One correction mesh, less the shape: deltas are [vertex][3] in base space. Its hat lies on
// `dial`.
MUST_CHECK enum err face_add_mesh(struct face_bake *k, uint32_t shape, const double (*deltas)[3],
                                  uint32_t dial, const float hat[3]);
MUST_CHECK enum err face_read_expressions(struct face_bake *k); // a VRM's
MUST_CHECK enum err face_correct(struct face_bake *k);          // detection, generation, report

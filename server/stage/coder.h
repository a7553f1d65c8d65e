#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/simd.h"
#include "proto/surface/codec.h"
#include "server/character/surface/block.h"
#include "server/stage/frame.h"
#include "server/stage/role.h"

// One actor at one quality: its grid, its rows on the grid, and for each detail a line of frames
// with the anchors that encoder and decoders share. A frame is lossless on the grid, so one frame
// may exist in several forms (coded against different anchors, or against none) that decode to the
// same rows and serve as the same anchor after. A tick makes each form that a ready viewer needs:
// mostly one; a viewer without a live anchor gets the key form and costs the others nothing.
//
// A frame becomes an anchor when every viewer of its line is there to take it (then nobody can
// miss it), when one who takes it has no anchor or an old one, and every CODER_ANCHOR_GAP ticks at
// least.
enum {
    CODER_QUALITIES = SURFACE_BITS_MAX - SURFACE_BITS_MIN + 2, // bits, and raw
    CODER_FORMS_MAX = 3,
    CODER_ANCHOR_GAP = 8,
    CODER_FRAMES_A_VIEWER = 2 // that a viewer may hold without others running short
};
static inline size_t coder_quality(uint8_t bits, bool raw)
{
    return raw ? CODER_QUALITIES - 1 : (size_t)(bits - SURFACE_BITS_MIN);
}

struct coder_line {
    struct surface_anchors anchors;
    uint64_t anchor_surfaces[SURFACE_ANCHORS]; // which surface each one is of
    void *memory;                              // the anchors'
    uint32_t frame;                            // newest number given out
    uint64_t tick;                             // that it was made in
    uint64_t anchor_tick;                      // of the newest anchor
    struct frame *forms[CODER_FORMS_MAX];
    uint32_t form_count;
    bool jumped; // since the line's last frame

    uint8_t demand; // this tick: bit i: against anchors.frames[i]; CODER_KEY
    bool absent;    // this tick: a viewer of it takes no frame
    bool keep;      // this tick's frame becomes an anchor
};
enum { CODER_KEY = 1 << SURFACE_ANCHORS };

struct coder_box {
    float low[3], high[3];
    bool inside;
};

struct coder {
    uint8_t bits;
    bool raw;
    uint32_t viewers;
    const struct role *role;  // of the actor that owns this
    struct surface_grid grid; // fitted to the first surface
    struct surface_row *rows; // [lane]; NULL with raw
    uint64_t rows_surface;    // which surface they are of; 0: none
    uint32_t loose_count;     // surfaces in a row that were far smaller than the grid
    uint64_t grid_changes;
    struct frame_pool *pool;
    struct coder_line lines[SURFACE_LODS_MAX];
};

// On the loop, when viewers come and go.
MUST_CHECK enum err coder_create(const struct role *role, uint8_t bits, bool raw,
                                 struct coder **out);
void coder_destroy(struct coder *c); // NULL is fine; frames that are out stay valid
MUST_CHECK enum err coder_reserve(struct coder *c, uint32_t viewers); // frame memory for so many

// Another bake of what clients have already (the same version): frames and anchors go on.
void coder_follow(struct coder *c, const struct role *role);

// On the loop, before the fork: a ready viewer that holds these anchors wants the next frame.
void coder_demand(struct coder *c, uint32_t detail, const uint32_t *held, size_t held_count);

// Quantising: the parts on any thread, then settle on one. True: the surface left the grid, which
// is larger now; quantise again (once). block_count is the model's.
void coder_quantise(struct coder *c, const struct surface_block *blocks, enum simd_level level,
                    size_t part, size_t part_count, struct coder_box *box);
bool coder_settle(struct coder *c, const struct coder_box *boxes, size_t box_count,
                  uint64_t surface);

// On the loop: frames for what is demanded of this line; `head` says what they have in common.
// Returns how many forms found no memory. Then coder_encode on any thread; then frames are whole.
uint32_t coder_prepare(struct coder *c, uint32_t detail, const struct frame_message *head);
void coder_encode(struct coder *c, uint32_t detail, const struct surface_block *blocks,
                  enum simd_level level, struct surface_packer *packer);

// The newest frame in a form that a viewer with these anchors can decode; NULL: none.
struct frame *coder_frame(const struct coder *c, uint32_t detail, const uint32_t *held,
                          size_t held_count);

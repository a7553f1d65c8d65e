#include "server/stage/coder.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/stage/frame_pool.h"

#define GRID_MARGIN 0.25f // of the longest side, on each side: room to move before the grid grows
enum {
    LOOSE_FACTOR = 4, // a surface this much smaller than its grid wastes two bits
    LOOSE_MAX = 120   // so many in a row: a finer grid pays for its key frame
};

enum err coder_create(const struct role *role, uint8_t bits, bool raw, struct coder **out)
{
    const struct model *m = role->model;
    struct coder *c = calloc(1, sizeof *c);
    if (!c) return ERR_MEMORY;
    c->bits = bits;
    c->raw = raw;
    c->role = role;
    size_t bound = FRAME_HEADER_BYTES + surface_encode_bound(role->details[0].vertex_count);
    enum err e = frame_pool_create(bound, &c->pool);
    if (e == ERR_OK && !raw) {
        c->grid = surface_grid_fit(m->info->box_min, m->info->box_max, bits, GRID_MARGIN);
        c->rows = aligned_alloc(64, m->blocks_count * MODEL_LANES * sizeof *c->rows);
        if (!c->rows) e = ERR_MEMORY;
        for (uint32_t i = 0; e == ERR_OK && i < role->detail_count; i++) {
            struct coder_line *line = &c->lines[i];
            size_t count = role->details[i].vertex_count;
            // Not cleared: rows of anchors that nobody has made are never read.
            line->memory = aligned_alloc(64, (surface_anchors_bytes(count) + 63) / 64 * 64);
            if (line->memory)
                surface_anchors_init(&line->anchors, line->memory, count);
            else
                e = ERR_MEMORY;
        }
    }
    if (e == ERR_OK)
        *out = c;
    else
        coder_destroy(c);
    return e;
}

static void release_forms(struct coder_line *line)
{
    for (uint32_t i = 0; i < line->form_count; i++)
        frame_unref(line->forms[i]);
    line->form_count = 0;
}

void coder_destroy(struct coder *c)
{
    if (!c) return;
    for (int i = 0; i < SURFACE_LODS_MAX; i++) {
        release_forms(&c->lines[i]);
        free(c->lines[i].memory);
    }
    frame_pool_close(c->pool);
    free(c->rows);
    free(c);
}

enum err coder_reserve(struct coder *c, uint32_t viewers)
{
    size_t own = (size_t)CODER_FORMS_MAX * c->role->detail_count;
    return frame_pool_grow(c->pool, own + (size_t)CODER_FRAMES_A_VIEWER * viewers);
}

void coder_follow(struct coder *c, const struct role *role)
{
    CHECK(c->role->number == role->number && c->role->version == role->version);
    c->role = role;
}

static bool holds(const uint32_t *held, size_t held_count, uint32_t frame)
{
    for (size_t i = 0; i < held_count; i++)
        if (held[i] == frame) return frame != 0;
    return false;
}

void coder_demand(struct coder *c, uint32_t detail, const uint32_t *held, size_t held_count)
{
    struct coder_line *line = &c->lines[detail];
    int best = -1;
    for (int i = 0; !c->raw && i < SURFACE_ANCHORS; i++) {
        uint32_t frame = line->anchors.frames[i];
        if (holds(held, held_count, frame) && (best < 0 || frame > line->anchors.frames[best]))
            best = i;
    }
    line->demand = (uint8_t)(line->demand | (best < 0 ? CODER_KEY : 1 << best));
}

static struct coder_box empty_box(void)
{
    return (struct coder_box){{FLT_MAX, FLT_MAX, FLT_MAX}, {-FLT_MAX, -FLT_MAX, -FLT_MAX}, true};
}

void coder_quantise(struct coder *c, const struct surface_block *blocks, enum simd_level level,
                    size_t part, size_t part_count, struct coder_box *box)
{
    size_t total = c->role->model->blocks_count;
    size_t first = total * part / part_count, end = total * (part + 1) / part_count;
    *box = empty_box();
    if (first == end) return;
    struct surface_quantise_job job = {.level = level,
                                       .blocks = blocks[first].position[0],
                                       .block_count = end - first,
                                       .grid = c->grid,
                                       .rows = c->rows + first * MODEL_LANES};
    box->inside = surface_quantise(&job);
    memcpy(box->low, job.box_min, sizeof box->low);
    memcpy(box->high, job.box_max, sizeof box->high);
}

static struct coder_box join_boxes(const struct coder_box *boxes, size_t count)
{
    struct coder_box all = empty_box();
    for (size_t i = 0; i < count; i++) {
        all.inside = all.inside && boxes[i].inside;
        for (int k = 0; k < 3; k++) {
            all.low[k] = fminf(all.low[k], boxes[i].low[k]);
            all.high[k] = fmaxf(all.high[k], boxes[i].high[k]);
        }
    }
    return all;
}

static void change_grid(struct coder *c, const struct coder_box *box)
{
    c->grid = surface_grid_fit(box->low, box->high, c->bits, GRID_MARGIN);
    c->loose_count = 0;
    c->grid_changes++;
    for (uint32_t i = 0; i < c->role->detail_count; i++) {
        struct coder_line *line = &c->lines[i];
        surface_anchors_clear(&line->anchors);
        // What was to be coded against an anchor must be a key frame now.
        if (line->demand) line->demand = CODER_KEY;
    }
}

bool coder_settle(struct coder *c, const struct coder_box *boxes, size_t box_count,
                  uint64_t surface)
{
    struct coder_box box = join_boxes(boxes, box_count);
    bool first = c->rows_surface == 0;
    c->rows_surface = surface;
    if (!first && !box.inside) {
        // The old grid's box is kept inside the new one: a surface that swings between two places
        // must not change its grid at each.
        double size = (double)c->grid.step * ((1 << c->bits) - 1) / (1 + 2 * (double)GRID_MARGIN);
        for (int k = 0; k < 3; k++) {
            double low = (double)c->grid.origin[k] + size * (double)GRID_MARGIN;
            box.low[k] = fminf(box.low[k], (float)low);
            box.high[k] = fmaxf(box.high[k], (float)(low + size));
        }
    }
    float longest = 0;
    for (int k = 0; k < 3; k++)
        longest = fmaxf(longest, box.high[k] - box.low[k]);
    bool loose = longest * LOOSE_FACTOR < c->grid.step * (float)((1 << c->bits) - 1);
    c->loose_count = loose ? c->loose_count + 1 : 0;
    if (box.inside && !first && c->loose_count < LOOSE_MAX) return false;
    change_grid(c, &box);
    return true;
}

// At most CODER_FORMS_MAX forms, the newest anchors first; who held only older ones gets a key.
static void limit_forms(struct coder_line *line)
{
    int kept = 0, most = CODER_FORMS_MAX;
    uint8_t demand = line->demand & CODER_KEY;
    if (__builtin_popcount(line->demand) <= most) return;
    demand = CODER_KEY;
    while (kept < most - 1) {
        int best = -1;
        for (int i = 0; i < SURFACE_ANCHORS; i++)
            if ((line->demand & ~demand) >> i & 1 &&
                (best < 0 || line->anchors.frames[i] > line->anchors.frames[best]))
                best = i;
        demand = (uint8_t)(demand | 1 << best);
        kept++;
    }
    line->demand = demand;
}

static bool becomes_anchor(const struct coder *c, const struct coder_line *line, uint64_t tick)
{
    const uint32_t *frames = line->anchors.frames;
    if (c->raw) return false;
    if (line->demand & CODER_KEY || !line->absent) return true;
    if (tick - line->anchor_tick >= CODER_ANCHOR_GAP) return true;
    // Who takes this frame and goes on from an old anchor gets a new one before that is dropped.
    for (int i = 0; i < SURFACE_ANCHORS; i++) {
        int newer = 0;
        for (int k = 0; k < SURFACE_ANCHORS; k++)
            newer += frames[k] > frames[i];
        if (line->demand >> i & 1 && newer >= SURFACE_ANCHORS - 2) return true;
    }
    return false;
}

// The surface has not changed since that anchor: nothing needs to be looked at.
static bool is_known_still(const struct coder *c, const struct coder_line *line, uint32_t anchor)
{
    for (int i = 0; i < SURFACE_ANCHORS; i++)
        if (anchor != 0 && line->anchors.frames[i] == anchor)
            return line->anchor_surfaces[i] == c->rows_surface;
    return false;
}

static bool all_still(const struct coder *c, const struct coder_line *line)
{
    if (c->raw || line->demand & CODER_KEY) return false;
    for (int i = 0; i < SURFACE_ANCHORS; i++)
        if (line->demand >> i & 1 && line->anchor_surfaces[i] != c->rows_surface) return false;
    return true;
}

uint32_t coder_prepare(struct coder *c, uint32_t detail, const struct frame_message *head)
{
    struct coder_line *line = &c->lines[detail];
    uint32_t missing = 0;
    release_forms(line);
    limit_forms(line);
    // A frame that repeats its anchors would push better ones out.
    line->keep = !all_still(c, line) && becomes_anchor(c, line, head->tick);
    line->frame++;
    line->tick = head->tick;
    if (line->keep) line->anchor_tick = head->tick;
    for (int i = 0; i <= SURFACE_ANCHORS; i++) {
        if (!(line->demand >> i & 1)) continue;
        bool key = 1 << i == CODER_KEY;
        struct frame *f = frame_pool_take(c->pool);
        if (!f) {
            missing++;
            continue;
        }
        f->head = *head;
        f->head.frame = line->frame;
        f->head.anchor = key ? 0 : line->anchors.frames[i];
        f->head.codec = c->raw ? SURFACE_CODEC_RAW : SURFACE_CODEC_GRID;
        f->head.bits = c->raw ? 0 : c->bits;
        f->head.lod = (uint8_t)detail;
        f->head.flags = (uint8_t)((key ? FRAME_KEY : 0) | (line->keep ? FRAME_ANCHOR : 0) |
                                  (line->jumped ? FRAME_JUMP : 0));
        if (!c->raw) {
            memcpy(f->head.origin, c->grid.origin, sizeof f->head.origin);
            f->head.step = c->grid.step;
        }
        f->head.vertex_count = c->role->details[detail].vertex_count;
        line->forms[line->form_count++] = f;
    }
    // Without any form nobody can have the frame: it must not become an anchor.
    if (line->form_count == 0) line->keep = false;
    line->jumped = false;
    return missing;
}

static void encode_form(const struct coder *c, struct coder_line *line, struct frame *f,
                        const struct surface_block *blocks, enum simd_level level,
                        struct surface_packer *packer)
{
    const struct role_detail *d = &c->role->details[f->head.lod];
    uint8_t *out = frame_pool_writable(f) + FRAME_HEADER_BYTES;
    size_t size = 0;
    if (c->raw) {
        surface_encode_raw(blocks[0].position[0], d->lanes, d->vertex_count, out);
        size = (size_t)d->vertex_count * SURFACE_RAW_VERTEX_BYTES;
    } else if (is_known_still(c, line, f->head.anchor) && !line->keep) {
        f->head.flags |= FRAME_STILL;
    } else {
        struct surface_encode_job job = {.level = level,
                                         .lane_rows = c->rows,
                                         .lanes = d->lanes,
                                         .vertex_count = d->vertex_count,
                                         .predictors = d->predictors,
                                         .anchor =
                                             surface_anchors_find(&line->anchors, f->head.anchor),
                                         .current = surface_anchors_spare(&line->anchors),
                                         .out = out,
                                         .capacity_bytes = surface_encode_bound(d->vertex_count)};
        CHECK((job.anchor == NULL) == (f->head.anchor == 0));
        surface_encode(&job, packer);
        size = job.size_bytes;
        if (job.still) f->head.flags |= FRAME_STILL;
    }
    f->head.payload_bytes = (uint32_t)size;
    f->head.payload = out;
    f->size_bytes = FRAME_HEADER_BYTES + size;
    frame_message_encode_header(frame_pool_writable(f), &f->head);
}

void coder_encode(struct coder *c, uint32_t detail, const struct surface_block *blocks,
                  enum simd_level level, struct surface_packer *packer)
{
    struct coder_line *line = &c->lines[detail];
    for (uint32_t i = 0; i < line->form_count; i++)
        encode_form(c, line, line->forms[i], blocks, level, packer);
    if (!line->keep) return;
    surface_anchors_keep(&line->anchors, line->frame);
    for (int i = 0; i < SURFACE_ANCHORS; i++)
        if (line->anchors.frames[i] == line->frame) line->anchor_surfaces[i] = c->rows_surface;
}

struct frame *coder_frame(const struct coder *c, uint32_t detail, const uint32_t *held,
                          size_t held_count)
{
    const struct coder_line *line = &c->lines[detail];
    struct frame *best = NULL;
    for (uint32_t i = 0; i < line->form_count; i++) {
        struct frame *f = line->forms[i];
        if (f->head.anchor && !holds(held, held_count, f->head.anchor)) continue;
        if (!best || f->head.anchor > best->head.anchor) best = f;
    }
    return best;
}

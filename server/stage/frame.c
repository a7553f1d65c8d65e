#include "server/stage/frame.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/stage/frame_pool.h"

enum { SLAB_SLOTS = 8 }; // of one allocation: few mappings

struct slot {
    struct frame frame;
    uint8_t *memory;
};
struct slab {
    struct slab *next;
    void *memory;
    struct slot slots[SLAB_SLOTS];
};

struct frame_pool {
    struct slab *first, *last;
    size_t slot_count, slot_bytes;
    size_t out_count; // frames with references
    bool closed;
};

enum err frame_pool_create(size_t payload_bytes_max, struct frame_pool **out)
{
    struct frame_pool *p = calloc(1, sizeof *p);
    if (!p) return ERR_MEMORY;
    p->slot_bytes = (payload_bytes_max + 63) / 64 * 64;
    *out = p;
    return ERR_OK;
}

static void destroy(struct frame_pool *p)
{
    for (struct slab *s = p->first, *next; s; s = next) {
        next = s->next;
        free(s->memory);
        free(s);
    }
    free(p);
}

void frame_pool_close(struct frame_pool *p)
{
    if (!p) return;
    CHECK(!p->closed);
    p->closed = true;
    if (p->out_count == 0) destroy(p);
}

enum err frame_pool_grow(struct frame_pool *p, size_t slot_count)
{
    while (p->slot_count < slot_count) {
        struct slab *s = aligned_alloc(_Alignof(struct slab), sizeof *s);
        uint8_t *memory = malloc(SLAB_SLOTS * p->slot_bytes);
        if (!s || !memory) {
            free(s);
            free(memory);
            return ERR_MEMORY;
        }
        memset(s, 0, sizeof *s);
        s->memory = memory;
        for (size_t i = 0; i < SLAB_SLOTS; i++) {
            s->slots[i].memory = memory + i * p->slot_bytes;
            s->slots[i].frame.pool = p;
        }
        if (p->last)
            p->last->next = s;
        else
            p->first = s;
        p->last = s;
        p->slot_count += SLAB_SLOTS;
    }
    return ERR_OK;
}

struct frame *frame_pool_take(struct frame_pool *p)
{
    CHECK(!p->closed);
    if (p->out_count == p->slot_count) return NULL;
    for (struct slab *s = p->first; s; s = s->next)
        for (size_t i = 0; i < SLAB_SLOTS; i++) {
            struct frame *f = &s->slots[i].frame;
            if (f->refs > 0) continue;
            *f = (struct frame){.payload = s->slots[i].memory, .refs = 1, .pool = p};
            p->out_count++;
            return f;
        }
    return NULL;
}

uint8_t *frame_pool_writable(struct frame *f)
{
    CHECK(f->refs == 1);
    // A frame is the first member of its slot; the slot owns the memory.
    return ((struct slot *)f)->memory;
}

struct frame *frame_ref(struct frame *f)
{
    CHECK(f->refs > 0);
    f->refs++;
    return f;
}

void frame_unref(struct frame *f)
{
    if (!f) return;
    CHECK(f->refs > 0);
    if (--f->refs > 0) return;
    struct frame_pool *p = f->pool;
    CHECK(p->out_count > 0);
    p->out_count--;
    if (p->closed && p->out_count == 0) destroy(p);
}

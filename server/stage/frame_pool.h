#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "server/stage/frame.h"

// Memory of frames, of one size, for one actor at one quality. Taken when viewers join, never in a
// tick. Slots hold the longest frame there can be, but memory that no frame has filled is never
// touched, and low slots are used first: what is resident follows real sizes. Loop thread.
struct frame_pool;
MUST_CHECK enum err frame_pool_create(size_t payload_bytes_max, struct frame_pool **out);
// Frames that are out keep the pool alive until they come back.
void frame_pool_close(struct frame_pool *p);                                  // NULL is fine
MUST_CHECK enum err frame_pool_grow(struct frame_pool *p, size_t slot_count); // at least that many
// A frame with one reference and an empty head, or NULL: all are held.
struct frame *frame_pool_take(struct frame_pool *p);
uint8_t *frame_pool_writable(struct frame *f); // its payload, while its one reference is yours

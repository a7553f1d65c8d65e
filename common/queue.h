#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A bounded queue of bytes over one block of fixed size; it never grows. What is queued always
// lies in one piece, so that a parser or a socket can use it in place. Not thread-safe: one owner
// at a time.
struct queue {
    uint8_t *bytes;                    // owned, from queue_create
    size_t capacity_bytes, head, tail; // what is queued: bytes[head .. tail)
};

bool queue_create(struct queue *q, size_t capacity_bytes); // false: no memory
void queue_free(struct queue *q);                          // safe on zero

static inline size_t queue_used(const struct queue *q)
{
    return q->tail - q->head;
}
static inline size_t queue_space(const struct queue *q) // free bytes, counting those before head
{
    return q->capacity_bytes - queue_used(q);
}
static inline size_t queue_tail_space(const struct queue *q) // free bytes without moving any
{
    return q->capacity_bytes - q->tail;
}
static inline uint8_t *queue_head(struct queue *q)
{
    return q->bytes + q->head;
}

// Moves what is queued to the front of the block. Not while someone borrows the bytes (a write in
// flight): then only queue_tail_space may be filled.
void queue_compact(struct queue *q);
// Appends as much as fits behind the tail, without moving; returns how much.
size_t queue_put(struct queue *q, const void *bytes, size_t size_bytes);
// Appends all or nothing; moves the queued bytes when that makes room.
bool queue_put_all(struct queue *q, const void *bytes, size_t size_bytes);
void queue_grow_tail(struct queue *q, size_t size_bytes); // bytes were written behind the tail
void queue_drop(struct queue *q, size_t size_bytes);      // the oldest bytes are done with
size_t queue_take(struct queue *q, void *out, size_t size_bytes); // copies and drops up to that

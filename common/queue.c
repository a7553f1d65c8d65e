#include "common/queue.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"

bool queue_create(struct queue *q, size_t capacity_bytes)
{
    CHECK(capacity_bytes > 0);
    *q = (struct queue){.bytes = malloc(capacity_bytes), .capacity_bytes = capacity_bytes};
    return q->bytes != NULL;
}

void queue_free(struct queue *q)
{
    free(q->bytes);
    *q = (struct queue){0};
}

void queue_compact(struct queue *q)
{
    if (q->head == 0) return;
    size_t used = queue_used(q);
    if (used > 0) memmove(q->bytes, q->bytes + q->head, used);
    q->head = 0;
    q->tail = used;
}

size_t queue_put(struct queue *q, const void *bytes, size_t size_bytes)
{
    size_t room = queue_tail_space(q);
    if (size_bytes > room) size_bytes = room;
    if (size_bytes > 0) memcpy(q->bytes + q->tail, bytes, size_bytes);
    q->tail += size_bytes;
    return size_bytes;
}

bool queue_put_all(struct queue *q, const void *bytes, size_t size_bytes)
{
    if (size_bytes > queue_space(q)) return false;
    if (size_bytes > queue_tail_space(q)) queue_compact(q);
    size_t put = queue_put(q, bytes, size_bytes);
    CHECK(put == size_bytes);
    return true;
}

void queue_grow_tail(struct queue *q, size_t size_bytes)
{
    CHECK(size_bytes <= queue_tail_space(q));
    q->tail += size_bytes;
}

void queue_drop(struct queue *q, size_t size_bytes)
{
    CHECK(size_bytes <= queue_used(q));
    q->head += size_bytes;
    if (q->head == q->tail) q->head = q->tail = 0;
}

size_t queue_take(struct queue *q, void *out, size_t size_bytes)
{
    size_t used = queue_used(q);
    if (size_bytes > used) size_bytes = used;
    if (size_bytes > 0) memcpy(out, q->bytes + q->head, size_bytes);
    queue_drop(q, size_bytes);
    return size_bytes;
}

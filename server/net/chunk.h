#pragma once
#include <stddef.h>
#include <stdint.h>

// Reference-counted bytes that many connections send: encoded once, shared by all viewers. The
// counts are touched on the loop thread only (workers read the bytes, the loop releases).
struct chunk {
    const uint8_t *bytes;
    size_t size_bytes;
    int refs;
    void (*on_free)(struct chunk *chunk); // at the last release; gives memory back, may re-use it
    void *owner;
};

struct chunk *chunk_ref(struct chunk *chunk);
void chunk_release(struct chunk *chunk); // NULL is fine

// For slow paths: one malloc'd copy with one reference. NULL: no memory. `bytes` may be NULL: the
// caller fills chunk_writable() before sharing it.
struct chunk *chunk_copy(const void *bytes, size_t size_bytes);
uint8_t *chunk_writable(struct chunk *chunk); // only of chunk_copy, only while refs is 1

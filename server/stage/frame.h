#pragma once
#include <stddef.h>
#include <stdint.h>

#include "proto/frame_message.h"

// One encoded frame: what a FRAME message's payload is, shared by all who watch. Immutable while
// anyone holds a reference. The memory belongs to the actor's coder; frames that are out stay
// valid when the actor goes. References are counted on the loop thread, between ticks; workers may
// read the bytes.
enum { FRAME_LENT_BYTES = 64 };
struct frame {
    // FRAME_HEADER_BYTES of header, then the codec's bytes. The memory goes on to a multiple of 64
    // bytes, so that a holder may write the message's padding behind the payload.
    const uint8_t *payload;
    size_t size_bytes;
    struct frame_message head; // the header's values; head.payload is behind the header
    // For the holder's own wrapper of this frame (a struct chunk, say): set to zero when the frame
    // is made, not looked at here, valid as long as a reference is held.
    _Alignas(16) uint8_t lent[FRAME_LENT_BYTES];

    int refs;
    struct frame_pool *pool; // private
};
struct frame *frame_ref(struct frame *f);
void frame_unref(struct frame *f); // NULL is fine

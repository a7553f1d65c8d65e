#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

// The body of an HTTP/1.1 message, by Content-Length or chunked (RFC 9112 section 7.1). Pure:
// bytes in, payload stretches out, no allocation. Chunk extensions and trailers are skipped within
// bounds.
enum body_state {
    BODY_DATA, // of a length-framed body or of a chunk
    BODY_SIZE,
    BODY_EXTENSION,
    BODY_SIZE_LF,
    BODY_DATA_CR,
    BODY_DATA_LF,
    BODY_TRAILER, // at the beginning of a trailer line
    BODY_TRAILER_LINE,
    BODY_TRAILER_LF,
    BODY_END_LF,
    BODY_DONE
};

struct body {
    enum body_state state;
    bool chunked;
    uint64_t left;  // bytes of this chunk, or of the body
    uint64_t total; // payload bytes so far
    uint64_t max;
    uint32_t line;   // bytes of the size line or of the trailer
    uint32_t digits; // of the size
};

void body_init_length(struct body *b, uint64_t length, uint64_t max); // length ≤ max
void body_init_chunked(struct body *b, uint64_t max);

// One step: *used bytes are done with; *payload (within `bytes`) may be empty. Call again while
// bytes are left and !body_done. ERR_MALFORMED, or ERR_LIMIT when more than `max` comes.
MUST_CHECK enum err body_next(struct body *b, const uint8_t *bytes, size_t size_bytes, size_t *used,
                              const uint8_t **payload, size_t *payload_bytes);
bool body_done(const struct body *b);

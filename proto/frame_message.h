#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/messages.h"
#include "proto/wire.h"

// FRAME: one actor's surface at one tick. The header is the same for all who watch the actor at
// one detail and quality, so the encoded bytes are shared between sessions.
//
// Payload: FRAME_HEADER_BYTES of header, then the codec's bytes. Envelope and header together are
// a multiple of 16 bytes. Large frames travel in pieces (messages_piece): the header is in the
// first.

enum { FRAME_HEADER_BYTES = 104 };

enum frame_flags {
    FRAME_KEY = 1,    // needs no anchor
    FRAME_ANCHOR = 2, // keep it: later frames may be coded against it; ACK it at once
    FRAME_STILL = 4,  // the same surface as its anchor; no payload
    FRAME_JUMP = 8    // the actor was placed anew: do not interpolate from the frame before
};

struct frame_message {
    uint32_t scene, actor;
    uint32_t model, model_version; // of the SURFACE that it deforms
    uint64_t tick;
    uint64_t server_time_us; // the tick's deadline, server's monotonic clock
    uint32_t input_sequence; // newest INPUT message of the controlling session used, 0: none
    uint32_t frame;          // of this actor, detail and quality, from 1; rises, may skip
    uint32_t anchor;         // frame it is coded against; 0 for key frames
    uint8_t codec;           // enum surface_codec
    uint8_t bits;            // grid bits, 0 in raw frames
    uint8_t lod;             // which detail of the SURFACE
    uint8_t flags;           // enum frame_flags
    // scene_from_model = translate * rotate * scale, in the model's unit (times unit_m: metres)
    float translation[3];
    float rotation[4];     // x, y, z, w; unit
    float scale;           // uniform, > 0
    float origin[3], step; // position = origin + step * grid integer (model space)
    uint32_t vertex_count; // of that detail
    uint32_t payload_bytes;
    const uint8_t *payload; // borrowed
};

// Writes the header only (FRAME_HEADER_BYTES); payload_bytes says what follows. The caller sends
// envelope(s), header and codec bytes, so the codec may write behind the header in place.
void frame_message_encode_header(uint8_t out[FRAME_HEADER_BYTES], const struct frame_message *in);

// Whole envelope with payload, for payloads up to one piece: tests and small tools.
MUST_CHECK enum err frame_message_encode(struct wire_writer *w, const struct frame_message *in);

// A joined payload. *out untouched on error; bytes past header + payload_bytes are skipped.
// ERR_MALFORMED: non-finite or senseless numbers; ERR_UNSUPPORTED is never given for the codec:
// the surface decoder looks at it.
MUST_CHECK enum err frame_message_decode(const uint8_t *payload, size_t size_bytes,
                                         struct frame_message *out);

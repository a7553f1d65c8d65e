#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/wire.h"

// The one list of messages and their envelope. proto/README.md is the public description.
//
// Envelope, 8 bytes: u8 type, u8 flags, u16 zero, u32 payload size (padding not counted); then the
// payload, then 0 to 3 zero bytes so that the next envelope begins on a multiple of 4.
//
// Ids are wire format: append only. Each family owns a range; ids without a row are skipped by
// receivers, so a later version may add rows without a new major version.
//   0x01-0x0f session   0x10-0x1f scene   0x20-0x3f surface and appearance
//   0x40-0x5f input     0x60-0x7f frames  0x80-0xbf unassigned   0xc0-0xff private experiments
//
// X(id, name, from, largest payload in bytes, priority class)
#define MESSAGES_MAP(X)                                                                            \
    X(0x01, HELLO, CLIENT, 16384, CONTROL)                                                         \
    X(0x02, WELCOME, SERVER, 262144, CONTROL)                                                      \
    X(0x03, PING, BOTH, 64, CONTROL)                                                               \
    X(0x04, PONG, BOTH, 64, CONTROL)                                                               \
    X(0x05, NOTICE, SERVER, 1024, CONTROL)                                                         \
    X(0x06, ERROR, BOTH, 1024, CONTROL)                                                            \
    X(0x07, BYE, BOTH, 1024, CONTROL)                                                              \
    X(0x10, SETTINGS, CLIENT, 4096, CONTROL)                                                       \
    X(0x11, ACTOR, SERVER, 1024, CONTROL)                                                          \
    X(0x12, GONE, SERVER, 64, CONTROL)                                                             \
    X(0x13, CATALOGUE, SERVER, 1048576, BULK)                                                      \
    X(0x20, SURFACE, SERVER, 67108864, BULK)                                                       \
    X(0x21, APPEARANCE, SERVER, 1048576, BULK)                                                     \
    X(0x22, TEXTURE, SERVER, 61440, LOW)                                                           \
    X(0x23, BASIS, SERVER, 33554432, BULK) /* reserved: motion basis of later codecs */            \
    X(0x24, WANT, CLIENT, 8192, CONTROL)                                                           \
    X(0x40, CONTROL, CLIENT, 16384, CONTROL)                                                       \
    X(0x41, SENSOR, CLIENT, 8192, CONTROL)                                                         \
    X(0x42, FACE, CLIENT, 61440, CONTROL)                                                          \
    X(0x43, CUSTOMISE, CLIENT, 61440, CONTROL)                                                     \
    X(0x44, POSE, CLIENT, 61440, CONTROL)                                                          \
    X(0x45, PLACE, CLIENT, 256, CONTROL)                                                           \
    X(0x60, FRAME, SERVER, 33554432, FRAME)                                                        \
    X(0x61, ACK, CLIENT, 4096, CONTROL)                                                            \
    X(0x62, RESYNC, CLIENT, 64, CONTROL)                                                           \
    X(0x63, APPLIED, SERVER, 4096, CONTROL)

enum messages_from { MESSAGES_FROM_CLIENT = 1, MESSAGES_FROM_SERVER = 2, MESSAGES_FROM_BOTH = 3 };

// What the sender may send first: CONTROL is never behind anything; BULK precedes the frames that
// need it; of FRAME only the newest per actor is kept; LOW goes when the link is idle.
enum messages_class { MESSAGES_CONTROL, MESSAGES_BULK, MESSAGES_FRAME, MESSAGES_LOW };

enum messages_id {
#define X(id, name, from, max, priority) MESSAGE_##name = (id),
    MESSAGES_MAP(X)
#undef X
};

enum {
    MESSAGES_MAJOR = 1, // a difference is refused (HELLO)
    MESSAGES_MINOR = 0, // informs only
    MESSAGES_HEADER_BYTES = 8,
    // Larger payloads travel in pieces of at most this size, so that a PING never waits behind
    // more than one piece. A WebSocket message or TLS write carries whole envelopes.
    MESSAGES_PIECE_BYTES = 61440,
    MESSAGES_FROM_CLIENT_BYTES_MAX = 61440 // no message of a client is larger, none is in pieces
};

enum messages_flags {
    MESSAGES_MORE = 1,     // the next envelope of this type continues the payload
    MESSAGES_CONTINUES = 2 // this is not the first piece
};

struct message {
    uint8_t type, flags;
    const uint8_t *payload; // borrowed
    size_t size_bytes;      // without padding
};

struct messages_row {
    const char *name; // NULL: no such message
    uint8_t from;     // enum messages_from
    uint8_t priority; // enum messages_class
    uint32_t size_max_bytes;
};
const struct messages_row *messages_row(uint8_t type); // never NULL

// Reads one envelope at the start of `bytes`. ERR_TRUNCATED: more bytes are needed (header or
// payload; *need_bytes, when not NULL, gets the total known to be needed). ERR_LIMIT: larger than
// its row allows (`from`: which side sent it) or, for unknown types, than MESSAGES_PIECE_BYTES.
// ERR_MALFORMED: sent by the wrong side, pieces where none may be, or the zero field is not zero.
// ERR_UNSUPPORTED: an unknown type: skip *used_bytes and go on; *out is set. On other errors
// nothing is written. *used_bytes includes the padding.
MUST_CHECK enum err messages_read(const uint8_t *bytes, size_t size_bytes, enum messages_from from,
                                  struct message *out, size_t *used_bytes, size_t *need_bytes);

// Writes an envelope into `out` (8 bytes) for a payload that the caller sends after it, followed by
// messages_padding(size) zero bytes.
void messages_header(uint8_t out[MESSAGES_HEADER_BYTES], uint8_t type, uint8_t flags,
                     size_t payload_bytes);
static inline size_t messages_padding(size_t payload_bytes)
{
    return (0 - payload_bytes) & 3;
}

// For encoders: begins an envelope in `w`, to be closed by messages_end, which fills in the size
// and pads. Payloads above MESSAGES_PIECE_BYTES are split by the sender (messages_piece).
size_t messages_begin(struct wire_writer *w, uint8_t type);
void messages_end(struct wire_writer *w, size_t begun_at);

// The k-th piece of a payload: what part of it, and its 8 header bytes. False past the last one.
// A payload of up to MESSAGES_PIECE_BYTES is one piece with no flags.
struct messages_piece {
    uint8_t header[MESSAGES_HEADER_BYTES];
    size_t first_byte, size_bytes, padding_bytes;
};
bool messages_piece(uint8_t type, size_t payload_bytes, size_t k, struct messages_piece *out);

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

// RFC 6455 framing, both roles, over borrowed bytes: no I/O, no allocation, state of ~200 bytes.
// Extensions are never negotiated: reserved bits fail the connection. One owner thread.
//
//   bytes arrive -> ws_next until WS_NEED_MORE -> ...
//
// Payload bytes are handed out as they come (a frame of 2^40 declared bytes costs nothing before
// the limit refuses it); the owner feeds them to an inbox.

enum ws_role { WS_SERVER, WS_CLIENT };
enum ws_opcode {
    WS_CONTINUATION = 0,
    WS_TEXT = 1,
    WS_BINARY = 2,
    WS_CLOSE = 8,
    WS_PING = 9,
    WS_PONG = 10
};
enum {
    WS_CONTROL_BYTES_MAX = 125,
    WS_HEADER_BYTES_MAX = 14,
    WS_CLOSE_BYTES_MAX = WS_HEADER_BYTES_MAX + WS_CONTROL_BYTES_MAX,
    WS_REASON_BYTES_MAX = 123
};

struct ws_limits {
    uint64_t message_bytes_max; // of one message, all fragments together
    uint32_t fragments_max;     // of one message
    uint32_t controls_max;      // control frames between two calls of ws_tick
};

struct ws {
    enum ws_role role;
    struct ws_limits limits;
    // read-only for the owner:
    uint16_t failed_code; // close code once WS_FAIL was given; nothing is parsed afterwards
    bool close_received;
    uint32_t control_count; // since the last ws_tick
    // private:
    uint8_t header[WS_HEADER_BYTES_MAX];
    uint8_t header_have, header_need;
    uint8_t opcode, message_opcode;
    bool fin, masked, in_payload, in_message;
    uint8_t mask[4];
    uint64_t frame_bytes, frame_done, message_bytes;
    uint32_t fragment_count;
    uint32_t utf8_state, utf8_code;
    uint8_t control[WS_CONTROL_BYTES_MAX];
};

void ws_init(struct ws *ws, enum ws_role role, const struct ws_limits *limits);

// Once a second (or once a heartbeat): control frames are counted from zero again. More than
// controls_max in one period fail the connection with 1008.
void ws_tick(struct ws *ws);

enum ws_event_kind {
    WS_NEED_MORE, // every byte was used
    WS_DATA,      // a stretch of message payload; possibly empty at the end of a message
    WS_GOT_PING,  // answer with ws_control_write(WS_PONG, same bytes), at most one per write
    WS_GOT_PONG,
    WS_GOT_CLOSE, // answer with the same code, then close; later bytes are ignored
    WS_FAIL       // send a close frame with `code`, then close; bytes after it are ignored
};
struct ws_event {
    enum ws_event_kind kind;
    uint8_t opcode;       // WS_DATA: WS_TEXT or WS_BINARY
    bool message_end;     // WS_DATA: the last stretch of its message
    uint16_t code;        // WS_GOT_CLOSE (1005 when none was given), WS_FAIL
    const uint8_t *bytes; // unmasked payload: in the caller's buffer for data, in `ws` for controls
    size_t size_bytes;
};

// Looks at `bytes`, unmasking data payload IN PLACE, and tells one event. *used_bytes (always
// set): how far to go on before the next call.
void ws_next(struct ws *ws, uint8_t *bytes, size_t size_bytes, size_t *used_bytes,
             struct ws_event *out);

// Frame header; returns its size (2 .. 14). `mask`: 4 unpredictable bytes for a client, NULL for a
// server. The payload follows, masked with ws_mask by a client.
size_t ws_header_write(uint8_t out[WS_HEADER_BYTES_MAX], uint8_t opcode, bool fin,
                       uint64_t payload_bytes, const uint8_t mask[4]);
// XORs in place; `at` is the place of bytes[0] within the frame's payload.
void ws_mask(uint8_t *bytes, size_t size_bytes, const uint8_t mask[4], uint64_t at);
// Whole control frame with up to 125 bytes (longer: cut). Returns its size.
size_t ws_control_write(uint8_t out[WS_CLOSE_BYTES_MAX], uint8_t opcode, const void *payload,
                        size_t payload_bytes, const uint8_t mask[4]);
// Whole close frame; the reason (NUL-ended UTF-8, may be NULL) is cut to 123 bytes at a character.
// 1005 and codes that may not be sent give an empty close frame.
size_t ws_close_write(uint8_t out[WS_CLOSE_BYTES_MAX], uint16_t code, const char *reason,
                      const uint8_t mask[4]);
bool ws_close_code_valid(uint16_t code); // may appear in a close frame

// Handshake. `key`: the 24 characters of Sec-WebSocket-Key. ERR_MALFORMED when they are not the
// base64 of 16 bytes. out: 28 characters and a NUL.
enum { WS_KEY_BYTES = 24, WS_ACCEPT_BYTES = 28 };
MUST_CHECK enum err ws_accept(const char *key, size_t key_bytes, char out[WS_ACCEPT_BYTES + 1]);
void ws_key(const uint8_t random[16], char out[WS_KEY_BYTES + 1]); // client

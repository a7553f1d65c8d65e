#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/wire.h"

// The small messages that keep a session: PING, PONG, NOTICE, ERROR, BYE, ACTOR, GONE, CATALOGUE,
// ACK, RESYNC, WANT, APPLIED. Encoders write a whole envelope and return ERR_LIMIT when it does
// not fit. Decoders take a payload, leave *out untouched on error; bytes past the known fields
// are skipped. Times are microseconds of the sender's own monotonic clock. No allocation.

struct session_ping {
    uint32_t id;
    uint64_t send_time_us;
};
struct session_pong {
    uint32_t id;              // of the PING
    uint64_t ping_time_us;    // its send_time_us, unchanged
    uint64_t receive_time_us; // of the answering side's clock
    uint64_t send_time_us;
};

// Clock arithmetic of one exchange; `now_us`: when the PONG came, clock of the side that pinged.
struct session_clock {
    int64_t offset_us; // peer's clock minus own
    uint32_t rtt_us;   // without the time the peer held it
};
struct session_clock session_clock_from(const struct session_pong *pong, uint64_t now_us);

// NOTICE, ERROR and BYE share one layout.
enum { SESSION_TEXT_MAX = 512 }; // bytes with the NUL
struct session_note {
    uint16_t code;        // enum stream_code
    uint8_t message_type; // ERROR: the message that was refused; else 0
    uint8_t fatal;        // 1: the sender closes after this
    uint32_t subject;     // ERROR on an input: its sequence; NOTICE about an actor: its id; else 0
    uint32_t retry_ms;    // BYE: when to come back, 0 = no advice
    char text[SESSION_TEXT_MAX]; // for people; "" = the code's own text
};

enum session_actor_flags {
    SESSION_ACTOR_OWN = 1,       // this session controls it
    SESSION_ACTOR_CONTROLLED = 2 // some session does
};
enum { SESSION_NAME_MAX = 64 };
struct session_actor { // an actor has come into the session's view, or its model has changed
    uint32_t scene, actor;
    uint32_t model; // matches SURFACE.model
    uint32_t model_version;
    uint32_t flags;
    char character[SESSION_NAME_MAX];
    char name[SESSION_NAME_MAX]; // of the player; "": none
};
struct session_gone {
    uint32_t scene, actor;
};

struct session_ack_entry {
    uint32_t actor, frame;
    uint64_t receive_time_us; // client's clock
    uint64_t render_time_us;  // 0: not shown
};
enum { SESSION_ACKS_MAX = 64 };
struct session_ack {
    uint64_t client_time_us; // when the ACK was written
    int64_t offset_us;       // the client's estimate: server's clock minus its own
    uint32_t rtt_us;         // 0: no estimate yet; then offset_us means nothing
    uint16_t queue_count;    // frames received and not shown yet
    uint16_t entry_count;    // newest of every actor, and every frame flagged as an anchor
    struct session_ack_entry entries[SESSION_ACKS_MAX];
};

struct session_resync { // an anchor is missing or a frame did not decode: send a key frame
    uint32_t actor;
    uint32_t frame; // that could not be decoded, 0: none received
};

enum { SESSION_WANTS_MAX = 128, SESSION_HASH_BYTES = 16 };
struct session_want { // textures by hash
    uint32_t hash_count;
    uint8_t hashes[SESSION_WANTS_MAX][SESSION_HASH_BYTES];
};

struct session_applied_entry {
    uint64_t tick;     // the first tick that used it
    uint32_t sequence; // of the input message
};
enum { SESSION_APPLIED_MAX = 128 };
struct session_applied {
    uint32_t actor;
    uint32_t entry_count;
    struct session_applied_entry entries[SESSION_APPLIED_MAX];
};

// X(function suffix, struct, message)
#define SESSION_MESSAGES_MAP(X)                                                                    \
    X(ping, PING)                                                                                  \
    X(pong, PONG)                                                                                  \
    X(actor, ACTOR)                                                                                \
    X(gone, GONE)                                                                                  \
    X(ack, ACK)                                                                                    \
    X(resync, RESYNC)                                                                              \
    X(want, WANT)                                                                                  \
    X(applied, APPLIED)
#define X(name, message)                                                                           \
    MUST_CHECK enum err session_encode_##name(struct wire_writer *w,                               \
                                              const struct session_##name *in);                    \
    MUST_CHECK enum err session_decode_##name(const uint8_t *payload, size_t size_bytes,           \
                                              struct session_##name *out);
SESSION_MESSAGES_MAP(X)
#undef X

// type: MESSAGE_NOTICE, MESSAGE_ERROR or MESSAGE_BYE.
MUST_CHECK enum err session_encode_note(struct wire_writer *w, uint8_t type,
                                        const struct session_note *in);
MUST_CHECK enum err session_decode_note(const uint8_t *payload, size_t size_bytes,
                                        struct session_note *out);

// CATALOGUE: JSON text with the names the own actor takes ("clips", "joints", "shapes",
// "parameters", "roots", "actions": arrays of text; the place in "shapes" and "parameters" is the
// id that FACE and CUSTOMISE use; "clip_seconds": how long each of "clips" is). Payload: u32 actor,
// u32 json_bytes, JSON. The text is borrowed, not parsed.
struct session_catalogue {
    uint32_t actor;
    const char *json; // not NUL-ended
    size_t json_bytes;
};
MUST_CHECK enum err session_encode_catalogue(struct wire_writer *w,
                                             const struct session_catalogue *in);
MUST_CHECK enum err session_decode_catalogue(const uint8_t *payload, size_t size_bytes,
                                             struct session_catalogue *out);

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/wire.h"

// HELLO, WELCOME and SETTINGS: fixed binary prefix, then JSON, so that peers of any version can
// read each other's version. JSON fields a side does not know are skipped. Not for the frame path
// (cJSON allocates). All structs own their text, but for what is
// said to be borrowed; nothing needs freeing.
//
// Payload of HELLO and WELCOME: u32 "SNW1", u16 major, u16 minor, u32 json_bytes, u32 more_bytes,
// JSON padded to 4, more padded to 4 (WELCOME: the control bindings; HELLO: a customisation recipe
// or nothing; both JSON).

enum {
    HELLO_NAME_MAX = 64,   // bytes with the NUL: names, roles, client and server versions
    HELLO_TOKEN_MAX = 128, // tokens, tickets, resume tokens
    HELLO_CODECS_MAX = 8,
    HELLO_RECIPE_MAX = 12288, // bytes
    HELLO_MAGIC = 0x31574e53  // "SNW1"
};

enum hello_capability {
    HELLO_CAN_ZSTD = 1,     // "zstd": codec 1 payloads and compressed sections; every client must
    HELLO_CAN_LOD = 2,      // "lod": takes SURFACE with several details
    HELLO_CAN_TEXTURES = 4, // "textures": will WANT textures
    HELLO_CAN_APPLIED = 8,  // "applied": wants APPLIED messages
    HELLO_CAN_RESUME = 16,  // "resume"
    HELLO_CAN_COSTS = 32    // "costs": wants to hear once a second what each extra costs
};

struct hello_quality {       // what is asked for; 0 means: the server chooses
    uint32_t bits;           // 10 .. 16 a coordinate; 0 = 14
    uint32_t rate_hz;        // frames a second; 0 = 60
    uint32_t detail;         // 0 by distance and link, 1 full, 2 medium, 3 coarse at best
    uint32_t characters_max; // nearest first; 0 = the server's cap
    bool raw;                // float32 frames (codec 0): for tests and small scenes
};

struct hello {
    uint16_t major, minor;
    char client[HELLO_NAME_MAX]; // program and version, for logs
    char role[HELLO_NAME_MAX];   // "player" (default), "viewer", "modeller"
    char token[HELLO_TOKEN_MAX]; // one of these three, or none where the server is open
    char ticket[HELLO_TOKEN_MAX];
    char resume[HELLO_TOKEN_MAX];
    char scene[HELLO_NAME_MAX];     // "": a private scene
    char character[HELLO_NAME_MAX]; // "": the server's first; ignored for a pure viewer
    char name[HELLO_NAME_MAX];      // what others see over its head; "": none
    struct hello_quality quality;
    uint32_t capabilities; // enum hello_capability, OR-ed
    uint32_t last_frame;   // resume: newest frame number held of the own actor
    const char *recipe; // JSON, borrowed, NOT NUL-ended; NULL with 0 bytes; looked at when joining
    size_t recipe_bytes;
};

struct hello_welcome {
    uint16_t major, minor;
    char server[HELLO_NAME_MAX];
    char session[HELLO_NAME_MAX]; // for logs and support; no secret
    char resume[HELLO_TOKEN_MAX]; // one use
    uint32_t resume_s;            // how long it holds after a disconnect
    char scene[HELLO_NAME_MAX];
    uint32_t scene_id;
    char character[HELLO_NAME_MAX]; // "" when the session controls none
    uint32_t actor;                 // the own actor, 0 = none
    uint32_t tick_hz;
    struct hello_quality quality; // as granted
    uint32_t capabilities;        // of the server
    uint32_t heartbeat_ms;        // silence longer than three of these ends the connection
    uint32_t ack_hz;              // how often the server wants ACK
    uint64_t tick;                // of the first tick of this session
    uint64_t server_time_us;      // when WELCOME was written
    bool resumed;
    const char *bindings; // JSON, borrowed, NOT NUL-ended; NULL with 0 bytes
    size_t bindings_bytes;
};

// Encoders write a whole envelope. ERR_LIMIT: it does not fit; ERR_MALFORMED: text not UTF-8, or
// bindings that are not JSON. Decoders take a payload, leave *out untouched on error and say in
// `fault` (may be NULL) what was wrong. A different major version gives ERR_VERSION, with a line
// fit to be sent back, before anything else is looked at.
MUST_CHECK enum err hello_encode(struct wire_writer *w, const struct hello *hello);
MUST_CHECK enum err hello_decode(const uint8_t *payload, size_t size_bytes, struct hello *out,
                                 struct fault *fault);
MUST_CHECK enum err hello_encode_welcome(struct wire_writer *w,
                                         const struct hello_welcome *welcome);
MUST_CHECK enum err hello_decode_welcome(const uint8_t *payload, size_t size_bytes,
                                         struct hello_welcome *out, struct fault *fault);

// SETTINGS: JSON alone, the members of "quality" that change; members absent keep `*inout`'s value.
MUST_CHECK enum err hello_encode_settings(struct wire_writer *w,
                                          const struct hello_quality *quality);
MUST_CHECK enum err hello_decode_settings(const uint8_t *payload, size_t size_bytes,
                                          struct hello_quality *inout, struct fault *fault);

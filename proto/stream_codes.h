#pragma once
#include <stdbool.h>
#include <stdint.h>

// Stable codes of NOTICE, ERROR and BYE, and the WebSocket close code that goes with each.
// Append only: clients, dashboards and scripts hold on to the numbers.
//
// X(code, name, WebSocket close code or 0 when the connection stays, may the client come back by
// itself, text)
#define STREAM_CODES_MAP(X)                                                                        \
    /* the ends of a connection */                                                                 \
    X(1, NORMAL, 1000, 0, "closed by request")                                                     \
    X(2, GOING_AWAY, 1001, 1, "the peer is going away")                                            \
    X(3, RESTART, 1012, 1, "the server restarts: come back after the given time")                  \
    X(4, FULL, 1013, 1, "the server is full: try again after the given time")                      \
    X(5, PROTOCOL, 1002, 0, "the peer broke the protocol")                                         \
    X(6, POLICY, 1008, 0, "not allowed by the server's rules")                                     \
    X(7, TOO_BIG, 1009, 0, "a message was larger than allowed")                                    \
    X(8, INTERNAL, 1011, 1, "the server failed")                                                   \
    X(9, SUPERSEDED, 4000, 0, "another connection took this session over")                         \
    X(10, VERSION_GONE, 4001, 1, "the model version is no longer served")                          \
    X(11, LEASE_LOST, 4002, 0, "a lease ended")                                                    \
    X(12, UNAUTHORISED, 4003, 0, "token or ticket missing, unknown, used or expired")              \
    X(13, FORBIDDEN, 4004, 0, "the token does not allow this")                                     \
    X(14, PROTOCOL_VERSION, 4005, 0, "major protocol versions differ")                             \
    X(15, NO_SUCH_CHARACTER, 4006, 0, "no such character")                                         \
    X(16, NO_SUCH_SCENE, 4007, 0, "no such scene")                                                 \
    X(17, RESUME_EXPIRED, 4008, 1, "the resume token is unknown, used or expired: join anew")      \
    X(18, TOO_SLOW, 4009, 1, "the client did not read for too long")                               \
    X(19, TIMED_OUT, 4010, 1, "no sign of life within the heartbeat")                              \
    X(20, FLOOD, 4011, 0, "too many messages")                                                     \
    X(21, SCENE_FULL, 4012, 1, "the scene is full")                                                \
    X(22, HELLO_LATE, 4013, 1, "no HELLO within the deadline")                                     \
    X(23, BAD_TEXT, 1007, 0, "text that is not UTF-8")                                             \
    X(24, NOT_BINARY, 1003, 0, "only binary messages are taken")                                   \
    /* what an ERROR says while the connection stays */                                            \
    X(64, INPUT_REFUSED, 0, 0, "an input message was not applied")                                 \
    X(65, UNKNOWN_NAME, 0, 0, "a name that this character does not have")                          \
    X(66, AMBIGUOUS_NAME, 0, 0, "a name that is not unique: use #N")                               \
    X(67, NO_ACTOR, 0, 0, "this session controls no character")                                    \
    X(68, SETTING_REFUSED, 0, 0, "a setting outside what the server gives")                        \
    X(69, UNKNOWN_TEXTURE, 0, 0, "no texture of that hash")                                        \
    /* what a NOTICE tells */                                                                      \
    X(128, DRAINING, 0, 1, "the server stops soon and will close this connection")                 \
    X(129, RATE_LOWERED, 0, 0, "fewer frames: the link or the server is slow")                     \
    X(130, RATE_RESTORED, 0, 0, "the asked frame rate is back")                                    \
    X(131, DETAIL_LOWERED, 0, 0, "coarser surfaces: the link or the server is slow")               \
    X(132, DETAIL_RESTORED, 0, 0, "the asked detail is back")                                      \
    X(133, STILL, 0, 0, "nothing animates this character")                                         \
    X(134, MODEL_CHANGED, 0, 0, "a new version of the model is shown")                             \
    X(135, EXTRAS_OFF, 0, 0, "an extra is switched off")                                           \
    X(136, CAPPED, 0, 0, "more characters are near than are sent")                                 \
    X(137, INPUT_LOST, 0, 0, "an input source fell silent")                                        \
    X(138, RESUMED, 0, 0, "the session goes on where it was")                                      \
    X(139, EXTRA_SKIPPED, 0, 0, "an extra is left out of frames, or is back")                      \
    X(140, EXTRA_TROUBLE, 0, 0, "an extra of a third party overran its time or died")              \
    X(141, EXTRA_COSTS, 0, 0, "what each extra costs a tick, in microseconds")                     \
    X(142, INPUT_LEFT_OUT, 0, 0, "some of what a FACE or CUSTOMISE said could not be used")        \
    X(143, RECIPE_UNFIT, 0, 0, "some of the recipe is not of this character")

enum stream_code {
#define X(code, name, close, retry, text) STREAM_##name = (code),
    STREAM_CODES_MAP(X)
#undef X
};

const char *stream_codes_name(uint16_t code);     // "RESTART"; "UNKNOWN"
const char *stream_codes_text(uint16_t code);     // never NULL
uint16_t stream_codes_close(uint16_t code);       // WebSocket close code, 0: stays open
bool stream_codes_may_retry(uint16_t code);       // the client may reconnect by itself
uint16_t stream_codes_from_close(uint16_t close); // the stream code of a close code, or 0

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/hello.h"
#include "server/stage/view.h"
#include "server/stream/auth.h"
#include "server/stream/link.h"
#include "server/stream/pace.h"
#include "server/stream/secret.h"
#include "server/stream/supply.h"

// One thin client: what it controls and sees, across connections. Loop thread only.
//
//   (link without session) --HELLO--> LIVE --link lost--> LOST --HELLO with resume--> LIVE
//                                      |  \--resumed elsewhere: the old link is superseded
//                                      \--goodbye, refused--> gone        LOST --30 s--> gone
//
// LIVE: a link is attached. LOST: none; the actor stays in its scene and waits.
struct hub;

enum { SESSION_WATCHES = 2 * VIEW_ACTORS_MAX, SESSION_SURFACES = 64, SESSION_AGES = 512 };

struct session_watch { // an actor that the client has been told of
    uint32_t actor, model, version;
    bool ready; // its SURFACE and APPEARANCE are out: frames may go
};
struct session_sent { // for the age that an ACK tells
    uint32_t actor, frame;
    uint64_t server_time_us; // of its tick
    uint64_t given_us;       // when it was given to the connection
};
struct session_known { // a SURFACE that this client has
    uint32_t model, version;
};

struct session {
    struct hub *hub;
    size_t index; // in the hub's list
    uint64_t serial;
    char name[24];
    struct link *link; // NULL: LOST
    struct conn_address peer;
    uint64_t lost_ns;
    uint8_t resume_hash[SECRET_HASH_BYTES];
    struct view *view;
    struct lease *lease; // UDP input; NULL: none
    struct auth_identity who;
    bool is_modeller;   // its own character shows drafts
    bool controls, due; // due: this tick's frames are wanted
    struct hello_quality asked;
    uint32_t capabilities;
    uint64_t costs_ns; // when extras' costs were told last
    char character[HELLO_NAME_MAX], scene[HELLO_NAME_MAX];
    struct pace pace;
    struct supply supply;
    struct session_watch watches[SESSION_WATCHES];
    size_t watch_count;
    struct session_known known[SESSION_SURFACES];
    size_t known_count, known_next;
    struct session_sent sent[SESSION_AGES]; // a ring
    size_t sent_count;
    size_t turn; // where a batch begins that cannot carry all
    uint32_t group;
    uint32_t rtt_us;
    int64_t clock_offset_us; // client's clock minus ours, of the quickest answer lately
    uint64_t ping_sent_ns;
    uint32_t input_sequence; // the oldest input that no frame has answered yet
    uint64_t input_ns;       // when it came; 0: none waits
    uint64_t answered_ns;    // when the input came that a frame on its way answers
    double asked_credit;     // what was asked for, to count what is not given
    double age_s;
    uint64_t frames_sent, frames_skipped, bytes_sent, joined_ns;
    bool first_frame_sent;
};

// A message of a link, with or without session.
void session_on_message(struct link *l, const struct message *m);
// HELLO of a link without session (session_hello.c): joins, resumes, or closes the link.
void session_on_hello(struct link *l, const struct message *m);
// The link is gone: LOST, or the end.
void session_on_link_gone(struct session *s, enum link_end end);
// The end: leaves the scene, gives everything back. A link that is still there is closed first
// with `code` (0: it is left alone).
void session_end(struct session *s, enum stream_code code, uint32_t retry_ms);

// The parts of a tick (session_frames.c).
void session_before_tick(struct session *s, double tick_s);
// Events, and the batch of frames. True: something is queued that wants encrypting.
bool session_after_tick(struct session *s);
void session_on_sent(struct session *s, uint64_t tag, bool sent);
// Once a second: heartbeat. The session may be LOST after it.
void session_second(struct session *s, uint64_t now_ns);

// Small messages.
void session_note(struct link *l, uint8_t type, enum stream_code code, uint8_t message_type,
                  uint32_t subject, const char *text);
struct view_settings session_view_settings(const struct session *s);
uint32_t session_rate(const struct hub *h, const struct hello_quality *asked);

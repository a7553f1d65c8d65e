#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/lib/net.h"
#include "client/lib/url.h"
#include "common/err.h"
#include "common/queue.h"
#include "common/tls.h"
#include "proto/inbox.h"
#include "proto/ws.h"

// One connection that carries envelopes: TCP, TLS when the address says so, WebSocket when it
// says so. It knows nothing of what the messages mean. Never blocks; link_step does what can be
// done now. One owner at a time; all memory is taken by link_open and given back by link_close.
//
//   CLOSED --link_open--> CONNECTING --> TLS --> UPGRADE --> OPEN --> CLOSED
//              (the next address of the host, when one cannot be reached)
enum link_state { LINK_CLOSED, LINK_CONNECTING, LINK_TLS, LINK_UPGRADE, LINK_OPEN };

enum link_end { // why it is closed
    LINK_END_NONE,
    LINK_END_NETWORK,
    LINK_END_TLS,
    LINK_END_PROTOCOL, // the bytes are not of this protocol; `fault` has the line
    LINK_END_HTTP,     // the upgrade was answered otherwise; http_status
    LINK_END_PEER,     // closed by the server; close_code when it was a WebSocket close
    LINK_END_HANDLER   // the handler wanted it
};

struct link {
    enum link_state state;
    enum link_end end;
    bool refused;       // LINK_END_TLS: the server's certificate is not to be trusted
    struct fault fault; // one line about the end
    uint16_t http_status, close_code;
    uint64_t bytes_in, bytes_out;
    uint64_t read_at_us; // when bytes last came
    struct url url;
    struct net_addresses addresses;
    // private:
    size_t address_at;
    intptr_t socket;
    struct tls *tls;
    struct tls_ticket *ticket; // of the connection before, to the same server
    struct queue wire_in, wire_out, plain_out;
    uint8_t *head; // the reply to the upgrade, until it is whole
    size_t head_bytes, head_scanned;
    char accept[WS_ACCEPT_BYTES + 1];
    struct ws ws;
    struct inbox inbox;
    uint8_t *inbox_bytes, *scratch;
    uint64_t ws_tick_us;
};

enum { LINK_MESSAGE_BYTES_MAX = MESSAGES_HEADER_BYTES + MESSAGES_FROM_CLIENT_BYTES_MAX + 4 };

// Called for each message; the payload is borrowed for the call. Other than ERR_OK closes the
// link (LINK_END_HANDLER).
struct link_handler {
    enum err (*on_message)(void *owner, const struct message *message);
    void *owner;
};

void link_init(struct link *l);
// `l->url` and `l->addresses` are set. `config` (TLS only) outlives the link.
MUST_CHECK enum err link_open(struct link *l, const struct tls_config *config);
// Handshakes, sends, receives (a bounded amount), and hands messages over.
void link_step(struct link *l, uint64_t now_us, const struct link_handler *handler);
// Queues one or more whole envelopes. False: no room now, or not open.
bool link_send(struct link *l, const void *bytes, size_t size_bytes);
size_t link_unsent_bytes(const struct link *l);
// What to wait for before the next step is worth it.
intptr_t link_socket(const struct link *l);
bool link_wants_write(const struct link *l);
// Says goodbye as far as that goes without waiting, and closes. `code`: of the WebSocket close.
void link_close(struct link *l, uint16_t code, const char *reason);
void link_free(struct link *l);

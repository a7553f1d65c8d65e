#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/queue.h"

// TLS as a filter between bytes: ciphertext in one bounded queue, ciphertext out in another, no
// sockets, no clock of its own. TLS 1.2 only (mbedTLS 2.28 has no 1.3): ECDHE over X25519 and
// P-256, ChaCha20-Poly1305 before AES-GCM, no renegotiation, no session cache; tickets whose keys
// rotate. Used by the server and by the client.
//
// Threads: a tls_config may be used by many sessions on many threads at once (its random source
// and its ticket keys are locked inside). A `struct tls` and its two queues are used by one thread
// at a time; the caller orders the hand-over.
enum {
    TLS_RECORD_BYTES_MAX = 16384, // plaintext in one record
    TLS_RECORD_OVERHEAD_MAX = 64, // what a record adds, generously
    TLS_PIN_BYTES = 32,           // SHA-256 of the certificate's DER
    TLS_IN_BYTES_MIN = 1024,      // a smaller in-queue works too, only slower
    TLS_OUT_BYTES_MIN = 8 * 1024, // the out-queue holds a whole flight of the handshake
};

struct tls_config;
struct tls;

struct tls_server_options {
    const char *certificate_path, *key_path; // PEM; the chain may follow the certificate
    const char *const *alpn;                 // NULL-terminated, most wanted first; must outlive
    uint32_t ticket_seconds;                 // life of a ticket; 0: 86400
};

struct tls_client_options {
    const char *ca_path;     // PEM; NULL: the system's bundle is NOT used
    const uint8_t *pin;      // TLS_PIN_BYTES, or NULL: replaces the CA
    bool insecure;           // any certificate; the caller has warned
    const char *const *alpn; // NULL-terminated; must outlive
};

// On success *out is the caller's. ERR_IO: a file; ERR_MALFORMED: what is in it; ERR_DENIED: the
// key does not belong to the certificate; ERR_USAGE: none of CA, pin, insecure.
MUST_CHECK enum err tls_config_server(const struct tls_server_options *options,
                                      struct tls_config **out, struct fault *fault);
MUST_CHECK enum err tls_config_client(const struct tls_client_options *options,
                                      struct tls_config **out, struct fault *fault);
// Sessions that are open keep it for themselves, so it can be replaced at any time; NULL is fine.
void tls_config_free(struct tls_config *config);
// The SHA-256 of a server's own certificate.
void tls_config_pin(const struct tls_config *config, uint8_t pin[TLS_PIN_BYTES]);

// One session; `in` and `out` are borrowed for its life: the caller puts received bytes into `in`
// and sends what appears in `out`. `host` (client only) is the name for SNI and for the check of
// the certificate. NULL when memory is out.
struct tls *tls_create(const struct tls_config *config, struct queue *in, struct queue *out,
                       const char *host);
void tls_free(struct tls *t); // NULL is fine

enum tls_status {
    TLS_OK,         // progress was made
    TLS_WANT_INPUT, // more ciphertext is needed
    TLS_WANT_ROOM,  // `out` is full: send some of it first
    TLS_CLOSED,     // the peer said close_notify
    TLS_FAILED      // over; an alert may wait in `out`; tls_failure has the line
};

// Drives the handshake as far as `in` allows. About 2 ms for a full one: not on the loop thread.
// TLS_OK: it is done.
enum tls_status tls_handshake(struct tls *t);
// True when `in` holds a whole record, so that a handshake step is worth a thread; *bad when the
// bytes cannot be TLS. Costs nothing; reads only `in`.
bool tls_record_waits(const struct queue *in, bool *bad);

// After the handshake. Decrypts into `out`; TLS_OK with *got > 0, or why not.
enum tls_status tls_read(struct tls *t, uint8_t *out, size_t room_bytes, size_t *got);
// Encrypts one record of at most TLS_RECORD_BYTES_MAX; allocates nothing, so a tick worker may
// call it. TLS_WANT_ROOM (nothing is written) unless the out-queue has size + overhead behind
// its tail.
enum tls_status tls_write(struct tls *t, const uint8_t *bytes, size_t size_bytes);
void tls_close_notify(struct tls *t); // best effort, into `out`

bool tls_is_open(const struct tls *t);        // the handshake is done
const char *tls_alpn(const struct tls *t);    // what was agreed, or NULL
const char *tls_cipher(const struct tls *t);  // "TLS-ECDHE-…"
bool tls_resumed(const struct tls *t);        // from a ticket, without a full handshake
const char *tls_failure(const struct tls *t); // one line, no secrets; "" when nothing failed
// The peer was reached and is not who it should be: its certificate was refused by this side.
bool tls_peer_refused(const struct tls *t);
// The SHA-256 of the peer's certificate; false without one.
bool tls_peer_pin(const struct tls *t, uint8_t pin[TLS_PIN_BYTES]);

// Client: the session with its ticket, to be offered by the next connection to the same host.
// NULL when the server gave none. The blob holds the master secret: memory only, never a file.
struct tls_ticket;
struct tls_ticket *tls_ticket_take(struct tls *t);
void tls_ticket_offer(struct tls *t, const struct tls_ticket *ticket); // before tls_handshake
void tls_ticket_free(struct tls_ticket *ticket);                       // wipes it; NULL is fine

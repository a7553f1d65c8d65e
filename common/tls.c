#include "common/tls.h"

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/sha256.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_ticket.h>
#include <mbedtls/x509_crt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/tls_name.h"

enum { TICKET_SECONDS = 86400, ANSWERS_MAX = 8, FAILURE_BYTES = 192 };

// Shared by the sessions of all threads. What mbedTLS changes while they run is the random source
// and the ticket keys; both are behind `lock` (its own locks exist only in some builds of it).
// Everything else is read-only after set-up: an ECDSA signature works on copies of the group.
struct tls_config {
    mbedtls_ssl_config ssl;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    mbedtls_x509_crt certificate; // the server's own, or the client's CA
    mbedtls_pk_context key;
    mbedtls_ssl_ticket_context tickets;
    pthread_mutex_t lock;
    struct tls_config *self; // the same without const: sessions count themselves in
    atomic_int refs;         // the maker's, and one for each session
    bool server, has_pin, has_ca;
    uint8_t pin[TLS_PIN_BYTES];
};

struct tls {
    mbedtls_ssl_context ssl;
    struct tls_config *config;
    struct queue *in, *out;
    char host[256]; // client: an address to be found in the certificate; "" when mbedTLS checks
    bool open, failed, full_handshake, peer_refused;
    int answers; // records that reading alone has made us send (alerts)
    bool reading;
    char failure[FAILURE_BYTES];
};

struct tls_ticket {
    mbedtls_ssl_session session;
};

static const int suites[] = {
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    0,
};
static const mbedtls_ecp_group_id curves[] = {MBEDTLS_ECP_DP_CURVE25519, MBEDTLS_ECP_DP_SECP256R1,
                                              MBEDTLS_ECP_DP_NONE};
static const int hashes[] = {MBEDTLS_MD_SHA256, MBEDTLS_MD_SHA384, MBEDTLS_MD_SHA512,
                             MBEDTLS_MD_NONE};

static int locked_random(void *owner, unsigned char *out, size_t size_bytes)
{
    struct tls_config *c = owner;
    CHECK(pthread_mutex_lock(&c->lock) == 0);
    int status = mbedtls_ctr_drbg_random(&c->random, out, size_bytes);
    CHECK(pthread_mutex_unlock(&c->lock) == 0);
    return status;
}

// The ticket context draws its own random numbers while `lock` is held, hence not locked_random.
static int locked_ticket_write(void *owner, const mbedtls_ssl_session *session,
                               unsigned char *start, const unsigned char *end, size_t *size_bytes,
                               uint32_t *lifetime_s)
{
    struct tls_config *c = owner;
    CHECK(pthread_mutex_lock(&c->lock) == 0);
    int status = mbedtls_ssl_ticket_write(&c->tickets, session, start, end, size_bytes, lifetime_s);
    CHECK(pthread_mutex_unlock(&c->lock) == 0);
    return status;
}

static int locked_ticket_parse(void *owner, mbedtls_ssl_session *session, unsigned char *bytes,
                               size_t size_bytes)
{
    struct tls_config *c = owner;
    CHECK(pthread_mutex_lock(&c->lock) == 0);
    int status = mbedtls_ssl_ticket_parse(&c->tickets, session, bytes, size_bytes);
    CHECK(pthread_mutex_unlock(&c->lock) == 0);
    return status;
}

static enum err fault_mbedtls(struct fault *fault, enum err code, const char *what, int status)
{
    char text[96];
    mbedtls_strerror(status, text, sizeof text);
    return fault_set(fault, code, "%s: %s", what, text);
}

static struct tls_config *config_new(int endpoint, const char *const *alpn, struct fault *fault)
{
    struct tls_config *c = calloc(1, sizeof *c);
    if (!c) {
        (void)fault_set(fault, ERR_MEMORY, "no memory for a TLS configuration");
        return NULL;
    }
    CHECK(pthread_mutex_init(&c->lock, NULL) == 0);
    atomic_init(&c->refs, 1);
    c->self = c;
    mbedtls_ssl_config_init(&c->ssl);
    mbedtls_entropy_init(&c->entropy);
    mbedtls_ctr_drbg_init(&c->random);
    mbedtls_x509_crt_init(&c->certificate);
    mbedtls_pk_init(&c->key);
    mbedtls_ssl_ticket_init(&c->tickets);
    c->server = endpoint == MBEDTLS_SSL_IS_SERVER;
    int status = mbedtls_ctr_drbg_seed(&c->random, mbedtls_entropy_func, &c->entropy,
                                       (const unsigned char *)"sinew", 5);
    if (status == 0)
        status = mbedtls_ssl_config_defaults(&c->ssl, endpoint, MBEDTLS_SSL_TRANSPORT_STREAM,
                                             MBEDTLS_SSL_PRESET_DEFAULT);
    if (status == 0 && alpn) {
        // mbedTLS takes the list without const, and only reads it.
        union {
            const char *const *in;
            const char **out;
        } list = {.in = alpn};
        status = mbedtls_ssl_conf_alpn_protocols(&c->ssl, list.out);
    }
    if (status != 0) {
        (void)fault_mbedtls(fault, ERR_IO, "cannot set TLS up", status);
        tls_config_free(c);
        return NULL;
    }
    mbedtls_ssl_conf_rng(&c->ssl, locked_random, c);
    mbedtls_ssl_conf_min_version(&c->ssl, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
    mbedtls_ssl_conf_max_version(&c->ssl, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
    mbedtls_ssl_conf_ciphersuites(&c->ssl, suites);
    mbedtls_ssl_conf_curves(&c->ssl, curves);
    mbedtls_ssl_conf_sig_hashes(&c->ssl, hashes);
#ifdef MBEDTLS_SSL_RENEGOTIATION
    mbedtls_ssl_conf_renegotiation(&c->ssl, MBEDTLS_SSL_RENEGOTIATION_DISABLED);
#endif
    return c;
}

static enum err load_own(struct tls_config *c, const struct tls_server_options *options,
                         struct fault *fault)
{
    char what[320];
    int status = mbedtls_x509_crt_parse_file(&c->certificate, options->certificate_path);
    if (status != 0) {
        (void)snprintf(what, sizeof what, "the certificate %.255s", options->certificate_path);
        enum err code =
            status == MBEDTLS_ERR_PK_FILE_IO_ERROR || status == MBEDTLS_ERR_X509_FILE_IO_ERROR
                ? ERR_IO
                : ERR_MALFORMED;
        return fault_mbedtls(fault, code, what, status);
    }
    status = mbedtls_pk_parse_keyfile(&c->key, options->key_path, NULL);
    if (status != 0) {
        (void)snprintf(what, sizeof what, "the key %.255s", options->key_path);
        enum err code = status == MBEDTLS_ERR_PK_FILE_IO_ERROR ? ERR_IO : ERR_MALFORMED;
        return fault_mbedtls(fault, code, what, status);
    }
    if (mbedtls_pk_check_pair(&c->certificate.pk, &c->key) != 0)
        return fault_set(fault, ERR_DENIED, "the key %s does not belong to the certificate %s",
                         options->key_path, options->certificate_path);
    status = mbedtls_ssl_conf_own_cert(&c->ssl, &c->certificate, &c->key);
    if (status != 0) return fault_mbedtls(fault, ERR_MEMORY, "the certificate", status);
    return ERR_OK;
}

static bool hash_certificate(const mbedtls_x509_crt *certificate, uint8_t pin[TLS_PIN_BYTES])
{
    return mbedtls_sha256_ret(certificate->raw.p, certificate->raw.len, pin, 0) == 0;
}

enum err tls_config_server(const struct tls_server_options *options, struct tls_config **out,
                           struct fault *fault)
{
    struct tls_config *c = config_new(MBEDTLS_SSL_IS_SERVER, options->alpn, fault);
    if (!c) return fault && fault->code ? fault->code : ERR_MEMORY;
    enum err e = load_own(c, options, fault);
    if (e == ERR_OK) {
        uint32_t seconds = options->ticket_seconds ? options->ticket_seconds : TICKET_SECONDS;
        int status = mbedtls_ssl_ticket_setup(&c->tickets, mbedtls_ctr_drbg_random, &c->random,
                                              MBEDTLS_CIPHER_AES_256_GCM, seconds);
        if (status != 0) e = fault_mbedtls(fault, ERR_MEMORY, "the ticket keys", status);
    }
    if (e != ERR_OK) {
        tls_config_free(c);
        return e;
    }
    mbedtls_ssl_conf_session_tickets_cb(&c->ssl, locked_ticket_write, locked_ticket_parse, c);
    c->has_pin = hash_certificate(&c->certificate, c->pin);
    *out = c;
    return ERR_OK;
}

enum err tls_config_client(const struct tls_client_options *options, struct tls_config **out,
                           struct fault *fault)
{
    if (!options->ca_path && !options->pin && !options->insecure)
        return fault_set(fault, ERR_USAGE,
                         "TLS needs a CA file, a certificate pin, or leave to trust anyone");
    struct tls_config *c = config_new(MBEDTLS_SSL_IS_CLIENT, options->alpn, fault);
    if (!c) return fault && fault->code ? fault->code : ERR_MEMORY;
    if (options->ca_path) {
        int status = mbedtls_x509_crt_parse_file(&c->certificate, options->ca_path);
        if (status != 0) {
            char what[320];
            (void)snprintf(what, sizeof what, "the CA file %.255s", options->ca_path);
            enum err code = status == MBEDTLS_ERR_PK_FILE_IO_ERROR ? ERR_IO : ERR_MALFORMED;
            tls_config_free(c);
            return fault_mbedtls(fault, code, what, status);
        }
        mbedtls_ssl_conf_ca_chain(&c->ssl, &c->certificate, NULL);
        c->has_ca = !options->insecure && !options->pin;
    }
    // Without a CA mbedTLS has nothing to compare with: the pin is checked after the handshake,
    // before a byte of ours is sent.
    mbedtls_ssl_conf_authmode(&c->ssl, c->has_ca ? MBEDTLS_SSL_VERIFY_REQUIRED
                                                 : MBEDTLS_SSL_VERIFY_OPTIONAL);
    c->has_pin = options->pin != NULL;
    if (c->has_pin) memcpy(c->pin, options->pin, TLS_PIN_BYTES);
    mbedtls_ssl_conf_session_tickets(&c->ssl, MBEDTLS_SSL_SESSION_TICKETS_ENABLED);
    *out = c;
    return ERR_OK;
}

void tls_config_free(struct tls_config *c)
{
    if (!c || atomic_fetch_sub(&c->refs, 1) > 1) return;
    mbedtls_ssl_config_free(&c->ssl);
    mbedtls_ssl_ticket_free(&c->tickets);
    mbedtls_pk_free(&c->key);
    mbedtls_x509_crt_free(&c->certificate);
    mbedtls_ctr_drbg_free(&c->random);
    mbedtls_entropy_free(&c->entropy);
    CHECK(pthread_mutex_destroy(&c->lock) == 0);
    free(c);
}

void tls_config_pin(const struct tls_config *c, uint8_t pin[TLS_PIN_BYTES])
{
    CHECK(c->server);
    memcpy(pin, c->pin, TLS_PIN_BYTES);
}

static int on_send(void *owner, const unsigned char *bytes, size_t size_bytes)
{
    struct tls *t = owner;
    // A peer that provokes alerts (asking for renegotiation again and again) is cut off.
    if (t->reading && ++t->answers > ANSWERS_MAX) return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
    size_t put = queue_put(t->out, bytes, size_bytes);
    return put > 0 ? (int)put : MBEDTLS_ERR_SSL_WANT_WRITE;
}

static int on_receive(void *owner, unsigned char *bytes, size_t size_bytes)
{
    struct tls *t = owner;
    size_t got = queue_take(t->in, bytes, size_bytes);
    return got > 0 ? (int)got : MBEDTLS_ERR_SSL_WANT_READ;
}

// Names go to SNI and to mbedTLS' check; 2.28 cannot check addresses, so they are ours.
static int set_host(struct tls *t, const char *host)
{
    if (!host) return 0;
    uint8_t address[16];
    if (tls_name_address(host, address) == 0) return mbedtls_ssl_set_hostname(&t->ssl, host);
    if (strlen(host) >= sizeof t->host) return MBEDTLS_ERR_SSL_BAD_INPUT_DATA;
    (void)snprintf(t->host, sizeof t->host, "%s", host);
    return 0;
}

struct tls *tls_create(const struct tls_config *config, struct queue *in, struct queue *out,
                       const char *host)
{
    struct tls *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->config = config->self;
    (void)atomic_fetch_add(&t->config->refs, 1);
    t->in = in;
    t->out = out;
    mbedtls_ssl_init(&t->ssl);
    if (mbedtls_ssl_setup(&t->ssl, &config->ssl) != 0 || set_host(t, host) != 0) {
        tls_free(t);
        return NULL;
    }
    mbedtls_ssl_set_bio(&t->ssl, t, on_send, on_receive, NULL);
    return t;
}

void tls_free(struct tls *t)
{
    if (!t) return;
    mbedtls_ssl_free(&t->ssl);
    tls_config_free(t->config);
    free(t);
}

static enum tls_status fail(struct tls *t, const char *text)
{
    t->failed = true;
    if (!t->failure[0]) (void)snprintf(t->failure, sizeof t->failure, "%s", text);
    return TLS_FAILED;
}

static enum tls_status fail_status(struct tls *t, int status)
{
    char text[FAILURE_BYTES];
    if (status == MBEDTLS_ERR_X509_CERT_VERIFY_FAILED) {
        t->peer_refused = true;
        uint32_t flags = mbedtls_ssl_get_verify_result(&t->ssl);
        if (mbedtls_x509_crt_verify_info(text, sizeof text, "", flags) > 0) {
            text[strcspn(text, "\n")] = 0;
            return fail(t, text);
        }
    }
    mbedtls_strerror(status, text, sizeof text);
    return fail(t, text);
}

static enum tls_status from_status(struct tls *t, int status)
{
    switch (status) {
    case MBEDTLS_ERR_SSL_WANT_READ:
        return TLS_WANT_INPUT;
    case MBEDTLS_ERR_SSL_WANT_WRITE:
        return TLS_WANT_ROOM;
    case 0: // f_recv never says "end", so 0 is the peer's goodbye too
    case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY:
        return TLS_CLOSED;
    default:
        return fail_status(t, status);
    }
}

// A difference takes as long as equality: nothing to learn from the time.
static bool pins_equal(const uint8_t *a, const uint8_t *b)
{
    uint8_t difference = 0;
    for (size_t i = 0; i < TLS_PIN_BYTES; i++)
        difference |= (uint8_t)(a[i] ^ b[i]);
    return difference == 0;
}

// What mbedTLS did not check: the pin, and an address among the certificate's names.
static enum tls_status check_peer(struct tls *t)
{
    if (t->config->server) return TLS_OK;
    uint8_t pin[TLS_PIN_BYTES];
    const mbedtls_x509_crt *peer = mbedtls_ssl_get_peer_cert(&t->ssl);
    if (!peer || !hash_certificate(peer, pin)) return fail(t, "the server has no certificate");
    const char *line = NULL;
    if (t->config->has_pin && !pins_equal(pin, t->config->pin))
        line = "the server's certificate is not the pinned one";
    if (t->config->has_ca && t->host[0] &&
        !tls_name_in_certificate(peer->v3_ext.p, peer->v3_ext.len, t->host))
        line = "the server's certificate is not for this address";
    if (!line) return TLS_OK;
    (void)mbedtls_ssl_send_alert_message(&t->ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL,
                                         MBEDTLS_SSL_ALERT_MSG_BAD_CERT);
    t->peer_refused = true;
    return fail(t, line);
}

enum tls_status tls_handshake(struct tls *t)
{
    CHECK(!t->open);
    if (t->failed) return TLS_FAILED;
    while (t->ssl.state != MBEDTLS_SSL_HANDSHAKE_OVER) {
        // A resumed session passes over this state on both sides.
        if (t->ssl.state == MBEDTLS_SSL_SERVER_KEY_EXCHANGE) t->full_handshake = true;
        int status = mbedtls_ssl_handshake_step(&t->ssl);
        if (status != 0) {
            enum tls_status s = from_status(t, status);
            return s == TLS_CLOSED ? fail(t, "the peer closed during the handshake") : s;
        }
    }
    enum tls_status checked = check_peer(t);
    t->open = checked == TLS_OK;
    return checked;
}

bool tls_record_waits(const struct queue *in, bool *bad)
{
    *bad = false;
    const uint8_t *b = in->bytes + in->head;
    size_t have = queue_used(in);
    if (have == 0) return false;
    // change_cipher_spec, alert, handshake, application data; major version 3; RFC 5246 6.2.3.
    size_t size = have >= 5 ? (size_t)b[3] << 8 | b[4] : 0;
    *bad = b[0] < 20 || b[0] > 23 || (have > 1 && b[1] != 3) ||
           (have >= 5 && (size == 0 || size > TLS_RECORD_BYTES_MAX + 2048));
    // A record longer than the queue has to go in parts.
    return !*bad && have >= 5 && (have >= 5 + size || queue_space(in) == 0);
}

enum tls_status tls_read(struct tls *t, uint8_t *out, size_t room_bytes, size_t *got)
{
    CHECK(t->open);
    *got = 0;
    if (t->failed) return TLS_FAILED;
    if (room_bytes == 0) return TLS_OK;
    t->reading = true;
    int status = mbedtls_ssl_read(&t->ssl, out, room_bytes);
    t->reading = false;
    if (status <= 0) return from_status(t, status);
    *got = (size_t)status;
    return TLS_OK;
}

enum tls_status tls_write(struct tls *t, const uint8_t *bytes, size_t size_bytes)
{
    CHECK(t->open);
    CHECK(size_bytes > 0 && size_bytes <= TLS_RECORD_BYTES_MAX);
    if (t->failed) return TLS_FAILED;
    if (queue_tail_space(t->out) < size_bytes + TLS_RECORD_OVERHEAD_MAX) return TLS_WANT_ROOM;
    int status = mbedtls_ssl_write(&t->ssl, bytes, size_bytes);
    // With room for the whole record nothing can be left over: a peer that negotiated shorter
    // fragments (max_fragment_length) is served in several.
    size_t done = 0;
    while (status > 0 && (done += (size_t)status) < size_bytes)
        status = mbedtls_ssl_write(&t->ssl, bytes + done, size_bytes - done);
    return status > 0 ? TLS_OK : fail_status(t, status);
}

void tls_close_notify(struct tls *t)
{
    if (t->open && !t->failed) (void)mbedtls_ssl_close_notify(&t->ssl);
}

bool tls_is_open(const struct tls *t)
{
    return t->open;
}

const char *tls_alpn(const struct tls *t)
{
    return mbedtls_ssl_get_alpn_protocol(&t->ssl);
}

const char *tls_cipher(const struct tls *t)
{
    return mbedtls_ssl_get_ciphersuite(&t->ssl);
}

bool tls_resumed(const struct tls *t)
{
    return t->open && !t->full_handshake;
}

const char *tls_failure(const struct tls *t)
{
    return t->failure;
}

bool tls_peer_refused(const struct tls *t)
{
    return t->peer_refused;
}

bool tls_peer_pin(const struct tls *t, uint8_t pin[TLS_PIN_BYTES])
{
    const mbedtls_x509_crt *peer = mbedtls_ssl_get_peer_cert(&t->ssl);
    return peer && hash_certificate(peer, pin);
}

struct tls_ticket *tls_ticket_take(struct tls *t)
{
    CHECK(!t->config->server);
    if (!t->open || t->failed) return NULL;
    struct tls_ticket *ticket = calloc(1, sizeof *ticket);
    if (!ticket) return NULL;
    mbedtls_ssl_session_init(&ticket->session);
    if (mbedtls_ssl_get_session(&t->ssl, &ticket->session) != 0 || !ticket->session.ticket) {
        tls_ticket_free(ticket);
        return NULL;
    }
    return ticket;
}

void tls_ticket_offer(struct tls *t, const struct tls_ticket *ticket)
{
    CHECK(!t->open);
    // Out of memory only costs the shortcut.
    (void)mbedtls_ssl_set_session(&t->ssl, &ticket->session);
}

void tls_ticket_free(struct tls_ticket *ticket)
{
    if (!ticket) return;
    mbedtls_ssl_session_free(&ticket->session);
    free(ticket);
}

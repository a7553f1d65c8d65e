// TLS as a filter: two sessions joined by queues, no sockets.
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/ssl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/queue.h"
#include "common/tls.h"
#include "common/tls_cert.h"
#include "common/tls_name.h"
#include "tests/testing.h"

int testing_failures;

static const char *const stream_alpn[] = {"sinew/1", "http/1.1", NULL};
static const char *const web_alpn[] = {"http/1.1", NULL};
static const char *const other_alpn[] = {"h2", NULL};

static char folder[] = "/tmp/sinew-tls-XXXXXX";
static char certificate_path[1024], key_path[1024];
static struct tls_config *server_config;

struct end {
    struct queue in, out;
    struct tls *tls;
};

static void end_open(struct end *e, const struct tls_config *config, const char *host)
{
    EXPECT(queue_create(&e->in, 16 * 1024));
    EXPECT(queue_create(&e->out, 64 * 1024));
    e->tls = tls_create(config, &e->in, &e->out, host);
    EXPECT(e->tls != NULL);
}

static void end_close(struct end *e)
{
    tls_free(e->tls);
    queue_free(&e->in);
    queue_free(&e->out);
}

static void carry(struct end *from, struct end *to)
{
    size_t n = queue_used(&from->out);
    if (n > queue_space(&to->in)) n = queue_space(&to->in);
    EXPECT(queue_put_all(&to->in, queue_head(&from->out), n));
    queue_drop(&from->out, n);
}

static enum tls_status shake(struct end *client, struct end *server)
{
    enum tls_status c = TLS_WANT_INPUT, s = TLS_WANT_INPUT;
    for (int i = 0; i < 20; i++) {
        if (c != TLS_OK) c = tls_handshake(client->tls);
        carry(client, server);
        if (s != TLS_OK && s != TLS_FAILED) s = tls_handshake(server->tls);
        carry(server, client);
        if (c == TLS_FAILED || (c == TLS_OK && s == TLS_OK)) break;
    }
    return c == TLS_OK ? s : c;
}

static struct tls_config *client_of(struct tls_client_options options)
{
    struct tls_config *config = NULL;
    struct fault f = {0};
    enum err e = tls_config_client(&options, &config, &f);
    if (e != ERR_OK) printf("  %s\n", f.line);
    return config;
}

static enum tls_status try_client(struct tls_client_options options, const char *host,
                                  char failure[200])
{
    struct tls_config *config = client_of(options);
    struct end c, s;
    end_open(&c, config, host);
    end_open(&s, server_config, NULL);
    enum tls_status status = shake(&c, &s);
    (void)snprintf(failure, 200, "%s", tls_failure(c.tls));
    end_close(&c);
    end_close(&s);
    tls_config_free(config);
    return status;
}

static void makes_a_certificate_once_and_keeps_it_private(void)
{
    struct tls_cert_names names = {0};
    struct fault f = {0};
    tls_cert_machine_names(&names);
    tls_cert_add_dns(&names, "a-rather-long-name-that-needs-a-long-length-in-der.example.org");
    tls_cert_add_address(&names, "192.0.2.77");
    EXPECT(tls_cert_ensure(folder, &names, certificate_path, key_path, &f) == ERR_OK);
    struct stat st, before;
    EXPECT(stat(key_path, &st) == 0 && (st.st_mode & 0777) == 0600);
    EXPECT(stat(certificate_path, &before) == 0);
    EXPECT(tls_cert_ensure(folder, &names, certificate_path, key_path, &f) == ERR_OK);
    EXPECT(stat(certificate_path, &st) == 0 && st.st_ino == before.st_ino);
    struct tls_server_options o = {certificate_path, key_path, stream_alpn, 0};
    EXPECT(tls_config_server(&o, &server_config, &f) == ERR_OK);
    if (f.code) printf("  %s\n", f.line);
}

static void refuses_a_certificate_whose_key_is_gone(void)
{
    char lonely[] = "/tmp/sinew-tls-XXXXXX", c[1024], k[1024], command[2200];
    struct tls_cert_names names = {0};
    struct fault f = {0};
    EXPECT(mkdtemp(lonely) != NULL);
    (void)snprintf(command, sizeof command, "cp %s %s/tls.crt", certificate_path, lonely);
    EXPECT(system(command) == 0);
    EXPECT(tls_cert_ensure(lonely, &names, c, k, &f) == ERR_MALFORMED);
    EXPECT(strstr(f.line, "tls.key") != NULL);
    (void)snprintf(command, sizeof command, "mv %s/tls.crt %s/away && cp %s %s/tls.key", lonely,
                   lonely, key_path, lonely);
    EXPECT(system(command) == 0);
    tls_cert_add_dns(&names, "localhost");
    EXPECT(tls_cert_ensure(lonely, &names, c, k, &f) == ERR_OK); // stopped between the two
    struct tls_server_options swapped = {c, "/dev/null", NULL, 0};
    struct tls_config *config = NULL;
    EXPECT(tls_config_server(&swapped, &config, NULL) != ERR_OK);
    (void)snprintf(command, sizeof command, "rm -r %s", lonely);
    EXPECT(system(command) == 0);
}

static void pins_are_read_in_every_spelling(void)
{
    uint8_t pin[TLS_PIN_BYTES], back[TLS_PIN_BYTES];
    char text[TLS_CERT_PIN_TEXT_BYTES], bare[80];
    tls_config_pin(server_config, pin);
    tls_cert_pin_text(pin, text);
    EXPECT(strlen(text) == 95);
    EXPECT(tls_cert_pin_parse(text, back) == ERR_OK && memcmp(pin, back, sizeof pin) == 0);
    for (size_t i = 0; i < TLS_PIN_BYTES; i++)
        (void)snprintf(bare + 2 * i, 3, "%02x", pin[i]);
    memset(back, 0, sizeof back);
    EXPECT(tls_cert_pin_parse(bare, back) == ERR_OK && memcmp(pin, back, sizeof pin) == 0);
    bare[63] = 0;
    EXPECT(tls_cert_pin_parse(bare, back) == ERR_MALFORMED);
    EXPECT(tls_cert_pin_parse("", back) == ERR_MALFORMED);
    char longer[128];
    (void)snprintf(longer, sizeof longer, "%s:00", text);
    EXPECT(tls_cert_pin_parse(longer, back) == ERR_MALFORMED);
}

static void agrees_on_a_protocol_and_on_chacha_first(void)
{
    struct tls_config *config =
        client_of((struct tls_client_options){.ca_path = certificate_path, .alpn = web_alpn});
    struct end c, s;
    uint8_t text[64];
    size_t got;
    end_open(&c, config, "localhost");
    end_open(&s, server_config, NULL);
    EXPECT(shake(&c, &s) == TLS_OK);
    EXPECT(tls_alpn(s.tls) && strcmp(tls_alpn(s.tls), "http/1.1") == 0);
    EXPECT(tls_alpn(c.tls) && strcmp(tls_alpn(c.tls), "http/1.1") == 0);
    EXPECT(strstr(tls_cipher(s.tls), "CHACHA20") != NULL);
    EXPECT(!tls_resumed(s.tls) && !tls_resumed(c.tls));
    EXPECT(tls_write(c.tls, (const uint8_t *)"hello", 5) == TLS_OK);
    carry(&c, &s);
    EXPECT(tls_read(s.tls, text, sizeof text, &got) == TLS_OK && got == 5);
    EXPECT(memcmp(text, "hello", 5) == 0);
    EXPECT(tls_read(s.tls, text, sizeof text, &got) == TLS_WANT_INPUT && got == 0);
    tls_close_notify(s.tls);
    carry(&s, &c);
    EXPECT(tls_read(c.tls, text, sizeof text, &got) == TLS_CLOSED);
    end_close(&c);
    end_close(&s);
    tls_config_free(config);
}

static void refuses_when_no_protocol_is_shared(void)
{
    char failure[200];
    EXPECT(try_client((struct tls_client_options){.insecure = true, .alpn = other_alpn}, NULL,
                      failure) == TLS_FAILED);
}

static void checks_names_addresses_and_pins(void)
{
    char failure[200];
    uint8_t pin[TLS_PIN_BYTES];
    tls_config_pin(server_config, pin);
    struct tls_client_options ca = {.ca_path = certificate_path, .alpn = stream_alpn};
    EXPECT(try_client(ca, "localhost", failure) == TLS_OK);
    EXPECT(try_client(ca, "127.0.0.1", failure) == TLS_OK);
    EXPECT(try_client(ca, "::1", failure) == TLS_OK);
    EXPECT(try_client(ca, "192.0.2.77", failure) == TLS_OK);
    EXPECT(try_client(ca, "192.0.2.78", failure) == TLS_FAILED);
    EXPECT(strstr(failure, "not for this address") != NULL);
    EXPECT(try_client(ca, "elsewhere.example", failure) == TLS_FAILED);
    struct tls_client_options pinned = {.pin = pin, .alpn = stream_alpn};
    EXPECT(try_client(pinned, "elsewhere.example", failure) == TLS_OK);
    pin[31] ^= 1;
    EXPECT(try_client(pinned, "localhost", failure) == TLS_FAILED);
    EXPECT(strstr(failure, "pinned") != NULL);
    struct tls_client_options anyone = {.insecure = true, .alpn = stream_alpn};
    EXPECT(try_client(anyone, NULL, failure) == TLS_OK);
    struct tls_client_options nothing = {.alpn = stream_alpn};
    struct tls_config *config = NULL;
    EXPECT(tls_config_client(&nothing, &config, NULL) == ERR_USAGE && !config);
    struct tls_client_options missing = {.ca_path = "/nowhere/ca.pem"};
    EXPECT(tls_config_client(&missing, &config, NULL) == ERR_IO && !config);
}

static void resumes_by_ticket(void)
{
    uint8_t pin[TLS_PIN_BYTES], seen[TLS_PIN_BYTES];
    tls_config_pin(server_config, pin);
    struct tls_config *config =
        client_of((struct tls_client_options){.pin = pin, .alpn = stream_alpn});
    struct end c, s;
    end_open(&c, config, "localhost");
    end_open(&s, server_config, NULL);
    EXPECT(shake(&c, &s) == TLS_OK);
    struct tls_ticket *ticket = tls_ticket_take(c.tls);
    EXPECT(ticket != NULL);
    end_close(&c);
    end_close(&s);
    for (int i = 0; ticket && i < 2; i++) { // a ticket may be used again
        end_open(&c, config, "localhost");
        end_open(&s, server_config, NULL);
        tls_ticket_offer(c.tls, ticket);
        EXPECT(shake(&c, &s) == TLS_OK);
        EXPECT(tls_resumed(c.tls) && tls_resumed(s.tls));
        EXPECT(tls_peer_pin(c.tls, seen) && memcmp(pin, seen, sizeof pin) == 0);
        EXPECT(tls_alpn(s.tls) && strcmp(tls_alpn(s.tls), "sinew/1") == 0);
        end_close(&c);
        end_close(&s);
    }
    tls_ticket_free(ticket);
    tls_config_free(config);
}

static void tells_a_whole_record_from_a_part_and_from_nonsense(void)
{
    struct queue q;
    bool bad;
    static const uint8_t record[] = {22, 3, 1, 0, 2, 1, 2};
    EXPECT(queue_create(&q, 64));
    EXPECT(!tls_record_waits(&q, &bad) && !bad);
    for (size_t i = 0; i < sizeof record; i++) {
        EXPECT(!tls_record_waits(&q, &bad) && !bad);
        EXPECT(queue_put(&q, record + i, 1) == 1);
    }
    EXPECT(tls_record_waits(&q, &bad) && !bad);
    static const char *const nonsense[] = {"GET / HTTP/1.1", "\x16\x02\x01zzz",
                                           "\x16\x03\x01\xff\xff", "\x80\x2e\x01\x03"};
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        queue_drop(&q, queue_used(&q));
        (void)queue_put(&q, nonsense[i], strlen(nonsense[i]));
        EXPECT(!tls_record_waits(&q, &bad) && bad);
    }
    queue_free(&q);
}

// Every cut of the client's first flight, and every damaged byte of it, is survived.
static void survives_damaged_flights(void)
{
    struct tls_config *config =
        client_of((struct tls_client_options){.insecure = true, .alpn = stream_alpn});
    struct end c, s;
    end_open(&c, config, NULL);
    EXPECT(tls_handshake(c.tls) == TLS_WANT_INPUT);
    size_t n = queue_used(&c.out);
    uint8_t flight[2048];
    if (n > sizeof flight) n = sizeof flight;
    for (size_t i = 0; i < n; i++) {
        memcpy(flight, queue_head(&c.out), n);
        flight[i] ^= (uint8_t)(1 + i % 255);
        end_open(&s, server_config, NULL);
        (void)queue_put(&s.in, flight, n);
        (void)tls_handshake(s.tls);
        end_close(&s);
    }
    end_close(&c);
    tls_config_free(config);
}

static void writes_whole_records_or_nothing(void)
{
    struct tls_config *config =
        client_of((struct tls_client_options){.insecure = true, .alpn = stream_alpn});
    struct end c, s;
    static uint8_t frame[TLS_RECORD_BYTES_MAX], back[TLS_RECORD_BYTES_MAX];
    size_t got = 0, total = 0;
    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = (uint8_t)(i * 7);
    end_open(&c, config, NULL);
    end_open(&s, server_config, NULL);
    EXPECT(shake(&c, &s) == TLS_OK);
    int written = 0;
    while (tls_write(s.tls, frame, sizeof frame) == TLS_OK)
        written++;
    EXPECT(written == 3); // 64 kB hold three records and the overhead
    size_t used = queue_used(&s.out);
    EXPECT(used >= 3 * sizeof frame && used <= 3 * (sizeof frame + TLS_RECORD_OVERHEAD_MAX));
    EXPECT(tls_write(s.tls, frame, sizeof frame) == TLS_WANT_ROOM);
    EXPECT(queue_used(&s.out) == used);
    for (int i = 0; i < 100 && total < 3 * sizeof frame; i++) {
        queue_compact(&c.in);
        carry(&s, &c);
        while (tls_read(c.tls, back, sizeof back, &got) == TLS_OK) {
            EXPECT(memcmp(back, frame + total % sizeof frame, got) == 0);
            total += got;
        }
    }
    EXPECT(total == 3 * sizeof frame);
    end_close(&c);
    end_close(&s);
    tls_config_free(config);
}

static void cuts_off_who_tampers(void)
{
    struct tls_config *config =
        client_of((struct tls_client_options){.insecure = true, .alpn = stream_alpn});
    struct end c, s;
    uint8_t text[32];
    size_t got;
    end_open(&c, config, NULL);
    end_open(&s, server_config, NULL);
    EXPECT(shake(&c, &s) == TLS_OK);
    EXPECT(tls_write(c.tls, (const uint8_t *)"attack at dawn", 14) == TLS_OK);
    queue_head(&c.out)[queue_used(&c.out) - 1] ^= 1;
    carry(&c, &s);
    EXPECT(tls_read(s.tls, text, sizeof text, &got) == TLS_FAILED && got == 0);
    EXPECT(tls_failure(s.tls)[0] != 0);
    EXPECT(tls_write(s.tls, text, 1) == TLS_FAILED);
    end_close(&c);
    end_close(&s);
    tls_config_free(config);
}

struct crowd {
    const struct tls_config *client, *server;
    int failures;
};

static void *shake_many(void *argument)
{
    struct crowd *crowd = argument;
    for (int i = 0; i < 12; i++) {
        struct end c, s;
        end_open(&c, crowd->client, "localhost");
        end_open(&s, crowd->server, NULL);
        if (shake(&c, &s) != TLS_OK) crowd->failures++;
        end_close(&c);
        end_close(&s);
    }
    return NULL;
}

// --- Renegotiation: a client of mbedTLS' own that asks for it
// -------------------------------------

static int raw_send(void *owner, const unsigned char *bytes, size_t size_bytes)
{
    struct end *e = owner;
    return (int)queue_put(&e->out, bytes, size_bytes);
}

static int raw_receive(void *owner, unsigned char *bytes, size_t size_bytes)
{
    struct end *e = owner;
    size_t got = queue_take(&e->in, bytes, size_bytes);
    return got ? (int)got : MBEDTLS_ERR_SSL_WANT_READ;
}

struct eager_client {
    struct end end;
    mbedtls_ssl_context ssl;
    mbedtls_ssl_config config;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
};

static void eager_open(struct eager_client *e)
{
    memset(e, 0, sizeof *e);
    EXPECT(queue_create(&e->end.in, 65536) && queue_create(&e->end.out, 65536));
    mbedtls_ssl_init(&e->ssl);
    mbedtls_ssl_config_init(&e->config);
    mbedtls_entropy_init(&e->entropy);
    mbedtls_ctr_drbg_init(&e->random);
    EXPECT(mbedtls_ctr_drbg_seed(&e->random, mbedtls_entropy_func, &e->entropy, NULL, 0) == 0);
    EXPECT(mbedtls_ssl_config_defaults(&e->config, MBEDTLS_SSL_IS_CLIENT,
                                       MBEDTLS_SSL_TRANSPORT_STREAM,
                                       MBEDTLS_SSL_PRESET_DEFAULT) == 0);
    mbedtls_ssl_conf_authmode(&e->config, MBEDTLS_SSL_VERIFY_NONE);
    mbedtls_ssl_conf_rng(&e->config, mbedtls_ctr_drbg_random, &e->random);
    mbedtls_ssl_conf_renegotiation(&e->config, MBEDTLS_SSL_RENEGOTIATION_ENABLED);
    EXPECT(mbedtls_ssl_setup(&e->ssl, &e->config) == 0);
    mbedtls_ssl_set_bio(&e->ssl, &e->end, raw_send, raw_receive, NULL);
}

static void eager_close(struct eager_client *e)
{
    mbedtls_ssl_free(&e->ssl);
    mbedtls_ssl_config_free(&e->config);
    mbedtls_ctr_drbg_free(&e->random);
    mbedtls_entropy_free(&e->entropy);
    queue_free(&e->end.in);
    queue_free(&e->end.out);
}

static void renegotiation_is_refused(void)
{
    struct eager_client client;
    struct end s;
    uint8_t text[64];
    size_t got;
    eager_open(&client);
    end_open(&s, server_config, NULL);
    int status = MBEDTLS_ERR_SSL_WANT_READ;
    for (int i = 0; i < 10 && status == MBEDTLS_ERR_SSL_WANT_READ; i++) {
        status = mbedtls_ssl_handshake(&client.ssl);
        carry(&client.end, &s);
        if (i < 3 && tls_handshake(s.tls) == TLS_OK) i = 3;
        carry(&s, &client.end);
    }
    EXPECT(status == 0);
    EXPECT(mbedtls_ssl_renegotiate(&client.ssl) == MBEDTLS_ERR_SSL_WANT_READ);
    carry(&client.end, &s);
    enum tls_status asked = tls_read(s.tls, text, sizeof text, &got);
    EXPECT(asked == TLS_WANT_INPUT || asked == TLS_FAILED); // a warning, or the end; no handshake
    EXPECT(queue_used(&s.out) > 0 && queue_used(&s.out) < 64); // an alert and nothing else
    carry(&s, &client.end);
    EXPECT(mbedtls_ssl_renegotiate(&client.ssl) != 0);
    eager_close(&client);
    end_close(&s);
}

static void one_configuration_serves_many_threads(void)
{
    struct tls_config *config =
        client_of((struct tls_client_options){.ca_path = certificate_path, .alpn = stream_alpn});
    pthread_t threads[4];
    struct crowd crowds[4];
    for (int i = 0; i < 4; i++) {
        crowds[i] = (struct crowd){config, server_config, 0};
        EXPECT(pthread_create(&threads[i], NULL, shake_many, &crowds[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        EXPECT(pthread_join(threads[i], NULL) == 0);
        EXPECT(crowds[i].failures == 0);
    }
    tls_config_free(config);
}

static void finds_addresses_only_in_well_formed_names(void)
{
    // Extensions { SEQ { OID 2.5.29.17, OCTETS { SEQ { [7] 10.0.0.1 } } } }
    static const uint8_t der[] = {0x30, 0x11, 0x30, 0x0f, 0x06, 0x03, 0x55, 0x1d, 0x11, 0x04,
                                  0x08, 0x30, 0x06, 0x87, 0x04, 10,   0,    0,    1};
    EXPECT(tls_name_in_certificate(der, sizeof der, "10.0.0.1"));
    EXPECT(!tls_name_in_certificate(der, sizeof der, "10.0.0.2"));
    EXPECT(!tls_name_in_certificate(der, sizeof der, "host"));
    for (size_t n = 0; n < sizeof der; n++) {
        uint8_t *exact = memcpy(malloc(n + !n), der, n);
        EXPECT(!tls_name_in_certificate(exact, n, "10.0.0.1"));
        free(exact);
    }
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    RUN(makes_a_certificate_once_and_keeps_it_private);
    RUN(refuses_a_certificate_whose_key_is_gone);
    RUN(pins_are_read_in_every_spelling);
    RUN(agrees_on_a_protocol_and_on_chacha_first);
    RUN(refuses_when_no_protocol_is_shared);
    RUN(checks_names_addresses_and_pins);
    RUN(resumes_by_ticket);
    RUN(tells_a_whole_record_from_a_part_and_from_nonsense);
    RUN(survives_damaged_flights);
    RUN(writes_whole_records_or_nothing);
    RUN(cuts_off_who_tampers);
    RUN(renegotiation_is_refused);
    RUN(one_configuration_serves_many_threads);
    RUN(finds_addresses_only_in_well_formed_names);
    tls_config_free(server_config);
    (void)unlink(certificate_path);
    (void)unlink(key_path);
    (void)rmdir(folder);
    TESTING_MAIN_END;
}

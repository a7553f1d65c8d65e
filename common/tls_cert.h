#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/tls.h"

// A self-signed certificate for a server that was given none: ECDSA P-256, ten years, names and
// addresses of this machine as subject alternative names. It stays the same from start to start,
// so that clients can pin it.
enum { TLS_CERT_NAMES_MAX = 32, TLS_CERT_PIN_TEXT_BYTES = 96 };

struct tls_cert_names {
    size_t dns_count, address_count;
    char dns[TLS_CERT_NAMES_MAX][256];
    struct {
        uint8_t bytes[16];
        uint8_t size_bytes; // 4 or 16
    } address[TLS_CERT_NAMES_MAX];
};

void tls_cert_add_dns(struct tls_cert_names *names, const char *name);        // repeats: ignored
void tls_cert_add_address(struct tls_cert_names *names, const char *address); // text; bad: ignored
// localhost, 127.0.0.1, ::1, the host name and the addresses of the interfaces that are up.
void tls_cert_machine_names(struct tls_cert_names *names);

// Uses FOLDER/tls.crt and FOLDER/tls.key (0600), or makes both when neither exists (a key alone
// gets a new certificate). The paths come back for tls_config_server. ERR_IO, or ERR_MALFORMED
// when the certificate is there without its key.
MUST_CHECK enum err tls_cert_ensure(const char *folder, const struct tls_cert_names *names,
                                    char certificate_path[1024], char key_path[1024],
                                    struct fault *fault);

// "AB:CD:…", 32 bytes, as browsers and openssl print it.
void tls_cert_pin_text(const uint8_t pin[TLS_PIN_BYTES], char out[TLS_CERT_PIN_TEXT_BYTES]);
// Accepts it with or without colons, either case. ERR_MALFORMED else.
MUST_CHECK enum err tls_cert_pin_parse(const char *text, uint8_t pin[TLS_PIN_BYTES]);

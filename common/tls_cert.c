#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE // getifaddrs, under strict C17
#endif
#include "common/tls_cert.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <mbedtls/asn1write.h>
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/oid.h>
#include <mbedtls/platform_util.h>
#include <mbedtls/x509_crt.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/file.h"
#include "common/tls_name.h"

enum { PEM_BYTES = 32 * 1024, NAMES_DER_BYTES = 12 * 1024, LIFE_DAYS = 3650 };

void tls_cert_add_dns(struct tls_cert_names *names, const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length >= sizeof names->dns[0]) return;
    for (size_t i = 0; i < names->dns_count; i++)
        if (strcmp(names->dns[i], name) == 0) return;
    if (names->dns_count == TLS_CERT_NAMES_MAX) return;
    memcpy(names->dns[names->dns_count++], name, length + 1);
}

static void add_address_bytes(struct tls_cert_names *names, const uint8_t *bytes, size_t size_bytes)
{
    for (size_t i = 0; i < names->address_count; i++)
        if (names->address[i].size_bytes == size_bytes &&
            memcmp(names->address[i].bytes, bytes, size_bytes) == 0)
            return;
    if (names->address_count == TLS_CERT_NAMES_MAX) return;
    memcpy(names->address[names->address_count].bytes, bytes, size_bytes);
    names->address[names->address_count++].size_bytes = (uint8_t)size_bytes;
}

void tls_cert_add_address(struct tls_cert_names *names, const char *address)
{
    uint8_t bytes[16];
    size_t size_bytes = tls_name_address(address, bytes);
    if (size_bytes > 0) add_address_bytes(names, bytes, size_bytes);
}

void tls_cert_machine_names(struct tls_cert_names *names)
{
    tls_cert_add_dns(names, "localhost");
    tls_cert_add_address(names, "127.0.0.1");
    tls_cert_add_address(names, "::1");
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) == 0) tls_cert_add_dns(names, host);
    struct ifaddrs *list = NULL;
    if (getifaddrs(&list) != 0) return;
    for (struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (!i->ifa_addr || !(i->ifa_flags & IFF_UP)) continue;
        // Copied: the list gives no promise on alignment.
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        if (i->ifa_addr->sa_family == AF_INET) {
            memcpy(&v4, i->ifa_addr, sizeof v4);
            add_address_bytes(names, (const uint8_t *)&v4.sin_addr, 4);
        } else if (i->ifa_addr->sa_family == AF_INET6) {
            memcpy(&v6, i->ifa_addr, sizeof v6);
            if (!IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr))
                add_address_bytes(names, (const uint8_t *)&v6.sin6_addr, 16);
        }
    }
    freeifaddrs(list);
}

// GeneralNames, written backwards as mbedTLS' helpers do. Returns the size or a negative status.
static int write_names(const struct tls_cert_names *names, uint8_t **at, uint8_t *start)
{
    int total = 0, part;
    for (size_t i = names->address_count; i-- > 0;) {
        part = mbedtls_asn1_write_tagged_string(at, start, MBEDTLS_ASN1_CONTEXT_SPECIFIC | 7,
                                                (const char *)names->address[i].bytes,
                                                names->address[i].size_bytes);
        if (part < 0) return part;
        total += part;
    }
    for (size_t i = names->dns_count; i-- > 0;) {
        part = mbedtls_asn1_write_tagged_string(at, start, MBEDTLS_ASN1_CONTEXT_SPECIFIC | 2,
                                                names->dns[i], strlen(names->dns[i]));
        if (part < 0) return part;
        total += part;
    }
    part = mbedtls_asn1_write_len(at, start, (size_t)total);
    if (part < 0) return part;
    total += part;
    part = mbedtls_asn1_write_tag(at, start, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE);
    return part < 0 ? part : total + part;
}

static int set_validity(mbedtls_x509write_cert *w)
{
    // From yesterday: clients whose clock is behind.
    time_t from = time(NULL) - 86400, until = from + (time_t)LIFE_DAYS * 86400;
    struct tm t;
    char not_before[16], not_after[16];
    CHECK(gmtime_r(&from, &t));
    CHECK(strftime(not_before, sizeof not_before, "%Y%m%d%H%M%S", &t) == 14);
    CHECK(gmtime_r(&until, &t));
    CHECK(strftime(not_after, sizeof not_after, "%Y%m%d%H%M%S", &t) == 14);
    return mbedtls_x509write_crt_set_validity(w, not_before, not_after);
}

static int set_extensions(mbedtls_x509write_cert *w, const struct tls_cert_names *names)
{
    static const uint8_t server_auth[] = {0x30, 0x0a, 0x06, 0x08, 0x2b, 0x06,
                                          0x01, 0x05, 0x05, 0x07, 0x03, 0x01};
    uint8_t der[NAMES_DER_BYTES];
    uint8_t *at = der + sizeof der;
    int size = write_names(names, &at, der);
    if (size < 0) return size;
    int status = mbedtls_x509write_crt_set_extension(w, MBEDTLS_OID_SUBJECT_ALT_NAME,
                                                     MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_ALT_NAME),
                                                     0, at, (size_t)size);
    if (status == 0)
        status = mbedtls_x509write_crt_set_extension(
            w, MBEDTLS_OID_EXTENDED_KEY_USAGE, MBEDTLS_OID_SIZE(MBEDTLS_OID_EXTENDED_KEY_USAGE), 0,
            server_auth, sizeof server_auth);
    if (status == 0) status = mbedtls_x509write_crt_set_basic_constraints(w, 0, -1);
    if (status == 0)
        status = mbedtls_x509write_crt_set_key_usage(w, MBEDTLS_X509_KU_DIGITAL_SIGNATURE);
    if (status == 0) status = mbedtls_x509write_crt_set_subject_key_identifier(w);
    return status;
}

struct maker {
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    mbedtls_pk_context key;
    mbedtls_x509write_cert writer;
    mbedtls_mpi serial;
    uint8_t pem[PEM_BYTES];
};

static int make_key(struct maker *m)
{
    int status = mbedtls_pk_setup(&m->key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));
    if (status == 0)
        status = mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(m->key),
                                     mbedtls_ctr_drbg_random, &m->random);
    if (status == 0) status = mbedtls_pk_write_key_pem(&m->key, m->pem, sizeof m->pem);
    return status;
}

static int make_certificate(struct maker *m, const struct tls_cert_names *names)
{
    mbedtls_x509write_cert *w = &m->writer;
    static const char subject[] = "CN=sinew,O=Sinew self-signed";
    mbedtls_x509write_crt_set_version(w, MBEDTLS_X509_CRT_VERSION_3);
    mbedtls_x509write_crt_set_md_alg(w, MBEDTLS_MD_SHA256);
    mbedtls_x509write_crt_set_subject_key(w, &m->key);
    mbedtls_x509write_crt_set_issuer_key(w, &m->key);
    int status = mbedtls_x509write_crt_set_subject_name(w, subject);
    if (status == 0) status = mbedtls_x509write_crt_set_issuer_name(w, subject);
    if (status == 0)
        status = mbedtls_mpi_fill_random(&m->serial, 15, mbedtls_ctr_drbg_random, &m->random);
    if (status == 0) status = mbedtls_x509write_crt_set_serial(w, &m->serial);
    if (status == 0) status = set_validity(w);
    if (status == 0) status = set_extensions(w, names);
    if (status == 0)
        status = mbedtls_x509write_crt_pem(w, m->pem, sizeof m->pem, mbedtls_ctr_drbg_random,
                                           &m->random);
    return status;
}

// A new file that only its owner can read, from its first moment on.
static enum err write_private(const char *path, const uint8_t *pem, struct fault *fault)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return file_fault(fault, "write", path);
    size_t size = strlen((const char *)pem);
    ssize_t n = write(fd, pem, size);
    bool ok = n >= 0 && (size_t)n == size && fsync(fd) == 0;
    ok = close(fd) == 0 && ok;
    if (ok) return ERR_OK;
    (void)unlink(path);
    return file_fault(fault, "write", path);
}

static enum err fault_status(struct fault *fault, int status)
{
    char text[96];
    mbedtls_strerror(status, text, sizeof text);
    return fault_set(fault, ERR_IO, "cannot make a certificate: %s", text);
}

static enum err make_files(struct maker *m, const struct tls_cert_names *names,
                           const char *certificate_path, const char *key_path, struct fault *fault)
{
    int status = mbedtls_ctr_drbg_seed(&m->random, mbedtls_entropy_func, &m->entropy, NULL, 0);
    if (status != 0) return fault_status(fault, status);
    if (access(key_path, F_OK) == 0) { // we were stopped between the two: same key, same identity
        status = mbedtls_pk_parse_keyfile(&m->key, key_path, NULL);
        if (status != 0)
            return fault_set(fault, ERR_MALFORMED, "%s is not a key: remove it for a new one",
                             key_path);
    } else {
        status = make_key(m);
        if (status != 0) return fault_status(fault, status);
        enum err e = write_private(key_path, m->pem, fault);
        if (e != ERR_OK) return e;
    }
    status = make_certificate(m, names);
    if (status != 0) return fault_status(fault, status);
    return file_write_atomic(certificate_path, m->pem, strlen((const char *)m->pem), fault);
}

static enum err make(const struct tls_cert_names *names, const char *certificate_path,
                     const char *key_path, struct fault *fault)
{
    struct maker *m = calloc(1, sizeof *m);
    if (!m) return fault_set(fault, ERR_MEMORY, "no memory to make a certificate");
    mbedtls_entropy_init(&m->entropy);
    mbedtls_ctr_drbg_init(&m->random);
    mbedtls_pk_init(&m->key);
    mbedtls_x509write_crt_init(&m->writer);
    mbedtls_mpi_init(&m->serial);
    enum err e = make_files(m, names, certificate_path, key_path, fault);
    mbedtls_mpi_free(&m->serial);
    mbedtls_x509write_crt_free(&m->writer);
    mbedtls_pk_free(&m->key);
    mbedtls_ctr_drbg_free(&m->random);
    mbedtls_entropy_free(&m->entropy);
    mbedtls_platform_zeroize(m, sizeof *m);
    free(m);
    return e;
}

enum err tls_cert_ensure(const char *folder, const struct tls_cert_names *names,
                         char certificate_path[1024], char key_path[1024], struct fault *fault)
{
    if (snprintf(certificate_path, 1024, "%s/tls.crt", folder) >= 1024)
        return fault_set(fault, ERR_LIMIT, "path is too long: %.200s", folder);
    (void)snprintf(key_path, 1024, "%s/tls.key", folder);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return file_fault(fault, "make the folder", folder);
    bool has_certificate = access(certificate_path, F_OK) == 0;
    bool has_key = access(key_path, F_OK) == 0;
    if (has_certificate && has_key) return ERR_OK;
    if (has_certificate)
        return fault_set(fault, ERR_MALFORMED,
                         "%s is there without %s: put the key back or remove it", certificate_path,
                         key_path);
    return make(names, certificate_path, key_path, fault);
}

void tls_cert_pin_text(const uint8_t pin[TLS_PIN_BYTES], char out[TLS_CERT_PIN_TEXT_BYTES])
{
    for (size_t i = 0; i < TLS_PIN_BYTES; i++)
        (void)snprintf(out + i * 3, 4, "%02X%s", pin[i], i + 1 < TLS_PIN_BYTES ? ":" : "");
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

enum err tls_cert_pin_parse(const char *text, uint8_t pin[TLS_PIN_BYTES])
{
    uint8_t bytes[TLS_PIN_BYTES];
    for (size_t i = 0; i < TLS_PIN_BYTES; i++) {
        if (i > 0 && *text == ':') text++;
        int high = hex_digit(text[0]);
        int low = high < 0 ? -1 : hex_digit(text[1]);
        if (low < 0) return ERR_MALFORMED;
        bytes[i] = (uint8_t)(high * 16 + low);
        text += 2;
    }
    if (*text) return ERR_MALFORMED;
    memcpy(pin, bytes, sizeof bytes);
    return ERR_OK;
}

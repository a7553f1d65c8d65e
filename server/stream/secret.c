#include "server/stream/secret.h"

#include <mbedtls/sha256.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"

bool secret_make(char out[SECRET_TEXT_BYTES])
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint8_t random[33] = {0}; // the 33rd byte pads the last group of three: it stays zero
    if (getentropy(random, 32) != 0) return false;
    size_t at = 0;
    for (size_t i = 0; i < sizeof random; i += 3) {
        uint32_t group =
            (uint32_t)random[i] << 16 | (uint32_t)random[i + 1] << 8 | (uint32_t)random[i + 2];
        for (int shift = 18; shift >= 0 && at < SECRET_TEXT_BYTES - 1; shift -= 6)
            out[at++] = alphabet[group >> shift & 63];
    }
    out[at] = '\0';
    return true;
}

void secret_hash(const char *text, uint8_t out[SECRET_HASH_BYTES])
{
    CHECK(mbedtls_sha256_ret((const uint8_t *)text, strlen(text), out, 0) == 0);
}

bool secret_equal(const uint8_t a[SECRET_HASH_BYTES], const uint8_t b[SECRET_HASH_BYTES])
{
    uint8_t differs = 0;
    for (size_t i = 0; i < SECRET_HASH_BYTES; i++)
        differs = (uint8_t)(differs | (a[i] ^ b[i]));
    return differs == 0;
}

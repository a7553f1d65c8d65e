#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Addresses as names in certificates (RFC 5280 4.2.1.6), which mbedTLS 2.28 neither writes nor
// checks.

// "192.0.2.1", "2001:db8::1", with or without brackets: the bytes and 4 or 16; 0: not an address.
size_t tls_name_address(const char *text, uint8_t out[16]);
// Looks for the address `text` among the subject alternative names in the DER of a certificate's
// extensions (`Extensions`, hostile bytes).
bool tls_name_in_certificate(const uint8_t *extensions, size_t size_bytes, const char *text);

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Secrets that the server hands out (tickets, resume tokens): 256 random bits as 43 characters of
// [A-Za-z0-9_-]. Only their SHA-256 is kept, so that neither a log nor a dump gives one away.
enum { SECRET_TEXT_BYTES = 44, SECRET_HASH_BYTES = 32 };

// False: the system gives no random bytes; then nothing may be handed out.
bool secret_make(char out[SECRET_TEXT_BYTES]);
void secret_hash(const char *text, uint8_t out[SECRET_HASH_BYTES]);
// Takes the same time wherever they differ.
bool secret_equal(const uint8_t a[SECRET_HASH_BYTES], const uint8_t b[SECRET_HASH_BYTES]);

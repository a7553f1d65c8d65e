#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

// Little-endian cursors over borrowed bytes, both sticky-fail: the first step that does not fit
// marks the cursor failed and moves nothing, so a codec runs straight through and looks once.
// No allocation, no I/O; a cursor belongs to one thread.

struct wire_reader {
    const uint8_t *begin, *at, *end; // begin: where padding counts from
    bool failed;
    bool malformed; // failed for what was there, not for what was missing
};

struct wire_reader wire_read(const void *bytes, size_t size_bytes);
uint8_t wire_u8(struct wire_reader *r);
uint16_t wire_u16(struct wire_reader *r);
uint32_t wire_u32(struct wire_reader *r);
uint64_t wire_u64(struct wire_reader *r);
float wire_f32(struct wire_reader *r); // any bit pattern; the codec checks wire_finite
const uint8_t *wire_bytes(struct wire_reader *r, size_t count); // borrowed; NULL once failed
void wire_floats(struct wire_reader *r, float *out, size_t count);
void wire_align4(struct wire_reader *r);          // skips padding (its value is not looked at)
enum err wire_error(const struct wire_reader *r); // ERR_OK, ERR_TRUNCATED or ERR_MALFORMED
size_t wire_left(const struct wire_reader *r);
bool wire_finite(const float *values, size_t count);

// Text: u8 length, bytes, no NUL, no padding. `out` gets a NUL. Fails on a longer text than
// `capacity - 1`, on NUL inside, and on what is not UTF-8.
void wire_text(struct wire_reader *r, char *out, size_t capacity);

struct wire_writer {
    uint8_t *begin, *at, *end;
    bool failed;
};

struct wire_writer wire_write(void *bytes, size_t capacity_bytes);
void wire_put_u8(struct wire_writer *w, uint8_t value);
void wire_put_u16(struct wire_writer *w, uint16_t value);
void wire_put_u32(struct wire_writer *w, uint32_t value);
void wire_put_u64(struct wire_writer *w, uint64_t value);
void wire_put_f32(struct wire_writer *w, float value);
void wire_put_floats(struct wire_writer *w, const float *values, size_t count);
void wire_put_bytes(struct wire_writer *w, const void *bytes, size_t count);
void wire_put_text(struct wire_writer *w, const char *text); // fails past 255 bytes
void wire_put_align4(struct wire_writer *w);                 // zero bytes
size_t wire_size(const struct wire_writer *w);               // bytes written so far

// Strict UTF-8 (no surrogates, no overlong forms, at most U+10FFFF).
bool wire_is_utf8(const uint8_t *bytes, size_t size_bytes);

#include "proto/stream_codes.h"

#include <stddef.h>

struct stream_codes_row {
    uint16_t code, close;
    bool may_retry;
    const char *name, *text;
};
static const struct stream_codes_row rows[] = {
#define X(code, name, close, retry, text) {(code), (close), (retry) != 0, #name, text},
    STREAM_CODES_MAP(X)
#undef X
};

static const struct stream_codes_row *stream_codes_row(uint16_t code)
{
    static const struct stream_codes_row unknown = {0, 0, false, "UNKNOWN", "unknown code"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].code == code) return &rows[i];
    return &unknown;
}

const char *stream_codes_name(uint16_t code)
{
    return stream_codes_row(code)->name;
}

const char *stream_codes_text(uint16_t code)
{
    return stream_codes_row(code)->text;
}

uint16_t stream_codes_close(uint16_t code)
{
    return stream_codes_row(code)->close;
}

bool stream_codes_may_retry(uint16_t code)
{
    return stream_codes_row(code)->may_retry;
}

uint16_t stream_codes_from_close(uint16_t close)
{
    for (size_t i = 0; close && i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].close == close) return rows[i].code;
    return 0;
}

#include "common/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"

static const char *const names[] = {
#define X(name, text) #name,
    ERR_MAP(X)
#undef X
};
static const char *const texts[] = {
#define X(name, text) text,
    ERR_MAP(X)
#undef X
};
enum { ERR_COUNT = sizeof names / sizeof names[0] };

const char *err_name(enum err e)
{
    CHECK((unsigned)e < ERR_COUNT);
    return names[e];
}

const char *err_text(enum err e)
{
    CHECK((unsigned)e < ERR_COUNT);
    return texts[e];
}

const char *err_system(int number, char out[ERR_SYSTEM_BYTES])
{
    if (strerror_r(number, out, ERR_SYSTEM_BYTES) != 0)
        (void)snprintf(out, ERR_SYSTEM_BYTES, "error %d", number);
    return out;
}

// Control bytes from hostile names must not reach a terminal or split a line.
static void make_printable(char *line)
{
    for (unsigned char *c = (unsigned char *)line; *c; c++)
        if (*c < 0x20 || *c == 0x7f) *c = '?';
}

enum err fault_set(struct fault *f, enum err code, const char *format, ...)
{
    CHECK(code != ERR_OK);
    if (!f) return code;
    if (f->code != ERR_OK) return f->code;
    f->code = code;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(f->line, sizeof f->line, format, args);
    va_end(args);
    CHECK(length >= 0);
    make_printable(f->line);
    return code;
}

#include "server/bake/utf8.h"

#include <stddef.h>

// Length of the UTF-8 sequence at `s`, 0 when it is none (overlong, surrogate, cut off).
static size_t utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80) return 1;
    size_t n = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0; // the final NUL stops here too
    if (s[0] == 0xE0 && s[1] < 0xA0) return 0;
    if (s[0] == 0xED && s[1] > 0x9F) return 0;
    if (s[0] == 0xF0 && s[1] < 0x90) return 0;
    if (s[0] == 0xF4 && s[1] > 0x8F) return 0;
    return n;
}

void utf8_mend(char *text)
{
    while (*text) {
        size_t n = utf8_length((const unsigned char *)text);
        if (n == 0) *text = '?';
        text += n ? n : 1;
    }
}

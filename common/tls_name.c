#include "common/tls_name.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

size_t tls_name_address(const char *text, uint8_t out[16])
{
    char bare[64];
    size_t length = strlen(text);
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    if (length >= sizeof bare) return 0;
    (void)snprintf(bare, sizeof bare, "%.*s", (int)length, text);
    if (inet_pton(AF_INET, bare, out) == 1) return 4;
    if (inet_pton(AF_INET6, bare, out) == 1) return 16;
    return 0;
}

// A cursor over DER: takes one element; on anything odd it fails for good.
struct der {
    const uint8_t *at, *end;
};

static bool der_take(struct der *d, uint8_t *tag, struct der *content)
{
    if (d->end - d->at < 2) return false;
    *tag = *d->at++;
    size_t size = *d->at++;
    if (size >= 0x80) {
        size_t count = size & 0x7f;
        if (count == 0 || count > 3 || (size_t)(d->end - d->at) < count) return false;
        size = 0;
        while (count-- > 0)
            size = size << 8 | *d->at++;
    }
    if ((size_t)(d->end - d->at) < size) return false;
    *content = (struct der){d->at, d->at + size};
    d->at += size;
    return true;
}

static bool names_have(struct der names, const uint8_t *address, size_t size_bytes)
{
    struct der list, name;
    uint8_t tag;
    if (!der_take(&names, &tag, &list) || tag != 0x30) return false;
    while (der_take(&list, &tag, &name))
        if (tag == 0x87 && (size_t)(name.end - name.at) == size_bytes &&
            memcmp(name.at, address, size_bytes) == 0)
            return true;
    return false;
}

bool tls_name_in_certificate(const uint8_t *extensions, size_t size_bytes, const char *text)
{
    static const uint8_t subject_alt_name[] = {0x55, 0x1d, 0x11};
    uint8_t address[16], tag;
    size_t address_bytes = tls_name_address(text, address);
    struct der all = {extensions, extensions + size_bytes}, list, one, part;
    if (address_bytes == 0 || !der_take(&all, &tag, &list) || tag != 0x30) return false;
    while (der_take(&list, &tag, &one)) {
        if (tag != 0x30 || !der_take(&one, &tag, &part) || tag != 0x06) return false;
        if (part.end - part.at != sizeof subject_alt_name ||
            memcmp(part.at, subject_alt_name, sizeof subject_alt_name) != 0)
            continue;
        if (!der_take(&one, &tag, &part)) return false;
        if (tag == 0x01 && !der_take(&one, &tag, &part)) return false; // "critical"
        return tag == 0x04 && names_have(part, address, address_bytes);
    }
    return false;
}

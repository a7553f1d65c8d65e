#include "server/character/input/osc.h"

#include <lo/lo.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    void (*on_message)(void *owner, const struct osc_message *m);
    void *owner;
    struct osc_counts *counts;
    size_t told;
};

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

// A text with its NUL, padded to four; 0: there is none.
static size_t text_bytes(const uint8_t *at, size_t left)
{
    const uint8_t *end = memchr(at, 0, left);
    if (!end) return 0;
    size_t n = ((size_t)(end - at) + 4) & ~(size_t)3;
    return n <= left ? n : 0;
}

// liblo sees only what is framed as the standard says, with types that are taken here.
static bool is_framed(const uint8_t *bytes, size_t size)
{
    if (size < 8 || size % 4 != 0 || bytes[0] != '/') return false;
    size_t address = text_bytes(bytes, size);
    if (!address || address == size || bytes[address] != ',') return false;
    size_t tags = text_bytes(bytes + address, size - address);
    if (!tags) return false;
    const char *types = (const char *)bytes + address + 1;
    return strlen(types) <= OSC_ARGS_MAX && strspn(types, "ifsbhdTF") == strlen(types);
}

// liblo's arguments stand on four bytes, its union wants eight: they are copied out.
static void take_arg(char type, const void *from, struct osc_arg *to)
{
    to->type = type;
    switch (type) {
    case 'i':
        memcpy(&to->value.i, from, sizeof to->value.i);
        break;
    case 'f':
        memcpy(&to->value.f, from, sizeof to->value.f);
        break;
    case 's':
        to->value.s = from;
        break;
    case 'h':
        memcpy(&to->value.h, from, sizeof to->value.h);
        break;
    case 'd':
        memcpy(&to->value.d, from, sizeof to->value.d);
        break;
    default: // a blob's bytes are of no use here
        break;
    }
}

static void read_message(struct reading *r, const uint8_t *bytes, size_t size)
{
    struct osc_arg args[OSC_ARGS_MAX] = {0};
    if (!is_framed(bytes, size) || r->told == OSC_MESSAGES_MAX) {
        r->counts->malformed++;
        return;
    }
    uint8_t *copy = malloc(size); // liblo takes bytes that it may write
    if (!copy) return;
    memcpy(copy, bytes, size);
    lo_message m = lo_message_deserialise(copy, size, NULL);
    if (m) {
        int count = lo_message_get_argc(m);
        const char *types = lo_message_get_types(m);
        lo_arg **from = lo_message_get_argv(m);
        for (int i = 0; i < count; i++)
            take_arg(types[i], from[i], &args[i]);
        const struct osc_message told = {
            .address = (const char *)bytes, .args = args, .arg_count = (size_t)count};
        r->counts->messages++;
        r->told++;
        r->on_message(r->owner, &told);
        lo_message_free(m);
    } else {
        r->counts->malformed++;
    }
    free(copy);
}

struct level { // of nested bundles
    const uint8_t *at;
    size_t left;
};

static bool is_bundle(const uint8_t *bytes, size_t size)
{
    return size >= 16 && memcmp(bytes, "#bundle", 8) == 0;
}

// An explicit stack: the depth is the sender's.
static void read_bundle(struct reading *r, const uint8_t *bytes, size_t size)
{
    struct level stack[OSC_DEPTH_MAX] = {{bytes + 16, size - 16}};
    size_t depth = 1;
    while (depth > 0) {
        struct level *l = &stack[depth - 1];
        if (l->left == 0) {
            depth--;
            continue;
        }
        size_t element = l->left >= 4 ? big_endian(l->at) : 0;
        if (l->left < 4 || element > l->left - 4 || element % 4 != 0) {
            r->counts->malformed++; // where the next one begins is not known
            depth--;
            continue;
        }
        const uint8_t *at = l->at + 4;
        l->at = at + element;
        l->left -= 4 + element;
        if (!is_bundle(at, element))
            read_message(r, at, element);
        else if (depth < OSC_DEPTH_MAX)
            stack[depth++] = (struct level){at + 16, element - 16};
        else
            r->counts->malformed++;
    }
}

void osc_read(const uint8_t *bytes, size_t size_bytes,
              void (*on_message)(void *owner, const struct osc_message *m), void *owner,
              struct osc_counts *counts)
{
    struct reading r = {.on_message = on_message, .owner = owner, .counts = counts};
    if (is_bundle(bytes, size_bytes))
        read_bundle(&r, bytes, size_bytes);
    else
        read_message(&r, bytes, size_bytes);
}

enum err osc_expect(const struct osc_message *m, const char *types)
{
    size_t count = strlen(types);
    if (m->arg_count < count) return ERR_TRUNCATED;
    for (size_t i = 0; i < count; i++)
        if (m->args[i].type != types[i]) return ERR_MALFORMED;
    return ERR_OK;
}

void osc_floats(const struct osc_message *m, size_t first, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = m->args[first + i].value.f;
}

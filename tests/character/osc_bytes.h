#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// OSC as a sender writes it, for tests: by hand, so that liblo is not its own witness.
struct osc_bytes {
    uint8_t bytes[65536];
    size_t size;
};

static inline void osc_put_text(struct osc_bytes *b, const char *text)
{
    size_t n = strlen(text) + 1;
    memcpy(b->bytes + b->size, text, n);
    for (b->size += n; b->size % 4; b->size++)
        b->bytes[b->size] = 0;
}

static inline void osc_put_u32(struct osc_bytes *b, uint32_t value)
{
    for (int k = 0; k < 4; k++)
        b->bytes[b->size++] = (uint8_t)(value >> (24 - 8 * k));
}

static inline void osc_put_float(struct osc_bytes *b, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    osc_put_u32(b, bits);
}

static inline void osc_message(struct osc_bytes *b, const char *address, const char *types,
                               const float *values, int count)
{
    osc_put_text(b, address);
    osc_put_text(b, types);
    for (int i = 0; i < count; i++)
        osc_put_float(b, values[i]);
}

static inline void osc_int(struct osc_bytes *b, const char *address, int32_t value)
{
    osc_put_text(b, address);
    osc_put_text(b, ",i");
    osc_put_u32(b, (uint32_t)value);
}

static inline void osc_device(struct osc_bytes *b, const char *address, const char *name,
                              const float position[3], const float rotation[4])
{
    osc_put_text(b, address);
    osc_put_text(b, ",sfffffff");
    osc_put_text(b, name);
    for (int i = 0; i < 3; i++)
        osc_put_float(b, position[i]);
    for (int i = 0; i < 4; i++)
        osc_put_float(b, rotation[i]);
}

static inline void osc_bone(struct osc_bytes *b, const char *name, const float position[3],
                            const float rotation[4])
{
    osc_device(b, "/VMC/Ext/Bone/Pos", name, position, rotation);
}

static inline void osc_bundle(struct osc_bytes *b)
{
    memcpy(b->bytes, "#bundle\0\0\0\0\0\0\0\0\1", 16);
    b->size = 16;
}

static inline void osc_nest(struct osc_bytes *b, const uint8_t *bytes, size_t size)
{
    osc_put_u32(b, (uint32_t)size);
    memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
}

static inline void osc_element(struct osc_bytes *b, const char *address, const char *types,
                               const float *values, int count)
{
    static struct osc_bytes one;
    one.size = 0;
    osc_message(&one, address, types, values, count);
    osc_nest(b, one.bytes, one.size);
}

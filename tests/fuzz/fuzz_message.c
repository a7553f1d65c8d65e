// Every message decoder, through the same inbox and joins as real peers use. Whatever decodes must
// encode again, and those bytes must decode to what encodes to the same bytes.
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "proto/appearance_message.h"
#include "proto/frame_message.h"
#include "proto/hello.h"
#include "proto/inbox.h"
#include "proto/input_messages.h"
#include "proto/pose_message.h"
#include "proto/session_messages.h"
#include "proto/surface_message.h"

enum { OUT_BYTES = 1 << 17 };
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef enum err again_fn(const struct message *m, struct wire_writer *w);

#define AGAIN(name, type, decode, encode)                                                          \
    static enum err name##_again(const struct message *m, struct wire_writer *w)                   \
    {                                                                                              \
        static struct type value;                                                                  \
        enum err e = decode(m->payload, m->size_bytes, &value);                                    \
        return e ? e : encode(w, &value);                                                          \
    }
AGAIN(ping, session_ping, session_decode_ping, session_encode_ping)
AGAIN(pong, session_pong, session_decode_pong, session_encode_pong)
AGAIN(actor, session_actor, session_decode_actor, session_encode_actor)
AGAIN(gone, session_gone, session_decode_gone, session_encode_gone)
AGAIN(ack, session_ack, session_decode_ack, session_encode_ack)
AGAIN(resync, session_resync, session_decode_resync, session_encode_resync)
AGAIN(want, session_want, session_decode_want, session_encode_want)
AGAIN(applied, session_applied, session_decode_applied, session_encode_applied)
AGAIN(control, input_control, input_decode_control, input_encode_control)
AGAIN(sensor, input_sensor, input_decode_sensor, input_encode_sensor)
AGAIN(place, input_place, input_decode_place, input_encode_place)
AGAIN(pose, pose_message, pose_message_decode, pose_message_encode)
AGAIN(chunk, appearance_chunk, appearance_decode_chunk, appearance_encode_chunk)

static enum err note_again(const struct message *m, struct wire_writer *w)
{
    static struct session_note value;
    enum err e = session_decode_note(m->payload, m->size_bytes, &value);
    return e ? e : session_encode_note(w, m->type, &value);
}

static enum err values_again(const struct message *m, struct wire_writer *w)
{
    static struct input_values value;
    enum err e = input_decode_values(m->payload, m->size_bytes, m->type, &value);
    return e ? e : input_encode_values(w, m->type, &value);
}

static enum err catalogue_again(const struct message *m, struct wire_writer *w)
{
    struct session_catalogue value;
    enum err e = session_decode_catalogue(m->payload, m->size_bytes, &value);
    return e || value.json_bytes > 1000 ? ERR_MALFORMED : session_encode_catalogue(w, &value);
}

static enum err hello_again(const struct message *m, struct wire_writer *w)
{
    static struct hello value;
    struct fault fault = {0};
    enum err e = hello_decode(m->payload, m->size_bytes, &value, &fault);
    CHECK((e == ERR_OK) == (fault.code == ERR_OK));
    return e ? e : hello_encode(w, &value);
}

static enum err welcome_again(const struct message *m, struct wire_writer *w)
{
    static struct hello_welcome value;
    enum err e = hello_decode_welcome(m->payload, m->size_bytes, &value, NULL);
    return e || m->size_bytes > 8192 ? ERR_MALFORMED : hello_encode_welcome(w, &value);
}

static enum err settings_again(const struct message *m, struct wire_writer *w)
{
    struct hello_quality value = {0};
    enum err e = hello_decode_settings(m->payload, m->size_bytes, &value, NULL);
    return e ? e : hello_encode_settings(w, &value);
}

static enum err frame_again(const struct message *m, struct wire_writer *w)
{
    struct frame_message value;
    enum err e = frame_message_decode(m->payload, m->size_bytes, &value);
    if (e) return e;
    CHECK(value.payload + value.payload_bytes <= m->payload + m->size_bytes);
    return value.payload_bytes > 1000 ? ERR_LIMIT : frame_message_encode(w, &value);
}

static enum err appearance_again(const struct message *m, struct wire_writer *w)
{
    struct appearance_message value;
    static struct appearance_material materials[16];
    enum err e = appearance_message_decode(m->payload, m->size_bytes, &value);
    if (e || value.material_count > 16) return ERR_MALFORMED;
    for (uint32_t i = 0; i < value.material_count; i++)
        appearance_message_material(&value, i, &materials[i]);
    size_t at = messages_begin(w, m->type);
    e = appearance_message_encode(w, value.actor, value.version, materials, value.material_count);
    messages_end(w, at);
    return e;
}

// Decoding and unpacking only: packing again is the golden test's.
static enum err surface_again(const struct message *m, struct wire_writer *w)
{
    (void)w;
    static struct surface_message value;
    enum err e = surface_message_decode(m->payload, m->size_bytes, &value);
    for (uint32_t i = 0; !e && i < value.section_count; i++) {
        const struct surface_section *s = &value.sections[i];
        CHECK(s->packed_bytes == 0 || s->packed >= m->payload);
        if (s->kind < SURFACE_PARTS || s->kind > SURFACE_COLORS) continue;
        if (s->unpacked_bytes > 1 << 20) continue;
        void *out = malloc(s->unpacked_bytes + 4u);
        (void)!surface_message_unpack(&value, s, out);
        free(out);
    }
    return ERR_UNSUPPORTED;
}

static again_fn *const decoders[256] = {
    [MESSAGE_HELLO] = hello_again,
    [MESSAGE_WELCOME] = welcome_again,
    [MESSAGE_PING] = ping_again,
    [MESSAGE_PONG] = pong_again,
    [MESSAGE_NOTICE] = note_again,
    [MESSAGE_ERROR] = note_again,
    [MESSAGE_BYE] = note_again,
    [MESSAGE_SETTINGS] = settings_again,
    [MESSAGE_ACTOR] = actor_again,
    [MESSAGE_GONE] = gone_again,
    [MESSAGE_CATALOGUE] = catalogue_again,
    [MESSAGE_SURFACE] = surface_again,
    [MESSAGE_APPEARANCE] = appearance_again,
    [MESSAGE_TEXTURE] = chunk_again,
    [MESSAGE_WANT] = want_again,
    [MESSAGE_CONTROL] = control_again,
    [MESSAGE_SENSOR] = sensor_again,
    [MESSAGE_FACE] = values_again,
    [MESSAGE_CUSTOMISE] = values_again,
    [MESSAGE_POSE] = pose_again,
    [MESSAGE_PLACE] = place_again,
    [MESSAGE_FRAME] = frame_again,
    [MESSAGE_ACK] = ack_again,
    [MESSAGE_RESYNC] = resync_again,
    [MESSAGE_APPLIED] = applied_again,
};

static void check_message(const struct message *m, enum messages_from from)
{
    static uint32_t first[OUT_BYTES / 4], second[OUT_BYTES / 4];
    again_fn *again = decoders[m->type];
    if (!again) return;
    struct wire_writer w = wire_write(first, sizeof first);
    if (again(m, &w)) return;
    struct message back;
    size_t used = 0;
    CHECK(messages_read((uint8_t *)first, wire_size(&w), from, &back, &used, NULL) == ERR_OK);
    CHECK(used == wire_size(&w));
    struct wire_writer w2 = wire_write(second, sizeof second);
    CHECK(again(&back, &w2) == ERR_OK);
    CHECK(wire_size(&w) == wire_size(&w2) && memcmp(first, second, wire_size(&w)) == 0);
}

// data[0]: which side sent it (bit 0), how it is cut (the rest).
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint32_t memory[INBOX_BYTES / 4];
    static uint8_t joined[1 << 18];
    if (size < 1) return 0;
    enum messages_from from = data[0] & 1 ? MESSAGES_FROM_SERVER : MESSAGES_FROM_CLIENT;
    size_t step = (size_t)(data[0] >> 1) + 1;
    struct inbox in;
    struct inbox_join join = {.bytes = joined, .capacity_bytes = sizeof joined};
    inbox_init(&in, memory, sizeof memory, from);
    for (size_t at = 1; at < size;) {
        size_t want = size - at < step ? size - at : step;
        size_t taken = inbox_put(&in, data + at, want);
        CHECK(taken > 0); // an emptied inbox always has room
        at += taken;
        struct message m, whole;
        enum err e;
        while ((e = inbox_next(&in, &m)) == ERR_OK) {
            e = inbox_join(&join, &m, &whole);
            if (e == ERR_OK) check_message(&whole, from);
            CHECK(join.size_bytes <= join.capacity_bytes);
        }
        if (e != ERR_TRUNCATED) return 0;
    }
    return 0;
}

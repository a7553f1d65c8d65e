#include <zstd.h>

#include "tests/proto/samples.h"

// Every message: its sample encodes to exactly the committed bytes; those decode, re-encode to the
// same, and no shorter payload is accepted. `test_proto_golden --write` makes the files anew.

int testing_failures;

enum { BUFFER_BYTES = 65536 };

// Decodes a payload and encodes the outcome again, so that a lost field shows. `w` may be NULL.
typedef enum err again_fn(uint8_t type, const uint8_t *payload, size_t size, struct wire_writer *w);
typedef enum err sample_fn(uint8_t type, struct wire_writer *w);

#define SESSION(name, make)                                                                        \
    static enum err name##_sample(uint8_t type, struct wire_writer *w)                             \
    {                                                                                              \
        (void)type;                                                                                \
        const struct session_##name in = make;                                                     \
        return session_encode_##name(w, &in);                                                      \
    }                                                                                              \
    static enum err name##_again(uint8_t type, const uint8_t *p, size_t n, struct wire_writer *w)  \
    {                                                                                              \
        (void)type;                                                                                \
        struct session_##name out, untouched;                                                      \
        memset(&out, 0x5a, sizeof out);                                                            \
        memset(&untouched, 0x5a, sizeof untouched);                                                \
        enum err e = session_decode_##name(p, n, &out);                                            \
        if (e) EXPECT(memcmp(&out, &untouched, sizeof out) == 0);                                  \
        return e || !w ? e : session_encode_##name(w, &out);                                       \
    }
SESSION(ping, ((struct session_ping){3, 111222333}))
SESSION(pong, ((struct session_pong){3, 111222333, 444555666, 444555777}))
SESSION(actor, ((struct session_actor){3, 9, 2, 5, SESSION_ACTOR_OWN | SESSION_ACTOR_CONTROLLED,
                                       "Fox", "Ann"}))
SESSION(gone, ((struct session_gone){3, 9}))
SESSION(ack, sample_ack())
SESSION(resync, ((struct session_resync){9, 42}))
SESSION(want, sample_want())
SESSION(applied, ((struct session_applied){9, 2, {{123456790, 14}, {123456791, 15}}}))

static enum err note_sample(uint8_t type, struct wire_writer *w)
{
    const struct session_note in = sample_note();
    return session_encode_note(w, type, &in);
}
static enum err note_again(uint8_t type, const uint8_t *p, size_t n, struct wire_writer *w)
{
    struct session_note out;
    enum err e = session_decode_note(p, n, &out);
    return e || !w ? e : session_encode_note(w, type, &out);
}

static enum err catalogue_sample(uint8_t type, struct wire_writer *w)
{
    (void)type;
    static const char json[] = "{\"clips\":[\"Walk\",\"Run\"],\"clip_seconds\":[1.25,0.8],"
                               "\"shapes\":[\"eyeBlinkLeft\"]}";
    const struct session_catalogue in = {9, json, sizeof json - 1};
    return session_encode_catalogue(w, &in);
}
static enum err catalogue_again(uint8_t type, const uint8_t *p, size_t n, struct wire_writer *w)
{
    (void)type;
    struct session_catalogue out;
    enum err e = session_decode_catalogue(p, n, &out);
    return e || !w ? e : session_encode_catalogue(w, &out);
}

static enum err hello_sample(uint8_t type, struct wire_writer *w)
{
    (void)type;
    const struct hello in = sample_hello();
    return hello_encode(w, &in);
}
static enum err hello_again(uint8_t type, const uint8_t *p, size_t n, struct wire_writer *w)
{
    (void)type;
    struct hello out;
    enum err e = hello_decode(p, n, &out, NULL);
    return e || !w ? e : hello_encode(w, &out);
}
static enum err welcome_sample(uint8_t type, struct wire_writer *w)
{
    (void)type;
    const struct hello_welcome in = sample_welcome();
    return hello_encode_welcome(w, &in);
}
static enum err welcome_again(uint8_t type, const uint8_t *p, size_t n, struct wire_writer *w)
{
    (void)type;
    struct hello_welcome out;
    enum err e = hello_decode_welcome(p, n, &out, NULL);
    return e || !w ? e : hello_encode_welcome(w, &out);
}
static enum err settings_sample(uint8_t type, struct wire_writer *w)
{
    (void)type;
    const struct hello_quality in = {12, 30, 2, 4, false};
    return hello_encode_settings(w, &in);
}
static enum err settings_again(uint8_t type, const uint8_t *p, size_t n, struct wire_writer *w)
{
    (void)type;
    struct hello_quality out = {0};
    enum err e = hello_decode_settings(p, n, &out, NULL);
    return e || !w ? e : hello_encode_settings(w, &out);
}

static enum err control_sample(uint8_t type, struct wire_writer *w)
{
    (void)type;
    const struct input_control in = sample_control();
    return input_encode_control(w, &in);
}
static enum err control_again(uint8_t type, const uint8_t *p, size_t n, struct wire_writer *w)
{
    (void)type;
    struct input_control out;
    enum err e = input_decode_control(p, n, &out);
    return e || !w ? e : input_encode_control(w, &out);
}
static enum err sensor_sample(uint8_t type, struct wire_writer *w)
{
    (void)type;
    const struct input_sensor in = sample_sensor();
    return input_encode_sensor(w, &in);
}
static enum err sensor_again(uint8_t type, const uint8_t *p, size_t n, struct wire_writer *w)
{
    (void)type;
    struct input_sensor out;
    enum err e = input_decode_sensor(p, n, &out);
    return e || !w ? e : input_encode_sensor(w, &out);
}
static enum err values_sample(uint8_t type, struct wire_writer *w)
{
    const struct input_values in = sample_values();
    return input_encode_values(w, type, &in);
}
static enum err values_again(uint8_t type, const uint8_t *p, size_t n, struct wire_writer *w)
{
    struct input_values out;
    enum err e = input_decode_values(p, n, type, &out);
    return e || !w ? e : input_encode_values(w, type, &out);
}
static enum err place_sample(uint8_t type, struct wire_writer *w)
{
    (void)type;
    const struct input_place in = sample_place();
    return input_encode_place(w, &in);
}
static enum err place_again(uint8_t type, const uint8_t *p, size_t n, struct wire_writer *w)
{
    (void)type;
    struct input_place out;
    enum err e = input_decode_place(p, n, &out);
    return e || !w ? e : input_encode_place(w, &out);
}
static enum err pose_sample(uint8_t type, struct wire_writer *w)
{
    (void)type;
    static struct pose_message in;
    sample_pose(&in);
    return pose_message_encode(w, &in);
}
static enum err pose_again(uint8_t type, const uint8_t *p, size_t n, struct wire_writer *w)
{
    (void)type;
    static struct pose_message out;
    memset(&out, 0x5a, sizeof out);
    enum err e = pose_message_decode(p, n, &out);
    if (e) EXPECT(out.joint_count == 0x5a5a5a5a && out.joints[0].name[0] == 0x5a);
    return e || !w ? e : pose_message_encode(w, &out);
}
static enum err frame_sample(uint8_t type, struct wire_writer *w)
{
    (void)type;
    const struct frame_message in = sample_frame();
    return frame_message_encode(w, &in);
}
static enum err frame_again(uint8_t type, const uint8_t *p, size_t n, struct wire_writer *w)
{
    (void)type;
    struct frame_message out;
    enum err e = frame_message_decode(p, n, &out);
    return e || !w ? e : frame_message_encode(w, &out);
}
static enum err chunk_sample(uint8_t type, struct wire_writer *w)
{
    (void)type;
    const struct appearance_chunk in = sample_chunk();
    return appearance_encode_chunk(w, &in);
}
static enum err chunk_again(uint8_t type, const uint8_t *p, size_t n, struct wire_writer *w)
{
    (void)type;
    struct appearance_chunk out;
    enum err e = appearance_decode_chunk(p, n, &out);
    return e || !w ? e : appearance_encode_chunk(w, &out);
}
static enum err appearance_sample(uint8_t type, struct wire_writer *w)
{
    const struct appearance_material materials[2] = {sample_material(), sample_material()};
    size_t at = messages_begin(w, type);
    enum err e = appearance_message_encode(w, 9, 2, materials, 2);
    messages_end(w, at);
    return e;
}
static enum err appearance_again(uint8_t type, const uint8_t *p, size_t n, struct wire_writer *w)
{
    struct appearance_message out;
    struct appearance_material materials[2];
    enum err e = appearance_message_decode(p, n, &out);
    if (e || !w) return e;
    for (uint32_t i = 0; i < out.material_count; i++)
        appearance_message_material(&out, i, &materials[i]);
    size_t at = messages_begin(w, type);
    e = appearance_message_encode(w, out.actor, out.version, materials, out.material_count);
    messages_end(w, at);
    return e;
}

static enum err surface_sample(uint8_t type, struct wire_writer *w)
{
    const struct surface_message_source in = sample_surface();
    size_t at = messages_begin(w, type), size = 0;
    enum err e = surface_message_encode(&in, w->at, (size_t)(w->end - w->at), &size);
    w->at += size;
    messages_end(w, at);
    return e;
}
static enum err surface_again(uint8_t type, const uint8_t *p, size_t n, struct wire_writer *w)
{
    static uint32_t unpacked[SURFACE_SECTIONS_MAX][256];
    struct surface_message m;
    enum err e = surface_message_decode(p, n, &m);
    if (e || !w) return e;
    struct surface_message_source s = {.model = m.model,
                                       .version = m.version,
                                       .unit_m = m.unit_m,
                                       .hash = m.hash,
                                       .lod_count = m.lod_count};
    memcpy(s.box_min, m.box_min, sizeof s.box_min);
    memcpy(s.box_max, m.box_max, sizeof s.box_max);
    for (uint32_t i = 0; i < m.section_count; i++) {
        const struct surface_section *section = &m.sections[i];
        EXPECT(section->unpacked_bytes <= sizeof unpacked[i]);
        e = surface_message_unpack(&m, section, unpacked[i]);
        if (e) return e;
        struct surface_message_lod *lod = &s.lods[section->lod];
        const void *out = unpacked[i];
        if (section->kind == SURFACE_PARTS) lod->parts = out;
        if (section->kind == SURFACE_INDICES) lod->indices = out;
        if (section->kind == SURFACE_VERTICES) lod->vertices = out;
        if (section->kind == SURFACE_PREDICTORS) lod->predictors = out;
        if (section->kind == SURFACE_UVS) s.uvs[s.uv_set_count++] = out;
        if (section->kind == SURFACE_COLORS) s.colors[s.color_set_count++] = out;
    }
    for (uint32_t i = 0; i < m.lod_count; i++) {
        s.lods[i].vertex_count = m.lods[i].vertex_count;
        s.lods[i].index_count = m.lods[i].index_count;
        s.lods[i].part_count = m.lods[i].part_count;
        s.lods[i].error = m.lods[i].error;
    }
    size_t at = messages_begin(w, type), size = 0;
    e = surface_message_encode(&s, w->at, (size_t)(w->end - w->at), &size);
    w->at += size;
    messages_end(w, at);
    return e;
}

static const struct {
    uint8_t type;
    const char *name;
    sample_fn *sample;
    again_fn *again;
} cases[] = {
    {MESSAGE_HELLO, "hello", hello_sample, hello_again},
    {MESSAGE_WELCOME, "welcome", welcome_sample, welcome_again},
    {MESSAGE_PING, "ping", ping_sample, ping_again},
    {MESSAGE_PONG, "pong", pong_sample, pong_again},
    {MESSAGE_NOTICE, "notice", note_sample, note_again},
    {MESSAGE_ERROR, "error", note_sample, note_again},
    {MESSAGE_BYE, "bye", note_sample, note_again},
    {MESSAGE_SETTINGS, "settings", settings_sample, settings_again},
    {MESSAGE_ACTOR, "actor", actor_sample, actor_again},
    {MESSAGE_GONE, "gone", gone_sample, gone_again},
    {MESSAGE_CATALOGUE, "catalogue", catalogue_sample, catalogue_again},
    {MESSAGE_SURFACE, "surface", surface_sample, surface_again},
    {MESSAGE_APPEARANCE, "appearance", appearance_sample, appearance_again},
    {MESSAGE_TEXTURE, "texture", chunk_sample, chunk_again},
    {MESSAGE_WANT, "want", want_sample, want_again},
    {MESSAGE_CONTROL, "control", control_sample, control_again},
    {MESSAGE_SENSOR, "sensor", sensor_sample, sensor_again},
    {MESSAGE_FACE, "face", values_sample, values_again},
    {MESSAGE_CUSTOMISE, "customise", values_sample, values_again},
    {MESSAGE_POSE, "pose", pose_sample, pose_again},
    {MESSAGE_PLACE, "place", place_sample, place_again},
    {MESSAGE_FRAME, "frame", frame_sample, frame_again},
    {MESSAGE_ACK, "ack", ack_sample, ack_again},
    {MESSAGE_RESYNC, "resync", resync_sample, resync_again},
    {MESSAGE_APPLIED, "applied", applied_sample, applied_again},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

static size_t golden(const char *name, const char *mode, uint8_t *bytes, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "tests/proto/golden/%s.bin", name);
    FILE *f = fopen(path, mode);
    if (!f) return 0;
    size_t n = mode[0] == 'w' ? fwrite(bytes, 1, size, f) : fread(bytes, 1, size, f);
    fclose(f);
    return n;
}

static void samples_encode_to_the_golden_bytes(void)
{
    static uint8_t made[BUFFER_BYTES], kept[BUFFER_BYTES];
    for (int i = 0; i < CASE_COUNT; i++) {
        struct wire_writer w = wire_write(made, sizeof made);
        EXPECT(cases[i].sample(cases[i].type, &w) == ERR_OK);
        size_t size = golden(cases[i].name, "rb", kept, sizeof kept);
        // Another zstd may pack the same sections in other bytes; decoding is tested below.
        if (cases[i].type == MESSAGE_SURFACE && ZSTD_versionNumber() != 10504) continue;
        bool same = size == wire_size(&w) && memcmp(made, kept, size) == 0;
        if (!same) printf("  %s: %zu bytes made, %zu kept\n", cases[i].name, wire_size(&w), size);
        EXPECT(same);
    }
}

static void golden_bytes_decode_to_what_encodes_to_them(void)
{
    static uint8_t kept[BUFFER_BYTES], made[BUFFER_BYTES];
    for (int i = 0; i < CASE_COUNT; i++) {
        size_t size = golden(cases[i].name, "rb", kept, sizeof kept), used = 0;
        struct message m;
        enum messages_from from = messages_row(cases[i].type)->from & MESSAGES_FROM_SERVER
                                      ? MESSAGES_FROM_SERVER
                                      : MESSAGES_FROM_CLIENT;
        EXPECT(messages_read(kept, size, from, &m, &used, NULL) == ERR_OK);
        EXPECT(used == size && m.type == cases[i].type);
        struct wire_writer w = wire_write(made, sizeof made);
        enum err e = cases[i].again(m.type, m.payload, m.size_bytes, &w);
        if (e) printf("  %s: %s\n", cases[i].name, err_name(e));
        if (cases[i].type == MESSAGE_SURFACE && ZSTD_versionNumber() != 10504) continue;
        EXPECT(e == ERR_OK && wire_size(&w) == size && memcmp(made, kept, size) == 0);
    }
}

// The copy is exact-sized, so that the sanitizer sees a read one byte too far.
static void no_prefix_is_accepted_and_more_bytes_are_skipped(void)
{
    static uint8_t kept[BUFFER_BYTES];
    for (int i = 0; i < CASE_COUNT; i++) {
        size_t size = golden(cases[i].name, "rb", kept, sizeof kept);
        if (size < MESSAGES_HEADER_BYTES) continue;
        size_t payload = (size_t)kept[4] | (size_t)kept[5] << 8;
        for (size_t n = 0; n <= payload + 8; n++) {
            uint8_t *exact = malloc(n + !n);
            size_t from_golden = n < payload ? n : payload;
            memcpy(exact, kept + MESSAGES_HEADER_BYTES, from_golden);
            memset(exact + from_golden, 0xee, n - from_golden);
            enum err e = cases[i].again(cases[i].type, exact, n, NULL);
            // JSON alone cannot be told from more JSON: what follows it is an error there. The
            // last three bytes may be padding, which nobody misses.
            bool accepted = true;
            if (n + 3 < payload) accepted = e != ERR_OK;
            if (n == payload) accepted = e == ERR_OK;
            if (n > payload) accepted = (e == ERR_OK) == (cases[i].type != MESSAGE_SETTINGS);
            if (!accepted) printf("  %s: %zu of %zu: %s\n", cases[i].name, n, payload, err_name(e));
            EXPECT(accepted);
            free(exact);
        }
    }
}

static void every_message_has_a_golden_case(void)
{
    for (unsigned type = 0; type < 256; type++) {
        bool found = !messages_row((uint8_t)type)->name || type == MESSAGE_BASIS; // reserved
        for (int i = 0; i < CASE_COUNT; i++)
            found |= cases[i].type == type;
        EXPECT(found);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--write") == 0) {
        static uint8_t made[BUFFER_BYTES];
        for (int i = 0; i < CASE_COUNT; i++) {
            struct wire_writer w = wire_write(made, sizeof made);
            if (cases[i].sample(cases[i].type, &w)) return 1;
            if (!golden(cases[i].name, "wb", made, wire_size(&w))) return 1;
        }
        return 0;
    }
    RUN(samples_encode_to_the_golden_bytes);
    RUN(golden_bytes_decode_to_what_encodes_to_them);
    RUN(no_prefix_is_accepted_and_more_bytes_are_skipped);
    RUN(every_message_has_a_golden_case);
    TESTING_MAIN_END;
}

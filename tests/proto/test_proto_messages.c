#include <cjson/cJSON.h>
#include <limits.h>

#include "proto/inbox.h"
#include "tests/proto/samples.h"

int testing_failures;

static void envelope(uint8_t *out, uint8_t type, uint8_t flags, uint32_t size)
{
    struct wire_writer w = wire_write(out, 8);
    wire_put_u8(&w, type);
    wire_put_u8(&w, flags);
    wire_put_u16(&w, 0);
    wire_put_u32(&w, size);
}

static enum err read_one(const uint8_t *bytes, size_t size, enum messages_from from)
{
    struct message m;
    size_t used;
    return messages_read(bytes, size, from, &m, &used, NULL);
}

static void envelopes_are_refused_before_their_payload_is_awaited(void)
{
    uint8_t b[8];
    envelope(b, MESSAGE_PING, 0, 65);
    EXPECT(read_one(b, 8, MESSAGES_FROM_CLIENT) == ERR_LIMIT);
    envelope(b, MESSAGE_PING, 0, 64);
    EXPECT(read_one(b, 8, MESSAGES_FROM_CLIENT) == ERR_TRUNCATED);
    envelope(b, MESSAGE_FRAME, 0, 100);
    EXPECT(read_one(b, 8, MESSAGES_FROM_CLIENT) == ERR_MALFORMED); // wrong side
    envelope(b, MESSAGE_CONTROL, 0, 100);
    EXPECT(read_one(b, 8, MESSAGES_FROM_SERVER) == ERR_MALFORMED);
    envelope(b, MESSAGE_POSE, MESSAGES_MORE, 100);
    EXPECT(read_one(b, 8, MESSAGES_FROM_CLIENT) == ERR_MALFORMED); // clients send no pieces
    envelope(b, MESSAGE_PING, MESSAGES_MORE, 16);
    EXPECT(read_one(b, 8, MESSAGES_FROM_SERVER) == ERR_MALFORMED); // never in pieces
    envelope(b, MESSAGE_FRAME, 4, 16);
    EXPECT(read_one(b, 8, MESSAGES_FROM_SERVER) == ERR_MALFORMED); // unknown flag
    envelope(b, MESSAGE_FRAME, 0, MESSAGES_PIECE_BYTES + 1);
    EXPECT(read_one(b, 8, MESSAGES_FROM_SERVER) == ERR_LIMIT);
    envelope(b, 0x99, 0, UINT32_MAX);
    EXPECT(read_one(b, 8, MESSAGES_FROM_SERVER) == ERR_LIMIT); // unknown, and far too long
    envelope(b, MESSAGE_PING, 0, 16);
    b[2] = 1;
    EXPECT(read_one(b, 8, MESSAGES_FROM_CLIENT) == ERR_MALFORMED);
}

static void unknown_types_are_skipped_and_counted(void)
{
    static uint32_t memory[INBOX_BYTES / 4];
    struct inbox in;
    inbox_init(&in, memory, sizeof memory, MESSAGES_FROM_SERVER);
    uint8_t bytes[128];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    uint8_t head[8];
    envelope(head, 0x99, 0, 5);
    wire_put_bytes(&w, head, 8);
    wire_put_bytes(&w, "xxxxx\0\0", 8);
    const struct session_ping ping = {4, 5};
    EXPECT(session_encode_ping(&w, &ping) == ERR_OK);
    struct message m = {0};
    // A byte at a time: nothing comes before all of it is there.
    for (size_t i = 0; i < wire_size(&w); i++) {
        EXPECT(inbox_next(&in, &m) == ERR_TRUNCATED);
        EXPECT(inbox_put(&in, bytes + i, 1) == 1);
    }
    EXPECT(inbox_next(&in, &m) == ERR_OK && m.type == MESSAGE_PING && m.size_bytes == 16);
    EXPECT(in.skipped_count == 1 && inbox_at_boundary(&in));
}

static void a_payload_in_pieces_is_joined_again(void)
{
    enum { SIZE = 3 * MESSAGES_PIECE_BYTES - 1000 };
    static uint8_t payload[SIZE], joined[SIZE];
    static uint32_t memory[INBOX_BYTES / 4];
    for (size_t i = 0; i < SIZE; i++)
        payload[i] = (uint8_t)(i * 31 + i / 1000);
    struct inbox in;
    inbox_init(&in, memory, sizeof memory, MESSAGES_FROM_SERVER);
    struct inbox_join join = {.bytes = joined, .capacity_bytes = 100};
    struct messages_piece piece;
    struct message m, whole = {0};
    size_t pieces = 0;
    for (size_t k = 0; messages_piece(MESSAGE_SURFACE, SIZE, k, &piece); k++, pieces++) {
        EXPECT(inbox_put(&in, piece.header, 8) == 8);
        EXPECT(inbox_put(&in, payload + piece.first_byte, piece.size_bytes) == piece.size_bytes);
        EXPECT(inbox_put(&in, "\0\0\0", piece.padding_bytes) == piece.padding_bytes);
        EXPECT(inbox_next(&in, &m) == ERR_OK);
        if (k == 0) EXPECT(inbox_join(&join, &m, &whole) == ERR_MEMORY);
        join.capacity_bytes = sizeof joined;
        EXPECT(inbox_join(&join, &m, &whole) == (k == 2 ? ERR_OK : ERR_TRUNCATED));
    }
    EXPECT(pieces == 3 && whole.size_bytes == SIZE && memcmp(whole.payload, payload, SIZE) == 0);
    EXPECT(!messages_piece(MESSAGE_SURFACE, 4, 1, &piece));
    EXPECT(messages_piece(MESSAGE_SURFACE, 0, 0, &piece) && piece.size_bytes == 0);
    EXPECT(messages_piece(MESSAGE_SURFACE, MESSAGES_PIECE_BYTES, 0, &piece) &&
           piece.header[1] == 0);
}

static void pieces_out_of_place_are_refused(void)
{
    uint8_t bytes[16] = {0}, memory[64];
    struct inbox_join join = {.bytes = memory, .capacity_bytes = sizeof memory};
    struct message first = {MESSAGE_FRAME, MESSAGES_MORE, bytes, 8}, out;
    struct message next = {MESSAGE_FRAME, MESSAGES_CONTINUES, bytes, 8};
    struct message other = {MESSAGE_SURFACE, MESSAGES_CONTINUES, bytes, 8};
    EXPECT(inbox_join(&join, &next, &out) == ERR_MALFORMED);
    EXPECT(inbox_join(&join, &first, &out) == ERR_TRUNCATED);
    EXPECT(inbox_join(&join, &other, &out) == ERR_MALFORMED);
    EXPECT(inbox_join(&join, &first, &out) == ERR_TRUNCATED); // begins anew
    EXPECT(inbox_join(&join, &next, &out) == ERR_OK && out.size_bytes == 16);
    // Past the type's limit, however much memory there is.
    join = (struct inbox_join){.bytes = memory,
                               .capacity_bytes = SIZE_MAX,
                               .type = MESSAGE_FRAME,
                               .size_bytes = messages_row(MESSAGE_FRAME)->size_max_bytes - 7};
    EXPECT(inbox_join(&join, &next, &out) == ERR_LIMIT);
}

static void an_encoder_that_does_not_fit_leaves_nothing_behind(void)
{
    static uint8_t bytes[1024];
    const struct input_control in = sample_control();
    for (size_t n = 0; n < 164; n++) {
        struct wire_writer w = wire_write(bytes, n);
        EXPECT(input_encode_control(&w, &in) == ERR_LIMIT);
        EXPECT(wire_size(&w) == 0);
    }
}

static enum err decode_control(const struct input_control *in)
{
    // Encodes a good one and breaks it on the wire where the encoder would refuse.
    static uint8_t bytes[16384];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    return input_encode_control(&w, in);
}

static void control_values_have_limits(void)
{
    struct input_control c = sample_control();
    c.move[0] = 1.0001f;
    EXPECT(decode_control(&c) == ERR_MALFORMED);
    c = sample_control();
    c.triggers[0] = -0.1f;
    EXPECT(decode_control(&c) == ERR_MALFORMED);
    c = sample_control();
    c.go_to[1] = NAN;
    EXPECT(decode_control(&c) == ERR_MALFORMED);
    c = sample_control();
    c.events[1].number = 7; // twice
    EXPECT(decode_control(&c) == ERR_MALFORMED);
    c = sample_control();
    c.event_count = INPUT_EVENTS_MAX + 1;
    EXPECT(decode_control(&c) == ERR_LIMIT);
    c = sample_control();
    c.head.sequence = 0;
    EXPECT(decode_control(&c) == ERR_MALFORMED);
    c = sample_control();
    c.muscles[0].activation = 2;
    EXPECT(decode_control(&c) == ERR_MALFORMED);
}

static void decoders_refuse_numbers_that_are_none(void)
{
    static uint8_t bytes[4096];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    const struct input_place place = sample_place();
    EXPECT(input_encode_place(&w, &place) == ERR_OK);
    static const uint8_t nan_bits[4] = {0, 0, 0xc0, 0x7f};
    for (size_t at = 20; at < 40; at += 4) { // position, yaw, scale
        uint8_t broken[64];
        memcpy(broken, bytes + 8, 40);
        memcpy(broken + at, nan_bits, 4);
        struct input_place out = {.scale = 77};
        EXPECT(input_decode_place(broken, 40, &out) == ERR_MALFORMED);
        EXPECT(out.scale == 77);
    }
    struct frame_message f = sample_frame(), out;
    f.step = INFINITY;
    w = wire_write(bytes, sizeof bytes);
    EXPECT(frame_message_encode(&w, &f) == ERR_OK);
    EXPECT(frame_message_decode(bytes + 8, 112, &out) == ERR_MALFORMED);
}

static void frames_must_make_sense(void)
{
    static uint8_t bytes[4096];
    struct frame_message out;
#define REFUSED(field, value, expected)                                                            \
    do {                                                                                           \
        struct frame_message f = sample_frame();                                                   \
        f.field = (value);                                                                         \
        struct wire_writer w = wire_write(bytes, sizeof bytes);                                    \
        EXPECT(frame_message_encode(&w, &f) == ERR_OK);                                            \
        EXPECT(frame_message_decode(bytes + 8, wire_size(&w) - 8, &out) == (expected));            \
    } while (0)
    REFUSED(anchor, 0, ERR_MALFORMED);
    REFUSED(anchor, 42, ERR_MALFORMED);
    REFUSED(flags, FRAME_KEY, ERR_MALFORMED);
    REFUSED(flags, FRAME_STILL, ERR_MALFORMED);
    REFUSED(bits, 9, ERR_MALFORMED);
    REFUSED(bits, 17, ERR_MALFORMED);
    REFUSED(lod, SURFACE_LODS_MAX, ERR_LIMIT);
    REFUSED(vertex_count, SURFACE_VERTICES_MAX + 1, ERR_LIMIT);
    REFUSED(rotation[3], 0, ERR_MALFORMED);
    REFUSED(scale, 0, ERR_MALFORMED);
    REFUSED(step, 0, ERR_MALFORMED);
    REFUSED(codec, SURFACE_CODEC_RAW, ERR_MALFORMED); // raw frames are key frames
    REFUSED(codec, 200, ERR_OK);                      // the surface decoder's business
}

static void another_major_version_is_refused_readably(void)
{
    static uint8_t bytes[4096];
    struct hello h = sample_hello(), out = {.major = 99};
    h.major = 2;
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    EXPECT(hello_encode(&w, &h) == ERR_OK);
    struct fault fault = {0};
    EXPECT(hello_decode(bytes + 8, wire_size(&w) - 8, &out, &fault) == ERR_VERSION);
    EXPECT(out.major == 99 && strstr(fault.line, "2.0") != NULL);
    // Of a later version only the prefix can be relied on.
    EXPECT(hello_decode(bytes + 8, 8, &out, &(struct fault){0}) == ERR_VERSION);
    h.major = MESSAGES_MAJOR;
    h.minor = 9;
    w = wire_write(bytes, sizeof bytes);
    EXPECT(hello_encode(&w, &h) == ERR_OK);
    EXPECT(hello_decode(bytes + 8, wire_size(&w) - 8, &out, NULL) == ERR_OK && out.minor == 9);
}

static enum err hello_json(const char *json, struct hello *out, struct fault *fault)
{
    static uint8_t bytes[8192];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    wire_put_u32(&w, HELLO_MAGIC);
    wire_put_u16(&w, MESSAGES_MAJOR);
    wire_put_u16(&w, 0);
    wire_put_u32(&w, (uint32_t)strlen(json));
    wire_put_u32(&w, 0);
    wire_put_bytes(&w, json, strlen(json));
    wire_put_align4(&w);
    return hello_decode(bytes, wire_size(&w), out, fault);
}

static void hello_takes_what_it_knows_and_says_what_is_wrong(void)
{
    struct hello h;
    struct fault fault = {0};
    EXPECT(hello_json("{\"later\":[1,{}],\"capabilities\":[\"zstd\",\"magic\",7]}", &h, &fault) ==
           ERR_OK);
    EXPECT(h.capabilities == HELLO_CAN_ZSTD && strcmp(h.role, "player") == 0);
    EXPECT(hello_json("{\"scene\":7}", &h, &fault) == ERR_MALFORMED);
    EXPECT(strstr(fault.line, "scene") != NULL);
    EXPECT(hello_json("{\"quality\":{\"bits\":9}}", &h, NULL) == ERR_MALFORMED);
    EXPECT(hello_json("{\"quality\":{\"bits\":16.5}}", &h, NULL) == ERR_MALFORMED);
    EXPECT(hello_json("{\"quality\":{\"rate_hz\":1e99}}", &h, NULL) == ERR_MALFORMED);
    EXPECT(hello_json("{\"quality\":[]}", &h, NULL) == ERR_MALFORMED);
    EXPECT(hello_json("[]", &h, NULL) == ERR_MALFORMED);
    EXPECT(hello_json("{\"client\":\"\xee\"}", &h, NULL) == ERR_MALFORMED);
    EXPECT(hello_json("{\"role\":\"\"}", &h, NULL) == ERR_OK && strcmp(h.role, "player") == 0);
    EXPECT(hello_json("{\"a\":[[[[[[[[[[1]]]]]]]]]]}", &h, NULL) != ERR_OK);
    char long_name[256] = "{\"scene\":\"";
    memset(long_name + 10, 'x', 64);
    strcpy(long_name + 74, "\"}");
    EXPECT(hello_json(long_name, &h, NULL) == ERR_LIMIT);
}

static void settings_change_only_what_they_name(void)
{
    struct hello_quality q = {14, 60, 1, 8, true};
    static const char json[] = "{\"rate_hz\":30}";
    EXPECT(hello_decode_settings((const uint8_t *)json, sizeof json - 1, &q, NULL) == ERR_OK);
    EXPECT(q.rate_hz == 30 && q.bits == 14 && q.detail == 1 && q.characters_max == 8 && q.raw);
}

static void pose_json_is_the_contract_s_object(void)
{
    static struct pose_message pose;
    struct fault fault = {0};
    cJSON *json = cJSON_Parse("{\"clip\":\"Walk\",\"time_s\":0.5,\"joints\":{\"#3\":{\"rotation\":"
                              "[0,0,0,1],\"scale\":[1,2,3]}}}");
    EXPECT(pose_message_from_json(json, &pose, &fault) == ERR_OK);
    EXPECT(strcmp(pose.clip, "Walk") == 0 && pose.time_s == 0.5f && pose.joint_count == 1);
    EXPECT(pose.joints[0].fields == (POSE_ROTATION | POSE_SCALE) && pose.joints[0].scale[2] == 3);
    cJSON_Delete(json);
    static const char *const bad[] = {"{\"clips\":1}",
                                      "{\"joints\":{\"a\":{}}}",
                                      "{\"joints\":{\"a\":{\"rotation\":[0,0,0,0]}}}",
                                      "{\"joints\":{\"a\":{\"rotation\":[0,0,1]}}}",
                                      "{\"joints\":{\"a\":{\"turn\":[0,0,0,1]}}}",
                                      "{\"time_s\":\"x\"}",
                                      "7"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fault = (struct fault){0};
        json = cJSON_Parse(bad[i]);
        EXPECT(pose_message_from_json(json, &pose, &fault) == ERR_MALFORMED);
        EXPECT(fault.line[0] != 0);
        cJSON_Delete(json);
    }
}

static void one_exchange_gives_the_clock_offset(void)
{
    // Server is 1,000,000 ahead; 300 there, 100 held, 500 back.
    const struct session_pong pong = {1, 5000, 5000 + 300 + 1000000, 5000 + 400 + 1000000};
    struct session_clock c = session_clock_from(&pong, 5900);
    EXPECT(c.rtt_us == 800);
    EXPECT(c.offset_us == 1000000 - 100); // half the asymmetry
    const struct session_pong silly = {1, 0, UINT64_MAX, 0};
    c = session_clock_from(&silly, 10);
    EXPECT(c.rtt_us <= 11);
}

static void codes_and_close_codes_agree(void)
{
    EXPECT(strcmp(stream_codes_name(STREAM_RESTART), "RESTART") == 0);
    EXPECT(stream_codes_close(STREAM_RESTART) == 1012 && stream_codes_may_retry(STREAM_RESTART));
    EXPECT(stream_codes_from_close(1012) == STREAM_RESTART);
    EXPECT(stream_codes_close(STREAM_DRAINING) == 0);
    EXPECT(strcmp(stream_codes_name(9999), "UNKNOWN") == 0 && stream_codes_from_close(0) == 0);
}

static void devices_have_names(void)
{
    uint8_t id = 0;
    EXPECT(input_device_find("foot_r", &id) && strcmp(input_device_name(id), "foot_r") == 0);
    EXPECT(!input_device_find("tail", &id) && input_device_name(INPUT_DEVICE_COUNT) == NULL);
}

static void devices_of_later_versions_are_skipped(void)
{
    static uint8_t bytes[8192];
    struct input_sensor s = sample_sensor(), out;
    s.devices[0].id = 200;
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    EXPECT(input_encode_sensor(&w, &s) == ERR_OK);
    EXPECT(input_decode_sensor(bytes + 8, wire_size(&w) - 8, &out) == ERR_OK);
    EXPECT(out.device_count == 1 && out.devices[0].id == INPUT_DEVICE_hand_l &&
           out.hand_count == 2);
}

int main(void)
{
    RUN(envelopes_are_refused_before_their_payload_is_awaited);
    RUN(unknown_types_are_skipped_and_counted);
    RUN(a_payload_in_pieces_is_joined_again);
    RUN(pieces_out_of_place_are_refused);
    RUN(an_encoder_that_does_not_fit_leaves_nothing_behind);
    RUN(control_values_have_limits);
    RUN(decoders_refuse_numbers_that_are_none);
    RUN(frames_must_make_sense);
    RUN(another_major_version_is_refused_readably);
    RUN(hello_takes_what_it_knows_and_says_what_is_wrong);
    RUN(settings_change_only_what_they_name);
    RUN(pose_json_is_the_contract_s_object);
    RUN(one_exchange_gives_the_clock_offset);
    RUN(codes_and_close_codes_agree);
    RUN(devices_have_names);
    RUN(devices_of_later_versions_are_skipped);
    TESTING_MAIN_END;
}

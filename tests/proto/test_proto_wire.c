#include "proto/wire.h"
#include "tests/testing.h"

int testing_failures;

static void reads_what_was_written(void)
{
    uint8_t bytes[64];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    wire_put_u8(&w, 0xab);
    wire_put_u16(&w, 0x1234);
    wire_put_u32(&w, 0xdeadbeef);
    wire_put_u64(&w, UINT64_C(0x0123456789abcdef));
    wire_put_f32(&w, -1.5f);
    wire_put_text(&w, "knöchel");
    wire_put_align4(&w);
    EXPECT(!w.failed && wire_size(&w) == 28);
    EXPECT(bytes[1] == 0x34 && bytes[2] == 0x12); // little-endian

    struct wire_reader r = wire_read(bytes, wire_size(&w));
    char text[16];
    EXPECT(wire_u8(&r) == 0xab);
    EXPECT(wire_u16(&r) == 0x1234);
    EXPECT(wire_u32(&r) == 0xdeadbeef);
    EXPECT(wire_u64(&r) == UINT64_C(0x0123456789abcdef));
    EXPECT(wire_f32(&r) == -1.5f);
    wire_text(&r, text, sizeof text);
    EXPECT(strcmp(text, "knöchel") == 0);
    EXPECT(wire_left(&r) == 0 || wire_left(&r) < 4);
    wire_align4(&r);
    EXPECT(!r.failed && wire_left(&r) == 0);
}

static void a_short_read_fails_for_good_and_moves_nothing(void)
{
    uint8_t bytes[3] = {1, 2, 3};
    struct wire_reader r = wire_read(bytes, sizeof bytes);
    EXPECT(wire_u32(&r) == 0 && r.failed);
    EXPECT(r.at == bytes);
    EXPECT(wire_u8(&r) == 0 && r.at == bytes);
    EXPECT(wire_error(&r) == ERR_TRUNCATED);
    struct wire_reader wide = wire_read(bytes, 3);
    EXPECT(wire_u64(&wide) == 0 && wide.at == bytes && wide.failed);
    struct wire_reader nothing = wire_read(NULL, 0);
    EXPECT(wire_bytes(&nothing, 0) != NULL && !nothing.failed);
}

static void a_full_writer_fails_for_good(void)
{
    uint8_t bytes[4] = {0};
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    wire_put_u16(&w, 7);
    wire_put_u32(&w, 1);
    EXPECT(w.failed && wire_size(&w) == 2);
    wire_put_u8(&w, 9);
    EXPECT(bytes[2] == 0);
}

static void bad_text_is_malformed_and_short_text_truncated(void)
{
    static const struct {
        uint8_t bytes[6];
        size_t size;
        enum err expected;
    } cases[] = {{{3, 'a', 'b', 'c'}, 4, ERR_OK},
                 {{3, 'a', 'b'}, 3, ERR_TRUNCATED},
                 {{2, 'a', 0}, 3, ERR_MALFORMED},
                 {{2, 0xc3, 0x28}, 3, ERR_MALFORMED},
                 {{5, 'a', 'b', 'c', 'd', 'e'}, 6, ERR_MALFORMED}}; // capacity 5
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct wire_reader r = wire_read(cases[i].bytes, cases[i].size);
        char text[5];
        wire_text(&r, text, sizeof text);
        EXPECT(wire_error(&r) == cases[i].expected);
        EXPECT(strlen(text) == (cases[i].expected ? 0u : 3u));
    }
}

static void utf8_is_strict(void)
{
    static const char *const good[] = {"", "a", "\xc2\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",         "\xc0\x80",     "\xc1\xbf",
                                      "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "\xff",         "\xe2\x82",     "\xf0\x80\x80\x80"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        EXPECT(wire_is_utf8((const uint8_t *)good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        EXPECT(!wire_is_utf8((const uint8_t *)bad[i], strlen(bad[i])));
}

int main(void)
{
    RUN(reads_what_was_written);
    RUN(a_short_read_fails_for_good_and_moves_nothing);
    RUN(a_full_writer_fails_for_good);
    RUN(bad_text_is_malformed_and_short_text_truncated);
    RUN(utf8_is_strict);
    TESTING_MAIN_END;
}

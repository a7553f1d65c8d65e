#include <cjson/cJSON.h>

#include "common/json_guard.h"
#include "tests/testing.h"
int testing_failures;

static enum err parse(const char *text, size_t size)
{
    struct json_limits limits = {.bytes_max = 1 << 20, .depth_max = 32, .values_max = 1000};
    struct cJSON *out = NULL;
    struct fault fault = {0};
    char *exact = malloc(size + !size); // exact-sized, so that ASan sees a read past the end
    memcpy(exact, text, size);
    enum err e = json_parse(exact, size, &limits, &out, &fault);
    EXPECT((e == ERR_OK) == (out != NULL));
    EXPECT((e == ERR_OK) == (fault.line[0] == 0));
    cJSON_Delete(out);
    free(exact);
    return e;
}

static void accepts_every_kind_of_value(void)
{
    const char *text = "{\"a\": [1, -2.5e3, true, false, null, \"x\\\"]\"], \"b\": {}} \n";
    EXPECT(parse(text, strlen(text)) == ERR_OK);
}

static void rejects_every_truncation(void)
{
    const char *text = "{\"a\":[1,2,{\"b\":\"\\u00e9\\\\\"}]}";
    for (size_t n = 0; n < strlen(text); n++)
        EXPECT(parse(text, n) == ERR_MALFORMED);
    EXPECT(parse(text, strlen(text)) == ERR_OK);
}

static void depth_is_capped_exactly(void)
{
    char text[80];
    for (int depth = 31; depth <= 33; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        EXPECT(parse(text, (size_t)depth * 2) == (depth <= 32 ? ERR_OK : ERR_LIMIT));
    }
}

static void value_count_is_capped_before_parsing(void)
{
    static char text[8192];
    size_t n = 0;
    text[n++] = '[';
    for (int i = 0; i < 998; i++) {
        text[n++] = '1';
        text[n++] = ',';
    }
    text[n++] = '1';
    text[n++] = ']';
    EXPECT(parse(text, n) == ERR_OK);
    text[n - 1] = ',';
    text[n++] = '1';
    text[n++] = ']';
    EXPECT(parse(text, n) == ERR_LIMIT);
}

static void brackets_inside_strings_do_not_count(void)
{
    char text[200] = "\"";
    memset(text + 1, '[', 100);
    text[101] = '"';
    EXPECT(parse(text, 102) == ERR_OK);
}

static void rejects_marks_zero_bytes_and_trailing_text(void)
{
    EXPECT(parse("\xEF\xBB\xBF{}", 5) == ERR_MALFORMED);
    EXPECT(parse("{}\0", 3) == ERR_MALFORMED);
    EXPECT(parse("{} {}", 5) == ERR_MALFORMED);
}

int main(void)
{
    RUN(accepts_every_kind_of_value);
    RUN(rejects_every_truncation);
    RUN(depth_is_capped_exactly);
    RUN(value_count_is_capped_before_parsing);
    RUN(brackets_inside_strings_do_not_count);
    RUN(rejects_marks_zero_bytes_and_trailing_text);
    TESTING_MAIN_END;
}

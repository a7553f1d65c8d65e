#include "common/json_guard.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "common/check.h"

struct json_limits json_limits_for(size_t bytes_max)
{
    return (struct json_limits){.bytes_max = bytes_max, .depth_max = 32, .values_max = 0};
}

// Index of the closing quote, or size when the string never ends.
static size_t skip_string(const char *text, size_t at, size_t size_bytes)
{
    for (at++; at < size_bytes && text[at] != '"'; at++)
        if (text[at] == '\\') at++;
    return at;
}

static bool starts_scalar(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == 't' || c == 'f' || c == 'n';
}

static bool ends_scalar(char c)
{
    return c == ',' || c == ']' || c == '}' || c == ':' || c == ' ' || c == '\n' || c == '\r' ||
           c == '\t' || c == '[' || c == '{' || c == '"';
}

static enum err measure(const char *text, size_t size_bytes, const struct json_limits *limits,
                        struct fault *fault)
{
    size_t depth = 0, values = 0;
    size_t values_max = limits->values_max ? limits->values_max : 400000 + size_bytes / 10;
    for (size_t i = 0; i < size_bytes; i++) {
        char c = text[i];
        if (c == 0)
            return fault_set(fault, ERR_MALFORMED, "JSON contains a zero byte at byte %zu", i);
        if (c == '"') {
            i = skip_string(text, i, size_bytes);
            values++; // keys count too: they cost memory as well
        } else if (c == '[' || c == '{') {
            if (++depth > limits->depth_max)
                return fault_set(fault, ERR_LIMIT, "JSON nests deeper than %zu at byte %zu",
                                 limits->depth_max, i);
            values++;
        } else if (c == ']' || c == '}') {
            depth -= depth > 0;
        } else if (starts_scalar(c)) {
            while (i + 1 < size_bytes && !ends_scalar(text[i + 1]))
                i++;
            values++;
        }
        if (values > values_max)
            return fault_set(fault, ERR_LIMIT, "JSON holds more than %zu values at byte %zu",
                             values_max, i);
    }
    return ERR_OK;
}

enum err json_parse(const char *text, size_t size_bytes, const struct json_limits *limits,
                    struct cJSON **out, struct fault *fault)
{
    CHECK(limits->depth_max <= CJSON_NESTING_LIMIT);
    if (size_bytes > limits->bytes_max)
        return fault_set(fault, ERR_LIMIT, "JSON has %zu bytes, more than the %zu allowed",
                         size_bytes, limits->bytes_max);
    if (size_bytes >= 3 && (unsigned char)text[0] == 0xEF)
        return fault_set(fault, ERR_MALFORMED,
                         "JSON starts with a byte order mark at byte 0; save it without one");
    enum err e = measure(text, size_bytes, limits, fault);
    if (e != ERR_OK) return e;
    const char *end = NULL;
    cJSON *root = cJSON_ParseWithLengthOpts(text, size_bytes, &end, false);
    if (!root)
        return fault_set(fault, ERR_MALFORMED, "JSON does not parse at byte %zu",
                         end ? (size_t)(end - text) : 0);
    while (end < text + size_bytes && (*end == ' ' || *end == '\n' || *end == '\r' || *end == '\t'))
        end++;
    if (end != text + size_bytes) {
        cJSON_Delete(root);
        return fault_set(fault, ERR_MALFORMED, "JSON is followed by something else at byte %zu",
                         (size_t)(end - text));
    }
    *out = root;
    return ERR_OK;
}

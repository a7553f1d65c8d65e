#pragma once
#include <stddef.h>

#include "common/err.h"

struct cJSON;

// cJSON allocates as it parses and nests to 1,000; hostile text must be measured before. One
// pass without allocation checks size, nesting and the number of values.
struct json_limits {
    size_t bytes_max;
    size_t depth_max;  // nested arrays and objects
    size_t values_max; // every scalar, array and object counts one
};

// Depth 32; a value budget that grows with the text (400,000 + a tenth of the bytes), so that
// what cJSON allocates stays below 32 MiB + 12 times the input.
struct json_limits json_limits_for(size_t bytes_max);

// Measures, then parses all of `text` (UTF-8; a byte order mark is refused, bytes after the value
// too). On success *out is the caller's, to free with cJSON_Delete. The fault names a byte offset.
MUST_CHECK enum err json_parse(const char *text, size_t size_bytes,
                               const struct json_limits *limits, struct cJSON **out,
                               struct fault *fault);

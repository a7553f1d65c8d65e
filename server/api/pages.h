#pragma once
#include <stddef.h>

// The pages that are part of the program (server/api/ops/), made into arrays by embed.cmake.
struct page {
    const char *name; // "ops.html"; NULL ends the list
    const unsigned char *bytes;
    size_t size_bytes;
};
extern const struct page pages[];

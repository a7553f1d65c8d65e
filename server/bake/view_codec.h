#pragma once
#include "server/bake/source.h"

// EXT_meshopt_compression and its KHR twin: what a compressed buffer view says, and its bytes.
enum view_mode { VIEW_ATTRIBUTES, VIEW_TRIANGLES, VIEW_INDICES };
enum view_filter {
    VIEW_FILTER_NONE,
    VIEW_FILTER_OCTAHEDRAL,
    VIEW_FILTER_QUATERNION,
    VIEW_FILTER_EXPONENTIAL
};

// Reads the extension's object at `at`.
void view_codec_read(struct source *src, const struct doc_at *at, struct source_meshopt *out);
// Decodes `count * stride` bytes out of the compressed ones.
bool view_codec_decode(struct doc *d, const struct doc_at *at, const struct source_meshopt *m,
                       const uint8_t *compressed, uint8_t *out);

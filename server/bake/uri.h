#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/bake/source.h"

// URIs of buffers and images: base64 data inside the document, or files in its own folder.
struct uri_data {
    const uint8_t *bytes;
    size_t size_bytes;
    const char *mime_type; // kept text, "" when a data URI names none or it is a file
};

bool uri_is_data(const char *uri);
// Decodes into the scene's pool (`kept`) or the import's scratch.
bool uri_decode_data(struct doc *d, const struct doc_at *at, const char *uri, bool kept,
                     struct uri_data *out);
// Loads a file beside the document, once however often it is named. Percent-escapes are resolved
// before the check that it stays inside the folder, links after. ERR_NOT_FOUND in *missing
// instead of a failure when the file is not there and `missing` is not NULL.
bool uri_load_file(struct source *src, const struct doc_at *at, const char *uri, bool *missing,
                   struct uri_data *out);

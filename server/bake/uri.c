#include "server/bake/uri.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/check.h"
#include "common/file.h"

enum { URI_BYTES_MAX = 1024 };

bool uri_is_data(const char *uri)
{
    return strncasecmp(uri, "data:", 5) == 0;
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+' || c == '-') return 62; // '-' and '_': the URL-safe alphabet
    if (c == '/' || c == '_') return 63;
    return -1;
}

// Returns the bytes written; `length` without the padding. SIZE_MAX on a foreign character.
static size_t base64_decode(const char *text, size_t length, uint8_t *out)
{
    uint32_t bits = 0, bit_count = 0;
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0) return SIZE_MAX;
        bits = (bits << 6 | (uint32_t)digit) & 0xFFFF;
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            out[n++] = (uint8_t)(bits >> bit_count);
        }
    }
    return n;
}

bool uri_decode_data(struct doc *d, const struct doc_at *at, const char *uri, bool kept,
                     struct uri_data *out)
{
    const char *head = uri + 5, *comma = strchr(head, ',');
    if (!comma) return doc_fail(d, at, ERR_MALFORMED, "the data URI has no comma");
    static const char mark[] = ";base64";
    size_t mark_length = sizeof mark - 1, head_length = (size_t)(comma - head);
    if (head_length < mark_length || strncasecmp(comma - mark_length, mark, mark_length) != 0)
        return doc_fail(d, at, ERR_UNSUPPORTED, "the data URI is not base64");
    const char *text = comma + 1;
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == '=')
        length--;
    size_t room = length / 4 * 3 + 3;
    uint8_t *bytes = kept ? DOC_KEEP(d, at, uint8_t, room) : DOC_SCRATCH(d, at, uint8_t, room);
    if (!bytes) return false;
    size_t size = base64_decode(text, length, bytes);
    if (size == SIZE_MAX)
        return doc_fail(d, at, ERR_MALFORMED, "the data URI has characters that are not base64");
    char mime[128];
    size_t mime_length = strcspn(head, ";,");
    (void)snprintf(mime, sizeof mime, "%.*s", (int)(mime_length < 127 ? mime_length : 127), head);
    *out = (struct uri_data){bytes, size, kept ? doc_keep_text(d, at, mime) : ""};
    return d->error == ERR_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// False when it is too long or an escape is broken or hides a zero byte.
static bool percent_decode(const char *uri, char *out, size_t out_bytes)
{
    size_t n = 0;
    for (; *uri; uri++) {
        char c = *uri;
        if (c == '%') {
            int high = hex_digit(uri[1]), low = high < 0 ? -1 : hex_digit(uri[2]);
            if (low < 0 || high * 16 + low == 0) return false;
            c = (char)(high * 16 + low);
            uri += 2;
        }
        if (n + 1 >= out_bytes) return false;
        out[n++] = c;
    }
    out[n] = 0;
    return true;
}

// A link inside the folder may point out of it.
static bool stays_inside(const char *document, const char *real_path)
{
    char folder[PATH_MAX], real_folder[PATH_MAX];
    const char *slash = strrchr(document, '/');
    int length = snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - document) + 1 : 1,
                          slash ? document : ".");
    if (length < 0 || (size_t)length >= sizeof folder || !realpath(folder, real_folder))
        return false;
    size_t n = strlen(real_folder);
    if (strcmp(real_folder, "/") == 0) return true;
    return strncmp(real_path, real_folder, n) == 0 && real_path[n] == '/';
}

static bool load_new(struct source *src, const struct doc_at *at, const char *real_path,
                     struct source_file **out)
{
    struct doc *d = &src->doc;
    size_t left = src->limits->file_bytes_max > src->external_bytes
                      ? src->limits->file_bytes_max - src->external_bytes
                      : 0;
    struct source_file *file = DOC_SCRATCH(d, at, struct source_file, 1);
    size_t length = strlen(real_path);
    char *copy = DOC_SCRATCH(d, at, char, length + 1);
    if (!file || !copy) return false;
    memcpy(copy, real_path, length + 1);
    struct fault fault = {0};
    enum err e = file_read(real_path, left, &file->bytes, &file->size_bytes, &fault);
    if (e != ERR_OK) return doc_fail(d, at, e, "%.180s", fault.line);
    file->real_path = copy;
    file->next = src->files;
    src->files = file;
    src->external_bytes += file->size_bytes;
    // It is input too: 16 times its size is allowed, of which it holds one.
    d->cap_bytes += 15 * file->size_bytes;
    d->work_left_bytes += 64 * file->size_bytes;
    *out = file;
    return true;
}

bool uri_load_file(struct source *src, const struct doc_at *at, const char *uri, bool *missing,
                   struct uri_data *out)
{
    struct doc *d = &src->doc;
    if (d->error != ERR_OK) return false;
    char name[URI_BYTES_MAX], path[PATH_MAX], real_path[PATH_MAX];
    if (!percent_decode(uri, name, sizeof name))
        return doc_fail(d, at, ERR_MALFORMED, "the URI is too long or has a broken %% escape");
    if (!src->path)
        return doc_fail(d, at, ERR_DENIED, "names the file %.60s, but none beside it can be read",
                        name);
    if (file_beside(src->path, name, path, sizeof path) != ERR_OK)
        return doc_fail(d, at, ERR_DENIED,
                        "%.80s is not a file inside the source's own folder; copy it there", name);
    if (!realpath(path, real_path)) {
        if (missing) {
            *missing = true;
            return false;
        }
        return doc_fail(d, at, ERR_NOT_FOUND,
                        "the file %.100s is missing; put it beside the source", name);
    }
    if (!stays_inside(src->path, real_path))
        return doc_fail(d, at, ERR_DENIED, "%.80s is a link that leaves the source's folder", name);
    struct source_file *file = src->files;
    while (file && strcmp(file->real_path, real_path) != 0)
        file = file->next;
    if (!file && !load_new(src, at, real_path, &file)) return false;
    CHECK(file != NULL);
    *out = (struct uri_data){file->bytes, file->size_bytes, ""};
    return true;
}

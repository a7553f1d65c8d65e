#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "server/net/chunk.h"

// The files of the viewer. The folder is read whole at start into a table; a request only looks a
// name up in it, so no request reaches the file system. Symbolic links and names that start with
// '.' are left out. Beside FILE, FILE.br and FILE.gz are its compressed forms. Loop thread only
// after loading.
struct http_static;

enum { STATIC_FILES_MAX = 4096, STATIC_BYTES_MAX = 64 * 1024 * 1024 };

MUST_CHECK enum err static_load(const char *folder, struct http_static **out, struct fault *fault);
void static_free(struct http_static *s); // NULL is fine

enum static_coding { STATIC_IDENTITY, STATIC_GZIP, STATIC_BROTLI, STATIC_CODING_COUNT };
struct static_file {
    const char *path; // "/index.html"
    const char *content_type;
    bool immutable; // a name with a hash in it ("app-5F2A91C0.js"): cached for a year
    struct chunk *body[STATIC_CODING_COUNT]; // NULL: no such form
    char etag[STATIC_CODING_COUNT][40];      // strong, quoted; SHA-256 of the form's bytes
};
// "/" and "/name/" mean their index.html, "/name" name.html. NULL: no such file.
const struct static_file *static_find(const struct http_static *s, const char *path);
// The best form that Accept-Encoding (may be NULL) allows.
enum static_coding static_choose(const struct static_file *file, const char *accept_encoding);
size_t static_count(const struct http_static *s);

#include "server/http/static.h"

#include <dirent.h>
#include <errno.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "common/check.h"
#include "common/file.h"

enum { PATH_BYTES = 1024, DEPTH_MAX = 8 };

struct http_static {
    struct static_file *files; // sorted by path
    size_t count;
    size_t bytes;
};

static const struct {
    const char *suffix, *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".map", "application/json"},
    {".webmanifest", "application/manifest+json"},
    {".wasm", "application/wasm"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".webp", "image/webp"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
    {".glb", "model/gltf-binary"},
    {".txt", "text/plain; charset=utf-8"},
};

static const char *type_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(dot, types[i].suffix) == 0) return types[i].type;
    return "application/octet-stream";
}

// "app-5F2A91C0.js": a dash and at least eight characters of a hash before the suffix, one of
// them a digit, as bundlers name what never changes.
static bool has_hash(const char *path)
{
    const char *dot = strrchr(path, '.'), *dash = strrchr(path, '-');
    if (!dot || !dash || dot < dash || dot - dash < 9 || strchr(dash, '/')) return false;
    bool digit = false;
    for (const char *c = dash + 1; c < dot; c++) {
        bool upper = *c >= 'A' && *c <= 'Z', lower = *c >= 'a' && *c <= 'f';
        bool number = *c >= '0' && *c <= '9';
        if (!upper && !lower && !number) return false;
        digit = digit || number;
    }
    return digit;
}

// "/app.js.gz" is a form of "/app.js"; cuts the suffix off.
static enum static_coding cut_coding(char *path)
{
    size_t n = strlen(path);
    if (n > 4 && strcmp(path + n - 3, ".gz") == 0) {
        path[n - 3] = 0;
        return STATIC_GZIP;
    }
    if (n > 4 && strcmp(path + n - 3, ".br") == 0) {
        path[n - 3] = 0;
        return STATIC_BROTLI;
    }
    return STATIC_IDENTITY;
}

static void on_bytes_free(struct chunk *chunk)
{
    free(chunk->owner);
    free(chunk);
}

static struct static_file *find_row(struct http_static *s, const char *path)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->files[i].path, path) == 0) return &s->files[i];
    return NULL;
}

static struct static_file *row_for(struct http_static *s, const char *path)
{
    struct static_file *f = find_row(s, path);
    if (f || s->count == STATIC_FILES_MAX) return f;
    char *copy = strdup(path);
    if (!copy) return NULL;
    f = &s->files[s->count++];
    *f = (struct static_file){
        .path = copy, .content_type = type_of(path), .immutable = has_hash(path)};
    return f;
}

static enum err add_file(struct http_static *s, const char *disk_path, const char *web_path,
                         struct fault *fault)
{
    char name[PATH_BYTES];
    uint8_t *bytes, hash[32];
    size_t size_bytes;
    enum err e = file_read(disk_path, STATIC_BYTES_MAX - s->bytes, &bytes, &size_bytes, fault);
    if (e != ERR_OK) return e;
    (void)snprintf(name, sizeof name, "%s", web_path);
    enum static_coding coding = cut_coding(name);
    struct static_file *f = row_for(s, name);
    struct chunk *chunk = f ? calloc(1, sizeof *chunk) : NULL;
    if (!chunk || mbedtls_sha256_ret(bytes, size_bytes, hash, 0) != 0) {
        free(chunk);
        free(bytes);
        return fault_set(fault, ERR_LIMIT, "more than %d files below the viewer's folder",
                         STATIC_FILES_MAX);
    }
    *chunk = (struct chunk){.bytes = bytes,
                            .size_bytes = size_bytes,
                            .refs = 1,
                            .on_free = on_bytes_free,
                            .owner = bytes};
    f->body[coding] = chunk;
    char *etag = f->etag[coding];
    etag[0] = '"';
    for (size_t i = 0; i < 16; i++)
        (void)snprintf(etag + 1 + 2 * i, 3, "%02x", hash[i]);
    memcpy(etag + 33, "\"", 2);
    s->bytes += size_bytes;
    return ERR_OK;
}

static enum err add_folder(struct http_static *s, const char *disk, const char *web, int depth,
                           struct fault *fault)
{
    DIR *folder = depth < DEPTH_MAX ? opendir(disk) : NULL;
    if (!folder) return fault_set(fault, ERR_IO, "cannot read the folder %s", disk);
    enum err e = ERR_OK;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own
    for (struct dirent *entry; e == ERR_OK && (entry = readdir(folder)) != NULL;) {
        char disk_path[PATH_BYTES], web_path[PATH_BYTES];
        struct stat st;
        if (entry->d_name[0] == '.' || strchr(entry->d_name, '\\')) continue;
        if (snprintf(disk_path, PATH_BYTES, "%s/%s", disk, entry->d_name) >= PATH_BYTES) continue;
        if (snprintf(web_path, PATH_BYTES, "%s/%s", web, entry->d_name) >= PATH_BYTES) continue;
        // A link may point anywhere, so none is followed.
        if (lstat(disk_path, &st) != 0) continue;
        if (S_ISDIR(st.st_mode))
            e = add_folder(s, disk_path, web_path, depth + 1, fault);
        else if (S_ISREG(st.st_mode))
            e = add_file(s, disk_path, web_path, fault);
    }
    (void)closedir(folder);
    return e;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct static_file *)a)->path, ((const struct static_file *)b)->path);
}

enum err static_load(const char *folder, struct http_static **out, struct fault *fault)
{
    struct http_static *s = calloc(1, sizeof *s);
    if (s) s->files = calloc(STATIC_FILES_MAX, sizeof *s->files);
    if (!s || !s->files) {
        free(s);
        return fault_set(fault, ERR_MEMORY, "no memory for the viewer's files");
    }
    enum err e = add_folder(s, folder, "", 0, fault);
    if (e != ERR_OK) {
        static_free(s);
        return e;
    }
    qsort(s->files, s->count, sizeof *s->files, by_path);
    *out = s;
    return ERR_OK;
}

void static_free(struct http_static *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->count; i++) {
        union {
            const char *in;
            char *out;
        } path = {.in = s->files[i].path};
        free(path.out);
        for (int k = 0; k < STATIC_CODING_COUNT; k++)
            chunk_release(s->files[i].body[k]);
    }
    free(s->files);
    free(s);
}

static const struct static_file *lookup(const struct http_static *s, const char *path)
{
    struct static_file key = {.path = path};
    return bsearch(&key, s->files, s->count, sizeof *s->files, by_path);
}

const struct static_file *static_find(const struct http_static *s, const char *path)
{
    char longer[PATH_BYTES];
    size_t n = strlen(path);
    if (n == 0 || n + sizeof "index.html" >= sizeof longer) return NULL;
    const struct static_file *f = lookup(s, path);
    if (f) return f;
    (void)snprintf(longer, sizeof longer, path[n - 1] == '/' ? "%sindex.html" : "%s.html", path);
    return lookup(s, longer);
}

// The quality that an Accept-Encoding header gives a coding: absent -1, "q=0" 0, else above.
static double quality(const char *header, const char *coding)
{
    size_t n = strlen(coding);
    for (const char *at = header; *at;) {
        at += strspn(at, " \t,");
        size_t length = strcspn(at, ",");
        if (length >= n && strncasecmp(at, coding, n) == 0 &&
            (length == n || strchr(" \t;,", at[n]))) {
            const char *q = strstr(at, "q=");
            return q && q < at + length ? strtod(q + 2, NULL) : 1;
        }
        at += length;
    }
    return -1;
}

enum static_coding static_choose(const struct static_file *file, const char *accept_encoding)
{
    if (accept_encoding) {
        if (file->body[STATIC_BROTLI] && quality(accept_encoding, "br") > 0) return STATIC_BROTLI;
        if (file->body[STATIC_GZIP] && quality(accept_encoding, "gzip") > 0) return STATIC_GZIP;
    }
    if (file->body[STATIC_IDENTITY]) return STATIC_IDENTITY;
    return file->body[STATIC_GZIP] ? STATIC_GZIP : STATIC_BROTLI;
}

size_t static_count(const struct http_static *s)
{
    return s->count;
}

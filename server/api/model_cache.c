#include "server/api/model_cache.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/file.h"
#include "common/hex.h"
#include "common/json_guard.h"
#include "common/log.h"
#include "server/bake/bake.h"
#include "server/model/container.h"

enum {
    SOURCE_BYTES_MAX = 1 << 30,
    KEY_BYTES = 16, // of the SHA-256
    NAMED_FILES_MAX = 4096,
    NAMED_DEPTH_MAX = 3, // rig file → glTF → buffers
    UNUSED_DAYS = 30
};

struct hashing {
    mbedtls_sha256_context sha;
    size_t file_count;
    struct fault *fault;
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static enum err hash_file(struct hashing *h, const char *path, int depth);

static void decode_percent(const char *in, char *out, size_t out_bytes)
{
    size_t at = 0;
    while (*in && at + 1 < out_bytes) {
        int high = in[0] == '%' ? hex_digit(in[1]) : -1;
        int low = high >= 0 ? hex_digit(in[2]) : -1;
        out[at++] = low >= 0 ? (char)(high * 16 + low) : *in;
        in += low >= 0 ? 3 : 1;
    }
    out[at] = '\0';
}

// Every text that names a file beside the document counts as an input: more than is needed at
// times, never less.
static enum err hash_named(struct hashing *h, const char *beside, const char *text, int depth)
{
    char name[1024], path[2048];
    struct stat st;
    if (strlen(text) >= sizeof name || strncmp(text, "data:", 5) == 0) return ERR_OK;
    decode_percent(text, name, sizeof name);
    if (file_beside(beside, name, path, sizeof path) != ERR_OK) return ERR_OK;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return ERR_OK;
    if (++h->file_count > NAMED_FILES_MAX)
        return fault_set(h->fault, ERR_LIMIT, "%s names more than %d files", beside,
                         NAMED_FILES_MAX);
    return hash_file(h, path, depth + 1);
}

// Depth is bounded by json_parse.
static enum err hash_texts(struct hashing *h, const char *beside, const cJSON *item, int depth)
{
    const cJSON *child;
    if (cJSON_IsString(item)) return hash_named(h, beside, item->valuestring, depth);
    cJSON_ArrayForEach(child, item)
    {
        enum err e = hash_texts(h, beside, child, depth);
        if (e != ERR_OK) return e;
    }
    return ERR_OK;
}

static enum err hash_file(struct hashing *h, const char *path, int depth)
{
    uint8_t *bytes;
    size_t size;
    enum err e = file_read(path, SOURCE_BYTES_MAX, &bytes, &size, h->fault);
    if (e != ERR_OK) return e;
    (void)mbedtls_sha256_update_ret(&h->sha, bytes, size);
    cJSON *json = NULL;
    bool is_json = ends_with(path, ".gltf") || ends_with(path, ".json");
    if (is_json && depth < NAMED_DEPTH_MAX) {
        struct json_limits limits = json_limits_for(SOURCE_BYTES_MAX);
        // What is wrong with it is for the bake to say.
        if (json_parse((char *)bytes, size, &limits, &json, NULL) != ERR_OK) json = NULL;
    }
    free(bytes);
    if (json) e = hash_texts(h, path, json, depth);
    cJSON_Delete(json);
    return e;
}

// A program built anew may bake differently under the same version number.
static void hash_program(struct hashing *h)
{
    char text[128];
    struct stat st = {0};
    (void)stat("/proc/self/exe", &st); // where it is missing the version alone must do
    int n = snprintf(text, sizeof text, "%s %d %lld %lld", SINEW_VERSION, CONTAINER_VERSION,
                     (long long)st.st_size, (long long)st.st_mtime);
    (void)mbedtls_sha256_update_ret(&h->sha, (const uint8_t *)text, (size_t)n);
}

static enum err cache_path(const char *folder, const char *path, char *out, size_t out_bytes,
                           struct fault *fault)
{
    struct hashing h = {.fault = fault};
    uint8_t digest[32];
    char hex[KEY_BYTES * 2 + 1];
    mbedtls_sha256_init(&h.sha);
    (void)mbedtls_sha256_starts_ret(&h.sha, 0);
    hash_program(&h);
    enum err e = hash_file(&h, path, 0);
    (void)mbedtls_sha256_finish_ret(&h.sha, digest);
    mbedtls_sha256_free(&h.sha);
    if (e != ERR_OK) return e;
    for (int i = 0; i < KEY_BYTES; i++)
        (void)snprintf(hex + 2 * (size_t)i, 3, "%02x", digest[i]);
    int n = snprintf(out, out_bytes, "%s/cache", folder);
    if (n > 0 && (size_t)n < out_bytes && mkdir(out, 0750) != 0 && errno != EEXIST) {
        char why[ERR_SYSTEM_BYTES];
        log_event(LOG_LEVEL_WARN, "cache.folder", LOG_T("path", out),
                  LOG_T("error", err_system(errno, why)));
    }
    n = snprintf(out, out_bytes, "%s/cache/%s.sinew", folder, hex);
    if (n < 0 || (size_t)n >= out_bytes)
        return fault_set(fault, ERR_LIMIT, "the data folder's path is too long");
    return ERR_OK;
}

// What no server has opened for long goes: sources and programs change, and each change is a new
// file. Another server may prune beside this one, and mappings outlive their names.
static void prune(const char *folder)
{
    char path[2048];
    (void)snprintf(path, sizeof path, "%s/cache", folder);
    DIR *d = opendir(path);
    if (!d) return;
    int at = dirfd(d);
    time_t oldest = time(NULL) - (time_t)UNUSED_DAYS * 24 * 3600;
    for (const struct dirent *entry; (entry = readdir(d)) != NULL;) {
        struct stat st;
        if (!ends_with(entry->d_name, ".sinew")) continue;
        if (fstatat(at, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (st.st_mtime < oldest && unlinkat(at, entry->d_name, 0) == 0)
            log_event(LOG_LEVEL_INFO, "cache.pruned", LOG_T("file", entry->d_name));
    }
    (void)closedir(d);
}

static enum err bake_into(const char *cached, const char *path, struct model_file **out,
                          struct fault *fault)
{
    struct bake_result baked = {0};
    struct fault write_fault = {0};
    enum err e = bake_run(path, NULL, &baked, fault);
    if (e != ERR_OK) return e;
    if (file_write_atomic(cached, baked.bytes, baked.size_bytes, &write_fault) == ERR_OK)
        e = model_file_open(cached, out, fault);
    else {
        log_event(LOG_LEVEL_WARN, "cache.write", LOG_T("error", write_fault.line));
        e = model_file_from_bytes(baked.bytes, baked.size_bytes, out, fault);
    }
    bake_free(&baked);
    return e;
}

static void say_if_still(struct model_cache_result *r)
{
    const struct model *m = model_file_model(r->file);
    if (m->clips_count > 0) return;
    const char *why = m->shapes_count > 0  ? "it has shapes but no clips"
                      : m->slots_count > 1 ? "it has joints but no clips"
                                           : "it has no joints, no clips and no shapes";
    (void)snprintf(r->still_reason, sizeof r->still_reason, "%s: it stands still until it gets %s",
                   why, m->shapes_count > 0 ? "a face or a pose" : "a pose");
}

enum err model_cache_inputs(const char *path, char inputs[65], struct fault *fault)
{
    struct hashing h = {.fault = fault};
    uint8_t digest[32];
    mbedtls_sha256_init(&h.sha);
    (void)mbedtls_sha256_starts_ret(&h.sha, 0);
    enum err e = hash_file(&h, path, 0);
    (void)mbedtls_sha256_finish_ret(&h.sha, digest);
    mbedtls_sha256_free(&h.sha);
    for (size_t i = 0; i < sizeof digest; i++)
        (void)snprintf(inputs + 2 * i, 3, "%02x", digest[i]);
    return e;
}

enum err model_cache_open(const char *folder, const char *path, struct model_cache_result *out,
                          struct fault *fault)
{
    struct model_cache_result r = {0};
    enum err e = ERR_OK;
    if (ends_with(path, ".sinew")) {
        e = model_file_open(path, &r.file, fault);
    } else {
        char cached[2048];
        e = cache_path(folder, path, cached, sizeof cached, fault);
        if (e != ERR_OK) return e;
        struct stat st;
        bool there = stat(cached, &st) == 0;
        // A damaged cache file is baked anew.
        r.from_cache = there && model_file_open(cached, &r.file, NULL) == ERR_OK;
        if (r.from_cache)
            (void)utimensat(AT_FDCWD, cached, NULL, 0); // used now
        else
            e = bake_into(cached, path, &r.file, fault);
        if (e == ERR_OK && !r.from_cache) prune(folder);
    }
    if (e != ERR_OK) return e;
    e = model_cache_inputs(path, r.inputs, fault);
    if (e != ERR_OK) {
        model_file_unref(r.file);
        return e;
    }
    say_if_still(&r);
    *out = r;
    return ERR_OK;
}

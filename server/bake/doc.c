#include "server/bake/doc.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/utf8.h"

enum { PATH_BYTES = 200, DEPTH_MAX = 40, KEY_BYTES = 48, PAIRWISE_MAX = 12 };

// ---- paths and failures

static size_t put(char *out, size_t at, size_t out_bytes, const char *text)
{
    size_t length = strnlen(text, KEY_BYTES);
    for (size_t i = 0; i < length && at + 1 < out_bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        out[at++] = text[i];
        if (c < 0x20 || c >= 0x7f) out[at - 1] = '?';
    }
    out[at] = 0;
    return at;
}

static void print_path(const struct doc_at *at, char *out, size_t out_bytes)
{
    const struct doc_at *chain[DEPTH_MAX];
    int depth = 0;
    for (; at && at->up && depth < DEPTH_MAX; at = at->up)
        chain[depth++] = at;
    size_t length = put(out, 0, out_bytes, depth ? "" : "/");
    while (depth-- > 0) {
        char number[16];
        (void)snprintf(number, sizeof number, "%d", (int)chain[depth]->index);
        length = put(out, length, out_bytes, "/");
        length = put(out, length, out_bytes, chain[depth]->key ? chain[depth]->key : number);
    }
}

bool doc_fail(struct doc *d, const struct doc_at *at, enum err code, const char *format, ...)
{
    if (d->error != ERR_OK) return false;
    char path[PATH_BYTES], text[200];
    print_path(at, path, sizeof path);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    utf8_mend(text);
    d->error = fault_set(&d->fault, code, "%s: %s", path, text);
    return false;
}

// ---- the same key twice

static int by_key(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *repeated_of_few(const cJSON *object)
{
    for (const cJSON *a = object->child; a; a = a->next)
        for (const cJSON *b = a->next; b; b = b->next)
            if (strcmp(a->string, b->string) == 0) return a->string;
    return NULL;
}

static const char *repeated_of_many(struct doc *d, const struct doc_at *at, uint32_t count)
{
    const char **keys = DOC_SCRATCH(d, at, const char *, count);
    if (!keys) return NULL;
    uint32_t n = 0;
    for (const cJSON *c = at->value->child; c; c = c->next)
        keys[n++] = c->string;
    CHECK(n == count);
    qsort(keys, count, sizeof *keys, by_key);
    for (uint32_t i = 1; i < count; i++)
        if (strcmp(keys[i - 1], keys[i]) == 0) return keys[i];
    return NULL;
}

// Recursion is bounded by the depth that json_parse allows.
static void check_keys_below(struct doc *d, const struct doc_at *at)
{
    if (cJSON_IsObject(at->value)) {
        uint32_t count = (uint32_t)cJSON_GetArraySize(at->value);
        const char *key =
            count <= PAIRWISE_MAX ? repeated_of_few(at->value) : repeated_of_many(d, at, count);
        if (key) {
            struct doc_at twice = {.up = at, .key = key, .value = at->value};
            (void)doc_fail(d, &twice, ERR_MALFORMED, "the same key twice");
        }
    }
    struct doc_at child = {.up = at};
    for (const cJSON *c = at->value->child; c && d->error == ERR_OK; c = c->next) {
        child.key = c->string;
        child.value = c;
        if (c->child) check_keys_below(d, &child);
        child.index++;
    }
}

void doc_check_keys(struct doc *d)
{
    struct doc_at root = doc_root(d);
    if (root.value) check_keys_below(d, &root);
}

// ---- moving about

struct doc_at doc_root(const struct doc *d)
{
    return (struct doc_at){.value = d->root};
}

struct doc_at doc_member(const struct doc_at *up, const char *key)
{
    const cJSON *value =
        cJSON_IsObject(up->value) ? cJSON_GetObjectItemCaseSensitive(up->value, key) : NULL;
    if (cJSON_IsNull(value)) value = NULL;
    return (struct doc_at){.up = up, .key = key, .value = value};
}

struct doc_at doc_item(const struct doc_list *list, uint32_t i)
{
    CHECK(i < list->count);
    return (struct doc_at){.up = &list->at, .index = (int32_t)i, .value = list->items[i]};
}

struct doc_list doc_list(struct doc *d, const struct doc_at *up, const char *key)
{
    struct doc_list list = {.at = doc_member(up, key)};
    if (!list.at.value || d->error != ERR_OK) return list;
    if (!cJSON_IsArray(list.at.value)) {
        (void)doc_fail(d, &list.at, ERR_MALFORMED, "must be an array");
        return list;
    }
    uint32_t count = (uint32_t)cJSON_GetArraySize(list.at.value);
    list.items = DOC_SCRATCH(d, &list.at, const cJSON *, count);
    if (!list.items) return list;
    for (const cJSON *c = list.at.value->child; c; c = c->next)
        list.items[list.count++] = c;
    CHECK(list.count == count);
    return list;
}

bool doc_is_object(struct doc *d, const struct doc_at *at)
{
    if (!at->value || d->error != ERR_OK) return false;
    if (cJSON_IsObject(at->value)) return true;
    return doc_fail(d, at, ERR_MALFORMED, "must be an object");
}

// ---- values

double doc_value_number(struct doc *d, const struct doc_at *at)
{
    if (d->error != ERR_OK) return 0;
    if (!cJSON_IsNumber(at->value)) {
        (void)doc_fail(d, at, ERR_MALFORMED, "must be a number");
        return 0;
    }
    // 1e999 parses to infinity.
    if (isfinite(at->value->valuedouble)) return at->value->valuedouble;
    (void)doc_fail(d, at, ERR_MALFORMED, "the number is out of range");
    return 0;
}

static float value_float(struct doc *d, const struct doc_at *at)
{
    double number = doc_value_number(d, at);
    if (fabs(number) <= 3.4028234e38) return (float)number;
    (void)doc_fail(d, at, ERR_MALFORMED, "%g does not fit a 32-bit float", number);
    return 0;
}

static uint64_t value_uint(struct doc *d, const struct doc_at *at, uint64_t max)
{
    double number = doc_value_number(d, at);
    if (number >= 0 && number <= (double)max && floor(number) == number) return (uint64_t)number;
    (void)doc_fail(d, at, ERR_MALFORMED, "%.17g is not a whole number from 0 to %llu", number,
                   (unsigned long long)max);
    return 0;
}

int32_t doc_value_index(struct doc *d, const struct doc_at *at, uint32_t count)
{
    uint64_t index = value_uint(d, at, INT32_MAX - 1);
    if (d->error != ERR_OK) return SCENE_NONE;
    if (index < count) return (int32_t)index;
    (void)doc_fail(d, at, ERR_MALFORMED, "index %llu, but there are only %u",
                   (unsigned long long)index, count);
    return SCENE_NONE;
}

const char *doc_value_text(struct doc *d, const struct doc_at *at)
{
    if (d->error != ERR_OK) return "";
    if (cJSON_IsString(at->value)) return at->value->valuestring;
    (void)doc_fail(d, at, ERR_MALFORMED, "must be text");
    return "";
}

double doc_number(struct doc *d, const struct doc_at *up, const char *key, double absent)
{
    struct doc_at at = doc_member(up, key);
    return at.value ? doc_value_number(d, &at) : absent;
}

float doc_float(struct doc *d, const struct doc_at *up, const char *key, float absent)
{
    struct doc_at at = doc_member(up, key);
    return at.value ? value_float(d, &at) : absent;
}

bool doc_floats(struct doc *d, const struct doc_at *up, const char *key, float *out, uint32_t count)
{
    struct doc_list list = doc_list(d, up, key);
    if (!list.at.value || d->error != ERR_OK) return false;
    if (list.count != count)
        return doc_fail(d, &list.at, ERR_MALFORMED, "has %u numbers where %u belong", list.count,
                        count);
    float values[16];
    CHECK(count <= 16);
    for (uint32_t i = 0; i < count; i++) {
        struct doc_at item = doc_item(&list, i);
        values[i] = value_float(d, &item);
    }
    if (d->error != ERR_OK) return false;
    memcpy(out, values, count * sizeof *out);
    return true;
}

uint64_t doc_uint(struct doc *d, const struct doc_at *up, const char *key, uint64_t max,
                  uint64_t absent)
{
    struct doc_at at = doc_member(up, key);
    return at.value ? value_uint(d, &at, max) : absent;
}

int32_t doc_index(struct doc *d, const struct doc_at *up, const char *key, uint32_t count)
{
    struct doc_at at = doc_member(up, key);
    return at.value ? doc_value_index(d, &at, count) : SCENE_NONE;
}

int32_t doc_index_needed(struct doc *d, const struct doc_at *up, const char *key, uint32_t count)
{
    struct doc_at at = doc_member(up, key);
    if (at.value) return doc_value_index(d, &at, count);
    (void)doc_fail(d, &at, ERR_MALFORMED, "is missing");
    return SCENE_NONE;
}

bool doc_bool(struct doc *d, const struct doc_at *up, const char *key, bool absent)
{
    struct doc_at at = doc_member(up, key);
    if (!at.value) return absent;
    if (cJSON_IsBool(at.value)) return cJSON_IsTrue(at.value);
    (void)doc_fail(d, &at, ERR_MALFORMED, "must be true or false");
    return absent;
}

const char *doc_text(struct doc *d, const struct doc_at *up, const char *key)
{
    struct doc_at at = doc_member(up, key);
    return at.value ? doc_value_text(d, &at) : "";
}

const char *doc_keep_text(struct doc *d, const struct doc_at *at, const char *text)
{
    if (!*text) return "";
    size_t length = strlen(text);
    char *copy = DOC_KEEP(d, at, char, length + 1);
    if (!copy) return "";
    memcpy(copy, text, length + 1);
    utf8_mend(copy);
    return copy;
}

const char *doc_text_kept(struct doc *d, const struct doc_at *up, const char *key)
{
    struct doc_at at = doc_member(up, key);
    return at.value ? doc_keep_text(d, &at, doc_value_text(d, &at)) : "";
}

// ---- memory

static void *take(struct doc *d, const struct doc_at *at, struct pool *from, size_t count,
                  size_t size_bytes)
{
    if (d->error != ERR_OK) return NULL;
    const struct pool *other = from == &d->scratch ? &d->scene->pool : &d->scratch;
    from->cap_bytes = d->cap_bytes > other->used_bytes ? d->cap_bytes - other->used_bytes : 0;
    void *block = pool_take(from, count, size_bytes);
    if (!block)
        (void)doc_fail(
            d, at, ERR_LIMIT,
            "needs %zu x %zu bytes, past the %zu MiB that a source of this size may take", count,
            size_bytes, d->cap_bytes >> 20);
    return block;
}

void *doc_keep(struct doc *d, const struct doc_at *at, size_t count, size_t size_bytes)
{
    return take(d, at, &d->scene->pool, count, size_bytes);
}

void *doc_scratch(struct doc *d, const struct doc_at *at, size_t count, size_t size_bytes)
{
    return take(d, at, &d->scratch, count, size_bytes);
}

void doc_declare(struct doc *d, size_t bytes)
{
    if (bytes > d->declared_left_bytes) bytes = d->declared_left_bytes;
    d->declared_left_bytes -= bytes;
    d->cap_bytes += bytes;
    d->work_left_bytes += bytes;
}

bool doc_work(struct doc *d, const struct doc_at *at, size_t bytes)
{
    if (bytes > d->work_left_bytes)
        return doc_fail(d, at, ERR_LIMIT,
                        "the accessors decode to far more than the file holds; too many share "
                        "the same bytes");
    d->work_left_bytes -= bytes;
    return true;
}

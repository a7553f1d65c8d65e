#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/pool.h"
#include "server/bake/scene.h"

struct cJSON;

// Reading untrusted JSON with the path at hand, and the memory budget of one import.
//
// Errors are sticky: the first failure is kept with its path, every reader after it returns a
// harmless default. Callers read a whole object and look at `error` once, before they loop or
// use what they read as a size or an index.
//
// Paths cost nothing until something fails: a doc_at knows where it hangs, and the chain is
// written out only for the fault's line. A doc_at must not outlive the one it hangs on.
struct doc_at {
    const struct doc_at *up;
    const char *key;           // member of an object, or NULL: then
    int32_t index;             // item of an array
    const struct cJSON *value; // NULL when the file does not have it (JSON null counts as absent)
};

struct doc_list { // cJSON arrays are linked lists: indexed once, never walked by number
    struct doc_at at;
    uint32_t count;
    const struct cJSON **items;
};

struct doc {
    struct cJSON *root;
    enum err error;
    struct fault fault;
    struct scene *scene;        // its pool keeps what the import hands over
    struct pool scratch;        // freed when the import ends
    size_t cap_bytes;           // of both pools together
    size_t declared_left_bytes; // how far sparse and compressed data may still raise the cap
    size_t work_left_bytes;     // decoding budget: many accessors may alias one buffer
};

// Refuses what cJSON lets pass: the same key twice in one object. Linear but for a sort.
void doc_check_keys(struct doc *d);
struct doc_at doc_root(const struct doc *d);

// Records the failure as "<path>: <message>" and returns false.
bool doc_fail(struct doc *d, const struct doc_at *at, enum err code, const char *format, ...)
    PRINTF_LIKE(4, 5);

struct doc_at doc_member(const struct doc_at *up, const char *key);
struct doc_at doc_item(const struct doc_list *list, uint32_t i);
// An array of anything; absent = empty. Wrong type fails.
struct doc_list doc_list(struct doc *d, const struct doc_at *up, const char *key);
// True when it is there and an object; wrong type fails.
bool doc_is_object(struct doc *d, const struct doc_at *at);

double doc_number(struct doc *d, const struct doc_at *up, const char *key, double absent);
float doc_float(struct doc *d, const struct doc_at *up, const char *key, float absent);
// Exactly `count` numbers; false and untouched when absent.
bool doc_floats(struct doc *d, const struct doc_at *up, const char *key, float *out,
                uint32_t count);
uint64_t doc_uint(struct doc *d, const struct doc_at *up, const char *key, uint64_t max,
                  uint64_t absent);
// An index below `count`, or SCENE_NONE when absent.
int32_t doc_index(struct doc *d, const struct doc_at *up, const char *key, uint32_t count);
// The same where the file must have it.
int32_t doc_index_needed(struct doc *d, const struct doc_at *up, const char *key, uint32_t count);
bool doc_bool(struct doc *d, const struct doc_at *up, const char *key, bool absent);
// Borrowed from the document; "" when absent.
const char *doc_text(struct doc *d, const struct doc_at *up, const char *key);
// Copied into the scene's pool, with bytes that are not UTF-8 replaced.
const char *doc_text_kept(struct doc *d, const struct doc_at *up, const char *key);
const char *doc_keep_text(struct doc *d, const struct doc_at *at, const char *text);

// One item that must be a number, an index or text.
double doc_value_number(struct doc *d, const struct doc_at *at);
int32_t doc_value_index(struct doc *d, const struct doc_at *at, uint32_t count);
const char *doc_value_text(struct doc *d, const struct doc_at *at);

// Memory: NULL and a failure at `at` when the budget is spent. Zeroed.
void *doc_keep(struct doc *d, const struct doc_at *at, size_t count, size_t size_bytes);
void *doc_scratch(struct doc *d, const struct doc_at *at, size_t count, size_t size_bytes);
#define DOC_KEEP(d, at, type, count) ((type *)doc_keep((d), (at), (size_t)(count), sizeof(type)))
#define DOC_SCRATCH(d, at, type, count)                                                            \
    ((type *)doc_scratch((d), (at), (size_t)(count), sizeof(type)))
// Sparse and compressed data may be larger than its input says: raises the budget by what it
// declares, as far as the limits go.
void doc_declare(struct doc *d, size_t bytes);
// Takes from the decoding budget; a failure at `at` when it is spent.
bool doc_work(struct doc *d, const struct doc_at *at, size_t bytes);

#pragma once
#include <stdbool.h>

// What the files of the rig file's schema share. Private to server/bake/rig_schema*.c.

// A schema is a tree of static tables. `either` is tried when the first form does not fit in
// kind, so that a value may be a number or "auto".
enum kind { ANY, NUMBER, POSITIVE, COUNT, BOOL, TEXT, OBJECT, MAP, LIST, NUMBERS, FORMS };

struct schema {
    enum kind kind;
    const struct schema_key *keys; // OBJECT; FORMS: an object for each word of its `type`
    const struct schema *item;     // MAP, LIST
    int length;                    // NUMBERS: exact, or 0 = any
    const char *const *words;      // TEXT: allowed words, or NULL
    const struct schema *either;
    double least, most; // NUMBER: the range, where most > least
};
struct schema_key {
    const char *name;
    const struct schema *value;
    bool required;
};

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define KEYS(...)  ((const struct schema_key[]){__VA_ARGS__, {NULL, NULL, false}})

extern const struct schema rig_schema_colliders; // VRM's: a node and a shape each
extern const struct schema rig_schema_extras;

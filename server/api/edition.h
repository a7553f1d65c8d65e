#pragma once
#include <stdbool.h>

#include "common/simd.h"
#include "server/model/model_file.h"
#include "server/stage/role.h"

// One state of a model in memory: its image, what streams show of it, and the tag of every item
// that can be edited. Immutable; references may be taken and dropped on any thread.
enum { EDITION_TAG_BYTES = 33 }; // 32 hex digits
struct edition {
    struct model_file *file;
    const struct model *model;
    struct role *role;
    char base_tag[EDITION_TAG_BYTES];
    char (*tags)[EDITION_TAG_BYTES]; // [example]
    char root_tags[MODEL_ROOTS_MAX][EDITION_TAG_BYTES];
    char (*correction_tags)[EDITION_TAG_BYTES]; // [row of face_corrections] that leads
    uint32_t *moved;                            // [example] vertices with a delta
    bool *name_is_alone;                        // [node] it can be named by its name
    char topology[EDITION_TAG_BYTES];           // what an edit keeps: vertices, parts, triangles
};

struct edition_options {
    const char *name;         // of the character
    uint32_t number, version; // from cast_reserve
    enum simd_level level;
    struct role *like; // what streams show now, or NULL: what is the same keeps its version
};
// Slow: background. Takes a reference of `file`.
MUST_CHECK enum err edition_build(struct model_file *file, const struct edition_options *options,
                                  struct edition **out, struct fault *fault);
struct edition *edition_ref(struct edition *e);
void edition_unref(struct edition *e); // NULL is fine

// The example by driver and name; EDIT_ABSENT: none.
int32_t edition_find(const struct model *m, const char *driver, const char *example);
// An item's place (edit.h) by kind ("example", "base", "root",
// "correction"), driver ("" but for examples) and
// name; EDIT_ABSENT: it is not in this state.
int32_t edition_place(const struct model *m, const char *kind, const char *driver,
                      const char *item);
const char *edition_tag(const struct edition *e, int32_t place); // of EDIT_ABSENT too

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/net/background.h"
#include "server/stage/role.h"
#include "server/stage/stage.h"

// The characters that this server loads: baked or taken from the cache and prepared on the
// background pool, then served by the stage between two ticks. Loop thread.
enum models_state { MODELS_LOADING, MODELS_READY, MODELS_FAILED, MODELS_RETIRED };

struct models_row {
    char name[SESSION_NAME_MAX];
    enum models_state state;
    char line[384]; // FAILED: what is wrong and what to do; READY: why it stands still, or ""
    bool from_cache;
    double load_s;
    struct role *role; // READY: a reference; of the newest version
};

struct library;
struct models;
struct models_options {
    struct background *background;
    struct stage *stage;
    struct library *library; // NULL: nothing is kept or edited
    const char *data_folder; // for the cache; borrowed
    size_t file_bytes_max;   // 0: no limit but the reader's own
    // A row is READY or FAILED now. May be NULL.
    void (*on_row)(const struct models_row *row, void *owner);
    void *owner;
};
struct models *models_create(const struct models_options *options); // NULL: memory
// After the background pool, before the stage. NULL is fine.
void models_destroy(struct models *m);

// A version that came over HTTP is served, or a character is retired (NULL): its row follows.
void models_follow(struct models *m, const char *name, struct role *role);
// Begins to load what the library has and no file was given for. Call it after models_add.
MUST_CHECK enum err models_add_kept(struct models *m, struct fault *fault);

// Begins to load `path` as the character `name`. Where the library has it already, made
// from the same file, its newest version is served; else the file becomes a version there.
// ERR_NOT_FOUND and ERR_IO at once when it cannot be read; ERR_LIMIT: too many; ERR_AMBIGUOUS: the
// name is taken.
MUST_CHECK enum err models_add(struct models *m, const char *name, const char *path,
                               struct fault *fault);
size_t models_count(const struct models *m);
const struct models_row *models_at(const struct models *m, size_t i);
size_t models_in(const struct models *m, enum models_state state);
const struct models_row *models_find(const struct models *m, const char *name); // NULL: none

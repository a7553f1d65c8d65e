#pragma once
#include <stdbool.h>

#include "server/bake/builder.h"

// What the files of compile_controls share: the control map while it is put together.
struct controls {
    struct builder *b;
    struct model_move moves[MODEL_MOVE_COUNT]; // [kind]
    bool taken[MODEL_MOVE_COUNT];
    struct model_contact contacts[MODEL_MOVE_COUNT][MODEL_LEGS_MAX];
    float speeds[MODEL_MOVE_COUNT]; // metres a second as given; 0: to be measured
    struct model_action *actions;   // MODEL_ACTIONS_MAX of each
    struct model_action_way *ways;
    uint32_t action_count;
    uint32_t *masks;
    uint32_t mask_count, mask_capacity;
    struct model_binding *bindings; // MODEL_BINDINGS_MAX
    uint32_t binding_count;
};

// The rig file's `controls` (of the schema's form, or NULL) into the table.
MUST_CHECK enum err controls_read(struct controls *t, const struct cJSON *json);
// Bindings name actions: after all of those stand. NULL: the usual ones.
MUST_CHECK enum err controls_bind(struct controls *t, const struct cJSON *json);
// False: there is room for no more.
bool controls_add_action(struct controls *t, const char *name, uint32_t clip, uint32_t source,
                         float fade_s);
int32_t controls_find_action(const struct controls *t, const char *name); // or MODEL_NONE

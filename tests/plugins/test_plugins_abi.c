// The layout of the plugins' interface, version 1, as libraries that have been built against it
// expect it. What is here never changes; fields are added behind it.
#include <stddef.h>

#include "server/character/surface/extras/plugin.h"
#include "tests/testing.h"
int testing_failures;

#define AT(type, field, offset)                                                                    \
    {                                                                                              \
#type "." #field, offsetof(struct type, field), offset                                     \
    }
static const struct {
    const char *name;
    size_t is, was;
} fields[] = {
    AT(sinew_plugin_joint, name, 0),
    AT(sinew_plugin_joint, parent, 8),
    AT(sinew_plugin_joint, source, 12),
    AT(sinew_plugin_joint, model_from_joint, 16),
    AT(sinew_plugin_model, struct_bytes, 0),
    AT(sinew_plugin_model, vertex_count, 4),
    AT(sinew_plugin_model, triangle_count, 8),
    AT(sinew_plugin_model, joint_count, 12),
    AT(sinew_plugin_model, metres_per_unit, 16),
    AT(sinew_plugin_model, joints, 24),
    AT(sinew_plugin_model, positions, 32),
    AT(sinew_plugin_model, normals, 40),
    AT(sinew_plugin_model, shares, 48),
    AT(sinew_plugin_model, sources, 56),
    AT(sinew_plugin_model, twins, 64),
    AT(sinew_plugin_model, triangles, 72),
    AT(sinew_plugin_needs, struct_bytes, 0),
    AT(sinew_plugin_needs, memory_bytes, 8),
    AT(sinew_plugin_needs, scratch_bytes, 16),
    AT(sinew_plugin_needs, state_bytes, 24),
    AT(sinew_plugin_frame, struct_bytes, 0),
    AT(sinew_plugin_frame, reset, 4),
    AT(sinew_plugin_frame, dt_s, 8),
    AT(sinew_plugin_frame, place, 16),
    AT(sinew_plugin_frame, yaw, 40),
    AT(sinew_plugin_frame, model_from_joint, 48),
    AT(sinew_plugin_frame, positions, 56),
    AT(sinew_plugin_frame, normals, 64),
    AT(sinew_plugin_frame, scratch, 72),
    AT(sinew_plugin, abi, 0),
    AT(sinew_plugin, struct_bytes, 4),
    AT(sinew_plugin, name, 8),
    AT(sinew_plugin, version, 16),
    AT(sinew_plugin, describe, 24),
    AT(sinew_plugin, create, 32),
    AT(sinew_plugin, step, 40),
    AT(sinew_plugin, save, 48),
    AT(sinew_plugin, load, 56),
    AT(sinew_plugin, destroy, 64),
};

static void version_1_is_laid_out_as_it_was(void)
{
    if (sizeof(void *) != 8) {
        printf("  skipped: the table is of machines with 64-bit pointers\n");
        return;
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].is != fields[i].was)
            printf("  %s stands at %zu, was at %zu\n", fields[i].name, fields[i].is, fields[i].was);
        EXPECT(fields[i].is == fields[i].was);
    }
    EXPECT(SINEW_PLUGIN_ABI == 1u);
    EXPECT(SINEW_PLUGIN_FAILED == -1 && SINEW_PLUGIN_STILL == 0 && SINEW_PLUGIN_MOVING == 1);
}

// Arrays of these are handed over: their size is part of it too.
static void what_stands_in_arrays_has_its_size(void)
{
    EXPECT(sizeof(struct sinew_plugin_joint) == 64);
    EXPECT(sizeof(struct sinew_plugin) >= 72);
    EXPECT(sizeof(struct sinew_plugin_frame) >= 80);
    EXPECT(sizeof(struct sinew_plugin_model) >= 80);
    EXPECT(sizeof(struct sinew_plugin_needs) >= 32);
}

int main(void)
{
    RUN(version_1_is_laid_out_as_it_was);
    RUN(what_stands_in_arrays_has_its_size);
    TESTING_MAIN_END;
}

#pragma once
#include <stddef.h>

#include "tests/support/stand.h"

// Makes example skinned models as a modeller would: poses a source, pushes its surface, writes the
// .f32 files and the rig file into a folder of its own.
struct sculpt_joint {
    const char *name, *read; // read: "rotation", "transform" ...
    const char *more;        // further keys, e.g. "\"axis\": [1, 0, 0]", or NULL
};
struct sculpt_example {
    const char *name;
    const char *driver_joint[3];    // joints that are turned, NULL-ended
    float axis[3][3], angle_rad[3]; // by what
    unsigned seed;                  // of the displacement field; 0: unedited
    float amount;                   // its size, file units
    float radius;                   // around the first joint, fading out; 0: everywhere
};
struct sculpt_driver {
    const char *name, *settings; // settings: further keys such as "\"kernel\": \"linear\"", or ""
    const struct sculpt_joint *joints;
    size_t joint_count;
    const struct sculpt_example *examples;
    size_t example_count;
    const char *mirror_of; // then nothing else
};

struct sculpt {
    char folder[64];
    struct stand source; // the model without correctives
    struct stand stand;  // baked with the drivers
    float **surfaces;    // [example over all drivers] Y, vertex_count * 3
    size_t surface_count;
};
// False with the fault's line printed (into `line`, 384 bytes, when not NULL) when the bake is
// refused.
_Bool sculpt_bake(struct sculpt *s, const char *source, const char *skinning,
                  const struct sculpt_driver *drivers, size_t driver_count, char *line);
// With further keys of the rig file: "\"extras\": [...], ", or "".
_Bool sculpt_bake_with(struct sculpt *s, const char *source, const char *skinning,
                       const struct sculpt_driver *drivers, size_t driver_count, const char *more,
                       char *line);
void sculpt_pose(const struct stand *s, const struct sculpt_example *e);
double sculpt_diagonal(const struct stand *s); // of the positions evaluated last
void sculpt_close(struct sculpt *s);

#ifndef SINEW_PLUGIN_H
#define SINEW_PLUGIN_H
/* Third parties' deformations of skinned surfaces: a shared library that exports
 *
 *     const struct sinew_plugin *sinew_plugin_entry(void);
 *
 * and stands in the server's folder of plugins. A character's rig file asks for it:
 *
 *     "extras": [ { "type": "plugin", "name": "trail", "library": "libtrail.so",
 *                   "settings": { "seconds": 0.08 }, "joint": "Spine", "radius_m": 0.3,
 *                   "isolate": true, "budget_ms": 2 } ]
 *
 * Life of one instance (one for each character that is shown, each on its own):
 *
 *     describe -> create -> step, step, ... (save and load between steps) -> destroy
 *
 * Correctives are laid on top of whatever a step leaves. An instance is never called by two threads
 * at once, but by different ones, and different instances at the same time: no global state. The
 * result should depend on nothing but what it was given, so that a replay shows the same.
 *
 * A step that takes longer than its budget makes the instance be skipped for some frames, and after
 * a few times switched off; so do results that are not finite, and steps that fail. Memory outside
 * of what is given must not be touched: the server looks, and switches off. With `isolate` the
 * library runs in a process of its own, with a limit on its memory, which is started again when it
 * dies; without, a crash ends the server.
 *
 * Right-handed, +Y up, lengths in the file's unit, seconds, radians; matrices are 3 x 4, columns x,
 * y, z and the place, three floats each; column vectors.
 *
 * The interface grows by fields at the ends of its structs, each of which says its size: look
 * before reading a field that SINEW_PLUGIN_ABI 1 did not have, and fill struct_bytes in what you
 * return. Whatever changes otherwise raises SINEW_PLUGIN_ABI, and a library of another number is
 * refused. C99 and C++98 can read this file; it includes nothing else of the project.
 */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SINEW_PLUGIN_ABI 1u

struct sinew_plugin_joint {     /* 64 bytes */
    const char *name;           /* "" when the file has none */
    int32_t parent;             /* index, lower than its own; -1: none */
    uint32_t source;            /* its index in the glTF file */
    float model_from_joint[12]; /* in the base pose */
};

/* What does not change: the part of the surface that the rig file gives to the plugin, in the base
 * pose, and the skeleton. Everything is borrowed and stays until destroy. */
struct sinew_plugin_model {
    uint32_t struct_bytes;
    uint32_t vertex_count, triangle_count, joint_count;
    float metres_per_unit;
    uint32_t reserved;
    const struct sinew_plugin_joint *joints;
    const float *positions;    /* x y z a vertex */
    const float *normals;      /* alike, unit */
    const float *shares;       /* how much a vertex is the region's: above 0 .. 1 */
    const uint32_t *sources;   /* its index in the whole surface, as `eval --format bin` counts */
    const uint32_t *twins;     /* the lowest vertex at the same place: a seam moves as one */
    const uint32_t *triangles; /* three vertices each, all of them in the part */
};

/* What an instance needs. The host has set struct_bytes and zeros. */
struct sinew_plugin_needs {
    uint32_t struct_bytes;
    uint32_t reserved;
    uint64_t memory_bytes;  /* handed to create, zeroed, until destroy */
    uint64_t scratch_bytes; /* handed to each step, contents undefined */
    uint64_t state_bytes;   /* what save writes and load reads; 0: neither is called */
};

/* One instant. */
struct sinew_plugin_frame {
    uint32_t struct_bytes;
    uint32_t reset; /* 1: nothing before counts: the first step, or after a cut. Come to rest. */
    double dt_s;    /* since the step before, >= 0; 0 with reset; may be several ticks */
    /* Where the model stands in the scene, in the model's lengths, for forces of inertia. Steps
     * count, not where. */
    double place[3];
    double yaw;                    /* about +Y */
    const float *model_from_joint; /* 12 floats a joint */
    float *positions;              /* x y z a vertex, model space: change them in place */
    float *normals;                /* unit, of the surface as skinned; may be changed. They turn
                                      with the surface afterwards */
    void *scratch;                 /* scratch_bytes, 64-byte aligned */
};

enum {
    SINEW_PLUGIN_FAILED = -1, /* of every function; describe and create may say why */
    SINEW_PLUGIN_STILL = 0,   /* of step: the same pose would leave the same surface */
    SINEW_PLUGIN_MOVING = 1,  /* of step: the next step differs even if the pose does not */
    SINEW_PLUGIN_OK = 0       /* of the others */
};

struct sinew_plugin {
    uint32_t abi; /* SINEW_PLUGIN_ABI */
    uint32_t struct_bytes;
    const char *name, *version;
    /* settings: a JSON object, NUL-ended. message: room for a line that says what is wrong. */
    int (*describe)(const char *settings, const struct sinew_plugin_model *model,
                    struct sinew_plugin_needs *needs, char *message, uint64_t message_bytes);
    int (*create)(const char *settings, const struct sinew_plugin_model *model, void *memory,
                  void **self, char *message, uint64_t message_bytes);
    int (*step)(void *self, const struct sinew_plugin_frame *frame);
    int (*save)(const void *self, void *state);
    int (*load)(void *self, const void *state); /* into a new instance for the same vertex_count */
    void (*destroy)(void *self);                /* frees what the library took itself */
};

#if defined(__GNUC__)
#define SINEW_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define SINEW_PLUGIN_EXPORT
#endif
SINEW_PLUGIN_EXPORT const struct sinew_plugin *sinew_plugin_entry(void);

#ifdef __cplusplus
}
#endif
#endif

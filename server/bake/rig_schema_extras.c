#include <stddef.h>

#include "server/bake/rig_schema_own.h"

// The keys of each type of extra.

#define RANGE(low, high) (&(const struct schema){.kind = NUMBER, .least = (low), .most = (high)})

static const struct schema any = {.kind = ANY};
static const struct schema count = {.kind = COUNT};
static const struct schema boolean = {.kind = BOOL};
static const struct schema text = {.kind = TEXT};
static const struct schema three = {.kind = NUMBERS, .length = 3};
static const struct schema fraction = {.kind = NUMBER, .least = 0, .most = 1};
static const struct schema fractions = {.kind = LIST, .item = &fraction};
static const struct schema length_m = {.kind = NUMBER, .least = 1e-6, .most = 1e6};

// A list of vertices, or a channel of the mesh.
static const struct schema color = {.kind = OBJECT, .keys = KEYS({"color", &count, true})};
static const struct schema vertices = {.kind = LIST, .item = &count, .either = &color};

#define EVERY_KEY                                                                                  \
    {"type", &text, true}, {"name", &text, false},                                                 \
    {                                                                                              \
        "vertices", &vertices, false                                                               \
    }
#define SWING_KEYS                                                                                 \
    {"frequency_hz", RANGE(0.1, 100), false}, {"damping_ratio", RANGE(0, 10), false},              \
    {                                                                                              \
        "amount", RANGE(0, 10), false                                                              \
    }

static const struct schema jiggle = {
    .kind = OBJECT,
    .keys =
        KEYS(EVERY_KEY, SWING_KEYS, {"joint", &text, true}, {"radius_m", &length_m, false},
             {"limit_m", &length_m, false}, {"volume", &fraction, false},
             {"masses", RANGE(1, 64), false}, {"coupling", &fraction, false},
             {"hit_radius_m", RANGE(0, 1e6), false}, {"colliders", &rig_schema_colliders, false})};
static const struct schema muscle = {
    .kind = OBJECT,
    .keys = KEYS(
        EVERY_KEY, SWING_KEYS, {"from", &text, true}, {"to", &text, true},
        {"volume_l", RANGE(1e-9, 1e9), false}, {"bulge", RANGE(0, 0.4), false},
        {"by", &(const struct schema){.kind = TEXT, .words = WORDS("angle", "distance")}, false},
        {"angle_rad", RANGE(0.01, 3.14159), false}, {"shorter", RANGE(0.001, 0.9), false},
        {"from_at", &three, false}, {"to_at", &three, false}, {"fibre", &three, false},
        {"slide", &fraction, false}, {"activation", &fraction, false})};
static const struct schema cloth = {
    .kind = OBJECT,
    .keys = KEYS(EVERY_KEY, {"attach", &text, true}, {"radius_m", &length_m, false},
                 {"freedom", &fractions, false}, {"frequency_hz", RANGE(0.05, 30), false},
                 {"damping_ratio", RANGE(0, 10), false}, {"bend", &fraction, false},
                 {"stretch", &fraction, false}, {"gravity", RANGE(0, 10), false},
                 {"drag_per_s", RANGE(0, 100), false}, {"limit_m", &length_m, false},
                 {"particles", RANGE(8, 2048), false}, {"thickness_m", RANGE(0, 1e6), false},
                 {"colliders", &rig_schema_colliders, false})};
static const struct schema plugin = {
    .kind = OBJECT,
    .keys = KEYS(EVERY_KEY, {"library", &text, true},
                 {"settings", &(const struct schema){.kind = MAP, .item = &any}, false},
                 {"joint", &text, false}, {"radius_m", &length_m, false},
                 {"isolate", &boolean, false}, {"budget_ms", RANGE(0.01, 1000), false})};

static const struct schema extra = {.kind = FORMS,
                                    .keys =
                                        KEYS({"jiggle", &jiggle, false}, {"muscle", &muscle, false},
                                             {"cloth", &cloth, false}, {"plugin", &plugin, false})};
const struct schema rig_schema_extras = {.kind = LIST, .item = &extra};

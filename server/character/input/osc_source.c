#include "server/character/input/osc_source.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "server/character/input/live_link.h"

#define UNTRACKED_NS 500000000U
#define GONE_NS      10000000000U

enum { POSITION_MAX_M = 1000 };

const char *osc_protocol_name(enum osc_protocol p)
{
    static const char *const names[OSC_PROTOCOLS] = {"vmc", "vrchat", "live_link", "other"};
    return names[p];
}

const char *osc_result_name(enum osc_result r)
{
    static const char *const names[OSC_RESULTS] = {"used", "unknown", "malformed"};
    return names[r];
}

void osc_source_start(struct osc_source *s)
{
    *s = (struct osc_source){0};
}

static void pend(struct osc_source *s)
{
    if (!s->pending) s->first_ns = s->now_ns;
    s->pending = true;
    s->last_ns = s->now_ns;
}

// ---- a whole pose -------------------------------------------------------------------------

// What has come so far is what is said; what comes from here on belongs to the next pose.
static void close_pose(struct osc_source *s)
{
    if (s->holds) return;
    if (s->bone_pending) {
        s->said.any_bone = s->making.any_bone;
        s->said.bones = s->making.bones;
        s->news |= OSC_NEW_BONES;
    }
    if (s->device_pending) {
        s->said.any_device = s->making.any_device;
        s->said.device_set = s->making.device_set;
        memcpy(s->said.devices, s->making.devices, sizeof s->said.devices);
        s->news |= OSC_NEW_DEVICES;
    }
    if (s->blend_pending) {
        s->said.blend_count = s->making.blend_count;
        memcpy(s->said.blends, s->making.blends,
               s->making.blend_count * sizeof s->making.blends[0]);
        s->news |= OSC_NEW_BLENDS;
    }
    s->pending = s->bone_pending = s->device_pending = s->blend_pending = false;
}

// ---- values -------------------------------------------------------------------------------

static bool usable_position(const float p[3])
{
    for (int i = 0; i < 3; i++)
        if (!(fabsf(p[i]) <= POSITION_MAX_M)) return false;
    return true;
}

// Made unit where it nearly is; false: no rotation.
static bool usable_rotation(float q[4])
{
    float norm2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    if (!(norm2 >= 0.25F && norm2 <= 4)) return false; // NaN too
    float scale = 1 / sqrtf(norm2);
    for (int i = 0; i < 4; i++)
        q[i] *= scale;
    return true;
}

// Position and rotation after the first argument. Unity's axes as sent.
static enum osc_result read_transform(const struct osc_message *m, float position[3],
                                      float rotation[4])
{
    if (osc_expect(m, "sfffffff") != ERR_OK) return OSC_MALFORMED;
    osc_floats(m, 1, 3, position);
    osc_floats(m, 4, 4, rotation);
    return usable_position(position) && usable_rotation(rotation) ? OSC_USED : OSC_MALFORMED;
}

// Unity's model faces +Z with its left hand at -X; ours has it at +X: X is mirrored.
static void mirror_x(float position[3], float rotation[4])
{
    position[0] = -position[0];
    rotation[1] = -rotation[1];
    rotation[2] = -rotation[2];
}

// Of devices, whose forward becomes OpenXR's -Z: Z is mirrored.
static void mirror_z(float position[3], float rotation[4])
{
    position[2] = -position[2];
    rotation[0] = -rotation[0];
    rotation[1] = -rotation[1];
}

// ---- VMC: bones ---------------------------------------------------------------------------

static enum osc_result on_root(struct osc_source *s, const struct osc_message *m)
{
    float position[3], rotation[4];
    enum osc_result r = read_transform(m, position, rotation);
    if (r != OSC_USED) return r;
    mirror_x(position, rotation);
    memcpy(s->making.bones.root_position, position, sizeof position);
    memcpy(s->making.bones.root_rotation, rotation, sizeof rotation);
    s->making.bones.rooted = true;
    s->bone_pending = true;
    pend(s);
    return OSC_USED;
}

// Unity's HumanBodyBones are VRM 0.x's names with a capital; -1: none (LastBone).
static int32_t find_bone(const char *name)
{
    char lower[INPUT_NAME_MAX];
    size_t n = strlen(name);
    if (n == 0 || n >= sizeof lower) return -1;
    memcpy(lower, name, n + 1);
    lower[0] = (char)tolower((unsigned char)lower[0]);
    return humanoid_find_vrm0(lower);
}

static enum osc_result on_bone(struct osc_source *s, const struct osc_message *m)
{
    float position[3], rotation[4];
    enum osc_result r = read_transform(m, position, rotation);
    if (r != OSC_USED) return r;
    int32_t bone = find_bone(m->args[0].value.s);
    if (bone < 0) return OSC_UNKNOWN;
    struct input_bones *b = &s->making.bones;
    mirror_x(position, rotation);
    memcpy(b->rotation[bone], rotation, sizeof rotation);
    memcpy(b->position[bone], position, sizeof position);
    b->given[bone] = true;
    s->making.any_bone = s->bone_pending = true;
    pend(s);
    return OSC_USED;
}

// ---- VMC: devices -------------------------------------------------------------------------

static void set_device(struct osc_source *s, uint8_t id, uint8_t flags, const float *position,
                       const float *rotation)
{
    struct input_device *d = &s->making.devices[id];
    bool known = s->making.device_set & 1U << id;
    if (!known) *d = (struct input_device){.id = id, .rotation = {0, 0, 0, 1}};
    d->flags |= (uint8_t)(flags | INPUT_TRACKED);
    if (position) memcpy(d->position, position, sizeof d->position);
    if (rotation) memcpy(d->rotation, rotation, sizeof d->rotation);
    s->making.device_set |= 1U << id;
    s->making.any_device = s->device_pending = true;
    s->device_ns[id] = s->now_ns;
    pend(s);
}

// The tracker that has this serial number, or a free one; -1: there are too many.
static int find_tracker(struct osc_source *s, const char *serial)
{
    for (int i = 0; i < OSC_TRACKERS_MAX; i++) {
        if (strncmp(s->serials[i], serial, OSC_SERIAL_BYTES - 1) == 0) return i;
        if (s->serials[i][0]) continue;
        strncpy(s->serials[i], serial, OSC_SERIAL_BYTES - 1);
        return i;
    }
    return -1;
}

// Both forms may come, scaled to the sender's avatar and raw: raw counts once it has been seen.
enum kind { HEAD, HELD, WORN };

static enum osc_result on_device(struct osc_source *s, const struct osc_message *m, enum kind kind,
                                 bool raw)
{
    bool head = kind == HEAD;
    float position[3], rotation[4];
    enum osc_result r = read_transform(m, position, rotation);
    if (r != OSC_USED) return r;
    if (s->raw && !raw) return OSC_UNKNOWN;
    const char *serial = m->args[0].value.s;
    int tracker = head || !serial[0] ? -1 : find_tracker(s, serial);
    if (!head && tracker < 0) return OSC_UNKNOWN;
    s->raw = raw;
    mirror_z(position, rotation);
    set_device(s, head ? INPUT_DEVICE_head : (uint8_t)(INPUT_DEVICE_tracker_1 + tracker),
               INPUT_POSITION_VALID | INPUT_ROTATION_VALID | (kind == HELD ? INPUT_HELD : 0),
               position, rotation);
    return OSC_USED;
}

static enum osc_result on_head(struct osc_source *s, const struct osc_message *m)
{
    return on_device(s, m, HEAD, false);
}

static enum osc_result on_head_raw(struct osc_source *s, const struct osc_message *m)
{
    return on_device(s, m, HEAD, true);
}

static enum osc_result on_held(struct osc_source *s, const struct osc_message *m)
{
    return on_device(s, m, HELD, false);
}

static enum osc_result on_held_raw(struct osc_source *s, const struct osc_message *m)
{
    return on_device(s, m, HELD, true);
}

static enum osc_result on_worn(struct osc_source *s, const struct osc_message *m)
{
    return on_device(s, m, WORN, false);
}

static enum osc_result on_worn_raw(struct osc_source *s, const struct osc_message *m)
{
    return on_device(s, m, WORN, true);
}

// ---- VMC: blendshapes, state --------------------------------------------------------------

static bool set_blend(struct osc_source *s, const char *name, float value)
{
    struct osc_said *said = &s->making;
    uint32_t i = 0;
    while (i < said->blend_count && strcmp(said->blends[i].name, name) != 0)
        i++;
    if (i == OSC_BLENDS_MAX) return false;
    if (i == said->blend_count) {
        memcpy(said->blends[i].name, name, strlen(name) + 1);
        said->blend_count++;
    }
    said->blends[i].value = value;
    s->blend_pending = true;
    pend(s);
    return true;
}

static enum osc_result on_blend(struct osc_source *s, const struct osc_message *m)
{
    if (osc_expect(m, "sf") != ERR_OK || !isfinite(m->args[1].value.f)) return OSC_MALFORMED;
    const char *name = m->args[0].value.s;
    if (!name[0] || strlen(name) >= INPUT_NAME_MAX) return OSC_UNKNOWN;
    return set_blend(s, name, fminf(fmaxf(m->args[1].value.f, -2), 2)) ? OSC_USED : OSC_UNKNOWN;
}

static enum osc_result on_blend_apply(struct osc_source *s, const struct osc_message *m)
{
    (void)m;
    if (s->blend_pending && !s->bone_pending) close_pose(s);
    return OSC_USED;
}

static enum osc_result on_time(struct osc_source *s, const struct osc_message *m)
{
    if (osc_expect(m, "f") != ERR_OK) return OSC_MALFORMED;
    close_pose(s);
    return OSC_USED;
}

// Not loaded: the sender's avatar is away, and its last pose holds.
static enum osc_result on_state(struct osc_source *s, const struct osc_message *m)
{
    if (osc_expect(m, "i") != ERR_OK) return OSC_MALFORMED;
    s->holds = m->args[0].value.i == 0;
    return OSC_USED;
}

static enum osc_result on_nothing(struct osc_source *s, const struct osc_message *m)
{
    (void)s;
    (void)m;
    return OSC_UNKNOWN;
}

// ---- VRChat -------------------------------------------------------------------------------

// Euler degrees in Unity's axes, about Z, then X, then Y.
static void from_euler(const float degrees[3], float out[4])
{
    const double half = 3.14159265358979323846 / 360;
    double sx = sin((double)degrees[0] * half), cx = cos((double)degrees[0] * half);
    double sy = sin((double)degrees[1] * half), cy = cos((double)degrees[1] * half);
    double sz = sin((double)degrees[2] * half), cz = cos((double)degrees[2] * half);
    out[0] = (float)(cy * sx * cz + sy * cx * sz);
    out[1] = (float)(sy * cx * cz - cy * sx * sz);
    out[2] = (float)(cy * cx * sz - sy * sx * cz);
    out[3] = (float)(cy * cx * cz + sy * sx * sz);
}

// "/tracking/trackers/" + ("head" or 1 .. 8) + ("/position" or "/rotation")
static enum osc_result on_vrchat(struct osc_source *s, const struct osc_message *m,
                                 const char *rest)
{
    uint8_t id = 0;
    if (strncmp(rest, "head/", 5) == 0) {
        id = INPUT_DEVICE_head;
        rest += 5;
    } else if (rest[0] >= '1' && rest[0] <= '8' && rest[1] == '/') {
        id = (uint8_t)(INPUT_DEVICE_tracker_1 + (rest[0] - '1'));
        rest += 2;
    } else {
        return OSC_UNKNOWN;
    }
    bool turns = strcmp(rest, "rotation") == 0;
    float v[3], position[3] = {0}, rotation[4] = {0, 0, 0, 1};
    if (!turns && strcmp(rest, "position") != 0) return OSC_UNKNOWN;
    if (osc_expect(m, "fff") != ERR_OK) return OSC_MALFORMED;
    osc_floats(m, 0, 3, v);
    for (int i = 0; i < 3; i++)
        if (!(fabsf(v[i]) <= (turns ? 100000.0F : (float)POSITION_MAX_M))) return OSC_MALFORMED;
    if (turns)
        from_euler(v, rotation);
    else
        memcpy(position, v, sizeof v);
    mirror_z(position, rotation);
    set_device(s, id, turns ? INPUT_ROTATION_VALID : INPUT_POSITION_VALID, turns ? NULL : position,
               turns ? rotation : NULL);
    return OSC_USED;
}

// ---- datagrams ----------------------------------------------------------------------------

static void on_message(void *owner, const struct osc_message *m)
{
    static const struct {
        const char *address;
        enum osc_result (*take)(struct osc_source *s, const struct osc_message *m);
    } rows[] = {{"/VMC/Ext/Bone/Pos", on_bone},
                {"/VMC/Ext/Root/Pos", on_root},
                {"/VMC/Ext/Blend/Val", on_blend},
                {"/VMC/Ext/Blend/Apply", on_blend_apply},
                {"/VMC/Ext/T", on_time},
                {"/VMC/Ext/OK", on_state},
                {"/VMC/Ext/Hmd/Pos", on_head},
                {"/VMC/Ext/Hmd/Pos/Local", on_head_raw},
                {"/VMC/Ext/Con/Pos", on_held},
                {"/VMC/Ext/Con/Pos/Local", on_held_raw},
                {"/VMC/Ext/Tra/Pos", on_worn},
                {"/VMC/Ext/Tra/Pos/Local", on_worn_raw},
                {"/VMC/", on_nothing}};
    static const char vrchat[] = "/tracking/trackers/";
    struct osc_source *s = owner;
    if (strncmp(m->address, vrchat, sizeof vrchat - 1) == 0) {
        s->counts[OSC_VRCHAT][on_vrchat(s, m, m->address + sizeof vrchat - 1)]++;
        return;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool family = rows[i].take == on_nothing;
        if (family ? strncmp(m->address, rows[i].address, strlen(rows[i].address)) != 0
                   : strcmp(m->address, rows[i].address) != 0)
            continue;
        s->counts[OSC_VMC][rows[i].take(s, m)]++;
        return;
    }
    s->counts[OSC_OTHER][OSC_UNKNOWN]++;
}

static void take_face(struct osc_source *s, const uint8_t *bytes, size_t size_bytes)
{
    float values[LIVE_LINK_VALUES];
    enum err e = live_link_read(bytes, size_bytes, values);
    s->counts[OSC_LIVE_LINK][e == ERR_OK          ? OSC_USED
                             : e == ERR_NOT_FOUND ? OSC_UNKNOWN
                                                  : OSC_MALFORMED]++;
    for (size_t i = 0; e == ERR_OK && i < LIVE_LINK_BLENDS; i++)
        (void)set_blend(s, live_link_name(i), fminf(fmaxf(values[i], 0), 1));
    if (e == ERR_OK) close_pose(s);
}

static uint64_t used(const struct osc_source *s)
{
    uint64_t sum = 0;
    for (int p = 0; p < OSC_PROTOCOLS; p++)
        sum += s->counts[p][OSC_USED];
    return sum;
}

bool osc_source_take(struct osc_source *s, const uint8_t *bytes, size_t size_bytes, uint64_t now_ns)
{
    uint64_t before = used(s);
    struct osc_counts counts = {0};
    s->now_ns = now_ns;
    if (live_link_is(bytes, size_bytes))
        take_face(s, bytes, size_bytes);
    else
        osc_read(bytes, size_bytes, on_message, s, &counts);
    s->counts[OSC_OTHER][OSC_MALFORMED] += counts.malformed;
    return used(s) > before;
}

// ---- ticks --------------------------------------------------------------------------------

// Silent devices: guesses first, then gone.
static void age_devices(struct osc_source *s, uint64_t now_ns)
{
    bool changed = false;
    for (uint32_t id = 0; id < INPUT_DEVICE_COUNT; id++) {
        if (!(s->making.device_set & 1U << id)) continue;
        struct input_device *d = &s->making.devices[id];
        uint64_t silent_ns = now_ns - s->device_ns[id];
        uint8_t flags = d->flags;
        if (silent_ns > UNTRACKED_NS) d->flags &= (uint8_t)~INPUT_TRACKED;
        if (silent_ns > GONE_NS) d->flags = 0;
        changed = changed || flags != d->flags;
    }
    if (!changed) return;
    s->device_pending = true;
    close_pose(s);
}

uint32_t osc_source_commit(struct osc_source *s, uint64_t now_ns, uint64_t tick_ns)
{
    age_devices(s, now_ns);
    if (s->pending && (now_ns - s->last_ns >= OSC_SILENCE_NS || now_ns - s->first_ns >= tick_ns))
        close_pose(s);
    uint32_t news = s->news;
    s->news = 0;
    return news;
}

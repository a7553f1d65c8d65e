#include "server/bake/bvh.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/bake/turn.h"
#include "server/bake/utf8.h"

enum {
    JOINTS_MAX =
        2000,         // bodies have tens, hands included; chains of thousands are no motion capture
    CHANNELS_MAX = 6, // of a joint
    TOKEN_BYTES = 64,
    NAME_BYTES = 200,
};

enum channel { X_POSITION, Y_POSITION, Z_POSITION, X_ROTATION, Y_ROTATION, Z_ROTATION };

struct joint {
    char name[NAME_BYTES];
    int32_t parent;
    float offset[3];
    uint8_t channel_count;
    uint8_t channels[CHANNELS_MAX]; // enum channel, in the order of the numbers
    float *rotations, *positions;   // per frame, NULL where it has no such channel
};

struct bvh {
    const char *text;
    size_t size_bytes, at;
    struct fault *fault;
    enum err error;
    struct pool *pool;
    struct joint *joints;
    uint32_t joint_count, channel_count, frame_count;
};

static bool fail(struct bvh *b, enum err code, const char *what)
{
    if (b->error == ERR_OK) b->error = fault_set(b->fault, code, "byte %zu: %s", b->at, what);
    return false;
}

static void skip_space(struct bvh *b)
{
    while (b->at < b->size_bytes && isspace((unsigned char)b->text[b->at]))
        b->at++;
}

// The next run of characters that are no space; "" at the end.
static void next_token(struct bvh *b, char out[TOKEN_BYTES])
{
    size_t n = 0;
    skip_space(b);
    while (b->at < b->size_bytes && !isspace((unsigned char)b->text[b->at])) {
        if (n + 1 < TOKEN_BYTES) out[n++] = b->text[b->at];
        b->at++;
    }
    out[n] = 0;
}

static bool expect(struct bvh *b, const char *word)
{
    char token[TOKEN_BYTES];
    next_token(b, token);
    if (strcmp(token, word) == 0) return true;
    if (b->error == ERR_OK)
        b->error = fault_set(b->fault, *token ? ERR_MALFORMED : ERR_TRUNCATED,
                             "byte %zu: expected \"%s\"", b->at, word);
    return false;
}

static double next_number(struct bvh *b)
{
    char token[TOKEN_BYTES], *end = NULL;
    next_token(b, token);
    double value = strtod(token, &end);
    if (!*token)
        (void)fail(b, ERR_TRUNCATED, "a number is missing");
    else if (*end || !isfinite(value) || fabs(value) > 1e12)
        (void)fail(b, ERR_MALFORMED, "not a number of sensible size");
    return b->error == ERR_OK ? value : 0;
}

// The rest of the line is the name: some have spaces in them.
static void read_name(struct bvh *b, char out[NAME_BYTES])
{
    size_t n = 0;
    while (b->at < b->size_bytes && (b->text[b->at] == ' ' || b->text[b->at] == '\t'))
        b->at++;
    for (; b->at < b->size_bytes && !strchr("\r\n{", b->text[b->at]); b->at++)
        if (n + 1 < NAME_BYTES) out[n++] = b->text[b->at];
    while (n > 0 && isspace((unsigned char)out[n - 1]))
        n--;
    out[n] = 0;
    utf8_mend(out);
}

// ---- hierarchy

static bool read_channels(struct bvh *b, struct joint *j)
{
    static const char *const names[] = {"Xposition", "Yposition", "Zposition",
                                        "Xrotation", "Yrotation", "Zrotation"};
    double count = next_number(b);
    if (b->error == ERR_OK && !(count >= 0 && count <= CHANNELS_MAX && floor(count) == count))
        return fail(b, ERR_MALFORMED, "a joint has 0 to 6 channels");
    if (j->channel_count) return fail(b, ERR_MALFORMED, "a joint with two lists of channels");
    for (int i = 0; i < (int)count && b->error == ERR_OK; i++) {
        char token[TOKEN_BYTES];
        uint8_t c = 0;
        next_token(b, token);
        while (c < CHANNELS_MAX && strcasecmp(token, names[c]) != 0)
            c++;
        if (c == CHANNELS_MAX) return fail(b, ERR_MALFORMED, "an unknown channel");
        j->channels[j->channel_count++] = c;
    }
    b->channel_count += j->channel_count;
    return b->error == ERR_OK;
}

static bool read_offset(struct bvh *b, float out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = (float)next_number(b);
    return b->error == ERR_OK;
}

static struct joint *add_joint(struct bvh *b, int32_t parent)
{
    if (b->joint_count == JOINTS_MAX) {
        (void)fail(b, ERR_LIMIT, "more than 2000 joints");
        return NULL;
    }
    struct joint *j = &b->joints[b->joint_count++];
    *j = (struct joint){.parent = parent};
    read_name(b, j->name);
    return expect(b, "{") ? j : NULL;
}

static bool skip_end_site(struct bvh *b)
{
    float offset[3];
    return expect(b, "Site") && expect(b, "{") && expect(b, "OFFSET") && read_offset(b, offset) &&
           expect(b, "}");
}

// Everything up to MOTION. `open` is the joint whose braces we are in, or SCENE_NONE.
static bool read_hierarchy(struct bvh *b)
{
    int32_t open = SCENE_NONE;
    if (!expect(b, "HIERARCHY")) return false;
    while (b->error == ERR_OK) {
        char token[TOKEN_BYTES];
        next_token(b, token);
        bool inside = open != SCENE_NONE;
        if (!inside && strcmp(token, "MOTION") == 0) return true;
        if (strcmp(token, inside ? "JOINT" : "ROOT") == 0) {
            if (!add_joint(b, open)) return false;
            open = (int32_t)b->joint_count - 1;
        } else if (inside && strcmp(token, "OFFSET") == 0) {
            (void)read_offset(b, b->joints[open].offset);
        } else if (inside && strcmp(token, "CHANNELS") == 0) {
            (void)read_channels(b, &b->joints[open]);
        } else if (inside && strcmp(token, "End") == 0) {
            (void)skip_end_site(b);
        } else if (inside && strcmp(token, "}") == 0) {
            open = b->joints[open].parent;
        } else {
            return fail(b, *token ? ERR_MALFORMED : ERR_TRUNCATED,
                        "the hierarchy breaks off or has an unknown word");
        }
    }
    return false;
}

// ---- motion

static struct turn about(uint8_t channel, double degrees)
{
    double half = degrees * (3.14159265358979323846 / 360);
    double s = sin(half), c = cos(half);
    if (channel == X_ROTATION) return (struct turn){s, 0, 0, c};
    if (channel == Y_ROTATION) return (struct turn){0, s, 0, c};
    return (struct turn){0, 0, s, c};
}

static void read_joint_frame(struct bvh *b, struct joint *j, uint32_t frame)
{
    struct turn rotation = turn_none();
    float position[3] = {j->offset[0], j->offset[1], j->offset[2]};
    for (uint8_t i = 0; i < j->channel_count; i++) {
        double value = next_number(b);
        if (j->channels[i] >= X_ROTATION) // the first channel turns last
            rotation = turn_mul(rotation, about(j->channels[i], value));
        else
            position[j->channels[i]] = (float)value;
    }
    if (b->error != ERR_OK) return;
    if (j->rotations) {
        struct quat q = quat_from_turn(rotation);
        memcpy(j->rotations + 4 * (size_t)frame, &q, sizeof q);
    }
    if (j->positions) memcpy(j->positions + 3 * (size_t)frame, position, sizeof position);
}

static bool take_tracks(struct bvh *b, struct joint *j, uint32_t frames)
{
    for (uint8_t i = 0; i < j->channel_count; i++) {
        bool rotates = j->channels[i] >= X_ROTATION;
        float **track = rotates ? &j->rotations : &j->positions;
        if (!*track) *track = POOL_ARRAY(b->pool, float, (rotates ? 4 : 3) * (size_t)frames);
        if (!*track) return fail(b, ERR_LIMIT, "the motion needs too much memory");
    }
    return true;
}

static bool read_motion(struct bvh *b, double *frame_time)
{
    if (!expect(b, "Frames:")) return false;
    double claimed = next_number(b);
    if (!expect(b, "Frame") || !expect(b, "Time:")) return false;
    *frame_time = next_number(b);
    if (b->error != ERR_OK) return false;
    if (!(claimed >= 1) || floor(claimed) != claimed)
        return fail(b, ERR_MALFORMED, "the number of frames is no whole number above 0");
    if (b->channel_count == 0) return fail(b, ERR_MALFORMED, "no joint has a channel");
    // A value takes two characters at least: what the text cannot hold is not allocated.
    double room = (double)(b->size_bytes - b->at) / (2.0 * b->channel_count) + 1;
    uint32_t frames = (uint32_t)fmin(fmin(claimed, room), 1e8);
    for (uint32_t i = 0; i < b->joint_count; i++)
        if (!take_tracks(b, &b->joints[i], frames)) return false;
    for (uint32_t f = 0; f < frames; f++) {
        skip_space(b);
        if (b->at == b->size_bytes) break;
        for (uint32_t i = 0; i < b->joint_count; i++)
            read_joint_frame(b, &b->joints[i], f);
        if (b->error != ERR_OK) return false;
        b->frame_count = f + 1;
    }
    if (b->frame_count == 0) return fail(b, ERR_TRUNCATED, "no frames");
    return true;
}

// ---- as a scene

static bool make_nodes(struct bvh *b, struct scene *out)
{
    out->nodes = POOL_ARRAY(b->pool, struct scene_node, b->joint_count);
    if (!out->nodes) return fail(b, ERR_LIMIT, "the joints need too much memory");
    out->node_count = b->joint_count;
    for (uint32_t i = 0; i < b->joint_count; i++) {
        const struct joint *j = &b->joints[i];
        struct scene_node *n = &out->nodes[i];
        n->name = pool_copy_text(b->pool, j->name, strlen(j->name));
        if (!n->name) return fail(b, ERR_LIMIT, "the joints need too much memory");
        n->parent = j->parent;
        n->mesh = n->skin = SCENE_NONE;
        n->in_default_scene = n->matrix_is_exact = true;
        n->rest = (struct trs){{j->offset[0], j->offset[1], j->offset[2]}, {0, 0, 0, 1}, {1, 1, 1}};
        n->local = xform_from_trs(&n->rest);
    }
    return true;
}

static void add_channel(struct scene_clip *clip, uint32_t node, enum scene_path path,
                        const float *times, const float *values, uint32_t keys)
{
    if (!values) return;
    clip->channels[clip->channel_count++] =
        (struct scene_channel){.node = (int32_t)node,
                               .path = path,
                               .interpolation = SCENE_LINEAR,
                               .key_count = keys,
                               .width = path == SCENE_ROTATION ? 4 : 3,
                               .times = times,
                               .values = values};
}

static bool make_clip(struct bvh *b, double frame_time, struct scene *out)
{
    if (!(frame_time > 1e-6 && frame_time < 60)) {
        scene_note(out, NOTE_REPAIRED, 1,
                   "motion without a usable frame time, played at 30 a second");
        frame_time = 1.0 / 30;
    }
    float *times = POOL_ARRAY(b->pool, float, b->frame_count);
    struct scene_clip *clip = POOL_ARRAY(b->pool, struct scene_clip, 1);
    if (clip) clip->channels = POOL_ARRAY(b->pool, struct scene_channel, 2 * b->joint_count);
    if (!times || !clip || !clip->channels)
        return fail(b, ERR_LIMIT, "the motion needs too much memory");
    for (uint32_t f = 0; f < b->frame_count; f++) {
        times[f] = (float)(f * frame_time);
        if (f && !(times[f] > times[f - 1])) return fail(b, ERR_LIMIT, "too many frames");
    }
    for (uint32_t i = 0; i < b->joint_count; i++) {
        const struct joint *j = &b->joints[i];
        add_channel(clip, i, SCENE_ROTATION, times, j->rotations, b->frame_count);
        add_channel(clip, i, SCENE_TRANSLATION, times, j->positions, b->frame_count);
    }
    clip->name = "";
    clip->loop = true;
    clip->duration_s = times[b->frame_count - 1];
    out->clips = clip;
    out->clip_count = 1;
    return true;
}

bool bvh_is(const char *text, size_t size_bytes)
{
    size_t at = 0;
    while (at < size_bytes && isspace((unsigned char)text[at]))
        at++;
    return size_bytes - at >= 9 && memcmp(text + at, "HIERARCHY", 9) == 0;
}

enum err bvh_parse(const char *text, size_t size_bytes, struct scene *out, struct fault *fault)
{
    struct scene scene = {.generator = "", .vrm = {.json = ""}};
    pool_init(&scene.pool, ((size_t)60 << 20) + 14 * size_bytes);
    struct bvh b = {.text = text, .size_bytes = size_bytes, .fault = fault, .pool = &scene.pool};
    double frame_time = 0;
    b.joints = POOL_ARRAY(b.pool, struct joint, JOINTS_MAX);
    if (!b.joints) (void)fail(&b, ERR_MEMORY, "no memory");
    bool ok = b.joints && read_hierarchy(&b) && read_motion(&b, &frame_time) &&
              make_nodes(&b, &scene) && make_clip(&b, frame_time, &scene);
    *out = (struct scene){0};
    if (!ok) {
        scene_free(&scene);
        return b.error;
    }
    *out = scene;
    return ERR_OK;
}

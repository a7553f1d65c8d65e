#include "server/bake/anim_read.h"

#include <math.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/accessor.h"

// Quantised keys are off by this much; more is a fault of the file worth telling.
static const double UNIT_TOLERANCE = 0.02;

struct keys { // what the memo keeps: one sampler as one kind of channel reads it
    uint32_t count;
    const float *times, *values;
};

struct sampler {
    int32_t input, output;
    enum scene_interpolation interpolation;
};

struct clip_context {
    struct source *src;
    struct doc_list samplers;
    uint32_t *taken; // node * 4 + path: the clip + 1 that has this channel
    uint32_t clip;
};

// ---- keys

// How many times of equal value follow each other; fails where they fall.
static bool count_repeats(struct source *src, const struct doc_at *at, const float *times,
                          uint32_t count, uint32_t *repeats)
{
    *repeats = 0;
    for (uint32_t i = 1; i < count; i++) {
        if (times[i] < times[i - 1])
            return doc_fail(&src->doc, at, ERR_MALFORMED,
                            "key %u at %g s comes after one at %g s; times must rise", i,
                            (double)times[i], (double)times[i - 1]);
        *repeats += times[i] == times[i - 1];
    }
    return true;
}

// Of keys at one time the last stays.
static bool drop_repeats(struct source *src, const struct doc_at *at, uint32_t repeats,
                         uint32_t floats_per_key, struct keys *k)
{
    struct doc *d = &src->doc;
    uint32_t left = k->count - repeats, n = 0;
    float *times = DOC_KEEP(d, at, float, left);
    float *values = DOC_KEEP(d, at, float, (size_t)left *floats_per_key);
    if (!times || !values) return false;
    for (uint32_t i = 0; i < k->count; i++) {
        if (i + 1 < k->count && k->times[i + 1] == k->times[i]) continue;
        times[n] = k->times[i];
        memcpy(values + (size_t)n * floats_per_key, k->values + (size_t)i * floats_per_key,
               floats_per_key * sizeof *values);
        n++;
    }
    CHECK(n == left);
    scene_note(d->scene, NOTE_REPAIRED, repeats, "animation keys at the time of the next, dropped");
    *k = (struct keys){left, times, values};
    return true;
}

// Keys that are unit but for rounding stay as they are, and cubic ones always: the standard
// interpolates what the file says and normalises what comes out.
static bool normalise_rotations(struct source *src, const struct doc_at *at, struct keys *k)
{
    struct doc *d = &src->doc;
    float *out = DOC_KEEP(d, at, float, 4 * (size_t)k->count);
    uint32_t off = 0;
    for (uint32_t i = 0; out && i < k->count; i++) {
        const float *v = k->values + 4 * (size_t)i;
        double length = sqrt((double)v[0] * (double)v[0] + (double)v[1] * (double)v[1] +
                             (double)v[2] * (double)v[2] + (double)v[3] * (double)v[3]);
        struct quat q = {v[0], v[1], v[2], v[3]};
        if (!(fabs(length - 1) <= UNIT_TOLERANCE)) {
            q = quat_normalise(q);
            off++;
        }
        memcpy(out + 4 * (size_t)i, &q, sizeof q);
    }
    if (off)
        scene_note(d->scene, NOTE_REPAIRED, off, "rotation keys that are not unit, normalised");
    k->values = out;
    return out != NULL;
}

static struct accessor_shape shape_of(enum scene_path path)
{
    return path == SCENE_ROTATION  ? ACCESSOR_VEC4
           : path == SCENE_WEIGHTS ? ACCESSOR_SCALAR
                                   : ACCESSOR_VEC3;
}

static bool make_keys(struct source *src, const struct doc_at *sampler_at, const struct sampler *s,
                      enum scene_path path, uint32_t width, struct keys *k)
{
    struct doc *d = &src->doc;
    struct doc_at input_at = doc_member(sampler_at, "input"),
                  output_at = doc_member(sampler_at, "output");
    const struct source_accessor *input =
        accessor_expect(src, &input_at, s->input, ACCESSOR_SCALAR);
    const struct source_accessor *output =
        accessor_expect(src, &output_at, s->output, shape_of(path));
    if (!input || !output) return false;
    uint64_t parts = s->interpolation == SCENE_CUBIC ? 3 : 1;
    uint64_t elements = input->count * parts * (path == SCENE_WEIGHTS ? width : 1);
    if (output->count != elements)
        return doc_fail(d, &output_at, ERR_MALFORMED, "%u elements where %u keys need %llu",
                        output->count, input->count, (unsigned long long)elements);
    if (input->count == 0) return doc_fail(d, &input_at, ERR_MALFORMED, "no keys");
    *k = (struct keys){input->count, accessor_floats(src, &input_at, s->input),
                       accessor_floats(src, &output_at, s->output)};
    uint32_t repeats = 0;
    if (!k->times || !k->values || !count_repeats(src, &input_at, k->times, k->count, &repeats))
        return false;
    if (repeats && !drop_repeats(src, &input_at, repeats, width * (uint32_t)parts, k)) return false;
    if (path == SCENE_ROTATION && s->interpolation != SCENE_CUBIC)
        return normalise_rotations(src, &output_at, k);
    return true;
}

static const struct keys *read_keys(struct source *src, const struct doc_at *sampler_at,
                                    const struct sampler *s, enum scene_path path, uint32_t width)
{
    struct doc *d = &src->doc;
    struct memo_key key = {{MEMO_KEYS, s->input, s->output, (int32_t)s->interpolation,
                            path == SCENE_ROTATION, path == SCENE_WEIGHTS, (int32_t)width}};
    const struct keys *known = memo_find(&src->memo, &key);
    if (known) return known;
    struct keys *k = DOC_SCRATCH(d, sampler_at, struct keys, 1);
    if (!k || !make_keys(src, sampler_at, s, path, width, k)) return NULL;
    memo_add(&src->memo, d, sampler_at, &key, k);
    return k;
}

// ---- samplers and channels

static bool read_sampler(struct source *src, const struct doc_at *at, struct sampler *out)
{
    struct doc *d = &src->doc;
    if (!doc_is_object(d, at)) return doc_fail(d, at, ERR_MALFORMED, "must be an object");
    struct doc_at word_at = doc_member(at, "interpolation");
    const char *word = doc_text(d, at, "interpolation");
    out->input = doc_index_needed(d, at, "input", src->accessor_count);
    out->output = doc_index_needed(d, at, "output", src->accessor_count);
    if (!*word || strcmp(word, "LINEAR") == 0)
        out->interpolation = SCENE_LINEAR;
    else if (strcmp(word, "STEP") == 0)
        out->interpolation = SCENE_STEP;
    else if (strcmp(word, "CUBICSPLINE") == 0)
        out->interpolation = SCENE_CUBIC;
    else
        return doc_fail(d, &word_at, ERR_MALFORMED, "\"%.20s\" is no interpolation", word);
    return d->error == ERR_OK;
}

// True when the word is a path that is played; others are left out with a note.
static bool read_path(struct source *src, const struct doc_at *target, enum scene_path *out)
{
    static const char *const words[] = {"translation", "rotation", "scale", "weights"};
    struct doc *d = &src->doc;
    struct doc_at at = doc_member(target, "path");
    const char *word = doc_text(d, target, "path");
    for (int i = 0; i < 4; i++)
        if (strcmp(word, words[i]) == 0) {
            *out = (enum scene_path)i;
            return d->error == ERR_OK;
        }
    if (!at.value)
        (void)doc_fail(d, &at, ERR_MALFORMED, "is missing");
    else if (strcmp(word, "pointer") == 0)
        scene_note(d->scene, NOTE_LEFT_OUT, 1, "KHR_animation_pointer channels");
    else
        scene_note(d->scene, NOTE_LEFT_OUT, 1, "animation channels with the path \"%.40s\"", word);
    return false;
}

// True when the channel has something to move; the width of its keys in *width.
static bool has_target(struct clip_context *c, int32_t node, enum scene_path path, uint32_t *width)
{
    struct scene *scene = c->src->doc.scene;
    if (node == SCENE_NONE) {
        scene_note(scene, NOTE_LEFT_OUT, 1, "animation channels without a target node");
        return false;
    }
    const struct scene_node *n = &scene->nodes[node];
    *width = path == SCENE_ROTATION ? 4 : 3;
    if (path == SCENE_WEIGHTS) {
        *width = n->mesh == SCENE_NONE ? 0 : scene->meshes[n->mesh].target_count;
        if (*width == 0) {
            scene_note(scene, NOTE_LEFT_OUT, 1,
                       "animation channels of weights whose node has no morph targets");
            return false;
        }
    } else if (n->has_matrix) {
        scene_note(scene, NOTE_REPAIRED, 1,
                   "animated nodes with a matrix, which is taken apart for it");
    }
    uint32_t *taken = &c->taken[4 * (size_t)node + path];
    if (*taken == c->clip + 1) {
        scene_note(scene, NOTE_LEFT_OUT, 1,
                   "second channels of a node for the same path in a clip");
        return false;
    }
    *taken = c->clip + 1;
    return true;
}

// True when *out holds a channel.
static bool read_channel(struct clip_context *c, const struct doc_at *at, struct scene_channel *out)
{
    struct source *src = c->src;
    struct doc *d = &src->doc;
    if (!doc_is_object(d, at)) return doc_fail(d, at, ERR_MALFORMED, "must be an object");
    int32_t index = doc_index_needed(d, at, "sampler", c->samplers.count);
    struct doc_at target = doc_member(at, "target");
    if (!target.value) return doc_fail(d, &target, ERR_MALFORMED, "is missing");
    if (!doc_is_object(d, &target)) return false;
    enum scene_path path = SCENE_TRANSLATION;
    int32_t node = doc_index(d, &target, "node", src->node_count);
    uint32_t width = 0;
    if (!read_path(src, &target, &path) || !has_target(c, node, path, &width)) return false;
    struct doc_at sampler_at = doc_item(&c->samplers, (uint32_t)index);
    struct sampler sampler = {0};
    if (!read_sampler(src, &sampler_at, &sampler)) return false;
    const struct keys *keys = read_keys(src, &sampler_at, &sampler, path, width);
    if (!keys) return false;
    *out = (struct scene_channel){.node = node,
                                  .path = path,
                                  .interpolation = sampler.interpolation,
                                  .key_count = keys->count,
                                  .width = width,
                                  .times = keys->times,
                                  .values = keys->values};
    return true;
}

static void read_clip(struct clip_context *c, const struct doc_at *at, struct scene_clip *clip)
{
    struct doc *d = &c->src->doc;
    clip->loop = true;
    if (!doc_is_object(d, at)) {
        (void)doc_fail(d, at, ERR_MALFORMED, "must be an object");
        return;
    }
    clip->name = doc_text_kept(d, at, "name");
    c->samplers = doc_list(d, at, "samplers");
    struct doc_list channels = doc_list(d, at, "channels");
    clip->channels = DOC_KEEP(d, &channels.at, struct scene_channel, channels.count);
    for (uint32_t i = 0; i < channels.count && d->error == ERR_OK; i++) {
        struct doc_at channel_at = doc_item(&channels, i);
        struct scene_channel *channel = &clip->channels[clip->channel_count];
        if (!read_channel(c, &channel_at, channel)) continue;
        clip->channel_count++;
        clip->duration_s = fmaxf(clip->duration_s, channel->times[channel->key_count - 1]);
    }
    if (d->error == ERR_OK && clip->channel_count == 0)
        scene_note(d->scene, NOTE_LEFT_OUT, 1, "clips without a channel that can be played");
}

bool anim_read(struct source *src)
{
    struct doc *d = &src->doc;
    struct doc_at root = doc_root(d);
    struct doc_list list = doc_list(d, &root, "animations");
    struct clip_context c = {.src = src};
    c.taken = DOC_SCRATCH(d, &list.at, uint32_t, 4 * (size_t)src->node_count);
    d->scene->clips = DOC_KEEP(d, &list.at, struct scene_clip, list.count);
    if (d->error != ERR_OK) return false;
    d->scene->clip_count = list.count;
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        c.clip = i;
        read_clip(&c, &at, &d->scene->clips[i]);
    }
    return d->error == ERR_OK;
}

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/builder.h"

// Clips as tracks: morph weights split to one track a channel, everything sorted by path and
// target so that sampling walks its memory once.

struct channel_range { // a node's morph channels, consecutive
    uint32_t first, count;
};

static struct channel_range *channels_by_node(struct builder *b)
{
    struct channel_range *out = BUILDER_ARRAY(b, struct channel_range, b->model.nodes_count);
    for (uint32_t i = 0; out && i < b->model.channels_count; i++) {
        struct channel_range *r = &out[b->model.channels[i].node];
        if (r->count == 0) r->first = i;
        r->count++;
    }
    return out;
}

struct clip_totals {
    uint64_t tracks, times, values;
};

static uint32_t values_per_key(const struct scene_channel *c)
{
    return c->interpolation == SCENE_CUBIC ? 3 : 1;
}

static uint32_t tracks_of(const struct builder *b, const struct channel_range *ranges,
                          const struct scene_channel *c)
{
    if (c->path != SCENE_WEIGHTS) return 1;
    return ranges[b->node_of_source[c->node]].count; // 0: its mesh is not shown
}

static struct clip_totals count_all(const struct builder *b, const struct channel_range *ranges)
{
    struct clip_totals t = {0};
    for (uint32_t i = 0; i < b->scene->clip_count; i++)
        for (uint32_t k = 0; k < b->scene->clips[i].channel_count; k++) {
            const struct scene_channel *c = &b->scene->clips[i].channels[k];
            uint32_t tracks = tracks_of(b, ranges, c);
            if (tracks == 0) continue;
            t.tracks += tracks;
            t.times += c->key_count;
            t.values += (uint64_t)c->width * c->key_count * values_per_key(c);
        }
    return t;
}

struct clip_tables {
    struct model_track *tracks;
    float *times, *values;
    uint32_t track, time, value; // filled so far
};

static void add_transform_track(const struct builder *b, const struct scene_channel *c,
                                uint32_t time_first, struct clip_tables *t)
{
    static const uint32_t paths[] = {MODEL_TRANSLATION, MODEL_ROTATION, MODEL_SCALE};
    uint32_t count = c->width * c->key_count * values_per_key(c);
    t->tracks[t->track++] = (struct model_track){
        .path = paths[c->path],
        .interpolation = (uint32_t)c->interpolation,
        .target = b->node_of_source[c->node],
        .key_count = c->key_count,
        .time_first = time_first,
        .value_first = t->value,
    };
    memcpy(t->values + t->value, c->values, count * sizeof *t->values);
    t->value += count;
}

static void add_weight_tracks(const struct channel_range *range, const struct scene_channel *c,
                              uint32_t time_first, struct clip_tables *t)
{
    CHECK(range->count == c->width);
    uint32_t rows = c->key_count * values_per_key(c);
    for (uint32_t k = 0; k < range->count; k++) {
        t->tracks[t->track++] = (struct model_track){
            .path = MODEL_WEIGHTS,
            .interpolation = (uint32_t)c->interpolation,
            .target = range->first + k,
            .key_count = c->key_count,
            .time_first = time_first,
            .value_first = t->value,
        };
        for (uint32_t row = 0; row < rows; row++)
            t->values[t->value++] = c->values[(size_t)row * c->width + k];
    }
}

static int track_order(const void *a, const void *b)
{
    const struct model_track *x = a, *y = b;
    if (x->path != y->path) return x->path < y->path ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

static void add_clip(struct builder *b, const struct channel_range *ranges,
                     const struct scene_clip *clip, uint32_t index, struct clip_tables *t,
                     struct model_clip *out)
{
    *out = (struct model_clip){.name = builder_text(b, clip->name),
                               .source = index,
                               .loop = clip->loop,
                               .duration_s = clip->duration_s,
                               .track_first = t->track};
    for (uint32_t k = 0; k < clip->channel_count; k++) {
        const struct scene_channel *c = &clip->channels[k];
        if (tracks_of(b, ranges, c) == 0) continue;
        uint32_t time_first = t->time;
        memcpy(t->times + t->time, c->times, c->key_count * sizeof *t->times);
        t->time += c->key_count;
        if (c->path == SCENE_WEIGHTS)
            add_weight_tracks(&ranges[b->node_of_source[c->node]], c, time_first, t);
        else
            add_transform_track(b, c, time_first, t);
    }
    out->track_count = t->track - out->track_first;
    if (out->track_count > 0)
        qsort(t->tracks + out->track_first, out->track_count, sizeof *t->tracks, track_order);
}

enum err compile_clips(struct builder *b)
{
    struct channel_range *ranges = channels_by_node(b);
    if (!ranges) return builder_no_memory(b);
    struct clip_totals totals = count_all(b, ranges);
    if (totals.values > UINT32_MAX / 2 || totals.times > UINT32_MAX / 2 ||
        totals.tracks > UINT32_MAX / 2)
        return builder_no_memory(b);
    struct model_clip *clips = BUILDER_ARRAY(b, struct model_clip, b->scene->clip_count);
    struct clip_tables t = {.tracks = BUILDER_ARRAY(b, struct model_track, totals.tracks),
                            .times = BUILDER_ARRAY(b, float, totals.times),
                            .values = BUILDER_ARRAY(b, float, totals.values)};
    if (!clips || !t.tracks || !t.times || !t.values) return builder_no_memory(b);
    for (uint32_t i = 0; i < b->scene->clip_count; i++)
        add_clip(b, ranges, &b->scene->clips[i], i, &t, &clips[i]);
    CHECK(t.track == totals.tracks && t.time == totals.times && t.value == totals.values);
    b->model.clips = clips;
    b->model.clips_count = b->scene->clip_count;
    b->model.tracks = t.tracks;
    b->model.tracks_count = t.track;
    b->model.track_times = t.times;
    b->model.track_times_count = t.time;
    b->model.track_values = t.values;
    b->model.track_values_count = t.value;
    return ERR_OK;
}

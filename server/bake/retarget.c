#include "server/bake/retarget.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/bake/clip_sample.h"
#include "server/bake/turn.h"
#include "server/character/pose/humanoid.h"

enum { PATH_MAX_NODES = 4096 };
static const uint64_t WORK_MAX = 50000000; // joint rotations evaluated

// A skeleton at rest.
struct rest {
    const struct scene *scene;
    uint32_t *order;      // parents before children
    struct turn *turns;   // world rotation of each node
    struct xform *xforms; // world transform of each node
};

struct context {
    const struct retarget_job *job;
    struct pool scratch;
    struct fault *fault;
    enum err error;
    struct rest source, target;
    const struct scene_channel **rotation_of, **translation_of; // per source node, or NULL
    int32_t *pair_of_target;                                    // per target node: its pair or -1
    int32_t *above_target; // per target node: the nearest pair above it or -1
    struct turn q;         // target axes from source axes
    double ratio;          // of hip heights
    uint64_t work_left;
};

static bool fail(struct context *c, enum err code, const char *what)
{
    if (c->error == ERR_OK) c->error = fault_set(c->fault, code, "%s", what);
    return false;
}

static void *scratch(struct context *c, size_t count, size_t size_bytes)
{
    void *block = pool_take(&c->scratch, count, size_bytes);
    if (!block) (void)fail(c, ERR_LIMIT, "retargeting needs too much memory");
    return block;
}

// ---- rest poses

// Parents first: each round of the climb places what hangs on placed nodes.
static bool sort_nodes(struct context *c, const struct scene *s, uint32_t *order)
{
    bool *placed = scratch(c, s->node_count, sizeof *placed);
    int32_t *trail = scratch(c, s->node_count, sizeof *trail);
    if (!placed || !trail) return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->node_count; i++) {
        uint32_t depth = 0;
        for (int32_t at = (int32_t)i; at != SCENE_NONE && !placed[at]; at = s->nodes[at].parent)
            trail[depth++] = at;
        while (depth > 0) {
            order[n++] = (uint32_t)trail[--depth];
            placed[trail[depth]] = true;
        }
    }
    return true;
}

static bool rest_open(struct context *c, const struct scene *s, struct rest *out)
{
    *out = (struct rest){.scene = s,
                         .order = scratch(c, s->node_count, sizeof *out->order),
                         .turns = scratch(c, s->node_count, sizeof *out->turns),
                         .xforms = scratch(c, s->node_count, sizeof *out->xforms)};
    if (c->error != ERR_OK || !sort_nodes(c, s, out->order)) return false;
    for (uint32_t i = 0; i < s->node_count; i++) {
        uint32_t n = out->order[i];
        int32_t parent = s->nodes[n].parent;
        struct turn local = turn_from_quat(s->nodes[n].rest.rotation);
        out->turns[n] = parent == SCENE_NONE ? local : turn_mul(out->turns[parent], local);
        out->xforms[n] = parent == SCENE_NONE ? s->nodes[n].local
                                              : xform_mul(&out->xforms[parent], &s->nodes[n].local);
    }
    return true;
}

static struct turn parent_turn(const struct rest *r, int32_t node)
{
    int32_t parent = r->scene->nodes[node].parent;
    return parent == SCENE_NONE ? turn_none() : r->turns[parent];
}

// ---- axes and size

// Index of the largest component, signed: 1, -1, 2, -2, 3, -3.
static int main_axis(const double v[3])
{
    int best = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(v[i]) > fabs(v[best])) best = i;
    return v[best] < 0 ? -(best + 1) : best + 1;
}

static int32_t pair_with_bone(const struct context *c, const char *bone)
{
    int32_t want = humanoid_find(bone);
    for (uint32_t i = 0; i < c->job->pair_count; i++)
        if (c->job->pairs[i].bone == want) return (int32_t)i;
    return -1;
}

static void between(const struct rest *r, int32_t from, int32_t to, double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = r->xforms[to].col[3][i] - r->xforms[from].col[3][i];
}

// The axes along which a skeleton's left and up point, each the nearest axis of the world.
static bool body_axes(const struct rest *r, const int32_t nodes[4], struct xform *out)
{
    double left[3], up[3];
    between(r, nodes[1], nodes[0], left);
    between(r, nodes[2], nodes[3], up);
    int l = main_axis(left), u = main_axis(up);
    if (abs(l) == abs(u)) return false;
    *out = (struct xform){0};
    out->col[0][abs(l) - 1] = l < 0 ? -1 : 1;
    out->col[1][abs(u) - 1] = u < 0 ? -1 : 1;
    const double *a = out->col[0], *b = out->col[1];
    out->col[2][0] = a[1] * b[2] - a[2] * b[1];
    out->col[2][1] = a[2] * b[0] - a[0] * b[2];
    out->col[2][2] = a[0] * b[1] - a[1] * b[0];
    return true;
}

static void find_axes(struct context *c)
{
    const char *const bones[2][4] = {{"leftUpperLeg", "rightUpperLeg", "hips", "head"},
                                     {"leftUpperArm", "rightUpperArm", "hips", "neck"}};
    c->q = turn_none();
    for (int set = 0; set < 2; set++) {
        int32_t source[4], target[4];
        bool all = true;
        for (int i = 0; i < 4; i++) {
            int32_t pair = pair_with_bone(c, bones[set][i]);
            all = all && pair >= 0;
            source[i] = pair < 0 ? 0 : c->job->pairs[pair].source;
            target[i] = pair < 0 ? 0 : c->job->pairs[pair].target;
        }
        struct xform from, to;
        if (!all || !body_axes(&c->source, source, &from) || !body_axes(&c->target, target, &to))
            continue;
        c->q = turn_mul(turn_from_axes(&to), turn_inverse(turn_from_axes(&from)));
        return;
    }
}

// The pair whose place in the world moves: the hips, else the topmost that has a translation.
static int32_t moving_pair(const struct context *c)
{
    int32_t hips = pair_with_bone(c, "hips");
    if (hips >= 0) return hips;
    for (uint32_t i = 0; i < c->source.scene->node_count; i++) {
        int32_t node = (int32_t)c->source.order[i];
        if (!c->translation_of[node]) continue;
        for (uint32_t p = 0; p < c->job->pair_count; p++)
            if (c->job->pairs[p].source == node) return (int32_t)p;
        return -1;
    }
    return -1;
}

static double up_of(const struct context *c, const struct rest *r, int32_t node, bool is_source)
{
    double place[3];
    memcpy(place, r->xforms[node].col[3], sizeof place);
    if (is_source) turn_point(c->q, place, place);
    return place[1];
}

// Hips above ankles with straight legs: the rest poses of motion capture often stand astride.
// 0 where a leg is not paired.
static double leg_height(const struct context *c, bool is_source)
{
    static const char *const bones[4] = {"hips", "leftUpperLeg", "leftLowerLeg", "leftFoot"};
    const struct rest *r = is_source ? &c->source : &c->target;
    double height = 0, gap[3];
    int32_t nodes[4];
    for (int i = 0; i < 4; i++) {
        int32_t pair = pair_with_bone(c, bones[i]);
        if (pair < 0) return 0;
        nodes[i] = is_source ? c->job->pairs[pair].source : c->job->pairs[pair].target;
    }
    height = up_of(c, r, nodes[0], is_source) - up_of(c, r, nodes[1], is_source);
    for (int i = 1; i < 3; i++) {
        between(r, nodes[i], nodes[i + 1], gap);
        height += sqrt(gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2]);
    }
    return height;
}

// Hips above the lowest joint that is paired.
static double drop_height(const struct context *c, int32_t moving, bool is_source)
{
    const struct rest *r = is_source ? &c->source : &c->target;
    const struct retarget_pair *hips = &c->job->pairs[moving];
    double top = up_of(c, r, is_source ? hips->source : hips->target, is_source), low = top;
    for (uint32_t i = 0; i < c->job->pair_count; i++) {
        const struct retarget_pair *p = &c->job->pairs[i];
        low = fmin(low, up_of(c, r, is_source ? p->source : p->target, is_source));
    }
    return top - low;
}

static void find_ratio(struct context *c, int32_t moving)
{
    const struct retarget_pair *hips = &c->job->pairs[moving];
    double source = up_of(c, &c->source, hips->source, true);
    double target = up_of(c, &c->target, hips->target, false);
    if (!c->job->rest_on_ground) {
        source = leg_height(c, true);
        target = leg_height(c, false);
        if (!(source > 0 && target > 0)) {
            source = drop_height(c, moving, true);
            target = drop_height(c, moving, false);
        }
    }
    bool usable = source > 1e-6 && target > 1e-6 && isfinite(target / source);
    c->ratio = usable ? target / source : 1;
    if (!usable)
        scene_note(c->job->target, NOTE_REPAIRED, 1,
                   "clips whose hip height cannot be told: places are not scaled");
}

// ---- one pair

struct path {     // nodes of the source from below `base` (or from the root) down to the joint
    int32_t base; // or SCENE_NONE
    int32_t end;
    uint32_t count;
    int32_t *nodes; // top first
};

static bool path_open(struct context *c, int32_t base, int32_t end, struct path *out)
{
    const struct scene_node *nodes = c->source.scene->nodes;
    *out = (struct path){.base = base, .end = end};
    int32_t at = end;
    for (; at != SCENE_NONE && at != base; at = nodes[at].parent)
        out->count++;
    if (at != base) return false; // base is not above
    if (out->count > PATH_MAX_NODES) return fail(c, ERR_LIMIT, "joints hang too deep");
    out->nodes = scratch(c, out->count, sizeof *out->nodes);
    uint32_t i = out->count;
    for (at = end; out->nodes && i > 0; at = nodes[at].parent)
        out->nodes[--i] = at;
    return out->nodes != NULL;
}

// How far the end has turned in the world since its rest, relative to how far the base has.
static struct turn path_turn(const struct context *c, const struct path *p, double time,
                             uint32_t *cursors)
{
    struct turn t = p->base == SCENE_NONE ? turn_none() : c->source.turns[p->base];
    for (uint32_t i = 0; i < p->count; i++) {
        const struct scene_channel *channel = c->rotation_of[p->nodes[i]];
        struct turn local = channel
                                ? clip_sample_turn(channel, time, &cursors[i])
                                : turn_from_quat(c->source.scene->nodes[p->nodes[i]].rest.rotation);
        t = turn_mul(t, local);
    }
    return turn_mul(t, turn_inverse(c->source.turns[p->end]));
}

static int by_time(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

struct times {
    const struct scene_channel *first;
    uint32_t channel_count, count;
    bool all_step;
    float *values; // merged; in the target's pool
};

static void times_add(struct times *t, const struct scene_channel *channel)
{
    if (!channel) return;
    if (!t->first) {
        t->first = channel;
        t->all_step = true;
    }
    t->all_step = t->all_step && channel->interpolation == SCENE_STEP;
    t->channel_count++;
    if (channel->times != t->first->times || t->channel_count == 1) t->count += channel->key_count;
}

static void times_copy(struct times *t, const struct scene_channel *channel)
{
    if (!channel || (t->count > 0 && channel->times == t->first->times)) return;
    memcpy(t->values + t->count, channel->times, channel->key_count * sizeof(float));
    t->count += channel->key_count;
}

static bool work(struct context *c, uint64_t amount)
{
    if (amount > c->work_left) return fail(c, ERR_LIMIT, "retargeting would take too long");
    c->work_left -= amount;
    return true;
}

// The union of all key times on the paths; channels that share their times (BVH) cost nothing.
static bool times_merge(struct context *c, const struct path *paths, int path_count,
                        bool with_places, struct times *t)
{
    *t = (struct times){0};
    for (int p = 0; p < path_count; p++)
        for (uint32_t i = 0; i < paths[p].count; i++) {
            times_add(t, c->rotation_of[paths[p].nodes[i]]);
            if (with_places) times_add(t, c->translation_of[paths[p].nodes[i]]);
        }
    if (t->count == 0) return true;
    t->values = POOL_ARRAY(&c->job->target->pool, float, t->count);
    if (!t->values) return fail(c, ERR_LIMIT, "the clip needs too much memory");
    t->count = 0;
    for (int p = 0; p < path_count; p++)
        for (uint32_t i = 0; i < paths[p].count; i++) {
            times_copy(t, c->rotation_of[paths[p].nodes[i]]);
            if (with_places) times_copy(t, c->translation_of[paths[p].nodes[i]]);
        }
    qsort(t->values, t->count, sizeof(float), by_time);
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->count; i++)
        if (n == 0 || t->values[i] > t->values[n - 1]) t->values[n++] = t->values[i];
    t->count = n;
    return true;
}

static float *keep_floats(struct context *c, size_t count)
{
    float *values = POOL_ARRAY(&c->job->target->pool, float, count);
    if (!values) (void)fail(c, ERR_LIMIT, "the clip needs too much memory");
    return values;
}

// target_local = left * source_delta * right; source_delta in the source's axes.
struct frame {
    struct turn left, right;
};

static struct frame frame_of(const struct context *c, int32_t target)
{
    return (struct frame){
        turn_mul(turn_inverse(parent_turn(&c->target, target)), c->q),
        turn_mul(turn_inverse(c->q), c->target.turns[target]),
    };
}

// A single cubic channel keeps its curve: everything around it is constant, and multiplying by
// constants is linear, so keys and tangents go over alike.
static bool map_cubic(struct context *c, const struct path *p, const struct frame *f,
                      const struct scene_channel *in, struct scene_channel *out)
{
    struct turn left = p->base == SCENE_NONE ? turn_none() : c->source.turns[p->base];
    struct turn right = turn_none();
    bool passed = false;
    for (uint32_t i = 0; i < p->count; i++) {
        struct turn rest = turn_from_quat(c->source.scene->nodes[p->nodes[i]].rest.rotation);
        if (c->rotation_of[p->nodes[i]])
            passed = true;
        else if (passed)
            right = turn_mul(right, rest);
        else
            left = turn_mul(left, rest);
    }
    left = turn_mul(f->left, left);
    right = turn_mul(turn_mul(right, turn_inverse(c->source.turns[p->end])), f->right);
    size_t count = 3 * (size_t)in->key_count;
    float *values = keep_floats(c, 4 * count), *times = keep_floats(c, in->key_count);
    if (!values || !times || !work(c, count)) return false;
    memcpy(times, in->times, in->key_count * sizeof *times);
    for (size_t i = 0; i < count; i++) {
        const float *v = in->values + 4 * i;
        struct turn t = {(double)v[0], (double)v[1], (double)v[2], (double)v[3]};
        t = turn_mul(turn_mul(left, t), right);
        float mapped[4] = {(float)t.x, (float)t.y, (float)t.z, (float)t.w};
        memcpy(values + 4 * i, mapped, sizeof mapped);
    }
    *out = *in;
    out->times = times;
    out->values = values;
    return true;
}

static bool map_sampled(struct context *c, const struct path *paths, int path_count,
                        const struct frame *f, const struct times *t, struct scene_channel *out)
{
    uint32_t *cursors[2] = {scratch(c, paths[0].count, sizeof(uint32_t)),
                            path_count > 1 ? scratch(c, paths[1].count, sizeof(uint32_t)) : NULL};
    float *values = keep_floats(c, 4 * (size_t)t->count);
    uint64_t joints = paths[0].count + (path_count > 1 ? paths[1].count : 0) + 1;
    if (c->error != ERR_OK || !values || !work(c, joints * t->count)) return false;
    for (uint32_t i = 0; i < t->count; i++) {
        double time = (double)t->values[i];
        struct turn delta = path_turn(c, &paths[0], time, cursors[0]);
        if (path_count > 1)
            delta = turn_mul(turn_inverse(path_turn(c, &paths[1], time, cursors[1])), delta);
        struct quat q = quat_from_turn(turn_mul(turn_mul(f->left, delta), f->right));
        memcpy(values + 4 * (size_t)i, &q, sizeof q);
    }
    *out = (struct scene_channel){.interpolation = t->all_step ? SCENE_STEP : SCENE_LINEAR,
                                  .key_count = t->count,
                                  .width = 4,
                                  .times = t->values,
                                  .values = values};
    return true;
}

// False when nothing on the way moves (or on failure).
static bool map_rotation(struct context *c, const struct retarget_pair *pair,
                         struct scene_channel *out)
{
    int32_t above = c->above_target[pair->target];
    int32_t base = above < 0 ? SCENE_NONE : c->job->pairs[above].source;
    struct path paths[2];
    int path_count = 1;
    if (!path_open(c, base, pair->source, &paths[0])) {
        // The source's pair above is somewhere else: both from the root, one against the other.
        if (c->error != ERR_OK || !path_open(c, SCENE_NONE, pair->source, &paths[0]) ||
            !path_open(c, SCENE_NONE, base, &paths[1]))
            return false;
        path_count = 2;
    }
    struct times times;
    struct frame frame = frame_of(c, pair->target);
    if (!times_merge(c, paths, path_count, false, &times) || times.count == 0) return false;
    bool curve =
        times.channel_count == 1 && path_count == 1 && times.first->interpolation == SCENE_CUBIC;
    bool ok = curve ? map_cubic(c, &paths[0], &frame, times.first, out)
                    : map_sampled(c, paths, path_count, &frame, &times, out);
    out->node = pair->target;
    out->path = SCENE_ROTATION;
    return ok;
}

// ---- the place of the hips

static void place_at(struct context *c, const struct path *p, double time, uint32_t *cursors,
                     double out[3])
{
    struct xform world = xform_identity();
    for (uint32_t i = 0; i < p->count; i++) {
        const struct scene_node *n = &c->source.scene->nodes[p->nodes[i]];
        const struct scene_channel *rotation = c->rotation_of[p->nodes[i]],
                                   *translation = c->translation_of[p->nodes[i]];
        struct xform local = n->local;
        if (rotation || translation) {
            struct trs rest = n->rest;
            double t[3];
            if (rotation)
                rest.rotation =
                    quat_from_turn(clip_sample_turn(rotation, time, &cursors[2 * (size_t)i]));
            local = xform_from_trs(&rest);
            if (translation) {
                clip_sample_vec3(translation, time, &cursors[2 * (size_t)i + 1], t);
                memcpy(local.col[3], t, sizeof t);
            }
        }
        world = xform_mul(&world, &local);
    }
    turn_point(c->q, world.col[3], out);
    for (int i = 0; i < 3; i++)
        out[i] *= c->ratio;
}

static bool map_place(struct context *c, const struct retarget_pair *pair,
                      struct scene_channel *out)
{
    struct path path;
    struct times times;
    if (!path_open(c, SCENE_NONE, pair->source, &path)) return false;
    bool moves = false;
    for (uint32_t i = 0; i < path.count; i++)
        moves = moves || c->translation_of[path.nodes[i]];
    if (!moves || !times_merge(c, &path, 1, true, &times) || times.count == 0) return false;
    int32_t parent = c->target.scene->nodes[pair->target].parent;
    struct xform inverse = xform_identity();
    if (parent != SCENE_NONE && !xform_invert(&c->target.xforms[parent], &inverse)) return false;
    uint32_t *cursors = scratch(c, 2 * (size_t)path.count, sizeof *cursors);
    float *values = keep_floats(c, 3 * (size_t)times.count);
    if (!cursors || !values || !work(c, (uint64_t)path.count * times.count)) return false;
    for (uint32_t i = 0; i < times.count; i++) {
        double place[3];
        place_at(c, &path, (double)times.values[i], cursors, place);
        xform_point(&inverse, place, place);
        for (size_t k = 0; k < 3; k++) {
            float v = (float)place[k];
            if (!isfinite(v)) return fail(c, ERR_MALFORMED, "the hips leave all bounds");
            values[3 * (size_t)i + k] = v;
        }
    }
    *out = (struct scene_channel){.node = pair->target,
                                  .path = SCENE_TRANSLATION,
                                  .interpolation = times.all_step ? SCENE_STEP : SCENE_LINEAR,
                                  .key_count = times.count,
                                  .width = 3,
                                  .times = times.values,
                                  .values = values};
    return true;
}

// ---- the clip

static bool index_channels(struct context *c)
{
    const struct scene_clip *clip = c->job->clip;
    c->rotation_of = scratch(c, c->job->source->node_count, sizeof(void *));
    c->translation_of = scratch(c, c->job->source->node_count, sizeof(void *));
    if (c->error != ERR_OK) return false;
    for (uint32_t i = 0; i < clip->channel_count; i++) {
        const struct scene_channel *channel = &clip->channels[i];
        if (channel->path == SCENE_ROTATION) c->rotation_of[channel->node] = channel;
        if (channel->path == SCENE_TRANSLATION) c->translation_of[channel->node] = channel;
    }
    return true;
}

static bool index_pairs(struct context *c)
{
    const struct scene *target = c->job->target;
    c->pair_of_target = scratch(c, target->node_count, sizeof *c->pair_of_target);
    c->above_target = scratch(c, target->node_count, sizeof *c->above_target);
    if (c->error != ERR_OK) return false;
    for (uint32_t i = 0; i < target->node_count; i++)
        c->pair_of_target[i] = -1;
    for (uint32_t i = 0; i < c->job->pair_count; i++)
        c->pair_of_target[c->job->pairs[i].target] = (int32_t)i;
    for (uint32_t i = 0; i < target->node_count; i++) {
        uint32_t n = c->target.order[i];
        int32_t parent = target->nodes[n].parent;
        c->above_target[n] = parent == SCENE_NONE             ? -1
                             : c->pair_of_target[parent] >= 0 ? c->pair_of_target[parent]
                                                              : c->above_target[parent];
    }
    return true;
}

static void add_channel(struct scene_clip *out, const struct scene_channel *channel)
{
    out->channels[out->channel_count++] = *channel;
    out->duration_s = fmaxf(out->duration_s, channel->times[channel->key_count - 1]);
}

static bool run(struct context *c, struct scene_clip *out)
{
    const struct retarget_job *job = c->job;
    if (!rest_open(c, job->source, &c->source) || !rest_open(c, job->target, &c->target) ||
        !index_channels(c) || !index_pairs(c))
        return false;
    find_axes(c);
    out->channels = POOL_ARRAY(&job->target->pool, struct scene_channel, job->pair_count + 1);
    if (!out->channels) return fail(c, ERR_LIMIT, "the clip needs too much memory");
    int32_t moving = moving_pair(c);
    struct scene_channel channel;
    if (moving >= 0) {
        find_ratio(c, moving);
        if (map_place(c, &job->pairs[moving], &channel)) add_channel(out, &channel);
    }
    for (uint32_t i = 0; i < job->pair_count && c->error == ERR_OK; i++)
        if (map_rotation(c, &job->pairs[i], &channel)) add_channel(out, &channel);
    return c->error == ERR_OK;
}

enum err retarget_clip(const struct retarget_job *job, struct scene_clip *out, struct fault *fault)
{
    struct context c = {.job = job, .fault = fault, .work_left = WORK_MAX};
    *out = (struct scene_clip){.name = "", .loop = true};
    pool_init(&c.scratch, (size_t)256 << 20);
    (void)run(&c, out);
    pool_free(&c.scratch);
    return c.error;
}

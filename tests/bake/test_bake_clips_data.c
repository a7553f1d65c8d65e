// Motion that nobody here made, on characters that nobody here made: every joint must have turned
// in the world, relative to the paired joint above it, as its source has, up to the turn between
// the two skeletons' axes.
#include "common/file.h"
#include "server/bake/bvh.h"
#include "server/bake/clip_map.h"
#include "server/bake/clip_sample.h"
#include "server/bake/import.h"
#include "tests/bake/scene_check.h"
#include "tests/testing.h"

int testing_failures;
static const char *data;

static struct scene open_model(const char *name)
{
    char path[1024];
    struct import_limits limits = import_limits_default();
    struct scene scene;
    struct fault fault = {0};
    snprintf(path, sizeof path, "%s/%s", data, name);
    if (import_file(path, &limits, &scene, &fault) != ERR_OK) printf("  %s\n", fault.line);
    EXPECT(fault.code == ERR_OK);
    return scene;
}

static struct scene open_motion(const char *name)
{
    char path[1024];
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct scene scene;
    snprintf(path, sizeof path, "%s/%s", data, name);
    if (!strstr(name, ".bvh")) return open_model(name);
    EXPECT(file_read(path, (size_t)1 << 30, &bytes, &size, NULL) == ERR_OK);
    EXPECT(bvh_parse((const char *)bytes, size, &scene, NULL) == ERR_OK);
    free(bytes);
    return scene;
}

static struct turn world_turn(const struct scene *s, const struct scene_clip *clip, int32_t node,
                              double time)
{
    struct turn t = turn_none();
    for (; node != SCENE_NONE; node = s->nodes[node].parent) {
        struct turn local = turn_from_quat(s->nodes[node].rest.rotation);
        for (uint32_t i = 0; clip && i < clip->channel_count; i++)
            if (clip->channels[i].node == node && clip->channels[i].path == SCENE_ROTATION) {
                uint32_t cursor = 0;
                local = clip_sample_turn(&clip->channels[i], time, &cursor);
            }
        t = turn_mul(local, t);
    }
    return t;
}

// How a joint has turned in the world since its rest.
static struct turn world_delta(const struct scene *s, const struct scene_clip *clip, int32_t node,
                               double time)
{
    return turn_mul(world_turn(s, clip, node, time), turn_inverse(world_turn(s, NULL, node, 0)));
}

static int32_t pair_above(const struct scene *target, const struct clip_map *map, int32_t node)
{
    for (node = target->nodes[node].parent; node != SCENE_NONE; node = target->nodes[node].parent)
        for (uint32_t i = 0; i < map->pair_count; i++)
            if (map->pairs[i].target == node) return (int32_t)i;
    return -1;
}

static double angle(struct turn t)
{
    return 2 * atan2(sqrt(t.x * t.x + t.y * t.y + t.z * t.z), fabs(t.w));
}

// The deltas' angles agree whatever the axes; with equal axes the deltas themselves.
static double worst_difference(const struct scene *source, const struct scene *target,
                               const struct clip_map *map, struct turn axes)
{
    const struct scene_clip *from = &source->clips[0], *to = &target->clips[target->clip_count - 1];
    double worst = 0;
    for (int step = 0; step <= 8; step++) {
        double time = (double)to->duration_s * step / 8;
        // Between keys two slerps of a chain differ from one; at keys they agree.
        const struct scene_channel *any = &to->channels[to->channel_count - 1];
        uint32_t key = (uint32_t)((double)(any->key_count - 1) * step / 8);
        time = (double)any->times[key];
        for (uint32_t i = 0; i < map->pair_count; i++) {
            const struct retarget_pair *p = &map->pairs[i];
            int32_t above = pair_above(target, map, p->target);
            struct turn s = world_delta(source, from, p->source, time);
            struct turn t = world_delta(target, to, p->target, time);
            if (above >= 0) {
                const struct retarget_pair *a = &map->pairs[above];
                s = turn_mul(turn_inverse(world_delta(source, from, a->source, time)), s);
                t = turn_mul(turn_inverse(world_delta(target, to, a->target, time)), t);
            }
            s = turn_mul(turn_mul(axes, s), turn_inverse(axes));
            worst = fmax(worst, angle(turn_mul(turn_inverse(s), t)));
        }
    }
    return worst;
}

static void carry(const char *model, const char *motion, bool by_name, struct turn axes)
{
    char path[1024];
    struct import_limits limits = import_limits_default();
    struct scene target = open_model(model), source = open_motion(motion);
    struct pool pool;
    struct fault fault = {0};
    pool_init(&pool, (size_t)64 << 20);
    snprintf(path, sizeof path, "%s/%s", data, motion);
    enum err e = import_clips(path, "Carried", false, &limits, &target, &fault);
    if (e != ERR_OK) printf("  %s\n", fault.line);
    EXPECT(e == ERR_OK);
    if (e == ERR_OK) {
        struct clip_map map = by_name ? clip_map_by_name(&source, &target, &pool)
                                      : clip_map_by_bone(&source, &target, &pool);
        const struct scene_clip *clip = &target.clips[target.clip_count - 1];
        double worst = worst_difference(&source, &target, &map, axes);
        printf("  %s on %s: %u joints, %u channels, %.3g s, worst %.2g rad\n", motion, model,
               map.pair_count, clip->channel_count, (double)clip->duration_s, worst);
        EXPECT(strcmp(clip->name, "Carried") == 0 && !clip->loop);
        EXPECT(map.pair_count >= 15);
        EXPECT(worst < 2e-3);
        EXPECT(!scene_check(&target));
    }
    pool_free(&pool);
    scene_free(&source);
    scene_free(&target);
}

static const struct turn ABOUT_Y = {0, 1, 0, 0};
static const struct turn Z_UP = {-0.70710678118654752, 0, 0, 0.70710678118654752};

static void a_bvh_moves_the_character_with_its_joint_names(void)
{
    carry("psd/makehuman/mh_cmu.glb", "mocap/cmu/02_01.bvh", true, turn_none());
}

static void a_bvh_moves_characters_by_humanoid_bone(void)
{
    carry("vrm/debug_robot.vrm", "mocap/cmu/14_14_short.bvh", false, turn_none());
    carry("vrm/debug_robot.vrm", "mocap/cmu/Boxing_Toes.bvh", false, turn_none());
    carry("psd/makehuman/mh_cmu.glb", "mocap/cmu/jumping_jacks.bvh", false, turn_none());
    carry("psd/makehuman/mh_cmu.glb", "mocap/cmu/131_01.bvh", false, turn_none());
}

static void a_bvh_whose_up_is_z_stands_up(void)
{
    carry("vrm/debug_robot.vrm", "mocap/fair/dab.bvh", false, Z_UP);
}

static void a_vrma_moves_vrm_1_and_the_turned_round_vrm_0(void)
{
    carry("vrm/debug_robot.vrm", "vrm/three-vrm/test.vrma", false, turn_none());
    carry("vrm/debug_robot.vrm", "vrm/three-vrm/idle_loop.vrma", false, turn_none());
    carry("vrm/Godette_vrm_v4.vrm", "vrm/three-vrm/idle_loop.vrma", false, ABOUT_Y);
}

static void hips_stay_above_the_ground_at_their_own_height(void)
{
    char path[1024];
    struct import_limits limits = import_limits_default();
    struct scene target = open_model("psd/makehuman/mh_cmu.glb");
    snprintf(path, sizeof path, "%s/mocap/cmu/02_01.bvh", data);
    EXPECT(import_clips(path, NULL, true, &limits, &target, NULL) == ERR_OK);
    const struct scene_clip *clip = &target.clips[target.clip_count - 1];
    EXPECT(strcmp(clip->name, "02_01") == 0);
    double low = 1e9, high = -1e9, rest = 0;
    for (uint32_t i = 0; i < clip->channel_count; i++) {
        const struct scene_channel *c = &clip->channels[i];
        if (c->path != SCENE_TRANSLATION) continue;
        rest = (double)target.nodes[c->node].rest.translation.y;
        for (uint32_t k = 0; k < c->key_count; k++) {
            low = fmin(low, (double)c->values[3 * k + 1]);
            high = fmax(high, (double)c->values[3 * k + 1]);
        }
    }
    printf("  hips from %.3g to %.3g, rest %.3g\n", low, high, rest);
    EXPECT(rest > 0 && low > 0.8 * rest && high < 1.25 * rest); // a walk
    scene_free(&target);
}

static void a_clip_of_the_same_rig_goes_over_as_it_is(void)
{
    char path[1024];
    struct import_limits limits = import_limits_default();
    struct scene target = open_model("gltf/khronos/Fox.glb"),
                 again = open_model("gltf/khronos/Fox.glb");
    snprintf(path, sizeof path, "%s/gltf/khronos/Fox.glb", data);
    uint32_t own = target.clip_count;
    EXPECT(import_clips(path, NULL, true, &limits, &target, NULL) == ERR_OK);
    EXPECT(target.clip_count == 2 * own);
    for (uint32_t i = 0; i < own; i++) {
        const struct scene_clip *a = &again.clips[i], *b = &target.clips[own + i];
        EXPECT(strcmp(a->name, b->name) == 0 && a->channel_count == b->channel_count);
        for (uint32_t c = 0; c < a->channel_count; c++)
            EXPECT(memcmp(a->channels[c].values, b->channels[c].values,
                          a->channels[c].width * a->channels[c].key_count * sizeof(float)) == 0);
    }
    scene_free(&target);
    scene_free(&again);
}

int main(void)
{
    data = testing_data();
    if (!data) {
        printf("skipped: the shared test data is not here (SINEW_TEST_DATA)\n");
        return TESTING_SKIPPED;
    }
    RUN(a_bvh_moves_the_character_with_its_joint_names);
    RUN(a_bvh_moves_characters_by_humanoid_bone);
    RUN(a_bvh_whose_up_is_z_stands_up);
    RUN(a_vrma_moves_vrm_1_and_the_turned_round_vrm_0);
    RUN(hips_stay_above_the_ground_at_their_own_height);
    RUN(a_clip_of_the_same_rig_goes_over_as_it_is);
    TESTING_MAIN_END;
}

// Clips from elsewhere, on skeletons small enough to check by hand.
#include <unistd.h>

#include "server/bake/bvh.h"
#include "server/bake/clip_sample.h"
#include "server/bake/import.h"
#include "server/character/pose/humanoid.h"
#include "tests/bake/build.h"
#include "tests/bake/scene_check.h"
#include "tests/testing.h"

int testing_failures;

static void write_text(const char *path, const char *text, size_t size)
{
    FILE *f = fopen(path, "wb");
    EXPECT(f && fwrite(text, 1, size, f) == size);
    if (f) fclose(f);
}

static bool open_body(const char *body, struct scene *out)
{
    struct build b = {0};
    struct built built = build_gltf(&b, body);
    struct import_limits limits = import_limits_default();
    struct fault fault = {0};
    enum err e = import_bytes(built.bytes, built.size_bytes, NULL, &limits, out, &fault);
    if (e != ERR_OK) printf("  %s\n", fault.line);
    EXPECT(e == ERR_OK);
    free(built.bytes);
    return e == ERR_OK;
}

static enum err add_clips(struct scene *target, const char *name, const char *text, size_t size,
                          const char *rename, struct fault *fault)
{
    char folder[] = "/tmp/sinew_clips_XXXXXX", path[128];
    struct import_limits limits = import_limits_default();
    EXPECT(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    write_text(path, text, size);
    enum err e = import_clips(path, rename, true, &limits, target, fault);
    unlink(path);
    rmdir(folder);
    return e;
}

static const struct scene_channel *channel_of(const struct scene *s, const char *node,
                                              enum scene_path path)
{
    const struct scene_clip *clip = &s->clips[s->clip_count - 1];
    for (uint32_t i = 0; i < clip->channel_count; i++)
        if (clip->channels[i].path == path &&
            strcmp(s->nodes[clip->channels[i].node].name, node) == 0)
            return &clip->channels[i];
    return NULL;
}

static void expect_turn(const struct scene_channel *c, uint32_t key, const double want[4])
{
    EXPECT(c != NULL);
    if (!c) return;
    const float *q = c->values + 4 * key;
    double dot = 0;
    for (int i = 0; i < 4; i++)
        dot += (double)q[i] * want[i];
    if (fabs(fabs(dot) - 1) > 1e-6)
        printf("  %g %g %g %g, not %g %g %g %g\n", (double)q[0], (double)q[1], (double)q[2],
               (double)q[3], want[0], want[1], want[2], want[3]);
    EXPECT_NEAR(fabs(dot), 1, 1e-6);
}

// Hips 10 above the ankle; frame 1 lifts the hips by 1 and turns the spine.
static const char bvh[] =
    "HIERARCHY\r\nROOT Hips\r\n{\r\nOFFSET 0 0 0\r\nCHANNELS 6 Xposition Yposition Zposition "
    "Zrotation Xrotation Yrotation\r\nJOINT Spine\r\n{\r\nOFFSET 0 5 0\r\nCHANNELS 3 Zrotation "
    "Xrotation Yrotation\r\nEnd Site\r\n{\r\nOFFSET 0 5 0\r\n}\r\n}\r\nJOINT LeftFoot\r\n{\r\n"
    "OFFSET 1 -10 0\r\nCHANNELS 3 Zrotation Xrotation Yrotation\r\nEnd Site\r\n{\r\nOFFSET 0 0 1"
    "\r\n}\r\n}\r\n}\r\nMOTION\r\nFrames: 2\r\nFrame Time: 0.5\r\n"
    "0 10 0 0 0 0 0 0 0 0 0 0\r\n2 11 4 0 0 0 90 90 0 0 0 0\r\n";

static void the_first_channel_of_a_bvh_turns_last(void)
{
    struct scene s;
    EXPECT(bvh_parse(bvh, sizeof bvh - 1, &s, NULL) == ERR_OK);
    EXPECT(s.node_count == 3 && s.nodes[2].parent == 0 && s.nodes[1].rest.translation.y == 5);
    EXPECT(!scene_check(&s) && s.clips[0].duration_s == 0.5F);
    const struct scene_channel *c = channel_of(&s, "Spine", SCENE_ROTATION);
    double up[3] = {0, 1, 0};
    uint32_t cursor = 0;
    turn_point(clip_sample_turn(c, 0.5, &cursor), up, up); // X first: up goes to +Z, Z keeps it
    EXPECT_NEAR(up[2], 1, 1e-6);
    expect_turn(c, 1, (const double[4]){0.5, 0.5, 0.5, 0.5});
    scene_free(&s);
}

// The character stands 1 high, and its spine rests turned by 90 degrees about z.
static const char character[] =
    "\"nodes\":[{\"name\":\"Armature\",\"children\":[1],\"scale\":[0.5,0.5,0.5]},"
    "{\"name\":\"Hips\",\"translation\":[0,2,0],\"children\":[2,3]},"
    "{\"name\":\"Spine\",\"translation\":[0,1,0],\"rotation\":[0,0,0.70710678,0.70710678]},"
    "{\"name\":\"LeftFoot\",\"translation\":[0,-2,0]}]";

static void a_bvh_turns_the_target_in_the_axes_of_the_world(void)
{
    struct scene s;
    struct fault fault = {0};
    if (!open_body(character, &s)) return;
    EXPECT(add_clips(&s, "lift.bvh", bvh, sizeof bvh - 1, NULL, &fault) == ERR_OK);
    EXPECT(s.clip_count == 1 && strcmp(s.clips[0].name, "lift") == 0 && !scene_check(&s));
    // At rest it keeps its rest; then N * rest with N = (0.5, 0.5, 0.5, 0.5).
    const struct scene_channel *spine = channel_of(&s, "Spine", SCENE_ROTATION);
    expect_turn(spine, 0, (const double[4]){0, 0, 0.70710678, 0.70710678});
    expect_turn(spine, 1, (const double[4]){0.70710678, 0, 0.70710678, 0});
    // 11 high of 10 is 1.1 of its own 1, in the armature's halved space.
    const struct scene_channel *place = channel_of(&s, "Hips", SCENE_TRANSLATION);
    EXPECT(place != NULL);
    if (place) {
        EXPECT_NEAR(place->values[1], 2, 1e-5);
        EXPECT_NEAR(place->values[4], 2.2, 1e-5);
        EXPECT_NEAR(place->values[3], 0.4, 1e-5);
        EXPECT_NEAR(place->values[5], 0.8, 1e-5);
    }
    scene_free(&s);
}

static void a_cubic_curve_of_a_vrma_stays_cubic(void)
{
    struct build b = {0};
    float times[2] = {0, 1};
    float keys[24] = {0, 0, 0,    0, 0, 0, 0,           1,           0, 0, 0.5F, 0,
                      0, 0, 0.5F, 0, 0, 0, 0.70710678F, 0.70710678F, 0, 0, 0,    0};
    struct scene s;
    struct fault fault = {0};
    build_floats(&b, times, 2);
    build_floats(&b, keys, 24);
    struct built vrma = build_glb(
        &b, "\"nodes\":[{\"name\":\"root\",\"children\":[1]},{\"name\":\"a\",\"translation\":[0,1,"
            "0],\"children\":[2]},{\"name\":\"b\"}],\"animations\":[{\"samplers\":[{\"input\":0,"
            "\"output\":1,\"interpolation\":\"CUBICSPLINE\"}],\"channels\":[{\"sampler\":0,"
            "\"target\":{\"node\":2,\"path\":\"rotation\"}}]}],\"accessors\":[{\"bufferView\":0,"
            "\"componentType\":5126,\"count\":2,\"type\":\"SCALAR\"},{\"bufferView\":1,"
            "\"componentType\":5126,\"count\":6,\"type\":\"VEC4\"}],\"extensions\":{"
            "\"VRMC_vrm_animation\":{\"specVersion\":\"1.0\",\"humanoid\":{\"humanBones\":{"
            "\"hips\":{\"node\":1},\"spine\":{\"node\":2}}}}}");
    if (!open_body(character, &s)) return;
    EXPECT(add_clips(&s, "x.vrma", (const char *)vrma.bytes, vrma.size_bytes, "Wave", &fault) ==
           ERR_OK);
    EXPECT(s.clip_count == 1 && strcmp(s.clips[0].name, "Wave") == 0 && !scene_check(&s));
    const struct scene_channel *c = channel_of(&s, "Spine", SCENE_ROTATION);
    EXPECT(c && c->interpolation == SCENE_CUBIC && c->key_count == 2);
    if (c) { // N = keys, local = N * rest (a turn about z both)
        EXPECT_NEAR(c->values[4 + 2], 0.70710678, 1e-6);
        EXPECT_NEAR(c->values[16 + 2], 1, 1e-6);
        EXPECT_NEAR(c->values[8 + 2], 0.5 * 0.70710678, 1e-6); // a tangent goes the same way
        EXPECT_NEAR(c->values[8 + 3], -0.5 * 0.70710678, 1e-6);
    }
    free(vrma.bytes);
    scene_free(&s);
}

static void what_fits_nothing_is_refused_by_file(void)
{
    struct scene s;
    struct fault fault = {0};
    if (!open_body("\"nodes\":[{\"name\":\"wheel\"}]", &s)) return;
    EXPECT(add_clips(&s, "lift.bvh", bvh, sizeof bvh - 1, NULL, &fault) == ERR_NOT_FOUND);
    EXPECT(strstr(fault.line, "lift.bvh") != NULL);
    fault = (struct fault){0};
    EXPECT(add_clips(&s, "cut.bvh", bvh, 100, NULL, &fault) != ERR_OK);
    EXPECT(strstr(fault.line, "cut.bvh: byte ") != NULL);
    EXPECT(s.clip_count == 0);
    scene_free(&s);
}

static void joints_of_many_tools_are_told_apart(void)
{
    static const char *const names[][2] = {
        {"mixamorig:LeftForeArm", "leftLowerArm"},
        {"mixamorig:Hips", "hips"},
        {"LeftUpLeg", "leftUpperLeg"},
        {"RightToeBase", "rightToes"},
        {"lShldr", "leftUpperArm"},
        {"rForeArm", "rightLowerArm"},
        {"upperarm_l", "leftUpperArm"},
        {"thigh.R", "rightUpperLeg"},
        {"LeftHandThumb1", "leftThumbMetacarpal"},
        {"RightHandPinky3", "rightLittleDistal"},
        {"LowerBack", "spine"},
        {"FootL", "leftFoot"},
        {"hips", "hips"},
        {"Neck", "neck"},
    };
    static const char *const others[] = {"LHipJoint", "Armature", "", "tail_01",
                                         "L",         "camera",   ":"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int32_t bone = humanoid_guess(names[i][0]);
        if (bone < 0 || strcmp(humanoid_name(bone), names[i][1]) != 0)
            printf("  %s: %s\n", names[i][0], bone < 0 ? "none" : humanoid_name(bone));
        EXPECT(bone >= 0 && strcmp(humanoid_name(bone), names[i][1]) == 0);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        EXPECT(humanoid_guess(others[i]) < 0);
}

int main(void)
{
    RUN(the_first_channel_of_a_bvh_turns_last);
    RUN(a_bvh_turns_the_target_in_the_axes_of_the_world);
    RUN(a_cubic_curve_of_a_vrma_stays_cubic);
    RUN(what_fits_nothing_is_refused_by_file);
    RUN(joints_of_many_tools_are_told_apart);
    TESTING_MAIN_END;
}

#include "tests/support/take.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "server/bake/bvh.h"
#include "server/character/pose/humanoid_map.h"
#include "server/character/pose/rotation.h"

static const size_t FILE_BYTES_MAX = (size_t)256 << 20;

// ---- opening

static bool find_human(struct take *t, struct fault *fault)
{
    size_t count = t->joint_count;
    const char **names = malloc(count * sizeof *names);
    int32_t *parents = malloc(count * sizeof *parents), bones[HUMANOID_BONE_COUNT];
    struct trs *rests = malloc(count * sizeof *rests);
    bool ok = names && parents && rests;
    for (size_t i = 0; ok && i < count; i++) {
        names[i] = t->scene.nodes[i].name;
        parents[i] = t->scene.nodes[i].parent;
        rests[i] = t->scene.nodes[i].rest;
    }
    if (ok) {
        humanoid_map(names, parents, count, bones);
        struct human_source s = {count, parents, rests, bones, 0, true};
        ok = human_build(&s, &t->human, fault) == ERR_OK;
    }
    free(names);
    free(parents);
    free(rests);
    return ok;
}

static void find_tracks(struct take *t)
{
    const struct scene_clip *clip = &t->scene.clips[0];
    for (uint32_t c = 0; c < clip->channel_count; c++) {
        const struct scene_channel *ch = &clip->channels[c];
        if (ch->key_count > t->frames) t->frames = ch->key_count;
        const float **track = ch->path == SCENE_ROTATION ? t->rotations : t->translations;
        track[ch->node] = ch->values;
    }
    t->dt_s = t->frames > 1 ? (double)clip->duration_s / (double)(t->frames - 1) : 1.0 / 30;
}

static void pose_world(const struct take *t, size_t frame)
{
    for (size_t i = 0; i < t->joint_count; i++) {
        struct trs local = t->scene.nodes[i].rest;
        int32_t parent = t->scene.nodes[i].parent;
        if (t->rotations[i]) memcpy(&local.rotation, t->rotations[i] + 4 * frame, sizeof(float[4]));
        if (t->translations[i])
            memcpy(&local.translation, t->translations[i] + 3 * frame, sizeof(float[3]));
        struct xform x = xform_from_trs(&local);
        t->world[i] = parent >= 0 ? xform_mul(&t->world[parent], &x) : x;
    }
}

static void place_of(const struct take *t, size_t joint, double out[3])
{
    double file[3];
    for (int r = 0; r < 3; r++)
        file[r] = t->world[joint].col[3][r] * t->human.metres;
    rotation_apply(t->up, file, out);
    out[1] -= t->floor;
}

// +Y up unless heads are mostly elsewhere, as in files of tools whose up is +Z.
static void find_up(struct take *t)
{
    double sum[3] = {0, 0, 0};
    const struct human_bone *b = t->human.bones;
    for (size_t f = 0; f < t->frames; f += 1 + t->frames / 200) {
        pose_world(t, f);
        for (int r = 0; r < 3; r++)
            sum[r] += t->world[b[t->human.trunk_count - 1].node].col[3][r] -
                      t->world[b[0].node].col[3][r];
    }
    t->up[0] = t->up[1] = t->up[2] = 0;
    t->up[3] = 1;
    double size = sqrt(vector_dot(sum, sum));
    if (!(size > 0) || sum[2] < 0.8 * size) return;
    t->up[0] = -sqrt(0.5);
    t->up[3] = sqrt(0.5);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Where the lower ankle stands in the lowest twentieth of the frames.
static bool find_floor(struct take *t)
{
    double *low = malloc(t->frames * sizeof *low), ankle = t->human.hips_height;
    if (!low) return false;
    uint32_t upper[2] = {human_limb_bone(HUMAN_LEG_L, 0), human_limb_bone(HUMAN_LEG_R, 0)};
    for (uint32_t k = 0; k < 3; k++)
        ankle += t->human.bones[upper[0] + k].offset[1];
    t->floor = 0;
    for (size_t f = 0; f < t->frames; f++) {
        pose_world(t, f);
        low[f] = HUGE_VAL;
        for (int side = 0; side < 2; side++) {
            double place[3];
            place_of(t, (size_t)t->human.bones[upper[side] + 2].node, place);
            low[f] = fmin(low[f], place[1]);
        }
    }
    qsort(low, t->frames, sizeof *low, by_value);
    t->floor = low[t->frames / 20] - ankle;
    free(low);
    return true;
}

bool take_open(struct take *t, const char *path, struct fault *fault)
{
    uint8_t *bytes;
    size_t size_bytes;
    *t = (struct take){0};
    if (file_read(path, FILE_BYTES_MAX, &bytes, &size_bytes, fault) != ERR_OK) return false;
    enum err err = bvh_parse((const char *)bytes, size_bytes, &t->scene, fault);
    free(bytes);
    if (err != ERR_OK) return false;
    t->joint_count = t->scene.node_count;
    t->rotations = calloc(t->joint_count, sizeof *t->rotations);
    t->translations = calloc(t->joint_count, sizeof *t->translations);
    t->world = malloc(t->joint_count * sizeof *t->world);
    if (!t->rotations || !t->translations || !t->world) {
        (void)fault_set(fault, ERR_MEMORY, "no memory");
        return false;
    }
    find_tracks(t);
    if (!find_human(t, fault)) return false;
    find_up(t);
    return find_floor(t);
}

void take_close(struct take *t)
{
    free(t->rotations);
    free(t->translations);
    free(t->world);
    scene_free(&t->scene);
    *t = (struct take){0};
}

// ---- truth

void take_places(const struct take *t, size_t frame, double (*out)[3])
{
    pose_world(t, frame);
    for (size_t i = 0; i < t->joint_count; i++)
        place_of(t, i, out[i]);
}

void take_pose(const struct take *t, size_t frame, struct human_pose *out)
{
    const struct human *h = &t->human;
    pose_world(t, frame);
    for (uint32_t i = 0; i < HUMAN_BONES; i++) {
        const struct human_bone *b = &h->bones[i];
        double turn[4], basis[3][3];
        if (b->node < 0) {
            int32_t parent = b->parent;
            if (i < HUMAN_TRUNK_MAX && i >= h->trunk_count) parent = 0;
            memcpy(out->turns[i], out->turns[parent], sizeof out->turns[i]);
            continue;
        }
        for (int c = 0; c < 3; c++)
            memcpy(basis[c], t->world[b->node].col[c], sizeof basis[c]);
        xform_rotation(basis, turn);
        rotation_mul(t->up, turn, turn);
        double back[4] = {-b->axes[0], -b->axes[1], -b->axes[2], b->axes[3]};
        rotation_mul(turn, back, out->turns[i]);
        rotation_unit(out->turns[i]);
    }
    place_of(t, (size_t)h->bones[0].node, out->hips);
}

void take_solved(const struct take *t, const struct human_pose *p, double (*out)[3])
{
    static struct trs locals[4096];
    size_t count = t->joint_count < 4096 ? t->joint_count : 4096;
    for (size_t i = 0; i < count; i++)
        locals[i] = t->scene.nodes[i].rest;
    human_lay(&t->human, p, locals);
    for (size_t i = 0; i < count; i++) {
        int32_t parent = t->scene.nodes[i].parent;
        struct xform x = xform_from_trs(&locals[i]);
        t->world[i] = parent >= 0 ? xform_mul(&t->world[parent], &x) : x;
        for (int r = 0; r < 3; r++)
            out[i][r] = t->world[i].col[3][r] * t->human.metres;
    }
}

bool take_is_leg(const struct take *t, size_t joint)
{
    int32_t hips = t->human.bones[0].node, at = (int32_t)joint;
    int32_t thighs[2] = {t->human.bones[human_limb_bone(HUMAN_LEG_L, 0)].node,
                         t->human.bones[human_limb_bone(HUMAN_LEG_R, 0)].node};
    for (; at >= 0 && at != hips; at = t->scene.nodes[at].parent)
        if (at == thighs[0] || at == thighs[1]) return true;
    // Joints between hips and a thigh.
    for (int side = 0; side < 2; side++)
        for (at = thighs[side]; at >= 0 && at != hips; at = t->scene.nodes[at].parent)
            if (at == (int32_t)joint) return true;
    return false;
}

// ---- devices

static const char *const part_names[HUMAN_PART_COUNT] = {
    "head",    "hand_l",  "hand_r", "pelvis", "chest",  "shoulder_l", "shoulder_r",
    "elbow_l", "elbow_r", "knee_l", "knee_r", "foot_l", "foot_r"};

unsigned take_parts(const char *list)
{
    unsigned bits = 0;
    while (*list) {
        size_t n = strcspn(list, ",");
        int found = -1;
        for (int i = 0; i < HUMAN_PART_COUNT; i++)
            if (strlen(part_names[i]) == n && strncmp(part_names[i], list, n) == 0) found = i;
        if (found < 0) return 0;
        bits |= 1u << found;
        list += n + (list[n] == ',');
    }
    return bits;
}

// How a device sits on its part: at `place` from the joint, turned by `turn`, both in the part.
struct mount {
    double place[3], turn[4];
};

static struct mount mount_of(enum human_part part)
{
    switch (part) {
    case HUMAN_HEAD:
        return (struct mount){{0, 0.08, 0.11}, {0.06, 0, 0, 0.998}};
    case HUMAN_HAND_L:
        return (struct mount){{0.09, -0.03, 0.02}, {0.5, 0.5, -0.5, 0.5}};
    case HUMAN_HAND_R:
        return (struct mount){{-0.09, -0.03, 0.02}, {0.5, -0.5, 0.5, 0.5}};
    case HUMAN_PELVIS:
        return (struct mount){{0, 0.05, -0.12}, {0, 1, 0, 0}};
    default:
        return (struct mount){{0, 0.03, 0.05}, {0, 0.2, 0.1, 0.97}};
    }
}

void take_frame(const struct take *t, const struct human_pose *truth, unsigned parts,
                struct body_frame *out)
{
    double places[HUMAN_BONES][3];
    *out = (struct body_frame){.dt_s = t->dt_s};
    human_places(&t->human, truth, places);
    for (int i = 0; i < HUMAN_PART_COUNT; i++) {
        struct body_target *to = &out->parts[i];
        struct mount m = mount_of((enum human_part)i);
        double place[3], turn[4], arm[3];
        if (!(parts & (1u << i))) continue;
        const double *joint = places[human_part_joint(&t->human, (enum human_part)i)];
        const double *bone = truth->turns[human_part_bone(&t->human, (enum human_part)i)];
        rotation_unit(m.turn);
        // What the device tells ...
        rotation_mul(bone, m.turn, turn);
        rotation_apply(bone, m.place, arm);
        for (int r = 0; r < 3; r++)
            place[r] = joint[r] + arm[r];
        // ... and what calibration makes of it.
        double back[4] = {-m.turn[0], -m.turn[1], -m.turn[2], m.turn[3]};
        rotation_mul(turn, back, to->rotation);
        rotation_apply(to->rotation, m.place, arm);
        for (int r = 0; r < 3; r++)
            to->position[r] = place[r] - arm[r];
        to->flags = BODY_POSITION | BODY_ROTATION | BODY_TRACKED;
    }
}

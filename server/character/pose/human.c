#include "server/character/pose/human.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/character/pose/humanoid_map.h"
#include "server/character/pose/rotation.h"

static const double USUAL_HEIGHT = 1.70;
static const double HEAD_JOINT = 0.915; // its height as a share of the standing height
static const double SOLE = 0.015;       // below the toes' joint, of the standing height
static const double ANKLE = 0.05;       // above the floor, where there are no toes

static const char *const limb_bones[HUMAN_LIMB_COUNT][HUMAN_LIMB_BONES] = {
    {"leftShoulder", "leftUpperArm", "leftLowerArm", "leftHand"},
    {"rightShoulder", "rightUpperArm", "rightLowerArm", "rightHand"},
    {"leftUpperLeg", "leftLowerLeg", "leftFoot", "leftToes"},
    {"rightUpperLeg", "rightLowerLeg", "rightFoot", "rightToes"},
};

struct builder {
    const struct human_source *source;
    struct human *human;
    struct xform *places;     // [node] model from node at rest
    double (*turns)[4];       // [node] rotation of it
    double upright[4];        // body from model at rest
    double (*corrections)[4]; // [bone] rest to T-pose, body frame
    struct fault *fault;
};

static enum err missing(struct fault *fault, const char *bone)
{
    return fault_set(fault, ERR_NOT_FOUND,
                     "%s: the skeleton has no such bone, by its humanoid map or by joint names",
                     bone);
}

static int32_t node_of(const struct human_source *s, const char *bone)
{
    return s->bones[humanoid_find(bone)];
}

static bool is_below(const struct human_source *s, int32_t node, int32_t above)
{
    while (node >= 0 && node != above)
        node = s->parents[node];
    return node == above;
}

// ---- rest

static void rest_places(struct builder *b)
{
    const struct human_source *s = b->source;
    for (size_t i = 0; i < s->count; i++) {
        struct xform local = xform_from_trs(&s->rests[i]);
        int32_t parent = s->parents[i];
        b->places[i] = parent >= 0 ? xform_mul(&b->places[parent], &local) : local;
        double basis[3][3];
        for (int c = 0; c < 3; c++) {
            const double *col = b->places[i].col[c];
            double size = sqrt(vector_dot(col, col));
            for (int r = 0; r < 3; r++)
                basis[c][r] = size > 0 ? col[r] / size : (double)(c == r);
        }
        xform_rotation(basis, b->turns[i]);
    }
}

static void from_to(const struct builder *b, int32_t from, int32_t to, double out[3])
{
    double model[3];
    for (int r = 0; r < 3; r++)
        model[r] = b->places[to].col[3][r] - b->places[from].col[3][r];
    rotation_apply(b->upright, model, out);
}

// Index of the largest component, signed: 1, -1, 2, -2, 3, -3.
static int main_axis(const double v[3])
{
    int best = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(v[i]) > fabs(v[best])) best = i;
    return v[best] < 0 ? -(best + 1) : best + 1;
}

// Where left and up point at rest, each the nearest axis of the model.
static bool find_upright(struct builder *b)
{
    const struct human_source *s = b->source;
    double left[3], up[3], basis[3][3] = {{0}}, model_from_body[4];
    b->upright[0] = b->upright[1] = b->upright[2] = 0;
    b->upright[3] = 1;
    from_to(b, node_of(s, "rightUpperLeg"), node_of(s, "leftUpperLeg"), left);
    from_to(b, node_of(s, "hips"), node_of(s, "head"), up);
    int l = main_axis(left), u = main_axis(up);
    if (abs(l) == abs(u)) return false;
    basis[0][abs(l) - 1] = l < 0 ? -1 : 1;
    basis[1][abs(u) - 1] = u < 0 ? -1 : 1;
    vector_cross(basis[0], basis[1], basis[2]);
    xform_rotation(basis, model_from_body);
    for (int i = 0; i < 4; i++)
        b->upright[i] = i < 3 ? -model_from_body[i] : model_from_body[i];
    return true;
}

// ---- bones

static void add_bone(struct builder *b, uint32_t bone, int32_t node, int32_t parent)
{
    struct human_bone *out = &b->human->bones[bone];
    out->node = node;
    out->parent = parent;
    out->humanoid = -1;
    for (int32_t i = 0; node >= 0 && i < HUMANOID_BONE_COUNT; i++)
        if (b->source->bones[i] == node) out->humanoid = i;
    for (int i = 0; i < 4; i++)
        b->corrections[bone][i] = i == 3;
}

static enum err find_trunk(struct builder *b)
{
    const struct human_source *s = b->source;
    int32_t hips = node_of(s, "hips"), head = node_of(s, "head"), path[HUMAN_TRUNK_MAX];
    int32_t arms[2] = {node_of(s, "leftUpperArm"), node_of(s, "rightUpperArm")};
    uint32_t count = 0, chest = 0;
    if (!is_below(s, head, hips))
        return fault_set(b->fault, ERR_NOT_FOUND, "head: does not hang from the hips");
    for (int32_t at = head; at != hips; at = s->parents[at])
        count++;
    // Of a trunk with very many joints those next to the hips stay at rest.
    uint32_t kept = count < HUMAN_TRUNK_MAX ? count : HUMAN_TRUNK_MAX - 1;
    int32_t at = head;
    for (uint32_t i = kept; i > 0; i--, at = s->parents[at])
        path[i] = at;
    path[0] = hips;
    b->human->trunk_count = kept + 1;
    for (uint32_t i = 0; i <= kept; i++) {
        add_bone(b, i, path[i], (int32_t)i - 1);
        if (is_below(s, arms[0], path[i]) && is_below(s, arms[1], path[i])) chest = i;
    }
    if (kept < 2 || chest == 0 || chest >= kept)
        return fault_set(b->fault, ERR_NOT_FOUND,
                         "spine: no joint between hips and head carries the arms");
    b->human->chest = chest;
    return ERR_OK;
}

// Joints `first` .. `last` do the work of the bones `names` together, whichever of them there are:
// a joint without a bone of its own works like the one below it.
static void share_out(struct human *h, uint32_t first, uint32_t last, const char *const *names,
                      uint32_t name_count)
{
    double total = 0, sum = 0;
    for (uint32_t i = 0; i < name_count; i++)
        total += joint_limit_of(humanoid_find(names[i])).twist_high;
    int32_t like = humanoid_find(names[0]);
    for (uint32_t i = first; i <= last; i++) {
        struct joint_limit own = joint_limit_of(h->bones[i].humanoid);
        if (!own.free) like = h->bones[i].humanoid;
        h->bones[i].limit = joint_limit_of(like);
        h->bones[i].share = h->bones[i].limit.twist_high;
        sum += h->bones[i].share;
    }
    for (uint32_t i = first; i <= last; i++) {
        h->bones[i].limit = joint_limit_scaled(h->bones[i].limit, total / sum);
        h->bones[i].share /= sum;
    }
}

static void share_trunk(struct human *h)
{
    static const char *const back[] = {"spine", "chest", "upperChest"};
    static const char *const neck[] = {"neck", "head"};
    h->bones[0].limit = joint_limit_of(h->bones[0].humanoid);
    share_out(h, 1, h->chest, back, 3);
    share_out(h, h->chest + 1, h->trunk_count - 1, neck, 2);
}

static enum err find_limbs(struct builder *b)
{
    const struct human_source *s = b->source;
    for (int l = 0; l < HUMAN_LIMB_COUNT; l++) {
        bool arm = l <= HUMAN_ARM_R;
        int32_t parent = arm ? (int32_t)b->human->chest : 0;
        for (uint32_t k = 0; k < HUMAN_LIMB_BONES; k++) {
            uint32_t bone = human_limb_bone((enum human_limb)l, k);
            int32_t node = node_of(s, limb_bones[l][k]), above = b->human->bones[parent].node;
            bool may_lack = arm ? k == 0 : k == 3;
            if (node >= 0 && above >= 0 && !is_below(s, node, above)) {
                if (!may_lack)
                    return fault_set(b->fault, ERR_NOT_FOUND, "%s: does not hang from the body",
                                     limb_bones[l][k]);
                node = -1;
            }
            add_bone(b, bone, node, parent);
            b->human->bones[bone].limit = joint_limit_of(b->human->bones[bone].humanoid);
            parent = (int32_t)bone;
        }
    }
    return ERR_OK;
}

// The node that a bone's place is measured from: its parent's, or that one's parent's.
static int32_t anchor(const struct human *h, uint32_t bone)
{
    int32_t parent = h->bones[bone].parent;
    while (parent >= 0 && h->bones[parent].node < 0)
        parent = h->bones[parent].parent;
    return parent;
}

// ---- T-pose

static void correct(struct builder *b, uint32_t bone, int32_t from, int32_t to,
                    const double want[3])
{
    double direction[3];
    from_to(b, from, to, direction);
    double size = sqrt(vector_dot(direction, direction));
    if (!(size > 0)) return;
    for (int r = 0; r < 3; r++)
        direction[r] /= size;
    rotation_between(direction, want, b->corrections[bone]);
}

static void correct_arm(struct builder *b, enum human_limb limb)
{
    const struct human_bone *bones = b->human->bones;
    bool left = limb == HUMAN_ARM_L;
    double out[3] = {left ? 1 : -1, 0, 0};
    uint32_t upper = human_limb_bone(limb, 1), lower = upper + 1, hand = upper + 2;
    int32_t finger = node_of(b->source, left ? "leftMiddleProximal" : "rightMiddleProximal");
    correct(b, upper, bones[upper].node, bones[lower].node, out);
    correct(b, lower, bones[lower].node, bones[hand].node, out);
    memcpy(b->corrections[hand], b->corrections[lower], 4 * sizeof(double));
    if (finger >= 0 && is_below(b->source, finger, bones[hand].node))
        correct(b, hand, bones[hand].node, finger, out);
}

static void correct_leg(struct builder *b, enum human_limb limb)
{
    const struct human_bone *bones = b->human->bones;
    const double down[3] = {0, -1, 0}, front[3] = {0, 0, 1};
    uint32_t upper = human_limb_bone(limb, 0), lower = upper + 1, foot = upper + 2,
             toes = upper + 3;
    correct(b, upper, bones[upper].node, bones[lower].node, down);
    correct(b, lower, bones[lower].node, bones[foot].node, down);
    if (bones[toes].node < 0) return;
    // A foot keeps its slope and only turns to the front.
    double direction[3];
    from_to(b, bones[foot].node, bones[toes].node, direction);
    direction[1] = 0;
    double size = sqrt(vector_dot(direction, direction));
    if (!(size > 1e-9) || direction[2] < 0.2 * size) return;
    for (int r = 0; r < 3; r++)
        direction[r] /= size;
    rotation_between(direction, front, b->corrections[foot]);
    memcpy(b->corrections[toes], b->corrections[foot], 4 * sizeof(double));
}

static void settle_bone(struct builder *b, uint32_t bone)
{
    struct human *h = b->human;
    struct human_bone *out = &h->bones[bone];
    int32_t above = anchor(h, bone), next = out->node >= 0 ? b->source->parents[out->node] : -1;
    double offset[3] = {0, 0, 0};
    for (int i = 0; i < 4; i++)
        out->axes[i] = out->between[i] = i == 3;
    if (out->node < 0) { // as its parent
        memcpy(b->corrections[bone], b->corrections[out->parent], 4 * sizeof(double));
        memset(out->offset, 0, sizeof out->offset);
        return;
    }
    rotation_mul(b->upright, b->turns[out->node], out->axes);
    rotation_mul(b->corrections[bone], out->axes, out->axes);
    if (above < 0) return;
    rotation_from(b->turns[h->bones[above].node], b->turns[next], out->between);
    from_to(b, h->bones[above].node, out->node, offset);
    rotation_apply(b->corrections[above], offset, out->offset);
    for (int r = 0; r < 3; r++)
        out->offset[r] *= h->metres;
}

static double length_of(const double v[3])
{
    return sqrt(vector_dot(v, v));
}

// Heights in metres from lengths, the floor from where the feet rest.
static void measure(struct builder *b)
{
    struct human *h = b->human;
    double leg = 0, drop = 0, ankle = 0;
    for (int l = HUMAN_LEG_L; l <= HUMAN_LEG_R; l++) {
        const struct human_bone *bones = &h->bones[human_limb_bone((enum human_limb)l, 0)];
        leg += (length_of(bones[1].offset) + length_of(bones[2].offset)) / 2;
        drop -= bones[0].offset[1] / 2;
        ankle -= bones[3].node >= 0 ? bones[3].offset[1] / 2 : 0;
    }
    double trunk = 0;
    for (uint32_t i = 1; i < h->trunk_count; i++)
        trunk += h->bones[i].offset[1];
    bool toes = h->bones[human_limb_bone(HUMAN_LEG_L, 3)].node >= 0;
    double joints = leg + drop + trunk;
    ankle = toes ? fmax(ankle, 0) + SOLE * joints / HEAD_JOINT : ANKLE * joints;
    // A model stands on its own floor where that fits its ankles.
    double foot[3];
    rotation_apply(b->upright, b->places[h->bones[human_limb_bone(HUMAN_LEG_L, 2)].node].col[3],
                   foot);
    double above = foot[1] * h->metres;
    if (!b->source->in_place && above > 0 && above < 0.15 * joints) ankle = above;
    h->floor = foot[1] - ankle / h->metres;
    h->hips_height = ankle + leg + drop;
    h->head_height = h->hips_height + trunk;
    h->height = h->head_height / HEAD_JOINT;
}

static enum err build(struct builder *b)
{
    static const char *const needed[] = {
        "hips",          "head",          "leftUpperArm", "rightUpperArm", "leftLowerArm",
        "rightLowerArm", "leftHand",      "rightHand",    "leftUpperLeg",  "rightUpperLeg",
        "leftLowerLeg",  "rightLowerLeg", "leftFoot",     "rightFoot"};
    struct human *h = b->human;
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (node_of(b->source, needed[i]) < 0) return missing(b->fault, needed[i]);
    rest_places(b);
    if (!find_upright(b))
        return fault_set(b->fault, ERR_MALFORMED, "hips: left and up lie along one axis at rest");
    for (uint32_t i = 0; i < HUMAN_BONES; i++)
        h->bones[i] = (struct human_bone){.node = -1, .parent = 0, .humanoid = -1};
    enum err err = find_trunk(b);
    if (err == ERR_OK) err = find_limbs(b);
    if (err != ERR_OK) return err;
    share_trunk(h);
    correct_arm(b, HUMAN_ARM_L);
    correct_arm(b, HUMAN_ARM_R);
    correct_leg(b, HUMAN_LEG_L);
    correct_leg(b, HUMAN_LEG_R);
    h->metres = b->source->metres > 0 ? b->source->metres : 1;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < h->trunk_count; i++)
            settle_bone(b, i);
        for (uint32_t i = HUMAN_TRUNK_MAX; i < HUMAN_BONES; i++)
            settle_bone(b, i);
        measure(b);
        if (!(h->height > 0) || !isfinite(h->height))
            return fault_set(b->fault, ERR_MALFORMED, "hips: the skeleton has no height");
        if (b->source->metres > 0) break;
        h->metres *= USUAL_HEIGHT / h->height;
    }
    int32_t above = b->source->parents[h->bones[0].node];
    h->model_from_hips_parent = above >= 0 ? b->places[above] : xform_identity();
    for (int i = 0; i < 4; i++)
        h->model_from_body[i] =
            b->source->in_place ? (double)(i == 3) : (i < 3 ? -b->upright[i] : b->upright[i]);
    if (b->source->in_place) h->floor = 0;
    return ERR_OK;
}

enum err human_build(const struct human_source *s, struct human *out, struct fault *fault)
{
    struct builder b = {.source = s, .human = out, .fault = fault};
    double corrections[HUMAN_BONES][4];
    *out = (struct human){0};
    b.corrections = corrections;
    b.places = malloc(s->count * sizeof *b.places);
    b.turns = malloc(s->count * sizeof *b.turns);
    enum err err = ERR_MEMORY;
    if (b.places && b.turns)
        err = build(&b);
    else
        (void)fault_set(fault, ERR_MEMORY, "no memory for %zu joints", s->count);
    free(b.places);
    free(b.turns);
    return err;
}

enum err human_of_model(const struct model *m, struct human *out, struct fault *fault)
{
    int32_t bones[HUMANOID_BONE_COUNT];
    size_t count = m->nodes_count;
    const char **names = malloc((count + 1) * sizeof *names);
    int32_t *parents = malloc((count + 1) * sizeof *parents);
    struct trs *rests = malloc((count + 1) * sizeof *rests);
    enum err err = ERR_MEMORY;
    if (names && parents && rests) {
        for (size_t i = 0; i < count; i++) {
            names[i] = m->text + m->nodes[i].name;
            parents[i] = m->nodes[i].parent;
            rests[i] = m->nodes[i].rest;
        }
        humanoid_map(names, parents, count, bones);
        for (size_t i = 0; m->bones_count > 0 && i < HUMANOID_BONE_COUNT; i++)
            bones[i] = -1;
        for (size_t i = 0; i < m->bones_count; i++) {
            int32_t bone = humanoid_find(m->text + m->bones[i].bone);
            if (bone >= 0) bones[bone] = (int32_t)m->bones[i].node;
        }
        struct human_source s = {.count = count,
                                 .parents = parents,
                                 .rests = rests,
                                 .bones = bones,
                                 .metres = (double)m->info->unit_m};
        err = human_build(&s, out, fault);
    } else {
        (void)fault_set(fault, ERR_MEMORY, "no memory for %zu joints", count);
    }
    free(names);
    free(parents);
    free(rests);
    return err;
}

// ---- poses

static bool is_used(const struct human *h, uint32_t bone)
{
    return bone >= HUMAN_TRUNK_MAX || bone < h->trunk_count;
}

void human_rest(const struct human *h, struct human_pose *out)
{
    out->hips[0] = out->hips[2] = 0;
    out->hips[1] = h->hips_height;
    for (uint32_t i = 0; i < HUMAN_BONES; i++)
        for (int k = 0; k < 4; k++)
            out->turns[i][k] = k == 3;
}

void human_places(const struct human *h, const struct human_pose *p, double out[HUMAN_BONES][3])
{
    for (uint32_t i = 0; i < HUMAN_BONES; i++) {
        const struct human_bone *b = &h->bones[i];
        if (b->parent < 0 || !is_used(h, i)) {
            memcpy(out[i], p->hips, 3 * sizeof(double));
            continue;
        }
        rotation_apply(p->turns[b->parent], b->offset, out[i]);
        for (int r = 0; r < 3; r++)
            out[i][r] += out[b->parent][r];
    }
}

// The model's rotation of a bone's node.
static void node_turn(const struct human *h, const struct human_pose *p, uint32_t bone,
                      double out[4])
{
    rotation_mul(p->turns[bone], h->bones[bone].axes, out);
    rotation_mul(h->model_from_body, out, out);
}

static void lay_hips(const struct human *h, const struct human_pose *p, struct trs *locals)
{
    const struct xform *above = &h->model_from_hips_parent;
    struct trs *local = &locals[h->bones[0].node], parent;
    struct xform parent_from_model;
    double place[3], turn[4], parent_turn[4];
    rotation_apply(h->model_from_body, p->hips, place);
    double up[3], floor[3] = {0, h->floor, 0};
    rotation_apply(h->model_from_body, floor, up);
    for (int r = 0; r < 3; r++)
        place[r] = place[r] / h->metres + up[r];
    (void)xform_to_trs(above, &parent);
    rotation_load(parent.rotation, parent_turn);
    node_turn(h, p, 0, turn);
    rotation_from(parent_turn, turn, turn);
    local->rotation = rotation_round(turn);
    if (!xform_invert(above, &parent_from_model)) return;
    xform_point(&parent_from_model, place, place);
    local->translation = (struct vec3){(float)place[0], (float)place[1], (float)place[2]};
}

void human_lay(const struct human *h, const struct human_pose *p, struct trs *locals)
{
    lay_hips(h, p, locals);
    for (uint32_t i = 1; i < HUMAN_BONES; i++) {
        double parent[4], turn[4];
        if (!is_used(h, i) || h->bones[i].node < 0) continue;
        node_turn(h, p, (uint32_t)anchor(h, i), parent);
        rotation_mul(parent, h->bones[i].between, parent);
        node_turn(h, p, i, turn);
        rotation_from(parent, turn, turn);
        locals[h->bones[i].node].rotation = rotation_round(turn);
    }
}

uint32_t human_part_joint(const struct human *h, enum human_part part)
{
    static const uint8_t limb_joint[][2] = {
        [HUMAN_HAND_L] = {HUMAN_ARM_L, 3},     [HUMAN_HAND_R] = {HUMAN_ARM_R, 3},
        [HUMAN_SHOULDER_L] = {HUMAN_ARM_L, 1}, [HUMAN_SHOULDER_R] = {HUMAN_ARM_R, 1},
        [HUMAN_ELBOW_L] = {HUMAN_ARM_L, 2},    [HUMAN_ELBOW_R] = {HUMAN_ARM_R, 2},
        [HUMAN_KNEE_L] = {HUMAN_LEG_L, 1},     [HUMAN_KNEE_R] = {HUMAN_LEG_R, 1},
        [HUMAN_FOOT_L] = {HUMAN_LEG_L, 2},     [HUMAN_FOOT_R] = {HUMAN_LEG_R, 2},
    };
    if (part == HUMAN_HEAD) return h->trunk_count - 1;
    if (part == HUMAN_PELVIS) return 0;
    if (part == HUMAN_CHEST) return h->chest;
    return human_limb_bone((enum human_limb)limb_joint[part][0], limb_joint[part][1]);
}

uint32_t human_part_bone(const struct human *h, enum human_part part)
{
    uint32_t joint = human_part_joint(h, part);
    bool above = (part >= HUMAN_SHOULDER_L && part <= HUMAN_KNEE_R);
    return above ? joint - 1 : joint;
}

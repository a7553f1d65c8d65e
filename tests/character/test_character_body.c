// The body solve: limits, reach, poles, loss of tracking, memory; recorded motion and recorded
// headset sessions.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/character/pose/body.h"
#include "server/character/pose/body_prior.h"
#include "server/character/pose/ik.h"
#include "server/character/pose/rotation.h"
#include "tests/support/body_teach.h"
#include "tests/support/take_score.h"
#include "tests/support/vr_take.h"
#include "tests/testing.h"
int testing_failures;

static const double DEGREES = 57.29577951308232;
static const char *data;

// ---- a made-up body: 1.7 m, T-pose, names of a common tool

static const struct {
    const char *bone;
    int parent;
    float at[3];
} joints[] = {
    {"hips", -1, {0, 0.95f, 0}},
    {"spine", 0, {0, 0.10f, 0}},
    {"chest", 1, {0, 0.14f, 0}},
    {"upperChest", 2, {0, 0.14f, -0.01f}},
    {"neck", 3, {0, 0.16f, -0.01f}},
    {"head", 4, {0, 0.08f, 0.01f}},
    {"leftShoulder", 3, {0.03f, 0.11f, 0}},
    {"leftUpperArm", 6, {0.14f, 0, 0}},
    {"leftLowerArm", 7, {0.27f, 0, 0}},
    {"leftHand", 8, {0.25f, 0, 0}},
    {"rightShoulder", 3, {-0.03f, 0.11f, 0}},
    {"rightUpperArm", 10, {-0.14f, 0, 0}},
    {"rightLowerArm", 11, {-0.27f, 0, 0}},
    {"rightHand", 12, {-0.25f, 0, 0}},
    {"leftUpperLeg", 0, {0.09f, -0.03f, 0}},
    {"leftLowerLeg", 14, {0, -0.42f, 0}},
    {"leftFoot", 15, {0, -0.42f, 0}},
    {"leftToes", 16, {0, -0.06f, 0.13f}},
    {"rightUpperLeg", 0, {-0.09f, -0.03f, 0}},
    {"rightLowerLeg", 18, {0, -0.42f, 0}},
    {"rightFoot", 19, {0, -0.42f, 0}},
    {"rightToes", 20, {0, -0.06f, 0.13f}},
};
enum { JOINTS = sizeof joints / sizeof joints[0] };

static struct human made_up(void)
{
    struct human h;
    struct fault fault;
    int32_t parents[JOINTS], bones[HUMANOID_BONE_COUNT];
    struct trs rests[JOINTS];
    for (int i = 0; i < HUMANOID_BONE_COUNT; i++)
        bones[i] = -1;
    for (int32_t i = 0; i < JOINTS; i++) {
        parents[i] = joints[i].parent;
        bones[humanoid_find(joints[i].bone)] = i;
        rests[i] = (struct trs){
            {joints[i].at[0], joints[i].at[1], joints[i].at[2]}, {0, 0, 0, 1}, {1, 1, 1}};
    }
    struct human_source s = {JOINTS, parents, rests, bones, 1, false};
    EXPECT(human_build(&s, &h, &fault) == ERR_OK);
    return h;
}

// ---- looking

static double distance(const double a[3], const double b[3])
{
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(vector_dot(d, d));
}

static bool is_sound(const struct human_pose *p)
{
    for (uint32_t i = 0; i < HUMAN_BONES; i++)
        if (!(fabs(rotation_dot(p->turns[i], p->turns[i]) - 1) < 1e-6)) return false;
    return isfinite(p->hips[0]) && isfinite(p->hips[1]) && isfinite(p->hips[2]);
}

// The most that a joint is beyond its limits, degrees.
static double beyond(const struct human *h, const struct human_pose *p)
{
    double worst = 0;
    for (uint32_t i = 1; i < HUMAN_BONES; i++) {
        double relative[4];
        if (h->bones[i].node < 0) continue;
        rotation_from(p->turns[h->bones[i].parent], p->turns[i], relative);
        worst = fmax(worst, DEGREES * joint_limit_excess(&h->bones[i].limit, relative));
    }
    return worst;
}

// Where the middle joint of a limb points, square to the line from its root to its end. Its length
// is how far it stands off that line.
static double pole_of(const struct human *h, const struct human_pose *p, enum human_limb limb,
                      double out[3])
{
    double places[HUMAN_BONES][3], line[3], arm[3], size = 0;
    uint32_t upper = human_limb_bone(limb, limb <= HUMAN_ARM_R ? 1 : 0);
    human_places(h, p, places);
    for (int r = 0; r < 3; r++) {
        line[r] = places[upper + 2][r] - places[upper][r];
        arm[r] = places[upper + 1][r] - places[upper][r];
    }
    size = sqrt(vector_dot(line, line));
    for (int r = 0; r < 3; r++)
        line[r] /= size;
    return ik_across(line, arm, out);
}

// ---- random

static uint64_t seed;
static double any(double low, double high)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(seed >> 11) / 9007199254740992.0;
}

static void any_target(struct body_target *t)
{
    static const uint32_t flags[] = {0, 1, 2, 3, 5, 6, 7, 7, 7};
    for (int r = 0; r < 3; r++)
        t->position[r] = any(-1.2, 1.2) + (r == 1 ? 0.9 : 0);
    for (int i = 0; i < 4; i++)
        t->rotation[i] = any(-1, 1);
    t->flags = flags[(int)any(0, 9)];
    double broken = any(0, 1);
    if (broken < 0.02) t->position[1] = (double)NAN;
    if (broken > 0.98) t->rotation[0] = (double)NAN;
    if (broken > 0.49 && broken < 0.50) t->position[0] = HUGE_VAL;
    if (broken > 0.50 && broken < 0.51) memset(t->rotation, 0, sizeof t->rotation);
}

static void limits_hold_whatever_is_told(void)
{
    struct human h = made_up();
    struct body_memory m;
    double worst = 0, lowest = 0;
    size_t unsound = 0;
    seed = 1;
    body_start(&m);
    for (int i = 0; i < 8000; i++) {
        struct body_frame f = {.dt_s = any(0, 0.05)};
        struct human_pose p;
        int parts = i % 3 == 0 ? HUMAN_PART_COUNT : 3;
        for (int k = 0; k < parts; k++)
            any_target(&f.parts[k]);
        if (i % 50 == 0) f.dt_s = (double)NAN;
        if (i % 77 == 0) body_start(&m);
        body_solve(&h, i % 2 ? body_prior_standard() : NULL, &f, &m, &p);
        unsound += !is_sound(&p);
        worst = fmax(worst, beyond(&h, &p));
    }
    printf("  8000 random frames: %.4f degrees beyond limits, %zu not sound\n", worst, unsound);
    EXPECT(unsound == 0);
    EXPECT(worst < 0.01);
    EXPECT(lowest == 0);
}

static void unreachable_targets_stretch_nothing(void)
{
    struct human h = made_up();
    struct body_memory m;
    double worst = 0;
    seed = 2;
    body_start(&m);
    for (int i = 0; i < 2000; i++) {
        struct body_frame f = {.dt_s = 1.0 / 60};
        struct human_pose p;
        struct trs locals[JOINTS];
        struct xform world[JOINTS];
        for (int k = 0; k < 3 + (i % 4 == 0 ? 10 : 0); k++) {
            any_target(&f.parts[k]);
            for (int r = 0; r < 3; r++)
                f.parts[k].position[r] *= 3;
        }
        body_solve(&h, body_prior_standard(), &f, &m, &p);
        for (int k = 0; k < JOINTS; k++)
            locals[k] = (struct trs){
                {joints[k].at[0], joints[k].at[1], joints[k].at[2]}, {0, 0, 0, 1}, {1, 1, 1}};
        human_lay(&h, &p, locals);
        for (int k = 0; k < JOINTS; k++) {
            struct xform local = xform_from_trs(&locals[k]);
            world[k] = k ? xform_mul(&world[joints[k].parent], &local) : local;
            if (k == 0) continue;
            double length = sqrt((double)joints[k].at[0] * (double)joints[k].at[0] +
                                 (double)joints[k].at[1] * (double)joints[k].at[1] +
                                 (double)joints[k].at[2] * (double)joints[k].at[2]);
            double is = distance(world[k].col[3], world[joints[k].parent].col[3]);
            worst = fmax(worst, fabs(is - length));
        }
        // What is laid onto the skeleton is what was solved.
        double places[HUMAN_BONES][3];
        human_places(&h, &p, places);
        for (uint32_t b = 0; b < HUMAN_BONES; b++)
            if (h.bones[b].node >= 0 && (b >= HUMAN_TRUNK_MAX || b < h.trunk_count))
                worst = fmax(worst, distance(world[h.bones[b].node].col[3], places[b]));
    }
    printf("  2000 frames with targets up to 3.6 m away: lengths and places within %.2g m\n",
           worst);
    EXPECT(worst < 2e-6);
}

static void a_loaded_memory_goes_on_as_the_saved_one(void)
{
    struct human h = made_up();
    struct body_memory m, saved;
    unsigned char bytes[sizeof m];
    printf("  memory: %zu bytes\n", sizeof m);
    seed = 3;
    body_start(&m);
    for (int i = 0; i < 400; i++) {
        struct body_frame f = {.dt_s = any(0.005, 0.03)};
        struct human_pose p, again;
        for (int k = 0; k < (i / 40 % 2 ? 3 : HUMAN_PART_COUNT); k++)
            any_target(&f.parts[k]);
        memcpy(bytes, &m, sizeof m);
        body_solve(&h, body_prior_standard(), &f, &m, &p);
        memcpy(&saved, bytes, sizeof saved);
        body_solve(&h, body_prior_standard(), &f, &saved, &again);
        EXPECT(memcmp(&p, &again, sizeof p) == 0);
        EXPECT(memcmp(&m, &saved, sizeof m) == 0);
        if (testing_failures) return;
    }
}

// ---- loss of tracking

static struct body_frame standing(const struct human *h, double t)
{
    struct body_frame f = {.dt_s = 1.0 / 90};
    double s = sin(1.3 * t);
    for (int part = HUMAN_HEAD; part <= HUMAN_HAND_R; part++) {
        struct body_target *to = &f.parts[part];
        double side = part == HUMAN_HAND_L ? 1 : -1;
        to->flags = BODY_POSITION | BODY_ROTATION | BODY_TRACKED;
        to->rotation[3] = 1;
        to->position[1] = h->head_height - 0.03 * (1 + s);
        to->position[2] = 0.05 * s;
        if (part == HUMAN_HEAD) continue;
        to->position[0] = side * (0.2 + 0.05 * s);
        to->position[1] = 1.15 + 0.1 * s;
        to->position[2] = 0.35 + 0.05 * s;
        to->rotation[1] = -side * 0.7071;
        to->rotation[3] = 0.7071;
    }
    return f;
}

static void a_lost_hand_eases_away_and_back(void)
{
    struct human h = made_up();
    struct body_memory m;
    double before[3] = {0}, fastest = 0, away = 0;
    body_start(&m);
    for (int i = 0; i < 900; i++) {
        struct body_frame f = standing(&h, i / 90.0);
        struct human_pose p;
        double places[HUMAN_BONES][3], told[3];
        uint32_t hand = human_part_joint(&h, HUMAN_HAND_R);
        memcpy(told, f.parts[HUMAN_HAND_R].position, sizeof told);
        bool lost = i >= 180 && i < 540;
        if (lost) f.parts[HUMAN_HAND_R].flags = 0;
        body_solve(&h, body_prior_standard(), &f, &m, &p);
        human_places(&h, &p, places);
        if (i > 0) fastest = fmax(fastest, distance(places[hand], before) / f.dt_s);
        if (lost) away = fmax(away, distance(places[hand], told));
        if (i < 180 || i > 680) EXPECT(distance(places[hand], told) < 1e-3);
        memcpy(before, places[hand], sizeof before);
    }
    printf("  a hand lost for 4 s: %.2f m away, never faster than %.1f m/s\n", away, fastest);
    EXPECT(away > 0.2);  // it lets go
    EXPECT(fastest < 6); // 7 cm a frame at 90 Hz
}

static void a_tracker_that_turns_on_flips_nothing(void)
{
    struct human h = made_up();
    struct body_memory m;
    double before[3] = {0}, worst = 0;
    body_start(&m);
    for (int i = 0; i < 400; i++) {
        struct body_frame f = standing(&h, i / 90.0);
        struct human_pose p;
        double pole[3], across[3];
        if (i >= 100 && i < 300) { // an elbow high above where it is guessed
            struct body_target *to = &f.parts[HUMAN_ELBOW_R];
            to->flags = BODY_POSITION | BODY_TRACKED;
            to->position[0] = -0.45;
            to->position[1] = 1.5;
            to->position[2] = 0.1;
        }
        body_solve(&h, NULL, &f, &m, &p);
        (void)pole_of(&h, &p, HUMAN_ARM_R, pole);
        vector_cross(before, pole, across);
        if (i > 0)
            worst = fmax(
                worst, DEGREES * atan2(sqrt(vector_dot(across, across)), vector_dot(before, pole)));
        memcpy(before, pole, sizeof before);
    }
    printf("  the elbow turns by at most %.1f degrees a frame\n", worst);
    EXPECT(worst < 20);
}

// ---- rotation-only trackers

static void a_tracker_that_only_turns_drives_its_limb(void)
{
    struct human h = made_up();
    struct body_memory m;
    struct human_pose p;
    body_start(&m);
    double places[HUMAN_BONES][3];
    for (int i = 0; i < 200; i++) {
        struct body_frame f = standing(&h, 0);
        // A thigh raised forward by 60 degrees, a shank hanging.
        f.parts[HUMAN_KNEE_L].flags = BODY_ROTATION | BODY_TRACKED;
        f.parts[HUMAN_KNEE_L].rotation[0] = -0.5;
        f.parts[HUMAN_KNEE_L].rotation[3] = 0.8660254;
        f.parts[HUMAN_FOOT_L].flags = BODY_ROTATION | BODY_TRACKED;
        f.parts[HUMAN_FOOT_L].rotation[3] = 1;
        // An upper arm level to the front, forearm up; no place of the hand.
        f.parts[HUMAN_ELBOW_R].flags = BODY_ROTATION | BODY_TRACKED;
        f.parts[HUMAN_ELBOW_R].rotation[1] = 0.70710678;
        f.parts[HUMAN_ELBOW_R].rotation[3] = 0.70710678;
        f.parts[HUMAN_HAND_R].flags = BODY_ROTATION | BODY_TRACKED;
        memset(f.parts[HUMAN_HAND_R].rotation, 0, sizeof(double[4]));
        f.parts[HUMAN_HAND_R].rotation[2] = -0.70710678;
        f.parts[HUMAN_HAND_R].rotation[3] = 0.70710678;
        body_solve(&h, NULL, &f, &m, &p);
    }
    human_places(&h, &p, places);
    uint32_t leg = human_limb_bone(HUMAN_LEG_L, 0), arm = human_limb_bone(HUMAN_ARM_R, 1);
    double thigh = atan2(places[leg + 1][2] - places[leg][2], places[leg][1] - places[leg + 1][1]);
    double shank =
        atan2(places[leg + 2][2] - places[leg + 1][2], places[leg + 1][1] - places[leg + 2][1]);
    printf("  thigh %.1f degrees forward, shank %.1f\n", DEGREES * thigh, DEGREES * shank);
    EXPECT_NEAR(DEGREES * thigh, 60, 2);
    EXPECT_NEAR(DEGREES * shank, 0, 5);
    printf("  upper arm (%.2f %.2f %.2f) forearm (%.2f %.2f %.2f)\n",
           places[arm + 1][0] - places[arm][0], places[arm + 1][1] - places[arm][1],
           places[arm + 1][2] - places[arm][2], places[arm + 2][0] - places[arm + 1][0],
           places[arm + 2][1] - places[arm + 1][1], places[arm + 2][2] - places[arm + 1][2]);
    EXPECT(places[arm + 1][2] - places[arm][2] > 0.26);
    EXPECT(places[arm + 2][1] - places[arm + 1][1] > 0.24);
}

// ---- recordings

static void a_recorded_session(const char *name, double most_pole)
{
    struct human h = made_up();
    struct vr_take t;
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/mocap/vr/%s", data, name);
    if (!vr_take_open(&t, path, &h)) {
        printf("  %s cannot be read\n", path);
        testing_failures++;
        return;
    }
    for (int run = 0; run < 3; run++) {
        struct body_memory m;
        double poles[HUMAN_LIMB_COUNT][3], worst_pole = 0, worst_limit = 0, hand_mm = 0;
        size_t unsound = 0, met = 0, told = 0;
        bool was_bent[HUMAN_LIMB_COUNT] = {false};
        body_start(&m);
        for (size_t i = 0; i < t.frames; i++) {
            struct body_frame f = t.items[i];
            struct human_pose p;
            double places[HUMAN_BONES][3];
            // Gaps in tracking: either hand for 0.7 s now and then, and the head for 0.3 s.
            if (run && i % 211 > 147) f.parts[HUMAN_HAND_L].flags = 0;
            if (run && (i + 90) % 257 > 193) f.parts[HUMAN_HAND_R].flags = 0;
            if (run && i % 401 > 373) f.parts[HUMAN_HEAD].flags = 0;
            body_solve(&h, run == 2 ? body_prior_standard() : NULL, &f, &m, &p);
            unsound += !is_sound(&p);
            worst_limit = fmax(worst_limit, beyond(&h, &p));
            human_places(&h, &p, places);
            for (int l = 0; l < HUMAN_LIMB_COUNT; l++) {
                double pole[3], across[3];
                double off = pole_of(&h, &p, (enum human_limb)l, pole);
                vector_cross(poles[l], pole, across);
                double turn =
                    DEGREES * atan2(sqrt(vector_dot(across, across)), vector_dot(poles[l], pole));
                // Of a straight limb nobody sees where the pole is.
                bool bent = off > 2e-3;
                if (bent && was_bent[l]) worst_pole = fmax(worst_pole, turn);
                was_bent[l] = bent;
                memcpy(poles[l], pole, sizeof pole);
            }
            for (int part = HUMAN_HAND_L; part <= HUMAN_HAND_R && !run; part++) {
                if (!f.parts[part].flags) continue;
                double mm = 1000 * distance(places[human_part_joint(&h, (enum human_part)part)],
                                            f.parts[part].position);
                hand_mm = fmax(hand_mm, mm);
                told++;
                met += mm < 1;
            }
        }
        printf("  %s%s: pole %.1f degrees a frame, %.4f beyond limits", name,
               run ? ", with gaps" : "", worst_pole, worst_limit);
        if (!run) printf(", hands met in %zu of %zu (worst %.1f mm)", met, told, hand_mm);
        printf("\n");
        EXPECT(unsound == 0);
        EXPECT(worst_limit < 0.01);
        EXPECT(worst_pole < most_pole);
    }
    vr_take_close(&t);
}

static void the_quest_session_holds(void)
{
    a_recorded_session("quest_session_first.jsonl", 20);
}

static void the_a_frame_recordings_hold(void)
{
    a_recorded_session("grabLeft.json", 20);
    a_recorded_session("grabRight.json", 20);
}

// ---- truth

static void recorded_motion_is_met(void)
{
    static const char *const clips[] = {
        "cmu/01_01.bvh",       "cmu/02_01.bvh",         "cmu/131_01.bvh",
        "cmu/14_14_short.bvh", "cmu/jumping_jacks.bvh", "fair/dab.bvh",
        "fair/jumping.bvh",    "fair/wave_hello.bvh",   "cmu/Boxing_Toes.bvh"};
    enum { COUNT = sizeof clips / sizeof clips[0] };
    struct take_score few = {0}, many = {0}, rule = {0};
    for (int i = 0; i < COUNT; i++) {
        struct take t;
        struct fault fault;
        char path[1024];
        const char *said;
        (void)snprintf(path, sizeof path, "%s/mocap/%s", data, clips[i]);
        if (!take_open(&t, path, &fault)) {
            printf("  %s: %s\n", path, fault.line);
            testing_failures++;
            continue;
        }
        const struct body_prior *prior = body_teach_for(path, &said);
        bool lies = i == COUNT - 1; // one who boxes, falls, and lies about
        EXPECT(strcmp(said, lies ? "committed" : "without this clip") == 0);
        struct take_score a = take_score(&t, prior, take_parts("head,hand_l,hand_r"));
        struct take_score b = take_score(&t, prior,
                                         take_parts("head,hand_l,hand_r,pelvis,"
                                                    "foot_l,foot_r"));
        struct take_score c = take_score(&t, NULL, take_parts("head,hand_l,hand_r"));
        printf("  %-22s upper %.2f whole %.2f cm (by rule %.2f %.2f); hands met in %zu of %zu, "
               "slide %.2f cm; with pelvis and feet %.2f\n",
               clips[i], a.upper_cm, a.whole_cm, c.upper_cm, c.whole_cm, a.hands_met, a.frames,
               fmax(a.slide_cm, c.slide_cm), b.whole_cm);
        EXPECT(fmax(a.head_mm, fmax(b.head_mm, c.head_mm)) < 1);
        EXPECT(fmax(a.head_deg, fmax(b.head_deg, c.head_deg)) < 0.5);
        EXPECT(fmax(a.limit_deg, fmax(b.limit_deg, c.limit_deg)) < 0.01);
        EXPECT((double)a.hands_met >= 0.98 * (double)a.frames);
        EXPECT(fmax(a.slide_cm, c.slide_cm) < (lies ? 5 : 2));
        few.upper_cm += a.upper_cm / COUNT;
        few.whole_cm += a.whole_cm / COUNT;
        many.whole_cm += b.whole_cm / COUNT;
        rule.upper_cm += c.upper_cm / COUNT;
        rule.whole_cm += c.whole_cm / COUNT;
        take_close(&t);
    }
    printf("  all: upper %.2f, whole %.2f cm; by rule %.2f, %.2f; with pelvis and feet %.2f\n",
           few.upper_cm, few.whole_cm, rule.upper_cm, rule.whole_cm, many.whole_cm);
    EXPECT(few.upper_cm < 6 && few.whole_cm < 9 && many.whole_cm < 3.5);
    EXPECT(few.whole_cm < rule.whole_cm); // what was learned helps
}

int main(void)
{
    data = testing_data();
    RUN(limits_hold_whatever_is_told);
    RUN(unreachable_targets_stretch_nothing);
    RUN(a_loaded_memory_goes_on_as_the_saved_one);
    RUN(a_lost_hand_eases_away_and_back);
    RUN(a_tracker_that_turns_on_flips_nothing);
    RUN(a_tracker_that_only_turns_drives_its_limb);
    if (!data) {
        printf("  skipped: recordings (no shared data)\n");
        TESTING_MAIN_END;
    }
    RUN(recorded_motion_is_met);
    RUN(the_quest_session_holds);
    RUN(the_a_frame_recordings_hold);
    TESTING_MAIN_END;
}

// Every kind of extra on the demo character: what correctives do does not depend on them, they
// swing alike at every rate, and nothing kicks, drifts or explodes.
#include <math.h>
#include <string.h>

#include "tests/stage/dance.h"
#include "tests/testing.h"
int testing_failures;

static const char mira[] = "tests/assets/characters/mira.rig.json";

#define COLLIDERS                                                                                  \
    "\"colliders\": [{\"node\": \"chest\", \"shape\": {\"capsule\": {\"offset\": [0, -0.15, 0], "  \
    "\"tail\": [0, 0.15, 0], \"radius\": 0.09}}}, {\"node\": \"hips\", \"shape\": {\"sphere\": "   \
    "{\"radius\": 0.1}}}]"
#define JIGGLE                                                                                     \
    "{\"type\": \"jiggle\", \"name\": \"jiggle\", \"joint\": \"spine\", \"radius_m\": 0.17, "      \
    "\"frequency_hz\": 3.2, \"damping_ratio\": 0.22}"
#define MASSES                                                                                     \
    "{\"type\": \"jiggle\", \"name\": \"masses\", \"joint\": \"hips\", \"radius_m\": 0.22, "       \
    "\"frequency_hz\": 4, \"masses\": 8, \"coupling\": 0.3, \"limit_m\": 0.05, \"volume\": 1}"
#define BENT                                                                                       \
    "{\"type\": \"muscle\", \"name\": \"bent\", \"from\": \"leftUpperArm\", \"to\": "              \
    "\"leftLowerArm\", \"volume_l\": 0.18}"
#define DRAWN                                                                                      \
    "{\"type\": \"muscle\", \"name\": \"drawn\", \"from\": \"rightUpperArm\", \"to\": "            \
    "\"rightLowerArm\", \"by\": \"distance\", \"shorter\": 0.2, \"fibre\": [0, 1, 0], "            \
    "\"slide\": 0.7, \"activation\": 0.3}"
#define CLOTH                                                                                      \
    "{\"type\": \"cloth\", \"name\": \"cloth\", \"vertices\": {\"color\": 1}, \"attach\": "        \
    "\"upperChest\", " COLLIDERS "}"
// Without colliders, so that it comes to rest exactly.
#define FREE_CLOTH                                                                                 \
    "{\"type\": \"cloth\", \"name\": \"free\", \"vertices\": {\"color\": 1}, \"attach\": "         \
    "\"upperChest\"}"

enum { KINDS = 6 };
static const char *const kinds[KINDS] = {JIGGLE, MASSES, BENT, DRAWN, CLOTH, FREE_CLOTH};
static const char *const names[KINDS + 1] = {"jiggle", "masses", "bent", "drawn",
                                             "cloth",  "free",   "all"};
static char list[16384];

static const char *all_of(const char *const *items, int step, int first)
{
    list[0] = 0;
    for (int i = 0, k = first; i < KINDS; i++, k += step) {
        strcat(list, i ? ", " : "[");
        strcat(list, items[k]);
    }
    return strcat(list, "]");
}

// Only `which` is on; KINDS: all.
static void leave_on(struct body *b, int which)
{
    int32_t at = which < KINDS ? extras_find(b->options.model, names[which]) : 0;
    b->extras.off = which < KINDS ? ~((uint64_t)1 << at) : 0;
}

// ---- identity 3 ---------------------------------------------------------------------------

static void check_identity(const char *extras, int first, const char *what)
{
    struct dance d;
    struct body corrected, plain, both[KINDS + 1], alone[KINDS + 1];
    double worst[KINDS + 1] = {0}, swing[KINDS + 1] = {0};
    bool opened = dance_open(&d, mira, extras, false, NULL);
    EXPECT(opened);
    if (!opened) return;
    dance_body(&d, "Dance", DANCE_EXTRAS, &corrected);
    dance_body(&d, "Dance", DANCE_EXTRAS | DANCE_CORRECTIVES, &plain);
    for (int i = first; i <= KINDS; i++) {
        dance_body(&d, "Dance", 0, &both[i]);
        dance_body(&d, "Dance", DANCE_CORRECTIVES, &alone[i]);
        leave_on(&both[i], i);
        leave_on(&alone[i], i);
    }
    for (int tick = 0; tick <= 360; tick++) { // 30 s
        double t = tick / 12.0;
        dance_to(&corrected, t);
        dance_to(&plain, t);
        for (int i = first; i <= KINDS; i++) {
            dance_to(&both[i], t);
            dance_to(&alone[i], t);
            worst[i] = fmax(worst[i], dance_difference(&both[i], &alone[i], &corrected, &plain));
            swing[i] = fmax(swing[i], dance_distance(&alone[i], &plain));
        }
    }
    for (int i = first; i <= KINDS; i++) {
        printf("  %s, %s: displaces by up to %.3g, identity 3 to %.2g of the diagonal\n", what,
               names[i], swing[i], worst[i] / d.diagonal);
        EXPECT(swing[i] > 1e-3);
        EXPECT(worst[i] <= 1e-5 * d.diagonal);
        body_destroy(&both[i]);
        body_destroy(&alone[i]);
    }
    body_destroy(&corrected);
    body_destroy(&plain);
    dance_close(&d);
}

static void correctives_are_what_they_are_whatever_stands_between(void)
{
    check_identity(all_of(kinds, 1, 0), 0, "in order");
    check_identity(all_of(kinds, -1, KINDS - 1), KINDS, "in reverse");
}

// ---- the same at every rate ---------------------------------------------------------------

enum { RATES = 6, INSTANTS = 12 };
static const int rates[RATES] = {20, 30, 60, 90, 144, 0}; // 0: irregular

static double next_tick(int hz, double t, double until, unsigned *seed)
{
    double dt;
    *seed = *seed * 1664525 + 1013904223;
    dt = hz ? 1.0 / hz : 0.004 + 0.046 * (*seed >> 8) / 16777216.0;
    return t + dt > until - 1e-9 ? until : t + dt;
}

// Displacement of every vertex at the half seconds of 6 s of the clip.
static float *displacements(const struct dance *d, const char *clip, int which, int hz,
                            double *most)
{
    struct body moved, still;
    size_t count = d->model->blocks_count * 3 * MODEL_LANES;
    float *out = malloc(INSTANTS * count * sizeof *out);
    unsigned seed = 7;
    double t = 0;
    EXPECT(out != NULL);
    dance_body(d, clip, DANCE_CORRECTIVES, &moved);
    dance_body(d, clip, DANCE_CORRECTIVES | DANCE_EXTRAS, &still);
    leave_on(&moved, which);
    dance_to(&moved, 0);
    dance_to(&still, 0);
    for (int k = 0; k < INSTANTS; k++) {
        while (t < (k + 1) * 0.5) {
            t = next_tick(hz, t, (k + 1) * 0.5, &seed);
            (void)body_pose(&moved, t);
            (void)body_pose(&still, t);
        }
        body_run(&moved);
        body_run(&still);
        for (size_t i = 0; i < count; i++) {
            size_t block = i / (3 * MODEL_LANES), at = i % (3 * MODEL_LANES);
            out[(size_t)k * count + i] =
                moved.blocks[block].position[at / MODEL_LANES][at % MODEL_LANES] -
                still.blocks[block].position[at / MODEL_LANES][at % MODEL_LANES];
            *most = fmax(*most, fabs((double)out[(size_t)k * count + i]));
        }
    }
    body_destroy(&moved);
    body_destroy(&still);
    return out;
}

static void rates_swing_alike(void)
{
    struct dance d;
    bool opened = dance_open(&d, mira, all_of(kinds, 1, 0), true, NULL);
    EXPECT(opened);
    if (!opened) return;
    size_t count = INSTANTS * d.model->blocks_count * 3 * MODEL_LANES;
    for (int i = 0; i < KINDS; i++) {
        double most = 0, none = 0;
        float *want = displacements(&d, "Dance", i, 480, &most);
        printf("  %s: amplitude %.3g; off by", names[i], most);
        for (int k = 0; k < RATES; k++) {
            double worst = 0;
            float *got = displacements(&d, "Dance", i, rates[k], &none);
            for (size_t n = 0; n < count; n++)
                worst = fmax(worst, fabs((double)got[n] - (double)want[n]));
            printf(" %.2f %%", 100 * worst / most);
            EXPECT(worst <= 0.01 * most);
            free(got);
        }
        printf(" at 20, 30, 60, 90, 144 Hz and irregular ticks\n");
        free(want);
    }
    dance_close(&d);
}

int main(void)
{
    RUN(correctives_are_what_they_are_whatever_stands_between);
    RUN(rates_swing_alike);
    TESTING_MAIN_END;
}

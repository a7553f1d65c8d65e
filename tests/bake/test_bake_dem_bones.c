// A real rig with its true surface at 40 frames: one driver over six joints that turn and slide.
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "server/character/pose/clip.h"
#include "tests/support/stand.h"
#include "tests/testing.h"
int testing_failures;

enum { FRAMES = 40, VERTICES = 754, SURFACE_BYTES = VERTICES * 12 };
static uint8_t *truth; // [frame][vertex][xyz]
static char folder[] = "/tmp/sinew_dem_bones_XXXXXX";
static struct stand stand;

static void copy(const char *from, const char *name)
{
    char path[1024];
    uint8_t *bytes;
    size_t size;
    EXPECT(file_read(from, 64u << 20, &bytes, &size, NULL) == ERR_OK);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    EXPECT(file_write_atomic(path, bytes, size, NULL) == ERR_OK);
    free(bytes);
}

static int prepare(const char *data)
{
    char path[1024];
    size_t size;
    struct fault fault = {0};
    snprintf(path, sizeof path, "%s/psd/dem_bones/bone_examples_every10th_40x754x3.f32", data);
    if (file_read(path, 64u << 20, &truth, &size, &fault) != ERR_OK ||
        size != (size_t)FRAMES * SURFACE_BYTES || !mkdtemp(folder))
        return 0;
    snprintf(path, sizeof path, "%s/psd/dem_bones/bone.glb", data);
    copy(path, "bone.glb");
    copy("tests/bake/dem_bones.rig.json", "dem_bones.rig.json");
    for (int i = 0; i < FRAMES; i++) {
        snprintf(path, sizeof path, "%s/frame_%d.f32", folder, 10 * i);
        EXPECT(file_write_atomic(path, truth + (size_t)i * SURFACE_BYTES, SURFACE_BYTES, NULL) ==
               ERR_OK);
    }
    snprintf(path, sizeof path, "%s/dem_bones.rig.json", folder);
    return stand_open(&stand, path);
}

static void clean_up(void)
{
    char path[1024];
    for (int i = 0; i < FRAMES; i++) {
        snprintf(path, sizeof path, "%s/frame_%d.f32", folder, 10 * i);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/bone.glb", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/dem_bones.rig.json", folder);
    unlink(path);
    rmdir(folder);
}

static double diagonal(void)
{
    double sum = 0;
    for (int r = 0; r < 3; r++) {
        double d = (double)stand.model->info->box_max[r] - (double)stand.model->info->box_min[r];
        sum += d * d;
    }
    return sqrt(sum);
}

static void errors_at(int frame, double *mean, double *worst)
{
    *mean = *worst = 0;
    for (size_t v = 0; v < VERTICES; v++) {
        double sum = 0;
        for (size_t r = 0; r < 3; r++) {
            float want;
            memcpy(&want, truth + (size_t)frame * SURFACE_BYTES + (v * 3 + r) * 4, 4);
            double d = (double)stand.positions[v * 3 + r] - (double)want;
            sum += d * d;
        }
        *mean += sqrt(sum) / VERTICES;
        *worst = fmax(*worst, sqrt(sum));
    }
}

static void every_example_is_reproduced(void)
{
    double plain = 0, mean, worst, worst_of_all = 0;
    for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
        if (!simd_has((enum simd_level)level)) continue;
        plain = 0;
        for (int i = 0; i < FRAMES; i++) {
            pose_rest(stand.model, stand.pose);
            clip_sample(stand.model, 0, 10 * i / 24.0, (struct clip_cursor){0}, stand.pose);
            stand.without_correctives = 1;
            stand_evaluate(&stand, MODEL_LBS, (enum simd_level)level);
            errors_at(i, &mean, &worst);
            plain += mean / FRAMES;
            stand.without_correctives = 0;
            stand_evaluate(&stand, MODEL_LBS, (enum simd_level)level);
            errors_at(i, &mean, &worst);
            worst_of_all = fmax(worst_of_all, worst);
        }
    }
    printf("  plain skinning: mean %.4g; with correctives: worst %.3g = %.3g of the diagonal\n",
           plain, worst_of_all, worst_of_all / diagonal());
    EXPECT_NEAR(plain, 0.058, 0.02);
    EXPECT(worst_of_all <= 1e-5 * diagonal());
}

static void neighbours_stay_apart_and_rest_takes_the_base(void)
{
    EXPECT(stand.model->drivers_count == 1 && stand.model->examples_count == FRAMES);
    EXPECT(stand.model->examples[0].center == 0); // frame 0 is the rest pose
    EXPECT(stand.model->solves[0].center_count == FRAMES);
}

int main(void)
{
    const char *data = testing_data();
    if (!data) {
        puts("skipped: no shared data (SINEW_TEST_DATA)");
        return TESTING_SKIPPED;
    }
    if (!prepare(data)) return 1;
    RUN(neighbours_stay_apart_and_rest_takes_the_base);
    RUN(every_example_is_reproduced);
    clean_up();
    free(truth);
    stand_close(&stand);
    TESTING_MAIN_END;
}

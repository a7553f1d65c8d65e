#include <unistd.h>

#include "common/check.h"
#include "common/file.h"
#include "server/bake/compile.h"
#include "server/bake/import.h"
#include "server/model/container.h"
#include "server/model/validate.h"
#include "tests/support/sample.h"
#include "tests/support/stand.h"
#include "tests/testing.h"
int testing_failures;

static uint8_t *image; // a good container
static size_t image_bytes;

static uint8_t *bake_sample(size_t *size_bytes)
{
    size_t text_bytes;
    char *text = sample_gltf(&text_bytes);
    struct import_limits limits = import_limits_default();
    struct scene scene = {0};
    struct fault fault = {0};
    uint8_t *bytes = NULL;
    struct compile_settings settings = {.source_name = "sample.gltf"};
    enum err e = import_bytes((const uint8_t *)text, text_bytes, NULL, &limits, &scene, &fault);
    if (e == ERR_OK) e = compile_scene(&scene, &settings, &bytes, size_bytes, &fault);
    if (e != ERR_OK) printf("  %s\n", fault.line);
    EXPECT(e == ERR_OK);
    scene_free(&scene);
    free(text);
    return bytes;
}

static void the_sample_bends_as_it_should(void)
{
    struct stand s;
    struct model_file *file = NULL;
    struct fault fault = {0};
    EXPECT(model_file_from_bytes(image, image_bytes, &file, &fault) == ERR_OK);
    EXPECT(file && stand_take(&s, file));
    if (!file) return;
    EXPECT(model_vertex_count(s.model) == 8 && s.model->clips_count == 1);
    EXPECT(s.model->shapes_count == 1 && s.model->channels_count == 1);
    stand_evaluate(&s, MODEL_LBS, SIMD_PLAIN);
    EXPECT_NEAR(s.positions[7 * 3 + 1], 3, 1e-6);
    s.pose.weights[0] = 2;
    s.pose.locals[1].rotation = (struct quat){0, 0, 0.70710678f, 0.70710678f};
    stand_evaluate(&s, MODEL_LBS, SIMD_PLAIN);
    // Vertex 7: (0.5 + 2 * 0.25, 3, 0.375), wholly on "upper", turned 90 degrees about (0, 1.5).
    EXPECT_NEAR(s.positions[7 * 3], -1.5, 1e-6);
    EXPECT_NEAR(s.positions[7 * 3 + 1], 2.5, 1e-6);
    EXPECT_NEAR(s.positions[7 * 3 + 2], 0.375, 1e-6);
    stand_close(&s);
}

static void baking_twice_gives_the_same_bytes(void)
{
    size_t again_bytes = 0;
    uint8_t *again = bake_sample(&again_bytes);
    EXPECT(again && again_bytes == image_bytes && memcmp(again, image, image_bytes) == 0);
    free(again);
}

static enum err open_bytes(const uint8_t *bytes, size_t size)
{
    struct model_file *file = NULL;
    struct fault fault = {0};
    enum err e = model_file_from_bytes(bytes, size, &file, &fault);
    EXPECT((e == ERR_OK) == (file != NULL));
    EXPECT((e == ERR_OK) == (fault.line[0] == 0));
    model_file_unref(file);
    return e;
}

static void every_truncation_is_refused(void)
{
    for (size_t n = 0; n < image_bytes; n++)
        EXPECT(open_bytes(image, n) != ERR_OK);
    EXPECT(open_bytes(image, image_bytes) == ERR_OK);
}

static unsigned random_state = 12345;
static unsigned random_next(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static void flipped_bytes_are_noticed_or_harmless(void)
{
    uint8_t *copy = malloc(image_bytes);
    int refused = 0;
    for (int i = 0; i < 10000; i++) {
        memcpy(copy, image, image_bytes);
        copy[random_next() % image_bytes] ^= (uint8_t)(1 + random_next() % 255);
        refused += open_bytes(copy, image_bytes) != ERR_OK;
    }
    // Only the zero bytes between sections are outside every checksum.
    EXPECT(refused > 5000);
    free(copy);
}

// Behind a valid checksum the validator is the only guard: damage tables one value at a time and
// write them again, as a hostile writer would.
static void damaged_tables_are_refused_or_safe_to_run(void)
{
    uint8_t *copy = aligned_alloc(64, image_bytes), *again = aligned_alloc(64, image_bytes);
    memcpy(copy, image, image_bytes);
    struct model m;
    EXPECT(container_read(copy, image_bytes, &m, NULL) == ERR_OK);
    int survived = 0;
    for (int i = 0; i < 10000; i++) {
        memcpy(copy, image, image_bytes);
        size_t at = 2048 + random_next() % (image_bytes - 2048);
        static const uint32_t evil[] = {0xFFFFFFFFu, 0x7FC00000u, 0x7F800000u, 0x80000000u,
                                        1000000};
        memcpy(copy + at / 4 * 4, &evil[random_next() % 5], 4);
        container_write(&m, again);
        struct model_file *file = NULL;
        if (model_file_from_bytes(again, image_bytes, &file, NULL) != ERR_OK) continue;
        struct stand s;
        survived++;
        if (stand_take(&s, file)) stand_evaluate(&s, MODEL_LBS, simd_best());
        if (s.scratch.base) stand_evaluate(&s, MODEL_DQ, simd_best());
        stand_close(&s);
    }
    printf("  %d of 10000 damaged models were harmless\n", survived);
    free(copy);
    free(again);
}

// Tables that are made from a model are as large as its deltas are many.
static void channels_that_share_deltas_are_refused(void)
{
    struct model m;
    uint8_t *copy = aligned_alloc(64, image_bytes), *again = aligned_alloc(64, image_bytes * 2);
    memcpy(copy, image, image_bytes);
    EXPECT(container_read(copy, image_bytes, &m, NULL) == ERR_OK);
    struct model_channel twice[2] = {m.channels[0], m.channels[0]};
    m.channels = twice;
    m.channels_count = 2;
    CHECK(container_size(&m) <= image_bytes * 2);
    container_write(&m, again);
    struct model_file *file = NULL;
    struct fault fault = {0};
    EXPECT(model_file_from_bytes(again, container_size(&m), &file, &fault) == ERR_MALFORMED);
    EXPECT(strstr(fault.line, "another channel's") != NULL);
    free(copy);
    free(again);
}

static void an_older_version_asks_to_bake_again(void)
{
    uint8_t *copy = malloc(image_bytes);
    memcpy(copy, image, image_bytes);
    copy[8]++;
    struct model_file *file = NULL;
    struct fault fault = {0};
    EXPECT(model_file_from_bytes(copy, image_bytes, &file, &fault) == ERR_VERSION);
    EXPECT(strstr(fault.line, "bake again") != NULL);
    free(copy);
}

static void a_mapped_file_is_the_same_model(void)
{
    char path[] = "/tmp/sinew_model_XXXXXX";
    int fd = mkstemp(path);
    EXPECT(fd >= 0 && close(fd) == 0);
    EXPECT(file_write_atomic(path, image, image_bytes, NULL) == ERR_OK);
    struct model_file *file = NULL;
    struct fault fault = {0};
    EXPECT(model_file_open(path, &file, &fault) == ERR_OK);
    if (file) EXPECT(model_file_model(file)->parts_count == 1);
    unlink(path); // the mapping outlives the name
    model_file_unref(file);
    EXPECT(model_file_open(path, &file, &fault) == ERR_IO);
    EXPECT(model_file_open("/tmp", &file, NULL) == ERR_IO);
}

int main(void)
{
    image = bake_sample(&image_bytes);
    if (!image) return 1;
    printf("  %zu bytes\n", image_bytes);
    RUN(the_sample_bends_as_it_should);
    RUN(baking_twice_gives_the_same_bytes);
    RUN(every_truncation_is_refused);
    RUN(flipped_bytes_are_noticed_or_harmless);
    RUN(damaged_tables_are_refused_or_safe_to_run);
    RUN(channels_that_share_deltas_are_refused);
    RUN(an_older_version_asks_to_bake_again);
    RUN(a_mapped_file_is_the_same_model);
    free(image);
    TESTING_MAIN_END;
}

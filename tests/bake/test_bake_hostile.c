// What is cut off, bent and blown up: read or refused, within bounds of time and memory.
#include "server/bake/bvh.h"
#include "server/bake/import.h"
#include "tests/bake/build.h"
#include "tests/bake/scene_check.h"
#include "tests/testing.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
#define COUNTS_MEMORY 1
#endif
#endif

int testing_failures;

static size_t live_bytes, peak_bytes;

#ifdef COUNTS_MEMORY
static void on_malloc(const volatile void *block, size_t size)
{
    (void)block;
    live_bytes += size;
    if (live_bytes > peak_bytes) peak_bytes = live_bytes;
}

static void on_free(const volatile void *block)
{
    if (block) live_bytes -= __sanitizer_get_allocated_size((const void *)(uintptr_t)block);
}
#endif

static int read_count, refused_count;

// Imports an exact copy, so that reading one byte too far is seen. Bounds what it may take.
static void try_bytes(const uint8_t *bytes, size_t size)
{
    uint8_t *exact = malloc(size + (size == 0));
    if (size) memcpy(exact, bytes, size);
    struct import_limits limits = import_limits_default();
    limits.decoded_bytes_max = (size_t)64 << 20;
    struct scene scene;
    struct fault fault = {0};
    size_t before = live_bytes;
    peak_bytes = live_bytes;
    enum err e = import_bytes(exact, size, NULL, &limits, &scene, &fault);
    EXPECT(peak_bytes - before <= ((size_t)64 << 20) + 16 * size + limits.decoded_bytes_max);
    if (e == ERR_OK) {
        // The check walks arrays once for each of their users: not where there are too many.
        const char *problem = size < 100000 ? scene_check(&scene) : NULL;
        if (problem) printf("  %s\n", problem);
        EXPECT(!problem);
        scene_free(&scene);
        read_count++;
    } else {
        EXPECT(fault.code == e && *fault.line);
        EXPECT(fault.line[0] == '/' || strstr(fault.line, "byte "));
        refused_count++;
    }
    EXPECT(live_bytes == before);
    free(exact);
}

static void every_seed_is_read_without_repairs(void)
{
    for (int i = 0; i < BUILD_SEED_COUNT; i++) {
        struct built seed = build_seed(i);
        struct import_limits limits = import_limits_default();
        struct scene scene;
        struct fault fault = {0};
        EXPECT(seed.size_bytes < 20000);
        enum err e = import_bytes(seed.bytes, seed.size_bytes, NULL, &limits, &scene, &fault);
        if (e != ERR_OK) printf("  %s: %s\n", build_seed_name(i), fault.line);
        EXPECT(e == ERR_OK);
        for (uint32_t n = 0; e == ERR_OK && n < scene.notes.count; n++) {
            printf("  %s: %s\n", build_seed_name(i), scene.notes.items[n].text);
            EXPECT(scene.notes.items[n].kind == NOTE_READ ||
                   strstr(scene.notes.items[n].text, "VRM part") == NULL);
        }
        if (e == ERR_OK) EXPECT(!scene_check(&scene));
        if (e == ERR_OK) scene_free(&scene);
        free(seed.bytes);
    }
}

static void every_truncation_is_read_or_refused(void)
{
    for (int i = 0; i < BUILD_SEED_COUNT; i++) {
        struct built seed = build_seed(i);
        read_count = refused_count = 0;
        for (size_t n = 0; n < seed.size_bytes; n++)
            try_bytes(seed.bytes, n);
        printf("  %s: %d read, %d refused\n", build_seed_name(i), read_count, refused_count);
        free(seed.bytes);
    }
}

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void ten_thousand_byte_flips_are_read_or_refused(void)
{
    for (int i = 0; i < BUILD_SEED_COUNT; i++) {
        struct built seed = build_seed(i);
        uint8_t *bent = malloc(seed.size_bytes);
        read_count = refused_count = 0;
        for (int n = 0; n < 10000; n++) {
            memcpy(bent, seed.bytes, seed.size_bytes);
            uint64_t flips = 1 + random_next() % 3;
            for (uint64_t f = 0; f < flips; f++)
                bent[random_next() % seed.size_bytes] = (uint8_t)random_next();
            try_bytes(bent, seed.size_bytes);
        }
        printf("  %s: %d read, %d refused\n", build_seed_name(i), read_count, refused_count);
        free(bent);
        free(seed.bytes);
    }
}

// Structure is hit more often by swapping digits in the JSON than by random bytes.
static void ten_thousand_digit_flips_are_read_or_refused(void)
{
    for (int i = 0; i < BUILD_SEED_COUNT; i++) {
        struct built seed = build_seed(i);
        uint8_t *bent = malloc(seed.size_bytes);
        read_count = refused_count = 0;
        for (int n = 0; n < 10000; n++) {
            memcpy(bent, seed.bytes, seed.size_bytes);
            for (int f = 0; f < 40; f++) {
                size_t at = random_next() % seed.size_bytes;
                if (bent[at] >= '0' && bent[at] <= '9')
                    bent[at] = (uint8_t) "0123456789-"[random_next() % 11];
            }
            try_bytes(bent, seed.size_bytes);
        }
        printf("  %s: %d read, %d refused\n", build_seed_name(i), read_count, refused_count);
        free(bent);
        free(seed.bytes);
    }
}

// ---- amplification: little text that declares much

struct text {
    char *bytes;
    size_t length, room;
};

static void add(struct text *t, const char *piece)
{
    size_t n = strlen(piece);
    while (t->length + n + 1 > t->room) {
        t->room = t->room * 2 + 4096;
        t->bytes = realloc(t->bytes, t->room);
    }
    memcpy(t->bytes + t->length, piece, n + 1);
    t->length += n;
}

static void repeat(struct text *t, const char *piece, int count)
{
    for (int i = 0; i < count; i++) {
        if (i) add(t, ",");
        add(t, piece);
    }
}

static void try_text(struct text *t, const char *what)
{
    read_count = refused_count = 0;
    try_bytes((const uint8_t *)t->bytes, t->length);
    printf("  %s: %zu bytes, %s, peak %zu MiB\n", what, t->length, read_count ? "read" : "refused",
           peak_bytes >> 20);
    free(t->bytes);
    *t = (struct text){0};
}

#define HEAD "{\"asset\":{\"version\":\"2.0\"},"

static void what_declares_too_much_is_refused_in_time(void)
{
    struct text t = {0};
    add(&t, HEAD "\"accessors\":[{\"componentType\":5126,\"count\":2000000000,\"type\":\"VEC3\"}],"
                 "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}]}");
    try_text(&t, "one accessor of two thousand million zeros");
    add(&t, HEAD "\"accessors\":[");
    repeat(&t, "{\"componentType\":5126,\"count\":4000000,\"type\":\"VEC3\"}", 300);
    add(&t, "],\"meshes\":[{\"primitives\":[");
    for (int i = 0; i < 300; i++) {
        char piece[64];
        snprintf(piece, sizeof piece, "%s{\"attributes\":{\"POSITION\":%d}}", i ? "," : "", i);
        add(&t, piece);
    }
    add(&t, "]}]}");
    try_text(&t, "300 accessors of zeros");
    add(&t, HEAD "\"accessors\":[{\"componentType\":5126,\"count\":1000000,\"type\":\"VEC3\"}],"
                 "\"meshes\":[{\"primitives\":[");
    repeat(&t, "{\"attributes\":{\"POSITION\":0}}", 50000);
    add(&t, "]}]}");
    try_text(&t, "50,000 primitives that share one accessor");
    add(&t, HEAD "\"accessors\":[{\"componentType\":5126,\"count\":100000,\"type\":\"VEC3\"},"
                 "{\"componentType\":5126,\"count\":100000,\"type\":\"VEC3\"}],"
                 "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"targets\":[");
    repeat(&t, "{\"POSITION\":1}", 100000);
    add(&t, "]}]}]}");
    try_text(&t, "100,000 morph targets that share one accessor");
    add(&t, HEAD "\"buffers\":[{\"byteLength\":0}],\"accessors\":[{\"componentType\":5126,"
                 "\"count\":3000000,\"type\":\"VEC3\"},{\"componentType\":5126,\"count\":3000000,"
                 "\"type\":\"VEC3\",\"sparse\":{\"count\":0,\"indices\":{\"bufferView\":0,"
                 "\"componentType\":5125},\"values\":{\"bufferView\":0}}}],\"bufferViews\":[{"
                 "\"buffer\":0,\"byteLength\":0}],\"meshes\":[{\"primitives\":[{\"attributes\":{"
                 "\"POSITION\":0},\"targets\":[");
    repeat(&t, "{\"POSITION\":1}", 1000);
    add(&t, "]}]}]}");
    try_text(&t, "1,000 sparse targets of nothing on three million vertices");
    add(&t, HEAD "\"nodes\":[");
    repeat(&t, "{}", 300000);
    add(&t, "]}");
    try_text(&t, "300,000 nodes");
    add(&t, HEAD "\"nodes\":[");
    for (int i = 1; i <= 150000; i++) {
        char piece[64];
        snprintf(piece, sizeof piece, "%s{\"children\":[%d]}", i > 1 ? "," : "", i);
        add(&t, piece);
    }
    add(&t, ",{}]}");
    try_text(&t, "a chain of 150,000 nodes");
    add(&t, "{\"asset\":{\"version\":\"2.0\"},");
    for (int i = 0; i < 100000; i++) {
        char piece[64];
        snprintf(piece, sizeof piece, "\"x%d\":0,", i);
        add(&t, piece);
    }
    add(&t, "\"buffers\":[");
    repeat(&t, "{\"byteLength\":1,\"uri\":\"data:;base64,AAAA\"}", 20000);
    add(&t, "],\"bufferViews\":[");
    for (int i = 0; i < 20000; i++) {
        char piece[64];
        snprintf(piece, sizeof piece, "%s{\"buffer\":%d,\"byteLength\":1}", i ? "," : "", i);
        add(&t, piece);
    }
    add(&t, "],\"images\":[");
    for (int i = 0; i < 20000; i++) {
        char piece[64];
        snprintf(piece, sizeof piece, "%s{\"bufferView\":%d}", i ? "," : "", i);
        add(&t, piece);
    }
    add(&t, "]}");
    try_text(&t, "20,000 buffers behind 100,000 keys");
    add(&t, HEAD "\"extras\":{");
    for (int i = 0; i < 200000; i++) {
        char piece[64];
        snprintf(piece, sizeof piece, "%s\"key%d\":%d", i ? "," : "", i, i);
        add(&t, piece);
    }
    add(&t, "}}");
    try_text(&t, "200,000 different keys");
}

// ---- BVH

static const char bvh_seed[] =
    "HIERARCHY\nROOT Hips\n{\n OFFSET 0 0 0\n CHANNELS 6 Xposition Yposition Zposition Zrotation "
    "Xrotation Yrotation\n JOINT Spine\n {\n  OFFSET 0 10 0\n  CHANNELS 3 Zrotation Yrotation "
    "Xrotation\n  End Site\n  {\n   OFFSET 0 5 0\n  }\n }\n}\nMOTION\nFrames: 2\nFrame Time: "
    "0.0333\n0 90 0 0 0 0 10 20 30\n1 91 0 5 0 0 15 25 35\n";

static void try_bvh(const char *text, size_t size)
{
    char *exact = malloc(size + 1);
    memcpy(exact, text, size);
    exact[size] = 0;
    struct scene scene;
    struct fault fault = {0};
    if (bvh_parse(exact, size, &scene, &fault) == ERR_OK) {
        EXPECT(!scene_check(&scene));
        scene_free(&scene);
        read_count++;
    } else {
        EXPECT(strstr(fault.line, "byte ") != NULL);
        refused_count++;
    }
    free(exact);
}

static void broken_bvh_is_read_or_refused(void)
{
    size_t size = sizeof bvh_seed - 1;
    read_count = refused_count = 0;
    for (size_t n = 0; n <= size; n++)
        try_bvh(bvh_seed, n);
    for (int i = 0; i < 10000; i++) {
        char bent[sizeof bvh_seed];
        memcpy(bent, bvh_seed, sizeof bent);
        for (int f = 0; f < 2; f++) {
            size_t at = random_next() % size;
            bool digit = bent[at] >= '0' && bent[at] <= '9' && i % 2;
            bent[at] = digit ? "0123456789 .-"[random_next() % 13] : (char)random_next();
        }
        try_bvh(bent, size);
    }
    printf("  %d read, %d refused\n", read_count, refused_count);
    EXPECT(read_count > 50 && refused_count > 1000);
}

static void write_corpus(const char *folder)
{
    for (int i = 0; i < BUILD_SEED_COUNT; i++) {
        char path[1024];
        struct built seed = build_seed(i);
        bool text = strstr(build_seed_name(i), ".gltf") != NULL;
        snprintf(path, sizeof path, "%s/%s/%s", folder, text ? "gltf" : "glb", build_seed_name(i));
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(seed.bytes, 1, seed.size_bytes, f) != seed.size_bytes) perror(path);
        if (f) fclose(f);
        free(seed.bytes);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--write-corpus") == 0) { // tests/fuzz/corpus
        write_corpus(argv[2]);
        return 0;
    }
#ifdef COUNTS_MEMORY
    __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
#endif
    RUN(every_seed_is_read_without_repairs);
    RUN(every_truncation_is_read_or_refused);
    RUN(ten_thousand_byte_flips_are_read_or_refused);
    RUN(ten_thousand_digit_flips_are_read_or_refused);
    RUN(what_declares_too_much_is_refused_in_time);
    RUN(broken_bvh_is_read_or_refused);
    TESTING_MAIN_END;
}

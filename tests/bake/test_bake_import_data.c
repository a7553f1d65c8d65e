// Real and broken files that nobody here made, in place (see the shared data's README).
#include <dirent.h>
#include <strings.h>
#include <sys/stat.h>

#include "server/bake/import.h"
#include "tests/bake/scene_check.h"
#include "tests/testing.h"

int testing_failures;
static const char *data;
static bool verbose;

typedef void file_fn(const char *path);

static bool is_model(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcasecmp(dot, ".glb") == 0 || strcasecmp(dot, ".gltf") == 0 ||
                   strcasecmp(dot, ".vrm") == 0 || strcasecmp(dot, ".vrma") == 0);
}

static void walk(const char *folder, file_fn *on_file)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[2048];
        struct stat st;
        int length = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        bool fits = length > 0 && (size_t)length < sizeof path;
        if (fits && entries[i]->d_name[0] != '.' && stat(path, &st) == 0) {
            if (S_ISDIR(st.st_mode))
                walk(path, on_file);
            else if (is_model(path))
                on_file(path);
        }
        free(entries[i]);
    }
    free(entries);
}

static void print_notes(const struct scene *s)
{
    static const char *const kinds[] = {"read", "repaired", "left out"};
    for (uint32_t i = 0; verbose && i < s->notes.count; i++)
        printf("    %s: %u %s\n", kinds[s->notes.items[i].kind], s->notes.items[i].count,
               s->notes.items[i].text);
}

static int imported_count, refused_count;

static void on_good_file(const char *path)
{
    struct import_limits limits = import_limits_default();
    struct scene scene;
    struct fault fault = {0};
    enum err e = import_file(path, &limits, &scene, &fault);
    if (strstr(path, "Compatibility_04")) {
        EXPECT(e == ERR_VERSION);
        EXPECT(strstr(fault.line, "minVersion") != NULL && strstr(fault.line, "2.1") != NULL);
        printf("  %s\n    %s\n", path, fault.line);
        refused_count++;
        return;
    }
    const char *problem = e == ERR_OK ? scene_check(&scene) : fault.line;
    if (problem) printf("  %s: %s\n", path, problem);
    EXPECT(!problem);
    imported_count += e == ERR_OK;
    if (verbose && e == ERR_OK)
        printf("  %s: %u nodes %u meshes %u skins %u clips, kept %zu bytes\n", path,
               scene.node_count, scene.mesh_count, scene.skin_count, scene.clip_count,
               scene.pool.used_bytes);
    if (e == ERR_OK) print_notes(&scene);
    if (e == ERR_OK) scene_free(&scene);
}

static void every_real_model_is_read(void)
{
    static const char *const folders[] = {"gltf", "vrm",        "face",
                                          "psd",  "oracle_arm", "oracle/models"};
    imported_count = refused_count = 0;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char folder[1024];
        snprintf(folder, sizeof folder, "%s/%s", data, folders[i]);
        walk(folder, on_good_file);
    }
    printf("  %d read, %d refused as they should be\n", imported_count, refused_count);
    EXPECT(imported_count > 0 && refused_count == 1);
}

static void on_hostile_file(const char *path)
{
    struct import_limits limits = import_limits_default();
    struct scene scene;
    struct fault fault = {0};
    enum err e = import_file(path, &limits, &scene, &fault);
    if (e == ERR_OK) {
        const char *problem = scene_check(&scene);
        if (problem) printf("  %s: %s\n", path, problem);
        EXPECT(!problem);
        imported_count++;
        if (verbose) printf("  ok %s\n", path);
        print_notes(&scene);
        scene_free(&scene);
        return;
    }
    refused_count++;
    EXPECT(scene.pool.chunks == NULL);
    // A line with a JSON path or a byte offset.
    bool placed = fault.line[0] == '/' || strstr(fault.line, "byte ") != NULL;
    if (!placed || verbose) printf("  %s\n    %s\n", path, fault.line);
    EXPECT(placed);
}

static void every_hostile_file_is_read_or_refused_with_its_place(void)
{
    char folder[1024];
    snprintf(folder, sizeof folder, "%s/hostile", data);
    imported_count = refused_count = 0;
    walk(folder, on_hostile_file);
    printf("  %d read, %d refused\n", imported_count, refused_count);
    EXPECT(imported_count + refused_count > 100);
}

int main(void)
{
    verbose = getenv("VERBOSE") != NULL;
    data = testing_data();
    if (!data) {
        printf("skipped: the shared test data is not here (SINEW_TEST_DATA)\n");
        return TESTING_SKIPPED;
    }
    RUN(every_real_model_is_read);
    RUN(every_hostile_file_is_read_or_refused_with_its_place);
    TESTING_MAIN_END;
}

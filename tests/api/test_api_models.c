#include <stdio.h>
#include <sys/stat.h>

#include "common/log.h"
#include "server/api/model_cache.h"
#include "tests/support/sample.h"
#include "tests/testing.h"

int testing_failures;

static char folder[] = "/tmp/sinew-models-XXXXXX", source[128], data[128];

static void write_source(const char *end)
{
    size_t size;
    char *text = sample_gltf(&size);
    FILE *f = fopen(source, "wb");
    EXPECT(f && text && fwrite(text, 1, size, f) == size && fputs(end, f) >= 0);
    if (f) fclose(f);
    free(text);
}

static bool open_model(bool *from_cache)
{
    struct model_cache_result r = {0};
    struct fault fault = {0};
    if (model_cache_open(data, source, &r, &fault) != ERR_OK) {
        printf("  %s\n", fault.line);
        return false;
    }
    *from_cache = r.from_cache;
    EXPECT(r.still_reason[0] == '\0'); // it has a clip
    EXPECT(model_file_model(r.file)->clips_count == 1);
    model_file_unref(r.file);
    return true;
}

static void a_model_is_baked_once(void)
{
    bool cached;
    write_source("");
    EXPECT(open_model(&cached) && !cached);
    EXPECT(open_model(&cached) && cached);
}

static void a_changed_source_is_baked_anew(void)
{
    bool cached;
    write_source("  \n");
    EXPECT(open_model(&cached) && !cached);
    EXPECT(open_model(&cached) && cached);
}

static void a_damaged_cache_is_baked_anew(void)
{
    char command[256];
    bool cached;
    snprintf(command, sizeof command, "for f in %s/cache/*; do echo damaged > $f; done", data);
    EXPECT(system(command) == 0);
    EXPECT(open_model(&cached) && !cached);
    EXPECT(open_model(&cached) && cached);
}

static int cached_files(void)
{
    char command[256];
    int count = -1;
    snprintf(command, sizeof command, "ls %s/cache | wc -l", data);
    FILE *f = popen(command, "r");
    EXPECT(f && fscanf(f, "%d", &count) == 1 && pclose(f) == 0);
    return count;
}

static void what_is_not_used_for_long_goes(void)
{
    char command[512];
    bool cached;
    int before = cached_files();
    snprintf(command, sizeof command,
             "cd %s/cache && for f in *.sinew; do touch -d '31 days ago' $f; done && touch "
             "new.sinew && touch -d '31 days ago' other",
             data);
    EXPECT(system(command) == 0);
    EXPECT(open_model(&cached) && cached); // so this one stays
    EXPECT(cached_files() == before + 2);
    write_source(" \n\n");
    EXPECT(open_model(&cached) && !cached);
    EXPECT(cached_files() == 4); // both of the source, the new and the foreign one
}

static void a_cache_that_cannot_be_written_costs_only_time(void)
{
    struct model_cache_result r = {0};
    struct fault fault = {0};
    const struct log_options quiet = {.path = "/dev/null"};
    EXPECT(log_open(&quiet, &fault) == ERR_OK);
    EXPECT(model_cache_open("/dev/null/nowhere", source, &r, &fault) == ERR_OK);
    EXPECT(!r.from_cache);
    model_file_unref(r.file);
    log_close();
}

static void what_is_no_model_is_said_in_a_line(void)
{
    struct model_cache_result r = {0};
    struct fault fault = {0};
    EXPECT(model_cache_open(data, "/no/such/file.glb", &r, &fault) != ERR_OK);
    EXPECT(strstr(fault.line, "/no/such/file.glb"));
    fault = (struct fault){0};
    FILE *f = fopen(source, "wb");
    EXPECT(f && fputs("not a model", f) >= 0 && fclose(f) == 0);
    EXPECT(model_cache_open(data, source, &r, &fault) != ERR_OK);
    EXPECT(fault.line[0] && !r.file);
}

int main(void)
{
    char command[128];
    if (!mkdtemp(folder)) return 1;
    snprintf(source, sizeof source, "%s/bar.gltf", folder);
    snprintf(data, sizeof data, "%s/data", folder);
    EXPECT(mkdir(data, 0700) == 0);
    RUN(a_model_is_baked_once);
    RUN(a_changed_source_is_baked_anew);
    RUN(a_damaged_cache_is_baked_anew);
    RUN(what_is_not_used_for_long_goes);
    RUN(a_cache_that_cannot_be_written_costs_only_time);
    RUN(what_is_no_model_is_said_in_a_line);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    EXPECT(system(command) == 0);
    TESTING_MAIN_END;
}

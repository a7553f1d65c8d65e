// The whole way, file to posed surface, against positions that other tools computed.
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/file.h"
#include "common/json_guard.h"
#include "server/character/pose/clip.h"
#include "tests/support/stand.h"
#include "tests/testing.h"
int testing_failures;

static const char *data;
static double worst_ratio; // of any entry, in box diagonals
static int entries_seen, prims_seen;

static cJSON *read_json(const char *path)
{
    uint8_t *bytes;
    size_t size;
    cJSON *json = NULL;
    struct fault fault = {0};
    struct json_limits limits = json_limits_for(64u << 20);
    if (file_read(path, 64u << 20, &bytes, &size, &fault) != ERR_OK) return NULL;
    if (json_parse((const char *)bytes, size, &limits, &json, &fault) != ERR_OK)
        printf("  %s: %s\n", path, fault.line);
    free(bytes);
    return json;
}

static int number(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key)->valueint;
}

static const struct model_part *find_part(const struct model *m, const cJSON *prim)
{
    for (size_t i = 0; i < m->parts_count; i++)
        if ((int)m->nodes[m->parts[i].node].source == number(prim, "node") &&
            (int)m->parts[i].mesh == number(prim, "mesh") &&
            (int)m->parts[i].primitive == number(prim, "primitive"))
            return &m->parts[i];
    return NULL;
}

static double box_diagonal(const struct stand *s)
{
    double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    for (size_t i = 0; i < model_vertex_count(s->model) * 3; i++) {
        low[i % 3] = fmin(low[i % 3], (double)s->positions[i]);
        high[i % 3] = fmax(high[i % 3], (double)s->positions[i]);
    }
    double sum = 0;
    for (int r = 0; r < 3; r++)
        sum += (high[r] - low[r]) * (high[r] - low[r]);
    return sqrt(sum);
}

static double compare_prim(const struct stand *s, const cJSON *prim, const uint8_t *expected)
{
    const struct model_part *part = find_part(s->model, prim);
    EXPECT(part != NULL);
    if (!part) return HUGE_VAL;
    EXPECT((int)part->vertex_count == number(prim, "count"));
    double worst = 0;
    const float *got = s->positions + (size_t)part->vertex_first * 3;
    for (size_t i = 0; i < (size_t)part->vertex_count * 3; i++) {
        float want;
        memcpy(&want, expected + number(prim, "offset") + i * 4, 4);
        worst = fmax(worst, fabs((double)got[i] - (double)want));
    }
    prims_seen++;
    return worst;
}

static void compare_entry(struct stand *s, const cJSON *entry, const uint8_t *expected,
                          const char *name)
{
    int clip = number(entry, "clip");
    double time_s = cJSON_GetObjectItemCaseSensitive(entry, "time")->valuedouble;
    pose_rest(s->model, s->pose);
    EXPECT(clip < (int)s->model->clips_count);
    if (clip >= 0) clip_sample(s->model, (uint32_t)clip, time_s, (struct clip_cursor){0}, s->pose);
    for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
        if (!simd_has((enum simd_level)level)) continue;
        stand_evaluate(s, MODEL_LBS, (enum simd_level)level);
        double diagonal = box_diagonal(s), worst = 0;
        const cJSON *prims = cJSON_GetObjectItemCaseSensitive(entry, "prims");
        for (const cJSON *p = prims->child; p; p = p->next)
            worst = fmax(worst, compare_prim(s, p, expected));
        worst_ratio = fmax(worst_ratio, worst / diagonal);
        if (!(worst <= 1e-5 * diagonal)) {
            testing_failures++;
            printf("  %s clip %d time %.4f %s: off by %.3g of the diagonal\n", name, clip, time_s,
                   simd_name((enum simd_level)level), worst / diagonal);
        }
    }
    entries_seen++;
}

static void compare_file(const char *name)
{
    char path[1024];
    uint8_t *expected = NULL;
    size_t size;
    snprintf(path, sizeof path, "%s/oracle/%s.json", data, name);
    cJSON *json = read_json(path);
    EXPECT(json != NULL);
    if (!json) return;
    snprintf(path, sizeof path, "%s/oracle/%s", data,
             cJSON_GetObjectItemCaseSensitive(json, "data")->valuestring);
    EXPECT(file_read(path, 1u << 30, &expected, &size, NULL) == ERR_OK);
    snprintf(path, sizeof path, "%s/%s", data,
             cJSON_GetObjectItemCaseSensitive(json, "model")->valuestring);
    struct stand s;
    bool open = stand_open(&s, path);
    EXPECT(open);
    const cJSON *entries = cJSON_GetObjectItemCaseSensitive(json, "entries");
    for (const cJSON *e = open ? entries->child : NULL; e; e = e->next)
        compare_entry(&s, e, expected, name);
    stand_close(&s);
    free(expected);
    cJSON_Delete(json);
}

static void every_oracle_entry_is_met(void)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/oracle/index.json", data);
    cJSON *index = read_json(path);
    EXPECT(index != NULL);
    for (const cJSON *name = index ? index->child : NULL; name; name = name->next)
        compare_file(name->valuestring);
    cJSON_Delete(index);
    EXPECT(entries_seen > 0);
    printf("  %d entries, %d primitives (each kernel), worst %.3g of the box diagonal\n",
           entries_seen, prims_seen, worst_ratio);
}

int main(void)
{
    data = testing_data();
    if (!data) {
        puts("skipped: no shared data (SINEW_TEST_DATA)");
        return TESTING_SKIPPED;
    }
    RUN(every_oracle_entry_is_met);
    TESTING_MAIN_END;
}

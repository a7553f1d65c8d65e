// Linear blend and dual quaternion skinning of an arm at five elbow angles, against Blender.
#include <cjson/cJSON.h>

#include "common/file.h"
#include "common/json_guard.h"
#include "server/model/lookup.h"
#include "tests/support/stand.h"
#include "tests/testing.h"
int testing_failures;

static const char *data;
static struct stand stand;
static cJSON *oracle;
static double (*rest)[3]; // Blender's vertices, in glTF's axes
static size_t *partner;   // [vertex] Blender's vertex at the same place
static size_t blender_count;

static void to_gltf(const double in[3], double out[3])
{
    out[0] = in[0];
    out[1] = in[2];
    out[2] = -in[1];
}

static double distance(const double a[3], const double b[3])
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

static void got_position(size_t v, double out[3])
{
    for (size_t r = 0; r < 3; r++)
        out[r] = (double)stand.positions[v * 3 + r];
}

static int read_oracle(void)
{
    char path[1024];
    uint8_t *bytes;
    size_t size;
    struct json_limits limits = json_limits_for(16u << 20);
    snprintf(path, sizeof path, "%s/oracle_arm/blender_arm.json", data);
    if (file_read(path, 16u << 20, &bytes, &size, NULL) != ERR_OK) return 0;
    enum err e = json_parse((const char *)bytes, size, &limits, &oracle, NULL);
    free(bytes);
    if (e != ERR_OK) return 0;
    const cJSON *verts = cJSON_GetObjectItem(oracle, "verts");
    blender_count = (size_t)cJSON_GetArraySize(verts);
    rest = calloc(blender_count, sizeof *rest);
    size_t i = 0;
    for (const cJSON *v = verts->child; v; v = v->next, i++) {
        double p[3] = {v->child->valuedouble, v->child->next->valuedouble,
                       v->child->next->next->valuedouble};
        to_gltf(p, rest[i]);
    }
    return 1;
}

static void match_vertices(void)
{
    stand.pose.weights[0] = 0;
    stand_evaluate(&stand, MODEL_LBS, SIMD_PLAIN);
    partner = calloc(model_vertex_count(stand.model), sizeof *partner);
    for (size_t v = 0; v < model_vertex_count(stand.model); v++) {
        double p[3], best = 1e9;
        got_position(v, p);
        for (size_t k = 0; k < blender_count; k++)
            if (distance(p, rest[k]) < best) {
                best = distance(p, rest[k]);
                partner[v] = k;
            }
        EXPECT(best < 1e-5);
    }
}

static double worst_against(const cJSON *expected)
{
    double *want = calloc(blender_count, sizeof(double[3])), worst = 0;
    size_t i = 0;
    for (const cJSON *n = expected->child; n; n = n->next)
        want[i++] = n->valuedouble;
    for (size_t v = 0; v < model_vertex_count(stand.model); v++) {
        double p[3], w[3];
        got_position(v, p);
        to_gltf(want + partner[v] * 3, w);
        worst = fmax(worst, distance(p, w));
    }
    free(want);
    return worst;
}

static void check(const char *key, enum model_skinning skinning, int corrective)
{
    uint32_t lower;
    EXPECT(lookup_name(stand.model, LOOKUP_NODE, "lower", "test", &lower, NULL) == ERR_OK);
    double worst = 0;
    const cJSON *poses = cJSON_GetObjectItem(oracle, "poses");
    for (const cJSON *p = poses->child; p; p = p->next) {
        double half = cJSON_GetObjectItem(p, "deg")->valuedouble * M_PI / 360;
        stand.pose.weights[0] =
            corrective ? (float)cJSON_GetObjectItem(p, "key_value")->valuedouble : 0;
        stand.pose.locals[lower].rotation = (struct quat){(float)sin(half), 0, 0, (float)cos(half)};
        for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
            if (!simd_has((enum simd_level)level)) continue;
            stand_evaluate(&stand, skinning, (enum simd_level)level);
            worst = fmax(worst, worst_against(cJSON_GetObjectItem(p, key)));
        }
    }
    printf("  %s: worst %.3g\n", key, worst);
    EXPECT(worst <= 1e-6);
}

static void linear_blend_is_blenders(void)
{
    check("lbs", MODEL_LBS, 0);
}
static void dual_quaternions_are_blenders(void)
{
    check("dqs", MODEL_DQ, 0);
}
static void a_shape_before_skinning_is_blenders(void)
{
    check("lbs_corrective", MODEL_LBS, 1);
}

int main(void)
{
    char path[1024];
    data = testing_data();
    if (!data) {
        puts("skipped: no shared data (SINEW_TEST_DATA)");
        return TESTING_SKIPPED;
    }
    snprintf(path, sizeof path, "%s/oracle_arm/arm.glb", data);
    if (!read_oracle() || !stand_open(&stand, path)) return 1;
    match_vertices();
    RUN(linear_blend_is_blenders);
    RUN(dual_quaternions_are_blenders);
    RUN(a_shape_before_skinning_is_blenders);
    free(rest);
    free(partner);
    stand_close(&stand);
    cJSON_Delete(oracle);
    TESTING_MAIN_END;
}

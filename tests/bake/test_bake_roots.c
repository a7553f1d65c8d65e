// Method C: folded roots against the direct formula, what a root alone does, easing, the waist.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "server/bake/bake.h"
#include "server/bake/edit.h"
#include "server/character/pose/roots.h"
#include "server/character/pose/skeleton.h"
#include "server/model/lookup.h"
#include "server/stage/input.h"
#include "tests/support/sample.h"
#include "tests/support/stand.h"
#include "tests/testing.h"
int testing_failures;

static char folder[] = "/tmp/sinew-roots-XXXXXX";

static unsigned state = 1;
static double random_unit(void)
{
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / 16777216.0;
}

static void put(const char *name, const void *bytes, size_t size)
{
    char path[256];
    struct fault fault;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    EXPECT(file_write_atomic(path, bytes, size, &fault) == ERR_OK);
}

// ---- random tables ------------------------------------------------------------------------

static double share_of(size_t vertex, unsigned root, unsigned seed)
{
    unsigned h = (unsigned)vertex * 2654435761u ^ root * 40503u ^ seed * 97u;
    h = (h ^ h >> 15) * 2246822519u;
    h ^= h >> 13;
    double x = (double)(h % 1000) / 1000;
    return x < 0.3 ? 0 : x; // some vertices lack some roots
}

static void write_tables(size_t vertices, unsigned roots, unsigned seed)
{
    char *text = malloc(vertices * 32 + 16), name[32];
    for (unsigned r = 0; r < roots; r++) {
        size_t at = 0;
        text[at++] = '[';
        for (size_t v = 0; v < vertices; v++) {
            double share = r == 0 ? 0.05 + share_of(v, r, seed) : share_of(v, r, seed);
            if (share > 0)
                at += (size_t)sprintf(text + at, "%s[%zu,%.3f]", at > 1 ? "," : "", v, share);
        }
        text[at++] = ']';
        (void)snprintf(name, sizeof name, "table%u.json", r);
        put(name, text, at);
    }
    free(text);
}

// A copy of the source's rig with these roots and nothing else.
static bool bake_roots(struct stand *s, const char *source, const char *roots)
{
    char text[8192], path[256], real[4096] = "";
    EXPECT(realpath(source, real) != NULL);
    const char *base = strrchr(real, '/') + 1;
    char link[8192];
    (void)snprintf(link, sizeof link, "cp -rs \"$(dirname '%s')\"/. '%s'/ 2>/dev/null", real,
                   folder);
    EXPECT(system(link) >= 0);
    (void)snprintf(text, sizeof text, "{\"sinew_rig\": 1, \"source\": \"%s\", \"roots\": %s}", base,
                   roots);
    put("roots.rig.json", text, strlen(text));
    (void)snprintf(path, sizeof path, "%s/roots.rig.json", folder);
    return stand_open(s, path);
}

// ---- evaluation ---------------------------------------------------------------------------

struct rooted {
    struct stand stand;
    struct arena arena;
    struct roots_pose roots;
};

static bool open_rooted(struct rooted *r, const char *source, const char *roots)
{
    *r = (struct rooted){0};
    if (!bake_roots(&r->stand, source, roots)) return false;
    if (!arena_create(&r->arena, roots_pose_bytes(r->stand.model) + 64)) return false;
    r->roots = roots_pose_take(r->stand.model, &r->arena);
    return true;
}

static void close_rooted(struct rooted *r)
{
    arena_destroy(&r->arena);
    stand_close(&r->stand);
}

static void evaluate(struct rooted *r, enum model_skinning skinning)
{
    struct stand *s = &r->stand;
    roots_settle(s->model, &r->roots, s->pose);
    s->roots = &r->roots;
    stand_evaluate(s, skinning, simd_best());
    s->roots = NULL;
}

static void random_pose(const struct model *m, struct pose pose)
{
    pose_rest(m, pose);
    for (size_t i = 0; i < m->nodes_count; i++) {
        if (!(m->nodes[i].flags & MODEL_NODE_JOINT)) continue;
        double axis[3], size = 0, half = 0.5 * random_unit();
        for (int k = 0; k < 3; k++) {
            axis[k] = random_unit() - 0.5;
            size += axis[k] * axis[k];
        }
        double s = sin(half) / sqrt(size + 1e-12);
        struct quat *q = &pose.locals[i].rotation, a = *q;
        struct quat b = {(float)(axis[0] * s), (float)(axis[1] * s), (float)(axis[2] * s),
                         (float)cos(half)};
        *q = quat_normalise((struct quat){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                                          a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                                          a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
                                          a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z});
        pose.locals[i].translation.x += (float)(0.02 * (random_unit() - 0.5));
    }
}

static double diagonal(const float *p, size_t vertices)
{
    double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    double square = 0;
    for (size_t i = 0; i < vertices * 3; i++) {
        low[i % 3] = fmin(low[i % 3], (double)p[i]);
        high[i % 3] = fmax(high[i % 3], (double)p[i]);
    }
    for (int k = 0; k < 3; k++)
        square += (high[k] - low[k]) * (high[k] - low[k]);
    return sqrt(square);
}

// Linear blend of one pose over the source's own influences, in double: [vertex][3] added to `sum`
// by the share of each vertex.
static void add_linear(const struct model *plain, const struct pose *pose, const double *share,
                       double *sum)
{
    struct xform *nodes = malloc(plain->nodes_count * sizeof *nodes);
    skeleton_model_from_nodes(plain, pose->locals, nodes);
    for (size_t v = 0; v < model_vertex_count(plain); v++) {
        uint32_t lane = plain->vertex_lanes[v], place = lane % MODEL_LANES;
        const struct model_block *b = &plain->blocks[lane / MODEL_LANES];
        const struct model_rest_block *rest = &plain->rest[lane / MODEL_LANES];
        double x[3] = {(double)rest->position[0][place], (double)rest->position[1][place],
                       (double)rest->position[2][place]};
        for (uint32_t k = 0; k < b->influence_count; k++) {
            const struct model_slot *slot = &plain->slots[plain->block_slots[b->slot_first + k]];
            double w = b->influence_count == 1
                           ? 1
                           : (double)plain->weights[b->weight_first + k * MODEL_LANES + place];
            struct xform bind = xform_from_mat34(&slot->inverse_bind);
            double y[3], z[3];
            xform_point(&bind, x, y);
            xform_point(&nodes[slot->node], y, z);
            for (int r = 0; r < 3; r++)
                sum[3 * v + (size_t)r] += share[v] * w * z[r];
        }
    }
    free(nodes);
}

static void add_dual(struct stand *plain, const struct pose *pose, const double *share, double *sum)
{
    pose_copy(plain->model, *pose, plain->pose);
    stand_evaluate(plain, MODEL_DQ, simd_best());
    for (size_t i = 0; i < 3 * model_vertex_count(plain->model); i++)
        sum[i] += share[i / 3] * (double)plain->positions[i];
}

static void compare_direct(const char *source, unsigned root_count, unsigned seed, double worst[2])
{
    struct stand plain;
    struct rooted r;
    char roots[1024] = "[", one[128];
    EXPECT(stand_open(&plain, source));
    size_t vertices = model_vertex_count(plain.model);
    write_tables(vertices, root_count, seed);
    for (unsigned k = 0; k < root_count; k++) {
        (void)snprintf(one, sizeof one,
                       "%s{\"name\": \"r%u\", \"weights\": {\"file\": \"table%u.json\"}}",
                       k ? ", " : "", k, k);
        strcat(roots, one);
    }
    strcat(roots, "]");
    EXPECT(open_rooted(&r, source, roots));
    double *sum = malloc(vertices * 3 * sizeof *sum), *share = malloc(vertices * sizeof *share);
    for (int turn = 0; turn < 2; turn++)
        for (int kind = 0; kind < 2; kind++) {
            memset(sum, 0, vertices * 3 * sizeof *sum);
            for (unsigned k = 0; k < root_count; k++) {
                random_pose(r.stand.model, r.roots.poses[k]);
                for (size_t v = 0; v < vertices; v++) {
                    double all = 0;
                    for (unsigned j = 0; j < root_count; j++)
                        all += round(1000 * (share_of(v, j, seed) + (j == 0) * 0.05)) / 1000;
                    share[v] = round(1000 * (share_of(v, k, seed) + (k == 0) * 0.05)) / 1000 / all;
                }
                if (kind == 0)
                    add_linear(plain.model, &r.roots.poses[k], share, sum);
                else
                    add_dual(&plain, &r.roots.poses[k], share, sum);
            }
            evaluate(&r, kind == 0 ? MODEL_LBS : MODEL_DQ);
            double size = diagonal(r.stand.positions, vertices);
            for (size_t i = 0; i < 3 * vertices; i++)
                worst[kind] = fmax(worst[kind], fabs((double)r.stand.positions[i] - sum[i]) / size);
        }
    free(sum);
    free(share);
    close_rooted(&r);
    stand_close(&plain);
}

static void folded_roots_are_the_direct_formula(void)
{
    const char *data = testing_data();
    char paths[3][1024] = {"tests/assets/characters/mira.glb"};
    for (int i = 1; i < 3 && data; i++)
        (void)snprintf(paths[i], sizeof paths[i], "%s/%s", data,
                       i == 1 ? "psd/makehuman/mh_cmu.glb" : "gltf/khronos/CesiumMan.glb");
    if (!data) printf("     without shared data: the demo character only\n");
    for (int i = 0; i < (data ? 3 : 1); i++)
        for (unsigned roots = 2; roots <= 5; roots++) {
            double worst[2] = {0, 0};
            compare_direct(paths[i], roots, 7 * roots + (unsigned)i, worst);
            printf("     %s, %u roots: LBS %.2g, DQ %.2g of the diagonal\n",
                   strrchr(paths[i], '/') + 1, roots, worst[0], worst[1]);
            EXPECT(worst[0] <= 1e-6 && worst[1] <= 1e-6);
        }
}

static const char mira_file[] = "tests/assets/characters/mira.glb";

// ---- tables that are edited ---------------------------------------------------------------

// The rooted character with one root's table replaced; NULL: refused.
static struct model_file *retable(const struct model *m, uint32_t root, const void *bytes,
                                  size_t size, bool force, struct fault *fault)
{
    uint8_t *copy = malloc(size + 1);
    memcpy(copy, bytes, size);
    struct edit step = {.kind = EDIT_SURFACE,
                        .example = edit_root(root),
                        .bytes = copy,
                        .size_bytes = size,
                        .force = force};
    struct edit_result r;
    struct model_file *file = NULL;
    if (edit_apply(m, &step, 1, &r, fault) == ERR_OK)
        EXPECT(model_file_from_bytes(r.bytes, r.size_bytes, &file, fault) == ERR_OK);
    edit_free(&r);
    free(copy);
    return file;
}

// The edited row; the others keep their proportions in what is left.
static void expect_shares(size_t vertices, unsigned roots, uint32_t root, const float *row,
                          double *shares)
{
    for (size_t v = 0; v < vertices; v++) {
        double others = 0, left = 1 - (double)row[v];
        for (unsigned k = 0; k < roots; k++)
            others += k == root ? 0 : shares[k * vertices + v];
        for (unsigned k = 0; k < roots; k++)
            if (k == root)
                shares[k * vertices + v] = (double)row[v];
            else
                shares[k * vertices + v] = others > 0 ? shares[k * vertices + v] / others * left
                                                      : (k == (root == 0)) * left;
    }
}

static double off_direct(struct rooted *r, const struct model *plain, const double *shares)
{
    size_t vertices = model_vertex_count(plain);
    double *sum = calloc(vertices * 3, sizeof *sum), worst = 0;
    for (size_t k = 0; k < r->stand.model->roots_count; k++) {
        random_pose(r->stand.model, r->roots.poses[k]);
        add_linear(plain, &r->roots.poses[k], shares + k * vertices, sum);
    }
    evaluate(r, MODEL_LBS);
    double size = diagonal(r->stand.positions, vertices);
    for (size_t i = 0; i < 3 * vertices; i++)
        worst = fmax(worst, fabs((double)r->stand.positions[i] - sum[i]) / size);
    free(sum);
    return worst;
}

static void take_edited(struct rooted *r, struct model_file *file)
{
    *r = (struct rooted){0};
    EXPECT(stand_take(&r->stand, file));
    EXPECT(arena_create(&r->arena, roots_pose_bytes(r->stand.model) + 64));
    r->roots = roots_pose_take(r->stand.model, &r->arena);
}

static void edited_tables_are_the_direct_formula(void)
{
    struct stand plain;
    double worst = 0;
    EXPECT(stand_open(&plain, mira_file));
    size_t vertices = model_vertex_count(plain.model);
    float *row = malloc(vertices * sizeof *row);
    double *shares = malloc(4 * vertices * sizeof *shares);
    for (unsigned roots = 2; roots <= 4; roots++) {
        struct rooted r;
        char list[512] = "[", one[128];
        struct fault fault = {0};
        write_tables(vertices, roots, roots);
        for (unsigned k = 0; k < roots; k++) {
            (void)snprintf(one, sizeof one,
                           "%s{\"name\": \"r%u\", \"weights\": {\"file\": \"table%u.json\"}}",
                           k ? ", " : "", k, k);
            strcat(list, one);
        }
        strcat(list, "]");
        EXPECT(open_rooted(&r, mira_file, list));
        for (size_t i = 0; i < roots * vertices; i++)
            shares[i] = (double)r.stand.model->root_weights[i];
        // One root after the other, each on top of the edit before; whole vertices change hands.
        for (uint32_t k = 0; k < roots; k++) {
            const struct model *m = r.stand.model;
            for (size_t v = 0; v < vertices; v++) {
                double x = share_of(m->weld[v], k, 31 * roots + k);
                row[v] = x > 0.9 ? 1 : (float)x;
            }
            struct model_file *file = retable(m, k, row, vertices * sizeof *row, true, &fault);
            if (!file) printf("  %s\n", fault.line);
            EXPECT(file);
            expect_shares(vertices, roots, k, row, shares);
            close_rooted(&r);
            take_edited(&r, file);
            worst = fmax(worst, off_direct(&r, plain.model, shares));
        }
        close_rooted(&r);
    }
    printf("     2 to 4 roots, every table edited: off by %.2g of the diagonal\n", worst);
    EXPECT(worst <= 1e-6);
    free(shares);
    free(row);
    stand_close(&plain);
}

static void a_table_keeps_what_it_does_not_touch(void)
{
    struct stand s;
    struct fault fault = {0};
    EXPECT(stand_open(&s, "tests/assets/characters/mira.rig.json"));
    const struct model *m = s.model;
    size_t vertices = model_vertex_count(m), changed = 0, same = 0;
    float *row = malloc(vertices * sizeof *row);
    memcpy(row, m->root_weights + vertices, vertices * sizeof *row);
    struct model_file *file = retable(m, 1, row, vertices * sizeof *row, false, &fault);
    EXPECT(file);
    const struct model *now = model_file_model(file);
    EXPECT(now->weights_count == m->weights_count &&
           now->block_slots_count >= m->block_slots_count);
    EXPECT(memcmp(now->weights, m->weights, m->weights_count * sizeof *m->weights) == 0);
    EXPECT(memcmp(now->root_weights, m->root_weights, 2 * vertices * sizeof *row) == 0);
    model_file_unref(file);
    for (size_t v = 0; v < vertices; v++)
        if (row[v] > 0 && row[v] < 1) row[v] *= 0.5F;
    file = retable(m, 1, row, vertices * sizeof *row, false, &fault);
    EXPECT(file);
    now = model_file_model(file);
    for (size_t b = 0; b < m->blocks_count; b++) {
        bool touched = false;
        for (size_t v = 0; v < vertices; v++)
            touched = touched || (m->vertex_lanes[v] / MODEL_LANES == b &&
                                  row[v] != m->root_weights[vertices + v]);
        const struct model_block *x = &m->blocks[b], *y = &now->blocks[b];
        bool equal = x->influence_count == y->influence_count &&
                     memcmp(m->block_slots + x->slot_first, now->block_slots + y->slot_first,
                            x->influence_count * sizeof(uint16_t)) == 0 &&
                     (x->influence_count == 1 ||
                      memcmp(m->weights + x->weight_first, now->weights + y->weight_first,
                             x->influence_count * MODEL_LANES * sizeof(float)) == 0);
        changed += touched;
        same += !touched && equal;
    }
    printf("     %zu of %zu blocks changed, %zu keep their bits\n", changed, m->blocks_count, same);
    EXPECT(changed > 0 && same == m->blocks_count - changed);
    model_file_unref(file);
    // What is no table of this model.
    float kept = row[5];
    EXPECT(!retable(m, 1, row, vertices * sizeof *row - 4, true, &fault));
    const float wrong[] = {NAN, -0.1F, 1.5F, (float)HUGE_VAL};
    for (size_t i = 0; i < 4; i++) {
        fault = (struct fault){0};
        row[5] = wrong[i];
        EXPECT(!retable(m, 1, row, vertices * sizeof *row, true, &fault) &&
               strstr(fault.line, "vertex 5"));
    }
    row[5] = kept;
    uint32_t twin = 0;
    while (twin < vertices && m->weld[twin] == twin)
        twin++;
    row[twin] = row[twin] > 0.5F ? 0 : 1;
    fault = (struct fault){0};
    EXPECT(!retable(m, 1, row, vertices * sizeof *row, false, &fault) &&
           strstr(fault.line, "seam"));
    EXPECT(!retable(m, 7, row, vertices * sizeof *row, false, &fault));
    free(row);
    stand_close(&s);
}

// ---- the demo's two roots -----------------------------------------------------------------

static const char mira_roots[] =
    "[{\"name\": \"legs\", \"joint\": \"hips\", \"weights\": {\"joints\": {\"hips\": 1}}}, "
    "{\"name\": \"torso\", \"joint\": \"spine\", \"weights\": {\"joints\": {\"spine\": 1}}, "
    "\"border_m\": 0.22}]";

static void all_roots_in_one_pose_are_plain_skinning(void)
{
    struct stand plain;
    struct rooted r;
    EXPECT(stand_open(&plain, mira_file));
    EXPECT(open_rooted(&r, mira_file, mira_roots));
    size_t vertices = model_vertex_count(plain.model);
    for (int kind = 0; kind < 2; kind++) {
        double worst = 0;
        random_pose(plain.model, plain.pose);
        for (size_t c = 0; c < plain.model->channels_count; c++) // blendshapes lie under the skin
            plain.pose.weights[c] = r.stand.pose.weights[c] = c % 5 == 0 ? 0.4F : 0;
        for (int k = 0; k < 2; k++)
            pose_copy(plain.model, plain.pose, r.roots.poses[k]);
        stand_evaluate(&plain, kind ? MODEL_DQ : MODEL_LBS, simd_best());
        evaluate(&r, kind ? MODEL_DQ : MODEL_LBS);
        for (size_t i = 0; i < 3 * vertices; i++)
            worst = fmax(worst, fabs((double)(plain.positions[i] - r.stand.positions[i])));
        worst /= diagonal(plain.positions, vertices);
        printf("     %s: %.2g of the diagonal\n", kind ? "DQ" : "LBS", worst);
        EXPECT(worst <= 1e-6);
    }
    close_rooted(&r);
    stand_close(&plain);
}

// The demo's rig file as it is, or without its roots, beside links to what it names.
static bool bake_demo(struct stand *s, bool without_roots)
{
    char path[256], *text, *end;
    size_t size;
    struct fault fault;
    char command[512];
    (void)snprintf(command, sizeof command,
                   "cp -rs \"$PWD\"/tests/assets/characters/. '%s'/ 2>/dev/null", folder);
    EXPECT(system(command) >= 0);
    EXPECT(file_read("tests/assets/characters/mira.rig.json", 1 << 20, (uint8_t **)&text, &size,
                     &fault) == ERR_OK);
    char *roots = strstr(text, "\"roots\": [");
    EXPECT(roots && (end = strstr(roots, "\n  ],")));
    if (without_roots) memmove(roots, end + 5, strlen(end + 5) + 1);
    put("demo.rig.json", text, strlen(text));
    (void)snprintf(path, sizeof path, "%s/demo.rig.json", folder);
    free(text);
    return stand_open(s, path);
}

static void correctives_lie_on_the_mix(void)
{
    struct stand plain;
    struct rooted r = {0};
    EXPECT(bake_demo(&plain, true) && bake_demo(&r.stand, false));
    EXPECT(arena_create(&r.arena, roots_pose_bytes(r.stand.model) + 64));
    r.roots = roots_pose_take(r.stand.model, &r.arena);
    EXPECT(plain.model->roots_count == 0 && r.stand.model->roots_count == 2);
    size_t vertices = model_vertex_count(plain.model);
    float *without = malloc(vertices * 3 * sizeof *without);
    for (int kind = 0; kind < 2; kind++) {
        double worst = 0, moved = 0, size;
        enum model_skinning skinning = kind ? MODEL_DQ : MODEL_LBS;
        random_pose(plain.model, plain.pose);
        for (int k = 0; k < 2; k++)
            pose_copy(plain.model, plain.pose, r.roots.poses[k]);
        plain.without_correctives = true;
        stand_evaluate(&plain, skinning, simd_best());
        memcpy(without, plain.positions, vertices * 3 * sizeof *without);
        plain.without_correctives = false;
        stand_evaluate(&plain, skinning, simd_best());
        evaluate(&r, skinning);
        size = diagonal(plain.positions, vertices);
        for (size_t i = 0; i < 3 * vertices; i++) {
            worst = fmax(worst, fabs((double)(plain.positions[i] - r.stand.positions[i])));
            moved = fmax(moved, fabs((double)(plain.positions[i] - without[i])));
        }
        printf("     %s: correctives of up to %.2g, %.2g of the diagonal apart\n",
               kind ? "DQ" : "LBS", moved / size, worst / size);
        EXPECT(worst <= 1e-5 * size && moved > 1e-3 * size); // deltas are packed anew
    }
    free(without);
    close_rooted(&r);
    stand_close(&plain);
}

static void a_root_without_gain_is_the_first(void)
{
    struct rooted r;
    struct stand plain;
    double worst = 0;
    EXPECT(open_rooted(&r, mira_file, mira_roots));
    EXPECT(stand_open(&plain, mira_file));
    size_t vertices = model_vertex_count(plain.model);
    random_pose(plain.model, r.roots.poses[0]);
    random_pose(plain.model, r.roots.poses[1]);
    r.roots.gains[1] = 0;
    pose_copy(plain.model, r.roots.poses[0], plain.pose);
    stand_evaluate(&plain, MODEL_LBS, simd_best());
    evaluate(&r, MODEL_LBS);
    for (size_t i = 0; i < 3 * vertices; i++)
        worst = fmax(worst, fabs((double)(plain.positions[i] - r.stand.positions[i])));
    printf("     %.2g of the diagonal\n", worst / diagonal(plain.positions, vertices));
    EXPECT(worst <= 1e-6 * diagonal(plain.positions, vertices));
    close_rooted(&r);
    stand_close(&plain);
}

// What drivers read follows the weight too: nothing is corrected for a motion that is not shown,
// and nothing jumps where a weight begins or ends.
static void correctives_follow_a_roots_weight(void)
{
    struct stand plain;
    struct rooted r = {0};
    EXPECT(bake_demo(&plain, true) && bake_demo(&r.stand, false));
    EXPECT(arena_create(&r.arena, roots_pose_bytes(r.stand.model) + 64));
    r.roots = roots_pose_take(r.stand.model, &r.arena);
    size_t floats = 3 * model_vertex_count(plain.model);
    float *before = malloc(floats * sizeof *before);
    double worst = 0, jump = 0, size;
    random_pose(plain.model, plain.pose);
    pose_copy(plain.model, plain.pose, r.roots.poses[0]);
    random_pose(plain.model, r.roots.poses[1]);
    stand_evaluate(&plain, MODEL_LBS, simd_best());
    r.roots.gains[1] = 0;
    evaluate(&r, MODEL_LBS);
    size = diagonal(plain.positions, floats / 3);
    for (size_t i = 0; i < floats; i++)
        worst = fmax(worst, fabs((double)(plain.positions[i] - r.stand.positions[i])));
    for (int end = 0; end < 2; end++) {
        r.roots.gains[1] = end;
        evaluate(&r, MODEL_LBS);
        memcpy(before, r.stand.positions, floats * sizeof *before);
        r.roots.gains[1] = end ? 1 - 1e-7 : 1e-7;
        evaluate(&r, MODEL_LBS);
        for (size_t i = 0; i < floats; i++)
            jump = fmax(jump, fabs((double)(before[i] - r.stand.positions[i])));
    }
    printf("     without weight %.2g of the diagonal from the first root; %.2g at either end\n",
           worst / size, jump / size);
    EXPECT(worst <= 1e-5 * size && jump <= 1e-5 * size);
    free(before);
    close_rooted(&r);
    stand_close(&plain);
}

// Dual quaternions: what a root's weight leaves is where the first root's motion alone would carry
// the vertex, not a blend of the two motions.
static void a_root_between_is_skinned_apart(void)
{
    struct rooted r;
    struct stand plain;
    enum { ROOTS = 3 };
    static const double gains[ROOTS] = {1, 0.3, 0.85};
    EXPECT(open_rooted(&r, mira_file,
                       "[{\"name\": \"legs\", \"joint\": \"hips\", \"weights\": {\"joints\": "
                       "{\"hips\": 1}}}, {\"name\": \"torso\", \"joint\": \"spine\", \"weights\": "
                       "{\"joints\": {\"spine\": 1}}, \"border_m\": 0.22}, {\"name\": \"head\", "
                       "\"joint\": \"head\", \"weights\": {\"joints\": {\"head\": 1}}, "
                       "\"border_m\": 0.1}]"));
    EXPECT(stand_open(&plain, mira_file));
    const struct model *m = r.stand.model;
    size_t vertices = model_vertex_count(m);
    double *sum = calloc(vertices * 3, sizeof *sum), *share = calloc(vertices, sizeof *share);
    for (size_t k = 0; k < ROOTS; k++) {
        random_pose(m, r.roots.poses[k]);
        r.roots.gains[k] = gains[k];
    }
    for (size_t k = 0; k < ROOTS; k++) {
        for (size_t v = 0; v < vertices; v++) {
            share[v] = gains[k] * (double)m->root_weights[k * vertices + v];
            for (size_t j = 1; k == 0 && j < ROOTS; j++)
                share[v] += (1 - gains[j]) * (double)m->root_weights[j * vertices + v];
        }
        add_dual(&plain, &r.roots.poses[k], share, sum);
    }
    evaluate(&r, MODEL_DQ);
    double worst = 0, size = diagonal(r.stand.positions, vertices);
    for (size_t i = 0; i < 3 * vertices; i++)
        worst = fmax(worst, fabs((double)r.stand.positions[i] - sum[i]) / size);
    printf("     DQ with weights 0.3 and 0.85: %.2g of the diagonal\n", worst);
    EXPECT(worst <= 1e-6);
    free(sum);
    free(share);
    close_rooted(&r);
    stand_close(&plain);
}

// ---- trees of their own -------------------------------------------------------------------

static void put_forest(void)
{
    size_t size;
    char *gltf = sample_gltf(&size), *at = strstr(gltf, "\"nodes\":[0,2]");
    EXPECT(at != NULL);
    memcpy(at, "\"nodes\":[0,1]", 13); // the bar's mesh stays, under the second tree
    at = strstr(gltf, "\"children\":[1]}");
    EXPECT(at != NULL);
    memcpy(at, "\"extras\":{}   }", 15);
    at = strstr(gltf, "{\"name\":\"upper\",\"translation\":[0,1.5,0]}");
    EXPECT(at != NULL);
    char *text = malloc(size + 64);
    size_t head = (size_t)(at - gltf) + strlen("{\"name\":\"upper\"");
    (void)snprintf(text, size + 64, "%.*s,\"children\":[2]%s", (int)head, gltf, gltf + head);
    put("forest.gltf", text, strlen(text));
    free(text);
    free(gltf);
}

// Each half a share of every vertex: a root that has one of its two joints carries it by that one,
// and a vertex without any rides its joint, which comes to the same here.
static void a_root_carries_by_the_joints_it_has(void)
{
    static const char half[] = "[[0,0.5],[1,0.5],[2,0.5],[3,0.5],[4,0.5],[5,0.5],[6,0.5],[7,0.5]]";
    static const char rig[] =
        "{\"sinew_rig\": 1, \"source\": \"forest.gltf\", \"roots\": ["
        "{\"name\": \"a\", \"joint\": \"lower\", \"weights\": {\"file\": \"half.json\"}}, "
        "{\"name\": \"b\", \"joint\": \"upper\", \"weights\": {\"file\": \"half.json\"}}]}";
    struct rooted r = {0};
    char path[256];
    put_forest();
    put("half.json", half, sizeof half - 1);
    put("forest.rig.json", rig, sizeof rig - 1);
    (void)snprintf(path, sizeof path, "%s/forest.rig.json", folder);
    EXPECT(stand_open(&r.stand, path));
    const struct model *m = r.stand.model;
    EXPECT(m->roots_count == 2);
    EXPECT(arena_create(&r.arena, roots_pose_bytes(m) + 64));
    r.roots = roots_pose_take(m, &r.arena);
    double worst = 0;
    for (int turn = 0; turn < 4; turn++) {
        struct xform carry[2], *nodes = malloc(m->nodes_count * sizeof *nodes);
        for (uint32_t k = 0; k < 2; k++) {
            random_pose(m, r.roots.poses[k]);
            skeleton_model_from_nodes(m, r.roots.poses[k].locals, nodes);
            for (size_t i = 0; i < m->slots_count; i++) {
                if (m->slots[i].node != m->roots[k].node) continue;
                struct xform bind = xform_from_mat34(&m->slots[i].inverse_bind);
                carry[k] = xform_mul(&nodes[m->slots[i].node], &bind);
            }
        }
        free(nodes);
        r.roots.gains[1] = turn & 2 ? 0.25 : 1; // the first root lacks b's joint: no share of it
        evaluate(&r, turn & 1 ? MODEL_DQ : MODEL_LBS);
        for (size_t v = 0; v < 8; v++) {
            uint32_t lane = m->vertex_lanes[v], place = lane % MODEL_LANES;
            double x[3], y[2][3];
            for (int k = 0; k < 3; k++)
                x[k] = (double)m->rest[lane / MODEL_LANES].position[k][place];
            xform_point(&carry[0], x, y[0]);
            xform_point(&carry[1], x, y[1]);
            for (int k = 0; k < 3; k++)
                worst = fmax(worst, fabs((double)r.stand.positions[3 * v + (size_t)k] -
                                         (y[0][k] + y[1][k]) / 2));
        }
    }
    printf("     disjoint trees: %.2g\n", worst);
    EXPECT(worst <= 1e-6);
    close_rooted(&r);
}

// The file's own two trees: no root has the other's joints, so a weight hands nothing over.
static void a_files_own_trees_keep_their_joints(void)
{
    struct rooted r = {0};
    char path[256];
    float before[24];
    put_forest();
    (void)snprintf(path, sizeof path, "%s/forest.gltf", folder);
    EXPECT(stand_open(&r.stand, path));
    const struct model *m = r.stand.model;
    EXPECT(m->roots_count == 2 && model_vertex_count(m) == 8);
    EXPECT(arena_create(&r.arena, roots_pose_bytes(m) + 64));
    r.roots = roots_pose_take(m, &r.arena);
    random_pose(m, r.roots.poses[0]);
    random_pose(m, r.roots.poses[1]);
    evaluate(&r, MODEL_LBS);
    memcpy(before, r.stand.positions, sizeof before);
    r.roots.gains[1] = 0.5;
    evaluate(&r, MODEL_LBS);
    EXPECT(memcmp(before, r.stand.positions, sizeof before) == 0);
    close_rooted(&r);
}

// Left and right change places: every joint stands where its partner stood, across x = 0.
static void a_mirrored_pose_swaps_the_sides(void)
{
    struct rooted r;
    EXPECT(open_rooted(&r, mira_file, mira_roots));
    const struct model *m = r.stand.model;
    struct xform *nodes[2] = {malloc(m->nodes_count * sizeof(struct xform)),
                              malloc(m->nodes_count * sizeof(struct xform))};
    struct pose pose = r.roots.poses[0], back = r.roots.poses[1];
    double worst = 0, twice = 0;
    size_t pairs = 0;
    random_pose(m, pose);
    skeleton_model_from_nodes(m, pose.locals, nodes[0]);
    mirror_pose(&r.roots.mirror, pose.locals, back.locals);
    skeleton_model_from_nodes(m, back.locals, nodes[1]);
    for (size_t i = 0; i < m->nodes_count; i++) {
        const double *at = nodes[0][i].col[3], *to = nodes[1][m->mirror_nodes[i]].col[3];
        const double *base = r.roots.mirror.base[i].col[3];
        const double *base_to = r.roots.mirror.base[m->mirror_nodes[i]].col[3];
        if (fabs(base[0] + base_to[0]) > 1e-5) continue; // a lock of hair on one side alone
        pairs += m->mirror_nodes[i] != i;
        worst = fmax(worst, fabs(at[0] + to[0]) + fabs(at[1] - to[1]) + fabs(at[2] - to[2]));
    }
    mirror_pose(&r.roots.mirror, back.locals, back.locals);
    skeleton_model_from_nodes(m, back.locals, nodes[1]);
    for (size_t i = 0; i < m->nodes_count; i++)
        for (int k = 0; k < 12; k++)
            twice =
                fmax(twice, fabs(nodes[0][i].col[k / 3][k % 3] - nodes[1][i].col[k / 3][k % 3]));
    printf("     %zu joints with a partner: %.2g m across, %.2g after twice\n", pairs, worst,
           twice);
    EXPECT(pairs >= 20 && worst <= 1e-4 && twice <= 1e-5);
    free(nodes[0]);
    free(nodes[1]);
    close_rooted(&r);
}

static void turn_root(struct rooted *r, int root, double angle)
{
    uint32_t node = r->stand.model->roots[root].node;
    for (; r->stand.model->nodes[node].parent != MODEL_NONE;)
        node = (uint32_t)r->stand.model->nodes[node].parent;
    pose_rest(r->stand.model, r->roots.poses[root]);
    struct trs *local = &r->roots.poses[root].locals[node];
    EXPECT(local->rotation.w > 0.999F);
    local->rotation = (struct quat){0, (float)sin(angle / 2), 0, (float)cos(angle / 2)};
}

static double edge(const float *p, uint32_t a, uint32_t b)
{
    double square = 0;
    for (int r = 0; r < 3; r++) {
        double d = (double)p[3 * a + (uint32_t)r] - (double)p[3 * b + (uint32_t)r];
        square += d * d;
    }
    return sqrt(square);
}

// The normal of triangle t, and the skinned normal at its first corner, against each other.
static bool is_inverted(const struct stand *s, const uint32_t t[3], const float *rest,
                        const float *rest_normals)
{
    double side[2];
    const float *surfaces[2] = {rest, s->positions}, *normals[2] = {rest_normals, s->normals};
    for (int k = 0; k < 2; k++) {
        const float *p = surfaces[k];
        double u[3], v[3], sum[3] = {0};
        for (int r = 0; r < 3; r++) {
            u[r] = (double)p[3 * t[1] + (uint32_t)r] - (double)p[3 * t[0] + (uint32_t)r];
            v[r] = (double)p[3 * t[2] + (uint32_t)r] - (double)p[3 * t[0] + (uint32_t)r];
            for (int c = 0; c < 3; c++)
                sum[r] += (double)normals[k][3 * t[c] + (uint32_t)r];
        }
        side[k] = (u[1] * v[2] - u[2] * v[1]) * sum[0] + (u[2] * v[0] - u[0] * v[2]) * sum[1] +
                  (u[0] * v[1] - u[1] * v[0]) * sum[2];
    }
    return side[0] > 0 && side[1] < 0;
}

static void a_waist_that_turns_stays_whole(void)
{
    struct rooted r;
    EXPECT(open_rooted(&r, mira_file, mira_roots));
    const struct model *m = r.stand.model;
    size_t vertices = model_vertex_count(m), bytes = vertices * 3 * sizeof(float);
    float *rest = malloc(bytes), *normals = malloc(bytes);
    evaluate(&r, MODEL_LBS);
    memcpy(rest, r.stand.positions, bytes);
    memcpy(normals, r.stand.normals, bytes);
    turn_root(&r, 0, -M_PI / 6);
    turn_root(&r, 1, M_PI / 6);
    evaluate(&r, MODEL_LBS);
    double longest = 0, shortest = HUGE_VAL;
    size_t inverted = 0;
    for (size_t p = 0; p < m->parts_count; p++)
        for (uint32_t i = 0; i + 2 < m->parts[p].index_count; i += 3) {
            const uint32_t *t = m->indices + m->parts[p].index_first + i;
            for (int k = 0; k < 3; k++) {
                double before = edge(rest, t[k], t[(k + 1) % 3]);
                double after = edge(r.stand.positions, t[k], t[(k + 1) % 3]);
                if (!(before > 1e-6)) continue;
                longest = fmax(longest, after / before);
                shortest = fmin(shortest, after / before);
            }
            inverted += is_inverted(&r.stand, t, rest, normals);
        }
    printf("     60 degrees apart: edges %.3f to %.3f times as long, %zu triangles inverted\n",
           shortest, longest, inverted);
    EXPECT(longest <= 2.5 && shortest >= 0.4 && inverted == 0);
    free(rest);
    free(normals);
    close_rooted(&r);
}

// A live weight from 0 to 1: the second difference of every vertex over the ticks of the ease.
static void a_weight_eases(void)
{
    enum { HZ = 60, TICKS = 18 }; // ROOTS_EASE_S
    struct rooted r;
    struct fault fault;
    EXPECT(open_rooted(&r, mira_file, mira_roots));
    struct body body;
    const struct model *m = r.stand.model;
    size_t vertices = model_vertex_count(m);
    struct body_options options = {.model = m,
                                   .map = &r.stand.map,
                                   .correct = &r.stand.correct,
                                   .default_clip = MODEL_NONE,
                                   .level = simd_best(),
                                   .without_springs = true};
    EXPECT(body_create(&options, &body) == ERR_OK);
    uint32_t clip = 0;
    EXPECT(lookup_name(m, LOOKUP_CLIP, "Wave", "clip", &clip, &fault) == ERR_OK);
    struct input_root root = {.root = "torso",
                              .clip = "Wave",
                              .fields = INPUT_ROOT_SPEED | INPUT_ROOT_WEIGHT | INPUT_ROOT_OFFSET,
                              .speed = 0,
                              .weight = 0,
                              .offset_s = 0.7F};
    EXPECT(input_roots(&body, &root, 1, &fault) == ERR_OK);
    float *frames[TICKS + 4];
    for (int t = 0; t < 60; t++)
        if (body_pose(&body, (double)t / HZ)) body_run(&body);
    root.fields = INPUT_ROOT_WEIGHT;
    root.weight = 1;
    EXPECT(input_roots(&body, &root, 1, &fault) == ERR_OK);
    for (int t = 0; t < TICKS + 4; t++) {
        frames[t] = malloc(vertices * 3 * sizeof(float));
        if (body_pose(&body, (59.0 + t) / HZ)) body_run(&body);
        surface_gather(m, body.blocks, frames[t], NULL);
    }
    double worst = 0, travel_most = 0;
    for (size_t v = 0; v < vertices; v++) {
        double travel = 0, step = 0;
        for (int k = 0; k < 3; k++) {
            double d =
                (double)frames[TICKS + 3][3 * v + (size_t)k] - (double)frames[0][3 * v + (size_t)k];
            travel += d * d;
        }
        travel = sqrt(travel);
        if (travel < 1e-3) continue;
        for (int t = 1; t < TICKS + 3; t++) {
            double square = 0;
            for (int k = 0; k < 3; k++) {
                size_t i = 3 * v + (size_t)k;
                double d =
                    (double)frames[t + 1][i] - 2 * (double)frames[t][i] + (double)frames[t - 1][i];
                square += d * d;
            }
            step = fmax(step, sqrt(square));
        }
        worst = fmax(worst, step / travel);
        travel_most = fmax(travel_most, travel);
    }
    printf("     over %d ticks: second difference %.3f / N^2 of the travel (up to %.3f m)\n", TICKS,
           worst * TICKS * TICKS, travel_most);
    EXPECT(worst * TICKS * TICKS <= 8 && travel_most > 0.1);
    for (int t = 0; t < TICKS + 4; t++)
        free(frames[t]);
    body_destroy(&body);
    close_rooted(&r);
}

static void wrong_tables_are_refused_by_path(void)
{
#define ROOTS(a, b) "[{\"name\": \"a\", \"weights\": " a "}, {\"name\": \"b\", \"weights\": " b "}]"
#define FULL        "{\"file\": \"full.json\"}"
    static const struct {
        const char *roots, *table, *path;
    } cases[] = {
        {ROOTS(FULL, "{\"file\": \"t.json\"}"), "[[8, 1]]", "/roots/1/weights/file"},
        {ROOTS(FULL, "{\"file\": \"t.json\"}"), "[[1, 1], [1, 0.5]]", "/roots/1/weights/file"},
        {ROOTS(FULL, "{\"file\": \"t.json\"}"), "[[1, -0.5]]", "/roots/1/weights/file"},
        {ROOTS(FULL, "{\"file\": \"t.json\"}"), "[[1, NaN]]", "/roots/1/weights/file"},
        {ROOTS(FULL, "{\"file\": \"t.json\"}"), "[[1]]", "/roots/1/weights/file"},
        {ROOTS(FULL, "{\"file\": \"t.json\"}"), "{}", "/roots/1/weights/file"},
        {ROOTS("{\"file\": \"t.json\"}", "{\"file\": \"t.json\"}"), "[[1, 1]]", "vertex 0"},
        {ROOTS(FULL, "{\"file\": \"gone.json\"}"), "[]", "/roots/1/weights/file"},
        {ROOTS(FULL, "{\"color\": 0}"), "[]", "/roots/1/weights/color"},
        {ROOTS(FULL, "{\"joints\": {\"nobody\": 1}}"), "[]", "/roots/1/weights/joints/nobody"},
        {ROOTS(FULL, "{\"joints\": {\"upper\": 2}}"), "[]", "/roots/1/weights/joints/upper"},
        {ROOTS(FULL, "{}"), "[]", "/roots/1/weights"},
        {"[{\"name\": \"a\", \"ride\": \"b\", \"weights\": " FULL
         "}, {\"name\": \"b\", \"ride\": \"a\", "
         "\"weights\": " FULL "}]",
         "[]", "/roots/0/ride"},
        {"[{\"name\": \"a\", \"ride\": \"c\", \"weights\": " FULL "}, {\"name\": \"b\", "
         "\"weights\": " FULL "}]",
         "[]", "/roots/0/ride"},
        {"[{\"name\": \"a\", \"weights\": " FULL "}, {\"name\": \"a\", \"weights\": " FULL "}]",
         "[]", "/roots/1/name"},
        {"[{\"name\": \"a\", \"weights\": " FULL
         "}, {\"name\": \"b\", \"border_m\": -1, \"weights\": " FULL "}]",
         "[]", "/roots/1/border_m"},
    };
    static const char full[] = "[[0,1],[1,1],[2,1],[3,1],[4,1],[5,1],[6,1],[7,1]]";
    size_t size;
    char *gltf = sample_gltf(&size), path[256], text[2048];
    put("bar.gltf", gltf, size);
    put("full.json", full, strlen(full));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fault fault = {0};
        struct bake_result result;
        put("t.json", cases[i].table, strlen(cases[i].table));
        (void)snprintf(text, sizeof text,
                       "{\"sinew_rig\": 1, \"source\": \"bar.gltf\", \"roots\": %s}",
                       cases[i].roots);
        put("bar.rig.json", text, strlen(text));
        (void)snprintf(path, sizeof path, "%s/bar.rig.json", folder);
        bool named = bake_run(path, NULL, &result, &fault) != ERR_OK &&
                     strstr(fault.line, cases[i].path) != NULL && !strchr(fault.line, '\n');
        if (!named) printf("  %zu %s: \"%s\"\n", i, cases[i].path, fault.line);
        EXPECT(named);
    }
    free(gltf);
}

int main(void)
{
    EXPECT(mkdtemp(folder) != NULL);
    RUN(folded_roots_are_the_direct_formula);
    RUN(edited_tables_are_the_direct_formula);
    RUN(a_table_keeps_what_it_does_not_touch);
    RUN(all_roots_in_one_pose_are_plain_skinning);
    RUN(correctives_lie_on_the_mix);
    RUN(a_root_without_gain_is_the_first);
    RUN(correctives_follow_a_roots_weight);
    RUN(a_root_between_is_skinned_apart);
    RUN(a_root_carries_by_the_joints_it_has);
    RUN(a_files_own_trees_keep_their_joints);
    RUN(a_mirrored_pose_swaps_the_sides);
    RUN(a_waist_that_turns_stays_whole);
    RUN(a_weight_eases);
    RUN(wrong_tables_are_refused_by_path);
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    EXPECT(system(command) == 0);
    TESTING_MAIN_END;
}

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/drivers.h"
#include "server/character/pose/driver.h"

// What a modeller wants to know of a bake: condition, weights over sampled poses, residuals, gains,
// the steepest change of a weight, and what was chosen automatically.

enum { PATHS_MAX = 2000, STEPS = 12 };
static const double OVERSHOOT = 0.25; // paths go on past both centers by this share

// The pose a share t along the way between two centers; only the joints that are read matter.
static void pose_between(const struct solve_plan *s, uint32_t a, uint32_t b, double t,
                         struct trs *locals)
{
    for (uint32_t j = 0; j < s->joint_count; j++) {
        const double *x = s->centers + (a * s->joint_count + j) * MODEL_CENTER_DOUBLES;
        const double *y = s->centers + (b * s->joint_count + j) * MODEL_CENTER_DOUBLES;
        double dot = x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3], q[4];
        for (int i = 0; i < 4; i++)
            q[i] = (1 - t) * x[i] + t * (dot < 0 ? -y[i] : y[i]);
        struct trs *out = &locals[s->joints[j].node];
        out->rotation =
            quat_normalise((struct quat){(float)q[0], (float)q[1], (float)q[2], (float)q[3]});
        out->translation =
            (struct vec3){(float)((1 - t) * x[4] + t * y[4]), (float)((1 - t) * x[5] + t * y[5]),
                          (float)((1 - t) * x[6] + t * y[6])};
    }
}

static double largest_turn_deg(const struct solve_plan *s, const struct trs *a, const struct trs *b)
{
    double largest = 0;
    for (uint32_t j = 0; j < s->joint_count; j++) {
        struct model_driver_joint plain = {.read = MODEL_READ_ROTATION};
        struct driver_sample x = driver_read(&a[s->joints[j].node]),
                             y = driver_read(&b[s->joints[j].node]);
        largest = fmax(largest, sqrt(driver_distance(&plain, MODEL_KERNEL_LINEAR, &x, &y)));
    }
    return largest * 180 / 3.14159265358979323846;
}

static void note_weights(struct solve_plan *s, const double *w)
{
    double sum = 0;
    for (uint32_t c = 0; c < s->center_count; c++) {
        s->weight_low = fmin(s->weight_low, w[c]);
        s->weight_high = fmax(s->weight_high, w[c]);
        sum += fabs(w[c]);
    }
    s->weight_sum = fmax(s->weight_sum, sum);
}

struct sampling {
    struct trs *now, *before;
    double *w, *w_before;
};

static void sample_path(const struct driver_bake *k, const struct driver_plan *d,
                        struct solve_plan *s, uint32_t a, uint32_t b, struct sampling *x)
{
    for (int step = 0; step <= STEPS; step++) {
        double t = -OVERSHOOT + (1 + 2 * OVERSHOOT) * step / STEPS;
        pose_between(s, a, b, t, x->now);
        driver_solve_weights(k, d, s, x->now, x->w);
        note_weights(s, x->w);
        double turn = step ? largest_turn_deg(s, x->before, x->now) : 0;
        for (uint32_t c = 0; turn > 1e-3 && c < s->center_count; c++)
            s->slope_per_degree = fmax(s->slope_per_degree, fabs(x->w[c] - x->w_before[c]) / turn);
        struct trs *pose = x->before;
        double *w = x->w_before;
        x->before = x->now;
        x->w_before = x->w;
        x->now = pose;
        x->w = w;
    }
}

static enum err sample_solve(struct driver_bake *k, const struct driver_plan *d,
                             struct solve_plan *s)
{
    size_t nodes = k->b->model.nodes_count, n = s->center_count;
    struct sampling x = {.now = DRIVERS_ARRAY(k, struct trs, nodes),
                         .before = DRIVERS_ARRAY(k, struct trs, nodes),
                         .w = DRIVERS_ARRAY(k, double, n),
                         .w_before = DRIVERS_ARRAY(k, double, n)};
    if (!x.now || !x.before || !x.w || !x.w_before) return drivers_no_memory(k);
    size_t pairs = n * (n - 1) / 2, stride = pairs / PATHS_MAX + 1, pair = 0;
    pose_between(s, 0, 0, 0, x.now);
    driver_solve_weights(k, d, s, x.now, x.w);
    note_weights(s, x.w);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++, pair++)
            if (pair % stride == 0) sample_path(k, d, s, a, b, &x);
    return ERR_OK;
}

// ---- residuals: everything shown at an example's pose, less what was sculpted

static void add_driver(const struct driver_bake *k, const struct driver_plan *d,
                       const struct trs *locals, double *w, double (*sum)[3])
{
    for (uint32_t i = 0; i < d->solve_count; i++) {
        const struct solve_plan *s = &d->solves[i];
        driver_solve_weights(k, d, s, locals, w);
        for (uint32_t c = 0; c < s->center_count; c++)
            for (uint32_t t = 0; t < s->touched_count; t++)
                for (int r = 0; r < 3; r++)
                    sum[s->touched[t]][r] += w[c] * s->deltas[(size_t)c * s->touched_count + t][r];
    }
}

static enum err measure_residuals(struct driver_bake *k)
{
    size_t vertices = model_vertex_count(&k->b->model), largest = 1;
    for (uint32_t i = 0; i < k->driver_count; i++)
        if (k->drivers[i].example_count + 1 > largest) largest = k->drivers[i].example_count + 1;
    double(*sum)[3] = pool_take(k->pool, vertices, sizeof *sum);
    double *w = DRIVERS_ARRAY(k, double, largest);
    if (!sum || !w) return drivers_no_memory(k);
    for (uint32_t i = 0; i < k->driver_count; i++)
        for (uint32_t n = 0; n < k->drivers[i].example_count; n++) {
            struct example_plan *e = &k->drivers[i].examples[n];
            if (k->drivers[i].same) continue;
            e->residual = 0;
            memset(sum, 0, vertices * sizeof *sum);
            for (uint32_t other = 0; other < k->driver_count; other++)
                add_driver(k, &k->drivers[other], e->locals, w, sum);
            for (uint32_t t = 0; t < e->d.count; t++) {
                double square = 0;
                for (int r = 0; r < 3; r++) {
                    double d = sum[e->d.vertices[t]][r] - e->d.deltas[t][r];
                    square += d * d;
                }
                e->residual = fmax(e->residual, sqrt(square));
            }
        }
    return ERR_OK;
}

// ---- as JSON

static cJSON *describe_solve(const struct solve_plan *s)
{
    cJSON *out = cJSON_CreateObject(), *joints = cJSON_AddArrayToObject(out, "per_m");
    cJSON_AddNumberToObject(out, "centers", s->center_count);
    cJSON_AddNumberToObject(out, "vertices", s->touched_count);
    cJSON_AddNumberToObject(out, "radius", s->radius);
    cJSON_AddNumberToObject(out, "leave_one_out", s->loo_error);
    cJSON_AddNumberToObject(out, "condition", s->condition);
    cJSON_AddNumberToObject(out, "weight_min", s->weight_low);
    cJSON_AddNumberToObject(out, "weight_max", s->weight_high);
    cJSON_AddNumberToObject(out, "weight_sum_max", s->weight_sum);
    cJSON_AddNumberToObject(out, "steepest_per_degree", s->slope_per_degree);
    for (uint32_t j = 0; j < s->joint_count; j++)
        cJSON_AddItemToArray(joints, cJSON_CreateNumber(s->joints[j].per_unit));
    return out;
}

static cJSON *describe_driver(const struct driver_bake *k, const struct driver_plan *d)
{
    static const char *const reads[] = {"rotation", "swing", "twist", "translation", "transform"};
    const struct model *m = &k->b->model;
    cJSON *out = cJSON_CreateObject();
    cJSON_AddStringToObject(out, "name", d->name);
    cJSON_AddNumberToObject(out, "solver", MODEL_SOLVER);
    if (d->mirror_of) cJSON_AddStringToObject(out, "mirror_of", d->mirror_of);
    cJSON *joints = cJSON_AddArrayToObject(out, "joints");
    for (uint32_t j = 0; j < d->joint_count; j++) {
        cJSON *joint = cJSON_CreateObject();
        cJSON_AddStringToObject(joint, "joint", model_text(m, m->nodes[d->joints[j].node].name));
        cJSON_AddStringToObject(joint, "read", reads[d->joints[j].read]);
        cJSON_AddNumberToObject(joint, "weight", d->joints[j].weight);
        cJSON_AddItemToArray(joints, joint);
    }
    cJSON *examples = cJSON_AddArrayToObject(out, "examples");
    for (uint32_t e = 0; e < d->example_count; e++) {
        cJSON *example = cJSON_CreateObject();
        cJSON_AddStringToObject(example, "name", d->examples[e].name);
        cJSON_AddNumberToObject(example, "center", d->examples[e].center);
        cJSON_AddNumberToObject(example, "vertices", d->examples[e].d.count);
        cJSON_AddNumberToObject(example, "residual", d->examples[e].residual);
        cJSON_AddNumberToObject(example, "inverse_gain", d->examples[e].gain);
        cJSON_AddItemToArray(examples, example);
    }
    cJSON *solves = cJSON_AddArrayToObject(out, "solves");
    for (uint32_t s = 0; s < d->solve_count; s++)
        cJSON_AddItemToArray(solves, describe_solve(&d->solves[s]));
    return out;
}

enum err driver_report_make(struct driver_bake *k)
{
    for (uint32_t i = 0; i < k->driver_count; i++)
        for (uint32_t s = 0; !k->drivers[i].stands && s < k->drivers[i].solve_count; s++) {
            enum err e = sample_solve(k, &k->drivers[i], &k->drivers[i].solves[s]);
            if (e != ERR_OK) return e;
        }
    enum err e = measure_residuals(k);
    if (e != ERR_OK) return e;
    cJSON *list = cJSON_CreateArray();
    for (uint32_t i = 0; i < k->driver_count; i++)
        cJSON_AddItemToArray(list,
                             k->drivers[i].same
                                 ? cJSON_Duplicate(cJSON_GetArrayItem(k->edited_report, (int)i), 1)
                                 : describe_driver(k, &k->drivers[i]));
    char *text = cJSON_PrintUnformatted(list);
    cJSON_Delete(list);
    if (!text) return drivers_no_memory(k);
    size_t length = strlen(text);
    k->b->model.drivers_json = pool_copy_text(&k->b->scene->pool, text, length);
    k->b->model.drivers_json_count = length + 1;
    cJSON_free(text);
    return k->b->model.drivers_json ? ERR_OK : builder_no_memory(k->b);
}

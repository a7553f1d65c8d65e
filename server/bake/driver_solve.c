#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/dense.h"
#include "server/bake/drivers.h"
#include "server/character/pose/driver.h"

// Centers, the kernel matrix, the automatic radius and W = (Phi + ridge)^-1, in double.

static const double DEFAULT_RIDGE = 1e-10;
enum { AUTO_CENTERS_MIN = 6 };

static struct driver_sample sample_of(const struct model_driver_joint *j, const struct trs *locals)
{
    return driver_read(&locals[j->node]);
}

// ---- one solve

static const struct trs *center_locals(const struct driver_bake *k, const struct solve_plan *s,
                                       uint32_t c)
{
    return c && s->center_example[c] ? s->center_example[c]->locals : k->b->model.base_pose;
}

static void find_same(const struct driver_bake *k, struct solve_plan *s)
{
    for (uint32_t c = 0; c < s->center_count; c++) {
        s->same_as[c] = c;
        for (uint32_t other = 0; other < c && s->same_as[c] == c; other++) {
            bool agree = s->same_as[other] == other;
            for (uint32_t j = 0; agree && j < s->joint_count; j++)
                agree = driver_joint_agrees(k, &s->joints[j], center_locals(k, s, c),
                                            center_locals(k, s, other));
            if (agree) s->same_as[c] = other;
        }
    }
}

enum err driver_solve_start(struct driver_bake *k, struct driver_plan *d, struct solve_plan *s,
                            uint32_t center_count)
{
    size_t n = center_count;
    s->center_count = center_count;
    s->center_example = DRIVERS_ARRAY(k, struct example_plan *, n);
    s->centers = DRIVERS_ARRAY(k, double, n * s->joint_count * MODEL_CENTER_DOUBLES);
    s->matrix = DRIVERS_ARRAY(k, double, n *n);
    s->same_as = DRIVERS_ARRAY(k, uint32_t, n);
    if (!s->center_example || !s->centers || !s->matrix || !s->same_as) return drivers_no_memory(k);
    for (uint32_t i = 0; i < d->example_count; i++)
        if (!d->examples[i].merged) s->center_example[d->examples[i].center] = &d->examples[i];
    for (uint32_t c = 0; c < center_count; c++)
        for (uint32_t j = 0; j < s->joint_count; j++) {
            struct driver_sample x = sample_of(&s->joints[j], center_locals(k, s, c));
            double *out = s->centers + (c * s->joint_count + j) * MODEL_CENTER_DOUBLES;
            memcpy(out, x.rotation, sizeof x.rotation);
            memcpy(out + 4, x.translation, sizeof x.translation);
        }
    find_same(k, s);
    return ERR_OK;
}

static struct driver_sample center_sample(const struct solve_plan *s, uint32_t c, uint32_t j)
{
    struct driver_sample x;
    const double *from = s->centers + (c * s->joint_count + j) * MODEL_CENTER_DOUBLES;
    memcpy(x.rotation, from, sizeof x.rotation);
    memcpy(x.translation, from + 4, sizeof x.translation);
    return x;
}

// Weighted sums of distances between all centers.
static void distances(const struct driver_plan *d, const struct solve_plan *s, double *out)
{
    for (uint32_t a = 0; a < s->center_count; a++)
        for (uint32_t b = 0; b < s->center_count; b++) {
            double sum = 0;
            for (uint32_t j = 0; j < s->joint_count; j++) {
                struct driver_sample x = center_sample(s, a, j), y = center_sample(s, b, j);
                sum += s->joints[j].weight * driver_distance(&s->joints[j], d->kernel, &x, &y);
            }
            out[a * s->center_count + b] = sum;
        }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// s at which the median center's nearest neighbour has a kernel value of one half.
static double lowest_radius(const struct solve_plan *s, const double *distance, double *work)
{
    uint32_t n = s->center_count, count = 0;
    for (uint32_t a = 0; a < n; a++) {
        if (s->same_as[a] != a) continue;
        double nearest = HUGE_VAL;
        for (uint32_t b = 0; b < n; b++)
            if (b != a && s->same_as[b] == b) nearest = fmin(nearest, distance[a * n + b]);
        work[count++] = nearest;
    }
    if (count < 2) return 1;
    qsort(work, count, sizeof *work, by_value);
    double median = count % 2 ? work[count / 2] : (work[count / 2 - 1] + work[count / 2]) / 2;
    return median > 0 ? sqrt(median / 0.69314718055994531) : 1;
}

static double mean_radius(const struct solve_plan *s, const double *distance)
{
    double sum = 0;
    uint32_t n = s->center_count, pairs = 0;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++) {
            if (s->same_as[a] != a || s->same_as[b] != b) continue;
            sum += sqrt(distance[a * n + b]);
            pairs++;
        }
    return sum > 0 ? sum / pairs : 1;
}

struct solve_work {
    double *distance, *matrix, *inverse, *scratch; // n * n
    double (*product)[3];                          // touched
};

// (Phi + ridge I)^-1 for one radius; false when there is none.
static bool invert(const struct driver_plan *d, const struct solve_plan *s, double radius,
                   struct solve_work *w, double *condition)
{
    uint32_t n = s->center_count;
    double mean = 0;
    for (uint32_t i = 0; i < n * n; i++)
        w->matrix[i] = driver_kernel(d->kernel, w->distance[i], radius);
    for (uint32_t i = 0; i < n; i++)
        mean += fabs(w->matrix[i * n + i]) / n;
    double ridge = d->ridge >= 0 ? d->ridge : DEFAULT_RIDGE * mean;
    for (uint32_t i = 0; i < n; i++)
        w->matrix[i * n + i] += ridge;
    for (uint32_t i = 0; i < n; i++) // those that are like another stand apart from all
        for (uint32_t c = 0; c < n && s->same_as[i] != i; c++)
            w->matrix[i * n + c] = w->matrix[c * n + i] = i == c;
    double norm = dense_norm1(w->matrix, n);
    bool positive = d->kernel == MODEL_KERNEL_ROTATION || d->kernel == MODEL_KERNEL_GAUSSIAN ||
                    d->kernel == MODEL_KERNEL_INVERSE_MULTIQUADRIC;
    memcpy(w->scratch, w->matrix, n * n * sizeof *w->matrix);
    bool ok = positive && dense_invert_spd(w->matrix, n, w->inverse, w->scratch + n * n);
    if (!ok) ok = dense_invert(w->scratch, n, w->inverse);
    if (ok) *condition = norm * dense_norm1(w->inverse, n);
    return ok;
}

// Mean over centers and touched vertices of the length of each center's leave-one-out residual,
// in closed form: (A D)i / Aii with A the inverse.
static double leave_one_out(const struct solve_plan *s, const struct solve_work *w)
{
    uint32_t n = s->center_count;
    size_t touched = s->touched_count;
    double total = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (s->same_as[i] != i) continue;
        memset(w->product, 0, touched * sizeof *w->product);
        for (uint32_t c = 0; c < n; c++) {
            double a = w->inverse[i * n + c], (*row)[3] = s->deltas + c * touched;
            for (size_t v = 0; v < touched; v++)
                for (int r = 0; r < 3; r++)
                    w->product[v][r] += a * row[v][r];
        }
        double sum = 0;
        for (size_t v = 0; v < touched; v++) {
            const double *p = w->product[v];
            sum += sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
        }
        total += sum / fabs(w->inverse[i * n + i]);
    }
    return touched ? total / n / (double)touched : 0;
}

static void scale_slides(const struct driver_plan *d, struct solve_plan *s, double per_unit)
{
    for (uint32_t j = 0; j < s->joint_count; j++)
        for (uint32_t i = 0; i < d->joint_count; i++)
            if (d->per_unit_auto[i] && d->joints[i].node == s->joints[j].node &&
                d->joints[i].read == s->joints[j].read)
                s->joints[j].per_unit = per_unit;
}

static bool slides_are_automatic(const struct driver_plan *d, const struct solve_plan *s)
{
    for (uint32_t j = 0; j < s->joint_count; j++)
        for (uint32_t i = 0; i < d->joint_count; i++)
            if (d->per_unit_auto[i] && d->joints[i].node == s->joints[j].node) return true;
    return false;
}

// Tries every pair of the ranges and leaves the best one in the solve.
static void choose_radius(const struct driver_bake *k, const struct driver_plan *d,
                          struct solve_plan *s, struct solve_work *w)
{
    static const double scales[] = {0.25, 0.5, 1, 2, 4};
    uint32_t n = s->center_count;
    bool embed = d->kernel == MODEL_KERNEL_ROTATION, slides = slides_are_automatic(d, s);
    bool search = n >= AUTO_CENTERS_MIN && embed && (d->radius_auto || slides);
    double best = HUGE_VAL, best_radius = 0, best_scale = 1, condition;
    for (size_t p = 0; search && p < (slides ? 5 : 1); p++) {
        double scale = slides ? scales[p] : 1;
        if (slides) scale_slides(d, s, scale / k->diagonal);
        distances(d, s, w->distance);
        double low = d->radius_auto ? lowest_radius(s, w->distance, w->scratch) : d->radius;
        double high = d->radius_auto ? 60 * low : low;
        for (double radius = low; radius <= high * (1 + 1e-12); radius *= 1.15) {
            if (!invert(d, s, radius, w, &condition)) continue;
            double error = leave_one_out(s, w);
            if (!(error < best)) continue;
            best = error;
            best_radius = radius;
            best_scale = scale;
        }
    }
    if (slides) scale_slides(d, s, best_scale / k->diagonal);
    distances(d, s, w->distance);
    if (best_radius > 0)
        s->radius = best_radius;
    else if (!d->radius_auto)
        s->radius = d->radius;
    else
        s->radius = embed ? lowest_radius(s, w->distance, w->scratch) : mean_radius(s, w->distance);
}

// Every vertex that some example of this solve moves, and D there as dense rows.
static enum err gather_dense(struct driver_bake *k, struct solve_plan *s, const uint8_t *mine)
{
    size_t vertices = model_vertex_count(&k->b->model), n = s->center_count;
    s->place = DRIVERS_ARRAY(k, uint32_t, vertices);
    s->touched = DRIVERS_ARRAY(k, uint32_t, vertices);
    if (!s->place || !s->touched) return drivers_no_memory(k);
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t i = 0; s->center_example[c] && i < s->center_example[c]->d.count; i++)
            s->place[s->center_example[c]->d.vertices[i]] = 1;
    for (uint32_t v = 0; v < vertices; v++) {
        if (!s->place[v] || (mine && !mine[v])) {
            s->place[v] = 0;
            continue;
        }
        s->touched[s->touched_count++] = v;
        s->place[v] = s->touched_count;
    }
    s->deltas = pool_take(k->pool, n * s->touched_count, sizeof *s->deltas);
    if (!s->deltas) return drivers_no_memory(k);
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t i = 0; s->center_example[c] && i < s->center_example[c]->d.count; i++) {
            const struct delta_set *d = &s->center_example[c]->d;
            uint32_t place = s->place[d->vertices[i]];
            if (place)
                memcpy(s->deltas[(size_t)c * s->touched_count + place - 1], d->deltas[i],
                       sizeof d->deltas[i]);
        }
    return ERR_OK;
}

// What its joints cannot tell apart gets the mean, and nothing where one of them is the base pose:
// the base surface must stand. The report's residuals tell.
static void mean_of_same(struct solve_plan *s)
{
    size_t touched = s->touched_count;
    for (uint32_t c = 1; c < s->center_count; c++) {
        uint32_t first = s->same_as[c], alike = 0;
        if (first != c) continue;
        for (uint32_t i = c; i < s->center_count; i++)
            alike += s->same_as[i] == c;
        for (size_t v = 0; v < touched && alike > 1; v++)
            for (int r = 0; r < 3; r++) {
                double sum = 0;
                for (uint32_t i = c; i < s->center_count; i++)
                    if (s->same_as[i] == c) sum += s->deltas[i * touched + v][r];
                s->deltas[c * touched + v][r] = sum / alike;
            }
    }
    for (uint32_t c = 0; c < s->center_count; c++)
        if (s->same_as[c] != c) memset(s->deltas + c * touched, 0, touched * sizeof *s->deltas);
}

enum err driver_solve_gather(struct driver_bake *k, struct solve_plan *s, const uint8_t *mine)
{
    enum err e = gather_dense(k, s, mine);
    if (e == ERR_OK) mean_of_same(s);
    return e;
}

static enum err finish_solve(struct driver_bake *k, const struct driver_plan *d,
                             struct solve_plan *s, const uint8_t *mine)
{
    size_t n = s->center_count;
    struct solve_work w = {.distance = DRIVERS_ARRAY(k, double, n *n),
                           .matrix = DRIVERS_ARRAY(k, double, n *n),
                           .inverse = DRIVERS_ARRAY(k, double, n *n),
                           .scratch = DRIVERS_ARRAY(k, double, 2 * n * n)};
    if (!w.distance || !w.matrix || !w.inverse || !w.scratch) return drivers_no_memory(k);
    enum err e = driver_solve_gather(k, s, mine);
    if (e != ERR_OK) return e;
    w.product = pool_take(k->pool, s->touched_count, sizeof *w.product);
    if (!w.product) return drivers_no_memory(k);
    choose_radius(k, d, s, &w);
    if (!invert(d, s, s->radius, &w, &s->condition))
        return fault_set(k->fault, ERR_MALFORMED,
                         "%s: the examples of driver \"%.60s\" cannot be told apart by its joints "
                         "(singular kernel matrix): read other joints, or move poses apart",
                         d->path, d->name);
    s->loo_error = leave_one_out(s, &w);
    for (size_t c = 0; c < n; c++)
        for (size_t i = 0; i < n; i++)
            s->matrix[c * n + i] = s->same_as[c] == c && s->same_as[i] == i
                                       ? w.inverse[c * n + i] // symmetric: its own transpose
                                       : 0;
    return ERR_OK;
}

// ---- per_vertex: one solve for each distinct subset of the joints that moves vertices

uint64_t driver_solve_joints_of(const struct driver_bake *k, const struct driver_plan *d,
                                uint32_t v)
{
    uint64_t mask = 0;
    for (uint32_t i = k->b->influence_first[v]; i < k->b->influence_first[v + 1]; i++)
        for (uint32_t j = 0; j < d->joint_count; j++)
            if (k->b->model.slots[k->b->influence_slots[i]].node == d->joints[j].node)
                mask |= (uint64_t)1 << j;
    return mask ? mask : ~(uint64_t)0 >> (64 - d->joint_count); // none: all of them count
}

static enum err take_subset(struct driver_bake *k, const struct driver_plan *d, uint64_t mask,
                            struct solve_plan *s)
{
    s->joints = DRIVERS_ARRAY(k, struct model_driver_joint, d->joint_count);
    if (!s->joints) return drivers_no_memory(k);
    for (uint32_t j = 0; j < d->joint_count; j++)
        if (mask >> j & 1) s->joints[s->joint_count++] = d->joints[j];
    return ERR_OK;
}

static enum err list_masks(struct driver_bake *k, const struct driver_plan *d, uint64_t *masks,
                           uint32_t *count)
{
    enum { SUBSETS_MAX = 256 };
    *count = 0;
    for (uint32_t i = 0; i < d->example_count; i++)
        for (uint32_t n = 0; n < d->examples[i].d.count; n++) {
            uint64_t mask = driver_solve_joints_of(k, d, d->examples[i].d.vertices[n]);
            uint32_t at = 0;
            while (at < *count && masks[at] != mask)
                at++;
            if (at < *count) continue;
            if (*count == SUBSETS_MAX)
                return fault_set(k->fault, ERR_LIMIT,
                                 "%s/per_vertex: more than %d distinct joint sets", d->path,
                                 SUBSETS_MAX);
            masks[(*count)++] = mask;
        }
    return ERR_OK;
}

static enum err solve_subsets(struct driver_bake *k, struct driver_plan *d, uint32_t center_count)
{
    uint64_t masks[256];
    uint32_t count;
    size_t vertices = model_vertex_count(&k->b->model);
    enum err e = list_masks(k, d, masks, &count);
    if (e != ERR_OK) return e;
    if (count == 0) masks[count++] = ~(uint64_t)0 >> (64 - d->joint_count);
    d->solves = DRIVERS_ARRAY(k, struct solve_plan, count);
    uint8_t *mine = DRIVERS_ARRAY(k, uint8_t, vertices);
    if (!d->solves || !mine) return drivers_no_memory(k);
    for (; d->solve_count < count; d->solve_count++) {
        struct solve_plan *s = &d->solves[d->solve_count];
        for (uint32_t v = 0; v < vertices; v++)
            mine[v] = driver_solve_joints_of(k, d, v) == masks[d->solve_count];
        e = take_subset(k, d, masks[d->solve_count], s);
        if (e == ERR_OK) e = driver_solve_start(k, d, s, center_count);
        if (e == ERR_OK) e = finish_solve(k, d, s, mine);
        if (e != ERR_OK) return e;
    }
    return ERR_OK;
}

static enum err solve_whole(struct driver_bake *k, struct driver_plan *d, uint32_t center_count)
{
    d->solves = DRIVERS_ARRAY(k, struct solve_plan, 1);
    if (!d->solves) return drivers_no_memory(k);
    d->solve_count = 1;
    enum err e = take_subset(k, d, ~(uint64_t)0, &d->solves[0]);
    if (e == ERR_OK) e = driver_solve_start(k, d, &d->solves[0], center_count);
    return e == ERR_OK ? finish_solve(k, d, &d->solves[0], NULL) : e;
}

enum err driver_solve_make(struct driver_bake *k)
{
    for (uint32_t i = 0; i < k->driver_count; i++) {
        uint32_t center_count = 0;
        struct driver_plan *d = &k->drivers[i];
        enum err e =
            d->stands ? driver_stands_solves(k, d, i) : driver_centers_assign(k, d, &center_count);
        if (e == ERR_OK && !d->stands)
            e = d->per_vertex ? solve_subsets(k, d, center_count) : solve_whole(k, d, center_count);
        if (e != ERR_OK) return e;
    }
    return ERR_OK;
}

void driver_solve_weights(const struct driver_bake *k, const struct driver_plan *d,
                          const struct solve_plan *s, const struct trs *locals, double *weights)
{
    // A model of this one solve: the frame's own code computes the weights.
    struct model_driver driver = {.kernel = d->kernel, .weights = d->weights};
    struct model_solve solve = {
        .joint_count = s->joint_count, .center_count = s->center_count, .radius = s->radius};
    struct model one = {.drivers = &driver,
                        .drivers_count = 1,
                        .solves = &solve,
                        .solves_count = 1,
                        .driver_joints = s->joints,
                        .driver_joints_count = s->joint_count,
                        .driver_centers = s->centers,
                        .driver_matrix = s->matrix};
    (void)k;
    CHECK(driver_weights(&one, locals, weights));
}

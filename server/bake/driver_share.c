#include <string.h>

#include "server/bake/dense.h"
#include "server/bake/drivers.h"

// Drivers that share vertices, solved together: at each example's pose the other drivers show
// something too, and all of it together must give what was sculpted:
//   D'de + sum over other drivers d' of sum i of wd'i(Pe) D'd'i = De,  D'd0 fixed.
// The matrix depends only on which solves meet at a vertex, so each distinct meeting is inverted
// once.

enum { MEETING_MAX = 64 };

struct unknown {
    uint32_t member, center; // of the meeting's solves
};
struct meeting {
    uint32_t member_count;
    const struct driver_plan *drivers[MEETING_MAX];
    struct solve_plan *solves[MEETING_MAX];
    uint32_t unknown_count;
    struct unknown *unknowns;
    double *base_weight; // [unknown][member] wd'0(Pe), 0 for its own
    double *inverse;
    double (*right)[3], (*left)[3]; // [unknown] scratch
};

// 0 also where nothing has changed for any of them.
static uint32_t list_members(struct driver_bake *k, uint32_t v, const struct driver_plan **drivers,
                             struct solve_plan **solves)
{
    uint32_t count = 0;
    bool same = true;
    for (uint32_t i = 0; i < k->driver_count; i++)
        for (uint32_t n = 0; n < k->drivers[i].solve_count; n++) {
            if (!k->drivers[i].solves[n].place[v]) continue;
            same = same && k->drivers[i].same;
            if (count < MEETING_MAX) {
                drivers[count] = &k->drivers[i];
                solves[count] = &k->drivers[i].solves[n];
            }
            count++;
        }
    return same ? 0 : count;
}

static enum err take_unknowns(struct driver_bake *k, struct meeting *m)
{
    size_t capacity = 0;
    for (uint32_t i = 0; i < m->member_count; i++)
        capacity += m->solves[i]->center_count;
    m->unknowns = DRIVERS_ARRAY(k, struct unknown, capacity);
    m->base_weight = DRIVERS_ARRAY(k, double, capacity * m->member_count);
    m->inverse = DRIVERS_ARRAY(k, double, capacity *capacity);
    m->right = pool_take(k->pool, capacity, sizeof *m->right);
    m->left = pool_take(k->pool, capacity, sizeof *m->left);
    if (!m->unknowns || !m->base_weight || !m->inverse || !m->right || !m->left)
        return drivers_no_memory(k);
    for (uint32_t i = 0; i < m->member_count; i++)
        for (uint32_t c = 1; c < m->solves[i]->center_count; c++)
            if (m->solves[i]->same_as[c] == c)
                m->unknowns[m->unknown_count++] = (struct unknown){i, c};
    return ERR_OK;
}

// Names the two examples that are nearest to asking for the same thing: rows that are parallel.
static enum err name_singular(struct driver_bake *k, const struct meeting *m, const double *matrix)
{
    size_t n = m->unknown_count, one = 0, other = n - 1;
    double best = -1;
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            double ab = 0, aa = 0, bb = 0;
            for (size_t i = 0; i < n; i++) {
                ab += matrix[a * n + i] * matrix[b * n + i];
                aa += matrix[a * n + i] * matrix[a * n + i];
                bb += matrix[b * n + i] * matrix[b * n + i];
            }
            double alike = ab * ab / (aa * bb + 1e-300);
            if (!(alike > best)) continue;
            best = alike;
            one = a;
            other = b;
        }
    const struct unknown *x = &m->unknowns[one], *y = &m->unknowns[other];
    const struct example_plan *ex = m->solves[x->member]->center_example[x->center];
    const struct example_plan *ey = m->solves[y->member]->center_example[y->center];
    return fault_set(k->fault, ERR_MALFORMED,
                     "%s: example \"%.40s\" of driver \"%.40s\" and example \"%.40s\" of driver "
                     "\"%.40s\" (%s) share vertices and cannot be told apart: at their poses both "
                     "drivers stand the same",
                     ex->path, ex->name, m->drivers[x->member]->name, ey->name,
                     m->drivers[y->member]->name, ey->path);
}

static enum err invert_meeting(struct driver_bake *k, struct meeting *m)
{
    size_t n = m->unknown_count, largest = 1;
    for (uint32_t i = 0; i < m->member_count; i++)
        if (m->solves[i]->center_count > largest) largest = m->solves[i]->center_count;
    double *matrix = DRIVERS_ARRAY(k, double, n *n), *kept = DRIVERS_ARRAY(k, double, n *n);
    double *w = DRIVERS_ARRAY(k, double, largest);
    if (!matrix || !kept || !w) return drivers_no_memory(k);
    for (size_t e = 0; e < n; e++) {
        const struct unknown *u = &m->unknowns[e];
        const struct trs *locals = m->solves[u->member]->center_example[u->center]->locals;
        for (uint32_t i = 0, column = 0; i < m->member_count; i++) {
            bool own = i == u->member;
            if (!own) driver_solve_weights(k, m->drivers[i], m->solves[i], locals, w);
            m->base_weight[e * m->member_count + i] = own ? 0 : w[0];
            for (uint32_t c = 1; c < m->solves[i]->center_count; c++) {
                if (m->solves[i]->same_as[c] != c) continue;
                matrix[e * n + column++] = own ? c == u->center : w[c];
            }
        }
    }
    memcpy(kept, matrix, n * n * sizeof *kept);
    return dense_invert(matrix, n, m->inverse) ? ERR_OK : name_singular(k, m, kept);
}

static double *delta_at(const struct solve_plan *s, uint32_t center, uint32_t v)
{
    return s->deltas[(size_t)center * s->touched_count + s->place[v] - 1];
}

static void solve_vertex(const struct meeting *m, uint32_t v)
{
    uint32_t n = m->unknown_count;
    for (uint32_t e = 0; e < n; e++) {
        const struct unknown *u = &m->unknowns[e];
        for (size_t r = 0; r < 3; r++) {
            m->right[e][r] = delta_at(m->solves[u->member], u->center, v)[r];
            for (uint32_t i = 0; i < m->member_count; i++)
                m->right[e][r] -=
                    m->base_weight[e * m->member_count + i] * delta_at(m->solves[i], 0, v)[r];
        }
    }
    for (uint32_t x = 0; x < n; x++)
        for (size_t r = 0; r < 3; r++) {
            m->left[x][r] = 0;
            for (uint32_t e = 0; e < n; e++)
                m->left[x][r] += m->inverse[x * n + e] * m->right[e][r];
        }
    for (uint32_t x = 0; x < n; x++)
        memcpy(delta_at(m->solves[m->unknowns[x].member], m->unknowns[x].center, v), m->left[x],
               sizeof m->left[x]);
}

struct meetings {
    struct meeting *items;
    uint32_t count, capacity;
};

static enum err find_meeting(struct driver_bake *k, struct meetings *all,
                             const struct driver_plan **drivers, struct solve_plan **solves,
                             uint32_t count, struct meeting **out)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].member_count == count &&
            memcmp(all->items[i].solves, solves, count * sizeof *solves) == 0) {
            *out = &all->items[i];
            return ERR_OK;
        }
    if (all->count == all->capacity) {
        uint32_t capacity = all->capacity * 2 + 16;
        struct meeting *grown = DRIVERS_ARRAY(k, struct meeting, capacity);
        if (!grown) return drivers_no_memory(k);
        if (all->count) memcpy(grown, all->items, all->count * sizeof *grown);
        all->items = grown;
        all->capacity = capacity;
    }
    struct meeting *m = &all->items[all->count++];
    m->member_count = count;
    memcpy(m->drivers, drivers, count * sizeof *drivers);
    memcpy(m->solves, solves, count * sizeof *solves);
    *out = m;
    enum err e = take_unknowns(k, m);
    return e == ERR_OK && m->unknown_count > 0 ? invert_meeting(k, m) : e;
}

enum err driver_share_make(struct driver_bake *k)
{
    struct meetings all = {0};
    for (uint32_t v = 0; v < model_vertex_count(&k->b->model); v++) {
        const struct driver_plan *drivers[MEETING_MAX];
        struct solve_plan *solves[MEETING_MAX];
        struct meeting *m = NULL;
        uint32_t count = list_members(k, v, drivers, solves);
        if (count < 2) continue;
        if (count > MEETING_MAX)
            return fault_set(k->fault, ERR_LIMIT, "/drivers: more than %d drivers move vertex %u",
                             MEETING_MAX, v);
        enum err e = find_meeting(k, &all, drivers, solves, count, &m);
        if (e != ERR_OK) return e;
        if (m->unknown_count > 0) solve_vertex(m, v);
    }
    return ERR_OK;
}

#include "tests/character/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double out[3])
{
    double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2],
           z = a[0] * b[1] - a[1] * b[0];
    out[0] = x;
    out[1] = y;
    out[2] = z;
}

static void unit(double v[3])
{
    double n = sqrt(dot(v, v));
    for (int i = 0; i < 3; i++)
        v[i] = n > 0 ? v[i] / n : 0;
}

void reference_slerp(const double a[4], const double b[4], double t, double out[4])
{
    double c = 0;
    for (int i = 0; i < 4; i++)
        c += a[i] * b[i];
    double sign = c < 0 ? -1 : 1, angle = acos(fmin(fabs(c), 1));
    double wa = 1 - t, wb = t;
    if (angle > 1e-6) {
        wa = sin((1 - t) * angle) / sin(angle);
        wb = sin(t * angle) / sin(angle);
    }
    for (int i = 0; i < 4; i++)
        out[i] = wa * a[i] + wb * sign * b[i];
}

static struct xform *slot_matrices(const struct model *m, struct pose pose)
{
    struct xform *g = calloc(m->nodes_count, sizeof *g), *s = calloc(m->slots_count, sizeof *s);
    CHECK(g && s);
    for (size_t i = 0; i < m->nodes_count; i++) {
        g[i] = xform_from_trs(&pose.locals[i]);
        if (m->nodes[i].parent != MODEL_NONE) g[i] = xform_mul(&g[m->nodes[i].parent], &g[i]);
    }
    for (size_t i = 0; i < m->slots_count; i++) {
        struct xform b = xform_from_mat34(&m->slots[i].inverse_bind);
        s[i] = xform_mul(&g[m->slots[i].node], &b);
    }
    free(g);
    return s;
}

// sign(det) * cofactor * n, unit.
static void turn_normal(const struct xform *l, const double n[3], double out[3])
{
    double c[3][3], sum[3] = {0};
    for (int k = 0; k < 3; k++)
        cross(l->col[(k + 1) % 3], l->col[(k + 2) % 3], c[k]);
    double sign = xform_det3(l) < 0 ? -1 : 1;
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++)
            sum[r] += sign * c[k][r] * n[k];
    memcpy(out, sum, sizeof sum);
    unit(out);
}

// Newton's iteration to the orthogonal factor: Q <- (Q + Q^-T) / 2. Not for singular input.
static struct xform orthogonal_factor(struct xform q)
{
    for (int c = 0; c < 3; c++)
        q.col[3][c] = 0;
    for (int step = 0; step < 60; step++) {
        struct xform inverse = q;
        CHECK(xform_invert(&q, &inverse));
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++)
                q.col[c][r] = (q.col[c][r] + inverse.col[r][c]) / 2;
    }
    if (xform_det3(&q) < 0)
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++)
                q.col[c][r] = -q.col[c][r];
    return q;
}

static void quat_of(const struct xform *m, double q[4])
{
    // The eigenvector of the largest eigenvalue would be the textbook way; the four squares do.
    const double(*c)[3] = m->col;
    double d[4] = {1 + c[0][0] - c[1][1] - c[2][2], 1 - c[0][0] + c[1][1] - c[2][2],
                   1 - c[0][0] - c[1][1] + c[2][2], 1 + c[0][0] + c[1][1] + c[2][2]};
    int k = 0;
    for (int i = 1; i < 4; i++)
        if (d[i] > d[k]) k = i;
    double p[4][4] = {
        {d[0], c[0][1] + c[1][0], c[0][2] + c[2][0], c[1][2] - c[2][1]},
        {c[0][1] + c[1][0], d[1], c[1][2] + c[2][1], c[2][0] - c[0][2]},
        {c[0][2] + c[2][0], c[1][2] + c[2][1], d[2], c[0][1] - c[1][0]},
        {c[1][2] - c[2][1], c[2][0] - c[0][2], c[0][1] - c[1][0], d[3]},
    };
    double n = 0;
    for (int i = 0; i < 4; i++)
        n += p[k][i] * p[k][i];
    for (int i = 0; i < 4; i++)
        q[i] = p[k][i] / sqrt(n);
}

static void quat_mul(const double a[4], const double b[4], double out[4])
{
    out[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    out[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
    out[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
    out[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}

struct dual_factors {
    double q[4], e[4]; // dual quaternion of (R, t)
    struct xform h;
};

static struct dual_factors factor(const struct xform *s)
{
    struct dual_factors f;
    struct xform r = orthogonal_factor(*s), back = r;
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 3; k++)
            back.col[c][k] = r.col[k][c];
    f.h = xform_mul(&back, s);
    quat_of(&r, f.q);
    double t[4] = {s->col[3][0], s->col[3][1], s->col[3][2], 0};
    quat_mul(t, f.q, f.e);
    for (int i = 0; i < 4; i++)
        f.e[i] /= 2;
    return f;
}

static struct xform dual_matrix(const struct synthetic_vertex *v, const struct dual_factors *slots)
{
    uint32_t heaviest = 0;
    for (uint32_t k = 1; k < v->influence_count; k++)
        if (v->weights[k] > v->weights[heaviest]) heaviest = k;
    double q[4] = {0}, e[4] = {0};
    struct xform h = {{{0}}};
    for (uint32_t k = 0; k < v->influence_count; k++) {
        const struct dual_factors *f = &slots[v->slots[k]];
        double w = (double)v->weights[k], c = 0;
        for (int i = 0; i < 4; i++)
            c += f->q[i] * slots[v->slots[heaviest]].q[i];
        for (int i = 0; i < 4; i++) {
            q[i] += (c < 0 ? -w : w) * f->q[i];
            e[i] += (c < 0 ? -w : w) * f->e[i];
        }
        for (int i = 0; i < 3; i++)
            for (int r = 0; r < 3; r++)
                h.col[i][r] += w * f->h.col[i][r];
    }
    double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), t[4];
    for (int i = 0; i < 4; i++) {
        q[i] /= n;
        e[i] /= n;
    }
    double back[4] = {-q[0], -q[1], -q[2], q[3]};
    quat_mul(e, back, t);
    double x = q[0], y = q[1], z = q[2], w = q[3];
    struct xform r = {{{1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)},
                       {2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)},
                       {2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)},
                       {2 * t[0], 2 * t[1], 2 * t[2]}}};
    return xform_mul(&r, &h);
}

static struct xform linear_matrix(const struct synthetic_vertex *v, const struct xform *slots)
{
    struct xform t = {{{0}}};
    for (uint32_t k = 0; k < v->influence_count; k++)
        for (int c = 0; c < 4; c++)
            for (int r = 0; r < 3; r++)
                t.col[c][r] += (double)v->weights[k] * slots[v->slots[k]].col[c][r];
    return t;
}

void reference_skin(const struct synthetic *s, struct pose pose, enum model_skinning skinning,
                    const double (*x)[3], const double (*n)[3], double (*out_x)[3],
                    double (*out_n)[3])
{
    const struct model *m = &s->model;
    struct xform *slots = slot_matrices(m, pose);
    struct dual_factors *factors = calloc(m->slots_count, sizeof *factors);
    CHECK(factors);
    for (size_t i = 0; i < m->slots_count && skinning == MODEL_DQ; i++)
        factors[i] = factor(&slots[i]);
    for (size_t v = 0; v < model_vertex_count(m); v++) {
        struct xform t = skinning == MODEL_DQ ? dual_matrix(&s->vertices[v], factors)
                                              : linear_matrix(&s->vertices[v], slots);
        xform_point(&t, x[v], out_x[v]);
        turn_normal(&t, n[v], out_n[v]);
    }
    free(factors);
    free(slots);
}

static void add_channel(const struct synthetic *s, const struct model_channel *c, double w,
                        double (*x)[3], double (*n)[3])
{
    const struct model *m = &s->model;
    for (size_t v = 0; v < model_vertex_count(m); v++)
        for (uint32_t i = 0; i < c->block_count; i++) {
            const struct model_morph_block *d = &m->morph_blocks[c->block_first + i];
            uint32_t place = m->vertex_lanes[v] % MODEL_LANES;
            if (d->block != m->vertex_lanes[v] / MODEL_LANES) continue;
            for (int r = 0; r < 3; r++)
                x[v][r] += w * (double)d->position[r][place];
            for (int r = 0; r < 3 && n; r++)
                n[v][r] += w * (double)m->morph_normal_blocks[c->normal_first + i].normal[r][place];
        }
}

static void corner_normal(const struct model *m, size_t vertex, const double (*x)[3], double out[3])
{
    out[0] = out[1] = out[2] = 0;
    for (uint32_t t = 0; t < m->indices_count; t += 3)
        for (uint32_t k = 0; k < 3; k++) {
            if (m->weld[m->indices[t + k]] != m->weld[vertex]) continue;
            const double *at = x[m->indices[t + k]], *b = x[m->indices[t + (k + 1) % 3]],
                         *c = x[m->indices[t + (k + 2) % 3]];
            double p[3], q[3], n[3];
            for (int r = 0; r < 3; r++) {
                p[r] = b[r] - at[r];
                q[r] = c[r] - at[r];
            }
            cross(p, q, n);
            double length = sqrt(dot(n, n));
            if (!(length > 0)) continue;
            double angle = acos(fmax(-1, fmin(1, dot(p, q) / sqrt(dot(p, p) * dot(q, q)))));
            for (int r = 0; r < 3; r++)
                out[r] += angle * n[r] / length;
        }
}

static void shortest_turn(double from[3], double to[3], double v[3])
{
    unit(from);
    unit(to);
    double axis[3], across[3], c = dot(from, to);
    cross(from, to, axis);
    cross(axis, v, across);
    double along = dot(axis, v) / (1 + c);
    for (int r = 0; r < 3; r++)
        v[r] = c * v[r] + across[r] + along * axis[r];
}

void reference_face(const struct synthetic *s, struct pose pose, double (*x)[3], double (*n)[3])
{
    const struct model *m = &s->model;
    size_t count = model_vertex_count(m);
    double(*base)[3] = calloc(count, sizeof *base);
    CHECK(base);
    for (size_t v = 0; v < count; v++)
        for (int r = 0; r < 3; r++) {
            base[v][r] = (double)s->vertices[v].position[r];
            n[v][r] = (double)s->vertices[v].normal[r];
        }
    for (size_t c = 0; c < m->channels_count; c++)
        if (m->channels[c].has_normals)
            add_channel(s, &m->channels[c], (double)pose.weights[c], base, n);
    memcpy(x, base, count * sizeof *x);
    for (size_t c = 0; c < m->channels_count; c++)
        if (!m->channels[c].has_normals)
            add_channel(s, &m->channels[c], (double)pose.weights[c], x, NULL);
    for (size_t v = 0; v < count; v++) {
        double from[3], to[3];
        corner_normal(m, v, (const double(*)[3])base, from);
        corner_normal(m, v, (const double(*)[3])x, to);
        shortest_turn(from, to, n[v]);
    }
    free(base);
}

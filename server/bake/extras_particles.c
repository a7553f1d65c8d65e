#include <math.h>
#include <string.h>

#include "server/bake/extras.h"

// Particles spread over a region, who is whose neighbour, and how vertices hang on them.

static double square_between(const struct extras_reader *r, uint32_t a, uint32_t b)
{
    double d = 0;
    for (int k = 0; k < 3; k++)
        d += (r->place[a][k] - r->place[b][k]) * (r->place[a][k] - r->place[b][k]);
    return d;
}

// Each further particle stands where the others are furthest away.
static enum err choose(struct extras_reader *r, const uint8_t *inside, uint32_t most,
                       struct extras_net *net)
{
    const struct model *m = &r->b->model;
    size_t vertices = model_vertex_count(m);
    double *away = BUILDER_ARRAY(r->b, double, vertices);
    net->vertex = BUILDER_ARRAY(r->b, uint32_t, most);
    net->cluster = BUILDER_ARRAY(r->b, uint32_t, vertices);
    if (!away || !net->vertex || !net->cluster) return builder_no_memory(r->b);
    for (size_t v = 0; v < vertices; v++) {
        net->cluster[v] = UINT32_MAX;
        away[v] = HUGE_VAL;
    }
    while (net->count < most) {
        uint32_t far = UINT32_MAX;
        for (uint32_t v = 0; v < vertices; v++)
            if (inside[v] && m->weld[v] == v && away[v] > 0 &&
                (far == UINT32_MAX || away[v] > away[far]))
                far = v;
        if (far == UINT32_MAX) break;
        net->vertex[net->count] = far;
        for (uint32_t v = 0; v < vertices; v++) {
            if (!inside[v] || m->weld[v] != v) continue;
            double d = square_between(r, v, far);
            if (d >= away[v]) continue;
            away[v] = d;
            net->cluster[v] = net->count;
        }
        net->count++;
    }
    for (uint32_t v = 0; v < vertices; v++)
        net->cluster[v] = net->cluster[m->weld[v]];
    return ERR_OK;
}

// Ends of every edge between two particles, both ways, ascending and once each.
static enum err join(struct extras_reader *r, struct extras_net *net)
{
    const struct model *m = &r->b->model;
    uint32_t *count = BUILDER_ARRAY(r->b, uint32_t, net->count + 2);
    uint32_t *ends = BUILDER_ARRAY(r->b, uint32_t, 2 * m->indices_count + 1);
    if (!count || !ends) return builder_no_memory(r->b);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i + 2 < m->indices_count; i += 3)
            for (size_t k = 0; k < 3; k++) {
                uint32_t a = net->cluster[m->indices[i + k]];
                uint32_t b = net->cluster[m->indices[i + (k + 1) % 3]];
                if (a == b || a == UINT32_MAX || b == UINT32_MAX) continue;
                if (pass == 0) {
                    count[a + 1]++;
                    count[b + 1]++;
                } else {
                    ends[count[a]++] = b;
                    ends[count[b]++] = a;
                }
            }
        if (pass == 0)
            for (uint32_t p = 0; p < net->count; p++)
                count[p + 1] += count[p];
    }
    net->first = BUILDER_ARRAY(r->b, uint32_t, net->count + 1);
    net->neighbour = ends;
    if (!net->first) return builder_no_memory(r->b);
    uint32_t from = 0, kept = 0; // the second pass has left count[p] at the end of p's ends
    for (uint32_t p = 0; p < net->count; p++) {
        uint32_t end = count[p], start = kept;
        for (uint32_t i = from; i < end; i++) {
            uint32_t e = ends[i], at = kept;
            while (at > start && ends[at - 1] > e)
                at--;
            if (at > start && ends[at - 1] == e) continue;
            memmove(&ends[at + 1], &ends[at], (kept - at) * sizeof *ends);
            ends[at] = e;
            kept++;
        }
        from = end;
        net->first[p + 1] = kept;
    }
    return ERR_OK;
}

enum err extras_net_spread(struct extras_reader *r, const uint8_t *inside, uint32_t most,
                           struct extras_net *net)
{
    *net = (struct extras_net){0};
    enum err e = choose(r, inside, most, net);
    return e == ERR_OK ? join(r, net) : e;
}

struct model_particle extras_particle_at(const struct extras_reader *r, uint32_t vertex)
{
    const struct builder *b = r->b;
    struct model_particle p = {.freedom = 1};
    double sum = 0;
    for (uint32_t i = b->influence_first[vertex]; i < b->influence_first[vertex + 1]; i++) {
        uint32_t node = b->model.slots[b->influence_slots[i]].node;
        float weight = b->influence_weights[i];
        int at = 3;
        for (int k = 0; k < 4; k++)
            if (p.weight[k] > 0 && p.node[k] == node) at = k;
        if (p.weight[at] > 0 && p.node[at] == node)
            weight += p.weight[at];
        else if (weight <= p.weight[3])
            continue;
        for (; at > 0 && p.weight[at - 1] < weight; at--) {
            p.weight[at] = p.weight[at - 1];
            p.node[at] = p.node[at - 1];
        }
        p.weight[at] = weight;
        p.node[at] = node;
    }
    for (int k = 0; k < 4; k++)
        sum += (double)p.weight[k];
    for (int k = 0; k < 4; k++) {
        struct xform back;
        double local[3] = {0};
        p.weight[k] = (float)((double)p.weight[k] / sum);
        if (xform_invert(&r->nodes[p.node[k]], &back)) xform_point(&back, r->place[vertex], local);
        for (int c = 0; c < 3; c++)
            p.at[k][c] = (float)local[c];
    }
    return p;
}

static void *grown(struct builder *b, void *old, size_t count, size_t *room, size_t size)
{
    if (count < *room) return old;
    size_t more = *room ? 2 * *room : 256;
    unsigned char *fresh = pool_take(&b->scene->pool, more, size);
    if (fresh && count) memcpy(fresh, old, count * size);
    *room = more;
    return fresh;
}

enum err extras_particle_add(struct extras_reader *r, const struct model_particle *p)
{
    size_t *count = &r->b->model.particles_count;
    r->particles = grown(r->b, r->particles, *count, &r->particle_room, sizeof *p);
    if (!r->particles) return builder_no_memory(r->b);
    r->particles[(*count)++] = *p;
    return ERR_OK;
}

enum err extras_link_add(struct extras_reader *r, uint32_t a, uint32_t b, float strength)
{
    size_t *count = &r->b->model.links_count;
    r->links = grown(r->b, r->links, *count, &r->link_room, sizeof *r->links);
    if (!r->links) return builder_no_memory(r->b);
    r->links[(*count)++] = (struct model_link){a, b, strength};
    return ERR_OK;
}

enum { NEAREST = 5 };
struct near {
    uint32_t particle[NEAREST];
    double square[NEAREST];
    int count;
};

static struct near find_near(const struct extras_reader *r, const struct extras_net *net,
                             uint32_t v)
{
    struct near n = {.count = 0};
    for (uint32_t p = 0; p < net->count; p++) {
        double d = square_between(r, v, net->vertex[p]);
        int at = n.count < NEAREST ? n.count++ : NEAREST;
        for (; at > 0 && n.square[at - 1] > d; at--)
            if (at < NEAREST) {
                n.square[at] = n.square[at - 1];
                n.particle[at] = n.particle[at - 1];
            }
        if (at < NEAREST) {
            n.square[at] = d;
            n.particle[at] = p;
        }
    }
    return n;
}

// Weights that change a little where the vertex moves a little: the fifth nearest has none.
static int smooth_weights(const struct near *n, double w[4])
{
    int count = n->count < 4 ? n->count : 4;
    double sum = 0, edge = n->count == NEAREST ? sqrt(n->square[4]) : 0;
    if (n->square[0] == 0) {
        w[0] = 1;
        return 1;
    }
    for (int k = 0; k < count; k++) {
        double d = sqrt(n->square[k]), inside = edge > 0 ? 1 - d / edge : 1;
        w[k] = inside * inside / (d * d);
        sum += w[k];
    }
    for (int k = 0; k < count; k++)
        w[k] = sum > 0 ? w[k] / sum : k == 0;
    return count;
}

// Solves the symmetric c x = b, c positive by its ridge.
static void solve3(double c[3][3], const double b[3], double x[3])
{
    double det = 0, inv[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            inv[j][i] = c[i1][j1] * c[i2][j2] - c[i1][j2] * c[i2][j1];
        }
    for (int j = 0; j < 3; j++)
        det += c[0][j] * inv[j][0];
    for (int i = 0; i < 3; i++)
        x[i] = det != 0 ? (inv[i][0] * b[0] + inv[i][1] * b[1] + inv[i][2] * b[2]) / det : 0;
}

// The weights times 1 + q x, q from their middle, so that they meet the vertex where they can.
static void meet_vertex(const struct extras_reader *r, const struct extras_net *net,
                        const struct near *n, uint32_t v, int count, double w[4])
{
    double middle[3] = {0}, c[3][3] = {{0}}, off[3], x[3], trace = 0;
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 3; i++)
            middle[i] += w[k] * r->place[net->vertex[n->particle[k]]][i];
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                c[i][j] += w[k] * (r->place[net->vertex[n->particle[k]]][i] - middle[i]) *
                           (r->place[net->vertex[n->particle[k]]][j] - middle[j]);
    for (int i = 0; i < 3; i++)
        trace += c[i][i];
    for (int i = 0; i < 3; i++) {
        c[i][i] += 1e-2 * trace + 1e-30;
        off[i] = r->place[v][i] - middle[i];
    }
    solve3(c, off, x);
    for (int k = 0; k < count; k++) {
        double q = 1;
        for (int i = 0; i < 3; i++)
            q += x[i] * (r->place[net->vertex[n->particle[k]]][i] - middle[i]);
        w[k] *= fmin(fmax(q, -2), 4);
    }
}

enum err extras_bind(struct extras_reader *r, const struct extras_net *net, bool shared, bool exact,
                     const struct model_extra_block *blocks)
{
    struct model *m = &r->b->model;
    const struct model_extra *e = r->extra;
    uint32_t *at = BUILDER_ARRAY(r->b, uint32_t, m->blocks_count);
    size_t first = m->holds_count;
    if (!at) return builder_no_memory(r->b);
    for (uint32_t i = 0; i < e->block_count; i++) {
        r->holds = grown(r->b, r->holds, m->holds_count, &r->hold_room, sizeof *r->holds);
        if (!r->holds) return builder_no_memory(r->b);
        r->holds[m->holds_count++] = (struct model_hold){0};
        at[blocks[e->block_first + i].block] = i;
    }
    for (uint32_t v = 0; v < model_vertex_count(m); v++) {
        if (!(r->share[v] > 0)) continue;
        uint32_t lane = m->vertex_lanes[v];
        struct model_hold *b = &r->holds[first + at[lane / MODEL_LANES]];
        struct near n = find_near(r, net, v);
        double w[4] = {0}, sum = 0;
        int count = smooth_weights(&n, w);
        if (exact && count > 1) meet_vertex(r, net, &n, v, count, w);
        for (int k = 0; k < count; k++)
            sum += w[k];
        for (int k = 0; k < count; k++) {
            double weight = fabs(sum) > 1e-6 ? w[k] / sum : k == 0;
            b->particle[k][lane % MODEL_LANES] = (uint16_t)n.particle[k];
            b->weight[k][lane % MODEL_LANES] =
                (float)(shared ? weight * (double)r->share[v] : weight);
        }
    }
    return ERR_OK;
}

#include <math.h>
#include <string.h>

#include "server/bake/builder.h"

// Of the largest delta of a target: twins of a seam may differ by what a file's precision leaves.
static const double APART = 0.01;

struct split {
    const struct builder *b;
    uint32_t *weld;    // [vertex]
    uint32_t *members; // vertices whose place has others, by place, then ascending
    uint32_t member_count;
    float (*delta)[3]; // [vertex] of the target at hand; zero elsewhere
};

// Members of each place that has more than one vertex, one after another.
static void list_members(struct split *s, uint32_t *first)
{
    size_t count = s->b->model.vertex_lanes_count;
    memset(first, 0, (count + 1) * sizeof *first);
    for (size_t v = 0; v < count; v++)
        first[s->weld[v]]++;
    uint32_t at = 0;
    for (size_t v = 0; v < count; v++) {
        uint32_t size = first[v];
        first[v] = at;
        at += size > 1 ? size : 0;
        if (size <= 1) first[v] = UINT32_MAX;
    }
    s->member_count = at;
    for (uint32_t v = 0; v < count; v++)
        if (first[s->weld[v]] != UINT32_MAX) s->members[first[s->weld[v]]++] = v;
}

static bool is_apart(const float a[3], const float b[3], double within)
{
    double square = 0;
    for (int r = 0; r < 3; r++)
        square += ((double)a[r] - (double)b[r]) * ((double)a[r] - (double)b[r]);
    return square > within * within;
}

// Each member joins the first one of its place that moves with it.
static void part(struct split *s, double within)
{
    for (uint32_t i = 0, end; i < s->member_count; i = end) {
        uint32_t place = s->weld[s->members[i]];
        bool differ = false;
        for (end = i + 1; end < s->member_count && s->weld[s->members[end]] == place; end++)
            differ = differ || is_apart(s->delta[s->members[i]], s->delta[s->members[end]], within);
        for (uint32_t n = i; differ && n < end; n++) {
            uint32_t v = s->members[n], o = i;
            while (is_apart(s->delta[v], s->delta[s->members[o]], within))
                o++;
            s->weld[v] = o == n ? v : s->weld[s->members[o]];
        }
    }
}

static double spread(struct split *s, const struct model_part *p, const struct scene_target *t,
                     bool clear)
{
    double most = 0;
    for (uint32_t i = 0; t->positions && i < t->count; i++) {
        uint32_t v = p->vertex_first + (t->vertices ? t->vertices[i] : i);
        const struct vec3 *d = &t->positions[i];
        s->delta[v][0] = clear ? 0 : d->x;
        s->delta[v][1] = clear ? 0 : d->y;
        s->delta[v][2] = clear ? 0 : d->z;
        most = fmax(most, (double)(d->x * d->x + d->y * d->y + d->z * d->z));
    }
    return sqrt(most);
}

static void split_node(struct split *s, uint32_t from, uint32_t to, uint32_t targets,
                       uint32_t *first)
{
    for (uint32_t t = 0; t < targets && s->member_count > 0; t++) {
        double most = 0;
        for (uint32_t i = from; i < to; i++)
            most = fmax(most,
                        spread(s, &s->b->parts[i], &s->b->primitive_of_part[i]->targets[t], false));
        if (most > 0) {
            part(s, APART * most);
            list_members(s, first); // of one place they stand together again
        }
        for (uint32_t i = from; i < to; i++)
            (void)spread(s, &s->b->parts[i], &s->b->primitive_of_part[i]->targets[t], true);
    }
}

bool topology_split_welds(struct builder *b, uint32_t *weld)
{
    size_t count = b->model.vertex_lanes_count;
    bool morphs = false;
    for (uint32_t i = 0; i < b->scene->mesh_count; i++)
        morphs = morphs || b->scene->meshes[i].target_count > 0;
    if (!morphs) return true;
    struct split s = {.b = b, .weld = weld};
    uint32_t *first = BUILDER_ARRAY(b, uint32_t, count + 1);
    s.members = BUILDER_ARRAY(b, uint32_t, count);
    s.delta = pool_take(&b->scene->pool, count, sizeof *s.delta);
    if (!first || !s.members || !s.delta) return false;
    list_members(&s, first);
    for (uint32_t i = 0, end; i < b->model.parts_count; i = end) {
        const struct scene_node *n = &b->scene->nodes[b->model.nodes[b->parts[i].node].source];
        for (end = i + 1; end < b->model.parts_count && b->parts[end].node == b->parts[i].node;)
            end++;
        split_node(&s, i, end, b->scene->meshes[n->mesh].target_count, first);
    }
    return true;
}

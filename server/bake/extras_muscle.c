#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "server/bake/extras.h"
#include "server/bake/rig.h"

// Muscles: from joint to joint, or between two points that joints carry.

static bool hangs_below(const struct model *m, uint32_t node, uint32_t above)
{
    int32_t at = m->nodes[node].parent;
    while (at != MODEL_NONE && (uint32_t)at != above)
        at = m->nodes[at].parent;
    return at != MODEL_NONE;
}

static void rest_of_muscle(const struct extras_reader *r, struct model_muscle *x)
{
    struct xform back, rest = xform_identity();
    if (xform_invert(&r->nodes[r->extra->node], &back)) rest = xform_mul(&back, &r->nodes[x->to]);
    for (int i = 0; i < 3; i++) {
        double n = sqrt(rest.col[i][0] * rest.col[i][0] + rest.col[i][1] * rest.col[i][1] +
                        rest.col[i][2] * rest.col[i][2]);
        for (int k = 0; k < 3; k++)
            x->rest[i][k] = n > 0 ? rest.col[i][k] / n : i == k;
    }
}

static void read_vector(const cJSON *list, double out[3])
{
    const cJSON *v = list ? list->child : NULL;
    for (int k = 0; v && k < 3; k++, v = v->next)
        out[k] = v->valuedouble;
}

// The point at the end of a joint's bone: where its first child stands, in the joint's frame.
static void bone_end(const struct model *m, uint32_t node, double share, double out[3])
{
    for (size_t i = 0; i < m->nodes_count; i++) {
        if (m->nodes[i].parent != (int32_t)node) continue;
        const struct vec3 *at = &m->nodes[i].rest.translation;
        out[0] = share * (double)at->x;
        out[1] = share * (double)at->y;
        out[2] = share * (double)at->z;
        return;
    }
}

static enum err read_ends(const struct extras_reader *r, const cJSON *json, struct model_fibre *f)
{
    const cJSON *by = rig_get(json, "by");
    double ends[2][3];
    f->rest = 0;
    if (!rig_get(json, "to_at")) bone_end(&r->b->model, f->to, 0.25, f->to_at);
    read_vector(rig_get(json, "from_at"), f->from_at);
    read_vector(rig_get(json, "to_at"), f->to_at);
    xform_point(&r->nodes[f->from], f->from_at, ends[0]);
    xform_point(&r->nodes[f->to], f->to_at, ends[1]);
    for (int k = 0; k < 3; k++)
        f->rest += (ends[1][k] - ends[0][k]) * (ends[1][k] - ends[0][k]);
    f->rest = sqrt(f->rest);
    bool measured = by && strcmp(by->valuestring, "distance") == 0;
    if (measured && !(f->rest > 0))
        return extras_bad(r, "to_at", "is where `from_at` is in the base pose");
    if (measured) f->shorter = extras_number(json, "shorter", 0.25);
    return ERR_OK;
}

// Between the joints, as far as the flesh is the muscle's own: where it is shared, the map that
// keeps its volume would not.
static void find_fibre(const struct extras_reader *r, const double along_unit[3], double length,
                       struct model_muscle *x)
{
    const double *from = r->nodes[r->extra->node].col[3];
    double low = HUGE_VAL, high = -HUGE_VAL, middle[3];
    struct xform back;
    for (size_t v = 0; v < model_vertex_count(&r->b->model); v++) {
        double along = 0;
        for (int k = 0; k < 3; k++)
            along += (r->place[v][k] - from[k]) * along_unit[k] / length;
        if (r->share[v] < 0.9f || along < 0 || along > 1) continue;
        low = fmin(low, along);
        high = fmax(high, along);
    }
    if (!(high - low >= 0.1)) low = 0, high = 1; // nothing is its own
    x->half = (high - low) / 2;
    for (int k = 0; k < 3; k++)
        middle[k] = from[k] + along_unit[k] * length * (low + high) / 2;
    if (xform_invert(&r->nodes[r->extra->node], &back))
        xform_point(&back, middle, r->extra->center);
}

// The fibre's direction in the base pose: as the rig file says, or from joint to joint.
static enum err find_direction(const struct extras_reader *r, const cJSON *json,
                               struct model_fibre *f, double line[3])
{
    const struct xform *node = &r->nodes[r->extra->node];
    double size = 0;
    read_vector(rig_get(json, "fibre"), f->direction);
    if (rig_get(json, "fibre"))
        for (int k = 0; k < 3; k++)
            line[k] = node->col[0][k] * f->direction[0] + node->col[1][k] * f->direction[1] +
                      node->col[2][k] * f->direction[2];
    for (int k = 0; k < 3; k++)
        size += line[k] * line[k];
    size = sqrt(size);
    if (!(size > 0)) return extras_bad(r, "fibre", "must not be zero");
    for (int k = 0; k < 3; k++)
        line[k] /= size;
    return ERR_OK;
}

enum err extras_read_muscle(struct extras_reader *r, const cJSON *json,
                            struct model_extra_block *blocks)
{
    struct model *m = &r->b->model;
    struct model_extra *e = r->extra;
    struct model_muscle x = {0};
    struct model_fibre f = {0};
    double line[3], length = 0, litres = extras_number(json, "volume_l", 0.2);
    enum err err = extras_node(r, json, "from", &e->node);
    if (err == ERR_OK) err = extras_node(r, json, "to", &x.to);
    if (err != ERR_OK) return err;
    if (!hangs_below(m, x.to, e->node)) return extras_bad(r, "to", "must hang below `from`");
    e->frequency_hz = extras_number(json, "frequency_hz", 9);
    e->damping_ratio = extras_number(json, "damping_ratio", 0.3);
    e->amount = extras_number(json, "amount", 0.3);
    x.angle_rad = extras_number(json, "angle_rad", 2.2);
    x.bulge = extras_number(json, "bulge", 0.2);
    f.from = e->node;
    f.to = x.to;
    f.slide = extras_number(json, "slide", 0);
    f.activation = extras_number(json, "activation", 0);
    rest_of_muscle(r, &x);
    for (int k = 0; k < 3; k++) {
        line[k] = r->nodes[x.to].col[3][k] - r->nodes[e->node].col[3][k];
        length += line[k] * line[k];
    }
    length = sqrt(length);
    if (!(length > 0)) return extras_bad(r, "to", "is where `from` is");
    err = read_ends(r, json, &f);
    if (err == ERR_OK) err = find_direction(r, json, &f, line);
    // As thick as a spindle of that volume and length.
    e->radius = sqrt(litres * 1e-3 * 6 / (3.14159265358979 * length * r->unit_m)) / r->unit_m;
    if (err == ERR_OK && extras_region_listed(json))
        err = extras_region_read(r, json);
    else if (err == ERR_OK)
        extras_region_by_weight(r, e->node);
    if (err != ERR_OK) return err;
    find_fibre(r, line, length, &x);
    e->item = (uint32_t)m->muscles_count;
    r->muscles[m->muscles_count++] = x;
    r->fibres[m->fibres_count++] = f;
    return extras_region_write(r, blocks);
}

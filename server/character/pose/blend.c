#include "server/character/pose/blend.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/check.h"
#include "server/character/pose/rotation.h"

static double node_weight(const struct blend_layer *layer, size_t node)
{
    return (double)layer->weight * (layer->node_mask ? (double)layer->node_mask[node] : 1);
}

static double rest_fill(double total)
{
    return total < (double)BLEND_FLOOR ? (double)BLEND_FLOOR - total : 0;
}

struct node_sum {
    double translation[3], rotation[4], scale[3];
};

static inline void sum_add(struct node_sum *sum, const struct trs *t, const double heaviest[4],
                           double w)
{
    double q[4];
    rotation_load(t->rotation, q);
    double wq = rotation_dot(q, heaviest) < 0 ? -w : w;
    for (int i = 0; i < 4; i++)
        sum->rotation[i] += wq * q[i];
    sum->translation[0] += w * (double)t->translation.x;
    sum->translation[1] += w * (double)t->translation.y;
    sum->translation[2] += w * (double)t->translation.z;
    sum->scale[0] += w * (double)t->scale.x;
    sum->scale[1] += w * (double)t->scale.y;
    sum->scale[2] += w * (double)t->scale.z;
}

static struct trs sum_close(const struct node_sum *sum, double total)
{
    const double *p = sum->translation, *s = sum->scale, k = 1 / total;
    return (struct trs){
        .translation = {(float)(p[0] * k), (float)(p[1] * k), (float)(p[2] * k)},
        .rotation = rotation_round(sum->rotation),
        .scale = {(float)(s[0] * k), (float)(s[1] * k), (float)(s[2] * k)},
    };
}

static bool trs_same(const struct trs *a, const struct trs *b)
{
    // Bits are meant, not values. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
    return memcmp(a, b, sizeof *a) == 0;
}

// Where all that count agree, their bits pass through: a sheared node holds its rest matrix only
// as long as its TRS is the rest's, bit for bit.
static struct trs blend_node(const struct model *m, const struct blend_layer *layers, size_t count,
                             size_t node)
{
    const struct trs *rest = &m->nodes[node].rest, *heaviest = rest, *first = NULL;
    double total = 0, most = 0;
    bool same = true;
    for (size_t i = 0; i < count; i++) {
        double w = node_weight(&layers[i], node);
        const struct trs *t = &layers[i].pose.locals[node];
        if (!(w > 0)) continue;
        if (!first) first = t;
        same = same && trs_same(first, t);
        if (w > most) {
            heaviest = t;
            most = w;
        }
        total += w;
    }
    double fill = rest_fill(total);
    if (!first) return *rest;
    if (same && (fill <= 0 || trs_same(first, rest))) return *first;

    struct node_sum sum = {{0}, {0}, {0}};
    double q[4];
    rotation_load(heaviest->rotation, q);
    for (size_t i = 0; i < count; i++) {
        double w = node_weight(&layers[i], node);
        if (w > 0) sum_add(&sum, &layers[i].pose.locals[node], q, w);
    }
    if (fill > 0) sum_add(&sum, rest, q, fill);
    return sum_close(&sum, total + fill);
}

static float blend_channel(const struct model *m, const struct blend_layer *layers, size_t count,
                           size_t channel)
{
    double total = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        const float *mask = layers[i].channel_mask;
        double w = (double)layers[i].weight * (mask ? (double)mask[channel] : 1);
        if (!(w > 0)) continue;
        total += w;
        sum += w * (double)layers[i].pose.weights[channel];
    }
    double fill = rest_fill(total);
    return (float)((sum + fill * (double)m->channels[channel].default_weight) / (total + fill));
}

void blend_layers(const struct model *m, const struct blend_layer *layers, size_t layer_count,
                  struct pose out)
{
    for (size_t i = 0; i < layer_count; i++)
        CHECK(layers[i].weight >= 0);
    for (size_t i = 0; i < m->nodes_count; i++)
        out.locals[i] = blend_node(m, layers, layer_count, i);
    for (size_t i = 0; i < m->channels_count; i++)
        out.weights[i] = blend_channel(m, layers, layer_count, i);
}

static float scale_ratio(float scale, float pose, float reference, double w)
{
    double ratio = (double)reference != 0 ? (double)pose / (double)reference : 1;
    return (float)((double)scale * (1 + w * (ratio - 1)));
}

static void add_node(const struct trs *pose, const struct trs *reference, double w, struct trs *out)
{
    out->translation.x +=
        (float)(w * ((double)pose->translation.x - (double)reference->translation.x));
    out->translation.y +=
        (float)(w * ((double)pose->translation.y - (double)reference->translation.y));
    out->translation.z +=
        (float)(w * ((double)pose->translation.z - (double)reference->translation.z));
    out->scale.x = scale_ratio(out->scale.x, pose->scale.x, reference->scale.x, w);
    out->scale.y = scale_ratio(out->scale.y, pose->scale.y, reference->scale.y, w);
    out->scale.z = scale_ratio(out->scale.z, pose->scale.z, reference->scale.z, w);

    static const double identity[4] = {0, 0, 0, 1};
    double from[4], to[4], base[4], turn[4];
    rotation_load(reference->rotation, from);
    rotation_load(pose->rotation, to);
    rotation_load(out->rotation, base);
    double back[4] = {-from[0], -from[1], -from[2], from[3]};
    rotation_mul(back, to, turn);
    rotation_slerp(identity, turn, w, turn);
    rotation_mul(base, turn, base);
    out->rotation = rotation_round(base);
}

void blend_add(const struct model *m, const struct blend_addition *a, struct pose out)
{
    CHECK(isfinite(a->weight));
    for (size_t i = 0; i < m->nodes_count; i++) {
        double w = (double)a->weight * (a->node_mask ? (double)a->node_mask[i] : 1);
        const struct trs *pose = &a->pose.locals[i], *reference = &a->reference.locals[i];
        if (w != 0 && !trs_same(pose, reference)) add_node(pose, reference, w, &out.locals[i]);
    }
    for (size_t i = 0; i < m->channels_count; i++) {
        double w = (double)a->weight * (a->channel_mask ? (double)a->channel_mask[i] : 1);
        double difference = (double)a->pose.weights[i] - (double)a->reference.weights[i];
        if (w != 0) out.weights[i] += (float)(w * difference);
    }
}

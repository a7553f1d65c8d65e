#include "server/character/pose/pose.h"

#include <string.h>

#include "common/check.h"

static size_t padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63; // what arena_take rounds to
}

size_t pose_bytes(const struct model *m)
{
    return padded(m->nodes_count * sizeof(struct trs)) + padded(m->channels_count * sizeof(float));
}

struct pose pose_take(const struct model *m, struct arena *a)
{
    struct pose p;
    p.locals = ARENA_ARRAY(a, struct trs, m->nodes_count);
    p.weights = ARENA_ARRAY(a, float, m->channels_count);
    return p;
}

void pose_rest(const struct model *m, struct pose out)
{
    for (size_t i = 0; i < m->nodes_count; i++)
        out.locals[i] = m->nodes[i].rest;
    for (size_t i = 0; i < m->channels_count; i++)
        out.weights[i] = m->channels[i].default_weight;
}

void pose_copy(const struct model *m, struct pose from, struct pose to)
{
    CHECK(from.locals != to.locals || m->nodes_count == 0);
    for (size_t i = 0; i < m->nodes_count; i++)
        to.locals[i] = from.locals[i];
    for (size_t i = 0; i < m->channels_count; i++)
        to.weights[i] = from.weights[i];
}

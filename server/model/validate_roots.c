#include <math.h>

#include "server/model/validate_own.h"

static enum err check_root(const struct model *m, size_t i, struct fault *f)
{
    const struct model_root *r = &m->roots[i];
    if (r->name >= m->text_count || r->node >= m->nodes_count || r->ride_node >= m->nodes_count)
        return validate_bad(f, "roots", i, "its name or node");
    if (!(r->border >= 0 && r->border < 1e30F) || !(r->turn_limit >= 0 && r->turn_limit < 10))
        return validate_bad(f, "roots", i, "a number is out of range");
    size_t steps = 0;
    for (int32_t at = (int32_t)i; at != MODEL_NONE; at = m->roots[at].ride)
        if (at < 0 || (size_t)at >= m->roots_count || steps++ > m->roots_count)
            return validate_bad(f, "roots", i, "it rides on no root, or in a circle");
    return ERR_OK;
}

enum err validate_roots(const struct model *m, struct fault *f)
{
    size_t count = m->roots_count > 0 ? m->roots_count : 1;
    enum err e = ERR_OK;
    if (m->roots_count == 1 || m->roots_count > MODEL_ROOTS_MAX)
        return validate_bad(f, "roots", 0, "one root is none, and there are at most 8");
    if (m->node_roots_count != (m->roots_count > 0 ? m->nodes_count : 0) ||
        (m->root_weights_count != 0 &&
         m->root_weights_count != m->roots_count * model_vertex_count(m)))
        return validate_bad(f, "node_roots", 0, "not one a node, or weights not one a vertex");
    if (m->mirror_nodes_count != m->node_roots_count)
        return validate_bad(f, "mirror_nodes", 0, "not one a node");
    for (size_t i = 0; i < m->mirror_nodes_count; i++)
        if (m->mirror_nodes[i] >= m->nodes_count || m->mirror_nodes[m->mirror_nodes[i]] != i)
            return validate_bad(f, "mirror_nodes", i, "its partner is none, or another's");
    for (size_t i = 0; i < m->roots_count && e == ERR_OK; i++)
        e = check_root(m, i, f);
    for (size_t i = 0; i < m->node_roots_count && e == ERR_OK; i++)
        if (m->node_roots[i] >= count) e = validate_bad(f, "node_roots", i, "no such root");
    for (size_t i = 0; i < m->slots_count && e == ERR_OK; i++)
        if (m->slots[i].root >= count) e = validate_bad(f, "slots", i, "no such root");
    for (size_t i = 0; i < m->root_weights_count && e == ERR_OK; i++)
        if (!(m->root_weights[i] >= 0 && m->root_weights[i] <= 1))
            e = validate_bad(f, "root_weights", i, "it is no share");
    return e;
}

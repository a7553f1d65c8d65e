#include <math.h>

#include "server/model/validate_own.h"

static bool is_within(double v, double low, double high)
{
    return v >= low && v <= high; // not of NaN
}

static enum err check_extra(const struct model *m, size_t i, struct fault *f)
{
    const struct model_extra *e = &m->extras[i];
    const double numbers[] = {e->center[0], e->center[1], e->center[2], e->amount};
    const size_t items[] = {[MODEL_EXTRA_JIGGLE] = m->softs_count,
                            [MODEL_EXTRA_MUSCLE] = m->muscles_count,
                            [MODEL_EXTRA_CLOTH] = m->softs_count,
                            [MODEL_EXTRA_PLUGIN] = m->plugins_count};
    if (e->kind > MODEL_EXTRA_PLUGIN || e->name >= m->text_count || e->node >= m->nodes_count)
        return validate_bad(f, "extras", i, "its kind, name or node");
    if (!(e->radius > 0 && e->radius < 1e30) || !(e->frequency_hz > 0 && e->frequency_hz <= 100) ||
        !is_within(e->damping_ratio, 0, 1e3))
        return validate_bad(f, "extras", i, "a number is out of range");
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
        if (!(fabs(numbers[k]) < 1e30)) return validate_bad(f, "extras", i, "not finite");
    if (!validate_range(e->block_first, e->block_count, m->extra_blocks_count))
        return validate_bad(f, "extras", i, "its blocks lie outside their table");
    if (e->item >= items[e->kind])
        return validate_bad(f, "extras", i, "what it is lies outside its table");
    if (e->kind != MODEL_EXTRA_JIGGLE && e->kind != MODEL_EXTRA_CLOTH) return ERR_OK;
    const struct model_soft *s = &m->softs[e->item];
    bool bound = s->hold_count == e->block_count && s->hold_count > 0;
    if (!bound && (s->hold_count > 0 || s->particle_count > 1 || e->kind == MODEL_EXTRA_CLOTH))
        return validate_bad(f, "extras", i, "its blocks are not bound one by one");
    for (uint32_t k = 0; k < s->hold_count; k++)
        for (int c = 0; c < 4 * MODEL_LANES; c++)
            if (m->holds[s->hold_first + k].particle[c / MODEL_LANES][c % MODEL_LANES] >=
                s->particle_count)
                return validate_bad(f, "holds", s->hold_first + k, "no such particle");
    return ERR_OK;
}

static enum err check_muscle(const struct model *m, size_t i, struct fault *f)
{
    const struct model_muscle *x = &m->muscles[i];
    if (x->to >= m->nodes_count) return validate_bad(f, "muscles", i, "no such node");
    if (!(x->angle_rad > 0 && x->angle_rad < 1e3) || !is_within(x->bulge, 0, 0.5) ||
        !(x->half > 0 && x->half <= 1))
        return validate_bad(f, "muscles", i, "a number is out of range");
    for (int k = 0; k < 9; k++)
        if (!(fabs(x->rest[k / 3][k % 3]) < 2))
            return validate_bad(f, "muscles", i, "its rest is not unit axes");
    return ERR_OK;
}

static enum err check_fibre(const struct model *m, size_t i, struct fault *f)
{
    const struct model_fibre *x = &m->fibres[i];
    if (x->from >= m->nodes_count || x->to >= m->nodes_count)
        return validate_bad(f, "fibres", i, "no such node");
    for (int k = 0; k < 3; k++)
        if (!(fabs(x->from_at[k]) < 1e30) || !(fabs(x->to_at[k]) < 1e30) ||
            !(fabs(x->direction[k]) < 1e30))
            return validate_bad(f, "fibres", i, "not finite");
    if (!is_within(x->rest, 0, 1e30) || !is_within(x->shorter, 0, 1) ||
        (x->shorter > 0 && !(x->rest > 0)) || !is_within(x->slide, 0, 1) ||
        !is_within(x->activation, 0, 1))
        return validate_bad(f, "fibres", i, "a number is out of range");
    return ERR_OK;
}

static enum err check_links(const struct model *m, size_t i, struct fault *f)
{
    const struct model_soft *s = &m->softs[i];
    for (uint32_t k = 0; k < s->link_count; k++) {
        const struct model_link *l = &m->links[s->link_first + k];
        if (l->a >= s->particle_count || l->b >= s->particle_count || l->a == l->b ||
            !(l->strength >= 0 && l->strength <= 1))
            return validate_bad(f, "links", s->link_first + k, "its ends or strength");
    }
    return ERR_OK;
}

static enum err check_soft(const struct model *m, size_t i, struct fault *f)
{
    const struct model_soft *s = &m->softs[i];
    if (s->particle_count == 0 || s->particle_count > MODEL_PARTICLES_MAX ||
        !validate_range(s->particle_first, s->particle_count, m->particles_count) ||
        !validate_range(s->link_first, s->link_count, m->links_count) ||
        !validate_range(s->hold_first, s->hold_count, m->holds_count) ||
        s->collider_count > MODEL_EXTRA_COLLIDERS_MAX ||
        !validate_range(s->collider_first, s->collider_count, m->extra_colliders_count))
        return validate_bad(f, "softs", i, "a range lies outside its table");
    if (!(s->limit > 0 && s->limit < 1e30) || !is_within(s->hit_radius, 0, 1e30) ||
        !is_within(s->volume, 0, 1) || !is_within(s->ring, 0, 1e30) ||
        !is_within(s->gravity, 0, 10) || !is_within(s->drag_per_s, 0, 100) || s->iterations > 16)
        return validate_bad(f, "softs", i, "a number is out of range");
    return check_links(m, i, f);
}

static enum err check_particle(const struct model *m, size_t i, struct fault *f)
{
    const struct model_particle *p = &m->particles[i];
    if (!validate_finite(p->weight, sizeof p->weight) || !validate_finite(p->at, sizeof p->at) ||
        !validate_finite(p->area, sizeof p->area) || !(p->freedom >= 0 && p->freedom <= 1))
        return validate_bad(f, "particles", i, "a number is out of range");
    for (int k = 0; k < 4; k++)
        if (p->node[k] >= m->nodes_count) return validate_bad(f, "particles", i, "no such node");
    return ERR_OK;
}

static enum err check_plugin(const struct model *m, size_t i, struct fault *f)
{
    const struct model_plugin *p = &m->plugins[i];
    if (p->library >= m->text_count || p->settings >= m->text_count || p->isolate > 1)
        return validate_bad(f, "plugins", i, "its texts");
    for (const char *c = model_text(m, p->library); *c; c++)
        if (*c == '/') return validate_bad(f, "plugins", i, "its library is not a plain name");
    return ERR_OK;
}

enum err validate_extras(const struct model *m, struct fault *f)
{
    enum err e = ERR_OK;
    if (m->extras_count > MODEL_EXTRAS_MAX)
        return validate_bad(f, "extras", 0, "there are too many");
    if (m->fibres_count != m->muscles_count)
        return validate_bad(f, "fibres", 0, "one is wanted for each muscle");
    for (size_t i = 0; i < m->softs_count && e == ERR_OK; i++)
        e = check_soft(m, i, f);
    for (size_t i = 0; i < m->particles_count && e == ERR_OK; i++)
        e = check_particle(m, i, f);
    for (size_t i = 0; i < m->holds_count && e == ERR_OK; i++)
        if (!validate_finite(m->holds[i].weight, sizeof m->holds[i].weight))
            e = validate_bad(f, "holds", i, "a weight is not finite");
    for (size_t i = 0; i < m->extra_colliders_count && e == ERR_OK; i++)
        e = validate_collider(m, "extra_colliders", &m->extra_colliders[i], i, f);
    for (size_t i = 0; i < m->extras_count && e == ERR_OK; i++)
        e = check_extra(m, i, f);
    for (size_t i = 0; i < m->muscles_count && e == ERR_OK; i++)
        e = check_muscle(m, i, f);
    for (size_t i = 0; i < m->fibres_count && e == ERR_OK; i++)
        e = check_fibre(m, i, f);
    for (size_t i = 0; i < m->plugins_count && e == ERR_OK; i++)
        e = check_plugin(m, i, f);
    for (size_t i = 0; i < m->extra_blocks_count && e == ERR_OK; i++)
        if (m->extra_blocks[i].block >= m->blocks_count ||
            !validate_finite(m->extra_blocks[i].share, sizeof m->extra_blocks[i].share))
            e = validate_bad(f, "extra_blocks", i, "no such block, or a share is not finite");
    return e;
}

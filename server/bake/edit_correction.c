#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/arena.h"
#include "server/bake/edit_own.h"
#include "server/character/pose/customise.h"

// Correction meshes (method B): a blendshape redone at one place of a bone's, or a parameter's,
// range. Edited like an example: the surface is the one that is seen there, the shape at 1 and the
// bone moved, and what changes is carried back into base space. A mesh may have a row for each node
// that it touches; the first of them stands for all.

static bool same_mesh(const struct model *m, uint32_t a, uint32_t b)
{
    const struct model_face_correction *x = &m->face_corrections[a], *y = &m->face_corrections[b];
    return x->dial == y->dial && x->at == y->at &&
           m->channels[x->channel].shape == m->channels[y->channel].shape;
}

bool edit_correction_leads(const struct model *m, uint32_t row)
{
    if (row >= m->face_corrections_count) return false;
    for (uint32_t i = 0; i < row; i++)
        if (same_mesh(m, i, row)) return false;
    return true;
}

static bool same_name(const struct model *m, uint32_t a, uint32_t b)
{
    const struct model_face_correction *x = &m->face_corrections[a], *y = &m->face_corrections[b];
    return x->at == y->at && m->channels[x->channel].shape == m->channels[y->channel].shape &&
           strcmp(model_text(m, m->face_dials[x->dial].name),
                  model_text(m, m->face_dials[y->dial].name)) == 0;
}

void edit_correction_name(const struct model *m, uint32_t row, char *out, size_t out_bytes)
{
    const struct model_face_correction *c = &m->face_corrections[row];
    const char *shape = model_text(m, m->shapes[m->channels[c->channel].shape].name);
    int length = snprintf(out, out_bytes, "%s:%s:%.6g", shape,
                          model_text(m, m->face_dials[c->dial].name), (double)c->at);
    bool alone = shape[0] && length > 0 && (size_t)length < out_bytes;
    for (uint32_t i = 0; i < m->face_corrections_count && alone; i++)
        alone = !same_name(m, i, row) || same_mesh(m, i, row);
    if (!alone) (void)snprintf(out, out_bytes, "#%u", row);
}

int32_t edit_correction_find(const struct model *m, const char *name)
{
    char here[EDIT_NAME_BYTES], number[16];
    for (uint32_t i = 0; i < m->face_corrections_count; i++) {
        if (!edit_correction_leads(m, i)) continue;
        edit_correction_name(m, i, here, sizeof here);
        (void)snprintf(number, sizeof number, "#%u", i);
        if (strcmp(here, name) == 0 || strcmp(number, name) == 0) return edit_correction(i);
    }
    return EDIT_ABSENT;
}

// --- The surface that is seen there -------------------------------------------------------------

// The parameter to set so that the dial stands at `at`: of a bone, the one that moves it alone.
static uint32_t parameter_of(const struct model *m, const struct model_face_dial *d, float at,
                             float *value)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < d->term_count; i++) {
        const struct model_face_term *t = &m->face_terms[d->term_first + i];
        bool better = best == UINT32_MAX || (m->parameters[t->parameter].bone &&
                                             !m->parameters[m->face_terms[best].parameter].bone);
        if (fabsf(t->gain) > 1e-12F && better) best = d->term_first + i;
    }
    if (best == UINT32_MAX) return best;
    *value = at / m->face_terms[best].gain;
    return m->face_terms[best].parameter;
}

struct standing {
    struct example_plan x; // the pose, and all deltas that are seen there
    double (*seen)[3];     // [vertex] the same deltas
    float weight;          // of the correction's own channel
};

static void add_channel(const struct editing *e, const struct model *m, uint32_t channel,
                        double weight, double (*out)[3])
{
    const struct model_channel *c = &m->channels[channel];
    for (uint32_t i = 0; i < c->block_count; i++) {
        const struct model_morph_block *b = &m->morph_blocks[c->block_first + i];
        for (uint32_t lane = 0; lane < m->blocks[b->block].lane_count; lane++) {
            double *to = out[e->k.vertex_of_lane[b->block * MODEL_LANES + lane]];
            for (int r = 0; r < 3; r++)
                to[r] += weight * (double)b->position[r][lane];
        }
    }
}

static enum err list_deltas(struct editing *e, double (*dense)[3], struct delta_set *out)
{
    uint32_t vertices = (uint32_t)model_vertex_count(&e->b.model);
    *out = (struct delta_set){.vertices = POOL_ARRAY(&e->pool, uint32_t, vertices),
                              .deltas = pool_take(&e->pool, vertices, sizeof *out->deltas)};
    if (!out->vertices || !out->deltas) return drivers_no_memory(&e->k);
    for (uint32_t v = 0; v < vertices; v++) {
        if (dense[v][0] == 0 && dense[v][1] == 0 && dense[v][2] == 0) continue;
        memcpy(out->deltas[out->count], dense[v], sizeof dense[v]);
        out->vertices[out->count++] = v;
    }
    return ERR_OK;
}

static enum err customise_to(struct editing *e, uint32_t row, struct arena *a, struct standing *s)
{
    const struct model *m = &e->b.model;
    const struct model_face_correction *c = &m->face_corrections[row];
    struct customise customise = customise_take(m, a);
    struct pose pose = pose_take(m, a);
    float value = 0;
    uint32_t parameter = parameter_of(m, &m->face_dials[c->dial], c->at, &value);
    if (parameter == UINT32_MAX)
        return fault_set(e->k.fault, ERR_UNSUPPORTED, "nothing moves what the correction is for");
    customise_set(&customise, parameter, value);
    pose_rest(m, pose);
    for (size_t i = 0; i < m->channels_count; i++)
        pose.weights[i] = m->channels[i].shape == m->channels[c->channel].shape;
    for (size_t i = 0; i < m->face_corrections_count; i++)
        pose.weights[m->face_corrections[i].channel] = 0; // by their hats alone
    customise_mix(&customise, pose.weights);
    customise_correct(&customise, pose.weights);
    customise_bones(&customise, pose.locals);
    memcpy(s->x.locals, pose.locals, m->nodes_count * sizeof *pose.locals);
    for (uint32_t i = 0; i < m->channels_count; i++)
        if (pose.weights[i] != 0) add_channel(e, m, i, (double)pose.weights[i], s->seen);
    s->weight = pose.weights[c->channel];
    if (!(s->weight > 1e-3F))
        return fault_set(e->k.fault, ERR_UNSUPPORTED,
                         "the correction is never seen: its place lies outside the range");
    return list_deltas(e, s->seen, &s->x.d);
}

static enum err stand_there(struct editing *e, uint32_t row, struct standing *s)
{
    const struct model *m = &e->b.model;
    struct arena a;
    *s = (struct standing){.x = {.name = "", .path = "/face/corrections"}};
    if (!edit_correction_leads(m, row))
        return fault_set(e->k.fault, ERR_NOT_FOUND, "no correction #%u", row);
    s->x.locals = POOL_ARRAY(&e->pool, struct trs, m->nodes_count);
    s->seen = pool_take(&e->pool, model_vertex_count(m), sizeof *s->seen);
    if (!s->x.locals || !s->seen || !arena_create(&a, customise_bytes(m) + pose_bytes(m) + 4096))
        return drivers_no_memory(&e->k);
    memset(s->seen, 0, model_vertex_count(m) * sizeof *s->seen);
    enum err err = customise_to(e, row, &a, s);
    arena_destroy(&a);
    return err;
}

enum err edit_correction_surface(struct editing *e, uint32_t row, double *positions)
{
    struct standing s;
    enum err err = stand_there(e, row, &s);
    return err == ERR_OK ? driver_delta_surface(&e->k, &s.x, positions) : err;
}

// --- The mesh anew ------------------------------------------------------------------------------

// Deltas of all rows of the mesh: no vertex belongs to two nodes.
static void own_deltas(const struct editing *e, const struct model *m, uint32_t row,
                       double (*out)[3])
{
    memset(out, 0, model_vertex_count(m) * sizeof *out);
    for (uint32_t i = row; i < m->face_corrections_count; i++)
        if (same_mesh(m, row, i)) add_channel(e, m, m->face_corrections[i].channel, 1, out);
}

// [vertex] 1 + the channel of the mesh that can move it; 0: none.
static enum err list_owners(struct editing *e, uint32_t row, uint32_t **out)
{
    const struct model *m = &e->b.model;
    uint32_t *owners = POOL_ARRAY(&e->pool, uint32_t, model_vertex_count(m));
    if (!owners) return drivers_no_memory(&e->k);
    memset(owners, 0, model_vertex_count(m) * sizeof *owners);
    for (uint32_t i = row; i < m->face_corrections_count; i++) {
        if (!same_mesh(m, row, i)) continue;
        uint32_t channel = m->face_corrections[i].channel;
        for (size_t p = 0; p < m->parts_count; p++)
            for (uint32_t v = 0; v < m->parts[p].vertex_count; v++)
                if (m->parts[p].node == m->channels[channel].node)
                    owners[m->parts[p].vertex_first + v] = channel + 1;
    }
    *out = owners;
    return ERR_OK;
}

static bool fill_block(const struct editing *e, const struct model *m, uint32_t block,
                       uint32_t owner, const uint32_t *owners, double (*deltas)[3],
                       struct model_morph_block *out)
{
    bool any = false;
    *out = (struct model_morph_block){.block = block};
    for (uint32_t lane = 0; lane < m->blocks[block].lane_count; lane++) {
        uint32_t v = e->k.vertex_of_lane[block * MODEL_LANES + lane];
        for (int r = 0; r < 3 && owners[v] == owner; r++) {
            out->position[r][lane] = (float)deltas[v][r];
            any = any || out->position[r][lane] != 0;
        }
    }
    return any;
}

static enum err write_mesh(struct editing *e, const uint32_t *owners, double (*deltas)[3])
{
    struct builder *b = &e->b;
    struct model *m = &b->model;
    uint8_t *mine = POOL_ARRAY(&e->pool, uint8_t, m->channels_count);
    size_t most = m->morph_blocks_count, at = 0;
    if (!mine) return drivers_no_memory(&e->k);
    memset(mine, 0, m->channels_count);
    for (size_t v = 0; v < model_vertex_count(m); v++)
        if (owners[v]) mine[owners[v] - 1] = 1;
    for (size_t c = 0; c < m->channels_count; c++)
        most += mine[c] ? m->blocks_count : 0;
    struct model_channel *channels = BUILDER_ARRAY(b, struct model_channel, m->channels_count);
    struct model_morph_block *blocks = BUILDER_ARRAY(b, struct model_morph_block, most);
    if (!channels || !blocks) return builder_no_memory(b);
    memcpy(channels, m->channels, m->channels_count * sizeof *channels);
    for (uint32_t c = 0; c < m->channels_count; c++) {
        const struct model_channel *old = &m->channels[c];
        channels[c].block_first = (uint32_t)at;
        if (!mine[c] && old->block_count > 0)
            memcpy(blocks + at, m->morph_blocks + old->block_first,
                   old->block_count * sizeof *blocks);
        if (!mine[c]) at += old->block_count;
        for (uint32_t i = 0; mine[c] && i < m->blocks_count; i++)
            at += fill_block(e, m, i, c + 1, owners, deltas, &blocks[at]);
        channels[c].block_count = (uint32_t)at - channels[c].block_first;
    }
    m->channels = channels;
    m->morph_blocks = blocks;
    m->morph_blocks_count = at;
    return ERR_OK;
}

// What the sculpt has changed of all that is seen there is the correction's.
static enum err sculpt(struct editing *e, const struct edit *step, uint32_t row,
                       double (*deltas)[3])
{
    size_t vertices = model_vertex_count(&e->b.model);
    double *before = POOL_ARRAY(&e->pool, double, vertices * 3);
    double *after = POOL_ARRAY(&e->pool, double, vertices * 3);
    struct standing s;
    enum err err = before && after ? stand_there(e, row, &s) : drivers_no_memory(&e->k);
    if (err == ERR_OK) err = driver_delta_surface(&e->k, &s.x, before);
    if (err == ERR_OK) err = edit_wanted(e, step, before, after);
    if (err == ERR_OK) err = edit_measure(e, step, before, after);
    if (err == ERR_OK) err = driver_delta_sculpt(&e->k, &s.x, after, before);
    if (err != ERR_OK) return err;
    own_deltas(e, &e->b.model, row, deltas);
    for (size_t v = 0, i = 0; v < vertices; v++) {
        bool listed = i < s.x.d.count && s.x.d.vertices[i] == v;
        for (int r = 0; r < 3; r++) {
            double now = listed ? s.x.d.deltas[i][r] : 0;
            if (now != s.seen[v][r]) deltas[v][r] += (now - s.seen[v][r]) / (double)s.weight;
        }
        i += listed;
    }
    return ERR_OK;
}

static enum err check_owners(struct editing *e, const uint32_t *owners, double (*deltas)[3])
{
    for (size_t v = 0; v < model_vertex_count(&e->b.model); v++) {
        bool any = deltas[v][0] != 0 || deltas[v][1] != 0 || deltas[v][2] != 0;
        if (any && !owners[v])
            return fault_set(e->k.fault, ERR_MALFORMED,
                             "vertex %zu was moved, and is of a mesh that this correction does not "
                             "touch",
                             v);
        e->out->moved += any;
    }
    return ERR_OK;
}

enum err edit_correction_step(struct editing *e, const struct edit *step)
{
    const struct model *m = &e->b.model;
    uint32_t row = edit_correction_of(step->example), *owners = NULL;
    double(*deltas)[3] = pool_take(&e->pool, model_vertex_count(m), sizeof *deltas);
    if (!deltas) return drivers_no_memory(&e->k);
    if (!edit_correction_leads(m, row))
        return fault_set(e->k.fault, ERR_NOT_FOUND, "no correction #%u", row);
    enum err err = ERR_OK;
    if (step->kind == EDIT_TAKE)
        own_deltas(e, step->from, edit_correction_of(step->from_example), deltas);
    else if (step->kind == EDIT_SURFACE || step->kind == EDIT_DELTAS)
        err = sculpt(e, step, row, deltas);
    else
        err = fault_set(e->k.fault, ERR_USAGE,
                        "a correction has the pose of its place, and no mirror image");
    if (err == ERR_OK) err = list_owners(e, row, &owners);
    if (err == ERR_OK) err = check_owners(e, owners, deltas);
    return err == ERR_OK ? write_mesh(e, owners, deltas) : err;
}

#include "server/plugins/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/character/pose/skeleton.h"

enum { GUARD = 0xA5 };

static uint64_t place(uint64_t *at, uint64_t bytes)
{
    uint64_t here = *at;
    *at = (here + bytes + 63) & ~(uint64_t)63;
    return here;
}

struct image_layout image_lay(const struct image_counts *c)
{
    struct image_layout l = {0};
    uint64_t at = 0, vectors = (uint64_t)c->vertices * 12, matrices = (uint64_t)c->joints * 48;
    l.names = place(&at, c->name_bytes);
    l.settings = place(&at, c->settings_bytes);
    l.joint_parents = place(&at, (uint64_t)c->joints * 4);
    l.joint_sources = place(&at, (uint64_t)c->joints * 4);
    l.joint_rests = place(&at, matrices);
    l.rest = place(&at, vectors);
    l.rest_normals = place(&at, vectors);
    l.shares = place(&at, (uint64_t)c->vertices * 4);
    l.sources = place(&at, (uint64_t)c->vertices * 4);
    l.twins = place(&at, (uint64_t)c->vertices * 4);
    l.triangles = place(&at, (uint64_t)c->triangles * 12);
    l.joints = place(&at, matrices);
    l.positions = place(&at, vectors + IMAGE_GUARD_BYTES);
    l.normals = place(&at, vectors + IMAGE_GUARD_BYTES);
    l.end = at;
    return l;
}

// ---- once ---------------------------------------------------------------------------------

// [vertex of the model] its number in the part, or UINT32_MAX.
static uint32_t *number_vertices(const struct model *m, const struct model_extra *e,
                                 uint32_t *count)
{
    size_t vertices = model_vertex_count(m);
    uint32_t *number = malloc((vertices + 1) * sizeof *number);
    uint8_t *inside = calloc(m->blocks_count * MODEL_LANES + 1, 1);
    *count = 0;
    for (uint32_t i = 0; inside && i < e->block_count; i++) {
        const struct model_extra_block *b = &m->extra_blocks[e->block_first + i];
        for (uint32_t l = 0; l < MODEL_LANES; l++)
            inside[b->block * MODEL_LANES + l] = b->share[l] > 0;
    }
    for (size_t v = 0; number && inside && v < vertices; v++)
        number[v] = inside[m->vertex_lanes[v]] ? (*count)++ : UINT32_MAX;
    if (!inside) free(number);
    free(inside);
    return inside ? number : NULL;
}

// Triangles whose corners are all in the part; written where `out` is not NULL.
static uint32_t list_triangles(const struct model *m, const uint32_t *number, uint32_t *out)
{
    uint32_t count = 0;
    for (size_t p = 0; p < m->parts_count; p++) {
        const struct model_part *part = &m->parts[p];
        if (part->topology != MODEL_TRIANGLES) continue;
        for (uint32_t i = 0; i + 2 < part->index_count; i += 3) {
            const uint32_t *corner = m->indices + part->index_first + i;
            if (number[corner[0]] == UINT32_MAX || number[corner[1]] == UINT32_MAX ||
                number[corner[2]] == UINT32_MAX)
                continue;
            for (size_t k = 0; out && k < 3; k++)
                out[(size_t)count * 3 + k] = number[corner[k]];
            count++;
        }
    }
    return count;
}

static enum err no_memory(struct fault *fault)
{
    return fault_set(fault, ERR_MEMORY, "no memory for a plugin");
}

enum err image_part_open(const struct model *m, uint32_t extra, struct image_part *out,
                         struct fault *fault)
{
    struct image_part p = {.model = m, .extra = &m->extras[extra]};
    const struct model_plugin *x = &m->plugins[p.extra->item];
    uint32_t *number = number_vertices(m, p.extra, &p.counts.vertices);
    if (!number) return no_memory(fault);
    p.counts.joints = (uint32_t)m->nodes_count;
    p.counts.triangles = list_triangles(m, number, NULL);
    p.counts.settings_bytes = strlen(model_text(m, x->settings)) + 1;
    for (size_t i = 0; i < m->nodes_count; i++)
        p.counts.name_bytes += strlen(model_text(m, m->nodes[i].name)) + 1;
    p.layout = image_lay(&p.counts);
    p.lanes = malloc((p.counts.vertices + 1) * sizeof *p.lanes);
    for (size_t v = 0; p.lanes && v < model_vertex_count(m); v++)
        if (number[v] != UINT32_MAX) p.lanes[number[v]] = m->vertex_lanes[v];
    free(number);
    if (!p.lanes) return no_memory(fault);
    *out = p;
    return ERR_OK;
}

void image_part_close(struct image_part *p)
{
    free(p->lanes);
    *p = (struct image_part){0};
}

static void put_matrix(const struct xform *m, float out[12])
{
    for (size_t c = 0; c < 4; c++)
        for (size_t r = 0; r < 3; r++)
            out[3 * c + r] = (float)m->col[c][r];
}

static void write_skeleton(const struct image_part *p, const struct xform *nodes, uint8_t *memory)
{
    const struct model *m = p->model;
    char *names = (char *)memory + p->layout.names;
    int32_t *parents = (int32_t *)(void *)(memory + p->layout.joint_parents);
    uint32_t *sources = (uint32_t *)(void *)(memory + p->layout.joint_sources);
    float *rests = (float *)(void *)(memory + p->layout.joint_rests);
    for (size_t i = 0; i < m->nodes_count; i++) {
        const char *name = model_text(m, m->nodes[i].name);
        size_t length = strlen(name) + 1;
        memcpy(names, name, length);
        names += length;
        parents[i] = m->nodes[i].parent;
        sources[i] = m->nodes[i].source;
        put_matrix(&nodes[i], rests + 12 * i);
    }
}

// The base pose's surface, as skinning has it there: one matrix for the whole skin.
static void write_rest(const struct image_part *p, const struct xform *nodes, uint8_t *memory)
{
    const struct model *m = p->model;
    float *rest = (float *)(void *)(memory + p->layout.rest);
    float *normals = (float *)(void *)(memory + p->layout.rest_normals);
    for (size_t v = 0; v < p->counts.vertices; v++) {
        uint32_t block = p->lanes[v] / MODEL_LANES, lane = p->lanes[v] % MODEL_LANES;
        const struct model_block *b = &m->blocks[block];
        const struct model_rest_block *at = &m->rest[block];
        double square = 0, n[3] = {0};
        for (uint32_t k = 0; k < b->influence_count; k++) {
            const struct model_slot *slot = &m->slots[m->block_slots[b->slot_first + k]];
            double w = b->influence_count == 1
                           ? 1
                           : (double)m->weights[b->weight_first + k * MODEL_LANES + lane];
            struct xform inverse = xform_from_mat34(&slot->inverse_bind);
            struct xform s = xform_mul(&nodes[slot->node], &inverse);
            for (int r = 0; r < 3; r++) {
                double x = s.col[3][r];
                for (int c = 0; c < 3; c++) {
                    x += s.col[c][r] * (double)at->position[c][lane];
                    n[r] += w * s.col[c][r] * (double)at->normal[c][lane];
                }
                rest[3 * v + (size_t)r] += (float)(w * x);
            }
        }
        for (int r = 0; r < 3; r++)
            square += n[r] * n[r];
        for (size_t r = 0; r < 3; r++)
            normals[3 * v + r] = square > 0 ? (float)(n[r] / sqrt(square)) : 0;
    }
}

static void write_numbers(const struct image_part *p, const uint32_t *number, uint8_t *memory)
{
    const struct model *m = p->model;
    float *shares = (float *)(void *)(memory + p->layout.shares);
    uint32_t *sources = (uint32_t *)(void *)(memory + p->layout.sources);
    uint32_t *twins = (uint32_t *)(void *)(memory + p->layout.twins);
    for (uint32_t v = 0; v < model_vertex_count(m); v++) {
        if (number[v] == UINT32_MAX) continue;
        uint32_t first = number[m->weld[v]];
        sources[number[v]] = v;
        twins[number[v]] = first == UINT32_MAX ? number[v] : first;
    }
    for (uint32_t i = 0; i < p->extra->block_count; i++) {
        const struct model_extra_block *b = &m->extra_blocks[p->extra->block_first + i];
        for (uint32_t v = 0; v < p->counts.vertices; v++)
            if (p->lanes[v] / MODEL_LANES == b->block) shares[v] = b->share[p->lanes[v] % 16];
    }
    (void)list_triangles(m, number, (uint32_t *)(void *)(memory + p->layout.triangles));
}

enum err image_write(const struct image_part *p, uint8_t *memory, struct fault *fault)
{
    const struct model *m = p->model;
    const char *settings = model_text(m, m->plugins[p->extra->item].settings);
    struct xform *nodes = malloc((m->nodes_count + 1) * sizeof *nodes);
    uint32_t count, *number = number_vertices(m, p->extra, &count);
    if (!nodes || !number) {
        free(nodes);
        free(number);
        return no_memory(fault);
    }
    skeleton_model_from_nodes(m, m->base_pose, nodes);
    memcpy(memory + p->layout.settings, settings, p->counts.settings_bytes);
    write_skeleton(p, nodes, memory);
    write_rest(p, nodes, memory);
    write_numbers(p, number, memory);
    free(nodes);
    free(number);
    return ERR_OK;
}

struct sinew_plugin_model image_view(const struct image_counts *c, const uint8_t *memory,
                                     float metres_per_unit, struct sinew_plugin_joint *joints)
{
    struct image_layout l = image_lay(c);
    const char *name = (const char *)memory + l.names;
    for (uint32_t i = 0; i < c->joints; i++) {
        joints[i].name = name;
        name += strlen(name) + 1;
        memcpy(&joints[i].parent, memory + l.joint_parents + 4 * (size_t)i, 4);
        memcpy(&joints[i].source, memory + l.joint_sources + 4 * (size_t)i, 4);
        memcpy(joints[i].model_from_joint, memory + l.joint_rests + 48 * (size_t)i, 48);
    }
    return (struct sinew_plugin_model){
        .struct_bytes = sizeof(struct sinew_plugin_model),
        .vertex_count = c->vertices,
        .triangle_count = c->triangles,
        .joint_count = c->joints,
        .metres_per_unit = metres_per_unit,
        .joints = joints,
        .positions = (const float *)(const void *)(memory + l.rest),
        .normals = (const float *)(const void *)(memory + l.rest_normals),
        .shares = (const float *)(const void *)(memory + l.shares),
        .sources = (const uint32_t *)(const void *)(memory + l.sources),
        .twins = (const uint32_t *)(const void *)(memory + l.twins),
        .triangles = (const uint32_t *)(const void *)(memory + l.triangles)};
}

// ---- each step ----------------------------------------------------------------------------

void image_gather(const struct image_part *p, const struct extra_motion *now,
                  const struct surface_block *blocks, uint8_t *memory)
{
    float *joints = (float *)(void *)(memory + p->layout.joints);
    float *positions = (float *)(void *)(memory + p->layout.positions);
    float *normals = (float *)(void *)(memory + p->layout.normals);
    for (size_t i = 0; i < p->counts.joints; i++)
        put_matrix(&now->model_from_node[i], joints + 12 * i);
    for (size_t v = 0; v < p->counts.vertices; v++) {
        const struct surface_block *b = &blocks[p->lanes[v] / MODEL_LANES];
        uint32_t lane = p->lanes[v] % MODEL_LANES;
        for (size_t r = 0; r < 3; r++) {
            positions[3 * v + r] = b->position[r][lane];
            normals[3 * v + r] = b->normal[r][lane];
        }
    }
}

// Farther than this is not a surface any more.
static const float FAR = 1e15f;

// Without branches, so that the compiler can take many at once.
static bool are_usable(const float *values, size_t count)
{
    int bad = 0;
    for (size_t i = 0; i < count; i++)
        bad |= !(fabsf(values[i]) < FAR); // NaN too
    return !bad;
}

static bool have_directions(const float *normals, const struct image_part *p,
                            const struct surface_block *blocks)
{
    for (size_t v = 0; v < p->counts.vertices; v++) {
        const float *n = normals + 3 * v;
        const struct surface_block *b = &blocks[p->lanes[v] / MODEL_LANES];
        uint32_t lane = p->lanes[v] % MODEL_LANES;
        float had =
            fabsf(b->normal[0][lane]) + fabsf(b->normal[1][lane]) + fabsf(b->normal[2][lane]);
        if (had > 0 && !(n[0] * n[0] + n[1] * n[1] + n[2] * n[2] > 1e-12f)) return false;
    }
    return true;
}

bool image_scatter(const struct image_part *p, const uint8_t *memory, struct surface_block *blocks)
{
    const float *positions = (const float *)(const void *)(memory + p->layout.positions);
    const float *normals = (const float *)(const void *)(memory + p->layout.normals);
    size_t count = (size_t)p->counts.vertices * 3;
    if (!are_usable(positions, count) || !are_usable(normals, count) ||
        !have_directions(normals, p, blocks))
        return false;
    for (size_t v = 0; v < p->counts.vertices; v++) {
        struct surface_block *b = &blocks[p->lanes[v] / MODEL_LANES];
        uint32_t lane = p->lanes[v] % MODEL_LANES;
        const float *n = normals + 3 * v;
        float square = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
        bool turned =
            n[0] != b->normal[0][lane] || n[1] != b->normal[1][lane] || n[2] != b->normal[2][lane];
        float scale =
            turned && square > 0 ? 1 / sqrtf(square) : 1; // untouched ones keep their bits
        for (size_t r = 0; r < 3; r++) {
            b->position[r][lane] = positions[3 * v + r];
            b->normal[r][lane] = n[r] * scale;
        }
    }
    return true;
}

void image_guard(const struct image_counts *c, uint8_t *memory)
{
    struct image_layout l = image_lay(c);
    memset(memory + l.positions + (size_t)c->vertices * 12, GUARD, IMAGE_GUARD_BYTES);
    memset(memory + l.normals + (size_t)c->vertices * 12, GUARD, IMAGE_GUARD_BYTES);
}

bool image_is_whole(const struct image_counts *c, const uint8_t *memory)
{
    struct image_layout l = image_lay(c);
    const uint8_t *behind[] = {memory + l.positions + (size_t)c->vertices * 12,
                               memory + l.normals + (size_t)c->vertices * 12};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < IMAGE_GUARD_BYTES; i++)
            if (behind[k][i] != GUARD) return false;
    return true;
}

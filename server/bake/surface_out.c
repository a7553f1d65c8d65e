#include "server/bake/surface_out.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/xform.h"
#include "server/bake/edit.h"
#include "server/character/pose/skeleton.h"

const char *const surface_form_names[SURFACE_FORMS] = {"f32", "obj", "glb"};
const char *const surface_form_types[SURFACE_FORMS] = {"application/octet-stream", "model/obj",
                                                       "model/gltf-binary"};

// --- Bytes that grow ----------------------------------------------------------------------------

struct bytes {
    uint8_t *at;
    size_t size, capacity;
    bool failed;
};

static void *grow(struct bytes *b, size_t more)
{
    if (b->size + more > b->capacity) {
        size_t capacity = 2 * (b->size + more) + 4096;
        uint8_t *grown = realloc(b->at, capacity);
        if (!grown) {
            b->failed = true;
            return NULL;
        }
        b->at = grown;
        b->capacity = capacity;
    }
    void *place = b->at + b->size;
    b->size += more;
    return place;
}

static void put(struct bytes *b, const void *from, size_t size_bytes)
{
    void *place = grow(b, size_bytes);
    if (place && size_bytes) memcpy(place, from, size_bytes);
}

static void put_line(struct bytes *b, const char *text)
{
    put(b, text, strlen(text));
}

// --- OBJ ----------------------------------------------------------------------------------------

static void put_faces(struct bytes *b, const struct model *m, const struct model_part *p, size_t i)
{
    char line[96];
    (void)snprintf(line, sizeof line, "g part_%zu\n", i);
    put_line(b, line);
    if (p->topology != MODEL_TRIANGLES) return;
    for (uint32_t k = 0; k + 2 < p->index_count; k += 3) {
        const uint32_t *t = m->indices + p->index_first + k;
        (void)snprintf(line, sizeof line, "f %u %u %u\n", t[0] + 1, t[1] + 1, t[2] + 1);
        put_line(b, line);
    }
}

static void make_obj(struct bytes *b, const struct model *m, const float *positions)
{
    char line[128];
    put_line(b, "# vertices in source order: keep their number and order\n");
    for (size_t v = 0; v < model_vertex_count(m); v++) {
        const float *p = positions + 3 * v;
        (void)snprintf(line, sizeof line, "v %.9g %.9g %.9g\n", (double)p[0], (double)p[1],
                       (double)p[2]);
        put_line(b, line);
    }
    for (size_t i = 0; i < m->parts_count; i++)
        put_faces(b, m, &m->parts[i], i);
}

// --- GLB ----------------------------------------------------------------------------------------

struct glb {
    const struct model *m;
    int32_t example;
    struct bytes bin;
    cJSON *root, *views, *accessors;
    uint32_t *joint_of_node; // place among the skin's joints
    uint32_t *joints, joint_count;
    uint32_t sets; // of JOINTS_n and WEIGHTS_n
};

static void add_number(cJSON *object, const char *key, double value)
{
    (void)cJSON_AddNumberToObject(object, key, value);
}

static void add_text(cJSON *object, const char *key, const char *text)
{
    (void)cJSON_AddStringToObject(object, key, text);
}

// An accessor over a view of its own, filled by what follows.
static int add_accessor(struct glb *g, const char *type, int component, size_t count,
                        size_t element_bytes, int target)
{
    cJSON *view = cJSON_CreateObject(), *accessor = cJSON_CreateObject();
    while (g->bin.size % 4)
        put(&g->bin, "", 1);
    add_number(view, "buffer", 0);
    add_number(view, "byteOffset", (double)g->bin.size);
    add_number(view, "byteLength", (double)(count * element_bytes));
    if (target) add_number(view, "target", target);
    add_number(accessor, "bufferView", cJSON_GetArraySize(g->views));
    add_number(accessor, "componentType", component);
    add_number(accessor, "count", (double)count);
    add_text(accessor, "type", type);
    (void)cJSON_AddItemToArray(g->views, view);
    (void)cJSON_AddItemToArray(g->accessors, accessor);
    return cJSON_GetArraySize(g->accessors) - 1;
}

enum { ARRAY_BUFFER = 34962, ELEMENT_BUFFER = 34963, FLOAT = 5126, U16 = 5123, U32 = 5125 };

static int add_positions(struct glb *g, const struct model_part *p, const float *positions)
{
    const float *from = positions + 3 * (size_t)p->vertex_first;
    double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    int index = add_accessor(g, "VEC3", FLOAT, p->vertex_count, 12, ARRAY_BUFFER);
    put(&g->bin, from, (size_t)p->vertex_count * 12);
    for (size_t i = 0; i < (size_t)p->vertex_count * 3; i++) {
        low[i % 3] = fmin(low[i % 3], (double)from[i]);
        high[i % 3] = fmax(high[i % 3], (double)from[i]);
    }
    cJSON *accessor = cJSON_GetArrayItem(g->accessors, index);
    (void)cJSON_AddItemToObject(accessor, "min", cJSON_CreateDoubleArray(low, 3));
    (void)cJSON_AddItemToObject(accessor, "max", cJSON_CreateDoubleArray(high, 3));
    return index;
}

static int add_indices(struct glb *g, const struct model_part *p)
{
    int index = add_accessor(g, "SCALAR", U32, p->index_count, 4, ELEMENT_BUFFER);
    for (uint32_t k = 0; k < p->index_count; k++) {
        uint32_t v = g->m->indices[p->index_first + k] - p->vertex_first;
        put(&g->bin, &v, sizeof v);
    }
    return index;
}

static void influence(const struct glb *g, uint32_t vertex, uint32_t place, uint16_t *joint,
                      float *weight)
{
    const struct model *m = g->m;
    uint32_t lane = m->vertex_lanes[vertex];
    const struct model_block *b = &m->blocks[lane / MODEL_LANES];
    *joint = 0;
    *weight = 0;
    if (place >= b->influence_count) return;
    const struct model_slot *slot = &m->slots[m->block_slots[b->slot_first + place]];
    *joint = (uint16_t)g->joint_of_node[slot->node];
    *weight = b->influence_count == 1
                  ? 1
                  : m->weights[b->weight_first + place * MODEL_LANES + lane % MODEL_LANES];
}

static void add_influences(struct glb *g, const struct model_part *p, cJSON *attributes)
{
    char name[32];
    for (uint32_t set = 0; set < g->sets; set++) {
        (void)snprintf(name, sizeof name, "JOINTS_%u", set);
        add_number(attributes, name,
                   add_accessor(g, "VEC4", U16, p->vertex_count, 8, ARRAY_BUFFER));
        for (uint32_t v = 0; v < p->vertex_count; v++)
            for (uint32_t k = 0; k < 4; k++) {
                uint16_t joint;
                float weight;
                influence(g, p->vertex_first + v, set * 4 + k, &joint, &weight);
                put(&g->bin, &joint, sizeof joint);
            }
        (void)snprintf(name, sizeof name, "WEIGHTS_%u", set);
        add_number(attributes, name,
                   add_accessor(g, "VEC4", FLOAT, p->vertex_count, 16, ARRAY_BUFFER));
        for (uint32_t v = 0; v < p->vertex_count; v++)
            for (uint32_t k = 0; k < 4; k++) {
                uint16_t joint;
                float weight;
                influence(g, p->vertex_first + v, set * 4 + k, &joint, &weight);
                put(&g->bin, &weight, sizeof weight);
            }
    }
}

static void add_mesh(struct glb *g, const float *positions)
{
    static const int modes[] = {[MODEL_TRIANGLES] = 4, [MODEL_LINES] = 1, [MODEL_POINTS] = 0};
    cJSON *mesh = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(mesh, "primitives");
    cJSON *meshes = cJSON_AddArrayToObject(g->root, "meshes");
    add_text(mesh, "name", "surface");
    for (size_t i = 0; i < g->m->parts_count; i++) {
        const struct model_part *p = &g->m->parts[i];
        cJSON *primitive = cJSON_CreateObject();
        cJSON *attributes = cJSON_AddObjectToObject(primitive, "attributes");
        add_number(attributes, "POSITION", add_positions(g, p, positions));
        if (g->joint_count > 0) add_influences(g, p, attributes);
        if (p->index_count > 0) add_number(primitive, "indices", add_indices(g, p));
        add_number(primitive, "mode", modes[p->topology]);
        (void)cJSON_AddItemToArray(list, primitive);
    }
    (void)cJSON_AddItemToArray(meshes, mesh);
}

static void add_floats(cJSON *object, const char *key, const float *values, int count)
{
    (void)cJSON_AddItemToObject(object, key, cJSON_CreateFloatArray(values, count));
}

static void add_nodes(struct glb *g, const struct trs *locals)
{
    const struct model *m = g->m;
    cJSON *nodes = cJSON_AddArrayToObject(g->root, "nodes");
    cJSON *roots = cJSON_CreateArray();
    for (size_t i = 0; locals && i < m->nodes_count; i++) {
        cJSON *node = cJSON_CreateObject(), *children = NULL;
        const struct trs *t = &locals[i];
        const float place[3] = {t->translation.x, t->translation.y, t->translation.z};
        const float turn[4] = {t->rotation.x, t->rotation.y, t->rotation.z, t->rotation.w};
        const float scale[3] = {t->scale.x, t->scale.y, t->scale.z};
        add_text(node, "name", model_text(m, m->nodes[i].name));
        add_floats(node, "translation", place, 3);
        add_floats(node, "rotation", turn, 4);
        add_floats(node, "scale", scale, 3);
        add_number(cJSON_AddObjectToObject(node, "extras"), "node", m->nodes[i].source);
        for (size_t c = i + 1; c < m->nodes_count; c++) {
            if (m->nodes[c].parent != (int32_t)i) continue;
            if (!children) children = cJSON_AddArrayToObject(node, "children");
            (void)cJSON_AddItemToArray(children, cJSON_CreateNumber((double)c));
        }
        if (m->nodes[i].parent == MODEL_NONE)
            (void)cJSON_AddItemToArray(roots, cJSON_CreateNumber((double)i));
        (void)cJSON_AddItemToArray(nodes, node);
    }
    cJSON *surface = cJSON_CreateObject();
    add_text(surface, "name", "surface");
    add_number(surface, "mesh", 0);
    if (g->joint_count > 0) add_number(surface, "skin", 0);
    (void)cJSON_AddItemToArray(roots, cJSON_CreateNumber(cJSON_GetArraySize(nodes)));
    (void)cJSON_AddItemToArray(nodes, surface);
    cJSON *scenes = cJSON_AddArrayToObject(g->root, "scenes"), *scene = cJSON_CreateObject();
    (void)cJSON_AddItemToObject(scene, "nodes", roots);
    (void)cJSON_AddItemToArray(scenes, scene);
    add_number(g->root, "scene", 0);
}

static bool add_skin(struct glb *g, const struct trs *locals)
{
    struct xform *nodes = calloc(g->m->nodes_count, sizeof *nodes);
    if (!nodes) return false;
    cJSON *skins = cJSON_AddArrayToObject(g->root, "skins"), *skin = cJSON_CreateObject();
    cJSON *joints = cJSON_AddArrayToObject(skin, "joints");
    skeleton_model_from_nodes(g->m, locals, nodes);
    add_number(skin, "inverseBindMatrices", add_accessor(g, "MAT4", FLOAT, g->joint_count, 64, 0));
    for (uint32_t i = 0; i < g->joint_count; i++) {
        struct xform inverse;
        float matrix[16] = {0};
        if (!xform_invert(&nodes[g->joints[i]], &inverse)) inverse = xform_identity();
        for (int c = 0; c < 4; c++)
            for (int r = 0; r < 3; r++)
                matrix[c * 4 + r] = (float)inverse.col[c][r];
        matrix[15] = 1;
        put(&g->bin, matrix, sizeof matrix);
        (void)cJSON_AddItemToArray(joints, cJSON_CreateNumber(g->joints[i]));
    }
    (void)cJSON_AddItemToArray(skins, skin);
    free(nodes);
    return true;
}

static bool list_joints(struct glb *g)
{
    const struct model *m = g->m;
    g->joint_of_node = calloc(m->nodes_count + 1, sizeof *g->joint_of_node);
    g->joints = calloc(m->nodes_count + 1, sizeof *g->joints);
    uint8_t *used = calloc(m->nodes_count + 1, 1);
    bool fine = g->joint_of_node && g->joints && used;
    for (size_t i = 0; fine && i < m->slots_count; i++)
        used[m->slots[i].node] = 1;
    for (uint32_t i = 0; fine && i < m->nodes_count; i++) {
        if (!used[i]) continue;
        g->joint_of_node[i] = g->joint_count;
        g->joints[g->joint_count++] = i;
    }
    for (size_t i = 0; fine && i < m->blocks_count; i++)
        if ((m->blocks[i].influence_count + 3) / 4 > g->sets)
            g->sets = (m->blocks[i].influence_count + 3) / 4;
    free(used);
    return fine;
}

static void join_glb(struct glb *g, struct bytes *out)
{
    cJSON *buffers = cJSON_AddArrayToObject(g->root, "buffers"), *buffer = cJSON_CreateObject();
    while (g->bin.size % 4)
        put(&g->bin, "", 1);
    add_number(buffer, "byteLength", (double)g->bin.size);
    (void)cJSON_AddItemToArray(buffers, buffer);
    char *text = cJSON_PrintUnformatted(g->root);
    if (!text) {
        out->failed = true;
        return;
    }
    uint32_t length = (uint32_t)strlen(text), padded = (length + 3) & ~3u;
    const uint32_t head[] = {0x46546C67, 2, (uint32_t)(12 + 8 + padded + 8 + g->bin.size), padded,
                             0x4E4F534A};
    const uint32_t bin_head[] = {(uint32_t)g->bin.size, 0x004E4942};
    put(out, head, sizeof head);
    put(out, text, length);
    for (uint32_t i = length; i < padded; i++)
        put(out, " ", 1);
    put(out, bin_head, sizeof bin_head);
    put(out, g->bin.at, g->bin.size);
    cJSON_free(text);
}

static void make_glb(struct bytes *out, const struct model *m, int32_t example,
                     const float *positions)
{
    struct glb g = {.m = m, .example = example, .root = cJSON_CreateObject()};
    const struct trs *locals =
        example < 0 ? NULL : m->example_poses + (size_t)example * m->nodes_count;
    cJSON *asset = cJSON_AddObjectToObject(g.root, "asset");
    add_text(asset, "version", "2.0");
    add_text(asset, "generator", "sinewd " SINEW_VERSION);
    g.views = cJSON_AddArrayToObject(g.root, "bufferViews");
    g.accessors = cJSON_AddArrayToObject(g.root, "accessors");
    bool fine = !locals || list_joints(&g);
    if (fine) add_mesh(&g, positions);
    if (fine && g.joint_count > 0) fine = add_skin(&g, locals);
    if (fine) {
        add_nodes(&g, locals);
        join_glb(&g, out);
    }
    out->failed = out->failed || !fine || g.bin.failed;
    cJSON_Delete(g.root);
    free(g.bin.at);
    free(g.joint_of_node);
    free(g.joints);
}

enum err surface_out(const struct model *m, int32_t example, const float *positions,
                     enum surface_form form, struct surface_file *out, struct fault *fault)
{
    struct bytes b = {0};
    switch (form) {
    case SURFACE_OBJ:
        make_obj(&b, m, positions);
        break;
    case SURFACE_GLB:
        make_glb(&b, m, example, positions);
        break;
    default:
        put(&b, positions, model_vertex_count(m) * 3 * sizeof *positions);
        break;
    }
    if (b.failed) {
        free(b.at);
        return fault_set(fault, ERR_MEMORY, "no memory for the surface");
    }
    *out = (struct surface_file){b.at, b.size};
    return ERR_OK;
}

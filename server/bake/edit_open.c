#include <string.h>

#include "common/json_guard.h"
#include "server/bake/edit_own.h"
#include "server/bake/rig_schema.h"

// A baked model as something to bake from: positions, influences, drivers and their examples.

enum { EDIT_BYTES_MAX = 2000 << 20, RIG_TEXT_MAX = 16 << 20 };

static enum err copy_text(struct editing *e, const struct model *m)
{
    struct builder *b = &e->b;
    b->text_capacity = m->text_count + 4096;
    b->text = BUILDER_ARRAY(b, char, b->text_capacity);
    if (!b->text) return builder_no_memory(b);
    memcpy(b->text, m->text, m->text_count);
    b->model.text = b->text;
    return ERR_OK;
}

// Positions and influences by vertex, from the blocks.
static enum err gather_vertices(struct editing *e, const struct model *m)
{
    struct builder *b = &e->b;
    size_t vertices = model_vertex_count(m), influences = 0;
    for (size_t v = 0; v < vertices; v++)
        influences += m->blocks[m->vertex_lanes[v] / MODEL_LANES].influence_count;
    b->positions = BUILDER_ARRAY(b, float, vertices * 3);
    b->influence_first = BUILDER_ARRAY(b, uint32_t, vertices + 1);
    b->influence_slots = BUILDER_ARRAY(b, uint16_t, influences);
    b->influence_weights = BUILDER_ARRAY(b, float, influences);
    if (!b->positions || !b->influence_first || !b->influence_slots || !b->influence_weights)
        return builder_no_memory(b);
    uint32_t at = 0;
    for (size_t v = 0; v < vertices; v++) {
        uint32_t lane = m->vertex_lanes[v], place = lane % MODEL_LANES;
        const struct model_block *block = &m->blocks[lane / MODEL_LANES];
        for (size_t r = 0; r < 3; r++)
            b->positions[v * 3 + r] = m->rest[lane / MODEL_LANES].position[r][place];
        b->influence_first[v] = at;
        for (uint32_t i = 0; i < block->influence_count; i++, at++) {
            b->influence_slots[at] = m->block_slots[block->slot_first + i];
            b->influence_weights[at] =
                block->influence_count == 1
                    ? 1
                    : m->weights[block->weight_first + i * MODEL_LANES + place];
        }
    }
    b->influence_first[vertices] = at;
    return ERR_OK;
}

static enum err read_rig(struct editing *e, const struct model *m, struct fault *fault)
{
    struct json_limits limits = json_limits_for(RIG_TEXT_MAX);
    e->rig.skinning = (enum model_skinning)m->info->skinning;
    if (m->rig_json_count > 1) {
        enum err err = json_parse(m->rig_json, strnlen(m->rig_json, m->rig_json_count), &limits,
                                  &e->rig.json, fault);
        if (err == ERR_OK) err = rig_schema_check(e->rig.json, fault); // the model may be anyone's
        if (err != ERR_OK) return err;
    }
    if (m->drivers_json_count > 1)
        return json_parse(m->drivers_json, strnlen(m->drivers_json, m->drivers_json_count), &limits,
                          &e->report, fault);
    return ERR_OK;
}

static enum err start_drivers(struct editing *e, const struct model *m)
{
    struct driver_bake *k = &e->k;
    size_t lanes = m->blocks_count * MODEL_LANES, vertices = model_vertex_count(m);
    k->diagonal = driver_box_diagonal(e->b.positions, vertices);
    k->vertex_of_lane = DRIVERS_ARRAY(k, uint32_t, lanes);
    k->dual_vertex = DRIVERS_ARRAY(k, uint8_t, vertices);
    if (!k->vertex_of_lane || !k->dual_vertex) return drivers_no_memory(k);
    memset(k->vertex_of_lane, 0xFF, lanes * sizeof *k->vertex_of_lane);
    for (uint32_t v = 0; v < vertices; v++) {
        uint32_t lane = m->vertex_lanes[v];
        k->vertex_of_lane[lane] = v;
        k->dual_vertex[v] =
            m->dual_lanes_count ? m->dual_lanes[lane / MODEL_LANES] >> lane % MODEL_LANES & 1 : 0;
    }
    if (m->drivers_count == 0) return ERR_OK;
    enum err err = driver_plan_read(k);
    if (err == ERR_OK && k->driver_count != m->drivers_count)
        err = fault_set(k->fault, ERR_MALFORMED,
                        "the model's rig file lists %u drivers and %zu were baked: bake it anew",
                        k->driver_count, m->drivers_count);
    return err == ERR_OK ? driver_mirror_poses(k) : err; // joints of those that mirror another
}

enum err edit_open(const struct model *m, struct editing *e, struct fault *fault)
{
    static const struct compile_settings settings = {.source_name = ""};
    *e = (struct editing){.b = {.settings = &settings, .fault = fault, .place = "/drivers"}};
    pool_init(&e->scene.pool, EDIT_BYTES_MAX);
    pool_init(&e->pool, EDIT_BYTES_MAX);
    e->b.scene = &e->scene;
    e->b.model = *m;
    e->k = (struct driver_bake){
        .b = &e->b, .rig = &e->rig, .pool = &e->pool, .fault = fault, .edited = m};
    enum err err = copy_text(e, m);
    if (err == ERR_OK) err = gather_vertices(e, m);
    if (err == ERR_OK) err = read_rig(e, m, fault);
    e->k.edited_report = e->report;
    return err == ERR_OK ? start_drivers(e, m) : err;
}

void edit_close(struct editing *e)
{
    cJSON_Delete(e->report);
    rig_free(&e->rig);
    scene_free(&e->scene);
    pool_free(&e->pool);
}

#include "server/bake/vrm_spring_read.h"

#include <cjson/cJSON.h>
#include <string.h>

// ---- colliders

static void write_vec3(struct vrm_writer *w, const struct doc_at *from, const char *key, float x,
                       float y, float z)
{
    float value[3] = {x, y, z};
    (void)doc_floats(&w->src->doc, from, key, value, 3);
    json_text_numbers(&w->text, key, value, 3);
}

static void write_shape(struct vrm_writer *w, const struct doc_at *shape)
{
    static const char *const kinds[] = {"sphere", "capsule", "plane"};
    struct doc *d = &w->src->doc;
    for (int i = 0; i < 3; i++) {
        struct doc_at kind = doc_member(shape, kinds[i]);
        if (!doc_is_object(d, &kind)) continue;
        json_text_open(&w->text, "shape", '{');
        json_text_open(&w->text, kinds[i], '{');
        write_vec3(w, &kind, "offset", 0, 0, 0);
        if (i == 2) {
            write_vec3(w, &kind, "normal", 0, 0, 1);
        } else {
            json_text_number(&w->text, "radius", (double)doc_float(d, &kind, "radius", 0));
            if (i == 1) write_vec3(w, &kind, "tail", 0, 0, 0);
            json_text_bool(&w->text, "inside", doc_bool(d, &kind, "inside", false));
        }
        json_text_close(&w->text, '}');
        json_text_close(&w->text, '}');
        return;
    }
    (void)doc_fail(d, shape, ERR_MALFORMED, "neither sphere, capsule nor plane");
}

static void read_collider(struct vrm_writer *w, const struct doc_at *at)
{
    struct doc *d = &w->src->doc;
    struct doc_at extensions = doc_member(at, "extensions");
    struct doc_at extended = doc_member(&extensions, "VRMC_springBone_extended_collider");
    struct doc_at shape = doc_member(extended.value ? &extended : at, "shape");
    int32_t node = doc_index_needed(d, at, "node", w->src->node_count);
    json_text_open(&w->text, NULL, '{');
    json_text_number(&w->text, "node", node);
    write_shape(w, &shape);
    json_text_close(&w->text, '}');
}

// Numbers of what was kept, so that leaving one out does not shift what the others mean.
struct kept {
    uint32_t count;   // in the file
    int32_t *numbers; // new number or SCENE_NONE
    int32_t next;
};

typedef void item_fn(struct vrm_writer *w, const struct doc_at *at, const struct kept *earlier);

static struct kept read_items(struct vrm_writer *w, const struct doc_at *up, const char *key,
                              const struct kept *earlier, item_fn *read)
{
    struct doc *d = &w->src->doc;
    struct doc_list list = doc_list(d, up, key);
    struct kept kept = {.numbers = DOC_SCRATCH(d, &list.at, int32_t, list.count)};
    json_text_open(&w->text, key, '[');
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        size_t mark = json_text_mark(&w->text);
        if (!doc_is_object(d, &at)) (void)doc_fail(d, &at, ERR_MALFORMED, "must be an object");
        read(w, &at, earlier);
        kept.numbers[i] = vrm_settle(w, mark) ? kept.next++ : SCENE_NONE;
        kept.count = i + 1;
    }
    json_text_close(&w->text, ']');
    return kept;
}

static void collider_item(struct vrm_writer *w, const struct doc_at *at, const struct kept *earlier)
{
    (void)earlier;
    read_collider(w, at);
}

static void write_numbers(struct vrm_writer *w, const struct doc_at *up, const char *key,
                          const struct kept *known)
{
    struct doc *d = &w->src->doc;
    struct doc_list list = doc_list(d, up, key);
    json_text_open(&w->text, key, '[');
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        size_t mark = json_text_mark(&w->text);
        int32_t index = doc_value_index(d, &at, known->count);
        if (!vrm_settle(w, mark)) continue;
        if (known->numbers[index] != SCENE_NONE)
            json_text_number(&w->text, NULL, known->numbers[index]);
    }
    json_text_close(&w->text, ']');
}

static void group_item(struct vrm_writer *w, const struct doc_at *at, const struct kept *colliders)
{
    json_text_open(&w->text, NULL, '{');
    json_text_string(&w->text, "name", doc_text(&w->src->doc, at, "name"));
    write_numbers(w, at, "colliders", colliders);
    json_text_close(&w->text, '}');
}

// ---- springs

static void read_joint(struct vrm_writer *w, const struct doc_at *at)
{
    struct doc *d = &w->src->doc;
    int32_t node = doc_index_needed(d, at, "node", w->src->node_count);
    json_text_open(&w->text, NULL, '{');
    json_text_number(&w->text, "node", node);
    json_text_number(&w->text, "hitRadius", (double)doc_float(d, at, "hitRadius", 0));
    json_text_number(&w->text, "stiffness", (double)doc_float(d, at, "stiffness", 1));
    json_text_number(&w->text, "gravityPower", (double)doc_float(d, at, "gravityPower", 0));
    write_vec3(w, at, "gravityDir", 0, -1, 0);
    json_text_number(&w->text, "dragForce", (double)doc_float(d, at, "dragForce", 0.5F));
    json_text_close(&w->text, '}');
}

// A broken joint breaks the chain, and with it this spring.
static void spring_item(struct vrm_writer *w, const struct doc_at *at, const struct kept *groups)
{
    struct doc *d = &w->src->doc;
    json_text_open(&w->text, NULL, '{');
    json_text_string(&w->text, "name", doc_text(d, at, "name"));
    struct doc_list joints = doc_list(d, at, "joints");
    json_text_open(&w->text, "joints", '[');
    for (uint32_t i = 0; i < joints.count && d->error == ERR_OK; i++) {
        struct doc_at joint = doc_item(&joints, i);
        read_joint(w, &joint);
    }
    json_text_close(&w->text, ']');
    if (d->error == ERR_OK) write_numbers(w, at, "colliderGroups", groups);
    int32_t center = doc_index(d, at, "center", w->src->node_count);
    if (center != SCENE_NONE) json_text_number(&w->text, "center", center);
    json_text_close(&w->text, '}');
}

void vrm_spring_read(struct vrm_writer *w, const struct doc_at *spring_bone)
{
    size_t mark = json_text_mark(&w->text);
    if (doc_is_object(&w->src->doc, spring_bone)) {
        json_text_open(&w->text, "springBone", '{');
        struct kept colliders = read_items(w, spring_bone, "colliders", NULL, collider_item);
        struct kept groups = read_items(w, spring_bone, "colliderGroups", &colliders, group_item);
        (void)read_items(w, spring_bone, "springs", &groups, spring_item);
        json_text_close(&w->text, '}');
    }
    (void)vrm_settle(w, mark);
}

// ---- constraints

static void read_constraint(struct vrm_writer *w, const struct doc_at *extension, int32_t node)
{
    static const char *const kinds[] = {"roll", "aim", "rotation"};
    static const char *const axes[] = {"rollAxis", "aimAxis", NULL};
    struct doc *d = &w->src->doc;
    struct doc_at constraint = doc_member(extension, "constraint");
    for (int i = 0; i < 3; i++) {
        struct doc_at kind = doc_member(&constraint, kinds[i]);
        if (!doc_is_object(d, &kind)) continue;
        struct doc_at source_at = doc_member(&kind, "source");
        int32_t source = doc_index_needed(d, &kind, "source", w->src->node_count);
        if (source == node)
            (void)doc_fail(d, &source_at, ERR_MALFORMED, "a node cannot constrain itself");
        json_text_open(&w->text, NULL, '{');
        json_text_number(&w->text, "node", node);
        json_text_open(&w->text, "constraint", '{');
        json_text_open(&w->text, kinds[i], '{');
        json_text_number(&w->text, "source", source);
        if (axes[i]) json_text_string(&w->text, axes[i], doc_text(d, &kind, axes[i]));
        json_text_number(&w->text, "weight", (double)doc_float(d, &kind, "weight", 1));
        json_text_close(&w->text, '}');
        json_text_close(&w->text, '}');
        json_text_close(&w->text, '}');
        return;
    }
    if (d->error == ERR_OK)
        (void)doc_fail(d, extension, ERR_MALFORMED, "neither roll, aim nor rotation");
}

void vrm_spring_read_constraints(struct vrm_writer *w)
{
    struct doc *d = &w->src->doc;
    struct doc_at root = doc_root(d);
    struct doc_list nodes = doc_list(d, &root, "nodes");
    size_t start = json_text_mark(&w->text);
    bool any = false;
    json_text_open(&w->text, "nodeConstraints", '[');
    for (uint32_t i = 0; i < nodes.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&nodes, i), extensions = doc_member(&at, "extensions");
        struct doc_at extension = doc_member(&extensions, "VRMC_node_constraint");
        if (!extension.value) continue;
        size_t mark = json_text_mark(&w->text);
        read_constraint(w, &extension, (int32_t)i);
        any = vrm_settle(w, mark) || any;
    }
    json_text_close(&w->text, ']');
    if (!any) json_text_rewind(&w->text, start);
}

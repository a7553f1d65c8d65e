#include "server/bake/mesh_read.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "server/bake/accessor.h"
#include "server/bake/attribute_read.h"
#include "server/bake/index_read.h"
#include "server/bake/target_read.h"

static void read_targets(struct source *src, const struct doc_list *targets,
                         struct scene_primitive *p)
{
    struct doc *d = &src->doc;
    struct scene_target *out = DOC_KEEP(d, &targets->at, struct scene_target, targets->count);
    for (uint32_t i = 0; i < targets->count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(targets, i);
        (void)target_read(src, &at, p->vertex_count, &out[i]);
    }
    p->targets = out;
}

// A primitive that cannot be shown keeps its place with no vertices: numbers stay the file's.
static bool has_positions(struct source *src, const struct doc_at *attributes)
{
    struct doc_at position = doc_member(attributes, "POSITION");
    if (position.value) return true;
    scene_note(src->doc.scene, NOTE_LEFT_OUT, 1, "primitives without POSITION");
    return false;
}

static void read_primitive(struct source *src, const struct doc_at *at, struct scene_primitive *p,
                           struct doc_list *targets, uint32_t *joint_end)
{
    struct doc *d = &src->doc;
    p->material = SCENE_NONE;
    if (!doc_is_object(d, at)) {
        (void)doc_fail(d, at, ERR_MALFORMED, "must be an object");
        return;
    }
    struct doc_at attributes = doc_member(at, "attributes");
    if (!attributes.value) (void)doc_fail(d, &attributes, ERR_MALFORMED, "is missing");
    if (!doc_is_object(d, &attributes) || !has_positions(src, &attributes)) return;
    struct doc_at position = doc_member(&attributes, "POSITION");
    int32_t accessor = doc_value_index(d, &position, src->accessor_count);
    p->material = doc_index(d, at, "material", d->scene->material_count);
    p->positions = attribute_read_positions(src, &position, accessor, &p->vertex_count);
    if (!p->positions || !attribute_read(src, &attributes, p, joint_end)) return;
    if (!index_read(src, at, p)) return;
    *targets = doc_list(d, at, "targets");
    read_targets(src, targets, p);
}

// ---- names and default weights of the targets

// extras belong to whoever wrote them: anything of another shape is passed over silently.
static bool names_from(struct source *src, const struct doc_at *owner, uint32_t count,
                       const char **names)
{
    struct doc *d = &src->doc;
    struct doc_at extras = doc_member(owner, "extras"),
                  list_at = doc_member(&extras, "targetNames");
    if (!cJSON_IsArray(list_at.value)) return false;
    struct doc_list list = doc_list(d, &extras, "targetNames");
    for (uint32_t i = 0; i < list.count && i < count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        if (cJSON_IsString(at.value)) names[i] = doc_keep_text(d, &at, at.value->valuestring);
    }
    if (list.count != count)
        scene_note(d->scene, NOTE_REPAIRED, 1, "meshes with %u names for %u morph targets",
                   list.count, count);
    return true;
}

static void read_names(struct source *src, const struct doc_at *mesh_at,
                       const struct doc_list *primitives, struct scene_mesh *mesh)
{
    struct doc *d = &src->doc;
    if (mesh->target_count == 0) return;
    const char **names = DOC_KEEP(d, mesh_at, const char *, mesh->target_count);
    for (uint32_t i = 0; names && i < mesh->target_count; i++)
        names[i] = "";
    mesh->target_names = names;
    if (!names || names_from(src, mesh_at, mesh->target_count, names)) return;
    struct doc_at first = doc_item(primitives, 0);
    (void)names_from(src, &first, mesh->target_count, names);
}

static void read_weights(struct source *src, const struct doc_at *mesh_at, struct scene_mesh *mesh)
{
    struct doc *d = &src->doc;
    struct doc_list list = doc_list(d, mesh_at, "weights");
    float *weights = DOC_KEEP(d, &list.at, float, mesh->target_count);
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        double w = doc_value_number(d, &at);
        if (fabs(w) > 1e30) (void)doc_fail(d, &at, ERR_MALFORMED, "%g is no weight", w);
        if (i < mesh->target_count && d->error == ERR_OK) weights[i] = (float)w;
    }
    if (list.at.value && list.count != mesh->target_count)
        scene_note(d->scene, NOTE_REPAIRED, 1, "meshes with %u weights for %u morph targets",
                   list.count, mesh->target_count);
    mesh->weights = weights;
}

// ---- meshes

// The primitives of a mesh share their weights, so they must have as many targets.
static void settle_target_count(struct source *src, const struct doc_list *targets, bool *settled,
                                struct scene_mesh *mesh)
{
    if (!*settled) {
        mesh->target_count = targets->count;
        *settled = true;
    } else if (targets->count != mesh->target_count) {
        (void)doc_fail(&src->doc, &targets->at, ERR_MALFORMED,
                       "%u morph targets, but another primitive of this mesh has %u",
                       targets->count, mesh->target_count);
    }
}

static void read_primitives(struct source *src, const struct doc_list *list,
                            struct scene_mesh *mesh, uint32_t *joint_end)
{
    struct doc *d = &src->doc;
    bool settled = false;
    mesh->primitives = DOC_KEEP(d, &list->at, struct scene_primitive, list->count);
    mesh->primitive_count = d->error == ERR_OK ? list->count : 0;
    for (uint32_t i = 0; i < list->count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(list, i);
        struct doc_list targets = {.at = doc_member(&at, "targets")};
        read_primitive(src, &at, &mesh->primitives[i], &targets, joint_end);
        if (d->error == ERR_OK && mesh->primitives[i].positions)
            settle_target_count(src, &targets, &settled, mesh);
    }
    // Empty places get as many (empty) targets as the others.
    for (uint32_t i = 0; i < list->count && d->error == ERR_OK; i++)
        if (!mesh->primitives[i].targets)
            mesh->primitives[i].targets =
                DOC_KEEP(d, &list->at, struct scene_target, mesh->target_count);
}

static void read_mesh(struct source *src, const struct doc_at *at, struct scene_mesh *mesh,
                      uint32_t *joint_end)
{
    struct doc *d = &src->doc;
    if (!doc_is_object(d, at)) {
        (void)doc_fail(d, at, ERR_MALFORMED, "must be an object");
        return;
    }
    mesh->name = doc_text_kept(d, at, "name");
    struct doc_list primitives = doc_list(d, at, "primitives");
    if (d->error == ERR_OK && primitives.count == 0)
        scene_note(d->scene, NOTE_LEFT_OUT, 1, "meshes without primitives");
    read_primitives(src, &primitives, mesh, joint_end);
    if (d->error != ERR_OK) return;
    read_names(src, at, &primitives, mesh);
    read_weights(src, at, mesh);
}

bool mesh_read(struct source *src)
{
    struct doc *d = &src->doc;
    struct doc_at root = doc_root(d);
    struct doc_list list = doc_list(d, &root, "meshes");
    d->scene->meshes = DOC_KEEP(d, &list.at, struct scene_mesh, list.count);
    src->mesh_joint_end = DOC_SCRATCH(d, &list.at, uint32_t, list.count);
    if (d->error != ERR_OK) return false;
    src->mesh_count = d->scene->mesh_count = list.count;
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        read_mesh(src, &at, &d->scene->meshes[i], &src->mesh_joint_end[i]);
    }
    return d->error == ERR_OK;
}

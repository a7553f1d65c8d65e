#include "server/stage/role.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "proto/wire.h"
#include "server/stage/body.h"
#include "server/stage/role_own.h"

enum err role_no_memory(struct role_build *b)
{
    return fault_set(b->fault, ERR_MEMORY, "no memory to serve the character %s", b->options->name);
}

static bool has_joints(const struct model *m)
{
    for (size_t i = 0; i < m->nodes_count; i++)
        if (m->nodes[i].flags & MODEL_NODE_JOINT) return true;
    return false;
}

static enum err build_basics(struct role_build *b)
{
    struct role *r = b->role;
    const struct model *m = r->model;
    r->number = b->options->number;
    r->version = b->options->version;
    memcpy(r->name, b->options->name, strlen(b->options->name) + 1);
    r->default_clip = body_default_clip(m);
    r->still = m->clips_count == 0 && m->channels_count == 0 && !has_joints(m);
    if (!arena_create(&r->own->arena, face_map_bytes(m) + correct_map_bytes(m) + 128))
        return role_no_memory(b);
    face_map_build(m, &r->own->arena, &r->map);
    correct_map_build(m, NULL, &r->own->arena, &r->correct);
    if (puppet_of_model(m, &r->puppet) != ERR_OK) return role_no_memory(b);
    return ERR_OK;
}

// Whether whoever has the surface, materials and names of `like` has these too.
static bool clients_have(const struct role *r, const struct role *like)
{
    bool same = r->surface_bytes == like->surface_bytes &&
                r->appearance_bytes == like->appearance_bytes &&
                r->catalogue_bytes == like->catalogue_bytes &&
                r->texture_count == like->texture_count && r->detail_count == like->detail_count;
    for (uint32_t i = 0; same && i < r->detail_count; i++)
        same = memcmp(r->details[i].lanes, like->details[i].lanes,
                      r->details[i].vertex_count * sizeof(uint32_t)) == 0;
    for (size_t i = 0; same && i < r->texture_count; i++)
        same = memcmp(r->textures[i].hash, like->textures[i].hash, SESSION_HASH_BYTES) == 0;
    const size_t model = sizeof(uint32_t), behind = 2 * sizeof(uint32_t); // the version is between
    return same && memcmp(r->surface, like->surface, model) == 0 &&
           memcmp(r->surface + behind, like->surface + behind, r->surface_bytes - behind) == 0 &&
           memcmp(r->appearance + ROLE_APPEARANCE_HEAD_BYTES,
                  like->appearance + ROLE_APPEARANCE_HEAD_BYTES,
                  r->appearance_bytes - ROLE_APPEARANCE_HEAD_BYTES) == 0 &&
           memcmp(r->catalogue_json, like->catalogue_json, r->catalogue_bytes) == 0;
}

static void destroy(struct role *r)
{
    if (r->own) {
        pool_free(&r->own->pool);
        arena_destroy(&r->own->arena);
    }
    free(r->own);
    model_file_unref(r->file);
    free(r);
}

enum err role_build(struct model_file *file, const struct role_options *options, struct role **out,
                    struct fault *fault)
{
    static enum err (*const steps[])(struct role_build *) = {
        build_basics,      role_build_surface,  role_build_appearance,
        role_build_tables, role_build_bindings, role_build_catalogue};
    CHECK(strlen(options->name) < SESSION_NAME_MAX);
    struct role_build b = {.options = options, .fault = fault};
    struct role *r = calloc(1, sizeof *r);
    struct role_own *own = calloc(1, sizeof *own);
    if (!r || !own) {
        free(r);
        free(own);
        return fault_set(fault, ERR_MEMORY, "no memory to serve the character %s", options->name);
    }
    const size_t cap_bytes = (size_t)4 << 30; // the model's own limits bound what is asked for
    pool_init(&own->pool, cap_bytes);
    pool_init(&b.scratch, cap_bytes);
    atomic_init(&own->refs, 1);
    r->own = own;
    r->file = model_file_ref(file);
    r->model = model_file_model(file);
    b.role = r;
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < sizeof steps / sizeof steps[0]; i++)
        e = steps[i](&b);
    pool_free(&b.scratch);
    if (e == ERR_OK && options->like && clients_have(r, options->like)) {
        struct wire_writer version = wire_write(own->surface_version, sizeof r->version);
        r->version = options->like->version;
        wire_put_u32(&version, r->version);
    }
    if (e == ERR_OK)
        *out = r;
    else
        destroy(r);
    return e;
}

struct role *role_ref(struct role *r)
{
    CHECK(atomic_fetch_add_explicit(&r->own->refs, 1, memory_order_relaxed) > 0);
    return r;
}

void role_unref(struct role *r)
{
    if (!r) return;
    int before = atomic_fetch_sub_explicit(&r->own->refs, 1, memory_order_acq_rel);
    CHECK(before > 0);
    if (before == 1) destroy(r);
}

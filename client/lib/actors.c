#include "client/lib/actors.h"

#include <stdlib.h>
#include <string.h>

#include "client/lib/client.h"
#include "client/lib/session.h"
#include "common/check.h"

enum { RESYNC_US = 250000 }; // between two requests for the same actor

struct actor *actors_find(const struct actors *a, uint32_t id)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (a->items[i]->id == id) return a->items[i];
    return NULL;
}

struct actors_slot *actors_slot_at(const struct actor *a, uint32_t i)
{
    CHECK(a->slot_capacity > 0);
    return &a->slots[(a->slot_first + i) % a->slot_capacity];
}

void actors_pop_slot(struct actor *a)
{
    a->slot_first = (a->slot_first + 1) % a->slot_capacity;
    a->slot_count--;
}

static void tell(struct sinew_client *c, enum sinew_event_kind kind, uint32_t actor,
                 const char *text)
{
    const struct event e = {.kind = kind, .actor = actor, .time_us = sinew_now_us()};
    events_push(&c->events, &e, text);
}

// ---- memory ----

static void drop_anchors(struct sinew_client *c, struct actor *a)
{
    for (int k = 0; k < SURFACE_LODS_MAX; k++) {
        free(a->details[k].memory);
        client_give_memory(c, a->details[k].memory_bytes);
        a->details[k] = (struct actors_detail){0};
    }
}

static void drop_slots(struct sinew_client *c, struct actor *a)
{
    for (uint32_t i = 0; i < a->slot_capacity; i++) {
        free(a->slots[i].rows);
        client_give_memory(c, a->slots[i].capacity_bytes);
        a->slots[i] = (struct actors_slot){0};
    }
    a->slot_first = a->slot_count = 0;
}

static size_t materials_bytes(uint32_t count)
{
    return ((size_t)count + 1) * sizeof(struct appearance_material);
}

void actors_materials_free(struct sinew_client *c, struct actor_materials *m)
{
    if (m->items) client_give_memory(c, materials_bytes(m->count));
    free(m->items);
    *m = (struct actor_materials){0};
}

static void unref_mesh(struct sinew_client *c, struct mesh *mesh)
{
    size_t size = mesh ? mesh->size_bytes : 0;
    if (mesh_unref(mesh)) client_give_memory(c, size);
}

static void actor_free(struct sinew_client *c, struct actor *a)
{
    drop_anchors(c, a);
    drop_slots(c, a);
    free(a->slots);
    unref_mesh(c, a->mesh);
    unref_mesh(c, a->shown_mesh);
    unref_mesh(c, a->retired_mesh);
    client_give_memory(c, a->vertices_bytes);
    free(a->vertices);
    free(a->retired);
    actors_materials_free(c, &a->materials);
    actors_materials_free(c, &a->materials_new);
    actors_materials_free(c, &a->retired_materials);
    free(a);
}

void actors_remove(struct sinew_client *c, uint32_t index)
{
    struct actors *all = &c->actors;
    actor_free(c, all->items[index]);
    all->count--;
    for (uint32_t i = index; i < all->count; i++) // in order of arrival, as handed out
        all->items[i] = all->items[i + 1];
}

void actors_free(struct sinew_client *c)
{
    struct actors *all = &c->actors;
    while (all->count > 0)
        actors_remove(c, all->count - 1);
    for (uint32_t i = 0; i < all->mesh_count; i++)
        unref_mesh(c, all->meshes[i]);
    surface_packer_destroy(all->packer);
    free(all->normals);
    free(all->items);
    *all = (struct actors){0};
}

// ---- who is there ----

static struct actor *actor_add(struct sinew_client *c, uint32_t id)
{
    struct actors *all = &c->actors;
    if (!all->items) all->items = calloc(ACTORS_MAX, sizeof(struct actor *));
    if (!all->items || all->count == ACTORS_MAX) return NULL;
    struct actor *a = calloc(1, sizeof *a);
    uint32_t slots = c->options.playout == SINEW_PLAY_SMOOTH  ? ACTORS_SLOTS_SMOOTH
                     : c->options.playout == SINEW_PLAY_EVERY ? ACTORS_SLOTS_EVERY
                                                              : 1;
    if (a) a->slots = calloc(slots, sizeof *a->slots);
    if (!a || !a->slots) {
        free(a);
        return NULL;
    }
    a->id = id;
    a->slot_capacity = slots;
    all->items[all->count++] = a;
    return a;
}

static void actor_leaves(struct sinew_client *c, struct actor *a)
{
    if (a->gone) return;
    a->gone = true;
    drop_slots(c, a);
    drop_anchors(c, a);
    tell(c, SINEW_EVENT_ACTOR_OUT, a->id, a->character);
}

static struct mesh *find_mesh(const struct actors *all, uint32_t model, uint32_t version)
{
    for (uint32_t i = 0; i < all->mesh_count; i++)
        if (all->meshes[i]->model == model && all->meshes[i]->version == version)
            return all->meshes[i];
    return NULL;
}

static void use_mesh(struct sinew_client *c, struct actor *a, struct mesh *mesh)
{
    if (a->mesh == mesh) return;
    drop_slots(c, a);
    drop_anchors(c, a);
    unref_mesh(c, a->mesh);
    a->mesh = mesh;
    if (!mesh) return;
    mesh_ref(mesh);
    tell(c, SINEW_EVENT_SURFACE, a->id, a->character);
}

enum err actors_on_actor(struct sinew_client *c, const struct message *m)
{
    struct session_actor in;
    enum err e = session_decode_actor(m->payload, m->size_bytes, &in);
    if (e) return e;
    struct actor *a = actors_find(&c->actors, in.actor);
    bool fresh = !a || a->gone;
    if (!a) a = actor_add(c, in.actor);
    if (!a) return ERR_OK; // more than this client holds: not shown
    a->gone = false;
    a->flags = in.flags;
    a->model = in.model;
    a->version = in.model_version;
    memcpy(a->character, in.character, sizeof a->character);
    memcpy(a->name, in.name, sizeof a->name);
    if (in.flags & SESSION_ACTOR_OWN) c->actors.own = in.actor;
    if (fresh) tell(c, SINEW_EVENT_ACTOR_IN, a->id, a->character);
    use_mesh(c, a, find_mesh(&c->actors, a->model, a->version));
    return ERR_OK;
}

enum err actors_on_gone(struct sinew_client *c, const struct message *m)
{
    struct session_gone in;
    enum err e = session_decode_gone(m->payload, m->size_bytes, &in);
    struct actor *a = e ? NULL : actors_find(&c->actors, in.actor);
    if (a) actor_leaves(c, a);
    return e;
}

void actors_rejoin(struct sinew_client *c, bool resumed)
{
    for (uint32_t i = 0; i < c->actors.count; i++) {
        if (resumed)
            drop_anchors(c, c->actors.items[i]);
        else
            actor_leaves(c, c->actors.items[i]);
    }
}

// ---- surfaces ----

// Makes room for a surface in the table: first those that no actor uses.
static bool make_mesh_room(struct sinew_client *c)
{
    struct actors *all = &c->actors;
    for (uint32_t i = 0; i < all->mesh_count && all->mesh_count == ACTORS_MESHES_MAX; i++)
        if (all->meshes[i]->references == 1) {
            unref_mesh(c, all->meshes[i]);
            all->meshes[i] = all->meshes[--all->mesh_count];
        }
    return all->mesh_count < ACTORS_MESHES_MAX;
}

static void replace_mesh(struct sinew_client *c, struct mesh *mesh)
{
    struct actors *all = &c->actors;
    for (uint32_t i = 0; i < all->mesh_count; i++)
        if (all->meshes[i]->model == mesh->model && all->meshes[i]->version == mesh->version) {
            unref_mesh(c, all->meshes[i]);
            all->meshes[i] = mesh;
            return;
        }
    all->meshes[all->mesh_count++] = mesh;
}

static bool grow_packer(struct sinew_client *c, size_t vertex_count)
{
    struct actors *all = &c->actors;
    if (!all->normals) {
        all->normals = malloc(sizeof *all->normals);
        if (!all->normals) return false;
        surface_normals_build(all->normals);
    }
    if (all->packer && vertex_count <= all->packer_vertices) return true;
    struct surface_packer *packer;
    if (surface_packer_create(vertex_count, &packer) != ERR_OK) return false;
    surface_packer_destroy(all->packer);
    all->packer = packer;
    all->packer_vertices = vertex_count;
    return true;
}

static void refuse_surface(struct sinew_client *c, enum err e)
{
    const struct event event = {
        .kind = SINEW_EVENT_NOTICE, .result = SINEW_ERR_MEMORY, .time_us = sinew_now_us()};
    events_push(&c->events, &event,
                e == ERR_LIMIT ? "a surface is larger than memory_max_bytes allows: not shown"
                               : "no memory for a surface: not shown");
}

// After a resume every SURFACE comes again: the one that is held keeps its addresses.
static bool is_held(const struct sinew_client *c, const struct message *m)
{
    uint32_t model, version;
    uint64_t hash;
    if (!mesh_peek(m->payload, m->size_bytes, &model, &version, &hash) || hash == 0) return false;
    const struct mesh *mesh = find_mesh(&c->actors, model, version);
    return mesh && mesh->hash == hash;
}

enum err actors_on_surface(struct sinew_client *c, const struct message *m)
{
    if (!c->options.decode || is_held(c, m)) return ERR_OK;
    struct mesh *mesh = NULL;
    size_t room = (size_t)c->options.memory_max_bytes - c->memory_bytes;
    enum err e = mesh_create(m->payload, m->size_bytes, room, &mesh);
    if (e == ERR_OK && (!make_mesh_room(c) || !grow_packer(c, mesh->lods[0].vertex_count))) {
        (void)mesh_unref(mesh);
        e = ERR_MEMORY;
    }
    if (e == ERR_LIMIT || e == ERR_MEMORY) {
        refuse_surface(c, e);
        return ERR_OK;
    }
    if (e) return e;
    for (uint32_t k = 1; k < mesh->lod_count; k++)
        if (mesh->lods[k].vertex_count > mesh->lods[0].vertex_count) {
            (void)mesh_unref(mesh);
            return ERR_MALFORMED;
        }
    c->memory_bytes += mesh->size_bytes;
    mesh->id = ++c->actors.mesh_id;
    replace_mesh(c, mesh);
    for (uint32_t i = 0; i < c->actors.count; i++) {
        struct actor *a = c->actors.items[i];
        if (!a->gone && a->model == mesh->model && a->version == mesh->version)
            use_mesh(c, a, mesh);
    }
    return ERR_OK;
}

enum err actors_on_appearance(struct sinew_client *c, const struct message *m)
{
    if (!c->options.decode) return ERR_OK;
    struct appearance_message in;
    enum err e = appearance_message_decode(m->payload, m->size_bytes, &in);
    if (e) return e;
    struct actor *a = actors_find(&c->actors, in.actor);
    if (!a || a->gone) return ERR_OK;
    struct actor_materials fresh = {.version = in.version, .count = in.material_count};
    if (!client_take_memory(c, materials_bytes(fresh.count))) return ERR_OK; // shown without
    fresh.items = calloc(1, materials_bytes(fresh.count));
    if (!fresh.items) {
        client_give_memory(c, materials_bytes(fresh.count));
        return ERR_OK;
    }
    for (uint32_t i = 0; i < in.material_count; i++) {
        appearance_message_material(&in, i, &fresh.items[i]);
        for (int k = 0; k < APPEARANCE_USE_COUNT && c->options.textures; k++)
            textures_note(c, fresh.items[i].textures[k].hash);
    }
    actors_materials_free(c, &a->materials_new);
    a->materials_new = fresh;
    a->materials_fresh = true;
    tell(c, SINEW_EVENT_APPEARANCE, a->id, NULL);
    return ERR_OK;
}

// ---- frames ----

bool actors_same_grid(const struct surface_grid *a, const struct surface_grid *b)
{
    bool same = a->step == b->step && a->bits == b->bits;
    for (int k = 0; k < 3; k++)
        same = same && a->origin[k] == b->origin[k];
    return same;
}

// The anchors of the frame's detail, cleared when its grid is another one.
static struct actors_detail *detail_for(struct sinew_client *c, struct actor *a,
                                        const struct frame_message *f,
                                        const struct surface_grid *grid)
{
    struct actors_detail *d = &a->details[f->lod];
    if (!d->memory) {
        size_t size = surface_anchors_bytes(f->vertex_count) + 16;
        if (!client_take_memory(c, size)) return NULL;
        d->memory = aligned_alloc(16, (size + 15) & ~(size_t)15);
        if (!d->memory) {
            client_give_memory(c, size);
            return NULL;
        }
        d->memory_bytes = size;
        surface_anchors_init(&d->anchors, d->memory, f->vertex_count);
        d->grid = *grid;
    }
    if (!actors_same_grid(&d->grid, grid)) {
        surface_anchors_clear(&d->anchors);
        d->grid = *grid;
    }
    return d;
}

// The slot that the next frame is decoded into; the oldest gives way. It counts only once
// slot_count is raised.
static struct actors_slot *next_slot(struct sinew_client *c, struct actor *a, size_t need_bytes)
{
    if (a->slot_count == a->slot_capacity) {
        if (!actors_slot_at(a, 0)->shown) c->figures.frames_unshown++;
        actors_pop_slot(a);
    }
    struct actors_slot *s = actors_slot_at(a, a->slot_count);
    if (s->capacity_bytes < need_bytes) {
        free(s->rows);
        client_give_memory(c, s->capacity_bytes);
        *s = (struct actors_slot){0};
        if (!client_take_memory(c, need_bytes)) return NULL;
        s->rows = aligned_alloc(16, (need_bytes + 15) & ~(size_t)15);
        if (!s->rows) {
            client_give_memory(c, need_bytes);
            return NULL;
        }
        s->capacity_bytes = need_bytes;
    }
    return s;
}

static enum err decode_grid(struct sinew_client *c, struct actor *a, const struct frame_message *f,
                            struct actors_slot *slot)
{
    size_t row_bytes = (size_t)f->vertex_count * sizeof(struct surface_row);
    struct actors_detail *d = detail_for(c, a, f, &slot->grid);
    if (!d) return ERR_MEMORY;
    const struct surface_row *anchor = surface_anchors_find(&d->anchors, f->anchor);
    if (f->anchor != 0 && !anchor) return ERR_NOT_FOUND;
    if (f->flags & FRAME_STILL) {
        if (!anchor) return ERR_NOT_FOUND;
        memcpy(slot->rows, anchor, row_bytes);
    } else {
        struct surface_decode_job job = {.level = c->simd,
                                         .payload = f->payload,
                                         .size_bytes = f->payload_bytes,
                                         .vertex_count = f->vertex_count,
                                         .bits = f->bits,
                                         .predictors = a->mesh->lods[f->lod].predictors,
                                         .anchor = anchor,
                                         .rows = slot->rows};
        enum err e = surface_decode(&job, c->actors.packer);
        if (e) return e;
    }
    if (f->flags & FRAME_ANCHOR && f->frame != 0) {
        memcpy(surface_anchors_spare(&d->anchors), slot->rows, row_bytes);
        surface_anchors_keep(&d->anchors, f->frame);
    }
    return ERR_OK;
}

static enum err decode_into(struct sinew_client *c, struct actor *a, const struct frame_message *f,
                            struct actors_slot *slot)
{
    slot->grid = (struct surface_grid){.step = f->step, .bits = f->bits};
    memcpy(slot->grid.origin, f->origin, sizeof f->origin);
    if (f->codec == SURFACE_CODEC_RAW) {
        enum err e = surface_decode_raw_check(f->payload, f->payload_bytes, f->vertex_count);
        if (e == ERR_OK && f->payload_bytes) memcpy(slot->rows, f->payload, f->payload_bytes);
        slot->raw = true;
        return e;
    }
    slot->raw = false;
    return decode_grid(c, a, f, slot);
}

static void fill_slot(struct actors_slot *s, const struct frame_message *f, uint64_t now_us)
{
    s->shown = false;
    s->lod = f->lod;
    s->vertex_count = f->vertex_count;
    s->flags = f->flags;
    s->frame = f->frame;
    s->input_sequence = f->input_sequence;
    s->tick = f->tick;
    s->server_time_us = f->server_time_us;
    s->receive_time_us = now_us;
    memcpy(s->translation, f->translation, sizeof s->translation);
    memcpy(s->rotation, f->rotation, sizeof s->rotation);
    s->scale = f->scale;
}

// Whether this client can look at the payload at all, whatever the bytes are.
static bool is_decodable(const struct sinew_client *c, const struct actor *a,
                         const struct frame_message *f)
{
    if (!a->mesh || f->lod >= a->mesh->lod_count) return false;
    if (f->vertex_count != a->mesh->lods[f->lod].vertex_count) return false;
    if (f->codec == SURFACE_CODEC_RAW) // floats do not go into these formats
        return c->options.position_format == SINEW_POSITION_FLOAT3 &&
               (c->options.normal_format == SINEW_NORMAL_FLOAT3 ||
                c->options.normal_format == SINEW_NORMAL_NONE);
    struct surface_grid grid = {.step = f->step, .bits = f->bits};
    memcpy(grid.origin, f->origin, sizeof grid.origin);
    return f->codec == SURFACE_CODEC_GRID && surface_grid_valid(&grid);
}

static bool decode_frame(struct sinew_client *c, struct actor *a, const struct frame_message *f,
                         uint64_t now_us)
{
    if (!is_decodable(c, a, f)) return false;
    // Time runs backwards only when the server began anew: what waits is of another life.
    if (a->slot_count > 0 && f->tick <= actors_slot_at(a, a->slot_count - 1)->tick)
        a->slot_first = a->slot_count = 0;
    size_t need = (size_t)f->vertex_count * SURFACE_RAW_VERTEX_BYTES;
    if (f->codec != SURFACE_CODEC_RAW) need = f->vertex_count * sizeof(struct surface_row);
    struct actors_slot *slot = next_slot(c, a, need + 16);
    if (!slot || decode_into(c, a, f, slot) != ERR_OK) return false;
    fill_slot(slot, f, now_us);
    a->slot_count++;
    return true;
}

static void ask_resync(struct sinew_client *c, struct actor *a, uint32_t frame, uint64_t now_us)
{
    c->figures.frames_undecoded++;
    if (a->resync_at_us != 0 && now_us - a->resync_at_us < RESYNC_US) return;
    a->resync_at_us = now_us;
    c->figures.resyncs++;
    session_send_resync(c, &(struct session_resync){.actor = a->id, .frame = frame});
}

static void count_own(struct sinew_client *c, const struct frame_message *f, uint64_t now_us)
{
    struct figures *g = &c->figures;
    const struct hello_welcome *w = &c->session.welcome;
    g->frames_own++;
    if (g->own_at_us != 0) {
        histogram_add(&g->interval, now_us - g->own_at_us);
        double nominal = w->tick_hz && w->quality.rate_hz && w->quality.rate_hz < w->tick_hz
                             ? (double)w->tick_hz / w->quality.rate_hz
                             : 1;
        double steps = (double)(f->tick - g->own_tick) / nominal + 0.5;
        if (f->tick > g->own_tick && steps >= 2 && steps < 1e9)
            g->frames_missed += (uint64_t)steps - 1;
    }
    g->own_at_us = now_us;
    g->own_tick = f->tick;
}

static void count_frame(struct sinew_client *c, const struct frame_message *f, uint64_t now_us,
                        struct sinew_frame *info)
{
    struct figures *g = &c->figures;
    g->frames++;
    g->frames_key += f->flags & FRAME_KEY ? 1 : 0;
    g->vertex_bits += (uint64_t)f->payload_bytes * 8;
    g->vertices += f->vertex_count;
    if (c->clock.known) {
        info->age_us = (int64_t)(now_us + (uint64_t)c->clock.offset_us - f->server_time_us);
        if (info->age_us < 0) info->age_us = 0;
        histogram_add(&g->age, (uint64_t)info->age_us);
    }
    if (f->actor == c->actors.own) {
        count_own(c, f, now_us);
        info->latency_us = input_on_seen(&c->input, f->input_sequence, now_us);
        if (info->latency_us >= 0) histogram_add(&g->latency, (uint64_t)info->latency_us);
    }
}

enum err actors_on_frame(struct sinew_client *c, const struct message *m, uint64_t now_us)
{
    struct frame_message f;
    enum err e = frame_message_decode(m->payload, m->size_bytes, &f);
    if (e) { // which actor it was for is not known: all of them begin anew
        for (uint32_t i = 0; i < c->actors.count; i++)
            ask_resync(c, c->actors.items[i], 0, now_us);
        return ERR_OK;
    }
    struct actor *a = actors_find(&c->actors, f.actor);
    if (!a || a->gone) return ERR_OK; // it was on its way when the actor left
    struct sinew_frame info = {.struct_size = sizeof info,
                               .actor = f.actor,
                               .frame = f.frame,
                               .input_sequence = f.input_sequence,
                               .vertex_count = f.vertex_count,
                               .payload_bytes = f.payload_bytes,
                               .detail = f.lod,
                               .key = f.flags & FRAME_KEY ? 1 : 0,
                               .tick = f.tick,
                               .server_time_us = f.server_time_us,
                               .receive_time_us = now_us,
                               .age_us = -1,
                               .latency_us = -1};
    count_frame(c, &f, now_us, &info);
    playout_arrive(&c->playout, f.server_time_us, now_us);
    if (f.model != a->model || f.model_version != a->version || !a->mesh) {
        struct mesh *mesh = find_mesh(&c->actors, f.model, f.model_version);
        if (mesh) {
            a->model = f.model;
            a->version = f.model_version;
            use_mesh(c, a, mesh);
        }
    }
    bool decoded = c->options.decode && decode_frame(c, a, &f, now_us);
    if (decoded || !c->options.decode) {
        a->newest_frame = f.frame;
        a->newest_tick = f.tick;
        a->newest_receive_us = now_us;
        if (f.flags & FRAME_ANCHOR) session_note_anchor(c, a->id, f.frame, now_us);
    } else if (a->mesh) { // without its SURFACE a key frame would not help
        ask_resync(c, a, f.frame, now_us);
    } else {
        c->figures.frames_undecoded++;
    }
    info.decoded = decoded;
    if (c->options.on_frame) c->options.on_frame(&info, c->options.owner);
    return ERR_OK;
}

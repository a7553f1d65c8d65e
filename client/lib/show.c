#include "client/lib/show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/client.h"
#include "common/check.h"

// ---- the vertex layout ----

static uint32_t position_bytes(const struct sinew_client *c)
{
    return c->options.position_format == SINEW_POSITION_FLOAT3 ? 12 : 8;
}

static uint32_t stride_bytes(const struct sinew_client *c)
{
    static const uint32_t normal[] = {[SINEW_NORMAL_FLOAT3] = 12,
                                      [SINEW_NORMAL_INT16_4] = 8,
                                      [SINEW_NORMAL_OCT8_2] = 4,
                                      [SINEW_NORMAL_NONE] = 0};
    return position_bytes(c) + normal[c->options.normal_format];
}

static void write_plain(const struct sinew_client *c, struct actor *a, const struct actors_slot *s)
{
    static const enum surface_format formats[] = {[SINEW_NORMAL_FLOAT3] = SURFACE_FLOAT3,
                                                  [SINEW_NORMAL_INT16_4] = SURFACE_INT16_4,
                                                  [SINEW_NORMAL_OCT8_2] = SURFACE_INT8_2,
                                                  [SINEW_NORMAL_NONE] = SURFACE_NOTHING};
    const struct surface_view view = {
        .positions = a->vertices,
        .position_stride_bytes = stride_bytes(c),
        .position_format =
            c->options.position_format == SINEW_POSITION_FLOAT3 ? SURFACE_FLOAT3 : SURFACE_UINT16_4,
        .normals = (uint8_t *)a->vertices + position_bytes(c),
        .normal_stride_bytes = stride_bytes(c),
        .normal_format = formats[c->options.normal_format]};
    if (s->raw)
        surface_view_write_raw(&view, s->rows, s->vertex_count);
    else
        surface_view_write(&view, s->rows, s->vertex_count, &s->grid, c->actors.normals);
}

// ---- interpolation ----

struct blend {
    const struct sinew_client *client;
    const struct actors_slot *from, *to;
    float t;
};

static void blend_position(const struct blend *b, size_t i, uint8_t *out)
{
    float p[2][3];
    const struct actors_slot *slots[] = {b->from, b->to};
    for (int s = 0; s < 2; s++) {
        if (slots[s]->raw) {
            memcpy(p[s], (const uint8_t *)slots[s]->rows + i * SURFACE_RAW_VERTEX_BYTES, 12);
            continue;
        }
        const struct surface_row *row = (const struct surface_row *)slots[s]->rows + i;
        for (int k = 0; k < 3; k++)
            p[s][k] = slots[s]->grid.origin[k] + slots[s]->grid.step * (float)row->position[k];
    }
    for (int k = 0; k < 3; k++)
        p[0][k] += (p[1][k] - p[0][k]) * b->t;
    memcpy(out, p[0], 12);
}

static void blend_grid_position(const struct blend *b, size_t i, uint8_t *out)
{
    const struct surface_row *from = (const struct surface_row *)b->from->rows + i;
    const struct surface_row *to = (const struct surface_row *)b->to->rows + i;
    uint16_t p[4] = {0};
    for (int k = 0; k < 3; k++) {
        float step = ((float)to->position[k] - (float)from->position[k]) * b->t;
        p[k] = (uint16_t)((float)from->position[k] + step + 0.5f);
    }
    memcpy(out, p, sizeof p);
}

static void read_normal(const struct blend *b, const struct actors_slot *s, size_t i, float out[3])
{
    if (s->raw) {
        memcpy(out, (const uint8_t *)s->rows + i * SURFACE_RAW_VERTEX_BYTES + 12, 12);
        return;
    }
    const struct surface_row *row = (const struct surface_row *)s->rows + i;
    int16_t n[3];
    surface_normals_get(b->client->actors.normals, row->normal[0], row->normal[1], n);
    for (int k = 0; k < 3; k++)
        out[k] = (float)n[k] / 32767.0f;
}

static void blend_normal(const struct blend *b, size_t i, uint8_t *out)
{
    float n[3], m[3];
    read_normal(b, b->from, i, n);
    read_normal(b, b->to, i, m);
    float square = 0;
    for (int k = 0; k < 3; k++) {
        n[k] += (m[k] - n[k]) * b->t;
        square += n[k] * n[k];
    }
    if (square > 1e-12f) {
        float scale = 1 / sqrtf(square);
        for (int k = 0; k < 3; k++)
            n[k] *= scale;
    }
    int16_t q[4] = {0};
    switch (b->client->options.normal_format) {
    case SINEW_NORMAL_FLOAT3:
        memcpy(out, n, 12);
        break;
    case SINEW_NORMAL_INT16_4:
        for (int k = 0; k < 3; k++)
            q[k] = (int16_t)(n[k] * 32767.0f + (n[k] < 0 ? -0.5f : 0.5f));
        memcpy(out, q, sizeof q);
        break;
    case SINEW_NORMAL_OCT8_2:
        surface_normal_pack(n, q);
        out[0] = (uint8_t)q[0];
        out[1] = (uint8_t)q[1];
        break;
    case SINEW_NORMAL_NONE:
        break;
    }
}

static void write_blend(const struct blend *b, struct actor *a)
{
    uint8_t *out = a->vertices;
    uint32_t stride = stride_bytes(b->client), normal_at = position_bytes(b->client);
    bool grid = b->client->options.position_format == SINEW_POSITION_UINT16_4;
    bool normals = b->client->options.normal_format != SINEW_NORMAL_NONE;
    for (size_t i = 0; i < b->from->vertex_count; i++, out += stride) {
        if (grid)
            blend_grid_position(b, i, out);
        else
            blend_position(b, i, out);
        if (normals) blend_normal(b, i, out + normal_at);
    }
}

static void blend_transform(struct actors_slot *shown, const struct actors_slot *to, float t)
{
    float dot = 0, square = 0;
    for (int k = 0; k < 4; k++)
        dot += shown->rotation[k] * to->rotation[k];
    for (int k = 0; k < 4; k++) {
        float other = dot < 0 ? -to->rotation[k] : to->rotation[k];
        shown->rotation[k] += (other - shown->rotation[k]) * t;
        square += shown->rotation[k] * shown->rotation[k];
    }
    for (int k = 0; k < 4; k++)
        shown->rotation[k] = square > 1e-12f ? shown->rotation[k] / sqrtf(square) : to->rotation[k];
    for (int k = 0; k < 3; k++)
        shown->translation[k] += (to->translation[k] - shown->translation[k]) * t;
    shown->scale += (to->scale - shown->scale) * t;
}

static bool can_blend(const struct sinew_client *c, const struct actors_slot *from,
                      const struct actors_slot *to)
{
    if (to->flags & FRAME_JUMP || from->lod != to->lod) return false;
    if (c->options.position_format == SINEW_POSITION_FLOAT3) return true;
    return actors_same_grid(&from->grid, &to->grid); // or its numbers mean other things
}

// ---- what to show ----

// The buffer of a mesh is as large as its full detail needs, so a change of detail keeps it.
static bool prepare_buffer(struct sinew_client *c, struct actor *a)
{
    if (a->shown_mesh == a->mesh && a->vertices) return true;
    size_t size = (size_t)a->mesh->lods[0].vertex_count * stride_bytes(c) + 16;
    if (!client_take_memory(c, size)) return false;
    void *fresh = calloc(1, size);
    if (!fresh) {
        client_give_memory(c, size);
        return false;
    }
    client_give_memory(c, a->vertices_bytes);
    a->retired = a->vertices; // the application may hold them until its next sinew_update
    a->retired_mesh = a->shown_mesh;
    a->vertices = fresh;
    a->vertices_bytes = size;
    a->shown_mesh = a->mesh;
    mesh_ref(a->mesh);
    a->has_frame = false;
    return true;
}

static bool show_slot(struct sinew_client *c, struct actor *a, struct actors_slot *from,
                      const struct actors_slot *to, double t)
{
    if (!prepare_buffer(c, a)) return false;
    struct actors_slot next = *from;
    if (to && t > 0) {
        const struct blend b = {.client = c, .from = from, .to = to, .t = (float)t};
        write_blend(&b, a);
        blend_transform(&next, to, (float)t);
        next.tick = to->tick;
    } else {
        write_plain(c, a, from);
    }
    a->shown_time_us = from->server_time_us;
    if (to && t > 0)
        a->shown_time_us += (uint64_t)((double)(to->server_time_us - from->server_time_us) * t);
    next.rows = NULL;
    a->shown = next;
    a->shown_lod = from->lod;
    a->shown_blend = t;
    a->has_frame = true;
    a->changes++;
    from->shown = true;
    return true;
}

static void note_shown(struct sinew_client *c, struct actor *a, const struct actors_slot *s,
                       uint64_t now_us)
{
    if (a->rendered_frame == s->frame && a->rendered_us != 0) return;
    a->rendered_frame = s->frame;
    a->rendered_us = now_us;
    if (!c->clock.known) return;
    int64_t age = (int64_t)(now_us + (uint64_t)c->clock.offset_us - s->server_time_us);
    histogram_add(&c->figures.shown_age, age > 0 ? (uint64_t)age : 0);
}

static bool show_next(struct sinew_client *c, struct actor *a, uint64_t now_us)
{
    if (a->slot_count == 0) return false;
    struct actors_slot *s = actors_slot_at(a, 0);
    if (s->shown) return false;
    bool changed = show_slot(c, a, s, NULL, 0);
    if (changed) note_shown(c, a, s, now_us);
    // Recorders go on to the next; otherwise the slot stays until a newer frame needs it.
    if (c->options.playout == SINEW_PLAY_EVERY) actors_pop_slot(a);
    return changed;
}

static bool show_smooth(struct sinew_client *c, struct actor *a, uint64_t at_us, uint64_t now_us)
{
    if (a->slot_count == 0) return false;
    while (a->slot_count > 1 && actors_slot_at(a, 1)->server_time_us <= at_us) {
        if (!actors_slot_at(a, 0)->shown) c->figures.frames_unshown++;
        actors_pop_slot(a);
    }
    struct actors_slot *from = actors_slot_at(a, 0);
    struct actors_slot *to = a->slot_count > 1 ? actors_slot_at(a, 1) : NULL;
    bool begun = from->server_time_us <= at_us;
    if (!begun && a->has_frame) return false; // not its time yet
    double t = 0;
    if (begun && to && can_blend(c, from, to))
        t = (double)(at_us - from->server_time_us) /
            (double)(to->server_time_us - from->server_time_us);
    if (from->shown && a->shown.frame == from->frame && t == a->shown_blend) return false;
    if (!show_slot(c, a, from, to, t)) return false;
    note_shown(c, a, from, now_us);
    return true;
}

static void swap_materials(struct actor *a)
{
    if (!a->materials_fresh) return;
    a->retired_materials = a->materials;
    a->materials = a->materials_new;
    a->materials_new = (struct actor_materials){0};
    a->materials_fresh = false;
}

static void release_retired(struct sinew_client *c, struct actor *a)
{
    free(a->retired);
    a->retired = NULL;
    size_t size = a->retired_mesh ? a->retired_mesh->size_bytes : 0;
    if (mesh_unref(a->retired_mesh)) client_give_memory(c, size);
    a->retired_mesh = NULL;
    actors_materials_free(c, &a->retired_materials);
}

static void swap_text(char **held, char **fresh, bool *is_fresh)
{
    if (!*is_fresh) return;
    free(*held);
    *held = *fresh;
    *fresh = NULL;
    *is_fresh = false;
}

int show_update(struct sinew_client *c, uint64_t now_us)
{
    int changed = 0;
    uint64_t at_us = playout_time(&c->playout, now_us);
    swap_text(&c->bindings, &c->bindings_new, &c->bindings_fresh);
    swap_text(&c->catalogue, &c->catalogue_new, &c->catalogue_fresh);
    for (uint32_t i = 0; i < c->textures.count; i++)
        c->textures.items[i].shown = c->textures.items[i].whole;
    for (uint32_t i = c->actors.count; i-- > 0;) {
        struct actor *a = c->actors.items[i];
        release_retired(c, a);
        if (a->gone) {
            actors_remove(c, i);
            continue;
        }
        swap_materials(a);
        if (!a->mesh) continue;
        bool now = c->options.playout == SINEW_PLAY_SMOOTH ? show_smooth(c, a, at_us, now_us)
                                                           : show_next(c, a, now_us);
        changed += now;
    }
    return changed;
}

// ---- what is handed out ----

static void describe_surface(const struct sinew_client *c, const struct actor *a,
                             struct sinew_actor *out)
{
    const struct mesh *mesh = a->shown_mesh;
    const struct mesh_lod *l = &mesh->lods[a->shown_lod];
    out->surface = mesh->id * SURFACE_LODS_MAX + a->shown_lod;
    out->unit_m = mesh->unit_m;
    memcpy(out->box_min, mesh->box_min, sizeof out->box_min);
    memcpy(out->box_max, mesh->box_max, sizeof out->box_max);
    out->vertices = a->vertices;
    out->vertex_count = l->vertex_count;
    out->stride_bytes = stride_bytes(c);
    out->normal_offset_bytes = position_bytes(c);
    out->indices = l->indices;
    out->index_count = l->index_count;
    out->parts = l->parts;
    out->part_count = l->part_count;
    out->detail = a->shown_lod;
    out->uvs = l->uvs;
    out->colors = l->colors;
    out->source_vertices = l->sources;
    out->source_vertex_count = mesh->lods[0].vertex_count;
    memcpy(out->origin, a->shown.grid.origin, sizeof out->origin);
    out->step = a->shown.grid.step;
}

void show_describe(const struct sinew_client *c, const struct actor *a, struct sinew_actor *out)
{
    *out = (struct sinew_actor){.struct_size = sizeof *out,
                                .actor = a->id,
                                .flags = a->flags & (SINEW_ACTOR_OWN | SINEW_ACTOR_CONTROLLED),
                                .changes = a->changes,
                                .character = a->character,
                                .name = a->name,
                                .rotation = {0, 0, 0, 1},
                                .scale = 1,
                                .position_format = c->options.position_format,
                                .normal_format = c->options.normal_format,
                                .material_count = a->materials.count};
    if (c->session.phase != SESSION_JOINED) out->flags |= SINEW_ACTOR_STALE;
    if (!a->has_frame) return;
    memcpy(out->translation, a->shown.translation, sizeof out->translation);
    memcpy(out->rotation, a->shown.rotation, sizeof out->rotation);
    out->scale = a->shown.scale;
    out->tick = a->shown.tick;
    out->server_time_us = a->shown_time_us;
    out->input_sequence = a->shown.input_sequence;
    describe_surface(c, a, out);
}

static void rotate(const double q[4], const double v[3], double out[3])
{
    // v + 2 w (q x v) + 2 q x (q x v), for a unit quaternion.
    double c[3] = {q[1] * v[2] - q[2] * v[1], q[2] * v[0] - q[0] * v[2], q[0] * v[1] - q[1] * v[0]};
    double d[3] = {q[1] * c[2] - q[2] * c[1], q[2] * c[0] - q[0] * c[2], q[0] * c[1] - q[1] * c[0]};
    for (int k = 0; k < 3; k++)
        out[k] = v[k] + 2 * (q[3] * c[k] + d[k]);
}

static void read_shown(const struct sinew_client *c, const struct actor *a, size_t i, double p[3],
                       double n[3])
{
    const uint8_t *at = (const uint8_t *)a->vertices + i * stride_bytes(c);
    float f[3] = {0};
    uint16_t u[3];
    int16_t s[3] = {0};
    if (c->options.position_format == SINEW_POSITION_FLOAT3) {
        memcpy(f, at, sizeof f);
    } else {
        memcpy(u, at, sizeof u);
        for (int k = 0; k < 3; k++)
            f[k] = a->shown.grid.origin[k] + a->shown.grid.step * (float)u[k];
    }
    for (int k = 0; k < 3; k++)
        p[k] = (double)f[k];
    at += position_bytes(c);
    memset(f, 0, sizeof f);
    if (c->options.normal_format == SINEW_NORMAL_FLOAT3) memcpy(f, at, sizeof f);
    if (c->options.normal_format == SINEW_NORMAL_INT16_4) memcpy(s, at, sizeof s);
    if (c->options.normal_format == SINEW_NORMAL_OCT8_2)
        surface_normals_get(c->actors.normals, (int8_t)at[0], (int8_t)at[1], s);
    for (int k = 0; k < 3; k++)
        n[k] = c->options.normal_format == SINEW_NORMAL_FLOAT3 ? (double)f[k] : s[k] / 32767.0;
}

int show_gather(const struct sinew_client *c, const struct actor *a, float *positions,
                float *normals)
{
    if (!a->has_frame || a->shown_lod != 0) return SINEW_ERR_STATE;
    const struct mesh_lod *l = &a->shown_mesh->lods[0];
    const struct actors_slot *s = &a->shown;
    double q[4], square = 0;
    for (int k = 0; k < 4; k++)
        square += (double)s->rotation[k] * (double)s->rotation[k];
    for (int k = 0; k < 4; k++)
        q[k] = (double)s->rotation[k] / sqrt(square > 0 ? square : 1);
    for (size_t i = 0; i < l->vertex_count; i++) {
        double p[3], n[3], r[3];
        size_t to = (size_t)l->sources[i] * 3;
        read_shown(c, a, i, p, n);
        for (int k = 0; k < 3; k++)
            p[k] *= (double)s->scale;
        rotate(q, p, r);
        for (int k = 0; k < 3; k++)
            positions[to + (size_t)k] = (float)(r[k] + (double)s->translation[k]);
        if (!normals) continue;
        rotate(q, n, r);
        for (int k = 0; k < 3; k++)
            normals[to + (size_t)k] = (float)r[k];
    }
    return SINEW_OK;
}

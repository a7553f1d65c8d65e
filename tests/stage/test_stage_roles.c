#include "proto/appearance_message.h"
#include "server/model/container.h"
#include "server/model/validate.h"
#include "tests/stage/play.h"
#include "tests/testing.h"
int testing_failures;

static struct role *build(enum play_model model, const char *name)
{
    struct role_options options = {.name = name, .number = 3, .version = 5, .level = simd_best()};
    struct fault fault = {0};
    struct role *role = NULL;
    EXPECT(role_build(play_model_file(model), &options, &role, &fault) == ERR_OK);
    if (fault.code) printf("  %s\n", fault.line);
    return role;
}

static void coarser_details_use_fewer_of_the_same_vertices(void)
{
    struct role *r = build(PLAY_PUP, "pup");
    const struct model *m = r->model;
    EXPECT(m->details_count == 2 && r->detail_count == 3);
    EXPECT(r->details[0].vertex_count == model_vertex_count(m) && r->details[0].error == 0);
    for (uint32_t d = 1; d < r->detail_count; d++) {
        EXPECT(r->details[d].vertex_count < r->details[d - 1].vertex_count * 8 / 10);
        EXPECT(r->details[d].index_count < r->details[d - 1].index_count);
        EXPECT(r->details[d].error > r->details[d - 1].error);
        EXPECT(r->details[d].error < 0.1f * (m->info->box_max[1] - m->info->box_min[1]));
        EXPECT(surface_predictors_valid(r->details[d].predictors, r->details[d].vertex_count));
        for (uint32_t i = 0; i < r->details[d].vertex_count; i++)
            EXPECT(r->details[d].lanes[i] < m->blocks_count * MODEL_LANES);
    }
    role_unref(r);
}

static void the_surface_message_says_which_vertex_is_which(void)
{
    struct role *r = build(PLAY_PUP, "pup");
    const struct model *m = r->model;
    struct surface_message s;
    EXPECT(surface_message_decode(r->surface, r->surface_bytes, &s) == ERR_OK);
    EXPECT(s.model == 3 && s.version == 5 && s.lod_count == r->detail_count);
    EXPECT(s.unit_m == m->info->unit_m);
    uint32_t *full = NULL;
    for (uint32_t d = 0; d < s.lod_count; d++) {
        const struct surface_section *vertices = surface_message_find(&s, SURFACE_VERTICES, d, 0);
        const struct surface_section *indices = surface_message_find(&s, SURFACE_INDICES, d, 0);
        const struct surface_section *parts = surface_message_find(&s, SURFACE_PARTS, d, 0);
        uint32_t *v = malloc(vertices->unpacked_bytes), *k = malloc(indices->unpacked_bytes);
        struct surface_part *p = malloc(parts->unpacked_bytes);
        EXPECT(surface_message_unpack(&s, vertices, v) == ERR_OK);
        EXPECT(surface_message_unpack(&s, indices, k) == ERR_OK);
        EXPECT(surface_message_unpack(&s, parts, p) == ERR_OK);
        if (d == 0) full = v;
        for (uint32_t i = 0; i < s.lods[d].vertex_count; i++)
            EXPECT(r->details[d].lanes[i] == m->vertex_lanes[d == 0 ? v[i] : full[v[i]]]);
        for (uint32_t i = 0; i < s.lods[d].part_count; i++)
            for (uint32_t c = 0; c < p[i].index_count; c++) {
                uint32_t at = v[k[p[i].index_first + c]], source = d == 0 ? at : full[at];
                EXPECT(source - p[i].source_first < p[i].source_count);
                // The full surface has the model's own triangles.
                if (d == 0) EXPECT(source == m->indices[m->parts[i].index_first + c]);
            }
        if (d > 0) free(v);
        free(k);
        free(p);
    }
    const struct surface_section *uvs = surface_message_find(&s, SURFACE_UVS, 0, 0);
    EXPECT(uvs != NULL);
    float *uv = malloc(uvs->unpacked_bytes);
    EXPECT(surface_message_unpack(&s, uvs, uv) == ERR_OK);
    for (uint32_t i = 0; i < s.lods[0].vertex_count; i++)
        for (size_t part = 0; part < m->parts_count; part++) {
            const struct model_part *p = &m->parts[part];
            uint32_t at = full[i] - p->vertex_first;
            if (at >= p->vertex_count || p->uv_set_count == 0) continue;
            EXPECT(uv[2 * i] == m->uvs[2 * ((size_t)p->uv_first + at)]);
        }
    free(uv);
    free(full);
    role_unref(r);
}

static void damaged_detail_tables_are_refused(void)
{
    const struct model *m = model_file_model(play_model_file(PLAY_PUP));
    struct fault fault = {0};
    EXPECT(validate_model(m, &fault) == ERR_OK);
    for (int kind = 0; kind < 7; kind++) {
        struct model bad = *m;
        struct model_detail details[MODEL_DETAILS_MAX + 1] = {m->details[0], m->details[1],
                                                              m->details[1]};
        uint32_t *indices = malloc(m->detail_indices_count * sizeof *indices);
        uint32_t *vertices = malloc(m->detail_vertices_count * sizeof *vertices);
        memcpy(indices, m->detail_indices, m->detail_indices_count * sizeof *indices);
        memcpy(vertices, m->detail_vertices, m->detail_vertices_count * sizeof *vertices);
        bad.details = details;
        bad.detail_indices = indices;
        bad.detail_vertices = vertices;
        if (kind == 0) details[1].vertex_count = UINT32_MAX;
        if (kind == 1) details[1].part_first++;
        if (kind == 2) details[0].error = NAN;
        if (kind == 3) indices[0] = (uint32_t)model_vertex_count(m);
        if (kind == 4) vertices[1] = vertices[0];
        if (kind == 5) bad.details_count = MODEL_DETAILS_MAX + 1;
        if (kind == 6) details[1].vertex_count--; // an index names a vertex that is not listed
        fault = (struct fault){0};
        EXPECT(validate_model(&bad, &fault) == ERR_MALFORMED);
        EXPECT(strstr(fault.line, "detail") != NULL);
        free(indices);
        free(vertices);
    }
}

static void appearance_names_the_textures_that_can_be_asked_for(void)
{
    struct role *r = build(PLAY_PUP, "pup");
    struct appearance_message a;
    uint8_t *bytes = malloc(r->appearance_bytes);
    memcpy(bytes, r->appearance, r->appearance_bytes);
    role_appearance_head(r, 77, bytes);
    EXPECT(appearance_message_decode(bytes, r->appearance_bytes, &a) == ERR_OK);
    EXPECT(a.actor == 77 && a.version == 5 && a.material_count == r->model->materials_count);
    static const uint8_t none[SESSION_HASH_BYTES];
    size_t used = 0;
    for (uint32_t i = 0; i < a.material_count; i++) {
        struct appearance_material m;
        appearance_message_material(&a, i, &m);
        for (int k = 0; k < APPEARANCE_USE_COUNT; k++) {
            if (memcmp(m.textures[k].hash, none, sizeof none) == 0) continue;
            const struct role_texture *t = role_texture_find(r, m.textures[k].hash);
            EXPECT(t && t->size_bytes == m.textures[k].size_bytes);
            used++;
        }
    }
    EXPECT((used > 0) == (r->texture_count > 0));
    EXPECT(role_texture_find(r, none) == NULL);
    free(bytes);
    role_unref(r);
}

static void the_catalogue_lists_what_inputs_may_name(void)
{
    struct role *r = build(PLAY_SAMPLE, "sample");
    static const char *const words[] = {
        "\"clips\":[\"bend\"]", "\"clip_seconds\":[", "\"shapes\":[\"wide\"]", "\"joints\":[",
        "\"parameters\":[]",    "\"roots\":[]",       "\"actions\":[]"};
    char text[1024] = {0};
    EXPECT(r->catalogue_bytes < sizeof text);
    memcpy(text, r->catalogue_json, r->catalogue_bytes);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        EXPECT(strstr(text, words[i]) != NULL);
    EXPECT(fabs(strtod(strstr(text, "\"clip_seconds\":[") + 16, NULL) -
                (double)r->model->clips[0].duration_s) < 1e-6);
    EXPECT(r->default_clip == 0 && !r->still);
    role_unref(r);
    r = build(PLAY_PUP, "pup");
    EXPECT(strcmp(model_text(r->model, r->model->clips[r->default_clip].name), "Idle") == 0);
    role_unref(r);
}

// A model with two roots, written here: half and half, but for the last vertex.
static void tables_of_roots_are_files(void)
{
    struct role *plain = build(PLAY_SAMPLE, "sample");
    struct model m = *plain->model;
    size_t vertices = model_vertex_count(&m);
    struct model_root roots[2] = {{.name = m.nodes[0].name, .ride = MODEL_NONE, .turn_limit = 4},
                                  {.name = m.nodes[1].name, .ride = MODEL_NONE, .turn_limit = 4}};
    float *shares = malloc(2 * vertices * sizeof *shares);
    uint32_t *across = calloc(m.nodes_count, sizeof *across);
    for (uint32_t i = 0; i < m.nodes_count; i++)
        across[i] = i;
    uint8_t *owners = calloc(m.nodes_count, 1);
    for (size_t i = 0; i < 2 * vertices; i++)
        shares[i] = 0.5F;
    shares[vertices - 1] = 0;
    shares[2 * vertices - 1] = 1;
    m.roots = roots;
    m.roots_count = 2;
    m.node_roots = owners;
    m.node_roots_count = m.nodes_count;
    m.mirror_nodes = across;
    m.mirror_nodes_count = m.nodes_count;
    m.root_weights = shares;
    m.root_weights_count = 2 * vertices;
    struct fault fault = {0};
    struct model_file *file = NULL;
    struct role_options options = {.name = "two", .number = 1, .version = 1, .level = simd_best()};
    struct role *r = NULL;
    size_t size = container_size(&m);
    uint8_t *bytes = calloc(1, size);
    container_write(&m, bytes);
    EXPECT(model_file_from_bytes(bytes, size, &file, &fault) == ERR_OK);
    free(bytes);
    EXPECT(role_build(file, &options, &r, &fault) == ERR_OK);
    if (fault.code) printf("  %s\n", fault.line);
    char text[2048] = {0}, *at;
    memcpy(text, r->catalogue_json, r->catalogue_bytes);
    at = strstr(text, "\"root_tables\":[\"");
    EXPECT(at != NULL && r->texture_count >= 2);
    for (int k = 0; k < 2; k++) {
        uint8_t hash[SESSION_HASH_BYTES];
        const char *hex = at + strlen("\"root_tables\":[\"") + (size_t)k * (2 * sizeof hash + 3);
        for (size_t i = 0; i < sizeof hash; i++) {
            char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
            hash[i] = (uint8_t)strtoul(two, NULL, 16);
        }
        const struct role_texture *t = role_texture_find(r, hash);
        EXPECT(t && t->mime == APPEARANCE_SHARES && t->size_bytes == vertices);
        EXPECT(t && t->bytes[0] == 128 && t->bytes[vertices - 1] == (k ? 255 : 0));
    }
    role_unref(r);
    model_file_unref(file);
    role_unref(plain);
    free(shares);
    free(owners);
    free(across);
}

static void the_cast_keeps_names_and_takes_only_newer_versions(void)
{
    struct cast cast = {0};
    struct fault fault = {0};
    struct role *role, *found = NULL;
    struct role_options first = {.name = "a"}, second = {.name = "a"}, other = {.name = "b"};
    EXPECT(cast_find(&cast, "", &found, &fault) == ERR_NOT_FOUND);
    EXPECT(cast_reserve(&cast, "a", &first.number, &first.version, &fault) == ERR_OK);
    EXPECT(cast_reserve(&cast, "a", &second.number, &second.version, &fault) == ERR_OK);
    EXPECT(cast_reserve(&cast, "b", &other.number, &other.version, &fault) == ERR_OK);
    EXPECT(first.number == second.number && second.version == 2 && other.number == 2);
    struct model_file *file = play_model_file(PLAY_SAMPLE);
    EXPECT(role_build(file, &second, &role, &fault) == ERR_OK && cast_put(&cast, role) == ERR_OK);
    EXPECT(role_build(file, &first, &role, &fault) == ERR_OK && cast_put(&cast, role) == ERR_STALE);
    EXPECT(role_build(file, &other, &role, &fault) == ERR_OK && cast_put(&cast, role) == ERR_OK);
    fault = (struct fault){0};
    EXPECT(cast_find(&cast, NULL, &found, &fault) == ERR_OK && found->number == 1);
    EXPECT(cast_find(&cast, "b", &found, &fault) == ERR_OK && found == role);
    EXPECT(cast_find(&cast, "c", &found, &fault) == ERR_NOT_FOUND && found == role);
    EXPECT(strstr(fault.line, "a, b") != NULL);
    fault = (struct fault){0};
    char name[SESSION_NAME_MAX + 1];
    uint32_t number = 0, version = 0;
    memset(name, 'x', sizeof name);
    name[SESSION_NAME_MAX] = 0;
    EXPECT(cast_reserve(&cast, name, &number, &version, &fault) == ERR_LIMIT);
    fault = (struct fault){0};
    for (int i = 0; i < CAST_MAX - 2; i++) {
        snprintf(name, sizeof name, "n%d", i);
        EXPECT(cast_reserve(&cast, name, &number, &version, &fault) == ERR_OK);
    }
    EXPECT(cast_reserve(&cast, "one more", &number, &version, &fault) == ERR_LIMIT);
    cast_clear(&cast);
}

int main(void)
{
    RUN(coarser_details_use_fewer_of_the_same_vertices);
    RUN(the_surface_message_says_which_vertex_is_which);
    RUN(damaged_detail_tables_are_refused);
    RUN(appearance_names_the_textures_that_can_be_asked_for);
    RUN(the_catalogue_lists_what_inputs_may_name);
    RUN(tables_of_roots_are_files);
    RUN(the_cast_keeps_names_and_takes_only_newer_versions);
    play_forget_models();
    TESTING_MAIN_END;
}

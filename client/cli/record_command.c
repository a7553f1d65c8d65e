#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/args.h"
#include "client/cli/command.h"
#include "client/cli/run.h"
#include "common/mesh_out.h"

static const char help[] =
    "usage: sinew record URL -o OUT.glb|OUT.pc2|OUT.obj [--frames N] [--seconds S] [--script "
    "FILE]\n"
    "\n"
    "Writes what is streamed of the own character to a file that other tools open, in world space\n"
    "and the file's unit. 120 frames unless something else ends it.\n"
    "\n"
    "  -o OUT.glb           the surface with a morph target for each frame, and the animation\n"
    "  -o OUT.pc2           a point cache, and OUT.obj with the same vertices to put it on\n"
    "  -o OUT.obj           the last frame\n"
    "  --frames N           ends after N frames          --seconds S   after S seconds\n"
    "  --script FILE        as in 'sinew play'; the recording ends with it\n"
    "\n"
    "examples:\n"
    "  sinew record ws://127.0.0.1:7480 --character fox -o fox.glb --seconds 2\n"
    "  sinew record ws://127.0.0.1:7480 --script smile.jsonl -o smile.pc2\n"
    "\n";

enum { FRAMES_DEFAULT = 120, FRAMES_MAX = 20000, MATERIALS_MAX = 512 };

struct record {
    struct args_connect connect;
    const char *out, *script;
    double frames, seconds;
};

// What was recorded: everything in source order.
struct tape {
    uint32_t surface, vertex_count, frame_count, part_count, material_count;
    float *positions[FRAMES_MAX], *normals[FRAMES_MAX], times_s[FRAMES_MAX];
    uint64_t first_us;
    float *uvs;
    struct mesh_out_part *parts;
    uint32_t *indices; // of all parts, source vertices
    uint32_t index_count;
    struct mesh_out_material materials[MATERIALS_MAX];
    char names[MATERIALS_MAX][SINEW_NAME_MAX];
};

static void tape_free(struct tape *t)
{
    if (!t) return;
    for (uint32_t i = 0; i < t->frame_count; i++) {
        free(t->positions[i]);
        free(t->normals[i]);
    }
    free(t->uvs);
    free(t->parts);
    free(t->indices);
    free(t);
}

static void take_materials(struct tape *t, struct sinew_client *client, const struct sinew_actor *a)
{
    t->material_count = a->material_count < MATERIALS_MAX ? a->material_count : MATERIALS_MAX;
    for (uint32_t i = 0; i < t->material_count; i++) {
        struct sinew_material m = {.struct_size = sizeof m};
        if (sinew_material_at(client, a->actor, i, &m) != SINEW_OK) continue;
        memcpy(t->names[i], m.name, sizeof t->names[i]);
        t->materials[i] = (struct mesh_out_material){.name = t->names[i],
                                                     .metallic = m.metallic,
                                                     .roughness = m.roughness,
                                                     .alpha_cutoff = m.alpha_cutoff,
                                                     .alpha = (enum mesh_out_alpha)m.alpha,
                                                     .double_sided = m.double_sided != 0};
        memcpy(t->materials[i].base_color, m.base_color, sizeof m.base_color);
        memcpy(t->materials[i].emissive, m.emissive, sizeof m.emissive);
    }
}

// Topology in source order, from the first frame.
static enum err take_surface(struct tape *t, const struct sinew_actor *a, struct fault *fault)
{
    t->surface = a->surface;
    t->vertex_count = a->source_vertex_count;
    t->index_count = a->index_count;
    t->part_count = a->part_count;
    t->indices = malloc((size_t)a->index_count * 4 + 4);
    t->parts = calloc(a->part_count + 1, sizeof *t->parts);
    t->uvs = a->uvs ? malloc((size_t)t->vertex_count * 8 + 8) : NULL;
    if (!t->indices || !t->parts || (a->uvs && !t->uvs))
        return fault_set(fault, ERR_MEMORY, "no memory for the recording");
    for (uint32_t i = 0; i < a->index_count; i++)
        t->indices[i] = a->source_vertices[a->indices[i]];
    for (uint32_t v = 0; a->uvs && v < a->vertex_count; v++)
        memcpy(t->uvs + (size_t)a->source_vertices[v] * 2, a->uvs + (size_t)v * 2, 8);
    for (uint32_t p = 0; p < a->part_count; p++) {
        const struct sinew_part *from = &a->parts[p];
        t->parts[p] = (struct mesh_out_part){.topology = (enum mesh_out_topology)from->topology,
                                             .vertex_first = from->source_first,
                                             .vertex_count = from->source_count,
                                             .indices = t->indices + from->index_first,
                                             .index_count = from->index_count,
                                             .material = from->material};
        // An index may name a vertex of another part only in a broken file: drawn without indices.
        for (uint32_t k = 0; k < from->index_count; k++)
            if (t->indices[from->index_first + k] - from->source_first >= from->source_count)
                t->parts[p].index_count = 0;
    }
    return t->vertex_count > 0 && t->part_count > 0
               ? ERR_OK
               : fault_set(fault, ERR_UNSUPPORTED, "the character has no surface to record");
}

static enum err take_frame(struct tape *t, struct run *r, struct fault *fault)
{
    struct sinew_actor a;
    enum err e = ERR_OK;
    if (!run_actor(r, &a)) return ERR_OK;
    if (t->frame_count == 0) e = take_surface(t, &a, fault);
    if (e) return e;
    if (a.surface != t->surface)
        return fault_set(fault, ERR_STALE, "the model was changed while it was recorded: again");
    size_t bytes = (size_t)t->vertex_count * 3 * sizeof(float);
    float *positions = malloc(bytes + 4), *normals = malloc(bytes + 4);
    if (!positions || !normals ||
        sinew_gather(r->client, a.actor, positions, normals) != SINEW_OK) {
        free(positions);
        free(normals);
        return fault_set(fault, ERR_UNSUPPORTED, "a frame is not at full detail, or memory is out");
    }
    if (t->frame_count == 0) t->first_us = a.server_time_us;
    t->positions[t->frame_count] = positions;
    t->normals[t->frame_count] = normals;
    t->times_s[t->frame_count++] = (float)((double)(a.server_time_us - t->first_us) / 1e6);
    take_materials(t, r->client, &a);
    return ERR_OK;
}

static bool is_over(struct run *r, const struct record *o, const struct tape *t)
{
    if (r->finished || t->frame_count == FRAMES_MAX) return true;
    if (o->frames > 0) return t->frame_count >= o->frames;
    if (o->seconds > 0)
        return t->frame_count > 0 && (double)t->times_s[t->frame_count - 1] >= o->seconds;
    return o->script ? run_script_is_done(r) : t->frame_count >= FRAMES_DEFAULT;
}

static enum err tape_run(struct tape *t, struct run *r, const struct record *o, struct fault *fault)
{
    enum err e = ERR_OK;
    while (e == ERR_OK && !is_over(r, o, t)) {
        e = run_step(r, fault);
        while (e == ERR_OK && !is_over(r, o, t) && sinew_update(r->client) > 0)
            e = take_frame(t, r, fault);
    }
    if (e == ERR_OK && t->frame_count == 0)
        e = fault_set(fault, ERR_NOT_FOUND, "no frame of the own character has come");
    return e;
}

// ---- files ----

static bool has_ending(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

static enum err write_obj(const struct tape *t, uint32_t frame, const char *path,
                          struct fault *fault)
{
    uint32_t *triangles = malloc((size_t)t->index_count * 4 + 4);
    size_t count = 0;
    if (!triangles) return fault_set(fault, ERR_MEMORY, "no memory to write %s", path);
    for (uint32_t p = 0; p < t->part_count; p++)
        for (uint32_t k = 0;
             t->parts[p].topology == MESH_OUT_TRIANGLES && k < t->parts[p].index_count; k++)
            triangles[count++] = t->parts[p].indices[k];
    const struct mesh_out mesh = {.vertex_count = t->vertex_count,
                                  .index_count = count,
                                  .positions = t->positions[frame],
                                  .normals = t->normals[frame],
                                  .uvs = t->uvs,
                                  .indices = triangles};
    enum err e = mesh_out_obj(path, &mesh, fault);
    free(triangles);
    return e;
}

static enum err write_pc2(const struct tape *t, const char *path, struct fault *fault)
{
    char obj[4096];
    const float *positions[FRAMES_MAX];
    int length = snprintf(obj, sizeof obj, "%.*s.obj", (int)(strlen(path) - 4), path);
    if (length < 0 || (size_t)length >= sizeof obj)
        return fault_set(fault, ERR_LIMIT, "the path is too long: %.100s", path);
    for (uint32_t i = 0; i < t->frame_count; i++)
        positions[i] = t->positions[i];
    enum err e = write_obj(t, 0, obj, fault);
    if (e == ERR_OK) e = mesh_out_pc2(path, t->vertex_count, t->frame_count, positions, fault);
    return e;
}

static enum err write_glb(const struct tape *t, const char *name, const char *path,
                          struct fault *fault)
{
    const float *positions[FRAMES_MAX], *normals[FRAMES_MAX];
    for (uint32_t i = 0; i < t->frame_count; i++) {
        positions[i] = t->positions[i];
        normals[i] = t->normals[i];
    }
    const struct mesh_out_clip clip = {.name = name,
                                       .generator = "sinew " SINEW_VERSION,
                                       .vertex_count = t->vertex_count,
                                       .frame_count = t->frame_count,
                                       .positions = positions,
                                       .normals = normals,
                                       .times_s = t->times_s,
                                       .uvs = t->uvs,
                                       .parts = t->parts,
                                       .part_count = t->part_count,
                                       .materials = t->materials,
                                       .material_count = t->material_count};
    return mesh_out_glb(path, &clip, fault);
}

static enum err write_tape(const struct tape *t, const char *name, const char *path,
                           struct fault *fault)
{
    if (has_ending(path, ".glb")) return write_glb(t, name, path, fault);
    if (has_ending(path, ".pc2")) return write_pc2(t, path, fault);
    return write_obj(t, t->frame_count - 1, path, fault);
}

static enum err record(const struct record *o, struct sinew_options *options, struct fault *fault)
{
    struct run r = {0};
    struct tape *t = calloc(1, sizeof *t);
    if (!t) return fault_set(fault, ERR_MEMORY, "no memory for a recording");
    options->playout = SINEW_PLAY_EVERY;
    options->quality.detail = 1;
    enum err e = run_open(&r, options, o->script, NULL, fault);
    if (e == ERR_OK) e = tape_run(t, &r, o, fault);
    if (e == ERR_OK) e = write_tape(t, r.character, o->out, fault);
    run_clear_progress(&r);
    if (e == ERR_OK)
        (void)printf("%s: %u frames of %u vertices, %.2f s\n", o->out, t->frame_count,
                     t->vertex_count, (double)t->times_s[t->frame_count - 1]);
    enum err closed = run_close(&r, fault);
    tape_free(t);
    return e ? e : closed;
}

static int run(int argc, char **argv)
{
    struct record o = {0};
    struct args_option rows[4 + ARGS_CONNECT_ROWS] = {
        {"-o", ARGS_TEXT, {.text = &o.out}},
        {"--frames", ARGS_NUMBER, {.number = &o.frames}},
        {"--seconds", ARGS_NUMBER, {.number = &o.seconds}},
        {"--script", ARGS_TEXT, {.text = &o.script}},
    };
    struct args args = {.options = rows, .option_count = 4 + ARGS_CONNECT_ROWS};
    struct fault fault = {0};
    struct sinew_options options;
    args_connect_options(&o.connect, rows + 4);
    enum err e = args_read(&args, argc, argv, &fault);
    if (e == ERR_OK && !o.out)
        e = fault_set(&fault, ERR_USAGE, "-o OUT is missing; see --help");
    else if (e == ERR_OK && !has_ending(o.out, ".glb") && !has_ending(o.out, ".pc2") &&
             !has_ending(o.out, ".obj"))
        e = fault_set(&fault, ERR_USAGE, "-o OUT ends in .glb, .pc2 or .obj");
    if (e == ERR_OK && o.frames > FRAMES_MAX)
        e = fault_set(&fault, ERR_USAGE, "--frames goes to %d", FRAMES_MAX);
    if (e == ERR_OK) e = args_connect(&o.connect, args.url, &options, &fault);
    if (e == ERR_OK) e = record(&o, &options, &fault);
    return e == ERR_OK ? 0 : command_fail("record", &fault);
}

const struct command command_record = {"record", "a file of what is streamed", help, run};

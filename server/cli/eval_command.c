#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/check.h"
#include "common/file.h"
#include "common/json_guard.h"
#include "common/mesh_out.h"
#include "common/simd.h"
#include "server/character/input/pose_json.h"
#include "server/character/input/recipe.h"
#include "server/character/pose/clip.h"
#include "server/character/pose/driver.h"
#include "server/character/pose/face_state.h"
#include "server/character/surface/surface.h"
#include "server/cli/args.h"
#include "server/cli/command.h"
#include "server/cli/model_arg.h"
#include "server/model/face_names.h"
#include "server/model/lookup.h"
#include "server/plugins/plugins.h"
#include "server/stage/replay.h"

static const char help[] =
    "usage: sinewd eval MODEL [--clip C --time S | --pose POSE.json | --script FILE --hz N --time "
    "S]\n"
    "                   [--face NAME=W]... [--customise NAME=V]... [--recipe FILE]\n"
    "                   [--root NAME=CLIP@S]...\n"
    "                   [--skinning lbs|dq] [--without PARTS] [--format bin|obj|json] -o OUT\n"
    "\n"
    "Evaluates one frame offline. Without a clip and a pose it is the file's rest pose. A name may "
    "be\n"
    "#N, the glTF index. Times are seconds and clamp to the clip.\n"
    "\n"
    "  --format bin     OUT: float32 x y z, world space, file units, source order (the default);\n"
    "                   OUT.normals: the same for normals\n"
    "  --format obj     OUT: Wavefront OBJ      --format json   OUT: positions and normals as "
    "JSON\n"
    "  --script FILE    replays JSON lines (t_s or tick; control, pose, place, face, customise) "
    "tick by\n"
    "                   tick, N ticks a second (60), up to time S: what a stream shows, where "
    "the character has gone\n"
    "  --face NAME=W    a shape or expression; also by its ARKit, VRM, Unified Expressions or "
    "viseme\n"
    "                   name\n"
    "  --customise N=V  a parameter of the rig file, or a bone of its face by its offset\n"
    "  --recipe FILE    many of them: {\"sinew_recipe\": 1, \"parameters\": {NAME: V}}\n"
    "  --root NAME=C@S  one root of several plays clip C at S seconds; roots that are not named "
    "keep\n"
    "                   the pose of --clip or --pose, else the rest pose\n"
    "  --without PARTS  leaves out, comma-separated: extras, springs, correctives, face\n"
    "  --plugins DIR    folder of third parties' extras; with --script, which alone moves extras\n"
    "\n"
    "Prints a JSON object that says where each primitive lies in OUT.\n"
    "\n"
    "examples:\n"
    "  sinewd eval Fox.glb --clip Run --time 0.4 -o run.f32\n"
    "  sinewd eval face.sinew --face eyeBlinkLeft=1 --face jawOpen=0.5 --format obj -o face.obj\n"
    "  sinewd eval body.sinew --pose bent.json --skinning dq -o bent.f32\n"
    "  sinewd eval body.sinew --root legs=Run@0.4 --root torso=Wave@1 -o both.f32\n"
    "  sinewd eval body.sinew --script moves.jsonl --hz 60 --time 2.5 -o frame.f32\n";

struct eval_options {
    const char *recipe, *clip, *time, *pose, *skinning, *format, *out, *script, *hz, *plugins;
    struct arg_list faces, customise, roots, without;
};

struct evaluation {
    const struct model *model;
    struct arena arena;
    struct face_map map;
    struct correct_map correct;
    struct puppet puppet; // for scripts
    double *driver_weights;
    struct pose pose;
    struct face_state face;
    struct roots_pose roots;    // with --root
    float *positions, *normals; // malloc'd, source order
};

static bool without(const struct eval_options *o, const char *part)
{
    for (size_t i = 0; i < o->without.count; i++)
        for (const char *at = o->without.items[i]; *at;) {
            size_t length = strcspn(at, ",");
            if (strlen(part) == length && strncmp(at, part, length) == 0) return true;
            at += length + (at[length] == ',');
        }
    return false;
}

static enum err check_without(const struct eval_options *o, struct fault *fault)
{
    static const char *const parts[] = {"extras", "springs", "correctives", "face"};
    for (size_t i = 0; i < o->without.count; i++)
        for (const char *at = o->without.items[i]; *at;) {
            size_t length = strcspn(at, ",");
            bool known = false;
            for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
                known = known || (strlen(parts[k]) == length && strncmp(at, parts[k], length) == 0);
            if (!known)
                return fault_set(
                    fault, ERR_USAGE,
                    "--without: \"%.*s\" is none of extras, springs, correctives, face",
                    (int)length, at);
            at += length + (at[length] == ',');
        }
    return ERR_OK;
}

static bool is_word(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(*words, text) == 0) return true;
    return false;
}

static enum err check_options(const struct eval_options *o, struct fault *fault)
{
    static const char *const skinnings[] = {"lbs", "dq", NULL};
    static const char *const formats[] = {"bin", "obj", "json", NULL};
    if (!o->out) return fault_set(fault, ERR_USAGE, "-o OUT is missing; see 'sinewd eval --help'");
    if (o->clip && o->pose)
        return fault_set(fault, ERR_USAGE,
                         "give --clip or --pose, not both (a pose may name a clip)");
    if (o->script && (o->clip || o->pose))
        return fault_set(fault, ERR_USAGE, "--script says the pose: leave --clip and --pose out");
    if (o->script && !o->time)
        return fault_set(fault, ERR_USAGE, "--script needs --time, the second to be shown");
    if (o->hz && !o->script) return fault_set(fault, ERR_USAGE, "--hz needs --script");
    if (o->time && !o->clip && !o->script)
        return fault_set(fault, ERR_USAGE, "--time needs --clip or --script");
    if (o->skinning && !is_word(o->skinning, skinnings))
        return fault_set(fault, ERR_USAGE, "--skinning is lbs or dq, not \"%.40s\"", o->skinning);
    if (o->format && !is_word(o->format, formats))
        return fault_set(fault, ERR_USAGE, "--format is bin, obj or json, not \"%.40s\"",
                         o->format);
    if (o->roots.count && o->script)
        return fault_set(fault, ERR_USAGE, "--script says what roots do: leave --root out");
    return check_without(o, fault);
}

static enum err apply_clip(struct evaluation *v, const struct eval_options *o, struct fault *fault)
{
    uint32_t clip;
    double time_s = 0;
    enum err e = lookup_name(v->model, LOOKUP_CLIP, o->clip, "--clip", &clip, fault);
    if (e == ERR_OK && o->time) e = args_number("--time", o->time, &time_s, fault);
    if (e == ERR_OK) clip_sample(v->model, clip, time_s, (struct clip_cursor){0}, v->pose);
    return e;
}

static enum err apply_pose_file(struct evaluation *v, const char *path, struct fault *fault)
{
    enum { POSE_BYTES_MAX = 16 << 20 };
    uint8_t *bytes;
    size_t size_bytes;
    cJSON *json = NULL;
    struct fault inner = {0};
    struct json_limits limits = json_limits_for(POSE_BYTES_MAX);
    enum err e = file_read(path, POSE_BYTES_MAX, &bytes, &size_bytes, fault);
    if (e != ERR_OK) return e;
    e = json_parse((const char *)bytes, size_bytes, &limits, &json, &inner);
    if (e == ERR_OK) e = pose_json_apply(v->model, json, "", v->pose, &v->arena, &inner);
    if (e != ERR_OK) e = fault_set(fault, e, "--pose %.100s: %s", path, inner.line);
    cJSON_Delete(json);
    free(bytes);
    return e;
}

static enum err read_recipe(struct face_state *face, const char *path, struct fault *fault)
{
    enum { RECIPE_BYTES_MAX = 1 << 20 };
    uint8_t *bytes;
    size_t size_bytes;
    struct fault inner = {0};
    enum err e = file_read(path, RECIPE_BYTES_MAX, &bytes, &size_bytes, fault);
    if (e != ERR_OK) return e;
    e = recipe_apply((const char *)bytes, size_bytes, NULL, &face->customise, &inner);
    free(bytes);
    if (e == ERR_OK && inner.line[0]) e = ERR_NOT_FOUND; // offline nothing is left out
    return e == ERR_OK ? e : fault_set(fault, e, "--recipe %.100s: %s", path, inner.line);
}

// --face and --customise, into what a character has been told.
static enum err tell_face(struct face_state *face, const struct eval_options *o,
                          struct fault *fault)
{
    const struct model *m = face->model;
    enum err told = o->recipe ? read_recipe(face, o->recipe, fault) : ERR_OK;
    if (told != ERR_OK) return told;
    for (size_t i = 0; i < o->faces.count + o->customise.count; i++) {
        bool is_face = i < o->faces.count;
        const char *option = is_face ? "--face" : "--customise";
        const char *text = is_face ? o->faces.items[i] : o->customise.items[i - o->faces.count];
        char name[256];
        double value;
        uint32_t id;
        struct face_parts parts = {0};
        enum err e = args_assignment(option, text, name, sizeof name, &value, fault);
        if (e == ERR_OK && is_face) e = face_names_find(m, name, option, &parts, fault);
        if (e == ERR_OK && !is_face) e = lookup_name(m, LOOKUP_PARAMETER, name, option, &id, fault);
        if (e != ERR_OK) return e;
        if (is_face)
            face_state_set(face, &parts, (float)value);
        else
            customise_set(&face->customise, id, (float)value);
    }
    return ERR_OK;
}

// NAME=CLIP@SECONDS, split at the first = and the last @.
static enum err apply_root(struct evaluation *v, const char *text, struct fault *fault)
{
    const struct model *m = v->model;
    const char *equals = strchr(text, '='), *at = equals ? strrchr(equals, '@') : NULL;
    char name[256], clip_name[256];
    uint32_t root = 0, clip = 0;
    double time_s = 0;
    if (!equals || !at || (size_t)(at - equals) > sizeof clip_name ||
        (size_t)(equals - text) >= sizeof name)
        return fault_set(fault, ERR_USAGE, "--root is NAME=CLIP@SECONDS, not \"%.60s\"", text);
    memcpy(clip_name, equals + 1, (size_t)(at - equals) - 1);
    clip_name[at - equals - 1] = 0;
    (void)snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    if (m->roots_count == 0)
        return fault_set(fault, ERR_NOT_FOUND,
                         "--root %.60s: the model has one root only; give --clip, or list roots in "
                         "a rig file",
                         text);
    enum err e = lookup_name(m, LOOKUP_ROOT, name, "--root", &root, fault);
    if (e == ERR_OK) e = lookup_name(m, LOOKUP_CLIP, clip_name, "--root", &clip, fault);
    if (e == ERR_OK) e = args_number("--root", at + 1, &time_s, fault);
    if (e != ERR_OK) return e;
    pose_rest(m, v->roots.poses[root]);
    clip_sample(m, clip, time_s, (struct clip_cursor){0}, v->roots.poses[root]);
    return ERR_OK;
}

static enum err apply_roots(struct evaluation *v, const struct eval_options *o, struct fault *fault)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < v->model->roots_count; i++)
        pose_copy(v->model, v->pose, v->roots.poses[i]);
    for (size_t i = 0; i < o->roots.count && e == ERR_OK; i++)
        e = apply_root(v, o->roots.items[i], fault);
    if (e == ERR_OK && o->roots.count) roots_settle(v->model, &v->roots, v->pose);
    return e;
}

static enum err make_pose(struct evaluation *v, const struct eval_options *o, struct fault *fault)
{
    enum err e = ERR_OK;
    pose_rest(v->model, v->pose);
    if (o->clip) e = apply_clip(v, o, fault);
    if (o->pose) e = apply_pose_file(v, o->pose, fault);
    if (e == ERR_OK) e = tell_face(&v->face, o, fault);
    if (e == ERR_OK) face_state_weights(&v->face, v->pose, 0, without(o, "face"));
    if (e == ERR_OK) e = apply_roots(v, o, fault);
    if (e != ERR_OK) return e;
    face_state_bones(&v->face, v->pose.locals);
    for (size_t i = 0; i < v->model->roots_count; i++)
        customise_lay(&v->face.customise, v->roots.poses[i].locals);
    return ERR_OK;
}

static enum model_skinning chosen_skinning(const struct evaluation *v, const struct eval_options *o)
{
    if (o->skinning) return strcmp(o->skinning, "dq") == 0 ? MODEL_DQ : MODEL_LBS;
    return (enum model_skinning)v->model->info->skinning;
}

static enum err read_script(const char *path, uint32_t hz, struct script *out, struct fault *fault)
{
    uint8_t *bytes;
    size_t size_bytes;
    struct fault inner = {0};
    enum err e = file_read(path, SCRIPT_BYTES_MAX, &bytes, &size_bytes, fault);
    if (e != ERR_OK) return e;
    e = script_read((const char *)bytes, size_bytes, hz, out, &inner);
    if (e != ERR_OK) e = fault_set(fault, e, "--script %.100s: %s", path, inner.line);
    free(bytes);
    return e;
}

// A character goes without a plugin that cannot be run; whoever compares frames should know.
static void warn_of_plugins(struct body *body)
{
    struct plugin_event event;
    while (body_plugin_event(body, &event))
        (void)fprintf(stderr, "sinewd eval: %s\n", event.line);
}

static enum err replay_script(struct evaluation *v, const struct eval_options *o,
                              struct fault *fault)
{
    struct script script = {0};
    struct plugin_host *plugins = NULL;
    struct body *body = calloc(1, sizeof *body);
    double hz = 60, time_s = 0;
    struct body_options options = {.model = v->model,
                                   .map = &v->map,
                                   .correct = &v->correct,
                                   .puppet = &v->puppet,
                                   .default_clip = body_default_clip(v->model),
                                   .skinning = chosen_skinning(v, o),
                                   .level = simd_best(),
                                   .without_extras = without(o, "extras"),
                                   .without_correctives = without(o, "correctives"),
                                   .without_springs = without(o, "springs")};
    enum err e = args_number("--time", o->time, &time_s, fault);
    if (e == ERR_OK && o->hz) e = args_number("--hz", o->hz, &hz, fault);
    if (e == ERR_OK && (hz < 1 || hz > SCRIPT_HZ_MAX || hz != floor(hz)))
        e = fault_set(fault, ERR_USAGE, "--hz is a whole number from 1 to %d", SCRIPT_HZ_MAX);
    if (e == ERR_OK && (time_s < 0 || time_s > 86400))
        e = fault_set(fault, ERR_USAGE,
                      "--time is seconds from the start of the script, up to a day");
    if (e == ERR_OK) e = read_script(o->script, (uint32_t)hz, &script, fault);
    if (e == ERR_OK && puppet_of_model(v->model, &v->puppet) != ERR_OK)
        e = fault_set(fault, ERR_MEMORY, "no memory for the model's frame");
    if (e == ERR_OK)
        e = plugin_host_create(&(struct plugin_host_options){.folder = o->plugins}, &plugins,
                               fault);
    options.plugins = plugins;
    if (e == ERR_OK && (!body || body_create(&options, body) != ERR_OK))
        e = fault_set(fault, ERR_MEMORY, "no memory for the model's frame");
    if (e == ERR_OK) e = tell_face(&body->face, o, fault); // until a line sets them
    if (e == ERR_OK) {
        body->faceless = without(o, "face");
        e = replay_run(body, &script, (uint32_t)hz, replay_tick_at(time_s, (uint32_t)hz), fault);
    }
    if (e == ERR_OK) replay_world(body, v->positions, v->normals);
    if (e == ERR_OK) warn_of_plugins(body);
    if (body) body_destroy(body);
    plugin_host_destroy(plugins);
    free(body);
    script_free(&script);
    return e;
}

static enum err start(struct evaluation *v, struct fault *fault)
{
    const struct model *m = v->model;
    size_t vertices = model_vertex_count(m);
    if (!arena_create(&v->arena, face_map_bytes(m) + correct_map_bytes(m) + 2 * pose_bytes(m) +
                                     roots_pose_bytes(m) + face_state_bytes(m) +
                                     driver_weight_count(m) * sizeof(double) + 4096))
        return fault_set(fault, ERR_MEMORY, "no memory for the model's frame");
    face_map_build(m, &v->arena, &v->map);
    correct_map_build(m, NULL, &v->arena, &v->correct);
    v->driver_weights = ARENA_ARRAY(&v->arena, double, driver_weight_count(m));
    v->pose = pose_take(m, &v->arena);
    v->face = face_state_take(m, &v->arena);
    v->roots = roots_pose_take(m, &v->arena);
    v->positions = malloc(vertices * 3 * sizeof(float));
    v->normals = malloc(vertices * 3 * sizeof(float));
    if (!v->positions || !v->normals)
        return fault_set(fault, ERR_MEMORY, "no memory for %zu vertices", vertices);
    return ERR_OK;
}

static enum err evaluate(struct evaluation *v, const struct eval_options *o, struct fault *fault)
{
    const struct model *m = v->model;
    struct arena scratch;
    size_t out_bytes = m->blocks_count * sizeof(struct surface_block);
    if (!arena_create(&scratch, surface_bytes(m, &v->map, &v->correct) + out_bytes + 4096))
        return fault_set(fault, ERR_MEMORY, "no memory for the model's frame");
    struct surface_job job = {.model = m,
                              .map = &v->map,
                              .correct = &v->correct,
                              .driver_weights =
                                  without(o, "correctives") ? NULL : v->driver_weights,
                              .customise = &v->face.customise,
                              .pose = v->pose,
                              .roots = o->roots.count ? &v->roots : NULL,
                              .skinning = chosen_skinning(v, o),
                              .level = simd_best(),
                              .out = arena_take(&scratch, out_bytes)};
    surface_run(&job, &scratch);
    surface_gather(m, job.out, v->positions, v->normals);
    arena_destroy(&scratch);
    return ERR_OK;
}

static enum err write_bin(const struct evaluation *v, const char *path, struct fault *fault)
{
    char normals_path[4096];
    size_t bytes = model_vertex_count(v->model) * 3 * sizeof(float);
    int length = snprintf(normals_path, sizeof normals_path, "%s.normals", path);
    if (length < 0 || (size_t)length >= sizeof normals_path)
        return fault_set(fault, ERR_LIMIT, "the path is too long: %.100s", path);
    if (file_is_special(path)) return file_write_atomic(path, v->positions, bytes, fault);
    enum err e = file_write_atomic(normals_path, v->normals, bytes, fault);
    if (e == ERR_OK) e = file_write_atomic(path, v->positions, bytes, fault);
    if (e != ERR_OK) (void)remove(normals_path);
    return e;
}

static enum err write_obj(const struct evaluation *v, const char *path, struct fault *fault)
{
    const struct model *m = v->model;
    uint32_t *triangles = malloc((m->indices_count + 1) * sizeof *triangles);
    if (!triangles) return fault_set(fault, ERR_MEMORY, "no memory to write %s", path);
    size_t count = 0;
    for (size_t i = 0; i < m->parts_count; i++)
        for (uint32_t k = 0; m->parts[i].topology == MODEL_TRIANGLES && k < m->parts[i].index_count;
             k++)
            triangles[count++] = m->indices[m->parts[i].index_first + k];
    struct mesh_out mesh = {.vertex_count = model_vertex_count(m),
                            .index_count = count,
                            .positions = v->positions,
                            .normals = v->normals,
                            .indices = triangles};
    enum err e = mesh_out_obj(path, &mesh, fault);
    free(triangles);
    return e;
}

static enum err write_json(const struct evaluation *v, const char *path, struct fault *fault)
{
    enum { NUMBER_BYTES = 20 };
    size_t count = model_vertex_count(v->model) * 3, used = 0;
    size_t capacity = count * 2 * NUMBER_BYTES + 64;
    char *text = malloc(capacity);
    if (!text) return fault_set(fault, ERR_MEMORY, "no memory to write %s", path);
    const float *const arrays[] = {v->positions, v->normals};
    static const char *const opens[] = {"{\"positions\":[", "],\"normals\":["};
    for (int a = 0; a < 2; a++) {
        used += (size_t)snprintf(text + used, capacity - used, "%s", opens[a]);
        for (size_t i = 0; i < count; i++)
            used += (size_t)snprintf(text + used, capacity - used, "%s%.9g", i ? "," : "",
                                     (double)arrays[a][i]);
    }
    used += (size_t)snprintf(text + used, capacity - used, "]}\n");
    CHECK(used < capacity);
    enum err e = file_write_atomic(path, text, used, fault);
    free(text);
    return e;
}

// A name as JSON text.
static void print_name(const char *name)
{
    cJSON *text = cJSON_CreateString(name);
    char *quoted = text ? cJSON_PrintUnformatted(text) : NULL;
    (void)printf("%s", quoted ? quoted : "\"\"");
    cJSON_free(quoted);
    cJSON_Delete(text);
}

// Weights by example; "base" is P0's own. Of a per-vertex driver its first solve.
static void print_driver(const struct model *m, const struct model_driver *d, const double *weights)
{
    const double *w = weights + m->solves[d->solve_first].weight_first;
    print_name(model_text(m, d->name));
    (void)printf(": {\"base\": %.17g", w[0]);
    for (uint32_t i = 0; i < d->example_count; i++) {
        const struct model_example *e = &m->examples[d->example_first + i];
        (void)printf(", ");
        print_name(model_text(m, e->name));
        (void)printf(": %.17g", w[e->center]);
    }
    (void)printf("}");
}

static void print_layout(const struct evaluation *v)
{
    const struct model *m = v->model;
    (void)printf("{\"vertices\": %zu, \"primitives\": [", model_vertex_count(m));
    for (size_t i = 0; i < m->parts_count; i++) {
        const struct model_part *p = &m->parts[i];
        (void)printf("%s\n  {\"node\": %u, \"mesh\": %u, \"primitive\": %u, \"offset\": %zu, "
                     "\"count\": %u}",
                     i ? "," : "", m->nodes[p->node].source, p->mesh, p->primitive,
                     (size_t)p->vertex_first * 3 * sizeof(float), p->vertex_count);
    }
    (void)printf("],\n \"drivers\": {");
    bool bent = v->face.customise.bent; // drivers read the pose before customisation
    if (bent) customise_swap(&v->face.customise, v->pose.locals);
    (void)driver_weights(m, v->pose.locals, v->driver_weights);
    if (bent) customise_swap(&v->face.customise, v->pose.locals);
    for (size_t i = 0; i < m->drivers_count; i++) {
        (void)printf("%s\n  ", i ? "," : "");
        print_driver(m, &m->drivers[i], v->driver_weights);
    }
    (void)printf("},\n \"expressions\": {");
    for (size_t i = 0; i < m->expressions_count; i++) {
        (void)printf("%s", i ? ", " : "");
        print_name(model_text(m, m->expressions[i].name));
        (void)printf(": %.9g", (double)v->face.outputs[i]);
    }
    (void)printf("}}\n");
}

static enum err eval_model(struct evaluation *v, const struct eval_options *o, struct fault *fault)
{
    enum err e = start(v, fault);
    if (e == ERR_OK && o->script) {
        e = replay_script(v, o, fault);
    } else {
        if (e == ERR_OK) e = make_pose(v, o, fault);
        if (e == ERR_OK) e = evaluate(v, o, fault);
    }
    for (size_t i = 0; e == ERR_OK && i < model_vertex_count(v->model) * 3; i++)
        if (!isfinite(v->positions[i]))
            e = fault_set(fault, ERR_LIMIT,
                          "the pose carries vertex %zu out of range: use smaller values", i / 3);
    if (e != ERR_OK) return e;
    if (o->format && strcmp(o->format, "obj") == 0) return write_obj(v, o->out, fault);
    if (o->format && strcmp(o->format, "json") == 0) return write_json(v, o->out, fault);
    return write_bin(v, o->out, fault);
}

static int run(int argc, char **argv)
{
    struct eval_options o = {0};
    const struct arg_option options[] = {
        {"--clip", ARG_VALUE, {.value = &o.clip}},
        {"--time", ARG_VALUE, {.value = &o.time}},
        {"--pose", ARG_VALUE, {.value = &o.pose}},
        {"--script", ARG_VALUE, {.value = &o.script}},
        {"--hz", ARG_VALUE, {.value = &o.hz}},
        {"--plugins", ARG_VALUE, {.value = &o.plugins}},
        {"--face", ARG_LIST, {.list = &o.faces}},
        {"--customise", ARG_LIST, {.list = &o.customise}},
        {"--recipe", ARG_VALUE, {.value = &o.recipe}},
        {"--root", ARG_LIST, {.list = &o.roots}},
        {"--skinning", ARG_VALUE, {.value = &o.skinning}},
        {"--without", ARG_LIST, {.list = &o.without}},
        {"--format", ARG_VALUE, {.value = &o.format}},
        {"-o", ARG_VALUE, {.value = &o.out}},
    };
    struct args args = {.options = options,
                        .option_count = sizeof options / sizeof options[0],
                        .operand_names = "MODEL",
                        .operand_min = 1,
                        .operand_max = 1};
    struct fault fault = {0};
    struct model_file *file = NULL;
    struct evaluation v = {0};
    enum err e = args_read(&args, argc, argv, &fault);
    if (e == ERR_OK) e = check_options(&o, &fault);
    if (e == ERR_OK) e = model_arg_open(args.operands[0], &file, &fault);
    if (e == ERR_OK) {
        v.model = model_file_model(file);
        e = eval_model(&v, &o, &fault);
        if (e == ERR_OK) print_layout(&v);
    }
    arena_destroy(&v.arena);
    free(v.positions);
    free(v.normals);
    model_file_unref(file);
    return e == ERR_OK ? 0 : command_fail("eval", &fault);
}

const struct command command_eval = {"eval", "one frame of a model, offline", help, run};

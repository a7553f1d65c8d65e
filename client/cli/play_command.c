#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/args.h"
#include "client/cli/command.h"
#include "client/cli/keys.h"
#include "client/cli/report.h"
#include "client/cli/run.h"
#include "common/file.h"

static const char help[] =
    "usage: sinew play URL [--script FILE] [--frames N] [--seconds S] [--dump OUT] [OPTIONS]\n"
    "\n"
    "A thin client without a window: joins, sends what the script says, receives every frame, and\n"
    "prints rates, frame age, input latency and bits per vertex per frame. It ends after N "
    "frames,\n"
    "after S seconds, when the script has run out, or with Ctrl-C.\n"
    "\n"
    "  --script FILE        JSON lines: {\"t_s\": 0.5, \"pose\": {...}} (also place, face, "
    "control,\n"
    "                       sensor, customise); t_s counts from the join\n"
    "  --frames N           ends after N frames of the own character\n"
    "  --seconds S          ends after S seconds\n"
    "  --dump OUT           the last frame as 'sinewd eval --format bin' would write it: float32\n"
    "                       x y z, world space, source order; OUT.normals: the normals\n"
    "  --applied FILE       which tick used which input, as a script that 'sinewd eval --script'\n"
    "                       takes\n"
    "  --keys               steer with the keyboard: w a s d or arrows walk, capitals run, other "
    "keys\n"
    "                       as the character binds them (they are printed at the start), q ends\n"
    "  --recipe FILE        how the character is customised from its first frame on: "
    "{\"sinew_recipe\": 1,\n"
    "                       \"character\": NAME, \"parameters\": {NAME: value}}\n"
    "  --json               figures as JSON on standard output\n"
    "\n"
    "examples:\n"
    "  sinew play ws://127.0.0.1:7480 --frames 300\n"
    "  sinew play ws://127.0.0.1:7480 --character mira --keys\n"
    "  sinew play sinew://127.0.0.1:7443 --insecure --character fox --script pose.jsonl \\\n"
    "             --dump fox.f32 --applied fox.jsonl\n"
    "\n";

struct play {
    struct args_connect connect;
    const char *script, *dump, *applied, *recipe;
    double frames, seconds;
    bool keys, json;
};

static bool is_over(struct run *r, const struct play *p)
{
    struct sinew_stats s = {.struct_size = sizeof s};
    struct sinew_actor a;
    if (r->finished) return true;
    (void)sinew_get_stats(r->client, &s);
    if (p->seconds > 0 && s.joined_s >= p->seconds) return true;
    if (p->frames > 0) return (double)s.frames_own >= p->frames && run_actor(r, &a);
    return p->seconds <= 0 && run_script_is_done(r);
}

static enum err dump(struct run *r, const char *path, struct fault *fault)
{
    struct sinew_actor a;
    char normals_path[4096];
    if (!run_actor(r, &a))
        return fault_set(fault, ERR_NOT_FOUND, "--dump: no frame of the own character has come");
    size_t bytes = (size_t)a.source_vertex_count * 3 * sizeof(float);
    float *positions = malloc(bytes + 1), *normals = malloc(bytes + 1);
    enum err e = positions && normals ? ERR_OK : fault_set(fault, ERR_MEMORY, "no memory");
    if (e == ERR_OK && sinew_gather(r->client, a.actor, positions, normals) != SINEW_OK)
        e = fault_set(fault, ERR_UNSUPPORTED,
                      "--dump: the last frame is not at full detail: leave --detail out");
    int length = snprintf(normals_path, sizeof normals_path, "%s.normals", path);
    if (e == ERR_OK && (length < 0 || (size_t)length >= sizeof normals_path))
        e = fault_set(fault, ERR_LIMIT, "the path is too long: %.100s", path);
    if (e == ERR_OK) e = file_write_atomic(normals_path, normals, bytes, fault);
    if (e == ERR_OK) e = file_write_atomic(path, positions, bytes, fault);
    free(positions);
    free(normals);
    return e;
}

static void report(struct run *r, const struct play *p)
{
    struct sinew_stats s = {.struct_size = sizeof s};
    struct sinew_actor a;
    (void)sinew_get_stats(r->client, &s);
    bool shown = run_actor(r, &a);
    uint64_t tick = shown && a.tick > r->join_tick ? a.tick - r->join_tick : 0;
    run_clear_progress(r);
    if (!p->json) {
        (void)printf("%s: %u vertices\n", r->character, shown ? a.vertex_count : 0);
        report_lines(&s);
        return;
    }
    cJSON *o = report_stats(&s);
    cJSON_AddStringToObject(o, "character", r->character);
    cJSON_AddNumberToObject(o, "vertices", shown ? a.vertex_count : 0);
    cJSON_AddNumberToObject(o, "last_tick", (double)tick);
    cJSON_AddNumberToObject(o, "last_time_s", s.tick_hz ? (double)tick / s.tick_hz : 0);
    cJSON_AddNumberToObject(o, "inputs_sent", (double)r->sent_count);
    cJSON_AddNumberToObject(o, "inputs_applied", (double)r->applied_count);
    cJSON_AddNumberToObject(o, "step", shown ? (double)a.step * (double)a.scale : 0);
    report_print(o);
}

static enum err play(const struct play *p, struct sinew_options *options, struct fault *fault)
{
    struct run r;
    struct keys keys = {0};
    options->playout = SINEW_PLAY_NEWEST;
    if (options->quality.detail == 0) options->quality.detail = 1;
    enum err e = run_open(&r, options, p->script, p->applied, fault);
    if (e == ERR_OK && p->keys) e = keys_open(&keys, fault);
    while (e == ERR_OK && !is_over(&r, p)) {
        e = run_step(&r, fault);
        if (e == ERR_OK) (void)sinew_update(r.client);
        if (e == ERR_OK && p->keys && !keys_step(&keys, r.client)) r.finished = true;
    }
    keys_close(&keys);
    if (e == ERR_OK && p->dump) e = dump(&r, p->dump, fault);
    if (e == ERR_OK) report(&r, p);
    enum err closed = run_close(&r, fault);
    return e ? e : closed;
}

static int run(int argc, char **argv)
{
    enum { RECIPE_BYTES_MAX = 12288 };
    struct play p = {0};
    uint8_t *recipe = NULL;
    size_t size = 0;
    struct args_option rows[9 + ARGS_CONNECT_ROWS] = {
        {"--script", ARGS_TEXT, {.text = &p.script}},
        {"--frames", ARGS_NUMBER, {.number = &p.frames}},
        {"--seconds", ARGS_NUMBER, {.number = &p.seconds}},
        {"--dump", ARGS_TEXT, {.text = &p.dump}},
        {"--applied", ARGS_TEXT, {.text = &p.applied}},
        {"--recipe", ARGS_TEXT, {.text = &p.recipe}},
        {"--keys", ARGS_FLAG, {.flag = &p.keys}},
        {"--json", ARGS_FLAG, {.flag = &p.json}},
    };
    struct args args = {.options = rows, .option_count = 8 + ARGS_CONNECT_ROWS};
    struct fault fault = {0};
    struct sinew_options options = {0};
    args_connect_options(&p.connect, rows + 8);
    enum err e = args_read(&args, argc, argv, &fault);
    if (e == ERR_OK) e = args_connect(&p.connect, args.url, &options, &fault);
    if (e == ERR_OK && p.recipe) e = file_read(p.recipe, RECIPE_BYTES_MAX, &recipe, &size, &fault);
    options.recipe = (const char *)recipe;
    if (e == ERR_OK) e = play(&p, &options, &fault);
    free(recipe);
    return e == ERR_OK ? 0 : command_fail("play", &fault);
}

const struct command command_play = {"play", "a thin client without a window", help, run};

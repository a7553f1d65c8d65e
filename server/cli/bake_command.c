#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "common/file.h"
#include "server/bake/bake.h"
#include "server/cli/args.h"
#include "server/cli/command.h"

static const char help[] =
    "usage: sinewd bake IN [--rig RIG.json] -o OUT.sinew [--json]\n"
    "\n"
    "Reads a character (.glb, .gltf, .vrm, or a rig file that names one) and writes a baked "
    "model.\n"
    "Prints what it read, what it repaired and what it left out, each with a count.\n"
    "\n"
    "  -o OUT.sinew     where the model goes; written whole or not at all\n"
    "  --rig RIG.json   what the source cannot say: unit, clips of other files, skinning ...\n"
    "  --json           the same report as one JSON object\n"
    "\n"
    "examples:\n"
    "  sinewd bake Fox.glb -o fox.sinew\n"
    "  sinewd bake body.vrm --rig body.rig.json -o body.sinew\n"
    "  sinewd bake body.rig.json -o body.sinew\n";

static const char *const kinds[] = {"read", "repaired", "left out"};

static void print_lines(const struct bake_result *r, const char *out_path)
{
    for (uint32_t i = 0; i < r->note_count; i++) {
        const struct note *n = &r->notes[i];
        if (n->kind == NOTE_READ && n->count == 1)
            (void)printf("%s: %s\n", kinds[n->kind], n->text);
        else
            (void)printf("%s: %s (%u %s)\n", kinds[n->kind], n->text, n->count,
                         n->count == 1 ? "time" : "times");
    }
    (void)printf("wrote %s: %zu bytes\n", out_path, r->size_bytes);
}

static int print_json(const struct bake_result *r, const char *out_path)
{
    cJSON *root = cJSON_CreateObject(), *notes = cJSON_AddArrayToObject(root, "notes");
    cJSON_AddStringToObject(root, "out", out_path);
    cJSON_AddNumberToObject(root, "bytes", (double)r->size_bytes);
    for (uint32_t i = 0; i < r->note_count; i++) {
        cJSON *note = cJSON_CreateObject();
        cJSON_AddStringToObject(note, "kind", kinds[r->notes[i].kind]);
        cJSON_AddNumberToObject(note, "count", r->notes[i].count);
        cJSON_AddStringToObject(note, "text", r->notes[i].text);
        cJSON_AddItemToArray(notes, note);
    }
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    if (!text) return 1;
    (void)puts(text);
    cJSON_free(text);
    return 0;
}

static int run(int argc, char **argv)
{
    const char *out_path = NULL, *rig = NULL;
    bool json = false;
    const struct arg_option options[] = {
        {"-o", ARG_VALUE, {.value = &out_path}},
        {"--rig", ARG_VALUE, {.value = &rig}},
        {"--json", ARG_FLAG, {.flag = &json}},
    };
    struct args args = {.options = options,
                        .option_count = sizeof options / sizeof options[0],
                        .operand_names = "IN",
                        .operand_min = 1,
                        .operand_max = 1};
    struct fault fault = {0};
    struct bake_result result = {0};
    enum err e = args_read(&args, argc, argv, &fault);
    if (e == ERR_OK && !out_path)
        e = fault_set(&fault, ERR_USAGE, "-o OUT.sinew is missing; see 'sinewd bake --help'");
    if (e == ERR_OK) e = bake_run(args.operands[0], rig, &result, &fault);
    if (e == ERR_OK) e = file_write_atomic(out_path, result.bytes, result.size_bytes, &fault);
    int status = e == ERR_OK ? 0 : command_fail("bake", &fault);
    if (status == 0 && json)
        status = print_json(&result, out_path);
    else if (status == 0)
        print_lines(&result, out_path);
    bake_free(&result);
    return status;
}

const struct command command_bake = {"bake", "a GLB, glTF or VRM in, a baked model out", help, run};

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/args.h"
#include "client/cli/command.h"
#include "client/cli/fetch.h"
#include "client/cli/report.h"
#include "common/json_guard.h"

static const char help[] =
    "usage: sinew status URL [--json] [OPTIONS]\n"
    "\n"
    "Asks a server how it is: version, sessions, scenes, tick times, frame age, drops, models. "
    "Over\n"
    "TLS that needs a token of scope ops.\n"
    "\n"
    "  --json               the server's JSON as it is\n"
    "\n"
    "examples:\n"
    "  sinew status http://127.0.0.1:7480          (ws:// means the same here)\n"
    "  sinew status https://server:7443 --ca server.crt --token-file ops.token --json\n"
    "\n";

static void print_value(const cJSON *item)
{
    if (cJSON_IsString(item)) {
        report_clean(item->valuestring);
        (void)printf("%s\n", item->valuestring);
        return;
    }
    char *text = cJSON_PrintUnformatted(item);
    (void)printf("%s\n", text ? text : "");
    cJSON_free(text);
}

// Objects become indented groups; a list of objects, one line each.
static void print_lines(const cJSON *object, int depth)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, object)
    {
        const char *name = item->string ? item->string : "-";
        if (item->string) report_clean(item->string);
        if (depth < 6 &&
            (cJSON_IsObject(item) || (cJSON_IsArray(item) && cJSON_IsObject(item->child)))) {
            (void)printf("%*s%s\n", depth * 2, "", name);
            print_lines(item, depth + 1);
        } else {
            (void)printf("%*s%-*s ", depth * 2, "", 24 - depth * 2, name);
            print_value(item);
        }
    }
}

static enum err show(const struct fetch *f, bool json, struct fault *fault)
{
    struct json_limits limits = json_limits_for(FETCH_BYTES_MAX);
    cJSON *root = NULL;
    struct fault inner = {0};
    if (f->status == 401 || f->status == 403)
        return fault_set(fault, ERR_DENIED,
                         "the server wants a token of scope ops: give --token-file FILE");
    if (f->status != 200)
        return fault_set(fault, ERR_IO, "the server answered %u: %.200s", f->status, f->body);
    enum err e = json_parse(f->body, f->body_bytes, &limits, &root, &inner);
    if (e) return fault_set(fault, e, "the reply is no JSON: %.200s", inner.line);
    if (json)
        (void)fwrite(f->body, 1, f->body_bytes, stdout);
    else
        print_lines(root, 0);
    if (json && f->body_bytes && f->body[f->body_bytes - 1] != '\n') (void)putchar('\n');
    cJSON_Delete(root);
    return ERR_OK;
}

static int run(int argc, char **argv)
{
    struct args_connect connect = {0};
    bool json = false;
    struct args_option rows[1 + ARGS_CONNECT_ROWS] = {{"--json", ARGS_FLAG, {.flag = &json}}};
    struct args args = {.options = rows, .option_count = 1 + ARGS_CONNECT_ROWS};
    struct fault fault = {0};
    struct sinew_options options;
    struct fetch reply = {0};
    const struct fetch_ask ask = {.method = "GET", .target = "/status"};
    struct url url;
    args_connect_options(&connect, rows + 1);
    enum err e = args_read(&args, argc, argv, &fault);
    if (e == ERR_OK) e = url_parse(args.url, &url, &fault);
    if (e == ERR_OK) e = args_connect(&connect, args.url, &options, &fault);
    if (e == ERR_OK) e = fetch_run(&url, &options, &ask, &reply, &fault);
    if (e == ERR_OK) e = show(&reply, json, &fault);
    fetch_free(&reply);
    return e == ERR_OK ? 0 : command_fail("status", &fault);
}

const struct command command_status = {"status", "how a server is", help, run};

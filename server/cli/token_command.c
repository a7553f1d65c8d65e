#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "server/cli/args.h"
#include "server/cli/command.h"
#include "server/cli/config.h"
#include "server/store/store.h"
#include "server/stream/secret.h"

static const char help[] =
    "usage: sinewd token add [--data DIR] --name NAME --scope viewer|modeller|admin|ops\n"
    "                        [--model M]... [--expires 30d|12h|45m|2027-01-31|...T12:00:00Z]\n"
    "       sinewd token list [--data DIR] [--json]\n"
    "       sinewd token revoke [--data DIR] NAME|#ID\n"
    "\n"
    "Who may use a server. 'add' prints the token last, once: only its SHA-256 is kept. Works "
    "while\n"
    "a server has the folder, and acts at once there.\n"
    "\n"
    "  viewer     streams characters\n"
    "  modeller   edits them too; with --model only the models named\n"
    "  admin      adds, replaces and retires models, reads the audit, breaks grants\n"
    "  ops        /status, /metrics and /ops over TLS, nothing else\n"
    "\n"
    "examples:\n"
    "  sinewd token add --name ann --scope modeller --expires 90d\n"
    "  sinewd token add --data /var/lib/sinew --name cave --scope viewer --model mira\n"
    "  sinewd token revoke ann\n";

struct request {
    const char *data, *name, *scope, *expires;
    struct arg_list models;
    bool json;
    struct config config;
};

static enum err read_span(const char *text, int64_t *ms)
{
    static const struct {
        char unit;
        int64_t ms;
    } units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}};
    char *end = NULL;
    errno = 0;
    long n = strtol(text, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (end != text && errno == 0 && n >= 0 && n < 1000000 && end[0] == units[i].unit &&
            !end[1]) {
            *ms = (int64_t)(clock_wall_ns() / 1000000u) + n * units[i].ms;
            return ERR_OK;
        }
    return ERR_USAGE;
}

static enum err read_expiry(const char *text, int64_t *ms, struct fault *fault)
{
    struct tm t = {0};
    if (!text) {
        *ms = 0;
        return ERR_OK;
    }
    if (read_span(text, ms) == ERR_OK) return ERR_OK;
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &t);
    if (!end) end = strptime(text, "%Y-%m-%d", &t);
    if (!end || *end)
        return fault_set(fault, ERR_USAGE,
                         "--expires: \"%.40s\" is no span (30d, 12h, 45m, 60s) and no date "
                         "(2027-01-31, 2027-01-31T12:00:00Z)",
                         text);
    *ms = (int64_t)timegm(&t) * 1000;
    return ERR_OK;
}

static enum err list_models(const struct arg_list *models, char *out, size_t out_bytes,
                            struct fault *fault)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < models->count; i++) {
        int n = snprintf(out + used, out_bytes - used, "%s%s", i ? "\n" : "", models->items[i]);
        if (n < 0 || (size_t)n >= out_bytes - used || strchr(models->items[i], '\n'))
            return fault_set(fault, ERR_LIMIT, "--model: too many, or too long");
        used += (size_t)n;
    }
    return ERR_OK;
}

static enum err add(const struct request *r, struct fault *fault)
{
    static const char *const scopes[] = {"viewer", "modeller", "admin", "ops"};
    struct store_token t = {0};
    char token[SECRET_TEXT_BYTES];
    bool known = false;
    for (size_t i = 0; r->scope && i < sizeof scopes / sizeof scopes[0]; i++)
        known = known || strcmp(scopes[i], r->scope) == 0;
    if (!r->name || !r->name[0] || strlen(r->name) >= sizeof t.name)
        return fault_set(fault, ERR_USAGE, "--name: give 1 to %d bytes", (int)sizeof t.name - 1);
    if (!known) return fault_set(fault, ERR_USAGE, "--scope: give viewer, modeller, admin or ops");
    enum err e = read_expiry(r->expires, &t.expires_ms, fault);
    if (e == ERR_OK) e = list_models(&r->models, t.models, sizeof t.models, fault);
    if (e != ERR_OK) return e;
    (void)snprintf(t.name, sizeof t.name, "%s", r->name);
    (void)snprintf(t.scope, sizeof t.scope, "%s", r->scope);
    if (!secret_make(token))
        return fault_set(fault, ERR_IO, "the system gives no random bytes: try again");
    secret_hash(token, t.hash);
    e = store_token_add(r->data, &t, fault);
    if (e != ERR_OK) return e;
    (void)printf("token #%llu of %s, scope %s; keep it, it is shown only now:\n%s\n",
                 (unsigned long long)t.id, t.name, t.scope, token);
    return ERR_OK;
}

static void put_time(char *out, size_t out_bytes, int64_t ms)
{
    time_t s = (time_t)(ms / 1000);
    struct tm t;
    (void)snprintf(out, out_bytes, "never");
    if (ms != 0 && gmtime_r(&s, &t)) (void)strftime(out, out_bytes, "%Y-%m-%dT%H:%M:%SZ", &t);
}

static const char *state_of(const struct store_token *t)
{
    if (t->revoked_ms) return "revoked";
    bool late = t->expires_ms && (int64_t)(clock_wall_ns() / 1000000u) >= t->expires_ms;
    return late ? "expired" : "good";
}

static void print_json(const struct store_token *list, size_t count)
{
    cJSON *all = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) {
        char when[32], models[STORE_MODELS_BYTES];
        char *rest = models;
        cJSON *t = cJSON_CreateObject();
        (void)cJSON_AddNumberToObject(t, "id", (double)list[i].id);
        (void)cJSON_AddStringToObject(t, "name", list[i].name);
        (void)cJSON_AddStringToObject(t, "scope", list[i].scope);
        (void)cJSON_AddStringToObject(t, "state", state_of(&list[i]));
        put_time(when, sizeof when, list[i].created_ms);
        (void)cJSON_AddStringToObject(t, "created", when);
        put_time(when, sizeof when, list[i].expires_ms);
        (void)cJSON_AddStringToObject(t, "expires", when);
        cJSON *names = cJSON_AddArrayToObject(t, "models");
        memcpy(models, list[i].models, sizeof models);
        for (char *name = strtok_r(models, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest))
            (void)cJSON_AddItemToArray(names, cJSON_CreateString(name));
        (void)cJSON_AddItemToArray(all, t);
    }
    char *text = cJSON_Print(all);
    if (text) (void)puts(text);
    cJSON_free(text);
    cJSON_Delete(all);
}

static enum err list(const struct request *r, struct fault *fault)
{
    struct store_token *all;
    size_t count;
    enum err e = store_token_list(r->data, &all, &count, fault);
    if (e != ERR_OK) return e;
    if (r->json) print_json(all, count);
    for (size_t i = 0; !r->json && i < count; i++) {
        char when[32];
        put_time(when, sizeof when, all[i].expires_ms);
        for (char *c = all[i].models; *c; c++)
            if (*c == '\n') *c = ',';
        (void)printf("#%-4llu %-20s %-9s %-8s expires %-21s %s\n", (unsigned long long)all[i].id,
                     all[i].name, all[i].scope, state_of(&all[i]), when,
                     all[i].models[0] ? all[i].models : "all models");
    }
    free(all);
    return ERR_OK;
}

static enum err revoke_token(const struct request *r, const char *which, struct fault *fault)
{
    size_t count = 0;
    uint64_t id = 0;
    if (which[0] == '#') {
        char *end = NULL;
        id = strtoull(which + 1, &end, 10);
        if (id == 0 || *end)
            return fault_set(fault, ERR_USAGE, "\"%.40s\": give a name, or #ID as 'token list' has",
                             which);
    }
    enum err e = store_token_revoke(r->data, id, id ? "" : which, &count, fault);
    if (e != ERR_OK) return e;
    if (count == 0)
        return fault_set(fault, ERR_NOT_FOUND, "no token that is good is %.60s; see 'token list'",
                         which);
    (void)printf("revoked: %zu\n", count);
    return ERR_OK;
}

static int run(int argc, char **argv)
{
    static struct request r;
    struct fault fault = {0};
    const char *which = NULL;
    r = (struct request){0};
    config_init(&r.config);
    const struct arg_option options[] = {
        {"--data", ARG_VALUE, {.value = &r.data}},       {"--name", ARG_VALUE, {.value = &r.name}},
        {"--scope", ARG_VALUE, {.value = &r.scope}},     {"--model", ARG_LIST, {.list = &r.models}},
        {"--expires", ARG_VALUE, {.value = &r.expires}}, {"--json", ARG_FLAG, {.flag = &r.json}},
    };
    struct args args = {.options = options,
                        .option_count = sizeof options / sizeof options[0],
                        .operand_names = "add|list|revoke",
                        .operand_min = 1,
                        .operand_max = 2};
    enum err e = args_read(&args, argc, argv, &fault);
    if (!r.data) r.data = r.config.data;
    const char *verb = e == ERR_OK ? args.operands[0] : "";
    if (e == ERR_OK && args.operand_count == 2) which = args.operands[1];
    if (e == ERR_OK && which && strcmp(verb, "revoke") != 0)
        e = fault_set(&fault, ERR_USAGE, "what is \"%.40s\" for?", which);
    if (e == ERR_OK && strcmp(verb, "revoke") == 0 && !which) which = r.name;
    if (e == ERR_OK && strcmp(verb, "revoke") == 0 && !which)
        e = fault_set(&fault, ERR_USAGE, "revoke: give a NAME or #ID");
    if (e == ERR_OK) e = config_make_folder(r.data, &fault);
    if (e == ERR_OK) {
        if (strcmp(verb, "add") == 0)
            e = add(&r, &fault);
        else if (strcmp(verb, "list") == 0)
            e = list(&r, &fault);
        else if (strcmp(verb, "revoke") == 0)
            e = revoke_token(&r, which, &fault);
        else
            e = fault_set(&fault, ERR_USAGE, "\"%.40s\": say add, list or revoke", verb);
    }
    return e == ERR_OK ? 0 : command_fail("token", &fault);
}

const struct command command_token = {"token", "who may use a server", help, run};

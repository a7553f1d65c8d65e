#include "server/cli/config.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/check.h"
#include "common/file.h"
#include "common/json_guard.h"

// --- The table ----------------------------------------------------------------------------------

enum kind {
    KIND_ENDPOINT,       // host:port
    KIND_ENDPOINT_RANGE, // host:port[-port]
    KIND_TRUTH,
    KIND_NUMBER,
    KIND_TEXT,
    KIND_LIST,  // of texts
    KIND_MODELS // of "[NAME=]FILE" or {"name", "file"}
};

struct row {
    const char *key;  // JSON path below $, "limits.sessions"
    const char *flag; // "--http"; NULL: file only
    enum kind kind;
    size_t at, count_at, size_bytes; // of the field; of a list's count; of one text
    uint32_t min, max;               // KIND_NUMBER; KIND_LIST: max rows
    const char *words;               // KIND_TEXT: " a b c " when only these are allowed
    const char *help;
};

#define AT(field) offsetof(struct config, field)
#define TEXT(field)                                                                                \
    .kind = KIND_TEXT, .at = AT(field), .size_bytes = sizeof(((struct config *)0)->field)
#define NUMBER(field, low, high) .kind = KIND_NUMBER, .at = AT(field), .min = (low), .max = (high)
#define LIST(field, count)                                                                         \
    .kind = KIND_LIST, .at = AT(field), .count_at = AT(count),                                     \
    .size_bytes = sizeof(((struct config *)0)->field[0]), .max = CONFIG_ORIGINS_MAX

static const struct row rows[] = {
    {"http", "--http", .kind = KIND_ENDPOINT, .at = AT(http),
     .help = "plain HTTP and WebSocket; loopback only unless plain_anywhere"},
    {"tls", "--tls", .kind = KIND_ENDPOINT, .at = AT(tls),
     .help = "HTTPS, WSS and the native stream on one port"},
    {"osc", "--osc", .kind = KIND_ENDPOINT_RANGE, .at = AT(osc),
     .help = "ports for OSC sensor input (UDP): a session leases one; off unless given"},
    {"admin", "--admin", .kind = KIND_ENDPOINT, .at = AT(admin),
     .help = "/status, /metrics and /ops on a listener of their own; loopback only"},
    {"plain_anywhere", "--plain-anywhere", .kind = KIND_TRUTH, .at = AT(plain_anywhere),
     .help = "let plain HTTP listen on other addresses than loopback: nothing is encrypted"},
    {"data", "--data", TEXT(data), .help = "folder of everything the server keeps"},
    {"viewer", "--viewer", TEXT(viewer), .help = "folder of the built viewer"},
    {"plugins.folder", "--plugins", TEXT(plugins),
     .help = "folder of third parties' extras; without it none are run"},
    {"plugins.isolate", "--isolate-plugins", .kind = KIND_TRUTH, .at = AT(plugins_isolate),
     .help = "each in a process of its own, whatever the rig file says"},
    {"plugins.budget_us", NULL, NUMBER(plugins_budget_us, 10, 1000000),
     .help = "of one step, where the rig file does not say"},
    {"plugins.helper_mbytes", NULL, NUMBER(plugins_helper_mbytes, 16, 65536),
     .help = "memory of one plugin's own process"},
    {"certificate", "--certificate", TEXT(certificate),
     .help = "PEM chain; without it a self-signed one is made in the data folder"},
    {"key", "--key", TEXT(key), .help = "PEM key of the certificate"},
    {"models", "--model", .kind = KIND_MODELS, .at = AT(models),
     .help = "characters to load: [NAME=]FILE, may be given several times"},
    {"allowed_origins", "--allow-origin", LIST(origins, origin_count),
     .help = "web pages that may use this server besides its own: https://host[:port]"},
    {"allowed_hosts", "--allow-host", LIST(hosts, host_count),
     .help = "names besides localhost that are answered on loopback (behind a proxy)"},
    {"tick_hz", "--tick-hz", NUMBER(tick_hz, 30, 120), .help = "ticks a second"},
    {"workers", "--workers", NUMBER(workers, 0, 256),
     .help = "threads of the tick; 0: one for each core"},
    {"handshake_threads", NULL, NUMBER(handshake_threads, 2, 64),
     .help = "threads for TLS handshakes, imports and bakes"},
    {"limits.sessions", NULL, NUMBER(sessions_max, 1, 100000), .help = "thin clients at once"},
    {"limits.sessions_per_address", NULL, NUMBER(sessions_per_address_max, 1, 100000),
     .help = "thin clients of one address; loopback is not counted"},
    {"limits.connections", NULL, NUMBER(connections_max, 8, 200000), .help = "connections at once"},
    {"limits.connections_per_address", NULL, NUMBER(connections_per_address_max, 1, 200000),
     .help = "connections of one address; loopback is not counted"},
    {"limits.scenes", NULL, NUMBER(scenes_max, 1, 100000), .help = "scenes at once"},
    {"limits.actors", NULL, NUMBER(actors_max, 1, 100000), .help = "characters in all scenes"},
    {"limits.actors_per_scene", NULL, NUMBER(actors_per_scene_max, 1, 1024),
     .help = "characters in one scene"},
    {"limits.session_kbytes", NULL, NUMBER(session_kbytes_max, 64, 16384),
     .help = "what may wait for one thin client"},
    {"limits.model_mbytes", NULL, NUMBER(model_mbytes_max, 1, 4096), .help = "one model file"},
    {"drain_s", "--drain", NUMBER(drain_s, 0, 3600), .help = "seconds between SIGTERM and the end"},
    {"log.level", "--log-level", TEXT(log_level), .words = " debug info warn error ",
     .help = "debug, info, warn or error"},
    {"log.file", "--log-file", TEXT(log_file), .help = "appended to; empty: standard error"},
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static void *field(const struct row *r, struct config *c)
{
    return (char *)c + r->at;
}

static const void *field_const(const struct row *r, const struct config *c)
{
    return (const char *)c + r->at;
}

// --- Defaults -----------------------------------------------------------------------------------

static void default_data(char out[CONFIG_PATH_BYTES])
{
    const char *data = getenv("XDG_DATA_HOME"); // NOLINT(concurrency-mt-unsafe): before threads
    const char *home = getenv("HOME");          // NOLINT(concurrency-mt-unsafe)
    if (data && data[0] == '/')
        (void)snprintf(out, CONFIG_PATH_BYTES, "%s/sinew", data);
    else if (home && home[0])
        (void)snprintf(out, CONFIG_PATH_BYTES, "%s/.local/share/sinew", home);
    else
        (void)snprintf(out, CONFIG_PATH_BYTES, "sinew-data");
}

void config_init(struct config *c)
{
    *c = (struct config){
        .http = {.host = "127.0.0.1", .port = 7480, .port_last = 7480, .set = true},
        .tls = {.host = "", .port = 7443, .port_last = 7443, .set = true},
        .tick_hz = 60,
        .sessions_max = 256,
        .sessions_per_address_max = 32,
        .connections_max = 1024,
        .connections_per_address_max = 64,
        .scenes_max = 256,
        .actors_max = 1024,
        .actors_per_scene_max = 64,
        .session_kbytes_max = 512,
        .model_mbytes_max = 1024,
        .drain_s = 10,
        .handshake_threads = 2,
        .plugins_budget_us = 2000,
        .plugins_helper_mbytes = 512,
        .log_level = "info",
    };
    default_data(c->data);
}

// --- Values -------------------------------------------------------------------------------------

static enum err parse_port(const char *text, size_t n, uint16_t *out)
{
    unsigned long value = 0;
    if (n == 0 || n > 5) return ERR_MALFORMED;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') return ERR_MALFORMED;
        value = value * 10 + (unsigned long)(text[i] - '0');
    }
    if (value > 65535) return ERR_LIMIT;
    *out = (uint16_t)value;
    return ERR_OK;
}

// Where the host ends: behind the bracket, or at the one colon. NULL: no such place.
static const char *host_end(const char *text, const char **host, size_t *host_bytes)
{
    if (text[0] == '[') {
        const char *end = strchr(text, ']');
        if (!end || end[1] != ':') return NULL;
        *host = text + 1;
        *host_bytes = (size_t)(end - text - 1);
        return *host_bytes > 0 ? end + 1 : NULL;
    }
    const char *colon = strchr(text, ':');
    if (!colon || strchr(colon + 1, ':')) return NULL; // an IPv6 address without brackets
    *host = text;
    *host_bytes = (size_t)(colon - text);
    return colon;
}

enum err config_parse_endpoint(const char *text, bool range, struct config_endpoint *out,
                               struct fault *fault)
{
    struct config_endpoint e = {.set = true};
    const char *host;
    size_t host_bytes;
    const char *colon = host_end(text, &host, &host_bytes);
    if (!colon || host_bytes >= sizeof e.host)
        return fault_set(fault, ERR_MALFORMED,
                         "\"%.80s\" is not HOST:PORT (an IPv6 address goes in brackets, [::1]:80)",
                         text);
    memcpy(e.host, host, host_bytes);
    e.host[host_bytes] = 0;
    const char *dash = range ? strchr(colon, '-') : NULL;
    size_t first_bytes = dash ? (size_t)(dash - colon - 1) : strlen(colon + 1);
    enum err status = parse_port(colon + 1, first_bytes, &e.port);
    e.port_last = e.port;
    if (status == ERR_OK && dash) status = parse_port(dash + 1, strlen(dash + 1), &e.port_last);
    if (status != ERR_OK)
        return fault_set(fault, status, "\"%.80s\": a port is a number from 0 to 65535", text);
    if (e.port_last < e.port)
        return fault_set(fault, ERR_MALFORMED, "\"%.80s\": the range of ports is backwards", text);
    *out = e;
    return ERR_OK;
}

enum err config_parse_model(const char *text, struct config_model *out, struct fault *fault)
{
    struct config_model m = {0};
    const char *equals = strchr(text, '='), *slash = strchr(text, '/');
    // "a/b=c.glb" is a file whose name has an equals sign.
    const char *path = equals && (!slash || equals < slash) ? equals + 1 : text;
    const char *stem = strrchr(path, '/');
    stem = stem ? stem + 1 : path;
    const char *dot = strrchr(stem, '.');
    size_t n = dot && dot > stem ? (size_t)(dot - stem) : strlen(stem);
    if (path != text) {
        stem = text;
        n = (size_t)(equals - text);
    }
    if (!*path || n == 0)
        return fault_set(fault, ERR_MALFORMED, "\"%.80s\" is not [NAME=]FILE", text);
    if (n >= sizeof m.name || strlen(path) >= sizeof m.path)
        return fault_set(fault, ERR_LIMIT, "\"%.80s\": name or path is too long", text);
    memcpy(m.name, stem, n);
    (void)snprintf(m.path, sizeof m.path, "%s", path);
    *out = m;
    return ERR_OK;
}

static enum err add_model(struct config *c, const char *text, struct fault *fault)
{
    struct config_model m;
    enum err e = config_parse_model(text, &m, fault);
    if (e != ERR_OK) return e;
    for (size_t i = 0; i < c->model_count; i++)
        if (strcmp(c->models[i].name, m.name) == 0)
            return fault_set(fault, ERR_AMBIGUOUS, "two models are named \"%s\": give NAME=FILE",
                             m.name);
    if (c->model_count == CONFIG_MODELS_MAX)
        return fault_set(fault, ERR_LIMIT, "more than %d models", CONFIG_MODELS_MAX);
    c->models[c->model_count++] = m;
    return ERR_OK;
}

static enum err set_text(const struct row *r, struct config *c, const char *text,
                         struct fault *fault)
{
    if (r->words) {
        char word[40];
        int n = snprintf(word, sizeof word, " %s ", text);
        if (n < 3 || (size_t)n >= sizeof word || strchr(text, ' ') || !strstr(r->words, word))
            return fault_set(fault, ERR_MALFORMED, "\"%.40s\" is none of:%s", text, r->words);
    }
    if (strlen(text) >= r->size_bytes)
        return fault_set(fault, ERR_LIMIT, "longer than %zu bytes", r->size_bytes - 1);
    (void)snprintf(field(r, c), r->size_bytes, "%s", text);
    return ERR_OK;
}

static enum err add_text(const struct row *r, struct config *c, const char *text,
                         struct fault *fault)
{
    size_t *count = (size_t *)(void *)((char *)c + r->count_at);
    if (strcmp(r->key, "allowed_origins") == 0 && strncmp(text, "http://", 7) != 0 &&
        strncmp(text, "https://", 8) != 0)
        return fault_set(fault, ERR_MALFORMED, "\"%.80s\" is not https://host[:port]", text);
    if (*count == r->max) return fault_set(fault, ERR_LIMIT, "more than %u entries", r->max);
    if (strlen(text) >= r->size_bytes)
        return fault_set(fault, ERR_LIMIT, "longer than %zu bytes", r->size_bytes - 1);
    (void)snprintf((char *)field(r, c) + *count * r->size_bytes, r->size_bytes, "%s", text);
    ++*count;
    return ERR_OK;
}

static enum err set_number(const struct row *r, struct config *c, double value, struct fault *fault)
{
    if (!(value >= r->min && value <= r->max) || value != (double)(uint32_t)value)
        return fault_set(fault, ERR_LIMIT, "must be a whole number from %u to %u", r->min, r->max);
    *(uint32_t *)field(r, c) = (uint32_t)value;
    return ERR_OK;
}

// --- JSON ---------------------------------------------------------------------------------------

// One entry of a list as the text that a flag would have.
static enum err entry_text(const struct row *r, const cJSON *item, char *out, size_t out_bytes,
                           struct fault *fault)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "name");
    const cJSON *path = cJSON_GetObjectItemCaseSensitive(item, "file");
    bool named = cJSON_IsString(name);
    if (cJSON_IsString(item)) {
        (void)snprintf(out, out_bytes, "%s", item->valuestring);
        return ERR_OK;
    }
    if (r->kind != KIND_MODELS) return fault_set(fault, ERR_MALFORMED, "entries must be texts");
    if (!cJSON_IsString(path) || cJSON_GetArraySize(item) != (named ? 2 : 1))
        return fault_set(fault, ERR_MALFORMED, "entries must be texts or {\"name\", \"file\"}");
    (void)snprintf(out, out_bytes, "%s%s%s", named ? name->valuestring : "", named ? "=" : "",
                   path->valuestring);
    return ERR_OK;
}

static enum err set_list(const struct row *r, struct config *c, const cJSON *list,
                         struct fault *fault)
{
    const cJSON *item;
    char text[CONFIG_PATH_BYTES + 160];
    if (!cJSON_IsArray(list)) return fault_set(fault, ERR_MALFORMED, "must be a list");
    if (r->kind == KIND_MODELS)
        c->model_count = 0;
    else
        *(size_t *)(void *)((char *)c + r->count_at) = 0;
    cJSON_ArrayForEach(item, list)
    {
        enum err e = entry_text(r, item, text, sizeof text, fault);
        if (e != ERR_OK) return e;
        e = r->kind == KIND_MODELS ? add_model(c, text, fault) : add_text(r, c, text, fault);
        if (e != ERR_OK) return e;
    }
    return ERR_OK;
}

static enum err set_json(const struct row *r, struct config *c, const cJSON *value,
                         struct fault *fault)
{
    bool is_text = cJSON_IsString(value);
    switch (r->kind) {
    case KIND_ENDPOINT:
    case KIND_ENDPOINT_RANGE:
        if (cJSON_IsNull(value)) { // switched off
            *(struct config_endpoint *)field(r, c) = (struct config_endpoint){0};
            return ERR_OK;
        }
        if (!is_text) return fault_set(fault, ERR_MALFORMED, "must be \"HOST:PORT\" or null");
        return config_parse_endpoint(value->valuestring, r->kind == KIND_ENDPOINT_RANGE,
                                     field(r, c), fault);
    case KIND_TRUTH:
        if (!cJSON_IsBool(value)) return fault_set(fault, ERR_MALFORMED, "must be true or false");
        *(bool *)field(r, c) = cJSON_IsTrue(value);
        return ERR_OK;
    case KIND_NUMBER:
        if (!cJSON_IsNumber(value)) return fault_set(fault, ERR_MALFORMED, "must be a number");
        return set_number(r, c, value->valuedouble, fault);
    case KIND_TEXT:
        if (!is_text) return fault_set(fault, ERR_MALFORMED, "must be a text");
        return set_text(r, c, value->valuestring, fault);
    case KIND_LIST:
    case KIND_MODELS:
        return set_list(r, c, value, fault);
    }
    return ERR_UNSUPPORTED;
}

static const struct row *row_of_key(const char *key)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (strcmp(rows[i].key, key) == 0) return &rows[i];
    return NULL;
}

static bool is_group(const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (strncmp(rows[i].key, key, n) == 0 && rows[i].key[n] == '.') return true;
    return false;
}

static enum err read_object(struct config *c, const cJSON *object, const char *prefix,
                            struct fault *fault)
{
    const cJSON *member;
    if (!cJSON_IsObject(object))
        return fault_set(fault, ERR_MALFORMED, "$%s%.*s: must be an object", *prefix ? "." : "",
                         (int)(*prefix ? strlen(prefix) - 1 : 0), prefix);
    cJSON_ArrayForEach(member, object)
    {
        char key[96];
        int n = snprintf(key, sizeof key, "%s%s", prefix, member->string);
        const struct row *r = (size_t)n < sizeof key ? row_of_key(key) : NULL;
        if (!r && !*prefix && (size_t)n < sizeof key && is_group(key)) {
            (void)snprintf(key, sizeof key, "%.80s.", member->string);
            enum err e = read_object(c, member, key, fault);
            if (e != ERR_OK) return e;
            continue;
        }
        if (!r)
            return fault_set(fault, ERR_NOT_FOUND,
                             "$.%.80s: there is no such setting (sinewd check-config --print "
                             "lists them)",
                             key);
        struct fault inner = {0};
        enum err e = set_json(r, c, member, &inner);
        if (e != ERR_OK) return fault_set(fault, e, "$.%s: %s", key, inner.line);
    }
    return ERR_OK;
}

enum err config_read_json(struct config *c, const char *text, size_t size_bytes,
                          struct fault *fault)
{
    struct json_limits limits = json_limits_for(CONFIG_FILE_BYTES_MAX);
    struct config *next = malloc(sizeof *next); // 100 kB: not on the stack
    if (!next) return fault_set(fault, ERR_MEMORY, "no memory to read the configuration");
    *next = *c;
    cJSON *json = NULL;
    enum err e = json_parse(text, size_bytes, &limits, &json, fault);
    if (e == ERR_OK) e = read_object(next, json, "", fault);
    if (e == ERR_OK) *c = *next;
    cJSON_Delete(json);
    free(next);
    return e;
}

enum err config_read_file(struct config *c, const char *path, struct fault *fault)
{
    uint8_t *bytes;
    size_t size_bytes;
    enum err e = file_read(path, CONFIG_FILE_BYTES_MAX, &bytes, &size_bytes, fault);
    if (e != ERR_OK) return e;
    struct fault inner = {0};
    e = config_read_json(c, (const char *)bytes, size_bytes, &inner);
    free(bytes);
    return e == ERR_OK ? e : fault_set(fault, e, "%.160s: %s", path, inner.line);
}

// --- Flags --------------------------------------------------------------------------------------

static const struct row *row_of_flag(const char *flag, size_t flag_bytes)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].flag && strlen(rows[i].flag) == flag_bytes &&
            memcmp(rows[i].flag, flag, flag_bytes) == 0)
            return &rows[i];
    return NULL;
}

static enum err set_flag(const struct row *r, struct config *c, const char *value,
                         struct fault *fault)
{
    char *end;
    CHECK(value || r->kind == KIND_TRUTH); // read_pass has seen to it
    switch (r->kind) {
    case KIND_ENDPOINT:
    case KIND_ENDPOINT_RANGE:
        return config_parse_endpoint(value, r->kind == KIND_ENDPOINT_RANGE, field(r, c), fault);
    case KIND_TRUTH:
        *(bool *)field(r, c) = true;
        return ERR_OK;
    case KIND_NUMBER: {
        errno = 0;
        double number = strtod(value, &end);
        if (errno != 0 || end == value || *end)
            return fault_set(fault, ERR_MALFORMED, "\"%.40s\" is not a number", value);
        return set_number(r, c, number, fault);
    }
    case KIND_TEXT:
        return set_text(r, c, value, fault);
    case KIND_LIST:
        return add_text(r, c, value, fault);
    case KIND_MODELS:
        return add_model(c, value, fault);
    }
    return ERR_UNSUPPORTED;
}

struct flags {
    int argc, at;
    char *const *argv;
};

// Splits "--flag=value" and "--flag value", and goes over what belongs to the flag.
static enum err next_flag(struct flags *f, bool takes_value, const char **value,
                          struct fault *fault)
{
    const char *argument = f->argv[f->at++], *equals = strchr(argument, '=');
    *value = equals ? equals + 1 : NULL;
    if (!takes_value && equals)
        return fault_set(fault, ERR_USAGE, "%.*s takes no value", (int)(equals - argument),
                         argument);
    if (!takes_value || equals) return ERR_OK;
    if (f->at >= f->argc) return fault_set(fault, ERR_USAGE, "%s needs a value", argument);
    *value = f->argv[f->at++];
    return ERR_OK;
}

static bool is_config_flag(const char *argument)
{
    size_t n = strcspn(argument, "=");
    return n == 8 && memcmp(argument, "--config", 8) == 0;
}

// One pass over the flags: first for --config, then for all others.
static enum err read_pass(struct config *c, int argc, char *const *argv, bool config_pass,
                          struct fault *fault)
{
    struct flags flags = {.argc = argc, .argv = argv};
    while (flags.at < argc) {
        const char *argument = argv[flags.at], *value;
        bool config = is_config_flag(argument);
        const struct row *r = config ? NULL : row_of_flag(argument, strcspn(argument, "="));
        if (!config && !r)
            return fault_set(fault, ERR_USAGE, "%.80s is not a flag of serve (see --help)",
                             argument);
        enum err e = next_flag(&flags, config || r->kind != KIND_TRUTH, &value, fault);
        if (e != ERR_OK) return e;
        if (config != config_pass) continue;
        if (config) {
            e = config_read_file(c, value, fault);
            if (e != ERR_OK) return e;
            continue;
        }
        struct fault inner = {0};
        if (set_flag(r, c, value, &inner) != ERR_OK)
            return fault_set(fault, ERR_USAGE, "%s: %s", r->flag, inner.line);
    }
    return ERR_OK;
}

enum err config_read_flags(struct config *c, int argc, char *const *argv, struct fault *fault)
{
    struct config *next = malloc(sizeof *next);
    if (!next) return fault_set(fault, ERR_MEMORY, "no memory to read the flags");
    *next = *c;
    enum err e = read_pass(next, argc, argv, true, fault);
    if (e == ERR_OK) e = read_pass(next, argc, argv, false, fault);
    if (e == ERR_OK && (next->certificate[0] != 0) != (next->key[0] != 0))
        e = fault_set(fault, ERR_USAGE, "certificate and key belong together: give both or none");
    if (e == ERR_OK) *c = *next;
    free(next);
    return e;
}

// --- Printing -----------------------------------------------------------------------------------

static void endpoint_text(const struct config_endpoint *e, char out[300])
{
    const char *open = strchr(e->host, ':') ? "[" : "", *close = *open ? "]" : "";
    if (e->port_last > e->port)
        (void)snprintf(out, 300, "%s%s%s:%u-%u", open, e->host, close, e->port, e->port_last);
    else
        (void)snprintf(out, 300, "%s%s%s:%u", open, e->host, close, e->port);
}

static cJSON *models_json(const struct config *c)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < c->model_count; i++) {
        cJSON *m = cJSON_CreateObject();
        (void)cJSON_AddStringToObject(m, "name", c->models[i].name);
        (void)cJSON_AddStringToObject(m, "file", c->models[i].path);
        (void)cJSON_AddItemToArray(list, m);
    }
    return list;
}

static cJSON *value_json(const struct row *r, const struct config *c)
{
    const void *at = field_const(r, c);
    char text[300];
    switch (r->kind) {
    case KIND_ENDPOINT:
    case KIND_ENDPOINT_RANGE: {
        const struct config_endpoint *e = at;
        if (!e->set) return cJSON_CreateNull();
        endpoint_text(e, text);
        return cJSON_CreateString(text);
    }
    case KIND_TRUTH:
        return cJSON_CreateBool(*(const bool *)at);
    case KIND_NUMBER:
        return cJSON_CreateNumber(*(const uint32_t *)at);
    case KIND_TEXT:
        return cJSON_CreateString(at);
    case KIND_MODELS:
        return models_json(c);
    case KIND_LIST:
        break;
    }
    cJSON *list = cJSON_CreateArray();
    size_t count = *(const size_t *)(const void *)((const char *)c + r->count_at);
    for (size_t i = 0; i < count; i++)
        (void)cJSON_AddItemToArray(list, cJSON_CreateString((const char *)at + i * r->size_bytes));
    return list;
}

char *config_print(const struct config *c)
{
    cJSON *root = cJSON_CreateObject();
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const char *dot = strchr(rows[i].key, '.');
        cJSON *parent = root;
        if (dot) {
            char group[40];
            (void)snprintf(group, sizeof group, "%.*s", (int)(dot - rows[i].key), rows[i].key);
            parent = cJSON_GetObjectItemCaseSensitive(root, group);
            if (!parent) parent = cJSON_AddObjectToObject(root, group);
        }
        cJSON *value = value_json(&rows[i], c);
        if (!cJSON_AddItemToObject(parent, dot ? dot + 1 : rows[i].key, value)) cJSON_Delete(value);
    }
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return text;
}

struct text {
    char *bytes;
    size_t used, capacity;
};

static void append(struct text *t, const char *format, ...) PRINTF_LIKE(2, 3);
static void append(struct text *t, const char *format, ...)
{
    char line[1600];
    va_list args;
    va_start(args, format);
    int n =
        vsnprintf(line, sizeof line, format, args); // NOLINT(clang-analyzer-valist.Uninitialized)
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line || t->capacity - t->used <= (size_t)n) return;
    memcpy(t->bytes + t->used, line, (size_t)n + 1);
    t->used += (size_t)n;
}

static const char *kind_text(const struct row *r, char out[96])
{
    static const char *const names[] = {"HOST:PORT", "HOST:PORT[-PORT]", "true|false",         NULL,
                                        "text",      "list of texts",    "list of [NAME=]FILE"};
    if (r->kind == KIND_NUMBER)
        (void)snprintf(out, 96, "%u..%u", r->min, r->max);
    else if (r->words)
        (void)snprintf(out, 96, "%.*s", (int)strlen(r->words) - 2, r->words + 1);
    else
        (void)snprintf(out, 96, "%s", names[r->kind]);
    return out;
}

char *config_print_schema(void)
{
    struct text t = {.bytes = calloc(1, 16384), .capacity = 16384};
    struct config *c = malloc(sizeof *c);
    if (!t.bytes || !c) {
        free(t.bytes);
        free(c);
        return NULL;
    }
    config_init(c);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        char kind[96];
        cJSON *value = value_json(&rows[i], c);
        char *text = cJSON_PrintUnformatted(value);
        append(&t, "%-32s %-20s default %-24s %s\n", rows[i].key, kind_text(&rows[i], kind),
               text ? text : "?", rows[i].help);
        cJSON_free(text);
        cJSON_Delete(value);
    }
    free(c);
    return t.bytes;
}

char *config_print_usage(void)
{
    struct text t = {.bytes = calloc(1, 8192), .capacity = 8192};
    if (!t.bytes) return NULL;
    append(&t, "usage: sinewd serve [--config FILE] [flags]\n");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        char kind[96], left[128];
        if (!rows[i].flag) continue;
        bool truth = rows[i].kind == KIND_TRUTH;
        bool models = rows[i].kind == KIND_MODELS;
        (void)snprintf(left, sizeof left, "%s %s", rows[i].flag,
                       truth    ? ""
                       : models ? "[NAME=]FILE"
                                : kind_text(&rows[i], kind));
        append(&t, "  %-34s %s\n", left, rows[i].help);
    }
    return t.bytes;
}

enum err config_make_folder(const char *path, struct fault *fault)
{
    char part[CONFIG_PATH_BYTES];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof part) return fault_set(fault, ERR_USAGE, "--data: no folder given");
    for (size_t i = 1; i <= n; i++) {
        if (i < n && path[i] != '/') continue;
        (void)snprintf(part, sizeof part, "%.*s", (int)i, path);
        char why[ERR_SYSTEM_BYTES];
        if (mkdir(part, 0750) != 0 && errno != EEXIST)
            return fault_set(fault, ERR_IO,
                             "cannot make the data folder %s: %s; choose another with --data", path,
                             err_system(errno, why));
    }
    return ERR_OK;
}

#include "client/cli/args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"

const char args_connect_help[] =
    "the connection:\n"
    "  URL                  sinew://host:port (native, TLS), wss://host:port, ws://host:port;\n"
    "                       ports when left out: 7443, 7443, 7480\n"
    "  --ca FILE            trust the certificates in this PEM file\n"
    "  --pin SHA256         trust exactly this certificate (sinewd prints its fingerprint)\n"
    "  --insecure           trust anyone: for trials on one machine\n"
    "  --token-file FILE    a token, as 'sinewd token add' printed it\n"
    "  --ticket TEXT        a one-use ticket from POST /v1/sessions\n"
    "  --scene S            join this scene; otherwise a private one\n"
    "  --character NAME     otherwise the server's first\n"
    "  --bits N             10 to 16 bits a coordinate      --rate HZ   frames a second\n"
    "  --detail N           0 automatic, 1 full, 2 medium, 3 coarse      --raw   float32 frames\n";

static const struct args_option *find(const struct args *a, const char *name, size_t length)
{
    for (size_t i = 0; i < a->option_count; i++)
        if (strlen(a->options[i].name) == length && strncmp(a->options[i].name, name, length) == 0)
            return &a->options[i];
    return NULL;
}

static enum err take(const struct args_option *o, const char *value, struct fault *fault)
{
    char *end;
    switch (o->kind) {
    case ARGS_FLAG:
        *o->into.flag = true;
        return ERR_OK;
    case ARGS_TEXT:
        *o->into.text = value;
        return ERR_OK;
    case ARGS_NUMBER:
        *o->into.number = strtod(value, &end);
        if (end != value && *end == 0 && isfinite(*o->into.number) && *o->into.number >= 0)
            return ERR_OK;
        return fault_set(fault, ERR_USAGE, "%s wants a number, not \"%.40s\"", o->name, value);
    }
    return ERR_USAGE;
}

static enum err take_operand(struct args *a, const char *text, struct fault *fault)
{
    if (a->url && a->operand_count == a->operand_max)
        return fault_set(fault, ERR_USAGE, "\"%.60s\" is one argument too many", text);
    if (a->url)
        a->operands[a->operand_count++] = text;
    else
        a->url = text;
    return ERR_OK;
}

// The option at argv[*i], and its value from behind '=' or the next argument.
static enum err take_option(struct args *a, int argc, char **argv, int *i, struct fault *fault)
{
    const char *text = argv[*i];
    size_t length = strcspn(text, "=");
    const struct args_option *o = find(a, text, length);
    if (!o)
        return fault_set(fault, ERR_USAGE, "no option \"%.*s\"; see --help",
                         length > 60 ? 60 : (int)length, text);
    const char *value = text[length] ? text + length + 1 : NULL;
    if (o->kind == ARGS_FLAG && value)
        return fault_set(fault, ERR_USAGE, "%s takes no value", o->name);
    if (o->kind != ARGS_FLAG && !value) {
        value = ++*i < argc ? argv[*i] : NULL;
        if (!value) return fault_set(fault, ERR_USAGE, "%s wants a value; see --help", o->name);
    }
    return take(o, value, fault);
}

enum err args_read(struct args *a, int argc, char **argv, struct fault *fault)
{
    bool options = true;
    for (int i = 1; i < argc; i++) {
        enum err e = ERR_OK;
        if (options && strcmp(argv[i], "--") == 0)
            options = false;
        else if (options && argv[i][0] == '-' && argv[i][1])
            e = take_option(a, argc, argv, &i, fault);
        else
            e = take_operand(a, argv[i], fault);
        if (e) return e;
    }
    if (a->url) return ERR_OK;
    return fault_set(fault, ERR_USAGE, "the URL is missing: for example ws://127.0.0.1:7480");
}

void args_connect_options(struct args_connect *c, struct args_option rows[ARGS_CONNECT_ROWS])
{
    const struct args_option list[ARGS_CONNECT_ROWS] = {
        {"--ca", ARGS_TEXT, {.text = &c->ca}},
        {"--pin", ARGS_TEXT, {.text = &c->pin}},
        {"--insecure", ARGS_FLAG, {.flag = &c->insecure}},
        {"--token-file", ARGS_TEXT, {.text = &c->token_file}},
        {"--ticket", ARGS_TEXT, {.text = &c->ticket}},
        {"--scene", ARGS_TEXT, {.text = &c->scene}},
        {"--character", ARGS_TEXT, {.text = &c->character}},
        {"--bits", ARGS_NUMBER, {.number = &c->bits}},
        {"--rate", ARGS_NUMBER, {.number = &c->rate}},
        {"--detail", ARGS_NUMBER, {.number = &c->detail}},
        {"--raw", ARGS_FLAG, {.flag = &c->raw}},
    };
    memcpy(rows, list, sizeof list);
}

static enum err read_token(struct args_connect *c, struct fault *fault)
{
    uint8_t *bytes;
    size_t size;
    enum err e = file_read(c->token_file, 4096, &bytes, &size, fault);
    if (e) return e;
    while (size > 0 &&
           (bytes[size - 1] == '\n' || bytes[size - 1] == '\r' || bytes[size - 1] == ' '))
        size--;
    if (size == 0 || size >= 128)
        e = fault_set(fault, ERR_MALFORMED, "%s holds no token", c->token_file);
    if (e == ERR_OK) {
        memcpy(c->token, bytes, size);
        c->token[size] = 0;
    }
    free(bytes);
    return e;
}

enum err args_connect(struct args_connect *c, const char *url, struct sinew_options *out,
                      struct fault *fault)
{
    enum err e = c->token_file ? read_token(c, fault) : ERR_OK;
    if (e) return e;
    if (c->bits > 16 || c->rate > 1000 || c->detail > 3)
        return fault_set(fault, ERR_USAGE, "--bits goes to 16, --rate to 1000, --detail to 3");
    sinew_options_init(out, sizeof *out);
    out->url = url;
    out->ca_file = c->ca;
    out->pin = c->pin;
    out->insecure = c->insecure;
    out->token = c->token[0] ? c->token : NULL;
    out->ticket = c->ticket;
    out->scene = c->scene;
    out->character = c->character;
    out->program = "sinew " SINEW_VERSION;
    out->quality.bits = (uint32_t)c->bits;
    out->quality.rate_hz = (uint32_t)c->rate;
    out->quality.detail = (uint32_t)c->detail;
    out->quality.raw = c->raw;
    return ERR_OK;
}

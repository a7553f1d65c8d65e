#include "server/cli/args.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"

static const struct arg_option *find_option(const struct args *a, const char *text, size_t length)
{
    for (size_t i = 0; i < a->option_count; i++)
        if (strlen(a->options[i].name) == length && strncmp(a->options[i].name, text, length) == 0)
            return &a->options[i];
    return NULL;
}

static enum err take_value(const char *command, const struct arg_option *o, const char *value,
                           struct fault *fault)
{
    if (!value)
        return fault_set(fault, ERR_USAGE, "%s needs a value; see 'sinewd %s --help'", o->name,
                         command);
    if (o->kind == ARG_VALUE) {
        if (*o->into.value) return fault_set(fault, ERR_USAGE, "%s is given twice", o->name);
        *o->into.value = value;
        return ERR_OK;
    }
    if (o->into.list->count == ARG_LIST_MAX)
        return fault_set(fault, ERR_USAGE, "%s is given more than %d times", o->name, ARG_LIST_MAX);
    o->into.list->items[o->into.list->count++] = value;
    return ERR_OK;
}

static enum err take_option(const struct args *a, char **argv, int argc, int *at,
                            struct fault *fault)
{
    const char *text = argv[*at], *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    const struct arg_option *o = find_option(a, text, length);
    if (!o)
        return fault_set(fault, ERR_USAGE, "unknown option %.*s; see 'sinewd %s --help'",
                         (int)length, text, argv[0]);
    if (o->kind == ARG_FLAG) {
        if (equals) return fault_set(fault, ERR_USAGE, "%s takes no value", o->name);
        *o->into.flag = true;
        return ERR_OK;
    }
    if (equals) return take_value(argv[0], o, equals + 1, fault);
    *at += 1;
    return take_value(argv[0], o, *at < argc ? argv[*at] : NULL, fault);
}

enum err args_read(struct args *a, int argc, char **argv, struct fault *fault)
{
    bool options_end = false;
    CHECK(argc >= 1);
    CHECK(a->operand_max <= OPERANDS_MAX);
    a->operand_count = 0;
    for (int i = 1; i < argc; i++) {
        if (!options_end && strcmp(argv[i], "--") == 0) {
            options_end = true;
        } else if (!options_end && argv[i][0] == '-' && argv[i][1]) {
            enum err e = take_option(a, argv, argc, &i, fault);
            if (e != ERR_OK) return e;
        } else if (a->operand_count == a->operand_max) {
            return fault_set(fault, ERR_USAGE, "unexpected argument %.100s; see 'sinewd %s --help'",
                             argv[i], argv[0]);
        } else {
            a->operands[a->operand_count++] = argv[i];
        }
    }
    if (a->operand_count < a->operand_min)
        return fault_set(fault, ERR_USAGE, "%s is missing; see 'sinewd %s --help'",
                         a->operand_names, argv[0]);
    return ERR_OK;
}

enum err args_number(const char *option, const char *text, double *out, struct fault *fault)
{
    char *end = NULL;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value))
        return fault_set(fault, ERR_USAGE, "%s needs a number, not \"%.60s\"", option, text);
    *out = value;
    return ERR_OK;
}

enum err args_assignment(const char *option, const char *text, char *name, size_t name_bytes,
                         double *value, struct fault *fault)
{
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text)
        return fault_set(fault, ERR_USAGE, "%s needs NAME=VALUE, not \"%.60s\"", option, text);
    if ((size_t)(equals - text) >= name_bytes)
        return fault_set(fault, ERR_USAGE, "%s: the name is too long", option);
    (void)snprintf(name, name_bytes, "%.*s", (int)(equals - text), text);
    return args_number(option, equals + 1, value, fault);
}

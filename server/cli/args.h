#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

// Reads a sub-command's arguments against a table. `--name VALUE`, `--name=VALUE`, flags, and
// operands in any order; `--` ends the options. Errors are one line with the next step.
enum arg_kind { ARG_FLAG, ARG_VALUE, ARG_LIST /* may be given several times */ };

enum { ARG_LIST_MAX = 64, OPERANDS_MAX = 64 };
struct arg_list {
    const char *items[ARG_LIST_MAX];
    size_t count;
};
struct arg_option {
    const char *name; // with its dashes: "--clip", "-o"
    enum arg_kind kind;
    union {
        bool *flag;
        const char **value; // stays untouched when not given
        struct arg_list *list;
    } into;
};
struct args {
    const struct arg_option *options;
    size_t option_count;
    const char *operand_names; // for the error line: "MODEL"
    size_t operand_min, operand_max;
    const char *operands[OPERANDS_MAX]; // written
    size_t operand_count;               // written
};

// ERR_USAGE with a line, or ERR_OK. argv[0] is the sub-command's name.
MUST_CHECK enum err args_read(struct args *a, int argc, char **argv, struct fault *fault);

// A finite number; the line names the option.
MUST_CHECK enum err args_number(const char *option, const char *text, double *out,
                                struct fault *fault);
// Splits "NAME=VALUE" at the last '='; the name goes to `name`.
MUST_CHECK enum err args_assignment(const char *option, const char *text, char *name,
                                    size_t name_bytes, double *value, struct fault *fault);

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/lib/include/sinew/sinew.h"
#include "common/err.h"

// A command's arguments against a table: `--name VALUE`, `--name=VALUE`, flags, one URL, and what
// else the command takes. Every error is one line with the next step.
enum args_kind { ARGS_FLAG, ARGS_TEXT, ARGS_NUMBER };
struct args_option {
    const char *name; // with its dashes
    enum args_kind kind;
    union {
        bool *flag;
        const char **text;
        double *number; // finite
    } into;             // untouched when the option is not given
};
struct args {
    const struct args_option *options;
    size_t option_count;
    const char **operands; // room for operand_max beside the URL; may be NULL
    size_t operand_max;
    const char *url;      // written
    size_t operand_count; // written
};
MUST_CHECK enum err args_read(struct args *a, int argc, char **argv, struct fault *fault);

// What every command that connects takes. Zero-initialised, then args_connect_options gives the
// rows; args_connect makes the library's options of it.
struct args_connect {
    const char *ca, *pin, *token_file, *ticket, *scene, *character;
    bool insecure, raw;
    double bits, rate, detail;
    char token[256]; // from the file
};
enum { ARGS_CONNECT_ROWS = 11 };
void args_connect_options(struct args_connect *c, struct args_option rows[ARGS_CONNECT_ROWS]);
MUST_CHECK enum err args_connect(struct args_connect *c, const char *url, struct sinew_options *out,
                                 struct fault *fault);
extern const char args_connect_help[];

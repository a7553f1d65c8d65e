#pragma once
#include <stddef.h>

#include "common/err.h"

// A program of several commands: finding one, its help, its exit status. For `sinewd` and `sinew`;
// prints to stdout and stderr, main thread.

// One command. `run` gets its own name as argv[0] and returns the exit status: 0 done, 1 the work
// failed, 2 wrong usage. It has printed its one line on stderr by then.
struct command {
    const char *name, *summary;
    const char *help; // usage, options, examples
    int (*run)(int argc, char **argv);
};

struct program {
    const char *name, *purpose; // "sinewd", "bakes, evaluates and streams ..."
    const char *usage;          // what follows the name in the usage line
    const char *examples;       // lines after the list of commands, or ""
    const char *common_help;    // lines after every command's own help, or ""
    const struct command *const *commands;
    size_t command_count;
};

// Runs the command that argv[1] names; --help, help COMMAND and --version by itself.
int program_main(const struct program *p, int argc, char **argv);
// Prints "PROGRAM COMMAND: LINE" and gives the exit status that the fault's code stands for.
int program_fail(const struct program *p, const char *command, const struct fault *fault);

#pragma once
#include "client/lib/include/sinew/sinew.h"
#include "common/err.h"

// The commands of `sinew`. `run` gets the arguments from the command's name on and returns the
// exit status: 0 done, 1 the work failed, 2 wrong usage.
struct command {
    const char *name, *summary, *help;
    int (*run)(int argc, char **argv);
};
extern const struct command command_play, command_record, command_load, command_status,
    command_edit;

int command_main(int argc, char **argv);
// Prints the fault's one line and gives the exit status for it.
int command_fail(const char *name, const struct fault *fault);
// A library result as a fault: "no connection: ...".
enum err command_fault(struct fault *fault, int result, const char *why);

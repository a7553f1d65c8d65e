#pragma once
#include "client/lib/include/sinew/sinew.h"
#include "common/program.h"

// The commands of `sinew`.
extern const struct command command_play, command_record, command_load, command_status,
    command_edit;

int command_main(int argc, char **argv);
// Prints "sinew NAME: LINE" and gives the exit status that the fault's code stands for.
int command_fail(const char *name, const struct fault *fault);
// A library result as a fault: "no connection: ...".
enum err command_fault(struct fault *fault, int result, const char *why);

#pragma once
#include "common/program.h"

// The commands of `sinewd`.
extern const struct command command_bake, command_inspect, command_eval, command_serve,
    command_check_config, command_token;

int command_main(int argc, char **argv);
// Prints "sinewd NAME: LINE" and gives the exit status that the fault's code stands for.
int command_fail(const char *name, const struct fault *fault);

#pragma once

// One sub-command. `run` gets its own name as argv[0] and returns the exit status: 0 done, 1 the
// work failed, 2 wrong usage. It has printed its line on stderr by then.
struct command {
    const char *name, *summary;
    const char *help; // usage, options, examples
    int (*run)(int argc, char **argv);
};

int command_main(int argc, char **argv); // finds and runs; --help, --version

extern const struct command command_bake, command_inspect, command_eval, command_serve,
    command_check_config, command_token;

struct fault;
// Prints "sinewd NAME: LINE" and gives the exit status that the fault's code stands for.
int command_fail(const char *name, const struct fault *fault);

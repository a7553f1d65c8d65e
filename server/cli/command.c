#include "server/cli/command.h"

#include <stdio.h>
#include <string.h>

#include "common/err.h"

static const struct command *const commands[] = {&command_serve,   &command_bake,
                                                 &command_inspect, &command_eval,
                                                 &command_token,   &command_check_config};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

int command_fail(const char *name, const struct fault *fault)
{
    (void)fprintf(stderr, "sinewd %s: %s\n", name,
                  *fault->line ? fault->line : err_text(fault->code));
    return fault->code == ERR_USAGE ? 2 : 1;
}

static int print_overview(void)
{
    (void)printf("sinewd %s: bakes, evaluates and streams animated characters\n\n"
                 "usage: sinewd COMMAND [ARGUMENTS]\n\n",
                 SINEW_VERSION);
    for (int i = 0; i < COMMAND_COUNT; i++)
        (void)printf("  %-14s %s\n", commands[i]->name, commands[i]->summary);
    (void)printf("\n'sinewd COMMAND --help' shows options and examples.\n"
                 "Exit status: 0 done, 1 the work failed (one line on stderr), 2 wrong usage.\n");
    return 0;
}

static const struct command *find(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

static int print_help(const char *name)
{
    const struct command *c = find(name);
    if (!c) {
        (void)fprintf(stderr, "sinewd: no command \"%.60s\"; see 'sinewd --help'\n", name);
        return 2;
    }
    (void)fputs(c->help, stdout);
    return 0;
}

int command_main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "sinewd: say a command; see 'sinewd --help'\n");
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)printf("sinewd %s\n", SINEW_VERSION);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return print_overview();
    if (strcmp(argv[1], "help") == 0) return argc > 2 ? print_help(argv[2]) : print_overview();
    const struct command *c = find(argv[1]);
    if (!c) return print_help(argv[1]);
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return print_help(c->name);
    int status = c->run(argc - 1, argv + 1);
    if (status == 0 && (fflush(stdout) != 0 || ferror(stdout))) {
        (void)fprintf(stderr, "sinewd %s: cannot write to standard output\n", c->name);
        return 1;
    }
    return status;
}

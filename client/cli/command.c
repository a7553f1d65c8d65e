#include "client/cli/command.h"

#include <stdio.h>
#include <string.h>

#include "client/cli/args.h"

static const struct command *const commands[] = {&command_play, &command_record, &command_load,
                                                 &command_status, &command_edit};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

int command_fail(const char *name, const struct fault *fault)
{
    (void)fprintf(stderr, "sinew %s: %s\n", name,
                  *fault->line ? fault->line : err_text(fault->code));
    return fault->code == ERR_USAGE ? 2 : 1;
}

enum err command_fault(struct fault *fault, int result, const char *why)
{
    enum err e = result == SINEW_ERR_USAGE     ? ERR_USAGE
                 : result == SINEW_ERR_MEMORY  ? ERR_MEMORY
                 : result == SINEW_ERR_REFUSED ? ERR_DENIED
                 : result == SINEW_ERR_TIMEOUT ? ERR_TIMEOUT
                                               : ERR_IO;
    const char *hint = "";
    if (result == SINEW_ERR_TLS)
        hint = "; give --ca FILE or --pin SHA256 (sinewd prints it), or --insecure for a trial";
    if (result == SINEW_ERR_NETWORK) hint = "; is sinewd running there?";
    return fault_set(fault, e, "%.240s%s", why[0] ? why : sinew_result_text(result), hint);
}

static int print_overview(void)
{
    (void)printf("sinew %s: streams animated characters from a sinewd server\n\n"
                 "usage: sinew COMMAND URL [OPTIONS]\n\n",
                 SINEW_VERSION);
    for (int i = 0; i < COMMAND_COUNT; i++)
        (void)printf("  %-8s %s\n", commands[i]->name, commands[i]->summary);
    (void)printf("\nexamples:\n"
                 "  sinew play ws://127.0.0.1:7480 --character fox --frames 300\n"
                 "  sinew record ws://127.0.0.1:7480 --script walk.jsonl -o walk.glb\n"
                 "  sinew load sinew://server:7443 --ca server.crt --clients 20 --seconds 10\n"
                 "\n'sinew COMMAND --help' shows options and examples.\n"
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
        (void)fprintf(stderr, "sinew: no command \"%.60s\"; see 'sinew --help'\n", name);
        return 2;
    }
    (void)fputs(c->help, stdout);
    (void)fputs(args_connect_help, stdout);
    return 0;
}

int command_main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "sinew: say a command; see 'sinew --help'\n");
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)printf("sinew %s\n", SINEW_VERSION);
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
        (void)fprintf(stderr, "sinew %s: cannot write to standard output\n", c->name);
        return 1;
    }
    return status;
}

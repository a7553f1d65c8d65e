#include "common/program.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int program_fail(const struct program *p, const char *command, const struct fault *fault)
{
    (void)fprintf(stderr, "%s %s: %s\n", p->name, command,
                  *fault->line ? fault->line : err_text(fault->code));
    return fault->code == ERR_USAGE ? 2 : 1;
}

static int print_overview(const struct program *p)
{
    (void)printf("%s %s: %s\n\nusage: %s %s\n\n", p->name, SINEW_VERSION, p->purpose, p->name,
                 p->usage);
    size_t widest = 0;
    for (size_t i = 0; i < p->command_count; i++) {
        size_t length = strlen(p->commands[i]->name);
        if (length > widest) widest = length;
    }
    for (size_t i = 0; i < p->command_count; i++)
        (void)printf("  %-*s  %s\n", (int)widest, p->commands[i]->name, p->commands[i]->summary);
    (void)printf("\n%s'%s COMMAND --help' shows options and examples.\n"
                 "Exit status: 0 done, 1 the work failed (one line on stderr), 2 wrong usage.\n",
                 p->examples, p->name);
    return 0;
}

static const struct command *find(const struct program *p, const char *name)
{
    for (size_t i = 0; i < p->command_count; i++)
        if (strcmp(p->commands[i]->name, name) == 0) return p->commands[i];
    return NULL;
}

static int print_help(const struct program *p, const char *name)
{
    const struct command *c = find(p, name);
    if (!c) {
        (void)fprintf(stderr, "%s: no command \"%.60s\"; see '%s --help'\n", p->name, name,
                      p->name);
        return 2;
    }
    (void)fputs(c->help, stdout);
    (void)fputs(p->common_help, stdout);
    return 0;
}

static bool asks_for_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

int program_main(const struct program *p, int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "%s: say a command; see '%s --help'\n", p->name, p->name);
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)printf("%s %s\n", p->name, SINEW_VERSION);
        return 0;
    }
    if (asks_for_help(argv[1])) return print_overview(p);
    if (strcmp(argv[1], "help") == 0) return argc > 2 ? print_help(p, argv[2]) : print_overview(p);
    const struct command *c = find(p, argv[1]);
    if (!c) return print_help(p, argv[1]);
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (asks_for_help(argv[i])) return print_help(p, c->name);
    int status = c->run(argc - 1, argv + 1);
    if (status == 0 && (fflush(stdout) != 0 || ferror(stdout))) {
        (void)fprintf(stderr, "%s %s: cannot write to standard output\n", p->name, c->name);
        return 1;
    }
    return status;
}

#include <stdio.h>
#include <stdlib.h>

#include "server/cli/args.h"
#include "server/cli/command.h"
#include "server/cli/config.h"

static const char help[] =
    "usage: sinewd check-config [FILE] [--print] [--schema]\n"
    "\n"
    "Checks a configuration file of 'sinewd serve'.\n"
    "\n"
    "  --print    print all values (defaults where FILE says nothing) as a configuration file\n"
    "  --schema   print every key with its type, range, default and meaning\n"
    "\n"
    "examples:\n"
    "  sinewd check-config sinew.json\n"
    "  sinewd check-config --print > sinew.json\n";

static int print_owned(char *text)
{
    if (!text) return 1;
    (void)fputs(text, stdout);
    free(text);
    return 0;
}

static int run(int argc, char **argv)
{
    bool print = false, schema = false;
    const struct arg_option options[] = {
        {"--print", ARG_FLAG, {.flag = &print}},
        {"--schema", ARG_FLAG, {.flag = &schema}},
    };
    struct args args = {.options = options,
                        .option_count = sizeof options / sizeof options[0],
                        .operand_names = "FILE",
                        .operand_max = 1};
    struct fault fault = {0};
    static struct config config;
    config_init(&config);
    enum err e = args_read(&args, argc, argv, &fault);
    if (e == ERR_OK && args.operand_count == 0 && !print && !schema)
        e = fault_set(&fault, ERR_USAGE, "give a FILE, --print or --schema");
    if (e == ERR_OK && args.operand_count > 0)
        e = config_read_file(&config, args.operands[0], &fault);
    if (e != ERR_OK) return command_fail("check-config", &fault);
    if (schema) return print_owned(config_print_schema());
    if (print) return print_owned(config_print(&config));
    (void)printf("%s: good\n", args.operands[0]);
    return 0;
}

const struct command command_check_config = {"check-config", "checks or prints a configuration",
                                             help, run};

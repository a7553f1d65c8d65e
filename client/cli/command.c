#include "client/cli/command.h"

#include "client/cli/args.h"

static const struct command *const commands[] = {&command_play, &command_record, &command_load,
                                                 &command_status, &command_edit};

static const struct program sinew = {
    .name = "sinew",
    .purpose = "streams animated characters from a sinewd server",
    .usage = "COMMAND URL [OPTIONS]",
    .examples = "examples:\n"
                "  sinew play ws://127.0.0.1:7480 --character fox --frames 300\n"
                "  sinew record ws://127.0.0.1:7480 --script walk.jsonl -o walk.glb\n"
                "  sinew load sinew://server:7443 --ca server.crt --clients 20 --seconds 10\n\n",
    .common_help = args_connect_help,
    .commands = commands,
    .command_count = sizeof commands / sizeof commands[0],
};

int command_main(int argc, char **argv)
{
    return program_main(&sinew, argc, argv);
}

int command_fail(const char *name, const struct fault *fault)
{
    return program_fail(&sinew, name, fault);
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

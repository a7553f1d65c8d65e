#include "server/cli/command.h"

static const struct command *const commands[] = {&command_serve,   &command_bake,
                                                 &command_inspect, &command_eval,
                                                 &command_token,   &command_check_config};
static const struct program sinewd = {
    .name = "sinewd",
    .purpose = "bakes, evaluates and streams animated characters",
    .usage = "COMMAND [ARGUMENTS]",
    .examples = "examples:\n"
                "  sinewd serve --model Fox.glb\n"
                "  sinewd bake body.vrm --rig body.rig.json -o body.sinew\n"
                "  sinewd eval Fox.glb --clip Run --time 0.4 --format obj -o run.obj\n\n",
    .common_help = "",
    .commands = commands,
    .command_count = sizeof commands / sizeof commands[0],
};

int command_main(int argc, char **argv)
{
    return program_main(&sinewd, argc, argv);
}

int command_fail(const char *name, const struct fault *fault)
{
    return program_fail(&sinewd, name, fault);
}

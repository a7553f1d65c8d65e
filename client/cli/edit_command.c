#include <stdio.h>
#include <string.h>

#include "client/cli/args.h"
#include "client/cli/command.h"
#include "client/cli/edit.h"

static const char help[] =
    "usage: sinew edit URL VERB ... --token-file FILE [OPTIONS]\n"
    "\n"
    "Edits example surfaces of a served model. What is checked out lies in a folder; submit sends "
    "it\n"
    "back and prints what baking it says; publish shows it on every running stream.\n"
    "\n"
    "  list [MODEL]                  models, or the examples of one\n"
    "  checkout MODEL ITEM           takes the right to edit ITEM, and what it is now, into a "
    "folder.\n"
    "                                ITEM: an example, DRIVER:EXAMPLE or #N; base: the surface "
    "itself;\n"
    "                                roots/NAME: a root's weights, one float32 a vertex;\n"
    "                                corrections/NAME: a face's correction mesh\n"
    "       -o FOLDER                  otherwise named after model and item\n"
    "       --format glb|obj|f32       glb: with joints and weights, in the example's pose\n"
    "       --ttl S                    how long the right lasts (600); submit renews it\n"
    "       --new --pose POSE.json     ITEM is a new DRIVER:EXAMPLE at that pose\n"
    "       --keep-file, --discard     what happens to unsubmitted changes in the folder\n"
    "       --force                    an admin's: breaks another's right\n"
    "  submit [FOLDER [FILE]]        sends the folder's surface (or FILE) as a draft\n"
    "       --pose POSE.json --keep surface|delta    and a new pose of the example\n"
    "       --keep deltas|sculpts      of base: what the examples keep\n"
    "       --mirror, --mirror-to D    and its mirror image, in the driver across (or D)\n"
    "       --remove                   instead: the draft is the model without this example\n"
    "       --force                    vertices may move further than the body is high\n"
    "  diff [FOLDER]                 how far the file's vertices are from where they were\n"
    "  status [FOLDER|MODEL]         who holds what; what of the folder is sent\n"
    "  publish [FOLDER] [-m TEXT]    a new version, shown to all between two frames\n"
    "  release [FOLDER]              lets the right go, and the draft with it\n"
    "  history MODEL [--limit N]     versions, newest first\n"
    "  restore MODEL VERSION [-m TEXT]     that version's bytes again, as a new version\n"
    "\n"
    "  --json                        what the server answered, for scripts\n"
    "\n"
    "examples:\n"
    "  sinew edit http://127.0.0.1:7480 list --token-file ann.token\n"
    "  sinew edit sinew://server:7443 checkout mira elbow_l:bend_95 -o elbow --ca server.crt "
    "--token-file ann.token\n"
    "  sinew edit sinew://server:7443 submit elbow --ca server.crt --token-file ann.token\n"
    "  sinew edit sinew://server:7443 publish elbow -m 'fuller' --ca server.crt --token-file "
    "ann.token\n"
    "\n";

struct verb {
    const char *name, *usage;
    size_t least, most; // operands
    const char *options;
    enum err (*run)(struct edit *e);
};
static const struct verb verbs[] = {
    {"list", "list [MODEL]", 0, 1, "", edit_list},
    {"checkout", "checkout MODEL ITEM", 2, 2,
     " -o --format --ttl --new --pose --keep-file --discard --force ", edit_checkout},
    {"submit", "submit [FOLDER [FILE]]", 0, 2,
     " --pose --keep --mirror --mirror-to --remove --force --ttl ", edit_submit},
    {"diff", "diff [FOLDER]", 0, 1, "", edit_diff},
    {"status", "status [FOLDER|MODEL]", 0, 1, "", edit_status},
    {"publish", "publish [FOLDER]", 0, 1, " -m --ttl ", edit_publish},
    {"release", "release [FOLDER]", 0, 1, "", edit_release},
    {"history", "history MODEL", 1, 1, " --limit ", edit_history},
    {"restore", "restore MODEL VERSION", 2, 2, " -m ", edit_restore},
};
enum { VERB_COUNT = sizeof verbs / sizeof verbs[0], OPTION_COUNT = 15 };

static enum err find_verb(const char *name, const struct verb **out, struct fault *fault)
{
    char known[160] = "";
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (strcmp(verbs[i].name, name) == 0) {
            *out = &verbs[i];
            return ERR_OK;
        }
        size_t at = strlen(known);
        (void)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", verbs[i].name);
    }
    return fault_set(fault, ERR_USAGE, "no verb \"%.40s\": there are %s", name, known);
}

// An option that was given and that the verb does not know is an error, not nothing.
static enum err check_options(const struct verb *v, int argc, char **argv, struct fault *fault)
{
    static const char own[] = " -o --format --ttl --new --pose --keep --keep-file --discard "
                              "--force --mirror --mirror-to --remove -m --limit ";
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char word[32];
        int n = snprintf(word, sizeof word, " %.*s ", (int)strcspn(argv[i], "="), argv[i]);
        if (n <= 0 || (size_t)n >= sizeof word || argv[i][0] != '-') continue;
        if (strstr(own, word) && !strstr(v->options, word))
            return fault_set(fault, ERR_USAGE, "%s does not take%.30s: see 'sinew edit --help'",
                             v->name, word);
    }
    return ERR_OK;
}

static enum err check_operands(const struct edit *e, const struct verb *v)
{
    if (e->operand_count >= v->least && e->operand_count <= v->most) return ERR_OK;
    return fault_set(e->fault, ERR_USAGE, "usage: sinew edit URL %s", v->usage);
}

static enum err connect(struct edit *e, struct args_connect *c, const char *url)
{
    enum err err = url_parse(url, &e->at.url, e->fault);
    if (err == ERR_OK) err = args_connect(c, url, &e->at.options, e->fault);
    if (err == ERR_OK && !e->at.options.token)
        err = fault_set(e->fault, ERR_USAGE,
                        "--token-file FILE is needed: a token of scope modeller, as 'sinewd token "
                        "add' prints it");
    return err;
}

static enum err run_verb(int argc, char **argv, struct fault *fault)
{
    struct edit e = {.fault = fault, .ttl_s = 600, .limit = 200};
    struct args_connect c = {0};
    const char *operands[1 + EDIT_OPERANDS_MAX + 1];
    struct args_option rows[OPTION_COUNT + ARGS_CONNECT_ROWS] = {
        {"--json", ARGS_FLAG, {.flag = &e.json}},
        {"-o", ARGS_TEXT, {.text = &e.out}},
        {"--format", ARGS_TEXT, {.text = &e.format}},
        {"--ttl", ARGS_NUMBER, {.number = &e.ttl_s}},
        {"--new", ARGS_FLAG, {.flag = &e.is_new}},
        {"--pose", ARGS_TEXT, {.text = &e.pose}},
        {"--keep", ARGS_TEXT, {.text = &e.keep}},
        {"--keep-file", ARGS_FLAG, {.flag = &e.keep_file}},
        {"--discard", ARGS_FLAG, {.flag = &e.discard}},
        {"--force", ARGS_FLAG, {.flag = &e.force}},
        {"--mirror", ARGS_FLAG, {.flag = &e.mirror}},
        {"--mirror-to", ARGS_TEXT, {.text = &e.mirror_to}},
        {"--remove", ARGS_FLAG, {.flag = &e.remove}},
        {"-m", ARGS_TEXT, {.text = &e.message}},
        {"--limit", ARGS_NUMBER, {.number = &e.limit}},
    };
    struct args args = {.options = rows,
                        .option_count = OPTION_COUNT + ARGS_CONNECT_ROWS,
                        .operands = operands,
                        .operand_max = sizeof operands / sizeof operands[0]};
    const struct verb *v = NULL;
    args_connect_options(&c, rows + OPTION_COUNT);
    enum err err = args_read(&args, argc, argv, fault);
    if (err == ERR_OK && args.operand_count == 0)
        err = fault_set(fault, ERR_USAGE, "say a verb behind the URL: see 'sinew edit --help'");
    if (err == ERR_OK) err = find_verb(operands[0], &v, fault);
    if (err) return err;
    e.operand_count = args.operand_count - 1;
    for (size_t i = 0; i < EDIT_OPERANDS_MAX; i++)
        e.operands[i] = i < e.operand_count ? operands[i + 1] : NULL;
    e.mirror = e.mirror || e.mirror_to;
    err = check_options(v, argc, argv, fault);
    if (err == ERR_OK) err = check_operands(&e, v);
    if (err == ERR_OK) err = connect(&e, &c, args.url);
    return err ? err : v->run(&e);
}

static int run(int argc, char **argv)
{
    struct fault fault = {0};
    enum err e = run_verb(argc, argv, &fault);
    return e == ERR_OK ? 0 : command_fail("edit", &fault);
}

const struct command command_edit = {"edit", "edits a model's example surfaces", help, run};

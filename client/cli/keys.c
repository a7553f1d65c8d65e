#include "client/cli/keys.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_HOLD_US = 600000, REPEAT_HOLD_US = 150000 };
enum { FORWARD, BACK, LEFT, RIGHT };
static const float WALK = 0.5F;
static const char letters[] = "wsad", arrows[] = "ABDC"; // in the order above
static const char QUIT = 'q';

enum err keys_open(struct keys *k, struct fault *fault)
{
    struct termios raw;
    if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &k->before) != 0)
        return fault_set(fault, ERR_USAGE, "--keys needs a terminal");
    raw = k->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0)
        return fault_set(fault, ERR_IO, "the terminal does not give single keys");
    k->open = true;
    return ERR_OK;
}

void keys_close(struct keys *k)
{
    if (k->open) (void)tcsetattr(STDIN_FILENO, TCSANOW, &k->before);
    k->open = false;
}

// ---- bindings

// "key:KeyE" is 'e', "key:Digit1" is '1'; 0: a key that no terminal gives by itself.
static char key_of(const char *input)
{
    static const struct {
        const char *code;
        char key;
    } named[] = {{"Space", ' '},  {"Enter", '\n'},    {"Tab", '\t'},     {"Minus", '-'},
                 {"Equal", '='},  {"Comma", ','},     {"Period", '.'},   {"Slash", '/'},
                 {"Quote", '\''}, {"Semicolon", ';'}, {"Backquote", '`'}};
    if (strncmp(input, "key:", 4) != 0) return 0;
    const char *code = input + 4;
    if (strncmp(code, "Key", 3) == 0 && isupper((unsigned char)code[3]) && !code[4])
        return (char)tolower((unsigned char)code[3]);
    if (strncmp(code, "Digit", 5) == 0 && isdigit((unsigned char)code[5]) && !code[6])
        return code[5];
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (strcmp(code, named[i].code) == 0) return named[i].key;
    return 0;
}

void keys_bind(struct keys *k, const char *bindings)
{
    cJSON *json = bindings ? cJSON_Parse(bindings) : NULL;
    const cJSON *item;
    k->bound = true;
    k->binding_count = 0;
    cJSON_ArrayForEach(item, json)
    {
        char key = item->string ? key_of(item->string) : 0;
        const char *action = cJSON_GetStringValue(item);
        if (!key || key == QUIT || !action || strcmp(action, "goto") == 0 ||
            strlen(action) >= SINEW_NAME_MAX || k->binding_count == KEYS_BINDINGS_MAX)
            continue;
        struct keys_binding *b = &k->bindings[k->binding_count++];
        b->key = key;
        memcpy(b->action, action, strlen(action) + 1);
    }
    cJSON_Delete(json);
}

static const struct keys_binding *find(const struct keys *k, char key)
{
    for (uint32_t i = 0; i < k->binding_count; i++)
        if (k->bindings[i].key == key) return &k->bindings[i];
    return NULL;
}

void keys_help(const struct keys *k, char *line, size_t line_bytes)
{
    int at = snprintf(line, line_bytes, "w a s d or arrows: walk, capitals: run");
    for (uint32_t i = 0; i < k->binding_count && at >= 0 && (size_t)at < line_bytes; i++) {
        const struct keys_binding *b = &k->bindings[i];
        char one[2] = {b->key, 0};
        const char *name = b->key == ' '    ? "space"
                           : b->key == '\n' ? "enter"
                           : b->key == '\t' ? "tab"
                                            : one;
        at += snprintf(line + at, line_bytes - (size_t)at, ", %s: %s", name, b->action);
    }
    if (at >= 0 && (size_t)at < line_bytes)
        (void)snprintf(line + at, line_bytes - (size_t)at, ", q: end");
}

// ---- keys

static void hold(struct keys *k, int direction, uint64_t now_us)
{
    bool repeated = k->held_until_us[direction] > now_us;
    k->held_until_us[direction] = now_us + (repeated ? REPEAT_HOLD_US : FIRST_HOLD_US);
    k->held_until_us[direction ^ 1] = 0; // the opposite one ends
}

static void press(const char *action, struct sinew_client *client)
{
    const struct sinew_action_event events[] = {{.action = SINEW_PRESS, .name = action},
                                                {.action = SINEW_RELEASE, .name = action}};
    const struct sinew_control control = {
        .struct_size = sizeof control, .events = events, .event_count = 2};
    (void)sinew_send_control(client, &control, NULL);
}

static bool take(struct keys *k, const char *bytes, ssize_t count, struct sinew_client *client)
{
    uint64_t now_us = sinew_now_us();
    for (ssize_t i = 0; i < count; i++) {
        const struct keys_binding *bound = find(k, bytes[i]);
        char small = (char)tolower((unsigned char)bytes[i]);
        const char *at = small ? strchr(letters, small) : NULL;
        if (bytes[i] == QUIT) return false;
        if (bytes[i] == '\033' && i + 2 < count && bytes[i + 1] == '[') {
            at = bytes[i + 2] ? strchr(arrows, bytes[i + 2]) : NULL;
            if (at) hold(k, (int)(at - arrows), now_us);
            if (at) k->fast = false;
            i += 2;
        } else if (bound) {
            press(bound->action, client);
        } else if (at) {
            hold(k, (int)(at - letters), now_us);
            k->fast = small != bytes[i];
        }
    }
    return true;
}

static void tell_bindings(struct keys *k, struct sinew_client *client)
{
    char line[1024];
    if (k->bound || sinew_own_actor(client) == 0) return;
    keys_bind(k, sinew_bindings(client));
    keys_help(k, line, sizeof line);
    (void)fprintf(stderr, "%s\n", line);
}

bool keys_step(struct keys *k, struct sinew_client *client)
{
    char bytes[64];
    struct pollfd item = {.fd = STDIN_FILENO, .events = POLLIN};
    tell_bindings(k, client);
    ssize_t count = poll(&item, 1, 0) > 0 ? read(STDIN_FILENO, bytes, sizeof bytes) : 0;
    if (count > 0 && !take(k, bytes, count, client)) return false;
    uint64_t now_us = sinew_now_us();
    float speed = k->fast ? 1 : WALK;
    float move[2] = {speed * ((float)(k->held_until_us[RIGHT] > now_us) -
                              (float)(k->held_until_us[LEFT] > now_us)),
                     speed * ((float)(k->held_until_us[FORWARD] > now_us) -
                              (float)(k->held_until_us[BACK] > now_us))};
    if (move[0] == k->move[0] && move[1] == k->move[1]) return true;
    memcpy(k->move, move, sizeof move);
    struct sinew_control control = {.struct_size = sizeof control, .fields = SINEW_CONTROL_MOVE};
    memcpy(control.move, move, sizeof move);
    (void)sinew_send_control(client, &control, NULL);
    return true;
}

#include "client/cli/keys.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_HOLD_US = 600000, REPEAT_HOLD_US = 150000 };
enum { FORWARD, BACK, LEFT, RIGHT };

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

static void hold(struct keys *k, int direction, uint64_t now_us)
{
    bool repeated = k->held_until_us[direction] > now_us;
    k->held_until_us[direction] = now_us + (repeated ? REPEAT_HOLD_US : FIRST_HOLD_US);
    k->held_until_us[direction ^ 1] = 0; // the opposite one ends
}

static void jump(struct sinew_client *client)
{
    const struct sinew_action_event event = {.action = SINEW_PRESS, .name = "jump"};
    const struct sinew_control control = {
        .struct_size = sizeof control, .events = &event, .event_count = 1};
    (void)sinew_send_control(client, &control, NULL);
}

static bool take(struct keys *k, const char *bytes, ssize_t count, struct sinew_client *client)
{
    static const char letters[] = "wsad", arrows[] = "ABDC";
    uint64_t now_us = sinew_now_us();
    for (ssize_t i = 0; i < count; i++) {
        const char *at = strchr(letters, bytes[i]);
        if (bytes[i] == 'q') return false;
        if (bytes[i] == ' ') jump(client);
        if (bytes[i] == '\033' && i + 2 < count && bytes[i + 1] == '[') {
            at = strchr(arrows, bytes[i + 2]);
            if (at && *at) hold(k, (int)(at - arrows), now_us);
            i += 2;
        } else if (at && *at) {
            hold(k, (int)(at - letters), now_us);
        }
    }
    return true;
}

bool keys_step(struct keys *k, struct sinew_client *client)
{
    char bytes[64];
    struct pollfd item = {.fd = STDIN_FILENO, .events = POLLIN};
    ssize_t count = poll(&item, 1, 0) > 0 ? read(STDIN_FILENO, bytes, sizeof bytes) : 0;
    if (count > 0 && !take(k, bytes, count, client)) return false;
    uint64_t now_us = sinew_now_us();
    float move[2] = {
        (float)(k->held_until_us[RIGHT] > now_us) - (float)(k->held_until_us[LEFT] > now_us),
        (float)(k->held_until_us[FORWARD] > now_us) - (float)(k->held_until_us[BACK] > now_us)};
    if (move[0] == k->move[0] && move[1] == k->move[1]) return true;
    memcpy(k->move, move, sizeof move);
    struct sinew_control control = {.struct_size = sizeof control, .fields = SINEW_CONTROL_MOVE};
    memcpy(control.move, move, sizeof move);
    (void)sinew_send_control(client, &control, NULL);
    return true;
}

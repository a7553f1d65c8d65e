#include "server/net/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool notify_send(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET"); // NOLINT(concurrency-mt-unsafe): nobody writes it
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || (path[0] != '/' && path[0] != '@')) return false;
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path) return false;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') address.sun_path[0] = 0; // the abstract name space
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    size_t size = strlen(state);
    ssize_t sent = sendto(fd, state, size, MSG_NOSIGNAL, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    (void)close(fd);
    return sent >= 0 && (size_t)sent == size;
}

uint32_t notify_watchdog_ms(void)
{
    const char *usec = getenv("WATCHDOG_USEC"); // NOLINT(concurrency-mt-unsafe)
    const char *pid = getenv("WATCHDOG_PID");   // NOLINT(concurrency-mt-unsafe)
    if (!usec || (pid && strtoll(pid, NULL, 10) != (long long)getpid())) return 0;
    unsigned long long half_ms = strtoull(usec, NULL, 10) / 2000;
    return half_ms > UINT32_MAX ? 0 : (uint32_t)half_ms;
}

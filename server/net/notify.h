#pragma once
#include <stdbool.h>
#include <stdint.h>

// What systemd (Type=notify) is told, by one datagram to $NOTIFY_SOCKET; nothing without it.
// `state` as sd_notify(3) has it: "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=…".
bool notify_send(const char *state); // false: not run by systemd, or not sent
// Half of WATCHDOG_USEC in ms, 0 when no watchdog is asked for.
uint32_t notify_watchdog_ms(void);

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

// What the client needs from an operating system: sockets, one wake-up, threads, random bytes.
// Everything that another system does differently is in net_posix.c and nowhere else.

enum { NET_ADDRESSES_MAX = 8, NET_ADDRESS_BYTES = 128, NET_NONE = -1 };

struct net_addresses {
    size_t count;
    struct {
        uint32_t size_bytes;
        int family;
        _Alignas(8) uint8_t bytes[NET_ADDRESS_BYTES];
    } items[NET_ADDRESSES_MAX];
};

enum net_status { NET_OK, NET_AGAIN, NET_CLOSED, NET_FAILED };

// Blocks while the system looks the name up; numeric addresses return at once.
MUST_CHECK enum err net_resolve(const char *host, const char *port, struct net_addresses *out,
                                struct fault *fault);

// A non-blocking socket on its way to the address, or NET_NONE with a line. `buffer_bytes`: size
// of the kernel's receive buffer, 0 = the system's choice.
intptr_t net_connect(const struct net_addresses *addresses, size_t index, struct fault *fault);
// After it became writable: NET_OK, NET_AGAIN or NET_FAILED with a line.
enum net_status net_connected(intptr_t socket, struct fault *fault);
enum net_status net_send(intptr_t socket, const void *bytes, size_t size_bytes, size_t *sent);
enum net_status net_receive(intptr_t socket, void *bytes, size_t room_bytes, size_t *got);
void net_close(intptr_t socket); // NET_NONE is fine

// Waits for reading (always) and writing. True when any is ready.
struct net_wait {
    intptr_t socket; // NET_NONE: skipped
    bool want_write;
    bool ready; // out
};
bool net_wait(struct net_wait *items, size_t count, uint32_t timeout_ms);

// Wakes a thread in net_wait from any other.
struct net_wake {
    intptr_t reads, writes;
};
bool net_wake_create(struct net_wake *wake);
void net_wake_signal(const struct net_wake *wake);
void net_wake_drain(const struct net_wake *wake);
void net_wake_free(struct net_wake *wake);

bool net_random(void *out, size_t size_bytes); // unpredictable bytes
const char *net_system_ca(void);               // path of the system's bundle, or NULL

struct net_lock; // a mutex
struct net_lock *net_lock_create(void);
void net_lock_take(struct net_lock *lock);
void net_lock_give(struct net_lock *lock);
void net_lock_free(struct net_lock *lock);

struct net_thread;
struct net_thread *net_thread_start(void (*run)(void *owner), void *owner); // NULL: not to be had
void net_thread_join(struct net_thread *thread);                            // and frees it

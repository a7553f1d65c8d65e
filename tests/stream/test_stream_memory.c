#include <malloc.h>
#include <stdio.h>

#include "tests/stream/world.h"
#include "tests/testing.h"

int testing_failures;

// The server's own allocations, counted while its loop runs (the clients' are not). Linked with
// --wrap: what libuv and mbedTLS take inside themselves is not seen.
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *block);

static long allocations, live_bytes;

static void *count(void *block)
{
    if (world_in_loop && block) {
        allocations++;
        live_bytes += (long)malloc_usable_size(block);
    }
    return block;
}

void *__wrap_malloc(size_t size)
{
    return count(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return count(__real_calloc(n, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (world_in_loop && old) live_bytes -= (long)malloc_usable_size(old);
    return count(__real_realloc(old, size));
}

void __wrap_free(void *block)
{
    if (world_in_loop && block) live_bytes -= (long)malloc_usable_size(block);
    __real_free(block);
}

static struct world w;

static void fast(struct config *c)
{
    c->tick_hz = 120;
}

static void a_thousand_ticks_allocate_nothing(void)
{
    static struct client c[4];
    struct hello hello = {.scene = "one", .quality = {.rate_hz = 120}};
    EXPECT(world_open(&w, NULL, fast));
    for (int i = 0; i < 4; i++)
        EXPECT(world_join(&w, &c[i], i % 2 ? CLIENT_NATIVE : CLIENT_WS, &hello, 10));
    world_run(&w, 500);
    uint64_t ticks = world_snapshot(&w).tick.tick_total;
    long before = allocations;
    for (int i = 0; world_snapshot(&w).tick.tick_total < ticks + 1000 && i < 300; i++) {
        client_place(&c[i % 4], (float)i * 0.01f, 0, 0, 0);
        client_pose_clip(&c[i % 4], "bend", (float)i * 0.01f);
        client_ack(&c[i % 4]);
        world_run(&w, 60);
    }
    printf("  %ld allocations in %llu ticks\n", allocations - before,
           (unsigned long long)(world_snapshot(&w).tick.tick_total - ticks));
    EXPECT(allocations == before);
    EXPECT(client_own(&c[0])->bad_count == 0);
    world_close(&w);
}

static void a_session_stays_below_half_a_megabyte(void)
{
    enum { COUNT = 16 };
    static struct client c[COUNT];
    struct hello viewer = {.scene = "one", .role = "viewer"};
    EXPECT(world_open(&w, NULL, NULL));
    EXPECT(world_join(&w, &c[0], CLIENT_NATIVE, &(struct hello){.scene = "one"}, 2));
    long before = live_bytes;
    for (int i = 1; i < COUNT; i++) {
        EXPECT(client_open(&c[i], CLIENT_NATIVE, world_port(&w, CLIENT_NATIVE)));
        world_add(&w, &c[i]);
        while (!c[i].open)
            world_run(&w, 1);
        client_hello(&c[i], &viewer);
        world_run(&w, 30);
    }
    for (int i = 1; i < COUNT; i += 2) { // what peers do makes no difference
        c[i].stalled = true;
        for (int k = 0; k < 40; k++)
            client_ping(&c[i - 1], (uint32_t)k);
    }
    world_run(&w, 1500);
    long each = (live_bytes - before) / (COUNT - 1);
    printf("  %ld kB a session\n", each / 1024);
    EXPECT(world_snapshot(&w).live == COUNT);
    EXPECT(each < (512 - 48) * 1024); // and what mbedTLS holds for itself
    world_close(&w);
}

int main(void)
{
    RUN(a_thousand_ticks_allocate_nothing);
    RUN(a_session_stays_below_half_a_megabyte);
    TESTING_MAIN_END;
}

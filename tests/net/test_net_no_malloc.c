// A tick allocates nothing: frames queued, encrypted by a worker and written, with malloc trapped.
#include <stdatomic.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "server/net/conn.h"
#include "tests/net/rig.h"
#include "tests/testing.h"

int testing_failures;

static atomic_bool trapped;
static atomic_int allocations;

#if !RIG_SANITIZED
// The C library's own, under its internal names.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

static void count(void)
{
    if (atomic_load(&trapped)) (void)atomic_fetch_add(&allocations, 1);
}

void *malloc(size_t size)
{
    count();
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    count();
    return __libc_calloc(n, size);
}

void *realloc(void *block, size_t size)
{
    count();
    return __libc_realloc(block, size);
}
#endif

static const char *const stream_alpn[] = {"sinew/1", NULL};
static struct conn *served;

static ptrdiff_t on_bytes(struct conn *c, uint8_t *bytes, size_t size_bytes, void *owner)
{
    (void)c;
    (void)bytes;
    (void)owner;
    return (ptrdiff_t)size_bytes;
}

static const struct conn_events events = {.on_bytes = on_bytes};

static void on_open(struct conn *c, const char *alpn, void *owner)
{
    (void)alpn;
    (void)owner;
    served = c;
    conn_take(c, &events, NULL);
}

static void a_thousand_frames_without_an_allocation(void)
{
    struct rig rig;
    struct peer p;
    static uint8_t frame[40000];
    struct chunk chunk = {.bytes = frame, .size_bytes = sizeof frame, .refs = 1};
    rig_open(&rig, NULL);
    struct listener *l = rig_listen(
        &rig, true, (struct conn_options){.on_open = on_open, .send_buffer_bytes = 32768});
    struct peer_options o = {.rig = &rig, .alpn = stream_alpn, .receive_buffer_bytes = 16384};
    peer_open(&p, listener_port(l), &o);
    peer_shake(&p, &rig);
    RIG_UNTIL(&rig, served != NULL, 2000);
    rig_run(&rig, 20);
    atomic_store(&trapped, true);
    for (uint32_t i = 1; i <= 1000; i++) {
        struct conn_piece piece = {.prefix = {1, 2, 3, 4},
                                   .prefix_bytes = 4,
                                   .chunk = &chunk,
                                   .size_bytes = sizeof frame,
                                   .group = i};
        EXPECT(conn_send_frame(served, &piece, 1));
        EXPECT(conn_send(served, "ping", 4));
        conn_encrypt(served);
        conn_flush(served);
        (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
        p.got_bytes = 0;
        if (i % 3) peer_read(&p); // sometimes the peer is late, and the loop has to wait for it
    }
    atomic_store(&trapped, false);
    struct conn_stats s;
    conn_stats(served, &s);
    EXPECT(s.frames_sent + s.frames_replaced >= 990 && s.frames_sent > 100);
    EXPECT(atomic_load(&allocations) == 0);
    if (RIG_SANITIZED) printf("  malloc is not trapped under a sanitizer\n");
    printf("  %llu frames sent, %llu replaced\n", (unsigned long long)s.frames_sent,
           (unsigned long long)s.frames_replaced);
    peer_close(&p);
    listener_close(l);
    rig_close(&rig);
    EXPECT(chunk.refs == 1);
}

int main(void)
{
    RUN(a_thousand_frames_without_an_allocation);
    TESTING_MAIN_END;
}

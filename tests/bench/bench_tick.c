// A tick of the stage: characters of mh_cmu's size (13,380 vertices), each moved by a streamed
// pose, watched by one session each. Private scenes: every actor is its own session's
// only one, as in the latency goal. Also one shared scene, and one character alone.
//
// The clock runs: ticks wait for their deadlines, so caches and cores are as cold as in service.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/check.h"
#include "common/clock.h"
#include "proto/messages.h"
#include "proto/pose_message.h"
#include "proto/surface/codec.h"
#include "server/stage/stage.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_model.h"

enum { SESSIONS_MAX = 64, TICKS = 300, WARM_UP = 30 };

struct run {
    const char *name;
    uint32_t workers;
    int sessions;
    const char *scene; // NULL: private ones
    uint8_t detail;    // 1: full for all
};

static void wait_until(const struct ticker *t)
{
    uint64_t ns = ticker_wait_ns(t, clock_ns());
    struct timespec wait = {.tv_sec = 0, .tv_nsec = (long)ns};
    while (ticker_wait_ns(t, clock_ns()) > 0) {
        (void)nanosleep(&wait, NULL);
        wait.tv_nsec = 20000;
    }
}

static uint64_t process_cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void take_all(struct view *v)
{
    struct view_event event;
    while (view_next_event(v, &event))
        continue;
    for (size_t i = 0; i < view_count(v); i++) {
        const struct frame *f = view_frame(v, i);
        if (f) view_sent(v, i, f);
    }
}

// A POSE that swings every joint, as a client with its own solver would stream it.
static void send_pose(struct stage *s, struct view *v, const struct model *m, uint32_t sequence)
{
    static struct pose_message pose;
    static uint8_t bytes[MESSAGES_FROM_CLIENT_BYTES_MAX];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    struct message message;
    struct fault fault = {0};
    size_t used;
    pose.head.sequence = sequence;
    pose.joint_count = 0;
    for (size_t i = 0; i < m->nodes_count && pose.joint_count < POSE_JOINTS_MAX; i++) {
        if (!(m->nodes[i].flags & MODEL_NODE_JOINT)) continue;
        struct pose_joint *joint = &pose.joints[pose.joint_count++];
        float half = 0.1f * sinf(0.06f * (float)sequence + (float)i);
        struct quat rest = m->nodes[i].rest.rotation; // a small turn about x in front of the rest
        float s_half = sinf(half), c_half = cosf(half);
        *joint = (struct pose_joint){
            .fields = POSE_ROTATION,
            .rotation = {c_half * rest.x + s_half * rest.w, c_half * rest.y - s_half * rest.z,
                         c_half * rest.z + s_half * rest.y, c_half * rest.w - s_half * rest.x}};
        (void)snprintf(joint->name, sizeof joint->name, "#%u", m->nodes[i].source);
    }
    CHECK(pose_message_encode(&w, &pose) == ERR_OK);
    CHECK(messages_read(bytes, wire_size(&w), MESSAGES_FROM_CLIENT, &message, &used, NULL) ==
          ERR_OK);
    CHECK(stage_input(s, view_own_id(v), message.type, message.payload, message.size_bytes,
                      &fault) == ERR_OK);
}

static void one_tick(struct stage *s, struct ticker *ticker, struct view **views, int count)
{
    struct ticker_tick tick;
    wait_until(ticker);
    uint64_t begin = clock_ns(), cpu = process_cpu_ns();
    if (!ticker_due(ticker, begin, &tick)) return;
    stage_tick(s, &tick);
    ticker_done(ticker, &tick, begin, clock_ns(), process_cpu_ns() - cpu);
    for (int i = 0; i < count; i++)
        take_all(views[i]);
}

static void move_and_tick(struct stage *s, struct ticker *ticker, struct view **views, int count,
                          const struct model *m, uint32_t sequence)
{
    for (int i = 0; i < count; i++)
        send_pose(s, views[i], m, sequence);
    one_tick(s, ticker, views, count);
}

static void print(const struct run *r, const struct model *m, const struct ticker *ticker,
                  const struct stage_snapshot *before, const struct stage_snapshot *after)
{
    struct ticker_snapshot t;
    ticker_snapshot(ticker, &t);
    double ticks = (double)(t.tick_total ? t.tick_total : 1);
    double frames = (double)(after->encodings - before->encodings);
    printf("{\"name\":\"tick\",\"variant\":\"%s\",\"sessions\":%d,\"vertices\":%zu,\"workers\":%u,"
           "\"p50_us\":%u,\"p90_us\":%u,\"p99_us\":%u,\"max_us\":%u,\"cpu_us_per_tick\":%.0f,"
           "\"skipped\":%llu,\"encodings_per_tick\":%.2f,\"bytes_per_frame\":%.0f,\"keys\":%llu}\n",
           r->name, r->sessions, model_vertex_count(m), r->workers, t.p50_us, t.p90_us, t.p99_us,
           t.max_us, t.cpu_s * 1e6 / ticks, (unsigned long long)t.skipped_total, frames / ticks,
           (double)(after->encoded_bytes - before->encoded_bytes) / (frames > 0 ? frames : 1),
           (unsigned long long)(after->key_encodings - before->key_encodings));
    fflush(stdout);
}

static void play(const struct run *r, struct model_file *file)
{
    struct stage_options options = {
        .tick_hz = 60, .worker_count = r->workers, .level = simd_best()};
    struct role_options role_options = {.name = "body", .level = options.level};
    struct fault fault = {0};
    struct stage *s;
    struct role *role;
    struct view *views[SESSIONS_MAX];
    struct stage_snapshot before, after;
    struct ticker ticker;
    CHECK(stage_create(&options, &s, &fault) == ERR_OK);
    CHECK(cast_reserve(stage_cast(s), "body", &role_options.number, &role_options.version,
                       &fault) == ERR_OK);
    CHECK(role_build(file, &role_options, &role, &fault) == ERR_OK);
    CHECK(stage_serve(s, role) == ERR_OK);
    struct stage_join join = {.scene = r->scene,
                              .controls = true,
                              .settings = {.bits = SURFACE_BITS_DEFAULT, .detail = r->detail}};
    for (int i = 0; i < r->sessions; i++) {
        CHECK(stage_join(s, &join, &views[i], &fault) == ERR_OK);
        view_set_ready(views[i], true);
        take_all(views[i]);
    }
    ticker_init(&ticker, options.tick_hz, clock_ns());
    for (uint32_t t = 0; t < WARM_UP; t++)
        move_and_tick(s, &ticker, views, r->sessions, model_file_model(file), t + 1);
    stage_snapshot(s, &before);
    ticker = (struct ticker){// statistics from here on
                             .start_ns = ticker.start_ns,
                             .rate_hz = ticker.rate_hz,
                             .next = ticker.next};
    for (uint32_t t = 0; t < TICKS; t++)
        move_and_tick(s, &ticker, views, r->sessions, model_file_model(file), t + WARM_UP + 1);
    stage_snapshot(s, &after);
    print(r, model_file_model(file), &ticker, &before, &after);
    for (int i = 0; i < r->sessions; i++)
        stage_leave(s, views[i]);
    stage_destroy(s);
}

int main(int argc, char **argv)
{
    static const struct run runs[] = {
        {"20 private", 1, 20, NULL, 0},  {"20 private", 0, 20, NULL, 0},
        {"20 shared", 1, 20, "hall", 0}, {"20 shared, full detail", 1, 20, "hall", 1},
        {"alone", 1, 1, NULL, 0},        {"alone", 0, 1, NULL, 0},
    };
    struct model_file *file =
        bench_model_open("tick", argc > 1 ? argv[1] : "psd/makehuman/mh_cmu.glb");
    if (!file) return 0;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
        play(&runs[i], file);
    model_file_unref(file);
    return 0;
}

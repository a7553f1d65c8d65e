#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/args.h"
#include "client/cli/command.h"
#include "client/cli/report.h"
#include "client/cli/run.h"
#include "client/lib/histogram.h"
#include "client/lib/net.h"

static const char help[] =
    "usage: sinew load URL --clients N [--seconds S] [--input HZ] [--still] [--decode] [--json] "
    "[OPTIONS]\n"
    "\n"
    "Opens N sessions from one process and one thread, and measures all of them for S seconds "
    "once\n"
    "they have joined: frame rates, missed frames, frame age, latency from input to frame, bytes.\n"
    "Surfaces are counted and acknowledged but not decoded, so that the machine is left to the\n"
    "server; --decode decodes them.\n"
    "\n"
    "  --clients N          sessions (1 .. 2000; default 10)\n"
    "  --seconds S          how long to measure (default 10)\n"
    "  --input HZ           place inputs a second and session, for the latency (default 20; 0 "
    "none)\n"
    "  --decode             decode every surface\n"
    "  --json               figures as JSON on standard output, one entry a session too\n"
    "\n"
    "examples:\n"
    "  sinew load ws://127.0.0.1:7480 --clients 20 --seconds 10\n"
    "  sinew load sinew://127.0.0.1:7443 --insecure --clients 200 --scene arena --json\n"
    "\n";

enum {
    CLIENTS_MAX = 2000,
    CONNECTING_MAX = 16, // at once: handshakes are the expensive part, of both sides
    JOIN_MS = 30000,
    SETTLE_US = 1000000 // clocks and first key frames
};

struct load {
    struct args_connect connect;
    double clients, seconds, input;
    bool decode, still, json;
};

struct load_session {
    struct load_run *run;
    struct sinew_client *client;
    bool joined, over;
    bool has_clip;
    char joint[SINEW_NAME_MAX]; // to be bent where there is no clip; "": none
    uint64_t input_at_us;
    struct sinew_stats before, after;
    struct histogram age, latency;
    uint64_t frames;
    char why[160];
};

struct load_run {
    const struct load *options;
    struct load_session *sessions;
    struct net_wait *waits;
    size_t count, opened;
    bool measuring;
    uint64_t until_us;
};

static void on_frame(const struct sinew_frame *f, void *owner)
{
    struct load_session *s = owner;
    if (!s->run->measuring) return;
    s->frames++;
    if (f->age_us >= 0) histogram_add(&s->age, (uint64_t)f->age_us);
    if (f->latency_us >= 0) histogram_add(&s->latency, (uint64_t)f->latency_us);
}

// What the character can be told to do.
static void read_catalogue(struct load_session *s)
{
    const char *text = sinew_catalogue(s->client);
    cJSON *json = text ? cJSON_Parse(text) : NULL;
    const cJSON *joints = cJSON_GetObjectItemCaseSensitive(json, "joints");
    const cJSON *middle = cJSON_GetArrayItem(joints, cJSON_GetArraySize(joints) / 2);
    s->has_clip = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "clips")) > 0;
    if (cJSON_IsString(middle))
        (void)snprintf(s->joint, sizeof s->joint, "%.63s", middle->valuestring);
    cJSON_Delete(json);
}

static void follow(struct load_session *s)
{
    struct sinew_event e = {.struct_size = sizeof e};
    while (sinew_next_event(s->client, &e)) {
        report_clean(e.text);
        if (e.kind == SINEW_EVENT_JOINED) s->joined = true;
        if (e.kind == SINEW_EVENT_CATALOGUE) {
            (void)sinew_update(s->client); // hands the catalogue out
            read_catalogue(s);
        }
        if (e.kind != SINEW_EVENT_LOST && e.kind != SINEW_EVENT_CLOSED) continue;
        s->over = e.kind == SINEW_EVENT_CLOSED;
        if (!s->why[0] || s->over) (void)snprintf(s->why, sizeof s->why, "%.150s", e.text);
    }
}

static void send_pose(struct load_session *s, uint64_t now_us)
{
    float phase = (float)(now_us % 2000000) / 1e6f; // 0 .. 2
    float bend = 0.3f * (phase < 1 ? phase : 2 - phase);
    const struct sinew_pose_joint joint = {
        .name = s->joint, .fields = SINEW_POSE_ROTATION, .rotation = {bend, 0, 0, 1}};
    const struct sinew_pose pose = {.struct_size = sizeof pose,
                                    .clip = s->has_clip ? "#0" : NULL,
                                    .time_s = phase,
                                    .joints = &joint,
                                    .joint_count = s->has_clip ? 0 : 1};
    (void)sinew_send_pose(s->client, &pose, NULL);
}

static void send_input(struct load_session *s, uint64_t now_us)
{
    const struct load *o = s->run->options;
    if (o->input <= 0 || !s->joined || now_us < s->input_at_us || sinew_own_actor(s->client) == 0)
        return;
    const struct sinew_place place = {.struct_size = sizeof place,
                                      .fields = SINEW_PLACE_YAW,
                                      .yaw_rad = (float)(now_us % 6000000) / 1e6f};
    if (!o->still && (s->has_clip || s->joint[0]))
        send_pose(s, now_us);
    else
        (void)sinew_send_place(s->client, &place, NULL);
    s->input_at_us += (uint64_t)(1e6 / o->input);
    if (s->input_at_us < now_us) s->input_at_us = now_us;
}

// One wait for all sockets, then a step of each client that has something or whose time has come.
static void turn(struct load_run *r)
{
    uint32_t timeout_ms = 20;
    for (size_t i = 0; i < r->opened; i++) {
        struct sinew_wait wait = {.struct_size = sizeof wait};
        (void)sinew_get_wait(r->sessions[i].client, &wait);
        r->waits[i] = (struct net_wait){.socket = wait.socket, .want_write = wait.want_write != 0};
        if (wait.timeout_ms < timeout_ms) timeout_ms = wait.timeout_ms;
    }
    if (r->options->input > 0 && timeout_ms > 2) timeout_ms = 2;
    (void)net_wait(r->waits, r->opened, timeout_ms);
    uint64_t now_us = sinew_now_us();
    for (size_t i = 0; i < r->opened; i++) {
        struct load_session *s = &r->sessions[i];
        struct sinew_wait wait = {.struct_size = sizeof wait};
        if (s->over) continue;
        if (!r->waits[i].ready) {
            (void)sinew_get_wait(s->client, &wait);
            if (wait.timeout_ms > 0 && (!s->joined || now_us < s->input_at_us)) continue;
        }
        send_input(s, now_us);
        (void)sinew_poll(s->client, 0);
        (void)sinew_update(s->client);
        follow(s);
    }
}

static size_t count_joined(const struct load_run *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->opened; i++)
        n += r->sessions[i].joined && !r->sessions[i].over;
    return n;
}

static enum err open_next(struct load_run *r, struct sinew_options *options, struct fault *fault)
{
    struct load_session *s = &r->sessions[r->opened];
    char why[SINEW_TEXT_MAX] = "";
    s->run = r;
    options->owner = s;
    int result = sinew_open(options, &s->client, why, sizeof why);
    if (result) return command_fault(fault, result, why);
    // Inputs of the sessions are spread over the period.
    s->input_at_us = sinew_now_us() + r->opened * 7919 % 50000;
    r->opened++;
    return ERR_OK;
}

static enum err join_all(struct load_run *r, struct sinew_options *options, struct fault *fault)
{
    uint64_t until_us = sinew_now_us() + (uint64_t)JOIN_MS * 1000, note_us = 0;
    bool progress = isatty(STDERR_FILENO) == 1;
    for (;;) {
        size_t joined = count_joined(r), over = 0;
        for (size_t i = 0; i < r->opened; i++)
            over += r->sessions[i].over;
        if (joined + over == r->count || run_interrupted) break;
        if (r->opened < r->count && r->opened - joined - over < CONNECTING_MAX) {
            enum err e = open_next(r, options, fault);
            if (e) return e;
        }
        turn(r);
        uint64_t now_us = sinew_now_us();
        if (now_us > until_us) break;
        if (progress && now_us - note_us > 500000) {
            note_us = now_us;
            (void)fprintf(stderr, "\r%zu of %zu joined \033[K", joined, r->count);
        }
    }
    if (progress) (void)fprintf(stderr, "\r\033[K");
    if (count_joined(r) > 0) return ERR_OK;
    const char *why = r->opened ? r->sessions[0].why : "";
    return command_fault(fault, SINEW_ERR_NETWORK, why[0] ? why : "no session could join");
}

static void turn_until(struct load_run *r, uint64_t until_us)
{
    while (sinew_now_us() < until_us && !run_interrupted)
        turn(r);
}

static double measure(struct load_run *r)
{
    turn_until(r, sinew_now_us() + SETTLE_US);
    uint64_t begun_us = sinew_now_us();
    for (size_t i = 0; i < r->opened; i++) {
        r->sessions[i].before.struct_size = sizeof(struct sinew_stats);
        (void)sinew_get_stats(r->sessions[i].client, &r->sessions[i].before);
    }
    r->measuring = true;
    turn_until(r, begun_us + (uint64_t)(r->options->seconds * 1e6));
    r->measuring = false;
    for (size_t i = 0; i < r->opened; i++) {
        r->sessions[i].after.struct_size = sizeof(struct sinew_stats);
        (void)sinew_get_stats(r->sessions[i].client, &r->sessions[i].after);
    }
    return (double)(sinew_now_us() - begun_us) / 1e6;
}

// ---- figures ----

struct totals {
    double seconds, rate_min, rate_mean, rate_max;
    uint64_t frames, own, missed, undecoded, bytes_in, bytes_out, reconnects;
    size_t joined, failed;
    double bits_per_vertex;
    struct histogram age, latency;
};

static void add_up(const struct load_run *r, double seconds, struct totals *t)
{
    uint64_t bits = 0, vertices = 0;
    t->seconds = seconds;
    t->rate_min = 1e9;
    for (size_t i = 0; i < r->opened; i++) {
        const struct load_session *s = &r->sessions[i];
        if (!s->joined || s->over) continue;
        uint64_t own = s->after.frames_own - s->before.frames_own;
        double rate = (double)own / seconds;
        t->joined++;
        t->own += own;
        t->frames += s->frames;
        t->missed += s->after.frames_missed - s->before.frames_missed;
        t->undecoded += s->after.frames_undecoded - s->before.frames_undecoded;
        t->bytes_in += s->after.bytes_in - s->before.bytes_in;
        t->bytes_out += s->after.bytes_out - s->before.bytes_out;
        t->reconnects += s->after.reconnects - s->before.reconnects;
        bits += s->after.vertex_bits - s->before.vertex_bits;
        vertices += s->after.vertices - s->before.vertices;
        if (rate < t->rate_min) t->rate_min = rate;
        if (rate > t->rate_max) t->rate_max = rate;
        histogram_merge(&t->age, &s->age);
        histogram_merge(&t->latency, &s->latency);
    }
    t->failed = r->count - t->joined;
    if (t->joined) t->rate_mean = (double)t->own / seconds / (double)t->joined;
    if (!t->joined) t->rate_min = 0;
    t->bits_per_vertex = vertices ? (double)bits / (double)vertices : 0;
}

static struct sinew_percentiles percentiles(const struct histogram *h)
{
    return (struct sinew_percentiles){.count = h->count,
                                      .p50_us = histogram_quantile(h, 0.5),
                                      .p90_us = histogram_quantile(h, 0.9),
                                      .p99_us = histogram_quantile(h, 0.99),
                                      .max_us = h->max_us};
}

static void print_sessions(cJSON *o, const struct load_run *r, double seconds)
{
    cJSON *list = cJSON_AddArrayToObject(o, "sessions");
    for (size_t i = 0; i < r->opened; i++) {
        const struct load_session *s = &r->sessions[i];
        struct sinew_percentiles age = percentiles(&s->age), latency = percentiles(&s->latency);
        cJSON *item = cJSON_CreateObject();
        cJSON_AddBoolToObject(item, "joined", s->joined && !s->over);
        cJSON_AddNumberToObject(item, "rate_hz",
                                (double)(s->after.frames_own - s->before.frames_own) / seconds);
        cJSON_AddNumberToObject(item, "frames", (double)s->frames);
        cJSON_AddNumberToObject(item, "frames_missed",
                                (double)(s->after.frames_missed - s->before.frames_missed));
        cJSON_AddNumberToObject(item, "reconnects",
                                (double)(s->after.reconnects - s->before.reconnects));
        report_percentiles(item, "age_us", &age);
        report_percentiles(item, "latency_us", &latency);
        if (s->why[0]) cJSON_AddStringToObject(item, "why", s->why);
        cJSON_AddItemToArray(list, item);
    }
}

static void print_json(const struct load_run *r, const struct totals *t)
{
    struct sinew_percentiles age = percentiles(&t->age), latency = percentiles(&t->latency);
    cJSON *o = cJSON_CreateObject(), *rate;
    cJSON_AddNumberToObject(o, "clients", (double)r->count);
    cJSON_AddNumberToObject(o, "joined", (double)t->joined);
    cJSON_AddNumberToObject(o, "failed", (double)t->failed);
    cJSON_AddNumberToObject(o, "seconds", t->seconds);
    cJSON_AddNumberToObject(o, "frames", (double)t->frames);
    rate = cJSON_AddObjectToObject(o, "rate_hz");
    cJSON_AddNumberToObject(rate, "min", t->rate_min);
    cJSON_AddNumberToObject(rate, "mean", t->rate_mean);
    cJSON_AddNumberToObject(rate, "max", t->rate_max);
    cJSON_AddNumberToObject(o, "frames_missed", (double)t->missed);
    cJSON_AddNumberToObject(o, "missed_fraction",
                            t->own + t->missed ? (double)t->missed / (double)(t->own + t->missed)
                                               : 0);
    cJSON_AddNumberToObject(o, "frames_undecoded", (double)t->undecoded);
    cJSON_AddNumberToObject(o, "reconnects", (double)t->reconnects);
    cJSON_AddNumberToObject(o, "bits_per_vertex_per_frame", t->bits_per_vertex);
    cJSON_AddNumberToObject(o, "bytes_in", (double)t->bytes_in);
    cJSON_AddNumberToObject(o, "bytes_out", (double)t->bytes_out);
    report_percentiles(o, "age_us", &age);
    report_percentiles(o, "latency_us", &latency);
    print_sessions(o, r, t->seconds);
    report_print(o);
}

static void print_lines(const struct load_run *r, const struct totals *t)
{
    struct sinew_percentiles age = percentiles(&t->age), latency = percentiles(&t->latency);
    (void)printf("%zu of %zu sessions for %.1f s\n", t->joined, r->count, t->seconds);
    (void)printf("  rate        %.2f a second each, %.2f to %.2f; %llu frames missed (%.3f %%)\n",
                 t->rate_mean, t->rate_min, t->rate_max, (unsigned long long)t->missed,
                 t->own + t->missed ? 100.0 * (double)t->missed / (double)(t->own + t->missed) : 0);
    (void)printf("  size        %.2f bits a vertex a frame, %.2f MB a second in, %.1f kB out\n",
                 t->bits_per_vertex, (double)t->bytes_in / t->seconds / 1e6,
                 (double)t->bytes_out / t->seconds / 1e3);
    (void)printf("  age         p50 %.2f ms, p99 %.2f ms, worst %.2f ms\n", age.p50_us / 1e3,
                 age.p99_us / 1e3, age.max_us / 1e3);
    if (latency.count)
        (void)printf("  latency     p50 %.2f ms, p99 %.2f ms, worst %.2f ms\n",
                     latency.p50_us / 1e3, latency.p99_us / 1e3, latency.max_us / 1e3);
    if (t->reconnects) (void)printf("  reconnects  %llu\n", (unsigned long long)t->reconnects);
    for (size_t i = 0, said = 0; i < r->opened && said < 5; i++)
        if (r->sessions[i].why[0]) {
            (void)printf("  session %zu: %s\n", i, r->sessions[i].why);
            said++;
        }
}

static enum err load_run(struct load_run *r, struct totals *t, struct sinew_options *options,
                         struct fault *fault)
{
    enum err e = join_all(r, options, fault);
    if (e) return e;
    add_up(r, measure(r), t);
    if (r->options->json)
        print_json(r, t);
    else
        print_lines(r, t);
    if (t->failed == 0) return ERR_OK;
    const char *why = "";
    for (size_t i = 0; i < r->opened && !why[0]; i++)
        why = r->sessions[i].why;
    return fault_set(fault, ERR_IO, "%zu of %zu sessions failed: %.150s", t->failed, r->count,
                     why[0] ? why : "not joined in time");
}

static enum err load(const struct load *o, struct sinew_options *options, struct fault *fault)
{
    struct load_run r = {.options = o, .count = (size_t)o->clients};
    struct totals *t = calloc(1, sizeof *t);
    r.sessions = calloc(r.count, sizeof *r.sessions);
    r.waits = calloc(r.count, sizeof *r.waits);
    options->own_thread = 0;
    options->decode = o->decode;
    options->playout = SINEW_PLAY_NEWEST;
    options->on_frame = on_frame;
    enum err e = ERR_MEMORY;
    if (t && r.sessions && r.waits)
        e = load_run(&r, t, options, fault);
    else
        (void)fault_set(fault, e, "no memory for %zu sessions", r.count);
    for (size_t i = 0; i < r.opened; i++)
        sinew_close(r.sessions[i].client);
    free(r.sessions);
    free(r.waits);
    free(t);
    return e;
}

static int run(int argc, char **argv)
{
    struct load o = {.clients = 10, .seconds = 10, .input = 20};
    struct args_option rows[6 + ARGS_CONNECT_ROWS] = {
        {"--clients", ARGS_NUMBER, {.number = &o.clients}},
        {"--seconds", ARGS_NUMBER, {.number = &o.seconds}},
        {"--input", ARGS_NUMBER, {.number = &o.input}},
        {"--decode", ARGS_FLAG, {.flag = &o.decode}},
        {"--still", ARGS_FLAG, {.flag = &o.still}},
        {"--json", ARGS_FLAG, {.flag = &o.json}},
    };
    struct args args = {.options = rows, .option_count = 6 + ARGS_CONNECT_ROWS};
    struct fault fault = {0};
    struct sinew_options options;
    args_connect_options(&o.connect, rows + 6);
    enum err e = args_read(&args, argc, argv, &fault);
    if (e == ERR_OK && (o.clients < 1 || o.clients > CLIENTS_MAX || o.seconds <= 0))
        e = fault_set(&fault, ERR_USAGE, "--clients is 1 to %d, --seconds above 0", CLIENTS_MAX);
    if (e == ERR_OK) e = args_connect(&o.connect, args.url, &options, &fault);
    if (e == ERR_OK) e = load(&o, &options, &fault);
    return e == ERR_OK ? 0 : command_fail("load", &fault);
}

const struct command command_load = {"load", "many sessions at once, and what they got", help, run};

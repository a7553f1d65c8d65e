#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/stream_codes.h"
#include "server/api/api_internal.h"
#include "server/api/metrics_text.h"
#include "server/http/exchange.h"
#include "server/stream/link.h"

// GET /metrics. Names and units follow the conventions of Prometheus; no label grows with sessions,
// addresses or characters. Below 200 series.
enum { METRICS_BYTES = 64 * 1024 };

static void put_tick(struct metrics_text *m, const struct ticker_snapshot *t)
{
    double bounds[TICKER_BUCKET_COUNT];
    for (int i = 0; i < TICKER_BUCKET_COUNT; i++)
        bounds[i] = ticker_bucket_us[i] * 1e-6;
    const struct metrics_buckets buckets = {bounds, t->buckets, TICKER_BUCKET_COUNT, t->busy_s};
    metrics_histogram(m, "sinew_tick_seconds", "Duration of a tick.", &buckets);
    metrics_counter(m, "sinew_tick_late_total", "Deadlines skipped, or ended after the next one.",
                    t->skipped_total + t->overrun_total);
    metrics_counter(m, "sinew_tick_skipped_total", "Deadlines that no tick was run for.",
                    t->skipped_total);
    metrics_begin(m, "sinew_tick_cpu_seconds_total", "counter",
                  "Processor time of ticks on all threads.");
    metrics_value(m, NULL, t->cpu_s);
}

static void put_tally(struct metrics_text *m, const char *name, const char *help,
                      const struct tally *t)
{
    const struct metrics_buckets buckets = {tally_bounds_s, t->counts, TALLY_BUCKETS, t->sum_s};
    metrics_histogram(m, name, help, &buckets);
}

static void put_sessions(struct metrics_text *m, const struct hub_snapshot *h)
{
    const struct hub_counts *c = h->counts;
    const struct {
        const char *label;
        uint64_t value;
    } ends[] = {{"result=\"opened\"", c->sessions_opened},
                {"result=\"resumed\"", c->sessions_resumed},
                {"result=\"superseded\"", c->sessions_superseded},
                {"result=\"ended\"", c->sessions_ended},
                {"result=\"expired\"", c->sessions_expired},
                {"result=\"timed_out\"", c->timed_out},
                {"result=\"refused_full\"", c->refused_full},
                {"result=\"refused_auth\"", c->refused_auth}};
    metrics_begin(m, "sinew_sessions", "gauge", "Sessions by state.");
    metrics_value(m, "state=\"live\"", (double)h->live);
    metrics_value(m, "state=\"lost\"", (double)h->lost);
    metrics_gauge(m, "sinew_sessions_limit", "Sessions that are let in at most.",
                  (double)h->sessions_max);
    metrics_begin(m, "sinew_session_events_total", "counter", "What became of sessions.");
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        metrics_value(m, ends[i].label, (double)ends[i].value);
    metrics_gauge(m, "sinew_draining", "1 while the server stops.", h->draining);
}

static void put_frames(struct metrics_text *m, const struct hub_snapshot *h)
{
    char label[48];
    metrics_counter(m, "sinew_frames_sent_total", "Frames given to connections.",
                    h->counts->frames_sent);
    metrics_counter(m, "sinew_frame_bytes_sent_total", "Bytes of those frames.",
                    h->counts->frame_bytes_sent);
    metrics_begin(m, "sinew_frames_skipped_total", "counter",
                  "Frames that a session could have had and did not get.");
    for (int i = 0; i < HUB_SKIP_COUNT; i++) {
        (void)snprintf(label, sizeof label, "reason=\"%s\"", hub_skip_text((enum hub_skip)i));
        metrics_value(m, label, (double)h->counts->skipped[i]);
    }
    metrics_gauge(m, "sinew_rate_share_ratio",
                  "Part of the asked frame rates that the processor allows.", h->share);
    metrics_gauge(m, "sinew_send_queue_bytes", "Bytes that wait in all connections.",
                  (double)h->queue_bytes);
    metrics_counter(m, "sinew_rate_lowered_total", "Sessions whose rate was lowered.",
                    h->counts->rate_lowered);
    metrics_counter(m, "sinew_detail_lowered_total", "Sessions whose detail was lowered.",
                    h->counts->detail_lowered);
    metrics_counter(m, "sinew_resyncs_total", "Key frames that clients asked for.",
                    h->counts->resyncs);
}

static void put_inputs(struct metrics_text *m, const struct hub_snapshot *h, uint64_t presses)
{
    static const char *const types[] = {"control", "sensor", "face", "customise", "pose", "place"};
    static const char *const results[] = {"applied", "stale", "refused", "unsupported"};
    char label[80];
    metrics_begin(m, "sinew_input_packets_total", "counter", "INPUT messages by kind and result.");
    for (int t = 0; t < HUB_INPUT_TYPES; t++)
        for (int r = 0; r < HUB_INPUT_RESULTS; r++) {
            (void)snprintf(label, sizeof label, "proto=\"%s\",result=\"%s\"", types[t], results[r]);
            metrics_value(m, label, (double)h->counts->inputs[t][r]);
        }
    const struct lease_counts *l = &h->counts->leases;
    for (int p = 0; p < OSC_PROTOCOLS; p++)
        for (int r = 0; r < OSC_RESULTS; r++) {
            (void)snprintf(label, sizeof label, "proto=\"%s\",result=\"%s\"",
                           osc_protocol_name((enum osc_protocol)p),
                           osc_result_name((enum osc_result)r));
            metrics_value(m, label, (double)l->messages[p][r]);
        }
    metrics_begin(m, "sinew_osc_datagrams_total", "counter",
                  "UDP datagrams by what became of them.");
    metrics_value(m, "result=\"read\"", (double)(l->datagrams - l->foreign - l->dropped));
    metrics_value(m, "result=\"foreign\"", (double)l->foreign);
    metrics_value(m, "result=\"dropped\"", (double)l->dropped);
    metrics_counter(m, "sinew_osc_bytes_total", "Bytes of those datagrams.", l->bytes);
    metrics_counter(m, "sinew_osc_poses_total", "Poses from UDP given to characters.", l->poses);
    metrics_counter(m, "sinew_osc_paused_total",
                    "Ticks in which a port received no more than it may.", l->paused);
    metrics_gauge(m, "sinew_osc_leases", "UDP ports that sessions have.", (double)h->leases);
    metrics_counter(m, "sinew_presses_total", "Presses of actions, each counted once.", presses);
}

static void put_connections(struct metrics_text *m, const struct api *a,
                            const struct hub_snapshot *h)
{
    const struct listener_stats *l = listener_hub_stats(a->options.listeners);
    const struct http_stats *http = http_server_stats(a->http);
    char label[64];
    metrics_gauge(m, "sinew_connections", "Open connections.", (double)l->open);
    metrics_begin(m, "sinew_tls_handshakes_total", "counter", "TLS handshakes by result.");
    metrics_value(m, "result=\"full\"", (double)(l->handshakes_ok - l->handshakes_resumed));
    metrics_value(m, "result=\"resumed\"", (double)l->handshakes_resumed);
    metrics_value(m, "result=\"failed\"", (double)l->handshakes_failed);
    metrics_begin(m, "sinew_connections_refused_total", "counter", "Connections not let in.");
    metrics_value(m, "reason=\"total\"", (double)l->refused_total);
    metrics_value(m, "reason=\"address\"", (double)l->refused_address);
    metrics_value(m, "reason=\"handshakes\"", (double)l->refused_handshakes);
    metrics_value(m, "reason=\"descriptors\"", (double)l->accept_failed);
    metrics_begin(m, "sinew_connections_closed_total", "counter", "Connections by how they ended.");
    for (int i = 0; i < CONN_REASON_COUNT; i++) {
        (void)snprintf(label, sizeof label, "reason=\"%s\"", conn_reason_text((enum conn_reason)i));
        metrics_value(m, label, (double)l->closed[i]);
    }
    metrics_begin(m, "sinew_links_closed_total", "counter",
                  "Streams by the code that closed them.");
    for (int code = 1; code < 64; code++)
        if (stream_codes_close((uint16_t)code)) {
            (void)snprintf(label, sizeof label, "code=\"%s\"", stream_codes_name((uint16_t)code));
            metrics_value(m, label, (double)h->links->closed[code]);
        }
    metrics_begin(m, "sinew_http_responses_total", "counter", "HTTP answers by class.");
    for (int c = 1; c <= 5; c++) {
        (void)snprintf(label, sizeof label, "class=\"%dxx\"", c);
        metrics_value(m, label, (double)http->by_class[c]);
    }
    metrics_counter(m, "sinew_http_auth_failures_total", "Requests without a good token.",
                    http->auth_failures);
}

static void put_stage(struct metrics_text *m, const struct api *a)
{
    struct stage_snapshot s;
    stage_snapshot(a->options.stage, &s);
    metrics_gauge(m, "sinew_scenes", "Scenes.", s.scenes);
    metrics_gauge(m, "sinew_actors", "Characters in scenes.", s.actors);
    metrics_gauge(m, "sinew_models_ready", "Characters that can be joined.",
                  (double)models_in(a->options.models, MODELS_READY));
    metrics_counter(m, "sinew_evaluations_total", "Surfaces evaluated.", s.evaluations);
    metrics_counter(m, "sinew_poses_refused_total",
                    "Surfaces whose pose was not finite where a driver reads it.", s.refused_poses);
    metrics_begin(m, "sinew_encodings_total", "counter", "Frames encoded.");
    metrics_value(m, "kind=\"key\"", (double)s.key_encodings);
    metrics_value(m, "kind=\"delta\"", (double)(s.encodings - s.key_encodings));
    metrics_counter(m, "sinew_encoded_bytes_total", "Bytes of encoded frames.", s.encoded_bytes);
    metrics_counter(m, "sinew_frames_dropped_total",
                    "Frames not encoded: slow readers held all frame memory.", s.dropped_frames);
}

static void put_plugins(struct metrics_text *m, const struct api *a)
{
    struct stage_snapshot s;
    stage_snapshot(a->options.stage, &s);
    metrics_gauge(m, "sinew_plugins", "Third parties' extras that are open.", s.plugins);
    metrics_gauge(m, "sinew_plugins_off", "Of those, switched off after trouble.", s.plugins_off);
    metrics_counter(m, "sinew_plugin_steps_total", "Steps of third parties' extras.",
                    s.plugin_steps);
    metrics_begin(m, "sinew_plugin_seconds_total", "counter", "Time that those steps took.");
    metrics_value(m, NULL, (double)s.plugin_ns * 1e-9);
    metrics_begin(m, "sinew_plugin_trouble_total", "counter", "What went wrong with them.");
    metrics_value(m, "what=\"overrun\"", (double)s.plugin_overruns);
    metrics_value(m, "what=\"skipped\"", (double)s.plugin_skipped);
    metrics_value(m, "what=\"unusable\"", (double)s.plugin_faults);
    metrics_value(m, "what=\"died\"", (double)s.plugin_deaths);
}

static void put_store(struct metrics_text *m, const struct api *a)
{
    const struct store *store = a->options.library ? a->options.library->store : NULL;
    if (!store) return;
    metrics_begin(m, "sinew_edits_total", "counter", "Changes over /v1 by result.");
    metrics_value(m, "result=\"done\"", (double)a->edits[0]);
    metrics_value(m, "result=\"failed\"", (double)a->edits[1]);
    metrics_gauge(m, "sinew_wal_bytes", "Write-ahead log of the store.",
                  (double)store_wal_bytes(store));
    metrics_gauge(m, "sinew_store_full", "1 when less than 5 % of its disk is free.",
                  store_is_full(store));
}

static void put_process(struct metrics_text *m, const struct api *a)
{
    struct api_process p;
    api_process_read(&p);
    metrics_begin(m, "sinew_build_info", "gauge", "The program that runs.");
    metrics_value(m, "version=\"" SINEW_VERSION "\"", 1);
    metrics_gauge(m, "sinew_ready", "1 when sessions are let in.", *api_not_ready(a) == '\0');
    metrics_begin(m, "process_cpu_seconds_total", "counter", "Processor time used.");
    metrics_value(m, NULL, p.cpu_s);
    metrics_gauge(m, "process_resident_memory_bytes", "Resident memory.", (double)p.resident_bytes);
    metrics_gauge(m, "process_virtual_memory_bytes", "Virtual memory.", (double)p.virtual_bytes);
    metrics_gauge(m, "process_open_fds", "Open file descriptors.", (double)p.open_fds);
    metrics_gauge(m, "process_max_fds", "File descriptors allowed.", (double)p.max_fds);
    uint64_t started_wall_ms = a->started_wall_ns / 1000000u;
    metrics_gauge(m, "process_start_time_seconds", "Start of the process since 1970.",
                  (double)started_wall_ms * 1e-3);
}

void api_metrics(struct http_exchange *x, void *owner)
{
    const struct api *a = owner;
    struct hub_snapshot hub;
    struct stage_snapshot stage;
    struct metrics_text m = {.text = malloc(METRICS_BYTES), .capacity_bytes = METRICS_BYTES};
    hub_snapshot(a->options.hub, &hub);
    stage_snapshot(a->options.stage, &stage);
    if (m.text) {
        put_process(&m, a);
        put_tick(&m, &hub.tick);
        put_tally(&m, "sinew_frame_age_seconds",
                  "From a frame's tick to its arrival at the client, by ACKs.", &hub.counts->age);
        put_tally(&m, "sinew_input_latency_seconds",
                  "From an input's arrival to its first frame given to the socket.",
                  &hub.counts->input_to_socket);
        put_sessions(&m, &hub);
        put_frames(&m, &hub);
        put_inputs(&m, &hub, stage.presses);
        put_connections(&m, a, &hub);
        put_stage(&m, a);
        put_plugins(&m, a);
        put_store(&m, a);
    }
    if (!m.text || m.failed)
        http_answer_problem(x, 500, "metrics", "The metrics do not fit", NULL);
    else
        http_answer(x, 200, "text/plain; version=0.0.4; charset=utf-8", m.text, m.used_bytes);
    free(m.text);
}

#include <cjson/cJSON.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"
#include "server/api/api_internal.h"
#include "server/http/exchange.h"
#include "server/stream/link.h"

// GET /status: the state of the server as one JSON object, sessions one by one.
enum { SESSIONS_LISTED_MAX = 1000, SCENES_LISTED_MAX = 200 };

static uint64_t count_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint64_t n = 0;
    if (!folder) return 0;
    while (readdir(folder)) // NOLINT(concurrency-mt-unsafe): a stream of our own
        n++;
    (void)closedir(folder);
    return n > 3 ? n - 3 : 0; // ".", ".." and the one that looks
}

void api_process_read(struct api_process *out)
{
    struct rusage usage;
    struct rlimit files;
    unsigned long pages = 0, resident = 0;
    *out = (struct api_process){.open_fds = count_fds()};
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        out->cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) out->max_fds = files.rlim_cur;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return;
    if (fscanf(f, "%lu %lu", &pages, &resident) == 2) {
        uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
        out->virtual_bytes = pages * page_bytes;
        out->resident_bytes = resident * page_bytes;
    }
    (void)fclose(f);
}

static void add(cJSON *to, const char *key, double value)
{
    cJSON_AddNumberToObject(to, key, value);
}

static void add_tally(cJSON *to, const char *key, const struct tally *t)
{
    struct tally_percentiles p = tally_percentiles(t);
    cJSON *o = cJSON_AddObjectToObject(to, key);
    add(o, "count", (double)t->total);
    add(o, "p50_ms", p.p50_s * 1e3);
    add(o, "p90_ms", p.p90_s * 1e3);
    add(o, "p99_ms", p.p99_s * 1e3);
    add(o, "max_ms", p.max_s * 1e3);
}

static void add_tick(cJSON *root, const struct ticker_snapshot *t)
{
    cJSON *tick = cJSON_AddObjectToObject(root, "tick");
    add(tick, "rate_hz", t->rate_hz);
    add(tick, "count", (double)t->tick_total);
    add(tick, "late", (double)(t->skipped_total + t->overrun_total));
    add(tick, "skipped", (double)t->skipped_total);
    add(tick, "overrun", (double)t->overrun_total);
    add(tick, "p50_ms", t->p50_us / 1e3);
    add(tick, "p90_ms", t->p90_us / 1e3);
    add(tick, "p99_ms", t->p99_us / 1e3);
    add(tick, "max_ms", t->max_us / 1e3);
    add(tick, "delay_p50_ms", t->delay_p50_us / 1e3);
    add(tick, "delay_p99_ms", t->delay_p99_us / 1e3);
    add(tick, "busy_s", t->busy_s);
}

static void add_sessions(cJSON *root, const struct hub_snapshot *h)
{
    const struct hub_counts *c = h->counts;
    cJSON *s = cJSON_AddObjectToObject(root, "sessions");
    add(s, "live", (double)h->live);
    add(s, "lost", (double)h->lost);
    add(s, "max", (double)h->sessions_max);
    add(s, "opened", (double)c->sessions_opened);
    add(s, "resumed", (double)c->sessions_resumed);
    add(s, "superseded", (double)c->sessions_superseded);
    add(s, "ended", (double)c->sessions_ended);
    add(s, "expired", (double)c->sessions_expired);
    add(s, "timed_out", (double)c->timed_out);
    add(s, "refused_full", (double)c->refused_full);
    add(s, "refused_auth", (double)c->refused_auth);
}

static void add_frames(cJSON *root, const struct hub_counts *c)
{
    cJSON *frames = cJSON_AddObjectToObject(root, "frames");
    cJSON *reasons = cJSON_CreateObject();
    uint64_t skipped = 0;
    for (int i = 0; i < HUB_SKIP_COUNT; i++) {
        add(reasons, hub_skip_text((enum hub_skip)i), (double)c->skipped[i]);
        skipped += c->skipped[i];
    }
    add(frames, "sent", (double)c->frames_sent);
    add(frames, "bytes", (double)c->frame_bytes_sent);
    add(frames, "skipped", (double)skipped);
    cJSON_AddItemToObject(frames, "skipped_by_reason", reasons);
}

static void add_connections(cJSON *root, const struct api *a)
{
    const struct listener_stats *l = listener_hub_stats(a->options.listeners);
    const struct http_stats *http = http_server_stats(a->http);
    cJSON *c = cJSON_AddObjectToObject(root, "connections"), *by = cJSON_CreateObject();
    add(c, "open", (double)l->open);
    add(c, "handshaking", (double)l->handshaking);
    add(c, "accepted", (double)l->accepted);
    add(c, "refused", (double)(l->refused_total + l->refused_address + l->refused_handshakes));
    add(c, "accept_failed", (double)l->accept_failed);
    for (int i = 0; i < CONN_REASON_COUNT; i++)
        add(by, conn_reason_text((enum conn_reason)i), (double)l->closed[i]);
    cJSON_AddItemToObject(c, "closed_by_reason", by);
    add(c, "handshakes", (double)l->handshakes_ok);
    add(c, "handshakes_resumed", (double)l->handshakes_resumed);
    add(c, "handshakes_failed", (double)l->handshakes_failed);
    add(c, "http_requests", (double)http->requests);
    add(c, "http_refused", (double)(http->refused_origin + http->refused_host));
}

static void add_stage(cJSON *root, const struct api *a)
{
    struct stage_snapshot s;
    struct stage_scene_info scene;
    stage_snapshot(a->options.stage, &s);
    cJSON *o = cJSON_AddObjectToObject(root, "stage");
    add(o, "scenes", s.scenes);
    add(o, "actors", s.actors);
    add(o, "views", s.views);
    add(o, "evaluations", (double)s.evaluations);
    add(o, "encodings", (double)s.encodings);
    add(o, "key_encodings", (double)s.key_encodings);
    add(o, "encoded_bytes", (double)s.encoded_bytes);
    add(o, "dropped_frames", (double)s.dropped_frames);
    add(o, "inputs", (double)s.inputs);
    cJSON *list = cJSON_AddArrayToObject(root, "scenes");
    for (size_t i = 0; i < SCENES_LISTED_MAX && stage_scene_at(a->options.stage, i, &scene); i++) {
        cJSON *row = cJSON_CreateObject();
        add(row, "number", scene.number);
        cJSON_AddStringToObject(row, "name", scene.name);
        add(row, "actors", scene.actors);
        add(row, "views", scene.views);
        cJSON_AddItemToArray(list, row);
    }
}

static void add_models(cJSON *root, const struct models *models)
{
    static const char *const states[] = {[MODELS_LOADING] = "loading",
                                         [MODELS_READY] = "ready",
                                         [MODELS_FAILED] = "failed",
                                         [MODELS_RETIRED] = "retired"};
    cJSON *list = cJSON_AddArrayToObject(root, "models");
    for (size_t i = 0; i < models_count(models); i++) {
        const struct models_row *row = models_at(models, i);
        cJSON *m = cJSON_CreateObject();
        cJSON_AddStringToObject(m, "name", row->name);
        cJSON_AddStringToObject(m, "state", states[row->state]);
        cJSON_AddStringToObject(m, "note", row->line);
        add(m, "version", row->role ? row->role->version : 0);
        add(m, "vertices", row->role ? row->role->details[0].vertex_count : 0);
        add(m, "clips", row->role ? (double)row->role->model->clips_count : 0);
        add(m, "shapes", row->role ? (double)row->role->model->shapes_count : 0);
        cJSON_AddBoolToObject(m, "still", row->role && row->role->still);
        cJSON_AddBoolToObject(m, "from_cache", row->from_cache);
        add(m, "load_s", row->load_s);
        cJSON_AddItemToArray(list, m);
    }
}

static void add_session_list(cJSON *root, const struct hub *hub)
{
    cJSON *list = cJSON_AddArrayToObject(root, "session_list");
    struct hub_session_info s;
    for (size_t i = 0; i < SESSIONS_LISTED_MAX && hub_session_at(hub, i, &s); i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "session", s.session);
        cJSON_AddStringToObject(row, "state", s.state);
        cJSON_AddStringToObject(row, "link", s.link);
        cJSON_AddStringToObject(row, "peer", s.peer);
        cJSON_AddStringToObject(row, "scene", s.scene);
        cJSON_AddStringToObject(row, "character", s.character);
        add(row, "rate_hz", s.rate_hz);
        add(row, "asked_hz", s.asked_hz);
        add(row, "coarser", s.coarser);
        add(row, "actors", s.actors);
        add(row, "age_ms", s.age_s * 1e3);
        add(row, "rtt_ms", s.rtt_s * 1e3);
        add(row, "clock_offset_us", (double)s.clock_offset_us);
        add(row, "frames_sent", (double)s.frames_sent);
        add(row, "frames_skipped", (double)s.frames_skipped);
        add(row, "bytes_sent", (double)s.bytes_sent);
        add(row, "queue_bytes", (double)s.queue_bytes);
        cJSON_AddItemToArray(list, row);
    }
}

static void add_traffic(cJSON *root, const struct api *a, const struct hub_snapshot *hub)
{
    const struct listener_stats *l = listener_hub_stats(a->options.listeners);
    cJSON *bytes = cJSON_AddObjectToObject(root, "bytes");
    add(bytes, "sent", (double)(l->sent_bytes + hub->counts->frame_bytes_sent));
    add(bytes, "received", (double)hub->links->bytes_received);
    add(bytes, "queued", (double)hub->queue_bytes);
}

void api_status(struct http_exchange *x, void *owner)
{
    const struct api *a = owner;
    struct hub_snapshot hub;
    struct api_process p;
    hub_snapshot(a->options.hub, &hub);
    api_process_read(&p);
    const char *why = api_not_ready(a);
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "version", SINEW_VERSION);
    add(root, "uptime_s", (double)(clock_ns() - a->started_ns) * 1e-9);
    cJSON_AddBoolToObject(root, "ready", *why == '\0');
    cJSON_AddBoolToObject(root, "draining", hub.draining);
    cJSON_AddStringToObject(root, "not_ready", why);
    add_sessions(root, &hub);
    add_tick(root, &hub.tick);
    add(root, "share", hub.share);
    add_tally(root, "frame_age", &hub.counts->age);
    add_tally(root, "input_to_socket", &hub.counts->input_to_socket);
    add_tally(root, "join", &hub.counts->join);
    add_frames(root, hub.counts);
    add_traffic(root, a, &hub);
    add_connections(root, a);
    add_stage(root, a);
    add_models(root, a->options.models);
    cJSON *process = cJSON_AddObjectToObject(root, "process");
    add(process, "cpu_seconds", p.cpu_s);
    add(process, "resident_bytes", (double)p.resident_bytes);
    add(process, "open_fds", (double)p.open_fds);
    add_session_list(root, a->options.hub);
    http_answer_header(x, "Cache-Control", "no-store");
    http_answer_json(x, 200, root);
    cJSON_Delete(root);
}

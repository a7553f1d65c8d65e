#include "client/cli/run.h"

#include <cjson/cJSON.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/cli/report.h"
#include "proto/stream_codes.h"

enum {
    JOIN_MS = 10000,
    ROUND_MS = 10,
    CATALOGUE_US = 5000000, // a line that needs it waits so long
    SETTLE_US = 500000,     // after the last line: its effect is seen
    APPLIED_US = 3000000,   // how long to wait for what the server did with it
    PROGRESS_US = 500000
};

volatile sig_atomic_t run_interrupted;

static void on_signal(int number)
{
    (void)number;
    run_interrupted = 1;
}

static enum err join(struct run *r, struct fault *fault)
{
    char why[SINEW_TEXT_MAX] = "";
    uint64_t until = sinew_now_us() + (uint64_t)JOIN_MS * 1000;
    int result = SINEW_ERR_TIMEOUT;
    // A tool that cannot reach its server says so at once instead of trying on.
    while (sinew_now_us() < until && !run_interrupted) {
        struct sinew_event e = {.struct_size = sizeof e};
        (void)sinew_poll(r->client, ROUND_MS);
        while (sinew_next_event(r->client, &e)) {
            report_clean(e.text);
            if (e.kind == SINEW_EVENT_JOINED) {
                r->joined = true;
                r->joined_us = e.time_us;
                r->join_tick = e.tick;
                (void)snprintf(r->character, sizeof r->character, "%.63s", e.text);
                return ERR_OK;
            }
            if (e.kind == SINEW_EVENT_LOST || e.kind == SINEW_EVENT_CLOSED)
                return command_fault(fault, e.result, e.text);
        }
    }
    return command_fault(fault, result, why);
}

// The recipe counts from the first tick on.
static void log_recipe(FILE *out, const char *recipe)
{
    cJSON *json = cJSON_Parse(recipe);
    char *text = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(json, "parameters"));
    if (text) (void)fprintf(out, "{\"tick\": 0, \"customise\": %s}\n", text);
    cJSON_free(text);
    cJSON_Delete(json);
}

enum err run_open(struct run *r, struct sinew_options *options, const char *script,
                  const char *applied, struct fault *fault)
{
    char why[SINEW_TEXT_MAX] = "";
    const struct sigaction action = {.sa_handler = on_signal};
    *r = (struct run){.progress = isatty(STDERR_FILENO) == 1};
    enum err e = script ? script_open(script, &r->script, fault) : ERR_OK;
    if (e) return e;
    if (applied) {
        r->applied = fopen(applied, "wb");
        if (!r->applied) return fault_set(fault, ERR_IO, "cannot write %s", applied);
    }
    if (r->applied && options->recipe) log_recipe(r->applied, options->recipe);
    options->own_thread = 0;
    options->applied = 1;
    int result = sinew_open(options, &r->client, why, sizeof why);
    if (result) return command_fault(fault, result, why);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    return join(r, fault);
}

// ---- what the server did with the inputs ----

static void on_sent(void *owner, uint32_t sequence, const cJSON *item)
{
    struct run *r = owner;
    if (r->sent_count == r->sent_capacity) {
        size_t capacity = r->sent_capacity ? r->sent_capacity * 2 : 64;
        struct run_sent *grown = realloc(r->sent, capacity * sizeof *grown);
        if (!grown) return; // only the log of applied inputs misses it
        r->sent = grown;
        r->sent_capacity = capacity;
    }
    r->sent[r->sent_count++] = (struct run_sent){.sequence = sequence, .item = item};
}

// In the form that `sinewd eval --script` reads: ticks from the session's first.
static void on_applied(struct run *r, uint32_t sequence, uint64_t tick)
{
    for (size_t i = 0; i < r->sent_count; i++) {
        if (r->sent[i].sequence != sequence || r->sent[i].applied) continue;
        r->sent[i].applied = true;
        r->applied_count++;
        if (!r->applied) return;
        char *text = cJSON_PrintUnformatted(r->sent[i].item);
        (void)fprintf(r->applied, "{\"tick\": %llu, \"%s\": %s}\n",
                      (unsigned long long)(tick > r->join_tick ? tick - r->join_tick : 0),
                      r->sent[i].item->string, text ? text : "{}");
        cJSON_free(text);
        return;
    }
}

static enum err on_event(struct run *r, const struct sinew_event *e, struct fault *fault)
{
    if (e->kind == SINEW_EVENT_NOTICE && e->code == STREAM_EXTRA_SKIPPED) {
        // A line of a script already: what a replay must leave out too.
        if (r->applied) (void)fprintf(r->applied, "%s\n", e->text);
        return ERR_OK;
    }
    switch (e->kind) {
    case SINEW_EVENT_CATALOGUE:
        r->catalogue = true;
        break;
    case SINEW_EVENT_APPLIED:
        on_applied(r, e->sequence, e->tick);
        break;
    case SINEW_EVENT_REFUSED:
        return fault_set(fault, ERR_DENIED, "the server refuses an input: %.250s", e->text);
    case SINEW_EVENT_CLOSED:
        return command_fault(fault, e->result, e->text);
    case SINEW_EVENT_NOTICE:
    case SINEW_EVENT_LOST:
    case SINEW_EVENT_RESUMED:
        run_clear_progress(r);
        (void)fprintf(stderr, "%s%s\n",
                      e->kind == SINEW_EVENT_LOST      ? "lost, coming back: "
                      : e->kind == SINEW_EVENT_RESUMED ? "resumed "
                                                       : "server: ",
                      e->text);
        break;
    default:
        break;
    }
    return ERR_OK;
}

// ---- a round ----

static enum err send_due(struct run *r, struct fault *fault)
{
    const struct script_sender to = {.client = r->client, .on_sent = on_sent, .owner = r};
    uint64_t now_us = sinew_now_us();
    for (; r->next_line < r->script.count; r->next_line++) {
        const struct script_line *line = &r->script.lines[r->next_line];
        if ((double)(now_us - r->joined_us) < (line->t_s - 1e-6) * 1e6) return ERR_OK;
        if (script_needs_catalogue(line) && !r->catalogue) {
            if (now_us - r->joined_us < CATALOGUE_US + (uint64_t)(line->t_s * 1e6)) return ERR_OK;
            return fault_set(fault, ERR_NOT_FOUND,
                             "script line %u: the server has not said which shapes there are",
                             line->number);
        }
        enum err e = script_send(line, &to, fault);
        if (e) return e;
    }
    if (r->script_end_us == 0) r->script_end_us = now_us;
    return ERR_OK;
}

static void show_progress(struct run *r)
{
    struct sinew_stats s = {.struct_size = sizeof s};
    uint64_t now_us = sinew_now_us();
    if (!r->progress || now_us - r->progress_at_us < PROGRESS_US) return;
    r->progress_at_us = now_us;
    (void)sinew_get_stats(r->client, &s);
    (void)fprintf(stderr, "\r%llu frames, %.1f a second, age %.1f ms \033[K",
                  (unsigned long long)s.frames_own,
                  s.joined_s > 0 ? (double)s.frames_own / s.joined_s : 0, s.age_us.p50_us / 1e3);
}

void run_clear_progress(struct run *r)
{
    if (r->progress && r->progress_at_us) (void)fprintf(stderr, "\r\033[K");
}

enum err run_step(struct run *r, struct fault *fault)
{
    struct sinew_event e = {.struct_size = sizeof e};
    uint32_t wait_ms = ROUND_MS;
    if (r->next_line < r->script.count) { // a line must not wait for the round to end
        double due_ms =
            r->script.lines[r->next_line].t_s * 1e3 - (double)(sinew_now_us() - r->joined_us) / 1e3;
        if (due_ms < wait_ms) wait_ms = due_ms > 0 ? (uint32_t)due_ms : 0;
    }
    enum err failed = send_due(r, fault);
    if (failed) return failed;
    (void)sinew_poll(r->client, wait_ms);
    while (sinew_next_event(r->client, &e)) {
        report_clean(e.text);
        failed = on_event(r, &e, fault);
        if (failed) return failed;
    }
    if (run_interrupted) r->finished = true;
    show_progress(r);
    return ERR_OK;
}

bool run_script_is_done(const struct run *r)
{
    if (r->script.count == 0 || r->script_end_us == 0) return false;
    uint64_t since_us = sinew_now_us() - r->script_end_us;
    if (since_us < SETTLE_US) return false;
    return r->applied_count == r->sent_count || since_us > APPLIED_US;
}

bool run_actor(struct run *r, struct sinew_actor *out)
{
    out->struct_size = sizeof *out;
    return sinew_actor_get(r->client, sinew_own_actor(r->client), out) == SINEW_OK && out->vertices;
}

enum err run_close(struct run *r, struct fault *fault)
{
    enum err e = ERR_OK;
    run_clear_progress(r);
    sinew_close(r->client);
    script_close(&r->script);
    free(r->sent);
    if (r->applied) {
        bool fine = !ferror(r->applied);
        if (fclose(r->applied) != 0 || !fine)
            e = fault_set(fault, ERR_IO, "cannot write the --applied file");
    }
    *r = (struct run){0};
    return e;
}

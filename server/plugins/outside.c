#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "server/plugins/plugins_own.h"

// A plugin in a helper process: asked and answered over shared memory, with as much patience as its
// budget; started again, each time a little later, when it dies.

static const uint64_t BEGIN_NS = 10000000000u; // to open the library and begin
static const uint64_t HANGS_NS = 2000000000u;  // an answer that is so late does not come
static const uint64_t LIVES_NS = 60000000000u; // who lives so long has recovered
enum { DEATHS_MAX = 8 };
enum { OFFLINE_WAIT_S = 30 };

static uint8_t *image_of(struct channel_head *h)
{
    return (uint8_t *)h + channel_image_at();
}

static void start(struct plugin *p, uint64_t now_ns)
{
    struct outside *o = &p->out;
    char memory[24];
    char *arguments[] = {p->host->helper, o->path, memory, NULL}, *environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    (void)snprintf(memory, sizeof memory, "%u", p->host->options.helper_mb);
    (void)sem_init(&o->head->request, 1, 0);
    (void)sem_init(&o->head->reply, 1, 0);
    o->head->command = CHANNEL_CREATE;
    atomic_store(&o->head->answered, o->asked);
    atomic_store(&o->head->asked, ++o->asked);
    o->ready = false;
    o->waits = true;
    o->asked_ns = o->started_ns = now_ns;
    if (posix_spawn_file_actions_init(&actions) != 0) return;
    (void)posix_spawn_file_actions_adddup2(&actions, o->fd, CHANNEL_FD);
    if (posix_spawn(&o->pid, p->host->helper, &actions, NULL, arguments, environment) != 0)
        o->pid = 0;
    (void)posix_spawn_file_actions_destroy(&actions);
    p->starts++;
}

static void stop(struct outside *o)
{
    if (o->pid <= 0) return;
    (void)kill(o->pid, SIGKILL);
    (void)waitpid(o->pid, NULL, 0);
    o->pid = 0;
}

// The answer to the newest request has come. Takes the helper's word for nothing else.
static bool has_answered(struct outside *o)
{
    return atomic_load(&o->head->answered) == o->asked;
}

static void wait_for(struct outside *o, uint64_t ns)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t at = (uint64_t)until.tv_nsec + ns;
    until.tv_sec += (time_t)(at / 1000000000u);
    until.tv_nsec = (long)(at % 1000000000u);
    while (!has_answered(o))
        if (sem_clockwait(&o->head->reply, CLOCK_MONOTONIC, &until) != 0 && errno != EINTR) break;
}

static bool is_dead(struct outside *o)
{
    if (o->pid > 0 && waitpid(o->pid, NULL, WNOHANG) == o->pid) {
        o->pid = 0;
        o->died = true;
        o->ready = false;
    }
    return o->pid <= 0;
}

// Offline there is no hurry; but who is dead does not answer.
static void wait_long(struct outside *o)
{
    for (int i = 0; i < OFFLINE_WAIT_S * 20 && !has_answered(o) && !is_dead(o); i++)
        wait_for(o, 50000000);
}

static void ask(struct outside *o, enum channel_command command, uint64_t now_ns)
{
    o->head->command = command;
    atomic_store(&o->head->asked, ++o->asked);
    o->asked_ns = now_ns;
    o->waits = true;
    (void)sem_post(&o->head->request);
}

static enum err refused(struct plugin *p, struct fault *fault)
{
    char message[sizeof p->out.head->message];
    memcpy(message, p->out.head->message, sizeof message);
    message[sizeof message - 1] = 0;
    return fault_set(fault, ERR_UNSUPPORTED, "%.300s",
                     *message ? message : "a helper died at once");
}

enum err outside_open(struct plugin *p, const char *path, struct fault *fault)
{
    struct outside *o = &p->out;
    o->bytes = channel_bytes(&p->part.counts);
    memcpy(o->path, path, strlen(path) + 1);
    o->fd = memfd_create("sinew-plugin", MFD_CLOEXEC);
    if (o->fd < 0 || ftruncate(o->fd, (off_t)o->bytes) != 0)
        return fault_set(fault, ERR_MEMORY, "no memory to share with a plugin");
    void *shared = mmap(NULL, o->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, o->fd, 0);
    o->copy = aligned_alloc(64, p->part.layout.end + 64);
    if (shared == MAP_FAILED || !o->copy) {
        if (shared != MAP_FAILED) (void)munmap(shared, o->bytes);
        return fault_set(fault, ERR_MEMORY, "no memory to share with a plugin");
    }
    o->head = shared;
    o->head->magic = CHANNEL_MAGIC;
    o->head->counts = p->part.counts;
    o->head->metres_per_unit = p->part.model->info->unit_m;
    enum err e = image_write(&p->part, image_of(o->head), fault);
    if (e != ERR_OK) return e;
    start(p, clock_ns());
    if (o->pid == 0)
        return fault_set(fault, ERR_IO, "plugins: %.200s cannot be started", p->host->helper);
    if (p->host->options.clock_ns) return ERR_OK; // it begins while frames go on without it
    wait_long(o);
    o->ready = has_answered(o) && o->head->result == SINEW_PLUGIN_OK;
    o->waits = false;
    return o->ready ? ERR_OK : refused(p, fault);
}

void outside_close(struct plugin *p)
{
    struct outside *o = &p->out;
    stop(o);
    if (o->head) (void)munmap(o->head, o->bytes);
    if (o->fd > 0) (void)close(o->fd);
    free(o->copy);
    *o = (struct outside){0};
}

// What was answered is copied first: a helper may go on writing while it is looked at.
static enum plugin_outcome take_answer(struct plugin *p, struct surface_block *blocks, int *result)
{
    struct outside *o = &p->out;
    const uint8_t *image = image_of(o->head);
    uint64_t from = p->part.layout.positions;
    memcpy(o->copy + from, image + from, p->part.layout.end - from);
    *result = o->head->result;
    if (!image_is_whole(&p->part.counts, o->copy)) return PLUGIN_BROKEN;
    if (*result < 0 || !image_scatter(&p->part, o->copy, blocks)) return PLUGIN_BAD;
    return PLUGIN_USED;
}

enum plugin_outcome outside_step(struct plugin *p, const struct extra_motion *now,
                                 struct surface_block *blocks, int *result)
{
    struct outside *o = &p->out;
    struct channel_head *h = o->head;
    bool hurry = p->host->options.clock_ns != NULL;
    if (!o->ready || o->pid <= 0) return PLUGIN_LATE;
    if (o->waits && !has_answered(o)) return PLUGIN_LATE;
    while (sem_trywait(&h->reply) == 0) // of an answer that came too late
        ;
    image_gather(&p->part, now, blocks, image_of(h));
    image_guard(&p->part.counts, image_of(h));
    h->reset = now->cut;
    h->dt_s = now->cut ? 0 : now->dt_s;
    memcpy(h->place, now->place, sizeof h->place);
    h->yaw_rad = now->yaw_rad;
    ask(o, CHANNEL_STEP, hurry ? p->host->options.clock_ns() : 0);
    if (hurry)
        wait_for(o, p->budget.limit_ns * (p->budget.stepped ? 1 : PLUGIN_FIRST_STEP_TIMES));
    else
        wait_long(o);
    if (!has_answered(o)) {
        (void)is_dead(o);
        return PLUGIN_LATE;
    }
    o->waits = false;
    return take_answer(p, blocks, result);
}

static const uint64_t STATE_NS = 100000000; // between two ticks

bool outside_save(struct plugin *p, const void **state, uint64_t *bytes)
{
    struct outside *o = &p->out;
    if (!o->ready || o->pid <= 0 || (o->waits && !has_answered(o))) return false;
    ask(o, CHANNEL_SAVE, clock_ns());
    wait_for(o, STATE_NS);
    o->waits = !has_answered(o);
    *state = (const uint8_t *)o->head + channel_state_at(&p->part.counts);
    *bytes = o->head->state_bytes;
    return !o->waits && o->head->result == SINEW_PLUGIN_OK && *bytes > 0 &&
           *bytes <= CHANNEL_STATE_MAX;
}

bool outside_load(struct plugin *p, const void *state, uint64_t bytes)
{
    struct outside *o = &p->out;
    if (!o->ready) wait_for(o, STATE_NS); // it has only just been started
    if (!has_answered(o) || o->pid <= 0 || o->head->state_bytes != bytes) return false;
    o->ready = o->head->result == SINEW_PLUGIN_OK;
    if (!o->ready) return false;
    memcpy((uint8_t *)o->head + channel_state_at(&p->part.counts), state, bytes);
    ask(o, CHANNEL_LOAD, clock_ns());
    wait_for(o, STATE_NS);
    o->waits = !has_answered(o);
    return !o->waits && o->head->result == SINEW_PLUGIN_OK;
}

static void mourn(struct plugin *p, uint64_t now_ns, const char *what)
{
    struct outside *o = &p->out;
    p->deaths++;
    o->ready = o->waits = o->died = false;
    if (now_ns > o->started_ns + LIVES_NS) o->deaths = 0;
    if (++o->deaths >= DEATHS_MAX) {
        p->budget.off = true;
        plugin_tell(p, PLUGIN_EVENT_OFF, "its helper died again and again");
        return;
    }
    o->next_start_ns =
        now_ns + ((uint64_t)p->host->options.restart_ms * 1000000 << (o->deaths - 1));
    plugin_tell(p, PLUGIN_EVENT_DIED, what);
}

void outside_tend(struct plugin *p, uint64_t now_ns)
{
    struct outside *o = &p->out;
    if (p->budget.off) {
        stop(o);
        return;
    }
    if (o->died || (o->pid > 0 && is_dead(o))) mourn(p, now_ns, "its helper died");
    if (o->pid > 0 && o->waits && has_answered(o)) {
        o->waits = false;
        if (!o->ready && o->head->result != SINEW_PLUGIN_OK) {
            struct fault fault = {0};
            (void)refused(p, &fault);
            p->budget.off = true;
            plugin_tell(p, PLUGIN_EVENT_OFF, fault.line);
            return;
        }
        o->ready = true;
    }
    if (o->pid > 0 && o->waits && now_ns > o->asked_ns + (o->ready ? HANGS_NS : BEGIN_NS)) {
        stop(o);
        mourn(p, now_ns, "its helper did not answer and was ended");
    }
    if (o->pid <= 0 && !p->budget.off && now_ns >= o->next_start_ns) start(p, now_ns);
}

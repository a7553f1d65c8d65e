#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"

enum {
    LINE_BYTES = 4096,
    TEXT_BYTES_MAX = 512,
    EVENTS = 128,
    EVENT_BYTES = 48,
    DEFAULT_BURST = 20
};

// The budget of one event. Events are literals of the program, so the table is never full of a
// peer's making; past EVENTS different ones the last row is shared.
struct budget {
    char event[EVENT_BYTES];
    double tokens;
    uint64_t at_ns;
    uint64_t suppressed;
};

static struct {
    pthread_mutex_t lock;
    int fd;
    enum log_level level_min;
    double burst, per_s;
    int budget_count;
    struct budget budgets[EVENTS];
} sink = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .fd = STDERR_FILENO,
          .level_min = LOG_LEVEL_INFO,
          .burst = DEFAULT_BURST,
          .per_s = 5};

static const char *const level_names[] = {"debug", "info", "warn", "error"};

struct line {
    char text[LINE_BYTES];
    size_t used; // at most LINE_BYTES - 3: "}\n" always fits
};

static void put(struct line *l, const char *bytes, size_t size_bytes)
{
    if (size_bytes > LINE_BYTES - 3 - l->used) return;
    memcpy(l->text + l->used, bytes, size_bytes);
    l->used += size_bytes;
}

static void put_text(struct line *l, const char *text)
{
    put(l, text, strlen(text));
}

// Length of the well-formed UTF-8 sequence at `s`, 0 if there is none (overlong, surrogate, cut).
static size_t utf8_length(const unsigned char *s, size_t left)
{
    if (s[0] < 0x80) return 1;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n > left) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (s[0] == 0xe0 && s[1] < 0xa0) return 0;
    if (s[0] == 0xed && s[1] > 0x9f) return 0;
    if (s[0] == 0xf0 && s[1] < 0x90) return 0;
    if (s[0] == 0xf4 && s[1] > 0x8f) return 0;
    return n;
}

static void put_escaped(struct line *l, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t left = strnlen(text, TEXT_BYTES_MAX);
    put_text(l, "\"");
    while (left > 0) {
        size_t n = utf8_length(s, left);
        if (n == 1 && (*s < 0x20 || *s == 0x7f || *s == '"' || *s == '\\')) {
            char escape[8];
            (void)snprintf(escape, sizeof escape, *s == '"' || *s == '\\' ? "\\%c" : "\\u%04x", *s);
            put_text(l, escape);
        } else if (n > 0) {
            put(l, (const char *)s, n);
        } else {
            put_text(l, "\xef\xbf\xbd");
            n = 1;
        }
        s += n;
        left -= n;
    }
    put_text(l, "\"");
}

static void put_field(struct line *l, const struct log_field *f)
{
    // A field is written whole or not at all: half of one would break the line for every reader.
    size_t used_before = l->used;
    char number[40];
    put_text(l, ",\"");
    put_text(l, f->key);
    put_text(l, "\":");
    switch (f->kind) {
    case LOG_TEXT:
        if (f->text)
            put_escaped(l, f->text);
        else
            put_text(l, "null");
        break;
    case LOG_INTEGER:
        (void)snprintf(number, sizeof number, "%lld", (long long)f->integer);
        put_text(l, number);
        break;
    case LOG_REAL:
        if (isfinite(f->real))
            (void)snprintf(number, sizeof number, "%.9g", f->real);
        else
            (void)snprintf(number, sizeof number, "null");
        put_text(l, number);
        break;
    case LOG_TRUTH:
        put_text(l, f->integer ? "true" : "false");
        break;
    }
    if (l->used > LINE_BYTES - 64) l->used = used_before;
}

static void put_time(struct line *l)
{
    uint64_t now_ns = clock_wall_ns();
    time_t seconds = (time_t)(now_ns / 1000000000u);
    struct tm t;
    CHECK(gmtime_r(&seconds, &t));
    char text[64];
    (void)snprintf(text, sizeof text, "{\"ts\":\"%04d-%02d-%02dT%02d:%02d:%02d.%06uZ\"",
                   t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec,
                   (unsigned)(now_ns % 1000000000u / 1000));
    put_text(l, text);
}

static struct budget *find_budget(const char *event)
{
    for (int i = 0; i < sink.budget_count; i++)
        if (strncmp(sink.budgets[i].event, event, EVENT_BYTES - 1) == 0) return &sink.budgets[i];
    if (sink.budget_count == EVENTS) return &sink.budgets[EVENTS - 1];
    struct budget *b = &sink.budgets[sink.budget_count++];
    *b = (struct budget){.tokens = sink.burst, .at_ns = clock_ns()};
    (void)snprintf(b->event, sizeof b->event, "%s", event);
    return b;
}

// False: the line is not written. *suppressed: how many were not, before this one.
static bool budget_take(const char *event, uint64_t *suppressed)
{
    struct budget *b = find_budget(event);
    uint64_t now_ns = clock_ns();
    b->tokens += (double)(now_ns - b->at_ns) / 1e9 * sink.per_s;
    if (b->tokens > sink.burst) b->tokens = sink.burst;
    b->at_ns = now_ns;
    if (b->tokens < 1) {
        b->suppressed++;
        return false;
    }
    b->tokens -= 1;
    *suppressed = b->suppressed;
    b->suppressed = 0;
    return true;
}

static void write_out(int fd, const char *bytes, size_t size_bytes)
{
    while (size_bytes > 0) {
        ssize_t n = write(fd, bytes, size_bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return; // a full disk must not stop the service
        bytes += n;
        size_bytes -= (size_t)n;
    }
}

void log_write(enum log_level level, const char *event, const struct log_field *fields,
               int field_count)
{
    CHECK(event);
    CHECK(level >= LOG_LEVEL_DEBUG && level <= LOG_LEVEL_ERROR);
    struct line l = {.used = 0};
    uint64_t suppressed = 0;
    CHECK(pthread_mutex_lock(&sink.lock) == 0);
    if (level >= sink.level_min && budget_take(event, &suppressed)) {
        put_time(&l);
        put_text(&l, ",\"level\":\"");
        put_text(&l, level_names[level]);
        put_text(&l, "\",\"event\":");
        put_escaped(&l, event);
        for (int i = 0; i < field_count; i++)
            put_field(&l, &fields[i]);
        if (suppressed > 0) put_field(&l, &LOG_I("suppressed", suppressed));
        memcpy(l.text + l.used, "}\n", 2);
        write_out(sink.fd, l.text, l.used + 2);
    }
    CHECK(pthread_mutex_unlock(&sink.lock) == 0);
}

enum err log_open(const struct log_options *options, struct fault *fault)
{
    int fd = STDERR_FILENO;
    if (options->path) {
        fd = open(options->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
        if (fd < 0)
            return fault_set(fault, ERR_IO, "cannot write to the log file %s", options->path);
    }
    CHECK(pthread_mutex_lock(&sink.lock) == 0);
    if (sink.fd != STDERR_FILENO) (void)close(sink.fd);
    sink.fd = fd;
    sink.level_min = options->level_min;
    sink.burst = options->burst ? options->burst : DEFAULT_BURST;
    sink.per_s = options->per_s ? options->per_s : 5;
    sink.budget_count = 0;
    CHECK(pthread_mutex_unlock(&sink.lock) == 0);
    return ERR_OK;
}

void log_close(void)
{
    CHECK(pthread_mutex_lock(&sink.lock) == 0);
    if (sink.fd != STDERR_FILENO) (void)close(sink.fd);
    sink.fd = STDERR_FILENO;
    sink.level_min = LOG_LEVEL_INFO;
    CHECK(pthread_mutex_unlock(&sink.lock) == 0);
}

enum err log_level_from_name(const char *name, enum log_level *out)
{
    for (int i = 0; i <= LOG_LEVEL_ERROR; i++) {
        if (strcmp(name, level_names[i]) != 0) continue;
        *out = (enum log_level)i;
        return ERR_OK;
    }
    return ERR_NOT_FOUND;
}

#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

// The log: one JSON object a line, `{"ts","level","event", fields…}`, ts RFC 3339 in UTC with
// microseconds. Any thread may write; lines never mix. Never on the frame path: workers count, the
// loop logs the counts. Secrets (tokens, tickets, keys, Authorization) are never given to it.
//
// Each event has a budget (a burst, then a rate), so that no peer can fill the disk; the next line
// that passes carries `"suppressed": n`. The sink is the one static of this folder.
enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };

struct log_options {
    const char *path; // NULL: stderr. A file is appended to, mode 0640
    enum log_level level_min;
    uint32_t burst; // lines of one event at once; 0: 20
    uint32_t per_s; // then so many a second; 0: 5
};

// Without it the log goes to stderr from INFO up. Call before other threads start.
MUST_CHECK enum err log_open(const struct log_options *options, struct fault *fault);
void log_close(void); // back to stderr
enum err log_level_from_name(const char *name,
                             enum log_level *out); // "debug" "info" "warn" "error"

enum log_kind { LOG_TEXT, LOG_INTEGER, LOG_REAL, LOG_TRUTH };
struct log_field {
    const char *key; // a literal, [a-z_]
    enum log_kind kind;
    const char *text; // NULL is written as null; cut at 512 bytes; escaped, bad UTF-8 as U+FFFD
    int64_t integer;
    double real;
};
#define LOG_T(k, v) ((struct log_field){.key = (k), .kind = LOG_TEXT, .text = (v)})
#define LOG_I(k, v) ((struct log_field){.key = (k), .kind = LOG_INTEGER, .integer = (int64_t)(v)})
#define LOG_F(k, v) ((struct log_field){.key = (k), .kind = LOG_REAL, .real = (double)(v)})
#define LOG_B(k, v) ((struct log_field){.key = (k), .kind = LOG_TRUTH, .integer = !!(v)})

// `event` is a literal such as "listener.open": its address need not be stable, its text is the
// key of its budget.
void log_write(enum log_level level, const char *event, const struct log_field *fields,
               int field_count);
// log_event(LOG_LEVEL_INFO, "session.open", LOG_T("peer", text), LOG_I("sessions", n));
#define log_event(level, ...) LOG_EVENT_(level, __VA_ARGS__, LOG_I("", 0))
#define LOG_EVENT_(level, event, ...)                                                              \
    log_write((level), (event), (const struct log_field[]){__VA_ARGS__},                           \
              (int)(sizeof((const struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field)) -  \
                  1)

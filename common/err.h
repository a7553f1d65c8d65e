#pragma once
#include <stddef.h>

// Operating errors: what a correct program meets (input, peer, disk, limits). They are values,
// returned and handled. Programmer errors use CHECK (check.h) instead.
#define ERR_MAP(X)                                                                                 \
    X(OK, "ok")                                                                                    \
    X(TRUNCATED, "input ends before the declared length")                                          \
    X(MALFORMED, "input breaks the format")                                                        \
    X(VERSION, "unsupported version")                                                              \
    X(UNSUPPORTED, "valid, but not supported here")                                                \
    X(LIMIT, "a configured limit would be exceeded")                                               \
    X(MEMORY, "out of memory")                                                                     \
    X(NOT_FOUND, "not found")                                                                      \
    X(AMBIGUOUS, "name is not unique")                                                             \
    X(USAGE, "wrong usage")                                                                        \
    X(DENIED, "not allowed")                                                                       \
    X(BUSY, "held by someone else")                                                                \
    X(STALE, "based on an old version")                                                            \
    X(TIMEOUT, "deadline passed")                                                                  \
    X(PEER_CLOSED, "peer closed the connection")                                                   \
    X(IO, "operating system i/o failure")

enum err {
#define X(name, text) ERR_##name,
    ERR_MAP(X)
#undef X
};

#define MUST_CHECK                      __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_at, args_at) __attribute__((format(printf, format_at, args_at)))

const char *err_name(enum err e); // "TRUNCATED"
const char *err_text(enum err e); // "input ends before the declared length"
// The system's words for an errno value, written into `out`; for any thread, as strerror is not.
enum { ERR_SYSTEM_BYTES = 96 };
const char *err_system(int number, char out[ERR_SYSTEM_BYTES]);

// One failure in a line that a person can act on: what, where (JSON path or byte offset), what
// to do. Zero-initialised means "no failure". The first failure wins: later fault_set calls on
// the same fault are ignored, so the innermost, most exact line survives the way up.
struct fault {
    enum err code;
    char line[384]; // no newline, printable ASCII/UTF-8; bytes of hostile input are escaped
};

// Records and returns `code` (never ERR_OK), so callers can `return fault_set(...)`.
// `f` may be NULL when the caller wants only the code.
enum err fault_set(struct fault *f, enum err code, const char *format, ...) PRINTF_LIKE(3, 4);

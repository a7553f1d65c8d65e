#pragma once
#include <stdbool.h>
#include <uv.h>

// SIGTERM and SIGINT begin an orderly stop, the second of either leaves at once with 130; SIGHUP
// asks for the files to be read again; SIGPIPE is ignored (a dropped browser must not kill us).
struct signals {
    uv_signal_t terminate, interrupt, hangup; // private
    int stops_seen;
    void (*on_stop)(void *owner);   // loop thread, once
    void (*on_reload)(void *owner); // loop thread; NULL: ignored
    void *owner;
};

// The struct must stay where it is until the loop has run after signals_stop.
void signals_start(struct signals *s, uv_loop_t *loop, void (*on_stop)(void *owner),
                   void (*on_reload)(void *owner), void *owner);
void signals_stop(struct signals *s);

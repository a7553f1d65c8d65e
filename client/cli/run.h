#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "client/cli/script.h"
#include "client/lib/include/sinew/sinew.h"
#include "common/err.h"

// One session driven by a script, as play and record need it: joins, sends what is due, follows
// events, and knows when it is over. One thread.
struct run_sent { // an input of the script on its way
    uint32_t sequence;
    const struct cJSON *item;
    bool applied;
};
struct run {
    struct sinew_client *client;
    struct script script;
    size_t next_line;
    bool joined, catalogue, finished;
    uint64_t joined_us, join_tick; // tick 0 of scripts
    uint64_t script_end_us;        // when its last line went out; 0: not yet
    char character[SINEW_NAME_MAX];
    struct run_sent *sent;
    size_t sent_count, sent_capacity;
    FILE *applied; // or NULL
    size_t applied_count;
    uint64_t progress_at_us;
    bool progress; // a line on the terminal
    struct fault fault;
};

extern volatile sig_atomic_t run_interrupted; // Ctrl-C

// Connects and waits for the join (10 s). `script` and `applied` may be NULL. The options are
// completed: application-driven, reconnecting.
MUST_CHECK enum err run_open(struct run *r, struct sinew_options *options, const char *script,
                             const char *applied, struct fault *fault);
// One round of at most 10 ms. ERR_OK: go on. r->finished: the server has ended it, or Ctrl-C.
MUST_CHECK enum err run_step(struct run *r, struct fault *fault);
// The script has run out, its inputs are applied, and half a second has passed to see them.
bool run_script_is_done(const struct run *r);
// The own actor; false: no frame yet.
bool run_actor(struct run *r, struct sinew_actor *out);
void run_clear_progress(struct run *r);
// Says goodbye. ERR_IO when the --applied file could not be written.
MUST_CHECK enum err run_close(struct run *r, struct fault *fault);

#pragma once
#include <stddef.h>
#include <stdint.h>

#include "client/lib/include/sinew/sinew.h"
#include "common/err.h"

// A script: JSON lines that act at times after the join (the contract's Script). Read and checked
// whole before the connection is made; what a line says is sent by script_send.
struct cJSON;
struct script_line {
    double t_s;
    uint32_t number; // in the file, from 1
    struct cJSON *json;
};
struct script {
    struct script_line *lines; // by time; equal times in the file's order
    size_t count;
};
MUST_CHECK enum err script_open(const char *path, struct script *out, struct fault *fault);
void script_close(struct script *s); // safe on zero

// Does the line need the names of the CATALOGUE (face, customise)?
_Bool script_needs_catalogue(const struct script_line *line);

// Sends each input of the line; `on_sent` gets its sequence number, key and JSON.
struct script_sender {
    struct sinew_client *client;
    void (*on_sent)(void *owner, uint32_t sequence, const struct cJSON *item);
    void *owner;
};
MUST_CHECK enum err script_send(const struct script_line *line, const struct script_sender *to,
                                struct fault *fault);

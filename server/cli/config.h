#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct cJSON;

// The configuration of `sinewd serve`: a plain struct with defaults, filled from a JSON file and
// then from flags by ONE table (config.c) that also prints itself for `check-config --print`.
// Nothing is applied here. All texts are inside the struct: it can be copied.
enum {
    CONFIG_MODELS_MAX = 64,
    CONFIG_ORIGINS_MAX = 16,
    CONFIG_PATH_BYTES = 1024,
    CONFIG_FILE_BYTES_MAX = 256 * 1024
};

struct config_endpoint {
    char host[256];           // without brackets; "" means every address
    uint16_t port, port_last; // port_last > port only where a range is allowed
    bool set;
};

struct config_model {
    char name[128];
    char path[CONFIG_PATH_BYTES];
};

struct config {
    struct config_endpoint http, tls, osc, admin; // osc, admin: off unless set
    bool plain_anywhere;
    char data[CONFIG_PATH_BYTES];    // folder
    char viewer[CONFIG_PATH_BYTES];  // folder of the built viewer; "": beside the program
    char plugins[CONFIG_PATH_BYTES]; // folder of third parties' extras; "": none are run
    bool plugins_isolate;            // each in a process of its own, whatever the rig file says
    uint32_t plugins_budget_us, plugins_helper_mbytes;
    char certificate[CONFIG_PATH_BYTES], key[CONFIG_PATH_BYTES]; // "" : one is made in `data`
    struct config_model models[CONFIG_MODELS_MAX];
    size_t model_count;
    char origins[CONFIG_ORIGINS_MAX][256];
    size_t origin_count;
    char hosts[CONFIG_ORIGINS_MAX][256]; // further names for the Host check
    size_t host_count;
    uint32_t tick_hz; // 30 … 120
    uint32_t workers; // 0: as many as there are cores
    uint32_t sessions_max, sessions_per_address_max, connections_max, connections_per_address_max;
    uint32_t scenes_max, actors_max, actors_per_scene_max;
    uint32_t session_kbytes_max; // queued for one session at most
    uint32_t model_mbytes_max;   // one model file
    uint32_t drain_s;
    uint32_t handshake_threads;
    char log_level[16];
    char log_file[CONFIG_PATH_BYTES]; // "": stderr
};

// Defaults; the data folder from $XDG_DATA_HOME or $HOME.
void config_init(struct config *c);
// Reads FILE over what is there. Errors name the JSON path ("$.limits.sessions: …"). On error *c
// is untouched.
MUST_CHECK enum err config_read_file(struct config *c, const char *path, struct fault *fault);
MUST_CHECK enum err config_read_json(struct config *c, const char *text, size_t size_bytes,
                                     struct fault *fault);
// The flags of `serve`, argv without the program and sub-command: --config is read first wherever
// it stands, other flags go over it; --model adds up. ERR_USAGE: exit status 2.
MUST_CHECK enum err config_read_flags(struct config *c, int argc, char *const *argv,
                                      struct fault *fault);
// The values as a JSON file that config_read_json takes; malloc'd, the caller frees. NULL: memory.
char *config_print(const struct config *c);
// The schema: key, type, range, default, help; a line each; malloc'd.
char *config_print_schema(void);
// The usage text of `serve`, from the same table; malloc'd.
char *config_print_usage(void);

// Makes the data folder, with those above it.
MUST_CHECK enum err config_make_folder(const char *path, struct fault *fault);

// "127.0.0.1:7480", "[::1]:7443", "localhost:80", ":7480" (every address), with `range` also
// "127.0.0.1:39539-39550". Port 0 is allowed (the system chooses).
MUST_CHECK enum err config_parse_endpoint(const char *text, bool range, struct config_endpoint *out,
                                          struct fault *fault);
// "[NAME=]FILE"; the name defaults to the file's stem.
MUST_CHECK enum err config_parse_model(const char *text, struct config_model *out,
                                       struct fault *fault);

#pragma once
#include "common/err.h"
#include "server/character/surface/extras/plugin.h"

// A third party's shared library, from one folder only.
struct vendor {
    void *handle; // dlopen's
    const struct sinew_plugin *plugin;
};
// The path of `name` in `folder`: a plain file of it, with no folder in its name, which does not
// lead out of it. ERR_DENIED, ERR_NOT_FOUND.
enum { VENDOR_PATH_BYTES = 4096 };
MUST_CHECK enum err vendor_path(const char *folder, const char *name, char out[VENDOR_PATH_BYTES],
                                struct fault *fault);
// ERR_UNSUPPORTED: it is no plugin; ERR_VERSION: of another version of the interface.
MUST_CHECK enum err vendor_open(const char *path, struct vendor *out, struct fault *fault);
void vendor_close(struct vendor *l);

// describe and create, with their checks: sizes within limits, a message cut to one line.
enum { VENDOR_MEMORY_MAX_MB = 256 };
MUST_CHECK enum err vendor_describe(const struct sinew_plugin *plugin, const char *settings,
                                    const struct sinew_plugin_model *model,
                                    struct sinew_plugin_needs *needs, struct fault *fault);
MUST_CHECK enum err vendor_create(const struct sinew_plugin *plugin, const char *settings,
                                  const struct sinew_plugin_model *model, void *memory, void **self,
                                  struct fault *fault);

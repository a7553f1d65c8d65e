#include "server/plugins/vendor.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum err vendor_path(const char *folder, const char *name, char out[VENDOR_PATH_BYTES],
                     struct fault *fault)
{
    char whole[VENDOR_PATH_BYTES], real_folder[PATH_MAX], real[PATH_MAX];
    struct stat info;
    if (!folder)
        return fault_set(fault, ERR_DENIED,
                         "plugin %.100s: the server has no folder of plugins (plugins.folder)",
                         name);
    if (!*name || *name == '.' || strchr(name, '/'))
        return fault_set(fault, ERR_DENIED, "plugin %.100s: not the name of a file", name);
    int length = snprintf(whole, sizeof whole, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof whole || !realpath(folder, real_folder) ||
        !realpath(whole, real) || stat(real, &info) != 0 || !S_ISREG(info.st_mode))
        return fault_set(fault, ERR_NOT_FOUND, "plugin %.100s: there is no such file in %.200s",
                         name, folder);
    size_t inside = strlen(real_folder);
    if (strncmp(real, real_folder, inside) != 0 || real[inside] != '/' ||
        strchr(real + inside + 1, '/') || strlen(real) >= VENDOR_PATH_BYTES)
        return fault_set(fault, ERR_DENIED, "plugin %.100s: leads out of %.200s", name, folder);
    memcpy(out, real, strlen(real) + 1);
    return ERR_OK;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_complete(const struct sinew_plugin *p)
{
    return p->struct_bytes >= sizeof *p && p->name && p->version && p->describe && p->create &&
           p->step && p->destroy;
}

enum err vendor_open(const char *path, struct vendor *out, struct fault *fault)
{
    struct vendor l = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (!l.handle)
        return fault_set(fault, ERR_UNSUPPORTED, "plugin %.100s: %.250s", name_of(path), dlerror());
    // A function, which POSIX lets dlsym return.
    const struct sinew_plugin *(*entry)(void);
    void *symbol = dlsym(l.handle, "sinew_plugin_entry");
    memcpy(&entry, &symbol, sizeof entry);
    l.plugin = symbol ? entry() : NULL;
    enum err e = ERR_OK;
    if (!l.plugin)
        e = fault_set(fault, ERR_UNSUPPORTED, "plugin %.100s: it has no sinew_plugin_entry",
                      name_of(path));
    else if (l.plugin->abi != SINEW_PLUGIN_ABI)
        e = fault_set(fault, ERR_VERSION,
                      "plugin %.100s: made for version %u of the interface, this server has %u",
                      name_of(path), l.plugin->abi, SINEW_PLUGIN_ABI);
    else if (!is_complete(l.plugin))
        e = fault_set(fault, ERR_UNSUPPORTED, "plugin %.100s: a function is missing",
                      name_of(path));
    if (e != ERR_OK) {
        (void)dlclose(l.handle);
        return e;
    }
    *out = l;
    return ERR_OK;
}

void vendor_close(struct vendor *l)
{
    if (l->handle) (void)dlclose(l->handle);
    *l = (struct vendor){0};
}

// What a plugin says, made one line of printable text.
static void tidy(char *message, size_t size)
{
    message[size - 1] = 0;
    for (char *c = message; *c; c++)
        if (*c < ' ' || *c > '~') *c = ' ';
}

static enum err refuse(const struct sinew_plugin *p, char *message, size_t size, const char *what,
                       struct fault *fault)
{
    tidy(message, size);
    return fault_set(fault, ERR_UNSUPPORTED, "plugin %.60s: %s: %.200s", p->name, what,
                     *message ? message : "it does not say why");
}

enum err vendor_describe(const struct sinew_plugin *plugin, const char *settings,
                         const struct sinew_plugin_model *model, struct sinew_plugin_needs *needs,
                         struct fault *fault)
{
    char message[256] = "";
    const uint64_t most = (uint64_t)VENDOR_MEMORY_MAX_MB << 20;
    *needs = (struct sinew_plugin_needs){.struct_bytes = sizeof *needs};
    if (plugin->describe(settings, model, needs, message, sizeof message) != SINEW_PLUGIN_OK)
        return refuse(plugin, message, sizeof message, "it refuses its settings", fault);
    if (needs->memory_bytes > most || needs->scratch_bytes > most || needs->state_bytes > most)
        return fault_set(fault, ERR_LIMIT, "plugin %.60s: it wants more than %d MB", plugin->name,
                         VENDOR_MEMORY_MAX_MB);
    if (needs->state_bytes > 0 && (!plugin->save || !plugin->load))
        return fault_set(fault, ERR_UNSUPPORTED,
                         "plugin %.60s: it has a state but no save and load", plugin->name);
    return ERR_OK;
}

enum err vendor_create(const struct sinew_plugin *plugin, const char *settings,
                       const struct sinew_plugin_model *model, void *memory, void **self,
                       struct fault *fault)
{
    char message[256] = "";
    *self = NULL;
    if (plugin->create(settings, model, memory, self, message, sizeof message) != SINEW_PLUGIN_OK)
        return refuse(plugin, message, sizeof message, "it cannot begin", fault);
    return ERR_OK;
}

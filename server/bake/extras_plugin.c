#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "server/bake/extras.h"
#include "server/bake/rig.h"

// A third party's deformation: where it works, and what it is told. The library itself is looked
// for when a character is loaded, in the server's own folder of plugins only.

enum { SETTINGS_MAX = 65536 };

// A file of that folder and nothing else.
static bool is_plain_name(const char *name)
{
    return *name != '.' && strlen(name) < 128 && !strpbrk(name, "/\\");
}

enum err extras_read_plugin(struct extras_reader *r, const cJSON *json,
                            struct model_extra_block *blocks)
{
    struct model *m = &r->b->model;
    const cJSON *library = rig_get(json, "library"), *settings = rig_get(json, "settings");
    char *text = settings ? cJSON_PrintUnformatted(settings) : NULL;
    struct model_plugin p = {.library = builder_text(r->b, library->valuestring),
                             .settings = builder_text(r->b, settings ? text : "{}"),
                             .isolate = cJSON_IsTrue(rig_get(json, "isolate")) ? 1 : 0,
                             .budget_us = (uint32_t)(1000 * extras_number(json, "budget_ms", 0))};
    bool fits = !settings || (text && strlen(text) < SETTINGS_MAX);
    enum err e = ERR_OK;
    cJSON_free(text);
    if (!fits) return extras_bad(r, "settings", "more than 64 kB as text");
    if (!is_plain_name(library->valuestring))
        return extras_bad(r, "library", "must be the name of a file, without a folder");
    if (rig_get(json, "radius_m") && !rig_get(json, "joint"))
        return extras_bad(r, "radius_m", "is around `joint`, which is missing");
    if (rig_get(json, "joint")) e = extras_node(r, json, "joint", &r->extra->node);
    if (e == ERR_OK && extras_region_listed(json))
        e = extras_region_read(r, json);
    else if (rig_get(json, "joint"))
        extras_region_round(r, r->nodes[r->extra->node].col[3],
                            extras_length(r, json, "radius_m", 0.2));
    else
        for (size_t v = 0; v < model_vertex_count(m); v++)
            r->share[v] = 1;
    if (e != ERR_OK) return e;
    r->extra->item = (uint32_t)m->plugins_count;
    r->plugins[m->plugins_count++] = p;
    return extras_region_write(r, blocks);
}

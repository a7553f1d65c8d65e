#include <math.h>

#include "proto/appearance_message.h"
#include "server/stage/role_own.h"

// The roots' tables (method C), for who wants to see them on the surface: files beside the
// textures, a byte a vertex.
enum err role_build_tables(struct role_build *b)
{
    const struct model *m = b->role->model;
    size_t vertices = model_vertex_count(m);
    if (m->root_weights_count == 0 || vertices > APPEARANCE_TEXTURE_BYTES_MAX) return ERR_OK;
    for (size_t r = 0; r < m->roots_count; r++) {
        uint8_t *bytes = ROLE_KEEP(b, uint8_t, vertices);
        if (!bytes) return role_no_memory(b);
        for (size_t v = 0; v < vertices; v++)
            bytes[v] = (uint8_t)lroundf(255 * m->root_weights[r * vertices + v]);
        b->tables[r] = role_texture_add(b, APPEARANCE_SHARES, bytes, vertices);
    }
    return ERR_OK;
}

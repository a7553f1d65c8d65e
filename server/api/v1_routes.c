#include "server/api/api_internal.h"
#include "server/api/v1.h"

// The modellers' rows. `scope` decides; a {model} that the token is not granted is 403 too.
enum {
    HERE = HTTP_ON_PUBLIC | HTTP_ON_LOOPBACK,
    INLINE_BYTES = 1 << 20,
    PIECE_BYTES = 8 << 20,
    MODEL_BYTES = 64 << 20,
    JSON_BYTES = 256 << 10
};

#define ROW(m, path, who, bytes, handler)                                                          \
    {                                                                                              \
        .method = HTTP_METHOD_##m, .pattern = "/v1/" path, .listeners = HERE, .scope = AUTH_##who, \
        .body_max = (bytes), .on_request = (handler)                                               \
    }

const struct http_route api_v1_routes[] = {
    ROW(GET, "models", VIEW, 0, v1_models),
    ROW(POST, "models", ADMIN, MODEL_BYTES, v1_add_model),
    ROW(GET, "models/{model}", VIEW, 0, v1_model),
    ROW(PUT, "models/{model}", ADMIN, MODEL_BYTES, v1_replace_model),
    ROW(DELETE, "models/{model}", ADMIN, 0, v1_retire_model),
    ROW(GET, "models/{model}/versions", VIEW, 0, v1_versions),
    ROW(GET, "models/{model}/versions/{n}", VIEW, 0, v1_version),
    ROW(GET, "models/{model}/versions/{n}/file", MODEL, 0, v1_version_file),
    ROW(POST, "models/{model}/versions/{n}/restore", MODEL, JSON_BYTES, v1_restore),
    ROW(GET, "models/{model}/grants", MODEL, 0, v1_grants),
    ROW(GET, "models/{model}/examples", VIEW, 0, v1_examples),
    ROW(POST, "models/{model}/examples", MODEL, JSON_BYTES, v1_new_example),
    ROW(GET, "models/{model}/examples/{item}", VIEW, 0, v1_item),
    ROW(GET, "models/{model}/examples/{item}/surface", MODEL, 0, v1_surface),
    ROW(PUT, "models/{model}/examples/{item}/surface", MODEL, INLINE_BYTES, v1_put_surface),
    ROW(PATCH, "models/{model}/examples/{item}/surface", MODEL, INLINE_BYTES, v1_patch_surface),
    ROW(PUT, "models/{model}/examples/{item}/pose", MODEL, JSON_BYTES, v1_put_pose),
    ROW(POST, "models/{model}/examples/{item}/edit", MODEL, JSON_BYTES, v1_edit),
    ROW(DELETE, "models/{model}/examples/{item}/edit", MODEL, 0, v1_release),
    ROW(POST, "models/{model}/examples/{item}/mirror", MODEL, JSON_BYTES, v1_mirror),
    ROW(POST, "models/{model}/examples/{item}/publish", MODEL, JSON_BYTES, v1_publish),
    ROW(DELETE, "models/{model}/examples/{item}", MODEL, 0, v1_remove),
    ROW(GET, "models/{model}/roots", VIEW, 0, v1_roots),
    ROW(GET, "models/{model}/roots/{root}", VIEW, 0, v1_item),
    ROW(GET, "models/{model}/roots/{root}/weights", MODEL, 0, v1_surface),
    ROW(PUT, "models/{model}/roots/{root}/weights", MODEL, INLINE_BYTES, v1_put_surface),
    ROW(POST, "models/{model}/roots/{root}/edit", MODEL, JSON_BYTES, v1_edit),
    ROW(DELETE, "models/{model}/roots/{root}/edit", MODEL, 0, v1_release),
    ROW(POST, "models/{model}/roots/{root}/publish", MODEL, JSON_BYTES, v1_publish),
    ROW(GET, "models/{model}/corrections", VIEW, 0, v1_corrections),
    ROW(GET, "models/{model}/corrections/{correction}", VIEW, 0, v1_item),
    ROW(GET, "models/{model}/corrections/{correction}/surface", MODEL, 0, v1_surface),
    ROW(PUT, "models/{model}/corrections/{correction}/surface", MODEL, INLINE_BYTES,
        v1_put_surface),
    ROW(PATCH, "models/{model}/corrections/{correction}/surface", MODEL, INLINE_BYTES,
        v1_patch_surface),
    ROW(POST, "models/{model}/corrections/{correction}/edit", MODEL, JSON_BYTES, v1_edit),
    ROW(DELETE, "models/{model}/corrections/{correction}/edit", MODEL, 0, v1_release),
    ROW(POST, "models/{model}/corrections/{correction}/publish", MODEL, JSON_BYTES, v1_publish),
    ROW(GET, "models/{model}/base", VIEW, 0, v1_item),
    ROW(GET, "models/{model}/base/surface", MODEL, 0, v1_surface),
    ROW(PUT, "models/{model}/base/surface", MODEL, INLINE_BYTES, v1_put_surface),
    ROW(PATCH, "models/{model}/base/surface", MODEL, INLINE_BYTES, v1_patch_surface),
    ROW(POST, "models/{model}/base/edit", MODEL, JSON_BYTES, v1_edit),
    ROW(DELETE, "models/{model}/base/edit", MODEL, 0, v1_release),
    ROW(POST, "models/{model}/base/publish", MODEL, JSON_BYTES, v1_publish),
    ROW(POST, "uploads", MODEL, 0, v1_upload_create),
    // HEAD is answered by the GET row.
    ROW(GET, "uploads/{id}", MODEL, 0, v1_upload_head),
    ROW(PATCH, "uploads/{id}", MODEL, PIECE_BYTES, v1_upload_append),
    ROW(DELETE, "uploads/{id}", MODEL, 0, v1_upload_delete),
    ROW(GET, "audit", ADMIN, 0, v1_audit),
    ROW(POST, "sessions/{session}/osc", VIEW, JSON_BYTES, v1_osc_open),
    ROW(GET, "sessions/{session}/osc", VIEW, 0, v1_osc_state),
    ROW(DELETE, "sessions/{session}/osc", VIEW, 0, v1_osc_close),
    ROW(POST, "sessions/{session}/calibrate", VIEW, JSON_BYTES, v1_calibrate),
};
const size_t api_v1_route_count = sizeof api_v1_routes / sizeof api_v1_routes[0];

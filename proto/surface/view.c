#include <string.h>

#include "common/check.h"
#include "proto/surface/codec.h"

static void write_positions(const struct surface_view *view, const struct surface_row *rows,
                            size_t vertex_count, const struct surface_grid *grid)
{
    uint8_t *to = view->positions;
    if (view->position_format == SURFACE_UINT16_4) {
        for (size_t i = 0; i < vertex_count; i++, to += view->position_stride_bytes) {
            uint16_t p[4] = {rows[i].position[0], rows[i].position[1], rows[i].position[2], 0};
            memcpy(to, p, sizeof p);
        }
        return;
    }
    CHECK(view->position_format == SURFACE_FLOAT3);
    for (size_t i = 0; i < vertex_count; i++, to += view->position_stride_bytes) {
        float p[3];
        for (int k = 0; k < 3; k++) { // two roundings, never a fused one: the twin does the same
            float scaled = grid->step * (float)rows[i].position[k];
            p[k] = grid->origin[k] + scaled;
        }
        memcpy(to, p, sizeof p);
    }
}

static void write_normals(const struct surface_view *view, const struct surface_row *rows,
                          size_t vertex_count, const struct surface_normals *normals)
{
    uint8_t *to = view->normals;
    for (size_t i = 0; i < vertex_count; i++, to += view->normal_stride_bytes) {
        int16_t n[4] = {0};
        surface_normals_get(normals, rows[i].normal[0], rows[i].normal[1], n);
        if (view->normal_format == SURFACE_INT16_4) {
            memcpy(to, n, sizeof n);
        } else {
            float f[3] = {(float)n[0] / 32767.0f, (float)n[1] / 32767.0f, (float)n[2] / 32767.0f};
            memcpy(to, f, sizeof f);
        }
    }
}

static void write_pairs(const struct surface_view *view, const struct surface_row *rows,
                        size_t vertex_count)
{
    uint8_t *to = view->normals;
    for (size_t i = 0; i < vertex_count; i++, to += view->normal_stride_bytes) {
        to[0] = (uint8_t)rows[i].normal[0];
        to[1] = (uint8_t)rows[i].normal[1];
    }
}

void surface_view_write(const struct surface_view *view, const struct surface_row *rows,
                        size_t vertex_count, const struct surface_grid *grid,
                        const struct surface_normals *normals)
{
    if (view->position_format != SURFACE_NOTHING) write_positions(view, rows, vertex_count, grid);
    if (view->normal_format == SURFACE_INT8_2) {
        write_pairs(view, rows, vertex_count);
    } else if (view->normal_format != SURFACE_NOTHING) {
        CHECK(view->normal_format == SURFACE_FLOAT3 || view->normal_format == SURFACE_INT16_4);
        write_normals(view, rows, vertex_count, normals);
    }
}

void surface_view_write_raw(const struct surface_view *view, const uint8_t *payload,
                            size_t vertex_count)
{
    CHECK(view->position_format == SURFACE_FLOAT3 || view->position_format == SURFACE_NOTHING);
    CHECK(view->normal_format == SURFACE_FLOAT3 || view->normal_format == SURFACE_NOTHING);
    uint8_t *position = view->positions, *normal = view->normals;
    for (size_t i = 0; i < vertex_count; i++, payload += SURFACE_RAW_VERTEX_BYTES) {
        if (view->position_format == SURFACE_FLOAT3)
            memcpy(position + i * view->position_stride_bytes, payload, 12);
        if (view->normal_format == SURFACE_FLOAT3)
            memcpy(normal + i * view->normal_stride_bytes, payload + 12, 12);
    }
}

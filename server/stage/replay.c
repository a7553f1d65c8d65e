#include "server/stage/replay.h"

#include <math.h>
#include <stdlib.h>

#include "common/check.h"

uint64_t replay_tick_at(double time_s, uint32_t hz)
{
    return time_s > 0 ? (uint64_t)floor((time_s + 1e-6) * hz) : 0;
}

enum err replay_run(struct body *body, const struct script *script, uint32_t hz, uint64_t last_tick,
                    struct fault *fault)
{
    struct input_desk *desk = malloc(sizeof *desk);
    if (!desk) return fault_set(fault, ERR_MEMORY, "no memory for the script");
    enum err e = ERR_OK;
    bool changed = false;
    size_t next = 0;
    for (uint64_t tick = 0; e == ERR_OK && tick <= last_tick; tick++) {
        while (e == ERR_OK && next < script->line_count && script->lines[next].tick <= tick)
            e = script_apply(&script->lines[next++], desk, body, fault);
        if (e != ERR_OK) break;
        body_before_tick(body);
        changed = body_pose(body, (double)tick / (double)hz) || changed;
        if (changed && body_has_plugins(body)) body_run(body);
        changed = changed && !body_has_plugins(body);
    }
    if (e == ERR_OK && changed) body_run(body);
    free(desk);
    return e;
}

void replay_world(const struct body *body, float *positions, float *normals)
{
    const struct model *m = body->options.model;
    float translation[3], rotation[4], scale;
    body_placement(body, translation, rotation, &scale);
    struct trs placed = {.translation = {translation[0], translation[1], translation[2]},
                         .rotation = {rotation[0], rotation[1], rotation[2], rotation[3]},
                         .scale = {scale, scale, scale}};
    struct trs turned = placed;
    turned.translation = (struct vec3){0, 0, 0};
    turned.scale = (struct vec3){1, 1, 1};
    struct xform scene_from_model = xform_from_trs(&placed), turn = xform_from_trs(&turned);
    surface_gather(m, body->blocks, positions, normals);
    // A character that has not moved keeps its bits.
    if (translation[0] == 0 && translation[1] == 0 && translation[2] == 0 && rotation[1] == 0 &&
        scale == 1)
        return;
    for (size_t v = 0; v < model_vertex_count(m); v++) {
        float *arrays[2] = {positions + 3 * v, normals + 3 * v};
        const struct xform *by[2] = {&scene_from_model, &turn};
        for (int k = 0; k < 2; k++) {
            double in[3] = {(double)arrays[k][0], (double)arrays[k][1], (double)arrays[k][2]};
            double out[3];
            xform_point(by[k], in, out);
            for (int r = 0; r < 3; r++)
                arrays[k][r] = (float)out[r];
        }
    }
}

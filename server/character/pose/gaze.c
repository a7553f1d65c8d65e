#include "server/character/pose/gaze.h"

#include <math.h>

#include "server/character/pose/rotation.h"
#include "server/character/pose/skeleton.h"

enum map { INNER, OUTER, DOWN, UP };
enum look { LOOK_UP, LOOK_DOWN, LOOK_LEFT, LOOK_RIGHT };

static double mapped(const struct model_look_at *l, enum map map, double value)
{
    double most = (double)l->map[map][0];
    double share = most > 0 ? fmin(fabs(value), most) / most : 0;
    return share * (double)l->map[map][1];
}

void gaze_expressions(const struct model *m, double yaw, double pitch, float *values)
{
    const struct model_look_at *l = m->look_at;
    double of[4] = {0};
    of[yaw > 0 ? LOOK_LEFT : LOOK_RIGHT] = mapped(l, OUTER, yaw);
    of[pitch > 0 ? LOOK_DOWN : LOOK_UP] = mapped(l, pitch > 0 ? DOWN : UP, pitch);
    for (int i = 0; i < 4; i++)
        if (l->expressions[i] != MODEL_NONE) values[l->expressions[i]] = (float)of[i];
}

// About +Y, then about +X of what has been turned: both in the model's own axes.
static void euler(double yaw_degrees, double pitch_degrees, double out[4])
{
    // One radian: sin 0.5 and cos 0.5.
    static const struct quat about_y = {0, 0.4794255386F, 0, 0.8775825619F};
    static const struct quat about_x = {0.4794255386F, 0, 0, 0.8775825619F};
    static const double radians = 3.14159265358979323846 / 180;
    double pitch[4];
    rotation_power(&about_y, yaw_degrees * radians, out);
    rotation_power(&about_x, pitch_degrees * radians, pitch);
    rotation_mul(out, pitch, out);
}

// The rest rotation of a node's parent, in the model.
static void rest_of_parent(const struct model *m, uint32_t node, double out[4])
{
    static const double none[4] = {0, 0, 0, 1};
    for (int i = 0; i < 4; i++)
        out[i] = none[i];
    for (int32_t at = m->nodes[node].parent; at != MODEL_NONE; at = m->nodes[at].parent) {
        double up[4];
        rotation_load(m->nodes[at].rest.rotation, up);
        rotation_mul(up, out, out);
    }
}

static void turn_eye(const struct model *m, int32_t node, double yaw, double pitch,
                     struct trs *locals)
{
    enum { VRM_ZERO = 1 }; // which looks along -Z
    double parent[4], back[4], turn[4], local[4];
    if (node == MODEL_NONE) return;
    rest_of_parent(m, (uint32_t)node, parent);
    for (int i = 0; i < 4; i++)
        back[i] = i < 3 ? -parent[i] : parent[i];
    euler(yaw, m->info->vrm_version == VRM_ZERO ? -pitch : pitch, turn);
    rotation_load(locals[node].rotation, local);
    rotation_mul(turn, parent, turn);
    rotation_mul(back, turn, turn);
    rotation_mul(turn, local, local);
    locals[node].rotation = rotation_round(local);
}

void gaze_bones(const struct model *m, double yaw, double pitch, double factor, struct trs *locals)
{
    const struct model_look_at *l = m->look_at;
    double side = yaw > 0 ? factor : -factor;
    double down = (pitch > 0 ? factor : -factor) * mapped(l, pitch > 0 ? DOWN : UP, pitch);
    turn_eye(m, l->left_eye, side * mapped(l, yaw > 0 ? OUTER : INNER, yaw), down, locals);
    turn_eye(m, l->right_eye, side * mapped(l, yaw > 0 ? INNER : OUTER, yaw), down, locals);
}

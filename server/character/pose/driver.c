#include "server/character/pose/driver.h"

#include <math.h>
#include <string.h>

#include "common/check.h"
#include "common/stable_math.h"

struct driver_sample driver_read(const struct trs *local)
{
    double q[4] = {(double)local->rotation.x, (double)local->rotation.y, (double)local->rotation.z,
                   (double)local->rotation.w};
    double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    struct driver_sample s = {.rotation = {0, 0, 0, 1},
                              .translation = {(double)local->translation.x,
                                              (double)local->translation.y,
                                              (double)local->translation.z}};
    for (int i = 0; n > 0 && i < 4; i++)
        s.rotation[i] = q[i] / n;
    return s;
}

static double dot3(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double dot4(const double a[4], const double b[4])
{
    return dot3(a, b) + a[3] * b[3];
}

// The axis turned by the rotation.
static void turned_axis(const double q[4], const double axis[3], double out[3])
{
    double t[3] = {2 * (q[1] * axis[2] - q[2] * axis[1]), 2 * (q[2] * axis[0] - q[0] * axis[2]),
                   2 * (q[0] * axis[1] - q[1] * axis[0])};
    out[0] = axis[0] + q[3] * t[0] + q[1] * t[2] - q[2] * t[1];
    out[1] = axis[1] + q[3] * t[1] + q[2] * t[0] - q[0] * t[2];
    out[2] = axis[2] + q[3] * t[2] + q[0] * t[1] - q[1] * t[0];
}

// The twist's direction in the plane of (q.axis, w); shorter than 1 only near a 180 degree swing,
// where the twist is not defined and fades out.
static void twist_vector(const double q[4], const double axis[3], double out[2])
{
    double along = dot3(q, axis), w = q[3];
    double length = sqrt(along * along + w * w);
    if (length < 0.1) length = 0.1;
    out[0] = along / length;
    out[1] = w / length;
}

static double chord2(const double a[3], const double b[3])
{
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return dot3(d, d);
}

// 1 - (q.p)^2 without cancellation near equal rotations: the vector part of q^-1 p.
static double turn2(const double q[4], const double p[4])
{
    double v[3] = {q[3] * p[0] - p[3] * q[0] - (q[1] * p[2] - q[2] * p[1]),
                   q[3] * p[1] - p[3] * q[1] - (q[2] * p[0] - q[0] * p[2]),
                   q[3] * p[2] - p[3] * q[2] - (q[0] * p[1] - q[1] * p[0])};
    return dot3(v, v);
}

// Squared embedding distances of the method's default kernel.
static double embedding(const struct model_driver_joint *j, const struct driver_sample *a,
                        const struct driver_sample *b)
{
    double x[3], y[3], f[2], g[2];
    double slide = j->per_unit * j->per_unit * chord2(a->translation, b->translation);
    switch ((enum model_read)j->read) {
    case MODEL_READ_ROTATION:
        return turn2(a->rotation, b->rotation);
    case MODEL_READ_SWING:
        turned_axis(a->rotation, j->axis, x);
        turned_axis(b->rotation, j->axis, y);
        return chord2(x, y) / 4;
    case MODEL_READ_TWIST: {
        twist_vector(a->rotation, j->axis, f);
        twist_vector(b->rotation, j->axis, g);
        // |ff' - gg'|^2 = (f.f - g.g)^2 + 2 (f x g)^2: nothing cancels near equal twists.
        double longer = f[0] * f[0] + f[1] * f[1] - (g[0] * g[0] + g[1] * g[1]);
        double across = f[0] * g[1] - f[1] * g[0];
        return longer * longer / 2 + across * across;
    }
    case MODEL_READ_TRANSLATION:
        return slide;
    default:
        return turn2(a->rotation, b->rotation) + slide;
    }
}

// Squared r_joint: the angle between the two rotations, swings or twists, or a scaled distance.
static double angle2(const struct model_driver_joint *j, const struct driver_sample *a,
                     const struct driver_sample *b)
{
    double x[3], y[3], f[2], g[2], angle = 0;
    double slide = j->per_unit * j->per_unit * chord2(a->translation, b->translation);
    switch ((enum model_read)j->read) {
    case MODEL_READ_SWING: {
        turned_axis(a->rotation, j->axis, x);
        turned_axis(b->rotation, j->axis, y);
        double sum[3] = {x[0] + y[0], x[1] + y[1], x[2] + y[2]};
        angle = 2 * stable_atan2(sqrt(chord2(x, y)), sqrt(dot3(sum, sum)));
        return angle * angle;
    }
    case MODEL_READ_TWIST:
        twist_vector(a->rotation, j->axis, f);
        twist_vector(b->rotation, j->axis, g);
        angle = 2 * stable_atan2(fabs(f[0] * g[1] - f[1] * g[0]), fabs(f[0] * g[0] + f[1] * g[1]));
        return angle * angle;
    case MODEL_READ_TRANSLATION:
        return slide;
    default:
        angle = 2 * stable_atan2(sqrt(turn2(a->rotation, b->rotation)),
                                 fabs(dot4(a->rotation, b->rotation)));
        return angle * angle + (j->read == MODEL_READ_TRANSFORM ? slide : 0);
    }
}

double driver_distance(const struct model_driver_joint *joint, enum model_kernel kernel,
                       const struct driver_sample *a, const struct driver_sample *b)
{
    return kernel == MODEL_KERNEL_ROTATION ? embedding(joint, a, b) : angle2(joint, a, b);
}

double driver_kernel(enum model_kernel kernel, double sum, double radius)
{
    double rr = sum / (radius * radius);
    switch (kernel) {
    case MODEL_KERNEL_LINEAR:
        return sqrt(rr);
    case MODEL_KERNEL_THIN_PLATE:
        return rr > 0 ? rr * stable_log(rr) / 2 : 0;
    case MODEL_KERNEL_MULTIQUADRIC:
        return sqrt(1 + rr);
    case MODEL_KERNEL_INVERSE_MULTIQUADRIC:
        return 1 / sqrt(1 + rr);
    default: // ROTATION and GAUSSIAN
        return stable_exp(-rr);
    }
}

size_t driver_weight_count(const struct model *m)
{
    size_t count = 0;
    for (size_t i = 0; i < m->solves_count; i++)
        count += m->solves[i].center_count;
    return count;
}

static bool pose_is_finite(const struct model *m, const struct trs *locals)
{
    float sum = 0; // not finite as soon as one term is not
    for (size_t i = 0; i < m->driver_joints_count; i++) {
        const struct trs *t = &locals[m->driver_joints[i].node];
        sum += (t->rotation.x + t->rotation.y + t->rotation.z + t->rotation.w + t->translation.x +
                t->translation.y + t->translation.z) *
               0.0f;
    }
    return sum == 0;
}

static void choose_weights(enum model_weights mode, double *w, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (mode == MODEL_WEIGHTS_CLAMP) w[i] = fmin(fmax(w[i], 0), 1);
        sum += w[i];
    }
    for (size_t i = 0; mode == MODEL_WEIGHTS_NORMALISE && i < count; i++)
        w[i] /= fmax(sum, 1);
}

// w += k * row of W, center after center: the kernel values need no memory of their own.
static void solve_weights(const struct model *m, const struct model_solve *s,
                          const struct trs *locals, double *w)
{
    const struct model_driver *d = &m->drivers[s->driver];
    const double *center = m->driver_centers + s->center_first;
    const double *row = m->driver_matrix + s->matrix_first;
    struct driver_sample now[MODEL_DRIVER_JOINTS_MAX], then;
    for (uint32_t j = 0; j < s->joint_count; j++)
        now[j] = driver_read(&locals[m->driver_joints[s->joint_first + j].node]);
    memset(w, 0, s->center_count * sizeof *w);
    for (uint32_t c = 0; c < s->center_count; c++, row += s->center_count) {
        double sum = 0;
        for (uint32_t j = 0; j < s->joint_count; j++, center += MODEL_CENTER_DOUBLES) {
            const struct model_driver_joint *joint = &m->driver_joints[s->joint_first + j];
            memcpy(then.rotation, center, sizeof then.rotation);
            memcpy(then.translation, center + 4, sizeof then.translation);
            sum += joint->weight *
                   driver_distance(joint, (enum model_kernel)d->kernel, &now[j], &then);
        }
        double k = driver_kernel((enum model_kernel)d->kernel, sum, s->radius);
        for (uint32_t i = 0; i < s->center_count; i++)
            w[i] += k * row[i];
    }
    choose_weights((enum model_weights)d->weights, w, s->center_count);
}

bool driver_weights(const struct model *m, const struct trs *locals, double *out)
{
    if (!pose_is_finite(m, locals)) return false;
    for (size_t i = 0; i < m->solves_count; i++)
        solve_weights(m, &m->solves[i], locals, out + m->solves[i].weight_first);
    return true;
}

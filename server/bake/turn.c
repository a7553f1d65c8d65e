#include "server/bake/turn.h"

#include <math.h>

static struct turn normalised(struct turn t)
{
    double n = sqrt(t.x * t.x + t.y * t.y + t.z * t.z + t.w * t.w);
    if (!(n > 0) || !isfinite(n)) return turn_none();
    return (struct turn){t.x / n, t.y / n, t.z / n, t.w / n};
}

struct turn turn_from_quat(struct quat q)
{
    return normalised((struct turn){(double)q.x, (double)q.y, (double)q.z, (double)q.w});
}

struct quat quat_from_turn(struct turn t)
{
    t = normalised(t);
    return (struct quat){(float)t.x, (float)t.y, (float)t.z, (float)t.w};
}

struct turn turn_mul(struct turn a, struct turn b)
{
    return (struct turn){
        a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
        a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
        a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
    };
}

struct turn turn_inverse(struct turn t)
{
    return (struct turn){-t.x, -t.y, -t.z, t.w};
}

struct turn turn_slerp(struct turn a, struct turn b, double s)
{
    double dot = a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    double sign = dot < 0 ? -1 : 1;
    dot = fmin(fabs(dot), 1);
    double angle = acos(dot), wa = 1 - s, wb = s;
    if (angle > 1e-6) {
        wa = sin((1 - s) * angle) / sin(angle);
        wb = sin(s * angle) / sin(angle);
    }
    wb *= sign;
    return normalised((struct turn){wa * a.x + wb * b.x, wa * a.y + wb * b.y, wa * a.z + wb * b.z,
                                    wa * a.w + wb * b.w});
}

struct turn turn_from_axes(const struct xform *basis)
{
    struct trs rest;
    (void)xform_to_trs(basis, &rest);
    return turn_from_quat(rest.rotation);
}

void turn_point(struct turn t, const double in[3], double out[3])
{
    struct turn v = {in[0], in[1], in[2], 0};
    struct turn r = turn_mul(turn_mul(t, v), turn_inverse(t));
    out[0] = r.x;
    out[1] = r.y;
    out[2] = r.z;
}

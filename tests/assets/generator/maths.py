"""Small vector, quaternion, distance-field and mesh tools shared by the generator."""
import numpy as np


# ---- vectors and quaternions (x, y, z, w) ----------------------------------

def vec(*a):
    return np.array(a, dtype=np.float64)


def unit(v):
    v = np.asarray(v, dtype=np.float64)
    return v / np.maximum(np.sqrt((v * v).sum(-1, keepdims=True)), 1e-12)


def length(v):
    return np.sqrt((np.asarray(v) ** 2).sum(-1))


def smooth(t):
    """Smoothstep of t clamped to [0, 1]."""
    t = np.clip(t, 0.0, 1.0)
    return t * t * (3 - 2 * t)


def ramp(x, lo, hi):
    """0 below lo, 1 above hi, smooth between; lo may be above hi."""
    return smooth((np.asarray(x, dtype=np.float64) - lo) / (hi - lo))


def bump(d, r):
    """Compact smooth bell: 1 at d = 0, 0 from d = r on."""
    t = np.clip(1 - (np.asarray(d) / r) ** 2, 0, 1)
    return t * t


def quat(axis, deg):
    a = np.radians(deg) * 0.5
    x, y, z = unit(axis)
    s = np.sin(a)
    return np.array([x * s, y * s, z * s, np.cos(a)])


def qmul(a, b):
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return np.array([aw * bx + ax * bw + ay * bz - az * by,
                     aw * by - ax * bz + ay * bw + az * bx,
                     aw * bz + ax * by - ay * bx + az * bw,
                     aw * bw - ax * bx - ay * by - az * bz])


def qinv(q):
    return np.array([-q[0], -q[1], -q[2], q[3]])


def qrot(q, v):
    u, w = q[:3], q[3]
    v = np.asarray(v, dtype=np.float64)
    t = 2 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


def euler(x=0.0, y=0.0, z=0.0):
    """Degrees; turns about z first, then x, then y (yaw last)."""
    return qmul(quat((0, 1, 0), y), qmul(quat((1, 0, 0), x), quat((0, 0, 1), z)))


def qmat(q):
    x, y, z, w = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                     [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                     [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def between(a, b):
    """The shortest turn from direction a to direction b."""
    a, b = unit(a), unit(b)
    q = np.append(np.cross(a, b), 1 + (a * b).sum())
    return unit(q)


def qfrom(m):
    """Quaternion of a rotation matrix."""
    m = np.asarray(m)
    t = np.trace(m)
    if t > 0:
        s = np.sqrt(t + 1) * 2
        return unit([(m[2, 1] - m[1, 2]) / s, (m[0, 2] - m[2, 0]) / s, (m[1, 0] - m[0, 1]) / s, s / 4])
    i = int(np.argmax(np.diag(m)))
    j, k = (i + 1) % 3, (i + 2) % 3
    s = np.sqrt(max(1 + m[i, i] - m[j, j] - m[k, k], 1e-12)) * 2
    q = np.zeros(4)
    q[i], q[j], q[k] = s / 4, (m[j, i] + m[i, j]) / s, (m[k, i] + m[i, k]) / s
    q[3] = (m[k, j] - m[j, k]) / s
    return unit(q)


def slerp(a, b, t):
    d = (a * b).sum()
    if d < 0:
        b, d = -b, -d
    if d > 0.9995:
        return unit(a + (b - a) * t)
    w = np.arccos(d)
    return (np.sin((1 - t) * w) * a + np.sin(t * w) * b) / np.sin(w)


def spline(points, t):
    """Catmull-Rom through points (n, k) at t in [0, 1]."""
    p = np.asarray(points, dtype=np.float64)
    n = len(p)
    t = np.clip(np.asarray(t, dtype=np.float64), 0, 1) * (n - 1)
    i = np.minimum(t.astype(int), n - 2)
    f = (t - i)[..., None]
    at = lambda k: p[np.clip(k, 0, n - 1)]
    p0, p1, p2, p3 = at(i - 1), at(i), at(i + 1), at(i + 2)
    return 0.5 * (2 * p1 + (p2 - p0) * f + (2 * p0 - 5 * p1 + 4 * p2 - p3) * f ** 2 + (3 * p1 - p0 - 3 * p2 + p3) * f ** 3)


# ---- distance fields ---------------------------------------------------------

def cone(p, a, b, ra, rb, squash=None):
    """Capsule from a to b with a radius that changes from ra to rb."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    d = b - a
    t = np.clip(((p - a) * d).sum(-1) / (d * d).sum(), 0, 1)
    r = p - a - t[..., None] * d
    if squash is not None:
        r = r / np.asarray(squash)
    return length(r) - (ra + (rb - ra) * t)


def ellipsoid(p, c, r):
    q, r = p - np.asarray(c, float), np.asarray(r, float)
    k0, k1 = length(q / r), length(q / (r * r))
    return k0 * (k0 - 1) / np.maximum(k1, 1e-9)


def ball(p, c, r):
    return length(p - np.asarray(c, float)) - r


def join(a, b, k):
    """Union with a soft seam of width k."""
    h = np.clip(0.5 + 0.5 * (b - a) / k, 0, 1)
    return b + (a - b) * h - k * h * (1 - h)


def cut(a, b, k):
    """Intersection with a soft edge of width k."""
    return -join(-a, -b, k)


def gradient(f, p, e=1e-4):
    g = np.empty_like(p)
    for i in range(3):
        d = np.zeros(3)
        d[i] = e
        g[..., i] = f(p + d) - f(p - d)
    return g / (2 * e)


def project(f, p, rounds=6, damp=1.0):
    """Move points onto the zero set of f along its gradient."""
    p = p.copy()
    for _ in range(rounds):
        g = gradient(f, p)
        p -= damp * (f(p) / np.maximum((g * g).sum(-1), 0.05))[..., None] * g
    return p


def shoot(f, origin, direction, far=0.5, rounds=40):
    """First zero of f from inside along rays, by bisection from the outside in."""
    lo = np.zeros(len(origin))
    hi = np.full(len(origin), far)
    steps = np.linspace(0, far, 120)
    inside = np.ones(len(origin), bool)
    for a, b in zip(steps[:-1], steps[1:]):
        out = f(origin + b * direction) > 0
        hit = inside & out
        lo[hit], hi[hit] = a, b
        inside &= ~out
    for _ in range(rounds):
        m = 0.5 * (lo + hi)
        out = f(origin + m[:, None] * direction) > 0
        hi = np.where(out, m, hi)
        lo = np.where(out, lo, m)
    return origin + (0.5 * (lo + hi))[:, None] * direction


def reach(f, origin, direction, far=0.4, steps=400):
    """The farthest distance along each ray that is still inside f (0 where none is)."""
    t = np.linspace(0, far, steps)
    p = origin[:, None] + t[None, :, None] * direction[:, None]
    inside = f(p.reshape(-1, 3)).reshape(len(origin), steps) < 0
    return np.where(inside, t[None], 0).max(1)


# ---- meshes -------------------------------------------------------------------

class Mesh:
    """Quads (a triangle repeats its last corner), with a name per face and per vertex."""

    def __init__(self):
        self.v, self.f, self.tag = [], [], []

    def add(self, p):
        self.v.append(np.asarray(p, float))
        return len(self.v) - 1

    def ring(self, pts):
        return [self.add(p) for p in pts]

    def quad(self, a, b, c, d, tag):
        self.f.append((a, b, c, d))
        self.tag.append(tag)

    def bridge(self, r0, r1, tag, closed=True):
        n = len(r0)
        for i in range(n if closed else n - 1):
            j = (i + 1) % n
            self.quad(r0[i], r0[j], r1[j], r1[i], tag)

    def cap(self, r, centre, tag):
        """Fill an even ring with quads around one new vertex."""
        c = self.add(centre)
        n = len(r)
        for i in range(0, n, 2):
            self.quad(r[i], r[(i + 1) % n], r[(i + 2) % n], c, tag)
        return c


def subdivide(v, f, tag):
    """One Catmull-Clark step; face tags are inherited."""
    v, f = np.asarray(v, float), np.asarray(f, int)
    nv, nf = len(v), len(f)
    fp = v[f].mean(1)
    e = np.stack([f, np.roll(f, -1, 1)], -1).reshape(-1, 2)
    key = np.sort(e, 1)
    edges, inv, cnt = np.unique(key, axis=0, return_inverse=True, return_counts=True)
    inv = inv.reshape(-1)
    ne = len(edges)
    mid = v[edges].mean(1)
    fsum = np.zeros((ne, 3))
    np.add.at(fsum, inv, np.repeat(fp, 4, 0))
    border = cnt == 1
    ep = np.where(border[:, None], mid, (2 * mid + fsum) / 4)
    val, fav, eav = np.zeros(nv), np.zeros((nv, 3)), np.zeros((nv, 3))
    np.add.at(fav, f.reshape(-1), np.repeat(fp, 4, 0))
    np.add.at(val, f.reshape(-1), 1)
    deg = np.zeros(nv)
    for k in (0, 1):
        np.add.at(eav, edges[:, k], mid)
        np.add.at(deg, edges[:, k], 1)
    n = np.maximum(val, 1)[:, None]
    vp = (fav / n + 2 * eav / np.maximum(deg, 1)[:, None] + (n - 3) * v) / n
    bs, bc = np.zeros((nv, 3)), np.zeros(nv)
    for k in (0, 1):
        np.add.at(bs, edges[border][:, k], v[edges[border][:, 1 - k]])
        np.add.at(bc, edges[border][:, k], 1)
    vp = np.where((bc > 0)[:, None], 0.75 * v + 0.25 * bs / np.maximum(bc, 1)[:, None], vp)
    out = np.concatenate([vp, ep, fp])
    ei = inv.reshape(nf, 4) + nv
    fi = np.arange(nf) + nv + ne
    quads = []
    for k in range(4):
        quads.append(np.stack([f[:, k], ei[:, k], fi, ei[:, k - 1]], 1))
    quads = np.stack(quads, 1).reshape(-1, 4)
    return out, quads, [t for t in tag for _ in range(4)]


def neighbours(n, f):
    """Sparse averaging over mesh edges, as (rows, cols, 1 / degree)."""
    f = np.asarray(f)
    e = np.stack([f, np.roll(f, -1, 1)], -1).reshape(-1, 2)
    e = e[e[:, 0] != e[:, 1]]
    e = np.unique(np.concatenate([e, e[:, ::-1]]), axis=0)
    deg = np.bincount(e[:, 0], minlength=n)
    return e[:, 0], e[:, 1], 1.0 / np.maximum(deg, 1)


def average(x, nb):
    r, c, w = nb
    out = np.zeros_like(x)
    np.add.at(out, r, x[c])
    return out * (w if x.ndim == 1 else w[:, None])


def normals(v, f, weld=None):
    """Angle-weighted vertex normals; vertices of one weld group share theirs."""
    v, f = np.asarray(v), np.asarray(f)
    tri = np.concatenate([f[:, [0, 1, 2]], f[:, [0, 2, 3]]])
    tri = tri[(tri[:, 0] != tri[:, 1]) & (tri[:, 1] != tri[:, 2]) & (tri[:, 0] != tri[:, 2])]
    p = v[tri]
    fn = unit(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]))
    g = np.arange(len(v)) if weld is None else weld
    out = np.zeros((len(v), 3))
    for k in range(3):
        a, b = unit(p[:, (k + 1) % 3] - p[:, k]), unit(p[:, (k + 2) % 3] - p[:, k])
        ang = np.arccos(np.clip((a * b).sum(1), -1, 1))
        np.add.at(out, g[tri[:, k]], fn * ang[:, None])
    n = unit(out[g])
    n[length(out[g]) < 1e-9] = (0, 1, 0)
    return n

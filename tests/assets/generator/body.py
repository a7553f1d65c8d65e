"""The body: a quad cage with loops at every joint, subdivided once and drawn onto a distance field."""
import numpy as np
from maths import (Mesh, average, ball, cone, cut, ellipsoid, join, length, neighbours, normals, project, subdivide,
                   unit, vec)
from skeleton import FINGERS, finger_places

# ---- the form (left half; x >= 0) ----------------------------------------------


def torso_field(p):
    p = p * vec(1, 1, 1)
    p[..., 0] = np.abs(p[..., 0])
    d = ellipsoid(p, (0, 0.805, -0.012), (0.136, 0.100, 0.102))
    d = join(d, ellipsoid(p, (0, 0.895, 0.022), (0.118, 0.100, 0.100)), 0.06)
    d = join(d, ellipsoid(p, (0, 1.060, -0.014), (0.126, 0.140, 0.092)), 0.07)
    d = join(d, ellipsoid(p, (0.052, 1.085, 0.040), (0.060, 0.052, 0.045)), 0.045)
    d = join(d, cone(p, (0.030, 1.150, -0.016), (0.120, 1.163, -0.016), 0.062, 0.054), 0.04)
    d = join(d, cone(p, (0, 1.13, -0.020), (0, 1.27, -0.012), 0.066, 0.047), 0.05)
    d = join(d, ball(p, (0.058, 0.785, -0.048), 0.074), 0.04)
    return d


def arm_field(p):
    d = cone(p, (0.128, 1.166, -0.016), (0.352, 1.168, -0.020), 0.051, 0.037)
    d = join(d, cone(p, (0.352, 1.168, -0.020), (0.575, 1.168, -0.010), 0.036, 0.0265), 0.02)
    d = join(d, ball(p, (0.405, 1.166, -0.017), 0.0385), 0.04)
    return d


def leg_field(p):
    d = cone(p, (0.080, 0.775, -0.002), (0.087, 0.425, 0.004), 0.084, 0.051)
    d = join(d, cone(p, (0.087, 0.425, 0.002), (0.091, 0.095, -0.020), 0.050, 0.036), 0.03)
    d = join(d, ellipsoid(p, (0.090, 0.320, -0.018), (0.045, 0.105, 0.048)), 0.03)
    return d


def foot_field(p):
    d = cone(p, (0.091, 0.100, -0.022), (0.091, 0.040, -0.026), 0.036, 0.042)
    d = join(d, cone(p, (0.092, 0.036, -0.020), (0.096, 0.030, 0.098), 0.042, 0.048, (1, 0.92, 1)), 0.04)
    d = join(d, ellipsoid(p, (0.098, 0.034, 0.112), (0.052, 0.042, 0.058)), 0.03)
    return cut(d, 0.006 - p[..., 1], 0.016)


def body_field(p):
    d = join(torso_field(p), arm_field(p), 0.05)
    d = join(d, leg_field(p), 0.035)
    return join(d, foot_field(p), 0.02)


def finger_field(p, name):
    pts = finger_places(name)
    _, _, lens, r0, r1 = FINGERS[name]
    d = cone(p, pts[0], pts[-1] - (pts[-1] - pts[-2]) * 0.35, r0, r1)
    d = join(d, ball(p, pts[1], r0 * 0.98), 0.006)
    return join(d, ball(p, pts[2], r0 * 0.9), 0.006)


def palm_field(p):
    d = cone(p, (0.552, 1.168, -0.011), (0.612, 1.170, -0.010), 0.028, 0.036, (1, 0.56, 1.02))
    d = join(d, cone(p, (0.615, 1.170, -0.032), (0.622, 1.171, 0.012), 0.0165, 0.0165), 0.02)
    return join(d, ball(p, (0.585, 1.162, 0.012), 0.0175), 0.016)


def hand_field(p):
    d = join(arm_field(p), palm_field(p), 0.02)
    for f in FINGERS:
        d = join(d, finger_field(p, f), 0.007)
    return d


# ---- the cage --------------------------------------------------------------------

TORSO_Y = (0.765, 0.815, 0.860, 0.905, 0.950, 0.995, 1.040, 1.090, 1.125, 1.165, 1.200, 1.222, 1.240)
HOLE = (7, 10)                           # rows of the arm hole
ARM_X = (0.150, 0.180, 0.215, 0.250, 0.285, 0.318, 0.340, 0.364, 0.386, 0.420, 0.460, 0.500, 0.532, 0.553)
LEG_Y = (0.745, 0.695, 0.635, 0.570, 0.505, 0.455, 0.425, 0.395, 0.360, 0.315, 0.270, 0.210, 0.150)
SLEEVE_END, BOOT_TOP = 0.285, 0.270


def _torso(m):
    rows = []
    for y in TORSO_Y:
        ring = []
        for k in range(9):
            a = np.radians(90 - 22.5 * k)
            x = 0.0 if k in (0, 8) else np.cos(a)
            ring.append(m.add((0.13 * x, y, 0.09 * np.sin(a) - 0.01)))
        rows.append(ring)
    for r in range(len(rows) - 1):
        for k in range(8):
            if HOLE[0] <= r < HOLE[1] and k in (3, 4):
                continue
            m.quad(rows[r][k + 1], rows[r][k], rows[r + 1][k], rows[r + 1][k + 1], "pelvis" if r == 0 else "torso")
    # the cage's top and arm hole sit near the real form so that projection keeps the rows apart
    for r, ring in enumerate(rows):
        if r >= HOLE[1]:
            s = (0.080, 0.056, 0.050)[r - HOLE[1]]
            for k in range(9):
                p = m.v[ring[k]]
                p[0] *= s / 0.13
                p[2] = -0.018 + (p[2] + 0.01) * s / 0.09
    return rows


def _arm(m, rows):
    lo, hi = HOLE
    ring = [rows[lo][5], rows[lo][4], rows[lo][3], rows[lo + 1][3], rows[lo + 2][3], rows[hi][3], rows[hi][4],
            rows[hi][5], rows[lo + 2][5], rows[lo + 1][5]]
    ang = np.radians([-126, -90, -54, -18, 18, 54, 90, 126, 162, 198])
    for i, v in enumerate(ring):
        m.v[v] = vec(0.118, 1.160 + 0.062 * np.sin(ang[i]), -0.016 + 0.062 * np.cos(ang[i]))
        if i in (6,):
            m.v[v][0] = 0.110
        if i in (0, 1, 2):
            m.v[v][0] = 0.122
    prev = ring
    for x in ARM_X:
        r = np.interp(x, (0.15, 0.352, 0.552), (0.053, 0.040, 0.029))
        new = m.ring([(x, 1.168 + r * np.sin(a), -0.016 + r * np.cos(a)) for a in ang])
        m.bridge(prev, new, "cuff" if abs(x - SLEEVE_END) < 1e-6 else "sleeve" if x < SLEEVE_END else "arm")
        prev = new
    return prev


def _hand(m, wrist):
    zs = {9: -1, 8: -1, 0: -0.5, 7: -0.5, 1: 0, 6: 0, 2: 0.5, 5: 0.5, 3: 1, 4: 1}
    prev, rings = wrist, []
    for x, half, thick, mid in ((0.572, 0.030, 0.019, -0.010), (0.600, 0.037, 0.018, -0.010), (0.630, 0.041, 0.014, -0.012)):
        pts = []
        for i in range(10):
            up = i in (4, 5, 6, 7, 8)
            edge = 0.7 if abs(zs[i]) == 1 else 1.0
            bow = 0.006 * (1 - zs[i] ** 2) - (0.012 if zs[i] < -0.4 else 0) * (x > 0.62)
            pts.append((x + bow, 1.170 + (thick if up else -thick) * edge, mid + half * zs[i]))
        new = m.ring(pts)
        if len(rings) == 1:                                 # leave the thumb's hole
            for i in range(10):
                if i != 3:
                    j = (i + 1) % 10
                    m.quad(prev[i], prev[j], new[j], new[i], "palm")
        else:
            m.bridge(prev, new, "palm")
        rings.append(new)
        prev = new
    a, b, c = rings
    _finger(m, "Thumb", [a[3], a[4], b[4], b[3]])
    for name, ring in (("Little", (9, 0, 7, 8)), ("Ring", (0, 1, 6, 7)), ("Middle", (1, 2, 5, 6)), ("Index", (2, 3, 4, 5))):
        _finger(m, name, [c[i] for i in ring])


def _finger(m, name, ring):
    pts = finger_places(name)
    _, _, lens, r0, r1 = FINGERS[name]
    d = unit(pts[-1] - pts[0])
    if name == "Thumb":                                     # corner order: near-low, near-high, far-high, far-low
        side, up = unit(np.cross((0, 1, 0), d)), None
        side = unit(vec(1, 0, 0) - d * d[0])
        up = unit(np.cross(d, side))
        up = up if up[1] > 0 else -up
        corner = [(-1, -1), (-1, 1), (1, 1), (1, -1)]
    else:                                                   # back-low, front-low, front-high, back-high
        side = unit(vec(0, 0, 1) - d * d[2])
        up = unit(vec(0, 1, 0) - d * d[1])
        corner = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    total = length(pts[-1] - pts[0])
    j1, j2 = lens[0], lens[0] + lens[1]
    at = [0.010, j1 - 0.006, j1 + 0.006, j2 - 0.0055, j2 + 0.0055, total - 0.0075, total - 0.0005]
    if name == "Thumb":
        at[0] = 0.020
    prev = ring
    for i, t in enumerate(at):
        r = (r0 + (r1 - r0) * t / total) * (0.62 if i == len(at) - 1 else 1.0)
        new = m.ring([pts[0] + d * t + side * (r * sx) + up * (r * sy) for sx, sy in corner])
        m.bridge(prev, new, "finger" + name)
        prev = new
    m.quad(prev[0], prev[1], prev[2], prev[3], "finger" + name)


def _leg(m, rows):
    crotch = m.add((0, 0.725, -0.005))
    prev = [rows[0][k] for k in range(9)] + [crotch]
    for k in range(9):                                      # the groin line rises to the sides
        m.v[rows[0][k]][1] = 0.735 + 0.050 * (1 - abs(k - 4) / 4) + (0.02 if k < 4 else 0)
    ang = np.radians([144 - 36 * i for i in range(10)])
    for y in LEG_Y:
        cx, cz = np.interp(y, (0.425, 0.775), (0.087, 0.080)), np.interp(y, (0.1, 0.425), (-0.02, 0.003))
        r = np.interp(y, (0.14, 0.32, 0.425, 0.775), (0.04, 0.054, 0.052, 0.088))
        new = m.ring([(max(cx + r * np.cos(a), 0.004), y, cz + r * np.sin(a)) for a in ang])
        m.bridge(prev, new, "leg" if y >= BOOT_TOP - 1e-9 else "boot")
        prev = new
    # ankle to toe: rings turn from level to upright
    for cy, cz, tilt, rx, rh in ((0.105, -0.022, 8, 0.040, 0.040), (0.074, -0.014, 35, 0.043, 0.050), (0.058, 0.010, 62, 0.044, 0.056),
                                 (0.048, 0.040, 82, 0.045, 0.050), (0.042, 0.068, 90, 0.048, 0.044), (0.040, 0.086, 90, 0.049, 0.042),
                                 (0.039, 0.104, 90, 0.049, 0.041), (0.037, 0.130, 90, 0.046, 0.038), (0.035, 0.153, 90, 0.034, 0.028)):
        t = np.radians(tilt)
        pts = []
        for a in ang:                                       # ring's front (z+) turns to the top
            u, w = rx * np.cos(a), rh * np.sin(a)
            pts.append((0.0935 + u, cy + w * np.sin(t), cz + w * np.cos(t)))
        new = m.ring(pts)
        m.bridge(prev, new, "boot")
        prev = new
    m.cap(prev, (0.0955, 0.036, 0.166), "boot")


def cage():
    m = Mesh()
    rows = _torso(m)
    _hand(m, _arm(m, rows))
    _leg(m, rows)
    return m


def build():
    """Vertices, quads, a tag per face and per vertex; x > 0 is the left side."""
    m = cage()
    v, f, tag = np.array(m.v), np.array(m.f), m.tag
    n = len(v)
    centre = np.abs(v[:, 0]) < 1e-9
    remap = np.where(centre, np.arange(n), np.arange(n) + n)
    both = np.concatenate([v, v * vec(-1, 1, 1)])
    bf = np.concatenate([f, remap[f][:, ::-1]])
    used, inv = np.unique(bf, return_inverse=True)
    v, f, tag = both[used], inv.reshape(bf.shape), list(tag) * 2
    v, f, tag = subdivide(v, f, tag)
    v, vt = _fit(v, f, tag)
    f = f[:, ::-1]                                          # the cage runs inside out
    return v, f, np.array(tag), vt


def _fit(v, f, tag):
    order = ["torso", "pelvis", "sleeve", "cuff", "arm", "leg", "boot", "palm"] + ["finger" + n for n in FINGERS]
    rank = {t: i for i, t in enumerate(order)}
    vt = np.zeros(len(v), int)
    fr = np.array([rank[t] for t in tag])
    for k in range(4):
        np.maximum.at(vt, f[:, k], fr)
    nb = neighbours(len(v), f)
    side = np.where(v[:, 0] < -1e-9, -1.0, 1.0)
    mid = np.abs(v[:, 0]) < 1e-9
    p = v * np.stack([side, np.ones_like(side), np.ones_like(side)], 1)
    hand = vt >= rank["palm"]
    soft = np.isin(vt, [rank["torso"], rank["pelvis"], rank["leg"]])

    def fit(p):
        q = p.copy()
        q[~hand] = project(body_field, p[~hand], 4)
        for i, t in enumerate(order):
            s = vt == i
            if t == "palm":
                q[s] = project(hand_field, p[s], 4)
            elif t.startswith("finger"):
                name = t[6:]
                q[s] = project(lambda x: join(finger_field(x, name), palm_field(x), 0.007), p[s], 4)
        q[mid, 0] = 0
        return q

    p = fit(p)
    sx = np.stack([side, np.ones_like(side), np.ones_like(side)], 1)
    for _ in range(6):                                      # relax along the surface, torso most
        w = p * sx
        d = average(w, nb) - w
        nrm = normals(w, f)
        d -= nrm * (d * nrm).sum(1, keepdims=True)
        gain = np.where(soft, 0.45, np.where(hand, 0.06, 0.12))[:, None]
        w = w + gain * d
        p = w * sx
        p = fit(p)
    return p * sx, np.array(order)[vt]


if __name__ == "__main__":
    v, f, tag, vt = build()
    tri = np.concatenate([f[:, [0, 1, 2]], f[:, [0, 2, 3]]])
    p = v[tri]
    print(len(v), len(f), "volume", (np.cross(p[:, 0], p[:, 1]) * p[:, 2]).sum() / 6, v.min(0), v.max(0))

"""Pup: a small four-legged friend; one tube from tail to nose with legs drawn out of it."""
import numpy as np
import export
import textures
import weights
from clips import Clip, wave
from maths import (Mesh, average, ball, cone, ellipsoid, euler, join, length, neighbours, project, qmul, quat, ramp,
                   shoot, smooth, spline, subdivide, unit, vec)
from parts import Part, near, outward, tube
from skeleton import Skeleton

X, Y, Z = vec(1, 0, 0), vec(0, 1, 0), vec(0, 0, 1)
LEGS = {"Front": ((0.062, 0.235, 0.105), (0.064, 0.135, 0.085), (0.064, 0.040, 0.098)),
        "Hind": ((0.062, 0.240, -0.135), (0.068, 0.140, -0.105), (0.068, 0.040, -0.150))}


def bones():
    s = Skeleton()
    s.add("hips", None, (0, 0.285, -0.130))
    s.add("spine", "hips", (0, 0.290, -0.030))
    s.add("chest", "spine", (0, 0.285, 0.070))
    s.add("neck", "chest", (0, 0.320, 0.140))
    s.add("head", "neck", (0, 0.380, 0.180))
    for side, k in (("left", 1), ("right", -1)):
        s.add(side + "Ear1", "head", (k * 0.072, 0.470, 0.190))
        s.add(side + "Ear2", side + "Ear1", (k * 0.112, 0.440, 0.195))
        s.add(side + "Ear3", side + "Ear2", (k * 0.120, 0.385, 0.200))
    for i, p in enumerate(((0, 0.325, -0.205), (0, 0.375, -0.250), (0, 0.435, -0.270), (0, 0.490, -0.255))):
        s.add(f"tail{i + 1}", "hips" if i == 0 else f"tail{i}", p)
    for part, up in (("Front", "chest"), ("Hind", "hips")):
        for side, k in (("left", 1), ("right", -1)):
            a = up
            for n, p in zip(("Upper", "Lower", "Paw"), LEGS[part]):
                s.add(f"{side}{part}{n}", a, (k * p[0], p[1], p[2]))
                a = f"{side}{part}{n}"
    return s


def field(p):
    p = p.copy()
    p[..., 0] = np.abs(p[..., 0])
    d = ellipsoid(p, (0, 0.285, -0.115), (0.088, 0.090, 0.105))
    d = join(d, ellipsoid(p, (0, 0.275, 0.060), (0.094, 0.098, 0.110)), 0.08)
    d = join(d, cone(p, (0, 0.310, 0.110), (0, 0.400, 0.180), 0.066, 0.062), 0.06)
    d = join(d, ellipsoid(p, (0, 0.430, 0.195), (0.108, 0.098, 0.098)), 0.03)
    d = join(d, cone(p, (0, 0.408, 0.270), (0, 0.400, 0.318), 0.048, 0.036, (1.12, 0.92, 1)), 0.04)
    d = join(d, ball(p, (0.048, 0.400, 0.262), 0.034), 0.03)
    d = join(d, cone(p, (0, 0.320, -0.200), (0, 0.440, -0.272), 0.024, 0.030), 0.04)
    d = join(d, cone(p, (0, 0.440, -0.272), (0, 0.520, -0.245), 0.030, 0.012), 0.03)
    for n, (a, b, c) in LEGS.items():
        r = (0.058, 0.036) if n == "Hind" else (0.050, 0.034)
        d = join(d, cone(p, a, b, *r), 0.045)
        d = join(d, cone(p, b, (c[0], 0.045, c[2]), r[1], 0.029), 0.02)
        d = join(d, ellipsoid(p, (c[0], 0.028, c[2] + 0.018), (0.036, 0.030, 0.046)), 0.02)
    return np.maximum(d, -p[..., 1])


def body():
    path = [(0, 0.520, -0.240), (0, 0.470, -0.268), (0, 0.400, -0.262), (0, 0.340, -0.225), (0, 0.300, -0.205), (0, 0.285, -0.175), (0, 0.285, -0.100),
            (0, 0.285, -0.030), (0, 0.280, 0.050), (0, 0.285, 0.130), (0, 0.330, 0.150), (0, 0.385, 0.150), (0, 0.430, 0.170), (0, 0.430, 0.225),
            (0, 0.410, 0.275), (0, 0.402, 0.320), (0, 0.400, 0.348)]
    r = [0.010, 0.026, 0.026, 0.03, 0.06, 0.080, 0.085, 0.082, 0.088, 0.080, 0.070, 0.085, 0.105, 0.09, 0.05, 0.04, 0.018]
    p = np.array(path)
    t = unit(np.gradient(p, axis=0))
    # the neck's rings lean back so that the head's face looks forward
    m = Mesh()
    rings = []
    for c, d, k in zip(p, t, r):
        up = unit(np.cross(d, X))
        rings.append(m.ring([c + k * (X * np.cos(a) + up * np.sin(a)) for a in np.arange(8) * np.pi / 4]))
    names = ["tail"] * 4 + ["body"] * 5 + ["neck"] * 2 + ["head"] * 5
    holes = {(5, 7): ("Hind", 1), (5, 4): ("Hind", -1), (8, 7): ("Front", 1), (8, 4): ("Front", -1)}
    up0 = unit(np.cross(t[6], X))
    low = 7 if up0[1] > 0 else 0
    other = 4 if up0[1] > 0 else 3
    holes = {(5, low): ("Hind", 1), (5, other): ("Hind", -1), (8, low): ("Front", 1), (8, other): ("Front", -1)}
    for i in range(len(rings) - 1):
        for k in range(8):
            j = (k + 1) % 8
            quad = [rings[i][k], rings[i][j], rings[i + 1][j], rings[i + 1][k]]
            if (i, k) in holes:
                n, s = holes[(i, k)]
                _leg(m, quad, LEGS[n], s, n)
            else:
                m.quad(*quad, names[i])
    m.cap(rings[0][::-1], p[0] + (0, 0.012, 0.002), "tail")
    m.cap(rings[-1], p[-1] + (0, 0, 0.008), "head")
    v, f, tag = np.array(m.v), np.array(m.f), m.tag
    for _ in range(2):
        v, f, tag = subdivide(v, f, tag)
    nb = neighbours(len(v), f)
    v = project(field, v, 5)
    for _ in range(8):
        v = project(field, v + 0.4 * (average(v, nb) - v), 3)
    v[:, 1] = np.maximum(v[:, 1], 0)
    f = outward(v, f)
    return v, f, np.array(tag)


def _leg(m, quad, pts, s, name):
    c = np.mean([m.v[i] for i in quad], 0)
    prev = quad
    a, b, e = (np.array(q) * (s, 1, 1) for q in pts)
    for q, r in ((a + (0, -0.02, 0), 0.05), ((a + b) / 2, 0.045), (b + (0, 0.012, 0), 0.040), (b + (0, -0.012, 0), 0.038), ((b + e) / 2, 0.034),
                 (e + (0, 0.004, 0), 0.034), (e + (0, -0.020, 0.006), 0.040), (e + (0, -0.036, 0.010), 0.040)):
        corners = []
        for i in prev:
            d = (m.v[i] - np.mean([m.v[j] for j in prev], 0)) * (1, 0, 1)
            corners.append(d)
        # keep the corner order of the hole, seen from below
        base = [(m.v[i] - c) for i in quad]
        ang = [np.arctan2(x[2], x[0] * 1.0 + (0 if abs(x[0]) > 1e-6 else 0)) for x in base]
        order = np.argsort(np.argsort(ang))
        ring = m.ring([q + r * vec(np.cos(np.radians(-135 + 90 * o)), 0, np.sin(np.radians(-135 + 90 * o))) for o in order])
        m.bridge(prev, ring, "leg" + name)
        prev = ring
    m.quad(*prev, "leg" + name)


def skin_weights(v, f, sk):
    w = np.zeros((len(v), len(sk)))
    names = [n for n in sk.names if "Ear" not in n]
    kids = {n: [m for m in names if sk.parent[sk.index[m]] == sk.index[n]] for n in names}
    seg = []
    for n in names:
        a = sk.at(n)
        nxt = [k for k in kids[n] if not (n in ("chest", "hips") and ("Front" in k or "Hind" in k or "tail" in k))]
        b = sk.at(nxt[0]) if nxt else a + {"head": vec(0, 0.06, 0.09), "tail4": vec(0, 0.05, 0.02)}.get(n, vec(0, -0.035, 0.02) if "Paw" in n else vec(0, 0, 0.05))
        seg.append((n, a, b))
    best, who = np.full(len(v), 9.0), np.zeros(len(v), int)
    for n, a, b in seg:
        d = b - a
        t = np.clip(((v - a) * d).sum(1) / (d * d).sum(), 0, 1)
        r = {"hips": 0.07, "spine": 0.08, "chest": 0.08, "neck": 0.06, "head": 0.10}.get(n, 0.03)
        if ("left" in n or "right" in n):
            s = 1 if "left" in n else -1
            far = np.where(v[:, 0] * s < 0.004, 9.0, 0)
        else:
            far = 0
        dist = length(v - a - t[:, None] * d) - r + far
        m = dist < best
        best[m], who[m] = dist[m], sk.index[n]
    w[np.arange(len(v)), who] = 1
    nb = neighbours(len(v), f)
    for _ in range(14):
        w = 0.5 * w + 0.5 * average(w, nb)
    return w


def sphere(c, r, seg=14, rings=8, squash=(1, 1, 1)):
    m = Mesh()
    prev, c = None, np.array(c, float)
    top = m.add(c + vec(0, r, 0) * squash)
    for k in range(1, rings):
        a = np.pi * k / rings
        ring = m.ring([c + r * vec(np.sin(a) * np.cos(b), np.cos(a), np.sin(a) * np.sin(b)) * squash for b in np.arange(seg) * 2 * np.pi / seg])
        if prev is None:
            for i in range(seg):
                m.quad(top, ring[(i + 1) % seg], ring[i], ring[i], "s")
        else:
            m.bridge(ring, prev, "s")
        prev = ring
    end = m.add(c - vec(0, r, 0) * squash)
    for i in range(seg):
        m.quad(end, prev[i], prev[(i + 1) % seg], prev[(i + 1) % seg], "s")
    v, f = np.array(m.v), np.array(m.f)
    return v, f


def flat(material, v, f, w, kind):
    return Part(material, v, outward(v, f), np.full((len(v), 2), 0.5), w, kind)


def coat():
    """Left half: the body from the side; right half: the face from the front."""
    n = 512
    u, v = textures.field(n)
    tan, cream = np.array((0.86, 0.58, 0.34)), (0.99, 0.93, 0.83)
    img = np.ones((n, n, 3)) * tan
    z, y = u / 0.5 * 0.70 - 0.30, 0.54 - 0.54 * v
    wob = 0.006 * np.sin(z * 60) + 0.004 * np.sin(z * 131 + 1)
    side = ramp(0.222 + wob - y, -0.004, 0.004) * ramp(y, 0.168, 0.182) * ramp(np.abs(z - 0.01), 0.125, 0.105)
    side = np.maximum(side, ramp(0.046 + 0.004 * np.sin(z * 150) - y, -0.002, 0.002))
    side = np.maximum(side, ramp(y + 0.25 * (z + 0.26) - 0.462, -0.003, 0.003) * ramp(z, -0.19, -0.205))
    side = np.maximum(side, ramp(z - 0.160 + 0.10 * (y - 0.30), -0.006, 0.006) * ramp(y, 0.375, 0.350) * ramp(y, 0.195, 0.215))
    side = np.maximum(side, ramp(y, 0.372, 0.352) * ramp(z, 0.196, 0.215) * ramp(y, 0.32, 0.34))
    x, y = (u - 0.5) / 0.5 * 0.26 - 0.13, 0.56 - 0.26 * v
    r = np.hypot(x / 0.076, (y - 0.385) / 0.044)
    front = ramp(r, 1.04, 0.96)
    front = np.maximum(front, ramp(np.abs(x) - (0.009 + 0.016 * smooth((y - 0.43) / 0.06) * ramp(y, 0.525, 0.49)), 0.002, -0.002) * ramp(y, 0.522, 0.512))
    k = np.where(u < 0.5, side, front)
    img = textures.mix(img, cream, k)
    return textures.png(img)


MATERIALS = {"fur": ("#FFFFFF", 0.9, "coat"), "cream": ("#FBEBD2", 0.9, None), "dark": ("#5A3423", 0.9, None), "nose": ("#2B1B1A", 0.35, None),
             "eye": ("#2A1710", 0.15, None), "light": ("#FFFFFF", 0.2, None), "collar": ("#1F7C82", 0.6, None), "gold": ("#E2AE4A", 0.35, None)}


def parts(sk):
    v, f, tag = body()
    w = skin_weights(v, f, sk)
    uv = np.stack([0.5 * (v[:, 2] + 0.30) / 0.70, (0.54 - v[:, 1]) / 0.54], 1)[f]
    brow = (tag == "head") & (v[f][:, :, 2].min(1) > 0.185)  # the face is painted from the front
    uv[brow] = np.stack([0.5 + 0.5 * (v[:, 0] + 0.13) / 0.26, (0.56 - v[:, 1]) / 0.26], 1)[f[brow]]
    out = [Part("fur", v, f, uv, w, "body")]
    for s, side in ((1, "left"), (-1, "right")):
        rh = lambda n: weights.rigid(n, sk, "head")
        ev, ef = sphere((s * 0.050, 0.440, 0.2715), 0.0240, squash=(0.90, 1.15, 0.85))
        out.append(flat("eye", ev, ef, rh(len(ev)), "eye"))
        for dx, dy, r in ((0.006, 0.010, 0.0062), (-0.005, -0.009, 0.0030)):
            lv, lf = sphere((s * 0.050 + dx, 0.440 + dy, 0.2895), r, 10, 6, (1, 1, 0.5))
            out.append(flat("light", lv, lf, rh(len(lv)), "eye"))
        bv, bf = sphere((s * 0.048, 0.476, 0.262), 0.011, 10, 6, (1.3, 0.62, 0.6))
        out.append(flat("cream", bv, bf, rh(len(bv)), "eye"))
        p = np.array([(0.055, 0.492, 0.180), (0.085, 0.492, 0.188), (0.113, 0.455, 0.196), (0.122, 0.400, 0.202), (0.114, 0.345, 0.204)]) * (s, 1, 1)
        t = np.linspace(0, 1, 12)
        q = spline(p, t)
        tan = unit(np.gradient(q, axis=0))
        side_v = unit(Z - tan * tan[:, 2:3])
        up = np.cross(tan, side_v)
        k = np.interp(t, (0, 0.2, 0.5, 0.8, 0.95, 1), (0.55, 0.8, 1, 0.95, 0.55, 0.2))
        tv, tf, _ = tube(q, 0.040 * k, 0.011 * np.maximum(k, 0.4), side_v, up, 10)
        j = [f"{side}Ear{i}" for i in (1, 2, 3)]
        d = np.argmin(length(tv[:, None] - q[None]), axis=1) / 11.0
        tt = np.interp(d, (0, 0.18, 0.42, 0.68, 1), (-0.5, 0, 1, 2, 3))
        h = ramp(tt, -0.5, 0.2)[:, None]
        out.append(flat("dark", tv, tf, rh(len(tv)) * (1 - h) + weights.chain(np.clip(tt, 0, 3), sk, j) * h, "ear"))
    nv, nf = sphere((0, 0.418, 0.350), 0.0185, squash=(1.15, 0.8, 0.75))
    out.append(flat("nose", nv, nf, weights.rigid(len(nv), sk, "head"), "nose"))
    # the mouth: a smile under the nose
    k = np.linspace(-1, 1, 15)
    q = np.stack([0.032 * k, 0.384 - 0.010 * np.sin(np.pi * np.abs(k)) + 0.004 * np.abs(k), 0 * k + 0.4], 1)
    hit = shoot(field, q * (1, 1, 0) + vec(0, 0, 0.25), np.tile(Z, (15, 1)), 0.2)
    tan = unit(np.gradient(hit, axis=0))
    up = unit(np.cross(Z, tan))
    mv, mf, _ = tube(hit + (0, 0, 0.0004), np.full(15, 0.0022), np.full(15, 0.0022), up, np.cross(tan, up), 6)
    out.append(flat("nose", mv, mf, weights.rigid(len(mv), sk, "head"), "mouth"))
    # collar with a tag
    cc, ax = vec(0, 0.362, 0.152), unit(vec(0, 0.72, 0.62))
    e2 = unit(np.cross(ax, X))
    ang = np.arange(32) * np.pi / 16
    dirs = np.stack([X * np.cos(a) + e2 * np.sin(a) for a in ang])
    pts = shoot(field, np.tile(cc, (32, 1)), dirs, 0.2)
    m = Mesh()
    rings = []
    for q, o in zip(pts, dirs):
        rings.append(m.ring([q + o * (0.004 + 0.0065 * np.cos(b)) + ax * 0.0115 * np.sin(b) for b in np.arange(8) * np.pi / 4]))
    for a, b in zip(rings, rings[1:] + rings[:1]):
        m.bridge(a, b, "collar")
    cv, cf = np.array(m.v), np.array(m.f)
    out.append(flat("collar", cv, cf, near(cv, v, w), "collar"))
    k = int(np.argmax(pts[:, 2]))
    tv, tf = sphere(pts[k] + dirs[k] * 0.010 - ax * 0.018, 0.0145, 12, 8, (1, 1, 0.4))
    out.append(flat("gold", tv, tf, np.tile(near(pts[k:k + 1], v, w), (len(tv), 1)), "tag"))
    return out


# ---- clips -----------------------------------------------------------------------------------


def _stand(p, off=None, pitch=None):
    for side, s in (("left", 1), ("right", -1)):
        for part in LEGS:
            at = np.array(LEGS[part][2]) * (s, 1, 1) + (off or {}).get((side, part), vec(0, 0, 0))
            n = f"{side}{part}"
            q = quat(X, (pitch or {}).get((side, part), 0.0))
            p.two_bones(n + "Upper", n + "Lower", n + "Paw", at, q, -Z if part == "Front" else Z)
    return p


def _tail(p, up=0.0, wag=0.0, u=0.0, beats=2):
    for i in range(4):
        p.set(f"tail{i + 1}", qmul(quat(Z, 0), qmul(quat(Y, wag * np.sin(2 * np.pi * (beats * u) - 0.5 * i)), quat(X, up / 4))))
    for s, side in ((1, "left"), (-1, "right")):
        for i in range(3):
            p.rot.setdefault(f"{side}Ear{i + 1}", quat(Z, 0))
    return p


def _ears(p, lift, lag=0.0):
    for s, side in ((1, "left"), (-1, "right")):
        for i in range(3):
            p.set(f"{side}Ear{i + 1}", quat(Z, s * (lift * (1, 0.8, 0.6)[i] + lag * i)))


def idle(p, t, u):
    w = 2 * np.pi * u
    p.hips = vec(0.003 * np.sin(w), -0.004 + 0.002 * np.sin(2 * w), 0)
    p.set("hips", euler(0, 1.5 * np.sin(w), 0))
    p.set("chest", euler(-1.2 * np.sin(2 * w), -1.0 * np.sin(w), 0))
    p.set("neck", euler(-2 + 1.5 * np.sin(2 * w - 0.4), 3 * np.sin(w), 0))
    tilt = float(smooth((u - 0.45) / 0.08) * smooth((0.85 - u) / 0.08))
    p.set("head", euler(1.5 * np.sin(2 * w - 0.8) - 2 * tilt, 7 * np.sin(w - 0.5), 15 * tilt))
    _tail(p, 6, 15, u, 8)
    _ears(p, 2 * np.sin(2 * w - 1.2) + 6 * tilt)
    return _stand(p)


def _step(T, v, duty, lift, ph):
    """Paw offset (y, z) and pitch at phase ph from contact."""
    ph = ph % 1.0
    a = v * T * duty / 2
    if ph <= duty:
        return 0.0, a - v * T * ph, 22 * float(smooth((ph / duty - 0.8) / 0.2)) * 0
    u = (ph - duty) / (1 - duty)
    m0 = -v * T * (1 - duty)
    z = (2 * u ** 3 - 3 * u ** 2 + 1) * -a + (u ** 3 - 2 * u ** 2 + u) * m0 + (-2 * u ** 3 + 3 * u ** 2) * a + (u ** 3 - u ** 2) * m0
    return lift * np.sin(np.pi * u) ** 1.4, z, 34 * np.sin(np.pi * min(u * 1.25, 1)) * (1 if u < 0.8 else 0)


def gait(name, sk, frames, v, duty, lift, phase, body):
    T = frames / 30

    def make(p, t, u):
        body(p, u)
        off, pitch = {}, {}
        for (side, part), k in phase.items():
            y, z, a = _step(T, v, duty, lift, u + k)
            off[(side, part)], pitch[(side, part)] = vec(0, y, z), a
        return _stand(p, off, pitch)
    return Clip(name, sk, T, True, make, speed=v)


def walk_body(p, u):
    p.hips = vec(0.006 * wave(u, 0.3), -0.012 + 0.004 * wave(2 * u, 0.1), 0)
    p.set("hips", euler(0.8 * wave(2 * u, 0.2), -4 * wave(u, 0.05), 2.5 * wave(u, 0.3)))
    p.set("spine", euler(0, 3 * wave(u, 0.1), -1.5 * wave(u, 0.3)))
    p.set("chest", euler(-0.8 * wave(2 * u, 0.4), 4 * wave(u, 0.3), -2 * wave(u, 0.05)))
    p.set("neck", euler(2 + 2.0 * wave(2 * u, 0.3), -2 * wave(u, 0.3), 0))
    p.set("head", euler(-2 - 2.0 * wave(2 * u, 0.42), -2 * wave(u, 0.35), 0))
    _tail(p, 4, 14, u, 2)
    _ears(p, 4 * wave(2 * u, 0.5))


def run_body(p, u):
    p.hips = vec(0, -0.006 + 0.022 * wave(u, 0.72), 0)
    p.set("hips", euler(13 * wave(u, 0.42), 0, 0))
    p.set("spine", euler(-12 * wave(u, 0.45), 0, 0))
    p.set("chest", euler(-9 * wave(u, 0.50), 0, 0))
    p.set("neck", euler(4 + 6 * wave(u, 0.5), 0, 0))
    p.set("head", euler(-4 + 4 * wave(u, 0.62), 0, 0))
    _tail(p, -40 + 14 * wave(u, 0.2), 4, u, 1)
    _ears(p, 16 + 22 * wave(u, 0.15), 6)


def jump(p, t, u):
    from clips import key
    h = float(key(t, [(0, 0), (0.25, -0.075), (0.36, -0.02), (0.62, 0.26), (0.86, -0.02), (0.96, -0.07), (1.25, 0)]))
    tilt = float(key(t, [(0, 0), (0.25, 4), (0.42, -24), (0.62, -4), (0.84, 20), (1.0, 3), (1.25, 0)]))
    fold = float(key(t, [(0.36, 0), (0.55, 1), (0.70, 0.9), (0.86, 0)]))
    p.hips = vec(0, h - 0.004, 0)
    p.set("hips", euler(tilt, 0, 0))
    p.set("spine", euler(-tilt * 0.2 + 4 * fold, 0, 0))
    p.set("chest", euler(-tilt * 0.2, 0, 0))
    p.set("neck", euler(-tilt * 0.3, 0, 0))
    p.set("head", euler(-tilt * 0.25, 0, 0))
    _tail(p, -20 * fold, 10, u, 4)
    _ears(p, float(key(t, [(0, 0), (0.3, -6), (0.5, 8), (0.72, 52), (0.9, 30), (1.1, -8), (1.25, 0)])))
    air = max(h, 0)
    off, pitch = {}, {}
    for side in ("left", "right"):
        off[(side, "Front")] = vec(0, max(air * (1.0 if t < 0.62 else 1.05) + 0.075 * fold, 0), 0.045 * fold)
        off[(side, "Hind")] = vec(0, max(air * 0.72 + 0.02 * fold if t < 0.62 else air + 0.06 * fold, 0), -0.06 * fold)
        pitch[(side, "Front")], pitch[(side, "Hind")] = 40 * fold, 50 * fold
    return _stand(p, off, pitch)


def make():
    sk = bones()
    ps = parts(sk)
    L, R, F, H = "left", "right", "Front", "Hind"
    clips = [Clip("Idle", sk, 4.0, True, idle),
             gait("Walk", sk, 24, 0.42, 0.66, 0.045, {(L, H): 0.0, (L, F): 0.75, (R, H): 0.5, (R, F): 0.25}, walk_body),
             gait("Run", sk, 13, 1.15, 0.36, 0.070, {(L, H): 0.0, (R, H): 0.90, (L, F): 0.52, (R, F): 0.42}, run_body),
             Clip("Jump", sk, 38 / 30, False, jump)]
    glb = export.pack("Pup", MATERIALS, sk, ps, [], clips, {"coat": coat()})
    rig = {"sinew_rig": 1, "source": "pup.glb", "unit_m": 1.0,
           "extras": [{"type": "jiggle", "name": "belly", "joint": "spine", "radius_m": 0.10, "frequency_hz": 4.0, "damping_ratio": 0.25, "amount": 0.8}],
           "springs": [{"name": n, "joints": [{"node": j, "hitRadius": 0.01, "stiffness": k, "gravityPower": g, "gravityDir": [0, -1, 0], "dragForce": 0.4} for j in js], "colliders": [], "endLength": 0.05}
                       for n, js, k, g in (("ear_l", [f"leftEar{i}" for i in (1, 2, 3)], 0.8, 0.3), ("ear_r", [f"rightEar{i}" for i in (1, 2, 3)], 0.8, 0.3),
                                           ("tail", [f"tail{i}" for i in (1, 2, 3, 4)], 1.2, 0.05))],
           "controls": {"locomotion": {"idle": "Idle", "walk": {"clip": "Walk", "speed_m_s": 0.42}, "run": {"clip": "Run", "speed_m_s": 1.15}},
                        "actions": {"jump": {"clip": "Jump", "fade_s": 0.1}}, "bindings": {"key:Space": "jump", "gamepad:button0": "jump", "touch:tap": "jump"}}}
    return glb, rig

"""Hair: a grooved cap swept to a ponytail, fringe and side locks."""
import numpy as np
from head import CENTRE, ray, skull
from maths import Mesh, gradient, length, ramp, shoot, spline, unit, vec
from parts import Part, outward, tube
from weights import chain, rigid

TIE = vec(0, 1.522, -0.152)               # where the ponytail leaves the head


def on_head(az, el, lift):
    o, d = ray(np.asarray(az, float), np.asarray(el, float))
    p = shoot(skull, o, d, 0.4)
    return p + unit(gradient(skull, p)) * np.asarray(lift, float)[..., None]


def hairline(az):
    """Elevation of the hair's lower edge."""
    a = np.abs(az)
    return np.interp(a, (0, 25, 48, 62, 74, 84, 96, 112, 128, 150, 180), (47, 45, 36, 23, 12, 15, 17, 8, -22, -44, -48))


def cap(sk):
    cols, rows = 40, 10
    az = np.linspace(-180, 180, cols, endpoint=False)
    m = Mesh()
    rings = []
    for r in range(rows):
        t = (r + 1) / rows
        el = 90 - (90 - hairline(az)) * t
        lift = 0.0125 * np.ones(cols) * (1 - 0.45 * ramp(np.full(cols, t), 0.75, 1.0))
        p = on_head(az, el, lift)
        # strands run towards the tie
        q = p - TIE
        ang = np.arctan2(q[:, 0], q[:, 1] + 0.6 * q[:, 2])
        d = length(q)
        groove = 0.0024 * np.cos(ang * 17) * ramp(d, 0.04, 0.12)
        n = unit(gradient(skull, p))
        rings.append(m.ring(p + n * groove[:, None]))
    pole = m.add(on_head(np.zeros(1), np.full(1, 89.9), np.full(1, 0.0125))[0])
    for i in range(cols):
        m.quad(pole, rings[0][i], rings[0][(i + 1) % cols], rings[0][(i + 1) % cols], "cap")
    for a, b in zip(rings[:-1], rings[1:]):
        m.bridge(a, b, "cap")
    edge = rings[-1]
    inner = m.ring(on_head(az, hairline(az) + 1.5, np.full(cols, -0.004)))
    m.bridge(edge, inner, "cap")
    v, f = np.array(m.v), np.array(m.f)
    band = f[cols:]
    c = v[band].mean(1) - CENTRE
    nn = np.cross(v[band[:, 1]] - v[band[:, 0]], v[band[:, 2]] - v[band[:, 0]])
    if (nn * c).sum() < 0:
        band = band[:, ::-1]
    fan = f[:cols]
    c = v[fan].mean(1) - CENTRE
    nn = np.cross(v[fan[:, 1]] - v[fan[:, 0]], v[fan[:, 2]] - v[fan[:, 0]])
    if (nn * c).sum() < 0:
        fan = fan[:, [0, 2, 1, 1]]
    f = np.concatenate([fan, band])
    return Part("hair", v, f, _uv(v), rigid(len(v), sk, "head"), "hair")


def _uv(v):
    return np.stack([v[:, 0] * 2 + 0.5, v[:, 1] * 2 - 2.3], 1)


PROFILE = np.array([0.30, 0.72, 0.95, 1.0, 0.96, 0.84, 0.64, 0.38, 0.08])


def lock(ctrl, width, thick, rings=11, lift0=0.006, seg=8, curl=0.0, profile=PROFILE):
    """A tapered strand over the head; ctrl holds (azimuth, elevation, lift)."""
    t = np.linspace(0, 1, rings)
    c = spline(np.array(ctrl, float), t)
    p = on_head(c[:, 0], c[:, 1], c[:, 2])
    return strand(p, unit(p - CENTRE), width, thick, seg, profile)


def strand(p, out, width, thick, seg=8, profile=PROFILE):
    t = np.linspace(0, 1, len(p))
    tan = unit(np.gradient(p, axis=0))
    nrm = unit(out - tan * (out * tan).sum(1, keepdims=True))
    side = np.cross(tan, nrm)
    k = np.interp(t, np.linspace(0, 1, len(profile)), profile)
    v, f, _ = tube(p, width * k, thick * np.maximum(k, 0.12), side, nrm, seg)
    return v, outward(v, f)


FRINGE = [
    # azimuth, elevation, lift from the parting to the tip; width, thickness. The tips leave the brows free.
    ([(14, 74, 0.003), (2, 60, 0.019), (-12, 48, 0.022), (-24, 37, 0.019), (-31, 27, 0.017)], 0.025, 0.0105),
    ([(12, 76, 0.003), (-12, 60, 0.018), (-34, 44, 0.018), (-47, 25, 0.012), (-51, 8, 0.011)], 0.026, 0.0105),
    ([(16, 72, 0.003), (8, 58, 0.020), (-2, 47, 0.023), (-10, 37, 0.021), (-12, 27, 0.020)], 0.023, 0.0100),
    ([(20, 72, 0.003), (20, 58, 0.019), (14, 47, 0.022), (7, 38, 0.020), (3, 30, 0.020)], 0.020, 0.0095),
    ([(22, 72, 0.003), (31, 58, 0.019), (35, 46, 0.021), (34, 36, 0.018), (29, 28, 0.017)], 0.024, 0.0100),
    ([(24, 74, 0.003), (42, 58, 0.018), (52, 42, 0.017), (54, 24, 0.012), (49, 7, 0.012)], 0.026, 0.0105),
    ([(10, 78, 0.003), (-28, 66, 0.015), (-54, 46, 0.016), (-65, 24, 0.010), (-66, 2, 0.010)], 0.026, 0.0100),
    ([(28, 77, 0.003), (50, 62, 0.015), (64, 44, 0.015), (68, 22, 0.010), (66, 2, 0.010)], 0.026, 0.0100),
]


def build(sk):
    parts = [cap(sk)]
    for ctrl, w, h in FRINGE:
        v, f = lock(ctrl, w, h)
        parts.append(Part("hair", v, f, _uv(v), rigid(len(v), sk, "head"), "hair"))
    # the sides and the back are combed to the tie
    tip = TIE + vec(0, -0.004, 0.006)
    d1 = unit(tip - CENTRE)
    for a, e, w in ((26, 76, 0.028), (74, 22, 0.026), (70, 52, 0.030), (104, 22, 0.027), (122, -14, 0.026), (139, -36, 0.026), (160, -45, 0.026)):
        for s in (1, -1):
            o, d0 = ray(np.array([a * s * 1.0]), np.array([e * 1.0]))
            p0 = shoot(skull, o, d0, 0.4)[0]
            d0 = unit(p0 - CENTRE)
            t = np.linspace(0, 1, 11)
            ang = np.arccos(np.clip((d0 * d1).sum(), -1, 1))
            dirs = unit((np.sin((1 - t) * ang)[:, None] * d0 + np.sin(t * ang)[:, None] * d1) / np.sin(ang))
            q = shoot(skull, np.tile(CENTRE, (11, 1)), dirs, 0.4)
            lift = np.interp(t, (0, 0.12, 0.4, 0.8, 1), (0.0035, 0.0095, 0.0125, 0.0145, 0.012))
            q = q + dirs * lift[:, None]
            q[0] = q[0] - unit(q[1] - q[0]) * 0.010
            v, f = strand(q[[0, 1, 2, 3, 4, 6, 7, 9, 10]], dirs[[0, 1, 2, 3, 4, 6, 7, 9, 10]], w, 0.0095, 6, np.array([0.10, 0.62, 0.95, 1.0, 0.95, 0.80, 0.62, 0.48, 0.40]))
            parts.append(Part("hair", v, f, _uv(v), rigid(len(v), sk, "head"), "hair"))
    # side locks before the ears
    for s, side in ((1, "left"), (-1, "right")):
        t = np.linspace(0, 1, 15)
        a = np.array([(69, 34, 0.006), (71, 18, 0.008), (70, 2, 0.009), (67, -14, 0.010)])
        top = on_head(a[:, 0], a[:, 1], a[:, 2])
        path = np.concatenate([top, [(0.112, 1.335, 0.062), (0.106, 1.295, 0.074), (0.094, 1.258, 0.086)]])
        p = spline(path, t)
        p[:, 0] *= s
        v, f = strand(p, unit((p - vec(0, 1.38, 0)) * vec(1, 0, 1)), 0.0175, 0.0095)
        j = [f"{side}Lock1", f"{side}Lock2"]
        tt = np.interp(-v[:, 1], [-1.44, -sk.at(j[0])[1], -sk.at(j[1])[1], -1.255], [-0.7, 0, 1, 2])
        k = ramp(tt, -0.5, 0.5)[:, None]
        parts.append(Part("hair", v, f, _uv(v), rigid(len(v), sk, "head") * (1 - k) + chain(np.clip(tt, 0, 2), sk, j) * k, "hair"))
    # ponytail: a full, tapering body and three strands on it
    j = [f"ponytail{i}" for i in (1, 2, 3, 4)]
    ctrl = np.array([TIE + vec(0, -0.006, 0.016), (0, 1.522, -0.185), (0, 1.480, -0.215), (0, 1.395, -0.232), (0, 1.305, -0.226), (0, 1.215, -0.205)])

    def weigh(v):
        # nearest place along the middle line
        s = np.linspace(0, 1, 120)
        line = spline(ctrl, s)
        k = s[np.argmin(length(v[:, None] - line[None]), axis=1)]
        at = [s[np.argmin(length(line - sk.at(x)))] for x in j]
        tt = np.interp(k, [0] + at + [1], [-0.5, 0, 1, 2, 3, 4])
        wgt = chain(np.clip(tt, 0, 4), sk, j)
        h = ramp(tt, -0.5, 0.15)[:, None]
        return rigid(len(v), sk, "head") * (1 - h) + wgt * h

    t = np.linspace(0, 1, 17)
    p = spline(ctrl, t)
    prof = np.array([0.36, 0.50, 0.80, 1.0, 1.0, 0.92, 0.78, 0.58, 0.34, 0.06])
    v, f = strand(p, np.tile(vec(0, 0.3, -1), (len(p), 1)), 0.058, 0.046, 14, prof)
    parts.append(Part("hair", v, f, _uv(v), weigh(v), "hair"))
    for sx, dz, w, t1 in ((0.030, -0.018, 0.030, 0.92), (-0.032, -0.012, 0.028, 0.88), (0.002, -0.034, 0.030, 0.97), (0.022, 0.022, 0.026, 0.86), (-0.024, 0.020, 0.026, 0.94)):
        t = np.linspace(0.10, t1, 11)
        k = np.sin(np.pi * np.linspace(0.12, 0.86, 11))[:, None]
        p = spline(ctrl, t) + vec(sx, 0, dz) * k
        p[-1] += vec(sx * 0.8, -0.012, dz * 0.5)
        v, f = strand(p, np.tile(vec(sx * 20, 0.1, dz * 20), (11, 1)), w, 0.016, 8)
        parts.append(Part("hair", v, f, _uv(v), weigh(v), "hair"))
    # tie
    m = Mesh()
    d = unit(vec(0, -0.06, -1))
    c = TIE + d * 0.018
    e1, e2 = vec(1, 0, 0), unit(np.cross(d, (1, 0, 0)))
    rings = []
    for a in np.arange(16) * np.pi / 8:
        o = e1 * np.cos(a) + e2 * np.sin(a)
        rings.append(m.ring([c + o * (0.0265 + 0.0075 * np.cos(b)) + d * 0.0105 * np.sin(b) for b in np.arange(6) * np.pi / 3]))
    for a, b in zip(rings, rings[1:] + rings[:1]):
        m.bridge(a, b, "tie")
    v, f = np.array(m.v), np.array(m.f)
    parts.append(Part("scarf", v, outward(v, f), np.full((len(v), 2), 0.5), rigid(len(v), sk, "head"), "tie", group="hair"))
    # a small curl that stands up
    p = np.array([on_head(np.array([4.]), np.array([84.]), np.array([0.004]))[0] + q for q in
                  (vec(0, 0, 0), vec(0.004, 0.018, -0.002), vec(0.004, 0.036, 0.006), vec(-0.002, 0.048, 0.022), vec(-0.012, 0.046, 0.040))])
    p = spline(p, np.linspace(0, 1, 10))
    v, f = strand(p, np.tile(vec(0, 0.6, -1), (10, 1)), 0.010, 0.0055, 8)
    parts.append(Part("hair", v, f, _uv(v), rigid(len(v), sk, "head"), "hair"))
    return parts

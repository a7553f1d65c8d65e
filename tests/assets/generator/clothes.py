"""Tunic, trousers, boots, bracers, belt, scarf and cape."""
import numpy as np
from body import arm_field, leg_field, torso_field
from maths import Mesh, bump, gradient, join, length, normals, ramp, reach, shoot, smooth, unit, vec
from parts import Part, band, cylinder_uv, near, borders, outward, shell, tube
from skeleton import build as skeleton
from weights import chain


def dress(v, f, tags, nrm, w):
    """Shells cut from the body mesh."""
    parts = []
    x, y, z = np.abs(v[:, 0]), v[:, 1], v[:, 2]
    has = lambda *n: np.isin(tags, n)

    # bare arms and hands; they begin under the sleeve
    fs = f[has("arm", "palm", "cuff") | np.array([t.startswith("finger") for t in tags])]
    ax = np.abs(v[fs][:, :, 0])
    fs = fs[(ax.max(1) < 0.478) | (ax.min(1) > 0.530)]       # nothing under the bracers
    used, inv = np.unique(fs, return_inverse=True)
    fs = inv.reshape(fs.shape)
    parts.append(Part("skin", v[used], fs, np.full((len(used), 2), 0.02), w[used], "arms"))
    parts[-1].src = used

    # tunic: body and sleeves, a little loose at the hems
    off = np.full(len(v), 0.006) + 0.006 * ramp(x, 0.20, 0.285) + 0.006 * ramp(y, 0.87, 0.82) * (x < 0.2)
    off *= 1 - 0.6 * ramp(y, 1.205, 1.235) * (x < 0.1)
    fs = f[has("torso", "sleeve", "cuff")]
    sv, sf, src = shell(v, fs, nrm, off)
    # a short skirt grows from the waist's border
    sv2, sf2, src2, down = _skirt(v, f, tags, nrm, off)
    uv = cylinder_uv(sv, sf, 1, scale=(1, 1.0), shift=(0, -0.55))
    sleeve = (np.abs(sv[sf][:, :, 0]).max(1) > 0.150)
    uv[sleeve] = cylinder_uv(sv, sf[sleeve], 0, scale=(1, 1.0), shift=(0, 0.65))
    parts.append(Part("tunic", sv, sf, uv, w[src], "tunic"))
    parts[-1].src = src
    parts.append(_skirt_part(sv2, sf2, src2, down, w))

    # trousers, full above the boot
    off = 0.0045 - 0.006 * ramp(y, 0.70, 0.76) + 0.016 * bump(y - 0.330, 0.085) + 0.003 * ramp(y, 0.55, 0.40)
    off = off + 0.0022 * np.sin(y * 150 + z * 30 + x * 25) * bump(y - 0.33, 0.09)
    fs = f[has("leg", "pelvis")]
    sv, sf, src = shell(v, fs, nrm, off)
    uv = cylinder_uv(np.stack([np.abs(sv[:, 0]) - 0.088, sv[:, 1], sv[:, 2]], 1), sf, 1)
    parts.append(Part("trousers", sv, sf, uv, w[src], "trousers"))
    parts[-1].src = src

    # boots with a thick cuff and a dark sole
    off = 0.0060 + 0.0125 * ramp(y, 0.215, 0.235) + 0.0020 * ramp(y, 0.15, 0.24)
    fs = f[has("boot")]
    sv, sf, src = shell(v, fs, nrm, off)
    sv[:, 1] = np.maximum(sv[:, 1], 0)
    mid = sv[sf].mean(1)
    uv = cylinder_uv(np.stack([np.abs(sv[:, 0]) - 0.093, sv[:, 1], sv[:, 2]], 1), sf, 1, scale=(1, 1 / 0.32))
    cuff = mid[:, 1] > 0.222
    for name, sel in (("boots", ~cuff), ("trim", cuff)):
        parts.append(Part(name, sv, sf[sel], uv[sel], w[src], "boots", group="boots"))
        parts[-1].src, parts[-1].full = src, sf

    # bracers
    mid = np.abs(v[f].mean(1)[:, 0])
    fs = f[has("arm") & (mid > 0.462) & (mid < 0.545)]
    sv, sf, src = shell(v, fs, nrm, np.full(len(v), 0.0052) + 0.0016 * bump(x - 0.468, 0.012) + 0.0016 * bump(x - 0.538, 0.012))
    parts.append(Part("boots", sv, sf, np.full((len(sv), 2), 0.5), w[src], "bracer"))
    parts[-1].src = src
    return parts


def _loop(edges):
    nxt = dict(edges)
    start = min(nxt)
    out, k = [start], nxt[start]
    while k != start:
        out.append(k)
        k = nxt[k]
    return out


def hips_field(p):
    p = p * vec(1, 1, 1)
    p[..., 0] = np.abs(p[..., 0])
    return np.minimum(torso_field(p), leg_field(p))


def _skirt(v, f, tags, nrm, off):
    fs = f[tags == "torso"]
    edge = [(a, b) for a, b in borders(fs) if v[a, 1] < 0.90 and v[b, 1] < 0.90 and abs(v[a, 0]) < 0.2]
    ring = _loop(edge)
    m = Mesh()
    src, down = [], []
    rows = []
    a0 = np.arctan2(v[ring][:, 0], v[ring][:, 2])
    top = v[ring] + nrm[ring] * off[ring][:, None]
    o = unit(np.stack([top[:, 0], 0 * a0, top[:, 2] + 0.005], 1))
    axis = np.tile(vec(0, 0, -0.005), (len(ring), 1))
    last = length((top - axis) * vec(1, 0, 1))
    for k, d in enumerate((0.0, 0.028, 0.062, 0.100, 0.136, 0.168, 0.168, 0.120)):
        t = min(d / 0.168, 1)
        y = top[:, 1] * (1 - smooth(t * 3.2)) + (0.812 - d + 0.010 * np.cos(2 * a0) * t) * smooth(t * 3.2) - d * (1 - smooth(t * 3.2))
        if k == 0:
            pts = top
        elif k < 6:
            # never tighter than the hips and thighs below it
            at = axis + np.stack([0 * y, y, 0 * y], 1)
            r = reach(hips_field, at, o, 0.3) + 0.011 + 0.012 * t
            r = np.maximum(r, last + 0.002 + 0.006 * t)
            last = r
            pts = at + o * (r + 0.0055 * np.cos(a0 * 8) * t)[:, None]
        else:
            pts = pts * vec(1, 0, 1) + y[:, None] * vec(0, 1, 0) - o * (0.006 if k == 6 else 0.004)
        rows.append(m.ring(pts))
        src += list(ring)
        down += [t] * len(ring)
    for a, b in zip(rows[:-1], rows[1:]):
        m.bridge(a, b, "skirt")
    ff = np.array(m.f)
    vv = np.array(m.v)
    p = vv[ff]
    # outward check on the first row
    c = p.mean(1)
    n = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    if (n[:len(ring)] * c[:len(ring)] * vec(1, 0, 1)).sum() < 0:
        ff = ff[:, ::-1]
    return vv, ff, np.array(src), np.array(down)


def _skirt_part(v, f, src, down, w):
    """The hem goes with the thighs alone: any share of the hips would sink it into a raised leg."""
    sk = skeleton()
    leg = np.zeros((len(v), len(sk)))
    s = ramp(v[:, 0], -0.07, 0.07)
    leg[:, sk.index["leftUpperLeg"]], leg[:, sk.index["rightUpperLeg"]] = s, 1 - s
    k = ramp(down, 0.0, 0.50)[:, None]
    ws = w[src] * (1 - k) + leg * k
    uv = cylinder_uv(v, f, 1, shift=(0, -0.55))
    p = Part("tunic", v, f, uv, ws, "skirt", group="tunic")
    p.src = src
    return p


def around(y, n, off=0.0, cz=0.0, tilt=0.0):
    """Points round the torso at height y."""
    a = np.arange(n) * 2 * np.pi / n
    d = np.stack([np.sin(a), np.zeros(n), np.cos(a)], 1)
    o = np.tile(vec(0, y, cz), (n, 1))
    p = shoot(torso_field, o, d, 0.35)
    return p + d * off, d


def belt(bv, bw):
    p, d = around(0.878, 32, 0.0085)
    v, f = band(p, d, 0.016, 0.0050)
    f = outward(v, f)
    parts = [Part("boots", v, f, np.full((len(v), 2), 0.5), near(v, bv, bw), "belt", group="tunic")]
    # buckle: a rounded frame
    c = p[0] + vec(0, 0, 0.006)
    t = np.arange(16) * 2 * np.pi / 16
    sq = lambda a: np.sign(a) * np.abs(a) ** 0.55
    path = np.stack([0.020 * sq(np.cos(t)), 0.019 * sq(np.sin(t)), np.zeros(16)], 1) + c
    m = Mesh()
    rings = []
    for q in path:
        o = unit(q - c)
        rings.append(m.ring([q + o * 0.0045 * np.cos(a) + vec(0, 0, 0.004) * np.sin(a) for a in np.arange(6) * np.pi / 3]))
    for a, b in zip(rings, rings[1:] + rings[:1]):
        m.bridge(a, b, "buckle")
    f = np.array(m.f)
    v = np.array(m.v)
    f = outward(v, f)
    wt = np.tile(near(c[None], bv, bw), (len(v), 1))
    parts.append(Part("gold", v, f, np.full((len(v), 2), 0.5), wt, "buckle", group="tunic"))
    return parts


def scarf(sk):
    n, seg = 34, 10
    m = Mesh()
    a = np.arange(n) * 2 * np.pi / n
    rings = []
    for t in a:
        c = vec(0.066 * np.sin(t), 1.222 - 0.020 * np.cos(t) + 0.004 * np.sin(3 * t), -0.012 + 0.064 * np.cos(t))
        o = unit(vec(np.sin(t), 0.15, np.cos(t)))
        u = unit(vec(0, 1, 0) - o * o[1])
        ring = []
        for b in np.arange(seg) * 2 * np.pi / seg:
            fold = 1 + 0.08 * np.sin(3 * b + 2 * t) + 0.05 * np.sin(5 * t + b)
            ring.append(c + o * (0.0265 * np.cos(b) * fold) + u * (0.0335 * np.sin(b) * fold))
        rings.append(m.ring(ring))
    for p, q in zip(rings, rings[1:] + rings[:1]):
        m.bridge(p, q, "scarf")
    v, f = np.array(m.v), np.array(m.f)
    f = outward(v, f)
    w = np.zeros((len(v), len(sk)))
    k = 0.25 + 0.35 * ramp(v[:, 1], 1.19, 1.26)
    w[:, sk.index["neck"]] = k
    w[:, sk.index["upperChest"]] = 1 - k
    uv = np.stack([np.repeat(a / (2 * np.pi), seg), np.tile(0.2 + 0.4 * np.arange(seg) / seg, n)], 1)
    parts = [Part("scarf", v, f, uv, w, "scarf")]
    for name, top, x0, x1, end, wide in (("scarfFront", 1.205, 0.026, 0.052, 0.965, 0.030), ("scarfBack", 1.200, -0.012, -0.050, 1.035, 0.027)):
        t = np.linspace(0, 1, 16)
        y = top + (end - top) * t
        x = x0 + (x1 - x0) * t
        z = np.empty_like(t)
        for i in range(len(t)):
            o = np.array([[x[i], min(y[i], 1.19), 0.0]])
            z[i] = shoot(torso_field, o, vec(0, 0, 1)[None], 0.3)[0, 2] + 0.017
        z[0:2] = (0.088, 0.094)
        # cloth bridges hollows
        for _ in range(3):
            z[1:-1] = np.maximum(z[1:-1], 0.5 * (z[:-2] + z[2:]))
        p = np.stack([x, y, z + (0.004 if x0 < 0 else 0.0)], 1)
        tan = unit(np.gradient(p, axis=0))
        nrm = unit(vec(0, 0, 1) - tan * tan[:, 2:3])
        side = np.cross(tan, nrm)
        wd = wide * (0.62 + 0.38 * smooth(t * 3.2)) * np.where(t > 0.985, 0.96, 1)
        v, f, _ = tube(p, wd, np.full_like(t, 0.0055), side, nrm, 12)
        f = outward(v, f)
        j = [f"{name}{k}" for k in (1, 2, 3)]
        places = [sk.at(k)[1] for k in j]
        tt = np.interp(-v[:, 1], [-1.21, -places[0], -places[1], -places[2], -(places[2] - 0.07)], [-0.4, 0, 1, 2, 3])
        wc = chain(np.clip(tt, 0, 3), sk, j)
        up = np.zeros_like(wc)
        up[:, sk.index["upperChest"]] = 1
        k = ramp(tt, -0.4, 0.5)[:, None]
        uv = np.stack([np.full(len(v), 0.5), (top - v[:, 1]) / 0.24], 1)
        parts.append(Part("scarf", v, f, uv, up * (1 - k) + wc * k, "tail"))
    return parts


def shoulders_field(p):
    p = p * vec(1, 1, 1)
    p[..., 0] = np.abs(p[..., 0])
    return join(torso_field(p), arm_field(p), 0.05)


def clear(v, gap):
    """Moves points that are nearer than gap to the body out to it."""
    for _ in range(4):
        d = shoulders_field(v)
        g = unit(gradient(shoulders_field, v))
        v = v + g * np.maximum(gap - d, 0)[:, None]
    return v


CAPE_COLS, CAPE_ROWS = 25, 22


def cape(sk, bv, bw):
    """One layer of cloth that hangs from the shoulders behind the arms; colour set 1 red frees it downwards."""
    u = np.linspace(-1, 1, CAPE_COLS)
    t = np.linspace(0, 1, CAPE_ROWS) ** 1.25               # more rows where it bends over the shoulders
    v, uv, free = [], [], []
    for tv in t:
        for uu in u:
            # top edge lies on the shoulders, under the scarf
            a = uu * 1.95
            top = vec(0.120 * np.sin(a), 1.222 - 0.020 * uu * uu, -0.018 - 0.068 * np.cos(a))
            wide = 0.112 + 0.135 * tv ** 0.9
            back = -0.105 - 0.075 * smooth(tv * 1.3) - 0.03 * tv
            low = vec(wide * uu * 1.03, 1.215 - 0.475 * tv - 0.012 * uu * uu * (1 - tv), back + 0.055 * uu * uu * (0.6 + 0.4 * tv))
            k = smooth(tv / 0.19)
            p = top * (1 - k) + low * k
            p[1] = min(p[1], 1.224 - 0.475 * tv)
            p[1] += 0.058 * np.sin(np.pi * k) * uu * uu        # over the shoulder, not through it
            p[2] += 0.011 * np.cos(uu * 3.0 * np.pi) * smooth((tv - 0.12) / 0.7)
            v.append(p)
            uv.append((0.5 + 0.5 * uu, tv))
            free.append(smooth((tv - 0.03) / 0.2))
    m = CAPE_COLS
    f = [(r * m + c, r * m + c + 1, (r + 1) * m + c + 1, (r + 1) * m + c) for r in range(CAPE_ROWS - 1) for c in range(m - 1)]
    v, f = np.array(v), np.array(f)
    v = clear(v, 0.0175)
    n = normals(v, f)
    if n[:, 2].sum() > 0:
        f = f[:, ::-1]
    w = np.zeros((len(v), len(sk)))
    y = v[:, 1]
    a, b, c = ramp(y, 0.99, 1.12), ramp(y, 0.90, 1.02), ramp(y, 0.78, 0.92)
    w[:, sk.index["upperChest"]] = a
    w[:, sk.index["chest"]] = (1 - a) * b
    w[:, sk.index["spine"]] = (1 - a) * (1 - b) * c
    w[:, sk.index["hips"]] = (1 - a) * (1 - b) * (1 - c)
    k = ramp(np.array(uv)[:, 1], 0.20, 0.06)[:, None]      # on the shoulders it goes with the tunic
    w = near(v, bv, bw) * k + w * (1 - k)
    p = Part("cape", v, f, np.array(uv), w, "cape")
    p.color = np.array(free)
    return p


def clasp(sk, bv, bw):
    parts = []
    for s in (1, -1):
        c = clear(vec(0.112 * s, 1.215, -0.006)[None], 0.0190)[0]
        d = unit(gradient(shoulders_field, c[None]))[0]
        e1 = unit(np.cross(d, (0, 0, 1)))
        e2 = np.cross(d, e1)
        m = Mesh()
        prev = None
        for r, h in ((0.011, -0.006), (0.0135, 0.000), (0.0125, 0.0045), (0.008, 0.0068)):
            ring = m.ring([c + e1 * r * np.cos(a) + e2 * r * np.sin(a) + d * h for a in np.arange(12) * np.pi / 6])
            if prev:
                m.bridge(prev, ring, "clasp")
            prev = ring
        m.cap(prev, c + d * 0.0074, "clasp")
        v, f = np.array(m.v), np.array(m.f)
        f = outward(v, f)
        w = np.tile(near(c[None], bv, bw), (len(v), 1))
        parts.append(Part("gold", v, f, np.full((len(v), 2), 0.5), w, "clasp", group="cape"))
    return parts

"""The head: a grid in azimuth and elevation with edge loops around eyes and mouth, shot onto a distance field."""
import numpy as np
from maths import Mesh, average, ball, cone, ellipsoid, gradient, join, neighbours, shoot, spline, unit, vec
from parts import tube

EYE = vec(0.0525, 1.402, 0.0742)          # left eyeball
EYE_R = 0.0420
LID = 0.0034                                # the lids' rim lies this far outside the eyeball
CENTRE = vec(0, 1.41, 0)
EYE_W, EYE_UP, EYE_LOW = 0.0305, 0.0240, 0.0205
MOUTH_W, MOUTH_Y, SMILE = 0.0245, 1.3345, 0.0060
NOSE = vec(0, 1.374, 0.128)


def skull(p):
    """The head without lips and lids (mirror-symmetric)."""
    p = p.copy()
    p[..., 0] = np.abs(p[..., 0])
    d = ellipsoid(p, (0, 1.455, -0.020), (0.130, 0.132, 0.140))
    d = join(d, ellipsoid(p, (0, 1.388, 0.022), (0.096, 0.097, 0.090)), 0.05)
    d = join(d, ball(p, (0, 1.315, 0.080), 0.031), 0.045)
    d = join(d, ball(p, (0.054, 1.366, 0.066), 0.042), 0.04)
    d = join(d, cone(p, (0, 1.17, -0.020), (0, 1.36, -0.018), 0.040, 0.038), 0.03)
    return d


def face(p):
    p = p.copy()
    p[..., 0] = np.abs(p[..., 0])
    d = skull(p)
    d = join(d, cone(p, (0, 1.420, 0.108), (0, 1.382, 0.119), 0.008, 0.010), 0.022)
    d = join(d, ball(p, NOSE, 0.0095), 0.014)
    d = join(d, ball(p, NOSE + vec(0.0085, -0.0025, -0.009), 0.0065), 0.010)
    d = join(d, ball(p, EYE, EYE_R + LID + 0.0012), 0.010)
    z = LIP_Z
    up = np.minimum(cone(p, (0, MOUTH_Y + 0.0046, z - 0.0028), (0.010, MOUTH_Y + 0.0052, z - 0.0038), 0.0040, 0.0038),
                    cone(p, (0.010, MOUTH_Y + 0.0052, z - 0.0038), (0.0215, MOUTH_Y + SMILE - 0.0006, z - 0.0100), 0.0036, 0.0016))
    low = np.minimum(cone(p, (0, MOUTH_Y - 0.0050, z - 0.0034), (0.010, MOUTH_Y - 0.0040, z - 0.0046), 0.0050, 0.0046),
                     cone(p, (0.010, MOUTH_Y - 0.0040, z - 0.0046), (0.0205, MOUTH_Y + SMILE - 0.0030, z - 0.0100), 0.0044, 0.0016))
    return join(d, np.minimum(up, low), 0.007)


def front(f, x, y):
    """z of the surface f seen from the front."""
    x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    o = np.stack([x, y, np.zeros_like(x)], -1).reshape(-1, 3)
    d = np.broadcast_to(vec(0, 0, 1), o.shape)
    return shoot(f, o, d, 0.3)[:, 2].reshape(x.shape)


LIP_Z = float(front(skull, 0.0, MOUTH_Y)) + 0.0035

AZ = [0, 3, 6, 9] + list(9 + 5.3 * np.arange(1, 8)) + [52, 59, 67, 76, 86, 97, 108, 120, 132, 144, 156, 168, 180]
EYE_COL = (3, 10)
MOUTH_COL = 5
S = [85, 75, 65, 56, 48, 41, 35, 29.5, 24.5] + list(20 - 4.1 * np.arange(0, 11)) + \
    [-24.2, -27.3, -30.6, -33.8, -37, -40.3, -43.8, -48, -53, -59, -66, -73, -80, -87, -94, -100]
EYE_ROW = (9, 19)
MOUTH_ROW = (20, 26)
EYE_RINGS, MOUTH_RINGS = 4, 4              # loops between the grid's hole and the rim


def ray(az, s):
    """Origin and direction of the ray for azimuth and (extended) elevation in degrees."""
    az, s = np.radians(az), np.asarray(s, float)
    t = np.clip((-46 - s) / 54, 0, 1)
    el = np.radians(np.where(s >= -46, s, -46 * (1 - t)))
    o = CENTRE + t[..., None] * vec(0, -0.235, -0.012)
    d = np.stack([np.sin(az) * np.cos(el), np.sin(el), np.cos(az) * np.cos(el)], -1)
    return o, d


def angles(p):
    d = p - CENTRE
    return np.degrees(np.arctan2(d[..., 0], d[..., 2])), np.degrees(np.arctan2(d[..., 1], np.hypot(d[..., 0], d[..., 2])))


def eye_rim(n):
    """The lid margin, spoke 0 at the inner corner, over the upper lid to the outer at n / 2, back along the lower."""
    k = np.arange(n)
    a = np.pi - k * 2 * np.pi / n
    c, s = np.cos(a), np.sin(a)
    x = EYE_W * np.sign(c) * np.abs(c) ** 0.92
    y = np.where(s > 0, EYE_UP * np.abs(s) ** 0.80, -EYE_LOW * np.abs(s) ** 0.95)
    y = y + 0.0028 * c + np.where(s > 0, 0.0012 * c * np.abs(s), 0)
    r = EYE_R + LID
    return EYE + np.stack([x, y, np.sqrt(r * r - x * x - y * y)], -1)


def mouth_line(t):
    """The lip line at t = 0 (middle) to 1 (corner), on the surface, a little set in."""
    x = MOUTH_W * np.asarray(t, float)
    y = MOUTH_Y + SMILE * np.asarray(t) ** 2.0
    return np.stack([x, y, front(face, x, y)], -1)


class Head:
    """v, f, and where the loops are: eye[side][ring][spoke], mouth[ring][spoke] with ring 0 at the rim."""


def build():
    na, ns = len(AZ), len(S)
    uv, quads = [], []
    grid = -np.ones((ns, na), int)
    er, ec, mr = EYE_ROW, EYE_COL, MOUTH_ROW
    for j in range(ns):
        for i in range(na):
            in_eye = er[0] < j < er[1] and ec[0] < i < ec[1]
            in_mouth = mr[0] < j < mr[1] and i < MOUTH_COL
            if not (in_eye or in_mouth):
                grid[j, i] = len(uv)
                uv.append((AZ[i], S[j]))
    for j in range(ns - 1):
        for i in range(na - 1):
            if er[0] <= j < er[1] and ec[0] <= i < ec[1]:
                continue
            if mr[0] <= j < mr[1] and i < MOUTH_COL:
                continue
            quads.append((grid[j, i], grid[j + 1, i], grid[j + 1, i + 1], grid[j, i + 1]))
    fixed = np.zeros(len(uv), bool)
    uv = [tuple(p) for p in uv]

    def ring_loops(outer, rim, count, closed):
        loops = [None] * (count + 1)
        loops[count] = list(outer)
        for k in range(count - 1, -1, -1):
            t = 1 - k / count
            t = t ** 0.8
            ids = []
            for o, p in zip(outer, rim):
                ids.append(len(uv))
                uv.append(tuple(np.array(uv[o]) * (1 - t) + np.array(p) * t))
            loops[k] = ids
            up = loops[k + 1]
            n = len(ids)
            for i in range(n if closed else n - 1):
                j = (i + 1) % n
                quads.append((up[j], up[i], ids[i], ids[j]))
        return loops

    # spokes of the eye, clockwise from the inner side's middle, as seen in (azimuth, elevation)
    mid = (er[0] + er[1]) // 2
    outer = [grid[j, ec[0]] for j in range(mid, er[0], -1)] + [grid[er[0], i] for i in range(ec[0], ec[1])] + \
            [grid[j, ec[1]] for j in range(er[0], er[1])] + [grid[er[1], i] for i in range(ec[1], ec[0], -1)] + \
            [grid[j, ec[0]] for j in range(er[1], mid, -1)]
    n_eye = len(outer)
    rim3 = eye_rim(n_eye)
    eye = ring_loops(outer, np.stack(angles(rim3), -1), EYE_RINGS, True)
    # spokes of the mouth, from the middle of the upper lip over the corner to the middle of the lower
    mo = [grid[mr[0], i] for i in range(0, MOUTH_COL)] + [grid[j, MOUTH_COL] for j in range(mr[0], mr[1])] + \
         [grid[mr[1], i] for i in range(MOUTH_COL, -1, -1)]
    nm = len(mo)
    half = nm // 2
    t = np.concatenate([np.arange(half + 1), np.arange(half - 1, -1, -1)]) / half
    t = np.sin(t * np.pi / 2) ** 0.9
    line = mouth_line(t)
    mouth = ring_loops(mo, np.stack(angles(line), -1), MOUTH_RINGS, False)
    _shape_lip_rings(uv, mouth, t)

    uv = np.array(uv)
    quads = np.array(quads)
    # relax the plane: loops become round, the grid makes room
    fixed = np.zeros(len(uv), bool)
    fixed[eye[0]] = fixed[mouth[0]] = True
    for k in (1, 2):
        fixed[mouth[k]] = True
    fixed |= (np.abs(uv[:, 0]) > 70) | (uv[:, 1] > 44) | (uv[:, 1] < -60)
    onmid = uv[:, 0] < 1e-6
    nb = neighbours(len(uv), quads)
    for _ in range(40):
        new = uv + 0.4 * (average(uv, nb) - uv)
        new[fixed] = uv[fixed]
        new[onmid, 0] = 0
        # one-sided average on the middle line: only along it
        uv = np.where(onmid[:, None], np.stack([uv[:, 0], new[:, 1]], 1), new)
    o, d = ray(uv[:, 0], uv[:, 1])
    v = shoot(face, o, d, 0.4)
    v[eye[0]] = rim3
    v[mouth[0]] = line + vec(0, 0, -0.0030)
    v[mouth[1]] += vec(0, 0, -0.0006)
    v = list(v)

    def inward(loop, pts, closed):
        ids = []
        for p in pts:
            ids.append(len(v))
            v.append(np.asarray(p))
        n = len(ids)
        for i in range(n if closed else n - 1):
            j = (i + 1) % n
            extra.append((loop[j], loop[i], ids[i], ids[j]))
        return ids

    extra = []
    # lid edge: onto the eyeball, then tucked behind its front
    d = unit(rim3 - EYE)
    flat = d * vec(1, 1, 0)
    e1 = inward(eye[0], EYE + d * (EYE_R + 0.0002) - flat * 0.0006, True)
    e2 = inward(e1, EYE + unit(d + flat * 0.35) * (EYE_R - 0.0030), True)
    # lips turn in, then the bag
    lip = np.array([v[i] for i in mouth[0]])
    sgn = np.where(np.arange(nm) < half, 1.0, -1.0)
    sgn[half] = 0
    k1 = inward(mouth[0], lip + np.stack([-lip[:, 0] * 0.04, sgn * 0.0006, np.full(nm, -0.0055)], 1), False)
    shapes = ((0.98, 0.0100, 0.0085, -0.013), (1.15, 0.018, 0.019, -0.028), (1.10, 0.020, 0.022, -0.046), (0.6, 0.012, 0.014, -0.062))
    prev, bag = k1, []
    ang = np.linspace(np.pi / 2, -np.pi / 2, nm)
    for w, up, low, z in shapes:
        x = MOUTH_W * w * np.cos(ang)
        y = MOUTH_Y + np.where(ang > 0, up, low) * np.sin(ang)
        zz = LIP_Z + z - 0.35 * x * x / MOUTH_W
        x[0] = x[-1] = 0
        prev = inward(prev, np.stack([x, y, zz], 1), False)
        bag.append(prev)
    for i in range(half):                                    # close the bag's back
        a, b, c, e = prev[i], prev[i + 1], prev[nm - 2 - i], prev[nm - 1 - i]
        extra.append((b, a, e, c) if b != c else (b, a, e, e))
    pole = len(v)
    v.append(shoot(face, CENTRE[None], vec(0, 1, 0)[None], 0.4)[0])
    for i in range(0, na - 1):
        extra.append((pole, grid[0, i], grid[0, i + 1], grid[0, i + 1]))
    v = np.array(v)
    v[v[:, 0] < 1e-7, 0] = 0
    q = np.concatenate([quads, np.array(extra)])

    # mirror and weld the middle
    n = len(v)
    onmid = v[:, 0] == 0
    remap = np.where(onmid, np.arange(n), np.arange(n) + n)
    keep = np.concatenate([np.ones(n, bool), ~onmid])
    new = np.cumsum(keep) - 1
    right = new[remap]
    h = Head()
    h.v = np.concatenate([v, v * vec(-1, 1, 1)])[keep]
    h.f = np.concatenate([q, new[remap[q]][:, ::-1]])
    h.mirror = np.arange(len(h.v))
    h.mirror[:n] = right
    h.mirror[right] = np.arange(n)
    loops = [np.array(x) for x in [e2, e1] + eye]            # ring -2, -1, 0 = rim, 1 ...
    h.eye = {"left": loops, "right": [right[x] for x in loops]}
    h.n_eye, h.eye_rim = n_eye, 2
    ml = [np.array(x) for x in bag[::-1] + [k1] + mouth]
    h.mouth = ml
    h.mouth_right = [right[x] for x in ml]
    h.mouth_rim = len(bag) + 1
    h.n_mouth, h.mouth_half = nm, half
    h.mouth_t = t
    h.inner = np.zeros(len(h.v), bool)                       # mouth lining
    for x in bag + [k1]:
        h.inner[x] = h.inner[right[x]] = True
    h.az, h.el = angles(h.v)
    return h


def _shape_lip_rings(uv, mouth, t):
    """Two loops keep the lips' own width; given in degrees around the lip line."""
    line = np.array([uv[i] for i in mouth[0]])
    n = len(line)
    half = n // 2
    for k, (up, low, wide) in ((1, (1.7, 2.0, 0.6)), (2, (3.6, 4.5, 1.4))):
        for i in range(n):
            c = np.sqrt(max(1 - t[i] ** 2, 0))
            sgn = 1 if i < half else -1
            h = up if sgn > 0 else low
            if i == half:
                c = 0
            bow = 0.55 * np.exp(-((t[i] - 0.0) / 0.16) ** 2) * (sgn > 0)       # the dip of the upper lip
            uv[mouth[k][i]] = (line[i, 0] * (1 + 0.01 * k) + wide * t[i] ** 3, line[i, 1] + sgn * (h * (0.18 + 0.82 * c) - bow * k * 0.5) * (i != half))


# ---- eyes, ears, brows, lashes, teeth, tongue -------------------------------------------


def eyeball(side=1, rings=9, seg=20):
    """A ball with its pole forwards; u, v is the front view, so that one round picture paints it."""
    m = Mesh()
    ang = np.radians(np.array([0, 10, 20, 30, 42, 55, 68, 82, 100, 125])[:rings + 1])
    c = EYE * vec(side, 1, 1)
    prev, uv = None, []
    top = m.add(c + vec(0, 0, EYE_R))
    uv.append((0.5, 0.5))
    for a in ang[1:]:
        pts = [c + EYE_R * vec(np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)) for b in np.arange(seg) * 2 * np.pi / seg]
        ring = m.ring(pts)
        r = 0.5 * min(a / np.radians(90), 1.0)
        uv += [(0.5 + r * np.cos(b), 0.5 - r * np.sin(b)) for b in np.arange(seg) * 2 * np.pi / seg]
        if prev is None:
            for i in range(seg):
                m.quad(top, ring[i], ring[(i + 1) % seg], ring[(i + 1) % seg], "eye")
        else:
            m.bridge(ring, prev, "eye")
        prev = ring
    return np.array(m.v), np.array(m.f), np.array(uv)


def brow(side=1):
    t = np.linspace(0, 1, 13)
    ctrl = np.array([(0.0190, 1.4600), (0.034, 1.4665), (0.052, 1.4690), (0.069, 1.4655), (0.085, 1.4545)])
    xy = spline(ctrl, t)
    z = front(face, xy[:, 0], xy[:, 1])
    p = np.stack([xy[:, 0], xy[:, 1], z], 1)
    n = unit(gradient(face, p))
    p = p + n * 0.0005
    tan = unit(np.gradient(p, axis=0))
    up = unit(np.cross(n, tan))
    h = 0.0052 * np.array([0.62, 0.86, 0.97, 1, 1, 0.98, 0.94, 0.88, 0.80, 0.70, 0.57, 0.40, 0.16])
    v, f, _ = tube(p, h, 0.0026 * np.sqrt(h / h.max()), up, n, 8)
    return _side(v, f, side)


def _side(v, f, side):
    if side < 0:
        return v * vec(-1, 1, 1), f[:, ::-1]
    return v, f


def ear(side=1, seg=16):
    c = vec(0.1215, 1.392, -0.010)
    out = unit(vec(1, 0.06, 0.10))
    up = unit(vec(0.04, 1, -0.20))
    fwd = unit(np.cross(up, out))
    fwd = fwd if fwd[2] > 0 else -fwd
    ang = np.arange(seg) * 2 * np.pi / seg
    outline = lambda k: np.stack([k * 0.0225 * np.cos(ang) * (1 - 0.10 * np.sin(ang)), k * 0.0335 * np.sin(ang) * (1 + 0.06 * np.cos(ang))], 1)
    m = Mesh()
    rings = []
    # scale of the outline and distance from the head along `out`
    for k, o in ((0.62, -0.016), (0.80, 0.000), (0.98, 0.010), (1.02, 0.015), (0.96, 0.0185), (0.84, 0.0175), (0.72, 0.0135), (0.48, 0.0095)):
        yz = outline(k)
        flare = 0.006 * np.clip(-np.cos(ang), -0.4, 1)       # the back edge stands off
        rings.append(m.ring([c + fwd * (a + 0.006) + up * b + out * (o + fl * (o > 0)) for (a, b), fl in zip(yz, flare)]))
    for a, b in zip(rings[:-1], rings[1:]):
        m.bridge(a, b, "ear")
    m.cap(rings[-1], c + fwd * 0.006 + out * 0.0085, "ear")
    f = np.array(m.f)
    return _side(np.array(m.v), f, side)


def lashes(h, side):
    """A dark band on the upper lid's edge with a wing at the outer corner; returns which spokes it rides on."""
    rim = h.v[h.eye[side][h.eye_rim]]
    e = EYE * vec(1 if side == "left" else -1, 1, 1)
    half = h.n_eye // 2
    spokes = np.arange(1, half + 1)
    out = lash_out(rim, spokes, half, e)
    m = Mesh()
    inner = m.ring(rim[spokes] + out[1])
    ridge = m.ring(rim[spokes] + out[2])
    tip = m.ring(rim[spokes] + out[0])
    back = m.ring(rim[spokes] + out[3])
    m.bridge(inner, ridge, "lash", False)
    m.bridge(ridge, tip, "lash", False)
    m.bridge(tip, back, "lash", False)
    m.bridge(back, inner, "lash", False)
    f = np.array(m.f)
    if side == "right":
        f = f[:, ::-1]
    return np.array(m.v), f, spokes


def lash_out(rim, spokes, half, e, closed=0.0):
    """Offsets of the band's four lines from the lid's rim: tip, inner, ridge, back."""
    sgn = np.sign(e[0])
    p = rim[spokes]
    n = unit(p - e)
    t = spokes / half
    size = 0.0016 + 0.0042 * np.sin(np.pi * np.clip(t * 0.80 + 0.04, 0, 1)) + 0.0062 * np.clip((t - 0.70) / 0.30, 0, 1) ** 1.6
    rise = np.where(t < 0.999, 1.0, 0.7)
    updir = np.stack([sgn * (0.10 + 1.15 * np.clip((t - 0.45) / 0.55, 0, 1) ** 1.5), (1 - 1.35 * closed) * rise, np.full(len(t), 0.0)], 1)
    updir = unit(updir - n * (updir * n).sum(1, keepdims=True))
    tip = updir * size[:, None] + n * (0.0012 + 0.30 * size[:, None])
    down = np.stack([np.zeros(len(t)), np.full(len(t), -1.0), np.zeros(len(t))], 1)
    inner = n * 0.0004 + down * 0.0006
    ridge = n * 0.0022 + updir * size[:, None] * 0.25
    back = n * 0.0002 + updir * size[:, None] * 0.45
    return tip, inner, ridge, back


def teeth(upper):
    t = np.linspace(-1, 1, 15)
    a = t * 1.15
    w = 0.0225
    x = w * np.sin(a) / np.sin(1.15)
    z = LIP_Z - 0.0125 - 0.019 * (1 - np.cos(a))
    y = np.full_like(t, MOUTH_Y + (0.0042 if upper else -0.0062))
    p = np.stack([x, y, z], 1)
    tan = unit(np.gradient(p, axis=0))
    up = np.broadcast_to(vec(0, 1, 0), p.shape)
    nrm = unit(np.cross(tan, up))
    h = np.full_like(t, 0.0052 if upper else 0.0048) * np.where(np.abs(t) > 0.95, 0.6, 1)
    v, f, _ = tube(p, h, np.full_like(t, 0.0026), up, nrm, 8)
    return v, f


def tongue():
    t = np.linspace(0, 1, 11)
    p = np.stack([np.zeros_like(t), MOUTH_Y - 0.0135 + 0.004 * np.sin(t * 2.6), LIP_Z - 0.060 + 0.043 * t], 1)
    w = 0.0175 * np.sqrt(np.clip(1 - (np.clip(t - 0.45, 0, 1) / 0.56) ** 2, 0.03, 1))
    h = 0.0058 * np.sqrt(np.clip(1 - (np.clip(t - 0.4, 0, 1) / 0.62) ** 2, 0.05, 1))
    side = np.broadcast_to(vec(1, 0, 0), p.shape)
    tan = unit(np.gradient(p, axis=0))
    up = unit(np.cross(tan, side))
    v, f, _ = tube(p, w, h, side, up, 12)
    # a groove along the middle
    v[:, 1] -= 0.0016 * np.exp(-(v[:, 0] / 0.005) ** 2) * (v[:, 1] > MOUTH_Y - 0.0125)
    return v, f


if __name__ == "__main__":
    h = build()
    print(len(h.v), len(h.f), "lip z", LIP_Z, "front at eye", front(skull, EYE[0], EYE[1]), h.v.min(0), h.v.max(0))
    print("chin", [round(float(front(face, 0, y)), 4) for y in (1.29, 1.30, 1.31, 1.32, 1.334, 1.36, 1.374, 1.40, 1.46, 1.5)])

"""The 52 face shapes and eight body and face variants, as offsets of every part's vertices."""
import numpy as np
import head
from head import EYE, EYE_R, LID, MOUTH_W, MOUTH_Y, LIP_Z, SMILE
from maths import bump, length, qmat, quat, ramp, unit, vec

ARKIT = ("browDownLeft browDownRight browInnerUp browOuterUpLeft browOuterUpRight cheekPuff cheekSquintLeft cheekSquintRight "
         "eyeBlinkLeft eyeBlinkRight eyeLookDownLeft eyeLookDownRight eyeLookInLeft eyeLookInRight eyeLookOutLeft eyeLookOutRight "
         "eyeLookUpLeft eyeLookUpRight eyeSquintLeft eyeSquintRight eyeWideLeft eyeWideRight jawForward jawLeft jawOpen jawRight "
         "mouthClose mouthDimpleLeft mouthDimpleRight mouthFrownLeft mouthFrownRight mouthFunnel mouthLeft mouthLowerDownLeft "
         "mouthLowerDownRight mouthPressLeft mouthPressRight mouthPucker mouthRight mouthRollLower mouthRollUpper mouthShrugLower "
         "mouthShrugUpper mouthSmileLeft mouthSmileRight mouthStretchLeft mouthStretchRight mouthUpperUpLeft mouthUpperUpRight "
         "noseSneerLeft noseSneerRight tongueOut").split()
VARIANTS = "bodyHeavy bodyThin bodyTall bodyBroad bodyMuscular faceRound faceNarrow faceLong".split()

JAW = vec(0, 1.368, 0.012)
JAW_DEG = 19.0
FLIP = vec(-1, 1, 1)


def turn(p, centre, axis, deg):
    return (p - centre) @ qmat(quat(axis, deg)).T + centre - p


class Face:
    """What the sculpting functions need to know of each head vertex."""

    def __init__(self, h, jaw):
        self.h, self.v, self.jaw = h, h.v, jaw
        n = len(h.v)
        v = h.v
        # lip: +1 upper, -1 lower, exact on the loops, smooth elsewhere
        line = MOUTH_Y + SMILE * np.clip(np.abs(v[:, 0]) / MOUTH_W, 0, 1) ** 2.0
        self.lip = 2 * ramp(v[:, 1], line - 0.003, line + 0.003) - 1
        self.ring = np.full(n, 99)
        self.t = np.clip(np.abs(v[:, 0]) / MOUTH_W, 0, 1.6)
        for loops in (h.mouth, h.mouth_right):
            for r, ids in enumerate(loops):
                self.ring[ids] = r - h.mouth_rim
                s = np.ones(len(ids))
                s[h.mouth_half + 1:] = -1
                s[h.mouth_half] = 0
                self.lip[ids] = s
                if r <= h.mouth_rim + 2:
                    self.t[ids] = h.mouth_t
        x = np.clip(v[:, 0], -MOUTH_W, MOUTH_W)
        seg = np.stack([x, MOUTH_Y + SMILE * (np.abs(x) / MOUTH_W) ** 2.0, LIP_Z - 14.0 * x * x], 1)
        self.reach = length((v - seg) * vec(1, 1, 0.55))
        self.mouth = np.exp(-(self.reach / 0.0165) ** 2)
        self.wide = np.exp(-(self.reach / 0.026) ** 2)
        self.left = ramp(v[:, 0], -0.010, 0.010)
        self.up = np.clip(self.lip, 0, 1)
        self.low = np.clip(-self.lip, 0, 1)

    def near(self, c, r):
        return np.exp(-(length(self.v - vec(*c)) / r) ** 2)


CORNER = (MOUTH_W, MOUTH_Y + SMILE, 0.112)


def lids(h, side, up, low, line=0.56, ring_fall=(1.0, 0.74, 0.46, 0.20, 0.0)):
    """Offsets that carry the upper lid `up` and the lower lid `low` of the way to the closing line; 1, 1 closes exactly."""
    s = 1 if side == "left" else -1
    e = EYE * vec(s, 1, 1)
    n, half = h.n_eye, h.n_eye // 2
    rim = h.v[h.eye[side][h.eye_rim]]
    target = rim.copy()
    R = EYE_R + LID
    for i in range(1, half):
        u, l = rim[i] - e, rim[n - i] - e
        k = line + 0.06 * np.sin(np.pi * i / half)
        c = u * (1 - k) + l * k
        rr = R + 0.0014 * np.sin(np.pi * i / half)
        c[2] = np.sqrt(rr * rr - c[0] ** 2 - c[1] ** 2)
        target[i] = target[n - i] = np.round(e + c, 5)
    go = np.zeros(n)
    go[1:half] = up
    go[half + 1:] = low
    d = np.zeros_like(h.v)
    rim_r = np.round(rim, 5)
    for r, ids in enumerate(h.eye[side]):
        k = r - h.eye_rim
        p = h.v[ids]
        if k < 0:
            # the lid's thickness turns with its rim
            scale = length(p - e) / length(rim - e)
            q = e + (target - e) * scale[:, None]
            tuck = np.zeros_like(p)
            tuck[1:half, 1], tuck[half + 1:, 1] = 0.0016 * -k, -0.0016 * -k
            if k == -1:
                tuck *= 0
            q = q + tuck * vec(1, 1, 1)
            d[ids] = (q - p) * go[:, None]
            continue
        if k >= len(ring_fall):
            continue
        w = ring_fall[k]
        move = (target - rim_r) * (go * w)[:, None]
        if k:
            q = p + move
            o = q - e
            far = length(o)
            floor = R + 0.0008 + 0.0006 * k
            full = np.abs(go) > 0
            need = np.where(full & (far < floor), floor / np.maximum(far, 1e-9), 1)
            q = e + o * need[:, None]
            d[ids] = q - p
        else:
            d[ids] = move
    return d


def sculpt_left(f):
    """Head offsets of every shape that has a left side, and of the shapes without sides."""
    h, v, L = f.h, f.v, f.left
    out = {}
    col = lambda w, *d: np.asarray(w)[:, None] * vec(*d)
    x, y, z = v[:, 0], v[:, 1], v[:, 2]
    corner = f.near(CORNER, 0.0185) * np.where(f.ring < -1, 0.8, 1.0)
    corner_wide = f.near(CORNER, 0.030)
    cheek = f.near((0.062, 1.368, 0.095), 0.026)

    # brows
    ctrl = np.array([(0.020, 1.4565), (0.054, 1.4670), (0.085, 1.4540)])
    by = np.interp(x, ctrl[:, 0], ctrl[:, 1])
    bx = np.clip(x, 0.018, 0.086)
    dist = np.hypot(x - bx, y - by)
    row = np.exp(-(dist / np.where(y > by, 0.022, 0.015)) ** 2) * ramp(z, 0.02, 0.07)
    inner, outer = ramp(x, 0.060, 0.024), ramp(x, 0.040, 0.076)
    out["browDownLeft"] = col(row * (0.45 + 0.55 * inner) * L, -0.0030, -0.0105, 0.0015)
    out["browOuterUpLeft"] = col(row * outer, 0.0006, 0.0115, -0.0025)
    row2 = np.exp(-(np.hypot(np.maximum(np.abs(x) - 0.030, 0), y - 1.460) / 0.018) ** 2) * ramp(z, 0.02, 0.07)
    out["browInnerUp"] = col(row2 * ramp(np.abs(x), 0.062, 0.026), 0, 0.0125, -0.0020)

    # lids
    blink = lids(h, "left", 1, 1)
    out["eyeBlinkLeft"] = blink
    out["eyeSquintLeft"] = lids(h, "left", 0.22, 0.52) + col(f.near((0.056, 1.372, 0.108), 0.016) * (f.ring_eye > 3), 0, 0.0030, 0.0010)
    out["eyeWideLeft"] = lids(h, "left", -0.26, -0.14)
    out["eyeLookUpLeft"] = lids(h, "left", -0.17, 0.06)
    out["eyeLookDownLeft"] = lids(h, "left", 0.44, -0.07)
    out["eyeLookInLeft"] = lids(h, "left", 0.03, 0.02)
    out["eyeLookOutLeft"] = lids(h, "left", 0.03, 0.02)

    # jaw
    out["jawOpen"] = f.jaw[:, None] * turn(v, JAW, (1, 0, 0), JAW_DEG) - \
        np.stack([0.07 * x * f.mouth, 0 * x, 0 * x], 1) + col(f.mouth * f.up * np.clip(1 - f.t, 0, 1), 0, 0.0022, 0)
    # closed lips travel together, the lower a little further
    near_lips = np.exp(-(f.reach / 0.0145) ** 4)
    slide = f.jaw * (1 - near_lips) + near_lips * (0.66 - 0.14 * f.lip)
    out["jawForward"] = col(slide, 0, -0.0006, 0.0085)
    out["jawLeft"] = col(slide, 0.0090, 0.0, 0) + col(slide * np.abs(x) / MOUTH_W * np.sign(x) * near_lips, 0, 0, -0.0022)

    # mouth
    out["mouthSmileLeft"] = col(corner * 0.75 + corner_wide * 0.25, 0.0100, 0.0105, -0.0075) + col(cheek, 0.0012, 0.0046, 0.0030) + \
        col(f.mouth * L * (1 - corner) * f.low, 0.0, -0.0008, -0.0012)
    out["mouthFrownLeft"] = col(corner * 0.8 + corner_wide * 0.2, 0.0022, -0.0115, -0.0030) + col(f.mouth * f.low * L * (1 - corner), 0, 0.0012, 0.001)
    out["mouthDimpleLeft"] = col(f.near(CORNER, 0.015), 0.0070, 0.0014, -0.0075)
    out["mouthStretchLeft"] = col(corner * 0.8 + corner_wide * 0.2, 0.0125, -0.0035, -0.0085) + col(f.mouth * f.low * L * (1 - corner), 0, -0.0022, -0.0015)
    out["mouthLeft"] = col(f.wide, 0.0125, 0.0, 0) + col(f.wide * x / MOUTH_W, 0, 0.0012, -0.0035)
    squeeze = f.wide
    lift = f.lip * np.clip(1.1 - f.t, 0, 1)
    thick = np.where((f.ring >= 1) & (f.ring < 90), np.clip(f.ring, 0, 2) / 2.0, 0) * f.lip * np.clip(1.2 - f.t, 0, 1)
    out["mouthPucker"] = np.stack([-0.46 * x * squeeze, -0.10 * (y - MOUTH_Y) * squeeze + 0.0022 * thick * f.mouth, 0.0105 * squeeze + 0.010 * np.abs(x) / MOUTH_W * f.mouth * 0.5], 1)
    out["mouthFunnel"] = np.stack([-0.34 * x * squeeze, f.mouth * lift * np.where(f.lip > 0, 0.0062, 0.0075), 0.0110 * squeeze + 0.004 * np.abs(x) / MOUTH_W * f.mouth], 1)
    k = np.select([f.ring == -1, f.ring == 0, f.ring == 1, f.ring == 2, f.ring == 3], [0.8, 1.0, 0.85, 0.45, 0.15], 0) * np.clip(1.08 - f.t ** 3, 0, 1)
    out["mouthRollUpper"] = col(k * f.up, 0, -0.0034, -0.0062)
    out["mouthRollLower"] = col(k * f.low, 0, 0.0040, -0.0066)
    chin = f.near((0, 1.308, 0.106), 0.024)
    out["mouthShrugLower"] = col(f.mouth * np.clip(1.15 - f.t, 0, 1), 0, 0.0052, 0.0016) + col(f.mouth * f.low * np.clip(1.1 - f.t, 0, 1), 0, 0.0, 0.0028) + col(chin, 0, 0.0050, 0.0018)
    out["mouthShrugUpper"] = col(f.mouth * f.up * np.clip(1.15 - f.t, 0, 1), 0, 0.0046, 0.0034)
    flat = np.select([f.ring == 1, f.ring == 2, f.ring == 3], [0.7, 1.0, 0.6], 0)
    out["mouthPressLeft"] = col(flat * f.lip * L, 0, -0.0026, 0) + col(f.mouth * L * (f.ring <= 2), 0, 0, -0.0020) + col(f.near(CORNER, 0.012), 0.0014, 0.0012, -0.0012)
    bell = np.exp(-((x - 0.013) / 0.0115) ** 2) * np.clip(1.25 - f.t ** 4, 0, 1) * (f.t < 0.999)
    out["mouthLowerDownLeft"] = col(f.mouth * f.low * bell, 0.0008, -0.0105, -0.0010)
    out["mouthUpperUpLeft"] = col(f.mouth * f.up * bell, 0.0004, 0.0085, -0.0008) + col(f.near((0.03, 1.362, 0.115), 0.016), 0, 0.0022, 0.0010)
    out["mouthClose"] = mouth_close(f, out["jawOpen"])

    # cheeks and nose
    n = h.normal
    puff = f.near((0.056, 1.345, 0.088), 0.030)
    puffr = f.near((-0.056, 1.345, 0.088), 0.030)
    out["cheekPuff"] = n * ((puff + puffr) * 0.0165 * (f.ring > 3))[:, None] + col(f.mouth * (np.abs(f.ring) < 4), 0, 0, 0.0020)
    out["cheekSquintLeft"] = col(cheek, 0.0006, 0.0085, 0.0042) + lids(h, "left", 0.0, 0.24)
    wing = f.near((0.014, 1.376, 0.122), 0.0135)
    out["noseSneerLeft"] = col(wing, 0.0012, 0.0060, 0.0006) + col(f.near((0.012, 1.408, 0.118), 0.012), -0.0006, 0.0020, 0.0022) + \
        col(f.mouth * f.up * bell, 0, 0.0040, 0.0006)
    out["tongueOut"] = np.zeros_like(v)
    for k in list(out):
        if k.endswith("Left") and k.startswith(("mouth", "nose", "cheek", "brow")) and k not in ("mouthLeft",):
            # the middle line belongs half to each side
            out[k] = out[k] * ramp(x, -0.016, 0.010)[:, None]
    return out


def mouth_close(f, open_delta):
    """With jawOpen full, brings both lips to one line; alone it presses the lower lip up under the upper."""
    h = f.h
    d = np.zeros_like(f.v)
    half, nm = h.mouth_half, h.n_mouth
    fall = {-2: 0.35, -1: 1.0, 0: 1.0, 1: 0.94, 2: 0.80, 3: 0.50, 4: 0.22}
    for loops in (h.mouth, h.mouth_right):
        rim = loops[h.mouth_rim]
        now = np.round(f.v[rim], 5) + np.round(open_delta[rim], 5)
        goal = now.copy()
        for i in range(half):
            a, b = now[i], now[nm - 1 - i]
            goal[i] = goal[nm - 1 - i] = np.round(a * 0.42 + b * 0.58, 5)
        move = goal - now
        for r, ids in enumerate(loops):
            w = fall.get(r - h.mouth_rim, 0.0)
            if r - h.mouth_rim == 0:
                d[ids] = move
            elif w:
                d[ids] = move * w
    d[np.abs(f.v[:, 0]) < 1e-9, 0] = 0
    return d


LOOK = {"Up": ((1, 0, 0), -20), "Down": ((1, 0, 0), 24), "In": ((0, 1, 0), -26), "Out": ((0, 1, 0), 28)}


def apply(sk, h, parts):
    """Sets part.deltas for every shape and returns the shapes' names in order."""
    from maths import normals
    by = {}
    for p in parts:
        by.setdefault(p.kind, []).append(p)
    h.normal = normals(h.v, h.f)
    f = Face(h, h.jaw)
    f.ring_eye = np.full(len(h.v), 99)
    for side in ("left", "right"):
        for r, ids in enumerate(h.eye[side]):
            f.ring_eye[ids] = r - h.eye_rim
    left = sculpt_left(f)
    mirror = lambda d: d[h.mirror] * FLIP
    full = {}
    for n in ARKIT:
        if n in left:
            full[n] = left[n]
        else:
            full[n] = mirror(left[n.replace("Right", "Left")])
    for p in by["head"]:
        p.deltas.update(full)
    _brows(by["brow"], left, f)
    for side in ("left", "right"):
        _lashes(h, by[side + "Lash"][0], side, full)
        _eyes(by[side + "Eyeball"][0], side)
    for kind in ("teethLow", "tongue"):
        for p in by[kind]:
            p.deltas["jawOpen"] = turn(p.v, JAW, (1, 0, 0), JAW_DEG)
            p.deltas["jawForward"] = np.tile(vec(0, -0.0006, 0.0085), (len(p.v), 1))
            p.deltas["jawLeft"] = np.tile(vec(0.009, 0, -0.0008), (len(p.v), 1))
            p.deltas["jawRight"] = p.deltas["jawLeft"] * FLIP
    t = by["tongue"][0]
    k = ramp(t.v[:, 2], LIP_Z - 0.062, LIP_Z - 0.018)
    t.deltas["tongueOut"] = k[:, None] * vec(0, 0.0035, 0.040) + (k ** 3)[:, None] * vec(0, -0.0115, -0.003)
    for p in parts:
        _variants(p)
    return ARKIT + VARIANTS


def _brows(ps, left, f):
    for p in ps:
        s = 1 if p.v[:, 0].mean() > 0 else -1
        v = p.v * vec(s, 1, 1)
        x = v[:, 0]
        inner, outer = ramp(x, 0.060, 0.024), ramp(x, 0.036, 0.076)
        mine = {"browDownLeft": (0.45 + 0.55 * inner)[:, None] * vec(-0.0030, -0.0105, 0.0022),
                "browOuterUpLeft": outer[:, None] * vec(0.0006, 0.0115, -0.0022),
                "browInnerUp": ramp(x, 0.070, 0.024)[:, None] * vec(0.0, 0.0125, -0.0016),
                "noseSneerLeft": inner[:, None] * vec(-0.0006, -0.0022, 0.0006)}
        for n, d in mine.items():
            if n.endswith("Left"):
                p.deltas[n if s > 0 else n.replace("Left", "Right")] = d * vec(s, 1, 1)
            else:
                p.deltas[n] = d * vec(s, 1, 1)


def _lashes(h, p, side, full):
    e = EYE * vec(1 if side == "left" else -1, 1, 1)
    ids = h.eye[side][h.eye_rim]
    rim = h.v[ids]
    half = h.n_eye // 2
    rest = np.concatenate(_lash_lines(rim, p.spokes, half, e, 0.0))
    for n, d in full.items():
        move = d[ids]
        if np.abs(move).max() < 1e-7:
            continue
        drop = np.clip(-(move[half // 2, 1]) / 0.026, 0, 1)
        now = np.concatenate(_lash_lines(rim + move, p.spokes, half, e, drop))
        p.deltas[n] = now - rest


def _lash_lines(rim, spokes, half, e, closed):
    tip, inner, ridge, back = head.lash_out(rim, spokes, half, e, closed)
    b = rim[spokes]
    return b + inner, b + ridge, b + tip, b + back


def _eyes(p, side):
    s = 1 if side == "left" else -1
    e = EYE * vec(s, 1, 1)
    for way, (axis, deg) in LOOK.items():
        a = deg * (s if way in ("In", "Out") else 1)
        p.deltas[f"eyeLook{way}{side.capitalize()}"] = turn(p.v, e, axis, a)


# ---- variants -----------------------------------------------------------------------------


def _variants(p):
    v = p.v
    x, y, z = v[:, 0], v[:, 1], v[:, 2]
    ax = np.abs(x)
    hairy = p.kind in ("hair", "tie")
    head_only = p.kind in ("head", "brow", "ear", "teethUp", "teethLow", "tongue") or p.kind.endswith(("Lash", "Eyeball"))
    arm = ramp(ax, 0.115, 0.175) * ramp(y, 1.06, 1.11)
    if p.kind in ("cape", "skirt", "tail", "scarf", "belt", "buckle", "clasp"):
        arm = arm * 0
    leg = ramp(y, 0.80, 0.70) * (0 if p.kind in ("cape", "skirt") else 1)
    torso = (1 - arm) * (1 - leg) * ramp(y, 1.255, 1.215)
    if head_only or hairy:
        arm, leg, torso = arm * 0, leg * 0, torso * 0
    # outwards from each limb's axis
    ot = unit(np.stack([x, 0 * x, z + 0.010], 1) + 1e-9)
    oa = unit(np.stack([0 * x, y - 1.168, z + 0.016], 1) + 1e-9)
    lx = np.sign(x) * 0.087
    ol = unit(np.stack([x - lx, 0 * x, z + 0.004], 1) + 1e-9)
    hand = ramp(ax, 0.50, 0.56)
    foot = ramp(y, 0.14, 0.08)

    def limbs(t, a, l):
        return ot * (torso * t)[:, None] + oa * (arm * (1 - 0.75 * hand) * a)[:, None] + ol * (leg * (1 - 0.8 * foot) * l)[:, None]

    belly, chest = bump(y - 0.90, 0.17), bump(y - 1.09, 0.16)
    low = ramp(y, 1.00, 0.80)
    front = ramp(z, -0.02, 0.08)
    thigh, shin = ramp(y, 0.42, 0.66), ramp(y, 0.50, 0.35)
    upper = 1 - ramp(ax, 0.30, 0.42)
    D = {}
    D["bodyHeavy"] = limbs(0.016 + 0.030 * belly * (0.55 + 0.75 * front) + 0.012 * low, 0.006 + 0.008 * upper, 0.007 + 0.013 * thigh)
    D["bodyThin"] = limbs(-0.007 - 0.013 * belly - 0.005 * low, -0.0045 - 0.004 * upper, -0.006 - 0.008 * thigh)
    D["bodyTall"] = limbs(-0.004 - 0.003 * belly, -0.003, -0.005)
    D["bodyBroad"] = np.stack([np.sign(x) * torso * ramp(ax, 0, 0.12) * (0.018 + 0.020 * chest), 0 * x, 0 * x], 1) + limbs(0 * x, 0.006, 0.005)
    delt = bump(ax - 0.165, 0.075)
    bic = bump(ax - 0.25, 0.08)
    D["bodyMuscular"] = limbs(0.018 * chest * (0.7 + 0.5 * front) - 0.006 * belly, 0.015 * delt + 0.014 * bic + 0.005, 0.006 + 0.011 * thigh + 0.004 * shin)
    if head_only or hairy:
        near = lambda c, r: np.exp(-(length(v * vec(1, 1, 1) * np.where(x[:, None] < 0, FLIP, 1) - vec(*c)) / r) ** 2)
        side = np.sign(x)
        k = near((0.075, 1.352, 0.062), 0.040) * ramp(ax, 0, 0.03)
        still = 0 if p.kind.endswith(("Eyeball", "Lash")) or p.kind in ("teethUp", "teethLow", "tongue") else 1
        out = np.stack([side * k, -0.25 * k, 0.35 * k], 1) * still
        lo = ramp(y, 1.385, 1.335) * ramp(z, -0.06, 0.02) * ramp(y, 1.23, 1.28)
        D["faceRound"] = out * 0.012
        D["bodyHeavy"] = D["bodyHeavy"] + out * 0.008
        D["bodyThin"] = D["bodyThin"] - out * 0.004
        D["faceNarrow"] = np.stack([-0.11 * x * lo, 0 * x, 0 * x], 1) * (0 if p.kind.endswith("Eyeball") else 1)
        drop = ramp(y, 1.366, 1.300) * ramp(z, 0.0, 0.06) * ramp(y, 1.235, 1.285)
        D["faceLong"] = np.stack([0 * x, -0.013 * drop, 0.002 * drop], 1) * (0 if hairy else 1)
    for n, d in D.items():
        d = np.where(np.abs(d) < 1.5e-5, 0, d)
        if np.abs(d).max() > 0:
            p.deltas[n] = d

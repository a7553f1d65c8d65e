"""Mira's example surfaces: each joint bent or twisted, sculpted so that it keeps its volume, for the rig file's drivers.

An example turns one joint, so everything about it hangs on one number a vertex: `s`, the share of its weight that the joint
and all below it hold. Plain skinning moves a vertex to (1 - s) x + s x', which cuts the corner; a sculpt starts from the
vertex turned about the joint by its share of the angle, which keeps its distance to the joint."""
import numpy as np
import weights
from maths import average, bump, length, neighbours, normals, quat, qmat, ramp, smooth, unit, vec

X, Y, Z = vec(1, 0, 0), vec(0, 1, 0), vec(0, 0, 1)
FOLDER = "mira.examples"


class Bend:
    """One example: a joint, its turn, and how the region is sculpted."""

    def __init__(self, name, axis, deg, gap=0.0012, soft=2, push=0.008, reach=0.12, hold=1.0, crease=1.0):
        self.name, self.axis, self.deg = name, unit(axis), deg
        self.gap = gap                                       # half the width left between the two sides of a crease
        self.soft = soft                                     # rounds of smoothing
        self.push = push                                     # at most this far out along the normals to win volume back
        self.reach = reach                                   # nothing moves further from the joint than about this
        self.crease = crease                                 # how much of the crease clean-up is done
        self.hold = hold                                     # 1: turned about the joint; 0: plain skinning


def twist(axis, deg, **k):
    return [Bend("twist_in", axis, deg, push=0.004, **k), Bend("twist_out", axis, -deg, push=0.004, **k)]


_FINGER_AXIS = {"Index": Z, "Middle": Z, "Ring": Z, "Little": Z, "Thumb": vec(0.25, 1, -0.35)}

# driver, joint, what it reads, axis along the bone, examples
DRIVERS = [
    ("elbow", "LowerArm", "swing", X, [Bend(f"bend_{d}", Y, -d, reach=0.11) for d in (50, 95, 135)]),
    ("elbow_twist", "LowerArm", "twist", X, twist(X, 60, reach=0.13)),
    ("shoulder", "UpperArm", "swing", X, [Bend("down", Z, -70, crease=0.0, reach=0.17, hold=0.40, push=0.003), Bend("up", Z, 62, crease=0.0, reach=0.17, hold=0.6, push=0.003),
                                          Bend("front", Y, -85, crease=0.0, reach=0.17, hold=0.60, push=0.003)]),
    ("shoulder_twist", "UpperArm", "twist", X, twist(X, 55, reach=0.17)),
    ("wrist", "Hand", "swing", X, [Bend("flexed", Z, -60, reach=0.075, push=0.004), Bend("raised", Z, 55, reach=0.075, push=0.004)]),
    ("wrist_twist", "Hand", "twist", X, twist(X, 70, reach=0.085)),
    ("hip", "UpperLeg", "swing", Y, [Bend("flexed_50", X, -50, gap=0.006, reach=0.20, hold=0.85), Bend("flexed_95", X, -95, gap=0.007, reach=0.20, hold=0.85),
                                     Bend("aside", Z, 40, gap=0.006, reach=0.20, hold=0.85)]),
    ("hip_twist", "UpperLeg", "twist", Y, twist(Y, 50, reach=0.20)),
    ("knee", "LowerLeg", "swing", Y, [Bend(f"bend_{d}", X, d, gap=0.006, reach=0.15) for d in (50, 90, 125)]),
] + [(f"{f.lower()}", f + "Proximal", "rotation", None, [Bend("curl_40", Z, -40, crease=0.0, reach=0.034, push=0.002), Bend("curl_80", Z, -80, crease=0.0, reach=0.034, push=0.002)])
     for f in ("Index", "Middle", "Ring", "Little")] + \
    [(f"thumb_{k}", j, "rotation", None, [Bend("in_30", _FINGER_AXIS["Thumb"], 30, crease=0.0, reach=0.04, push=0.002)])
     for k, j in (("base", "ThumbMetacarpal"), ("middle", "ThumbProximal"))]


class Body:
    """The whole body under the clothes, as the shells are cut from it."""

    def __init__(self, v, f, tags, w):
        self.v, self.f, self.tags, self.w = np.round(v, 5), f, tags, w
        self.n = normals(v, f)
        self.nb = neighbours(len(v), f)
        self.share = None


def places(sk):
    """Where the exported joints stand: steps rounded as the exporter rounds them."""
    out = np.zeros((len(sk), 3))
    for i in range(len(sk)):
        p = sk.parent[i]
        out[i] = np.round(sk.place[i] - (sk.place[p] if p >= 0 else 0), 6) + (out[p] if p >= 0 else 0)
    return out


def below(sk, joint):
    out = np.zeros(len(sk), bool)
    for i in range(len(sk)):
        out[i] = i == joint or (sk.parent[i] >= 0 and out[sk.parent[i]])
    return out


def shares(w, under):
    idx, val = weights.pack(w)
    return (val.astype(float) * under[idx]).sum(1)


def turned(p, c, axis, angle):
    """Points turned about an axis through c, each by its own angle."""
    r = p - c
    a = np.asarray(angle)[:, None] if np.ndim(angle) else angle
    return c + r * np.cos(a) + np.cross(axis, r) * np.sin(a) + axis * (r @ axis)[:, None] * (1 - np.cos(a))


def skinned(p, s, c, axis, angle):
    return p + s[:, None] * (turned(p, c, axis, angle) - p)


def triangles(f):
    t = np.concatenate([f[:, [0, 1, 2]], f[:, [0, 2, 3]]])
    return t[(t[:, 0] != t[:, 1]) & (t[:, 1] != t[:, 2]) & (t[:, 0] != t[:, 2])]


def face_normals(p, t):
    q = p[t]
    return np.cross(q[:, 1] - q[:, 0], q[:, 2] - q[:, 0])


def cone_volume(p, t, c):
    """What faces t enclose with the point c. A band round a joint ends in loops that move rigidly about c, so this number
    is the band's volume but for a constant."""
    q = p[t] - c
    return (np.cross(q[:, 0], q[:, 1]) * q[:, 2]).sum() / 6


class Sculpt:
    """The body's surface at one example, and what it does to parts."""

    def __init__(self, sk, body, joint, bend, along):
        self.c = places(sk)[sk.index[joint]]
        self.under = below(sk, sk.index[joint])
        self.body, self.bend, self.angle = body, bend, np.radians(bend.deg)
        self.s = shares(body.w, self.under)
        v, s = body.v, self.s
        self.x = skinned(v, s, self.c, bend.axis, self.angle)
        side = ramp(v[:, 0] * np.sign(self.c[0]), -0.07, 0.0)   # the joint's own side
        self.near = bump(length(v - self.c), bend.reach * 1.6) * side
        self.near = smooth(self.near * 2.2)
        self.along = along
        t = triangles(body.f)
        self.t = t[((s[t] > 0.003) & (s[t] < 0.997)).any(1) & (self.near[t] > 0).any(1)]
        self._shape()

    def _shape(self):
        b, bend, s, c = self.body, self.bend, self.s, self.c
        d = (turned(b.v, c, bend.axis, self.angle * s) - self.x) * (self.near * bend.hold)[:, None]
        for _ in range(bend.soft):
            d = self._soften(d)
        bent = abs(bend.axis @ self.along) < 0.5
        if bent:
            for _ in range(4):
                d = self._crease(d)
                d = self._soften(d)
        d = self._fill(d, bent)
        plain = self._bad(self.x)
        best, fewest = d, self._bad(self.x + d).sum()
        for k in range(14):
            bad = self._bad(self.x + d)
            if not bad.any():
                break
            d = self._untangle(d, bad, plain)
            if bent and k in (2, 5, 8):
                d = self._crease(d)
            count = self._bad(self.x + d).sum()
            if count < fewest:
                best, fewest = d, count
        d = best
        size = length(d)
        self.d = d * ramp(size, 1e-5, 8e-5)[:, None]

    def _soften(self, d):
        k = (4 * self.s * (1 - self.s) > 1e-4) * self.near
        return d + (0.5 * k)[:, None] * (average(d, self.body.nb) - d)

    def _untangle(self, d, bad, plain):
        """Vertices of turned triangles, and a little their neighbours, go to the middle of those round them; where plain
        skinning had it right, back towards that."""
        b, p = self.body, self.x + d
        k, back = (bad & plain).astype(float), (bad & ~plain).astype(float)
        k, back = (np.maximum(a, np.minimum(1, 2 * average(a, b.nb)))[:, None] for a in (k, back))
        return (d + (0.6 * k * (self.near > 0.02)[:, None]) * (average(p, b.nb) - p)) * (1 - 0.35 * back)

    def _crease(self, d):
        """Where skin meets skin, both sides stop before the plane that halves the bend."""
        b, bend, s = self.body, self.bend, self.s
        m = turned(self.c + self.along[None], self.c, bend.axis, self.angle / 2)[0] - self.c
        far = (self.x + d - self.c) @ m
        # which side of the plane a vertex belongs to; the bone's direction may run against `along`
        own = np.where(s < 0.5, -1.0, 1.0) * np.sign(((b.v - self.c) @ self.along)[s > 0.9].mean() if (s > 0.9).any() else 1)
        inner = np.cross(bend.axis, self.along) * np.sign(self.angle) * np.sign(own[s > 0.5].mean())
        inside = ramp((b.v - self.c) @ unit(inner), 0.0, 0.012 * bend.reach / 0.11)
        room = bend.gap * smooth(abs(self.angle) / 1.6) * np.clip(abs(s - 0.5) / 0.30, 0.15, 1)
        need = np.maximum(room - far * own, 0) * inside * self.near * ramp(4 * s * (1 - s), 0.02, 0.35) * bend.crease * ramp(b.v[:, 0] * np.sign(self.c[0]), 0.01, 0.045)
        need = np.minimum(need, 0.10 * bend.reach)
        return d + (need * own)[:, None] * m

    def _fill(self, d, bent):
        """Out along the normals until the region's volume is what it was."""
        b, s = self.body, self.s
        want = cone_volume(b.v, self.t, self.c)
        where = smooth(4 * s * (1 - s)) * self.near
        if bent:
            n = normals(self.x + d, b.f)
            inner = np.cross(self.bend.axis, self.along) * np.sign(self.angle)
            inner = inner * np.sign((((b.v - self.c) @ self.along)[s > 0.9]).mean())
            where = where * (1 - ramp(((b.v - self.c) @ unit(inner)), 0.0, 0.03))
        for _ in range(6):
            p = self.x + d
            have = cone_volume(p, self.t, self.c)
            n = normals(p, b.f)
            unit_gain = cone_volume(p + 0.001 * n * where[:, None], self.t, self.c) - have
            if abs(unit_gain) < 1e-12 or abs(have - want) < 1e-4 * abs(want):
                break
            step = np.clip((want - have) / unit_gain * 0.001, -self.bend.push / 3, self.bend.push / 3)
            d = d + step * n * where[:, None]
        return d

    def _bad(self, p):
        """Vertices of triangles that look the wrong way: against the rest surface turned with them."""
        t = self.t
        n0 = face_normals(self.body.v, t)
        turn = turned(n0, vec(0, 0, 0), self.bend.axis, self.angle * self.s[t].mean(1))
        out = np.zeros(len(p), bool)
        out[t[(face_normals(p, t) * turn).sum(1) < 0.02 * (turn * turn).sum(1)].reshape(-1)] = True
        return out

    def report(self):
        rest, x, y = (cone_volume(p, self.t, self.c) for p in (self.body.v, self.x, self.x + self.d))
        return x / rest, y / rest, int(self._bad(self.x).sum()), int(self._bad(self.x + self.d).sum()), float(length(self.d).max())

    def part(self, p):
        """The surface of a part at this example, in the order of its vertices."""
        v, b = np.round(p.v, 5), self.body
        s = shares(p.w, self.under)
        x = skinned(v, s, self.c, self.bend.axis, self.angle)
        if p.kind in ("head", "brow", "ear", "hair", "teethUp", "teethLow", "tongue", "scarf", "tail") or p.kind.endswith(("Lash", "Eyeball")):
            return x, x
        if getattr(p, "src", None) is not None and p.kind != "skirt":
            h = ((p.v - b.v[p.src]) * b.n[p.src]).sum(1)
            return x, x + self._shell(p.src, h)
        return x, x + self._loose(p, x)

    def _shell(self, src, h):
        """A shell keeps its distance from the body along the body's own normals."""
        b = self.body
        if not hasattr(self, "swing"):
            n = normals(self.x + self.d, b.f)
            plain = skinned(b.n, self.s, vec(0, 0, 0), self.bend.axis, self.angle)
            k = ramp(length(self.d), 2e-5, 8e-4)
            for _ in range(3):
                k = np.maximum(k, average(k, b.nb))
            self.swing = (n - plain) * k[:, None]
        return self.d[src] + h[:, None] * self.swing[src]

    def _loose(self, p, x):
        """What lies on the body goes with the nearest of it; less the further off it hangs."""
        b = self.body
        out = np.zeros_like(x)
        live = np.nonzero(length(p.v - self.c) < self.bend.reach * 1.8)[0]
        y, ny = self.x + self.d, normals(self.x + self.d, b.f)
        nx = normals(self.x, b.f)
        nb = neighbours(len(p.v), p.f)
        away = np.zeros(len(p.v))
        for i in live:
            g = length(b.v - p.v[i])
            k = np.argsort(g, kind="stable")[:6]
            u = 1 / (g[k] + 0.004) ** 2
            away[i] = ramp(g[k[0]], 0.09, 0.03)
            out[i] = (self.d[k] * u[:, None]).sum(0) / u.sum() * away[i]
        # never nearer to the body than it was without the sculpt, and than at rest
        for _ in range(4):
            for i in live[away[live] > 0]:
                q = x[i] + out[i]
                k = int(np.argmin(length(y - q)))
                have, plain = (q - y[k]) @ ny[k], (x[i] - self.x[k]) @ nx[k]
                need = min(plain, 0.0175) - have
                if need > 0:
                    out[i] += ny[k] * min(need, 0.03) * away[i]
            out = out + (0.5 * away)[:, None] * (average(out, nb) - out)
        return out


def quaternion(bend):
    return [round(float(x), 6) + 0.0 for x in quat(bend.axis, bend.deg)]


def make(sk, body, parts, say=None):
    """Files of example surfaces {name: bytes}, and the rig file's drivers."""
    count = max(first + len(src) for first, src in (p.rows for p in parts))
    files, drivers = {}, []
    for name, joint, read, along, bends in DRIVERS:
        joint = "left" + joint
        examples = []
        tip = along if along is not None else unit(sk.place[next(i for i in range(len(sk)) if sk.parent[i] == sk.index[joint])] - sk.at(joint))
        for bend in bends:
            # the file holds the rounded turn: sculpt in just that pose
            q = unit(quaternion(bend))
            bend.axis, bend.deg = unit(q[:3]), float(np.degrees(2 * np.arctan2(length(q[:3]), q[3])))
            sc = Sculpt(sk, body, joint, bend, tip)
            if say:
                say(f"{name:15s}{bend.name:10s} volume x {sc.report()[0]:.3f} -> {sc.report()[1]:.3f}  inverted {sc.report()[2]} -> {sc.report()[3]}  moved {sc.report()[4] * 1000:.1f} mm")
            out = np.zeros((count, 3))
            for p in parts:
                first, src = p.rows
                x, y = sc.part(p)
                out[first:first + len(src)] = (x + np.round(y - x, 6))[src]
            file = f"{FOLDER}/{name}.{bend.name}.f32"
            files[file] = (out.astype(np.float32) + np.float32(0)).tobytes()
            examples.append({"name": bend.name, "pose": {"joints": {joint: {"rotation": quaternion(bend)}}}, "surface": {"file": file, "space": "pose"}})
        row = {"joint": joint, "read": read}
        if read in ("swing", "twist"):
            row["axis"] = [int(x) for x in along]
        drivers.append({"name": name + "_l", "joints": [row], "examples": examples})
        drivers.append({"name": name + "_r", "mirror_of": name + "_l"})
    return files, drivers

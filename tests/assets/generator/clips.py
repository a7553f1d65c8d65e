"""Mira's clips: procedural keys with inverse kinematics for the legs; every clip is in place."""
import numpy as np
from maths import euler, length, qfrom, qinv, qmul, qrot, quat, ramp, slerp, smooth, unit, vec
from skeleton import finger_joints

FPS = 30
ONE = np.array([0.0, 0, 0, 1])
X, Y, Z = vec(1, 0, 0), vec(0, 1, 0), vec(0, 0, 1)


def key(t, keys, period=None):
    """Smooth curve through (time, value) keys; values may be arrays. Periodic when a period is given."""
    ts = np.array([k[0] for k in keys], float)
    vs = np.array([k[1] for k in keys], float)
    n = len(ts)
    if period is not None:
        t = (t - ts[0]) % period + ts[0]
        ts = np.concatenate([[ts[-1] - period], ts, [ts[0] + period, ts[1 % n] + period]])
        vs = np.concatenate([vs[-1:], vs, vs[:1], vs[1 % n:1 % n + 1]])
    else:
        if t <= ts[0]:
            return vs[0]
        if t >= ts[-1]:
            return vs[-1]
    i = int(np.searchsorted(ts, t, side="right")) - 1
    i = min(max(i, 0), len(ts) - 2)
    h = ts[i + 1] - ts[i]
    u = (t - ts[i]) / h

    def slope(k):
        if k <= 0 or k >= len(ts) - 1:
            return 0 * vs[0]
        a, b = (vs[k] - vs[k - 1]) / (ts[k] - ts[k - 1]), (vs[k + 1] - vs[k]) / (ts[k + 1] - ts[k])
        # flat at turning points, so that holds hold
        return np.where(a * b > 0, 2 * a * b / np.where(np.abs(a + b) < 1e-12, 1, a + b), 0.0)
    m0, m1 = slope(i) * h, slope(i + 1) * h
    return (2 * u ** 3 - 3 * u ** 2 + 1) * vs[i] + (u ** 3 - 2 * u ** 2 + u) * m0 + (-2 * u ** 3 + 3 * u ** 2) * vs[i + 1] + (u ** 3 - u ** 2) * m1


def wave(ph, shift=0.0):
    return np.cos(2 * np.pi * (ph - shift))


class Pose:
    def __init__(self, sk):
        self.sk, self.rot, self.hips = sk, {}, vec(0, 0, 0)

    def set(self, joint, q):
        self.rot[joint] = q

    def add(self, joint, q):
        self.rot[joint] = qmul(q, self.rot.get(joint, ONE))

    def globals(self, joint):
        """Global rotation and place of a joint."""
        sk = self.sk
        i = sk.index[joint]
        chain = []
        while i >= 0:
            chain.append(i)
            i = sk.parent[i]
        q, p = ONE, vec(0, 0, 0)
        for i in reversed(chain):
            par = sk.parent[i]
            step = sk.place[i] - (sk.place[par] if par >= 0 else 0) + (self.hips if par < 0 else 0)
            p = p + qrot(q, step)
            q = qmul(q, self.rot.get(sk.names[i], ONE))
        return q, p

    # ---- limbs

    def arm(self, s, down=72, swing=0, elbow=14, twist=0, across=0, hand=(0, 0, 0), shrug=0):
        """Left arm in degrees (s = 1; mirrored for -1): down from the T, swing forwards, elbow bend, twist about itself,
        across turns the whole arm towards the front."""
        side = "left" if s > 0 else "right"
        self.set(side + "Shoulder", quat(Z, s * (shrug - 0.10 * min(down, 80))))
        rest = down - 0.10 * min(down, 80)
        q = qmul(quat(X, -swing), qmul(quat(Y, -s * across), quat(Z, -s * rest)))
        self.set(side + "UpperArm", qmul(q, quat(X, twist)))
        self.set(side + "LowerArm", quat(Y, -s * elbow))
        hx, hy, hz = hand
        self.set(side + "Hand", euler(hx, s * hy, s * hz))

    def fingers(self, s, curl=14, spread=0, thumb=10, point=None):
        side = "left" if s > 0 else "right"
        for k, f in enumerate(("Index", "Middle", "Ring", "Little")):
            c = curl * (0.8 + 0.16 * k)
            if point and f in point:
                c = 3
            for i, j in enumerate(finger_joints(f)):
                fan = spread * (1.5 - k) if i == 0 else 0
                self.set(side + j, qmul(quat(Y, -s * fan), quat(Z, -s * c * (0.9, 1.15, 0.8)[i])))
        for i, j in enumerate(finger_joints("Thumb")):
            self.set(side + j, quat((0.25 * s, 1 * s, -0.35 * s), thumb * (0.5, 0.9, 1.0)[i]))

    def leg(self, s, ankle, foot_q, pole=Z, toes=0):
        """The foot joint at `ankle`, turned by foot_q in the world, knee towards pole."""
        side = "left" if s > 0 else "right"
        self.two_bones(side + "UpperLeg", side + "LowerLeg", side + "Foot", ankle, foot_q, pole)
        self.set(side + "Toes", quat(X, toes))

    def two_bones(self, up, lo, ft, end, end_q, pole):
        """Turns up and lo so that joint ft reaches `end`; ft itself is turned by end_q in the world."""
        sk = self.sk
        parent = sk.names[sk.parent[sk.index[up]]]
        hq, hp = self.globals(parent)
        root = hp + qrot(hq, sk.at(up) - sk.at(parent))
        a, b = sk.at(lo) - sk.at(up), sk.at(ft) - sk.at(lo)
        la, lb = length(a), length(b)
        d = np.asarray(end, float) - root
        dist = length(d)
        self.reach = max(getattr(self, "reach", 0), float(dist / (la + lb)))
        r = min(dist, (la + lb) * 0.9995)
        dirn = unit(d)
        pole = unit(pole - dirn * (pole * dirn).sum())
        ca = np.clip((la * la + r * r - lb * lb) / (2 * la * r), -1, 1)
        knee = root + dirn * (la * ca) + pole * (la * np.sqrt(max(1 - ca * ca, 0)))
        tip = root + dirn * r
        axis = np.cross(pole, dirn)                         # the knee's axis; the parent's X in the rest pose
        axis = axis if (axis * qrot(hq, X)).sum() > 0 else -axis

        def frame(line, axis):
            y = -unit(line)
            x = unit(axis - y * (axis * y).sum())
            return np.stack([x, y, np.cross(x, y)], 1)
        qa = qfrom(frame(knee - root, axis) @ frame(a, X).T)
        qb = qfrom(frame(tip - knee, axis) @ frame(b, X).T)
        self.set(up, qmul(qinv(hq), qa))
        self.set(lo, qmul(qinv(qa), qb))
        self.set(ft, qmul(qinv(qb), end_q))

    def stand(self, s, place=(0, 0, 0), yaw=0, pitch=0, pivot="toe", toes=None, spread=0.0):
        """Foot on (or above) the ground: `place` moves its rest place; pitch > 0 lifts the heel about the toe joint,
        pitch < 0 the toes about the heel."""
        side = "left" if s > 0 else "right"
        ankle = self.sk.at(side + "Foot")
        toe = self.sk.at(side + "Toes")
        heel = vec(ankle[0], 0.0, ankle[2] - 0.023)
        p = toe if pivot == "toe" else heel
        q = qmul(quat(Y, yaw), quat(X, pitch))
        at = qrot(quat(Y, yaw), p - vec(ankle[0], 0, ankle[2])) + vec(ankle[0], 0, ankle[2]) + np.asarray(place, float)
        a = at + qrot(q, ankle - p)
        pole = qrot(quat(Y, yaw * 0.7 + s * 5), Z)
        self.leg(s, a, q, pole, toes if toes is not None else (-pitch if pivot == "toe" else 0))
        return a


class Clip:
    def __init__(self, name, sk, seconds, loop, make, **extra):
        self.name, self.sk, self.loop, self.extra = name, sk, loop, extra
        n = int(round(seconds * FPS))
        self.times = [i / FPS for i in range(n + 1)]
        self.seconds = n / FPS
        self.poses = []
        for i, t in enumerate(self.times):
            k = 0.0 if (loop and i == n) else t                 # the last key repeats the first exactly
            self.poses.append(make(Pose(sk), k, k / self.seconds))
        self.reach = max(getattr(p, "reach", 0) for p in self.poses)

    def channels(self):
        names = sorted({j for p in self.poses for j in p.rot}, key=self.sk.index.get)
        top = self.sk.names[0]
        out = [(top, "translation", [self.sk.at(top) + p.hips for p in self.poses])]
        for j in names:
            out.append((j, "rotation", [p.rot.get(j, ONE) for p in self.poses]))
        return out


def trail(p, ph, lift, bob, sway, scarf=1.0):
    """Hair and scarf follow the body late, link by link: two bobs and one sway a cycle. Springs may take over from here."""
    for i in range(4):
        p.set(f"ponytail{i + 1}", euler(lift * (0.5 + 0.2 * i) + bob * wave(2 * ph, 0.10 * i + 0.1), 0, sway * wave(ph, 0.09 * i + 0.05)))
    for s, side in ((1, "left"), (-1, "right")):
        for i in range(2):
            p.set(f"{side}Lock{i + 1}", euler(0.5 * lift + 0.7 * bob * wave(2 * ph, 0.12 * i + 0.15), 0, 0.5 * sway * wave(ph, 0.10 * i)))
    for k, n in enumerate(("scarfFront", "scarfBack")):
        for i in range(3):
            a = 0.5 * lift + 0.8 * bob * (1 + wave(2 * ph, 0.12 * i + 0.06 * k + 0.2))
            p.set(f"{n}{i + 1}", euler(-a * scarf, 0, 0.5 * sway * wave(ph, 0.08 * i)))
    return p


# ---- standing and breathing ------------------------------------------------------------


def relaxed(p, ph=0.0, breath=1.0, hips_y=-0.012):
    """The neutral stance that actions start from and return to."""
    b = wave(ph, 0.5) * breath
    p.hips = vec(0.004, hips_y + 0.0022 * wave(ph, 0.55) * breath, -0.004)
    p.set("hips", euler(0, 0, -0.8))
    p.set("spine", euler(1.5 + 0.6 * b, 0, 0.8))
    p.set("chest", euler(-1.5 - 1.1 * b, 0, 0.5))
    p.set("upperChest", euler(-0.5 - 0.9 * b, 0, 0))
    p.set("neck", euler(2.0 + 0.6 * b, 0, 0))
    p.set("head", euler(-1.5 + 0.5 * b, 0, 0.8))
    for s in (1, -1):
        p.arm(s, down=71 - 1.2 * b, swing=4 + 0.8 * b, elbow=17, twist=6, hand=(0, 4, -4), shrug=1.2 * b)
        p.fingers(s, 20)
    return p


def plant(p, left=(0.006, 0, 0.012), right=(-0.010, 0, -0.012), yl=7, yr=-9):
    p.stand(1, left, yl)
    p.stand(-1, right, yr)
    return p


def idle(p, t, u):
    w = 2 * np.pi * u
    relaxed(p, 2 * u)
    sway = np.sin(w)
    p.hips = p.hips + vec(0.011 * sway, -0.002 * abs(sway) ** 2, 0.003 * np.cos(w))
    p.add("hips", euler(0, 1.5 * np.sin(w + 0.4), -1.4 * sway))
    p.add("spine", euler(0, -0.8 * np.sin(w), 1.0 * np.sin(w - 0.3)))
    p.add("chest", euler(0, 0.8 * np.sin(w - 0.5), 0.6 * np.sin(w - 0.5)))
    p.add("head", euler(1.3 * np.sin(2 * w + 1.0), 5.5 * np.sin(w - 0.8), -1.6 * np.sin(w - 0.7)))
    for s in (1, -1):
        side = "left" if s > 0 else "right"
        p.add(side + "UpperArm", quat(X, -1.6 * np.sin(w - 0.6 - 0.3 * s)))
        p.add(side + "LowerArm", quat(Y, -s * 1.8 * np.sin(w - 1.0)))
        p.fingers(s, 20 + 2.5 * np.sin(2 * w - 0.5 + s))
    trail(p, u, 0, 0.5, 1.4)
    return plant(p)


# ---- gaits -------------------------------------------------------------------------------


class Gait:
    """One step cycle. Planted feet move against the direction of travel at exactly `speed`."""

    def __init__(self, sk, seconds, speed, way, duty, stance, lift, apart=0.0, swing_pitch=(), turn=0.0, lead=0.5):
        self.sk, self.T, self.v, self.way, self.duty = sk, seconds, speed, vec(*way), duty
        self.stance, self.lift, self.apart, self.swing_pitch, self.turn, self.lead = stance, lift, apart, swing_pitch, turn, lead

    def _contact(self, s, ph):
        """Toe joint place, pitch, toes and yaw at a phase of the stance (also just beyond its ends)."""
        sk = self.sk
        side = "left" if s > 0 else "right"
        ankle, toe = sk.at(side + "Foot"), sk.at(side + "Toes")
        heel = vec(ankle[0], 0.0, ankle[2] - 0.023)
        pitch = float(key(ph, self.stance))
        travel = self.v * self.T * (self.lead * self.duty - ph)
        yaw = self.turn * self.T * (0.5 * self.duty - ph) * -1
        base = vec(s * self.apart, 0, 0) + self.way * travel
        at = toe if pitch >= 0 else heel + qrot(quat(X, pitch), toe - heel)
        at = at + base
        if self.turn:
            at = qrot(quat(Y, -yaw), at)
        return at, pitch, max(pitch, 0), -yaw

    def foot(self, p, s, ph):
        """Sets one leg; ph = 0 at this foot's contact."""
        ph = ph % 1.0
        side = "left" if s > 0 else "right"
        if ph <= self.duty:
            at, pitch, toes, yaw = self._contact(s, ph)
        else:
            u = (ph - self.duty) / (1 - self.duty)
            a, pa, ta, ya = self._contact(s, self.duty)
            b, pb, tb, yb = self._contact(s, 0.0)
            dt = (1 - self.duty)
            va = (a - self._contact(s, self.duty - 0.01)[0]) / 0.01 * dt
            vb = (self._contact(s, 0.01)[0] - b) / 0.01 * dt
            va, vb = va * vec(1, 0, 1), vb * vec(1, 0, 1)        # at rest over the ground when leaving and landing
            at = (2 * u ** 3 - 3 * u ** 2 + 1) * a + (u ** 3 - 2 * u ** 2 + u) * va + (-2 * u ** 3 + 3 * u ** 2) * b + (u ** 3 - u ** 2) * vb
            at = at + vec(0, self.lift * np.sin(np.pi * u ** 0.80), 0)
            pitch = float(key(u, [(0, pa)] + list(self.swing_pitch) + [(1, pb)]))
            toes = float(key(u, [(0, ta), (0.35, min(ta, 8)), (0.7, 0.4 * tb), (1, tb)]))
            yaw = ya + (yb - ya) * float(smooth(u))
        q = qmul(quat(Y, yaw), quat(X, pitch))
        toe, ankle = self.sk.at(side + "Toes"), self.sk.at(side + "Foot")
        pole = qrot(quat(Y, yaw + s * 3), Z)
        p.leg(s, at + qrot(q, ankle - toe), q, pole, -toes)


def walk_gait(sk):
    return Gait(sk, 30 / FPS, 1.05, (0, 0, 1), 0.60, [(0, -20), (0.07, -3), (0.10, 0), (0.33, 0), (0.46, 13), (0.60, 42)], 0.046, -0.028,
                [(0.16, 50), (0.42, 10), (0.62, -8), (0.85, -20)], lead=0.52)


def walk(sk):
    g = walk_gait(sk)

    def make(p, t, u):
        # u = 0: left heel strikes
        sway = wave(u, 0.30)
        p.hips = vec(0.016 * sway, -0.034 + 0.015 * wave(2 * u, 0.62), 0.006 * wave(2 * u, 0.1))
        yaw, roll = -7 * wave(u, 0.02), 3.2 * wave(u, 0.24)
        p.set("hips", euler(2.5 + 0.8 * wave(2 * u, 0.2), yaw, roll))
        p.set("spine", euler(1.0, -0.45 * yaw, -0.8 * roll))
        p.set("chest", euler(-0.5 + 0.8 * wave(2 * u, 0.3), 6.5 * wave(u, 0.06), -0.35 * roll))
        p.set("upperChest", euler(-1.0, 4.5 * wave(u, 0.08), 0.9 * wave(u, 0.3)))
        p.set("neck", euler(1.0, -2.5 * wave(u, 0.07), 0))
        p.set("head", euler(-1.5 + 1.3 * wave(2 * u, 0.42), -2.5 * wave(u, 0.10), -0.8 * wave(u, 0.3)))
        for s in (1, -1):
            ph = u if s > 0 else u + 0.5
            sw = -24 * wave(ph, 0.04) + 3
            p.arm(s, down=73 - 2 * wave(2 * u, 0.3), swing=sw, elbow=24 - 11 * wave(ph, 0.12), twist=8, hand=(0, 3 - 5 * wave(ph, 0.16), -3), shrug=0.8 * wave(2 * u, 0.3))
            p.fingers(s, 19 - 4 * wave(ph, 0.2))
        trail(p, u, 3, 2.0, 3.0)
        g.foot(p, 1, u)
        g.foot(p, -1, u + 0.5)
        return p
    return Clip("Walk", sk, g.T, True, make, speed=g.v, gait=g)


def run(sk):
    g = Gait(sk, 20 / FPS, 2.9, (0, 0, 1), 0.32, [(0, -8), (0.035, 0), (0.14, 0), (0.23, 22), (0.32, 52)], 0.150, -0.042,
             [(0.22, 78), (0.45, 66), (0.8, 4)], lead=0.50)

    def make(p, t, u):
        mid = 0.15
        p.hips = vec(0.010 * wave(u, mid), -0.062 - 0.034 * wave(2 * u, 2 * mid - 0.03), 0.0)
        yaw, roll = -9 * wave(u, 0.0), 3.0 * wave(u, mid)
        p.set("hips", euler(9 + 2 * wave(2 * u, 0.5), yaw, roll))
        p.set("spine", euler(4, -0.5 * yaw, -0.7 * roll))
        p.set("chest", euler(2 + 1.5 * wave(2 * u, 0.45), 8 * wave(u, 0.03), -0.3 * roll))
        p.set("upperChest", euler(-1, 7 * wave(u, 0.05), 0))
        p.set("neck", euler(-4, -4 * wave(u, 0.05), 0))
        p.set("head", euler(-6 + 2.0 * wave(2 * u, 0.6), -4 * wave(u, 0.07), 0))
        for s in (1, -1):
            ph = u if s > 0 else u + 0.5
            sw = -44 * wave(ph, 0.02) + 2
            p.arm(s, down=66, swing=sw, elbow=84 - 16 * wave(ph, 0.10), twist=16, across=7 - 7 * wave(ph, 0.02), hand=(0, 4, -6), shrug=2 + 1.5 * wave(2 * u, 0.5))
            p.fingers(s, 42, thumb=22)
        trail(p, u, 11, 5.0, 4.0)
        g.foot(p, 1, u)
        g.foot(p, -1, u + 0.5)
        return p
    return Clip("Run", sk, g.T, True, make, speed=g.v, gait=g)


def strafe(sk, s0):
    g = Gait(sk, 18 / FPS, 0.60, (s0, 0, 0), 0.52, [(0, 6), (0.08, 0), (0.38, 0), (0.52, 16)], 0.055, 0.034, [(0.3, 14), (0.7, 4)])

    def make(p, t, u):
        lead = u if s0 > 0 else u + 0.5
        p.hips = vec(0.014 * wave(u, 0.26), -0.040 + 0.009 * wave(2 * u, 0.5), 0.0)
        p.set("hips", euler(4, 0, 2.2 * wave(u, 0.22) - 1.5 * s0))
        p.set("spine", euler(2, 0, -1.4 * wave(u, 0.25)))
        p.set("chest", euler(1, 2 * wave(u, 0.1), -1.0 * wave(u, 0.3) - 1.0 * s0))
        p.set("upperChest", euler(0, 2 * wave(u, 0.15), 0))
        p.set("neck", euler(-2, 4 * s0, 0))
        p.set("head", euler(-3, 9 * s0, 0.8 * wave(u, 0.4)))
        for s in (1, -1):
            p.arm(s, down=62 + 3 * wave(2 * u, 0.3), swing=9 + 6 * wave(u, 0.1 if s > 0 else 0.6), elbow=48 + 6 * wave(2 * u, 0.4), twist=12, across=8, hand=(0, 5, -6), shrug=1)
            p.fingers(s, 22)
        g.foot(p, 1, lead if s0 > 0 else lead + 0.5)
        g.foot(p, -1, lead + 0.5 if s0 > 0 else lead)
        return p
    return Clip("StrafeLeft" if s0 > 0 else "StrafeRight", sk, g.T, True, make, speed=g.v, gait=g)


def walk_back(sk):
    g = Gait(sk, 32 / FPS, 0.70, (0, 0, -1), 0.62, [(0, 26), (0.12, 6), (0.20, 0), (0.48, 0), (0.62, -13)], 0.070, -0.022, [(0.25, -2), (0.7, 22)])

    def make(p, t, u):
        p.hips = vec(0.015 * wave(u, 0.31), -0.034 + 0.010 * wave(2 * u, 0.62), 0.0)
        yaw, roll = 5 * wave(u, 0.02), 2.6 * wave(u, 0.28)
        p.set("hips", euler(1, yaw, roll))
        p.set("spine", euler(3, -0.5 * yaw, -0.8 * roll))
        p.set("chest", euler(1, -4 * wave(u, 0.06), -0.3 * roll))
        p.set("upperChest", euler(0, -3 * wave(u, 0.08), 0))
        p.set("neck", euler(0, 2 * wave(u, 0.1), 0))
        p.set("head", euler(1 + 1.0 * wave(2 * u, 0.4), 2 * wave(u, 0.1) - 5, 0))
        for s in (1, -1):
            ph = u if s > 0 else u + 0.5
            p.arm(s, down=69, swing=14 * wave(ph, 0.04) + 4, elbow=30 + 6 * wave(ph, 0.1), twist=8, hand=(0, 4, -4), shrug=0.5)
            p.fingers(s, 18)
        trail(p, u, -1, 1.5, 2.0)
        g.foot(p, 1, u)
        g.foot(p, -1, u + 0.5)
        return p
    return Clip("WalkBack", sk, g.T, True, make, speed=-g.v, gait=g)


def turn(sk, s0):
    """Steps on the spot for a turn of 90 degrees a second."""
    g = Gait(sk, 24 / FPS, 0.0, (0, 0, 1), 0.62, [(0, 6), (0.1, 0), (0.46, 0), (0.62, 20)], 0.040, 0.008, [(0.4, 16), (0.8, 8)], turn=90.0 * s0)

    def make(p, t, u):
        a = u if s0 > 0 else u + 0.5
        p.hips = vec(0.015 * wave(a, 0.31), -0.028 + 0.008 * wave(2 * u, 0.6), 0)
        p.set("hips", euler(1.5, 5 * s0 * wave(2 * u, 0.4), 2.4 * wave(a, 0.28)))
        p.set("spine", euler(1.5, 3 * s0, -1.6 * wave(a, 0.3)))
        p.set("chest", euler(-1, 5 * s0, -0.8 * wave(a, 0.34)))
        p.set("upperChest", euler(0, 4 * s0, 0))
        p.set("neck", euler(1, 6 * s0, 0))
        p.set("head", euler(-1 + 0.8 * wave(2 * u, 0.2), 12 * s0, -1.5 * s0))
        for s in (1, -1):
            p.arm(s, down=69, swing=5 + 9 * s * s0 + 4 * wave(u, 0.1), elbow=24 + 5 * wave(2 * u, 0.3), twist=6, hand=(0, 4, -4), shrug=0.5)
            p.fingers(s, 17)
        g.foot(p, 1, a)
        g.foot(p, -1, a + 0.5)
        return p
    return Clip("TurnLeft" if s0 > 0 else "TurnRight", sk, g.T, True, make, turn=90.0 * s0, gait=g)


# ---- jump -----------------------------------------------------------------------------------


def _jump_pose(p, crouch, lean, arms, elbow, heel=0, tuck=0.0, back=0.0, feet=None):
    """crouch lowers the hips; tuck draws the feet up under the body."""
    p.hips = vec(0, -crouch, -back)
    p.set("hips", euler(lean * 0.55, 0, 0))
    p.set("spine", euler(lean * 0.25, 0, 0))
    p.set("chest", euler(lean * 0.15, 0, 0))
    p.set("upperChest", euler(lean * 0.05, 0, 0))
    p.set("neck", euler(-lean * 0.30, 0, 0))
    p.set("head", euler(-lean * 0.40, 0, 0))
    for s in (1, -1):
        p.arm(s, down=70 - abs(arms) * 0.18, swing=arms, elbow=elbow, twist=8, hand=(0, 4, -4), shrug=max(arms, 0) * 0.06)
        p.fingers(s, 20)
    if feet is None:
        p.stand(1, (0.004, 0, 0.0), 5, pitch=heel)
        p.stand(-1, (-0.004, 0, 0.0), -5, pitch=heel)
    else:
        for s, (dy, dz, pitch) in zip((1, -1), feet):
            p.stand(s, (0.002 * s, dy, dz), 4 * s, pitch=pitch, toes=-8)
    return p


AIR = dict(crouch=0.02, lean=12, arms=58, elbow=38)
AIR_FEET = ((0.115, 0.055, 28), (0.150, -0.085, 46))


def _blend(sk, a, b, k):
    """Pose between two, joint by joint."""
    p = Pose(sk)
    p.hips = a.hips * (1 - k) + b.hips * k
    for j in sorted(set(a.rot) | set(b.rot)):
        p.rot[j] = slerp(a.rot.get(j, ONE), b.rot.get(j, ONE), k)
    p.reach = max(getattr(a, "reach", 0), getattr(b, "reach", 0))
    return p


def jumps(sk):
    rest = lambda: plant(relaxed(Pose(sk)))

    def start(p, t, u):
        c = float(key(t, [(0, 0.012), (0.22, 0.165), (0.28, 0.170), (0.40, -0.030), (0.4667, -0.045)]))
        lean = float(key(t, [(0, 1), (0.22, 30), (0.28, 30), (0.40, 3), (0.4667, 2)]))
        arms = float(key(t, [(0, 4), (0.18, -46), (0.27, -52), (0.40, 62), (0.4667, 88)]))
        elbow = float(key(t, [(0, 17), (0.22, 14), (0.40, 30), (0.4667, 36)]))
        heel = float(key(t, [(0, 0), (0.26, 0), (0.33, 14), (0.42, 44), (0.4667, 56)]))
        _jump_pose(p, c, lean, arms, elbow, heel, back=0.10 * max(c, 0))
        k = float(smooth(t / 0.12))
        return p if k >= 1 else _blend(sk, rest(), p, k)

    def air(p, t, u):
        w = np.sin(2 * np.pi * u)
        p = _jump_pose(p, AIR["crouch"] + 0.004 * w, AIR["lean"] + 2 * w, AIR["arms"] + 5 * w, AIR["elbow"] + 4 * w,
                       feet=tuple((a + 0.012 * w * (1 if i else -1), b + 0.014 * w, c + 3 * w) for i, (a, b, c) in enumerate(AIR_FEET)))
        for s in (1, -1):
            p.arm(s, down=34 + 4 * w, swing=12, elbow=34 + 4 * w, twist=4, across=16, hand=(0, 0, 8 + 4 * w), shrug=5)
        return p

    def land(p, t, u):
        c = float(key(t, [(0, 0.01), (0.06, 0.035), (0.20, 0.175), (0.27, 0.172), (0.56, 0.0), (0.70, 0.012)]))
        lean = float(key(t, [(0, 8), (0.20, 32), (0.27, 31), (0.56, -1), (0.70, 1)]))
        arms = float(key(t, [(0, 30), (0.20, -18), (0.30, -26), (0.55, 12), (0.70, 4)]))
        heel = float(key(t, [(0, 30), (0.06, 8), (0.10, 0), (0.7, 0)]))
        _jump_pose(p, c, lean, arms, 26 - 9 * u, heel, back=0.10 * max(c, 0))
        k = float(smooth((t - 0.42) / 0.28))
        if k > 0:
            p = _blend(sk, p, rest(), k) if k < 1 else rest()
        return p
    out = [Clip("JumpStart", sk, 14 / FPS, False, start), Clip("JumpAir", sk, 24 / FPS, True, air), Clip("JumpLand", sk, 21 / FPS, False, land)]
    # take-off flows into the air: the last keys of the start and the first of the landing meet the airborne pose
    s, a, l = out
    for k in range(2):
        s.poses[-1 - k] = _blend(sk, s.poses[-1 - k], a.poses[0], (0.55, 0.12)[k])
        l.poses[k] = _blend(sk, a.poses[0], l.poses[k], (0.30, 0.75)[k])
    return out


# ---- gestures ---------------------------------------------------------------------------------


def gesture_wave(sk):
    def make(p, t, u):
        relaxed(p, t / 2.4)
        up = float(key(t, [(0, 0), (0.08, -0.03), (0.45, 1.04), (0.6, 1), (1.75, 1), (1.85, 1.02), (2.3, 0), (2.4, 0)]))
        beat = np.sin(2 * np.pi * (t - 0.55) / 0.40) * float(ramp(t, 0.45, 0.65) * ramp(t, 1.95, 1.70))
        lag = np.sin(2 * np.pi * (t - 0.62) / 0.40) * float(ramp(t, 0.50, 0.70) * ramp(t, 1.98, 1.74))
        p.add("hips", euler(0, 2 * up, 1.5 * up))
        p.add("spine", euler(0, 2 * up, 1.5 * up))
        p.add("chest", euler(-1 * up, 3 * up, 2.5 * up))
        p.add("upperChest", euler(-1 * up, 2 * up, 1.0 * up))
        p.add("neck", euler(0, -2 * up, -2 * up))
        p.add("head", euler(-1 * up, -3 * up, -6 * up + 0.8 * beat))
        p.hips = p.hips + vec(0.010, 0, 0) * up
        # the right arm: out and up, forearm beside the head
        a = Pose(sk)
        a.arm(-1, down=8 - 2 * beat, swing=0, elbow=0, twist=0, across=22, shrug=6)
        a.set("rightUpperArm", qmul(a.rot["rightUpperArm"], quat(X, -78)))
        a.set("rightLowerArm", quat(Y, 88 + 17 * beat))
        a.set("rightHand", qmul(quat(Y, 16 * lag), quat(X, -18)))
        a.fingers(-1, 4, spread=5, thumb=-8)
        k = np.clip(up, -0.05, 1.05)
        for j in ("rightShoulder", "rightUpperArm", "rightLowerArm", "rightHand"):
            p.rot[j] = slerp(p.rot[j], a.rot[j], k)
        for j in list(a.rot):
            if j.startswith("right") and j not in ("rightShoulder", "rightUpperArm", "rightLowerArm", "rightHand"):
                p.rot[j] = slerp(p.rot[j], a.rot[j], np.clip(up, 0, 1))
        return plant(p)
    return Clip("Wave", sk, 72 / FPS, False, make)


def gesture_point(sk):
    def make(p, t, u):
        relaxed(p, t / 2.2)
        k = float(key(t, [(0, 0), (0.14, -0.08), (0.42, 1.05), (0.55, 1.0), (1.45, 1.0), (1.95, 0), (2.2, 0)]))
        p.add("hips", euler(0, 5 * k, 0))
        p.add("spine", euler(1 * k, 4 * k, 0))
        p.add("chest", euler(1 * k, 5 * k, 0))
        p.add("upperChest", euler(0, 4 * k, 0))
        p.add("neck", euler(0, -6 * k, 0))
        p.add("head", euler(0, -9 * k, -1 * k))
        p.hips = p.hips + vec(-0.006, 0, 0.014) * k
        a = Pose(sk)
        a.arm(-1, down=4, swing=0, elbow=4, twist=-6, across=76, hand=(0, 0, 2), shrug=3)
        a.fingers(-1, 58, thumb=34, point=("Index",))
        for j in a.rot:
            p.rot[j] = slerp(p.rot.get(j, ONE), a.rot[j], np.clip(k, -0.05, 1.05) if "Arm" in j or "Hand" in j or "Should" in j else np.clip(k * 1.2, 0, 1))
        p.add("leftUpperArm", quat(X, 7 * k))
        return plant(p)
    return Clip("Point", sk, 66 / FPS, False, make)


def sit(sk):
    def make(p, t, u):
        k = float(key(t, [(0, 0), (0.12, 0.0), (0.95, 1.0), (1.10, 1.012), (1.30, 1.0), (2.4, 1.0)]))
        lean = float(key(t, [(0, 0), (0.35, 24), (0.70, 30), (1.05, 6), (1.3, 2), (2.4, 2)]))
        relaxed(p, t / 2.4)
        drop, back = 0.345 * k, 0.300 * float(smooth(k * 1.05)) + 0.03 * (lean / 30)
        p.hips = p.hips + vec(0, -drop, -back)
        p.add("hips", euler(lean * 0.8 - 7 * k, 0, 0))
        p.add("spine", euler(lean * 0.25 + 5 * k, 0, 0))
        p.add("chest", euler(lean * 0.15 + 1 * k, 0, 0))
        p.add("neck", euler(-lean * 0.3, 0, 0))
        p.add("head", euler(-lean * 0.45 + 1 * k, 4 * np.sin(max(t - 1.2, 0) * 2.0) * k, 0))
        for s in (1, -1):
            a = Pose(sk)
            a.arm(s, down=68, swing=36 - 6 * k, elbow=44, twist=34, across=2, hand=(0, 6, 14), shrug=0)
            a.fingers(s, 16)
            for j in a.rot:
                p.rot[j] = slerp(p.rot[j], a.rot[j], float(smooth(k * 1.1 - 0.1)))
        p.stand(1, (0.006, 0, 0.012), 7)
        p.stand(-1, (-0.010, 0, -0.012), -9)
        return p
    return Clip("Sit", sk, 72 / FPS, False, make)


def dance(sk):
    """Eight seconds at 120 beats a minute: step-touch, arms in the air, twist, turn."""
    B = 0.5

    def feet(p, b, spin):
        """Step-touch for beats 0..12, a turn on the spot for 12..16."""
        bar = b % 4
        for s in (1, -1):
            # each bar: left out, right joins, right out, left joins
            if s > 0:
                x = float(key(bar, [(0, 0.0), (0.15, 0.0), (0.75, 0.12), (2.1, 0.12), (3.1, 0.12), (3.75, 0.0), (4, 0.0)]))
                y = 0.055 * np.sin(np.pi * np.clip((bar - 0.15) / 0.6, 0, 1)) + 0.055 * np.sin(np.pi * np.clip((bar - 3.1) / 0.65, 0, 1))
            else:
                x = float(key(bar, [(0, 0.0), (1.1, 0.0), (1.75, 0.07), (2.1, 0.07), (2.75, 0.0), (4, 0.0)]))
                y = 0.055 * np.sin(np.pi * np.clip((bar - 1.1) / 0.65, 0, 1)) + 0.055 * np.sin(np.pi * np.clip((bar - 2.1) / 0.65, 0, 1))
            lift = 16 * y / 0.055
            yaw = 8 * s
            if b >= 12:
                q = float(np.clip((b - 12) / 4, 0, 1))
                # quarter steps: each foot catches up in turn
                stepi = q * 8
                done = np.floor(stepi)
                f = stepi - done
                mine = (done + (0 if s > 0 else 1)) % 2 == 0
                n = np.floor((done + (1 if s > 0 else 0)) / 2)
                ang = 360 / 4 * n
                if mine:
                    ang = ang + 90 * float(smooth(f))
                    y = 0.05 * np.sin(np.pi * f)
                else:
                    y = 0.0
                lift = 16 * y / 0.055
                side = "left" if s > 0 else "right"
                base = qrot(quat(Y, ang), p.sk.at(side + "Toes"))
                qf = qmul(quat(Y, ang + yaw), quat(X, lift))
                ankle = base + vec(0, y, 0) + qrot(qf, p.sk.at(side + "Foot") - p.sk.at(side + "Toes"))
                p.leg(s, ankle, qf, qrot(quat(Y, ang + 4 * s), Z), -lift)
            else:
                p.stand(s, (x, y, 0), yaw, pitch=lift, toes=-lift)

    def make(p, t, u):
        b = t / B
        beat = np.sin(2 * np.pi * b)
        dip = 0.5 - 0.5 * np.cos(2 * np.pi * b)
        spin = 360 * float(smooth((b - 12.0) / 3.8)) if b >= 12 else 0.0
        bar = b % 4
        fade = 1.0 if b < 12 else float(ramp(b, 12.6, 12.0) + ramp(b, 15.5, 16.0))
        cx = float(key(bar, [(0, 0.0), (1.0, 0.085), (2.0, 0.075), (3.0, 0.02), (4.0, 0.0)])) if b < 12 else 0.0
        p.hips = vec(cx, -0.036 - 0.020 * dip, -0.01)
        sway = np.sin(np.pi * b)
        p.set("hips", qmul(quat(Y, spin), euler(3, 6 * np.sin(np.pi * b) * fade, -5.5 * sway * (0.35 + 0.65 * fade))))
        p.set("spine", euler(2 + 2 * dip, -5 * np.sin(np.pi * b) * fade, 4.0 * np.sin(np.pi * (b - 0.12))))
        p.set("chest", euler(-2 - 2 * beat, 4 * np.sin(np.pi * (b - 0.2)), 3.0 * np.sin(np.pi * (b - 0.2))))
        p.set("upperChest", euler(-2, 3 * np.sin(np.pi * (b - 0.25)), 0))
        p.set("neck", euler(2 + 2 * beat, 0, -2 * np.sin(np.pi * (b - 0.3))))
        p.set("head", euler(-2 + 4 * np.sin(2 * np.pi * (b - 0.15)), 7 * np.sin(np.pi * (b - 0.4)), -5 * np.sin(np.pi * (b - 0.25))))
        for s in (1, -1):
            own = np.sin(np.pi * b + (0 if s > 0 else np.pi))
            lagd = np.sin(np.pi * (b - 0.18) + (0 if s > 0 else np.pi))
            A, Bq, C, D = Pose(sk), Pose(sk), Pose(sk), Pose(sk)
            A.arm(s, down=58 - 6 * beat, swing=14 + 26 * own, elbow=74 + 22 * lagd, twist=12, across=8, hand=(0, 6, -6 + 10 * lagd), shrug=2 + 2 * beat)
            A.fingers(s, 34 + 14 * beat)
            Bq.arm(s, down=-34 + 10 * own, swing=0, elbow=40 + 16 * lagd, twist=-40, across=16, hand=(0, 10 * lagd, 14 * lagd), shrug=9)
            Bq.fingers(s, 8, spread=4)
            C.arm(s, down=22 + 12 * own, swing=0, elbow=58 + 14 * lagd, twist=-18 + 14 * own, across=40 + 12 * own, hand=(0, 12 * lagd, -8 + 10 * own), shrug=3)
            C.fingers(s, 12, spread=3)
            D.arm(s, down=16 + 6 * beat, swing=0, elbow=22, twist=0, across=6, hand=(0, 0, 10 + 6 * beat), shrug=3)
            D.fingers(s, 8, spread=4)
            ks = [float(ramp(b, 3.6, 4.2)), float(ramp(b, 7.6, 8.2)), float(ramp(b, 11.6, 12.3)), float(ramp(b, 15.2, 16.0))]
            for j in A.rot:
                q = slerp(A.rot[j], Bq.rot[j], ks[0])
                q = slerp(q, C.rot[j], ks[1])
                q = slerp(q, D.rot[j], ks[2])
                p.rot[j] = slerp(q, A.rot[j], ks[3])
        trail(p, b / 2, 3, 4.0, 6.0)
        feet(p, b, spin)
        return p
    return Clip("Dance", sk, 8.0, True, make)


# ---- range of motion ------------------------------------------------------------------------------


ROM = [                                                     # joint, axis (left side), degrees one way and the other
    ("hips", Y, 25, -25), ("hips", Z, 12, -12), ("spine", X, 28, -14), ("spine", Z, 16, -16), ("chest", Y, 22, -22), ("chest", X, 18, -10),
    ("upperChest", Y, 18, -18), ("neck", X, 26, -24), ("neck", Z, 20, -20), ("head", Y, 46, -46), ("head", X, 24, -22), ("head", Z, 18, -18),
    ("jaw", X, 18, 0), ("{}Eye", Y, 22, -22), ("{}Eye", X, 16, -18), ("{}Shoulder", Z, 18, -10), ("{}Shoulder", Y, -14, 12),
    ("{}UpperArm", Z, -78, 62), ("{}UpperArm", Y, -95, 28), ("{}UpperArm", X, 55, -55), ("{}LowerArm", Y, -132, 0), ("{}LowerArm", X, 55, -55),
    ("{}Hand", Z, -62, 58), ("{}Hand", Y, 18, -22), ("{}Fingers", Z, -78, 8), ("{}Thumb", None, 42, -16),
    ("{}UpperLeg", X, -92, 22), ("{}UpperLeg", Z, 38, -8), ("{}UpperLeg", Y, 26, -24), ("{}LowerLeg", X, 118, 0), ("{}Foot", X, 38, -22), ("{}Foot", Z, 14, -14),
    ("{}Toes", X, -40, 18), ("ponytail", X, 26, -22), ("ponytail", Z, 20, -20), ("{}Lock", Z, 24, -10), ("scarf", X, -34, 6), ("face", None, 1, -1),
]
FACE_MOVES = {"{}EyeCornerInner": (0, 0.004, 0), "{}EyeCornerOuter": (0, 0.005, 0), "{}BrowInner": (0, 0.006, 0), "{}BrowOuter": (0, 0.006, 0),
              "{}MouthCorner": (0.005, 0.002, -0.002), "{}Cheek": (0.004, 0.003, 0.002), "nose": (0, 0.004, 0.004), "chin": (0, -0.005, 0.004)}


class RangeOfMotion:
    """Every joint to both ends in turn; sparse keys of its own."""

    name, loop, extra = "RangeOfMotion", True, {}

    def __init__(self, sk):
        self.sk = sk
        step = 0.8
        tracks, moves, self.marks = {}, {}, []
        for i, (joint, axis, a, b) in enumerate(ROM):
            t0 = i * step
            self.marks.append((t0 + 0.25, f"{joint} {a}"))
            self.marks.append((t0 + 0.55, f"{joint} {b}"))
            for s in ((1, -1) if "{}" in joint or joint in ("scarf", "face") else (1,)):
                side = "left" if s > 0 else "right"
                names, ax = [joint.format(side)], axis
                if joint == "{}Fingers":
                    names = [side + j for f in ("Index", "Middle", "Ring", "Little") for j in finger_joints(f)]
                elif joint == "{}Thumb":
                    names, ax = [side + j for j in finger_joints("Thumb")], vec(0.25, 1, -0.35)
                elif joint == "ponytail":
                    names = [f"ponytail{k}" for k in (1, 2, 3, 4)]
                elif joint == "{}Lock":
                    names = [f"{side}Lock{k}" for k in (1, 2)]
                elif joint == "scarf":
                    names = [f"{'scarfFront' if s > 0 else 'scarfBack'}{k}" for k in (1, 2, 3)]
                elif joint == "face":
                    for n, d in FACE_MOVES.items():
                        if "{}" not in n and s < 0:
                            continue
                        at = sk.at(n.format(side)) - sk.place[sk.parent[sk.index[n.format(side)]]]
                        d = vec(*d) * vec(s, 1, 1)
                        moves[n.format(side)] = [(t0, at), (t0 + 0.25, at + d), (t0 + 0.55, at - d), (t0 + 0.8, at)]
                    continue
                sign = s if ax is not None and joint not in ("scarf",) and (ax is Y or ax is Z or joint == "{}Thumb") else 1
                for n in names:
                    k = 0.72 if joint == "{}Fingers" or joint == "{}Thumb" else 0.6 if len(names) > 2 else 1.0
                    keys = tracks.setdefault(n, [])
                    keys += [(t0, ONE), (t0 + 0.25, quat(ax, a * k * sign)), (t0 + 0.4, ONE), (t0 + 0.55, quat(ax, b * k * sign)), (t0 + step, ONE)]
        self.seconds = len(ROM) * step
        self.tracks, self.moves = tracks, moves
        self.times = [0.0, self.seconds]

    def channels(self):
        sk, out = self.sk, []
        for n in sorted(tracks := self.tracks, key=sk.index.get):
            ks, last = [(0.0, ONE)], 0.0
            for t, q in tracks[n] + [(self.seconds, ONE)]:
                if t > last + 1e-6:
                    ks.append((t, q))
                    last = t
            # ease: extra keys between, a third of the way
            full = [ks[0]]
            for (t0, a), (t1, b) in zip(ks[:-1], ks[1:]):
                if np.abs(a - b).max() > 1e-6:
                    m = 4
                    for k in range(1, m):
                        full.append((t0 + (t1 - t0) * k / m, slerp(a, b, float(smooth(k / m)))))
                full.append((t1, b))
            out.append((n, "rotation", [q for _, q in full], [t for t, _ in full]))
        for n in sorted(self.moves, key=sk.index.get):
            ks = self.moves[n]
            at = ks[0][1]
            ks = ([(0.0, at)] if ks[0][0] > 0 else []) + ks + ([(self.seconds, at)] if ks[-1][0] < self.seconds - 1e-6 else [])
            out.append((n, "translation", [p for _, p in ks], [t for t, _ in ks]))
        return out


def mira(sk):
    return [Clip("Idle", sk, 4.0, True, idle), walk(sk), run(sk), strafe(sk, 1), strafe(sk, -1), walk_back(sk), turn(sk, 1), turn(sk, -1),
            *jumps(sk), gesture_wave(sk), gesture_point(sk), sit(sk), dance(sk), RangeOfMotion(sk)]


if __name__ == "__main__":
    import skeleton
    for c in mira(skeleton.build()):
        print(c.name, round(c.seconds, 3), "reach", round(getattr(c, "reach", 0), 4))

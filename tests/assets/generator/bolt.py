"""Bolt: a small robot of rigid parts; every mesh hangs on a node, nothing is skinned."""
import numpy as np
import gltf
from clips import Clip, key, wave
from export import triangles
from maths import Mesh, euler, normals, qmul, quat, ramp, unit, vec
from parts import outward
from pup import sphere
from skeleton import Skeleton

X, Y, Z = vec(1, 0, 0), vec(0, 1, 0), vec(0, 0, 1)


def bones():
    s = Skeleton()
    s.add("hips", None, (0, 0.30, 0))
    s.add("chest", "hips", (0, 0.345, 0))
    s.add("head", "chest", (0, 0.545, 0.0))
    s.add("antenna", "head", (0, 0.755, -0.02))
    for side, k in (("left", 1), ("right", -1)):
        s.add(side + "Eye", "head", (k * 0.062, 0.655, 0.125))
        s.add(side + "UpperArm", "chest", (k * 0.150, 0.495, 0))
        s.add(side + "LowerArm", side + "UpperArm", (k * 0.165, 0.395, 0))
        s.add(side + "Hand", side + "LowerArm", (k * 0.165, 0.295, 0))
        s.add(side + "Claw1", side + "Hand", (k * 0.165, 0.262, 0.018))
        s.add(side + "Claw2", side + "Hand", (k * 0.165, 0.262, -0.018))
        s.add(side + "UpperLeg", "hips", (k * 0.070, 0.270, 0))
        s.add(side + "LowerLeg", side + "UpperLeg", (k * 0.070, 0.165, 0.004))
        s.add(side + "Foot", side + "LowerLeg", (k * 0.070, 0.055, 0))
    return s


def box(c, half, power=0.30, seg=28, rings=16):
    """A rounded block: a superellipsoid; small power means sharper edges."""
    v, f = sphere((0, 0, 0), 1.0, seg, rings)
    p = np.sign(v) * np.abs(v) ** 1.0
    k = (np.abs(p) ** (2 / power)).sum(1) ** (power / 2)
    return p / k[:, None] * half + np.array(c, float), f


def rod(a, b, r, seg=14, bevel=0.004):
    """A capped cylinder with a soft edge."""
    a, b = np.array(a, float), np.array(b, float)
    d = unit(b - a)
    e1 = unit(np.cross(d, X if abs(d[0]) < 0.9 else Y))
    e2 = np.cross(d, e1)
    m = Mesh()
    ring = lambda c, k: m.ring([c + k * (e1 * np.cos(t) + e2 * np.sin(t)) for t in np.arange(seg) * 2 * np.pi / seg])
    rs = [ring(a, r - bevel), ring(a + d * bevel * 0.4, r - bevel * 0.35), ring(a + d * bevel, r), ring(b - d * bevel, r), ring(b - d * bevel * 0.4, r - bevel * 0.35), ring(b, r - bevel)]
    for p, q in zip(rs[:-1], rs[1:]):
        m.bridge(p, q, "r")
    m.cap(rs[0][::-1], a, "r")
    m.cap(rs[-1], b, "r")
    return np.array(m.v), np.array(m.f)


MATERIALS = {"shell": ("#E9E4DA", 0.35, 0.1), "accent": ("#E8823A", 0.4, 0.1), "joint": ("#4A505C", 0.5, 0.5), "screen": ("#16242C", 0.15, 0.0), "glow": ("#6CF0E0", 0.4, 0.0)}


def parts(sk):
    """joint -> [(material, v, f)] in world places of the rest pose."""
    P = {}
    add = lambda j, m, vf: P.setdefault(j, []).append((m, *vf))
    add("hips", "joint", box((0, 0.300, 0), (0.085, 0.038, 0.062), 0.5))
    add("chest", "shell", box((0, 0.440, 0), (0.122, 0.108, 0.096), 0.42))
    add("chest", "accent", box((0, 0.462, 0.080), (0.058, 0.040, 0.024), 0.40, 20, 12))
    add("chest", "glow", sphere((0, 0.462, 0.104), 0.016, 14, 8, (1, 1, 0.4)))
    add("chest", "joint", rod((0, 0.335, 0), (0, 0.352, 0), 0.050))
    add("chest", "accent", box((0, 0.440, -0.100), (0.070, 0.066, 0.034), 0.45, 20, 12))
    add("head", "joint", rod((0, 0.536, 0), (0, 0.575, 0), 0.042))
    add("head", "shell", box((0, 0.655, 0), (0.150, 0.102, 0.118), 0.46))
    add("head", "screen", box((0, 0.652, 0.070), (0.122, 0.074, 0.055), 0.46, 28, 16))
    for k in (1, -1):
        add("head", "accent", rod((k * 0.142, 0.655, 0), (k * 0.168, 0.655, 0), 0.040))
    add("antenna", "joint", rod((0, 0.745, -0.02), (0, 0.815, -0.02), 0.006, 10, 0.002))
    add("antenna", "glow", sphere((0, 0.828, -0.02), 0.018, 14, 10))
    # the mouth: a small glowing bow
    m = Mesh()
    t = np.linspace(-1, 1, 11)
    for_ring = []
    for q in t:
        c = vec(0.026 * q, 0.618 + 0.008 * q * q, 0.1245)
        for_ring.append(m.ring([c + vec(0, 0.0045 * np.sin(a), 0.0030 * np.cos(a)) for a in np.arange(6) * np.pi / 3]))
    for a, b in zip(for_ring[:-1], for_ring[1:]):
        m.bridge(a, b, "m")
    m.cap(for_ring[0][::-1], vec(-0.027, 0.626, 0.1245), "m")
    m.cap(for_ring[-1], vec(0.027, 0.626, 0.1245), "m")
    add("head", "glow", (np.array(m.v), np.array(m.f)))
    for side, k in (("left", 1), ("right", -1)):
        add(side + "Eye", "glow", sphere((k * 0.062, 0.655, 0.122), 0.030, 18, 12, (0.85, 1.15, 0.25)))
        add(side + "UpperArm", "accent", sphere((k * 0.152, 0.495, 0), 0.040, 18, 12))
        add(side + "UpperArm", "joint", rod((k * 0.160, 0.470, 0), (k * 0.165, 0.400, 0), 0.019))
        add(side + "LowerArm", "joint", sphere((k * 0.165, 0.395, 0), 0.025, 14, 10))
        add(side + "LowerArm", "shell", box((k * 0.165, 0.340, 0), (0.033, 0.046, 0.035), 0.5, 20, 12))
        add(side + "Hand", "joint", rod((k * 0.165, 0.300, 0), (k * 0.165, 0.280, 0), 0.020))
        add(side + "Hand", "accent", box((k * 0.165, 0.270, 0), (0.026, 0.014, 0.030), 0.5, 18, 10))
        add(side + "Claw1", "joint", box((k * 0.165, 0.238, 0.022), (0.016, 0.030, 0.0085), 0.5, 14, 10))
        add(side + "Claw2", "joint", box((k * 0.165, 0.238, -0.022), (0.016, 0.030, 0.0085), 0.5, 14, 10))
        add(side + "UpperLeg", "joint", sphere((k * 0.070, 0.268, 0), 0.032, 16, 10))
        add(side + "UpperLeg", "joint", rod((k * 0.070, 0.255, 0), (k * 0.070, 0.170, 0.004), 0.020))
        add(side + "LowerLeg", "joint", sphere((k * 0.070, 0.165, 0.004), 0.026, 14, 10))
        add(side + "LowerLeg", "shell", box((k * 0.070, 0.112, 0.001), (0.036, 0.048, 0.038), 0.5, 20, 12))
        add(side + "Foot", "joint", sphere((k * 0.070, 0.058, 0), 0.024, 14, 8))
        v, f = box((k * 0.070, 0.030, 0.022), (0.048, 0.032, 0.075), 0.42, 24, 14)
        v[:, 1] = np.maximum(v[:, 1], 0)
        add(side + "Foot", "accent", (v, f))
    return P


# ---- clips -----------------------------------------------------------------------------------------


def _legs(p, off):
    for side, s in (("left", 1), ("right", -1)):
        at, pitch = off[side]
        p.two_bones(side + "UpperLeg", side + "LowerLeg", side + "Foot", p.sk.at(side + "Foot") + at, quat(X, pitch), Z)


def _arm(p, side, swing, out=8, elbow=15, grip=0):
    s = 1 if side == "left" else -1
    p.set(side + "UpperArm", qmul(quat(X, -swing), quat(Z, s * out)))
    p.set(side + "LowerArm", quat(X, -elbow))
    p.set(side + "Claw1", quat(X, -grip))
    p.set(side + "Claw2", quat(X, grip))


def idle(p, t, u):
    w = 2 * np.pi * u
    p.hips = vec(0, -0.010 + 0.004 * np.sin(2 * w), 0)
    p.set("hips", euler(0, 0, 1.0 * np.sin(w)))
    p.set("chest", euler(1.0 * np.sin(2 * w + 0.5), 2 * np.sin(w), -1.5 * np.sin(w)))
    p.set("head", euler(3 * np.sin(2 * w), float(key(t, [(0, 0), (0.8, 0), (1.1, 22), (2.0, 22), (2.3, -18), (3.1, -18), (3.4, 0), (4, 0)])), 4 * np.sin(w)))
    p.set("antenna", euler(6 * np.sin(4 * w), 0, 8 * np.sin(4 * w + 1)))
    for s, side in ((1, "left"), (-1, "right")):
        _arm(p, side, 4 * np.sin(2 * w + s), 10 + 2 * np.sin(2 * w), 18, 8 + 8 * np.sin(2 * w))
        p.set(side + "Eye", quat(X, 0))
    _legs(p, {"left": (vec(0, 0, 0), 0), "right": (vec(0, 0, 0), 0)})
    return p


def _cycle(ph, v, T, duty, lift):
    ph = ph % 1
    a = v * T * duty / 2
    if ph <= duty:
        return vec(0, 0, a - v * T * ph), 0.0
    u = (ph - duty) / (1 - duty)
    m0 = -v * T * (1 - duty)
    z = (2 * u ** 3 - 3 * u ** 2 + 1) * -a + (u ** 3 - 2 * u ** 2 + u) * m0 + (-2 * u ** 3 + 3 * u ** 2) * a + (u ** 3 - u ** 2) * m0
    return vec(0, lift * np.sin(np.pi * u), z), 14 * np.sin(2 * np.pi * u)


def gait(name, sk, frames, v, duty, lift, lean, arms):
    T = frames / 30

    def make(p, t, u):
        p.hips = vec(0.012 * wave(u, duty / 2), -0.020 + 0.008 * wave(2 * u, 0.02 + duty), 0)
        p.set("hips", euler(lean * 0.4, -5 * wave(u), 5 * wave(u, duty / 2)))
        p.set("chest", euler(lean * 0.6, 9 * wave(u, 0.04), -3 * wave(u, duty / 2 + 0.05)))
        p.set("head", euler(-lean * 0.7 + 2 * wave(2 * u, 0.3), -5 * wave(u, 0.08), -4 * wave(u, duty / 2 + 0.1)))
        p.set("antenna", euler(-10 + 12 * wave(2 * u, 0.4), 0, 8 * wave(u, 0.3)))
        for side, k in (("left", 0.0), ("right", 0.5)):
            _arm(p, side, -arms * wave(u + k, 0.03), 10, 22 + lean + 8 * wave(u + k, 0.5), 6)
        _legs(p, {"left": _cycle(u, v, T, duty, lift), "right": _cycle(u + 0.5, v, T, duty, lift)})
        return p
    return Clip(name, sk, T, True, make, speed=v)


def hello(p, t, u):
    idle(p, 0, 0)
    k = float(key(t, [(0, 0), (0.4, 1.05), (0.55, 1), (1.6, 1), (2.1, 0)]))
    beat = np.sin(2 * np.pi * (t - 0.5) / 0.4) * float(ramp(t, 0.4, 0.6) * ramp(t, 1.75, 1.5))
    p.add("chest", euler(0, 0, 4 * k))
    p.add("head", euler(0, 0, -10 * k + 2 * beat))
    p.set("antenna", euler(0, 0, 16 * beat))
    p.set("rightUpperArm", quat(Z, -(10 + 112 * k)))
    p.set("rightLowerArm", quat(Z, -(28 * k) + 26 * beat))
    p.set("rightClaw1", quat(X, -8 - 14 * k))
    p.set("rightClaw2", quat(X, 8 + 14 * k))
    _legs(p, {"left": (vec(0, 0, 0), 0), "right": (vec(0, 0, 0), 0)})
    return p


def jump(p, t, u):
    h = float(key(t, [(0, -0.01), (0.22, -0.075), (0.34, 0.0), (0.58, 0.20), (0.82, 0.0), (0.93, -0.07), (1.2, -0.01)]))
    k = float(key(t, [(0, 0), (0.22, -30), (0.45, 110), (0.75, 120), (0.95, -10), (1.2, 0)]))
    p.hips = vec(0, h, 0)
    lean = float(key(t, [(0, 0), (0.22, 18), (0.4, -4), (0.75, 2), (0.93, 18), (1.2, 0)]))
    p.set("hips", euler(lean * 0.4, 0, 0))
    p.set("chest", euler(lean * 0.6, 0, 0))
    p.set("head", euler(-lean * 0.8, 0, 0))
    p.set("antenna", euler(-lean, 0, 0))
    for side in ("left", "right"):
        _arm(p, side, 0, 10 + max(k, -12) * 0.8, 16, 10)
    foot = vec(0, max(h, 0) * 0.9, 0)
    _legs(p, {"left": (foot, 12 * max(h, 0) / 0.2), "right": (foot, 12 * max(h, 0) / 0.2)})
    return p


def make():
    sk = bones()
    g = gltf.Writer("Sinew demo character generator")
    g.doc["asset"]["copyright"] = "Made by the Sinew project; same licence as the project"
    mats = {n: g.material(n, gltf.linear(c), r, m) for n, (c, r, m) in MATERIALS.items()}
    g.doc["materials"][mats["glow"]]["emissiveFactor"] = [round(float(x), 4) for x in gltf.linear(MATERIALS["glow"][0])]
    P = parts(sk)
    root = g.push("nodes", {"name": "Bolt", "children": []})
    for i, n in enumerate(sk.names):
        par = sk.parent[i]
        t = sk.place[i] - (sk.place[par] if par >= 0 else 0)
        g.push("nodes", {"name": n, "translation": [round(float(x), 6) + 0.0 for x in t]})
        g.doc["nodes"][0 if par < 0 else 1 + par].setdefault("children", []).append(1 + i)
    for i, n in enumerate(sk.names):
        if n not in P:
            continue
        prims = []
        for m in MATERIALS:
            vs, ns, fs, off = [], [], [], 0
            for mm, v, f in P[n]:
                if mm != m:
                    continue
                f = outward(v, f)
                vs.append(np.round(v - sk.place[i], 5))
                ns.append(normals(v, f))
                fs.append(triangles(f) + off)
                off += len(v)
            if vs:
                nn = np.round(np.concatenate(ns), 4)
                nn /= np.sqrt((nn * nn).sum(1, keepdims=True))
                prims.append({"attributes": {"POSITION": g.accessor(np.concatenate(vs), "VEC3", target=34962, bounds=True), "NORMAL": g.accessor(nn, "VEC3", target=34962)},
                              "indices": g.accessor(np.concatenate(fs).reshape(-1, 1), "SCALAR", gltf.U16, target=34963), "material": mats[m]})
        g.doc["nodes"][1 + i]["mesh"] = g.push("meshes", {"name": n, "primitives": prims})
    g.doc["scenes"][0] = {"name": "Bolt", "nodes": [root]}
    clips = [Clip("Idle", sk, 4.0, True, idle), gait("Walk", sk, 24, 0.30, 0.60, 0.045, 4, 22), gait("Run", sk, 14, 0.75, 0.42, 0.045, 16, 40),
             Clip("Wave", sk, 63 / 30, False, hello), Clip("Jump", sk, 36 / 30, False, jump)]
    for c in clips:
        a = g.animation(c.name, c.times, [(1 + sk.index[j], path, val, *own) for j, path, val, *own in c.channels()])
        g.doc["animations"][a]["extras"] = {"loop": c.loop, **({"speed_m_s": c.extra["speed"]} if "speed" in c.extra else {})}
    rig = {"sinew_rig": 1, "source": "bolt.glb", "unit_m": 1.0, "base_pose": "rest",
           "controls": {"locomotion": {"idle": "Idle", "walk": {"clip": "Walk", "speed_m_s": 0.30}, "run": {"clip": "Run", "speed_m_s": 0.75}},
                        "actions": {"wave": {"clip": "Wave", "fade_s": 0.2}, "jump": {"clip": "Jump", "fade_s": 0.1}},
                        "bindings": {"key:KeyE": "wave", "key:Space": "jump", "gamepad:button0": "jump", "touch:tap": "wave"}}}
    return g.bytes(), rig

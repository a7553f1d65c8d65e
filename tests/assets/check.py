#!/usr/bin/python3
"""Checks the committed characters with numpy alone and prints the figures: check.py [FOLDER]"""
import json
import os
import struct
import sys

import numpy as np

KIND = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
TYPE = {5121: np.uint8, 5123: np.uint16, 5125: np.uint32, 5126: np.float32}


class Model:
    """A GLB read into arrays: all primitives of the scene in the order of `.f32` files."""

    def __init__(self, path):
        data = open(path, "rb").read()
        magic, version, size = struct.unpack_from("<III", data)
        assert magic == 0x46546C67 and version == 2 and size == len(data)
        n = struct.unpack_from("<I", data, 12)[0]
        self.doc = json.loads(data[20:20 + n])
        self.bin = data[28 + n:]
        self.nodes = self.doc["nodes"]
        self.name = {x.get("name"): i for i, x in enumerate(self.nodes)}
        self.parent = [-1] * len(self.nodes)
        for i, x in enumerate(self.nodes):
            for c in x.get("children", []):
                self.parent[c] = i
        self._meshes()
        self.clips = {a["name"]: a for a in self.doc.get("animations", [])}

    def accessor(self, i):
        a = self.doc["accessors"][i]
        k, t = KIND[a["type"]], TYPE[a["componentType"]]

        def view(v, count, k, t, offset=0):
            b = self.doc["bufferViews"][v]
            return np.frombuffer(self.bin, t, count * k, b.get("byteOffset", 0) + offset).reshape(count, k)
        out = view(a["bufferView"], a["count"], k, t, a.get("byteOffset", 0)).copy() if "bufferView" in a else np.zeros((a["count"], k), t)
        if "sparse" in a:
            s = a["sparse"]
            rows = view(s["indices"]["bufferView"], s["count"], 1, TYPE[s["indices"]["componentType"]])[:, 0]
            out[rows] = view(s["values"]["bufferView"], s["count"], k, t)
        return out

    def _meshes(self):
        P, J, W, T, M, own, morphs, uv = [], [], [], [], [], [], {}, []
        skin = self.doc["skins"][0] if "skins" in self.doc else None
        self.joints = skin["joints"] if skin else []
        self.ibm = self.accessor(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1).astype(np.float64) if skin else None
        base = 0
        for ni, node in enumerate(self.nodes):
            if "mesh" not in node:
                continue
            mesh = self.doc["meshes"][node["mesh"]]
            names = mesh.get("extras", {}).get("targetNames", [])
            for prim in mesh["primitives"]:
                at = prim["attributes"]
                p = self.accessor(at["POSITION"]).astype(np.float64)
                n = len(p)
                P.append(p)
                if "JOINTS_0" in at:
                    J.append(self.accessor(at["JOINTS_0"]).astype(int))
                    W.append(self.accessor(at["WEIGHTS_0"]))
                own += [ni] * n
                uv.append(self.accessor(at["TEXCOORD_0"]) if "TEXCOORD_0" in at else np.zeros((n, 2)))
                f = self.accessor(prim["indices"])[:, 0].astype(int).reshape(-1, 3) + base
                T.append(f)
                M += [prim["material"]] * len(f)
                for k, t in enumerate(prim.get("targets", [])):
                    d = self.accessor(t["POSITION"])
                    r = np.nonzero(np.abs(d).max(1) > 0)[0]
                    morphs.setdefault(names[k], []).append((r + base, d[r].astype(np.float64)))
                base += n
        self.v, self.tri, self.mat, self.own, self.uv = np.concatenate(P), np.concatenate(T), np.array(M), np.array(own), np.concatenate(uv)
        self.J, self.W = (np.concatenate(J), np.concatenate(W)) if J else (None, None)
        self.morphs = {k: (np.concatenate([a for a, _ in v]), np.concatenate([b for _, b in v])) for k, v in morphs.items()}

    def shaped(self, weights):
        v = self.v.copy()
        for k, w in weights.items():
            i, d = self.morphs[k]
            v[i] += w * d
        return v

    def locals(self, clip=None, t=0.0):
        out = []
        for n in self.nodes:
            out.append([np.array(n.get("translation", (0, 0, 0)), float), np.array(n.get("rotation", (0, 0, 0, 1)), float)])
        if clip:
            a = self.clips[clip]
            for c in a["channels"]:
                s = a["samplers"][c["sampler"]]
                key = (clip, c["sampler"])
                cache = self.__dict__.setdefault("_cache", {})
                if key not in cache:
                    cache[key] = (self.accessor(s["input"])[:, 0].astype(float), self.accessor(s["output"]).astype(float))
                ts, vs = cache[key]
                if t <= ts[0]:
                    x = vs[0]
                elif t >= ts[-1]:
                    x = vs[-1]
                else:
                    i = int(np.searchsorted(ts, t, side="right")) - 1
                    u = (t - ts[i]) / (ts[i + 1] - ts[i])
                    x = slerp(vs[i], vs[i + 1], u) if c["target"]["path"] == "rotation" else vs[i] * (1 - u) + vs[i + 1] * u
                out[c["target"]["node"]][1 if c["target"]["path"] == "rotation" else 0] = x
        return out

    def globals(self, clip=None, t=0.0):
        loc = self.locals(clip, t)
        G = [None] * len(loc)

        def get(i):
            if G[i] is None:
                m = np.eye(4)
                m[:3, :3] = rotation(loc[i][1])
                m[:3, 3] = loc[i][0]
                G[i] = m if self.parent[i] < 0 else get(self.parent[i]) @ m
            return G[i]
        return np.array([get(i) for i in range(len(loc))])

    def length(self, clip):
        a = self.clips[clip]
        return max(float(self.accessor(s["input"])[-1, 0]) for s in a["samplers"])

    def pose(self, clip=None, t=0.0, weights=None):
        """World positions of all vertices."""
        v = self.shaped(weights or {})
        G = self.globals(clip, t)
        if self.J is None:
            return np.einsum("nij,nj->ni", G[self.own][:, :3, :3], v) + G[self.own][:, :3, 3]
        S = G[self.joints] @ self.ibm
        out = np.zeros_like(v)
        for k in range(self.J.shape[1]):
            m = S[self.J[:, k]]
            out += self.W[:, k:k + 1].astype(float) * (np.einsum("nij,nj->ni", m[:, :3, :3], v) + m[:, :3, 3])
        return out


def rotation(q):
    x, y, z, w = q / np.sqrt((q * q).sum())
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                     [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def slerp(a, b, u):
    d = (a * b).sum()
    if d < 0:
        b, d = -b, -d
    if d > 0.9995:
        q = a + (b - a) * u
        return q / np.sqrt((q * q).sum())
    w = np.arccos(d)
    return (np.sin((1 - u) * w) * a + np.sin(u * w) * b) / np.sin(w)


class Report:
    def __init__(self):
        self.passed = self.failed = 0

    def say(self, ok, text):
        self.passed, self.failed = self.passed + bool(ok), self.failed + (not ok)
        print(("ok   " if ok else "FAIL ") + text)

    def quiet(self, ok, text):
        if not ok:
            self.say(False, text)
        return ok


def slide(m, clip, speed, part, turn=0.0):
    """Drift in metres over the ground of planted sole vertices while each stays down, the clip moving at `speed` (x, z)
    or turning by `turn` degrees a second."""
    L = m.length(clip)
    steps = int(round(L * 120))
    P = []
    for k in range(2 * steps + 1):
        t = k / steps * L
        p = m.pose(clip, t % L if k % steps else 0.0)[part]
        a = np.radians(turn * t)
        p = p @ np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]]).T
        P.append(p + np.array([speed[0], 0, speed[1]]) * t)
    P = np.array(P)
    down = P[:, :, 1] < 0.004
    worst, share = 0.0, down.mean()
    for i in range(len(part)):
        start = None
        for k in range(len(P)):
            if down[k, i]:
                if start is None:
                    start = k
                d = P[k, i, [0, 2]] - P[start, i, [0, 2]]
                worst = max(worst, float(np.sqrt((d * d).sum())))
            else:
                start = None
    return worst, share


def planted(m, part_names):
    """A few vertices of each sole: those flat on the floor in the rest pose that follow one joint."""
    out = []
    floor = m.v[:, 1] < 0.0015
    for n in part_names:
        j = m.joints.index(m.name[n])
        top = (m.J[:, 0] == j) & (m.W[:, 0] > 0.97) & floor
        ids = np.nonzero(top)[0]
        if len(ids) > 12:
            ids = ids[np.linspace(0, len(ids) - 1, 12).astype(int)]
        out += list(ids)
    return np.array(out)


ARKIT = """eyeBlinkLeft eyeLookDownLeft eyeLookInLeft eyeLookOutLeft eyeLookUpLeft eyeSquintLeft eyeWideLeft eyeBlinkRight eyeLookDownRight eyeLookInRight
eyeLookOutRight eyeLookUpRight eyeSquintRight eyeWideRight jawForward jawLeft jawRight jawOpen mouthClose mouthFunnel mouthPucker mouthLeft mouthRight
mouthSmileLeft mouthSmileRight mouthFrownLeft mouthFrownRight mouthDimpleLeft mouthDimpleRight mouthStretchLeft mouthStretchRight mouthRollLower
mouthRollUpper mouthShrugLower mouthShrugUpper mouthPressLeft mouthPressRight mouthLowerDownLeft mouthLowerDownRight mouthUpperUpLeft mouthUpperUpRight
browDownLeft browDownRight browInnerUp browOuterUpLeft browOuterUpRight cheekPuff cheekSquintLeft cheekSquintRight noseSneerLeft noseSneerRight
tongueOut""".split()
HUMANOID = """hips spine chest upperChest neck head jaw leftEye rightEye leftUpperLeg leftLowerLeg leftFoot leftToes rightUpperLeg rightLowerLeg rightFoot
rightToes leftShoulder leftUpperArm leftLowerArm leftHand rightShoulder rightUpperArm rightLowerArm rightHand""".split() + \
    [s + f + k for s in ("left", "right") for f in ("Index", "Middle", "Ring", "Little") for k in ("Proximal", "Intermediate", "Distal")] + \
    [s + "Thumb" + k for s in ("left", "right") for k in ("Metacarpal", "Proximal", "Distal")]
CLIPS = "Idle Walk Run StrafeLeft StrafeRight WalkBack TurnLeft TurnRight JumpStart JumpAir JumpLand Wave Point Sit Dance RangeOfMotion".split()
WAY = {"Walk": (0, 1), "Run": (0, 1), "StrafeLeft": (1, 0), "StrafeRight": (-1, 0), "WalkBack": (0, 1)}


def skin_checks(r, m):
    s = np.zeros(len(m.W), np.float32)
    for k in range(m.W.shape[1]):
        s = s + m.W[:, k]
    r.say((s == 1).all() and (m.W >= 0).all(), f"weights add up to exactly 1 in float32: {int((s == 1).sum())} of {len(s)}")
    n = (m.W > 0).sum(1)
    r.say(n.max() <= 4, f"influences a vertex: {n.mean():.2f} on average, {n.max()} at most")


def lids(m, rig):
    """At each lid: the largest gap between paired contour points, and how far the lids cross, over the blink."""
    out = []
    for side, s in (("l", "Left"), ("r", "Right")):
        c = rig["face"]["contours"]["lid_" + s[0].lower()]
        eye = m.globals()[m.name[s.lower() + "Eye"]][:3, 3]
        open_gap, cross, inside = None, 0.0, -1.0
        ball_r = 0.042
        for w in np.linspace(0, 1, 11):
            v = m.shaped({f"eyeBlink{s}": w})
            u, l = v[c["upper"]], v[c["lower"]]
            g = (u - l)[:, 1]
            if w == 0:
                open_gap = g.max()
            cross = max(cross, -g.min())
            inside = max(inside, ball_r - np.sqrt(((v[c["upper"] + c["lower"]] - eye) ** 2).sum(1)).min())
        gap = float(np.sqrt(((u - l) ** 2).sum(1)).max())
        out.append((open_gap, gap, cross, inside))
    return out


def mira(r, folder):
    path = os.path.join(folder, "mira.glb")
    m = Model(path)
    rig = json.load(open(os.path.join(folder, "mira.rig.json")))
    r.say(8000 <= len(m.v) <= 15000, f"mira: {len(m.v)} vertices, {len(m.tri)} triangles")
    r.say(65 <= len(m.joints) <= 90, f"joints: {len(m.joints)}")
    names = {m.nodes[j]["name"] for j in m.joints}
    r.say(not [n for n in HUMANOID if n not in names], f"humanoid joint names: {sum(n in names for n in HUMANOID)} of {len(HUMANOID)}")
    skin_checks(r, m)
    r.say(not [n for n in ARKIT if n not in m.morphs], f"face shapes: {sum(n in m.morphs for n in ARKIT)} of 52, {len(m.morphs)} shapes in all")
    weak = [n for n in ARKIT if n not in m.morphs or np.sqrt((m.morphs[n][1] ** 2).sum(1)).max() < 0.0025]
    r.say(not weak, "every face shape moves something by at least 2.5 mm" + (": not " + ", ".join(weak) if weak else ""))
    r.say(not [c for c in CLIPS if c not in m.clips], f"clips: {len(m.clips)}")
    for k, (o, g, c, i) in zip("lr", lids(m, rig)):
        r.say(g < 2e-5 and c < 1e-5, f"lid_{k}: open {o * 1000:.1f} mm, closed gap {g * 1000:.4f} mm, crossing over the blink {c * 1000:.4f} mm")
        r.say(i < 0, f"lid_{k}: stays {-i * 1000:.2f} mm outside the eyeball over the blink")
    c = rig["face"]["contours"]["lips"]
    gap = lambda w: np.sqrt(((m.shaped(w)[c["upper"]] - m.shaped(w)[c["lower"]]) ** 2).sum(1)).max() * 1000
    r.say(gap({}) < 0.05 and gap({"jawOpen": 1, "mouthClose": 1}) < 0.05,
          f"lips: gap at rest {gap({}):.3f} mm, jawOpen {gap({'jawOpen': 1}):.1f} mm, with mouthClose {gap({'jawOpen': 1, 'mouthClose': 1}):.3f} mm")
    low = m.v[:, 1].min()
    r.say(abs(low) < 1e-4, f"feet at rest: lowest vertex {low * 1000:.2f} mm, height {m.v[:, 1].max():.3f} m")
    soles = planted(m, ["leftToes", "rightToes", "leftFoot", "rightFoot"])
    for clip, way in WAY.items():
        v = m.clips[clip]["extras"]["speed_m_s"]
        s, share = slide(m, clip, (way[0] * v, way[1] * v), soles)
        r.say(s <= 0.010, f"{clip} at {v} m/s: planted feet slide {s * 100:.2f} cm at most (soles down {share * 100:.0f} % of the time)")
    for clip in ("TurnLeft", "TurnRight"):
        s, share = slide(m, clip, (0, 0), soles, m.clips[clip]["extras"]["turn_deg_s"])
        r.say(s <= 0.020, f"{clip}: planted feet slide {s * 100:.2f} cm at most (soles down {share * 100:.0f} % of the time)")
    loops(r, m, rig)
    most = {}
    for clip, a in m.clips.items():
        for c in a["channels"]:
            name = m.nodes[c["target"]["node"]]["name"]
            if c["target"]["path"] == "rotation" and clip != "RangeOfMotion" and name.endswith(("Foot", "LowerLeg", "LowerArm", "Hand")):
                w = np.abs(m.accessor(a["samplers"][c["sampler"]]["output"])[:, 3]).min()
                joint = name.replace("left", "").replace("right", "")
                most[joint] = max(most.get(joint, 0), np.degrees(2 * np.arccos(min(w, 1))))
    r.say(most["Foot"] < 85 and most["LowerLeg"] < 135 and most["Hand"] < 80 and most["LowerArm"] < 140,
          "joints turn at most: " + ", ".join(f"{k} {v:.0f}°" for k, v in sorted(most.items())))
    for clip in m.clips:
        L = m.length(clip)
        lowest = min(m.pose(clip, k / 40 * L)[:, 1].min() for k in range(41))
        r.say(lowest > (-0.012 if clip != "RangeOfMotion" else -0.12), f"{clip}: {L:.2f} s, lowest point {lowest * 100:.2f} cm")
    rig_names(r, m, rig, folder)
    correctives(r, m, rig, folder)


def band(m, joint, reach):
    """The joint's place, the triangles round it that both its bones share, and each vertex's share of the lower one."""
    c = m.globals()[m.name[joint]][:3, 3]
    under = {m.name[joint]}
    for i in range(len(m.nodes)):                            # parents come before their children
        if m.parent[i] in under:
            under.add(i)
    below = np.array([j in under for j in m.joints])
    s = (m.W * below[m.J]).sum(1)
    near = np.sqrt(((m.v - c) ** 2).sum(1)) < reach
    return c, m.tri[near[m.tri].all(1) & ((s[m.tri] > 0.003) & (s[m.tri] < 0.997)).any(1)], s


def volume(p, tri, c):
    """What a band encloses with the joint: its ends move rigidly about it, so only the band's own volume changes this."""
    q = p[tri] - c
    return float((np.cross(q[:, 0], q[:, 1]) * q[:, 2]).sum() / 6)


def correctives(r, m, rig, folder):
    """Bent elbows and knees keep their volume."""
    for d in rig.get("drivers", []):
        if "mirror_of" in d:
            continue
        joint = d["joints"][0]["joint"]
        for e in d["examples"]:
            q = np.array(e["pose"]["joints"][joint]["rotation"])
            R = rotation(q)
            c, tri, s = band(m, joint, 0.15 if "Leg" in joint else 0.12)
            x = m.v + s[:, None] * ((m.v - c) @ R.T + c - m.v)
            y = np.fromfile(os.path.join(folder, e["surface"]["file"]), np.float32).reshape(-1, 3).astype(float)
            if not r.quiet(y.shape == m.v.shape and np.isfinite(y).all(), f"{e['surface']['file']}: one finite point a vertex"):
                continue
            rest, vx, vy = (volume(p, tri, c) for p in (m.v, x, y))
            if d["name"] in ("elbow_l", "knee_l"):
                r.say(abs(vy / rest - 1) < 0.05, f"{d['name']} {e['name']}: volume {vx / rest:.3f} without, {vy / rest:.3f} with the sculpt")


def loops(r, m, rig):
    worst, n = 0.0, 0
    for name, a in m.clips.items():
        if a["extras"]["loop"]:
            d = m.pose(name, 0.0) - m.pose(name, m.length(name))
            worst, n = max(worst, np.abs(d).max()), n + 1
    r.say(worst < 1e-6, f"loops: {n} close to {worst * 1000:.5f} mm")


def rig_names(r, m, rig, folder):
    """Every joint, shape, clip and file the rig file names exists."""
    bad = []
    nodes = set(m.name)
    for p in rig.get("face", {}).get("parameters", []):
        bad += [x for x in p.get("joints", {}) if x not in nodes] + [x for x in {**p.get("morphs", {}), **p.get("shapes", {})} if x not in m.morphs]
        bad += [x for x in p.get("options", []) if not os.path.exists(os.path.join(folder, x))]
    bad += [b["joint"] for b in rig.get("face", {}).get("bones", []) if b["joint"] not in nodes]
    c = rig["controls"]
    clips = [x if isinstance(x, str) else x["clip"] for x in c["locomotion"].values()] + [a["clip"] for a in c["actions"].values()]
    bad += [x for x in clips if x not in m.clips]
    for s in rig.get("springs", []):
        bad += [j["node"] for j in s["joints"] if j["node"] not in nodes]
    r.say(not bad, f"{rig['source']}: the rig file's names all exist" + (f": not {bad}" if bad else ""))


def others(r, folder):
    for name, legs in (("pup", ["leftFrontPaw", "rightFrontPaw", "leftHindPaw", "rightHindPaw"]), ("bolt", None)):
        m = Model(os.path.join(folder, name + ".glb"))
        rig = json.load(open(os.path.join(folder, name + ".rig.json")))
        low = m.v[:, 1].min() if m.J is not None else m.pose()[:, 1].min()
        r.say(abs(low) < 2e-4, f"{name}: {len(m.v)} vertices, {len(m.joints)} joints, {len(m.clips)} clips, lowest vertex {low * 1000:.2f} mm")
        if m.J is not None:
            skin_checks(r, m)
            soles = planted(m, legs)
        else:
            soles = np.nonzero(np.isin(m.own, [m.name["leftFoot"], m.name["rightFoot"]]) & (m.pose()[:, 1] < 0.0015))[0]
            soles = soles[:: max(len(soles) // 24, 1)]
        for clip in ("Walk", "Run"):
            v = rig["controls"]["locomotion"][clip.lower()]["speed_m_s"]
            s, _ = slide(m, clip, (0, v), soles)
            r.say(s <= 0.010, f"{name} {clip} at {v} m/s: planted feet slide {s * 100:.2f} cm at most")
        loops(r, m, rig)
        rig_names(r, m, rig, folder)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "characters")
    r = Report()
    mira(r, folder)
    others(r, folder)
    size = sum(os.path.getsize(os.path.join(at, f)) for at, _, fs in os.walk(folder) for f in fs)
    r.say(size <= 12e6, f"size of all files: {size} bytes")
    print(f"{r.passed} passed, {r.failed} failed")
    return 1 if r.failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Mira: puts body, head, hair, clothes, shapes and clips together and writes her GLB."""
import numpy as np
import body
import clothes
import gltf
import hair
import head
import skeleton
import textures
import weights
from clothes import Part
from maths import average, bump, neighbours, normals, length, ramp, smooth, vec

MATERIALS = {                                                # colour, roughness, picture
    "skin": ("#F6C6A4", 0.62, "face"), "mouth": ("#7A2A2E", 0.7, None), "tongue": ("#D8706A", 0.5, None), "teeth": ("#FFFDF6", 0.35, None), "eye": ("#FFFFFF", 0.12, "eye"),
    "hair": ("#A8482A", 0.55, None), "brow": ("#6B2C17", 0.7, None), "lash": ("#2A1412", 0.7, None),
    "tunic": ("#FFFFFF", 0.9, "tunic"), "trousers": ("#3B4360", 0.9, None), "boots": ("#FFFFFF", 0.7, "boots"),
    "trim": ("#B98454", 0.8, None), "gold": ("#E2AE4A", 0.35, None),
    "scarf": ("#FFFFFF", 0.9, "scarf"), "cape": ("#FFFFFF", 0.95, "cape"),
}


def jaw_field(p):
    """How much a point of the face goes with the jaw."""
    y, z = p[:, 1], p[:, 2]
    line = 1.3345 + 0.25 * (0.115 - z)                       # from the lip line back to the hinge
    k = ramp(line - y, -0.006, 0.030) * ramp(z, -0.005, 0.060)
    under = ramp(y + 0.55 * (z - 0.06), 1.225, 1.290)        # fades into the throat
    return k * under


def face_parts(sk):
    h = head.build()
    jaw = jaw_field(h.v)
    half = h.mouth_half
    for loops in (h.mouth, h.mouth_right):
        for r, ids in enumerate(loops):
            k = abs(r - h.mouth_rim) if r > h.mouth_rim else 0
            if k > 3:
                continue
            hold = (1.0, 1.0, 0.75, 0.4)[k]
            want = np.zeros(len(ids))
            want[half + 1:] = np.sqrt(1 - np.clip(h.mouth_t[half + 1:], 0, 1) ** 2.8)
            want[half] = 0.0
            want[:half] = 0.0
            # corners ride half way
            d = np.abs(np.arange(len(ids)) - half)
            want = np.maximum(want, 0.44 * bump(d, 4))
            jaw[ids] = jaw[ids] * (1 - hold) + want * hold
    h.jaw = jaw
    w = weights.head_weights(h.v, sk, jaw)
    uv = textures.face_uv(h.az, h.el)
    inner = h.inner[h.f].all(1) | (h.inner[h.f].sum(1) >= 3)
    parts = []
    for name, sel in (("skin", ~inner), ("mouth", inner)):
        p = Part(name, h.v, h.f[sel], uv, w, "head")
        p.full = h.f
        parts.append(p)
    for s, side in ((1, "left"), (-1, "right")):
        v, f, uve = head.eyeball(s)
        parts.append(Part("eye", v, f, uve, weights.rigid(len(v), sk, side + "Eye"), side + "Eyeball"))
        v, f = head.brow(s)
        parts.append(Part("brow", v, f, np.full((len(v), 2), 0.5), weights.head_weights(v, sk, np.zeros(len(v)), False), "brow"))
        v, f = head.ear(s)
        parts.append(Part("skin", v, f, np.full((len(v), 2), 0.02), weights.rigid(len(v), sk, "head"), "ear"))
        v, f, spokes = head.lashes(h, side)
        rim = h.eye[side][h.eye_rim]
        wl = np.tile(w[rim[spokes]], (4, 1))
        p = Part("lash", v, f, np.full((len(v), 2), 0.5), wl, side + "Lash")
        p.spokes = spokes
        parts.append(p)
    for upper in (True, False):
        v, f = head.teeth(upper)
        parts.append(Part("teeth", v, clothes.outward(v, f), np.full((len(v), 2), 0.5), weights.rigid(len(v), sk, "head" if upper else "jaw"), "teethUp" if upper else "teethLow"))
    v, f = head.tongue()
    parts.append(Part("tongue", v, clothes.outward(v, f), np.full((len(v), 2), 0.5), weights.rigid(len(v), sk, "jaw"), "tongue"))
    return h, parts


def build_parts():
    sk = skeleton.build()
    v, f, tags, vt = body.build()
    nrm = normals(v, f)
    w = weights.spread(v, f, vt, sk)
    h, parts = face_parts(sk)
    parts += hair.build(sk)
    parts += clothes.dress(v, f, tags, nrm, w)
    parts += clothes.belt(v, w)
    parts += clothes.scarf(sk)
    parts.append(clothes.cape(sk, v, w))
    parts += clothes.clasp(sk, v, w)
    return sk, h, parts


def split(part):
    """Unique (vertex, uv) pairs: source vertex, uv, quads."""
    c = np.round(part.uv.reshape(-1, 2), 5)
    key = np.concatenate([part.f.reshape(-1, 1), c], 1)
    u, inv = np.unique(key, axis=0, return_inverse=True)
    return u[:, 0].astype(int), u[:, 1:], inv.reshape(part.f.shape)


def triangles(f):
    t = []
    a = f[:, [0, 1, 2]]
    b = f[:, [0, 2, 3]]
    t = np.stack([a, b], 1).reshape(-1, 3)
    ok = (t[:, 0] != t[:, 1]) & (t[:, 1] != t[:, 2]) & (t[:, 0] != t[:, 2])
    return t[ok]


def pack(name, materials, sk, parts, names, clips, pictures):
    """One skinned mesh as a GLB; also sets part.ids, the .f32 ids of each part vertex (first of its copies)."""
    g = gltf.Writer("Sinew demo character generator")
    g.doc["asset"]["copyright"] = "Made by the Sinew project; same licence as the project"
    mats = {}
    for m, (colour, rough, pic) in materials.items():
        mats[m] = g.material(m, gltf.linear(colour), rough, 0.0 if m != "gold" else 0.4,
                                pictures[pic] if pic else None, double=m == "cape")
    prims, base = [], 0
    for mat in materials:
        ps = [p for p in parts if p.material == mat]
        P, N, T, J, W, F, C = [], [], [], [], [], [], []
        D = {n: [] for n in names}
        off = 0
        for p in ps:
            src, uv, q = split(p)
            full = getattr(p, "full", p.f)
            nn = normals(p.v, full)
            idx, val = weights.pack(p.w)
            P.append(np.round(p.v[src], 5)), N.append(nn[src]), T.append(uv), J.append(idx[src]), W.append(val[src])
            C.append(p.color[src] if p.color is not None else np.zeros(len(src)))
            for n in names:
                d = p.deltas.get(n)
                D[n].append(np.round(d[src], 5) if d is not None else np.zeros((len(src), 3)))
            F.append(triangles(q) + off)
            ids = np.full(len(p.v), -1)
            ids[src[::-1]] = (np.arange(len(src)) + base + off)[::-1]
            p.ids = ids
            off += len(src)
        P, N, T, J, W, F, C = (np.concatenate(x) for x in (P, N, T, J, W, F, C))
        at = {"POSITION": g.accessor(P, "VEC3", target=34962, bounds=True), "NORMAL": g.accessor(_unit32(N), "VEC3", target=34962),
               "JOINTS_0": g.accessor(J, "VEC4", gltf.U8, target=34962),
              "WEIGHTS_0": g.accessor(W, "VEC4", target=34962)}
        if pictures:
            at["TEXCOORD_0"] = g.accessor(T, "VEC2", target=34962)
        if mat == "cape":
            white = np.ones((len(C), 4), np.float32)
            at["COLOR_0"] = g.accessor(white, "VEC4", target=34962)
            at["COLOR_1"] = g.accessor(np.stack([C, C * 0, C * 0, C * 0 + 1], 1), "VEC4", target=34962)
        prims.append({"attributes": at, "indices": g.accessor(F.reshape(-1, 1), "SCALAR", gltf.U16, target=34963), "material": mats[mat]})
        if names:
            prims[-1]["targets"] = [{"POSITION": g.sparse(np.concatenate(D[n]))} for n in names]
        base += off
    # nodes: root, joints, mesh
    root = g.push("nodes", {"name": name, "children": []})
    first = 1
    for i, n in enumerate(sk.names):
        par = sk.parent[i]
        t = sk.place[i] - (sk.place[par] if par >= 0 else 0)
        node = {"name": n, "translation": [round(float(x), 6) + 0.0 for x in t]}
        g.push("nodes", node)
        up = g.doc["nodes"][0 if par < 0 else first + par]
        up.setdefault("children", []).append(first + i)
    glob = np.zeros((len(sk), 3))
    for i in range(len(sk)):
        t = np.array(g.doc["nodes"][first + i]["translation"])
        glob[i] = t + (glob[sk.parent[i]] if sk.parent[i] >= 0 else 0)
    ibm = np.tile(np.eye(4, dtype=np.float32), (len(sk), 1, 1))
    ibm[:, 3, :3] = -glob
    skin = g.push("skins", {"name": name, "joints": list(range(first, first + len(sk))), "skeleton": first,
                            "inverseBindMatrices": g.accessor(ibm.reshape(-1, 16), "MAT4")})
    mesh = g.push("meshes", {"name": name, "primitives": prims})
    if names:
        g.doc["meshes"][mesh].update({"weights": [0.0] * len(names), "extras": {"targetNames": list(names)}})
    node = g.push("nodes", {"name": name + "Mesh", "mesh": mesh, "skin": skin})
    g.doc["scenes"][0] = {"name": name, "nodes": [root, node]}
    for c in clips:
        chans = []
        for j, path, values, *own in c.channels():
            chans.append((first + sk.index[j], path, values, *own))
        a = g.animation(c.name, c.times, chans)
        extra = {k: round(c.extra[k], 4) for k in ("speed", "turn") if k in c.extra}
        g.doc["animations"][a]["extras"] = {"loop": c.loop, **{{"speed": "speed_m_s", "turn": "turn_deg_s"}[k]: x for k, x in extra.items()}}
    return g.bytes()


def _unit32(n):
    n = np.round(n, 4)
    return n / np.sqrt((n * n).sum(1, keepdims=True))


def pictures(h):
    r = h.mouth_rim + 2
    a, e = head.angles(h.v[h.mouth[r]])
    k = h.mouth_half
    up = np.stack([a[:k + 1], e[:k + 1]], 1)
    low = np.stack([a[k:][::-1], e[k:][::-1]], 1)
    ea, ee = head.angles(head.EYE + vec(0, 0, head.EYE_R))
    info = {"lip": (up, low, a[k]), "eye": (float(ea), float(ee))}
    return {"face": textures.face(info), "eye": textures.eye(), "cape": textures.cape(), "tunic": textures.tunic(), "scarf": textures.scarf(), "boots": textures.boots()}


def make():
    import clips as clip_module
    import rigfile
    import shapes
    sk, h, parts = build_parts()
    names = shapes.apply(sk, h, parts)
    cs = clip_module.mira(sk)
    pics = pictures(h)
    glb = pack("Mira", MATERIALS, sk, parts, names, cs, pics)
    eyes = {f"mira.eye.{k}.png": textures.eye(c) for k, c in rigfile.EYES.items()}
    return glb, rigfile.mira(sk, h, parts, names, cs), eyes


"""One skinned mesh with shapes and clips, written as a GLB."""
import gltf
import numpy as np
import weights
from maths import normals


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
    """One skinned mesh as a GLB; also sets part.ids, the .f32 ids of each part vertex (first of its copies), and part.rows."""
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
            p.rows = (base + off, src)                       # where its vertices stand in an .f32 file
            off += len(src)
        P, N, T, J, W, F, C = (np.concatenate(x) for x in (P, N, T, J, W, F, C))
        at = {"POSITION": g.accessor(P, "VEC3", target=34962, bounds=True), "NORMAL": g.accessor(unit32(N), "VEC3", target=34962),
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


def unit32(n):
    n = np.round(n, 4)
    return n / np.sqrt((n * n).sum(1, keepdims=True))

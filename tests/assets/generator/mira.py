"""Mira: puts body, head, hair, clothes, shapes and clips together and writes her GLB."""
import numpy as np
import body
import clothes
import correctives
import export
import hair
import head
import skeleton
import textures
import weights
from parts import Part, outward
from maths import bump, normals, ramp, vec

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
        parts.append(Part("teeth", v, outward(v, f), np.full((len(v), 2), 0.5), weights.rigid(len(v), sk, "head" if upper else "jaw"), "teethUp" if upper else "teethLow"))
    v, f = head.tongue()
    parts.append(Part("tongue", v, outward(v, f), np.full((len(v), 2), 0.5), weights.rigid(len(v), sk, "jaw"), "tongue"))
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
    return sk, h, parts, correctives.Body(v, f, tags, w)


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
    sk, h, parts, skin = build_parts()
    names = shapes.apply(sk, h, parts)
    cs = clip_module.mira(sk)
    pics = pictures(h)
    glb = export.pack("Mira", MATERIALS, sk, parts, names, cs, pics)
    eyes = {f"mira.eye.{k}.png": textures.eye(c) for k, c in rigfile.EYES.items()}
    examples, drivers = correctives.make(sk, skin, parts)
    return glb, rigfile.mira(sk, h, parts, names, cs, drivers, MATERIALS), {**eyes, **examples}

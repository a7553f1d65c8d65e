"""Skin weights: each vertex starts with the joint it lies at, then weights spread along the surface."""
import numpy as np
from maths import average, bump, length, neighbours, ramp, unit
from skeleton import finger_joints, finger_places


def spread(v, f, tags, sk):
    """Weights (n, joints) of the body mesh."""
    n, w = len(v), np.zeros((len(v), len(sk)))
    side = np.where(v[:, 0] >= 0, "left", "right")
    x, y, z = np.abs(v[:, 0]), v[:, 1], v[:, 2]
    for i in range(n):
        s, t = side[i], tags[i]
        if t.startswith("finger"):
            name = t[6:]
            pts = finger_places(name)
            d = unit(pts[-1] - pts[0])
            q = np.array([x[i], y[i], z[i]])
            a = ((q - pts[0]) * d).sum()
            l1 = length(pts[1] - pts[0])
            l2 = l1 + length(pts[2] - pts[1])
            k = 0 if a < l1 else 1 if a < l2 else 2
            j = s + finger_joints(name)[k] if a > 0.0 else s + "Hand"
        elif t == "palm":
            j = s + "Hand"
        elif t in ("arm", "sleeve", "cuff"):
            j = s + ("Shoulder" if x[i] < 0.118 else "UpperArm" if x[i] < 0.352 else "LowerArm" if x[i] < 0.552 else "Hand")
        elif t in ("leg", "boot"):
            if t == "boot" and z[i] > 0.086 - 0.2 * (y[i] - 0.03):
                j = s + "Toes"
            elif y[i] < 0.105 + 0.5 * (z[i] + 0.02):
                j = s + "Foot"
            elif y[i] < 0.425:
                j = s + "LowerLeg"
            else:
                j = s + "UpperLeg" if y[i] < 0.770 - 0.25 * (0.09 - x[i]) else "hips"
        else:
            if y[i] > 1.225:
                j = "neck"
            elif x[i] > 0.115 and y[i] > 1.09:
                j = s + "UpperArm"
            elif x[i] > 0.055 and y[i] > 1.125:
                j = s + "Shoulder"
            else:
                j = "upperChest" if y[i] > 1.075 else "chest" if y[i] > 0.975 else "spine" if y[i] > 0.885 else \
                    "hips" if y[i] > 0.775 else (s + "UpperLeg" if x[i] > 0.015 else "hips")
        w[i, sk.index[j]] = 1
    nb = neighbours(n, f)
    steps = {}
    for k in range(1, 27):
        w = 0.5 * w + 0.5 * average(w, nb)
        if k in (3, 7, 12, 26):
            steps[k] = w.copy()
    # how far to spread: little on fingers, most on the torso
    fing = np.array([t.startswith("finger") for t in tags])
    palm = tags == "palm"
    limb = np.isin(tags, ["arm", "leg", "boot", "sleeve", "cuff"])
    sel = np.stack([fing, palm, limb & (y < 0.70) | (tags == "arm"), ~(fing | palm | limb & (y < 0.70) | (tags == "arm"))], 1).astype(float)
    for _ in range(8):
        sel = 0.5 * sel + 0.5 * average(sel, nb)
    return sum(sel[:, i:i + 1] * steps[k] for i, k in enumerate((3, 7, 12, 26)))


FACE_BONES = {                                               # reach in metres, strength at the joint
    "{}EyeCornerInner": (0.020, 0.85), "{}EyeCornerOuter": (0.026, 0.85), "{}BrowInner": (0.026, 0.8),
    "{}BrowOuter": (0.028, 0.8), "{}MouthCorner": (0.024, 0.85), "{}Cheek": (0.044, 0.75), "nose": (0.030, 0.9), "chin": (0.036, 0.85),
}


def head_weights(p, sk, jaw, neck=True):
    """Weights of head skin at p; jaw (0..1) is how much each vertex goes with the jaw."""
    w = np.zeros((len(p), len(sk)))
    rest = np.ones(len(p))
    for name, (reach, top) in FACE_BONES.items():
        for s in (("left", "right") if "{}" in name else ("",)):
            j = sk.index[name.format(s)]
            k = top * bump(length(p - sk.place[j]), reach)
            w[:, j] = k
    total = w.sum(1)
    scale = np.where(total > 0.9, 0.9 / np.maximum(total, 1e-9), 1)
    w *= scale[:, None]
    rest = 1 - w.sum(1)
    w[:, sk.index["jaw"]] += rest * jaw
    head = rest * (1 - jaw)
    if neck:
        k = ramp(p[:, 1] - 0.5 * (p[:, 2] + 0.02), 1.245, 1.325)
        low = ramp(p[:, 1], 1.180, 1.235)
        w[:, sk.index["head"]] += head * k
        w[:, sk.index["neck"]] += head * (1 - k) * low
        w[:, sk.index["upperChest"]] += head * (1 - k) * (1 - low)
    else:
        w[:, sk.index["head"]] += head
    return w


def rigid(n, sk, joint):
    w = np.zeros((n, len(sk)))
    w[:, sk.index[joint]] = 1
    return w


def chain(t, sk, joints, soft=0.6):
    """Weights along a chain; t counts joints (0 at the first, 1 at the second ...)."""
    w = np.zeros((len(t), len(sk)))
    c = np.clip(t, 0, len(joints) - 1e-6)
    for i, j in enumerate(joints):
        up = ramp(c, i - soft / 2, i + soft / 2) if i else np.ones(len(t))
        down = ramp(c, i + 1 - soft / 2, i + 1 + soft / 2) if i + 1 < len(joints) else np.zeros(len(t))
        w[:, sk.index[j]] = up * (1 - down) if i else 1 - down
    return w / w.sum(1, keepdims=True)


def pack(w):
    """At most four joints a vertex, and float32 weights that add up to exactly 1 in their order."""
    w = np.round(w, 5)
    idx = np.argsort(-w, axis=1, kind="stable")[:, :4]
    val = np.take_along_axis(w, idx, 1)
    val[val < 0.004] = 0
    val /= val.sum(1, keepdims=True)
    # steps of 2^-16 add without rounding in float32
    val = np.round(val * 65536) / 65536
    val[:, 0] += 1 - val.sum(1)
    idx[val == 0] = 0
    return idx, val.astype(np.float32)

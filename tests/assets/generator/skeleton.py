"""Mira's joints: names, parents and places in metres. All local frames are parallel to the world in the bind pose."""
import numpy as np

# name, parent, place; a name with {} is made for both sides, x mirrored
_TABLE = [
    ("hips", None, (0, 0.815, 0.0)),
    ("spine", "hips", (0, 0.885, -0.008)),
    ("chest", "spine", (0, 0.975, -0.014)),
    ("upperChest", "chest", (0, 1.075, -0.02)),
    ("neck", "upperChest", (0, 1.215, -0.022)),
    ("head", "neck", (0, 1.288, -0.008)),
    ("jaw", "head", (0, 1.368, 0.012)),
    ("{}Eye", "head", (0.0525, 1.402, 0.0742)),
    ("{}UpperLeg", "hips", (0.082, 0.775, 0.0)),
    ("{}LowerLeg", "{}UpperLeg", (0.087, 0.425, 0.004)),
    ("{}Foot", "{}LowerLeg", (0.091, 0.092, -0.022)),
    ("{}Toes", "{}Foot", (0.095, 0.013, 0.086)),
    ("{}Shoulder", "upperChest", (0.03, 1.165, -0.012)),
    ("{}UpperArm", "{}Shoulder", (0.133, 1.168, -0.016)),
    ("{}LowerArm", "{}UpperArm", (0.352, 1.168, -0.02)),
    ("{}Hand", "{}LowerArm", (0.552, 1.168, -0.012)),
    # face customisation
    ("{}EyeCornerInner", "head", (0.0275, 1.4035, 0.112)),
    ("{}EyeCornerOuter", "head", (0.0800, 1.4135, 0.0985)),
    ("{}BrowInner", "head", (0.024, 1.462, 0.122)),
    ("{}BrowOuter", "head", (0.074, 1.466, 0.104)),
    ("{}MouthCorner", "head", (0.0245, 1.3405, 0.113)),
    ("{}Cheek", "head", (0.066, 1.362, 0.095)),
    ("nose", "head", (0, 1.376, 0.132)),
    ("chin", "jaw", (0, 1.302, 0.105)),
]

# finger: base on the palm, direction, three lengths, radius at base and tip
FINGERS = {
    "Index": ((0.640, 1.172, 0.020), (1, -0.02, 0.10), (0.035, 0.024, 0.022), 0.0118, 0.0088),
    "Middle": ((0.644, 1.174, -0.002), (1, -0.02, 0.01), (0.038, 0.027, 0.023), 0.0120, 0.0090),
    "Ring": ((0.639, 1.172, -0.024), (1, -0.02, -0.08), (0.035, 0.024, 0.022), 0.0115, 0.0086),
    "Little": ((0.629, 1.168, -0.044), (1, -0.03, -0.18), (0.027, 0.019, 0.019), 0.0102, 0.0078),
    "Thumb": ((0.578, 1.160, 0.016), (0.70, -0.16, 0.70), (0.036, 0.030, 0.026), 0.0145, 0.0100),
}

# swinging chains: name, parent, places of the joints from the root down
CHAINS = [
    ("ponytail", "head", [(0, 1.520, -0.150), (0, 1.475, -0.205), (0, 1.395, -0.228), (0, 1.305, -0.222)]),
    ("{}Lock", "head", [(0.116, 1.405, 0.050), (0.120, 1.335, 0.062)]),
    ("scarfFront", "upperChest", [(0.036, 1.168, 0.092), (0.042, 1.095, 0.118), (0.046, 1.015, 0.122)]),
    ("scarfBack", "upperChest", [(-0.030, 1.175, 0.094), (-0.040, 1.110, 0.116), (-0.046, 1.050, 0.120)]),
]


def _mirror(p):
    return (-p[0], p[1], p[2])


class Skeleton:
    def __init__(self):
        self.names, self.parent, self.place = [], [], []
        self.index = {}

    def add(self, name, parent, place):
        self.index[name] = len(self.names)
        self.names.append(name)
        self.parent.append(-1 if parent is None else self.index[parent])
        self.place.append(np.array(place, float))

    def at(self, name):
        return self.place[self.index[name]]

    def __len__(self):
        return len(self.names)


def finger_places(name):
    base, d, lens, _, _ = FINGERS[name]
    p = np.array(base, float)
    d = np.array(d, float)
    d /= np.sqrt((d * d).sum())
    out = [p]
    for n in lens:
        out.append(out[-1] + d * n)
    return out


def finger_joints(name):
    if name == "Thumb":
        return ["ThumbMetacarpal", "ThumbProximal", "ThumbDistal"]
    return [name + s for s in ("Proximal", "Intermediate", "Distal")]


def build():
    s = Skeleton()
    rows = []
    for name, parent, place in _TABLE:
        rows.append((name, parent, place))
        if name == "{}Hand":
            for f in FINGERS:
                up = "{}Hand"
                for j, p in zip(finger_joints(f), finger_places(f)):
                    rows.append(("{}" + j, up, tuple(p)))
                    up = "{}" + j
    for name, parent, places in CHAINS:
        up = parent
        for i, p in enumerate(places):
            rows.append((f"{name}{i + 1}", up, p))
            up = f"{name}{i + 1}"
    done = set()
    for i, (name, parent, place) in enumerate(rows):
        if i in done:
            continue
        if "{}" not in name:
            s.add(name, parent, place)
            continue
        s.add(name.format("left"), parent and parent.format("left"), place)
        s.add(name.format("right"), parent and parent.format("right"), _mirror(place))
    return s


if __name__ == "__main__":
    k = build()
    print(len(k), k.names)

"""OSC and the VMC protocol as senders write them: stdlib only, bytes by the specification."""
import struct


def text(s):
    raw = s.encode() + b"\0"
    return raw + bytes(-len(raw) % 4)


def message(address, types, *args):
    out = text(address) + text("," + types)
    for kind, value in zip(types, args):
        if kind == "f":
            out += struct.pack(">f", value)
        elif kind == "i":
            out += struct.pack(">i", value)
        elif kind == "s":
            out += text(value)
    return out


def bundle(*messages):
    return b"#bundle\0" + struct.pack(">Q", 1) + b"".join(struct.pack(">i", len(m)) + m for m in messages)


def bundles(messages, most=1200):
    """As the reference sender does: as many as fit into `most` bytes, then the next datagram."""
    out, held, size = [], [], 16
    for m in messages:
        if held and size + 4 + len(m) > most:
            out.append(bundle(*held))
            held, size = [], 16
        held.append(m)
        size += 4 + len(m)
    return out + ([bundle(*held)] if held else [])


def bone(name, position, rotation):
    return message("/VMC/Ext/Bone/Pos", "sfffffff", name, *position, *rotation)


def root(position, rotation):
    return message("/VMC/Ext/Root/Pos", "sfffffff", "root", *position, *rotation)


def device(kind, serial, position, rotation, raw=False):
    return message(f"/VMC/Ext/{kind}/Pos" + ("/Local" if raw else ""), "sfffffff", serial, *position, *rotation)


def blend(name, value):
    return message("/VMC/Ext/Blend/Val", "sf", name, value)


APPLY = message("/VMC/Ext/Blend/Apply", "")


def time(seconds):
    return message("/VMC/Ext/T", "f", seconds)


def available(loaded=1):
    return message("/VMC/Ext/OK", "i", loaded)


SIDES = ("Left", "Right")
BONES = (["Hips", "Spine", "Chest", "UpperChest", "Neck", "Head", "Jaw"]
         + [s + b for s in SIDES for b in ("Eye", "UpperLeg", "LowerLeg", "Foot", "Toes", "Shoulder", "UpperArm",
                                           "LowerArm", "Hand")]
         + [s + f + k for s in SIDES for f in ("Thumb", "Index", "Middle", "Ring", "Little")
            for k in ("Proximal", "Intermediate", "Distal")] + ["LastBone"])


def pose(turns, hips=(0, 0.95, 0)):
    """All 55 bones and LastBone; `turns`: {bone: quaternion}, the rest as in the T-pose."""
    none = (0, 0, 0, 1)
    return ([root((0, 0, 0), none)]
            + [bone(b, hips if b == "Hips" else (0, 0.1, 0), turns.get(b, none)) for b in BONES])

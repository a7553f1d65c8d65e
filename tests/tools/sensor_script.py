#!/usr/bin/env python3
"""Recorded movement as a script of sensor lines for `sinew play`, `sinew record` and `sinewd eval --script`.

    python3 tests/tools/sensor_script.py quest_session.jsonl > worn.jsonl   # head and controllers, a line an instant
    python3 tests/tools/sensor_script.py grab.json > worn.jsonl             # an A-Frame motion capture
    python3 tests/tools/sensor_script.py walk.bvh > worn.jsonl              # head and hands of a skeleton, 1.70 m high

OpenXR's axes: metres, -z forward. The wearer of a BVH faces +z there, as motion capture does.
"""
import json
import math
import pathlib
import re
import sys


def mul(a, b):
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw, aw * bw - ax * bx - ay * by - az * bz)


def about(axis, degrees):
    half = math.radians(degrees) / 2
    out = [0.0, 0.0, 0.0, math.cos(half)]
    out["XYZ".index(axis)] = math.sin(half)
    return tuple(out)


def turned(q, v):
    x, y, z, _ = mul(mul(q, (*v, 0.0)), (-q[0], -q[1], -q[2], q[3]))
    return x, y, z


def line(t_s, devices):
    """{name: (position, rotation), or None where tracking was lost}; a rotation of None is not known"""
    out = {}
    for name, at in devices.items():
        position, rotation = at or ((0, 0, 0), None)
        turns, rotation = rotation is not None, rotation or (0, 0, 0, 1)
        size = math.sqrt(sum(x * x for x in rotation))
        out[name] = {"position": [round(x, 5) for x in position], "rotation": [round(x / size, 6) for x in rotation],
                     "position_valid": at is not None, "rotation_valid": turns, "tracked": at is not None}
    return {"t_s": round(t_s, 4), "sensor": {"devices": out}}


def quest(text):
    for row in map(json.loads, text.splitlines()):
        devices = {"head": row["head"], "hand_l": row.get("hands", {}).get("left"),
                   "hand_r": row.get("hands", {}).get("right")}
        yield line(row["t_s"], {n: (d["position"], d["rotation"]) if d and "position" in d and "rotation" in d else None
                                for n, d in devices.items()})


def aframe(text):
    """Every track has times of its own, in milliseconds: the camera's count, and a hand holds its last."""
    tracks = {n: json.loads(text)[k]["poses"] for n, k in (("head", "camera"), ("hand_l", "left"), ("hand_r", "right"))}
    at, start = dict.fromkeys(tracks, -1), tracks["head"][0]["timestamp"]

    def place(pose):
        p, r = pose["position"], pose["rotation"]
        return ((p["x"], p["y"], p["z"]), mul(mul(about("Y", r["y"]), about("X", r["x"])), about("Z", r["z"])))

    for head in tracks["head"]:
        devices = {"head": place(head)}
        for name in ("hand_l", "hand_r"):
            poses = tracks[name]
            while at[name] + 1 < len(poses) and poses[at[name] + 1]["timestamp"] <= head["timestamp"]:
                at[name] += 1
            there = 0 <= at[name] < len(poses) - 1  # nothing before the first, and after the last
            devices[name] = place(poses[at[name]]) if there else None
        yield line((head["timestamp"] - start) / 1000, devices)


BONES = {"head": r"(?:.*[:_])?head$", "hand_l": r"(?:.*[:_])?(?:left[_ ]?(?:hand|wrist)|l[_]?(?:hand|wrist)|lhand)$",
         "hand_r": r"(?:.*[:_])?(?:right[_ ]?(?:hand|wrist)|r[_]?(?:hand|wrist)|rhand)$"}


def bvh(text):
    """Forward kinematics; the skeleton's standing height becomes 1.70 m."""
    words = text.split()
    joints, stack, i, channels = [], [], 0, 0
    while words[i] != "MOTION":
        word = words[i]
        if word in ("ROOT", "JOINT", "End"):
            joints.append({"name": "" if word == "End" else words[i + 1], "parent": stack[-1] if stack else -1,
                           "channels": [], "first": channels})
            i += 2
        elif word == "{":
            stack.append(len(joints) - 1)
            i += 1
        elif word == "}":
            stack.pop()
            i += 1
        elif word == "OFFSET":
            joints[stack[-1]]["offset"] = tuple(map(float, words[i + 1:i + 4]))
            i += 4
        elif word == "CHANNELS":
            count = int(words[i + 1])
            joints[stack[-1]].update(channels=words[i + 2:i + 2 + count], first=channels)
            channels += count
            i += 2 + count
        else:
            i += 1
    frames, step = int(words[i + 2]), float(words[i + 5])
    values = list(map(float, words[i + 6:i + 6 + frames * channels]))
    chosen = {n: next((k for k, j in enumerate(joints) if re.match(p, j["name"], re.I)), None) for n, p in BONES.items()}
    if None in chosen.values():
        sys.exit("no joint is called as head and hands are: " + ", ".join(n for n, k in chosen.items() if k is None))

    def places(row):
        out = []
        for j in joints:
            move, turn = list(j["offset"]), (0.0, 0.0, 0.0, 1.0)
            for name, value in zip(j["channels"], row[j["first"]:]):
                if name.endswith("position"):
                    move["XYZ".index(name[0])] = value + (0 if j["parent"] < 0 else j["offset"]["XYZ".index(name[0])])
                else:
                    turn = mul(turn, about(name[0], value))
            p, q = out[j["parent"]] if j["parent"] >= 0 else ((0, 0, 0), (0, 0, 0, 1))
            out.append((tuple(a + b for a, b in zip(p, turned(q, move))), mul(q, turn)))
        return out

    def stance(row):
        """How high it is, and at what share of that the head is."""
        heights = [p[1] for p, _ in places(row)]
        low, size = min(heights), max(heights) - min(heights)
        return size, (heights[chosen["head"]] - low) / size if size > 0 else 0

    rest, head = stance([0.0] * channels)
    if head < 0.7 or stance(values[:channels])[1] < 0.6:
        sys.exit("its pose without rotations or its first frame does not stand upright along +y: where the head looks cannot be told")
    scale = 1.70 / rest
    lowest = min(p[1] for p, _ in places(values[:channels]))
    for f in range(frames):
        all_places = places(values[f * channels:(f + 1) * channels])
        devices = {}
        for name, k in chosen.items():
            (x, y, z), (i, j, n, w) = all_places[k]
            # Half a turn about y. How a controller would lie in the hand is anybody's guess.
            devices[name] = ((-x * scale, (y - lowest) * scale, -z * scale), (-i, j, -n, w) if name == "head" else None)
        yield line(f * step, devices)


def lines(path):
    path = pathlib.Path(path)
    text = path.read_text()
    return {".jsonl": quest, ".json": aframe, ".bvh": bvh}[path.suffix.lower()](text)


if __name__ == "__main__":
    if len(sys.argv) != 2 or pathlib.Path(sys.argv[1]).suffix.lower() not in (".jsonl", ".json", ".bvh"):
        sys.exit(__doc__)
    for one in lines(sys.argv[1]):
        print(json.dumps(one))

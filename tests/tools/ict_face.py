#!/usr/bin/env python3
"""Bones for the ICT face, which comes without any: a rig file that creates them.

    python3 tests/tools/ict_face.py FOLDER [SHARED_DATA]

Writes FOLDER/ict.rig.json and links FOLDER/ict_face_arkit.glb. The places are those of the model's own landmarks
(vertex_indices.json, the usual 68). Lengths are centimetres. Contours are left to the bake, which finds them.
"""
import json
import os
import pathlib
import struct
import sys

# Landmarks of the 68: eyes' corners, mouth's corners, chin, cheeks from the outline and the nose.
EYE_R_OUTER, EYE_R_INNER, EYE_L_INNER, EYE_L_OUTER, MOUTH_R, MOUTH_L, CHIN, NOSE = 36, 39, 42, 45, 48, 54, 8, 30


def positions(glb):
    data = glb.read_bytes()
    size = struct.unpack_from("<I", data, 12)[0]
    doc = json.loads(data[20:20 + size])
    accessor = doc["accessors"][doc["meshes"][0]["primitives"][0]["attributes"]["POSITION"]]
    view = doc["bufferViews"][accessor["bufferView"]]
    first = 28 + size + view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    return [struct.unpack_from("<3f", data, first + i * view.get("byteStride", 12)) for i in range(accessor["count"])]


def rig(data):
    folder = pathlib.Path(data) / "face/ict"
    at = positions(folder / "ict_face_arkit.glb")
    marks = [at[i] for i in json.loads((folder / "vertex_indices.json").read_text())["idx_to_landmark_verts"]]
    low = [min(p[k] for p in at) for k in range(3)]
    high = [max(p[k] for p in at) for k in range(3)]
    middle = [(a + b) / 2 for a, b in zip(low, high)]
    bones = []

    def bone(name, place, radius, way, reach):
        kind, axis = way
        bones.append({"joint": name, "create": {"at": [round(x, 4) for x in place], "radius": radius, "parent": "ict_face" if name == "skull" else "skull"},
                      kind: axis, "range": reach})

    # Larger ones first: each takes its share of what those before it have.
    bone("skull", middle, 5000.0, ("rotate", [0, 1, 0]), [-0.3, 0.3])
    bone("jaw", [0, marks[CHIN][1] + 1.5, marks[CHIN][2]], 6.0, ("rotate", [1, 0, 0]), [0, 0.35])
    for side, x, outer, inner, mouth in (("l", 1, EYE_L_OUTER, EYE_L_INNER, MOUTH_L), ("r", -1, EYE_R_OUTER, EYE_R_INNER, MOUTH_R)):
        bone(f"eyecorner_outer_{side}", marks[outer], 1.6, ("move", [0, 1, 0]), [-0.4, 0.4])
        bone(f"eyecorner_inner_{side}", marks[inner], 1.4, ("move", [0, 1, 0]), [-0.3, 0.3])
        # A little below the corner, as the muscles that draw it down: it carries the lower lip more than the upper.
        below = [marks[mouth][0] - 0.8 * x, marks[mouth][1] - 1.0, marks[mouth][2]]
        bone(f"mouthcorner_{side}", below, 2.0, ("move", [x, 1, 0]), [-0.5, 0.5])
        eye = [(a + b) / 2 for a, b in zip(marks[outer], marks[inner])]
        bone(f"cheekbone_{side}", [eye[0] + 1.2 * x, eye[1] - 3.4, eye[2] - 0.6], 1.8, ("move", [x, 0, 0]), [-0.4, 0.4])
    face = {"bones": bones, "pull_back": [{"shape": "mouthClose", "joint": "jaw", "speed_per_s": 4.0}],
            "parameters": [
                {"name": "eye_tilt", "group": "eyes", "kind": "shape", "range": [-1, 1], "joints": {
                    f"eyecorner_{k}_{s}": {"translation": [0, v, 0]}
                    for s in "lr" for k, v in (("outer", 0.35), ("inner", -0.25))}},
                {"name": "eye_width", "group": "eyes", "kind": "shape", "range": [-1, 1], "joints": {
                    f"eyecorner_{k}_{s}": {"translation": [v * (1 if s == "l" else -1), 0, 0]}
                    for s in "lr" for k, v in (("outer", 0.3), ("inner", -0.2))}},
                {"name": "mouth_curve", "group": "mouth", "kind": "shape", "range": [-1, 1],
                 "joints": {f"mouthcorner_{s}": {"translation": [0, 0.4, 0]} for s in "lr"}},
                {"name": "mouth_width", "group": "mouth", "kind": "shape", "range": [-1, 1],
                 "joints": {f"mouthcorner_{s}": {"translation": [0.4 * (1 if s == "l" else -1), 0, 0]} for s in "lr"}}]}
    return {"sinew_rig": 1, "source": "ict_face_arkit.glb", "unit_m": 0.01, "face": face}


def main(folder, data="../shared/data"):
    folder, data = pathlib.Path(folder), os.environ.get("SINEW_TEST_DATA", data)
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "ict_face_arkit.glb"
    if not link.exists():
        link.symlink_to((pathlib.Path(data) / "face/ict/ict_face_arkit.glb").resolve())
    (folder / "ict.rig.json").write_text(json.dumps(rig(data), indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])

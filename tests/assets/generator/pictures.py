"""Pictures of the correctives, made with the project's own tools: sinewd bakes and evaluates, Workbench draws.
pictures.py -- SINEWD CHARACTERS OUT [readme | joints | halfway | clips]"""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.dirname(here)]

import bpy
import correctives
import numpy as np
import sheets
from maths import quat, slerp


class Shooter:
    """A stage whose surface comes from `sinewd eval`."""

    def __init__(self, sinewd, folder, out, size):
        self.sinewd, self.out = sinewd, out
        self.model = os.path.join(out, "mira.sinew")
        os.makedirs(out, exist_ok=True)
        subprocess.run([sinewd, "bake", os.path.join(folder, "mira.rig.json"), "-o", self.model], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.stage = sheets.Stage(os.path.join(folder, "mira.glb"), size)

    def evaluate(self, pose=None, without=(), args=()):
        """World positions, as an OBJ says them."""
        obj, pose_file = os.path.join(self.out, "frame.obj"), os.path.join(self.out, "pose.json")
        cmd = [self.sinewd, "eval", self.model, "--format", "obj", "-o", obj, *args]
        if without:
            cmd += ["--without", ",".join(without)]
        if pose is not None:
            with open(pose_file, "w") as f:
                json.dump(pose, f)
            cmd += ["--pose", pose_file]
        subprocess.run(cmd, check=True, stdout=subprocess.DEVNULL)
        with open(obj) as f:
            return np.array([[float(x) for x in line.split()[1:4]] for line in f if line.startswith("v ")])

    def show(self, v):
        s = self.stage
        s.me.vertices.foreach_set("co", s._to(v[s.first]).reshape(-1))
        s.me.update()

    def shoot(self, v, views):
        self.show(v)
        for az, el, centre, scale in views:
            self.stage.shot(az, el, centre, scale, self.out)


def joint_pose(joint, q):
    return {"joints": {joint: {"rotation": [float(x) for x in q]}}}


VIEWS = {                                                    # of each driver: azimuth, elevation, centre, width
    "elbow": [(0, 75, (0.36, 1.16, 0.03), 0.34), (150, 15, (0.36, 1.16, 0.03), 0.34)], "elbow_twist": [(0, 10, (0.38, 1.16, 0), 0.36)],
    "shoulder": [(15, 8, (0.14, 1.14, 0), 0.46), (165, 8, (0.14, 1.14, 0), 0.46)], "shoulder_twist": [(15, 8, (0.16, 1.14, 0), 0.46), (165, 8, (0.16, 1.14, 0), 0.46)],
    "wrist": [(0, 12, (0.56, 1.15, 0), 0.24), (0, 70, (0.56, 1.15, 0), 0.24)], "wrist_twist": [(0, 12, (0.56, 1.16, 0), 0.24), (0, 70, (0.56, 1.16, 0), 0.24)],
    "hip": [(70, 8, (0.06, 0.74, 0.08), 0.56), (15, 10, (0.06, 0.74, 0.05), 0.56)], "hip_twist": [(20, 6, (0.06, 0.74, 0.0), 0.5)],
    "knee": [(90, 5, (0.09, 0.42, -0.03), 0.42), (35, 12, (0.09, 0.42, -0.03), 0.42)],
}
HAND_VIEW = [(0, 5, (0.63, 1.15, 0.0), 0.2), (40, -35, (0.63, 1.15, 0.0), 0.2)]


def joints(sh, half=False, only=None):
    """At each example (or half-way between neighbours): without, with, from every view."""
    for name, joint, read, along, bends in correctives.DRIVERS:
        if only and name not in only:
            continue
        views = VIEWS.get(name, HAND_VIEW)
        poses = [quat(b.axis, b.deg) for b in bends]
        if half:
            chain = [quat(b.axis, 0) for b in bends[:1]] + poses
            poses = [slerp(a, b, 0.5) for a, b in zip(chain, chain[1:])]
        for q in poses:
            for without in (("correctives", "extras"), ("extras",)):
                sh.shoot(sh.evaluate(joint_pose("left" + joint, q), without), views)
        sh.stage.sheet(os.path.join(sh.out, f"{'half_' if half else ''}{name}.png"), 2 * len(views))


def clips(sh, only=("Wave", "Sit", "Run", "Dance")):
    for clip in only:
        L = sh.stage.m.length(clip)
        for k in range(6):
            t = L * (k + 0.5) / 6
            for without in (("correctives", "extras"), ("extras",)):
                sh.shoot(sh.evaluate(None, without, ("--clip", clip, "--time", f"{t:.4f}")), [(35, 8, (0, 0.82, 0), 1.6)])
        sh.stage.sheet(os.path.join(sh.out, f"clip_{clip}.png"), 6)


def swung(sh, joint, axis, deg):
    """The same bend reached in a fifth of a second: what stands in between still shakes."""
    script = os.path.join(sh.out, "swing.jsonl")
    with open(script, "w") as f:
        for i in range(13):
            f.write(json.dumps({"tick": i, "pose": joint_pose(joint, quat(axis, deg * min(i / 12, 1)))}) + "\n")
    return sh.evaluate(None, (), ("--script", script, "--hz", "60", "--time", "0.25"))


def readme(sh):
    """An elbow bent: without and with correctives, and with the swinging biceps in between; a knee without and with."""
    elbow, knee = (0, 75, (0.36, 1.16, 0.03), 0.34), (90, 5, (0.09, 0.42, -0.03), 0.42)
    for joint, q, view in (("leftLowerArm", quat(correctives.Y, -115), elbow), ("leftLowerLeg", quat(correctives.X, 110), knee)):
        for without in (("correctives", "extras"), ("extras",)):
            sh.shoot(sh.evaluate(joint_pose(joint, q), without), [view])
        if view is elbow:
            sh.shoot(swung(sh, joint, correctives.Y, -115), [view])
    sh.stage.sheet(os.path.join(sh.out, "correctives.png"), 5)


if __name__ == "__main__":
    argv = sys.argv[sys.argv.index("--") + 1:]
    what = argv[3:] or ["readme"]
    if what[0] == "joints":
        joints(Shooter(argv[0], argv[1], argv[2], 260), False, what[1:])
    elif what[0] == "halfway":
        joints(Shooter(argv[0], argv[1], argv[2], 260), True, what[1:])
    elif what[0] == "clips":
        clips(Shooter(argv[0], argv[1], argv[2], 330), what[1:] or ("Wave", "Sit", "Run", "Dance"))
    else:
        readme(Shooter(argv[0], argv[1], argv[2], 300))

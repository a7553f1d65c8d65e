#!/usr/bin/env python3
"""Sensors end to end: the same gesture by OpenXR, VMC and VRChat, bad links, junk, real senders; a
body whose joints have any names; sensors on one root of several."""
import array
import json
import math
import pathlib
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import e2e
import modeller
import sensing
import serve
import vmc

sys.path.insert(0, str(e2e.ROOT / "tests" / "tools"))
import sensor_script  # noqa: E402
from sensing import UPRIGHT, mul, turn, unity

CHARACTERS = e2e.ROOT / "tests" / "assets" / "characters"
# OpenXR: the wearer faces -z, its left is -x.
HOLD = 3.0
T_POSE = {"head": ((0, 1.6, 0), UPRIGHT), "tracker_1": ((-0.7, 1.36, 0.02), UPRIGHT),
          "tracker_2": ((0.7, 1.36, 0.02), UPRIGHT)}
LEFT_UP = {"head": ((0, 1.6, 0), UPRIGHT),
           "tracker_1": ((-0.18, 1.72, -0.4), mul(turn((0, 1, 0), -50), turn((0, 0, 1), -40))),
           "tracker_2": ((0.3, 0.85, 0.02), turn((0, 0, 1), -75))}


def mirrored(devices):
    return {n: ((-x, y, z), (i, -j, -k, w)) for n, ((x, y, z), (i, j, k, w)) in devices.items()}


def half_turned(devices):
    return {n: ((-x, y, -z), mul(turn((0, 1, 0), 180), q)) for n, ((x, y, z), q) in devices.items()}


def by_vmc(devices):
    kinds = {"head": ("Hmd", "hmd"), "tracker_1": ("Tra", "left"), "tracker_2": ("Tra", "right")}
    out = [vmc.available()]
    for name, (place, rotation) in devices.items():
        out.append(vmc.device(*kinds[name], *unity(place, rotation)))
    return vmc.bundles(out + [vmc.time(time.monotonic() % 1000)])


def euler(q):
    """Unity's: degrees about x, y, z, turned about z, then x, then y."""
    x, y, z, w = q
    return (math.degrees(math.asin(max(-1, min(1, 2 * (w * x - y * z))))),
            math.degrees(math.atan2(2 * (w * y + x * z), 1 - 2 * (x * x + y * y))),
            math.degrees(math.atan2(2 * (w * z + x * y), 1 - 2 * (x * x + z * z))))


def by_vrchat(devices):
    out = []
    for name, (place, rotation) in devices.items():
        at = "/tracking/trackers/" + (name if name == "head" else name.rsplit("_", 1)[1])
        p, q = unity(place, rotation)
        out += [vmc.message(at + "/position", "fff", *p), vmc.message(at + "/rotation", "fff", *euler(q))]
    return out


class Sender:
    """Sends datagrams at 60 Hz from a thread, as a running sender does: silence for half a second counts as lost."""

    def __init__(self, port, make):
        self.port, self.make, self.what, self.end = port, make, None, False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.end:
            for datagram in self.make(self.what) if self.what else ():
                self.port.send(datagram)
            time.sleep(1 / 60)

    def stop(self):
        self.end = True
        self.thread.join()


def udp(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.1", port))
    return s


class SensorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        # Extras and springs off: where they swing depends on when a pose was told.
        rig = json.loads((CHARACTERS / "mira.rig.json").read_text())
        for key in ("extras", "springs"):
            rig.pop(key, None)
        shutil.copytree(CHARACTERS, cls.root, dirs_exist_ok=True)
        (cls.root / "mira.rig.json").write_text(json.dumps(rig))
        cls.rig = rig
        cls.server = serve.Server("--model", f"mira={cls.root / 'mira.rig.json'}", "--osc", "127.0.0.1:0")
        while cls.server.get("/readyz")[0] != 200:
            time.sleep(0.05)
        cls.token = modeller.add_token(cls.server.folder.name, "viewer")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.errors()
        cls.server.clean()
        cls.folder.cleanup()

    def worn(self, way, gesture):
        """T-pose, calibrated, then the gesture held: the surfaces of both."""
        w = sensing.Wearer(self.server, "mira", self.token)
        port = udp(w.lease()["port"])
        sender = Sender(port, {"vmc": by_vmc, "vrchat": by_vrchat}.get(way))

        def say(devices):  # what SENSOR said holds until another message
            if way == "openxr":
                w.say(devices)
            else:
                sender.what = devices

        say(T_POSE)
        w.read(0.5)
        w.ask("POST", "calibrate", {})
        w.read(1.0)
        first = w.surface()
        say(gesture)
        w.read(HOLD)
        last = w.surface()
        sender.stop()
        self.assertEqual(w.errors, [])
        w.close()
        port.close()
        return first, last

    def test_one_gesture_by_three_ways_is_one_surface(self):
        stood, raised = self.worn("openxr", LEFT_UP)
        far = {"x": 0, "-x": 0}
        for v in range(0, len(stood), 3):
            if stood[v] > stood[far["x"]]:
                far["x"] = v
            if stood[v] < stood[far["-x"]]:
                far["-x"] = v
        # glTF: the character faces +z, its left is +x.
        left, right = raised[far["x"]:far["x"] + 3], raised[far["-x"]:far["-x"] + 3]
        self.assertGreater(left[1], 1.5, left)
        self.assertGreater(left[2], 0.25, left)
        self.assertLess(right[1], 1.05, right)
        # A body remembers how it came to where it is, and at which ticks messages arrive is chance: that moves a
        # surface by parts of a millimetre, by OpenXR too. From a history that both have had it is the same one.
        ends = [raised]
        for way in ("vmc", "vrchat"):
            offs = []
            for _ in range(6):
                end = self.worn(way, LEFT_UP)[1]
                offs.append(min(sensing.farthest(e, end) for e in ends))
                self.assertLess(offs[-1], 5e-3, way)
                if offs[-1] < 1e-4:
                    break
                ends.append(self.worn("openxr", LEFT_UP)[1])
            print(f"\n  {way}: off by {1e3 * min(offs):.4f} mm")
            self.assertLess(min(offs), 1e-4, way)
        # What a wrong sign would make is far away, so the test would see it.
        for name, wrong in (("mirrored", mirrored), ("half turned", half_turned)):
            off = sensing.farthest(raised, self.worn("openxr", wrong(LEFT_UP))[1])
            print(f"  {name}: off by {off:.2f} m")
            self.assertGreater(off, 0.2, name)

    def test_bones_over_a_bad_link_converge(self):
        chance = random.Random(5)
        clean, bad = sensing.Wearer(self.server, "mira", self.token), sensing.Wearer(self.server, "mira", self.token)
        ports = [udp(w.lease()["port"]) for w in (clean, bad)]
        final = {"LeftUpperArm": turn((0, 0, 1), 60), "RightLowerArm": turn((0, 1, 0), 70),
                 "Spine": turn((1, 0, 0), -20), "Head": turn((0, 1, 0), 30)}
        held = []
        for k in range(90):
            turns = {b: turn((0, 0, 1), 80 * math.sin(k / 9 + i)) for i, b in enumerate(final)}
            for d in vmc.bundles([vmc.available(), *vmc.pose(turns), vmc.time(k / 60)]):
                ports[0].send(d)
                if chance.random() < 0.3:
                    continue
                held.append(d)
                if chance.random() < 0.3:
                    held.append(d)
                if chance.random() < 0.6:
                    chance.shuffle(held)
                    for x in held:
                        ports[1].send(x)
                    held.clear()
            clean.read(0.008)
            bad.read(0.008)
        for d in vmc.bundles([vmc.available(), *vmc.pose(final), vmc.time(2)]):
            for p in ports:
                p.send(d)
        sent_us, seen, end = time.monotonic_ns() // 1000, [], time.monotonic() + 0.5
        while time.monotonic() < end:
            before = bad.newest
            bad.next()
            if bad.newest is not before:
                seen.append((struct.unpack_from("<Q", bad.newest, 24)[0], bad.surface()))
        clean.read(0.3)
        # server_time is when the tick was due, by the same clock on one machine.
        late = sum(at > sent_us and sensing.farthest(s, clean.surface()) > 0 for at, s in seen)
        print(f"\n  {late} ticks after the last good pose did not show it yet")
        self.assertLessEqual(late, 2)
        self.assertEqual(sensing.farthest(bad.surface(), clean.surface()), 0)
        for x in (clean, bad, *ports):
            x.close()

    def metric(self, name):
        lines = [x for x in self.server.get("/metrics")[1].splitlines() if x.startswith(name)]
        return {x.rsplit(" ", 1)[0]: float(x.rsplit(" ", 1)[1]) for x in lines}

    def test_junk_is_counted_and_costs_nothing_else(self):
        w = sensing.Wearer(self.server, "mira", self.token)
        port = w.lease()["port"]
        good, other, chance = udp(port), udp(port), random.Random(6)
        before = self.metric("sinew_osc_datagrams_total")
        pose = vmc.bundles([vmc.available(), *vmc.pose({"LeftUpperArm": turn((0, 0, 1), 50)}), vmc.time(1)])
        for d in pose:
            good.send(d)
        w.read(0.3)
        shown = w.surface()
        junk = [vmc.message("/VMC/Ext/Bone/Pos", "sf", "Hips", 1.0), vmc.message("/VMC/Ext/Bone/Pos", "i", 3),
                vmc.message("/VMC/Ext/Bone/Pos", "sfffffff", "Hips", *[float("nan")] * 7),
                vmc.message("/VMC/Ext/Blend/Val", "fs", 1.0, "Joy"), vmc.message("/none/at/all", ""), b"", b"#bundle\0",
                b"#bundle\0" + bytes(8) + struct.pack(">i", 1 << 30), bytes(65000), b"/VMC/Ext/Bone/Pos"]
        junk += [bytes(chance.randrange(256) for _ in range(chance.randrange(1, 400))) for _ in range(50)]
        sent = 0
        for source in (good, other):
            end = time.monotonic() + 0.7
            while time.monotonic() < end:
                for d in junk:
                    try:
                        source.send(d)
                        sent += 1
                    except OSError:
                        pass
            w.read(0.05)
        w.read(0.3)
        after = self.metric("sinew_osc_datagrams_total")
        told = {k: after[k] - before.get(k, 0) for k in after}
        print(f"\n  {sent} datagrams of junk; counted {told}")
        self.assertGreater(sum(told.values()), 100)
        self.assertEqual(sensing.farthest(shown, w.surface()), 0)
        for d in vmc.bundles([vmc.available(), *vmc.pose({}), vmc.time(2)]):
            good.send(d)
        w.read(0.5)
        self.assertGreater(sensing.farthest(shown, w.surface()), 0.1)
        for x in (w, good, other):
            x.close()

    def test_liblo_is_a_sender(self):
        if not shutil.which("oscsend"):
            self.skipTest("no oscsend (Debian: liblo-tools)")
        w = sensing.Wearer(self.server, "mira", self.token)
        port = str(w.lease()["port"])
        w.read(0.3)
        before = w.surface()

        def send(address, types, *values):
            subprocess.run(["oscsend", "127.0.0.1", port, address, types, *map(str, values)], check=True, timeout=10)

        # oscsend has a new port each time, and a lease hears one source: all in one call would need a bundle.
        send("/VMC/Ext/Bone/Pos", "sfffffff", "LeftUpperArm", 0, 0, 0, 0, 0, 0.5, 0.8660254)
        w.read(0.5)
        self.assertGreater(sensing.farthest(before, w.surface()), 0.2)
        w.close()

    # --- Offline ----------------------------------------------------------------------------------

    def frame(self, rig, lines, seconds=1.5):
        script, out = self.root / "script.jsonl", self.root / "out.f32"
        script.write_text("".join(json.dumps(x) + "\n" for x in lines))
        r = e2e.run(e2e.SINEWD, "eval", rig, "--script", script, "--time", str(seconds), "--without",
                    "extras,springs,correctives", "-o", out)
        self.assertEqual(r.status, 0, r.err)
        places = array.array("f")
        places.frombytes(out.read_bytes())
        return places

    @staticmethod
    def line(t_s, devices):
        return {"t_s": t_s, "sensor": {"devices": {
            n: {"position": list(p), "rotation": list(q), "position_valid": True, "rotation_valid": True,
                "tracked": True} for n, (p, q) in devices.items()}}}

    def test_sensors_drive_one_root_and_clips_the_others(self):
        worn = {"head": ((0, 1.6, 0), UPRIGHT), "hand_l": ((-0.25, 1.7, -0.35), UPRIGHT),
                "hand_r": ((0.3, 0.9, -0.1), UPRIGHT)}
        whole = self.root / "mira.rig.json"
        part = dict(self.rig)
        part["roots"] = [dict(r, sensors=True) if r["name"] == "torso" else r for r in part["roots"]]
        (self.root / "part.rig.json").write_text(json.dumps(part))
        walk = {"t_s": 0, "control": {"root": {"legs": {"clip": "Walk"}}}}
        rest = self.frame(whole, [])
        lines = {"sensed": [self.line(0, worn)], "walked": [walk], "both": [walk, self.line(0, worn)]}
        by = {n: self.frame(whole, x) for n, x in lines.items()}
        torso, none = self.frame(self.root / "part.rig.json", lines["sensed"]), self.frame(whole, [])
        both = self.frame(self.root / "part.rig.json", lines["both"])
        high = [v for v in range(0, len(rest), 3) if rest[v + 1] > 1.3]
        low = [v for v in range(0, len(rest), 3) if rest[v + 1] < 0.5]

        def off(a, b, places):
            return max(math.dist(a[v:v + 3], b[v:v + 3]) for v in places)

        self.assertLess(off(torso, by["sensed"], high), 1e-6)
        self.assertLess(off(torso, none, low), 1e-6)
        self.assertGreater(off(torso, none, high), 0.05)
        self.assertLess(off(both, by["sensed"], high), 1e-6)
        self.assertLess(off(both, by["walked"], low), 1e-6)
        self.assertGreater(off(both, none, low), 0.05)

    def test_recordings_become_scripts(self):
        mocap = e2e.DATA / "mocap"
        if not mocap.exists():
            self.skipTest("no recorded movement in the shared data")
        rest = self.frame(self.root / "mira.rig.json", [])
        for name in ("vr/quest_session_first.jsonl", "vr/grabLeft.json", "cmu/jumping_jacks.bvh", "cmu/02_01.bvh"):
            lines = list(sensor_script.lines(mocap / name))
            self.assertTrue(all(a["t_s"] <= b["t_s"] for a, b in zip(lines, lines[1:])), name)
            shown = self.frame(self.root / "mira.rig.json", lines, 2)
            head = [x for x in lines if x["t_s"] <= 2][-1]["sensor"]["devices"]["head"]["position"]
            high = max(range(1, len(shown), 3), key=lambda i: shown[i])
            print(f"\n  {name}: {len(lines)} lines, head at {head}, top of the character at "
                  f"{[round(x, 2) for x in shown[high - 1:high + 2]]}")
            self.assertGreater(sensing.farthest(rest, shown), 0.1, name)
            self.assertLess(max(map(abs, shown)), 5, name)

    def test_a_body_whose_joints_have_any_names(self):
        """Names that tell nothing: refused by name without a map, driven with one, as with its own names."""
        data = (self.root / "mira.glb").read_bytes()
        size = struct.unpack_from("<I", data, 12)[0]
        tree = json.loads(data[20:20 + size])
        names = {}
        for i, node in enumerate(tree["nodes"]):
            if "mesh" not in node:
                names[node.get("name", "")] = f"b{i}"
                node["name"] = f"b{i}"
        text = json.dumps(tree).encode()
        text += b" " * (-len(text) % 4)
        blob = struct.pack("<4sII", b"glTF", 2, len(data) - size + len(text)) + struct.pack("<I4s", len(text), b"JSON")
        (self.root / "odd.glb").write_bytes(blob + text + data[20 + size:])
        rig = {"sinew_rig": 1, "source": "odd.glb", "unit_m": 1.0}
        worn = [self.line(0, {"head": ((0, 1.6, 0), UPRIGHT), "hand_l": ((-0.25, 1.7, -0.35), UPRIGHT)})]
        (self.root / "odd.rig.json").write_text(json.dumps(rig))
        script = self.root / "script.jsonl"
        script.write_text(json.dumps(worn[0]) + "\n")
        r = e2e.run(e2e.SINEWD, "eval", self.root / "odd.rig.json", "--script", script, "--time", "1", "-o",
                    self.root / "no.f32")
        self.assertEqual((r.status, len(r.err.strip().splitlines())), (1, 1), r.err)
        self.assertIn("human", r.err)
        plain = dict(rig, source="mira.glb")
        (self.root / "plain.rig.json").write_text(json.dumps(plain))
        own = self.human(self.root / "mira.glb")
        rig["body"] = {"humanoid": {bone: names[joint] for bone, joint in own.items()}}
        (self.root / "odd.rig.json").write_text(json.dumps(rig))
        self.assertLess(sensing.farthest(self.frame(self.root / "odd.rig.json", worn),
                                         self.frame(self.root / "plain.rig.json", worn)), 1e-7)
        for bad, tell in (({"hip": "b1"}, "/body/humanoid/hip"), ({"hips": "nobody"}, "/body/humanoid/hips"),
                          ({"hips": "b1", "spine": "b1"}, "/body/humanoid/spine"), ("guess", "/body/humanoid"),
                          (7, "/body/humanoid")):
            rig["body"] = {"humanoid": bad}
            (self.root / "bad.rig.json").write_text(json.dumps(rig))
            r = e2e.run(e2e.SINEWD, "bake", self.root / "bad.rig.json", "-o", self.root / "bad.sinew")
            self.assertEqual((r.status, len(r.err.strip().splitlines())), (1, 1), (bad, r.err))
            self.assertIn(tell, r.err)

    @staticmethod
    def human(path):
        """{bone: joint} of mira, by her joints' names."""
        raw = path.read_bytes()
        size = struct.unpack_from("<I", raw, 12)[0]
        there = {n.get("name") for n in json.loads(raw[20:20 + size])["nodes"]}
        bones = ["hips", "spine", "chest", "upperChest", "neck", "head", "jaw"]
        for side in ("left", "right"):
            bones += [side + b for b in ("Eye", "Shoulder", "UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg",
                                         "Foot", "Toes", "ThumbMetacarpal", "ThumbProximal", "ThumbDistal")]
            bones += [side + f + k for f in ("Index", "Middle", "Ring", "Little")
                      for k in ("Proximal", "Intermediate", "Distal")]
        return {b: b for b in bones if b in there}


if __name__ == "__main__":
    e2e.main()

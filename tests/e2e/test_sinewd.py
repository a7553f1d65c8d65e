"""sinewd's offline commands: usage, one-line errors, outputs."""
import json
import math
import pathlib
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import e2e  # noqa: E402


def bar_gltf(folder, **changes):
    """A two-joint bar with one clip and one shape, as text with an inline buffer."""
    import base64
    positions = [(x, y, 0.125 * y) for y in range(4) for x in (-0.5, 0.5)]
    data = b"".join(struct.pack("<3f", *p) for p in positions)
    data += b"".join(struct.pack("<4f", 1 - y / 3, y / 3, 0, 0) for y in range(4) for _ in (0, 1))
    data += bytes([0, 1, 0, 0]) * 8
    data += b"".join(struct.pack("<3H", *t) for q in (0, 2, 4) for t in ((q, q + 1, q + 2), (q + 2, q + 1, q + 3)))
    data += bytes(4)
    identity = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    data += struct.pack("<16f", *identity) + struct.pack("<16f", *identity[:13], -1.5, 0, 1)
    data += b"".join(struct.pack("<3f", 0.5 * p[0], 0, 0) for p in positions)
    data += struct.pack("<2f", 0, 1) + struct.pack("<8f", 0, 0, 0, 1, 0, 0, 0.70710678, 0.70710678)
    spans = [96, 128, 32, 36, 4, 128, 96, 8, 32]
    views, at = [], 0
    for size in spans:
        views.append({"buffer": 0, "byteOffset": at, "byteLength": size})
        at += size
    f, accessor = 5126, lambda v, c, n, t: {"bufferView": v, "componentType": c, "count": n, "type": t}
    gltf = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 2]}],
        "nodes": [{"name": "lower", "children": [1]}, {"name": "upper", "translation": [0, 1.5, 0]},
                  {"name": "bar", "mesh": 0, "skin": 0}],
        "skins": [{"joints": [0, 1], "inverseBindMatrices": 4}],
        "meshes": [{"extras": {"targetNames": ["wide"]},
                    "primitives": [{"attributes": {"POSITION": 0, "WEIGHTS_0": 1, "JOINTS_0": 2}, "indices": 3,
                                    "targets": [{"POSITION": 5}]}]}],
        "animations": [{"name": "bend", "samplers": [{"input": 6, "output": 7}],
                        "channels": [{"sampler": 0, "target": {"node": 1, "path": "rotation"}}]}],
        "accessors": [accessor(0, f, 8, "VEC3"), accessor(1, f, 8, "VEC4"), accessor(2, 5121, 8, "VEC4"),
                      accessor(3, 5123, 18, "SCALAR"), accessor(5, f, 2, "MAT4"), accessor(6, f, 8, "VEC3"),
                      accessor(7, f, 2, "SCALAR"), accessor(8, f, 2, "VEC4")],
        "bufferViews": views,
        "buffers": [{"byteLength": len(data),
                     "uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}],
    }
    gltf.update(changes)
    path = folder / "bar.gltf"
    path.write_text(json.dumps(gltf))
    return path


def bare_glb(path, positions, **primitive):
    """One primitive of nothing but positions."""
    data = b"".join(struct.pack("<3f", *p) for p in positions)
    text = json.dumps({
        "asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, **primitive}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": len(positions), "type": "VEC3"}],
        "bufferViews": [{"buffer": 0, "byteLength": len(data)}], "buffers": [{"byteLength": len(data)}]}).encode()
    text += b" " * (-len(text) % 4)
    path.write_bytes(struct.pack("<4sIIII", b"glTF", 2, 28 + len(text) + len(data), len(text), 0x4E4F534A) + text +
                     struct.pack("<II", len(data), 0x004E4942) + data)
    return path


class Sinewd(unittest.TestCase):
    def setUp(self):
        self.keep = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.keep.name)
        self.bar = bar_gltf(self.folder)

    def tearDown(self):
        self.keep.cleanup()

    def fails(self, status, *args, says=()):
        r = e2e.run(e2e.SINEWD, *args)
        self.assertEqual(r.status, status, (args, r.err))
        self.assertEqual(len(r.err.splitlines()), 1, (args, r.err))
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, r.err)

    def works(self, *args):
        r = e2e.run(e2e.SINEWD, *args)
        self.assertEqual((r.status, r.err), (0, ""), args)
        return r.out

    def floats(self, path):
        data = path.read_bytes()
        return struct.unpack(f"<{len(data) // 4}f", data)

    def test_help_teaches_and_names_every_command(self):
        out = self.works("--help")
        for command in ("bake", "inspect", "eval"):
            self.assertIn(command, out)
            self.assertIn("examples:", self.works(command, "--help"))
            self.assertIn("examples:", self.works("help", command))
        self.assertIn("sinewd", self.works("--version"))

    def test_bad_usage_is_exit_2_and_one_line(self):
        out = self.folder / "o"
        for args in ((), ("dance",), ("bake",), ("bake", self.bar), ("bake", self.bar, "-o"),
                     ("bake", "--fast", self.bar, "-o", out), ("bake", self.bar, "x", "-o", out),
                     ("inspect",), ("inspect", "--json=1", self.bar), ("eval", self.bar),
                     ("eval", self.bar, "-o", out, "--clip", "bend", "--time", "soon"),
                     ("eval", self.bar, "-o", out, "--clip", "bend", "--time", "nan"),
                     ("eval", self.bar, "-o", out, "--time", "1"),
                     ("eval", self.bar, "-o", out, "--skinning", "best"),
                     ("eval", self.bar, "-o", out, "--format", "fbx"),
                     ("eval", self.bar, "-o", out, "--without", "hands"),
                     ("eval", self.bar, "-o", out, "--face", "wide"),
                     ("eval", self.bar, "-o", out, "--clip", "a", "--pose", "b")):
            self.fails(2, *args)
        self.assertFalse(out.exists())

    def test_failed_work_is_exit_1_and_one_line_that_says_what(self):
        out = self.folder / "o.sinew"
        self.fails(1, "bake", self.folder / "none.glb", "-o", out, says="none.glb")
        self.fails(1, "bake", self.folder, "-o", out)
        self.fails(1, "bake", self.bar, "-o", self.folder / "no" / "o", says="no/o")
        self.fails(1, "inspect", self.folder / "none.sinew", says="none.sinew")
        self.fails(1, "eval", self.bar, "-o", out, "--clip", "walk", says=["walk", "bend"])
        self.fails(1, "eval", self.bar, "-o", out, "--face", "smile=1", says=["smile", "wide"])
        zeros = self.folder / "zeros.glb"
        with zeros.open("wb") as f:
            f.truncate(2 << 30)
        self.fails(1, "bake", zeros, "-o", out, says="zeros.glb")
        empty = bar_gltf(self.folder, meshes=[], nodes=[{"name": "alone"}], scenes=[{"nodes": [0]}],
                         skins=[], animations=[])
        self.fails(1, "bake", empty, "-o", out, says="mesh")
        self.assertFalse(out.exists())

    def test_bake_is_the_same_bytes_twice_and_inspect_shows_it(self):
        one, two = self.folder / "1.sinew", self.folder / "2.sinew"
        self.works("bake", self.bar, "-o", one)
        report = json.loads(self.works("bake", self.bar, "-o", two, "--json"))
        self.assertEqual(one.read_bytes(), two.read_bytes())
        self.assertTrue(all(n["count"] > 0 and n["text"] for n in report["notes"]))
        shown = json.loads(self.works("inspect", one, "--json"))
        for key in ("source", "unit_m", "vertices", "primitives", "joints", "clips", "shapes", "roots", "drivers",
                    "face", "extras", "controls", "repairs"):
            self.assertIn(key, shown)
        self.assertEqual((shown["vertices"], shown["clips"][0]["name"], shown["shapes"][0]["name"]),
                         (8, "bend", "wide"))
        self.works("inspect", one)

    def test_eval_writes_positions_normals_and_says_where(self):
        out = self.folder / "f"
        layout = json.loads(self.works("eval", self.bar, "-o", out))
        self.assertEqual(layout["vertices"], 8)
        self.assertEqual(layout["primitives"], [{"node": 2, "mesh": 0, "primitive": 0, "offset": 0, "count": 8}])
        self.assertEqual(layout["drivers"], {})
        self.assertEqual(self.floats(out)[21:24], (0.5, 3.0, 0.375))
        normals = self.floats(self.folder / "f.normals")
        self.assertAlmostEqual(sum(n * n for n in normals[:3]), 1, 5)

    def test_names_numbers_poses_and_shapes(self):
        out, by_number = self.folder / "f", self.folder / "g"
        self.works("eval", self.bar, "--clip", "bend", "--time", "0.5", "-o", out)
        self.works("eval", self.bar, "--clip=#0", "--time=0.5", "-o", by_number)
        self.assertEqual(out.read_bytes(), by_number.read_bytes())
        pose = self.folder / "pose.json"
        pose.write_text('{"clip": "bend", "time_s": 9}')
        self.works("eval", self.bar, "--pose", pose, "-o", out)
        self.works("eval", self.bar, "--clip", "bend", "--time", "1", "-o", by_number)  # times clamp
        self.assertEqual(out.read_bytes(), by_number.read_bytes())
        pose.write_text('{"joints": {"#1": {"rotation": [0, 0, 5, 5]}}}')
        self.works("eval", self.bar, "--pose", pose, "-o", out)
        for got, want in zip(self.floats(out), self.floats(by_number)):
            self.assertAlmostEqual(got, want, 5)
        self.works("eval", self.bar, "--face", "wide=2", "-o", out)
        self.assertAlmostEqual(self.floats(out)[0], -1.0, 6)
        self.works("eval", self.bar, "--face", "wide=2", "--without", "face,extras", "-o", out)
        self.assertAlmostEqual(self.floats(out)[0], -0.5, 6)

    def test_bad_poses_name_the_json_path(self):
        pose, out = self.folder / "pose.json", self.folder / "f"
        for text, says in (('{"joints": {"tail": {}}}', "/joints/tail"), ('{"clap": 1}', "/clap"), ('[]', "object"),
                           ('{"joints": {"upper": {"rotation": [0, 0, 0, 0]}}}', "/joints/upper/rotation"),
                           ('{"joints": {"upper": {"rotation": [0, 0, 1]}}}', "/joints/upper/rotation"),
                           ('{"joints": {"upper": {"scale": [1, 1, 1e999]}}}', "/joints/upper/scale"),
                           ('{"joints": {"upper": {"spin": [1]}}}', "/joints/upper/spin"),
                           ('{"time_s": 1}', "/time_s"), ('{"clip": "run"}', "/clip"), ('{', "byte"),
                           ('[' * 100000, "deeper")):
            pose.write_text(text)
            self.fails(1, "eval", self.bar, "--pose", pose, "-o", out, says=says)
        self.assertFalse(out.exists())

    def test_other_formats(self):
        out = self.folder / "f"
        self.works("eval", self.bar, "--format", "obj", "-o", out)
        lines = out.read_text().splitlines()
        self.assertEqual([sum(l.startswith(k) for l in lines) for k in ("v ", "vn ", "f ")], [8, 8, 6])
        self.works("eval", self.bar, "--format", "json", "-o", out)
        frame = json.loads(out.read_text())
        self.assertEqual((len(frame["positions"]), len(frame["normals"])), (24, 24))

    def test_lines_before_triangles_keep_the_triangles(self):
        gltf = json.loads(self.bar.read_text())
        mesh = gltf["meshes"][0]["primitives"]
        mesh.insert(0, dict(mesh[0], mode=1))  # the same 18 indices as 9 lines
        gltf["accessors"].append(dict(gltf["accessors"][3], count=4))
        mesh.insert(0, dict(mesh[0], indices=len(gltf["accessors"]) - 1))  # 2 lines: 4 indices
        self.bar.write_text(json.dumps(gltf))
        out = self.folder / "f"
        layout = json.loads(self.works("eval", self.bar, "--face", "wide=1", "-o", out))
        self.assertEqual([p["count"] for p in layout["primitives"]], [8, 8, 8])
        positions, normals = self.floats(out), self.floats(self.folder / "f.normals")
        self.assertEqual(positions[:24], positions[48:])
        self.assertAlmostEqual(abs(normals[50]), 0.9923, 3)  # the bar's slope, from its triangles

    def test_many_triangles_at_one_place_take_no_longer(self):
        """A fan, and vertices stacked on one point: what is quadratic in them would take minutes."""
        fan = [(math.cos(i / 50), math.sin(i / 50), i / 1e6) for i in range(200000)]
        for name, positions, primitive in (("fan", fan, {"mode": 6}), ("stack", [(0, 0, 0)] * 200001, {})):
            model = self.folder / (name + ".sinew")
            self.works("bake", bare_glb(self.folder / (name + ".glb"), positions, **primitive), "-o", model)
            self.works("eval", model, "-o", self.folder / "o")

    def test_what_a_rig_file_names_must_be_there(self):
        rig = self.folder / "named.rig.json"
        bone = {"joint": "brow", "create": {"at": [0, 1, 0], "radius": 0.1, "parent": "upper"},
                "move": [0, 1, 0], "range": [0, 1]}
        table = {"name": "all", "weights": {"joints": {"lower": 1}}}
        for path, extra in (
                (None, {"roots": [table], "face": {"bones": [bone], "pull_back": [
                    {"shape": "wide", "joint": "brow", "speed_per_s": 1}]}}),
                ("/source", {"source": "none.gltf"}),
                ("/roots/0/joint", {"roots": [{**table, "joint": "Hips"}]}),
                ("/roots/0/weights/joints/Hips", {"roots": [{**table, "weights": {"joints": {"Hips": 1}}}]}),
                ("/roots/0/weights/file", {"roots": [{**table, "weights": {"file": "none.json"}}]}),
                ("/face/bones/0/create/parent", {"face": {"bones": [
                    {**bone, "create": {**bone["create"], "parent": "Head"}}]}}),
                ("/face/contours/lid/closed_by/1", {"face": {"contours": {"lid": {
                    "upper": [0], "lower": [1], "closed_by": ["wide", "blink"]}}}}),
                ("/face/corrections/0/targets/1/morph", {"face": {"corrections": [
                    {"shape": "wide", "joint": "upper", "targets": {"1": {"morph": "blink"}}}]}}),
                ("/face/parameters/0/material", {"face": {"parameters": [
                    {"name": "skin", "kind": "appearance", "material": "skin"}]}}),
                ("/extras/0/to", {"extras": [{"type": "muscle", "from": "lower", "to": "Hand"}]})):
            rig.write_text(json.dumps({"sinew_rig": 1, "source": self.bar.name, **extra}))
            if path is None:
                self.works("bake", rig, "-o", self.folder / "o.sinew")
            else:
                self.fails(1, "bake", rig, "-o", self.folder / "o.sinew", says=path + ":")

    def test_rig_files(self):
        rig, out = self.folder / "bar.rig.json", self.folder / "o.sinew"
        rig.write_text('{"sinew_rig": 1, "source": "bar.gltf", "unit_m": 0.5, "skinning": "dq", "controls": {}}')
        self.assertNotIn("controls", self.works("bake", rig, "-o", out))  # none is left out
        shown = json.loads(self.works("inspect", out, "--json"))
        self.assertEqual((shown["unit_m"], shown["skinning"]), (0.5, "dq"))
        for text, says in (('{"sinew_rig": 2}', "/sinew_rig"), ('{}', "/sinew_rig"),
                           ('{"sinew_rig": 1, "colour": 1}', "/colour"),
                           ('{"sinew_rig": 1, "source": "../bar.gltf"}', "/source"),
                           ('{"sinew_rig": 1, "source": "bar.gltf", "unit_m": -1}', "/unit_m"),
                           ('{"sinew_rig": 1, "source": "bar.gltf", "skinning": "cubic"}', "/skinning"),
                           ('{"sinew_rig": 1, "source": "bar.gltf", "clips": [{"file": "none.glb"}]}', "/clips/0/file"),
                           ('{"sinew_rig": 1, "source": "bar.gltf", "clips": [{"name": "x"}]}', "/clips/0/file"),
                           ('{"sinew_rig": 1, "source": "bar.gltf", "drivers": [{"name": "d", "speed": 1}]}',
                            "/drivers/0/speed"),
                           ('{"sinew_rig": 1, "source": "bar.gltf", "base_pose": {"joints": {"tail": {}}}}',
                            "/base_pose/joints/tail"),
                           ('{"sinew_rig": 1, "sinew_rig": 1}', "twice"), ('{"a":' * 40, "deeper")):
            rig.write_text(text)
            self.fails(1, "bake", rig, "-o", self.folder / "p.sinew", says=says)
        self.assertFalse((self.folder / "p.sinew").exists())


if __name__ == "__main__":
    e2e.main()

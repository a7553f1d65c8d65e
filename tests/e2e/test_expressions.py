#!/usr/bin/env python3
"""What faces say: the rule of correction meshes to its numbers, VRM expressions by their text, a
recorded take on several faces."""
import array
import itertools
import json
import math
import pathlib
import random
import sys
import tempfile
import unittest

import e2e
import glb
import serve

sys.path.insert(0, str(e2e.ROOT / "tests" / "tools"))
import arkit_script  # noqa: E402

FACECAP = e2e.DATA / "face" / "facecap"
CHARACTERS = e2e.ROOT / "tests" / "assets" / "characters"


class ExpressionTest(unittest.TestCase):
    def setUp(self):
        self.keep = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.keep.name)

    def tearDown(self):
        self.keep.cleanup()

    def bake(self, source, rig=None):
        out, more = self.folder / "model.sinew", []
        if rig is not None:
            (self.folder / "rig.json").write_text(json.dumps({"sinew_rig": 1, "unit_m": 1.0, **rig}))
            more = ["--rig", self.folder / "rig.json"]
        r = e2e.run(e2e.SINEWD, "bake", source, *more, "-o", out)
        self.assertEqual(r.status, 0, r.err)
        return out

    def surface(self, model, *args):
        out = self.folder / "out.f32"
        r = e2e.run(e2e.SINEWD, "eval", model, *args, "-o", out)
        self.assertEqual(r.status, 0, r.err)
        data = array.array("f")
        data.frombytes(out.read_bytes())
        return list(data)

    @staticmethod
    def say(option, values):
        return [x for n, v in values.items() for x in (option, f"{n}={v:.9g}")]

    @staticmethod
    def mix(places, parts):
        return [x + sum(w * d[i] for w, d in parts) for i, x in enumerate(places)]

    def deltas(self, names, seed):
        chance = random.Random(seed)
        return {n: [round(chance.uniform(-0.25, 0.25) * 64) / 64 for _ in range(12)] for n in names}

    # --- Correction meshes --------------------------------------------------------------------------

    def authored(self, targets_of, bones):
        """Targets are whole meshes: Bkji = M0 + what the morph says."""
        return {"face": {"bones": bones, "corrections": [
            {"shape": "blink", "joint": joint, "targets": {f"{at:g}": {"morph": name} for at, name in targets.items()}}
            for joint, targets in targets_of.items()]}}

    def test_the_published_rule_to_its_numbers(self):
        """One bone, two targets at unlike limits: bk' = b (1 - a), bk1 = b a above neutral, bk2 = b a below."""
        d = self.deltas(["blink", "up", "down"], 1)
        g, places = glb.morphs(d)
        model = self.bake(g.write(self.folder / "face.glb"), self.authored(
            {"j0": {1: "up", -0.5: "down"}}, [{"joint": "j0", "move": [0, 1, 0], "range": [-0.5, 1]}]))
        worst = 0
        for y, b in itertools.product((0, 0.25, 0.5, 0.75, 1), (0, 0.5, 1)):
            offset, a = (2 * y - 1) * (1 if y > 0.5 else 0.5), abs(2 * y - 1)
            want = self.mix(places, [(b * (1 - a), d["blink"]), (b * a if y > 0.5 else 0, d["up"]),
                                     (b * a if y <= 0.5 else 0, d["down"])])
            got = self.surface(model, *self.say("--face", {"blink": b}), *self.say("--customise", {"j0": offset}))
            worst = max(worst, max(abs(x - y) for x, y in zip(want, got)))
        print(f"\n  15 values: off by {worst:.1e}")
        self.assertLessEqual(worst, 1e-7)

    def test_many_targets_and_bones_add_up(self):
        """x = M0 + b ((B - M0) + sum over bones and targets of hat (Bi - B))."""
        d = self.deltas(["blink", "a1", "a2", "a3", "b1", "b2"], 2)
        g, places = glb.morphs(d, joints=2)
        knots = {"j0": {-1: "a1", 0.5: "a2", 2: "a3"}, "j1": {-0.25: "b1", 0.5: "b2"}}
        model = self.bake(g.write(self.folder / "face.glb"), self.authored(
            knots, [{"joint": "j0", "move": [1, 0, 0], "range": [-1, 2]},
                    {"joint": "j1", "rotate": [0, 1, 0], "range": [-0.25, 0.5]}]))

        def hats(targets, x):
            points = sorted([*targets, 0])
            for lo, hi in zip(points, points[1:]):
                if lo <= x <= hi:
                    t = (x - lo) / (hi - lo)
                    return {targets.get(lo): 1 - t, targets.get(hi): t}
            return {targets[points[0] if x < points[0] else points[-1]]: 1}

        chance, worst = random.Random(3), 0
        for _ in range(24):
            values = {"j0": chance.choice([-1, -0.5, 0, 0.25, 0.5, 1.25, 2]), "j1": chance.choice([-0.25, -0.125, 0, 0.5])}
            b = chance.choice([0.25, 0.5, 1])
            parts = [(b, d["blink"])]
            for joint, x in values.items():
                for name, h in hats(knots[joint], x).items():
                    if name:
                        parts += [(b * h, d[name]), (-b * h, d["blink"])]
            got = self.surface(model, *self.say("--face", {"blink": b}), *self.say("--customise", values))
            worst = max(worst, max(abs(x - y) for x, y in zip(self.mix(places, parts), got)))
        print(f"\n  off by {worst:.1e}")
        self.assertLessEqual(worst, 2e-7)

    # --- VRM ------------------------------------------------------------------------------------------

    def expected(self, table, said):
        """VRM 1.0's text: overrides of blink, look-at and mouth by the weights that are said; a binary
        expression is 1 above a half."""
        groups = {"blink": ("blink", "blinkLeft", "blinkRight"), "lookAt": ("lookUp", "lookDown", "lookLeft", "lookRight"),
                  "mouth": ("aa", "ih", "ou", "ee", "oh")}
        whole = {n: (1.0 if w > 0.5 else 0.0) if table[n].get("isBinary") else w for n, w in said.items()}
        left = {}
        for group in groups:
            key = "override" + group[0].upper() + group[1:]
            rest = 1.0
            for n, w in whole.items():
                how = table[n].get(key, "none")
                rest -= (1.0 if w > 0 else 0.0) if how == "block" else w if how == "blend" else 0
            left[group] = max(0.0, rest)
        out = {}
        for n, w in whole.items():
            factor = next((left[g] for g, names in groups.items() if n in names), 1.0)
            if table[n].get("isBinary"):
                factor = 1.0 if factor >= 1 else 0.0
            out[n] = w * factor
        return out

    def test_vrm_expressions_by_their_text(self):
        names = ["happy", "angry", "blink", "lookUp", "aa", "ih", "wink"]
        d = self.deltas(names, 4)
        worst, count = 0, 0
        chance = random.Random(5)
        combos = list(itertools.product(("none", "block", "blend"), repeat=3))
        for blink, look, mouth in combos:
            for binary in (False, True):
                table = {n: {"isBinary": False} for n in names}
                table["happy"].update(overrideBlink=blink, overrideLookAt=look, overrideMouth=mouth, isBinary=binary)
                table["angry"].update(overrideBlink=mouth, overrideLookAt=blink, overrideMouth=look)
                table["ih"]["isBinary"] = binary
                expressions = {n: {**x, "morphTargetBinds": [{"node": 0, "index": i, "weight": 1.0}]}
                               for i, (n, x) in enumerate(table.items())}
                custom = {"wink": expressions.pop("wink")}
                extension = {"VRMC_vrm": {"specVersion": "1.0", "meta": {"name": "t", "authors": ["t"], "licenseUrl": "-"},
                                          "humanoid": {"humanBones": {"hips": {"node": 1}}},
                                          "expressions": {"preset": expressions, "custom": custom}}}
                g, places = glb.morphs({f"m_{n}": v for n, v in d.items()}, extensions=extension)
                model = self.bake(g.write(self.folder / "face.vrm"))
                for _ in range(3):
                    said = {n: chance.choice([0, 0.25, 0.5, 0.75, 1]) for n in names}
                    want = self.expected(table, said)
                    got = self.surface(model, *self.say("--face", said))
                    off = max(abs(x - y) for x, y in zip(self.mix(places, [(w, d[n]) for n, w in want.items()]), got))
                    worst, count = max(worst, off), count + 1
                    self.assertLessEqual(off, 1e-6, (blink, look, mouth, binary, said))
        print(f"\n  {count} mixes of {len(combos)} overrides, off by {worst:.1e}")

    # --- A recorded take --------------------------------------------------------------------------------

    def test_a_recorded_take_plays_on_every_face(self):
        take = FACECAP / "arkit_recording.csv"
        if not take.exists():
            self.skipTest("no recorded take in the shared data")
        lines = list(arkit_script.lines(take))
        script = self.folder / "take.jsonl"
        rest = {"t_s": 0, "pose": {}}  # the file has a clip of its own
        script.write_text("".join(json.dumps(x) + "\n" for x in [rest, *lines]))
        source = glb.Glb(FACECAP / "facecap_plain.glb")
        mesh = next(m for m in source.tree["meshes"] if m["primitives"][0].get("targets"))
        names, primitive = mesh["extras"]["targetNames"], mesh["primitives"][0]
        base = source.floats(primitive["attributes"]["POSITION"])
        targets = [source.floats(t["POSITION"]) for t in primitive["targets"]]
        model = self.bake(FACECAP / "facecap_plain.glb")
        first = self.part_of(model, source.tree["meshes"].index(mesh))
        still = self.surface(model, *self.say("--face", dict.fromkeys(names, 0)))[first:first + len(base)]
        axes = self.axes(base, still)
        size = max(still) - min(still)
        worst = moved = 0
        for k in range(12):
            at = (len(lines) - 1) * (2 * k + 1) // 24
            t = math.ceil(lines[at]["t_s"] * 120 - 1e-6) / 120  # the first tick that has the row
            row = [x for x in lines if x["t_s"] <= t + 1e-6][-1]["face"]
            mixed = [x + sum(row.get(n, 0) * d[i] for n, d in zip(names, targets)) for i, x in enumerate(base)]
            want = self.place(axes, mixed)
            got = self.surface(model, "--script", script, "--time", f"{t:.6f}", "--hz", "120")[first:first + len(base)]
            worst = max(worst, max(abs(a - b) for a, b in zip(want, got)))
            moved = max(moved, max(abs(a - b) for a, b in zip(still, got)))
        print(f"\n  facecap: {len(lines)} rows, moves {moved:.3f}, off by {worst:.1e} of {size:.2f}")
        self.assertLess(worst, size / (1 << 14))  # a step of the stream's grid
        self.assertGreater(moved, 100 * worst)
        self.stream({"facecap": FACECAP / "facecap_plain.glb", "mira": CHARACTERS / "mira.rig.json",
                     "ict": e2e.DATA / "face" / "ict" / "ict_face_arkit.glb"}, script)

    def part_of(self, model, mesh):
        inspect = e2e.run(e2e.SINEWD, "eval", model, "-o", self.folder / "x.f32")
        return next(p["offset"] for p in json.loads(inspect.out)["primitives"] if p["mesh"] == mesh) // 4

    @staticmethod
    def axes(source, placed):
        """Where the node puts its mesh: the affine map that takes four spread vertices there."""
        n = len(source) // 3
        best = max(((i, j, k) for i, j, k in ((n // 7, n // 3, n // 2), (n // 5, n // 2, 2 * n // 3), (1, n // 2, n - 1))),
                   key=lambda p: abs(ExpressionTest.volume(source, 0, *p)))
        return ExpressionTest.solve(source, placed, (0, *best))

    @staticmethod
    def volume(s, *four):
        o, a, b, c = (s[3 * i:3 * i + 3] for i in four)
        u, v, w = ([x - y for x, y in zip(p, o)] for p in (a, b, c))
        return (u[0] * (v[1] * w[2] - v[2] * w[1]) - u[1] * (v[0] * w[2] - v[2] * w[0])
                + u[2] * (v[0] * w[1] - v[1] * w[0]))

    @staticmethod
    def solve(source, placed, four):
        rows = [[*source[3 * i:3 * i + 3], 1.0, *placed[3 * i:3 * i + 3]] for i in four]
        for c in range(4):
            pivot = max(range(c, 4), key=lambda r: abs(rows[r][c]))
            rows[c], rows[pivot] = rows[pivot], rows[c]
            rows[c] = [x / rows[c][c] for x in rows[c]]
            for r in range(4):
                if r != c:
                    rows[r] = [x - rows[r][c] * y for x, y in zip(rows[r], rows[c])]
        return [r[4:] for r in rows]

    @staticmethod
    def place(m, points):
        out = []
        for i in range(0, len(points), 3):
            p = [*points[i:i + 3], 1.0]
            out += [sum(p[k] * m[k][c] for k in range(4)) for c in range(3)]
        return out

    def stream(self, models, script):
        models = {n: p for n, p in models.items() if p.exists()}
        server = serve.Server(*[a for n, p in models.items() for a in ("--model", f"{n}={p}")])
        try:
            for name in models:
                shown = []
                if name == "ict":  # it has no tongue
                    lines = arkit_script.lines(FACECAP / "arkit_recording.csv", ["tongueOut"])
                    script.write_text("".join(json.dumps(x) + "\n" for x in lines))
                for seconds in ("0.05", "2.5"):
                    out = self.folder / f"{name}.f32"
                    r = e2e.run(e2e.SINEW, "play", f"ws://127.0.0.1:{server.http}", "--character", name, "--script",
                                script, "--seconds", seconds, "--detail", "1", "--dump", out)
                    self.assertEqual(r.status, 0, (name, r.err))
                    shown.append(array.array("f", out.read_bytes()))
                moved = max(abs(a - b) for a, b in zip(*shown)) / (max(shown[0]) - min(shown[0]))
                print(f"  {name}: streamed, moves {100 * moved:.2f} % of its size")
                self.assertGreater(moved, 1e-3, name)
        finally:
            self.assertEqual(server.stop(), 0)
            server.clean()


if __name__ == "__main__":
    e2e.main()

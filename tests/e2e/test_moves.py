#!/usr/bin/env python3
"""Characters with one clip of any name, with none, and with no joints: something sensible is guessed,
`inspect` says what, and control input moves them."""
import array
import json
import pathlib
import tempfile
import unittest

import e2e
import glb

CHARACTERS = e2e.ROOT / "tests" / "assets" / "characters"
SCRIPT = [{"t_s": 0, "control": {"move": [0, 1]}}, {"t_s": 0.4, "control": {"press": ["nothing"]}},
          {"t_s": 0.5, "control": {"move": [0.7, 0.2], "look": [1, 0.5]}}, {"t_s": 0.8, "control": {"goto": [1, 1]}},
          {"t_s": 1.2, "control": {"move": [0, 0]}}]


class MovesTest(unittest.TestCase):
    def setUp(self):
        self.keep = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.keep.name)

    def tearDown(self):
        self.keep.cleanup()

    def model(self, source, clips):
        """`source` with just these of its clips, {name: name now}."""
        g = glb.Glb(source)
        animations = [a for a in g.tree.get("animations", []) if a.get("name") in clips]
        for a in animations:
            a["name"] = clips[a["name"]]
        g.tree.pop("animations", None)
        if animations:
            g.tree["animations"] = animations
        return g.write(self.folder / "character.glb")

    def controls(self, path):
        r = e2e.run(e2e.SINEWD, "inspect", path, "--json")
        self.assertEqual(r.status, 0, r.err)
        return json.loads(r.out)["controls"]

    def frame(self, path, seconds):
        script, out = self.folder / "s.jsonl", self.folder / "o.f32"
        lines = [x for x in SCRIPT if "press" not in x["control"]]
        script.write_text("".join(json.dumps(x) + "\n" for x in lines))
        r = e2e.run(e2e.SINEWD, "eval", path, "--script", script, "--time", seconds, "-o", out)
        self.assertEqual((r.status, r.err), (0, ""))
        places = array.array("f")
        places.frombytes(out.read_bytes())
        self.assertTrue(all(-100 < x < 100 for x in places))
        return places

    def moved(self, path):
        a, b = self.frame(path, 0), self.frame(path, 1.5)
        return max(abs(sum(a[k::3]) - sum(b[k::3])) for k in (0, 2)) / (len(a) / 3)

    def test_one_clip_of_any_name(self):
        for now, source, said in (("mixamo.com", "Run", "guess"), ("Armature|Take 001", "Walk", "guess"),
                                  ("走る", "Run", "run"), ("走", "Walk", "walk"), ("跑步", "Run", "run"), ("", "Walk", "guess"),
                                  ("07_01", "Walk", "guess"), ("Take 001", "Idle", "")):
            path = self.model(CHARACTERS / "mira.glb", {source: now})
            controls = self.controls(path)
            text = json.dumps(controls, ensure_ascii=False)
            print(f"\n  {now or '(none)'}: {json.dumps(controls.get('locomotion', controls), ensure_ascii=False)[:140]}")
            if said == "guess":
                self.assertRegex(text, "walk|run")
            self.assertIn(said if said != "guess" else "motion", text)
            self.assertGreater(self.moved(path), 0.05, now)

    def test_no_clips_and_no_joints(self):
        bare = self.model(CHARACTERS / "mira.glb", {})
        self.controls(bare)
        self.assertGreater(self.moved(bare), 0.05)
        g, _ = glb.morphs({"blink": [0] * 12})
        stone = g.write(self.folder / "stone.glb")
        self.controls(stone)
        self.frame(stone, 1.5)


if __name__ == "__main__":
    e2e.main()

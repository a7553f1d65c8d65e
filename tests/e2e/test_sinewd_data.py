"""sinewd on the real and the hostile files: everything with a mesh bakes, everything broken is
refused in one line that names the place, within the memory that the input's size allows."""
import json
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import e2e  # noqa: E402

e2e.need_data()
SOURCES = (".glb", ".gltf", ".vrm")


def files_under(*folders):
    return sorted(p for f in folders for p in (e2e.DATA / f).rglob("*") if p.suffix in SOURCES)


def gltf_json(path):
    data = path.read_bytes()
    if data[:4] == b"glTF":
        data = data[20:20 + int.from_bytes(data[12:16], "little")]
    return json.loads(data)


class Data(unittest.TestCase):
    def setUp(self):
        self.keep = tempfile.TemporaryDirectory()
        self.out = pathlib.Path(self.keep.name) / "out.sinew"
        self.again = pathlib.Path(self.keep.name) / "again.sinew"

    def tearDown(self):
        self.keep.cleanup()

    def test_every_real_file_with_a_mesh_bakes_twice_to_the_same_bytes(self):
        baked = 0
        for path in files_under("gltf", "vrm", "face", "psd"):
            if not gltf_json(path).get("meshes"):
                continue
            r = e2e.run(e2e.SINEWD, "bake", path, "-o", self.out)
            if path.stem == "Compatibility_04":
                self.assertEqual(r.status, 1)
                self.assertIn("2.1", r.err)
                continue
            self.assertEqual((r.status, r.err), (0, ""), path)
            self.assertEqual(e2e.run(e2e.SINEWD, "bake", path, "-o", self.again).status, 0)
            self.assertEqual(self.out.read_bytes(), self.again.read_bytes(), path)
            r = e2e.run(e2e.SINEWD, "inspect", self.out, "--json")
            self.assertEqual(r.status, 0, r.err)
            json.loads(r.out)
            baked += 1
        print(f"{baked} files baked twice, same bytes ... ", end="")
        self.assertGreater(baked, 100)

    def test_hostile_files_are_baked_or_refused_in_one_line(self):
        refused = baked = 0
        worst = 0
        for path in sorted(p for p in (e2e.DATA / "hostile").rglob("*")
                           if p.is_file() and not p.name.endswith(".report.json")):
            r = e2e.run_measured(e2e.SINEWD, "bake", path, "-o", self.out)
            self.assertIn(r.status, (0, 1), (path, r.err))
            if r.status == 0:
                baked += 1
                continue
            refused += 1
            self.assertEqual(len(r.err.splitlines()), 1, (path, r.err))
            self.assertRegex(r.err, r"/[A-Za-z]|byte \d+|\bbytes\b", (path, r.err))
            if not e2e.SANITIZED:
                allowed_kib = 64 * 1024 + 16 * path.stat().st_size / 1024
                worst = max(worst, r.peak_kib / allowed_kib)
                self.assertLess(r.peak_kib, allowed_kib, path)
        print(f"{baked} baked, {refused} refused, memory at most {worst:.0%} of the bound ... ", end="")
        self.assertGreater(refused, 50)


if __name__ == "__main__":
    e2e.main()

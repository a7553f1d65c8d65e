"""The commands of README.md and of deploy/ do what they say."""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import e2e  # noqa: E402
import modeller  # noqa: E402

PORT = 17480


def commands(page, start):
    blocks = re.findall(r"```sh\n(.*?)```", (e2e.ROOT / page).read_text(), re.S)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith(start)]


class Readme(unittest.TestCase):
    def setUp(self):
        self.keep = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.keep.name)
        shutil.copy(e2e.ROOT / "tests/assets/characters/pup.glb", self.folder / "character.glb")
        (self.folder / "script.jsonl").write_text('{"t_s": 0.5, "control": {"move": [0, 1]}}\n')
        self.server = None

    def tearDown(self):
        if self.server:
            self.server.terminate()
            self.server.wait(timeout=30)
            self.server.stdout.close()
        self.keep.cleanup()

    def start_server(self):
        self.server = subprocess.Popen(
            [e2e.SINEWD, "serve", "--model", self.folder / "character.glb", "--model",
             f"mira={e2e.ROOT / 'tests/assets/characters/mira.rig.json'}", "--data", self.folder / "data",
             "--http", f"127.0.0.1:{PORT}", "--tls", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(300):
            try:
                if urllib.request.urlopen(f"http://127.0.0.1:{PORT}/readyz", timeout=2).status == 200:
                    return
            except OSError:
                time.sleep(0.1)
        self.fail("the server did not get ready")

    def install_with(self, **programs):
        """deploy/install on a machine where one package is missing; programs stand in for real ones."""
        tools = self.folder / "tools"
        tools.mkdir(exist_ok=True)
        missing = "for a; do [ \"$a\" = libuv1-dev ] && exit 1; done; printf 'install ok installed'"
        for name, text in {"dpkg-query": missing, **programs}.items():
            (tools / name).write_text(f"#!/bin/sh\n{text}\n")
            (tools / name).chmod(0o755)
        return subprocess.run([e2e.ROOT / "deploy" / "install"], capture_output=True, text=True, timeout=60,
                              env={"PATH": f"{tools}:/usr/bin:/bin"})

    def test_a_missing_package_is_one_line_that_says_what_to_do(self):
        r = self.install_with(id="echo 1000")
        self.assertEqual((r.returncode, len(r.stderr.splitlines())), (1, 1), r.stderr)
        self.assertIn("apt-get install -y --no-install-recommends libuv1-dev", r.stderr)
        r = self.install_with(id="echo 0", **{"apt-get": "echo 'E: Unable to fetch some archives' >&2; exit 100"})
        self.assertEqual((r.returncode, len(r.stderr.splitlines())), (1, 1), r.stderr)
        self.assertIn("libuv1-dev", r.stderr)
        self.assertIn("Unable to fetch", r.stderr)
        r = self.install_with(id="echo 0", **{"apt-get": "exit 0"})
        self.assertEqual(r.returncode, 0, r.stderr)

    def test_the_commands_of_the_readme_run(self):
        lines = commands("README.md", "build/release/")
        self.assertGreaterEqual(len(lines), 3)
        for line in lines:
            if " play " in line and not self.server:
                self.start_server()
                token = modeller.add_token(str(self.folder / "data"), "modeller", "ann")
                (self.folder / "ann.token").write_text(token + "\n")
            words = [w.replace("build/release", str(e2e.BUILD)).replace(":7480", f":{PORT}")
                     for w in shlex.split(line)]
            r = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=120)
            self.assertEqual(r.returncode, 0, (line, r.stderr))
        self.assertTrue((self.folder / "frame.obj").exists())

    def test_the_scripts_explain_themselves_and_refuse_what_they_do_not_know(self):
        for script in ("deploy/run", "tests/run"):
            r = subprocess.run([e2e.ROOT / script, "--help"], capture_output=True, text=True)
            self.assertEqual(r.returncode, 0)
            self.assertIn(f"./{script}", r.stdout)
            r = subprocess.run([e2e.ROOT / script, "--bogus"], capture_output=True, text=True)
            self.assertEqual((r.returncode, len(r.stderr.splitlines())), (2, 1))
        r = subprocess.run([e2e.ROOT / "deploy/run", "none.glb"], capture_output=True, text=True)
        self.assertEqual((r.returncode, len(r.stderr.splitlines())), (1, 1))
        self.assertIn("none.glb", r.stderr)

    def test_the_sample_configuration_is_accepted(self):
        r = e2e.run(e2e.SINEWD, "check-config", e2e.ROOT / "deploy/sinew.json")
        self.assertEqual(r.status, 0, r.err)

    def test_the_service_unit_is_sound(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze")
        unit = self.folder / "sinewd.service"
        text = (e2e.ROOT / "deploy/sinewd.service").read_text()
        unit.write_text(text.replace("/usr/local/bin/sinewd", str(e2e.SINEWD)))
        r = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
        self.assertEqual((r.returncode, r.stderr), (0, ""))


if __name__ == "__main__":
    e2e.main()

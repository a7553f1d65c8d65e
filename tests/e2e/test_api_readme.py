#!/usr/bin/env python3
"""server/api/README.md: its examples run as they stand, and every route of the table is among them."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import e2e
import modeller
import serve

PAGE = (e2e.ROOT / "server/api/README.md").read_text()
CHARACTERS = e2e.ROOT / "tests/assets/characters"


def source_routes():
    """The rows as the code has them: (method, pattern)."""
    rows = re.findall(r'ROW\((\w+), "([^"]+)"', (e2e.ROOT / "server/api/v1_routes.c").read_text())
    routes = {(method, "/v1/" + path) for method, path in rows}
    text = (e2e.ROOT / "server/api/api.c").read_text()
    routes |= set(re.findall(r'\.method = HTTP_METHOD_(\w+),\s*\.pattern = "([^"]+)"', text))
    return routes - {("GET", "/")}


class ApiReadme(unittest.TestCase):
    def test_the_examples_run_and_miss_no_route(self):
        if not shutil.which("curl"):
            self.skipTest("no curl")
        script = re.search(r"## Examples.*?```sh\n(.*?)```", PAGE, re.S)[1]
        with tempfile.TemporaryDirectory() as keep:
            folder = pathlib.Path(keep)
            shutil.copy(CHARACTERS / "bolt.glb", folder / "hero.glb")
            server = serve.Server("--model", f"mira={CHARACTERS / 'mira.rig.json'}")
            environment = {"HOST": f"http://127.0.0.1:{server.http}", "PATH": "/usr/bin:/bin:/usr/local/bin"}
            for scope in ("modeller", "admin", "ops"):
                environment[scope.upper()] = modeller.add_token(server.folder.name, scope, scope)
            log = folder / "trace"
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", f"exec 9>{log}; BASH_XTRACEFD=9; set -x\n" + script],
                                  cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:]
                             + log.read_text()[-1500:])
            self.check_routes(log.read_text(), environment["HOST"])
            self.assertEqual(server.stop(), 0)
            server.clean()

    def check_routes(self, trace, host):
        asked = set()
        for line in trace.splitlines():
            line = line.replace("'", "")
            url = re.search(re.escape(host) + r"([^ ?]*)", line)
            if "curl " in line and url:
                method = re.search(r"-X (\w+)", line)
                asked.add((method[1] if method else "GET", url[1]))
        for method, pattern in sorted(source_routes()):
            wanted = re.compile(re.sub(r"\\?\{\w+\\?\}", "[^/]+", pattern) + "$")
            self.assertTrue(any(m == method and wanted.match(p) for m, p in asked), f"no example of {method} {pattern}")

    def test_every_route_stands_in_the_table(self):
        for method, pattern in sorted(source_routes()):
            self.assertIn(pattern, PAGE, f"{method} {pattern}")


if __name__ == "__main__":
    e2e.main()

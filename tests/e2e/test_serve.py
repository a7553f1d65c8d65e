"""sinewd serve as users and orchestrators meet it: the address line, mistakes in one line, signals,
the end in order, and machines that run out of descriptors."""
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import e2e  # noqa: E402
import serve  # noqa: E402
from test_sinewd import bar_gltf  # noqa: E402


def dense_glb(path, across):
    """A sheet of across * across vertices on one moving node."""
    n = across * across
    places = b"".join(struct.pack("<3f", (i % across) / across, (i * 7919 % 997) / 997, (i // across) / across)
                      for i in range(n))
    corner = [y * across + x for y in range(across - 1) for x in range(across - 1)]
    faces = b"".join(struct.pack("<6I", i, i + across, i + 1, i + 1, i + across, i + across + 1) for i in corner)
    times, moves = struct.pack("<2f", 0, 1), struct.pack("<6f", 0, 0, 0, 0, 1, 0)
    views, at = [], 0
    for part in (places, faces, times, moves):
        views.append({"buffer": 0, "byteOffset": at, "byteLength": len(part)})
        at += len(part)
    tree = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
            "animations": [{"samplers": [{"input": 2, "output": 3}],
                            "channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}]}],
            "accessors": [{"bufferView": 0, "componentType": 5126, "count": n, "type": "VEC3",
                           "min": [0, 0, 0], "max": [1, 1, 1]},
                          {"bufferView": 1, "componentType": 5125, "count": 6 * len(corner), "type": "SCALAR"},
                          {"bufferView": 2, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [1]},
                          {"bufferView": 3, "componentType": 5126, "count": 2, "type": "VEC3"}],
            "bufferViews": views, "buffers": [{"byteLength": at}]}
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    path.write_bytes(struct.pack("<4sII", b"glTF", 2, 28 + len(text) + at) + struct.pack("<I4s", len(text), b"JSON") +
                     text + struct.pack("<I4s", at, b"BIN\0") + places + faces + times + moves)
    return path


class Serve(unittest.TestCase):
    def setUp(self):
        self.keep = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.keep.name)
        self.bar = bar_gltf(self.folder)
        self.servers = []

    def tearDown(self):
        for s in self.servers:
            if s.process.poll() is None:
                s.process.kill()
                s.process.wait()
            s.clean()
        self.keep.cleanup()

    def start(self, *args, **more):
        self.servers.append(serve.Server("--model", self.bar, *args, **more))
        return self.servers[-1]

    def refused(self, *args):
        r = e2e.run(e2e.SINEWD, "serve", "--data", self.folder / "data", "--http", "127.0.0.1:0",
                    "--tls", "127.0.0.1:0", *args, timeout_s=60)
        lines = [line for line in r.err.splitlines() if not line.startswith("{")]
        self.assertEqual(len(lines), 1, r.err)
        self.assertEqual(r.out, "")
        return r.status, lines[0]

    def test_frames_of_a_very_dense_surface_arrive(self):
        """More than 64 pieces a frame: floats of 202,500 vertices are 4.9 MB."""
        s = self.start("--model", dense_glb(self.folder / "sheet.glb", 450))
        r = e2e.run(e2e.SINEW, "play", f"ws://127.0.0.1:{s.http}", "--character", "sheet", "--raw", "--detail", "1",
                    "--frames", "5", "--seconds", "60", "--dump", self.folder / "sheet.f32", "--json", timeout_s=120)
        self.assertEqual(r.status, 0, r.err)
        self.assertGreaterEqual(json.loads(r.out)["frames"], 5, r.out)
        self.assertEqual((self.folder / "sheet.f32").stat().st_size, 12 * 450 * 450)

    def test_it_prints_where_it_is_and_streams(self):
        s = self.start()
        text = "\n".join(s.lines)
        self.assertIn(f"http://127.0.0.1:{s.http}/", text)
        rest = s.process.stdout.readline().decode()
        self.assertRegex(text + rest, r"SHA-256 ([0-9A-F]{2}:){31}[0-9A-F]{2}")
        c = serve.Client(s)
        self.assertEqual(c.welcome["character"], "bar")
        self.assertGreater(c.frames(1.0), 20)
        c.close()
        self.assertEqual(s.stop(), 0)

    def test_mistakes_are_told_in_one_line(self):
        status, line = self.refused("--model", self.folder / "none.glb")
        self.assertEqual(status, 1)
        self.assertIn("none.glb", line)
        (self.folder / "bad.glb").write_text("not a model")
        status, line = self.refused("--model", self.folder / "bad.glb")
        self.assertEqual(status, 1)
        self.assertIn("bad.glb", line)
        self.assertEqual(self.refused("--modle", self.bar)[0], 2)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            status, line = self.refused("--model", self.bar, "--http", f"127.0.0.1:{port}")
        self.assertEqual(status, 1)
        self.assertIn(str(port), line)
        status, line = self.refused("--model", self.bar, "--http", "0.0.0.0:0")
        self.assertEqual(status, 1)
        self.assertIn("plain-anywhere", line)
        self.assertEqual(self.refused("--model", self.bar, "--model", self.bar)[0], 2)

    def test_what_cannot_move_is_shown_still_and_said(self):
        still = bar_gltf(self.folder / "still" if (self.folder / "still").mkdir() is None else None,
                         animations=[])
        self.servers.append(serve.Server("--model", f"still={still}"))
        s = self.servers[-1]
        self.assertTrue(any("still" in line and "no clips" in line for line in s.lines), s.lines)
        c = serve.Client(s)
        self.assertIsNotNone(c.until(serve.FRAME))
        c.close()

    def test_promtool_has_nothing_to_say_about_the_metrics(self):
        """SINEW_PROMTOOL or the PATH; the Debian package prometheus unpacked by dpkg -x will do."""
        promtool = os.environ.get("SINEW_PROMTOOL") or shutil.which("promtool")
        if not promtool:
            self.skipTest("no promtool (SINEW_PROMTOOL)")
        s = self.start()
        c = serve.Client(s)
        c.frames(0.5)
        status, text = s.get("/metrics")
        self.assertEqual(status, 200)
        r = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True)
        self.assertEqual((r.returncode, r.stdout, r.stderr), (0, "", ""))
        series = [line for line in text.splitlines() if not line.startswith("#")]
        print(f"  {len(series)} series")
        self.assertGreater(len(series), 20)
        self.assertLess(len(series), 400)
        c.close()

    def test_the_end_in_order(self):
        s = self.start("--drain", "3")
        clients = [serve.Client(s) for _ in range(4)]
        for c in clients:
            c.until(serve.FRAME)
        ends = [None] * 4

        def watch(i):
            payload = clients[i].until(serve.BYE, 10)
            ends[i] = (time.monotonic(), serve.bye(payload) if payload else None)
            clients[i].close()

        threads = [threading.Thread(target=watch, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        begun = time.monotonic()
        s.signal(signal.SIGTERM)
        time.sleep(0.1)
        code, text = s.get("/readyz")
        self.assertEqual(code, 503)
        self.assertIn("draining", text)
        self.assertEqual(s.get("/livez")[0], 200)
        for t in threads:
            t.join()
        self.assertEqual(s.process.wait(10), 0)
        self.assertLess(time.monotonic() - begun, 4)
        for _, end in ends:
            self.assertEqual(end[0], 3)  # RESTART
            self.assertGreater(end[1], 0)
        at = sorted(t for t, _ in ends)
        self.assertGreater(at[-1] - at[0], 0.5, "goodbyes are spread")

    def test_a_second_signal_means_now(self):
        s = self.start("--drain", "30")
        c = serve.Client(s)
        s.signal(signal.SIGTERM)
        time.sleep(0.3)
        self.assertIsNone(s.process.poll())
        s.signal(signal.SIGTERM)
        self.assertEqual(s.process.wait(5), 130)
        c.close()

    def test_reload_takes_limits_and_certificate(self):
        config = self.folder / "sinew.json"
        config.write_text(json.dumps({"limits": {"sessions": 8}}))
        s = self.start("--config", config)
        self.assertEqual(s.status()["sessions"]["max"], 8)
        old = serve.Client(s)
        before = old.socket.getpeercert(True)
        for name in ("tls.crt", "tls.key"):
            (pathlib.Path(s.folder.name) / name).unlink()
        config.write_text(json.dumps({"limits": {"sessions": 5}}))
        s.signal(signal.SIGHUP)
        time.sleep(0.5)
        self.assertEqual(s.status()["sessions"]["max"], 5)
        new = serve.Client(s)
        self.assertNotEqual(new.socket.getpeercert(True), before)
        self.assertGreater(old.frames(0.5), 5)
        config.write_text("{ not json")
        s.signal(signal.SIGHUP)
        time.sleep(0.3)
        self.assertIn('"done":false', s.errors())
        self.assertEqual(s.status()["sessions"]["max"], 5)
        self.assertGreater(new.frames(0.5), 5)
        old.close()
        new.close()

    def test_running_out_of_descriptors_hurts_nobody_inside(self):
        s = self.start(limit_files=60)
        good = serve.Client(s)
        good.until(serve.FRAME)
        crowd = []
        for _ in range(80):
            try:
                crowd.append(socket.create_connection(("127.0.0.1", s.http), timeout=1))
            except OSError:
                pass
        cpu, begun = s.cpu_s(), time.monotonic()
        frames = good.frames(3)
        seconds = time.monotonic() - begun
        print(f"  {frames / seconds:.0f} frames/s, {100 * (s.cpu_s() - cpu) / seconds:.0f} % CPU")
        self.assertGreater(frames / seconds, 50)
        if not e2e.SANITIZED:
            self.assertLess((s.cpu_s() - cpu) / seconds, 0.1)
        for c in crowd:
            c.close()
        time.sleep(0.5)
        self.assertEqual(s.get("/livez")[0], 200)
        good.close()
        late = serve.Client(s)
        late.until(serve.FRAME)
        late.close()

    def test_a_slow_hello_and_a_slow_handshake_are_cut_off(self):
        s = self.start()
        begun = time.monotonic()
        raw = socket.create_connection(("127.0.0.1", s.tls))
        raw.settimeout(0.2)
        hello = bytes.fromhex("16030100c8010000c4")
        for i in range(100):  # a byte at a time does not buy time
            try:
                raw.send(hello[i % len(hello):i % len(hello) + 1])
                if raw.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self.assertLess(time.monotonic() - begun, 6.5)
        raw.close()

    def test_a_server_that_was_stopped_for_a_while_does_not_catch_up(self):
        s = self.start()
        c = serve.Client(s)
        c.frames(0.5)
        s.signal(signal.SIGSTOP)
        time.sleep(2)
        s.signal(signal.SIGCONT)
        begun = time.monotonic()
        frames = c.frames(1)
        self.assertLess(frames / (time.monotonic() - begun), 75)
        self.assertGreater(frames, 40)
        self.assertGreaterEqual(s.status()["tick"]["skipped"], 100)
        c.close()

    def test_the_service_manager_is_told(self):
        path = str(self.folder / "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(10)
            s = self.start(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1000000"})
            told = [manager.recv(4096).decode()]
            while not all(any(word in t for t in told) for word in ("WATCHDOG=1", "READY=1")):
                told.append(manager.recv(4096).decode())
            self.assertTrue(any(t.startswith("READY=1") for t in told))
            s.signal(signal.SIGTERM)
            while "STOPPING=1" not in told[-1]:
                told.append(manager.recv(4096).decode())
            self.assertEqual(s.process.wait(15), 0)


if __name__ == "__main__":
    e2e.main()

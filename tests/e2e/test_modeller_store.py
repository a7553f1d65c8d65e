#!/usr/bin/env python3
"""What the store promises: racing writers make one line of versions, kill -9 loses nothing that was
acknowledged, a full disk refuses edits and nothing else. SINEW_TEST_LONG=1: 10,000 edits, 200 kills, 80 versions of a large model."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import e2e
import modeller
import serve
import served
import small
import wire

LONG = os.environ.get("SINEW_TEST_LONG") == "1"
WRITERS, EDITS, KILLS, VERSIONS = 8, 10000 if LONG else 500, 200 if LONG else 20, 80 if LONG else 24


class KeptServer(serve.Server):
    """Over a data folder that outlives it."""

    def __init__(self, data, *args, **more):
        self.kept = data
        super().__init__("--data", str(data), *args, **more)


def start(data, rig):
    begun = time.monotonic()
    server = KeptServer(data, "--model", f"bar={rig}")
    served.wait_ready(server)
    return server, time.monotonic() - begun


def versions(m, model="bar"):
    line, before = [], 1 << 30
    while True:
        page = m.ask("GET", f"/v1/models/{model}/versions?before={before}&limit=1000").json()["versions"]
        if not page:
            return line[::-1]
        line += page
        before = page[-1]["version"]


class StoreTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.rig, self.joint = small.write(self.root)
        self.data = self.root / "data"
        self.data.mkdir()
        self.admin = modeller.add_token(str(self.data), "admin", "chief")

    def tearDown(self):
        self.folder.cleanup()

    def check_line(self, m, model="bar"):
        line = versions(m, model)
        self.assertEqual([v["version"] for v in line], list(range(1, len(line) + 1)))
        self.assertEqual([v["parent"] for v in line], list(range(len(line))))
        return line

    def check_audit(self, m):
        after, before, rows = 0, "0" * 64, []
        while True:
            page = m.ask("GET", f"/v1/audit?after={after}&limit=1000").json()
            if not page["rows"]:
                return rows
            for row in page["rows"]:
                self.assertEqual(row["sequence"], after + 1)
                self.assertEqual(hashlib.sha256((before + row["entry"]).encode()).hexdigest(), row["hash"])
                before, after = row["hash"], row["sequence"]
                rows.append(json.loads(row["entry"]))

    def test_racing_writers_make_one_line(self):
        server, _ = start(self.data, self.rig)
        chief = modeller.Modeller(server.http, self.admin)
        for i in range(WRITERS):
            small.add_example(chief, "bar", self.joint, f"e{i}", 0.3 + 0.25 * i)
        first = len(self.check_line(chief))
        won, lost, problems, lock = [], [0], [], threading.Lock()

        def write(number, token):
            m, item = modeller.Modeller(server.http, token), f"bend:e{number}"
            r = m.checkout("bar", item, ttl_s=600)
            etag, count = r.etag, 0
            while r.status < 300:
                with lock:
                    if len(won) >= EDITS:
                        return
                r = m.patch("bar", item, {number % 8: (0, 0, 1e-4 * (1 + count % 7))}, etag)
                if r.status != 200:
                    break
                etag, head = r.etag, m.head("bar")
                r = m.publish("bar", item, head)
                while r.status == 412:
                    with lock:
                        lost[0] += 1
                    head = r.json()["etag"]
                    r = m.publish("bar", item, head)
                if r.status == 201:
                    count += 1
                    if count % 100 == 0:  # a grant lasts for ten minutes
                        etag = m.checkout("bar", item, ttl_s=600).etag
                    with lock:
                        won.append((head, r.json()["version"]))
            problems.append((number, r.status, r.body))

        begun = time.monotonic()
        tokens = [modeller.add_token(str(self.data), "modeller", f"w{i}") for i in range(WRITERS)]
        threads = [threading.Thread(target=write, args=(i, t)) for i, t in enumerate(tokens)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(problems, [])
        self.assertGreaterEqual(len(won), EDITS)
        self.assertEqual(len({base for base, _ in won}), len(won))  # one winner for each base
        line = self.check_line(chief)
        self.assertEqual(len(line), first + len(won))
        self.assertEqual(sorted(v for _, v in won), list(range(first + 1, len(line) + 1)))
        audit = self.check_audit(chief)
        self.assertEqual(sum(r["action"] == "publish" for r in audit), len(won) + WRITERS)
        print(f"\n  {len(won)} edits by {WRITERS} writers in {time.monotonic() - begun:.1f} s, "
              f"{lost[0]} lost a race and went again; {len(audit)} audit rows verify")
        self.assertEqual(server.stop(), 0)
        server.clean()

    def test_kill_loses_nothing_that_was_acknowledged(self):
        server, _ = start(self.data, self.rig)
        token = modeller.add_token(str(self.data), "modeller", "ann")
        chief = modeller.Modeller(server.http, self.admin)
        small.add_example(chief, "bar", self.joint, "e0", 0.8)
        acknowledged, tags, uploads, slowest = {}, [None], {}, 0.0
        rng = random.Random(7)
        for round_number in range(KILLS):
            stop = threading.Event()

            def work():
                m = modeller.Modeller(server.http, token)
                try:
                    r = m.checkout("bar", "bend:e0", ttl_s=600)
                    if r.status != 201:
                        return
                    etag = r.etag
                    while not stop.is_set():
                        body = os.urandom(3000)
                        where = m.ask("POST", "/v1/uploads", Upload_Length="6000",
                                      Tus_Resumable="1.0.0").headers["Location"]
                        uploads[where] = (0, b"")
                        r = m.ask("PATCH", where, body, Upload_Offset="0", Tus_Resumable="1.0.0",
                                  Content_Type="application/offset+octet-stream")
                        if r.status == 204:
                            uploads[where] = (3000, body)
                        r = m.patch("bar", "bend:e0", {1: (0, 0, 1e-5)}, etag)
                        if r.status != 200:
                            return
                        etag = r.etag
                        tags[0] = ("draft", etag)
                        head = m.head("bar")
                        key = f"k{round_number}-{time.monotonic_ns()}"
                        tags[0] = ("publishing", head, key, m.grant, m.fence, etag)
                        r = m.publish("bar", "bend:e0", head, Idempotency_Key=key)
                        if r.status == 201:
                            acknowledged[r.json()["version"]] = r.json()["sha256"]
                            tags[0] = ("published", r.json()["version"])
                        r = m.ask("DELETE", where, Tus_Resumable="1.0.0")
                        if r.status == 204:
                            uploads.pop(where, None)
                except OSError:
                    pass

            thread = threading.Thread(target=work)
            thread.start()
            time.sleep(rng.uniform(0.02, 0.25))
            server.signal(signal.SIGKILL)
            server.process.wait()
            stop.set()
            thread.join()
            server.clean()
            server, took = start(self.data, self.rig)
            slowest = max(slowest, took)
            m = modeller.Modeller(server.http, self.admin)
            line = {v["version"]: v["sha256"] for v in self.check_line(m)}
            for version, sha in acknowledged.items():
                self.assertEqual(line.get(version), sha, f"version {version} after kill {round_number}")
            # The newest is whole, and is what is served.
            body = m.ask("GET", f"/v1/models/bar/versions/{max(line)}/file")
            self.assertEqual(hashlib.sha256(body.body).hexdigest(), line[max(line)])
            self.assertEqual(m.ask("GET", "/v1/models/bar").json()["version"], max(line))
            ann = modeller.Modeller(server.http, token)
            if tags[0] and tags[0][0] == "draft":
                grants = [g for g in ann.ask("GET", "/v1/models/bar/grants").json()["grants"] if g.get("draft")]
                self.assertTrue(any(g["draft"]["etag"] == tags[0][1] for g in grants), (tags[0], grants))
            if tags[0] and tags[0][0] == "publishing":  # asking again tells whether it landed
                _, head, key, ann.grant, ann.fence, _ = tags[0]
                r = ann.publish("bar", "bend:e0", head, Idempotency_Key=key)
                self.assertEqual(r.status, 201, r.body)
                acknowledged[r.json()["version"]] = r.json()["sha256"]
            for where, (offset, _) in list(uploads.items()):
                r = ann.ask("HEAD", where)
                if r.status == 200:
                    self.assertGreaterEqual(int(r.headers["Upload-Offset"]), offset)
                else:  # its end was on its way
                    self.assertEqual(list(uploads)[-1], where)
                    uploads.pop(where)
            tags[0] = None
        m = modeller.Modeller(server.http, self.admin)
        self.check_audit(m)
        named = {v["sha256"] for v in versions(m)}
        there = {p.name for p in (self.data / "store" / "bodies").rglob("*") if p.is_file()}
        self.assertLessEqual(named, there)
        print(f"\n  {KILLS} kills, {len(acknowledged)} acknowledged edits all there, "
              f"slowest start {slowest:.2f} s")
        if not e2e.SANITIZED:
            self.assertLessEqual(slowest, 2.0)
        self.assertEqual(server.stop(), 0)
        server.clean()

    def test_a_full_disk_refuses_edits_and_streams_go_on(self):
        mount = self.root / "small"
        mount.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", mount], capture_output=True).returncode:
            self.skipTest("no right to mount a tmpfs")
        try:
            data = mount / "data"
            data.mkdir()
            admin = modeller.add_token(str(data), "admin", "chief")
            server, _ = start(data, self.rig)
            m = modeller.Modeller(server.http, admin)
            small.add_example(m, "bar", self.joint, "e0", 0.8)
            r = m.checkout("bar", "bend:e0")
            stream = wire.Client(wire.WebSocket(server), {"character": "bar"})
            left = os.statvfs(mount).f_bavail * os.statvfs(mount).f_frsize
            (mount / "ballast").write_bytes(bytes(left - 600 * 1024))
            before = versions(m)
            refused = m.patch("bar", "bend:e0", {1: (0, 0, 1e-3)}, r.etag)
            self.assertEqual((refused.status, refused.problem), (507, "disk-full"), refused.body)
            self.assertIn("5 %", refused.json()["detail"])
            self.assertEqual(m.ask("POST", "/v1/uploads", Upload_Length="10").status, 507)
            with open(mount / "more", "wb") as f:  # to the last byte
                try:
                    while True:
                        f.write(bytes(65536))
                        f.flush()
                except OSError:
                    pass
            self.assertEqual(m.patch("bar", "bend:e0", {1: (0, 0, 1e-3)}, r.etag).status, 507)
            self.assertGreater(stream.watch(1.0), 10)
            self.assertEqual(m.surface("bar", "bend:e0").status, 200)
            self.assertEqual(versions(m), before)
            (mount / "ballast").unlink()
            (mount / "more").unlink()
            r = m.patch("bar", "bend:e0", {1: (0, 0, 1e-3)}, r.etag)
            self.assertEqual(r.status, 200, r.body)
            self.assertEqual(m.publish("bar", "bend:e0").status, 201)
            self.assertGreater(stream.watch(0.5), 5)
            stream.close()
            self.assertEqual(server.stop(), 0)
            server.clean()
        finally:
            subprocess.run(["umount", mount], check=False)

    def raw_stream(self, server, **hello):
        c = wire.Client(wire.WebSocket(server), {"character": "bar", "quality": {"raw": True}, **hello})
        c.carrier.send(wire.pose(1, small.pose(self.joint, 0.8)["joints"]))
        return c

    def shown(self, stream, seconds=0.4):
        """The newest surface that a stream of float frames shows, after a while."""
        end, floats = time.monotonic() + seconds, None
        while time.monotonic() < end:
            kind, payload = stream.next()
            if kind == wire.FRAME and payload[44] == 0 and len(payload) == 104 + 8 * 24:
                values = struct.unpack_from("<48f", payload, 104)
                floats = [x for v in range(8) for x in values[6 * v:6 * v + 3]]
        self.assertIsNotNone(floats)
        return floats

    def test_a_draft_is_on_its_modellers_streams_and_nowhere_else(self):
        server, _ = start(self.data, self.rig)
        chief = modeller.Modeller(server.http, self.admin)
        token = modeller.add_token(str(self.data), "modeller", "ann")
        other = modeller.add_token(str(self.data), "modeller", "bob")
        small.add_example(chief, "bar", self.joint, "e0", 0.8)
        ann = modeller.Modeller(server.http, token)
        streams = {"public": self.raw_stream(server), "ann": self.raw_stream(server, role="modeller", token=token),
                   "player": self.raw_stream(server, token=token),
                   "bob": self.raw_stream(server, role="modeller", token=other)}

        def all_shown():
            with concurrent.futures.ThreadPoolExecutor(len(streams)) as pool:
                return dict(zip(streams, pool.map(self.shown, streams.values())))

        before = all_shown()
        self.assertTrue(all(s == before["public"] for s in before.values()))
        r = ann.checkout("bar", "bend:e0")
        r = ann.patch("bar", "bend:e0", {5: (0, 0, 0.25)}, r.etag)
        drafted = all_shown()
        self.assertEqual([drafted[n] for n in ("public", "player", "bob")], [before["public"]] * 3)
        moved = [abs(a - b) for a, b in zip(drafted["ann"], before["ann"])]
        self.assertAlmostEqual(max(moved), 0.25, places=5)
        late = self.raw_stream(server, role="modeller", token=token)  # one that joins later
        self.assertEqual(self.shown(late), drafted["ann"])
        late.close()
        # Another publishes meanwhile: the draft stays on its maker's stream.
        small.add_example(chief, "bar", self.joint, "e1", 1.6)
        self.assertEqual(self.shown(streams["ann"]), drafted["ann"])
        r = ann.publish("bar", "bend:e0")  # baked onto the newer version
        self.assertEqual(r.status, 201, r.body)
        after = all_shown()
        for name, floats in after.items():
            self.assertLess(max(abs(a - b) for a, b in zip(floats, drafted["ann"])), 1e-5, name)
        # A draft that is let go is gone from the stream too.
        r = ann.patch("bar", "bend:e0", {4: (0, 0, 0.25)}, ann.ask("GET", ann.item("bar", "bend:e0")).etag)
        self.assertEqual(r.status, 200, r.body)
        self.assertNotEqual(self.shown(streams["ann"]), after["ann"])
        self.assertEqual(ann.ask("DELETE", ann.item("bar", "bend:e0", "/edit"), **ann.held()).status, 204)
        self.assertEqual(self.shown(streams["ann"]), after["ann"])
        # The conflict that no baking solves: the item itself has changed.
        r = ann.checkout("bar", "bend:e0", ttl_s=1)
        r = ann.patch("bar", "bend:e0", {5: (0, 0, 0.01)}, r.etag)
        time.sleep(1.1)
        bob = modeller.Modeller(server.http, other)
        etag = bob.checkout("bar", "bend:e0").etag
        self.assertEqual(bob.patch("bar", "bend:e0", {5: (0, 0, 0.02)}, etag).status, 200)
        self.assertEqual(bob.publish("bar", "bend:e0").status, 201)
        self.assertEqual(ann.publish("bar", "bend:e0").problem, "grant-gone")
        for s in streams.values():
            s.close()
        self.assertEqual(server.stop(), 0)
        server.clean()

    def test_old_versions_are_freed(self):
        characters = e2e.ROOT / "tests/assets/characters"
        server = KeptServer(self.data, "--model", f"mira={characters / 'mira.rig.json'}")
        served.wait_ready(server)
        m = modeller.Modeller(server.http, self.admin)
        stream = wire.Client(wire.WebSocket(server), {"character": "mira"})
        etag = m.checkout("mira", "elbow_l:bend_95", ttl_s=600).etag
        sizes = []
        for _ in range(VERSIONS):
            r = m.patch("mira", "elbow_l:bend_95", {5000: (0, 0, 0.001)}, etag)
            etag = r.etag
            self.assertEqual(m.publish("mira", "elbow_l:bend_95").status, 201)
            stream.watch(0.05)
            sizes.append(server.resident_kb() // 1024)
        print(f"\n  resident MB over {VERSIONS} versions of 5 MB: {sizes[0]}, {sizes[7]}, {sizes[-1]}")
        if not e2e.SANITIZED:  # each that stayed would be some 8 MB; the heap breathes by some 30
            self.assertLess(sizes[-1] - sizes[7], 80)
        stream.close()
        self.assertEqual(server.stop(), 0)
        server.clean()

    def test_models_come_and_go_while_others_stream(self):
        server, _ = start(self.data, self.rig)
        m = modeller.Modeller(server.http, self.admin)
        stream = wire.Client(wire.WebSocket(server), {"character": "bar"})
        glb = (e2e.ROOT / "tests/assets/characters/bolt.glb").read_bytes()
        r = m.ask("POST", "/v1/models?name=bolt", glb, Content_Type="model/gltf-binary")
        self.assertEqual(r.status, 201, r.body)
        self.assertGreater(stream.watch(0.5), 5)
        other = wire.Client(wire.WebSocket(server), {"character": "bolt"})
        self.assertEqual(m.ask("POST", "/v1/models?name=bolt", glb, Content_Type="model/gltf-binary").status, 409)
        for wrong in (b"", b"glTF", glb[:1000]):
            r2 = m.ask("POST", "/v1/models?name=worse", wrong, Content_Type="model/gltf-binary")
            self.assertEqual(r2.status, 422, r2.body)
        # A rig with files by upload; a path out of the folder is no name.
        rig = {"sinew_rig": 1, "drivers": [{"name": "bend", "joints": [{"joint": self.joint}], "examples": []}]}
        files = {"bar.gltf": m.upload((self.root / "bar.gltf").read_bytes())}
        r3 = m.ask("POST", "/v1/models", {"name": "rigged", "files": files, "source": "bar.gltf", "rig": rig})
        self.assertEqual(r3.status, 201, r3.body)
        self.assertEqual(r3.json()["drivers"][0]["name"], "bend")
        evil = m.ask("POST", "/v1/models", {"name": "evil", "files": {"../x": files["bar.gltf"]}, "source": "../x"})
        self.assertEqual(evil.status, 422)
        r = m.ask("PUT", "/v1/models/bolt", glb, Content_Type="model/gltf-binary", If_Match=r.etag)
        self.assertEqual((r.status, r.json()["version"]), (200, 2), r.body)
        self.assertEqual(m.ask("DELETE", "/v1/models/bolt").status, 428)
        self.assertEqual(m.ask("DELETE", "/v1/models/bolt", If_Match=r.etag).status, 204)
        self.assertNotIn("bolt", server.get("/v1/characters")[1])
        self.assertEqual({x["name"]: x["state"] for x in server.status()["models"]},
                         {"bar": "ready", "bolt": "retired", "rigged": "ready"})
        self.assertGreater(other.watch(0.5), 5)  # who streams it goes on
        with self.assertRaises(ConnectionError):
            wire.Client(wire.WebSocket(server), {"character": "bolt"})
        other.close()
        stream.close()
        # All of it after a restart, the retired one too.
        self.assertEqual(server.stop(), 0)
        server.clean()
        server, _ = start(self.data, self.rig)
        m = modeller.Modeller(server.http, self.admin)
        models = {x["name"]: x for x in m.ask("GET", "/v1/models").json()["models"]}
        self.assertEqual({n: x["retired"] for n, x in models.items()},
                         {"bar": False, "bolt": True, "rigged": False})
        self.assertIn("rigged", server.get("/v1/characters")[1])
        r = m.ask("POST", "/v1/models/bolt/versions/1/restore", If_Match=models["bolt"]["etag"])
        self.assertEqual(r.status, 201, r.body)
        self.assertIn("bolt", server.get("/v1/characters")[1])
        self.assertEqual(server.stop(), 0)
        server.clean()

    def test_names_of_any_length(self):
        """What a grant could not name whole is not edited, and nothing else suffers."""
        rig, long = json.loads(self.rig.read_text()), "x" * 200
        vertices = json.loads((self.root / "bar.gltf").read_text())["accessors"][0]["count"]
        (self.root / "all.json").write_text(json.dumps([[v, 1] for v in range(vertices)]))
        surface = {"file": "bent.f32", "space": "base"}
        (self.root / "bent.f32").write_bytes(bytes(12 * vertices))
        rig["drivers"][0]["examples"] = [{"name": n, "pose": small.pose(self.joint, a), "surface": surface}
                                         for n, a in ((long, 0.5), ("short", 1.0))]
        rig["roots"] = [{"name": n, "weights": {"file": "all.json"}} for n in (long, "b")]
        self.rig.write_text(json.dumps(rig))
        server, _ = start(self.data, self.rig)
        m = modeller.Modeller(server.http, self.admin)
        for path in ("/examples/" + long, "/examples/%230", "/roots/" + long, "/roots/%230"):
            r = m.ask("POST", f"/v1/models/bar{path}/edit", {})
            self.assertEqual((r.status, r.problem), (409, "name-too-long"), (path, r.body))
        for path in ("/examples/short", "/examples/%231", "/roots/b", "/roots/%231"):
            self.assertEqual(m.ask("POST", f"/v1/models/bar{path}/edit", {}).status, 201, path)
        for path in ("/examples/%232", "/roots/%232", "/roots/none"):
            self.assertEqual(m.ask("POST", f"/v1/models/bar{path}/edit", {}).status, 404, path)
        self.assertEqual(server.stop(), 0)
        server.clean()

    def test_a_draft_is_not_published_on_a_model_that_goes(self):
        server, _ = start(self.data, self.rig)
        m, other = (modeller.Modeller(server.http, self.admin) for _ in range(2))
        small.add_example(m, "bar", self.joint, "e0", 0.8)
        seen = set()
        for i in range(24):
            etag = m.checkout("bar", "bend:e0").etag
            self.assertEqual(m.patch("bar", "bend:e0", {2: (0, 0, 1e-3)}, etag).status, 200)
            head, go = m.head("bar"), threading.Barrier(2)

            def retire(head=head, go=go, late=i % 3):
                go.wait()
                time.sleep(late * 2e-4)
                return other.ask("DELETE", "/v1/models/bar", If_Match=head).status

            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                gone = pool.submit(retire)
                go.wait()
                r = m.publish("bar", "bend:e0", head)
            seen.add((r.status, gone.result()))
            if gone.result() == 204:
                self.assertEqual((r.status, r.problem), (409, "not-loaded"), r.body)
                self.assertTrue(m.ask("GET", "/v1/models/bar").json()["retired"])
                r = m.ask("POST", f"/v1/models/bar/versions/{len(self.check_line(m))}/restore", If_Match=head)
            self.assertEqual(r.status, 201, r.body)
        print(f"\n  published, retired: {sorted(seen)}")
        self.assertLessEqual(seen, {(201, 412), (409, 204)})
        self.assertEqual(server.stop(), 0)
        server.clean()

    def test_an_edit_survives_a_restart_and_a_second_server_is_refused(self):
        server, _ = start(self.data, self.rig)
        m = modeller.Modeller(server.http, self.admin)
        small.add_example(m, "bar", self.joint, "e0", 0.8)
        r = m.checkout("bar", "bend:e0", ttl_s=600)
        r = m.patch("bar", "bend:e0", {2: (0, 0, 0.01)}, r.etag)
        self.assertEqual(r.status, 200, r.body)
        second = subprocess.run([str(e2e.SINEWD), "serve", "--data", str(self.data), "--http", "127.0.0.1:0",
                                 "--tls", "127.0.0.1:0"], capture_output=True, timeout=30)
        self.assertEqual(second.returncode, 1)
        self.assertIn(b"in use by another server", second.stderr)
        self.assertEqual(server.stop(), 0)
        server.clean()
        server, _ = start(self.data, self.rig)
        again = modeller.Modeller(server.http, self.admin)
        again.grant, again.fence = m.grant, m.fence
        # Going on from a draft that is only on the disk, and publishing one.
        r = again.patch("bar", "bend:e0", {3: (0, 0, 0.01)}, r.etag)
        self.assertEqual(r.status, 200, r.body)
        self.assertEqual(server.stop(), 0)
        server.clean()
        server, _ = start(self.data, self.rig)
        m = modeller.Modeller(server.http, self.admin)
        m.grant, m.fence = again.grant, again.fence
        self.assertEqual(m.publish("bar", "bend:e0").status, 201)
        floats = modeller.unpack(m.surface("bar", "bend:e0").body)
        # A changed source becomes a version of its own; the edits stay in the history.
        self.assertEqual(server.stop(), 0)
        server.clean()
        gltf = json.loads((self.root / "bar.gltf").read_text())
        gltf["asset"]["generator"] = "changed"
        (self.root / "bar.gltf").write_text(json.dumps(gltf))
        server, _ = start(self.data, self.rig)
        m = modeller.Modeller(server.http, self.admin)
        line = self.check_line(m)
        self.assertEqual([v["kind"] for v in line], ["import", "edit", "edit", "import"])
        r = m.ask("POST", "/v1/models/bar/versions/3/restore", If_Match=m.head("bar"))
        self.assertEqual(r.status, 201, r.body)
        self.assertEqual(modeller.unpack(m.surface("bar", "bend:e0").body), floats)
        self.assertEqual(server.stop(), 0)
        server.clean()


if __name__ == "__main__":
    e2e.main()

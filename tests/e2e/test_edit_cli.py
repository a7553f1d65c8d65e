#!/usr/bin/env python3
"""`sinew edit` as its users meet it: every verb on a demo character and a small one, over TLS and
plain; broken connections, lost answers, wrong files, foreign and outdated grants."""
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import threading
import time

import e2e
import modeller
import proxy
import serve
import served
import small
import wire

ELBOW = "elbow_l:bend_95"


def positions_at(glb):
    """[(byte offset, vertices)] of the positions in a GLB as the server writes it."""
    size = struct.unpack_from("<I", glb, 12)[0]
    tree, out = json.loads(glb[20:20 + size]), []
    for primitive in tree["meshes"][0]["primitives"]:
        accessor = tree["accessors"][primitive["attributes"]["POSITION"]]
        view = tree["bufferViews"][accessor["bufferView"]]
        out.append((20 + size + 8 + view.get("byteOffset", 0), accessor["count"]))
    return out


class EditTest(served.BarAndMiraCase):
    def ask(self, *args, who="ann", status=0, url=None, tell="", timeout_s=120):
        """Runs a verb; one line on stderr when it fails."""
        token = ["--token-file", self.root / f"{who}.token"] if who else []
        r = e2e.run(e2e.SINEW, "edit", url or f"http://127.0.0.1:{self.server.http}", *args, *token,
                    timeout_s=timeout_s)
        self.assertEqual(r.status, status, (args, r.out[-500:], r.err))
        if status:
            self.assertEqual(len(r.err.strip().splitlines()), 1, r.err)
            self.assertIn(tell, r.err)
        else:
            self.assertEqual(r.err, "")
        return r

    def told(self, *args, **more):
        return json.loads(self.ask(*args, "--json", **more).out)

    def take(self, item="bend:e0", name="work", *more, who="ann", model="bar", **rest):
        self.ask("checkout", model, item, "-o", self.here / name, *more, who=who, **rest)
        return self.here / name

    def test_a_round_over_tls_with_an_upload(self):
        certificate = pathlib.Path(self.server.folder.name) / "tls" / "server.crt"
        if not certificate.exists():
            certificate = next(pathlib.Path(self.server.folder.name).rglob("*.crt"))
        far = {"url": f"sinew://localhost:{self.server.tls}"}
        trust = ("--ca", certificate)
        self.assertIn("mira", self.ask("list", *trust, **far).out)
        self.assertIn(ELBOW, self.ask("list", "mira", *trust, **far).out)
        first = self.told("history", "mira", *trust, **far)["versions"][0]["version"]
        work = self.take(ELBOW, "elbow", *trust, model="mira", **far)
        self.assertEqual(sorted(os.listdir(work)), ["checkout.json", "original.f32", "pose.json", "surface.glb"])
        self.assertGreater((work / "surface.glb").stat().st_size, 1 << 20)  # not inline: an upload
        glb, before = bytearray((work / "surface.glb").read_bytes()), (work / "original.f32").read_bytes()
        # Vertices of the GLB are those of the surface, in source order.
        self.assertEqual(b"".join(bytes(glb[at:at + 12 * n]) for at, n in positions_at(glb)), before)
        self.assertEqual(self.told("diff", work, *trust, **far)["moved"], 0)
        at = positions_at(glb)[0][0]
        for v in range(200):
            z = struct.unpack_from("<f", glb, at + 12 * v + 8)[0]
            struct.pack_into("<f", glb, at + 12 * v + 8, z + 0.008)
        (work / "surface.glb").write_bytes(glb)
        self.assertEqual(self.told("diff", work, *trust, **far)["moved"], 200)
        draft = self.told("submit", work, *trust, **far)
        self.assertEqual(draft["report"]["solved"], ["elbow_l", "elbow_r"])
        self.assertAlmostEqual(draft["largest_move"], 0.008, places=6)
        self.assertTrue(self.told("status", work, *trust, **far)["has_draft"])
        self.assertIn("your draft", self.ask("status", "mira", *trust, **far).out)
        made = self.told("publish", work, "-m", "voller — 肘", *trust, **far)
        self.assertEqual((made["version"], made["message"]), (first + 1, "voller — 肘"))
        # What stands now is what was sent, to the file's own precision.
        now = modeller.unpack((work / "original.f32").read_bytes())
        sent = modeller.unpack(b"".join(bytes(glb[at:at + 12 * n]) for at, n in positions_at(glb)))
        off = max(abs(a - b) for a, b in zip(now, sent))
        print(f"\n  published and read again: off by {off:.2g}")
        self.assertLessEqual(off, 1e-6)
        again = self.told("restore", "mira", first, *trust, **far)
        self.assertEqual(again["restores"], first)
        self.ask("release", work, *trust, **far)
        self.assertEqual(self.told("status", "mira", *trust, **far)["grants"], [])
        self.ask("list", "--pin", "0" * 64, **far, status=1)

    def test_formats_and_the_base_surface(self):
        for form in ("obj", "f32"):
            work = self.take("bend:e0", form, "--format", form)
            source = work / ("surface." + form)
            if form == "obj":
                lines, count = source.read_text().splitlines(), 0
                for i, line in enumerate(lines):
                    if line.startswith("v ") and count < 2:
                        x, y, z = line.split()[1:]
                        lines[i], count = f"v {x} {y} {float(z) + 0.01:.9g}", count + 1
                source.write_text("\n".join(lines))
            else:
                floats = modeller.unpack(source.read_bytes())
                floats[2] += 0.01
                floats[5] += 0.01
                source.write_bytes(modeller.pack(floats))
            self.assertEqual(self.told("diff", work)["moved"], 2)
            # A file from elsewhere does as well.
            other = self.here / ("elsewhere." + form)
            other.write_bytes(source.read_bytes())
            self.assertAlmostEqual(self.told("submit", work, other)["largest_move"], 0.01, places=5)
            self.ask("release", work)
        work = self.take("base", "base", "--format", "f32")
        floats = modeller.unpack((work / "surface.f32").read_bytes())
        (work / "surface.f32").write_bytes(modeller.pack([x * 1.01 for x in floats]))
        self.assertFalse((work / "pose.json").exists())
        self.assertEqual(self.told("submit", work, "--keep", "sculpts")["kind"], "base")
        self.ask("submit", work, "--keep", "nothing", status=1, tell="keep is deltas or sculpts")
        self.ask("submit", work, "--pose", self.rig, "--keep", "delta", status=2)
        self.ask("release", work)

    def test_a_roots_weights_and_a_removal(self):
        listed = self.ask("list", "mira").out
        self.assertIn("roots/torso", listed)
        self.assertEqual([r["name"] for r in self.told("list", "mira")["roots"]], ["legs", "torso"])
        self.ask("checkout", "mira", "roots/torso", "--format", "glb", "-o", self.here / "no", status=2)
        self.ask("checkout", "mira", "roots/tail", "-o", self.here / "no", status=1)
        work = self.take("roots/torso", "torso", model="mira")
        self.assertEqual(sorted(os.listdir(work)), ["checkout.json", "original.f32", "surface.f32"])
        shares = modeller.unpack((work / "surface.f32").read_bytes())
        (work / "surface.f32").write_bytes(modeller.pack([s * s for s in shares]))
        moved = self.told("diff", work)
        self.assertEqual((moved["vertices"], moved["moved"] > 100), (14761, True))
        self.assertEqual(self.told("submit", work)["kind"], "root")
        self.ask("submit", work, "--mirror", status=2)
        before = self.told("history", "mira")["versions"][0]["version"]
        self.told("publish", work)
        self.assertEqual(self.told("diff", work)["moved"], 0)
        self.ask("release", work)
        self.told("restore", "mira", before)
        # An example that goes, and comes back with the version before.
        pose = self.here / "pose.json"
        pose.write_text(json.dumps(small.pose(self.joint, 1.7)))
        work = self.take("bend:short", "short", "--new", "--pose", pose)
        before = self.told("publish", work)["version"]
        self.told("submit", work, "--remove")
        self.assertIn("bend:short", self.ask("list", "bar").out)
        self.ask("publish", work)
        self.assertNotIn("bend:short", self.ask("list", "bar").out)
        self.ask("submit", work, status=1, tell="no such example")
        self.ask("release", work)
        self.told("restore", "bar", before)
        self.assertIn("bend:short", self.ask("list", "bar").out)

    def test_a_correction_mesh(self):
        name = "corrections/eyeBlinkLeft:leftEyeCornerOuter:0.006"
        self.assertIn(name, self.ask("list", "mira").out)
        rows = {r["name"]: r for r in self.told("list", "mira")["corrections"]}
        self.assertEqual((rows[name[12:]]["shape"], rows[name[12:]]["of"]), ("eyeBlinkLeft", "leftEyeCornerOuter"))
        work = self.take(name, "lid", "--format", "f32", model="mira")
        self.assertEqual(sorted(os.listdir(work)), ["checkout.json", "original.f32", "surface.f32"])
        floats = modeller.unpack((work / "surface.f32").read_bytes())
        floats[3 * 890 + 1] += 0.001  # on the upper lid's rim
        (work / "surface.f32").write_bytes(modeller.pack(floats))
        self.assertEqual(self.told("diff", work)["moved"], 1)
        self.ask("submit", work, "--mirror", status=2)
        self.assertEqual(self.told("submit", work)["kind"], "correction")
        before = self.told("history", "mira")["versions"][0]["version"]
        self.told("publish", work)
        self.assertEqual(self.told("diff", work)["moved"], 0)
        self.ask("release", work)
        self.ask("checkout", "mira", "corrections/eyeBlinkLeft:tail:1", "-o", self.here / "no", status=1)
        self.told("restore", "mira", before)

    def test_names_of_every_kind_and_new_examples(self):
        pose = self.here / "pose.json"
        pose.write_text(json.dumps(small.pose(self.joint, 0.9)))
        name = "bend:élan vital — 強い 50%#?&"
        work = self.take(name, "neu — 新", "--new", "--pose", pose, "--format", "f32")
        floats = modeller.unpack((work / "surface.f32").read_bytes())
        floats[-1] += 0.02
        (work / "surface.f32").write_bytes(modeller.pack(floats))
        self.assertEqual(self.told("submit", work)["item"], name)
        self.told("publish", work)
        self.assertIn(name, self.ask("list", "bar").out)
        # Its pose, and what it keeps.
        pose.write_text(json.dumps(small.pose(self.joint, 1.0)))
        kept = (work / "original.f32").read_bytes()
        self.ask("submit", work, "--pose", pose, status=2, tell="--keep surface")
        self.told("submit", work, "--pose", pose, "--keep", "surface")
        off = max(abs(a - b) for a, b in zip(modeller.unpack(kept),
                                             modeller.unpack((work / "original.f32").read_bytes())))
        self.assertLessEqual(off, 1e-5)
        turned = json.loads((work / "pose.json").read_text())["joints"][self.joint]["rotation"]
        self.assertAlmostEqual(turned[2], small.pose(self.joint, 1.0)["joints"][self.joint]["rotation"][2], places=6)
        self.told("submit", work, "--pose", work / "pose.json", "--keep", "delta")
        self.ask("checkout", "bar", name, "--new", "--pose", pose, "-o", self.here / "twice", status=1,
                 tell="there already")
        self.ask("checkout", "bar", "bend:a/b", "--new", "--pose", pose, "-o", self.here / "z", status=1)
        self.ask("checkout", "bar", "no_driver", "--new", "--pose", pose, "-o", self.here / "x", status=2)
        self.ask("checkout", "bar", "nobody:x", "--new", "--pose", pose, "-o", self.here / "y", status=1,
                 tell="no driver")
        # Without -o the folder is named after what it holds.
        os.chdir(self.here)
        self.ask("release", work)
        self.ask("checkout", "bar", "bend:e1")
        self.ask("release", "bar-bend-e1")

    def test_grants(self):
        work = self.take("bend:e0", "work", "--format", "f32", "--ttl", 1)
        self.ask("checkout", "bar", "bend:e0", "-o", self.here / "bob", who="bob", status=1, tell="ann holds it until")
        source = work / "surface.f32"
        floats = modeller.unpack(source.read_bytes())
        floats[2] += 0.01
        source.write_bytes(modeller.pack(floats))
        self.ask("checkout", "bar", "bend:e0", "-o", work, status=1, tell="--keep-file")
        time.sleep(1.2)  # it has run out: asked for again, nobody had it in between
        self.told("submit", work)
        # Taken anew elsewhere with the same token: the lower fence is refused.
        twin = self.take("bend:e0", "twin", "--format", "f32")
        self.ask("submit", work, status=1, tell="checked out anew elsewhere")
        self.assertFalse(self.told("status", work)["held"])
        self.ask("checkout", "bar", "bend:e0", "-o", work, "--keep-file")
        self.assertEqual(source.read_bytes(), modeller.pack(floats))
        self.told("submit", work)
        self.ask("submit", twin, status=1, tell="checked out anew elsewhere")
        # Broken by an admin, who publishes something else: no silent overwriting.
        theirs = self.take("bend:e0", "theirs", "--format", "f32", "--force", who="chief")
        self.ask("checkout", "bar", "bend:e0", "-o", self.here / "no", "--force", status=1)
        floats[5] += 0.02
        (theirs / "surface.f32").write_bytes(modeller.pack(floats))
        self.told("submit", theirs, who="chief")
        self.told("publish", theirs, who="chief")
        self.ask("submit", work, status=1, tell="chief holds it")
        self.ask("release", theirs, who="chief")
        self.ask("submit", work, status=1, tell="has changed since it was checked out")
        self.ask("checkout", "bar", "bend:e0", "-o", work, "--keep-file")
        self.told("submit", work)
        self.ask("publish", work)
        self.ask("publish", work, status=1, tell="submit first")
        self.ask("release", work)
        self.ask("release", work, status=1, tell="nothing is checked out")

    def test_a_lost_answer_is_asked_for_again(self):
        work = self.take("bend:e1", "work", "--format", "f32")
        floats = modeller.unpack((work / "surface.f32").read_bytes())
        floats[2] += 0.01
        (work / "surface.f32").write_bytes(modeller.pack(floats))
        # submit: the first answer is swallowed once the draft is made.
        lossy = proxy.Proxy(self.server.http, lambda n: {"reply": n != 1} if n < 2 else {})
        near = f"http://127.0.0.1:{lossy.here}"
        self.ask("status", "bar", url=near)
        # The first request of a command must be answered; what follows is waited for.
        self.ask("status", work, url=near, status=1)
        lossy.close()
        count = [v["version"] for v in self.told("history", "bar")["versions"]][0]
        for verb, lost in (("submit", {1}), ("publish", {1})):
            methods = []

            def rule(n, lost=lost):
                return {"reply": n not in lost}

            lossy = proxy.Proxy(self.server.http, rule)
            near = f"http://127.0.0.1:{lossy.here}"
            if verb == "submit":  # a grant that has run out is renewed first: one request before it
                state = json.loads((work / "checkout.json").read_text())
                state["expires"] = "2000-01-01T00:00:00.000Z"
                (work / "checkout.json").write_text(json.dumps(state))
            self.told(verb, work, url=near)
            methods = [bytes(s).split(b" ", 1)[0] for s in lossy.sent]
            self.assertGreater(len(methods), 2, methods)
            lossy.close()
        line = self.told("history", "bar")["versions"]
        self.assertEqual(line[0]["version"], count + 1)  # one version of it, not two
        self.ask("release", work)
        slow = proxy.Proxy(self.server.http, lambda n: {"slow_s": 0.005})
        self.assertIn("bar", self.ask("list", url=f"http://127.0.0.1:{slow.here}").out)
        slow.close()

    def test_a_server_that_still_loads_is_waited_for(self):
        for first in (0, 1):  # as its first answer, and later on
            waits = proxy.Proxy(self.server.http,
                                lambda n, first=first: {"say": proxy.busy("loading")} if n in (first, first + 1) else {})
            work = self.take("bend:e1", f"work{first}", url=f"http://127.0.0.1:{waits.here}")
            self.assertGreater(waits.count, 3)
            self.ask("release", work)
            waits.close()

    def test_an_upload_goes_on_where_it_broke_off(self):
        work = self.take(ELBOW, "elbow", model="mira")
        glb = bytearray((work / "surface.glb").read_bytes())
        glb += bytes(0)
        at = positions_at(glb)[0][0]
        struct.pack_into("<f", glb, at, struct.unpack_from("<f", glb, at)[0] + 1e-3)
        (work / "surface.glb").write_bytes(glb)
        # The second piece is cut in its middle, twice, and comes in the end.
        cut = {"left": 2}

        def rule(n):
            if n >= 2 and cut["left"]:
                cut["left"] -= 1
                return {"up": 150000}
            return {}

        bad = proxy.Proxy(self.server.http, rule)
        self.told("submit", work, url=f"http://127.0.0.1:{bad.here}")
        total = sum(len(s) for s in bad.sent if b"PATCH /v1/uploads" in s[:30])
        print(f"\n  {total} bytes sent for {len(glb)}, cut twice")
        self.assertLess(total, len(glb) + 2 * 150000 + 4000)
        self.assertGreaterEqual(total, len(glb))
        bad.close()
        self.ask("release", work)

    def test_a_server_that_dies_and_comes_back(self):
        data = self.here / "data"
        data.mkdir()
        modeller_token = modeller.add_token(str(data), "admin", "chief")
        (self.root / "dying.token").write_text(modeller_token + "\n")
        port = [0]

        def start():
            server = serve.Server("--data", str(data), "--model", f"bar={self.rig}",
                                  http=f"127.0.0.1:{port[0]}")
            port[0] = server.http
            served.wait_ready(server)
            return server

        server = start()
        near = {"url": f"http://127.0.0.1:{port[0]}", "who": "dying"}
        m = modeller.Modeller(server.http, modeller_token)
        small.add_example(m, "bar", self.joint, "e0", 0.6)
        work = self.take("bend:e0", "work", "--format", "f32", **near)
        floats = modeller.unpack((work / "surface.f32").read_bytes())
        floats[2] += 0.01
        (work / "surface.f32").write_bytes(modeller.pack(floats))
        self.told("submit", work, **near)
        server.signal(signal.SIGKILL)
        server.process.wait()
        server.clean()
        self.ask("publish", work, **near, status=1, tell="is sinewd running there?")
        server = start()
        made = self.told("publish", work, **near)  # grant, fence and draft have outlived it
        self.assertEqual(made["version"], 3)
        # It dies under a command that has been answered once: the command waits for it.
        holder = {}

        def restart():
            server.signal(signal.SIGKILL)
            server.process.wait()
            server.clean()
            time.sleep(0.5)
            holder["server"] = start()

        floats[5] += 0.01
        (work / "surface.f32").write_bytes(modeller.pack(floats))
        waiting = proxy.Proxy(port[0], lambda n: threading.Thread(target=restart).start() or time.sleep(0.3)
                              if n == 1 else {})
        state = json.loads((work / "checkout.json").read_text())
        state["expires"] = "2000-01-01T00:00:00.000Z"
        (work / "checkout.json").write_text(json.dumps(state))
        self.told("submit", work, url=f"http://127.0.0.1:{waiting.here}", who="dying")
        waiting.close()
        while "server" not in holder:
            time.sleep(0.05)
        self.assertEqual(self.told("publish", work, **near)["version"], 4)
        self.assertEqual(holder["server"].stop(), 0)
        holder["server"].clean()

    def test_a_model_that_is_still_being_loaded(self):
        """Asked before the server is ready: 503 with a time to wait, never "no such model"; a command waits."""
        data = self.here / "data"
        data.mkdir()
        token = modeller.add_token(str(data), "admin", "chief")
        (self.root / "early.token").write_text(token + "\n")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        for first in (True, False):  # baked, and kept
            server = serve.Server("--data", str(data), "--model", f"mira={served.CHARACTERS / 'mira.rig.json'}",
                                  http=f"127.0.0.1:{port}", ready=False)
            server.http = port
            while server.get("/livez")[0] == 0:
                time.sleep(0.005)
            m, seen = modeller.Modeller(port, token), []
            for path in ("", "/versions", "/examples", f"/examples/{ELBOW}", "/base/surface", "/roots"):
                r = m.ask_once("GET", "/v1/models/mira" + path)
                seen.append(r.status)
                if r.status == 503:
                    self.assertEqual((r.problem, r.headers["Retry-After"]), ("loading", "1"))
            self.assertLessEqual(set(seen), {200, 503}, seen)
            self.assertEqual(m.ask_once("GET", "/v1/models/none").status, 404)
            if first:
                self.assertIn(503, seen)
            work, near = self.here / f"work{first}", {"who": "early", "url": f"http://127.0.0.1:{port}"}
            self.ask("checkout", "mira", ELBOW, "-o", work, **near)
            self.ask("release", work, **near)
            self.assertEqual(m.ask_once("GET", "/v1/models/mira").status, 200)
            m.close()
            self.assertEqual(server.stop(), 0)
            server.clean()

    def test_wrong_files(self):
        work = self.take("bend:e0", "work", "--format", "f32")
        floats = modeller.unpack((work / "surface.f32").read_bytes())
        for name, data, status, tell in (
                ("a.f32", modeller.pack(floats[:-3]), 1, "vertices"),
                ("b.f32", modeller.pack(floats) + b"x", 1, "multiple of 12"),
                ("c.f32", modeller.pack([float("nan")] + floats[1:]), 1, "finite"),
                ("d.f32", modeller.pack([x + 1e4 for x in floats]), 1, "--force"),
                ("e.glb", b"glTF", 1, ""), ("f.glb", b"", 1, ""), ("g.obj", b"v 1 2\n", 1, "position"),
                ("h.fbx", b"Kaydara", 2, ".glb"), ("i.obj", bytes(range(256)), 1, "vertices")):
            (self.here / name).write_bytes(data)
            self.ask("submit", work, self.here / name, status=status, tell=tell)
        with open(self.here / "huge.f32", "wb") as f:  # sparse
            f.truncate((1 << 30) + 12)
        self.ask("submit", work, self.here / "huge.f32", status=1)
        with open(self.here / "large.f32", "wb") as f:
            f.truncate(30 << 20)
        self.ask("submit", work, self.here / "large.f32", status=1, tell="vertices")
        self.ask("submit", work, self.here / "missing.f32", status=1, tell="missing.f32")
        self.ask("submit", work, self.here, status=2)
        (work / "surface.f32").write_bytes(b"")
        self.ask("diff", work, status=1)
        self.ask("release", work)
        self.ask("diff", work, status=1, tell="nothing is checked out")
        for text in ("", "{}", "[1]", '{"sinew_checkout": 1}', "\xff", '{"sinew_checkout": 1, "base_version": 1, '
                     '"model": "bar", "item": "bend:e0", "surface": "../../etc/passwd"}'):
            (work / "checkout.json").write_bytes(text.encode("latin-1"))
            self.ask("submit", work, status=1, tell="damaged")

    def test_who_may(self):
        (self.root / "wrong.token").write_text("x" * 43 + "\n")
        (self.root / "empty.token").write_text("\n")
        (self.root / "evil.token").write_text("a\r\nX-Evil: 1\n")
        time.sleep(1)
        for who, status in (("wrong", 1), ("empty", 1), ("evil", 2), ("missing", 1), ("late", 1), (None, 2)):
            r = self.ask("list", who=who, status=status)
            self.assertNotIn("x" * 43, r.err)
        self.ask("checkout", "bar", "bend:e0", "-o", self.here / "eve", who="eve", status=1, tell="scope")
        self.ask("checkout", "bar", "bend:e0", "-o", self.here / "other", who="other", status=1, tell="model")
        self.ask("list", "nobody", status=1, tell="list")
        self.ask("checkout", "bar", "nothing", "-o", self.here / "n", status=1, tell="list MODEL")
        self.ask("restore", "bar", 999, status=1, tell="history")
        self.ask("restore", "bar", "one", status=2)
        self.ask("list", url="http://127.0.0.1:1", status=1, tell="is sinewd running there?")

    def test_usage(self):
        self.assertIn("examples:", e2e.run(e2e.SINEW, "edit", "--help").out)
        for args in ((), ("fly",), ("list", "a", "b"), ("checkout", "bar"), ("list", "--ttl", 3),
                     ("checkout", "bar", "bend:e0", "--format", "fbx"), ("submit", "a", "b", "c"),
                     ("history",), ("publish", "--frob"), ("history", "bar", "--limit", "many")):
            self.ask(*args, status=2)


if __name__ == "__main__":
    e2e.main()

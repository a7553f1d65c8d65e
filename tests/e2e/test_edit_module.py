#!/usr/bin/env python3
"""The Python module without Blender, as Maya and scripts use it: a whole edit, the live stream, bad
connections, refusals, hostile bytes."""
import array
import json
import random
import struct
import sys
import time

import e2e
import modeller
import proxy
import served
import small

sys.path.insert(0, str(e2e.ROOT / "client" / "blender"))
from sinew_edit import endpoint, stream, surface, zstd  # noqa: E402


class ModuleTest(served.BarAndMiraCase):
    def at(self, who="ann", port=None):
        return endpoint.Endpoint(f"http://127.0.0.1:{port or self.server.http}", self.tokens[who])

    def newest(self, live, wanted=None, seconds=6):
        """The newest surface in source order; `wanted`: waits until it shows that."""
        end, shown = time.monotonic() + seconds, None
        while time.monotonic() < end:
            frame = live.take()
            if frame:
                shown = frame.in_source_order()
                if wanted is None or max(abs(a - b) for a, b in zip(shown, wanted)) < 1e-5:
                    return shown
            time.sleep(0.01)
        self.fail(f"{live.error or 'not shown'}, {live.frames} frames")

    def test_an_edit_and_the_live_view(self):
        server = self.at()
        self.assertIn("bar", [m["name"] for m in server.models()])
        work = server.checkout("bar", "bend:e0")
        shape = work.skinned()
        self.assertEqual(shape.positions, work.positions())
        self.assertEqual(len(shape.weights), len(shape.joints))
        for v in range(shape.vertex_count):
            self.assertAlmostEqual(sum(w for rows in shape.weights for u, w in rows if u == v), 1, places=5)
        live = stream.Live(server, "bar", rate_hz=30)
        public = stream.Live(server, "bar", rate_hz=30, draft=False)
        for each in (live, public):
            each.pose(work.details()["pose"]["joints"])
            self.newest(each, shape.positions)
        sculpt = array.array("f", shape.positions)
        sculpt[2] += 0.05
        draft = work.submit(sculpt)
        self.assertAlmostEqual(draft["largest_move"], 0.05, places=5)
        self.newest(live, sculpt)
        self.newest(public, shape.positions)  # nobody else sees the draft
        again = endpoint.Checkout.resume(self.at(), json.loads(json.dumps(work.state())))
        self.assertNotIn(self.tokens["ann"], json.dumps(work.state()))
        version = again.publish("dent — 凹み")
        self.assertEqual(version["message"], "dent — 凹み")
        self.newest(public, sculpt)
        turned = small.pose(self.joint, 0.7)
        again.set_pose(turned, "surface")
        self.assertLess(max(abs(a - b) for a, b in zip(again.positions(), sculpt)), 1e-5)
        again.release()
        self.assertEqual(server.restore("bar", version["parent"])["restores"], version["parent"])
        self.newest(public, shape.positions)
        live.stop()
        public.stop()

    def test_a_large_character_over_tls(self):
        server = endpoint.Endpoint(f"https://127.0.0.1:{self.server.tls}", self.tokens["ann"], insecure=True)
        live = stream.Live(server, "mira")
        work = server.checkout("mira", "elbow_l:bend_95")
        shape = work.skinned()
        self.assertEqual(shape.vertex_count, 14761)
        self.newest(live)
        live.stop()
        work.release()
        base = server.checkout("mira", "base")
        self.assertEqual((len(base.skinned().joints), len(base.positions())), (0, 3 * 14761))
        base.release()
        torso = server.checkout("mira", "roots/torso")
        shares = torso.weights()
        self.assertEqual(len(shares), 14761)
        draft = torso.submit(array.array("f", [s * s for s in shares]))
        self.assertEqual((draft["kind"], draft["item"]), ("root", "torso"))
        self.assertEqual(torso.weights()[:50], array.array("f", [s * s for s in shares])[:50])
        torso.release()
        names = [c["name"] for c in server.corrections("mira")]
        self.assertIn("eyeBlinkLeft:leftEyeCornerOuter:0.006", names)
        lid = server.checkout("mira", "corrections/eyeBlinkLeft:leftEyeCornerOuter:0.006")
        sculpted = lid.positions()
        sculpted[3 * 890 + 1] += 0.001  # on the upper lid's rim
        self.assertEqual(lid.submit(sculpted)["kind"], "correction")
        self.assertLess(max(abs(a - b) for a, b in zip(lid.positions(), sculpted)), 1e-6)
        lid.release()
        gone = server.checkout("mira", "elbow_l:bend_135")
        gone.remove()
        with self.assertRaises(endpoint.NotFound):
            gone.details()
        gone.release()
        wrong = endpoint.Endpoint(f"https://127.0.0.1:{self.server.tls}", self.tokens["ann"], pin="0" * 64)
        for each in (wrong, endpoint.Endpoint(f"https://127.0.0.1:{self.server.tls}", self.tokens["ann"])):
            with self.assertRaises(endpoint.Unreachable):
                each.models()

    def test_refusals_are_named(self):
        ann, bob = self.at(), self.at("bob")
        work = ann.checkout("bar", "bend:e1")
        with self.assertRaises(endpoint.Held) as e:
            bob.checkout("bar", "bend:e1")
        self.assertEqual(e.exception.holder, "ann")
        self.assertIn("ann is editing this until", str(e.exception))
        with self.assertRaises(endpoint.Forbidden):
            self.at("eve").checkout("bar", "bend:e1")
        with self.assertRaises(endpoint.NotFound):
            ann.checkout("bar", "nothing")
        with self.assertRaises(endpoint.Unauthorised):
            endpoint.Endpoint(f"http://127.0.0.1:{self.server.http}", "x" * 43).models()
        with self.assertRaises(endpoint.Problem):
            endpoint.Endpoint("http://127.0.0.1", "a\r\nX: y")
        for wrong in (work.positions()[:-3], array.array("f", [float("nan")] * 24)):
            with self.assertRaises(endpoint.Refused):
                work.submit(wrong)
        far = array.array("f", [x + 1e4 for x in work.positions()])
        with self.assertRaises(endpoint.Refused) as e:
            work.submit(far)
        self.assertEqual(e.exception.name, "moved-too-far")
        twin = ann.checkout("bar", "bend:e1")  # a higher fence
        with self.assertRaises(endpoint.GrantGone):
            work.submit(work.positions())
        twin.release()
        theirs = bob.checkout("bar", "bend:e1")
        moved = theirs.positions()
        moved[2] += 0.01
        theirs.submit(moved)
        theirs.publish()
        theirs.release()
        with self.assertRaises(endpoint.GrantGone):
            twin.submit(moved)  # somebody was there: nothing is overwritten
        live = stream.Live(self.at("eve"), "bar")  # a draft's stream wants a modeller's token
        for _ in range(200):
            if live.is_over:
                break
            time.sleep(0.02)
        self.assertTrue(live.is_over and live.error, live.error)

    def test_bad_connections(self):
        work = self.at().checkout("bar", "bend:e0")
        sculpt = work.positions()
        sculpt[5] += 0.02
        lossy = proxy.Proxy(self.server.http, lambda n: {"reply": n not in (1, 4)})
        far = endpoint.Checkout.resume(self.at(port=lossy.here), work.state())
        self.assertEqual(len(far.server.models()), 2)  # 0
        self.assertEqual(far.submit(sculpt)["moved"], 1)  # 1 is lost, 2 is stale, 3 goes on
        before = len(self.at().history("bar"))
        far.publish()  # one of its answers is lost
        self.assertEqual(len(self.at().history("bar")), before + 1)
        lossy.close()
        self.at().restore("bar", before)
        far.server = self.at()
        far.release()
        waits = proxy.Proxy(self.server.http, lambda n: {"say": proxy.busy("loading")} if n < 2 else {})
        self.assertEqual(len(self.at(port=waits.here).models()), 2)  # one that still loads is waited for
        self.assertEqual(waits.count, 3)
        waits.close()
        data, cut = random.Random(1).randbytes(3 << 20), {"left": 2}

        def rule(n):
            if n >= 3 and cut["left"]:
                cut["left"] -= 1
                return {"up": 300000}
            return {}

        bad = proxy.Proxy(self.server.http, rule)
        server, steps = self.at(port=bad.here), []
        server.models()
        upload = server.upload(data, steps.append)
        self.assertEqual(steps[-1], 1.0)
        self.assertLess(sum(map(len, bad.sent)), len(data) + 700000)
        r = self.at().ask("HEAD", "/v1/uploads/" + upload, Tus_Resumable="1.0.0")
        self.assertEqual(r.headers["upload-offset"], str(len(data)))
        bad.close()

    def test_hostile_bytes_are_refused(self):
        golden = (e2e.ROOT / "tests/proto/golden/stream.bin").read_bytes()
        kind, flags, _, size = struct.unpack_from("<BBHI", golden)
        self.assertEqual((kind, flags), (stream.SURFACE, 0))
        payload, rng = golden[8:8 + size], random.Random(7)
        whole = stream.read_surface(payload)
        self.assertEqual(sorted(whole.source), list(range(len(whole.source))))
        count = 0
        for i in range(400):
            bad = bytearray(payload)
            for _ in range(rng.randint(1, 4)):
                bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
            if i % 3 == 0:
                bad = bad[:rng.randrange(len(bad))]
            try:
                stream.read_surface(bytes(bad))
            except (ValueError, KeyError, IndexError, struct.error):
                count += 1  # what Live catches
        self.assertGreater(count, 100)
        glb = self.at().ask("GET", "/v1/models/bar/examples/bend%3Ae0/surface?format=glb").body
        for i in range(400):
            bad = bytearray(glb)
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
            if i % 3 == 0:
                bad = bad[:rng.randrange(len(bad))]
            try:
                surface.read_glb(bytes(bad))
            except surface.BadSurface:
                pass
        for data in (b"", b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfd\x20\xff", bytes(100)):
            with self.assertRaises(zstd.BadFrame):
                zstd.decompress(data, 1000)


if __name__ == "__main__":
    e2e.main()

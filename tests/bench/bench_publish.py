#!/usr/bin/env python3
"""How long from the request that publishes an edit of 40 kB until every one of 50 running streams has
the frame that shows it. Each stream has an actor of its own, standing still in the example's pose,
so that the first frame which is not STILL is the new surface. One JSON line.

    python3 tests/bench/bench_publish.py build/release [CLIENTS] [ROUNDS]
"""
import json
import pathlib
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import time

CLIENTS = int(sys.argv[2]) if len(sys.argv) > 2 else 50
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 20
sys.argv = sys.argv[:2]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import e2e  # noqa: E402
import modeller  # noqa: E402
import serve  # noqa: E402
import wire  # noqa: E402
from test_modeller import calm_mira  # noqa: E402

ITEM, STILL = "elbow_l:bend_95", 4


class Stream:
    def __init__(self, server, joints):
        self.client = wire.Client(wire.Tls(server), {"character": "mira", "capabilities": ["zstd"]})
        self.actor = self.client.welcome["actor"]
        self.client.carrier.send(wire.pose(1, joints))
        self.sock = self.client.carrier.raw
        self.sock.setblocking(False)
        self.buffer, self.still, self.shown = bytearray(self.client.buffer), 0, None

    def read(self):
        now = time.monotonic()
        while True:
            try:
                got = self.sock.recv(262144)
            except (BlockingIOError, OSError) as e:
                if "Want" in type(e).__name__ or isinstance(e, BlockingIOError):
                    break
                raise
            if not got:
                raise ConnectionError("a stream ended")
            self.buffer += got
        at = 0
        while len(self.buffer) - at >= 8:
            kind, flags, _, size = struct.unpack_from("<BBHI", self.buffer, at)
            whole = 8 + size + (-size % 4)
            if len(self.buffer) - at < whole:
                break
            payload = bytes(self.buffer[at + 8:at + 8 + min(size, 128)])
            at += whole
            if not flags & wire.CONTINUES:
                self.sock.setblocking(True)
                self.client._answer(kind, payload)
                self.sock.setblocking(False)
            if kind == wire.FRAME and not flags & wire.CONTINUES and len(payload) >= 104:
                f = wire.frame(payload)
                if f["actor"] != self.actor:
                    continue
                if f["flags"] & STILL:
                    self.still += 1
                else:
                    self.still = 0
                    if self.shown is None:
                        self.shown = now
        del self.buffer[:at]


def pump(selector, streams, until, timeout_s):
    end = time.monotonic() + timeout_s
    while time.monotonic() < end and not until():
        for key, _ in selector.select(0.005):
            key.data.read()
    return until()


def main():
    folder = tempfile.TemporaryDirectory()  # extras and springs off: what moves is the edit
    server = serve.Server("--model", f"mira={calm_mira(pathlib.Path(folder.name))}")
    try:
        m = modeller.Modeller(server.http, modeller.add_token(server.folder.name, "modeller"))
        joints = m.ask("GET", m.item("mira", ITEM)).json()["pose"]["joints"]
        selector = selectors.DefaultSelector()
        streams = [Stream(server, joints) for _ in range(CLIENTS)]
        for s in streams:
            selector.register(s.sock, selectors.EVENT_READ, s)
        etag = m.checkout("mira", ITEM, ttl_s=600).etag
        count = 40000 // 16
        times, replies = [], []
        for round_number in range(ROUNDS):
            m.checkout("mira", ITEM, ttl_s=600)
            deltas = {v: (0, 0, 0.002 if round_number % 2 == 0 else -0.002) for v in range(2000, 2000 + count)}
            r = m.patch("mira", ITEM, deltas, etag)
            assert r.status == 200, r.body
            etag, head = r.etag, m.head("mira")
            assert pump(selector, streams, lambda: all(s.still > 3 for s in streams), 30), "not still"
            for s in streams:
                s.shown = None
            body = b"{}"
            path = m.item("mira", ITEM, "/publish")
            request = (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {m.token}\r\n"
                       f"If-Match: {head}\r\nSinew-Grant: {m.grant}\r\nSinew-Fence: {m.fence}\r\n"
                       f"Content-Length: 2\r\nConnection: close\r\n\r\n").encode() + body
            raw = socket.create_connection(("127.0.0.1", server.http))
            begun = time.monotonic()
            raw.sendall(request)
            assert pump(selector, streams, lambda: all(s.shown for s in streams), 10), "not shown"
            assert b" 201 " in raw.recv(65536)[:20]
            raw.close()
            times += [1e3 * (s.shown - begun) for s in streams]
            replies.append(max(s.shown for s in streams) - begun)
        times.sort()
        status = server.status()
        print(json.dumps({
            "name": "publish", "streams": CLIENTS, "rounds": ROUNDS, "edit_bytes": count * 16,
            "p50_ms": round(times[len(times) // 2], 1), "p99_ms": round(times[int(len(times) * 0.99)], 1),
            "max_ms": round(times[-1], 1), "resident_mb": server.resident_kb() // 1024,
            "tick_p99_s": status["tick"].get("p99_s"),
            "cpu": next(x.split(":")[1].strip() for x in open("/proc/cpuinfo") if x.startswith("model name")),
            "commit": subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True,
                                     text=True).stdout.strip()}))
    finally:
        server.stop(30)
        server.clean()
        folder.cleanup()


if __name__ == "__main__":
    main()

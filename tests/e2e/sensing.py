"""A thin client that wears devices: SENSOR messages and raw frames, stdlib only."""
import array
import json
import math
import struct
import time
import urllib.request

import wire

SENSOR = 0x41
IDS = {name: i for i, name in enumerate(
    "head hand_l hand_r pelvis chest shoulder_l shoulder_r elbow_l elbow_r knee_l knee_r foot_l foot_r gaze".split())}
IDS.update({f"tracker_{n}": 13 + n for n in range(1, 13)})
VALID, HELD = 1 | 2 | 4, 32
CALIBRATE, WORLD, PROPORTIONS, FORGET = 1, 2, 4, 8
UPRIGHT = (0, 0, 0, 1)


def turn(axis, degrees):
    """Unit quaternion x, y, z, w."""
    half = math.radians(degrees) / 2
    return tuple(math.sin(half) * a for a in axis) + (math.cos(half),)


def mul(a, b):
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw, aw * bw - ax * bx - ay * by - az * bz)


def unity(place, rotation):
    """OpenXR's axes to Unity's: left-handed, z forward."""
    (x, y, z), (i, j, k, w) = place, rotation
    return (x, y, -z), (-i, -j, k, w)


class Wearer:
    """A session whose own character is seen as floats: `surface()` is 3 a vertex, stream order."""

    def __init__(self, server, character, token):
        hello = {"character": character, "capabilities": ["zstd"], "quality": {"raw": True, "detail": 1},
                 "token": token}
        self.server, self.token = server, token
        self.client = wire.Client(wire.Tls(server), hello)
        self.actor, self.session = self.client.welcome["actor"], self.client.welcome["session"]
        self.sequence, self.newest, self.parts, self.errors = 0, None, None, []

    def say(self, devices, requests=0, held=()):
        """{name: (place, rotation)}"""
        self.sequence += 1
        now = time.monotonic_ns() // 1000
        body = struct.pack("<IIQQHHHH", self.sequence, 0, now, now, len(devices), 0, requests, 0)
        for name, (place, rotation) in devices.items():
            flags = VALID | (HELD if name in held else 0)
            body += struct.pack("<BBH3f4f6f", IDS[name], flags, 0, *place, *rotation, *[0] * 6)
        self.client.send(SENSOR, body)

    def read(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.next() is None:
                raise ConnectionError("the stream ended")

    def next(self):
        c = self.client
        while True:
            if len(c.buffer) >= 8:
                kind, flags, _, size = struct.unpack_from("<BBHI", c.buffer)
                whole = 8 + size + (-size % 4)
                if len(c.buffer) >= whole:
                    payload, c.buffer = c.buffer[8:8 + size], c.buffer[whole:]
                    self._take(kind, flags, payload)
                    return kind
            got = c.carrier.receive()
            if not got:
                return None
            c.buffer += got

    def _take(self, kind, flags, payload):
        if not flags & wire.CONTINUES:
            self.client._answer(kind, payload)
        if kind == wire.ERROR:
            self.errors.append(payload)
        if kind != wire.FRAME:
            return
        self.parts = (self.parts or b"") + payload if flags & wire.CONTINUES else payload
        if flags & 1:  # MORE
            return
        f = wire.frame(self.parts)
        if f["actor"] == self.actor and not f["flags"] & 4:
            self.newest = self.parts

    def surface(self):
        """The newest frame's places, and where its character stands."""
        data = self.newest
        count, size = struct.unpack_from("<2I", data, 96)
        floats = array.array("f")
        floats.frombytes(data[104:104 + size])
        assert len(floats) == 6 * count
        places = array.array("f")
        for v in range(count):
            places.extend(floats[6 * v:6 * v + 3])
        return places

    def ask(self, method, path, body=None):
        head = {"Content-Type": "application/json", "Authorization": "Bearer " + self.token}
        request = urllib.request.Request(f"http://127.0.0.1:{self.server.http}/v1/sessions/{self.session}/{path}",
                                         data=None if body is None else json.dumps(body).encode(), method=method,
                                         headers=head)
        with urllib.request.urlopen(request, timeout=10) as r:
            text = r.read()
            return json.loads(text) if text else None

    def lease(self):
        return self.ask("POST", "osc", {})

    def close(self):
        self.client.close()


def farthest(a, b):
    return max(math.dist(a[i:i + 3], b[i:i + 3]) for i in range(0, len(a), 3))

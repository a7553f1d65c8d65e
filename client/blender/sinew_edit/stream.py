"""A thin client of a Sinew stream (proto/README.md), for looking at a character while it is edited.

`Live` runs on a thread of its own: it joins, keeps the newest frame, and comes back by itself.
With a modeller's token the character shows the newest draft of that token. Frames are asked for as
float32, which costs bandwidth and spares a slow decoder.
"""
import array
import base64
import hashlib
import json
import os
import socket
import struct
import sys
import threading
import time

from . import endpoint, surface, zstd

HELLO, WELCOME, PING, PONG, ERROR, BYE, ACTOR, CATALOGUE, SURFACE = 1, 2, 3, 4, 6, 7, 0x11, 0x13, 0x20
POSE, FRAME, ACK = 0x44, 0x60, 0x61
MORE, CONTINUES = 1, 2
WORDS = {1: 10, 2: 1, 3: 1, 4: 4, 5: 2, 6: 1}  # 32-bit words of an element, by section kind
PARTS, INDICES, VERTICES = 1, 2, 3
SECTION_BYTES_MAX = 64 << 20
AGAIN_CODES = {2, 3, 4, 8, 10, 17, 18, 19, 21, 22}


class Ended(Exception):
    """The server said no more, in its own words; `again`: one may come back."""

    def __init__(self, text, again):
        Exception.__init__(self, text)
        self.again = again


class Topology(object):
    """Of detail 0: `triangles` of its vertices, `source` vertex of each, metres a unit."""

    def __init__(self, model, version, unit_m, triangles, source):
        self.model, self.version, self.unit_m = model, version, unit_m
        self.triangles, self.source = triangles, source


class Frame(object):
    """`positions`: array('f') in the topology's order, model space; then scale, turn, move."""

    def __init__(self, topology, tick, number, translation, rotation, scale, positions):
        self.topology, self.tick, self.number = topology, tick, number
        self.translation, self.rotation, self.scale, self.positions = translation, rotation, scale, positions

    def in_source_order(self):
        out = array.array("f", bytes(4 * len(self.positions)))
        for k in range(3):
            column = self.positions[k::3]
            for v, place in enumerate(self.topology.source):
                out[3 * place + k] = column[v]
        return out


def unpack_section(kind, encoding, elements, size, data):
    """A section's words, as array('I')."""
    if size != elements * WORDS[kind] * 4 and kind not in (4, 6):
        raise ValueError("a section of the wrong size")
    if encoding:
        data = zstd.decompress(data, SECTION_BYTES_MAX)
    if len(data) != size:
        raise ValueError("a section of the wrong size")
    out = array.array("I")
    if encoding != 2:
        out.frombytes(data)
        if sys.byteorder != "little":
            out.byteswap()
        return out
    words = WORDS[kind]
    out = array.array("I", bytes(size))
    for c in range(words):
        mixed = bytearray(4 * elements)
        for b in range(4):
            at = (b * words + c) * elements
            mixed[b::4] = data[at:at + elements]
        before, column = 0, array.array("I")
        for z in struct.unpack("<%dI" % elements, mixed):
            before = (before + ((z >> 1) ^ -(z & 1))) & 0xFFFFFFFF
            column.append(before)
        out[c::words] = column
    return out


def read_surface(payload):
    """Topology of detail 0 of a SURFACE message."""
    model, version, _, _, count, unit_m = struct.unpack_from("<IIIHHf", payload)
    details = struct.unpack_from("<H", payload, 12)[0]
    vertices, at, found = struct.unpack_from("<I", payload, 56)[0], 56 + 16 * details, {}
    for _ in range(count):
        kind, detail, _, encoding, elements, size, packed = struct.unpack_from("<4B3I", payload, at)
        at += 16
        if detail == 0 and kind in (PARTS, INDICES, VERTICES):
            found[kind] = unpack_section(kind, encoding, elements, size, payload[at:at + packed])
        at += packed + (-packed % 4)
    triangles, parts, indices = array.array("I"), found[PARTS], found[INDICES]
    for p in range(0, len(parts), 10):
        if parts[p + 4] == 0:
            triangles += indices[parts[p + 7]:parts[p + 7] + parts[p + 8]]
    source = found[VERTICES]
    if len(source) != vertices or (len(triangles) and max(triangles) >= vertices) or sorted(source) != list(range(vertices)):
        raise ValueError("a surface whose vertices do not fit")
    return Topology(model, version, unit_m, triangles, source)


class _WebSocket(object):
    def __init__(self, address, timeout_s=10):
        raw = socket.create_connection((address.host, address.port), timeout=timeout_s)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket, self.buffer = raw, bytearray()
        try:
            if address.is_secure:
                self.socket = address.context().wrap_socket(raw, server_hostname=address.host)
                if address.pin:
                    endpoint.check_pin(self.socket, address.pin)
            self._upgrade(address)
        except BaseException:
            self.socket.close()
            raise

    def _upgrade(self, address):
        key = base64.b64encode(os.urandom(16)).decode()
        host = "[%s]" % address.host if ":" in address.host else address.host
        self.socket.sendall(("GET /v1/stream HTTP/1.1\r\nHost: %s:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n"
                             "Sec-WebSocket-Protocol: sinew.v1\r\n\r\n" % (host, address.port, key)).encode())
        while b"\r\n\r\n" not in self.buffer:
            if len(self.buffer) > 16384:
                raise Ended("This is no Sinew server", False)
            self._more()
        head, _, rest = bytes(self.buffer).partition(b"\r\n\r\n")
        self.buffer = bytearray(rest)
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        if b" 101 " not in head.split(b"\r\n")[0] + b" " or accept not in head:
            raise Ended("The server does not stream here (%s)" % head.split(b"\r\n")[0].decode("latin-1"), False)

    def _more(self):
        got = self.socket.recv(1 << 18)
        if not got:
            raise ConnectionResetError("the connection was closed")
        self.buffer += got

    def _take(self, size):
        while len(self.buffer) < size:
            self._more()
        taken = bytes(self.buffer[:size])
        del self.buffer[:size]
        return taken

    def frame(self, opcode, payload):
        mask, size = os.urandom(4), len(payload)
        head = bytes([0x80 | opcode]) + (bytes([0x80 | size]) if size < 126 else struct.pack(">BH", 0xFE, size)
                                         if size < 65536 else struct.pack(">BQ", 0xFF, size))
        wide = int.from_bytes((mask * (size // 4 + 1))[:size], "big") ^ int.from_bytes(payload, "big")
        self.socket.sendall(head + mask + wide.to_bytes(size, "big"))

    def receive(self):
        """The next binary frame's bytes; None: the server closed."""
        while True:
            opcode, size = self._take(2)
            if size == 126:
                size = struct.unpack(">H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._take(8))[0]
            if size > SECTION_BYTES_MAX:
                raise Ended("The server sent more than a client takes", False)
            payload = self._take(size)
            if opcode & 15 == 8:
                return None
            if opcode & 15 == 9:
                self.frame(10, payload)
            elif opcode & 15 in (0, 2):
                return payload

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()


def envelope(kind, payload):
    return struct.pack("<BBHI", kind, 0, 0, len(payload)) + payload + bytes(-len(payload) % 4)


def _text(value):
    data = value.encode("utf-8")[:255]
    return bytes([len(data)]) + data


class Live(threading.Thread):
    """The newest frame of a character. `take()` from any thread; `error`: in words, while it is away."""

    def __init__(self, server, character, rate_hz=15, draft=True):
        threading.Thread.__init__(self, name="sinew-live", daemon=True)
        self.server, self.character, self.rate_hz, self.draft = server, character, rate_hz, draft
        self.error, self.frames, self.is_over = "", 0, False
        self._lock, self._newest, self._carrier = threading.Lock(), None, None
        self._pose, self._pose_owed = None, False
        self._stopping = threading.Event()
        self.start()

    def take(self):
        """The newest frame since the last call, or None."""
        with self._lock:
            newest, self._newest = self._newest, None
        return newest

    def pose(self, joints):
        """Holds the character in a pose: {NAME: {"rotation", "translation", "scale"}}; None: its own."""
        with self._lock:  # the thread sends it, so that nobody waits for a socket here
            self._pose, self._pose_owed = joints, True

    def stop(self):
        self._stopping.set()
        with self._lock:
            carrier = self._carrier
        if carrier:
            carrier.close()

    # --- on the thread --------------------------------------------------------------------------

    def run(self):
        pause = 0.5
        while not self._stopping.is_set():
            before = self.frames
            try:
                self._session()
            except Ended as e:
                self.error = str(e)
                if not e.again:
                    break
            except endpoint.Problem as e:
                self.error = str(e)
                break
            except (OSError, ValueError, struct.error, KeyError, IndexError) as e:
                self.error = (self.server.address.words(e) if isinstance(e, OSError)
                              else "The stream could not be read (%s)" % e)
            pause = 0.5 if self.frames > before else min(4.0, pause * 2)
            self._stopping.wait(pause)
        self.is_over = True

    def _session(self):
        carrier = _WebSocket(self.server.address)
        try:
            with self._lock:
                self._carrier = carrier
            members = {"client": "sinew_edit", "character": self.character, "capabilities": ["zstd"],
                       "quality": {"raw": True, "rate_hz": int(self.rate_hz), "detail": 1}}
            if self.draft:
                members.update(role="modeller", token=self.server.token)
            text = json.dumps(members).encode("utf-8")
            carrier.frame(2, envelope(HELLO, struct.pack("<IHHII", 0x31574E53, 1, 0, len(text), 0) + text
                                      + bytes(-len(text) % 4)))
            self._sequence, self._actor, self._topologies, self._acked = 0, None, {}, 0.0
            buffer, joining = bytearray(), {}
            while not self._stopping.is_set():
                got = carrier.receive()
                if got is None:
                    raise ConnectionResetError("the server closed the stream")
                buffer += got
                at = 0
                while len(buffer) - at >= 8:
                    kind, flags, _, size = struct.unpack_from("<BBHI", buffer, at)
                    if len(buffer) - at < 8 + size:
                        break
                    payload = bytes(buffer[at + 8:at + 8 + size])
                    at += 8 + size + (-size % 4)
                    if flags & CONTINUES:
                        payload = joining.pop(kind, b"") + payload
                    if flags & MORE:
                        joining[kind] = payload
                    else:
                        self._message(carrier, kind, payload)
                del buffer[:at]
                if self._actor is not None:
                    self._send_pose(carrier)
        finally:
            with self._lock:
                self._carrier = None
            carrier.close()

    def _message(self, carrier, kind, payload):
        now = time.monotonic_ns() // 1000
        if kind == WELCOME:
            size = struct.unpack_from("<I", payload, 8)[0]
            self._actor = json.loads(payload[16:16 + size].decode("utf-8")).get("actor")
            with self._lock:
                self._pose_owed = True
        elif kind == PING:
            carrier.frame(2, envelope(PONG, payload[:16] + struct.pack("<QQ", now, now)))
        elif kind == SURFACE:
            t = read_surface(payload)
            self._topologies = {(t.model, t.version): t}
        elif kind == FRAME:
            self._frame(carrier, payload, now)
        elif kind in (BYE, ERROR):
            code, _, fatal, _, _, size = struct.unpack_from("<HBBIII", payload)
            text = payload[16:16 + size].decode("utf-8", "replace")
            if kind == BYE or fatal:
                raise Ended(text or "The server ended the stream (%d)" % code, code in AGAIN_CODES)
            self.error = text

    def _frame(self, carrier, payload, now):
        actor, model, version, tick, time_us = struct.unpack_from("<IIIQQ", payload, 4)
        number, codec = struct.unpack_from("<I", payload, 36)[0], payload[44]
        topology = self._topologies.get((model, version))
        if actor != self._actor or codec != 0 or topology is None:
            return
        if time.monotonic() - self._acked > 0.1:
            self._acked = time.monotonic()
            carrier.frame(2, envelope(ACK, struct.pack("<QqIHHIIQQ", now, time_us - now, 0, 0, 1, actor, number, now, 0)))
        place = struct.unpack_from("<8f", payload, 48)
        values = surface.floats(payload[104:])
        count = len(topology.source)
        if len(values) != 6 * count:
            return
        positions = array.array("f", bytes(12 * count))
        for k in range(3):
            positions[k::3] = values[k::6]
        frame = Frame(topology, tick, number, place[:3], place[3:7], place[7], positions)
        with self._lock:
            self._newest = frame
        self.frames += 1
        self.error = ""

    def _send_pose(self, carrier):
        with self._lock:
            joints, owed, self._pose_owed = self._pose, self._pose_owed, False
        if joints is None or not owed:
            return
        self._sequence += 1
        rows = list(joints.items())[:512]
        body = struct.pack("<IIQfI", self._sequence, 0, time.monotonic_ns() // 1000, 0, len(rows)) + _text("")
        body += bytes(-len(body) % 4)
        fields = (("rotation", 1, "<4f"), ("translation", 2, "<3f"), ("scale", 4, "<3f"))
        for name, j in rows:
            part = bytes([sum(bit for k, bit, _ in fields if k in j)]) + _text(name)
            body += part + bytes(-len(part) % 4)
            body += b"".join(struct.pack(form, *j[k]) for k, _, form in fields if k in j)
        carrier.frame(2, envelope(POSE, body))

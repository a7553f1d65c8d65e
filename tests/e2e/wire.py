"""A thin client that may misbehave: the stream protocol over TLS or WebSocket, stdlib only.

`Client` is the protocol; `Tls` and `WebSocket` carry its bytes. What a well-behaved client would
not do is done on `client.carrier` or on its `.raw` socket.
"""
import base64
import json
import os
import socket
import ssl
import struct
import time

import serve
from serve import BYE, FRAME, HELLO, PING, PONG, WELCOME

ACK, CONTROL, ERROR, PLACE, SETTINGS = 0x61, 0x40, 0x06, 0x45, 0x10
FRAME_HEAD = struct.Struct("<IIIIQQIIIBBBB")
FRAME_NAMES = ("scene", "actor", "model", "version", "tick", "server_time_us", "input", "frame",
               "anchor", "codec", "bits", "detail", "flags")
KEY, ANCHOR, CONTINUES = 1, 2, 2


def connect(port, receive_bytes=0, host="127.0.0.1"):
    """`receive_bytes`: a small window, so that a client that stops reading is felt at once."""
    raw = socket.socket()
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if receive_bytes:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    raw.settimeout(10)
    raw.connect((host, port))
    return raw


class Tls:
    def __init__(self, server, **options):
        self.raw = serve.tls_context().wrap_socket(connect(server.tls, **options))
        self.send, self.close = self.raw.sendall, self.raw.close

    def receive(self):
        return self.raw.recv(65536)


class WebSocket:
    """Plain WebSocket. `close_code` is what the server's close frame said."""

    def __init__(self, server, headers=(), **options):
        self.raw, self.buffer, self.close_code = connect(server.http, **options), b"", None
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"Host: localhost:{server.http}", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13",
                 "Sec-WebSocket-Protocol: sinew.v1", *headers]
        self.raw.sendall(("GET /v1/stream HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.buffer:
            got = self.raw.recv(65536)
            if not got:
                break
            self.buffer += got
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        self.head = head.decode()
        self.status = int(self.head.split()[1])

    def frame(self, opcode, payload, final=True, size=None):
        """One masked frame (mask 0); `size` lies about the payload."""
        size = len(payload) if size is None else size
        head = bytes([opcode | (0x80 if final else 0)])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 65536:
            head += struct.pack(">BH", 0x80 | 126, size)
        else:
            head += struct.pack(">BQ", 0x80 | 127, size)
        self.raw.sendall(head + bytes(4) + payload)

    def send(self, payload):
        self.frame(2, payload)

    def _take(self, size):
        while len(self.buffer) < size:
            got = self.raw.recv(65536)
            if not got:
                raise ConnectionResetError
            self.buffer += got
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def receive(self):
        """The next binary frame's payload; b"" after the server's close frame."""
        while True:
            opcode, size = self._take(2)
            if size == 126:
                size = struct.unpack(">H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._take(8))[0]
            payload = self._take(size)
            if opcode & 15 == 8:
                self.close_code = struct.unpack(">H", payload[:2])[0] if size >= 2 else 1005
                return b""
            if opcode & 15 == 9:
                self.frame(10, payload)
            elif opcode & 15 in (0, 2):
                return payload

    def close(self):
        self.raw.close()


class Client:
    """`clock` is this client's own, in microseconds: it may be as wrong as a test likes."""

    def __init__(self, carrier, hello=None, join=True, clock=None):
        self.carrier, self.clock = carrier, clock or (lambda: time.monotonic_ns() // 1000)
        self.buffer, self.welcome, self.bye, self.frames = b"", None, None, 0
        self.sequence = 0
        self.acknowledged_s = 0.0
        if join:
            self.hello(hello or {})
            if self.until(WELCOME) is None:
                raise ConnectionError(f"refused: {self.bye}")

    def send(self, kind, payload):
        self.carrier.send(envelope(kind, payload))

    def hello(self, members, major=1):
        self.send(HELLO, hello(members, major))

    def place(self, x):
        self.sequence += 1
        self.send(PLACE, struct.pack("<IIQI5f", self.sequence, 0, self.clock(), 1, x, 0, 0, 0, 0))

    def next(self):
        """(type, payload) of the next envelope; None at the end. PING and ANCHOR are answered."""
        while True:
            if len(self.buffer) >= 8:
                kind, flags, _, size = struct.unpack_from("<BBHI", self.buffer)
                whole = 8 + size + (-size % 4)
                if len(self.buffer) >= whole:
                    payload, self.buffer = self.buffer[8:8 + size], self.buffer[whole:]
                    if not flags & CONTINUES:
                        self._answer(kind, payload)
                    return kind, payload
            try:
                got = self.carrier.receive()
            except (ssl.SSLError, ConnectionError):
                return None
            if not got:
                return None
            self.buffer += got

    def _answer(self, kind, payload):
        now = self.clock()
        if kind == WELCOME:
            size = struct.unpack_from("<I", payload, 8)[0]
            self.welcome = json.loads(payload[16:16 + size])
        elif kind == BYE:
            self.bye = serve.bye(payload)
        elif kind == PING:
            self._try(PONG, payload[:16] + struct.pack("<QQ", now, now))
        elif kind == FRAME and len(payload) >= FRAME_HEAD.size:
            f = frame(payload)
            self.frames += f["actor"] == self.welcome.get("actor")
            if f["flags"] & ANCHOR or time.monotonic() - self.acknowledged_s > 0.1:
                self.acknowledged_s = time.monotonic()
                self._try(ACK, struct.pack("<QqIHHIIQQ", now, f["server_time_us"] - now, 100, 0, 1,
                                           f["actor"], f["frame"], now, 0))

    def _try(self, kind, payload):
        try:
            self.send(kind, payload)
        except OSError:
            pass  # the end is told by what is read

    def until(self, kind, timeout_s=10):
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            message = self.next()
            if message is None or message[0] == kind:
                return message[1] if message else None
        raise TimeoutError(f"no message {kind:#x} within {timeout_s} s")

    def watch(self, seconds):
        """Frames of the own actor in that time."""
        end, before = time.monotonic() + seconds, self.frames
        while time.monotonic() < end and self.next():
            pass
        return self.frames - before

    def end(self, timeout_s=10):
        """Reads to the end; the seconds it took. TimeoutError: it does not come."""
        begun = time.monotonic()
        while time.monotonic() < begun + timeout_s:
            if self.next() is None:
                return time.monotonic() - begun
        raise TimeoutError(f"still open after {timeout_s} s")

    def close(self):
        self.carrier.close()


def pose(sequence, joints, clock_us=0):
    """A POSE of rotations, as an envelope."""
    def text(value):
        return bytes([len(value.encode())]) + value.encode()

    body = struct.pack("<IIQfI", sequence, 0, clock_us, 0, len(joints)) + text("")
    body += bytes(-len(body) % 4)
    for name, value in joints.items():
        part = bytes([1]) + text(name)
        body += part + bytes(-len(part) % 4) + struct.pack("<4f", *value["rotation"])
    return envelope(0x44, body)


def envelope(kind, payload):
    return struct.pack("<BBHI", kind, 0, 0, len(payload)) + payload + bytes(-len(payload) % 4)


def hello(members, major=1):
    text = json.dumps(members).encode()
    return (struct.pack("<IHHII", 0x31574E53, major, 0, len(text), 0) + text
            + bytes(-len(text) % 4))


def frame(payload):
    return dict(zip(FRAME_NAMES, FRAME_HEAD.unpack_from(payload)))

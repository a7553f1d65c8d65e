"""A running `sinewd serve` and the smallest thin client that can be written: stdlib only."""
import json
import os
import re
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import e2e

HELLO, WELCOME, PING, PONG, NOTICE, ERROR, BYE, FRAME = 1, 2, 3, 4, 5, 6, 7, 0x60


class Server:
    """Starts on ports of the system's choice; `http`, `tls` are the ports once it is ready."""

    def __init__(self, *args, env=None, limit_files=None, ready=True, http="127.0.0.1:0",
                 tls="127.0.0.1:0", prefix=()):
        self.folder = tempfile.TemporaryDirectory()
        self.notify = None
        command = [*prefix, str(e2e.SINEWD), "serve", "--data", self.folder.name, "--http", http,
                   "--tls", tls, *map(str, args)]
        if limit_files:
            command = ["bash", "-c", f'ulimit -n {limit_files}; exec "$@"', "-"] + command
        self.log = open(self.folder.name + "/log", "wb+")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log,
                                        env={**os.environ, **(env or {})})
        self.lines = []
        self.http = self.tls = None
        while ready and self.tls is None:
            line = self.process.stdout.readline().decode()
            if not line:
                raise RuntimeError("the server did not start: " + self.errors())
            self.lines.append(line.rstrip("\n"))
            found = re.search(r"(https?)://[^ ]*:(\d+)/", line)
            if found:
                setattr(self, {"http": "http", "https": "tls"}[found[1]], int(found[2]))

    def errors(self):
        self.log.seek(0)
        return self.log.read().decode()

    def get(self, path, timeout_s=5):
        """(status, body) of a GET over plain HTTP; (0, "") when nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=timeout_s) as r:
                return r.status, r.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()
        except OSError:
            return 0, ""

    def status(self):
        return json.loads(self.get("/status")[1])

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, timeout_s=15):
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.process.wait(timeout_s)

    def clean(self):
        self.process.stdout.close()
        self.log.close()
        self.folder.cleanup()

    def _proc(self, name):
        with open(f"/proc/{self.process.pid}/{name}") as f:
            return f.read()

    def cpu_s(self):
        fields = self._proc("stat").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_kb(self):
        return int(re.search(r"VmRSS:\s+(\d+)", self._proc("status"))[1])

    def open_fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def tls_context(alpn="sinew/1"):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols([alpn])
    return context


class Client:
    """Native stream over TLS, blocking with a timeout."""

    def __init__(self, server, hello=None, context=None, join=True):
        raw = socket.create_connection(("127.0.0.1", server.tls), timeout=10)
        self.socket = (context or tls_context()).wrap_socket(raw, server_hostname="localhost")
        self.buffer = b""
        self.welcome = None
        if join:
            self.hello(hello or {})
            self.until(WELCOME)

    def send(self, kind, payload):
        self.socket.sendall(struct.pack("<BBHI", kind, 0, 0, len(payload)) + payload
                            + bytes(-len(payload) % 4))

    def hello(self, members, major=1):
        text = json.dumps(members).encode()
        head = struct.pack("<IHHII", 0x31574E53, major, 0, len(text), 0)
        self.send(HELLO, head + text + bytes(-len(text) % 4))

    def next(self):
        """(type, payload) of the next envelope; None at the end."""
        while True:
            if len(self.buffer) >= 8:
                kind, flags, _, size = struct.unpack_from("<BBHI", self.buffer)
                whole = 8 + size + (-size % 4)
                if len(self.buffer) >= whole:
                    payload = self.buffer[8:8 + size]
                    self.buffer = self.buffer[whole:]
                    if kind == WELCOME:
                        json_bytes = struct.unpack_from("<I", payload, 8)[0]
                        self.welcome = json.loads(payload[16:16 + json_bytes])
                    if kind == PING:
                        now = time.monotonic_ns() // 1000
                        self.send(PONG, struct.pack("<II", *struct.unpack_from("<II", payload))
                                  + payload[8:16] + struct.pack("<QQ", now, now))
                    return kind, payload
            try:
                got = self.socket.recv(65536)
            except ssl.SSLError:
                return None
            if not got:
                return None
            self.buffer += got

    def until(self, kind, timeout_s=10):
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            message = self.next()
            if message is None or message[0] == kind:
                return message[1] if message else None
        raise TimeoutError(f"no message {kind:#x} within {timeout_s} s")

    def frames(self, seconds):
        end, count = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            message = self.next()
            if message is None:
                break
            count += message[0] == FRAME
        return count

    def close(self):
        self.socket.close()


def bye(payload):
    code, _, _, subject, retry_ms, size = struct.unpack_from("<HBBIII", payload)
    return code, retry_ms, payload[16:16 + size].decode()

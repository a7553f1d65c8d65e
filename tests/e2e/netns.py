"""A network of two namespaces with a path of our own between them: delay, loss, silence. Needs root,
/dev/net/tun and `ip`; the path is a process that carries packets from one tun device to another.

    with netns.Path(delay_ms=20, loss=0.01) as path:
        with path.inside(0): ...  # sockets and programs made here live at path.address[0]
"""
import contextlib
import ctypes
import fcntl
import heapq
import os
import random
import select
import shutil
import signal
import struct
import subprocess
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 1, 0x1000, 0x40000000
QUEUE_MAX = 4000


def missing():
    """What keeps this from working, or None."""
    if os.geteuid() != 0:
        return "needs root"
    if not os.path.exists("/dev/net/tun") or not shutil.which("ip"):
        return "needs /dev/net/tun and ip"
    name = f"snw{os.getpid()}x"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode != 0:
        return "network namespaces cannot be made here"
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return None


class Path:
    address = ("10.77.0.1", "10.77.0.2")

    def __init__(self, delay_ms=0, loss=0.0):
        self.names = [f"snw{os.getpid()}{side}" for side in "ab"]
        self.delay_s, self.loss = delay_ms / 1000, loss
        self.child = 0

    def __enter__(self):
        self.own = os.open("/proc/self/ns/net", os.O_RDONLY)
        for name in self.names:
            subprocess.run(["ip", "netns", "add", name], check=True)
        tuns = [self._tun(side) for side in (0, 1)]
        self.child = os.fork()
        if self.child == 0:
            try:
                _carry(tuns, self.delay_s, self.loss)
            finally:
                os._exit(1)
        for f in tuns:
            os.close(f)
        return self

    def __exit__(self, *_):
        if self.child:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False)
        os.close(self.own)

    def silence(self):
        """From now on every packet is lost, in both directions."""
        os.kill(self.child, signal.SIGUSR1)

    @contextlib.contextmanager
    def inside(self, side):
        """This thread, what it opens and the programs it starts are in that namespace."""
        with open(f"/var/run/netns/{self.names[side]}") as f:
            _setns(f.fileno())
        try:
            yield
        finally:
            _setns(self.own)

    def _tun(self, side):
        with self.inside(side):
            f = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(f, TUNSETIFF, struct.pack("16sH22x", b"path0", IFF_TUN | IFF_NO_PI))
            for line in ("ip link set lo up",
                         f"ip addr add {self.address[side]} peer {self.address[1 - side]} dev path0",
                         "ip link set path0 mtu 1400 up"):
                subprocess.run(line.split(), check=True)
        return f


def _setns(fd):
    if ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def _carry(tuns, delay_s, loss):
    silent, dice = [], random.Random(7)
    signal.signal(signal.SIGUSR1, lambda *_: silent.append(True))
    waiting = ([], [])  # by the side they come from: (when due, number, packet)
    number = 0
    while True:
        now = time.monotonic()
        due = min((w[0][0] for w in waiting if w), default=now + 1)
        ready, _, _ = select.select(tuns, [], [], max(0, due - now))
        now = time.monotonic()
        for side in (0, 1):
            with contextlib.suppress(BlockingIOError):
                while tuns[side] in ready:
                    packet = os.read(tuns[side], 2048)
                    if silent or dice.random() < loss or len(waiting[side]) >= QUEUE_MAX:
                        continue
                    number += 1
                    heapq.heappush(waiting[side], (now + delay_s, number, packet))
            with contextlib.suppress(BlockingIOError):
                while waiting[side] and waiting[side][0][0] <= now:
                    os.write(tuns[1 - side], waiting[side][0][2])
                    heapq.heappop(waiting[side])

"""`sinew play --keys` in a terminal: check_keys.py SINEWD SINEW. Keys move the character and press
what its bindings say; the bindings are told; q ends and gives the terminal back."""
import json
import os
import pathlib
import pty
import re
import subprocess
import struct
import sys
import tempfile
import termios
import time
import urllib.request

sinewd, sinew = sys.argv[1:3]
root = pathlib.Path(__file__).resolve().parents[2]


folder = tempfile.TemporaryDirectory()
server = subprocess.Popen([sinewd, "serve", "--data", folder.name, "--http", "127.0.0.1:0", "--tls", "127.0.0.1:0",
                           "--model", f"mira={root}/tests/assets/characters/mira.rig.json"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
port = None
while not port:
    line = server.stdout.readline().decode()
    assert line, "the server did not start"
    found = re.search(r"http://[^ ]*:(\d+)/", line)
    port = found and found[1]


def presses():
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return int(re.search(r"^sinew_presses_total (\d+)", answer.read().decode(), re.M)[1])


def wait(what, look):
    end = time.time() + 60
    while not look():
        assert time.time() < end, what
        time.sleep(0.05)


def box(path):
    """Middle of the dumped surface, x and z."""
    values = path.read_bytes()
    points = list(struct.iter_unpack("<fff", values))
    return [sum(p[k] for p in points) / len(points) for k in (0, 2)]


try:
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    dump, applied = pathlib.Path(folder.name) / "end.f32", pathlib.Path(folder.name) / "applied.jsonl"
    play = subprocess.Popen([sinew, "play", f"ws://127.0.0.1:{port}", "--character", "mira", "--keys", "--seconds", "60",
                             "--dump", dump, "--json"], stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = b""
    while b"q: end" not in said:
        piece = os.read(play.stderr.fileno(), 4096)
        assert piece, said
        said += piece
    line = said.decode().strip().splitlines()[-1]
    print(line)
    assert "w a s d" in line and "e: wave" in line and "goto" not in line, line
    for _ in range(12):
        os.write(master, b"W")  # runs
        time.sleep(0.1)
    os.write(master, b"e")
    wait("e waves", lambda: presses() == 1)
    os.write(master, b"\x1b[A")  # an arrow is no letter
    time.sleep(0.2)
    os.write(master, b"q")
    out, _ = play.communicate(timeout=60)
    assert play.returncode == 0, play.returncode
    figures = json.loads(out)
    x, z = box(dump)
    print(f"walked to {x:.2f}, {z:.2f}; {figures['frames_own'] if 'frames_own' in figures else 'some'} frames; {presses()} press")
    assert abs(x) + abs(z) > 0.5 and presses() == 1
    assert termios.tcgetattr(slave) == before, "the terminal was not given back"
finally:
    server.terminate()
    server.wait()
    folder.cleanup()

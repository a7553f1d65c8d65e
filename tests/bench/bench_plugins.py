#!/usr/bin/env python3
"""What a misbehaving plugin costs the streams of others: a server with a good character and one whose
plugin misbehaves, a client on each; how many ticks the good one's stream has no frame for, over
ten seconds that begin before the bad one joins. One JSON line a misbehaviour.

    python3 tests/bench/bench_plugins.py build/release [SECONDS]
"""
import json
import pathlib
import shutil
import sys
import tempfile
import threading
import time

SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 10
sys.argv = sys.argv[:2]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import e2e  # noqa: E402
import serve  # noqa: E402
import wire  # noqa: E402

CHARACTERS = e2e.ROOT / "tests" / "assets" / "characters"


def ticks_of(client, seconds):
    """Ticks of the frames of the own actor in that time."""
    out, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        message = client.next()
        if message is None:
            break
        if message[0] == wire.FRAME and len(message[1]) >= 104:
            f = wire.frame(message[1])
            if f["actor"] == client.welcome["actor"]:
                out.append(f["tick"])
    return out


def run(folder, what, isolate):
    rig = json.loads((CHARACTERS / "mira.rig.json").read_text())
    rig["extras"] = [{"type": "plugin", "name": "theirs", "library": "libhostile.so", "isolate": isolate,
                      "settings": {"do": what, "after": 30}}]
    (folder / "bad.rig.json").write_text(json.dumps(rig))
    server = serve.Server("--model", f"bad={folder / 'bad.rig.json'}", "--model", f"pup={CHARACTERS / 'pup.glb'}",
                          "--plugins", e2e.BUILD / "plugins")
    try:
        good = wire.Client(wire.Tls(server), {"character": "pup", "capabilities": ["zstd"]})
        ticks_of(good, 1)

        def watch():
            bad = wire.Client(wire.Tls(server), {"character": "bad", "capabilities": ["zstd"]})
            ticks_of(bad, SECONDS - 1)
            bad.close()

        other = threading.Thread(target=watch)
        if what:
            other.start()
        ticks = ticks_of(good, SECONDS)
        if what:
            other.join()
        good.close()
        span = ticks[-1] - ticks[0] + 1
        print(json.dumps({"name": "plugins", "variant": (what or "no plugin") + (", in a helper" if isolate else ""),
                          "ticks": span, "missed": span - len(set(ticks)),
                          "share": round(1 - len(set(ticks)) / span, 5)}), flush=True)
    finally:
        server.stop()
        server.clean()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        shutil.copytree(CHARACTERS, root, dirs_exist_ok=True)
        run(root, "", False)
        for misbehaviour, helper in (("nan", False), ("write", False), ("sleep", False), ("sleep", True), ("hang", True),
                                     ("abort", True), ("leak", True)):
            run(root, misbehaviour, helper)

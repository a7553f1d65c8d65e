"""Runs the `sinew` program against the fake server: what it prints, writes and exits with.

    python3 check_cli.py SINEW FAKE_SERVE
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

sinew, fake = sys.argv[1:3]


class Fake:
    def __init__(self, transport):
        self.process = subprocess.Popen([fake, transport], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.url, self.certificate, self.pin = (self.process.stdout.readline().strip() for _ in range(3))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate("", timeout=30)
        assert self.process.returncode == 0


def run(*arguments, expect=0):
    r = subprocess.run([sinew, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert r.returncode == expect, (arguments, r.returncode, r.stdout[-400:], r.stderr[-400:])
    if expect:
        assert len(r.stderr.strip().splitlines()) == 1, r.stderr
    assert "\033" not in r.stdout + r.stderr, "no colours and no progress off a terminal"
    return r


def glb(path):
    """A parser of its own: header, chunks, accessors inside their views, the animation's shape."""
    raw = path.read_bytes()
    magic, version, total, size, kind = struct.unpack("<4sIII4s", raw[:20])
    assert (magic, version, total, kind) == (b"glTF", 2, len(raw), b"JSON"), raw[:20]
    tree = json.loads(raw[20:20 + size])
    bin_size, bin_kind = struct.unpack("<I4s", raw[20 + size:28 + size])
    assert bin_kind == b"BIN\0" and 28 + size + bin_size == total and bin_size == tree["buffers"][0]["byteLength"]
    body = raw[28 + size:]
    width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3}

    def read(index):
        a = tree["accessors"][index]
        view = tree["bufferViews"][a["bufferView"]]
        count = a["count"] * width[a["type"]]
        at = view["byteOffset"] + a.get("byteOffset", 0)
        assert a.get("byteOffset", 0) + count * 4 <= view["byteLength"]
        values = struct.unpack_from(f"<{count}{'f' if a['componentType'] == 5126 else 'I'}", body, at)
        if "min" in a:
            for k in range(width[a["type"]]):
                assert min(values[k::width[a["type"]]]) == struct.unpack("f", struct.pack("f", a["min"][k]))[0]
        return values

    return tree, read


def check_usage():
    assert "examples:" in run("--help").stdout
    for command in ("play", "record", "load", "status", "edit"):
        assert "examples:" in run(command, "--help").stdout
    run(expect=2)
    run("dance", expect=2)
    run("play", expect=2)
    run("play", "ws://127.0.0.1:1", "--frams", "3", expect=2)
    run("play", "ws://127.0.0.1:1", "--frames", expect=2)
    run("play", "ws://127.0.0.1:1", "--frames", "three", expect=2)
    run("play", "udp://127.0.0.1:1", expect=2)
    run("record", "ws://127.0.0.1:1", "-o", "x.fbx", expect=2)
    run("load", "ws://127.0.0.1:1", "--clients", "0", expect=2)
    run("play", "ws://127.0.0.1:1", expect=1)
    run("status", "http://127.0.0.1:1", expect=1)
    run("play", "ws://127.0.0.1:1", "--token-file", "/nowhere", expect=1)


def check_scripts(folder):
    script = folder / "bad.jsonl"
    for line in ('{"t_s": -1}', '{"pose": {}}', '{"t_s": 0, "dance": 1}', '{"t_s": 0, "place": {"yaw": "x"}}',
                 '{"t_s": 0, "control": {"move": [2, 0]}}', '{"t_s": 0, "sensor": {"devices": {"tail": {}}}}',
                 '{"t_s": 0, "face": {"jawOpen": 3}}', '{"t_s": 0, "pose": {"joint": {}}}', 'no json', '[1]'):
        script.write_text('{"t_s": 0}\n' + line + "\n")
        r = run("play", "ws://127.0.0.1:1", "--script", script, expect=1)
        assert "line 2" in r.stderr, (line, r.stderr)


def check_streams(folder):
    for transport in ("native", "wss", "ws"):
        with Fake(transport) as server:
            trust = [] if transport == "ws" else ["--ca", server.certificate]
            dump = folder / "dump.f32"
            r = run("play", server.url, *trust, "--frames", 30, "--dump", dump, "--json")
            figures = json.loads(r.stdout)
            assert figures["frames"] >= 30 and figures["vertices"] == 576 and figures["character"] == "cloth"
            assert 0 < figures["bits_per_vertex_per_frame"] < 64 and figures["age_us"]["count"] > 0
            positions = struct.unpack("<1728f", dump.read_bytes())
            assert len((folder / "dump.f32.normals").read_bytes()) == 1728 * 4
            assert abs(min(positions[2::3]) - (3 - 2 * 23 / 24)) < 1e-3 and abs(max(positions[2::3]) - 3) < 1e-3
            if trust:
                run("play", server.url, "--pin", server.pin, "--frames", 3)
                run("play", server.url, "--pin", "0" * 64, "--frames", 3, expect=1)
                run("play", server.url, "--insecure", "--frames", 3)
                assert "--pin" in run("play", server.url, "--frames", 3, expect=1).stderr


def check_inputs(folder):
    script = folder / "all.jsonl"
    script.write_text("\n".join((
        '{"t_s": 0, "pose": {"clip": "wave", "time_s": 1, "joints": {"#1": {"rotation": [0, 0, 0, 1]}}}}',
        '{"t_s": 0.05, "face": {"eyeBlink_L": 0.5, "jawOpen": 1}, "place": {"position": [1, 0, 2], "yaw": 1}}',
        '', '{"t_s": 0.1, "control": {"move": [0, 1], "press": ["jump"], "gesture": {"name": "nod"}, "goto": [1, 2],'
        ' "root": {"tail": {"clip": "wag", "speed": 2}}, "activate": {"biceps": 0.5}}}',
        '{"t_s": 0.1, "sensor": {"devices": {"head": {"position": [0, 1, 0], "rotation": [0, 0, 0, 1],'
        ' "tracked": true}}, "fingers": {"left": {"curl": [0, 1, 1, 1, 1]}}}}')))
    with Fake("ws") as server:
        figures = json.loads(run("play", server.url, "--script", script, "--seconds", 0.6, "--json").stdout)
        assert figures["inputs_sent"] == 5 and figures["latency_us"]["count"] >= 1, figures
        script.write_text('{"t_s": 0, "face": {"nose": 1}}')
        assert "nose" in run("play", server.url, "--script", script, expect=1).stderr


def check_record(folder):
    with Fake("ws") as server:
        out = folder / "cloth.glb"
        run("record", server.url, "-o", out, "--frames", 12)
        tree, read = glb(out)
        primitive = tree["meshes"][0]["primitives"][0]
        assert len(primitive["targets"]) == 11 and primitive["mode"] == 4
        base = read(primitive["attributes"]["POSITION"])
        assert len(base) == 1728 and max(read(primitive["indices"])) == 575
        read(primitive["attributes"]["TEXCOORD_0"])
        assert all(any(read(t["POSITION"])) for t in primitive["targets"])
        sampler = tree["animations"][0]["samplers"][0]
        times, weights = read(sampler["input"]), read(sampler["output"])
        assert times[0] == 0 and list(times) == sorted(times) and len(weights) == 12 * 11
        assert [weights[11 * k + k - 1] for k in range(1, 12)] == [1] * 11 and sum(weights) == 11

        out = folder / "cloth.pc2"
        run("record", server.url, "-o", out, "--frames", 5)
        raw = out.read_bytes()
        assert struct.unpack("<12siiffi", raw[:32]) == (b"POINTCACHE2\0", 1, 576, 0, 1, 5)
        assert len(raw) == 32 + 5 * 576 * 12
        lines = (folder / "cloth.obj").read_text().splitlines()
        assert sum(line.startswith("v ") for line in lines) == 576
        assert sum(line.startswith("f ") for line in lines) == 2 * 23 * 23
        first = [float(x) for x in next(line for line in lines if line.startswith("v ")).split()[1:]]
        assert max(abs(a - b) for a, b in zip(first, struct.unpack("<3f", raw[32:44]))) < 1e-6


def check_load():
    with Fake("native") as server:
        r = run("load", server.url, "--insecure", "--clients", 5, "--seconds", 1, "--json")
        figures = json.loads(r.stdout)
        assert figures["joined"] == 5 and figures["failed"] == 0 and len(figures["sessions"]) == 5
        assert figures["rate_hz"]["mean"] > 20 and figures["latency_us"]["count"] > 10, figures
        assert figures["age_us"]["count"] > 100 and figures["bytes_in"] > 10000
        assert "sessions for" in run("load", server.url, "--insecure", "--clients", 2, "--seconds", 0.5,
                                     "--decode").stdout


with tempfile.TemporaryDirectory() as name:
    check_usage()
    check_scripts(pathlib.Path(name))
    check_streams(pathlib.Path(name))
    check_inputs(pathlib.Path(name))
    check_record(pathlib.Path(name))
    check_load()
print("ok")

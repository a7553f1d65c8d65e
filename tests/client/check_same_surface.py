"""The same surface: what `sinew play` shows of a real server is what `sinewd eval` makes offline.

    python3 check_same_surface.py SINEWD SINEW

For each character a script of poses, places and (where it has them) faces is played over all three
transports; the applied inputs are then replayed offline up to the dumped tick. Quantised frames
are within one step of the grid, raw frames equal.
"""
import array
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sinewd, sinew = sys.argv[1:3]
data = pathlib.Path(os.environ.get("SINEW_TEST_DATA", "../shared/data"))
if not (data / "SOURCES.tsv").exists():
    print("skipped: no test data (SINEW_TEST_DATA)")
    sys.exit(77)
MODELS = {"Fox": "gltf/khronos/Fox.glb", "CesiumMan": "gltf/khronos/CesiumMan.glb",
          "RobotExpressive": "gltf/other/RobotExpressive.glb", "Godette": "vrm/Godette_vrm_v4.vrm",
          "mh_cmu": "psd/makehuman/mh_cmu.glb", "face": "face/facecap/facecap_plain.glb", "ict": "face/ict/ict_face_arkit.glb"}
characters = pathlib.Path(__file__).resolve().parents[1] / "assets" / "characters"
# With correctives and what jiggles.
ALL = MODELS | {"mira": characters / "mira.rig.json", "pup": characters / "pup.rig.json"}


def floats(path):
    out = array.array("f")
    out.frombytes(path.read_bytes())
    return out


def make_script(path, inspected, seconds):
    clips, shapes = len(inspected["clips"]), inspected["shapes"]
    lines = []
    for i in range(int(seconds * 20)):
        line = {"t_s": round(i / 20, 3), "pose": {"time_s": i * 0.03}}
        if clips:
            line["pose"]["clip"] = "#0"
        if i % 5 == 0:
            line["place"] = {"position": [i * 0.01, 0, -i * 0.02], "yaw": i * 0.1}
        if shapes:
            line["face"] = {f"#{k}": round((i * (k + 1) % 10) / 10, 2) for k in range(min(3, len(shapes)))}
        lines.append(json.dumps(line))
    path.write_text("\n".join(lines))


def make_control(path, roots):
    """What a player's hands do: walking, turning, an action; and every root with a motion of its own."""
    moves = [{"move": [0, 1]}, {"press": ["wave"]}, {"move": [0.5, 0.5]}, {"move": [0, 0]}]
    parts = [{"root": {"torso": {"clip": "Wave"}, "legs": {"clip": "Run", "speed": 0.8}}},
             {"root": {"legs": {"speed": 1.4, "offset": 0.2}}}, {"root": {"torso": {"weight": 0.4}}}]
    lines = [{"t_s": 0.1 + 0.4 * i, "control": c} for i, c in enumerate(parts if roots else moves)]
    path.write_text("\n".join(map(json.dumps, lines)))


def compare(folder, url, name, model, raw):
    dump, applied, offline = (folder / n for n in ("dump.f32", "applied.jsonl", "eval.f32"))
    command = [sinew, "play", url, "--insecure", "--character", name, "--script", folder / "script.jsonl",
               "--dump", dump, "--applied", applied, "--json"] + (["--raw"] if raw else [])
    r = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert r.returncode == 0, r.stderr
    figures = json.loads(r.stdout)
    assert figures["inputs_applied"] == figures["inputs_sent"] > 0, figures
    subprocess.run([sinewd, "eval", model, "--script", applied, "--hz", str(figures["tick_hz"]), "--time",
                    str(figures["last_time_s"]), "-o", offline], check=True, capture_output=True)
    a, b = floats(dump), floats(offline)
    assert len(a) == len(b), (len(a), len(b))
    size = max(map(abs, b))
    off = max(abs(p - q) for p, q in zip(a, b))
    allowed = 0 if raw else figures["step"] * 1.01 + size * 1e-6
    print(f"{name:16} {url.split(':')[0]:6}{'raw' if raw else '   '} {len(a) // 3:6} vertices, off by {off:.3g} of {allowed:.3g}")
    return off <= allowed


def inspect(name):
    return json.loads(subprocess.run([sinewd, "inspect", data / ALL[name], "--json"], check=True,
                                     capture_output=True, text=True).stdout)


def serve(folder):
    command = [sinewd, "serve", "--data", folder / "data", "--http", "127.0.0.1:0", "--tls", "127.0.0.1:0"]
    for name, path in ALL.items():
        command += ["--model", f"{name}={data / path}"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


with tempfile.TemporaryDirectory() as name:
    folder, fine = pathlib.Path(name), True
    server = serve(folder)
    try:
        ports = {}
        while len(ports) < 2:
            line = server.stdout.readline()
            assert line, "the server did not start"
            if m := re.search(r"(https?)://127\.0\.0\.1:(\d+)", line):
                ports[m[1]] = m[2]
        urls = [f"ws://127.0.0.1:{ports['http']}", f"sinew://127.0.0.1:{ports['https']}", f"wss://127.0.0.1:{ports['https']}"]
        for name, path in ALL.items():
            make_script(folder / "script.jsonl", inspect(name), 1)
            for url in urls:
                fine &= compare(folder, url, name, data / path, raw=False)
            fine &= compare(folder, urls[0], name, data / path, raw=True)
        print("ten seconds of applied inputs, streamed raw and offline: equal")
        for name, url in zip(("Fox", "RobotExpressive", "mh_cmu", "ict"), urls[1:] * 2):
            make_script(folder / "script.jsonl", inspect(name), 10)
            fine &= compare(folder, url, name, data / ALL[name], raw=True)
        print("control: a player's hands, and the motions of single roots")
        for name, roots in (("mira", False), ("mira", True), ("pup", False)):
            make_control(folder / "script.jsonl", roots)
            fine &= compare(folder, urls[0], name, data / ALL[name], raw=True)
    finally:
        server.terminate()
        server.wait(30)
print("ok" if fine else "FAILED")
sys.exit(not fine)

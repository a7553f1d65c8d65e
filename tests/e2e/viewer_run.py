"""Runs a script that drives the viewer in a headless Chromium, where all it needs is there."""
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import e2e  # noqa: E402

WEB = e2e.ROOT / "client" / "web"
CHROMIUM = "/usr/bin/chromium"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def node_version(node):
    text = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return int(text.strip().lstrip("v").split(".")[0] or 0)


def main(script):
    node = shutil.which("node")
    if not node or node_version(node) < 20:
        skip("the browser driver needs Node 20 or newer")
    if not pathlib.Path(CHROMIUM).exists():
        skip("no chromium (apt-get install -y --no-install-recommends chromium)")
    if not (WEB / "node_modules" / "playwright-core").is_dir():
        skip("no npm packages in client/web (npm ci there)")
    if not (e2e.BUILD / "client" / "web" / "dist" / "index.html").exists():
        skip("the viewer is not built (target viewer)")
    e2e.need_data()
    sys.exit(subprocess.run([node, script, e2e.SINEWD, e2e.SINEW, e2e.DATA, *sys.argv[2:]], check=False).returncode)

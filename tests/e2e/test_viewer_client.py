"""The browser client without a browser: strict types, its state machine, its decoding. The work is
done by client/web/test."""
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import e2e  # noqa: E402

WEB = e2e.ROOT / "client" / "web"
NEEDED = ["three", "@types/three", "typescript", "esbuild", "zstddec"]

node = shutil.which("node")
if not node:
    print("skipped: no node")
    sys.exit(77)
missing = [name for name in NEEDED if not (WEB / "node_modules" / name).is_dir()]
if missing:
    print(f"skipped: no npm packages in client/web (npm ci there): {' '.join(missing)}")
    sys.exit(77)
sys.exit(subprocess.run([node, WEB / "test" / "run.mjs"], check=False).returncode)

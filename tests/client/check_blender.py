"""Records from the fake server and has check_record.py open the files in Blender.

    python3 check_blender.py SINEW FAKE_SERVE
"""
import pathlib
import subprocess
import sys
import tempfile

sinew, fake = sys.argv[1:3]
server = subprocess.Popen([fake, "ws"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
url = server.stdout.readline().strip()
with tempfile.TemporaryDirectory() as folder:
    for name in ("cloth.glb", "cloth.pc2"):
        subprocess.run([sinew, "record", url, "-o", f"{folder}/{name}", "--frames", "24"], check=True)
    server.communicate("")
    script = pathlib.Path(__file__).with_name("check_record.py")
    sys.exit(subprocess.run([sys.executable, script, f"{folder}/cloth.glb", f"{folder}/cloth.pc2", "24"]).returncode)

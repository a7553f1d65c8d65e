"""Installs libsinew into a temporary prefix, builds the example against it as a game would (plain
compiler, pkg-config), and runs it against the fake server.

    python3 check_install.py BUILD_FOLDER EXAMPLE.c FAKE_SERVE CC [CFLAGS...]
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

build, example, fake, *compiler = sys.argv[1:]
if not shutil.which("pkg-config"):
    print("skipped: pkg-config is not installed")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    prefix = pathlib.Path(folder) / "prefix"
    subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--component", "libsinew"],
                   check=True, capture_output=True)
    package = next(prefix.rglob("sinew.pc"))
    # Moved elsewhere it still works: nothing in it is absolute.
    moved = pathlib.Path(folder) / "moved"
    prefix.rename(moved)
    package = moved / package.relative_to(prefix)
    env = dict(os.environ, PKG_CONFIG_PATH=str(package.parent))
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "sinew"], check=True, env=env,
                           capture_output=True, text=True).stdout.split()
    program = pathlib.Path(folder) / "hello"
    for standard in ("-std=c99", "-std=c17"):
        subprocess.run([*compiler, standard, "-D_POSIX_C_SOURCE=200112L", "-Wall", "-Wextra", "-Werror",
                        example, "-o", program, *flags], check=True)
    library = next(moved.rglob("libsinew.so"))
    exported = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True).stdout
    strangers = [line for line in exported.splitlines()
                 if " T " in line and "sinew_" not in line and "asan" not in line]
    assert not strangers, strangers[:5]
    server = subprocess.Popen([fake, "ws"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    url = server.stdout.readline().strip()
    run = subprocess.run([program, url], capture_output=True, text=True, timeout=60,
                         env=dict(os.environ, LD_LIBRARY_PATH=str(library.parent)))
    server.communicate("")
    print(run.stdout[:200] + run.stderr[-500:])
    assert run.returncode == 0, run.returncode
    assert run.stdout.count("vertices") > 20, run.stdout
print("ok")

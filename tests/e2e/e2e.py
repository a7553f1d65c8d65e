"""What the end-to-end tests share: where the programs are, running them, the shared data."""
import os
import pathlib
import subprocess
import sys
import unittest

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/dev").resolve()
SINEWD = BUILD / "server" / "sinewd"
SINEW = BUILD / "client" / "cli" / "sinew"
ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("SINEW_TEST_DATA", ROOT / ".." / "shared" / "data"))
SANITIZED = "SINEW_SANITIZE:STRING=address" in (BUILD / "CMakeCache.txt").read_text()


class Result:
    def __init__(self, status, out, err, peak_kib):
        self.status, self.out, self.err, self.peak_kib = status, out, err, peak_kib


def run(*args, timeout_s=120):
    """Runs a program; its peak memory comes from wait4."""
    process = subprocess.Popen([str(a) for a in args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=timeout_s)
    return Result(process.returncode, out.decode(), err.decode(), 0)


def run_measured(*args):
    """As run, with peak memory; for programs that print little."""
    read_out, write_out = os.pipe()
    read_err, write_err = os.pipe()
    pid = os.posix_spawn(str(args[0]), [str(a) for a in args], os.environ,
                         file_actions=[(os.POSIX_SPAWN_DUP2, write_out, 1),
                                       (os.POSIX_SPAWN_DUP2, write_err, 2)])
    os.close(write_out)
    os.close(write_err)
    with os.fdopen(read_out, "rb") as out, os.fdopen(read_err, "rb") as err:
        out_text, err_text = out.read().decode(), err.read().decode()
    _, status, usage = os.wait4(pid, 0)
    return Result(os.waitstatus_to_exitcode(status), out_text, err_text, usage.ru_maxrss)


def need_data():
    if not (DATA / "SOURCES.tsv").exists():
        print("skipped: no shared data (SINEW_TEST_DATA)")
        sys.exit(77)


def main():
    unittest.main(argv=sys.argv[:1], verbosity=2)

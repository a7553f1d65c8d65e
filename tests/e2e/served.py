"""Tests of modellers' terminals: one running server for all of a class, a token for everyone in it."""
import pathlib
import tempfile
import time
import unittest

import modeller
import serve
import small

CHARACTERS = serve.e2e.ROOT / "tests" / "assets" / "characters"


def wait_ready(server, timeout_s=30):
    end = time.monotonic() + timeout_s
    while server.get("/readyz")[0] != 200:
        if time.monotonic() > end:
            raise TimeoutError("not ready: " + server.errors())
        time.sleep(0.02)


class ServedCase(unittest.TestCase):
    """`root`: a folder for the class, `here`: one for the test."""

    PEOPLE = {"ann": ("modeller", {})}  # name: scope and what else add_token takes

    @classmethod
    def models(cls):
        """NAME=FILE of what is served."""
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        cls.server = serve.Server(*(x for m in cls.models() for x in ("--model", m)))
        wait_ready(cls.server)
        cls.data = cls.server.folder.name
        cls.tokens = {name: modeller.add_token(cls.data, scope, name, **more)
                      for name, (scope, more) in cls.PEOPLE.items()}

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.errors()
        cls.server.clean()
        cls.folder.cleanup()

    def setUp(self):
        self.here = self.root / self.id().rsplit(".", 1)[1]
        self.here.mkdir()


class BarAndMiraCase(ServedCase):
    """The small bar with two examples, and the demo's `mira`."""

    PEOPLE = {"ann": ("modeller", {}), "bob": ("modeller", {}), "chief": ("admin", {}), "eve": ("viewer", {}),
              "other": ("modeller", {"models": ["mira"]}), "late": ("modeller", {"expires": "1s"})}

    @classmethod
    def models(cls):
        cls.rig, cls.joint = small.write(cls.root)
        return f"bar={cls.rig}", f"mira={CHARACTERS / 'mira.rig.json'}"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, token in cls.tokens.items():
            (cls.root / f"{name}.token").write_text(token + "\n")
        chief = modeller.Modeller(cls.server.http, cls.tokens["chief"])
        for name, angle in (("e0", 0.6), ("e1", 1.2)):
            small.add_example(chief, "bar", cls.joint, name, angle)

"""Of a client's INPUT messages 30 % are lost, doubled or come late; each press still acts once."""
import json
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import e2e  # noqa: E402
import lossy  # noqa: E402
import serve  # noqa: E402

PRESSES, GAP_S = 60, 0.05


def presses_of(server):
    return int(re.search(r"^sinew_presses_total (\d+)", server.get("/metrics")[1], re.M)[1])


class LossyInput(unittest.TestCase):
    def test_presses_act_once(self):
        characters = e2e.ROOT / "tests/assets/characters"
        server = serve.Server("--model", f"mira={characters / 'mira.rig.json'}")
        for seed in range(3):
            # POSE-like traffic between: a message without events that comes says nothing about one
            # with events that did not.
            lines = [{"t_s": i * GAP_S, "control": {"press": ["wave"], "move": [0, i % 2]}}
                     for i in range(PRESSES)]
            lines += [{"t_s": i * GAP_S / 3, "face": {"jawOpen": (i % 5) / 5}} for i in range(3 * PRESSES)]
            lines.sort(key=lambda line: line["t_s"])
            before = presses_of(server)
            proxy = lossy.LossyProxy(server.http, seed=seed)
            with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as script:
                script.write("".join(json.dumps(line) + "\n" for line in lines))
                script.flush()
                done = e2e.run(e2e.SINEW, "play", f"ws://127.0.0.1:{proxy.port}", "--character", "mira",
                               "--script", script.name, "--seconds", str(PRESSES * GAP_S + 2), "--json")
            self.assertEqual(done.status, 0, done.err)
            took = presses_of(server) - before
            print(f"     seed {seed}: {proxy.lost} lost, {proxy.doubled} doubled, {proxy.swapped} late of "
                  f"{proxy.lost + proxy.doubled + proxy.swapped + proxy.passed}; {took} of {PRESSES} presses acted")
            self.assertEqual(took, PRESSES)
            proxy.close()
        self.assertEqual(server.stop(), 0)
        server.clean()


if __name__ == "__main__":
    e2e.main()

"""The viewer's panel that customises a character: sliders, recipes, expressions, gaze, by mouse and
keyboard, for another viewer too. The work is done by test_dresser.mjs."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import viewer_run  # noqa: E402

if __name__ == "__main__":
    viewer_run.main(pathlib.Path(__file__).with_suffix(".mjs"))

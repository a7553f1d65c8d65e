"""A player's hands in the browser viewer: keys, mouse, touch, gamepad. The work is done by
test_steering.mjs."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import viewer_run  # noqa: E402

if __name__ == "__main__":
    viewer_run.main(pathlib.Path(__file__).with_suffix(".mjs"))

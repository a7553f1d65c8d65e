"""The browser viewer in a headless Chromium: characters on the screen, the same numbers as the C
decoder, coming back after the server's end, phones. The work is done by test_viewer.mjs."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import viewer_run  # noqa: E402

if __name__ == "__main__":
    viewer_run.main(pathlib.Path(__file__).with_suffix(".mjs"))

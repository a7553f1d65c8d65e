"""Entry: blender -b --factory-startup --python-exit-code 3 -P main.py -- OUT_FOLDER [NAME ...]"""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def main(argv):
    import bolt
    import mira
    import pup
    import rigfile
    out = argv[0]
    os.makedirs(out, exist_ok=True)
    for name, module in (("mira", mira), ("pup", pup), ("bolt", bolt)):
        if argv[1:] and name not in argv[1:]:
            continue
        start = time.time()
        glb, rig, *files = module.make()
        with open(os.path.join(out, name + ".glb"), "wb") as f:
            f.write(glb)
        with open(os.path.join(out, name + ".rig.json"), "w") as f:
            f.write(rigfile.text(rig))
        for file, data in (files[0] if files else {}).items():
            os.makedirs(os.path.dirname(os.path.join(out, file)), exist_ok=True)
            with open(os.path.join(out, file), "wb") as f:
                f.write(data)
        print(f"{name}: {len(glb)} bytes in {time.time() - start:.1f} s", flush=True)


main(sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else sys.argv[1:])

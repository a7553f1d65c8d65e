"""Opens recordings of `sinew record` in headless Blender and looks at what is there.

    python3 check_record.py RECORDING.glb RECORDING.pc2 FRAMES

Starts itself again inside Blender; exits 77 with a line where Blender is missing.
"""
import os
import pathlib
import shutil
import subprocess
import sys


def outside():
    blender = shutil.which("blender")
    if not blender:
        print("skipped: blender is not installed")
        return 77
    # Blender's own Python finds itself by PATH: another interpreter there would hide its modules.
    env = dict(os.environ, PATH="/usr/bin:/bin")
    run = subprocess.run([blender, "--background", "--factory-startup", "--python-exit-code", "1",
                          "--python", __file__, "--", *sys.argv[1:]],
                         capture_output=True, text=True, env=env)
    lines = [line for line in run.stdout.splitlines() if line.startswith("check:")]
    print("\n".join(lines) or run.stdout[-2000:] + run.stderr[-2000:])
    return 0 if run.returncode == 0 and lines and lines[-1] == "check: ok" else 1


def inside(glb, pc2, frames):
    import struct

    import bpy
    import numpy

    if not hasattr(numpy, "bool"):
        numpy.bool = numpy.bool_  # Blender 3's importer still uses the name

    def moved(name, at):
        bpy.context.scene.frame_set(at)
        graph = bpy.context.evaluated_depsgraph_get()
        mesh = bpy.data.objects[name].evaluated_get(graph).to_mesh()
        return [tuple(v.co) for v in mesh.vertices]

    def distance(a, b):
        return max(abs(p - q) for u, v in zip(a, b) for p, q in zip(u, v))

    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=glb)
    meshes = [o for o in bpy.data.objects if o.type == "MESH"]
    assert len(meshes) == 1, meshes
    keys = meshes[0].data.shape_keys
    assert len(keys.key_blocks) == frames, (len(keys.key_blocks), frames)  # the basis and the others
    assert keys.animation_data is not None
    end = int(max(k.co[0] for c in keys.animation_data.action.fcurves for k in c.keyframe_points))
    size = max(abs(c) for v in moved(meshes[0].name, 0) for c in v)
    change = distance(moved(meshes[0].name, 0), moved(meshes[0].name, end))
    print(f"check: glb: {len(meshes[0].data.vertices)} vertices, {frames} frames, moves by {change:.3f} of {size:.3f}")
    assert change > 0

    raw = pathlib.Path(pc2).read_bytes()
    magic, version, points, first, rate, samples = struct.unpack("<12siiffi", raw[:32])
    assert magic == b"POINTCACHE2\0" and version == 1 and len(raw) == 32 + points * samples * 12
    bpy.ops.wm.read_factory_settings(use_empty=True)
    obj = str(pathlib.Path(pc2).with_suffix(".obj"))
    bpy.ops.import_scene.obj(filepath=obj, split_mode="OFF") if hasattr(bpy.ops.import_scene, "obj") else \
        bpy.ops.wm.obj_import(filepath=obj)
    meshes = [o for o in bpy.data.objects if o.type == "MESH"]
    assert len(meshes) == 1 and len(meshes[0].data.vertices) == points, (len(meshes), points)
    modifier = meshes[0].modifiers.new("cache", "MESH_CACHE")
    modifier.cache_format = "PC2"
    modifier.filepath = pc2
    modifier.frame_start = 0
    last = struct.unpack(f"<{points * 3}f", raw[32 + points * 12 * (samples - 1):])
    shown = moved(meshes[0].name, samples - 1)
    off = max(abs(p - q) for p, q in zip(last, (c for v in shown for c in v)))
    print(f"check: pc2: {points} points, {samples} samples, last one off by {off:.2g}")
    assert off < 1e-4 * max(1.0, max(abs(p) for p in last))
    print("check: ok")


if "--" in sys.argv:
    arguments = sys.argv[sys.argv.index("--") + 1:]
    inside(arguments[0], arguments[1], int(arguments[2]))
else:
    sys.exit(outside())

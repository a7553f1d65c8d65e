"""What a modeller does, inside Blender (test_blender.py starts it):

    blender [--background] --factory-startup --python blender_edit.py -- ZIP FOLDER STEPS

Installs the add-on from its zip, then does the steps of FOLDER/STEPS.json by the add-on's own
operators, and writes what it saw to FOLDER/result.json. FOLDER/NAME.reached and FOLDER/NAME.go let
the test do something at a step ("wait"). With a window the steps run in timers, as a user's would.
"""
import array
import json
import math
import os
import pathlib
import sys
import time
import traceback

import addon_utils
import bpy
from mathutils import Euler

zip_path, folder, steps_name = sys.argv[sys.argv.index("--") + 1:][:3]
folder = pathlib.Path(folder)
steps = json.loads((folder / (steps_name + ".json")).read_text())
result = {"seen": []}

bpy.context.preferences.view.show_splash = False
bpy.ops.preferences.addon_install(filepath=zip_path, overwrite=True)
addon_utils.enable("sinew_edit", default_set=True)
from sinew_edit import panel, scene, surface  # noqa: E402


def floats_file(name, values):
    (folder / name).write_bytes(array.array("f", values).tobytes())


def act(name, **more):
    out = bpy.ops.sinew.action(act=name, **more)
    assert (out == {"CANCELLED"}) == bool(panel.session.error and "CANCELLED" in out), out


def mesh():
    return scene.checked_out(bpy.context)


def push(step):
    """A smooth dent around a vertex, in edit or object mode, as a brush would leave it."""
    skin = mesh()
    by, radius, count = step["by"], step["radius"], len(skin.data.vertices)
    co = array.array("f", bytes(12 * count))
    skin.data.vertices.foreach_get("co", co)
    c = co[3 * step["center"]:3 * step["center"] + 3]
    for v in range(count):
        d = math.dist(co[3 * v:3 * v + 3], c)
        if d < radius:
            for k in range(3):
                co[3 * v + k] += by[k] * (1 - d / radius)
    if step.get("mode") == "EDIT":
        import bmesh
        bpy.ops.object.mode_set(mode="EDIT")
        bm = bmesh.from_edit_mesh(skin.data)
        bm.verts.ensure_lookup_table()
        for v in range(count):
            bm.verts[v].co = co[3 * v:3 * v + 3]
        bmesh.update_edit_mesh(skin.data)
        result["mode"] = skin.mode
    else:
        skin.data.vertices.foreach_set("co", co)
        skin.data.update()


def reorder(step):
    """Another order of the vertices, as Blender's own Sort Elements makes it."""
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.sort_elements(type="RANDOMIZE", elements={"VERT"}, seed=3)
    bpy.ops.object.mode_set(mode="OBJECT")
    order = array.array("i", bytes(4 * len(mesh().data.vertices)))
    mesh().data.attributes[scene.ORDER].data.foreach_get("value", order)
    result["reordered"] = list(order) != list(range(len(order)))


def bend(step):
    bone = scene.rig_of(mesh()).pose.bones[step["bone"]]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler[step["axis"]] += step["angle"]
    bpy.context.view_layer.update()


def subdivide(step):
    mesh().modifiers.new("more", "SUBSURF").levels = 1


def unsubdivide(step):
    mesh().modifiers.remove(mesh().modifiers["more"])


def save(step):
    """The surface as it will be submitted, in source order and glTF axes."""
    skin = mesh()
    floats_file(step["name"], scene.read_positions(bpy.context, skin, len(skin.data.vertices)))


def shown(step):
    """What the armature makes of the mesh, in glTF axes: the pose's own rest must change nothing."""
    skin = mesh()
    bpy.context.view_layer.update()
    evaluated = skin.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
    co = array.array("f", bytes(12 * len(evaluated.vertices)))
    evaluated.vertices.foreach_get("co", co)
    order = array.array("i", bytes(4 * len(evaluated.vertices)))
    evaluated.attributes[scene.ORDER].data.foreach_get("value", order)
    out = array.array("f", bytes(4 * len(co)))
    for at, vertex in enumerate(order):
        out[3 * vertex:3 * vertex + 3] = co[3 * at:3 * at + 3]
    floats_file(step["name"], scene.from_blender(out))


def live(step):
    view = panel.session.view
    thing = view.thing()
    co = array.array("f", bytes(12 * len(thing.data.vertices)))
    thing.data.vertices.foreach_get("co", co)
    out = array.array("f", bytes(4 * len(co)))
    for v, place in enumerate(view.topology.source):
        out[3 * place:3 * place + 3] = co[3 * v:3 * v + 3]
    floats_file(step["name"], out)
    result["live_frames"] = view.frames


def note(step):
    skin = mesh()
    result["seen"].append({
        "said": panel.session.said, "error": panel.session.error, "report": panel.session.report,
        "items": [i.name for i in panel.settings().items], "holders": [i.holder for i in panel.settings().items],
        "object": skin.name if skin else None,
        "vertices": len(skin.data.vertices) if skin else 0,
        "bones": len(scene.rig_of(skin).pose.bones) if skin and scene.rig_of(skin) else 0,
        "groups": len(skin.vertex_groups) if skin else 0})


def look(step):
    """Turns the view to a point; the sidebar open."""
    window = bpy.context.window_manager.windows[0]
    for area in window.screen.areas:
        if area.type == "VIEW_3D":
            view = area.spaces.active
            view.show_region_ui = True
            view.overlay.show_floor = view.overlay.show_relationship_lines = False
            view.region_3d.view_location = step["at"]
            view.region_3d.view_distance = step["distance"]
            view.region_3d.view_rotation = Euler([math.radians(a) for a in step["turn"]]).to_quaternion()
            view.region_3d.view_perspective = "PERSP"
    for name in ("Cube", "Light", "Camera"):
        if bpy.data.objects.get(name):
            bpy.data.objects.remove(bpy.data.objects[name])


def click(step):
    """A click into the window, as a user's: x, y from its upper left corner."""
    window = bpy.context.window_manager.windows[0]
    at = {"x": step["x"], "y": window.height - step["y"]}
    window.event_simulate("MOUSEMOVE", "NOTHING", **at)
    window.event_simulate("LEFTMOUSE", "PRESS", **at)
    window.event_simulate("LEFTMOUSE", "RELEASE", **at)


def mode(step):
    bpy.ops.object.mode_set(mode=step["mode"])


def set_props(step):
    for key, value in step["values"].items():
        setattr(panel.settings(), key, value)


def reopen(step):
    """Saves the scene, opens it again: as after an evening."""
    path = str(folder / "evening.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    panel.session.work.clear()
    panel.session.details.clear()
    bpy.ops.wm.open_mainfile(filepath=path)
    result["kept_address"] = panel.settings().address
    result["token_is_in_file"] = step["token"].encode() in pathlib.Path(path).read_bytes()


DO = {"click": click, "mode": mode, "push": push, "reorder": reorder, "bend": bend, "save": save, "shown": shown, "live": live, "note": note,
      "look": look, "set": set_props, "subdivide": subdivide, "unsubdivide": unsubdivide, "reopen": reopen,
      "act": lambda step: act(step["act"], **step.get("more", {}))}


def begin(step):
    if step["do"] == "wait":
        (folder / (step["name"] + ".reached")).write_text("")
    elif step["do"] == "pause":
        step["until"] = time.monotonic() + step["s"]
    else:
        DO[step["do"]](step)


def is_over(step):
    if step["do"] == "wait":
        return (folder / (step["name"] + ".go")).exists()
    if step["do"] == "pause":
        return time.monotonic() > step["until"]
    return panel.session.jobs.waiting == 0


def finish(error=""):
    result["error"] = error
    (folder / "result.json").write_text(json.dumps(result))
    (folder / "finished").write_text("")
    panel.stop_live()


def run_in_background():
    for step in steps:
        begin(step)
        while not is_over(step):
            panel.tick()
            time.sleep(0.005)
        panel.tick()


def run_with_a_window():
    left = list(steps)
    state = {"begun": False}

    def go():
        try:
            with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
                if not state["begun"]:
                    begin(left[0])
                    state["begun"] = True
                if is_over(left[0]):
                    left.pop(0)
                    state["begun"] = False
        except Exception:
            finish(traceback.format_exc())
            os._exit(1)
        if left:
            return 0.02
        finish()
        os._exit(0)  # Blender under a frame buffer of no display may hang in its own end

    bpy.app.timers.register(go, first_interval=0.5)


if bpy.app.background:
    try:
        run_in_background()
        finish()
    except Exception:
        finish(traceback.format_exc())
        raise
else:
    run_with_a_window()

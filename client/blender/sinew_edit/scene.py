"""Between a checked-out surface and Blender's scene. Main thread only.

Blender is right-handed with +Z up: (x, y, z) of glTF stands at (x, -z, y), which loses no bit. The
armature rests in the example's pose, so that the mesh is the example surface as it stands and every
bone that is posed is a change of the example's pose.
"""
import array
import json

import bpy
from mathutils import Matrix, Vector

from . import surface

ORDER = "sinew_vertex"     # a vertex attribute: its place in the source, whatever a tool does
STATE = "sinew_checkout"   # a property of the mesh object: endpoint.Checkout.state() as JSON
BONES = "sinew_bones"      # of the armature object: its bones' names, in the order of the joints
JOINTS = "sinew_joints"    # of the armature object: joints in the pose that was checked out
BLENDER_FROM_GLTF = Matrix(((1, 0, 0, 0), (0, 0, -1, 0), (0, 1, 0, 0), (0, 0, 0, 1)))
GLTF_FROM_BLENDER = BLENDER_FROM_GLTF.transposed()
SAME = 1e-6


class Wrong(Exception):
    """In plain words."""


def to_blender(positions):
    out = array.array("f", positions)
    out[1::3] = array.array("f", [-z for z in positions[2::3]])
    out[2::3] = positions[1::3]
    return out


def from_blender(positions):
    out = array.array("f", positions)
    out[1::3] = positions[2::3]
    out[2::3] = array.array("f", [-y for y in positions[1::3]])
    return out


def matrix_of(columns):
    return Matrix([[columns[c * 4 + r] for c in range(4)] for r in range(4)])


def fill_mesh(mesh, positions, parts):
    """Vertices and triangles; a triangle that uses a vertex twice is no face for Blender."""
    mesh.vertices.add(len(positions) // 3)
    mesh.vertices.foreach_set("co", positions)
    corners, materials = array.array("i"), array.array("i")
    for n, triangles in enumerate(parts):
        for i in range(0, len(triangles), 3):
            a, b, c = triangles[i:i + 3]
            if a != b and b != c and a != c:
                corners.extend((a, b, c))
                materials.append(n)
    count = len(materials)
    mesh.loops.add(3 * count)
    mesh.loops.foreach_set("vertex_index", corners)
    mesh.polygons.add(count)
    mesh.polygons.foreach_set("loop_start", array.array("i", range(0, 3 * count, 3)))
    if bpy.app.version < (3, 6, 0):  # since then it follows from where loops start
        mesh.polygons.foreach_set("loop_total", array.array("i", [3] * count))
    mesh.polygons.foreach_set("material_index", materials)
    mesh.polygons.foreach_set("use_smooth", array.array("b", [1] * count))
    mesh.update(calc_edges=True)


def add_materials(mesh, count):
    for i in range(count):
        material = bpy.data.materials.new("part %d" % i)
        shade = 0.55 + 0.35 * ((i * 5) % 7) / 7
        material.diffuse_color = (shade, shade * 0.85, shade * 0.75, 1)
        mesh.materials.append(material)


def _bone_name(joint, index):
    name = (joint.name or "joint %d" % index).encode("utf-8")[:56]
    return name.decode("utf-8", "ignore")


def _build_armature(context, name, joints):
    armature = bpy.data.armatures.new(name)
    rig = bpy.data.objects.new(name, armature)
    context.collection.objects.link(rig)
    context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    worlds = [BLENDER_FROM_GLTF @ matrix_of(j.world) for j in joints]
    heads, children, names = [w.to_translation() for w in worlds], [[] for _ in joints], []
    for i, j in enumerate(joints):
        if j.parent is not None:
            children[j.parent].append(i)
    reach = max((h - heads[0]).length for h in heads) or 1.0
    bones = []
    for i, j in enumerate(joints):
        bone = armature.edit_bones.new(_bone_name(j, i))
        tails = [heads[c] for c in children[i] if (heads[c] - heads[i]).length > 1e-3 * reach]
        if tails:
            tail = sum(tails[1:], tails[0].copy()) / len(tails)
        else:  # an end: on as its parent goes
            before = heads[i] - heads[j.parent] if j.parent is not None else heads[i] * 0
            tail = heads[i] + (before * 0.5 if before.length > 1e-3 * reach else worlds[i].to_3x3().col[1].normalized() * 0.03 * reach)
        if (tail - heads[i]).length < 1e-4 * reach:
            tail = heads[i] + worlds[i].to_3x3().col[1].normalized() * 0.03 * reach
        bone.head, bone.tail = heads[i], tail
        bone.parent = bones[j.parent] if j.parent is not None else None
        bones.append(bone)
        names.append(bone.name)
    bpy.ops.object.mode_set(mode="OBJECT")
    rig.show_in_front = True
    rig[BONES] = names
    rig[JOINTS] = json.dumps([[j.node, j.parent, j.translation, j.rotation, j.scale, j.world] for j in joints])
    return rig


def build(context, shape, work):
    """The mesh object of a checkout, with its armature above it (none for the base surface)."""
    if context.object and context.object.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    name = ("%s %s" % (work.model, work.item)).encode("utf-8")[:56].decode("utf-8", "ignore")
    mesh = bpy.data.meshes.new(name)
    add_materials(mesh, len(shape.parts))
    fill_mesh(mesh, to_blender(shape.positions), [triangles for _, _, triangles in shape.parts])
    order = mesh.attributes.new(ORDER, "INT", "POINT")
    order.data.foreach_set("value", array.array("i", range(shape.vertex_count)))
    skin = bpy.data.objects.new(name, mesh)
    context.collection.objects.link(skin)
    if shape.joints:
        rig = _build_armature(context, name + " pose", shape.joints)
        for bone, weights in zip(rig[BONES], shape.weights):
            group = skin.vertex_groups.new(name=bone)
            for vertex, weight in weights:
                group.add((vertex,), weight, "REPLACE")
        modifier = skin.modifiers.new("Sinew pose", "ARMATURE")
        modifier.object = rig
        skin.parent = rig
    remember(skin, work)
    bpy.ops.object.select_all(action="DESELECT")
    skin.select_set(True)
    context.view_layer.objects.active = skin
    if bpy.ops.ed.undo_push.poll():
        bpy.ops.ed.undo_push(message="Check out " + work.item)  # undoing must not take half of it
    return skin


def remember(skin, work):
    """In the file: so that an edit goes on after Blender was closed. No secret is in it."""
    skin[STATE] = json.dumps(work.state())


def key_of(thing):
    """(model, item) of a checkout's mesh object, however it is called; None: it is none."""
    try:
        state = json.loads(thing[STATE])
        return state["model"], state["item"]
    except (KeyError, ValueError, TypeError):
        return None


def find(key):
    """The mesh object of a checkout in this scene, or None."""
    return next((o for o in bpy.context.scene.objects if key_of(o) == key), None)


def checked_out(context):
    """The mesh object of a checkout that is meant: active, or above or below it; None."""
    thing = context.object
    for candidate in [thing] + (list(thing.children) if thing else []):
        if candidate and STATE in candidate:
            return candidate
    return next((o for o in context.scene.objects if STATE in o), None)


def rig_of(skin):
    return skin.parent if skin.parent and BONES in skin.parent else None


def replace_surface(skin, shape):
    """The same vertices elsewhere; the armature is built anew where the pose has changed."""
    mesh, co = skin.data, to_blender(shape.positions)
    place = array.array("i", bytes(4 * len(mesh.vertices)))
    mesh.attributes[ORDER].data.foreach_get("value", place)
    if list(place) != list(range(len(place))):
        moved = array.array("f", bytes(4 * len(co)))
        for at, vertex in enumerate(place):
            moved[3 * at:3 * at + 3] = co[3 * vertex:3 * vertex + 3]
        co = moved
    mesh.vertices.foreach_set("co", co)
    mesh.update()


def replace_rig(context, skin, shape):
    old = rig_of(skin)
    name = old.name
    skin.parent = None
    data = old.data
    bpy.data.objects.remove(old)
    bpy.data.armatures.remove(data)
    rig = _build_armature(context, name, shape.joints)
    skin.parent = rig
    for modifier in skin.modifiers:
        if modifier.type == "ARMATURE" and modifier.object is None:
            modifier.object = rig
    context.view_layer.objects.active = skin


def remove(skin):
    rig, mesh = rig_of(skin), skin.data
    bpy.data.objects.remove(skin)
    if mesh.users == 0:
        bpy.data.meshes.remove(mesh)
    if rig:
        armature = rig.data
        bpy.data.objects.remove(rig)
        if armature.users == 0:
            bpy.data.armatures.remove(armature)


# --- What was changed ---------------------------------------------------------------------------

def read_positions(context, skin, expected):
    """The sculpted surface in source order, as array('f') in glTF axes: what the mesh shows without
    its armature, other modifiers and shape keys included."""
    if skin.mode == "EDIT":
        skin.update_from_editmode()
    held = [(m, m.show_viewport) for m in skin.modifiers if m.type == "ARMATURE"]
    for m, _ in held:
        m.show_viewport = False
    try:
        context.view_layer.update()
        shown = skin.evaluated_get(context.evaluated_depsgraph_get())
        mesh = shown.to_mesh()
        try:
            return _read_mesh(mesh, skin, expected)
        finally:
            shown.to_mesh_clear()
    finally:
        for m, was in held:
            m.show_viewport = was


def _read_mesh(mesh, skin, expected):
    count = len(mesh.vertices)
    if count != expected:
        raise Wrong("The mesh has %d vertices and the model %d: vertices must not be added or removed "
                    "(a modifier such as Subdivision counts too)." % (count, expected))
    co = array.array("f", bytes(12 * count))
    mesh.vertices.foreach_get("co", co)
    order = mesh.attributes.get(ORDER)
    if order is None or len(order.data) != count:
        raise Wrong("The attribute \"%s\" is gone from the mesh: it tells the vertices' order. "
                    "Undo that, or check out again." % ORDER)
    place = array.array("i", bytes(4 * count))
    order.data.foreach_get("value", place)
    if sorted(place) != list(range(count)):
        raise Wrong("Some vertices were removed and others added: the model needs the ones it had. "
                    "Undo that, or check out again.")
    moved = skin.matrix_local if skin.parent else skin.matrix_world
    if moved != Matrix.Identity(4):
        for v in range(count):
            co[3 * v:3 * v + 3] = array.array("f", moved @ Vector(co[3 * v:3 * v + 3]))
    if list(place) != list(range(count)):
        sorted_co = array.array("f", bytes(12 * count))
        for at, vertex in enumerate(place):
            sorted_co[3 * vertex:3 * vertex + 3] = co[3 * at:3 * at + 3]
        co = sorted_co
    out = from_blender(co)
    if any(x != x or abs(x) > 1e30 for x in out):
        raise Wrong("The mesh has a vertex without a place (not a number).")
    return out


def read_pose(skin, details):
    """The example's pose with the bones as they stand now, as POSE joints; None: none was moved."""
    rig = rig_of(skin)
    if rig is None:
        return None
    rows, names = json.loads(rig[JOINTS]), list(rig[BONES])
    worlds, moved = [], False
    for row, name in zip(rows, names):
        bone = rig.pose.bones.get(name)
        if bone is None:
            raise Wrong("The bone \"%s\" is gone: the armature must keep its bones and their names." % name)
        by = bone.matrix @ bone.bone.matrix_local.inverted()
        still = max(abs(by[r][c] - (r == c)) for r in range(4) for c in range(4)) < SAME
        moved = moved or not still
        world = matrix_of(row[5])
        worlds.append(world if still else GLTF_FROM_BLENDER @ by @ BLENDER_FROM_GLTF @ world)
    if not moved:
        return None
    joints, mine = {}, set()
    for (node, parent, t, q, s, _), world, name in zip(rows, worlds, names):
        local = worlds[parent].inverted() @ world if parent is not None else world
        before = matrix_of(surface.compose(t, q, s))
        size = max(1.0, before.to_translation().length)
        if max(abs(local[r][c] - before[r][c]) for r in range(3) for c in range(4)) > 4 * SAME * size:
            place, turn, scale = local.decompose()
            same_scale = max(abs(a - b) for a, b in zip(scale, s)) < 1e-4
            same_place = (place - before.to_translation()).length < 1e-5 * size
            t = t if same_place else list(place)
            q = [turn.x, turn.y, turn.z, turn.w]
            s = s if same_scale else list(scale)
        joints[node] = {"translation": t, "rotation": q, "scale": s}
        mine.add(node)
    # What the pose says of nodes that are no bones here stays.
    known = mine | set(names)
    for name, value in details.get("pose", {}).get("joints", {}).items():
        if name not in known:
            joints[name] = value
    return {"joints": joints}


# --- Live preview -------------------------------------------------------------------------------

class LiveView(object):
    """An object that shows a stream's newest frame."""

    def __init__(self, name):
        self.name, self.topology, self.frames, self.width = "Sinew live " + name, None, 0, 0.0

    def thing(self):
        return bpy.data.objects.get(self.name)

    def show(self, context, frame, beside=0.0):
        """`beside`: so many widths of the body to the right, out of the way of what is edited."""
        thing = self.thing()
        if thing is None or self.topology is not frame.topology:
            self.hide()
            mesh = bpy.data.meshes.new(self.name)
            fill_mesh(mesh, frame.positions, [frame.topology.triangles])
            thing = bpy.data.objects.new(self.name, mesh)
            thing.hide_select = True
            context.scene.collection.objects.link(thing)
            self.topology = frame.topology
            across = frame.positions[0::3]
            self.width = frame.scale * (max(across) - min(across)) if len(across) else 0.0
        else:
            thing.data.vertices.foreach_set("co", frame.positions)
            thing.data.update()
        place = surface.compose(frame.translation, frame.rotation, (frame.scale,) * 3)
        aside = Matrix.Translation((beside * self.width, 0, 0))
        thing.matrix_world = aside @ BLENDER_FROM_GLTF @ matrix_of(place)
        self.frames += 1

    def hide(self):
        thing = self.thing()
        if thing is not None:
            mesh = thing.data
            bpy.data.objects.remove(thing)
            bpy.data.meshes.remove(mesh)
        self.topology = None

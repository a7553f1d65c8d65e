"""Contact sheets of the committed characters, drawn with Blender's Workbench: sheets.py -- CHARACTERS OUT [SHEET ...]"""
import math
import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.dirname(here)]

import bpy
import numpy as np
from check import Model
from mathutils import Vector


class Stage:
    """One character in a scene; its vertices are set from the GLB's own evaluation, pose by pose."""

    def __init__(self, path, size):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        self.m = Model(path)
        sc = self.scene = bpy.context.scene
        sc.render.engine = "BLENDER_WORKBENCH"
        sc.render.resolution_x = sc.render.resolution_y = size
        sc.render.film_transparent = False
        sc.view_settings.view_transform = "Standard"
        sh = sc.display.shading
        sh.light, sh.color_type, sh.show_cavity, sh.show_shadows = "STUDIO", "TEXTURE", True, True
        sh.shadow_intensity = 0.25
        sh.cavity_type = "BOTH"
        sh.studio_light = "paint.sl"
        sc.display.render_aa = "8"
        w = bpy.data.worlds.new("w")
        w.color = (0.42, 0.46, 0.52)
        sc.world = w
        cam = bpy.data.cameras.new("cam")
        cam.type = "ORTHO"
        cam.clip_start, cam.clip_end = 0.01, 50
        self.cam = bpy.data.objects.new("cam", cam)
        bpy.context.collection.objects.link(self.cam)
        sc.camera = self.cam
        self._mesh()
        self.shots = []

    def _mesh(self):
        m = self.m
        # vertices that coincide with their normals' twins are welded, so that shading is smooth over seams
        key = np.round(m.v, 5)
        both = np.concatenate([key, m.own[:, None]], 1) if m.J is None else np.concatenate([key, m.J[:, :1]], 1)
        _, first, weld = np.unique(both, axis=0, return_index=True, return_inverse=True)
        self.first, weld = first, weld.reshape(-1)
        tri = weld[m.tri]
        ok = (tri[:, 0] != tri[:, 1]) & (tri[:, 1] != tri[:, 2]) & (tri[:, 0] != tri[:, 2])
        me = bpy.data.meshes.new("m")
        me.from_pydata(self._to(m.v[first]).tolist(), [], tri[ok].tolist())
        me.polygons.foreach_set("use_smooth", [True] * len(me.polygons))
        uv = me.uv_layers.new(name="uv")
        co = m.uv[m.tri[ok].reshape(-1)].astype(float)
        co[:, 1] = 1 - co[:, 1]
        uv.data.foreach_set("uv", co.reshape(-1))
        for i, mat in enumerate(m.doc["materials"]):
            me.materials.append(self._material(mat))
        me.polygons.foreach_set("material_index", m.mat[ok].tolist())
        self.me = me
        self.ob = bpy.data.objects.new("m", me)
        bpy.context.collection.objects.link(self.ob)

    def _material(self, mat):
        out = bpy.data.materials.new(mat["name"])
        pbr = mat["pbrMetallicRoughness"]
        out.diffuse_color = pbr["baseColorFactor"]
        out.roughness = 0.6
        if "baseColorTexture" in pbr:
            img = self.m.doc["images"][self.m.doc["textures"][pbr["baseColorTexture"]["index"]]["source"]]
            v = self.m.doc["bufferViews"][img["bufferView"]]
            path = os.path.join(bpy.app.tempdir, img["name"] + ".png")
            with open(path, "wb") as f:
                f.write(self.m.bin[v.get("byteOffset", 0):v.get("byteOffset", 0) + v["byteLength"]])
            pic = bpy.data.images.load(path)
            factor = np.array(pbr["baseColorFactor"][:3])
            if factor.min() < 0.99:                          # Workbench shows the picture alone: tint it
                px = np.array(pic.pixels[:], np.float32).reshape(-1, 4)
                lin = np.where(px[:, :3] <= 0.04045, px[:, :3] / 12.92, ((px[:, :3] + 0.055) / 1.055) ** 2.4) * factor
                px[:, :3] = np.where(lin <= 0.0031308, lin * 12.92, 1.055 * lin ** (1 / 2.4) - 0.055)
                pic.pixels.foreach_set(px.reshape(-1))
                pic.update()
                pic.pack()
            out.use_nodes = True
            node = out.node_tree.nodes.new("ShaderNodeTexImage")
            node.image = pic
            out.node_tree.nodes.active = node
        return out

    @staticmethod
    def _to(v):
        return np.stack([v[:, 0], -v[:, 2], v[:, 1]], 1)

    def pose(self, clip=None, t=0.0, weights=None):
        self.me.vertices.foreach_set("co", self._to(self.m.pose(clip, t, weights)[self.first]).reshape(-1))
        self.me.update()

    def shot(self, az, el, centre, scale, folder):
        az, el = math.radians(az), math.radians(el)
        d = Vector((math.sin(az) * math.cos(el), -math.cos(az) * math.cos(el), math.sin(el)))
        self.cam.location = Vector((centre[0], -centre[2], centre[1])) + d * 8
        self.cam.rotation_euler = (-d).to_track_quat("-Z", "Y").to_euler()
        self.cam.data.ortho_scale = scale
        path = os.path.join(folder, f"_{len(self.shots):03d}.png")
        self.scene.render.filepath = path
        bpy.ops.render.render(write_still=True)
        self.shots.append(path)

    def sheet(self, path, columns):
        """All shots so far side by side."""
        n = self.scene.render.resolution_x
        rows = -(-len(self.shots) // columns)
        out = np.full((rows * n, columns * n, 4), 0.5, np.float32)
        for i, p in enumerate(self.shots):
            img = bpy.data.images.load(p)
            px = np.array(img.pixels[:], np.float32).reshape(n, n, 4)
            r, c = rows - 1 - i // columns, i % columns
            out[r * n:(r + 1) * n, c * n:(c + 1) * n] = px
            bpy.data.images.remove(img)
            os.remove(p)
        img = bpy.data.images.new("sheet", columns * n, rows * n)
        img.pixels.foreach_set(out.reshape(-1))
        img.filepath_raw, img.file_format = path, "PNG"
        img.save()
        bpy.data.images.remove(img)
        self.shots = []
        print("sheet", path, flush=True)


BODY, HEAD = (0, 0.82, 0), (0, 1.42, 0)


def turntable(folder, out, name="mira", centre=BODY, scale=1.78, head=(HEAD, 0.46), size=400):
    s = Stage(os.path.join(folder, name + ".glb"), size)
    for az in range(0, 360, 45):
        s.shot(az, 8, centre, scale, out)
    for az in (0, 35, 90, 180):
        s.shot(az, 2, head[0], head[1], out)
    s.sheet(os.path.join(out, f"{name}_turntable.png"), 4)


def clips(folder, out, name="mira", centre=(0, 0.82, 0), scale=1.8, size=200, only=None, file="clips"):
    s = Stage(os.path.join(folder, name + ".glb"), size)
    for clip in (only or [c for c in s.m.clips if c != "RangeOfMotion"]):
        L = s.m.length(clip)
        for k in range(8):
            s.pose(clip, L * k / (8 if s.m.clips[clip]["extras"]["loop"] else 7))
            s.shot(38, 6, centre, scale, out)
    s.sheet(os.path.join(out, f"{name}_{file}.png"), 8)


def shapes(folder, out):
    s = Stage(os.path.join(folder, "mira.glb"), 200)
    base = {"mouthClose": {"jawOpen": 1}, "tongueOut": {"jawOpen": 0.5}}
    names = list(s.m.morphs)
    for n in names:
        s.pose(weights={**base.get(n, {}), n: 1.0})
        if n.startswith("body"):
            s.shot(25, 4, BODY, 1.78, out)
        else:
            s.shot(-12 if "Right" in n else 12, 2, (0, 1.40, 0.1), 0.29, out)
    print(" ".join(names))
    s.sheet(os.path.join(out, "mira_shapes.png"), 10)


def expressions(folder, out):
    import json
    s = Stage(os.path.join(folder, "mira.glb"), 260)
    rig = json.load(open(os.path.join(folder, "mira.rig.json")))
    for p in rig["face"]["parameters"]:
        if p["kind"] == "expression":
            s.pose(weights=p["shapes"])
            s.shot(10, 2, (0, 1.41, 0.1), 0.33, out)
    s.sheet(os.path.join(out, "mira_expressions.png"), 6)


def motion(folder, out):
    from clips import RangeOfMotion
    import skeleton
    s = Stage(os.path.join(folder, "mira.glb"), 240)
    for t, what in RangeOfMotion(skeleton.build()).marks:
        s.pose("RangeOfMotion", t)
        face = what.split()[0] in ("jaw", "{}Eye", "face", "ponytail", "{}Lock")
        hand = what.split()[0] in ("{}Hand", "{}Fingers", "{}Thumb")
        if face:
            s.shot(30, 4, HEAD, 0.5, out)
        elif hand:
            s.shot(60, 30, (0.62, 1.16, 0), 0.34, out)
        else:
            s.shot(35, 8, BODY, 1.75, out)
    s.sheet(os.path.join(out, "mira_motion.png"), 8)


def wire(folder, out):
    s = Stage(os.path.join(folder, "mira.glb"), 640)
    line = bpy.data.materials.new("line")
    line.diffuse_color = (0, 0, 0, 1)
    me = s.me.copy()
    me.materials.clear()
    me.materials.append(line)
    me.polygons.foreach_set("material_index", [0] * len(me.polygons))
    import bmesh
    b = bmesh.new()
    b.from_mesh(me)
    bmesh.ops.join_triangles(b, faces=b.faces[:], angle_face_threshold=1.2, angle_shape_threshold=1.4, cmp_materials=False)
    b.to_mesh(me)
    o = bpy.data.objects.new("line", me)
    bpy.context.collection.objects.link(o)
    mod = o.modifiers.new("w", "WIREFRAME")
    mod.thickness, mod.use_even_offset, mod.offset = 0.0008, False, 1
    for az, c, k in ((25, BODY, 1.75), (20, (0, 1.40, 0.08), 0.26), (60, (0.62, 1.165, 0), 0.30), (35, (0.13, 1.10, 0), 0.5)):
        s.shot(az, 15 if c[0] > 0.3 else 4, c, k, out)
    s.sheet(os.path.join(out, "mira_wire.png"), 2)


def side(folder, out):
    turntable(folder, out, "pup", (0, 0.26, 0), 0.72, ((0, 0.42, 0.2), 0.34), 300)
    clips(folder, out, "pup", (0, 0.33, 0.02), 0.85)
    turntable(folder, out, "bolt", (0, 0.42, 0), 1.0, ((0, 0.66, 0), 0.44), 300)
    clips(folder, out, "bolt", (0, 0.48, 0), 1.15)


def portrait(folder, out):
    """The three together, for the README."""
    shots = []
    for name, clip, t, az, el, centre, scale in (("mira", "Wave", 1.0, -18, 6, (0, 0.84, 0), 1.8), ("mira", "Idle", 0.6, 22, 3, (0, 1.37, 0), 0.5),
                                                 ("pup", "Idle", 2.6, 32, 10, (0, 0.27, 0), 0.72), ("bolt", "Wave", 0.9, -22, 6, (0, 0.44, 0), 1.05)):
        s = Stage(os.path.join(folder, name + ".glb"), 270)
        s.shots = shots
        s.pose(clip, t)
        s.shot(az, el, centre, scale, out)
    s.sheet(os.path.join(out, "portrait.png"), 4)


SHEETS = {"portrait": portrait, "turntable": turntable, "clips": clips, "shapes": shapes, "expressions": expressions, "motion": motion, "wire": wire, "side": side}

if __name__ == "__main__":
    argv = sys.argv[sys.argv.index("--") + 1:]
    os.makedirs(argv[1], exist_ok=True)
    for name in argv[2:] or SHEETS:
        SHEETS[name](argv[0], argv[1])

"""A surface as the server hands it out: vertices in source order, parts, joints in the pose.

Right-handed, +Y up, lengths in the file's unit, quaternions x, y, z, w, matrices as tuples of
sixteen, column by column, as in glTF 2.0.
"""
import array
import json
import struct
import sys

GLB_MAGIC, JSON_CHUNK, BIN_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942
_TYPES = {5121: ("B", 1), 5123: ("H", 2), 5125: ("I", 4), 5126: ("f", 4)}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class BadSurface(ValueError):
    pass


class Joint(object):
    """A node of the skeleton. `parent`: its place in `Surface.joints`, None: topmost. `world`: where
    it stands in the example's pose. `name` may be shared; `node` names it for the server: "#N"."""

    def __init__(self, name, node, parent, translation, rotation, scale, world):
        self.name, self.node, self.parent = name, node, parent
        self.translation, self.rotation, self.scale, self.world = translation, rotation, scale, world


class Surface(object):
    def __init__(self):
        self.positions = array.array("f")  # x, y, z a vertex, source order
        self.parts = []                    # (first vertex, count, triangles: array('I') of vertices)
        self.joints = []
        self.weights = []                  # of each joint: [(vertex, weight), …]

    vertex_count = property(lambda self: len(self.positions) // 3)


def floats(data):
    out = array.array("f")
    out.frombytes(data[:len(data) - len(data) % 4])
    if sys.byteorder != "little":
        out.byteswap()
    return out


def multiply(a, b):
    """a * b, column-major."""
    return tuple(sum(a[k * 4 + r] * b[c * 4 + k] for k in range(4)) for c in range(4) for r in range(4))


def compose(t, q, s):
    x, y, z, w = q
    m = (1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w), 0.0,
         2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w), 0.0,
         2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y), 0.0, t[0], t[1], t[2], 1.0)
    return tuple(m[i] * s[i // 4] if i < 12 else m[i] for i in range(16))


def read_glb(data):
    """The server's GLB: one mesh, a primitive a part, the pose's joints."""
    try:
        return _read_glb(data)
    except (KeyError, IndexError, TypeError, ValueError, struct.error) as e:
        raise BadSurface("The surface that the server sent cannot be read (%s)" % e)


def _read_glb(data):
    magic, version, _, json_size, json_kind = struct.unpack_from("<5I", data)
    if magic != GLB_MAGIC or version != 2 or json_kind != JSON_CHUNK:
        raise BadSurface("no GLB")
    tree = json.loads(data[20:20 + json_size].decode("utf-8"))
    bin_size, bin_kind = struct.unpack_from("<2I", data, 20 + json_size)
    if bin_kind != BIN_CHUNK:
        raise BadSurface("no binary chunk")
    body = memoryview(data)[28 + json_size:28 + json_size + bin_size]

    def accessor(index):
        a = tree["accessors"][index]
        view = tree["bufferViews"][a["bufferView"]]
        kind, size = _TYPES[a["componentType"]]
        width, at = _WIDTHS[a["type"]], view.get("byteOffset", 0) + a.get("byteOffset", 0)
        out = array.array(kind)
        out.frombytes(body[at:at + a["count"] * width * size])
        if sys.byteorder != "little":
            out.byteswap()
        if len(out) != a["count"] * width:
            raise BadSurface("an accessor reaches past the end")
        return out

    out = Surface()
    skin = tree["skins"][0] if tree.get("skins") else None
    _read_joints(tree, skin, out)
    place = {node: i for i, node in enumerate(out.nodes)}
    for primitive in tree["meshes"][0]["primitives"]:
        first, attributes = out.vertex_count, primitive["attributes"]
        positions = accessor(attributes["POSITION"])
        out.positions += positions
        triangles = array.array("I")
        if primitive.get("mode", 4) == 4:
            if "indices" in primitive:
                triangles = array.array("I", (first + v for v in accessor(primitive["indices"])))
            else:
                triangles = array.array("I", range(first, first + len(positions) // 3))
        out.parts.append((first, len(positions) // 3, triangles))
        for n in range(64):
            if skin is None or "JOINTS_%d" % n not in attributes:
                break
            joints, weights = accessor(attributes["JOINTS_%d" % n]), accessor(attributes["WEIGHTS_%d" % n])
            for i, w in enumerate(weights):
                if w > 0:
                    out.weights[place[skin["joints"][joints[i]]]].append((first + i // 4, w))
    return out


def _read_joints(tree, skin, out):
    """Every node that is a joint or has one below it, parents first."""
    nodes, parents = tree["nodes"], {}
    for i, n in enumerate(nodes):
        for c in n.get("children", ()):
            parents[c] = i
    wanted = set()
    for j in skin["joints"] if skin else ():
        while j is not None and j not in wanted:
            wanted.add(j)
            j = parents.get(j)
    out.nodes, worlds, place, left = [], {}, {}, sorted(wanted)
    while left:
        later = []
        for i in left:
            p = parents.get(i)
            if p is not None and p not in worlds:
                later.append(i)
                continue
            n = nodes[i]
            t, q, s = (tuple(n.get("translation", (0, 0, 0))), tuple(n.get("rotation", (0, 0, 0, 1))),
                       tuple(n.get("scale", (1, 1, 1))))
            local = compose(t, q, s)
            worlds[i] = multiply(worlds[p], local) if p is not None else local
            place[i] = len(out.nodes)
            out.nodes.append(i)
            name = n.get("name") or ""
            source = n.get("extras", {}).get("node")
            out.joints.append(Joint(name, "#%d" % source if source is not None else name, place.get(p), t, q, s, worlds[i]))
        if len(later) == len(left):
            raise BadSurface("the joints stand in a ring")
        left = later
    out.weights = [[] for _ in out.joints]

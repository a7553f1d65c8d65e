"""GLB files, read and written by hand: stdlib only."""
import array
import json
import struct


class Glb:
    """A tree and one buffer that grows."""

    def __init__(self, path=None):
        self.tree, self.blob = {"asset": {"version": "2.0"}, "bufferViews": [], "accessors": [], "buffers": []}, b""
        if path:
            raw = path.read_bytes()
            size = struct.unpack_from("<I", raw, 12)[0]
            self.tree, self.blob = json.loads(raw[20:20 + size]), raw[28 + size:]

    def add(self, values, width, component=5126):
        """An accessor of floats (5126) or u16 (5123), `width` a place."""
        form = {5126: "f", 5123: "H"}[component]
        data = array.array(form, values).tobytes()
        self.blob += bytes(-len(self.blob) % 4)
        self.tree["bufferViews"].append({"buffer": 0, "byteOffset": len(self.blob), "byteLength": len(data)})
        self.blob += data
        kind = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}[width]
        more = {}
        if width == 3:
            more = {"min": [min(values[k::3]) for k in range(3)], "max": [max(values[k::3]) for k in range(3)]}
        self.tree["accessors"].append({"bufferView": len(self.tree["bufferViews"]) - 1, "componentType": component,
                                       "count": len(values) // width, "type": kind, **more})
        return len(self.tree["accessors"]) - 1

    def floats(self, accessor):
        """Of a float accessor, decoded; sparse and normalised ones too."""
        a = self.tree["accessors"][accessor]
        width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}[a["type"]]
        out = [0.0] * (a["count"] * width)
        if "bufferView" in a:
            out = self._elements(a["bufferView"], a.get("byteOffset", 0), a, width, a["count"])
        if "sparse" in a:
            s = a["sparse"]
            index = {"componentType": s["indices"]["componentType"]}
            places = self._elements(s["indices"]["bufferView"], s["indices"].get("byteOffset", 0), index, 1, s["count"])
            values = self._elements(s["values"]["bufferView"], s["values"].get("byteOffset", 0), a, width, s["count"])
            for i, at in enumerate(places):
                out[width * int(at):width * int(at) + width] = values[width * i:width * i + width]
        return out

    def _elements(self, view, offset, a, width, count):
        v = self.tree["bufferViews"][view]
        form, most = {5120: ("b", 127), 5121: ("B", 255), 5122: ("h", 32767), 5123: ("H", 65535), 5125: ("I", 1),
                      5126: ("f", 1)}[a["componentType"]]
        one = struct.Struct(f"<{width}{form}")
        start, stride = v.get("byteOffset", 0) + offset, v.get("byteStride", one.size)
        out = [x for i in range(count) for x in one.unpack_from(self.blob, start + i * stride)]
        return [max(-1.0, x / most) for x in out] if a.get("normalized") else out

    def write(self, path):
        self.tree["buffers"] = [{"byteLength": len(self.blob)}]
        text, blob = json.dumps(self.tree).encode(), self.blob + bytes(-len(self.blob) % 4)
        text += b" " * (-len(text) % 4)
        path.write_bytes(struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(blob))
                         + struct.pack("<I4s", len(text), b"JSON") + text
                         + struct.pack("<I4s", len(blob), b"BIN\0") + blob)
        return path


def morphs(targets, joints=1, extensions=None):
    """Four vertices on a node `body`, under joints `j0` ... that do not move it, with a morph target for
    each name of `targets`: {name: 12 floats of delta}."""
    g = Glb()
    places = [0, 0, 0, 0.5, 0, 0, 0, 0.5, 0, 0.5, 0.5, 0.25]
    primitive = {"attributes": {"POSITION": g.add(places, 3)}, "indices": g.add([0, 1, 2, 2, 1, 3], 1, 5123),
                 "targets": [{"POSITION": g.add(d, 3)} for d in targets.values()]}
    g.tree.update({
        "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [{"name": "body", "mesh": 0, "children": list(range(1, joints + 1))}]
        + [{"name": f"j{i}"} for i in range(joints)],
        "meshes": [{"primitives": [primitive], "extras": {"targetNames": list(targets)}}]})
    if extensions:
        g.tree.update({"extensions": extensions, "extensionsUsed": list(extensions)})
    return g, places

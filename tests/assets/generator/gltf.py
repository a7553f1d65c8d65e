"""A writer of binary glTF with skins, sparse morph targets and animations."""
import json
import struct

import numpy as np

FLOAT, U8, U16, U32 = 5126, 5121, 5123, 5125
_DTYPE = {FLOAT: np.float32, U8: np.uint8, U16: np.uint16, U32: np.uint32}


class Writer:
    def __init__(self, generator):
        self.doc = {"asset": {"version": "2.0", "generator": generator}, "scene": 0, "scenes": [{"nodes": []}], "nodes": []}
        self.bin = bytearray()
        self.zeros = {}

    def list(self, key):
        return self.doc.setdefault(key, [])

    def push(self, key, item):
        self.list(key).append(item)
        return len(self.doc[key]) - 1

    def view(self, data, target=None):
        while len(self.bin) % 4:
            self.bin.append(0)
        v = {"buffer": 0, "byteOffset": len(self.bin), "byteLength": len(data)}
        if target:
            v["target"] = target
        self.bin += data
        return self.push("bufferViews", v)

    def accessor(self, a, kind, comp=FLOAT, target=None, bounds=False, normalized=False):
        a = np.ascontiguousarray(a, dtype=_DTYPE[comp])
        if comp == FLOAT:
            a = a + np.float32(0)                            # no negative zeros: whether they arise depends on the host
        acc = {"bufferView": self.view(a.tobytes(), target), "componentType": comp, "count": len(a), "type": kind}
        if normalized:
            acc["normalized"] = True
        if bounds:
            b = a.reshape(len(a), -1)
            acc["min"], acc["max"] = [float(x) for x in b.min(0)], [float(x) for x in b.max(0)]
        return self.push("accessors", acc)

    def sparse(self, delta):
        """A vec3 accessor that is zero except where delta is not; shared when all zero."""
        d = np.asarray(delta, np.float32) + np.float32(0)
        n = len(d)
        rows = np.nonzero(np.abs(d).max(1) > 0)[0]
        if len(rows) == 0:
            if n not in self.zeros:
                self.zeros[n] = self.push("accessors", {"componentType": FLOAT, "count": n, "type": "VEC3", "min": [0.0] * 3, "max": [0.0] * 3})
            return self.zeros[n]
        if len(rows) > 0.8 * n:
            return self.accessor(d, "VEC3", target=34962, bounds=True)
        acc = {"componentType": FLOAT, "count": n, "type": "VEC3",
               "min": [float(x) for x in d.min(0)], "max": [float(x) for x in d.max(0)]}
        comp = U16 if n < 65536 else U32
        acc["sparse"] = {"count": len(rows),
                         "indices": {"bufferView": self.view(rows.astype(_DTYPE[comp]).tobytes()), "componentType": comp},
                         "values": {"bufferView": self.view(d[rows].tobytes())}}
        return self.push("accessors", acc)

    def image(self, data, name):
        return self.push("images", {"bufferView": self.view(data), "mimeType": "image/png", "name": name})

    def material(self, name, colour, rough=0.8, metal=0.0, picture=None, double=False):
        pbr = {"baseColorFactor": [round(float(c), 5) for c in colour] + [1.0], "metallicFactor": metal, "roughnessFactor": rough}
        if picture is not None:
            if "samplers" not in self.doc:
                self.push("samplers", {"magFilter": 9729, "minFilter": 9987, "wrapS": 10497, "wrapT": 10497})
            pbr["baseColorTexture"] = {"index": self.push("textures", {"sampler": 0, "source": self.image(picture, name)})}
        m = {"name": name, "pbrMetallicRoughness": pbr}
        if double:
            m["doubleSided"] = True
        return self.push("materials", m)

    def animation(self, name, times, channels):
        """channels: (node, path, values) keyed at every time, or with times of their own; a channel that never moves keeps two keys."""
        cache = {}

        def time_accessor(t):
            k = tuple(t)
            if k not in cache:
                cache[k] = self.accessor(np.array(t, np.float32).reshape(-1, 1), "SCALAR", bounds=True)
            return cache[k]
        out = {"name": name, "channels": [], "samplers": []}
        for node, path, values, *own in channels:
            v = np.round(np.asarray(values, np.float64), 6)
            t = list(own[0] if own else times)
            if np.abs(v - v[0]).max() < 2e-6:
                v, t = v[[0, -1]], [t[0], t[-1]]
            kind = "VEC4" if path == "rotation" else "VEC3"
            if path == "rotation":
                for i in range(1, len(v)):
                    if (v[i] * v[i - 1]).sum() < 0:
                        v[i] = -v[i]
                v = v / np.sqrt((v * v).sum(1, keepdims=True))
            out["samplers"].append({"input": time_accessor(t), "interpolation": "LINEAR", "output": self.accessor(v, kind)})
            out["channels"].append({"sampler": len(out["samplers"]) - 1, "target": {"node": node, "path": path}})
        return self.push("animations", out)

    def bytes(self):
        while len(self.bin) % 4:
            self.bin.append(0)
        self.doc["buffers"] = [{"byteLength": len(self.bin)}]
        j = json.dumps(self.doc, separators=(",", ":")).encode()
        j += b" " * (-len(j) % 4)
        size = 12 + 8 + len(j) + 8 + len(self.bin)
        return struct.pack("<III", 0x46546C67, 2, size) + struct.pack("<II", len(j), 0x4E4F534A) + j + \
            struct.pack("<II", len(self.bin), 0x004E4942) + bytes(self.bin)


def linear(hexcode):
    """An sRGB colour as the linear factors glTF wants."""
    c = np.array([int(hexcode[i:i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)

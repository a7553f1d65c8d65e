"""Pieces of a character and the ways to cut and make them."""
import numpy as np
from maths import Mesh, length, vec


class Part:
    """A piece of one material: vertices, quads, a UV per face corner, weights, and the region that shapes look at."""

    def __init__(self, material, v, f, uv, w, kind, group=None):
        self.material, self.v, self.f, self.w, self.kind = material, np.asarray(v, float), np.asarray(f, int), w, kind
        uv = np.asarray(uv, float)
        self.uv = uv[self.f] if uv.ndim == 2 else uv
        self.deltas, self.color = {}, None
        self.group = group or kind


def borders(f):
    """Directed border edges of a face set."""
    e = np.stack([f, np.roll(f, -1, 1)], -1).reshape(-1, 2)
    have = {(int(a), int(b)) for a, b in e}
    return [(a, b) for a, b in have if (b, a) not in have and a != b]


def shell(v, f, nrm, offset, rim=0.006, under=0.004):
    """The faces' own copy, pushed out by offset (per vertex), each border turned in under the old surface.
    Returns new vertices, faces and the old vertex each new one comes from."""
    used, inv = np.unique(f, return_inverse=True)
    nf = inv.reshape(f.shape)
    src = list(used)
    out = list(v[used] + nrm[used] * offset[used][:, None])
    edge = sorted(borders(nf))
    faces = [tuple(q) for q in nf]
    turn = {}
    for a, b in edge:
        for k in (a, b):
            if k not in turn:
                o = used[k]
                lip = len(out)
                out.append(v[o] + nrm[o] * (offset[o] - rim * 0.45))
                src.append(o)
                out.append(v[o] - nrm[o] * under)
                src.append(o)
                turn[k] = lip
        faces.append((b, a, turn[a], turn[b]))
        faces.append((turn[b], turn[a], turn[a] + 1, turn[b] + 1))
    return np.array(out), np.array(faces), np.array(src)


def cylinder_uv(v, f, axis, u0=0.0, scale=(1, 1), shift=(0, 0)):
    """u runs round the axis (0: x, 1: y), v along it; per face corner so that the seam is clean."""
    if axis == 1:
        a, h = np.arctan2(v[:, 0], v[:, 2]), v[:, 1]
    else:
        a, h = np.arctan2(v[:, 2] + 0.016, v[:, 1] - 1.168), np.abs(v[:, 0])
    u = a / (2 * np.pi) + 0.5 + u0
    c = u[f]
    far = (c.max(1) - c.min(1)) > 0.5
    c[far] = np.where(c[far] < 0.5, c[far] + 1, c[far])
    return np.stack([c * scale[0] + shift[0], h[f] * scale[1] + shift[1]], -1)


def tube(path, widths, heights, side, up, seg=8, closed_ends=True, tag="x"):
    """Loft along a path with elliptic sections; side and up are per-point frames."""
    m = Mesh()
    rings = []
    ang = np.arange(seg) * 2 * np.pi / seg
    for p, w, h, s, u in zip(path, widths, heights, side, up):
        rings.append(m.ring([p + s * (w * np.cos(a)) + u * (h * np.sin(a)) for a in ang]))
    for a, b in zip(rings[:-1], rings[1:]):
        m.bridge(a, b, tag)
    if closed_ends:
        m.cap(rings[0][::-1], path[0], tag)
        m.cap(rings[-1], path[-1], tag)
    return np.array(m.v), np.array(m.f), rings


def band(p, out, half, thick):
    """A closed flat band through ring points p."""
    m = Mesh()
    rows = []
    for dy, t in ((-half * 0.8, -thick), (-half, 0.4 * thick), (-half * 0.8, thick), (half * 0.8, thick), (half, 0.4 * thick), (half * 0.8, -thick)):
        rows.append(m.ring(p + out * t + vec(0, 1, 0) * dy))
    for a, b in zip(rows, rows[1:] + rows[:1]):
        m.bridge(a, b, "band")
    f = np.array(m.f)
    return np.array(m.v), f


def outward(v, f, centre=None):
    """Turn closed meshes so that their faces look out."""
    tri = np.concatenate([f[:, [0, 1, 2]], f[:, [0, 2, 3]]])
    p = v[tri] - v.mean(0)
    return f if (np.cross(p[:, 0], p[:, 1]) * p[:, 2]).sum() > 0 else f[:, ::-1]


def near(p, bv, bw):
    """Weights of the nearest body vertices, softly mixed."""
    out = np.empty((len(p), bw.shape[1]))
    for i, q in enumerate(p):
        d = length(bv - q)
        k = np.argsort(d, kind="stable")[:6]
        s = 1 / (d[k] + 0.004) ** 2
        out[i] = (bw[k] * s[:, None]).sum(0) / s.sum()
    return out

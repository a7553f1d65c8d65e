"""Pictures painted by formula, and a small PNG writer."""
import struct
import zlib

import numpy as np
from maths import ramp

# face picture: azimuth and elevation (degrees) to u, v
AZ_SPAN, EL_SPAN, EL_TOP = 170.0, 110.0, 50.0


def face_uv(az, el):
    return np.stack([np.clip(0.5 + az / AZ_SPAN, 0.004, 0.996), np.clip((EL_TOP - el) / EL_SPAN, 0.004, 0.996)], -1)


def png(rgb):
    """An 8-bit RGB picture (h, w, 3) in [0, 1] as PNG bytes."""
    a = np.clip(np.round(np.asarray(rgb) * 255), 0, 255).astype(np.uint8)
    h, w, _ = a.shape
    raw = bytearray()
    prev = np.zeros((w, 3), np.int16)
    for row in a:                                            # filter 2 (up) suits smooth pictures
        raw.append(2)
        raw += ((row.astype(np.int16) - prev) & 255).astype(np.uint8).tobytes()
        prev = row.astype(np.int16)
    chunk = lambda k, d: struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(bytes(raw), 9)) + chunk(b"IEND", b"")


def mix(img, colour, k):
    return img + (np.array(colour) - img) * k[..., None]


def field(n, m=None):
    m = m or n
    return np.meshgrid((np.arange(n) + 0.5) / n, (np.arange(m) + 0.5) / m)


def face(head_info):
    """White is the plain skin tone; warm tints on top. head_info: lip loop 2 as (azimuth, elevation), eye place."""
    n = 512
    u, v = field(n)
    az, el = (u - 0.5) * AZ_SPAN, EL_TOP - v * EL_SPAN
    img = np.ones((n, n, 3))
    a = np.abs(az)
    img = mix(img, (1.0, 0.70, 0.64), 0.62 * np.exp(-((a - 37) / 10) ** 2 - ((el + 18) / 6.0) ** 2))
    img = mix(img, (1.0, 0.78, 0.70), 0.40 * np.exp(-(az / 5) ** 2 - ((el + 14.5) / 4.5) ** 2))
    eaz, eel = head_info["eye"]
    d = np.hypot((a - eaz) / 1.12, el - eel)
    img = mix(img, (0.90, 0.62, 0.55), 0.34 * np.exp(-((d - 13.0) / 3.6) ** 2) * ramp(el, eel - 2, eel + 8))
    img = mix(img, (0.97, 0.80, 0.74), 0.35 * np.exp(-((d - 12.5) / 2.5) ** 2))
    for fa, fe, r in ((30, -13.5, .5), (34, -12.4, .6), (38, -13.8, .5), (27, -15.5, .45), (42, -12.9, .5), (36, -16.0, .45), (32, -17.0, .4), (24, -12.6, .4)):
        img = mix(img, (0.80, 0.50, 0.38), 0.42 * np.exp(-((a - fa) ** 2 + (el - fe) ** 2) / (r * r)))
    # lips: inside the loop, soft at its edge
    loop = head_info["lip"]
    up, low, wide = loop
    top, bottom = np.interp(a, up[:, 0], up[:, 1]), np.interp(a, low[:, 0], low[:, 1])
    k = ramp(top - el, -0.5, 1.3) * ramp(el - bottom, -0.7, 1.3) * ramp(wide - a, -0.3, 1.6)
    img = mix(img, (0.97, 0.58, 0.58), 0.66 * k)
    return png(img)


def eye(iris=((0.05, 0.30, 0.30), (0.25, 0.78, 0.66))):
    n = 256
    u, v = field(n)
    x, y = (u - 0.5) * 2.4, (v - 0.5) * 2.4                  # y down
    r = np.hypot(x, y)
    img = np.ones((n, n, 3)) * (0.985, 0.985, 0.98)
    img = mix(img, (0.94, 0.80, 0.78), 0.5 * ramp(r, 0.62, 0.9))
    img = mix(img, (0.60, 0.62, 0.72), 0.55 * ramp(-y, 0.12, 0.62))       # shade of the upper lid
    R = 0.450
    dark, light = np.array(iris[0]), np.array(iris[1])
    k = ramp(y / R, -0.75, 0.85)
    ang = np.arctan2(y, x)
    col = dark + (light - dark) * (k * (0.82 + 0.18 * np.cos(ang * 22 + 3 * np.sin(ang * 5)) * ramp(r, 0.16, 0.36)))[..., None]
    col = mix(col, dark * 0.35, ramp(r, R * 0.80, R * 0.98) * 0.9)
    col = mix(col, np.array((0.02, 0.035, 0.05)), 1 - ramp(r, 0.185, 0.215))
    col = mix(col, np.minimum(light * 1.25, 1), 0.55 * np.exp(-((r - 0.30) / 0.07) ** 2) * ramp(y, 0.05, 0.3))
    inside = 1 - ramp(r, R - 0.012, R + 0.008)
    img = img + (col - img) * inside[..., None]
    for hx, hy, hr in ((0.135, -0.165, 0.088), (-0.150, 0.165, 0.043)):
        img = mix(img, (1, 1, 1), 1 - ramp(np.hypot(x - hx, y - hy), hr - 0.018, hr + 0.008))
    return png(img)


def cape():
    n = 512
    u, v = field(n)
    base = np.array((0.055, 0.27, 0.31))
    img = np.ones((n, n, 3)) * base
    img = mix(img, base * 0.62, 0.55 * ramp(v, 0.9, 0.0))
    weave = 0.5 + 0.5 * np.sin(u * n * 0.9) * np.sin(v * n * 0.9)
    img *= (0.96 + 0.06 * weave)[..., None]
    edge = np.minimum(np.minimum(u, 1 - u) * 1.0, (1 - v) * 1.0)
    gold = np.array((0.86, 0.63, 0.22))
    img = mix(img, gold, (1 - ramp(edge, 0.020, 0.024)) * (v > 0.03))
    line = np.abs(edge - 0.040)
    img = mix(img, gold, (1 - ramp(line, 0.004, 0.007)) * (v > 0.03))
    # emblem: a sun with eight rays
    x, y = (u - 0.5) * 1.05, (v - 0.50)
    r, a = np.hypot(x, y), np.arctan2(y, x)
    star = 0.085 + 0.055 * np.abs(np.cos(a * 4)) ** 3
    img = mix(img, gold, (1 - ramp(r, star - 0.003, star + 0.003)))
    img = mix(img, base, (1 - ramp(np.abs(r - 0.070), 0.006, 0.009)))
    img = mix(img, base * 1.5, (1 - ramp(r, 0.044, 0.048)))
    return png(img)


def tunic():
    n = 512
    u, v = field(n)
    cream = np.array((0.90, 0.84, 0.72))
    img = np.ones((n, n, 3)) * cream
    weave = np.sin(u * n * 0.8) * np.sin(v * n * 0.8)
    img *= (0.985 + 0.02 * weave)[..., None]
    h = v + 0.55                                             # height in metres on the body (v below 0.7)
    teal, gold = np.array((0.06, 0.33, 0.36)), np.array((0.86, 0.63, 0.22))
    body = v < 0.70
    a = np.abs(u - 0.5)                                      # 0 in front
    hem = body & (h < 0.80)
    wave = 0.674 + 0.0 * u
    img = mix(img, teal, (1 - ramp(h, wave, wave + 0.003)) * body)
    img = mix(img, gold, (1 - ramp(np.abs(h - (wave + 0.010)), 0.0025, 0.004)) * hem)
    zig = 0.690 + 0.006 * np.abs(((u * 36) % 1) * 2 - 1)
    img = mix(img, teal, (1 - ramp(np.abs(h - zig), 0.0016, 0.003)) * hem)
    # placket down the front
    img = mix(img, teal, (1 - ramp(a, 0.018, 0.021)) * (body & (h > 0.90)))
    img = mix(img, gold, (1 - ramp(np.abs(a - 0.024), 0.0015, 0.0035)) * (body & (h > 0.90)))
    s = v - 0.65                                             # |x| on the sleeve (v above 0.7)
    arm = v > 0.70
    img = mix(img, teal, ramp(s, 0.262, 0.265) * arm)
    img = mix(img, gold, (1 - ramp(np.abs(s - 0.256), 0.002, 0.004)) * arm)
    return png(img)


def scarf():
    n, m = 16, 256
    u, v = field(n, m)
    base = np.array((0.88, 0.58, 0.16))
    img = np.ones((m, n, 3)) * base
    for at in (0.80, 0.88):
        img = mix(img, (0.70, 0.20, 0.13), 1 - ramp(np.abs(v - at), 0.020, 0.026))
    return png(img)


def boots():
    """Leather with a dark sole; v is height over 0.32 m."""
    n, m = 64, 512
    u, v = field(n, m)
    base = np.array((0.48, 0.28, 0.16))
    img = np.ones((m, n, 3)) * base
    h = v * 0.32
    img = mix(img, base * 0.72, 0.8 * (1 - ramp(h, 0.015, 0.075)))
    img = mix(img, base * 1.25, 0.5 * ramp(h, 0.10, 0.20))
    img = mix(img, (0.86, 0.70, 0.48), (1 - ramp(np.abs(h - 0.0205), 0.0009, 0.0017)) * (np.sin(u * 2 * np.pi * 40) > -0.2))
    img = mix(img, (0.17, 0.12, 0.10), 1 - ramp(h, 0.0150, 0.0162))
    return png(img)

"""Mira's rig file: what a GLB cannot say."""
import json

import numpy as np
from gltf import linear

EYES = {"teal": ((0.03, 0.27, 0.30), (0.25, 0.80, 0.68)), "amber": ((0.28, 0.12, 0.03), (0.88, 0.55, 0.16)), "violet": ((0.14, 0.07, 0.33), (0.62, 0.42, 0.90))}


def _contours(h, parts):
    skin = next(p for p in parts if p.kind == "head" and p.material == "skin")
    out = {}
    for side, s in (("left", "l"), ("right", "r")):
        rim = h.eye[side][h.eye_rim]
        n, half = h.n_eye, h.n_eye // 2
        up = [int(skin.ids[rim[i]]) for i in range(0, half + 1)]
        low = [int(skin.ids[rim[(n - i) % n]]) for i in range(0, half + 1)]
        out[f"lid_{s}"] = {"upper": up, "lower": low, "closed_by": [f"eyeBlink{side.capitalize()}"]}
    k = h.mouth_half
    L, R = h.mouth[h.mouth_rim], h.mouth_right[h.mouth_rim]
    up = [R[i] for i in range(k, 0, -1)] + [L[i] for i in range(0, k + 1)]
    nm = h.n_mouth
    low = [R[nm - 1 - i] for i in range(k, 0, -1)] + [L[nm - 1 - i] for i in range(0, k + 1)]
    out["lips"] = {"upper": [int(skin.ids[i]) for i in up], "lower": [int(skin.ids[i]) for i in low], "closed_by": ["mouthClose"]}
    return out


def _bones():
    out = []
    for s, side in ((1, "left"), (-1, "right")):
        b = lambda j, way, lo, hi, kind="move": out.append({"joint": side + j, kind: way, "range": [lo, hi]})
        b("EyeCornerInner", [0, 1, 0], -0.004, 0.004)
        b("EyeCornerOuter", [0, 1, 0], -0.005, 0.006)
        b("BrowInner", [0, 1, 0], -0.006, 0.007)
        b("BrowOuter", [0, 1, 0], -0.006, 0.007)
        b("MouthCorner", [s, 0, 0], -0.005, 0.006)
        b("Cheek", [s, 0, 0], -0.005, 0.006)
    out.append({"joint": "nose", "move": [0, 0, 1], "range": [-0.005, 0.008]})
    out.append({"joint": "chin", "move": [0, -1, 0], "range": [-0.006, 0.009]})
    out.append({"joint": "jaw", "rotate": [1, 0, 0], "range": [0, 0.35]})
    return out


def _shape(name, group, joints=None, morphs=None, lo=-1, hi=1):
    p = {"name": name, "group": group, "kind": "shape", "range": [lo, hi], "default": 0}
    if joints:
        p["joints"] = joints
    if morphs:
        p["morphs"] = morphs
    return p


def _both(joint, x=0.0, y=0.0, z=0.0, **more):
    """A translation of a joint on both sides, x mirrored."""
    return {"left" + joint: {"translation": [x, y, z], **more}, "right" + joint: {"translation": [-x, y, z], **more}}


def _one(joint, x=0.0, y=0.0, z=0.0):
    return {joint: {"translation": [x, y, z]}}


def _turn_z(joint, a):
    s, c = round(float(np.sin(a / 2)), 6), round(float(np.cos(a / 2)), 6)
    return {"left" + joint: {"rotation": [0, 0, s, c]}, "right" + joint: {"rotation": [0, 0, -s, c]}}


def _colour(name, materials, material, to, group="colour"):
    """From what the material is, exactly, so that 0 is the character as she came."""
    f = lambda c: [round(float(x), 5) for x in linear(c)] + [1]
    return {"name": name, "group": group, "kind": "appearance", "material": material, "property": "baseColorFactor", "from": f(materials[material][0]), "to": f(to)}


def _expression(name, **shapes):
    out = {}
    for k, v in shapes.items():
        if k.endswith("_"):                                  # both sides
            out[k[:-1] + "Left"] = out[k[:-1] + "Right"] = v
        else:
            out[k] = v
    return {"name": name, "group": "expression", "kind": "expression", "range": [0, 1], "default": 0, "shapes": out}


def _parameters(materials):
    p = [
        _shape("eye_tilt", "eyes", {**_both("EyeCornerInner", 0, -0.003), **_both("EyeCornerOuter", 0, 0.005)}),
        _shape("eye_width", "eyes", {**_both("EyeCornerInner", -0.0025), **_both("EyeCornerOuter", 0.004)}),
        _shape("eye_droop", "eyes", _both("EyeCornerOuter", 0.001, -0.005)),
        _shape("brow_height", "eyes", {**_both("BrowInner", 0, 0.005), **_both("BrowOuter", 0, 0.005)}),
        _shape("brow_tilt", "eyes", {**_both("BrowInner", 0, -0.004), **_both("BrowOuter", 0, 0.005)}),
        _shape("nose_length", "nose", _one("nose", 0, -0.003, 0.006)),
        _shape("nose_lift", "nose", _one("nose", 0, 0.004, 0.001)),
        _shape("mouth_width", "mouth", _both("MouthCorner", 0.005, 0, -0.002)),
        _shape("mouth_curve", "mouth", _both("MouthCorner", 0, 0.0045)),
        _shape("cheek_fullness", "jaw", _both("Cheek", 0.005, 0, 0.003)),
        _shape("chin_length", "jaw", _one("chin", 0, -0.008, 0.001)),
        _shape("chin_forward", "jaw", _one("chin", 0, 0, 0.006)),
        _shape("face_round", "jaw", morphs={"faceRound": 1}, lo=0),
        _shape("face_narrow", "jaw", morphs={"faceNarrow": 1}, lo=0),
        _shape("face_long", "jaw", morphs={"faceLong": 1}, lo=0),
        _shape("weight_up", "body", morphs={"bodyHeavy": 1}, lo=0),
        _shape("weight_down", "body", morphs={"bodyThin": 1}, lo=0),
        _shape("muscle", "body", morphs={"bodyMuscular": 1}, lo=0),
        _shape("shoulder_width", "body", {**_both("Shoulder", 0.010)}, {"bodyBroad": 0.8}, lo=0),
        _shape("height", "body", {**_one("hips", 0, 0.045), **_both("LowerLeg", 0, -0.022), **_both("Foot", 0, -0.023), **_one("chest", 0, 0.008),
                                  **_one("upperChest", 0, 0.008), **_one("neck", 0, 0.005)}, {"bodyTall": 1}, lo=0),
        _colour("skin_tone", materials, "skin", "#6B4129"),
        _colour("hair_colour", materials, "hair", "#241611"),
        _colour("brow_colour", materials, "brow", "#1C100C"),
        _colour("trouser_colour", materials, "trousers", "#6B3A38"),
        {"name": "eye_colour", "group": "colour", "kind": "appearance", "material": "eye", "property": "baseColorTexture", "options": [f"mira.eye.{k}.png" for k in EYES]},
        _expression("happy", mouthSmile_=0.85, eyeSquint_=0.35, cheekSquint_=0.5, browInnerUp=0.25, jawOpen=0.12, mouthUpperUp_=0.25),
        _expression("angry", browDown_=0.9, eyeSquint_=0.35, noseSneer_=0.45, mouthFrown_=0.5, mouthPress_=0.5),
        _expression("sad", browInnerUp=0.9, mouthFrown_=0.7, eyeLookDown_=0.25, mouthShrugLower=0.35, eyeSquint_=0.15),
        _expression("relaxed", eyeBlink_=0.45, mouthSmile_=0.4, browInnerUp=0.15),
        _expression("surprised", eyeWide_=0.9, browInnerUp=0.8, browOuterUp_=0.8, jawOpen=0.45, mouthFunnel=0.35),
        _expression("neutral"),
        _expression("aa", jawOpen=0.62, mouthLowerDown_=0.2),
        _expression("ih", jawOpen=0.18, mouthStretch_=0.45, mouthUpperUp_=0.25, mouthLowerDown_=0.35),
        _expression("ou", jawOpen=0.15, mouthPucker=0.85, mouthFunnel=0.2),
        _expression("ee", jawOpen=0.14, mouthSmile_=0.45, mouthStretch_=0.35, mouthLowerDown_=0.4, mouthUpperUp_=0.2),
        _expression("oh", jawOpen=0.42, mouthFunnel=0.65, mouthPucker=0.25),
        _expression("blink", eyeBlink_=1.0), _expression("blinkLeft", eyeBlinkLeft=1.0), _expression("blinkRight", eyeBlinkRight=1.0),
        _expression("lookUp", eyeLookUp_=1.0), _expression("lookDown", eyeLookDown_=1.0),
        _expression("lookLeft", eyeLookOutLeft=1.0, eyeLookInRight=1.0), _expression("lookRight", eyeLookInLeft=1.0, eyeLookOutRight=1.0),
    ]
    return p


def _springs():
    def spring(name, joints, radius, stiff, gravity, drag, colliders):
        return {"name": name, "joints": [{"node": j, "hitRadius": radius, "stiffness": stiff, "gravityPower": gravity, "gravityDir": [0, -1, 0], "dragForce": drag}
                                         for j in joints], "colliders": colliders, "endLength": 0.06}
    ball = lambda node, offset, r: {"node": node, "shape": {"sphere": {"offset": offset, "radius": r}}}
    skull, back = ball("head", [0, 0.160, -0.012], 0.138), ball("upperChest", [0, 0.03, 0.0], 0.105)
    chest, belly = ball("upperChest", [0, 0.01, 0.02], 0.082), ball("spine", [0, 0.015, 0.03], 0.10)
    return [spring("ponytail", [f"ponytail{i}" for i in (1, 2, 3, 4)], 0.03, 0.9, 0.25, 0.35, [skull, back]),
            spring("lock_l", ["leftLock1", "leftLock2"], 0.010, 1.0, 0.15, 0.45, [skull]),
            spring("lock_r", ["rightLock1", "rightLock2"], 0.010, 1.0, 0.15, 0.45, [skull]),
            spring("scarf_front", [f"scarfFront{i}" for i in (1, 2, 3)], 0.010, 0.6, 0.35, 0.4, [chest, belly]),
            spring("scarf_back", [f"scarfBack{i}" for i in (1, 2, 3)], 0.010, 0.6, 0.35, 0.4, [chest, belly])]


def mira(sk, h, parts, names, clips, drivers, materials):
    speed = {c.name: round(abs(c.extra["speed"]), 4) for c in clips if "speed" in c.extra}
    action = lambda clip, root=None, fade=0.2: {"clip": clip, **({"root": root} if root else {}), "fade_s": fade}
    return {
        "sinew_rig": 1, "source": "mira.glb", "unit_m": 1.0, "skinning": "lbs", "base_pose": "bind",
        "drivers": drivers,
        "roots": [{"name": "legs", "joint": "hips", "weights": {"joints": {"hips": 1}}},
                  {"name": "torso", "joint": "spine", "weights": {"joints": {"spine": 1}}, "border_m": 0.22}],
        "face": {"contours": _contours(h, parts), "bones": _bones(), "threshold": 0.05,
                 "corrections": [{"shape": f"eyeBlink{s}", "joint": f"{s.lower()}EyeCorner{w}", "targets": {str(lo): "generate", str(hi): "generate"}}
                                 for s in ("Left", "Right") for w, lo, hi in (("Inner", -0.004, 0.004), ("Outer", -0.005, 0.006))],
                 "pull_back": [{"shape": "mouthClose", "joint": "jaw", "speed_per_s": 4.0}],
                 "parameters": _parameters(materials)},
        "extras": [{"type": "jiggle", "name": "belly", "joint": "spine", "radius_m": 0.17, "frequency_hz": 3.2, "damping_ratio": 0.22, "amount": 1.0},
                   {"type": "muscle", "name": "biceps_l", "from": "leftUpperArm", "to": "leftLowerArm", "volume_l": 0.18},
                   {"type": "muscle", "name": "biceps_r", "from": "rightUpperArm", "to": "rightLowerArm", "volume_l": 0.18},
                   {"type": "cloth", "name": "cape", "vertices": {"color": 1}, "attach": "upperChest"}],
        "springs": _springs(),
        "controls": {
            "locomotion": {"idle": "Idle", "walk": {"clip": "Walk", "speed_m_s": speed["Walk"]}, "run": {"clip": "Run", "speed_m_s": speed["Run"]},
                           "back": "WalkBack", "strafe_left": "StrafeLeft", "strafe_right": "StrafeRight", "turn_left": "TurnLeft", "turn_right": "TurnRight",
                           "jump": "JumpStart", "fall": "JumpAir", "land": "JumpLand"},
            "actions": {"wave": action("Wave", "torso"), "point": action("Point", "torso"), "sit": action("Sit", fade=0.25), "dance": action("Dance", fade=0.3),
                        "jump": action("JumpStart", fade=0.08)},
            "bindings": {"key:KeyE": "wave", "key:KeyF": "point", "key:KeyC": "sit", "key:KeyB": "dance", "key:Space": "jump",
                         "gamepad:button0": "jump", "gamepad:button2": "wave", "gamepad:button3": "dance", "touch:tap": "wave", "mouse:button0": "goto"},
            "gestures": {"raise_hand": "wave", "jump": "jump", "crouch": "sit"}},
        "body": {"humanoid": "auto"},
    }


def text(rig):
    """JSON with short lists on one line, so that a diff can be read."""
    def put(v, depth):
        pad = "  " * depth
        flat = json.dumps(v)
        if not isinstance(v, (dict, list)) or len(flat) <= 150 or (isinstance(v, list) and v and isinstance(v[0], (int, float))):
            return flat
        if isinstance(v, dict):
            body = ",\n".join(f"{pad}  {json.dumps(k)}: {put(x, depth + 1)}" for k, x in v.items())
            return "{\n" + body + "\n" + pad + "}"
        return "[\n" + ",\n".join(pad + "  " + put(x, depth + 1) for x in v) + "\n" + pad + "]"
    return put(rig, 0) + "\n"

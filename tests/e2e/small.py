"""A small character to be edited in bulk: a bar of two joints with one driver and no examples yet."""
import json
import math

import modeller
from test_sinewd import bar_gltf


def write(folder):
    bar_gltf(folder)
    names = [n.get("name", "") for n in json.loads((folder / "bar.gltf").read_text())["nodes"]]
    joint = "tip" if "tip" in names else names[-2] or f"#{len(names) - 2}"
    rig = {"sinew_rig": 1, "source": "bar.gltf", "unit_m": 1.0,
           "drivers": [{"name": "bend", "joints": [{"joint": joint}], "examples": []}]}
    (folder / "bar.rig.json").write_text(json.dumps(rig))
    return folder / "bar.rig.json", joint


def pose(joint, angle):
    return {"joints": {joint: {"rotation": [0, 0, math.sin(angle / 2), math.cos(angle / 2)]}}}


def add_example(m, model, joint, name, angle):
    """Makes and publishes an example; its grant is let go."""
    r = m.ask("POST", f"/v1/models/{model}/examples", {"driver": "bend", "name": name, "pose": pose(joint, angle)})
    assert r.status == 201, r.body
    m.grant, m.fence = r.json()["grant"], str(r.json()["fence"])
    while True:
        r = m.publish(model, "bend:" + name)
        if r.status != 412:
            break
    assert r.status == 201, r.body
    r = m.ask("DELETE", m.item(model, "bend:" + name, "/edit"), **m.held())
    assert r.status == 204, r.body


__all__ = ["write", "pose", "add_example", "modeller"]

"""Parts of the add-on that differ between the series of Blender, on stand-ins for later ones.

Blender 4.4 and 4.5 have actions with layers and slots, whose `fcurves` are those of the first slot;
5.0 has no `fcurves` any more.
"""
import os
import re
import types

import bpy
import numpy as np
from support import check


class Curve:
    def __init__(self, path, points=()):
        self.data_path, self.array_index, self.mute, self.group = path, 0, False, None
        self.points = [tuple(p) for p in points]
        self.keyframe_points = self

    def __iter__(self):
        return iter([types.SimpleNamespace(co=types.SimpleNamespace(x=x, y=y))
                     for x, y in self.points])

    def add(self, count):
        self.points = [(0.0, 0.0)] * count

    def foreach_set(self, name, values):
        if name == "co":
            self.points = [tuple(row) for row in np.asarray(values, float).reshape(-1, 2)]

    def evaluate(self, frame):
        return float(np.interp(frame, *zip(*self.points)))

    def update(self):
        pass


class Curves(list):
    def new(self, path, index=0):
        self.append(Curve(path))
        return self[-1]


class Strip:
    def __init__(self):
        self.bags = {}

    def channelbag(self, slot, ensure=False):
        if slot not in self.bags and ensure:
            self.bags[slot] = types.SimpleNamespace(fcurves=Curves(), slot=slot)
        return self.bags.get(slot)


class Layers(list):
    def new(self, name):
        strips = type("Strips", (list,), {"new": lambda self, type: (self.append(Strip()),
                                                                     self[-1])[1]})()
        self.append(types.SimpleNamespace(name=name, strips=strips))
        return self[-1]


class Slots(list):
    def new(self, id_type, name):
        self.append(f"{id_type}{name}")
        return self[-1]


class Layered:
    """An action of Blender 5.0."""

    def __init__(self, name):
        self.name, self.layers, self.slots, self.use_fake_user = name, Layers(), Slots(), False


class Both(Layered):
    """An action of Blender 4.4: `fcurves` are those of the first slot."""

    @property
    def fcurves(self):
        return self.layers[0].strips[0].bags[self.slots[0]].fcurves


def block(name):
    return types.SimpleNamespace(name=name, value=0.25, mute=False, slider_min=0.0, slider_max=1.0,
                                 path_from_id=lambda what: f'key_blocks["{name}"].{what}')


def animated_keys(kind):
    """Keys that share an action with their object, whose slot is the first."""
    action = kind("shared")
    strip = action.layers.new("Layer").strips.new(type="KEYFRAME")
    for slot in (action.slots.new("OBJECT", "face"), action.slots.new("KEY", "face")):
        strip.channelbag(slot, ensure=True)
    strip.bags["OBJECTface"].fcurves.append(Curve("location", [(1, 5), (9, 7)]))
    strip.bags["KEYface"].fcurves.append(Curve('key_blocks["jaw"].value', [(1, 0), (5, 1)]))
    basis = block("Basis")
    data = types.SimpleNamespace(action=action, action_slot="KEYface", drivers=[], nla_tracks=[])
    return types.SimpleNamespace(name="face", key_blocks=[basis, block("jaw"), block("brow")],
                                 reference_key=basis, animation_data=data)


def check_actions(kind, series):
    from sinew_blender import animation, shapes
    keys = animated_keys(kind)
    data, action = keys.animation_data, keys.animation_data.action
    check(f"{series}: curves are those of the keys' own slot",
          [c.data_path for c in animation.curves_of(keys)] == ['key_blocks["jaw"].value'])
    rows = shapes.whole(animation.sampled(keys, [1, 3, 5], None))
    check(f"{series}: F-curves of a slot are sampled",
          np.abs(rows - [[0, 0.25], [0.5, 0.25], [1, 0.25]]).max() < 1e-6)
    check(f"{series}: keyframes of a slot are found", animation.key_frames(keys, [1, 2, 3, 4, 5, 6])
          == [1, 5, 6])
    animation.remove_curve(keys, "location")
    animation.remove_curve(keys, 'key_blocks["jaw"].value')
    bags = action.layers[0].strips[0].bags
    check(f"{series}: curves are removed from the keys' slot only",
          len(bags["OBJECTface"].fcurves) == 1 and not bags["KEYface"].fcurves)

    real, made = animation.bpy, []
    animation.bpy = types.SimpleNamespace(data=types.SimpleNamespace(actions=types.SimpleNamespace(
        new=lambda name: (made.append(kind(name)), made[-1])[1])))
    try:
        written = animation.write_action(keys, "new", [1, 2], np.array([[0.1, 0.2], [0.3, 0.4]]))
    finally:
        animation.bpy = real
    check(f"{series}: a new action gets a slot for the keys, and the old one is kept",
          data.action is written and data.action_slot in written.slots
          and data.action_slot.startswith("KEY") and action.use_fake_user)
    check(f"{series}: its curves are in that slot",
          [(c.data_path, np.round(c.points, 5).tolist()) for c in animation.curves_of(keys)]
          == [('key_blocks["jaw"].value', [[1, 0.1], [2, 0.3]]),
              ('key_blocks["brow"].value', [[1, 0.2], [2, 0.4]])])
    data.action_slot = None
    check(f"{series}: an action without a slot has no curves", animation.curves_of(keys) == [])
    data.action = None
    check(f"{series}: no action, no curves", animation.curves_of(keys) == [])


# Removed or renamed between 3.4 and 5.0: what the add-on must not use, and where it may.
REMOVED = {r"\bcalc_normals": (), r"auto_smooth": (), r"\bbgl\b": (), r"3D_UNIFORM_COLOR": (),
           r"2D_UNIFORM_COLOR": (), r"BLENDER_EEVEE": (), r"\.fcurves": ("animation.py",),
           r"face_maps": (), r"vertex_colors": (), r"bpy\.ops\.[\w.]+\(\s*(?:context|override)": (),
           r"\.inputs\.new|\.outputs\.new": (), r"bone\.layers|use_proxy|\.proxy": (),
           r"create_normals_split|calc_normals_split|free_normals_split": (),
           r"bl_info\[": (), r"addons\[": (), r"asset_data": (), r"np\.(?:float|int|bool)\b": (),
           r"\.ptp\(\)": (), r"module=\"sinew": (), r"import sinew\b": ()}


def check_names():
    from sinew_blender import shapes
    folder = os.path.dirname(shapes.__file__)
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".py"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        found = [pattern for pattern, allowed in REMOVED.items()
                 if name not in allowed and re.search(pattern, text)]
        check(f"{name} uses nothing that later series removed" + (f" ({found})" if found else ""),
              not found)


def check_points():
    from sinew_blender import shapes
    data, points = object(), object()
    check("points of keys are read as a whole where Blender can",
          shapes.points_of(types.SimpleNamespace(data=data, points=points)) is points
          and shapes.points_of(types.SimpleNamespace(data=data)) is data)


def check_icon():
    from sinew_blender import grab
    here = grab.tool_icon()
    real = grab.os
    grab.os = types.SimpleNamespace(path=types.SimpleNamespace(
        join=os.path.join, exists=lambda path: "brush" not in path))
    try:
        later = grab.tool_icon()
        grab.os.path.exists = lambda path: False
        none = grab.tool_icon()
    finally:
        grab.os = real
    folder = bpy.utils.system_resource("DATAFILES", path="icons")
    check("the tool has an icon in every series",
          os.path.exists(os.path.join(folder, here + ".dat"))
          and (later, none) == ("ops.transform.translate", "none"))


def run():
    check_actions(Both, "4.4")
    check_actions(Layered, "5.0")
    check_points()
    check_icon()
    check_names()

"""What cannot be solved is reported, and nothing is changed."""
import os

import bpy
import numpy as np
from addon_safety import differing, snapshot
from support import (activate, add_group, check, coordinates, folder, make_object, report_of, rig_of,
                     shown)

# Operators that do not need shape keys that can be solved: they report another reason, or remove
# what is not there.
OTHERS = {"remove", "lock_remove"}
ARGUMENTS = {"bake_frames": {"target": "KEYS"}, "select_key": {"key": "bend120"},
             "lock_add": {"group": "hold"}}


def refused(what, obj, words, change, undo):
    """Every operator reports the reason and changes nothing."""
    change()
    before = snapshot(obj)
    objects, locks = len(bpy.data.objects), len(obj.sinew.locks)
    for name in dir(bpy.ops.sinew):
        report = report_of(lambda: getattr(bpy.ops.sinew, name)(**ARGUMENTS.get(name, {})))
        lost = differing(before, snapshot(obj))
        good = name in OTHERS or words in report and "FINISHED" not in report
        check(f"{what}: '{name}' reports and changes nothing"
              + ("" if good and not lost else f" ({lost} {report})"),
              good and not lost and "Traceback" not in report
              and (objects, locks) == (len(bpy.data.objects), len(obj.sinew.locks)))
    obj.sinew.live = True
    from sinew_blender import live
    live.tick()
    check(f"{what}: live shows the reason in the panel",
          words in live.messages.get(obj.name, "") and not differing(before, snapshot(obj)))
    obj.sinew.live = False
    undo()


def check_refusals(sinew):
    obj = make_object(sinew.sample("bar", vertices=1000), "refused", ("bend120",))
    add_group(obj, "hold", range(20))
    keys = obj.data.shape_keys
    keys.key_blocks["bend120"].value = 0.5

    refused("edit mode", obj, "Edit Mode", lambda: bpy.ops.object.mode_set(mode="EDIT"),
            lambda: bpy.ops.object.mode_set(mode="OBJECT"))
    bare = bpy.data.objects.new("bare", bpy.data.meshes.new("bare"))
    bpy.context.collection.objects.link(bare)
    activate(bare)
    refused("no shape keys", bare, "no shape keys", lambda: None, lambda: activate(obj))

    def absolute(on):
        keys.use_relative = not on
    refused("absolute keys", obj, "Relative", lambda: absolute(True), lambda: absolute(False))

    def scale(*by):
        obj.scale = by
        bpy.context.view_layer.update()
    refused("non-uniform scale", obj, "non-uniform scale", lambda: scale(1, 2, 1),
            lambda: scale(1, 1, 1))

    other = make_object(sinew.sample("bar", vertices=1000), "mismatch", ("bend120",))
    refused("another number of vertices", other, "but the mesh has",
            lambda: other.data.vertices.add(1),  # as a script does that forgets the keys
            lambda: activate(obj))

    scale(0.01, 0.01, 0.01)
    bpy.ops.sinew.solve()
    small = coordinates(keys.key_blocks["Sinew"])
    scale(1, 1, 1)
    bpy.ops.sinew.remove()
    bpy.ops.sinew.solve()
    usual = coordinates(keys.key_blocks["Sinew"])
    check("an object scale of 0.01 gives the same shape", np.abs(small - usual).max() < 1e-6)
    bpy.ops.sinew.remove()

    obj.sinew.model = "rotation"
    report = report_of(lambda: bpy.ops.sinew.bake_frames(filepath="/nowhere/at/all.pc2"))
    check("a path that cannot be written is reported", "/nowhere" in report)
    report = report_of(lambda: bpy.ops.sinew.bake_frames(filepath="//x.pc2"))
    check("a relative path in an unsaved file is reported", "Save the Blender file" in report)
    report = report_of(bpy.ops.sinew.lock_animation)
    check("locks without a lock are reported", "no locks" in report)
    report = report_of(lambda: bpy.ops.sinew.select_key(key="gone"))
    check("a key that is gone is reported", "gone" in report)
    report = report_of(lambda: bpy.ops.sinew.grab(origin=(50, 50, 50)))
    check("a grab that misses is reported", "does not hit" in report)


def data_counts():
    """Data-blocks of the file, of every kind that an operator could add."""
    return {kind: len(getattr(bpy.data, kind)) for kind in (
        "objects", "meshes", "actions", "collections", "materials", "shape_keys", "scenes")}


def in_meters(sinew, rig, model, weights):
    """The library's own answer for the rig converted to meters, in centimeters again."""
    small = sinew.Rig(sinew.Mesh(0.01 * rig.neutral.positions, rig.neutral.faces))
    for name in rig.targets:
        small.add_pose(name, 0.01 * rig.shape(name))
    session = sinew.Session({"rig": {"unit": "m"}}, rig=small, model=model)
    return 100 * session.solve(weights).positions


def check_centimeters(sinew):
    """A mesh in centimeters, as game rigs are: the answer is the library's in meters, on the key or
    on the preview, and the file gains nothing else."""
    bpy.context.scene.unit_settings.scale_length = 0.01
    obj = make_object(sinew.sample("bar", vertices=1000), "game", ("bend120",))
    obj.data.shape_keys.key_blocks["bend120"].value = 0.5
    rig = rig_of(sinew, obj)
    for model in ("rotation", "spring"):
        expected = in_meters(sinew, rig, model, {"bend120": 0.5})
        obj.sinew.model, obj.sinew.show = model, "KEY"
        before, counts = snapshot(obj, ["Sinew"]), data_counts()
        report = report_of(bpy.ops.sinew.solve)
        off = np.abs(shown(obj) - expected).max() / np.ptp(expected, axis=0).max()
        check(f"{model}: in centimeters the key shows the library's answer in meters ({off:.1e} off), "
              "with a report, and nothing else changes", off < 1e-5 and "lengths are in cm" in report
              and counts == data_counts() and not differing(before, snapshot(obj, ["Sinew"])))
        bpy.ops.sinew.remove()
        obj.sinew.show = "PREVIEW"
        before, counts = snapshot(obj), data_counts()
        report_of(bpy.ops.sinew.solve)
        off = np.abs(shown(obj.sinew.preview) - expected).max() / np.ptp(expected, axis=0).max()
        counts["objects"], counts["meshes"] = counts["objects"] + 1, counts["meshes"] + 1
        check(f"{model}: so does the preview ({off:.1e} off), which is all that is added",
              off < 1e-5 and counts == data_counts() and not differing(before, snapshot(obj)))
        bpy.ops.sinew.remove()
    bpy.context.scene.unit_settings.scale_length = 1


def check_unit(sinew):
    """Unit scale 0.01: a report, the shape of unit scale 1, and nothing else is changed."""
    units, scene = bpy.context.scene.unit_settings, bpy.context.scene
    obj = make_object(sinew.sample("bar", vertices=1000), "centimeters", ("bend120",))
    keys = obj.data.shape_keys
    for frame, value in ((1, 0.0), (4, 1.0)):
        keys.key_blocks["bend120"].value = value
        keys.key_blocks["bend120"].keyframe_insert("value", frame=frame)
    scene.frame_start, scene.frame_end = 1, 6
    scene.frame_set(3)
    path = os.path.join(folder, "unit.pc2")

    def solve():
        report = report_of(bpy.ops.sinew.solve)
        return report, coordinates(keys.key_blocks["Sinew"])

    def frames():
        report = report_of(lambda: bpy.ops.sinew.bake_frames(filepath=path))
        found = sinew.Frames.read(path)
        return report, np.array([found[k] for k in range(len(found))])

    for model, act in (("rotation", solve), ("spring", solve), ("modal", frames),
                       ("force", frames)):
        obj.sinew.model = model
        units.scale_length = 1
        report, usual = act()
        check(f"{model}: unit scale 1 needs no report", "unit scale" not in report)
        units.scale_length = 0.01
        before = snapshot(obj, ["Sinew"])
        report, found = act()
        off = np.abs(found - usual).max()
        check(f"{model}: unit scale 0.01 is reported, gives the same shape ({off:.1e} off) and "
              "changes nothing else", "Warning" in report and "lengths are in cm" in report
              and off < 1e-6 and not differing(before, snapshot(obj, ["Sinew"])))
        bpy.ops.sinew.remove()
    units.scale_length = 0.37
    obj.sinew.model = "rotation"
    check("an unknown unit scale is reported", "not a known unit" in solve()[0])
    bpy.ops.sinew.remove()
    units.scale_length = 1


def check_settings_file(sinew):
    """Settings survive a file, and loading one while live is on is safe."""
    obj = bpy.data.objects["refused"]
    activate(obj)
    obj.sinew.model = "spring"
    obj.sinew.live = True
    path = os.path.join(folder, "kept.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    obj = bpy.data.objects["refused"]
    check("settings are stored in the file", obj.sinew.model == "spring" and obj.sinew.live)
    obj.sinew.live = False


def run():
    from sinew_blender import shapes
    sinew = shapes.library()
    check_refusals(sinew)
    check_centimeters(sinew)
    check_unit(sinew)
    check_settings_file(sinew)

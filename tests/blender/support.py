"""What the checks of the add-on share: the count, objects with shape keys, and vertices as shown."""
import contextlib
import io
import os
import sys

import bpy
import numpy as np

folder = sys.argv[sys.argv.index("--") + 1]
module = "sinew_blender"
counts = {"passed": 0, "failed": 0}


def check(what, good):
    counts["passed" if good else "failed"] += 1
    print(f"[{'OK' if good else 'FAILED'}] {what}", flush=True)


def end():
    """Prints the counts; leaves Blender with an error if a check failed."""
    print(f"[  PASSED  ] {counts['passed']} test(s).")
    if counts["failed"]:
        print(f"[  FAILED  ] {counts['failed']} test(s).")
    sys.stdout.flush()
    return 1 if counts["failed"] else 0


def install():
    """Installs and enables the zip: as an extension where Blender has them."""
    global module
    archive = os.path.join(folder, "sinew-blender.zip")
    if bpy.app.version < (4, 2):
        bpy.ops.preferences.addon_install(filepath=archive)
        bpy.ops.preferences.addon_enable(module=module)
        return
    bpy.ops.extensions.package_install_files(filepath=archive, repo="user_default",
                                             enable_on_install=True)
    module = "bl_ext.user_default.sinew_blender"
    for name, found in list(sys.modules.items()):  # for the checks, which know its own name
        if name.startswith(module):
            sys.modules[name[len("bl_ext.user_default."):]] = found


def disable():
    bpy.ops.preferences.addon_disable(module=module)


def report_of(call):
    """What an operator reports, and what it returns."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result = str(call())
        except RuntimeError as error:
            result = str(error)
    return result + printed.getvalue()


def coordinates(block):
    points = np.empty(3 * len(block.data), np.float32)
    block.data.foreach_get("co", points)
    return points.reshape(-1, 3)


def shown(obj):
    """Vertices as Blender evaluates them, modifiers included."""
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    points = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", points)
    evaluated.to_mesh_clear()
    return points.reshape(-1, 3)


def curves_of(action, slot=None):
    """F-curves of an action; since 4.4 those of a slot, or of all of them. Independent of the
    add-on."""
    if not hasattr(action, "layers"):
        return list(action.fcurves)
    bags = [bag for layer in action.layers for strip in layer.strips for bag in strip.channelbags]
    return [curve for bag in bags if slot is None or bag.slot == slot for curve in bag.fcurves]


def activate(obj):
    bpy.context.view_layer.update()
    for other in bpy.context.view_layer.objects:
        if other is not None:  # removed since the last update
            other.select_set(other == obj)
    bpy.context.view_layer.objects.active = obj


def make_object(rig, name, targets=None):
    """A mesh object with a shape key per target, active."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(rig.neutral.positions.tolist(), [], [f.tolist() for f in rig.neutral.faces])
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.collection.objects.link(obj)
    obj.shape_key_add(name="Basis")
    for target in rig.targets if targets is None else targets:
        block = obj.shape_key_add(name=target, from_mix=False)
        block.value = 0  # since 5.0 it is 1
        block.data.foreach_set("co", rig.shape(target).astype(np.float32).ravel())
    activate(obj)
    bpy.context.view_layer.update()
    return obj


def rig_of(sinew, obj):
    """The same keys as a rig, made without the add-on."""
    keys = obj.data.shape_keys
    faces = [list(p.vertices) for p in obj.data.polygons]
    rig = sinew.Rig(sinew.Mesh(coordinates(keys.key_blocks[0]), faces))
    for block in keys.key_blocks[1:]:
        if not block.name.startswith("Sinew"):
            rig.add_pose(block.name, coordinates(block))
    return rig


def settle(live, obj):
    """Runs the timer until the object is solved."""
    for _ in range(2000):
        if live.tick() is None:
            return live._followers.get(obj.name)
        follower = live._followers.get(obj.name)
        if follower and follower.thread:
            follower.thread.join()
    raise RuntimeError("the add-on does not settle")


def add_group(obj, name, vertices, weight=1.0):
    group = obj.vertex_groups.new(name=name)
    group.add([int(v) for v in vertices], weight, "REPLACE")
    return group

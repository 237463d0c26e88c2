"""What the artist made survives every operator; what cannot be solved is reported and unchanged."""
import os

import bpy
import numpy as np
from support import activate, add_group, check, coordinates, folder, make_object, report_of, shown


def curves(block):
    data = block.animation_data
    if data is None:
        return None
    found = [(c.data_path, c.array_index, [tuple(p.co) for p in c.keyframe_points])
             for c in (data.action.fcurves if data.action else ())]
    drivers = [(d.data_path, d.driver.expression, [(v.name, v.targets[0].data_path)
                                                   for v in d.driver.variables])
               for d in data.drivers]
    return found, drivers, data.action.name if data.action else None


def snapshot(obj, own=()):
    """Everything that belongs to the artist. `own`: names of keys that the add-on may add."""
    keys, mesh = obj.data.shape_keys, obj.data
    blocks = [b for b in keys.key_blocks if b.name not in own] if keys else []
    points = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", points)
    found = {
        "vertices": points.tobytes(), "faces": [tuple(p.vertices) for p in mesh.polygons],
        "names": [b.name for b in blocks],
        "shapes": [coordinates(b).tobytes() for b in blocks],
        "values": [(b.value, b.slider_min, b.slider_max, b.mute, b.vertex_group,
                    b.relative_key.name) for b in blocks],
        "materials": [slot.material.name if slot.material else None
                      for slot in obj.material_slots],
        "indices": [p.material_index for p in mesh.polygons],
        "modifiers": [(m.name, m.type, m.show_viewport) for m in obj.modifiers],
        "groups": [g.name for g in obj.vertex_groups],
        "layers": [layer.name for layer in mesh.uv_layers],
        "matrix": [tuple(row) for row in obj.matrix_world],
        "object animation": curves(obj), "mode": obj.mode,
        "unit": bpy.context.scene.unit_settings.scale_length,
        "frame": bpy.context.scene.frame_current,
    }
    if keys:
        animated, drivers, action = curves(keys) or ([], [], None)
        mine = tuple(f'key_blocks["{name}"]' for name in own)
        found["animation"] = ([c for c in animated if not c[0].startswith(mine)] if mine
                              else animated)
        found["drivers"] = [d for d in drivers if not mine or not d[0].startswith(mine)]
        found["action"] = action
    return found


def differing(before, after):
    return [name for name in before if before[name] != after[name]]


def artist_object(sinew, name):
    """A bar with everything that could get lost."""
    obj = make_object(sinew.sample("bar", vertices=1000), name, ("bend120", "twist1", "bend180"))
    mesh, keys = obj.data, obj.data.shape_keys
    mesh.uv_layers.new(name="UV")
    for color in ("skin", "nail"):
        mesh.materials.append(bpy.data.materials.new(color))
    for polygon in list(mesh.polygons)[:50]:
        polygon.material_index = 1
    keys.key_blocks["twist1"].slider_max = 2
    keys.key_blocks["bend180"].relative_key = keys.key_blocks["bend120"]
    driver = keys.key_blocks["twist1"].driver_add("value").driver
    variable = driver.variables.new()
    variable.name = "b"
    variable.targets[0].id_type, variable.targets[0].id = "KEY", keys
    variable.targets[0].data_path = 'key_blocks["bend120"].value'
    driver.expression = "0.2 * b"
    for frame, value in ((1, 0.1), (4, 0.8)):
        keys.key_blocks["bend120"].value = value
        keys.key_blocks["bend120"].keyframe_insert("value", frame=frame)
        obj.location.x = frame
        obj.keyframe_insert("location", frame=frame)
    add_group(obj, "hold", range(30))
    armature = bpy.data.objects.new("rig " + name, bpy.data.armatures.new("rig"))
    bpy.context.scene.collection.objects.link(armature)
    obj.modifiers.new("Mirror", "MIRROR")
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    obj.modifiers.new("Subdivision", "SUBSURF")
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 4
    scene.frame_set(2)
    return obj


def own_keys(obj, before):
    return [b.name for b in obj.data.shape_keys.key_blocks if b.name not in before["names"]]


def check_survival(sinew):
    obj = artist_object(sinew, "kept")
    cache = os.path.join(folder, "kept.pc2")

    def calls():
        ops = bpy.ops.sinew
        for model in ("rotation", "spring"):
            yield f"solve, {model}", model, ops.solve
            yield f"bake to a cache, {model}", model, lambda: ops.bake_frames(filepath=cache)
            yield f"bake to keys, {model}", model, lambda: ops.bake_frames(target="KEYS")
        for model in ("modal", "force"):
            yield f"bake to a cache, {model}", model, lambda: ops.bake_frames(filepath=cache)
            yield f"bake to keys, {model}", model, lambda: ops.bake_frames(target="KEYS")
        yield "remove", "rotation", ops.remove
        yield "add a lock", "rotation", lambda: ops.lock_add(group="hold")
        yield "solve with a lock", "rotation", ops.solve
        yield "remove a lock", "rotation", ops.lock_remove
        yield "find interference", "rotation", ops.interference
        yield "select a key", "rotation", lambda: ops.select_key(key="bend180")
        yield "bake correctives", "rotation", ops.bake_correctives

    for what, model, call in calls():
        obj.sinew.model = model
        before = snapshot(obj, own_keys(obj, {"names": ["Basis", "bend120", "twist1", "bend180"]}))
        result = report_of(call)
        after = snapshot(obj, own_keys(obj, before))
        lost = differing(before, after)
        check(f"everything survives: {what}" + (f" (not {', '.join(lost)})" if lost else ""),
              "FINISHED" in result and not lost)
        report_of(bpy.ops.sinew.remove)


def check_face_survival(sinew):
    """Operators that need a face. Curves of locks and takes go into a new action; the artist's own
    is kept."""
    obj = make_object(sinew.sample("face", vertices=1000), "kept face",
                      ("jawOpen", "mouthSmileLeft", "mouthSmileRight", "browInnerUp",
                       "eyeBlinkLeft", "eyeBlinkRight"))
    keys, scene = obj.data.shape_keys, bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 3
    scene.frame_set(1)
    for frame, value in ((1, 0.0), (3, 0.5)):
        keys.key_blocks["jawOpen"].value = value
        keys.key_blocks["jawOpen"].keyframe_insert("value", frame=frame)
    scene.frame_set(1)
    path = os.path.join(folder, "short.csv")
    take, where = sinew.sample_markers("face", vertices=1000)
    sinew.Markers(take.names, take.times[:10], take.positions[:10]).write(path)
    obj.sinew.take = path
    cache = os.path.join(folder, "face.pc2")
    original = keys.animation_data.action.name
    curves_before = curves(keys)[0]
    ops = bpy.ops.sinew
    for what, model, call, allowed in (
            ("find interference", "rotation", lambda: ops.interference(limit=20), ()),
            ("find a map", "fit", ops.find_map, ()),
            ("add a lock", "rotation", lambda: ops.lock_add(group="skin"), ()),
            ("apply locks", "rotation", ops.lock_animation,
             ("animation", "action", "values")),
            ("bake a take", "fit", lambda: ops.bake_frames(filepath=cache),
             ("animation", "action", "values"))):
        if what == "add a lock":
            add_group(obj, "skin", range(50))
        obj.sinew.model = model
        before = snapshot(obj)
        result = report_of(call)
        lost = [name for name in differing(before, snapshot(obj)) if name not in allowed]
        kept = bpy.data.actions.get(original)
        same = kept is not None and curves_before == [
            (c.data_path, c.array_index, [tuple(p.co) for p in c.keyframe_points])
            for c in kept.fcurves]
        check(f"everything survives: {what}" + (f" (not {', '.join(lost)})" if lost else ""),
              "FINISHED" in result and not lost and same)


def check_modifiers(sinew):
    """Modifiers act on the physical shape of the base mesh."""
    obj = make_object(sinew.sample("bar", vertices=1000), "modified", ("bend120",))
    obj.data.shape_keys.key_blocks["bend120"].value = 0.5
    bpy.ops.sinew.solve()
    plain, count = shown(obj), len(obj.data.vertices)
    for kind in ("MIRROR", "SUBSURF", "ARMATURE"):
        obj.modifiers.clear()
        modifier = obj.modifiers.new(kind, kind)
        if kind == "MIRROR":
            modifier.use_axis = (False, True, False)
            modifier.use_mirror_merge = False
        if kind == "ARMATURE":
            modifier.object = next(o for o in bpy.data.objects if o.type == "ARMATURE")
        bpy.ops.sinew.remove()
        good = bpy.ops.sinew.solve() == {"FINISHED"} and len(obj.data.vertices) == count
        modifier.show_viewport = False
        base = shown(obj)
        modifier.show_viewport = True
        good = good and np.abs(base - plain).max() < 1e-6
        if kind == "MIRROR":
            good = good and np.abs(shown(obj)[:count] - plain).max() < 1e-6
        check(f"a mesh with {kind} is solved on its base shape", good)


def refused(what, obj, words, change, undo, calls=None):
    change()
    before = snapshot(obj)
    ops = bpy.ops.sinew
    calls = calls or {"solve": ops.solve, "bake": lambda: ops.bake_frames(target="KEYS"),
                      "correctives": ops.bake_correctives, "interference": ops.interference,
                      "lock": ops.lock_add}
    for name, call in calls.items():
        report = report_of(call)
        check(f"{what}: '{name}' reports and changes nothing",
              any(w in report for w in words) and "Traceback" not in report
              and not differing(before, snapshot(obj)))
    undo()


def check_refusals(sinew):
    obj = make_object(sinew.sample("bar", vertices=1000), "refused", ("bend120",))
    add_group(obj, "hold", range(20))
    keys = obj.data.shape_keys
    keys.key_blocks["bend120"].value = 0.5

    refused("edit mode", obj, ["Edit Mode"], lambda: bpy.ops.object.mode_set(mode="EDIT"),
            lambda: bpy.ops.object.mode_set(mode="OBJECT"))
    bare = bpy.data.objects.new("bare", bpy.data.meshes.new("bare"))
    bpy.context.collection.objects.link(bare)
    activate(bare)
    refused("no shape keys", bare, ["no shape keys"], lambda: None, lambda: activate(obj))

    def absolute(on):
        keys.use_relative = not on
    refused("absolute keys", obj, ["Relative"], lambda: absolute(True), lambda: absolute(False))

    def scale(*by):
        obj.scale = by
        bpy.context.view_layer.update()
    refused("non-uniform scale", obj, ["non-uniform scale"], lambda: scale(1, 2, 1),
            lambda: scale(1, 1, 1))

    import bmesh
    other = make_object(sinew.sample("bar", vertices=1000), "mismatch", ("bend120",))

    def add_vertex():  # as a script does that forgets the keys
        other.data.vertices.add(1)
    refused("another number of vertices", other, ["but the mesh has"], add_vertex, lambda: None)
    del bmesh
    activate(obj)

    scale(0.01, 0.01, 0.01)
    bpy.ops.sinew.solve()
    small = coordinates(keys.key_blocks["Sinew"])
    scale(1, 1, 1)
    bpy.ops.sinew.remove()
    bpy.ops.sinew.solve()
    usual = coordinates(keys.key_blocks["Sinew"])
    check("an object scale of 0.01 gives the same shape", np.abs(small - usual).max() < 1e-6)
    bpy.ops.sinew.remove()
    from sinew_blender import shapes
    units = bpy.context.scene.unit_settings
    units.scale_length = 0.01
    before = snapshot(obj)
    bpy.ops.sinew.solve()
    check("unit scale 0.01 gives the same shape and changes nothing else",
          np.abs(coordinates(keys.key_blocks["Sinew"]) - usual).max() < 1e-6
          and not differing(before, snapshot(obj, ["Sinew"])))
    unit, note = shapes.unit_of(bpy.context.scene)
    check("unit scale 0.01 is reported as centimeters", unit == "cm" and "in cm" in note)
    units.scale_length = 1
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
    check_survival(sinew)
    check_face_survival(sinew)
    check_modifiers(sinew)
    check_refusals(sinew)
    check_settings_file(sinew)

"""What the artist made survives every operator, and modifiers act on the result."""
import os

import bpy
import numpy as np
from support import (activate, add_group, check, coordinates, curves_of, folder, make_object,
                     report_of, shown)


def curves(block):
    data = block.animation_data
    if data is None:
        return [], [], None
    found = [(c.data_path, c.array_index, [(*p.co, p.interpolation) for p in c.keyframe_points])
             for c in (curves_of(data.action, getattr(data, "action_slot", None))
                       if data.action else ())]
    drivers = [(d.data_path, d.driver.expression, [(v.name, v.targets[0].data_path)
                                                   for v in d.driver.variables])
               for d in data.drivers]
    return found, drivers, data.action.name if data.action else None


def setting(value):
    """A property's value that can be compared: data-blocks by name, vectors as tuples."""
    if isinstance(value, bpy.types.ID):
        return value.name
    return tuple(value) if hasattr(value, "__len__") and not isinstance(value, str) else value


def snapshot(obj, own=()):
    """Everything that belongs to the artist. `own`: names of keys that the add-on may add."""
    keys, mesh = obj.data.shape_keys, obj.data
    blocks = [b for b in keys.key_blocks if b.name not in own] if keys else []
    points = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", points)
    found = {
        "object": (obj.name, mesh.name, obj.parent, len(obj.constraints), obj.hide_viewport),
        "vertices": points.tobytes(), "faces": [tuple(p.vertices) for p in mesh.polygons],
        "edges": [tuple(e.vertices) for e in mesh.edges],
        "names": [b.name for b in blocks],
        "shapes": [coordinates(b).tobytes() for b in blocks],
        "values": [b.value for b in blocks],
        "keys": [(b.slider_min, b.slider_max, b.mute, b.vertex_group, b.relative_key.name)
                 for b in blocks],
        "materials": [slot.material.name if slot.material else None
                      for slot in obj.material_slots],
        "indices": [(p.material_index, p.use_smooth) for p in mesh.polygons],
        "modifiers": [(m.name, m.type, [setting(getattr(m, p.identifier))
                                        for p in m.bl_rna.properties
                                        if p.type not in ("POINTER", "COLLECTION")
                                        or p.identifier == "object"]) for m in obj.modifiers],
        "groups": [g.name for g in obj.vertex_groups],
        "weights": [[(g.group, g.weight) for g in v.groups] for v in mesh.vertices],
        "layers": [(layer.name, layer.data[0].uv[:]) for layer in mesh.uv_layers],
        "matrix": [tuple(row) for row in obj.matrix_world],
        "object animation": curves(obj), "mode": obj.mode,
        "unit": bpy.context.scene.unit_settings.scale_length,
        "frame": bpy.context.scene.frame_current,
        "range": (bpy.context.scene.frame_start, bpy.context.scene.frame_end),
    }
    if keys:
        animated, drivers, action = curves(keys)
        mine = tuple(f'key_blocks["{name}"]' for name in own)
        found["animation"] = ([c for c in animated if not c[0].startswith(mine)] if mine
                              else animated)
        found["drivers"] = [d for d in drivers if not mine or not d[0].startswith(mine)]
        found["action"] = action
    return found


def differing(before, after):
    return [name for name in before if before[name] != after[name]]


def dressed(obj, first, second, third=None):
    """Adds to an object with shape keys everything that could get lost. `first` is animated,
    `second` driven, and `third` relative to another key."""
    mesh, keys = obj.data, obj.data.shape_keys
    mesh.uv_layers.new(name="UV")
    for color in ("skin", "nail"):
        mesh.materials.append(bpy.data.materials.new(color))
    for polygon in list(mesh.polygons)[:50]:
        polygon.material_index, polygon.use_smooth = 1, True
    keys.key_blocks[second].slider_max = 2
    if third:
        keys.key_blocks[third].relative_key = keys.key_blocks[first]
    driver = keys.key_blocks[second].driver_add("value").driver
    variable = driver.variables.new()
    variable.name = "b"
    variable.targets[0].id_type, variable.targets[0].id = "KEY", keys
    variable.targets[0].data_path = f'key_blocks["{first}"].value'
    driver.expression = "0.2 * b"
    for frame, value in ((1, 0.1), (4, 0.8)):
        keys.key_blocks[first].value = value
        keys.key_blocks[first].keyframe_insert("value", frame=frame)
        obj.location.x = frame
        obj.keyframe_insert("location", frame=frame)
    add_group(obj, "hold", range(30), 0.75)
    armature = bpy.data.objects.new("rig " + obj.name, bpy.data.armatures.new("rig"))
    bpy.context.scene.collection.objects.link(armature)
    obj.modifiers.new("Mirror", "MIRROR").use_axis = (False, True, False)
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 1
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 4
    scene.frame_set(2)
    return obj


def survivals(sinew):
    """Every operator: (object, what, operator, model, call, what may change). Keys that the add-on
    makes are its own; the artist's action is kept in the file when another one replaces it."""
    ops = bpy.ops.sinew
    bar = dressed(make_object(sinew.sample("bar", vertices=1000), "kept",
                              ("bend120", "twist1", "bend180")), "bend120", "twist1", "bend180")
    cache = os.path.join(folder, "kept.pc2")
    for model in ("rotation", "spring", "modal", "force"):
        if model in ("rotation", "spring"):
            yield bar, f"solve, {model}", "solve", model, ops.solve, ()
        yield (bar, f"bake to a cache, {model}", "bake_frames", model,
               lambda: ops.bake_frames(filepath=cache), ())
        yield (bar, f"bake to keys, {model}", "bake_frames", model,
               lambda: ops.bake_frames(target="KEYS"), ())
    yield bar, "remove", "remove", "rotation", lambda: (ops.solve(), ops.remove())[1], ()
    yield bar, "add a lock", "lock_add", "rotation", lambda: ops.lock_add(group="hold"), ()
    yield bar, "solve with a lock", "solve", "rotation", ops.solve, ()
    yield bar, "remove a lock", "lock_remove", "rotation", ops.lock_remove, ()
    yield bar, "bake correctives", "bake_correctives", "rotation", ops.bake_correctives, ()

    face = make_object(sinew.sample("face", vertices=1000), "kept face",
                       ("jawOpen", "mouthSmileLeft", "mouthSmileRight", "browInnerUp",
                        "eyeBlinkLeft", "eyeBlinkRight", "mouthPucker", "mouthFunnel"))
    dressed(face, "jawOpen", "browInnerUp")
    path = os.path.join(folder, "short.csv")
    take, _ = sinew.sample_markers("face", vertices=1000)
    sinew.Markers(take.names, take.times[:10], take.positions[:10]).write(path)
    face.sinew.take = path
    yield (face, "find interference", "interference", "rotation",
           lambda: ops.interference(limit=20), ())
    yield (face, "select a key", "select_key", "rotation",
           lambda: ops.select_key(key="eyeBlinkLeft"), ())
    helped = [i for i, pair in enumerate(face.sinew.pairs) if pair.lock]
    check("a lock helps one of the pairs", bool(helped))
    face.sinew.pair_index = helped[0] if helped else 0
    yield face, "lock a pair", "lock_pair", "rotation", ops.lock_pair, ("groups", "weights")
    yield face, "find a map", "find_map", "fit", ops.find_map, ()
    yield (face, "apply locks", "lock_animation", "rotation", ops.lock_animation,
           ("animation", "action", "values"))
    yield (face, "bake a take", "bake_frames", "fit", lambda: ops.bake_frames(filepath=cache),
           ("animation", "action", "values"))
    neutral = coordinates(face.data.shape_keys.key_blocks[0])
    nose = neutral[np.argmax(neutral[:, 2])] + [0, 0, 1]
    yield (face, "grab", "grab", "rotation",
           lambda: ops.grab(origin=nose, direction=(0, 0, -1), offset=(0, -0.01, 0)), ("values",))


def check_survival(sinew):
    covered, original = set(), {}
    for obj, what, operator, model, call, allowed in survivals(sinew):
        covered.add(operator)
        activate(obj)
        obj.sinew.model = model
        keys = obj.data.shape_keys
        original.setdefault(obj.name, ([b.name for b in keys.key_blocks], curves(keys)[0],
                                       keys.animation_data.action,
                                       getattr(keys.animation_data, "action_slot", None)))
        names, animation, action, slot = original[obj.name]
        before = snapshot(obj)
        result = report_of(call)
        after = snapshot(obj, [b.name for b in keys.key_blocks if b.name not in names])
        lost = [name for name in differing(before, after)
                if name not in allowed or after[name][:len(before[name])] != before[name]
                and name == "groups"]
        kept = [(c.data_path, c.array_index, [(*p.co, p.interpolation) for p in c.keyframe_points])
                for c in curves_of(action, slot) if not c.data_path.startswith('key_blocks["Sinew')]
        good = "FINISHED" in result and not lost and kept == animation
        check(f"everything survives: {what}" + ("" if good else f" ({lost}: {result})"), good)
        if operator in ("solve", "bake_frames"):
            report_of(bpy.ops.sinew.remove)
    registered = set(dir(bpy.ops.sinew))
    check(f"this covers all {len(registered)} operators"
          + (f" (not {registered - covered})" if registered - covered else ""),
          registered == covered and len(registered) > 10)


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
    check_stack(sinew, obj, plain)


def check_stack(sinew, obj, physical):
    """Mirror, a posed armature and subdivision act on the physical shape as on a mesh of it."""
    bpy.ops.sinew.remove()
    obj.modifiers.clear()
    mesh = bpy.data.meshes.new("physical")
    mesh.from_pydata(physical.tolist(), [], [tuple(p.vertices) for p in obj.data.polygons])
    other = bpy.data.objects.new("physical", mesh)
    bpy.context.scene.collection.objects.link(other)
    armature = bpy.data.objects.new("bones", bpy.data.armatures.new("bones"))
    bpy.context.scene.collection.objects.link(armature)
    activate(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    bone = armature.data.edit_bones.new("tip")
    bone.head, bone.tail = (0, 0, 0), (1, 0, 0)
    bpy.ops.object.mode_set(mode="OBJECT")
    armature.pose.bones["tip"].rotation_mode = "XYZ"
    armature.pose.bones["tip"].rotation_euler = (0.4, 0.2, 0.1)
    right = np.flatnonzero(physical[:, 0] > 0)
    for one in (obj, other):
        add_group(one, "tip", right)
        mirror = one.modifiers.new("Mirror", "MIRROR")
        mirror.use_axis, mirror.use_mirror_merge = (False, True, False), False
        one.modifiers.new("Armature", "ARMATURE").object = armature
        one.modifiers.new("Subdivision", "SUBSURF").levels = 1
    activate(obj)
    bpy.ops.sinew.solve()
    a, b = shown(obj), shown(other)
    check(f"Mirror, Armature and Subdivision act on the physical shape ({len(a)} vertices)",
          len(a) > 4 * len(physical) and a.shape == b.shape and np.abs(a - b).max() < 1e-5)
    armature.pose.bones["tip"].rotation_euler = (0, 0, 0)
    bpy.context.view_layer.update()
    check("the pose of the armature mattered", np.abs(shown(obj) - a).max() > 1e-2)


def run():
    from sinew_blender import shapes
    sinew = shapes.library()
    check_survival(sinew)
    check_modifiers(sinew)

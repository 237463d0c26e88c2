"""Locks, grab, interference, maps and markers, compared with the library."""
import os

import bpy
import numpy as np
from support import (add_group, check, curves_of, folder, make_object, report_of, rig_of, settle,
                     shown)


def check_locks(sinew, obj, rig, live):
    keys, scene = obj.data.shape_keys, bpy.context.scene
    neutral = rig.neutral.positions
    chin = np.argsort(rig.shape("jawOpen")[:, 1] - neutral[:, 1])[:30]
    check("a lock needs a vertex group", "vertex group" in report_of(bpy.ops.sinew.lock_add))
    add_group(obj, "hold", chin)
    obj.sinew.model = "rotation"
    check("a lock can be added", bpy.ops.sinew.lock_add(group="hold") == {"FINISHED"})
    keys.key_blocks["jawOpen"].value = 0.8

    def moved():
        return float(np.abs(shown(obj) - neutral)[chin].max())

    bpy.ops.sinew.solve()
    locked = moved()
    scene_locks = {"locks": [{"name": "hold", "weights": {},
                              "select": "v:" + ",".join(map(str, sorted(chin)))}],
                   "attenuation": {"trade": True}}
    session = sinew.Session(scene_locks, rig=rig, model="rotation")
    expected = session.solve({"jawOpen": 0.8}).positions
    check("a locked group is held as the library holds it",
          np.abs(shown(obj) - expected).max() < 1e-4)
    obj.sinew.live = True
    settle(live, obj)
    obj.sinew.locks[0].enabled = False
    settle(live, obj)
    free = moved()
    check(f"live: a lock can be switched off ({locked:.4f} against {free:.4f})",
          locked < 0.6 * free)
    obj.sinew.locks[0].enabled = True
    obj.sinew.lock_strength = 0.0
    settle(live, obj)
    check("live: strength 0 is no lock", abs(moved() - free) < 1e-5)
    for frame, strength in ((1, 0.0), (11, 1.0)):
        obj.sinew.lock_strength = strength
        obj.sinew.keyframe_insert("lock_strength", frame=frame)
    scene.frame_set(1)
    settle(live, obj)
    first = moved()
    scene.frame_set(11)
    settle(live, obj)
    check("live: an F-curve drives the strength of locks",
          abs(first - free) < 1e-5 and abs(moved() - locked) < 1e-5)
    obj.sinew.live = False
    bpy.ops.sinew.remove()

    for frame, value in ((1, 0.0), (11, 0.8)):
        keys.key_blocks["jawOpen"].value = value
        keys.key_blocks["jawOpen"].keyframe_insert("value", frame=frame)
    scene.frame_start, scene.frame_end = 1, 11
    path = os.path.join(folder, "locked.pc2")
    bpy.ops.sinew.bake_frames(filepath=path)
    check("baked frames follow the F-curve of the strength",
          np.abs(sinew.Frames.read(path)[10] - expected).max() < 1e-4)
    original = keys.animation_data.action
    points = [tuple(p.co) for c in curves_of(original) for p in c.keyframe_points]
    check("locks apply to F-curves", bpy.ops.sinew.lock_animation() == {"FINISHED"})
    scene.frame_set(11)
    given = {b.name: b.value for b in keys.key_blocks[1:]}
    wanted = dict(zip(rig.sliders, session.weights({"jawOpen": 0.8})))
    check("the new F-curves hold the library's own weights",
          max(abs(given[name] - wanted[name]) for name in wanted) < 1e-4)
    check("the original action is kept", original.use_fake_user and original.users >= 1
          and [tuple(p.co) for c in curves_of(original) for p in c.keyframe_points] == points)
    keys.animation_data_clear()
    obj.animation_data_clear()
    bpy.ops.sinew.lock_remove()
    check("a lock can be removed", len(obj.sinew.locks) == 0)
    for block in keys.key_blocks[1:]:
        block.value = 0


def check_grab(sinew, obj, rig):
    from sinew_blender import grab, shapes
    keys = obj.data.shape_keys
    neutral, opened = rig.neutral.positions, rig.shape("jawOpen")
    front = neutral[:, 2] > np.quantile(neutral[:, 2], 0.5)
    motion = np.where(front, neutral[:, 1] - opened[:, 1], 0)
    chin = int(np.argmax(motion))
    tool = grab.Grab.of(bpy.context, obj)
    check("a ray beside the mesh grabs nothing", tool.pick([10, 10, 10], [0, 0, 1]) is None)
    point = tool.pick(neutral[chin] + [0, 0, 1], [0, 0, -1])
    vertex = int(tool.vertices[0])
    check("a ray grabs the vertex that it meets",
          point is not None and np.linalg.norm(neutral[vertex] - neutral[chin]) < 0.02)
    offset = 0.5 * (opened - neutral)[vertex]
    weights = tool.drag(offset)
    expected = sinew.Session(rig=rig, model="linear").drag([vertex], [neutral[vertex] + offset])
    check("dragging gives the library's own weights", np.abs(weights - expected).max() < 1e-3)
    tool.apply(weights)
    bpy.context.view_layer.update()
    left = np.linalg.norm(shown(obj)[vertex] - neutral[vertex] - offset)
    check(f"the grabbed vertex follows ({left / np.linalg.norm(offset):.1%} is left)",
          left < 0.25 * np.linalg.norm(offset))
    tool.close()
    tool = grab.Grab.of(bpy.context, obj)
    tool.pick(shown(obj)[vertex].astype(float) + [0, 0, 1], [0, 0, -1], 0.05)
    check("a radius grabs a region", len(tool.vertices) > 3 and tool.influence.max() == 1)
    again = tool.drag([0, 0, 0])
    check("an offset of zero changes nothing", np.abs(again - tool.start_values).max() < 1e-3)
    tool.close()
    driver = keys.key_blocks["jawOpen"].driver_add("value").driver
    driver.expression = "0.3"
    bpy.context.view_layer.update()
    tool = grab.Grab.of(bpy.context, obj)
    tool.pick(shown(obj)[vertex].astype(float) + [0, 0, 1], [0, 0, -1])
    weights = tool.drag([0, -0.01, 0])
    index = [b.name for b in shapes.artist_keys(keys)].index("jawOpen")
    check("a driven key is left to its driver", abs(weights[index] - 0.3) < 1e-6)
    tool.close()
    keys.key_blocks["jawOpen"].driver_remove("value")
    for block in keys.key_blocks[1:]:
        block.value = 0


def check_interference(sinew, obj, rig):
    check("interference is found", bpy.ops.sinew.interference(limit=8) == {"FINISHED"})
    found = sinew.interference(rig, 8)
    pairs = obj.sinew.pairs
    check("the list is the library's", [(p.disturbed, p.disturber) for p in pairs]
          == [(p.disturbed, p.disturber) for p in found])
    bpy.ops.sinew.select_key(key=pairs[0].disturbed)
    first = obj.active_shape_key.name
    bpy.ops.sinew.select_key(key=pairs[0].disturber)
    check("both keys of a pair can be selected",
          (first, obj.active_shape_key.name) == (pairs[0].disturbed, pairs[0].disturber))
    helped = [i for i, pair in enumerate(pairs) if pair.lock]
    if helped:
        obj.sinew.pair_index = helped[0]
        check("the suggested lock is made", bpy.ops.sinew.lock_pair() == {"FINISHED"}
              and len(obj.sinew.locks) == 1)
        bpy.ops.sinew.lock_remove()


def write_factors(path, factors):
    np.savetxt(path, np.column_stack([np.arange(len(factors)), factors]), fmt=("%d", "%.9g"),
               delimiter=",", header="vertex,value", comments="")
    return path


def check_maps(sinew):
    obj = make_object(sinew.sample("bar", vertices=1000), "painted", ("bend120",))
    rig, keys = rig_of(sinew, obj), obj.data.shape_keys
    right = np.flatnonzero(rig.neutral.positions[:, 0] > 0)
    group = add_group(obj, "painted", range(rig.vertex_count), 0.5)
    group.add([int(v) for v in right], 1.0, "REPLACE")
    factors = np.ones(rig.vertex_count)
    factors[right] = 4
    path = write_factors(os.path.join(folder, "factors.csv"), factors)
    keys.key_blocks["bend120"].value = 0.5
    obj.sinew.model, obj.sinew.gravity = "spring", (0, -0.02, 0)
    bpy.ops.sinew.solve()
    plain = shown(obj)
    gravity = {"gravity": [float(np.float32(g)) for g in (0, -0.02, 0)]}
    for setting, parameter in (("stiffness_group", "stiffness_map"), ("mass_group", "mass_map")):
        setattr(obj.sinew, setting, "painted")
        bpy.ops.sinew.solve()
        expected = sinew.Session({"parameters": {**gravity, parameter: path}}, rig=rig,
                                 model="spring").solve({"bend120": 0.5}).positions
        check(f"spring: a vertex group is the {parameter}",
              np.abs(shown(obj) - expected).max() < 1e-4
              and np.abs(plain - expected).max() > 1e-3)
        setattr(obj.sinew, setting, "")
    bpy.ops.sinew.remove()
    for frame, value in ((1, 0.0), (4, 1.0)):
        keys.key_blocks["bend120"].value = value
        keys.key_blocks["bend120"].keyframe_insert("value", frame=frame)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 6
    rate = scene.render.fps / scene.render.fps_base
    values = [float(np.float32(curves_of(keys.animation_data.action)[0].evaluate(f)))
              for f in range(1, 7)]
    drive = {"curves": {"times": [k / rate for k in range(6)], "values": {"bend120": values}},
             "time": {"fps": rate, "from": 0, "to": 5 / rate}}
    obj.sinew.model = "force"
    for setting, maps in (("stiffness_group", ("stretch_map", "bend_map")),
                          ("mass_group", ("mass_map",))):
        setattr(obj.sinew, setting, "painted")
        cache = os.path.join(folder, "painted.pc2")
        bpy.ops.sinew.bake_frames(filepath=cache)
        setattr(obj.sinew, setting, "")
        given = {"mass_time": float(np.float32(0.03))}
        even = sinew.Session({**drive, "parameters": given}, rig=rig, model="force")
        session = sinew.Session({**drive, "parameters": {**given, **{m: path for m in maps}}},
                                rig=rig, model="force")
        last = [session.solve(frame=k).positions for k in range(6)][-1]
        check(f"force: a vertex group is the {' and '.join(maps)}",
              np.abs(sinew.Frames.read(cache)[5] - last).max() < 1e-5
              and np.abs(even.solve(frame=5).positions - last).max() > 1e-4)


def check_markers(sinew, obj, rig, live):
    keys, scene = obj.data.shape_keys, bpy.context.scene
    take, where = sinew.sample_markers("face", vertices=1500)
    path = os.path.join(folder, "take.csv")
    take.write(path)
    obj.sinew.model = "fit"
    check("markers are asked for", "take" in report_of(bpy.ops.sinew.find_map))
    obj.sinew.take = os.path.join(folder, "none.csv")
    check("a missing take is reported", "none.csv" in report_of(bpy.ops.sinew.find_map))
    obj.sinew.take = path
    check("the map is found", bpy.ops.sinew.find_map() == {"FINISHED"})
    empties = {e["sinew_marker"]: e for e in obj.sinew.marker_map.objects}
    bpy.context.view_layer.update()
    truth = dict(zip(where.names, where.points(rig.neutral)))
    off = np.mean([np.linalg.norm(np.array(e.matrix_world.translation) - truth[n])
                   for n, e in empties.items()])
    check(f"the map is shown as empties on the face ({len(empties)}, {1000 * off:.1f} mm off)",
          set(empties) == set(truth) and off < 2e-3)

    rate = scene.render.fps / scene.render.fps_base
    scene.frame_start, scene.frame_end = 1, 40
    cache = os.path.join(folder, "fit.pc2")
    check("a take bakes", bpy.ops.sinew.bake_frames(filepath=cache) == {"FINISHED"})
    curves = sinew.Fit(rig, where).take(sinew.Capture(rig, take, where), np.arange(40) / rate)
    frames = sinew.Frames.read(cache)
    linear = sinew.Session(rig=rig, model="linear")
    off = max(np.abs(frames[k] - linear.solve(curves.values[k]).positions).max()
              for k in range(40))
    moved = np.abs(frames[39] - rig.neutral.positions).max()
    check(f"its frames are the library's fit ({1000 * off:.2f} of {1000 * moved:.1f} mm off)",
          off < 0.1 * moved and moved > 1e-3)
    action = keys.animation_data.action
    scene.frame_set(40)
    values = dict(zip(rig.sliders, curves.values[39]))
    off = max(abs(keys.key_blocks[n].value - max(0, min(1, v))) for n, v in values.items())
    check(f"its key values are in an action ({off:.3f} off)", "take" in action.name and off < 0.1)
    keys.animation_data_clear()

    spread = np.ptp(take.positions, axis=0).max(axis=1)
    name = take.names[int(np.argmax(spread))]
    empties[name].location.x += 0.02
    bpy.context.view_layer.update()
    from sinew_blender import markers
    names, points = markers.map_points(obj)
    check("a moved empty moves its point of the map",
          abs(points[names.index(name)][0] - truth[name][0]) > 5e-3)
    bpy.ops.sinew.bake_frames(filepath=cache)
    change = np.abs(sinew.Frames.read(cache)[39] - frames[39]).max()
    check(f"the moved point changes the solve ({1000 * change:.3f} mm)", change > 1e-5)
    keys.animation_data_clear()
    bpy.ops.sinew.find_map()

    collection = bpy.data.collections.new("markers")
    scene.collection.children.link(collection)
    for n in where.names:
        empty = bpy.data.objects.new(n, None)
        empty.location = truth[n]
        collection.objects.link(empty)
    bpy.context.view_layer.update()
    obj.sinew.marker_objects = collection
    check("empties are mapped", bpy.ops.sinew.find_map() == {"FINISHED"}
          and len(obj.sinew.marker_map.objects) == len(where.names))
    for block in keys.key_blocks[1:]:
        block.value = 0
    obj.sinew.live = True
    settle(live, obj)
    goal = rig.shape("jawOpen")
    for empty, point in zip(collection.objects, where.points(rig.neutral, goal)):
        empty.location = point
    bpy.context.view_layer.update()
    settle(live, obj)
    check("live: the face follows empties", np.abs(shown(obj) - goal).max() < 1e-3)
    obj.sinew.live = False
    scene.frame_end = 8
    for empty, a, b in zip(collection.objects, where.points(rig.neutral),
                           where.points(rig.neutral, goal)):
        for frame, point in ((1, a), (8, b)):
            empty.location = point
            empty.keyframe_insert("location", frame=frame)
    bpy.ops.sinew.remove()
    check("animated empties bake", bpy.ops.sinew.bake_frames(filepath=cache) == {"FINISHED"})
    check("their last frame is the pose",
          np.abs(sinew.Frames.read(cache)[7] - goal).max() < 1e-3)
    keys.animation_data_clear()
    for block in keys.key_blocks[1:]:
        block.value = 0


def run():
    from sinew_blender import live, shapes
    sinew = shapes.library()
    obj = make_object(sinew.sample("face", vertices=1500), "face")
    rig = rig_of(sinew, obj)
    check_locks(sinew, obj, rig, live)
    check_grab(sinew, obj, rig)
    check_interference(sinew, obj, rig)
    check_markers(sinew, obj, rig, live)
    check_maps(sinew)

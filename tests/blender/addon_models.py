"""Solves, live updates and bakes, compared with the library."""
import os

import bmesh
import bpy
import numpy as np
from support import (activate, add_group, check, curves_of, folder, make_object, report_of, rig_of,
                     settle, shown)


def bake_to(sinew, name):
    path = os.path.join(folder, name)
    bpy.ops.sinew.bake_frames(filepath=path)
    return sinew.Frames.read(path)


def ball(name, radius, location):
    mesh = bpy.data.meshes.new(name)
    shape = bmesh.new()
    bmesh.ops.create_icosphere(shape, subdivisions=4, radius=radius)
    shape.to_mesh(mesh)
    obj = bpy.data.objects.new(name, mesh)
    obj.location = location
    collection = bpy.data.collections.new(name)
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(obj)
    return obj, collection


def animate(keys, name, points):
    for frame, value in points:
        keys.key_blocks[name].value = value
        keys.key_blocks[name].keyframe_insert("value", frame=frame)


def check_solves(sinew, obj, rig, live):
    keys = obj.data.shape_keys
    names = [b.name for b in keys.key_blocks]
    keys.key_blocks["bend120"].value = 0.5
    for model in ("rotation", "spring"):
        obj.sinew.model = model
        check(f"{model} solves", bpy.ops.sinew.solve() == {"FINISHED"})
        expected = sinew.Session(rig=rig, model=model).solve({"bend120": 0.5}).positions
        check(f"{model} shows the library's own answer", np.abs(shown(obj) - expected).max() < 2e-6)
    check("keys keep their names and order",
          [b.name for b in keys.key_blocks][:-1] == names and keys.key_blocks[-1].name == "Sinew")

    obj.sinew.model = "rotation"
    obj.sinew.live = True
    keys.key_blocks["bend120"].value = 0.25
    settle(live, obj)
    expected = sinew.Session(rig=rig, model="rotation").solve({"bend120": 0.25}).positions
    check("live follows a key", np.abs(shown(obj) - expected).max() < 2e-6)
    count = len(bpy.data.shape_keys)
    obj.sinew.show = "PREVIEW"
    keys.key_blocks["bend120"].value = 0.75
    settle(live, obj)
    expected = sinew.Session(rig=rig, model="rotation").solve({"bend120": 0.75}).positions
    preview = obj.sinew.preview
    check("live shows the result on a preview object",
          preview and np.abs(shown(preview) - expected).max() < 2e-6)
    check("the preview has no shape keys, and leaves none in the file",
          preview.data.shape_keys is None and len(bpy.data.shape_keys) == count)
    obj.sinew.show = "KEY"
    obj.sinew.live = False
    check("the result and the preview can be removed", bpy.ops.sinew.remove() == {"FINISHED"}
          and [b.name for b in keys.key_blocks] == names and obj.sinew.preview is None
          and "bar Sinew" not in bpy.data.objects)


def check_bakes(sinew, obj, rig):
    keys, scene = obj.data.shape_keys, bpy.context.scene
    names = [b.name for b in keys.key_blocks]
    animate(keys, "bend120", ((1, 0.25), (5, 1.0)))
    scene.frame_start, scene.frame_end = 1, 5
    obj.sinew.model = "rotation"
    frames = bake_to(sinew, "bar.pc2")
    check("the cache has every frame and ends in the pose",
          len(frames) == 5 and np.abs(frames[-1] - rig.shape("bend120")).max() < 1e-4)
    scene.frame_set(3)
    weight = keys.key_blocks["bend120"].value
    expected = sinew.Session(rig=rig, model="rotation").solve({"bend120": weight}).positions
    check("sampled F-curves are the values that Blender plays",
          np.abs(frames[2] - expected).max() < 1e-6)
    check("frames bake to an MDD file", np.abs(bake_to(sinew, "bar.mdd")[2] - frames[2]).max() < 1e-6)

    obj.sinew.model = "spring"
    check("frames bake to keys", bpy.ops.sinew.bake_frames(target="KEYS") == {"FINISHED"})
    scene.frame_set(3)
    expected = sinew.Session(rig=rig, model="spring").solve({"bend120": weight}).positions
    check("a frame of baked keys shows the library's own answer",
          np.abs(shown(obj) - expected).max() < 5e-5)
    bpy.ops.sinew.bake_frames(target="KEYS")
    check("baking again replaces the keys of the first bake",
          len(keys.key_blocks) == len(names) + 5 and not any(".0" in b.name for b in keys.key_blocks))
    check("baked keys can be removed", bpy.ops.sinew.remove() == {"FINISHED"}
          and [b.name for b in keys.key_blocks] == names
          and len(curves_of(keys.animation_data.action)) == 1)


def check_clips(sinew, obj, rig):
    keys, scene = obj.data.shape_keys, bpy.context.scene
    scene.frame_end = 21
    animate(keys, "bend120", ((21, 0.2),))
    rate = scene.render.fps / scene.render.fps_base
    obj.sinew.model = "modal"
    swung = bake_to(sinew, "swing.pc2")
    poses = [{"time": (frame - 1) / rate, "weights": {"bend120": float(np.float32(value))}}
             for frame, value in ((1, 0.25), (5, 1.0), (21, 0.2))]
    clip = {"fps": rate, "from": 0, "to": 20 / rate}
    session = sinew.Session({"keys": poses, "time": clip,
                             "parameters": {"swings": 1.5, "damping": float(np.float32(0.1))}},
                            rig=rig, model="modal")
    check("swinging is the library's modal motion through the keyframes",
          len(swung) == 21 and max(np.abs(swung[k] - session.solve(frame=k).positions).max()
                                   for k in (0, 4, 9, 20)) < 1e-5)
    obj.sinew.damping = 0.9
    damped = bake_to(sinew, "damped.pc2")
    check("the damping of the panel acts", np.abs(damped[9] - swung[9]).max() > 1e-3)
    obj.sinew.damping = 0.1

    obj.sinew.model = "force"
    jiggled = bake_to(sinew, "jiggle.pc2")
    curve = curves_of(keys.animation_data.action)[0]
    values = [float(np.float32(curve.evaluate(f))) for f in range(1, 22)]
    session = sinew.Session({"curves": {"times": [k / rate for k in range(21)],
                                        "values": {"bend120": values}}, "time": clip,
                             "parameters": {"mass_time": float(np.float32(0.03))}},
                            rig=rig, model="force")
    check("jiggle is the library's force motion of the animation",
          len(jiggled) == 21 and max(np.abs(jiggled[k] - session.solve(frame=k).positions).max()
                                     for k in range(21)) < 1e-5)
    check("jiggle lags behind the animation",
          np.abs(jiggled[4] - rig.shape("bend120")).max() > 1e-3)
    check("models that need a clip say so instead of solving once",
          "Bake buttons" in report_of(bpy.ops.sinew.solve))


def check_obstacles(sinew, obj, rig, live):
    scene, keys = bpy.context.scene, obj.data.shape_keys
    points = rig.neutral.positions
    size = float(np.ptp(points[:, 1]))
    bent = rig.shape("bend120")
    middle = bent[np.abs(points[:, 0] - points[:, 0].mean()) < 0.1 * np.ptp(points[:, 0])].mean(axis=0)
    outward = (middle - bent.mean(axis=0)) / np.linalg.norm(middle - bent.mean(axis=0))
    touching = middle + 1.3 * size * outward
    other, collection = ball("ball", size, touching)
    for frame, place in ((1, touching + 10 * size * outward), (5, touching)):
        other.location = place
        other.keyframe_insert("location", frame=frame)
    obj.sinew.model = "spring"
    obj.sinew.obstacles = collection
    scene.frame_end = 5
    pressed = bake_to(sinew, "pressed.pc2")
    obj.sinew.obstacles = None
    loose = bake_to(sinew, "loose.pc2")
    check("a moving obstacle presses only where it is",
          np.abs(pressed[0] - loose[0]).max() < 1e-5 and np.abs(pressed[4] - loose[4]).max() > 1e-3)
    obj.sinew.obstacles = collection
    obj.sinew.live = True
    scene.frame_set(5)
    settle(live, obj)
    depths = [size - np.linalg.norm(shape - touching, axis=1).min()
              for shape in (loose[4], pressed[4], shown(obj))]
    check("live and baked shapes stay out of a collider ({:.3f} deep without it, {:.3f}, {:.3f})"
          .format(*(depth / size for depth in depths)),
          depths[0] > 0.1 * size and max(depths[1:]) < 0.06 * size)
    other.animation_data_clear()
    other.location = touching + 10 * size * outward
    other.rotation_euler = (0.3, 0.2, 0.1)
    bpy.context.view_layer.update()
    settle(live, obj)
    check("live follows a collider that is dragged away",
          np.abs(shown(obj) - loose[4]).max() < 1e-4)
    other.location = touching
    other.scale = (1.3, 1.3, 1.3)  # not a rigid motion: the file is written again
    bpy.context.view_layer.update()
    settle(live, obj)
    check("a collider that is scaled presses more",
          np.abs(shown(obj) - loose[4]).max() > 1.05 * np.abs(pressed[4] - loose[4]).max())
    obj.sinew.live = False
    obj.sinew.obstacles = None

    add_group(obj, "end", np.argsort(points[:, 0])[-40:])
    handle = bpy.data.objects.new("handle", None)
    scene.collection.objects.link(handle)
    bpy.context.view_layer.update()
    obj.sinew.pin_group, obj.sinew.pin_target = "end", handle
    obj.sinew.live = True
    settle(live, obj)
    held = np.argsort(points[:, 0])[-40:]
    before = shown(obj)[held]
    handle.location = (0, 0, 0.2 * size)
    bpy.context.view_layer.update()
    settle(live, obj)
    check("live follows a pin that is moved",
          np.abs(shown(obj)[held] - before - [0, 0, 0.2 * size]).max() < 1e-4)
    obj.sinew.live = False
    obj.sinew.pin_target = None
    obj.sinew.pin_group = ""
    bpy.ops.sinew.remove()
    keys.animation_data_clear()


def check_correctives(sinew, obj, rig):
    keys = obj.data.shape_keys
    obj.sinew.model = "rotation"
    obj.sinew.max_targets = 6
    keys.key_blocks["bend120"].value = 0.5
    keys.key_blocks["twist1"].value = 0
    expected = sinew.Session(rig=rig, model="rotation").solve({"bend120": 0.5}).positions
    before = np.abs(shown(obj) - expected).mean()
    check("correctives bake", bpy.ops.sinew.bake_correctives() == {"FINISHED"})
    bpy.context.view_layer.update()
    drivers = [d.driver for d in keys.animation_data.drivers]
    check("drivers of correctives need no Python",
          len(drivers) > 1 and all(d.is_simple_expression and d.is_valid for d in drivers))
    after = np.abs(shown(obj) - expected).mean()
    check(f"drivers bring the blend closer ({before:.4f} to {after:.4f})", after < 0.5 * before)


def lids(sinew, side=7, gap=1.0):
    """Two sheets, one above the other, that bulge towards each other by 0.6 of the gap."""
    grid = np.array([[x, y, 0] for y in range(side) for x in range(side)], float)
    corners = np.array([[x + side * y, x + 1 + side * y, x + 1 + side * (y + 1), x + side * (y + 1)]
                        for y in range(side - 1) for x in range(side - 1)])
    upper = np.repeat([True, False], side * side)
    points = np.concatenate([grid + [0, 0, gap], grid])
    bulge = np.sin(np.pi * points[:, 0] / (side - 1)) * np.sin(np.pi * points[:, 1] / (side - 1))
    rig = sinew.Rig(sinew.Mesh(points, np.concatenate([corners[:, ::-1], corners + side * side])))
    for name, moved, way in (("down", upper, -0.6 * gap), ("up", ~upper, 0.6 * gap)):
        rig.add_pose(name, points + np.outer(moved * bulge, [0, 0, way]))
    return rig, upper


def check_contact(sinew):
    """Correctives of a model with self-contact keep apart what the linear blend drives through."""
    rig, upper = lids(sinew)
    obj = make_object(rig, "lids", rig.sliders)
    activate(obj)
    obj.sinew.model = "spring"
    obj.sinew.self_contact = True
    obj.sinew.max_targets = 8
    check("correctives of contact bake", bpy.ops.sinew.bake_correctives() == {"FINISHED"})
    keys = obj.data.shape_keys
    hinges = [name for name in keys.key_blocks.keys() if name.startswith("contact")]
    check("a site of contact has a key", len(hinges) == 1)
    drivers = [d.driver for d in keys.animation_data.drivers]
    check("drivers of contact need no Python",
          all(d.is_simple_expression and d.is_valid for d in drivers))
    for down, up in ((1, 1), (0.9, 0.8), (0.85, 1), (1, 0), (0, 1), (0.5, 0.5)):
        keys.key_blocks["down"].value, keys.key_blocks["up"].value = down, up
        bpy.context.view_layer.update()
        points = shown(obj)
        gap = (points[upper, 2] - points[~upper, 2]).min()
        linear = 1 - 0.6 * (down + up)
        check(f"sheets at {down} and {up} do not cross ({linear:.3f} without contact, {gap:.3f})",
              gap > -0.002)
        if down * up == 0:
            check("a slider alone gives the artist's shape", abs(gap - 0.4) < 1e-5)
    bpy.data.objects.remove(obj)


def run():
    from sinew_blender import live, shapes
    sinew = shapes.library()
    obj = make_object(sinew.sample("bar", vertices=1000), "bar", ("bend120", "twist1"))
    rig = rig_of(sinew, obj)
    check_solves(sinew, obj, rig, live)
    check_bakes(sinew, obj, rig)
    check_clips(sinew, obj, rig)
    check_obstacles(sinew, obj, rig, live)
    check_correctives(sinew, obj, rig)
    check_contact(sinew)
    activate(obj)
    bpy.context.scene.frame_set(1)

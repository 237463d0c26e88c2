"""Installs the add-on's zip in Blender, runs every operator and compares with the library."""
import os
import sys

import bpy
import numpy as np

folder = sys.argv[sys.argv.index("--") + 1]
passed = failed = 0


def check(what, good):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[{'OK' if good else 'FAILED'}] {what}")


def read(block, count):
    points = np.empty(3 * count, np.float32)
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


bpy.ops.preferences.addon_install(filepath=os.path.join(folder, "sinew-blender.zip"))
bpy.ops.preferences.addon_enable(module="sinew_blender")
check("the zip installs and enables", hasattr(bpy.types.Object, "sinew"))
from sinew_blender import live, shapes  # noqa: E402

sinew = shapes.library()
rig = sinew.sample("bar", vertices=1000)
neutral = rig.neutral
mesh = bpy.data.meshes.new("bar")
mesh.from_pydata(neutral.positions.tolist(), [], [f.tolist() for f in neutral.faces])
obj = bpy.data.objects.new("bar", mesh)
bpy.context.collection.objects.link(obj)
bpy.context.view_layer.objects.active = obj
obj.select_set(True)

result = None
try:
    result = bpy.ops.sinew.solve()
except RuntimeError as error:
    result = str(error)
check("a mesh without shape keys gets a report", "no shape keys" in str(result))

count = len(mesh.vertices)
obj.shape_key_add(name="Basis")
for name in ("bend120", "twist1"):
    block = obj.shape_key_add(name=name, from_mix=False)
    block.data.foreach_set("co", rig.shape(name).astype(np.float32).ravel())
keys = mesh.shape_keys
names = [b.name for b in keys.key_blocks]
keys.key_blocks["bend120"].value = 0.5

for model in ("rotation", "spring"):
    obj.sinew.model = model
    check(f"{model} solves", bpy.ops.sinew.solve() == {"FINISHED"})
    small = sinew.Rig(sinew.Mesh(read(keys.key_blocks[0], count), [f.tolist() for f in neutral.faces]))
    for name in ("bend120", "twist1"):
        small.add_pose(name, read(keys.key_blocks[name], count))
    expected = sinew.Session(rig=small, model=model).solve({"bend120": 0.5}).positions
    check(f"{model} shows the library's own answer",
          np.abs(shown(obj) - expected).max() < 2e-6)
check("keys keep their names and order",
      [b.name for b in keys.key_blocks][:3] == names and keys.key_blocks[-1].name == "Sinew")

obj.sinew.model = "rotation"
obj.sinew.live = True
keys.key_blocks["bend120"].value = 0.25
for _ in range(200):
    live.tick()
    follower = live._followers.get("bar")
    if follower and follower.solved is not None and follower.thread is None:
        break
    if follower and follower.thread:
        follower.thread.join()
expected = sinew.Session(rig=small, model="rotation").solve({"bend120": 0.25}).positions
check("live follows a slider", np.abs(shown(obj) - expected).max() < 2e-6)
obj.sinew.live = False

keys.key_blocks["bend120"].keyframe_insert("value", frame=1)
keys.key_blocks["bend120"].value = 1
keys.key_blocks["bend120"].keyframe_insert("value", frame=5)
bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 5
path = os.path.join(folder, "bar.pc2")
check("frames bake to a cache", bpy.ops.sinew.bake_frames(filepath=path) == {"FINISHED"})
frames = sinew.Frames.read(path)
check("the cache has every frame and ends in the pose",
      len(frames) == 5 and np.abs(frames[-1] - rig.shape("bend120")).max() < 1e-4)
check("animation survives", len(keys.animation_data.action.fcurves) == 1)

obj.sinew.model = "spring"
check("frames bake to keys", bpy.ops.sinew.bake_frames(target="KEYS") == {"FINISHED"})
bpy.context.scene.frame_set(3)
weight = keys.key_blocks["bend120"].value
expected = sinew.Session(rig=small, model="spring").solve({"bend120": weight}).positions
check("a frame of baked keys shows the library's own answer",
      np.abs(shown(obj) - expected).max() < 5e-5)
bpy.ops.sinew.bake_frames(target="KEYS")
check("baking again replaces the keys of the first bake",
      len(keys.key_blocks) == len(names) + 5 and not any(".0" in b.name for b in keys.key_blocks))
check("baked keys can be removed", bpy.ops.sinew.remove() == {"FINISHED"}
      and [b.name for b in keys.key_blocks] == names
      and len(keys.animation_data.action.fcurves) == 1)

bpy.context.scene.frame_end = 21
keys.key_blocks["bend120"].value = 0.2
keys.key_blocks["bend120"].keyframe_insert("value", frame=21)
rate = bpy.context.scene.render.fps / bpy.context.scene.render.fps_base


def bake_to(name):
    path = os.path.join(folder, name)
    bpy.ops.sinew.bake_frames(filepath=path)
    return sinew.Frames.read(path)


obj.sinew.model = "modal"
swung = bake_to("swing.pc2")
poses = [{"time": 0.0, "weights": {"bend120": 0.25, "twist1": 0.0}},
         {"time": 4 / rate, "weights": {"bend120": 1.0, "twist1": 0.0}},
         {"time": 20 / rate, "weights": {"bend120": 0.20000000298023224, "twist1": 0.0}}]
session = sinew.Session({"keys": poses, "time": {"fps": rate, "from": 0, "to": 20 / rate},
                         "parameters": {"swings": 1.5, "damping": 0.10000000149011612}},
                        rig=small, model="modal")
check("swinging is the library's modal motion through the keyframes",
      len(swung) == 21 and max(np.abs(swung[k] - session.solve(frame=k).positions).max()
                               for k in (0, 4, 9, 20)) < 1e-5)
obj.sinew.model = "force"
jiggled = bake_to("jiggle.pc2")
check("jiggle lags behind the animation and is finite",
      len(jiggled) == 21 and np.isfinite(np.array([jiggled[k] for k in range(21)])).all()
      and np.abs(jiggled[4] - rig.shape("bend120")).max() > 1e-3)
refused = ""
try:
    bpy.ops.sinew.solve()
except RuntimeError as error:
    refused = str(error)
check("models that need a clip say so instead of solving once", "Bake frames" in refused)

obj.sinew.model = "rotation"
bpy.context.scene.frame_set(5)
group = obj.vertex_groups.new(name="hold")
tip = np.argsort(neutral.positions[:, 0])[-40:]
group.add([int(v) for v in tip], 1.0, "REPLACE")
obj.sinew.lock_group = "hold"
bpy.ops.sinew.solve()
moved = np.abs(shown(obj) - neutral.positions)[tip].max()
free = np.abs(sinew.Session(rig=small, model="rotation").solve({"bend120": 1.0}).positions
              - neutral.positions)[tip].max()
check(f"a locked group stays ({moved:.4f} against {free:.4f})", moved < 0.5 * free)
obj.sinew.lock_group = ""

ball = bpy.data.meshes.new("ball")
import bmesh  # noqa: E402
shape = bmesh.new()
bmesh.ops.create_icosphere(shape, subdivisions=2, radius=float(np.ptp(neutral.positions[:, 1])))
shape.to_mesh(ball)
other = bpy.data.objects.new("ball", ball)
collection = bpy.data.collections.new("obstacles")
bpy.context.scene.collection.children.link(collection)
collection.objects.link(other)
middle = neutral.positions.mean(axis=0)
for frame, height in ((1, -10.0), (5, 0.0)):
    other.location = (middle[0], middle[1] + height * np.ptp(neutral.positions[:, 1]), middle[2])
    other.keyframe_insert("location", frame=frame)
obj.sinew.model = "spring"
obj.sinew.obstacles = collection
bpy.context.scene.frame_end = 5
pressed = bake_to("pressed.pc2")
obj.sinew.obstacles = None
loose = bake_to("loose.pc2")
check("a moving obstacle presses only where it is",
      np.abs(pressed[0] - loose[0]).max() < 1e-6 and np.abs(pressed[4] - loose[4]).max() > 1e-3)
bpy.ops.sinew.remove()

check("the result can be removed", bpy.ops.sinew.remove() == {"FINISHED"}
      and [b.name for b in keys.key_blocks] == names)
keys.animation_data_clear()
obj.sinew.max_targets = 6
keys.key_blocks["bend120"].value = 0.5
keys.key_blocks["twist1"].value = 0
before = np.abs(shown(obj) - sinew.Session(rig=small, model="rotation")
                .solve({"bend120": 0.5}).positions).mean()
check("correctives bake", bpy.ops.sinew.bake_correctives() == {"FINISHED"})
bpy.context.view_layer.update()
after = np.abs(shown(obj) - sinew.Session(rig=small, model="rotation")
               .solve({"bend120": 0.5}).positions).mean()
check(f"drivers bring the blend closer ({before:.4f} to {after:.4f})", after < 0.5 * before)

obj.modifiers.new("Subdivision", "SUBSURF")
check("a mesh with modifiers works on its base shape", bpy.ops.sinew.solve() == {"FINISHED"}
      and len(mesh.vertices) == count)
bpy.ops.preferences.addon_disable(module="sinew_blender")
check("the add-on can be disabled", not hasattr(bpy.types.Object, "sinew"))
print(f"[  PASSED  ] {passed} test(s).")
if failed:
    print(f"[  FAILED  ] {failed} test(s).")
    sys.exit(1)

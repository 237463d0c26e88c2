"""Speed of the Blender add-on on a large face: a bake against the command, and live updates.

    blender -b --factory-startup --python bench/blender_face.py -- ZIP NEUTRAL TARGETS SINEW

Prints seconds of a 100-frame bake of the rotation and the spring model in Blender and of the same
clip by the command, live updates per second, and the longest time that live updates and each operator
block Blender. The environment chooses: MODELS (to bake), ROUNDS, FRAMES, DRAGS (of 3 s each),
CORRECTIVES (to bake those, too).
"""
import os
import subprocess
import sys
import tempfile
import time

import bpy
import numpy as np

archive, neutral, targets, command = sys.argv[sys.argv.index("--") + 1:]
FRAMES, KEYS = int(os.environ.get("FRAMES", "100")), 57
MODELS = [m for m in os.environ.get("MODELS", "rotation,spring").split(",") if m]

sys.argv = ["bench", "--", os.path.dirname(archive)]  # where the tests' own functions find the zip
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/blender"))
import support  # noqa: E402

support.install()
from sinew_blender import live, shapes  # noqa: E402

sinew = shapes.library()
rig = sinew.Rig.read(neutral, targets)
names = [name for name in rig.targets if not name.startswith("identity")][:KEYS]
mesh = bpy.data.meshes.new("face")
mesh.from_pydata(rig.neutral.positions.tolist(), [], [f.tolist() for f in rig.neutral.faces])
obj = bpy.data.objects.new("face", mesh)
bpy.context.collection.objects.link(obj)
bpy.context.view_layer.objects.active = obj
obj.select_set(True)
obj.shape_key_add(name="Basis")
for name in names:
    block = obj.shape_key_add(name=name, from_mix=False)
    block.value = 0  # since 5.0 it is 1
    block.data.foreach_set("co", rig.shape(name).astype(np.float32).ravel())
keys = mesh.shape_keys
print(f"RESULT {len(mesh.vertices)} vertices, {len(names)} keys")

rate = bpy.context.scene.render.fps
times = np.arange(FRAMES) / rate
values = 0.5 - 0.5 * np.cos(2 * np.pi * times[:, None] * np.linspace(0.3, 1.2, len(names)))
values = 0.4 * values
for i, name in enumerate(names):
    keys.key_blocks[name].keyframe_insert("value", frame=1)
for curve in support.curves_of(keys.animation_data.action):
    i = names.index(curve.data_path.split('"')[1])
    curve.keyframe_points.add(FRAMES - 1)
    curve.keyframe_points.foreach_set("co", np.column_stack(
        [np.arange(1, FRAMES + 1), values[:, i]]).astype(np.float32).ravel())
    curve.update()
scene = bpy.context.scene
scene.frame_start, scene.frame_end = 1, FRAMES
with tempfile.TemporaryDirectory() as folder:
    clip, same = os.path.join(folder, "clip.csv"), os.path.join(folder, "rig.glb")
    # The keys that Blender has, in its precision, for the command.
    fewer = sinew.Rig(sinew.Mesh(rig.neutral.positions.astype(np.float32), rig.neutral.faces))
    for name in names:
        fewer.add_pose(name, rig.shape(name).astype(np.float32))
    fewer.write(same)
    sinew.Curves(names, times, values).write(clip)
    for model in MODELS:
        obj.sinew.model = model
        found = {"Blender": [], "command": []}
        for _ in range(int(os.environ.get("ROUNDS", "2"))):
            start, cpu = time.perf_counter(), time.process_time()
            bpy.ops.sinew.bake_frames(filepath=os.path.join(folder, "blender.pc2"))
            found["Blender"].append((time.perf_counter() - start, time.process_time() - cpu))
            start, cpu = time.perf_counter(), os.times().children_user + os.times().children_system
            subprocess.run([command, "blend", same, "--model", model, "--curves", clip,
                            "--fps", str(rate), "--quiet", "--out",
                            os.path.join(folder, "command.pc2")], check=True)
            cpu = os.times().children_user + os.times().children_system - cpu
            found["command"].append((time.perf_counter() - start, cpu))
        here, there = (sinew.Frames.read(os.path.join(folder, name))
                       for name in ("blender.pc2", "command.pc2"))
        off = max(np.abs(here[k] - there[k]).max() for k in (0, FRAMES // 2, FRAMES - 1))
        off /= np.ptp(rig.neutral.positions, axis=0).max()
        wall = {name: min(w for w, _ in rows) for name, rows in found.items()}
        cpu = {name: min(c for _, c in rows) for name, rows in found.items()}
        print(f"RESULT bake, {model}: Blender {wall['Blender']:.2f} s (CPU {cpu['Blender']:.2f}), "
              f"command {wall['command']:.2f} s (CPU {cpu['command']:.2f}), ratio "
              f"{wall['Blender'] / wall['command']:.2f} (CPU {cpu['Blender'] / cpu['command']:.2f})"
              f", largest difference {off:.1e} of the size", flush=True)

obj.sinew.model = "rotation"
keys.animation_data_clear()
obj.sinew.live = True


def tick(blocked):
    """One tick of the timer; notes for how many milliseconds it blocks, elapsed and CPU time."""
    start, cpu = time.perf_counter(), time.thread_time()
    more = live.tick()
    blocked.append((1000 * (time.perf_counter() - start), 1000 * (time.thread_time() - cpu)))
    return more


blocked, begun = [], time.perf_counter()
while tick(blocked) is not None:
    time.sleep(0.001)
longest = np.max(blocked, axis=0)
print(f"RESULT live, built in {time.perf_counter() - begun:.2f} s, blocked for at most "
      f"{longest[0]:.0f} ms at a time, {longest[1]:.0f} ms of them CPU time")


def drag(seconds):
    """In every pass of Blender's main loop the key changes, timers run, and the scene is evaluated
    once. Returns updates and passes per second, milliseconds of CPU time per update of all threads
    and of the main thread, and the longest milliseconds that the add-on blocked, elapsed and of CPU
    time."""
    blocked, last, updates, passes = [], None, 0, 0
    begun, cpu, all_cpu = time.perf_counter(), time.thread_time(), time.process_time()
    while time.perf_counter() - begun < seconds:
        keys.key_blocks["jawOpen"].value = 0.5 + 0.5 * np.sin(5 * time.perf_counter())
        live.request(obj)
        tick(blocked)
        solved = live._followers["face"].solved
        updates += solved is not last
        last = solved
        bpy.context.view_layer.update()
        passes += 1
    wall = time.perf_counter() - begun
    return (updates / wall, passes / wall, 1000 * (time.process_time() - all_cpu) / updates,
            1000 * (time.thread_time() - cpu) / updates, *np.max(blocked, axis=0))


# Other programs take turns on a busy machine, so that single drags differ: all are printed.
rows = [drag(3) for _ in range(int(os.environ.get("DRAGS", "5")))]
median = np.median(rows, axis=0)
print(f"RESULT live rotation: {median[0]:.1f} updates a second in {median[1]:.1f} passes (median "
      f"of {', '.join(f'{row[0]:.1f}' for row in sorted(rows))}); {median[2]:.0f} ms of CPU time per "
      f"update, {median[3]:.0f} of them in the main thread; the add-on blocks for at most "
      f"{max(row[4] for row in rows):.0f} ms, {max(row[5] for row in rows):.0f} ms of them CPU time",
      flush=True)

# Every operator that works in a thread: the longest time that it holds Blender's main thread.
from sinew_blender import bake, grab, interference, operators  # noqa: E402

obj.sinew.live = False
support.settle(live, obj)
take = os.path.join(tempfile.gettempdir(), "sinew-bench-take.csv")
chosen = np.random.default_rng(1).choice(len(mesh.vertices), 60, replace=False)
deform = rig.neutral.positions[chosen] + np.linspace(0, 1, 30)[:, None, None] * (
    rig.shape("jawOpen") - rig.neutral.positions)[chosen]
sinew.Markers([f"m{i}" for i in range(60)], np.arange(30) / 30, deform).write(take)
chin = obj.vertex_groups.new(name="chin")
chin.add([int(v) for v in np.argsort(rig.shape("jawOpen")[:, 1] - rig.neutral.positions[:, 1])[:200]],
         1.0, "REPLACE")


def timed(blocked, what, function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    blocked.append((1000 * (time.perf_counter() - start), what))
    return result


def measure(name, make):
    blocked, begun = [], time.perf_counter()
    try:
        task = timed(blocked, "start", make)
        while not timed(blocked, "read", task.read_some):
            pass
        timed(blocked, "thread", task.start)
        while task.thread.is_alive():
            time.sleep(0.01)
            timed(blocked, "wait", lambda: None)
        if task.failure:
            raise task.failure
        if isinstance(task, grab.Grab):
            point = rig.neutral.positions[np.argmax(rig.neutral.positions[:, 2])]
            timed(blocked, "cast", obj.ray_cast, point + [0, 0, 1], (0, 0, -1))
            timed(blocked, "pick", task.pick, point + [0, 0, 1], np.array([0, 0, -1.0]), 0.03)
            for k in range(20):
                weights = timed(blocked, "drag", task.drag, [0, -0.001 * k, 0])
                timed(blocked, "apply", task.apply, weights)
            task.apply(task.start_values)
        else:
            while not timed(blocked, "write", task.write_some):
                pass
        timed(blocked, "close", task.close)
    except Exception as error:  # noqa: B902: a figure that is missing is printed as such
        print(f"RESULT {name}: {error!r}", flush=True)
        return
    longest = max(blocked)
    print(f"RESULT {name}: {time.perf_counter() - begun:.2f} s, Blender blocked for at most "
          f"{longest[0]:.0f} ms ({longest[1]})", flush=True)


context = bpy.context
measure("Solve Once", lambda: operators.Solve(context, obj))
measure("Find Interference", lambda: interference.Report(context, obj, 12))
measure("Grab Shape", lambda: grab.Grab(context, obj))
bpy.ops.sinew.lock_add(group="chin")
measure("Grab Shape with a lock", lambda: grab.Grab(context, obj))
scene.frame_end = 24
for frame, value in ((1, 0.0), (24, 1.0)):
    keys.key_blocks["jawOpen"].value = value
    keys.key_blocks["jawOpen"].keyframe_insert("value", frame=frame)
measure("Apply Locks to Animation", lambda: bake.LockedAnimation(context, obj))
measure("Bake to keys, 24 frames",
        lambda: bake.Bake(context, obj, bake.KEYS, ""))
bpy.ops.sinew.remove()
bpy.ops.sinew.lock_remove()
obj.sinew.model, obj.sinew.take = "fit", take
measure("Find Map", lambda: operators.FindMap(context, obj))
obj.sinew.model, obj.sinew.max_targets = "rotation", 5
if os.environ.get("CORRECTIVES"):
    measure("Bake Correctives", lambda: bake.Correctives(context, obj))

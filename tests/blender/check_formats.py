"""Run by scripts/test-blender inside Blender: what it finds in our files against the text files
beside them, read here with nothing of ours."""
import json
import os
import pathlib
import struct
import subprocess
import sys

import bpy
import numpy

numpy.bool = bool  # Debian's importer still asks for it, its numpy no longer has it

folder = pathlib.Path(sys.argv[sys.argv.index("--") + 1])
checks = 0


def check(good, what):
    global checks
    if not good:
        raise SystemExit(f"[  FAILED  ] 1 test: {what}")
    checks += 1


def read_obj(path):
    points, faces = [], []
    for line in path.read_text().splitlines():
        words = line.split()
        if words and words[0] == "v":
            points.append([float(word) for word in words[1:4]])
        if words and words[0] == "f":
            faces.append([int(word.split("/")[0]) - 1 for word in words[1:]])
    return numpy.array(points, dtype=numpy.float32), faces


def read_targets(path, count):
    targets = {}
    for file in sorted(path.glob("*.target")):
        delta = numpy.zeros((count, 3), dtype=numpy.float64)
        for line in file.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                words = line.split()
                delta[int(words[0])] = [float(word) for word in words[1:4]]
        targets[file.stem] = delta
    return targets


def y_up(points):
    """Blender's importer turns y-up files to its own z-up."""
    return numpy.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1)


def coordinates(collection, count):
    flat = numpy.empty(3 * count, dtype=numpy.float32)
    collection.foreach_get("co", flat)
    return flat.reshape(-1, 3)


def import_glb(name):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=str(folder / name))
    return next(thing for thing in bpy.data.objects if thing.type == "MESH")


points, faces = read_obj(folder / "face/neutral.obj")
targets = read_targets(folder / "face/targets", len(points))
used = sorted({vertex for face in faces for vertex in face})
scale = float(numpy.abs(points).max())

# --- the rig -------------------------------------------------------------------------------------
thing = import_glb("face.glb")
found = y_up(coordinates(thing.data.vertices, len(thing.data.vertices)))
check(len(found) >= len(used), "GLB: vertices are missing")
check(len(used) == len(points), "the sample uses all vertices")
check(numpy.abs(found[: len(points)] - points).max() <= 1e-6 * scale, "GLB: vertices differ")
names = [key.name for key in thing.data.shape_keys.key_blocks][1:]
check(sorted(names) == sorted(targets), f"GLB: shape names {names[:3]} ...")
for key in list(thing.data.shape_keys.key_blocks)[1:]:
    shape = y_up(coordinates(key.data, len(found)))[: len(points)]
    error = numpy.abs(shape - (points + targets[key.name])).max()
    check(error <= 2e-6 * scale, f"GLB: shape {key.name} is off by {error}")


# --- FBX: written, edited, and another program's file edited -----------------------------------------
def import_fbx(name):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.fbx(filepath=str(folder / name), use_anim=False)
    return [thing for thing in bpy.data.objects if thing.type == "MESH"]


def world(thing, collection, count):
    """Y-up positions in metres, as float64: Blender puts axes and units into the node."""
    local = coordinates(collection, count).astype(numpy.float64)
    matrix = numpy.array(thing.matrix_world, dtype=numpy.float64)
    return y_up(local @ matrix[:3, :3].T + matrix[:3, 3])


def same_order(names, expected, what):
    check(names == expected, f"{what}: shapes {names[:4]} ..., expected {expected[:4]} ...")


def compare_fbx(name, expected_names, expected):
    things = import_fbx(name)
    check(len(things) == 1, f"{name}: one mesh")
    thing, count = things[0], len(points)
    check(len(thing.data.vertices) == count, f"{name}: vertices")
    check([list(p.vertices) for p in thing.data.polygons] == faces, f"{name}: faces and their order")
    error = numpy.abs(world(thing, thing.data.vertices, count) - points).max()
    check(error <= 1e-6 * scale, f"{name}: vertices are off by {error}")
    keys = list(thing.data.shape_keys.key_blocks)[1:]
    same_order([key.name for key in keys], expected_names, name)
    for key in keys:
        shape = world(thing, key.data, count)
        error = numpy.abs(shape - (points + expected[key.name])).max()
        check(error <= 2e-6 * scale, f"{name}: shape {key.name} is off by {error}")


def shape_order(path):
    """Shapes as FBX holds them: slider after slider, in-betweens before the full shape, and the
    combinations behind them."""
    rig = json.loads((path / "rig.json").read_text())
    names = []
    for slider in rig["sliders"]:
        own = [t for t in rig["targets"] if t.get("slider") == slider["name"]]
        names += [t["name"] for t in sorted(own, key=lambda t: t["at"])]
    return names + [t["name"] for t in rig["targets"] if t["kind"] == "combination"]


order = shape_order(folder / "face")
compare_fbx("face.fbx", order, targets)
baked = read_targets(folder / "baked/targets", len(points))
baked_order = shape_order(folder / "baked")
check(baked_order[: len(order)] == order and len(baked_order) > len(order), "bake adds targets")
compare_fbx("edited.fbx", baked_order, baked)

# Blender's own file, with a material, two sets of texture coordinates and a parent.
bpy.ops.wm.read_factory_settings(use_empty=True)
mesh = bpy.data.meshes.new("face")
mesh.from_pydata(points.tolist(), [], faces)
thing = bpy.data.objects.new("head", mesh)
parent = bpy.data.objects.new("root", None)
for item in (parent, thing):
    bpy.context.scene.collection.objects.link(item)
thing.parent, parent.location, thing.scale = parent, (1, 2, 3), (2, 2, 2)
mesh.uv_layers.new(name="first")
mesh.uv_layers.new(name="second")
mesh.materials.append(bpy.data.materials.new("skin"))
thing.shape_key_add(name="Basis")
for name in order[:5]:
    key = thing.shape_key_add(name=name, from_mix=False)
    key.data.foreach_set("co", (points + targets[name]).astype(numpy.float32).ravel())
bpy.ops.export_scene.fbx(filepath=str(folder / "blender.fbx"), use_mesh_modifiers=False)
before = {key.name: coordinates(key.data, len(points)) for key in mesh.shape_keys.key_blocks}
subprocess.run([os.environ["SINEW_COMMAND"], "bake", "blender.fbx", "--max-targets", "2",
                "--samples", "60", "--quiet", "--out", "blender_edited.fbx"], cwd=folder, check=True)
things = import_fbx("blender_edited.fbx")
check(len(things) == 1 and things[0].name == "head", "edited file of Blender: its mesh")
thing = things[0]
keys = list(thing.data.shape_keys.key_blocks)
same_order([key.name for key in keys[1:6]], order[:5], "edited file of Blender")
check(len(keys) == 8 and all(k.name.startswith("fix") for k in keys[6:]), "two more shapes")
for key in keys[1:6]:
    error = numpy.abs(coordinates(key.data, len(points)) - before[key.name]).max()
    check(error <= 1e-6 * scale, f"edited file of Blender: shape {key.name} is off by {error}")
check([layer.name for layer in thing.data.uv_layers] == ["first", "second"], "texture coordinates")
check([m.name for m in thing.data.materials] == ["skin"], "material")
check(thing.parent is not None and thing.parent.name == "root", "parent")

# --- caches --------------------------------------------------------------------------------------
def read_pc2():
    data = (folder / "face.pc2").read_bytes()
    signature, version, count, start, step, frames = struct.unpack("<12siiffi", data[:32])
    check(signature == b"POINTCACHE2\0" and version == 1 and step == 1, "PC2: header")
    return numpy.frombuffer(data[32:], dtype="<f4").reshape(frames, count, 3)


frames = read_pc2()
check(frames.shape[1] == len(points), "PC2: one point per vertex")
check(frames.shape[0] == 10, "PC2: ten frames")
for kind, name in (("PC2", "face.pc2"), ("MDD", "face.mdd")):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    mesh = bpy.data.meshes.new("face")
    mesh.from_pydata(points.tolist(), [], faces)
    thing = bpy.data.objects.new("face", mesh)
    bpy.context.scene.collection.objects.link(thing)
    cache = thing.modifiers.new("cache", "MESH_CACHE")
    cache.cache_format = kind
    cache.filepath = str(folder / name)
    cache.frame_start = 0
    cache.interpolation = "NONE"
    for frame in range(len(frames)):
        bpy.context.scene.frame_set(frame)
        posed = thing.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
        found = coordinates(posed.vertices, len(posed.vertices))
        check(numpy.array_equal(found, frames[frame]), f"{kind}: frame {frame} differs")

# --- frames as morph targets and weights ---------------------------------------------------------
thing = import_glb("frames.glb")
rate = bpy.context.scene.render.fps
size = float(numpy.linalg.norm(points.max(axis=0) - points.min(axis=0)))
for frame in range(len(frames)):
    bpy.context.scene.frame_set(0, subframe=0.0)
    exact = frame / 30 * rate
    bpy.context.scene.frame_set(int(exact), subframe=exact - int(exact))
    posed = thing.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    found = y_up(coordinates(posed.vertices, len(posed.vertices)))[: len(points)]
    error = numpy.abs(found - frames[frame]).max()
    check(error <= 2e-4 * size, f"GLB frames: frame {frame} is off by {error}")

print(f"[  PASSED  ] {checks} test(s).")

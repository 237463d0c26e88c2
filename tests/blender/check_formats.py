"""Run by scripts/test-blender inside Blender: what it finds in our files against the text files
beside them, read here with nothing of ours."""
import pathlib
import struct
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

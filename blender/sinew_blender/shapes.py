# SPDX-License-Identifier: GPL-3.0-or-later
"""From Blender's shape keys to a Sinew session, and back."""
import os
import sys
import tempfile

import numpy as np

RESULT_KEY = "Sinew"


class Problem(Exception):
    """Something the user can mend; shown as a Blender report."""


def library():
    """The Python module that is bundled with the add-on, or the installed one."""
    try:
        folder = os.path.dirname(os.path.abspath(__file__))
        if os.path.isdir(os.path.join(folder, "sinew")):
            if folder not in sys.path:
                sys.path.insert(0, folder)
        import sinew
        return sinew
    except ImportError as error:
        raise Problem(f"the Sinew library cannot be loaded: {error}") from error


def check(obj):
    """The object's mesh with shape keys, or a Problem that says what to do."""
    if obj is None or obj.type != "MESH":
        raise Problem("select a mesh object")
    if obj.mode == "EDIT":
        raise Problem("leave edit mode first")
    keys = obj.data.shape_keys
    if keys is None or len(keys.key_blocks) < 2:
        raise Problem(f"'{obj.name}' has no shape keys; add some, or pick another object")
    if not keys.use_relative:
        raise Problem("absolute shape keys are not supported; switch them to relative")
    return keys


def coordinates(block, count):
    if len(block.data) != count:
        raise Problem(f"shape key '{block.name}' has {len(block.data)} vertices, the mesh has "
                      f"{count}; apply or remove the key")
    points = np.empty(3 * count, np.float32)
    block.data.foreach_get("co", points)
    return points.reshape(-1, 3).astype(np.float64)


def artist_keys(keys):
    """The keys that act as sliders: all but the basis and our own."""
    return [b for b in keys.key_blocks[1:] if b.name != RESULT_KEY]


def make_rig(obj):
    """The shape keys as a rig, in the mesh's own coordinates."""
    sinew = library()
    keys = check(obj)
    mesh = obj.data
    count = len(mesh.vertices)
    basis = coordinates(keys.reference_key, count)
    rig = sinew.Rig(sinew.Mesh(basis, [list(p.vertices) for p in mesh.polygons]))
    for block in artist_keys(keys):
        delta = coordinates(block, count) - coordinates(block.relative_key, count)
        if block.vertex_group and block.vertex_group in obj.vertex_groups:
            delta *= group_weights(obj, block.vertex_group)[:, None]
        moved = np.nonzero(np.abs(delta).max(axis=1) > 0)[0]
        rig.add_target(block.name, moved, delta[moved])
    return rig


def group_weights(obj, name):
    group = obj.vertex_groups[name].index
    weights = np.zeros(len(obj.data.vertices))
    for v in obj.data.vertices:
        for g in v.groups:
            if g.group == group:
                weights[v.index] = g.weight
    return weights


def weights_of(keys):
    """Values of the keys as they act now."""
    return np.array([0.0 if b.mute else b.value for b in artist_keys(keys)])


def linear_blend(obj, keys):
    """What Blender shows without our key."""
    count = len(obj.data.vertices)
    points = coordinates(keys.reference_key, count)
    for block, weight in zip(artist_keys(keys), weights_of(keys)):
        if weight == 0:
            continue
        delta = coordinates(block, count) - coordinates(block.relative_key, count)
        if block.vertex_group and block.vertex_group in obj.vertex_groups:
            delta *= group_weights(obj, block.vertex_group)[:, None]
        points += weight * delta
    return points


def write_result(obj, positions, linear):
    """Puts the difference to the linear blend into our own key, at value 1."""
    keys = obj.data.shape_keys
    block = keys.key_blocks.get(RESULT_KEY)
    if block is None:
        block = obj.shape_key_add(name=RESULT_KEY, from_mix=False)
        block.value = 1.0
    basis = coordinates(keys.reference_key, len(obj.data.vertices))
    block.data.foreach_set("co", (basis + positions - linear).astype(np.float32).ravel())
    obj.data.update()


def scene_of(obj, folder):
    """Pins and obstacles of the object's settings, as keys of a scene."""
    settings, scene = obj.sinew, {}
    if settings.model != "spring":
        return scene
    if settings.pin_group and settings.pin_group in obj.vertex_groups:
        pinned = np.nonzero(group_weights(obj, settings.pin_group) > 0.5)[0]
        if len(pinned):
            scene["pins"] = [{"select": "v:" + ",".join(map(str, pinned))}]
    if settings.obstacles:
        scene["obstacles"] = [o for o in (obstacle(obj, other, folder)
                                          for other in settings.obstacles.objects) if o]
    return scene


def obstacle(obj, other, folder):
    """An evaluated mesh object in the coordinates of `obj`, as a file for the scene."""
    import bpy
    if other.type != "MESH" or other == obj:
        return None
    evaluated = other.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    try:
        if not mesh.polygons:
            return None
        points = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.vertices.foreach_get("co", points)
        matrix = np.array(obj.matrix_world.inverted() @ evaluated.matrix_world)
        points = points.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]
        sinew = library()
        path = os.path.join(folder, f"obstacle_{abs(hash(other.name))}.obj")
        sinew.Mesh(points, [list(p.vertices) for p in mesh.polygons]).write(path)
        return {"shape": "mesh", "file": path}
    finally:
        evaluated.to_mesh_clear()


def make_session(obj):
    """A session that is ready to solve, and its folder of temporary files."""
    sinew = library()
    folder = tempfile.TemporaryDirectory(prefix="sinew-")
    try:
        session = sinew.Session(scene_of(obj, folder.name), rig=make_rig(obj),
                                model=obj.sinew.model)
        session.prepare()
    except sinew.Error as error:
        folder.cleanup()
        raise Problem(str(error)) from error
    return session, folder

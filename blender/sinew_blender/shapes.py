# SPDX-License-Identifier: GPL-3.0-or-later
"""From Blender's shape keys to a Sinew session, and back."""
import os
import sys
import tempfile

import numpy as np

RESULT_KEY = "Sinew"
WHOLE_CLIP = ("modal", "force")  # models that look at a whole clip: baked, not live


def is_result(block):
    """Keys that the add-on made: the result, and those of baked frames."""
    name = block.name
    return name == RESULT_KEY or (name.startswith(RESULT_KEY + " ")
                                  and name[len(RESULT_KEY) + 1:].lstrip("-").isdigit())


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
    return [b for b in keys.key_blocks[1:] if not is_result(b)]


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


def linear_blend(obj, keys, weights):
    """What Blender shows at these values without our keys. Not the session's linear blend, whose
    weights have passed the locks."""
    count = len(obj.data.vertices)
    points = coordinates(keys.reference_key, count)
    for block, weight in zip(artist_keys(keys), weights):
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


def check_live(obj):
    if obj.sinew.model in WHOLE_CLIP:
        raise Problem(f"'{obj.sinew.model}' moves over time: use Bake frames, or choose Rotation "
                      "or Spring")


def members(obj, group):
    """Vertices of a group with more than half weight, as a selection of a scene; None if empty."""
    if not group or group not in obj.vertex_groups:
        return None
    chosen = np.nonzero(group_weights(obj, group) > 0.5)[0]
    return "v:" + ",".join(map(str, chosen)) if len(chosen) else None


def obstacles_of(obj, folder, stamp=""):
    others = obj.sinew.obstacles.objects if obj.sinew.obstacles else ()
    return [o for o in (obstacle(obj, other, folder, stamp) for other in others) if o]


def remove_results(obj, keys):
    """Removes the keys that the add-on made, and their animation."""
    action = keys.animation_data.action if keys.animation_data else None
    for block in [b for b in keys.key_blocks if is_result(b)]:
        curve = action.fcurves.find(block.path_from_id("value")) if action else None
        if curve:
            action.fcurves.remove(curve)
        obj.shape_key_remove(block)


def scene_of(obj, folder):
    """Locks, pins and obstacles of the object's settings, as keys of a scene."""
    settings, scene = obj.sinew, {}
    locked = members(obj, settings.lock_group)
    if locked and settings.model not in WHOLE_CLIP:
        scene["locks"] = [{"name": settings.lock_group, "select": locked}]
        scene["attenuation"] = {"trade": True}
        if settings.lock_strength != 1:
            # The default is the ratio of free to locked vertices.
            count = locked.count(",") + 1
            ratio = max(1.0, (len(obj.data.vertices) - count) / count)
            scene["attenuation"]["alpha"] = settings.lock_strength * ratio
    if settings.model == "modal":
        scene["parameters"] = {"swings": settings.swings, "damping": settings.damping}
    if settings.model == "spring":
        pinned = members(obj, settings.pin_group)
        if pinned:
            scene["pins"] = [{"select": pinned}]
        obstacles = obstacles_of(obj, folder)
        if obstacles:
            scene["obstacles"] = obstacles
    return scene


def move_obstacles(context, obj, session, folder, frame):
    """Brings obstacles to where they are in a frame."""
    if obj.sinew.model != "spring" or not obj.sinew.obstacles:
        return
    present = context.scene.frame_current
    context.scene.frame_set(frame)
    try:
        obstacles = obstacles_of(obj, folder.name, f"_{frame}")
    finally:
        context.scene.frame_set(present)
    session.patch([{"op": "add", "path": "/obstacles", "value": obstacles}])


def obstacle(obj, other, folder, stamp=""):
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
        path = os.path.join(folder, f"obstacle_{abs(hash(other.name))}{stamp}.obj")
        sinew.Mesh(points, [list(p.vertices) for p in mesh.polygons]).write(path)
        return {"shape": "mesh", "file": path}
    finally:
        evaluated.to_mesh_clear()


def make_session(obj, drive=None):
    """A session that is ready to solve, and its folder of temporary files. `drive`: keys of the
    scene for models that look at a whole clip."""
    sinew = library()
    folder = tempfile.TemporaryDirectory(prefix="sinew-")
    try:
        session = sinew.Session({**scene_of(obj, folder.name), **(drive or {})},
                                rig=make_rig(obj), model=obj.sinew.model)
        session.prepare()
    except sinew.Error as error:
        folder.cleanup()
        raise Problem(str(error)) from error
    return session, folder

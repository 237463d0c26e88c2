# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of an object as a scene of the library: locks, pins, maps and obstacles.

What may change from frame to frame or while something is dragged is returned by `moving` as values
of the scene by JSON pointer; a session is patched with those that differ.
"""
import json
import os
import types

import bpy
import numpy as np

from . import shapes

MAP_RANGE = 4.0  # a painted weight of 0, 0.5 and 1 multiplies by 1/4, 1 and 4


def frozen(obj):
    """A copy of the settings that another thread may read."""
    settings = obj.sinew
    plain = types.SimpleNamespace(**{
        name: getattr(settings, name) for name in (
            "model", "stiffness_group", "mass_group", "pin_group", "swings", "damping",
            "stiffness", "lag", "bounce", "ease", "layer", "lock_strength", "self_contact")})
    plain.gravity = tuple(settings.gravity)
    plain.follows = settings.pin_target is not None
    plain.locks = [types.SimpleNamespace(group=lock.group, enabled=lock.enabled, pose=lock.pose,
                                         axes=tuple(lock.axes)) for lock in settings.locks]
    plain.unit = shapes.unit_of(bpy.context.scene)[0]
    return plain


def touches_itself(settings):
    """Whether the model keeps the surface, or the parts of a face, from intersecting."""
    return settings.model in ("spring", "rotation") and settings.self_contact


def groups_of(settings):
    """Vertex groups that the model reads."""
    names = [lock.group for lock in settings.locks]
    if settings.model in ("spring", "modal", "force"):
        names += [settings.stiffness_group]
    if settings.model in ("spring", "force"):
        names += [settings.mass_group, settings.pin_group]
    return [name for name in names if name]


def members(keys, group):
    """Vertices of a group with more than half weight."""
    weights = keys.groups.get(group)
    return np.zeros(0, np.int64) if weights is None else np.flatnonzero(weights > 0.5)


def selection(vertices):
    return "v:" + ",".join(map(str, vertices))


def write_map(keys, group, folder, name):
    """A CSV file of factors from a vertex group."""
    factors = MAP_RANGE ** (2 * keys.groups[group] - 1)
    path = os.path.join(folder, name + ".csv")
    rows = np.column_stack([np.arange(keys.count), factors])
    np.savetxt(path, rows, fmt=("%d", "%.9g"), delimiter=",", header="vertex,value", comments="")
    return path


def locks_of(settings, keys):
    """Locks with vertices, as the scene has them, and their numbers in the settings."""
    found, numbers = [], []
    for i, lock in enumerate(settings.locks):
        held = members(keys, lock.group)
        if not len(held):
            continue
        entry = {"name": f"{i} {lock.group}", "select": selection(held),
                 "enabled": bool(lock.enabled)}
        axes = "".join(axis for axis, on in zip("xyz", lock.axes) if on)
        if axes not in ("", "xyz"):
            entry["axes"] = axes
        pose = json.loads(lock.pose or "{}")
        entry["weights"] = {name: value for name, value in pose.items() if name in keys.names}
        found.append(entry)
        numbers.append(i)
    return found, numbers


def parameters_of(settings, keys, folder):
    values = {}
    model = settings.model
    if model == "modal":
        values.update(swings=settings.swings, damping=settings.damping,
                      stiffness=settings.stiffness, ease=settings.ease)
    if model == "force":
        values.update(mass_time=settings.lag, velocity_kept=settings.bounce)
    if model == "spring" and any(settings.gravity):
        values["gravity"] = list(settings.gravity)
    if touches_itself(settings):
        values["self_contact"] = True
    if settings.stiffness_group in keys.groups and model in ("spring", "modal", "force"):
        path = write_map(keys, settings.stiffness_group, folder, "stiffness")
        if model == "force":
            values.update(stretch_map=path, bend_map=path)
        else:
            values["stiffness_map"] = path
    if settings.mass_group in keys.groups and model in ("spring", "force"):
        values["mass_map"] = write_map(keys, settings.mass_group, folder, "mass")
    if model == "force":
        fixed = members(keys, settings.pin_group)
        if len(fixed):
            values["fixed"] = selection(fixed)
    return values


def document(settings, keys, folder, with_locks=True):
    """The scene of an object without what moves; `settings` are frozen."""
    scene = {"rig": {"unit": settings.unit}}
    parameters = parameters_of(settings, keys, folder)
    if parameters:
        scene["parameters"] = parameters
    if with_locks:
        locks, _ = locks_of(settings, keys)
        if locks:
            scene["locks"] = locks
            scene["attenuation"] = {"trade": True, "strength": settings.lock_strength}
    if settings.model == "spring" and not settings.follows:
        pinned = members(keys, settings.pin_group)
        if len(pinned):
            scene["pins"] = [{"select": selection(pinned)}]
    return scene


class Obstacles:
    """The mesh objects of a collection in the coordinates of the solved object.

    An object that only moves keeps its file and gets a motion, which costs the session nothing; one
    that deforms gets a new file."""

    def __init__(self, folder):
        self.folder = folder
        self.known = {}  # by name: points and matrix of its file, entry

    def entries(self, obj, others):
        graph = bpy.context.evaluated_depsgraph_get()
        into = obj.matrix_world.inverted()
        found = []
        for other in others:
            if other.type != "MESH" or other == obj or other == obj.sinew.preview:
                continue
            evaluated = other.evaluated_get(graph)
            mesh = evaluated.to_mesh()
            try:
                if mesh.polygons:
                    found.append(self.entry(other.name, mesh,
                                            np.array(into @ evaluated.matrix_world)))
            finally:
                evaluated.to_mesh_clear()
        return found

    def entry(self, name, mesh, matrix):
        points = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.vertices.foreach_get("co", points)
        points = points.reshape(-1, 3)
        old = self.known.get(name)
        if old and np.array_equal(old["points"], points):
            moved = matrix @ np.linalg.inv(old["matrix"])
            turn = moved[:3, :3]
            if np.abs(turn @ turn.T - np.eye(3)).max() < 1e-5 and np.linalg.det(turn) > 0:
                return {**old["entry"], "motion": [self.motion(moved, old["center"])]}
        placed = points @ matrix[:3, :3].T + matrix[:3, 3]
        number = old["number"] + 1 if old else 0
        path = os.path.join(self.folder, f"{len(self.known) if not old else old['id']}_{number}.obj")
        starts = np.empty(len(mesh.polygons) + 1, np.int32)
        mesh.polygons.foreach_get("loop_start", starts[:-1])
        starts[-1] = len(mesh.loops)
        corners = np.empty(len(mesh.loops), np.int32)
        mesh.loops.foreach_get("vertex_index", corners)
        if np.linalg.det(matrix[:3, :3]) < 0:  # mirrored: turn the faces the right way round
            corners = np.concatenate([corners[a:b][::-1] for a, b in zip(starts, starts[1:])])
        shapes.library().Mesh.from_arrays(placed, starts, corners).write(path)
        entry = {"shape": "mesh", "file": path}
        self.known[name] = {"points": points, "matrix": matrix, "center": placed.mean(axis=0),
                            "entry": entry, "number": number,
                            "id": old["id"] if old else len(self.known)}
        return {**entry, "motion": [{"time": 0, "move": [0, 0, 0], "turn": [0, 0, 0]}]}

    @staticmethod
    def motion(matrix, center):
        from mathutils import Matrix
        axis, angle = Matrix(matrix[:3, :3].tolist()).to_quaternion().to_axis_angle()
        center = np.append(center, 1.0)
        move = (matrix @ center - center)[:3]
        return {"time": 0, "move": [float(x) for x in move],
                "turn": [float(x) * np.degrees(angle) for x in axis]}


def lock_values(numbers, strength, enabled):
    """Values of the scene that switch and scale locks."""
    found = {"/attenuation/strength": float(strength)} if numbers else {}
    for place, number in enumerate(numbers):
        found[f"/locks/{place}/enabled"] = bool(enabled[number])
    return found


def moving(obj, keys, numbers, obstacles, weights):
    """What may have moved since the last solve: {JSON pointer: value}. `numbers`: of the locks that
    have vertices; `obstacles`: their entries."""
    settings = obj.sinew
    found = lock_values(numbers, settings.lock_strength, [k.enabled for k in settings.locks])
    if settings.model == "spring" and settings.obstacles:
        found["/obstacles"] = obstacles
    if settings.model == "spring" and settings.pin_target is not None:
        found["/pulls"] = pulls(obj, keys, weights)
    return found


def pulls(obj, keys, weights):
    """Pinned vertices that follow an object: their linear positions, carried by its motion since it
    was chosen."""
    settings = obj.sinew
    pinned = members(keys, settings.pin_group)
    if not len(pinned):
        return []
    rest = np.array(settings.pin_rest).reshape(4, 4)
    now = np.array(obj.matrix_world.inverted() @ settings.pin_target.matrix_world)
    carried = now @ np.linalg.inv(rest)
    points = keys.linear(weights)[pinned] @ carried[:3, :3].T + carried[:3, 3]
    return [{"vertex": int(v), "to": [float(x) for x in p]} for v, p in zip(pinned, points)]


def patch(session, last, now):
    """Applies what differs; returns what the session has then."""
    changed = [{"op": "add", "path": path, "value": value} for path, value in now.items()
               if last.get(path) != value]
    if changed:
        session.patch(changed)
    return dict(now)

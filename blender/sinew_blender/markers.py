# SPDX-License-Identifier: GPL-3.0-or-later
"""Markers: takes from files or empties, and the map of points on the face as empties.

The map is a collection of empties that are children of the mesh object, one per marker, at its
point on the rest shape. Moving one moves the point.
"""
import os

import bpy
import numpy as np

from . import shapes

MARKER = "sinew_marker"  # custom property of a map empty: name of its marker
DOUBT = "sinew_doubt"  # and why its point is in doubt


def name_of(empty):
    return empty.get(MARKER, empty.name)


def local(obj, other):
    """Position of another object in the coordinates of the mesh."""
    return np.array(obj.matrix_world.inverted() @ other.matrix_world.translation)


def map_points(obj):
    """Names and points (markers, 3) of the map, or None."""
    collection = obj.sinew.marker_map
    empties = list(collection.objects) if collection else []
    if not empties:
        return None
    return [name_of(e) for e in empties], np.array([local(obj, e) for e in empties])


def positions_now(obj, names):
    """Where the marker objects are, in the order of the map; NaN where one is missing."""
    found = {name_of(e): e for e in (obj.sinew.marker_objects.objects
                                     if obj.sinew.marker_objects else ())}
    rows = [local(obj, found[name]) if name in found else np.full(3, np.nan) for name in names]
    return np.array(rows)


def check(obj):
    """Markers to follow, or a Problem."""
    settings = obj.sinew
    if settings.marker_objects is not None:
        if not len(settings.marker_objects.objects):
            raise shapes.Problem(f"Collection '{settings.marker_objects.name}' has no objects")
    elif not settings.take:
        raise shapes.Problem("Choose a take, or a collection of empties that act as markers")
    elif not os.path.isfile(bpy.path.abspath(settings.take)):
        raise shapes.Problem(f"Cannot find the take '{settings.take}'")


def read_take(path):
    try:
        return shapes.library().Markers.read(path)
    except (OSError, ValueError) as error:
        raise shapes.Problem(str(error)) from error


def sampled_take(scene, obj, frames, rate):
    """The marker objects over a range of frames as a take: a generator that returns it, and leaves
    the scene at another frame."""
    names = [name_of(e) for e in obj.sinew.marker_objects.objects]
    rows = []
    for frame in frames:
        scene.frame_set(frame)
        rows.append(positions_now(obj, names))
        yield
    times = np.arange(len(frames)) / rate
    return shapes.library().Markers(names, times, np.array(rows))


def take_of(scene, obj, frames, rate):
    """The take that is chosen; a generator that returns it."""
    check(obj)
    if obj.sinew.marker_objects is not None:
        return (yield from sampled_take(scene, obj, frames, rate))
    return read_take(bpy.path.abspath(obj.sinew.take))


def similarity(source, target):
    """Scale, rotation and translation that best move points onto others (Umeyama 1991)."""
    seen = np.isfinite(source).all(axis=1)
    a, b = source[seen], target[seen]
    if len(a) < 3:
        raise shapes.Problem("Fewer than three markers of the map are visible in the neutral "
                             "frame of the take")
    middle_a, middle_b = a.mean(axis=0), b.mean(axis=0)
    u, sizes, v = np.linalg.svd((b - middle_b).T @ (a - middle_a))
    flip = np.diag([1, 1, np.sign(np.linalg.det(u @ v))])
    rotation = u @ flip @ v
    scale = (sizes * np.diag(flip)).sum() / ((a - middle_a) ** 2).sum()
    return scale, rotation, middle_b - scale * rotation @ middle_a


def aligned(take, rig, points):
    """A take from a file, moved onto the points of the map in its neutral frame."""
    sinew = shapes.library()
    names, where = points
    try:
        neutral = sinew.Capture(rig, take).neutral_sample
    except sinew.Error:
        neutral = 0
    order = {name.lower(): i for i, name in enumerate(take.names)}
    known = [(order[n.lower()], k) for k, n in enumerate(names) if n.lower() in order]
    if not known:
        raise shapes.Problem("The take has none of the markers of the map; press Find Map again")
    rows, columns = zip(*known)
    scale, rotation, shift = similarity(take.positions[neutral][list(rows)], where[list(columns)])
    moved = scale * take.positions @ rotation.T + shift
    return sinew.Markers(take.names, take.times, moved)


def write_map(keys, points, folder):
    path = os.path.join(folder, "map.csv")
    shapes.library().MarkerMap.nearest(keys.mesh(), *points).write(path)
    return path


def rest_document(keys, settings, points, folder):
    """Keys of a scene for markers that are given frame by frame: a take that rests on the map."""
    sinew = shapes.library()
    where = write_map(keys, points, folder)
    mesh = keys.mesh()
    rest = sinew.MarkerMap.read(where, mesh).points(mesh)
    path = os.path.join(folder, "rest.csv")
    sinew.Markers(points[0], [0.0], rest[None]).write(path)
    return {"markers": {"file": path, "map": where, "unit": settings.unit},
            "parameters": {"stable": "none", "cutoff": 0, "layer": settings.layer}}


class Prepared:
    """A take ready for a session and for fits."""

    def __init__(self, obj_settings, keys, rig, take, points, objects, folder):
        sinew = shapes.library()
        if points is not None and not objects:
            take = aligned(take, rig, points)
        self.path = os.path.join(folder, "take.csv")
        take.write(self.path)
        self.map = write_map(keys, points, folder) if points is not None else None
        self.parameters = {"layer": obj_settings.layer}
        options = {}
        if objects:  # the motion of the head is that of the mesh object
            self.parameters.update(stable="none", cutoff=0)
            options.update(stable="none", cutoff=0)
        elif self.map:
            self.parameters["retarget"] = options["retarget"] = True
        given = sinew.MarkerMap.read(self.map, rig.neutral) if self.map else None
        self.capture = sinew.Capture(rig, take, given, **options)
        self.start, self.end = float(take.times[0]), float(take.times[-1])

    def document(self, unit):
        found = {"file": self.path, "unit": unit} if self.map else {"file": self.path}
        if self.map:
            found["map"] = self.map
        return {"markers": found, "parameters": self.parameters}


def show_map(scene, obj, names, points, doubts):
    """Empties for a map, in a collection of their own."""
    settings = obj.sinew
    collection = settings.marker_map
    if collection is None:
        collection = bpy.data.collections.new(f"{obj.name} map")
        scene.collection.children.link(collection)
    for empty in list(collection.objects):
        bpy.data.objects.remove(empty)
    size = 0.008 * float(np.linalg.norm(np.ptp(np.array(obj.bound_box), axis=0)))
    for name, point in zip(names, points):
        empty = bpy.data.objects.new(f"{name} map", None)
        empty.empty_display_type = "CUBE" if name in doubts else "SPHERE"
        empty.empty_display_size = 2 * size if name in doubts else size
        empty.show_in_front = True
        empty[MARKER] = name
        if name in doubts:
            empty[DOUBT] = doubts[name]
        empty.parent = obj
        empty.location = point
        collection.objects.link(empty)
    settings.marker_map = collection
    return collection

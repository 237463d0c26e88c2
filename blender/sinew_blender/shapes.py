# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's shape keys as arrays and as a rig, and results back into Blender.

Arrays are read and written with foreach_get and foreach_set: nothing here loops over vertices,
except for vertex groups, which Blender has no arrays of.
"""
import importlib
import os
import time

import numpy as np

RESULT_KEY = "Sinew"
WHOLE_CLIP = ("modal", "force")  # models whose motion depends on a whole clip: baked, not live
READING = 0.03  # seconds of reading at a time: the interface acts in between
VERTICES_AT_A_TIME = 4000  # whose vertex groups are read before the interface may act
UNITS = {1.0: "m", 0.1: "dm", 0.01: "cm", 0.001: "mm", 0.0254: "in", 0.3048: "ft"}


class Problem(Exception):
    """Something the user can fix; shown as a Blender report."""


def portion(reader):
    """Advances a generator that reads Blender's data for a moment; true when it has ended."""
    end, done = time.perf_counter() + READING, object()
    while time.perf_counter() < end:
        if next(reader, done) is done:
            return True
    return False


def whole(reader):
    """Runs such a generator to its end; returns what it returns."""
    while True:
        try:
            next(reader)
        except StopIteration as end:
            return end.value


def library():
    """The Python module that is bundled with the add-on, or the installed one."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sinew")
    try:
        return (importlib.import_module(".sinew", __package__) if os.path.isdir(folder)
                else importlib.import_module("sinew"))
    except ImportError as error:
        raise Problem(f"Cannot load the Sinew library: {error}. Install the add-on again from its "
                      "zip file") from error


def is_result(block):
    """Keys that the add-on made: the result, and those of baked frames."""
    name = block.name
    return name == RESULT_KEY or (name.startswith(RESULT_KEY + " ")
                                  and name[len(RESULT_KEY) + 1:].lstrip("-").isdigit())


def artist_keys(keys):
    """The keys that act as sliders: all but the basis and the add-on's own."""
    return [b for b in keys.key_blocks if b != keys.reference_key and not is_result(b)]


def check(obj):
    """The shape keys of an object that can be solved, or a Problem that explains what to do."""
    if obj is None or obj.type != "MESH":
        raise Problem("Select a mesh object")
    if obj.mode == "EDIT":
        raise Problem("Leave Edit Mode first (Tab)")
    keys = obj.data.shape_keys
    if keys is None or not artist_keys(keys):
        raise Problem(f"'{obj.name}' has no shape keys; add some, or select another object")
    if not keys.use_relative:
        raise Problem(f"'{obj.name}' has absolute shape keys; turn on Relative in its shape key "
                      "panel")
    count = len(obj.data.vertices)
    for block in keys.key_blocks:
        if len(block.data) != count:
            raise Problem(f"Shape key '{block.name}' has {len(block.data)} vertices, but the mesh "
                          f"has {count}; enter and leave Edit Mode to update it, or remove the key")
    check_scale(obj)
    return keys


def check_scale(obj):
    """A stretched object bends differently than its mesh, so it cannot be solved."""
    axes = np.array(obj.matrix_world.to_3x3())
    scale = np.linalg.norm(axes, axis=0)
    skew = axes.T @ axes / max(scale.max() ** 2, 1e-300) - np.eye(3) * (scale / scale.max()) ** 2
    if scale.min() <= 0 or scale.max() / scale.min() > 1.0001 or np.abs(skew).max() > 1e-4:
        shown = ", ".join(f"{s:.4g}" for s in scale)
        raise Problem(f"'{obj.name}' has a non-uniform scale ({shown}); apply it with Ctrl+A > "
                      "Scale")


def check_live(obj):
    if obj.sinew.model in WHOLE_CLIP:
        label = obj.sinew.bl_rna.properties["model"].enum_items[obj.sinew.model].name
        raise Problem(f"{label} moves over time: use one of the Bake buttons, or choose Rotation "
                      "or Spring")


def unit_of(scene):
    """The unit of length of a scene for the library, and a sentence if it is not a meter."""
    scale = scene.unit_settings.scale_length
    for size, name in UNITS.items():
        if abs(scale / size - 1) < 1e-4:
            return name, "" if name == "m" else (
                f"The unit scale of the scene is {scale:g}: lengths are in {name}. The mesh and the "
                "scene keep their size, and the result has the shape it has at unit scale 1")
    return "m", (f"The unit scale of the scene, {scale:g}, is not a known unit: lengths are read as "
                 "meters. Set it to 1 or 0.01 under Scene > Units if markers do not fit")


def points_of(block):
    """The points of a key. Blender 4.1 and later copy `points` as a whole, but `data` one by one."""
    return getattr(block, "points", block.data)


def coordinates(block, count):
    points = np.empty(3 * count, np.float32)
    points_of(block).foreach_get("co", points)
    return points.reshape(-1, 3)


def read_groups(obj, names):
    """Weights of vertex groups as arrays, by name. One loop over the vertices for all of them, which
    pauses: a generator that returns the weights."""
    count = len(obj.data.vertices)
    found = {name: np.zeros(count) for name in names if name in obj.vertex_groups}
    rows = {obj.vertex_groups[name].index: row for name, row in found.items()}
    for start in range(0, count if rows else 0, VERTICES_AT_A_TIME):
        for vertex in obj.data.vertices[start:start + VERTICES_AT_A_TIME]:
            for member in vertex.groups:
                row = rows.get(member.group)
                if row is not None:
                    row[vertex.index] = member.weight
        yield
    return found


class Keys:
    """The shape keys of an object as arrays, which other threads may use.

    Reading a large face takes longer than the interface may wait, so `read` is a generator that
    pauses after every key.
    """

    def __init__(self, obj):
        keys = check(obj)
        mesh = obj.data
        self.count = len(mesh.vertices)
        blocks = artist_keys(keys)
        self.names = [block.name for block in blocks]
        self.limits = [(block.slider_min, block.slider_max) for block in blocks]
        self.starts = np.empty(len(mesh.polygons) + 1, np.int32)
        mesh.polygons.foreach_get("loop_start", self.starts[:-1])
        self.starts[-1] = len(mesh.loops)
        self.corners = np.empty(len(mesh.loops), np.int32)
        mesh.loops.foreach_get("vertex_index", self.corners)
        self.basis = coordinates(keys.reference_key, self.count)
        self.groups = {}
        self.deltas = []  # per key: moved vertices, their displacements

    def read(self, obj, groups=()):
        keys = obj.data.shape_keys
        blocks = artist_keys(keys)
        masks = [block.vertex_group for block in blocks if block.vertex_group]
        self.groups = yield from read_groups(obj, set(masks) | {name for name in groups if name})
        for block in blocks:
            delta = coordinates(block, self.count).astype(np.float64)  # exact differences
            delta -= (self.basis if block.relative_key == keys.reference_key
                      else coordinates(block.relative_key, self.count))
            if block.vertex_group in self.groups:
                delta *= self.groups[block.vertex_group][:, None]
            moved = np.flatnonzero(delta.any(axis=1)).astype(np.int32)
            self.deltas.append((moved, delta[moved]))
            yield

    @classmethod
    def of(cls, obj, groups=()):
        keys = cls(obj)
        whole(keys.read(obj, groups))
        return keys

    def matches(self, obj):
        """Whether the object still has the same keys, without a look at their shapes."""
        keys = obj.data.shape_keys
        return (keys is not None and len(obj.data.vertices) == self.count
                and [block.name for block in artist_keys(keys)] == self.names)

    def mesh(self):
        return library().Mesh.from_arrays(self.basis, self.starts, self.corners)

    def rig(self):
        """The keys as a rig, in the coordinates of the mesh."""
        rig = library().Rig(self.mesh())
        for name, (moved, delta), limits in zip(self.names, self.deltas, self.limits):
            rig.add_target(name, moved, delta)
            rig.set_limits(name, *limits)
        return rig

    def linear(self, weights):
        """The linear blend that Blender shows at these values, without the add-on's keys."""
        points = self.basis.astype(np.float64)
        for weight, (moved, delta) in zip(weights, self.deltas):
            if weight != 0 and len(moved):
                points[moved] += weight * delta
        return points

    def difference(self, positions, weights):
        """What a key must hold to show these positions on top of the linear blend."""
        return (self.basis + (positions - self.linear(weights))).astype(np.float32)


def weights_of(keys):
    """Values of the keys as they act now."""
    return np.array([0.0 if b.mute else b.value for b in artist_keys(keys)])


def write_result(obj, points):
    """Stores coordinates in the add-on's own key, at value 1."""
    keys = obj.data.shape_keys
    block = keys.key_blocks.get(RESULT_KEY)
    if block is None:
        block = obj.shape_key_add(name=RESULT_KEY, from_mix=False)
        block.value = 1.0
    points_of(block).foreach_set("co", points.ravel())
    obj.data.update()


def preview_of(obj):
    """The preview object: a copy of the mesh without shape keys, beside the original."""
    import bpy
    shown = obj.sinew.preview
    if shown is not None and len(shown.data.vertices) == len(obj.data.vertices):
        return shown
    if shown is not None:
        bpy.data.objects.remove(shown)
    shown = obj.copy()
    shown.data = bpy.data.meshes.new_from_object(obj)  # without keys, and without modifiers
    shown.animation_data_clear()
    shown.sinew.live = False
    shown.name = f"{obj.name} {RESULT_KEY}"
    shown.parent = obj
    shown.matrix_parent_inverse.identity()
    shown.matrix_basis.identity()
    corners = np.array(obj.bound_box)
    shown.location.x = 1.2 * float(np.ptp(corners[:, 0]))
    for collection in obj.users_collection:
        collection.objects.link(shown)
    obj.sinew.preview = shown
    return shown


def write_preview(obj, positions):
    shown = preview_of(obj)
    shown.data.vertices.foreach_set("co", np.ascontiguousarray(positions, np.float32).ravel())
    shown.data.update()


def remove_results(obj, keys):
    """Removes what the add-on made: its keys with their animation, and the preview object."""
    import bpy

    from . import animation
    for block in [b for b in keys.key_blocks if is_result(b)]:
        animation.remove_curve(keys, block.path_from_id("value"))
        obj.shape_key_remove(block)
    shown = obj.sinew.preview
    if shown is not None:
        mesh = shown.data
        bpy.data.objects.remove(shown)
        if mesh.users == 0:
            bpy.data.meshes.remove(mesh)

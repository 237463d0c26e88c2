# SPDX-License-Identifier: GPL-3.0-or-later
"""Direct manipulation: grab the surface, and the shape keys follow.

`Grab` knows nothing of events; the operator below feeds it rays and offsets. Reading the keys of a
large face takes longer than the interface may wait, so a drag may start before they are read.
"""
import os

import bpy
import numpy as np
from bpy_extras import view3d_utils
from mathutils import Vector

from . import operators, scene, shapes
from .job import Task


class Grab(Task):
    """Key values that bring a grabbed region to where it is dragged."""

    def __init__(self, context, obj):
        super().__init__(context, obj)
        keys = obj.data.shape_keys
        self.settings = scene.frozen(obj)
        self.keys = shapes.Keys(obj)
        data = keys.animation_data
        driven = {driver.data_path for driver in data.drivers} if data else set()
        self.start_values = shapes.weights_of(keys)
        # Keys that a driver or the mute switch holds belong to the rest shape.
        self.free = [i for i, block in enumerate(shapes.artist_keys(keys))
                     if not block.mute and block.path_from_id("value") not in driven]
        if not self.free:
            raise shapes.Problem("Every shape key is driven or muted: there is nothing to move")
        self.vertices = None

    @classmethod
    def of(cls, context, obj):
        """A grab that is ready, for scripts."""
        grab = cls(context, obj)
        while not grab.read_some():
            pass
        grab.solve()
        return grab

    def read(self):
        yield from self.keys.read(self.obj, scene.groups_of(self.settings))
        self.result = None  # what the add-on's own key adds to the linear blend
        block = self.block.key_blocks.get(shapes.RESULT_KEY)
        if block is not None and not block.mute and block.value != 0:
            self.result = block.value * (shapes.coordinates(block, self.keys.count)
                                         - self.keys.basis)

    def solve(self):
        held = self.start_values.copy()
        held[self.free] = 0
        sinew = shapes.library()
        rest = sinew.Mesh.from_arrays(self.keys.linear(held), self.keys.starts, self.keys.corners)
        rig = sinew.Rig(rest)
        for i in self.free:
            rig.add_target(self.keys.names[i], *self.keys.deltas[i])
            rig.set_limits(self.keys.names[i], *self.keys.limits[i])
        locks, _ = scene.locks_of(self.settings, self.keys)
        names = {self.keys.names[i] for i in self.free}
        for lock in locks:
            lock["weights"] = {n: w for n, w in lock["weights"].items() if n in names}
        document = {"locks": locks, "attenuation": {"strength": self.settings.lock_strength}} \
            if locks else {}
        self.session = sinew.Session(document, rig=rig, model="linear")
        self.session.prepare()
        self.linear = self.keys.linear(self.start_values)
        self.shown = self.linear if self.result is None else self.linear + self.result
        self.triangles = np.array(rest.triangles)
        self.query = sinew.Query(self.shown, self.triangles)

    def pick(self, origin, direction, radius=0.0):
        """Grabs what a ray in the coordinates of the mesh hits first; returns the point, or None.
        `radius`: of the region around it, as a fraction of the bounding-box diagonal."""
        hit = self.query.ray(origin, direction)
        if hit is None:
            return None
        triangle, shares, point = hit
        corner = self.triangles[triangle][int(np.argmax(shares))]
        reach = radius * np.linalg.norm(np.ptp(self.keys.basis, axis=0))
        distance = np.linalg.norm(self.shown - point, axis=1)
        self.vertices, self.influence = np.array([corner]), np.ones(1)
        if reach > 0:
            near = np.flatnonzero(distance < reach)
            near = near[near != corner][:500]
            self.vertices = np.append(self.vertices, near)
            self.influence = np.append(1.0, (1 - (distance[near] / reach) ** 2) ** 2)
        keep = self.influence > 1e-3
        self.vertices, self.influence = self.vertices[keep], self.influence[keep]
        return point

    def drag(self, offset):
        """Values of all keys that move the grabbed region by an offset from where it was."""
        goal = self.linear[self.vertices] + np.asarray(offset)
        found = self.session.drag(self.vertices, goal, start=self.start_values[self.free],
                                  influence=self.influence)
        weights = self.start_values.copy()
        weights[self.free] = found
        return weights

    def apply(self, weights):
        keys = self.obj.data.shape_keys
        blocks = shapes.artist_keys(keys)
        for i in self.free:
            if abs(blocks[i].value - weights[i]) > 1e-6:
                blocks[i].value = float(weights[i])

    def keyframes(self, weights):
        """Keyframes of the keys that changed, for automatic keyframing."""
        blocks = shapes.artist_keys(self.obj.data.shape_keys)
        for i in self.free:
            if abs(self.start_values[i] - weights[i]) > 1e-6:
                blocks[i].keyframe_insert("value")


class SINEW_OT_grab(operators._Operator, bpy.types.Operator):
    """Drag the surface; the shape keys follow as closely as they can. Locks apply"""
    bl_idname = "sinew.grab"
    bl_label = "Grab Shape"
    bl_options = {"REGISTER", "UNDO", "BLOCKING"}
    origin: bpy.props.FloatVectorProperty(
        name="Origin", description="Start of the ray that hits the grabbed point, in mesh "
                                   "coordinates", options={"HIDDEN", "SKIP_SAVE"})
    direction: bpy.props.FloatVectorProperty(
        name="Direction", description="Direction of the ray", default=(0, 0, -1),
        options={"HIDDEN", "SKIP_SAVE"})
    offset: bpy.props.FloatVectorProperty(
        name="Offset", description="Displacement of the grabbed point, in mesh coordinates",
        subtype="TRANSLATION", options={"SKIP_SAVE"})

    def work(self, context, obj):
        """For scripts, and to change the offset of the last grab."""
        grab = Grab.of(context, obj)
        try:
            if grab.pick(np.array(self.origin), np.array(self.direction),
                         obj.sinew.grab_radius) is None:
                raise shapes.Problem(f"The ray does not hit '{obj.name}'")
            weights = grab.drag(self.offset)
            grab.apply(weights)
            if context.scene.tool_settings.use_keyframe_insert_auto:
                grab.keyframes(weights)
        finally:
            grab.close()
        return {"FINISHED"}

    def invoke(self, context, event):
        return self.reporting(self.begin, context, event)

    def begin(self, context, event):
        """Starts to read the keys. A click beside the object is left to Blender."""
        obj, region, view = context.object, context.region, context.region_data
        if view is None:
            raise shapes.Problem("Use Grab Shape in a 3D viewport")
        self.matrix = obj.matrix_world.copy()
        self.mouse, into = (event.mouse_region_x, event.mouse_region_y), self.matrix.inverted()
        self.origin = into @ view3d_utils.region_2d_to_origin_3d(region, view, self.mouse)
        self.direction = into.to_3x3() @ view3d_utils.region_2d_to_vector_3d(region, view,
                                                                             self.mouse)
        self.grab = Grab(context, obj)
        if not obj.ray_cast(self.origin, self.direction)[0]:
            self.grab.close()
            return {"CANCELLED", "PASS_THROUGH"}
        self.grab.announce()
        self.point, self.released = None, False
        self.timer = context.window_manager.event_timer_add(0.01, window=context.window)
        context.workspace.status_text_set("Grab Shape: reading the shape keys  |  Esc: cancel")
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        """Until the keys are read, only the position of the mouse is noted."""
        state = {"RUNNING_MODAL"}
        if event.type == "MOUSEMOVE":
            self.mouse = event.mouse_region_x, event.mouse_region_y
            if self.point is not None:
                state = self.reporting(self.move, context)
        elif event.type in {"RIGHTMOUSE", "ESC"}:
            state = {"CANCELLED"}
        elif event.type in {"LEFTMOUSE", "RET"} and event.value in {"RELEASE", "PRESS"}:
            self.released = True
        elif event.type == "TIMER" and self.point is None:
            state = self.reporting(self.prepare, context)
        if state == {"RUNNING_MODAL"} and self.released and self.point is not None:
            if context.scene.tool_settings.use_keyframe_insert_auto:
                self.grab.keyframes(self.weights)
            state = {"FINISHED"}
        if state != {"RUNNING_MODAL"}:
            if state == {"CANCELLED"} and self.point is not None:
                self.grab.apply(self.grab.start_values)
            context.window_manager.event_timer_remove(self.timer)
            context.workspace.status_text_set(None)
            self.grab.close()
        return state

    def prepare(self, context):
        grab = self.grab
        if grab.thread is None:
            if grab.read_some():
                grab.start()
            return {"RUNNING_MODAL"}
        if grab.thread.is_alive():
            return {"RUNNING_MODAL"}
        if grab.failure:
            raise grab.failure
        point = grab.pick(np.array(self.origin), np.array(self.direction),
                          grab.obj.sinew.grab_radius)
        if point is None:  # hit something that a modifier made
            return {"CANCELLED"}
        self.point, self.weights = self.matrix @ Vector(point), grab.start_values
        context.workspace.status_text_set("Grab Shape: drag  |  Esc: cancel")
        return self.move(context)

    def move(self, context):
        now = view3d_utils.region_2d_to_location_3d(context.region, context.region_data, self.mouse,
                                                    self.point)
        self.offset = self.matrix.to_3x3().inverted() @ (now - self.point)
        self.weights = self.grab.drag(self.offset)
        self.grab.apply(self.weights)
        return {"RUNNING_MODAL"}


def tool_icon():
    """An icon that this Blender has: those of brushes are not in every series."""
    folder = bpy.utils.system_resource("DATAFILES", path="icons")
    return next((name for name in ("brush.sculpt.grab", "ops.transform.translate")
                 if os.path.exists(os.path.join(folder, name + ".dat"))), "none")


class SinewGrabTool(bpy.types.WorkSpaceTool):
    bl_space_type = "VIEW_3D"
    bl_context_mode = "OBJECT"
    bl_idname = "sinew.grab_tool"
    bl_label = "Grab Shape"
    bl_description = "Drag the surface; shape keys follow"
    bl_icon = tool_icon()
    bl_keymap = (("sinew.grab", {"type": "LEFTMOUSE", "value": "PRESS"}, None),)

    def draw_settings(context, layout, tool):
        if context.object is not None and context.object.type == "MESH":
            layout.prop(context.object.sinew, "grab_radius")


classes = (SINEW_OT_grab,)

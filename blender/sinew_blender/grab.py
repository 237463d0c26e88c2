# SPDX-License-Identifier: GPL-3.0-or-later
"""Direct manipulation: grab the surface, and the shape keys follow.

`Grab` knows nothing of events; the operator below feeds it rays and offsets.
"""
import os

import bpy
import numpy as np
from bpy_extras import view3d_utils
from mathutils import Vector

from . import operators, scene, shapes


class Grab:
    """Key values that bring a grabbed region to where it is dragged."""

    def __init__(self, obj):
        self.obj = obj
        keys = shapes.check(obj)
        settings = scene.frozen(obj)
        self.keys = shapes.Keys.of(obj, scene.groups_of(settings))
        data = keys.animation_data
        driven = {driver.data_path for driver in data.drivers} if data else set()
        blocks = shapes.artist_keys(keys)
        self.start = shapes.weights_of(keys)
        # Keys that a driver or the mute switch holds belong to the rest shape.
        self.free = [i for i, block in enumerate(blocks)
                     if not block.mute and block.path_from_id("value") not in driven]
        if not self.free:
            raise shapes.Problem("Every shape key is driven or muted: there is nothing to move")
        held = self.start.copy()
        held[self.free] = 0
        sinew = shapes.library()
        rest = sinew.Mesh.from_arrays(self.keys.linear(held), self.keys.starts, self.keys.corners)
        rig = sinew.Rig(rest)
        for i in self.free:
            rig.add_target(self.keys.names[i], *self.keys.deltas[i])
            rig.set_limits(self.keys.names[i], *self.keys.limits[i])
        locks, _ = scene.locks_of(settings, self.keys)
        names = {self.keys.names[i] for i in self.free}
        for lock in locks:
            lock["weights"] = {n: w for n, w in lock["weights"].items() if n in names}
        document = {"locks": locks, "attenuation": {"strength": settings.lock_strength}} \
            if locks else {}
        self.session = sinew.Session(document, rig=rig, model="linear")
        self.linear = self.keys.linear(self.start)
        self.triangles = np.array(rest.triangles)
        self.query = sinew.Query(self.shown(), self.triangles)
        self.vertices = None

    def shown(self):
        """Vertices as the keys show them now, the add-on's own included."""
        points = self.linear.copy()
        block = self.obj.data.shape_keys.key_blocks.get(shapes.RESULT_KEY)
        if block is not None and not block.mute and block.value != 0:
            points += block.value * (shapes.coordinates(block, self.keys.count) - self.keys.basis)
        return points

    def pick(self, origin, direction, radius=0.0):
        """Grabs what a ray in the coordinates of the mesh hits first; returns the point, or None.
        `radius`: of the region around it, as a fraction of the bounding-box diagonal."""
        hit = self.query.ray(origin, direction)
        if hit is None:
            return None
        triangle, shares, point = hit
        corner = self.triangles[triangle][int(np.argmax(shares))]
        reach = radius * np.linalg.norm(np.ptp(self.keys.basis, axis=0))
        distance = np.linalg.norm(self.shown() - point, axis=1)
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
        found = self.session.drag(self.vertices, goal, start=self.start[self.free],
                                  influence=self.influence)
        weights = self.start.copy()
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
            if abs(self.start[i] - weights[i]) > 1e-6:
                blocks[i].keyframe_insert("value")

    def close(self):
        self.session.close()


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
        grab = Grab(obj)
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
        obj, region, view = context.object, context.region, context.region_data
        if view is None:
            raise shapes.Problem("Use Grab Shape in a 3D viewport")
        self.matrix = obj.matrix_world.copy()
        at, into = (event.mouse_region_x, event.mouse_region_y), self.matrix.inverted()
        self.origin = into @ view3d_utils.region_2d_to_origin_3d(region, view, at)
        self.direction = into.to_3x3() @ view3d_utils.region_2d_to_vector_3d(region, view, at)
        self.grab = Grab(obj)
        point = self.grab.pick(np.array(self.origin), np.array(self.direction),
                               obj.sinew.grab_radius)
        if point is None:
            self.grab.close()
            return {"CANCELLED", "PASS_THROUGH"}
        self.point = self.matrix @ Vector(point)
        self.weights = self.grab.start
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "MOUSEMOVE":
            state = self.reporting(self.move, context, event)
        elif event.type in {"RIGHTMOUSE", "ESC"}:
            state = {"CANCELLED"}
        elif event.type in {"LEFTMOUSE", "RET"} and event.value in {"RELEASE", "PRESS"}:
            if context.scene.tool_settings.use_keyframe_insert_auto:
                self.grab.keyframes(self.weights)
            state = {"FINISHED"}
        else:
            return {"RUNNING_MODAL"}
        if state == {"CANCELLED"}:
            self.grab.apply(self.grab.start)
        if state != {"RUNNING_MODAL"}:
            self.grab.close()
        return state

    def move(self, context, event):
        at = (event.mouse_region_x, event.mouse_region_y)
        now = view3d_utils.region_2d_to_location_3d(context.region, context.region_data, at,
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

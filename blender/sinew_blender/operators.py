# SPDX-License-Identifier: GPL-3.0-or-later
"""What the panel's buttons do. Problems are reports with a remedy; nothing is changed then."""
import json

import bpy

from . import bake, live, markers, scene, shapes
from .job import Job, Task


class _Operator:
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return context.object is not None and context.object.type == "MESH"

    def execute(self, context):
        return self.reporting(self.work, context, context.object)

    def reporting(self, function, *arguments):
        """Calls a step of the operator: problems become reports, and so does an unusual unit."""
        try:
            state = function(*arguments)
        except (shapes.Problem, OSError, ValueError) as problem:
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        except Exception as error:
            if not is_library_error(error):
                raise
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        note = shapes.unit_of(bpy.context.scene)[1]
        if note and state == {"FINISHED"}:
            self.report({"WARNING"}, note)
        return state


def is_library_error(error):
    """Errors of the library, which may be missing itself."""
    try:
        return isinstance(error, shapes.library().Error)
    except shapes.Problem:
        return False


class SINEW_OT_remove(_Operator, bpy.types.Operator):
    """Remove the key 'Sinew', the keys of baked frames and the preview object"""
    bl_idname = "sinew.remove"
    bl_label = "Remove Result"

    def work(self, context, obj):
        keys = obj.data.shape_keys
        if keys is None:
            raise shapes.Problem(f"'{obj.name}' has no shape keys")
        if obj.mode == "EDIT":
            raise shapes.Problem("Leave Edit Mode first (Tab)")
        obj.sinew.live = False
        shapes.remove_results(obj, keys)
        return {"FINISHED"}


class _Background(_Operator):
    """An operator whose task (job.py) runs in a thread in the interface: Esc cancels it, and the rest
    of Blender works meanwhile."""

    def work(self, context, obj):
        job = self.job_of(context, obj)
        try:
            job.run()
            self.tell(job)
        finally:
            job.close()
        return {"FINISHED"}

    def tell(self, job):
        if job.sentence:
            self.report({"WARNING"} if job.warning else {"INFO"}, job.sentence)

    def invoke(self, context, event):
        return self.reporting(self.begin, context)

    def begin(self, context):
        self.job = self.job_of(context, context.object)
        try:
            self.job.announce()
        except shapes.Problem:
            self.job.close()
            raise
        manager = context.window_manager
        manager.progress_begin(0, 100)
        self.timer = manager.event_timer_add(0.02, window=context.window)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC" and self.job.writer is None:  # what is being written is completed
            self.end(context)
            self.report({"INFO"}, f"{self.bl_label} canceled; nothing was changed")
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        state = self.reporting(self.advance, context)
        if state != {"RUNNING_MODAL"}:
            self.end(context)
        return state

    def advance(self, context):
        job = self.job
        if job.thread is None:
            if job.read_some():
                job.start()
            return {"RUNNING_MODAL"}
        context.window_manager.progress_update(round(100 * job.progress))
        context.workspace.status_text_set(f"{self.bl_label}: {100 * job.progress:.0f}%  |  Esc: "
                                          "cancel")
        if job.thread.is_alive():
            return {"RUNNING_MODAL"}
        if job.failure:
            raise job.failure
        if not job.write_some():
            return {"RUNNING_MODAL"}
        self.tell(job)
        return {"FINISHED"}

    def end(self, context):
        context.window_manager.event_timer_remove(self.timer)
        context.window_manager.progress_end()
        context.workspace.status_text_set(None)
        self.job.close()


class Solve(Task):
    """The physical shape of the current key values."""

    def __init__(self, context, obj):
        super().__init__(context, obj)
        shapes.check_live(obj)
        self.follower = live.Follower(obj)
        if self.follower.settings.model == "fit" and self.follower.map is None:
            self.release()
            raise shapes.Problem("There is no marker map; press Find Map first")

    @property
    def keys(self):
        return self.follower.keys

    @property
    def session(self):
        return self.follower.session

    def read(self):
        while not self.follower.read():
            yield
        self.asked = self.follower.ask(self.obj)

    def solve(self):
        weights, found, points = self.asked
        follower = self.follower
        follower.build()
        if self.cancelled:
            return
        scene.patch(follower.session, {}, found)
        result = (follower.session.solve(markers=points) if points is not None
                  else follower.session.solve(weights))
        self.warning = not result.converged
        self.points = follower.shape(weights, result.positions)

    def write(self):
        if self.follower.preview:
            shapes.write_preview(self.obj, self.points)
        else:
            shapes.write_result(self.obj, self.points)
        return ("The solve did not reach its tolerance; the best shape is shown" if self.warning
                else None)

    def close(self):
        self.follower.cancelled = True
        super().close()

    def release(self):
        self.follower.close()


class SINEW_OT_solve(_Background, bpy.types.Operator):
    """Compute the physical shape of the current key values, and show it in the key 'Sinew'. Esc
    cancels"""
    bl_idname = "sinew.solve"
    bl_label = "Solve Once"

    def job_of(self, context, obj):
        return Solve(context, obj)


class SINEW_OT_bake_frames(_Background, bpy.types.Operator):
    """Compute the physical motion of the scene's frame range. Esc cancels"""
    bl_idname = "sinew.bake_frames"
    bl_label = "Bake Frames"
    target: bpy.props.EnumProperty(
        name="To", items=[(bake.CACHE, "Point Cache", "A PC2 or MDD file for the Mesh Cache "
                                                      "modifier"),
                          (bake.KEYS, "Shape Keys", "A key per frame, with its animation")])
    filepath: bpy.props.StringProperty(
        name="File", description="File of the point cache: PC2 or MDD", subtype="FILE_PATH",
        default="//sinew.pc2")
    filter_glob: bpy.props.StringProperty(default="*.pc2;*.mdd", options={"HIDDEN"})

    def job_of(self, context, obj):
        if (self.target == bake.CACHE and self.filepath.startswith("//")
                and not bpy.data.filepath):
            raise shapes.Problem("Save the Blender file first, or choose an absolute path for the "
                                 "point cache")
        return bake.Bake(context, obj, self.target, bpy.path.abspath(self.filepath))


class SINEW_OT_bake_correctives(_Background, bpy.types.Operator):
    """Add corrective shape keys with drivers that bring the linear blend close to the model. Esc
    cancels"""
    bl_idname = "sinew.bake_correctives"
    bl_label = "Bake Correctives"

    def job_of(self, context, obj):
        return bake.Correctives(context, obj)


def add_lock(obj, keys, group):
    """Locks a vertex group in the current pose."""
    values = zip(shapes.artist_keys(keys), shapes.weights_of(keys))
    lock = obj.sinew.locks.add()
    lock.pose = json.dumps({block.name: float(value) for block, value in values})
    lock.group = group
    obj.sinew.lock_index = len(obj.sinew.locks) - 1


class SINEW_OT_lock_add(_Operator, bpy.types.Operator):
    """Lock the active vertex group at its position in the current pose"""
    bl_idname = "sinew.lock_add"
    bl_label = "Add Lock"
    group: bpy.props.StringProperty(name="Group", options={"SKIP_SAVE"})

    def work(self, context, obj):
        keys = shapes.check(obj)
        group = self.group or (obj.vertex_groups.active.name if obj.vertex_groups.active else "")
        if group not in obj.vertex_groups:
            raise shapes.Problem("Add a vertex group over what must not move, and select it"
                                 if not group else f"There is no vertex group '{group}'")
        add_lock(obj, keys, group)
        return {"FINISHED"}


class SINEW_OT_lock_remove(_Operator, bpy.types.Operator):
    """Remove the selected lock; its vertex group stays"""
    bl_idname = "sinew.lock_remove"
    bl_label = "Remove Lock"

    def work(self, context, obj):
        settings = obj.sinew
        if not 0 <= settings.lock_index < len(settings.locks):
            raise shapes.Problem("Select a lock in the list")
        settings.locks.remove(settings.lock_index)
        settings.lock_index = max(0, settings.lock_index - 1)
        live.forget(obj)
        return {"FINISHED"}


class SINEW_OT_lock_animation(_Background, bpy.types.Operator):
    """Apply the locks to the animation of the frame range, as a new action. The action that the
    keys had is kept. Esc cancels"""
    bl_idname = "sinew.lock_animation"
    bl_label = "Apply Locks to Animation"

    def job_of(self, context, obj):
        return bake.LockedAnimation(context, obj)


class FindMap(Job):
    """Points of the face for the markers."""

    def read(self):
        obj = self.obj
        markers.check(obj)
        self.path = bpy.path.abspath(obj.sinew.take)
        self.markers = None
        if obj.sinew.marker_objects is not None:
            names = [markers.name_of(e) for e in obj.sinew.marker_objects.objects]
            self.markers = names, markers.positions_now(obj, names)
        yield from self.keys.read(obj)

    def solve(self):
        sinew = shapes.library()
        self.rig = self.keys.rig()
        if self.markers:
            names, points = self.markers
            take = sinew.Markers(names, [0.0], points[None])
        else:
            take = markers.read_take(self.path)

        def on_progress(fraction, _stage):
            self.progress = fraction

        capture = sinew.Capture(self.rig, take, progress=on_progress,
                                cancelled=lambda: self.cancelled)
        self.map, self.doubts, self.count = capture.map, capture.doubts(), len(take.names)
        self.warning = bool(self.doubts)

    def write(self):
        names, doubts = self.map.names, self.doubts
        points = self.map.points(self.rig.neutral)
        markers.show_map(self.scene, self.obj, names, points, doubts)
        return (f"Attached {len(names)} of {self.count} markers"
                + (f"; check {', '.join(doubts)} (shown as cubes)" if doubts else ""))


class SINEW_OT_find_map(_Background, bpy.types.Operator):
    """Attach the markers to points of the face, and show the points as empties that can be moved. Esc
    cancels"""
    bl_idname = "sinew.find_map"
    bl_label = "Find Map"

    def job_of(self, context, obj):
        return FindMap(context, obj)


classes = (SINEW_OT_solve, SINEW_OT_remove, SINEW_OT_bake_frames, SINEW_OT_bake_correctives,
           SINEW_OT_lock_add, SINEW_OT_lock_remove, SINEW_OT_lock_animation, SINEW_OT_find_map)

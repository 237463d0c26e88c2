# SPDX-License-Identifier: GPL-3.0-or-later
"""What the panel's buttons do. Problems are reports with a remedy; nothing is changed then."""
import json

import bpy

from . import animation, bake, live, markers, scene, shapes


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


class SINEW_OT_solve(_Operator, bpy.types.Operator):
    """Compute the physical shape of the current key values, and show it in the key 'Sinew'"""
    bl_idname = "sinew.solve"
    bl_label = "Solve Once"

    def work(self, context, obj):
        block = shapes.check(obj)
        shapes.check_live(obj)
        shapes.library()
        follower = live.Follower(obj)
        try:
            while not follower.read():
                pass
            if obj.sinew.model == "fit" and follower.map is None:
                raise shapes.Problem("There is no marker map; press Find Map first")
            weights, found, points = follower.ask(obj)
            follower.build()
            scene.patch(follower.session, {}, found)
            result = (follower.session.solve(markers=points) if points is not None
                      else follower.session.solve(weights))
            if obj.sinew.show == "PREVIEW":
                shapes.write_preview(obj, result.positions)
            else:
                shapes.write_result(obj, follower.keys.difference(
                    result.positions, shapes.weights_of(block)))
            if not result.converged:
                self.report({"WARNING"}, "The solve did not reach its tolerance; the best shape "
                                         "is shown")
        finally:
            follower.close()
        return {"FINISHED"}


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
    """An operator whose job (bake.Job) runs in a thread in the interface: Esc cancels it, and the
    rest of Blender works meanwhile."""

    def work(self, context, obj):
        job = self.job_of(context, obj)
        try:
            while not job.read_some():
                pass
            job.solve()
            self.report({"INFO"}, job.finish())
        finally:
            job.close()
        return {"FINISHED"}

    def invoke(self, context, event):
        return self.reporting(self.begin, context)

    def begin(self, context):
        self.job = self.job_of(context, context.object)
        manager = context.window_manager
        manager.progress_begin(0, 100)
        self.timer = manager.event_timer_add(0.02, window=context.window)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC":
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
        self.report({"INFO"}, job.finish())
        return {"FINISHED"}

    def end(self, context):
        context.window_manager.event_timer_remove(self.timer)
        context.window_manager.progress_end()
        context.workspace.status_text_set(None)
        self.job.close()


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


class SINEW_OT_lock_animation(_Operator, bpy.types.Operator):
    """Apply the locks to the animation of the frame range, as a new action. The action that the
    keys had is kept"""
    bl_idname = "sinew.lock_animation"
    bl_label = "Apply Locks to Animation"

    def work(self, context, obj):
        block = shapes.check(obj)
        found = context.scene
        frames = list(range(found.frame_start, found.frame_end + 1))
        settings = scene.frozen(obj)
        keys = shapes.Keys.of(obj, scene.groups_of(settings))
        if not scene.locks_of(settings, keys)[0]:
            raise shapes.Problem("There are no locks; select a vertex group and press Add Lock")
        if not animation.curves_of(block):
            raise shapes.Problem("The shape keys have no animation; insert keyframes first")
        present = found.frame_current
        try:
            rows = shapes.whole(animation.sampled(block, frames, found))
        finally:
            if found.frame_current != present:
                found.frame_set(present)
        rows = bake.filtered(settings, keys, keys.rig(), frames, rows,
                             *bake.lock_curves(obj, frames))
        action = animation.write_action(block, f"{block.animation_data.action.name} locked",
                                        frames, rows)
        self.report({"INFO"}, f"The keys now use the action '{action.name}'; the original is kept")
        return {"FINISHED"}


class SINEW_OT_find_map(_Operator, bpy.types.Operator):
    """Attach the markers to points of the face, and show the points as empties that can be moved"""
    bl_idname = "sinew.find_map"
    bl_label = "Find Map"

    def work(self, context, obj):
        sinew = shapes.library()
        shapes.check(obj)
        markers.check(obj)
        keys = shapes.Keys.of(obj)
        rig = keys.rig()
        if obj.sinew.marker_objects is not None:
            names = [markers.name_of(e) for e in obj.sinew.marker_objects.objects]
            take = sinew.Markers(names, [0.0], markers.positions_now(obj, names)[None])
        else:
            take = markers.read_take(bpy.path.abspath(obj.sinew.take))
        capture = sinew.Capture(rig, take)
        found, doubts = capture.map, capture.doubts()
        markers.show_map(context, obj, found.names, found.points(rig.neutral), doubts)
        self.report({"WARNING"} if doubts else {"INFO"},
                    f"Attached {len(found.names)} of {len(take.names)} markers"
                    + (f"; check {', '.join(doubts)} (shown as cubes)" if doubts else ""))
        return {"FINISHED"}


classes = (SINEW_OT_solve, SINEW_OT_remove, SINEW_OT_bake_frames, SINEW_OT_bake_correctives,
           SINEW_OT_lock_add, SINEW_OT_lock_remove, SINEW_OT_lock_animation, SINEW_OT_find_map)

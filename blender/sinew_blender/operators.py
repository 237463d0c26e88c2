# SPDX-License-Identifier: GPL-3.0-or-later
"""What the panel's buttons do. Problems are reports with a remedy; nothing is changed then."""
import bpy
import numpy as np

from . import bake, shapes


class _Operator:
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return context.object is not None and context.object.type == "MESH"

    def execute(self, context):
        try:
            return self.work(context, context.object)
        except shapes.Problem as problem:
            self.report({"ERROR"}, str(problem))
        except shapes.library().Error as error:
            self.report({"ERROR"}, str(error))
        return {"CANCELLED"}


class SINEW_OT_solve(_Operator, bpy.types.Operator):
    """Show the physical shape of the present key values in the key 'Sinew'"""
    bl_idname = "sinew.solve"
    bl_label = "Solve once"

    def work(self, context, obj):
        keys = shapes.check(obj)
        shapes.check_live(obj)
        session, folder = shapes.make_session(obj)
        try:
            weights = shapes.weights_of(keys)
            result = session.solve(weights)
            shapes.write_result(obj, result.positions, shapes.linear_blend(obj, keys, weights))
            if not result.converged:
                self.report({"WARNING"}, "the solve did not reach its tolerance")
        finally:
            session.close()
            folder.cleanup()
        return {"FINISHED"}


class SINEW_OT_remove(_Operator, bpy.types.Operator):
    """Remove the key 'Sinew' and the keys of baked frames; the mesh is as before"""
    bl_idname = "sinew.remove"
    bl_label = "Remove result"

    def work(self, context, obj):
        keys = shapes.check(obj)
        obj.sinew.live = False
        shapes.remove_results(obj, keys)
        return {"FINISHED"}


class SINEW_OT_bake_frames(_Operator, bpy.types.Operator):
    """Compute the physical motion of the scene's frame range. Esc cancels"""
    bl_idname = "sinew.bake_frames"
    bl_label = "Bake frames"
    target: bpy.props.EnumProperty(
        name="To", items=[(bake.CACHE, "Point cache", "A PC2 file for the Mesh Cache modifier"),
                          (bake.KEYS, "Shape keys", "A key per frame, with its animation")])
    filepath: bpy.props.StringProperty(subtype="FILE_PATH", default="//sinew.pc2")

    def work(self, context, obj):
        run = bake.Bake(context, obj)
        manager = context.window_manager
        manager.progress_begin(0, len(run))
        try:
            while len(run.rows) < len(run):
                run.step()
                manager.progress_update(len(run.rows))
            self.report({"INFO"}, run.finish(self.target, self.filepath))
        finally:
            manager.progress_end()
            run.close()
        return {"FINISHED"}

    def invoke(self, context, event):
        """In the interface: a frame at a time, so that Esc and the rest of Blender work."""
        try:
            self.run = bake.Bake(context, context.object)
        except shapes.Problem as problem:
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        manager = context.window_manager
        manager.progress_begin(0, len(self.run))
        self.timer = manager.event_timer_add(0.001, window=context.window)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC":
            self.end(context)
            self.report({"INFO"}, "cancelled; nothing was written")
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        try:
            self.run.step()
            context.window_manager.progress_update(len(self.run.rows))
            if len(self.run.rows) < len(self.run):
                return {"RUNNING_MODAL"}
            self.report({"INFO"}, self.run.finish(self.target, self.filepath))
        except (shapes.Problem, shapes.library().Error) as error:
            self.report({"ERROR"}, str(error))
            self.end(context)
            return {"CANCELLED"}
        self.end(context)
        return {"FINISHED"}

    def end(self, context):
        context.window_manager.event_timer_remove(self.timer)
        context.window_manager.progress_end()
        self.run.close()


class SINEW_OT_bake_correctives(_Operator, bpy.types.Operator):
    """Add corrective shape keys with drivers that bring the linear blend close to the model"""
    bl_idname = "sinew.bake_correctives"
    bl_label = "Bake correctives"

    def work(self, context, obj):
        sinew = shapes.library()
        keys = shapes.check(obj)
        session, folder = shapes.make_session(obj)
        try:
            known = {b.name for b in artist_names(keys)}
            # Expressions of Blender's drivers are too short for polynomials.
            baked, report = sinew.bake(session, max_targets=obj.sinew.max_targets,
                                       style="inbetweens")
            neutral = baked.neutral.positions
            linear = {}
            for name in baked.targets:
                if name in known:
                    continue
                add_corrective(obj, keys, baked, name, neutral, session, linear)
        finally:
            session.close()
            folder.cleanup()
        self.report({"INFO"}, f"added {report.inbetweens} in-betweens and {report.combinations} "
                              "combinations")
        return {"FINISHED"}


def artist_names(keys):
    return shapes.artist_keys(keys)


def add_corrective(obj, keys, baked, name, neutral, session, linear):
    """One corrective key and its driver. An in-between holds the whole shape at its value; as a
    key that is added to the others it holds what the linear blend lacks there."""
    drivers = baked.target_drivers(name)
    shape = baked.shape(name) - neutral
    if drivers["kind"] == "inbetween":
        slider, at = drivers["slider"], drivers["at"]
        shape = shape - at * (baked.shape(slider) - neutral)
        low, high = drivers["previous"], drivers["next"]
        expression = (f"max(0, min((a - {low!r}) / {at - low!r}, ({high!r} - a) / {high - at!r}))")
        sources = [("a", slider)]
    else:
        counted = {}
        for slider in drivers["drivers"]:
            counted[slider] = counted.get(slider, 0) + 1
        sources = [(chr(ord("a") + i), slider) for i, slider in enumerate(counted)]
        expression = " * ".join(f"max({letter}, 0)" + (f"**{counted[slider]}"
                                                       if counted[slider] > 1 else "")
                                for letter, slider in sources)
    block = obj.shape_key_add(name=name, from_mix=False)
    basis = shapes.coordinates(keys.reference_key, len(obj.data.vertices))
    block.data.foreach_set("co", (basis + shape).astype(np.float32).ravel())
    block.slider_min, block.slider_max = -10, 10
    driver = block.driver_add("value").driver
    driver.type = "SCRIPTED"
    for letter, slider in sources:
        variable = driver.variables.new()
        variable.name = letter
        variable.targets[0].id_type = "KEY"
        variable.targets[0].id = keys
        variable.targets[0].data_path = f'key_blocks["{bpy.utils.escape_identifier(slider)}"].value'
    driver.expression = expression


classes = (SINEW_OT_solve, SINEW_OT_remove, SINEW_OT_bake_frames, SINEW_OT_bake_correctives)

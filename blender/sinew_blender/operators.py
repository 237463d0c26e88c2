# SPDX-License-Identifier: GPL-3.0-or-later
"""What the panel's buttons do. Problems are reports with a remedy; nothing is changed then."""
import bpy
import numpy as np

from . import live, shapes


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
        session, folder = shapes.make_session(obj)
        try:
            result = session.solve(shapes.weights_of(keys))
            shapes.write_result(obj, result.positions, session.linear(shapes.weights_of(keys)))
            if not result.converged:
                self.report({"WARNING"}, "the solve did not reach its tolerance")
        finally:
            session.close()
            folder.cleanup()
        return {"FINISHED"}


class SINEW_OT_remove(_Operator, bpy.types.Operator):
    """Remove the key 'Sinew'; the mesh is as before"""
    bl_idname = "sinew.remove"
    bl_label = "Remove result"

    def work(self, context, obj):
        keys = shapes.check(obj)
        obj.sinew.live = False
        block = keys.key_blocks.get(shapes.RESULT_KEY)
        if block:
            obj.shape_key_remove(block)
        return {"FINISHED"}


class SINEW_OT_bake_cache(_Operator, bpy.types.Operator):
    """Write the physical motion of the scene's frames to a PC2 point cache"""
    bl_idname = "sinew.bake_cache"
    bl_label = "Bake frames"
    filepath: bpy.props.StringProperty(subtype="FILE_PATH", default="//sinew.pc2")

    def work(self, context, obj):
        sinew = shapes.library()
        keys = shapes.check(obj)
        scene, present = context.scene, context.scene.frame_current
        session, folder = shapes.make_session(obj)
        manager, rows = context.window_manager, []
        manager.progress_begin(scene.frame_start, scene.frame_end)
        try:
            for frame in range(scene.frame_start, scene.frame_end + 1):
                scene.frame_set(frame)
                manager.progress_update(frame)
                rows.append(session.solve(shapes.weights_of(keys)).positions)
            rate = scene.render.fps / scene.render.fps_base
            mesh = session.rig.neutral
            sinew.Frames.write(bpy.path.abspath(self.filepath), mesh, np.array(rows), rate=rate)
        except OSError as error:
            raise shapes.Problem(str(error)) from error
        finally:
            manager.progress_end()
            scene.frame_set(present)
            session.close()
            folder.cleanup()
        self.report({"INFO"}, f"wrote {len(rows)} frames to {self.filepath}")
        return {"FINISHED"}


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


classes = (SINEW_OT_solve, SINEW_OT_remove, SINEW_OT_bake_cache, SINEW_OT_bake_correctives)

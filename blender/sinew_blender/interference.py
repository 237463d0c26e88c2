# SPDX-License-Identifier: GPL-3.0-or-later
"""The interference report: which shape keys disturb each other, and which lock helps."""
import bpy

from . import operators, shapes
from .job import Job


class Report(Job):
    """The pairs that disturb each other most."""

    def __init__(self, context, obj, limit):
        super().__init__(context, obj)
        self.limit = limit

    def read(self):
        return self.keys.read(self.obj)

    def solve(self):
        def on_progress(fraction, _stage):
            self.progress = fraction

        self.found = shapes.library().interference(
            self.keys.rig(), self.limit, advice=True, progress=on_progress,
            cancelled=lambda: self.cancelled)

    def write(self):
        settings = self.obj.sinew
        settings.pairs.clear()
        for pair in self.found:
            item = settings.pairs.add()
            item.name = f"{pair.disturbed} < {pair.disturber}"
            item.disturbed, item.disturber = pair.disturbed, pair.disturber
            item.disturbance, item.cosine = pair.disturbance, pair.cosine
            if pair.lock is not None:
                item.lock = ",".join(map(str, pair.lock))
                item.reduction = pair.reduction
        settings.pair_index = 0
        return f"{len(self.found)} pairs" if self.found else "No shape keys interfere"


class SINEW_OT_interference(operators._Background, bpy.types.Operator):
    """List the pairs of shape keys that disturb each other most. Esc cancels"""
    bl_idname = "sinew.interference"
    bl_label = "Find Interference"
    limit: bpy.props.IntProperty(name="Pairs", description="Length of the list", default=12,
                                 min=1, max=100)

    def job_of(self, context, obj):
        return Report(context, obj, self.limit)


class SINEW_OT_select_key(operators._Operator, bpy.types.Operator):
    """Make this shape key the active one"""
    bl_idname = "sinew.select_key"
    bl_label = "Select Shape Key"
    key: bpy.props.StringProperty(name="Key", options={"SKIP_SAVE"})

    def work(self, context, obj):
        keys = shapes.check(obj)
        index = keys.key_blocks.find(self.key)
        if index < 0:
            raise shapes.Problem(f"There is no shape key '{self.key}' any more; press Find "
                                 "Interference again")
        obj.active_shape_key_index = index
        return {"FINISHED"}


class SINEW_OT_lock_pair(operators._Operator, bpy.types.Operator):
    """Make a vertex group of the disturbed region, and lock it"""
    bl_idname = "sinew.lock_pair"
    bl_label = "Lock Disturbed Region"

    def work(self, context, obj):
        settings, keys = obj.sinew, shapes.check(obj)
        if not 0 <= settings.pair_index < len(settings.pairs):
            raise shapes.Problem("Select a pair in the list")
        pair = settings.pairs[settings.pair_index]
        if not pair.lock:
            raise shapes.Problem("A lock does not help this pair")
        group = obj.vertex_groups.new(name=f"lock {pair.disturbed}")
        group.add([int(v) for v in pair.lock.split(",")], 1.0, "REPLACE")
        operators.add_lock(obj, keys, group.name)
        return {"FINISHED"}


class SINEW_UL_pairs(bpy.types.UIList):
    """Disturbed key, disturbing key, and how much: 100% is as far as the key itself moves"""

    def draw_item(self, context, layout, data, item, icon, active_data, active_property):
        row = layout.row(align=True)
        row.operator("sinew.select_key", text=item.disturbed, emboss=False).key = item.disturbed
        row.operator("sinew.select_key", text=item.disturber, emboss=False).key = item.disturber
        row.label(text=f"{100 * item.disturbance:.0f}%", icon="LOCKED" if item.lock else "NONE")


classes = (SINEW_OT_interference, SINEW_OT_select_key, SINEW_OT_lock_pair, SINEW_UL_pairs)

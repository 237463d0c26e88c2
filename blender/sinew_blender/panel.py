# SPDX-License-Identifier: GPL-3.0-or-later
"""The Sinew tab of the 3D view's sidebar."""
import bpy

from . import bake, live, shapes


class SINEW_PT_panel(bpy.types.Panel):
    bl_label = "Physical shape keys"
    bl_idname = "SINEW_PT_panel"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Sinew"

    def draw(self, context):
        layout, obj = self.layout, context.object
        try:
            shapes.check(obj)
        except shapes.Problem as problem:
            layout.label(text=str(problem), icon="INFO")
            return
        settings = obj.sinew
        layout.prop(settings, "model")
        if settings.model not in shapes.WHOLE_CLIP:
            row = layout.row(align=True)
            row.prop(settings, "live", toggle=True, icon="PLAY")
            row.operator("sinew.solve")
            layout.prop_search(settings, "lock_group", obj, "vertex_groups", icon="LOCKED")
            if settings.lock_group:
                layout.prop(settings, "lock_strength")
        if settings.model == "spring":
            layout.prop_search(settings, "pin_group", obj, "vertex_groups", icon="PINNED")
            layout.prop(settings, "obstacles")
        if settings.model == "modal":
            column = layout.column(align=True)
            column.prop(settings, "swings")
            column.prop(settings, "damping")
        if obj.name in live.messages:
            layout.label(text=live.messages[obj.name], icon="ERROR")
        layout.separator()
        row = layout.row(align=True)
        row.operator("sinew.bake_frames", text="Bake to cache").target = bake.CACHE
        row.operator("sinew.bake_frames", text="Bake to keys").target = bake.KEYS
        if settings.model not in shapes.WHOLE_CLIP:
            column = layout.column(align=True)
            column.prop(settings, "max_targets")
            column.operator("sinew.bake_correctives")
        layout.operator("sinew.remove")


classes = (SINEW_PT_panel,)

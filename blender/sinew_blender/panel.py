# SPDX-License-Identifier: GPL-3.0-or-later
"""The Sinew tab of the 3D view's sidebar."""
import bpy

from . import live, shapes


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
        row = layout.row(align=True)
        row.prop(settings, "live", toggle=True, icon="PLAY")
        row.operator("sinew.solve")
        if settings.model == "spring":
            layout.prop_search(settings, "pin_group", obj, "vertex_groups")
            layout.prop(settings, "obstacles")
        if obj.name in live.messages:
            layout.label(text=live.messages[obj.name], icon="ERROR")
        layout.separator()
        layout.operator("sinew.bake_cache")
        column = layout.column(align=True)
        column.prop(settings, "max_targets")
        column.operator("sinew.bake_correctives")
        layout.operator("sinew.remove")


classes = (SINEW_PT_panel,)

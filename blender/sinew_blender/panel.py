# SPDX-License-Identifier: GPL-3.0-or-later
"""The Sinew tab of the 3D view's sidebar."""
import textwrap

import bpy

from . import bake, live, shapes


def show_text(context, layout, text, icon):
    """A sentence in lines that fit the width of the sidebar."""
    scale = context.preferences.system.ui_scale
    for i, line in enumerate(textwrap.wrap(text, max(20, int(context.region.width / (8 * scale) - 5)))):
        layout.label(text=line, icon=icon if i == 0 else "BLANK1")


class SINEW_UL_locks(bpy.types.UIList):
    """Locked vertex groups"""

    def draw_item(self, context, layout, data, item, icon, active_data, active_property):
        row = layout.row(align=True)
        row.prop(item, "enabled", text="")
        row.prop_search(item, "group", data.id_data, "vertex_groups", text="", icon="LOCKED")


class _Panel:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Sinew"

    @staticmethod
    def ready(context):
        try:
            shapes.check(context.object)
            return True
        except shapes.Problem:
            return False


class SINEW_PT_panel(_Panel, bpy.types.Panel):
    bl_label = "Physical Shape Keys"
    bl_idname = "SINEW_PT_panel"

    def draw(self, context):
        layout, obj = self.layout, context.object
        layout.use_property_split = True
        layout.use_property_decorate = False
        try:
            shapes.check(obj)
            shapes.library()
        except shapes.Problem as problem:
            show_text(context, layout, str(problem), "INFO")
            return
        settings = obj.sinew
        layout.prop(settings, "model")
        if settings.model not in shapes.WHOLE_CLIP:
            row = layout.row(align=True)
            row.use_property_split = False
            row.prop(settings, "live", toggle=True, icon="PLAY")
            row.operator("sinew.solve")
            layout.prop(settings, "show")
        getattr(self, "draw_" + settings.model)(layout, obj, settings)
        if obj.name in live.messages:
            show_text(context, layout, live.messages[obj.name], "ERROR")
        note = shapes.unit_of(context.scene)[1]
        if note:
            show_text(context, layout, note, "INFO")
        layout.operator("sinew.remove")

    def draw_rotation(self, layout, obj, settings):
        layout.prop(settings, "self_contact")

    def draw_maps(self, layout, obj, settings, mass=True):
        column = layout.column(align=True)
        column.prop_search(settings, "stiffness_group", obj, "vertex_groups")
        if mass:
            column.prop_search(settings, "mass_group", obj, "vertex_groups")

    def draw_spring(self, layout, obj, settings):
        layout.prop(settings, "obstacles")
        column = layout.column(align=True)
        column.prop_search(settings, "pin_group", obj, "vertex_groups", icon="PINNED")
        if settings.pin_group:
            column.prop(settings, "pin_target")
        self.draw_maps(layout, obj, settings)
        layout.prop(settings, "gravity")
        layout.prop(settings, "self_contact")

    def draw_modal(self, layout, obj, settings):
        column = layout.column(align=True)
        for name in ("swings", "damping", "stiffness", "ease"):
            column.prop(settings, name)
        self.draw_maps(layout, obj, settings, mass=False)

    def draw_force(self, layout, obj, settings):
        column = layout.column(align=True)
        column.prop(settings, "lag")
        column.prop(settings, "bounce")
        layout.prop_search(settings, "pin_group", obj, "vertex_groups", icon="PINNED")
        self.draw_maps(layout, obj, settings)

    def draw_fit(self, layout, obj, settings):
        layout.prop(settings, "marker_objects")
        if settings.marker_objects is None:
            layout.prop(settings, "take")
        layout.prop(settings, "marker_map")
        layout.operator("sinew.find_map")
        column = layout.column(align=True)
        column.prop(settings, "layer")
        column.prop(settings, "head_motion")


class SINEW_PT_locks(_Panel, bpy.types.Panel):
    bl_label = "Locks and Grab"
    bl_parent_id = "SINEW_PT_panel"

    @classmethod
    def poll(cls, context):
        return cls.ready(context)

    def draw(self, context):
        layout, obj = self.layout, context.object
        settings = obj.sinew
        row = layout.row()
        row.template_list("SINEW_UL_locks", "", settings, "locks", settings, "lock_index", rows=2)
        column = row.column(align=True)
        column.operator("sinew.lock_add", text="", icon="ADD")
        column.operator("sinew.lock_remove", text="", icon="REMOVE")
        if settings.locks:
            if settings.lock_index < len(settings.locks):
                layout.row().prop(settings.locks[settings.lock_index], "axes", toggle=True)
            layout.prop(settings, "lock_strength")
            layout.operator("sinew.lock_animation")
        layout.prop(settings, "grab_radius")


class SINEW_PT_bake(_Panel, bpy.types.Panel):
    bl_label = "Bake"
    bl_parent_id = "SINEW_PT_panel"

    @classmethod
    def poll(cls, context):
        return cls.ready(context)

    def draw(self, context):
        layout, settings = self.layout, context.object.sinew
        row = layout.row(align=True)
        row.operator("sinew.bake_frames", text="To Cache").target = bake.CACHE
        row.operator("sinew.bake_frames", text="To Keys").target = bake.KEYS
        if settings.model in ("rotation", "spring"):
            column = layout.column(align=True)
            column.prop(settings, "max_targets")
            column.operator("sinew.bake_correctives")


class SINEW_PT_interference(_Panel, bpy.types.Panel):
    bl_label = "Interference"
    bl_parent_id = "SINEW_PT_panel"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return cls.ready(context)

    def draw(self, context):
        layout, settings = self.layout, context.object.sinew
        layout.operator("sinew.interference")
        if settings.pairs:
            layout.template_list("SINEW_UL_pairs", "", settings, "pairs", settings, "pair_index",
                                 rows=4)
            layout.operator("sinew.lock_pair")


classes = (SINEW_UL_locks, SINEW_PT_panel, SINEW_PT_locks, SINEW_PT_bake, SINEW_PT_interference)

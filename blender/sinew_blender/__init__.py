# SPDX-License-Identifier: GPL-3.0-or-later
"""Physical shape keys: the sidebar of the 3D view, tab Sinew.

The add-on never touches the shape keys that the artist made. The physical result of the present
key values goes into one key of its own, "Sinew", which holds the difference to the linear blend:
with its value at 1 the mesh shows the physical shape, at 0 what Blender always showed. Modifiers,
drivers, animation and materials stay as they are.
"""
bl_info = {
    "name": "Sinew: physical shape keys",
    "author": "Sinew",
    "version": (0, 2, 0),
    "blender": (3, 4, 0),
    "location": "View3D > Sidebar > Sinew",
    "description": "Shape keys that bend instead of shrinking",
    "category": "Animation",
}

import bpy  # noqa: E402

from . import live, operators, panel  # noqa: E402


class SinewSettings(bpy.types.PropertyGroup):
    model: bpy.props.EnumProperty(
        name="Model",
        description="How shape keys are blended",
        items=[("rotation", "Rotation", "Blend rotations and strains: fast, does not shrink"),
               ("spring", "Spring", "Balance of springs: leans on obstacles, can be pinned"),
               ("modal", "Swing", "Swing between keyframes and settle (modal); baked"),
               ("force", "Jiggle", "Skin with inertia that follows the animation; baked")],
        default="rotation", update=lambda self, context: live.forget(self.id_data))
    live: bpy.props.BoolProperty(
        name="Live", description="Follow shape-key values while they change", default=False,
        update=lambda self, context: live.request(self.id_data))
    pin_group: bpy.props.StringProperty(
        name="Pins", description="Vertex group that stays on the linear blend (spring)",
        update=lambda self, context: live.forget(self.id_data))
    obstacles: bpy.props.PointerProperty(
        name="Obstacles", type=bpy.types.Collection,
        description="Mesh objects that the shape must stay out of (spring)",
        update=lambda self, context: live.forget(self.id_data))
    lock_group: bpy.props.StringProperty(
        name="Lock", description="Vertex group that stays while other keys move; keys make room",
        update=lambda self, context: live.forget(self.id_data))
    lock_strength: bpy.props.FloatProperty(
        name="Strength", description="How strongly the lock holds; 0 turns it off", default=1.0,
        min=0.0, soft_max=10.0, update=lambda self, context: live.forget(self.id_data))
    swings: bpy.props.FloatProperty(
        name="Swings", description="Oscillations of the slowest mode between keyframes",
        default=1.5, min=0.01, soft_max=10.0)
    damping: bpy.props.FloatProperty(
        name="Damping", description="Damping ratio; 1 is critical", default=0.1, min=0.0,
        soft_max=1.0)
    max_targets: bpy.props.IntProperty(
        name="Correctives", description="Most shape keys that baking may add", default=20, min=1,
        max=500)


_classes = (SinewSettings, *operators.classes, *panel.classes)


def register():
    for cls in _classes:
        bpy.utils.register_class(cls)
    bpy.types.Object.sinew = bpy.props.PointerProperty(type=SinewSettings)
    live.register()


def unregister():
    live.unregister()
    del bpy.types.Object.sinew
    for cls in reversed(_classes):
        bpy.utils.unregister_class(cls)

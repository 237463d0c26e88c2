# SPDX-License-Identifier: GPL-3.0-or-later
"""Physical shape keys: the Sinew tab in the sidebar of the 3D view.

The add-on never changes the shape keys that the artist made. The physical result of the current key
values is stored in a key of its own, "Sinew", as the difference to the linear blend: at value 1 the
mesh shows the physical shape, at 0 the linear one. Modifiers, drivers, animation and materials are
not changed.
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

from . import grab, interference, live, operators, panel, settings  # noqa: E402

_classes = (*settings.classes, *operators.classes, *interference.classes, *grab.classes,
            *panel.classes)


def register():
    for cls in _classes:
        bpy.utils.register_class(cls)
    bpy.types.Object.sinew = bpy.props.PointerProperty(type=settings.SinewSettings)
    if not bpy.app.background:
        bpy.utils.register_tool(grab.SinewGrabTool, separator=True)
    live.register()


def unregister():
    live.unregister()
    if not bpy.app.background:
        bpy.utils.unregister_tool(grab.SinewGrabTool)
    del bpy.types.Object.sinew
    for cls in reversed(_classes):
        bpy.utils.unregister_class(cls)

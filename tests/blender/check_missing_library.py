"""The add-on with a library that is missing or of another version: reports, nothing changed."""
import os
import sys

import bpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import check, end, install, report_of  # noqa: E402

install()
check("the add-on enables without the library", hasattr(bpy.types.Object, "sinew"))
bpy.ops.mesh.primitive_cube_add()
obj = bpy.context.object
obj.shape_key_add(name="Basis")
obj.shape_key_add(name="up").value = 0.5
wanted = os.environ["SINEW_EXPECTED"]
calls = {"solve": bpy.ops.sinew.solve, "bake": lambda: bpy.ops.sinew.bake_frames(target="KEYS"),
         "correctives": bpy.ops.sinew.bake_correctives, "interference": bpy.ops.sinew.interference}
for name, call in calls.items():
    report = report_of(call)
    check(f"'{name}' reports the library ({wanted}) and changes nothing",
          wanted in report and "Traceback" not in report
          and [b.name for b in obj.data.shape_keys.key_blocks] == ["Basis", "up"])
obj.sinew.live = True
from sinew_blender import live  # noqa: E402

live.tick()
check("live shows the problem in the panel", wanted in live.messages.get(obj.name, ""))
sys.exit(end())

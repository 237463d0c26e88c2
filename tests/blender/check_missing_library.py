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
obj.vertex_groups.new(name="all").add(range(8), 1.0, "REPLACE")
ALONE = {"remove", "lock_add", "lock_remove", "lock_pair", "lock_animation", "select_key"}
ARGUMENTS = {"bake_frames": {"target": "KEYS"}, "select_key": {"key": "up"}}
for name in dir(bpy.ops.sinew):
    report = report_of(lambda: getattr(bpy.ops.sinew, name)(**ARGUMENTS.get(name, {})))
    check(f"'{name}' reports the library ({wanted}) or does without it, and changes no key",
          (wanted in report or name in ALONE) and "Traceback" not in report
          and [b.name for b in obj.data.shape_keys.key_blocks] == ["Basis", "up"])
obj.sinew.live = True
from sinew_blender import live  # noqa: E402

live.tick()
check("live shows the problem in the panel", wanted in live.messages.get(obj.name, ""))
sys.exit(end())

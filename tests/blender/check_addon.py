"""Installs the add-on's zip in Blender and runs every operator; each part is a file beside this."""
import os
import sys

import bpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

support.install()
support.check("the zip installs and enables", hasattr(bpy.types.Object, "sinew"))

import addon_manifest  # noqa: E402
import addon_models  # noqa: E402
import addon_refusals  # noqa: E402
import addon_safety  # noqa: E402
import addon_series  # noqa: E402
import addon_tools  # noqa: E402

PARTS = {"manifest": addon_manifest, "series": addon_series, "models": addon_models,
         "tools": addon_tools, "safety": addon_safety, "refusals": addon_refusals}
for part in [PARTS[name] for name in os.environ.get("PARTS", ",".join(PARTS)).split(",")]:
    part.run()
support.disable()
support.check("the add-on can be disabled", not hasattr(bpy.types.Object, "sinew"))
sys.exit(support.end())

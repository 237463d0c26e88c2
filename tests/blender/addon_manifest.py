"""The zip as a legacy add-on and as an extension of Blender 4.2 and later: every manifest field."""
import os
import re
import zipfile

from support import check, folder

# Allowed by version 1.0.0 of the schema, as the Blender Manual lists them.
REQUIRED = {"schema_version", "id", "version", "name", "tagline", "maintainer", "type",
            "blender_version_min", "license"}
OPTIONAL = {"website", "tags", "blender_version_max", "platforms", "wheels", "permissions",
            "copyright", "build"}
TAGS = {"3D View", "Add Curve", "Add Mesh", "Animation", "Bake", "Camera", "Compositing",
        "Development", "Game Engine", "Geometry Nodes", "Grease Pencil", "Import-Export",
        "Lighting", "Material", "Modeling", "Mesh", "Node", "Object", "Paint", "Pipeline",
        "Physics", "Render", "Rigging", "Scene", "Sculpt", "Sequencer", "System", "Text Editor",
        "Tracking", "User Interface", "UV"}
PLATFORMS = {"windows-x64", "windows-arm64", "macos-x64", "macos-arm64", "linux-x64"}
PERMISSIONS = {"files", "network", "clipboard", "camera", "microphone"}
VERSION = re.compile(r"\d+\.\d+\.\d+")


def run():
    try:
        import tomllib
    except ImportError:
        print("SKIP the manifest: this Python has no tomllib")
        return
    with zipfile.ZipFile(os.path.join(folder, "sinew-blender.zip")) as archive:
        names = archive.namelist()
        found = tomllib.loads(archive.read("sinew_blender/blender_manifest.toml").decode())
        source = archive.read("sinew_blender/__init__.py").decode()
    check("the zip has one folder with the add-on, its manifest and its license",
          all(name.startswith("sinew_blender/") for name in names)
          and {"sinew_blender/__init__.py", "sinew_blender/LICENSE.md"} <= set(names))
    check("the zip holds the library and the Python module",
          any(name.endswith("sinew/libsinew.so.0") for name in names)
          and "sinew_blender/sinew/__init__.py" in names)
    check("the manifest has all required and no unknown fields",
          REQUIRED <= set(found) <= REQUIRED | OPTIONAL)
    check("schema, type and identifier are valid",
          found["schema_version"] == "1.0.0" and found["type"] == "add-on"
          and found["id"].isidentifier() and not found["id"].startswith("_")
          and "__" not in found["id"])
    check("versions are semantic, and 4.2 is the first",
          VERSION.fullmatch(found["version"]) and found["blender_version_min"] == "4.2.0")
    numbers = ", ".join(found["version"].split("."))
    check("the manifest and bl_info have the same version and name",
          f'"version": ({numbers})' in source and f'"name": "{found["name"]}"' in source)
    check("the tagline is short and has no period",
          0 < len(found["tagline"]) <= 64 and found["tagline"][-1].isalnum())
    check("the license is an SPDX identifier of the GPL",
          found["license"] == ["SPDX:GPL-3.0-or-later"])
    check("tags are those that Blender knows", set(found["tags"]) <= TAGS)
    check("platforms are those of the bundled libraries",
          set(found["platforms"]) <= PLATFORMS and found["platforms"] == ["linux-x64"])
    check("permissions have a short reason without a period",
          set(found["permissions"]) <= PERMISSIONS and all(
              0 < len(reason) <= 64 and reason[-1].isalnum()
              for reason in found["permissions"].values()))
    check("copyright lines have a year and a name",
          all(re.fullmatch(r"\d{4}(-\d{4})? .+", line) for line in found["copyright"]))

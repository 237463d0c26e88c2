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


def terse(text):
    """One line of at most 64 characters that ends without punctuation."""
    return (isinstance(text, str) and text == text.strip() and 0 < len(text) <= 64
            and text.isprintable() and (text[-1].isalnum() or text[-1] in ")]}"))


def problems(found):
    """Fields of a manifest that Blender's own validation rejects."""
    bad = list(REQUIRED - set(found)) + list(set(found) - REQUIRED - OPTIONAL)
    rules = {
        "schema_version": lambda v: v == "1.0.0",
        "id": lambda v: v.isidentifier() and v == v.strip("_") and "__" not in v,
        "version": VERSION.fullmatch,
        "name": lambda v: v == v.strip() and v and v.isprintable(),
        "tagline": terse,
        "maintainer": lambda v: v == v.strip() and v and v.isprintable(),
        "type": lambda v: v in ("add-on", "theme"),
        "blender_version_min": lambda v: VERSION.fullmatch(v)
        and tuple(map(int, v.split("."))) >= (4, 2, 0),
        "license": lambda v: isinstance(v, list) and v and all(re.fullmatch(r"SPDX:[\w.+-]+", x)
                                                               for x in v),
        "tags": lambda v: isinstance(v, list) and set(v) <= TAGS,
        "platforms": lambda v: isinstance(v, list) and v and set(v) <= PLATFORMS,
        "permissions": lambda v: isinstance(v, dict) and set(v) <= PERMISSIONS
        and all(terse(reason) for reason in v.values()),
        "copyright": lambda v: isinstance(v, list) and all(
            re.fullmatch(r"\d+(-\d+)? \S.*", line) for line in v),
        "blender_version_max": VERSION.fullmatch,
        "website": lambda v: re.match(r"https?://", v),
    }
    return bad + [name for name, value in found.items() if name in rules and not rules[name](value)]


def check_validation(found):
    """The rules reject what Blender rejects."""
    for change in ({"id": "sinew__blender"}, {"id": "sinew-blender"}, {"tagline": "Ends in a dot."},
                   {"tagline": "x" * 65}, {"blender_version_min": "4.2"}, {"type": "addon"},
                   {"license": "GPL"}, {"license": ["GPL-3.0-or-later"]}, {"platforms": ["linux"]},
                   {"tags": ["Faces"]}, {"permissions": {"disk": "Write"}}, {"version": "1"},
                   {"permissions": {"files": "Write."}}, {"copyright": ["Sinew"]},
                   {"schema_version": "2"}, {"extra": 1}, {"maintainer": " "}):
        check(f"a manifest with {change} is rejected", problems({**found, **change})
              == list(change))
    check("a manifest without a name is rejected",
          problems({k: v for k, v in found.items() if k != "name"}) == ["name"])


def check_brought(names):
    """The zip brings the libraries that ours load, their licenses, and an order to load them in."""
    from sinew_blender import shapes
    inside = os.path.join(os.path.dirname(shapes.__file__), "sinew", "libraries")
    with open(os.path.join(inside, "order.txt"), encoding="utf-8") as file:
        brought = file.read().split()
    check("the zip brings Embree, CHOLMOD and OpenBLAS", all(
        any(name.startswith(stem) for name in brought)
        for stem in ("libembree", "libcholmod", "libopenblas", "liblapacke")))
    check("each has its file, and a license comes along",
          all(f"sinew_blender/sinew/libraries/{name}" in names for name in brought)
          and any("/licenses/libembree" in name for name in names))
    shapes.library()
    with open("/proc/self/maps", encoding="utf-8") as file:
        loaded = {os.path.basename(line.split()[-1]).split(".so")[0] for line in file}
    lacking = [name for name in brought if not any(
        found.startswith(name.split(".so")[0]) for found in loaded)]
    check(f"all are loaded, from the zip or by Blender itself ({lacking})", not lacking)


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
    check_brought(names)
    check("the manifest is valid", problems(found) == [])
    check_validation(found)
    check("it is an add-on for 4.2 and later",
          found["type"] == "add-on" and found["blender_version_min"] == "4.2.0")
    numbers = ", ".join(found["version"].split("."))
    check("the manifest and bl_info have the same version and name",
          f'"version": ({numbers})' in source and f'"name": "{found["name"]}"' in source)
    check("the license is an SPDX identifier of the GPL",
          found["license"] == ["SPDX:GPL-3.0-or-later"])
    check("platforms are those of the bundled libraries", found["platforms"] == ["linux-x64"])
    check("the folder of the legacy add-on is the identifier of the extension",
          names[0].split("/")[0] == found["id"])

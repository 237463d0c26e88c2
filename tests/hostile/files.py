"""Files for the hostile suite: good ones, made by the command under test, and ruined copies."""
import json
import os
import pathlib
import random
import socket
import struct
import subprocess

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


def make_good(sinew, folder):
    """The good files that command lines refer to."""
    def run(*words):
        subprocess.run([sinew, *words, "--quiet"], cwd=folder, check=True)

    run("sample", "bar", "--out", "bar")
    run("sample", "face", "--out", "face", "--vertices", "1000")
    run("convert", "bar", "rig.glb")
    run("convert", "bar", "rig.fbx")
    run("convert", "bar/neutral.obj", "mesh.ply")
    run("convert", "bar/neutral.obj", "mesh.off")
    run("blend", "bar", "--steps", "2", "--out", "clip.pc2", "--out", "clip.mdd", "--scene-out",
        "good.json")
    run("convert", "face/markers.csv", "markers.trc")
    (folder / "good.obj").write_text(TRIANGLE)
    (folder / "scene.usdc").write_bytes(b"PXR-USDC" + bytes(80))
    (folder / "tets.mesh").write_text(
        "MeshVersionFormatted 1\nDimension 3\nVertices 4\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n"
        "Tetrahedra 1\n1 2 3 4 0\nEnd\n")
    (folder / "tets.node").write_text("4 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n")
    (folder / "tets.ele").write_text("1 4 0\n0 0 1 2 3\n")
    (folder / "curves.csv").write_text("time_s,bend120\n0,0\n1,1\n")
    (folder / "map.csv").write_text("vertex,value\n0,1\n")


# good file, and whether it is text
READ = [("bar/neutral.obj", True), ("mesh.ply", False), ("mesh.off", True), ("rig.glb", False),
        ("rig.fbx", False), ("clip.pc2", False), ("clip.mdd", False), ("face/markers.csv", True),
        ("bar/clip.csv", True), ("markers.trc", True), ("tets.mesh", True)]


def damage(data, text):
    """Ways to ruin a file: (name, bytes)."""
    noise = random.Random(7)
    yield "empty", b""
    yield "start", data[:7]
    yield "zeros", bytes(len(data))
    yield "noise", bytes(noise.randrange(256) for _ in range(512))
    yield "blank", b"\n \t\r\n" * 50
    if text:
        yield "nul", data[:40] + b"\0" + data[40:]
        yield "words", b"lorem ipsum dolor\n" * 30
        yield "huge", b"9" * 100000
    else:
        yield "half", data[:len(data) // 2]
        yield "less", data[:-1]
        yield "ones", data[:16] + b"\xff" * 16 + data[32:]


def make_bad(folder):
    """Ruined copies of every kind; returns their names and the kind of damage."""
    made = []
    for name, text in READ:
        data = (folder / name).read_bytes()
        path = pathlib.Path(name)
        for kind, content in damage(data, text):
            if kind == "less" and name.endswith(".fbx"):
                continue  # the last bytes of an FBX file mean nothing
            bad = f"{kind}-{path.parent.name or 'x'}-{path.name}"
            (folder / bad).write_bytes(content)
            made.append((bad, kind))
    return made


def write_special(folder):
    """Files that single cases of the table refer to."""
    texts = {
        "index.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n",
        "negative.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -1 -2 -9\n",
        "zero.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n",
        "nan.obj": "v 0 0 0\nv 1 nan 0\nv 0 1 0\nf 1 2 3\n",
        "inf.obj": "v 0 0 0\nv 1 1e999 0\nv 0 1 0\nf 1 2 3\n",
        "short.obj": "v 0 0 0\nv 1 0\nv 0 1 0\nf 1 2 3\n",
        "two.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2\n",
        "escape.obj": "o \x1b[2Jevil\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n",
        "heap.obj": "v 0 0 0\nv 2 0 0\nv 0 2 0\nv 1 1 -1\nv 1 0 1\nv 0 1 1\n"
                    + "f 1 2 3\nf 4 5 6\n" * 7000,
        "far.obj": "v 1e300 0 0\nv -1e300 0 0\nv 0 1e300 0\nf 1 2 3\n",
        "huge.ply": "ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\n"
                    "property float x\nproperty float y\nproperty float z\nend_header\n",
        "claims.ply": "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
                      "property float z\nelement face 700000000\nproperty list uchar int "
                      "vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n",
        "neither.ply": "ply\nformat ebcdic 1.0\nend_header\n",
        "wide.off": "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n2000000000 0 1 2\n",
        "counts.off": "OFF 700000000 700000000 0\n",
        "back.csv": "time_s,bend120\n0,0\n1,0.5\n0.5,1\n",
        "word.csv": "time_s,bend120\n0,0\n0.5,much\n",
        "nan.csv": "time_s,bend120\n0,0\n0.5,nan\n",
        "inf.csv": "time_s,bend120\n0,0\n0.5,1e999\n",
        "none.csv": "time_s,nothing\n0,0\n1,0.5\n",
        "ragged.csv": "time_s,bend120\n0,0,7\n1\n",
        "twice.csv": "time_s,bend120,bend120\n0,0,0\n1,1,1\n",
        "far_map.csv": "vertex,value\n99999999,1\n",
        "neg_map.csv": "vertex,value\n-1,1\n",
        "lone.csv": "time_s,nose_x,nose_y,nose_z\n0,0,0,0\n0.1,0,0,0\n",
        "far_marker_map.csv": "nose,999999999\n",
        "word_marker_map.csv": "nose,somewhere\n",
        "same_map.csv": "vertex,value\n0,1\n0,0\n",
        "stiff_map.csv": "vertex,value\n0,1e308\n",
        "deep.json": "[" * 100000,
        "cut.json": '{"sinew": 1, ',
        "list.json": "[1, 2]",
        "twice.json": '{"sinew": 1, "sinew": 1}',
        "regions.json": '{"r": [99999999]}',
        "words.json": '{"r": ["a"]}',
        "invisible.csv": "time_s,jaw\u200bOpen\u00ad\U000e0041\n0,0\n1,1\n",
        "plain.txt": "hello\n",
        "noend": "hello\n",
        "buffer.gltf": '{"asset":{"version":"2.0"},"meshes":[{"primitives":[{"attributes":'
                       '{"POSITION":0}}]}],"accessors":[{"bufferView":0,"componentType":5126,'
                       '"type":"VEC3","count":3}],"bufferViews":[{"buffer":0,"byteLength":36}],'
                       '"buffers":[{"byteLength":36,"uri":"../../../../etc/passwd"}]}',
        "version.gltf": '{"asset":{"version":"1.0"}}',
        "accessor.gltf": '{"asset":{"version":"2.0"},"meshes":[{"primitives":[{"attributes":'
                         '{"POSITION":7}}]}]}',
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    scene = '{"sinew": 1, "rig": {"sample": "bar"}, "steps": %s}'
    mesh = "v 0 0 0\nv 1.5 0 0\nv 0 1 0\nf 1 2 3\n"
    (folder / "utf16.obj").write_bytes(mesh.encode("utf-16"))
    (folder / "comma.obj").write_text(mesh.replace(".", ","))
    (folder / "semicolon.csv").write_text("time_s;bend120\n0;0\n1;1\n")
    (folder / "utf16.json").write_bytes((scene % 2).encode("utf-16-le"))
    (folder / "latin.json").write_bytes((scene % 2).encode().replace(b"bar", b"b\xe4r"))
    (folder / "nul.json").write_text((scene % 2).replace("bar", "bar\\u0000x"))
    (folder / "large.json").write_text(scene % "1e400")
    (folder / "nan.json").write_text(scene % "NaN")
    (folder / "tail.json").write_text(scene % 2 + "garbage")
    outputs = ', "outputs": {"frames": ["%s"]}}'
    for name, path in (("missing", "none/x.pc2"), ("deeper", "none/at/all/x.pc2"),
                       ("escapes", "none/../../x.pc2"), ("leaves", "self/../../x.pc2"),
                       ("above", "self/above/x.pc2"), ("nowhere", "astray.pc2")):
        (folder / f"{name}.json").write_text((scene % 2)[:-1] + outputs % path)
    for name, target in (("loop.obj", "loop.obj"), ("one.obj", "two_links.obj"),
                         ("two_links.obj", "one.obj"), ("linked.obj", "good.obj"),
                         ("chain.obj", "linked.obj"), ("linked.csv", "curves.csv"),
                         ("linked", "bar"), ("gone.obj", "none.obj"), ("zero.pc2.obj", "/dev/zero"),
                         ("null.json", "/dev/null"), ("full.json", "/dev/full")):
        (folder / name).symlink_to(target)
    (folder / "hard.obj").hardlink_to(folder / "good.obj")
    (folder / "hard.csv").hardlink_to(folder / "curves.csv")
    (folder / "hard.json").hardlink_to(folder / "good.json")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket.obj"))
    for name in ("sparse.obj", "sparse.pc2", "sparse.glb", "sparse.json", "sparse.csv"):
        with open(folder / name, "wb") as file:
            file.truncate(1 << 26)
    (folder / "bom.csv").write_text("\ufefftime_s,nothing\n0,0\n1,1\n")
    (folder / "utf16.csv").write_bytes("time_s,bend120\n0,0\n1,1\n".encode("utf-16"))
    (folder / "self").symlink_to(".")
    (folder / "above").symlink_to("..")
    (folder / "astray.pc2").symlink_to("../nowhere/x.pc2")
    (folder / "forge.json").write_text((scene % 2)[:-1] + ', "a\\nsinew: fine": 1}')
    (folder / "claims.pc2").write_bytes(b"POINTCACHE2\0" + struct.pack(
        "<iiffi", 1, 0x7fffffff, 0, 1, 0x7fffffff))
    (folder / "negative.pc2").write_bytes(b"POINTCACHE2\0" + struct.pack("<iiffi", 1, -5, 0, 1, -1))
    (folder / "zero.pc2").write_bytes(b"POINTCACHE2\0" + struct.pack("<iiffi", 1, 0, 0, 1, 0))
    (folder / "nan.pc2").write_bytes(b"POINTCACHE2\0" + struct.pack(
        "<iiffi", 1, 1, 0, 1, 1) + struct.pack("<3f", float("nan"), 0, 0))
    (folder / "claims.mdd").write_bytes(struct.pack(">ii", 0x7fffffff, 0x0fffffff))
    (folder / "glb2.glb").write_bytes(b"glTF" + struct.pack("<II", 9, 12))
    (folder / "long.glb").write_bytes(b"glTF" + struct.pack("<IIII", 2, 0x7fffffff, 0x7fffffff,
                                                            0x4E4F534A))
    head, *rows = [line for line in (folder / "face" / "markers.csv").read_text().splitlines()
                   if line[0] != "#"]
    (folder / "heap.csv").write_text(f"{head}\n0" + ",0.1" * (len(head.split(",")) - 1) + "\n")
    write_gltf(folder)
    write_fbx(folder)
    write_manifests(folder)
    (folder / "folder.obj").mkdir()
    (folder / "hollow").mkdir()


def write_gltf(folder):
    """A triangle with one morph target, in ways that no exporter has."""
    points = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0) + struct.pack("<9f", *[0] * 8, 1)
    binary = points + struct.pack("<3I", 0, 1, 2)
    accessor = {"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 3,
                "min": [0, 0, 0], "max": [1, 1, 1]}
    document = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 2,
                                    "targets": [{"POSITION": 1}]}],
                    "extras": {"targetNames": ["up"]}}],
        "accessors": [accessor, {**accessor, "byteOffset": 36},
                      {"bufferView": 0, "byteOffset": 72, "componentType": 5125, "type": "SCALAR",
                       "count": 3}],
        "bufferViews": [{"buffer": 0, "byteLength": len(binary)}],
        "buffers": [{"byteLength": len(binary)}], "extensionsUsed": ["VRMC_vrm"]}

    def write(name, document, binary):
        text = json.dumps(document).encode()
        text += b" " * (-len(text) % 4)
        (folder / name).write_bytes(
            b"glTF" + struct.pack("<II", 2, 28 + len(text) + len(binary))
            + struct.pack("<II", len(text), 0x4E4F534A) + text
            + struct.pack("<II", len(binary), 0x004E4942) + binary)

    bind = {"morphTargetBinds": [{"node": 0, "index": 0, "weight": 1}]}
    write("crowd.vrm", {**document, "extensions": {"VRMC_vrm": {
        "specVersion": "1.0", "expressions": {"custom": {f"e{i}": bind for i in range(2000)}}}}},
        binary)
    primitive = {**document["meshes"][0]["primitives"][0], "targets": [{"POSITION": 1}] * 20000}
    write("crowd.glb", {**document, "meshes": [{"primitives": [primitive]}]}, binary)
    count = json.loads(json.dumps(document))
    count["accessors"][0]["count"] = -3
    write("count.glb", count, binary)
    back = json.loads(json.dumps(document))
    back["accessors"] += [{"bufferView": 1, "componentType": 5126, "type": "SCALAR", "count": 2},
                          {"bufferView": 1, "byteOffset": 8, "componentType": 5126,
                           "type": "SCALAR", "count": 2}]
    back["bufferViews"].append({"buffer": 0, "byteOffset": len(binary), "byteLength": 16})
    back["animations"] = [{"name": "back", "samplers": [{"input": 3, "output": 4}], "channels": [
        {"sampler": 0, "target": {"node": 0, "path": "weights"}}]}]
    back["buffers"][0]["byteLength"] += 16
    write("back.glb", back, binary + struct.pack("<4f", 1, 0, 0, 1))
    del document["extensionsUsed"]
    os.mkfifo(folder / "pipe.bin")
    for kind, uri in (("pipe", "pipe.bin"), ("hollow", "hollow"), ("loop", "loop.obj")):
        document["buffers"] = [{"byteLength": len(binary), "uri": uri}]
        (folder / f"{kind}.gltf").write_text(json.dumps(document))


def write_fbx(folder):
    """Text FBX whose one mesh is wrong."""
    def text(points, corners):
        return ("; FBX 7.4.0 project file\nFBXHeaderExtension:  {\n\tFBXVersion: 7400\n}\n"
                "Objects:  {\n\tGeometry: 1, \"Geometry::m\", \"Mesh\" {\n"
                f"\t\tVertices: {points}\n\t\tPolygonVertexIndex: {corners}\n\t}}\n"
                "\tModel: 2, \"Model::m\", \"Mesh\" {\n\t}\n}\n"
                "Connections:  {\n\tC: \"OO\",1,2\n\tC: \"OO\",2,0\n}\n")

    points = "*9 {\n\t\t\ta: 0,0,0,1,0,0,0,1,0\n\t\t}"
    (folder / "index.fbx").write_text(text(points, "*3 {\n\t\t\ta: 0,1,-10\n\t\t}"))
    (folder / "claims.fbx").write_text(text("*999999999 {\n\t\t\ta: 0\n\t\t}",
                                            "*3 {\n\t\t\ta: 0,1,-3\n\t\t}"))
    (folder / "nan.fbx").write_text(text(points.replace("0,1,0,0", "0,nan,0,0"),
                                         "*3 {\n\t\t\ta: 0,1,-3\n\t\t}"))
    (folder / "deep.fbx").write_text("; FBX 7.4.0 project file\n" + "A:  {\n" * 100000)


def write_manifests(folder):
    shot = {"name": "s", "scene": "good.json"}
    (folder / "link.json").symlink_to("/etc/passwd")
    manifests = {
        "version": {"farm": 2, "shots": [shot]}, "none": {"farm": 1, "shots": []},
        "key": {"farm": 1, "shots": [shot], "cores": 2}, "number": {"farm": 1, "shots": [7]},
        "colour": {"farm": 1, "shots": [{**shot, "colour": "red"}]},
        "twice": {"farm": 1, "shots": [shot, shot]},
        "overrides": {"farm": 1, "shots": [{**shot, "overrides": {}}]},
    }
    for kind, name in (("dots", ".."), ("slash", "a/b"), ("escape", "\x1b[2J"), ("long", "a" * 101)):
        manifests[kind] = {"farm": 1, "shots": [{**shot, "name": name}]}
    for kind, scene in (("outside", "../good.json"), ("absolute", "/etc/passwd"),
                        ("link", "link.json"), ("scene", "")):
        manifests[kind] = {"farm": 1, "shots": [{**shot, "scene": scene}]}
    for kind, manifest in manifests.items():
        (folder / f"m_{kind}.json").write_text(json.dumps(manifest))
    (folder / "m_same.json").write_text('{"farm": 1, "farm": 1, "shots": []}')
    (folder / "badfarm").mkdir()
    (folder / "badfarm" / "farm.json").write_text('{"farm": 1, "shots": [')


def write_scenes(folder):
    """Scenes from the table in scenes.txt: `words of the message | JSON`; returns the cases."""
    cases = []
    table = pathlib.Path(__file__).with_name("scenes.txt").read_text()
    for number, line in enumerate(table.splitlines()):
        if not line.strip() or line.startswith("#"):
            continue
        words, text = line.split("|", 1)
        name = f"scene{number}.json"
        (folder / name).write_text(text.strip())
        cases.append((3, [words.strip()] if words.strip() else [], f"run {name}"))
    return cases

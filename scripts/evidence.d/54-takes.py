#!/usr/bin/env python3
"""The table of docs/capture.md of every public take on every face, as 'sinew play' solves it:
markers with 'fit --layer', slider weights with the linear blend and contact, no map and no other
option. For each, the pairs of triangles that intersect away from what intersects in the neutral,
and vertices of the skin that are behind the surface of an eyeball (bench/evidence/new_crossings
--sum), with contact and in parentheses without; and a picture of ten frames by 'sinew play'.

Claims: every take is played with no option but the file and the rig; no frame has skin through skin
or through eyes; contact puts no skin behind eyeballs.
TAKE_RIGS=words and TAKE_FILES=words limit the rigs and takes, TAKE_PICTURES=0 leaves the pictures
out."""
import os
import pathlib
import re
import resource
import subprocess
import sys

SINEW, BUILD = os.environ["SINEW_COMMAND"], pathlib.Path(os.environ["SINEW_BUILD"])
DATA = pathlib.Path(os.environ["SINEW_DATA"]) / "free"
# name, file, holds markers, frames per second that are counted
TAKES = (("Jaw", "animface-markers/Jaw.csv", True, 1.5),
         ("Eyebrows", "animface-markers/Eyebrows.csv", True, 1.5),
         ("Face Cap", "facecap/weights.csv", False, 3),
         ("Live Link", "livelink/alex_rom_3.csv", False, 0.5))
PICTURES = os.environ.get("TAKE_PICTURES") != "0"
if not DATA.is_dir():
    print("no free/ in the data", file=sys.stderr)
    sys.exit(77)


def chosen(name, variable):
    words = os.environ.get(variable, "").split(",")
    return any(word in name for word in words)


def rigs():
    for name in ("face", "face2"):
        subprocess.run([SINEW, "sample", name, "--out", name, "--quiet"], check=True)
        yield name, [name]
    yield "Face Cap", [DATA / "facecap/facecap.glb"]
    yield "MakeHuman", [DATA / "makehuman/base.obj", DATA / "makehuman/arkit"]
    yield "ICT-FaceKit", [DATA / "ict-facekit/generic_neutral_mesh.obj", DATA / "ict-facekit/targets"]


def used_seconds():
    """Processor time of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def solve(rig, take, markers, fps, contact, out):
    words = ["fit", *rig, "--markers", take, "--layer"] if markers else ["blend", *rig, "--curves", take]
    if markers and not contact:
        words = words[:-1]
    if not markers and contact:
        words.append("--self-contact")
    return subprocess.run([SINEW, *map(str, words), "--fps", str(fps), "--out", out, "--quiet"],
                          stderr=subprocess.DEVNULL, check=False).returncode


print("| face | take | frames | skin with skin | skin with eyes | skin with anything else | inside | "
      "vertices of the skin behind an eyeball | processor time of contact per frame |")
print("|---|---|---|---|---|---|---|---|---|")
failed = []
for name, rig in rigs():
    if not chosen(name, "TAKE_RIGS"):
        continue
    for title, file, markers, fps in TAKES:
        if not chosen(title, "TAKE_FILES"):
            continue
        seconds, claim = [], f"{title} on {name}"
        for out, contact in (("plain.pc2", False), ("apart.pc2", True)):
            start = used_seconds()
            if solve(rig, DATA / file, markers, fps, contact, out):
                failed.append(f"{claim}: not solved")
            seconds.append(used_seconds() - start)
        line = subprocess.run([BUILD / "bench/evidence/new_crossings", "--sum", "apart.pc2",
                               "plain.pc2", *rig], capture_output=True, text=True).stdout
        frames = int(line.split("|")[1])
        cells = re.findall(r"(\d+); (\d+) \((\d+)\)", line)
        print(f"| {name} | {title} | {frames} | " + " | ".join(f"{a} ({b})" for _, a, b in cells) +
              f" | {1000 * (seconds[1] - seconds[0]) / frames:.0f} ms |", flush=True)
        if cells[0][1] != "0" or cells[1][1] != "0":
            failed.append(f"{claim}: skin through skin or eyes")
        if int(cells[4][1]) > int(cells[4][2]):
            failed.append(f"{claim}: skin behind an eyeball")
        if PICTURES:
            picture = f"take-{name}-{title}.png".replace(" ", "-").lower()
            if subprocess.run([SINEW, "play", *rig, DATA / file, "--out", picture, "--quiet"],
                              stderr=subprocess.DEVNULL, check=False).returncode:
                failed.append(f"{claim}: not played")
for claim in failed:
    print(f"FAILED: {claim}")
sys.exit(bool(failed))

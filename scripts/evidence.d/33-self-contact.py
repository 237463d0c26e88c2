#!/usr/bin/env python3
"""The table of docs/spring.md about self-contact: lids and lips of two sample faces and three heads
in 20 poses. bench/evidence/new_crossings counts the pairs of triangles that intersect away from what
intersects in the neutral, summed over the poses: with self-contact, and in parentheses without.

Claim: no pose has more pairs of skin with skin, or skin with eyes, with self-contact than without.
SELF_CONTACT_RIGS=words limits the rigs."""
import csv
import json
import os
import pathlib
import re
import resource
import subprocess
import sys

SINEW, BUILD = os.environ["SINEW_COMMAND"], pathlib.Path(os.environ["SINEW_BUILD"])
DATA = pathlib.Path(os.environ["SINEW_DATA"]) / "free"
BOTH = ("eyeBlink", "eyeSquint", "eyeLookDown", "cheekSquint", "mouthPress", "mouthSmile",
        "mouthStretch", "mouthFrown")
POSES = (
    {"eyeBlink": 1}, {"eyeBlink": 0.7}, {"eyeBlink": 0.5, "eyeSquint": 1},
    {"eyeBlink": 1, "eyeSquint": 1}, {"eyeBlink": 1, "eyeLookDown": 1, "eyeSquint": 0.5},
    {"eyeBlink": 0.3, "eyeSquint": 1, "cheekSquint": 1}, {"mouthClose": 0.5}, {"mouthClose": 1},
    {"mouthClose": 1, "jawOpen": 1}, {"mouthPress": 1}, {"mouthRollLower": 1, "mouthRollUpper": 1},
    {"mouthRollLower": 0.5, "mouthRollUpper": 0.5, "mouthPress": 1},
    {"mouthPucker": 1, "mouthClose": 0.3}, {"mouthFunnel": 0.6, "mouthPress": 0.7}, {"jawOpen": 1},
    {"jawOpen": 0.3, "mouthShrugLower": 1},
    {"mouthShrugUpper": 1, "mouthShrugLower": 1, "mouthClose": 0.3},
    {"mouthSmile": 1, "mouthPress": 1, "eyeBlink": 1},
    {"mouthStretch": 1, "mouthFrown": 0.6, "mouthShrugLower": 0.8, "eyeBlink": 0.6},
    {"mouthPucker": 0.9, "mouthRollUpper": 0.8, "mouthLeft": 0.7})
if not DATA.is_dir():
    print("no free/ in the data", file=sys.stderr)
    sys.exit(77)


def write_poses(out, sides):
    names = sorted({name for pose in POSES for name in pose})
    with open(out, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time_s"] + [n + s for n in names for s in (sides if n in BOTH else ("",))])
        for k, pose in enumerate(POSES):
            writer.writerow([f"{k / 30:.5f}"] + [pose.get(n, 0) for n in names
                                                 for _ in (sides if n in BOTH else ("",))])


def used_seconds():
    """Processor time of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rigs():
    for name in ("face", "face2"):
        subprocess.run([SINEW, "sample", name, "--vertices", "1500", "--out", name, "--quiet"], check=True)
        yield name, [name], ("Left", "Right")
    yield "Face Cap", [DATA / "facecap/head.obj", DATA / "facecap/targets"], ("_L", "_R")
    yield "MakeHuman", [DATA / "makehuman/base.obj", DATA / "makehuman/arkit"], ("Left", "Right")
    yield ("ICT-FaceKit", [DATA / "ict-facekit/generic_neutral_mesh.obj",
                           DATA / "ict-facekit/targets"], ("_L", "_R"))


words = os.environ.get("SELF_CONTACT_RIGS", "").split()
failed = False
print("| rig | pairs in the neutral | skin with skin | skin with eyes | skin with anything else "
      "| rest | processor time of contact a pose | poses not converged |")
print("|---|---|---|---|---|---|---|---|")
for name, rig, sides in rigs():
    if words and not any(word in name for word in words):
        continue
    write_poses("poses.csv", sides)
    seconds = []
    for out, more in (("plain", []), ("apart", ["--self-contact"])):
        start = used_seconds()
        subprocess.run([SINEW, "blend", *rig, "--curves", "poses.csv", "--model", "spring", *more,
                        "--out", f"{out}.pc2", "--report", f"{out}.json", "--quiet"], check=False)
        seconds.append(used_seconds() - start)
    line = subprocess.run([BUILD / "bench/evidence/new_crossings", "--sum", "apart.pc2", "plain.pc2", *rig],
                          capture_output=True, text=True).stdout
    rest = int(line.split("|")[2])
    cells = re.findall(r"(\d+); (\d+) \((\d+)\)", line)[:4]
    frames = json.loads(pathlib.Path("apart.json").read_text())["frames"]
    left = sum(frame["status"] != "ok" for frame in frames)
    failed |= any(int(worse) > 0 for worse, _, _ in cells[:2])
    print(f"| {name} | {rest} | " + " | ".join(f"{a} ({b})" for _, a, b in cells) +
          f" | {(seconds[1] - seconds[0]) / len(POSES):.2g} s | {left} |", flush=True)
sys.exit(failed)

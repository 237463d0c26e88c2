#!/usr/bin/env python3
"""Modal motion between real poses. Claims: keys met to 1e-6 of the diagonal on all; never more flipped
tets than the worse of the key poses."""
import json
import math
import os
import pathlib
import struct
import subprocess
import sys

SINEW = os.environ["SINEW_COMMAND"]
DATA = pathlib.Path(os.environ["SINEW_DATA"])
# Name, first pose, second pose, further options.
SETS = [
    ("hand open to fist", "free/aframe-hand/open.obj", "free/aframe-hand/fist.obj", []),
    ("hand rest to grip", "free/aframe-hand/rest.obj", "free/aframe-hand/grip.obj", []),
    ("cactus", "research/goast-cactus/cactus0.ply", "research/goast-cactus/cactus16.ply", []),
    ("cow", "free/his-cow/rest.obj", "free/his-cow/cow-1.obj", []),
    ("body arms up", "free/makehuman/body_poses/rest.obj",
     "free/makehuman/body_poses/armsup.obj", []),
    ("cat, cage", "research/sumner-cat/reference.obj", "research/sumner-cat/0001.obj", []),
    ("horse", "research/sumner-horse/reference.obj", "research/sumner-horse/10.obj", []),
    ("face surprise, shell", "research/spacetime-faces/neutral.ply",
     "research/spacetime-faces/surprise.ply", ["--body", "shell"]),
]


def sinew(*words):
    subprocess.run([SINEW, *map(str, words), "--quiet"], check=True)


def frames_of(path):
    """Frames of a PC2 as lists of floats."""
    raw = pathlib.Path(path).read_bytes()
    vertices, = struct.unpack_from("<i", raw, 16)
    count, = struct.unpack_from("<i", raw, 28)
    size = 3 * vertices
    return [struct.unpack_from(f"<{size}f", raw, 32 + 4 * size * k) for k in range(count)]


def diagonal(frame):
    return math.dist([min(frame[a::3]) for a in range(3)], [max(frame[a::3]) for a in range(3)])


def worst(a, b):
    return max(math.dist(a[i:i + 3], b[i:i + 3]) for i in range(0, len(a), 3))


print("# Modal motion between real poses\nBody and elements, modes' time, share of the second pose "
      "that 80 modes express, miss at the keys (share of the diagonal, in single precision), mean "
      "edge distortion half-way on the straight path against linear (percent), flipped tets: in the "
      "second key, and most in any frame.\n")
print("| poses | body | elements | modes s | captured | key miss | modal | linear | in key | in frames |")
print("|---|---|---|---|---|---|---|---|---|---|")
found = broken = 0
for name, first, second, options in SETS:
    first, second = DATA / first, DATA / second
    if not first.exists() or not second.exists():
        continue
    found += 1
    sinew("modal", first, second, "--fps", 12, "--out", "modal.pc2", "--report", "modal.json",
          *options)
    report = json.loads(pathlib.Path("modal.json").read_text())
    sinew("modal", first, second, "--fps", 4, "--amplitude", 0, "--out", "straight.pc2", *options)
    sinew("blend", first, second, "--model", "linear", "--steps", 4, "--out", "linear.pc2")
    distortion = {}
    for path in ("straight", "linear"):
        sinew("measure", first, second, "--frames", f"{path}.pc2", "--report", f"{path}.json")
        frames = json.loads(pathlib.Path(f"{path}.json").read_text())["frames"]
        distortion[path] = 100 * frames[2]["edge"]["mean"]
    moving, plain = frames_of("modal.pc2"), frames_of("linear.pc2")
    size = diagonal(plain[0])
    miss = max(worst(moving[0], plain[0]), worst(moving[-1], plain[-1])) / size
    in_key = report["keys"][-1]["inverted"]
    in_frames = max(frame["inverted"] for frame in report["frames"])
    bad = miss > 1e-6 or in_frames > in_key
    broken += bad
    body = report["body"]
    print(f"| {name} | {body['kind']} | {body['elements']} | {body['mode_seconds']:.1f} | "
          f"{100 * report['keys'][-1]['captured']:.1f}% | {miss:.1e} | "
          f"{distortion['straight']:.2f} | {distortion['linear']:.2f} | {in_key} | {in_frames}"
          f"{' over' if bad else ''} |", flush=True)
if not found:
    print("no pose sets", file=sys.stderr)
    sys.exit(77)
print(f"\n{found} pairs, {broken} with a key that is missed or tets that no key flips.")
sys.exit(broken != 0)

#!/usr/bin/env python3
"""Linear modes, modal warping, and rotation and strain between the same real poses (bench/evidence/
modal_baselines.c). The claim: rotation and strain has the smallest edge error on every row."""
import os
import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(os.environ["SINEW_BUILD"]) / "bench" / "evidence" / "modal_baselines"
DATA = pathlib.Path(os.environ["SINEW_DATA"])
SETS = [
    ("hand open–fist", "free/aframe-hand/open.obj", "free/aframe-hand/fist.obj"),
    ("hand rest–grip", "free/aframe-hand/rest.obj", "free/aframe-hand/grip.obj"),
    ("cactus 16", "research/goast-cactus/cactus0.ply", "research/goast-cactus/cactus16.ply"),
    ("cow 1", "free/his-cow/rest.obj", "free/his-cow/cow-1.obj"),
    ("cat 5", "research/sumner-cat/reference.obj", "research/sumner-cat/0005.obj"),
    ("horse 10", "research/sumner-horse/reference.obj", "research/sumner-horse/10.obj"),
    ("lion ref–1", "research/poses/lion-ref.obj", "research/poses/lion-1.obj"),
    ("centaur 0–3", "research/poses/centaur0.off", "research/poses/centaur3.off"),
]
print("# Modes in space\nMean edge error in percent: half-way on the straight path, and in the worst "
      "of 24 frames of the default swing. The same modes and weights for all three.\n")
print("| poses | linear modes | warping | rotation–strain | linear, swing | warping, swing | "
      "rotation–strain, swing |\n|---|---|---|---|---|---|---|", flush=True)
found = failed = 0
for name, first, pose in SETS:
    if not (DATA / pose).exists():
        continue
    found += 1
    result = subprocess.run([PROGRAM, DATA / first, DATA / pose, name], text=True,
                            capture_output=True)
    print(result.stdout or f"| {name} | failed: {result.stderr.strip()} |\n", end="", flush=True)
    failed += result.returncode != 0
if not found:
    print("no pose sets", file=sys.stderr)
    sys.exit(77)
print(f"\n{found} pairs; {failed} where rotation and strain is not best.")
sys.exit(failed != 0)

#!/usr/bin/env python3
"""Distortion half-way between real poses, by model. The claim: rotation is at or below the bound."""
import json
import os
import pathlib
import subprocess
import sys

SINEW = os.environ["SINEW_COMMAND"]
DATA = pathlib.Path(os.environ["SINEW_DATA"])
# Name, first pose, further poses, and the bound on the mean edge distortion of `rotation` in
# percent: the best published way of unwrapping rotations, measured on the same poses.
SETS = [
    ("hand open to fist", "free/aframe-hand/open.obj", ["free/aframe-hand/fist.obj"], 1.1),
    ("hand, other poses", "free/aframe-hand/rest.obj",
     [f"free/aframe-hand/{p}.obj" for p in ("grip", "hold", "point", "thumb_up")], None),
    ("cat", "research/sumner-cat/reference.obj", "research/sumner-cat/*.obj", 2.2),
    ("horse", "research/sumner-horse/reference.obj", "research/sumner-horse/*.obj", 0.5),
    ("cactus", "research/goast-cactus/cactus0.ply", "research/goast-cactus/*.ply", None),
    ("cow", "free/his-cow/rest.obj", "free/his-cow/*.obj", None),
    ("body", "free/makehuman/body_poses/rest.obj", "free/makehuman/body_poses/*.obj", None),
]


def sinew(*words):
    subprocess.run([SINEW, *map(str, words), "--quiet"], check=True)


def middle(model, first, pose):
    """Figures half-way, and how far the last frame is from the pose."""
    sinew("blend", first, pose, "--model", model, "--steps", 4, "--out", "blend.pc2")
    sinew("measure", first, pose, "--frames", "blend.pc2", "--report", "blend.json")
    frames = json.loads(pathlib.Path("blend.json").read_text())["frames"]
    return frames[2], frames[4]["edge"]["max"]


def percent(value):
    return "–" if value is None else f"{100 * value:.2f}"


print("# Half-way between real poses\nMean, 95th percentile and maximum of the edge distortion, "
      "change of volume, flipped triangles, by model; in percent.\n")
print("| poses | model | edges mean | p95 | max | area mean | volume | flipped | bound |")
print("|---|---|---|---|---|---|---|---|---|")
found = broken = 0
for name, first, poses, bound in SETS:
    first = DATA / first
    poses = sorted(DATA.glob(poses)) if isinstance(poses, str) else [DATA / p for p in poses]
    for pose in poses:
        if not first.exists() or not pose.exists() or pose == first:
            continue
        found += 1
        for model in ("linear", "rotation"):
            shape, end = middle(model, first, pose)
            edge = shape["edge"]
            over = model == "rotation" and bound is not None and 100 * edge["mean"] > bound + 0.05
            broken += over or end > 1e-3
            print(f"| {name}: {pose.stem} | {model} | {percent(edge['mean'])} | "
                  f"{percent(edge['p95'])} | {percent(edge['max'])} | "
                  f"{percent(shape['area']['mean'])} | {percent(shape['volume'])} | "
                  f"{shape['inverted']} | {bound if model == 'rotation' and bound else ''}"
                  f"{' over' if over else ''} |", flush=True)
if not found:
    print("no pose sets", file=sys.stderr)
    sys.exit(77)
print(f"\n{found} pairs, {broken} over their bound or with an end that is not met.")
sys.exit(broken != 0)

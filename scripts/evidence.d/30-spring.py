#!/usr/bin/env python3
"""Spring blendshapes on real pose pairs: 36 steps each, against linear blending.

Every frame must converge to 1e-6, end poses must be met, no frame may have more inverted tets than
the worse pose, and springs must distort edges and areas less than linear blending (mean, p95 and
max) wherever poses turn far. Tets that no pose inverts are listed. Frames must not depend on the
order they are solved in. SPRING_STEPS and SPRING_SETS (words) shorten a run."""
import array
import json
import math
import os
import pathlib
import subprocess
import sys

COMMAND = os.environ["SINEW_COMMAND"]
DATA = pathlib.Path(os.environ["SINEW_DATA"])
STEPS = int(os.environ.get("SPRING_STEPS", "36"))
ORDER_STEPS = min(STEPS, 12)
WORDS = os.environ.get("SPRING_SETS", "").split()
ICT = "free/ict-facekit/generic_neutral_mesh.obj"
SETS = [
    ("cat", "research/sumner-cat/reference.obj",
     [f"research/sumner-cat/000{k}.obj" for k in range(1, 7)], True),
    ("horse", "research/sumner-horse/reference.obj",
     [f"research/sumner-horse/{k}.obj" for k in (1, 3, 9, 10)], True),
    ("cow", "free/his-cow/rest.obj", [f"free/his-cow/cow-{k}.obj" for k in (1, 2, 6)], False),
    ("cactus", "research/goast-cactus/cactus0.ply",
     [f"research/goast-cactus/cactus{k}.ply" for k in (5, 10, 15, 16)], True),
    ("body", "free/makehuman/body_poses/rest.obj",
     [f"free/makehuman/body_poses/{k}.obj" for k in ("armsup", "step", "twist")], True),
    ("hand", "free/aframe-hand/rest.obj", ["free/aframe-hand/fist.obj"], True),
    ("face", ICT, [f"free/ict-facekit/targets/{k}.target"
                   for k in ("jawOpen", "eyeBlink_L", "mouthSmile_L", "mouthPucker", "mouthFunnel",
                             "browInnerUp_L", "cheekPuff_L", "noseSneer_L")], False),
    ("scan", "research/spacetime-faces/neutral.ply",
     [f"research/spacetime-faces/{k}.ply" for k in ("smile", "disgust", "surprise")], False),
]


def run(*arguments):
    result = subprocess.run([COMMAND, *map(str, arguments), "--quiet"], capture_output=True,
                            text=True)
    return result.returncode, result.stderr.strip()


def frames_of(path):
    """Positions of a PC2 cache, one array of floats per frame."""
    data = pathlib.Path(path).read_bytes()
    vertices = int.from_bytes(data[16:20], "little")
    count = int.from_bytes(data[28:32], "little")
    values = array.array("f", data[32:])
    return [values[3 * vertices * k:3 * vertices * (k + 1)] for k in range(count)]


def largest_step(a, b):
    return max(math.dist(a[k:k + 3], b[k:k + 3]) for k in range(0, len(a), 3))


def measure(neutral, pose, cache):
    code, message = run("measure", neutral, pose, "--frames", cache, "--report", "measure.json")
    if code not in (0, 1):
        return None
    frames = json.loads(pathlib.Path("measure.json").read_text())["frames"]
    return frames


def worst(frames, what, figure=None):
    values = [frame[what] if figure is None else frame[what][figure] for frame in frames]
    return max((abs(value) for value in values if value is not None), default=float("nan"))


def largest_distance(a, b):
    return max(largest_step(x, y) for x, y in zip(a, b))


def diagonal(frame):
    return math.dist([min(frame[k::3]) for k in range(3)], [max(frame[k::3]) for k in range(3)])


failed = 0
inverted = {}
print("# Springs on real poses\n")
print(f"{STEPS} steps each; distortion in % of the blended value, worst frame, spring / linear; ends: "
      "largest distance to the poses, % of the diagonal, in single precision\n")
print("| pair | interior | edges mean | edges p95 | edges max | areas mean | areas p95 | areas max | "
      "volume | ends | not converged | Newton | ms | inverted / worse pose | new inverted | "
      "step max/median |")
print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
for name, neutral, poses, turns in SETS:
    if WORDS and name not in WORDS:
        continue
    for pose in poses:
        if not (DATA / neutral).exists() or not (DATA / pose).exists():
            continue
        pair = f"{name} {pathlib.Path(pose).stem}"
        paths = (DATA / neutral, DATA / pose)
        code, message = run("blend", *paths, "--model", "spring", "--steps", STEPS, "--out",
                            "spring.pc2", "--report", "spring.json")
        run("blend", *paths, "--model", "linear", "--steps", STEPS, "--out", "linear.pc2")
        if code not in (0, 1):
            print(f"| {pair} | failed: {message} |")
            failed += 1
            continue
        report = json.loads(pathlib.Path("spring.json").read_text())
        frames = report["frames"]
        spring, linear = measure(*paths, "spring.pc2"), measure(*paths, "linear.pc2")
        if not spring or not linear:
            print(f"| {pair} | cannot be measured |")
            failed += 1
            continue
        cells = []
        for keys in (("edge", "mean"), ("edge", "p95"), ("edge", "max"), ("area", "mean"),
                     ("area", "p95"), ("area", "max"), ("volume",)):
            a, b = worst(spring, *keys), worst(linear, *keys)
            cells.append(f"{100 * a:.2f} / {100 * b:.2f}")
        positions, straight = frames_of("spring.pc2"), frames_of("linear.pc2")
        ends = largest_distance(positions[::STEPS], straight[::STEPS]) / diagonal(straight[0])
        steps = sorted(largest_step(a, b) for a, b in zip(positions, positions[1:]))
        ratio = steps[-1] / steps[len(steps) // 2] if steps[len(steps) // 2] else float("nan")
        unsolved = sum(frame["status"] != "ok" for frame in frames)
        newton = sum(frame["iterations"] for frame in frames) / STEPS
        inside_out = max(frame["inverted"] for frame in frames)
        allowed = report["network"]["pose_inverted"]
        for frame in frames:
            for tet in frame.get("new_inverted_tets", []):
                inverted.setdefault(pair, {})[tet[0]] = tet[1:]
        print(f"| {pair} | {report['interior'].split(':')[0]} | " + " | ".join(cells) +
              f" | {100 * ends:.6f} | {unsolved} | {newton:.1f} | "
              f"{report['totals']['frame_ms_mean']:.0f} | {inside_out} / {allowed} | "
              f"{len(inverted.get(pair, {}))} | {ratio:.2f} |", flush=True)
        failed += unsolved > 0 or ratio > 2 or ends > 2e-6 or inside_out > allowed
        if turns:
            failed += any(not worst(spring, what, figure) < worst(linear, what, figure)
                          for what in ("edge", "area") for figure in ("mean", "p95", "max"))
if inverted:
    print("\nTets that some frame inverts and no pose does: index (network vertices)\n")
    for pair, tets in inverted.items():
        print(f"- {pair}: " + ", ".join(f"{tet} ({' '.join(map(str, tets[tet]))})"
                                        for tet in sorted(tets)))
if not WORDS or "order" in WORDS:
    print(f"\nThe same {ORDER_STEPS + 1} frames in other orders: largest distance to the forward run, "
          "% of the diagonal\n")
    print("| pair | backward | shuffled | --independent |")
    print("|---|---|---|---|")
    for name, neutral, pose in (("cat", "research/sumner-cat/reference.obj",
                                 "research/sumner-cat/0003.obj"),
                                ("hand", "free/aframe-hand/rest.obj", "free/aframe-hand/fist.obj"),
                                ("horse", "research/sumner-horse/reference.obj",
                                 "research/sumner-horse/3.obj")):
        if not (DATA / neutral).exists() or not (DATA / pose).exists():
            continue
        count, results = ORDER_STEPS + 1, []
        forward = list(range(count))
        shuffled = [(7 * k + 3) % count for k in forward] # 7 and the count have no common factor
        for order, more in ((forward, ()), (forward[::-1], ()), (shuffled, ()),
                            (forward, ("--independent",))):
            lines = [f"time_s,{pathlib.Path(pose).stem}"]
            lines += [f"{k / 30},{step / ORDER_STEPS}" for k, step in enumerate(order)]
            pathlib.Path("order.csv").write_text("\n".join(lines) + "\n")
            run("blend", DATA / neutral, DATA / pose, "--model", "spring", "--curves", "order.csv",
                "--fps", 30, *more, "--out", "order.pc2")
            frames = frames_of("order.pc2")
            results.append([frames[order.index(step)] for step in forward])
        size = diagonal(results[0][0])
        distances = [largest_distance(results[0], other) / size for other in results[1:]]
        print(f"| {name} | " + " | ".join(f"{100 * d:.5f}" for d in distances) + " |", flush=True)
        failed += max(distances) > 1e-5
if not WORDS or "lids" in WORDS:
    print("\nLids over the left eyeball (its part as an obstacle), blink at 1/4, 1/2, 3/4\n")
    print("| weight | converged | rounds | contacts | depth beyond the poses', % of the diagonal | "
          "pulling reaction |")
    print("|---|---|---|---|---|---|")
    for weight in (0.25, 0.5, 0.75):
        paths = (DATA / ICT, DATA / "free/ict-facekit/targets/eyeBlink_L.target")
        if not paths[1].exists():
            break
        code, message = run("blend", *paths, "--model", "spring", "--boundary", "static",
                            "--weights", f"eyeBlink_L={weight}", "--obstacle",
                            "part:M_ScleraLeft", "--out", "lids.obj", "--report", "lids.json")
        frame = json.loads(pathlib.Path("lids.json").read_text())["frames"][0]
        print(f"| {weight} | {frame['status']} | {frame['rounds']} | {frame['contacts']} | "
              f"{100 * frame['depth']:.4f} | {frame['adhesion']:.5f} |", flush=True)
        failed += frame["status"] != "ok" or frame["depth"] > 1e-4 or frame["adhesion"] > 1e-3
for leftover in ("lids.obj", "lids.json", "spring.pc2", "linear.pc2", "spring.json", "measure.json",
                 "order.csv", "order.pc2"):
    pathlib.Path(leftover).unlink(missing_ok=True)
sys.exit(1 if failed else 0)

#!/usr/bin/env python3
"""What sinew farm costs beside the frames: plain runs against a farm with one and two processes.

    bench/farm_cost.py [--sinew PATH] [--models rotation,force] [--seconds 10] [--rounds 1]
                       [--shots 4] [--length 10] [--sheets] [--pairs]

Every model gets `shots` shots that take about `length` seconds each. They are run

    alone   by sinew run, one after another
    one     by sinew farm --jobs 1
    two     by sinew farm --jobs 2, only with --pairs

with one thread per process. The table gives the least of `rounds` rounds, which take turns: seconds
by the clock and of the processor, of the command and all of its children. Overheads and the ratio of
one process to two are medians over the rounds, with the worst round in parentheses. The outputs must have the same bytes.
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FACE = {"rig": {"files": ["face"]}, "curves": {"file": "face/clip.csv"}}
POSES = ["jawOpen", "mouthPucker", "mouthSmileLeft", "neutral"]
KEYS = [{"time": i, "pose": POSES[i % len(POSES)]} for i in range(11)]
SCENES = {
    "spring": {**FACE, "model": "spring", "parameters": {"interior": "none"}},
    "rotation": {**FACE, "model": "rotation"},
    "force": {**FACE, "model": "force"},
    "modal": {"rig": {"files": ["face"]}, "model": "modal", "keys": KEYS},
}


def raise_priority():
    """This session goes before others, so that they disturb less; without permission it does not."""
    try:
        pathlib.Path("/proc/self/autogroup").write_text("-20")
    except OSError as reason:
        print(f"no higher priority: {reason}", file=sys.stderr)


def run(words, folder):
    """Seconds by the clock and of the processor."""
    before, begin = os.times(), time.monotonic()
    result = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    seconds, after = time.monotonic() - begin, os.times()
    if result.returncode not in (0, 1) or "incomplete" in result.stderr:
        sys.exit(f"{' '.join(words)}\n{result.stdout}{result.stderr}")
    return seconds, (after.children_user + after.children_system
                     - before.children_user - before.children_system)


def write_scene(folder, name, scene, frames):
    scene = {"sinew": 1, **scene, "time": {"fps": (frames - 1) / 10, "to": 10},
             "outputs": {"frames": [f"{name}.pc2"]}}
    (folder / f"{name}.json").write_text(json.dumps(scene))


def frame_seconds(sinew, folder, scene):
    """A short clip against a longer one."""
    counts, times = (11, 211), []
    for count in counts:
        write_scene(folder, "probe", scene, count)
        run([sinew, "run", "probe.json", "--threads", "1", "--quiet"], folder)  # fills the cache
        times.append(run([sinew, "run", "probe.json", "--threads", "1", "--quiet"], folder)[1])
    return max(1e-4, (times[1] - times[0]) / (counts[1] - counts[0]))


def outputs(folder, names):
    """Their sums; the files are removed, so that the next run writes new ones."""
    sums = []
    for name in names:
        path = folder / f"{name}.pc2"
        with open(path, "rb") as file:
            sums.append(hashlib.file_digest(file, "blake2b").hexdigest())
        path.unlink()
    return sums


def measure(options, folder, model):
    frame = frame_seconds(options.sinew, folder, SCENES[model])
    frames = max(2, round(options.length / frame))
    names = [f"{model}{i}" for i in range(options.shots)]
    for name in names:
        write_scene(folder, name, SCENES[model], frames)
    (folder / "shots.json").write_text(json.dumps(
        {"farm": 1, "shots": [{"name": name, "scene": f"{name}.json"} for name in names]}))
    rounds, sums = collections.defaultdict(list), None
    for _ in range(options.rounds):
        for kind in ("alone", "one", "two") if options.pairs else ("alone", "one"):
            shutil.rmtree(folder / "work", ignore_errors=True)
            os.sync()
            if kind == "alone":
                parts = [run([options.sinew, "run", f"{name}.json", "--threads", "1", "--quiet"],
                             folder) for name in names]
                times = tuple(map(sum, zip(*parts)))
            else:
                times = run([options.sinew, "farm", "shots.json", "--out", "work", "--threads", "1",
                             "--chunk-seconds", str(options.seconds), "--jobs",
                             "1" if kind == "one" else "2", "--quiet",
                             *([] if options.sheets else ["--no-sheets"])], folder)
            found = outputs(folder, names)
            sums = sums or found
            if found != sums:
                sys.exit(f"{model}: the farm wrote other bytes than sinew run")
            rounds[kind].append(times)
    shutil.rmtree(folder / "work", ignore_errors=True)
    return frame, frames, rounds


def overhead(rounds, clock):
    """Of the farm with one process: the median over the rounds, and the worst of them."""
    ratios = [one[clock] / alone[clock] for one, alone in zip(rounds["one"], rounds["alone"])]
    return f"{100 * (statistics.median(ratios) - 1):+.1f}% ({100 * (max(ratios) - 1):+.1f}%)"


def speedup(rounds):
    ratios = [one[0] / two[0] for one, two in zip(rounds["one"], rounds["two"])]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sinew", default=str(ROOT / "build" / "sinew"))
    parser.add_argument("--models", default=",".join(SCENES))
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--length", type=float, default=10)
    parser.add_argument("--shots", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--sheets", action="store_true")
    parser.add_argument("--folder")
    options = parser.parse_args()
    options.sinew = str(pathlib.Path(options.sinew).resolve())
    raise_priority()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sinew-cost-", dir=options.folder))
    os.environ["SINEW_CACHE"] = str(folder / "cache")
    try:
        subprocess.run([options.sinew, "sample", "face", "--out", "face", "--quiet"], cwd=folder,
                       check=True)
        print("| model | ms a frame | frames | alone s | one s | overhead | alone cpu s | one cpu s |"
              " overhead | two s | one : two | two cpu s | load |\n" + "|---" * 13 + "|")
        for model in options.models.split(","):
            frame, frames, rounds = measure(options, folder, model)
            least = {kind: tuple(map(min, zip(*times))) for kind, times in rounds.items()}
            alone, one, two = least["alone"], least["one"], least.get("two")
            print(f"| {model} | {1e3 * frame:.1f} | {options.shots} x {frames} | {alone[0]:.1f} |"
                  f" {one[0]:.1f} | {overhead(rounds, 0)} | {alone[1]:.1f} | {one[1]:.1f} |"
                  f" {overhead(rounds, 1)} |"
                  + (f" {two[0]:.1f} | {speedup(rounds)} | {two[1]:.1f} |" if two
                     else " | | |") + f" {os.getloadavg()[0]:.1f} |", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()

#!/usr/bin/env python3
"""Compare the model of farm_model.py with real runs on a real Slurm with 1, 2 and 3 nodes.

    bench/farm_check.py [SINEW [WORD]]     WORD: only the work whose name has it

All nodes are this machine. So that three of them are more than its processors, every task first
pauses: it stands for a larger rig. The model gets its costs twice:

    before   measured apart from the run: the latency of Slurm with an array of jobs that only pause,
             the cost of frames with one process. Other programs may leave another speed to the run.
    in run   measured by the tasks of the run itself: what a frame takes, how long a task takes
             besides, and how long a node waits for its next task. So only the structure of the model
             is compared: slots, order, dependences. The uncertainty is the standard error of a
             node's sum, as tasks and waits scatter.
"""
import collections
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "farm"), str(ROOT / "bench")]
from cluster import Cluster, Unavailable  # noqa: E402
from farm_model import Farm, simulate  # noqa: E402

SINEW = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "sinew").resolve())
PAUSE = 2.0
VERTICES, FRAMES = 1784, 61
CURVES = {"curves": {"times": [0, 3], "values": {"bend120": [0, 0.3]}}}
LOADS = {  # scenes, model, wanted seconds of a chunk
    "12 short shots": (12, {"model": "rotation"}, 10.0),
    "5 shots that are cut": (5, {"model": "spring", "parameters": {"tolerance": 1e-3}}, 0.01),
}


def write(folder, count, scene):
    shots = []
    for i in range(count):
        text = {"sinew": 1, "rig": {"sample": "bar"}, "time": {"fps": 20}, **CURVES, **scene,
                "outputs": {"frames": [f"s{i}.pc2"]}}
        (folder / f"s{i}.json").write_text(json.dumps(text))
        shots.append({"name": f"s{i}", "scene": f"s{i}.json"})
    (folder / "shots.json").write_text(json.dumps({"farm": 1, "shots": shots}))


def measure_latency(cluster, folder, count=5):
    """Seconds from the end of a job to the start of the next on the same slot. The jobs pause too:
    Slurm looks for work about once a second."""
    script = folder / "latency.sh"
    script.write_text("#!/bin/sh\ndate +%s.%N >\"$1/$SLURM_ARRAY_TASK_ID.time\"\n"
                      f"sleep {PAUSE}\n")
    subprocess.run(["sbatch", "--output=/dev/null", f"--array=0-{count - 1}", "--nodelist=n1",
                    str(script), str(folder)], env=cluster.environment, check=True,
                   stdout=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while len(list(folder.glob("*.time"))) < count and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(PAUSE + 1)
    starts = sorted(float(path.read_text()) for path in folder.glob("*.time"))
    return (starts[-1] - starts[0]) / (len(starts) - 1) - PAUSE


def read_log(path):
    """Of the tasks: seconds each took, and seconds that a node waited between two of them."""
    nodes = collections.defaultdict(list)
    for line in path.read_text().splitlines():
        node, begin, end = line.split()
        nodes[node].append((float(begin), float(end)))
    spans = [end - begin for tasks in nodes.values() for begin, end in tasks]
    waits = []
    for tasks in nodes.values():
        tasks.sort()
        waits += [later[0] - earlier[1] for earlier, later in zip(tasks, tasks[1:])]
    return spans, waits


def calibrate(base, log, table):
    """The model with the costs of the run, and its uncertainty as a share."""
    spans, waits = read_log(log)
    cost, = table["costs"].values()
    frame = cost["frame_seconds"] / cost["frames"]
    setup = statistics.mean(spans) - PAUSE - frame * base["scenes"] * FRAMES / len(spans)
    # Median: a node that has nothing to do waits longer.
    latency = statistics.median(waits)
    spread = math.hypot(statistics.stdev(spans), statistics.stdev(waits))
    error = spread / math.sqrt(len(spans) / base["nodes"]) / (statistics.mean(spans) + latency)
    model = Farm(**base, frame=frame, setup=max(0.0, setup), cores=math.inf,
                 latency=latency + PAUSE)
    return simulate(model).now, error, latency


def farm(folder, work, *more, environment):
    shutil.rmtree(folder / work, ignore_errors=True)
    begin = time.monotonic()
    result = subprocess.run([SINEW, "farm", "shots.json", "--out", work, "--no-sheets", "--threads",
                             "1", *more], cwd=folder, env=environment, capture_output=True,
                            text=True, check=False)
    seconds = time.monotonic() - begin
    if result.returncode not in (0, 1) or "incomplete" in result.stderr:
        sys.exit(result.stdout + result.stderr)
    return seconds, json.loads((folder / work / "farm.json").read_text())


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sinew-check-"))
    os.environ["SINEW_CACHE"] = str(folder / "cache")
    wrapper = folder / "paused"
    log = folder / "log"
    wrapper.write_text(f'#!/bin/sh\nbegin=$(date +%s.%N)\nsleep {PAUSE}\n"{SINEW}" "$@"\ncode=$?\n'
                       f'echo "$SLURMD_NODENAME $begin $(date +%s.%N)" >>"{log}"\nexit $code\n')
    wrapper.chmod(0o755)
    print("| work | nodes | tasks | measured s | before s | difference | latency s | in run s |"
          " difference | uncertainty | latency s | load |\n" + "|---" * 12 + "|")
    try:
        for name, (count, scene, wanted) in LOADS.items():
            if len(sys.argv) > 2 and sys.argv[2] not in name:
                continue
            place = folder / name.split()[-1]
            place.mkdir()
            write(place, count, scene)
            words = ("--chunk-seconds", str(wanted))
            _, table = farm(place, "alone", "--jobs", "1", *words, environment=dict(os.environ))
            cost, = table["costs"].values()
            frame = cost["frame_seconds"] / cost["frames"]
            for nodes in (1, 2, 3):
                with Cluster(folder / f"slurm-{nodes}-{place.name}", nodes=nodes) as cluster:
                    clock = folder / f"clock-{nodes}-{place.name}"
                    clock.mkdir()
                    latency = measure_latency(cluster, clock)
                    log.unlink(missing_ok=True)
                    seconds, table = farm(place, "work", "--backend", "slurm", "--node-command",
                                          str(wrapper), *words, environment=cluster.environment)
                tasks = sum(row["tasks"] for row in table["shots"])
                base = dict(scenes=count, frames=FRAMES, vertices=VERTICES, chunk_seconds=wanted,
                            nodes=nodes, slots=1, dispatch=0.01)
                before = simulate(Farm(**base, frame=frame, setup=cost["setup_seconds"],
                                       cores=os.cpu_count(), latency=latency + PAUSE)).now
                within, error, wait = calibrate(base, log, table)
                print(f"| {name} | {nodes} | {tasks} | {seconds:.1f} | {before:.1f} |"
                      f" {100 * (before / seconds - 1):+.0f}% | {latency:.2f} | {within:.1f} |"
                      f" {100 * (within / seconds - 1):+.0f}% | {100 * error:.0f}% | {wait:.2f} |"
                      f" {os.getloadavg()[0]:.1f} |", flush=True)
    except Unavailable as reason:
        print(f"SKIP farm_check: Slurm cannot run here: {reason}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()

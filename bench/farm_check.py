#!/usr/bin/env python3
"""Compare the model of farm_model.py with real runs on a real Slurm with 1, 2 and 3 nodes.

    bench/farm_check.py [SINEW [WORD]]     WORD: only the work whose name has it

All nodes are this machine. So that three of them are more than its processors, every task first
pauses: it stands for a larger rig. What the model needs is measured apart from the runs that it is
compared with: the latency of Slurm with an array of jobs that only pause, the cost of frames with one process.
"""
import json
import os
import pathlib
import shutil
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
VERTICES = 1784
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
    wrapper.write_text(f'#!/bin/sh\nsleep {PAUSE}\nexec "{SINEW}" "$@"\n')
    wrapper.chmod(0o755)
    print("| work | nodes | measured s | model s | difference | tasks | latency s |\n"
          "|---|---|---|---|---|---|---|")
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
                    seconds, table = farm(place, "work", "--backend", "slurm", "--node-command",
                                          str(wrapper), *words, environment=cluster.environment)
                tasks = sum(row["tasks"] for row in table["shots"])
                run = simulate(Farm(scenes=count, frames=61, frame=frame,
                                    setup=cost["setup_seconds"], vertices=VERTICES,
                                    chunk_seconds=wanted, nodes=nodes, slots=1,
                                    cores=os.cpu_count(), dispatch=0.01, latency=latency + PAUSE))
                print(f"| {name} | {nodes} | {seconds:.1f} | {run.now:.1f} |"
                      f" {100 * (run.now / seconds - 1):+.0f}% | {tasks} | {latency:.2f} |",
                      flush=True)
    except Unavailable as reason:
        print(f"SKIP farm_check: Slurm cannot run here: {reason}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()

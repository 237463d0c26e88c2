#!/usr/bin/env python3
"""What sinew farm itself costs with many shots: very light ones, so that little else takes time.

    bench/farm_many.py [--sinew PATH] [--counts 1000,10000] [--folder DIR] [--slurm DONE]

Every shot has three frames of a cube. The farm is killed when a third of the shots is done and
called again, so that planning, resuming, merging and the table are all measured:

    plan s      from the call to the first table, with all scenes read, checked and written
    farm ms     processor time of the farm without that of its tasks, per task
    MB          most memory of the farm
    status s    sinew farm status, which prints a row per shot
    resume s    planning of the second call, which finds all scenes written
    table, page sizes of farm.json and index.html in kB
    files       in the work folder itself, in the folder of a shot, and in its parts

With --slurm the shots go to a real Slurm of three nodes on this machine, which accepts arrays of
1,000 jobs and 10,000 jobs in all. All are planned and as many submitted as fit; the farm is stopped
with Ctrl-C when DONE shots are done:

    plan s      as above
    submit s    from the plan until Slurm has the first jobs
    queue       most jobs in the queue of Slurm
    rate        shots a second
    stop s      from Ctrl-C to the end of the farm, and until the queue is empty
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "farm"))
from cluster import Cluster  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")


def cube(size):
    corners = [(x, y, z) for x in (0, size) for y in (0, size) for z in (0, size)]
    faces = ["1 2 4 3", "5 7 8 6", "1 5 6 2", "3 4 8 7", "1 3 7 5", "2 6 8 4"]
    return "".join([*(f"v {x} {y} {z}\n" for x, y, z in corners), *(f"f {f}\n" for f in faces)])


def write(folder, count):
    (folder / "targets").mkdir()
    (folder / "neutral.obj").write_text(cube(1))
    (folder / "targets" / "grow.obj").write_text(cube(2))
    scene = {"sinew": 1, "rig": {"files": ["neutral.obj", "targets/"]}, "model": "linear", "steps": 2,
             "outputs": {"frames": ["s.pc2"]}}
    (folder / "s.json").write_text(json.dumps(scene))
    shots = [{"name": f"s{i:05}", "scene": "s.json",
              "overrides": [{"op": "replace", "path": "/outputs/frames", "value": [f"s{i:05}.pc2"]}]}
             for i in range(count)]
    (folder / "shots.json").write_text(json.dumps({"farm": 1, "shots": shots}))


def own_seconds(pid):
    """Processor time of the process alone, and its most memory in MB."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    peak = 0.0
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            peak = int(line.split()[1]) / 1024
    return (int(fields[11]) + int(fields[12])) / TICKS, peak


def table_of(folder):
    return json.loads((folder / "work" / "farm.json").read_text())


def run(sinew, folder, stop=None):
    """Seconds of planning, processor seconds and memory of the farm; stop: kill at so many shots."""
    table, begin = folder / "work" / "farm.json", time.monotonic()
    before = table.stat().st_mtime_ns if table.exists() else 0
    with open(folder / "log", "w") as log:
        farm = subprocess.Popen([sinew, "farm", "shots.json", "--out", "work", "--no-sheets",
                                 "--jobs", "2", "--threads", "1"], cwd=folder, stdout=log,
                                stderr=log)
        plan, cost, checked = None, (0.0, 0.0), time.monotonic()
        while farm.poll() is None:
            try:
                cost = own_seconds(farm.pid)
                if plan is None and table.stat().st_mtime_ns != before:
                    plan = time.monotonic() - begin
                if stop and time.monotonic() - checked > 1:
                    checked = time.monotonic()
                    done = sum(row["state"] == "done" for row in table_of(folder)["shots"])
                    if done >= stop:
                        farm.kill()
            except (OSError, IndexError, ValueError):
                pass
            time.sleep(0.02)
    if farm.returncode not in (0, -9):
        sys.exit((folder / "log").read_text()[-2000:])
    return plan, *cost


def measure(sinew, folder, count):
    write(folder, count)
    plan, _, _ = run(sinew, folder, stop=count // 3)
    ready = sum(1 for path in folder.glob("work/*/parts/*.part"))
    resume, seconds, peak = run(sinew, folder)
    table = table_of(folder)
    rows = table["shots"]
    if any(row["state"] != "done" for row in rows) or len(list(folder.glob("s*.pc2"))) != count:
        sys.exit("some shots are not done")
    tasks = sum(row["tasks"] for row in rows)
    begin = time.monotonic()
    subprocess.run([sinew, "farm", "status", "work"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    status = time.monotonic() - begin
    work = folder / "work"
    entries = [len(os.listdir(path)) for path in (work, work / "s00000", work / "s00000" / "parts")]
    print(f"| {count} | {plan:.1f} | {1e3 * seconds / tasks:.2f} | {peak:.0f} | {status:.2f} |"
          f" {resume:.1f} | {(work / 'farm.json').stat().st_size // 1000} |"
          f" {(work / 'index.html').stat().st_size // 1000} |"
          f" {entries[0]}, {entries[1]}, {entries[2]} | {ready} |", flush=True)


def queued(cluster):
    lines = cluster.ask("squeue", "--noheader", "--array", "--states=PENDING,RUNNING",
                        "--format=%i").split()
    return len(lines)


def measure_slurm(sinew, folder, count, jobs, stop):
    write(folder, count)
    table = folder / "work" / "farm.json"
    with Cluster(folder / "slurm", array=1001, jobs=10000) as cluster, \
            open(folder / "log", "w") as log:
        begin = time.monotonic()
        farm = subprocess.Popen([sinew, "farm", "shots.json", "--out", "work", "--no-sheets",
                                 "--backend", "slurm", "--jobs", str(jobs)], cwd=folder,
                                stdout=log, stderr=log, env=cluster.environment)
        plan = submit = None
        most = done = 0
        cost = (0.0, 0.0)
        while farm.poll() is None and done < stop:
            time.sleep(0.1 if submit is None else 2)
            cost = own_seconds(farm.pid)
            if plan is None:
                if not table.exists():
                    continue
                plan = time.monotonic() - begin
            most = max(most, queued(cluster))
            if submit is None and most:
                submit = time.monotonic() - begin - plan
            done = sum(row["state"] == "done" for row in table_of(folder)["shots"])
        seconds = time.monotonic() - begin - plan
        interrupted = time.monotonic()
        farm.send_signal(signal.SIGINT)
        farm.wait()
        stopped = time.monotonic() - interrupted
        while queued(cluster):
            time.sleep(0.1)
        emptied = time.monotonic() - interrupted
    rows = table_of(folder)["shots"]
    done = sum(row["state"] == "done" for row in rows)
    if farm.returncode != 130 or len(list(folder.glob("s*.pc2"))) < done:
        sys.exit((folder / "log").read_text()[-2000:])
    again = sum(row["tasks"] > 1 for row in rows)
    print(f"| {count} | {jobs} | {plan:.1f} | {submit:.1f} | {most} | {done} | {done / seconds:.1f} |"
          f" {1e3 * cost[0] / max(done, 1):.1f} | {cost[1]:.0f} | {stopped:.1f}, {emptied:.1f} |"
          f" {again} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sinew", default=str(ROOT / "build" / "sinew"))
    parser.add_argument("--counts", default="1000,10000")
    parser.add_argument("--folder")
    parser.add_argument("--slurm", type=int, metavar="DONE")
    parser.add_argument("--jobs", type=int, default=256)
    options = parser.parse_args()
    sinew = str(pathlib.Path(options.sinew).resolve())
    if options.slurm:
        print("| shots | jobs | plan s | submit s | queue | done | rate | farm ms | MB | stop s |"
              " shots with several tasks |\n" + "|---" * 11 + "|", flush=True)
        for count in map(int, options.counts.split(",")):
            folder = pathlib.Path(tempfile.mkdtemp(prefix="sinew-many-", dir=options.folder))
            os.environ["SINEW_CACHE"] = str(folder / "cache")
            try:
                measure_slurm(sinew, folder, count, options.jobs, options.slurm)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        return
    print("| shots | plan s | farm ms | MB | status s | resume s | table kB | page kB | files |"
          " parts at the kill |\n" + "|---" * 10 + "|", flush=True)
    for count in map(int, options.counts.split(",")):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="sinew-many-", dir=options.folder))
        os.environ["SINEW_CACHE"] = str(folder / "cache")
        try:
            measure(sinew, folder, count)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


main()

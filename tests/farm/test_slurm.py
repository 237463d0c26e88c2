"""sinew farm on a real Slurm: bits equal to single runs whatever breaks on the way.

    test_slurm.py [WORD]     runs the tests whose names have the word
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cluster import ARRAY, Cluster, Unavailable, kill

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SINEW = str(pathlib.Path(os.environ.get("SINEW_COMMAND", ROOT / "build" / "sinew")).resolve())
SECONDS = 2700  # for everything; it takes about a minute on two free processors

BAR = {"rig": {"sample": "bar"}, "time": {"fps": 20}}
FACE = {"rig": {"files": ["face"]}, "time": {"fps": 30, "to": 8 / 30}}
SWING = {"curves": {"times": [0, 0.4], "values": {"bend120": [0, 0.04]}}}
TALK = {"curves": {"times": [0, 8 / 30],
                   "values": {"jawOpen": [0, 1], "mouthSmileLeft": [0.3, 0]}}}
BALL = {"obstacles": [{"shape": "sphere", "center": [0.5, 0.402, 0], "radius": 0.3}]}
TAKE = {"markers": {"file": "face/markers.csv", "map": "face/markers_map.csv"}}
ROUGH = {"tolerance": 1e-2, "max_rounds": 4}
# All models, with every kind of dependence between frames. 9 frames each.
SHOTS = {
    "linear": {**FACE, **TALK, "model": "linear"},
    "rotation": {**FACE, **TALK, "model": "rotation"},
    "rotation-bar": {**BAR, **SWING, "model": "rotation"},
    "spring": {**BAR, **SWING, **BALL, "model": "spring", "parameters": ROUGH},
    "friction": {**BAR, **SWING, **BALL, "model": "spring",
                 "parameters": {**ROUGH, "friction": 0.05}},
    "skin": {**FACE, **TALK, "model": "spring",
             "parameters": {"interior": "none", "tolerance": 1e-3}},
    "modal": {**BAR, "model": "modal", "parameters": {"modes": 12},
              "keys": [{"time": 0, "pose": "neutral"}, {"time": 0.4, "pose": "bend120"}]},
    "force": {**FACE, **TALK, "model": "force"},
    "contact": {**FACE, **TALK, "model": "force", "parameters": {"contact": "all"}},
    "layer-force": {**FACE, **TAKE, "model": "force",
                    "parameters": {"layer": True, "bounded": True}},
    "layer": {**FACE, **TAKE, "model": "fit", "parameters": {"layer": True, "smooth": 0.01}},
    "fit": {**FACE, **TAKE, "model": "fit"},
}


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


def sinew(cluster, folder, *words, code=None):
    result = subprocess.run([SINEW, *words], cwd=folder, env=cluster.environment, text=True,
                            capture_output=True, errors="replace", timeout=600, check=False)
    expect(code is None or result.returncode in code,
           f"sinew {' '.join(words)}: code {result.returncode}\n{result.stdout}{result.stderr}")
    return result


def write_manifest(folder, shots):
    folder.mkdir(parents=True, exist_ok=True)
    for name, scene in shots.items():
        scene = {"sinew": 1, **scene, "outputs": {"frames": [f"{name}.pc2"]}}
        (folder / f"{name}.json").write_text(json.dumps(scene))
    (folder / "shots.json").write_text(json.dumps(
        {"farm": 1, "shots": [{"name": name, "scene": f"{name}.json"} for name in shots]}))


def farm(*more, chunk="3"):
    return [SINEW, "farm", "shots.json", "--out", "work", "--backend", "slurm", "--chunk", chunk,
            "--no-sheets", *more]


def wait_for(condition, what, seconds=600):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise Failure(f"waited {seconds} s for {what}")


def rows(folder):
    table = json.loads((folder / "work" / "farm.json").read_text())
    return {row["shot"]: row for row in table["shots"]}


def damage(path, offset):
    content = bytearray(path.read_bytes())
    content[offset % len(content)] ^= 0xFF
    path.write_bytes(content)


def twelve_shots_survive_killed_nodes_tasks_and_damage(cluster, folder):
    write_manifest(folder, SHOTS)
    sinew(cluster, folder, "sample", "face", "--vertices", "1000", "--out", "face", code=[0])
    log = open(folder / "log", "w+")
    first = subprocess.Popen(farm(), cwd=folder, env=cluster.environment, stdout=log,
                             stderr=log)
    try:
        parts = lambda: list(folder.glob("work/*/parts/*.part"))
        wait_for(lambda: len(parts()) >= 3 or first.poll() is not None, "the first parts")
        # A node dies with all that runs on it.
        wait_for(lambda: cluster.tasks("n2") or first.poll() is not None, "a task on n2")
        for pid in cluster.node_processes("n2"):
            kill(pid)
        cluster.give_up("n2")
        # Two tasks die.
        killed = set()
        while len(killed) < 2:
            expect(first.poll() is None, "the farm ended before two tasks were killed")
            for pid, words in list(cluster.tasks().items()):
                if len(killed) < 2 and words[1] == "run" and words[3] not in killed:
                    kill(pid)
                    killed.add(words[3])  # its frames
            time.sleep(0.02)
        wait_for(lambda: len(parts()) >= 20 or first.poll() is not None, "twenty parts")
    finally:
        kill(first.pid)  # the farm dies too
        first.wait()
    log.seek(0)
    expect("friction" in rows(folder), f"no table: {log.read()}")
    # The cluster accepts only short arrays: twelve shots are planned by several.
    sizes = [len(json.loads(path.read_text())["tasks"])
             for path in folder.glob("work/batches/*.json")]
    expect(max(sizes) == ARRAY and len(sizes) >= 3, f"arrays of {sizes} tasks")
    # A part is cut short, a checkpoint is corrupted.
    wait_for(lambda: list(folder.glob("work/*/parts/*.state")), "a checkpoint")
    part = sorted(parts())[0]
    with open(part, "r+b") as stream:
        stream.truncate(part.stat().st_size - 100)
    for state in sorted(folder.glob("work/*/parts/*.state")):
        following = list(state.parent.glob(f"frames-{state.name[6:12]}-*.part"))
        damage(state, state.stat().st_size // 2)
        for path in following:
            path.unlink()  # so that the checkpoint is needed
        break
    before = {path: path.stat().st_ino for path in parts() if path != part}
    cluster.start_node("n2")
    result = subprocess.run(farm(), cwd=folder, env=cluster.environment, text=True,
                            capture_output=True, timeout=600, check=False)
    text = result.stdout + result.stderr
    expect(result.returncode in (0, 1) and "incomplete" not in text, f"resume failed:\n{text}")
    kept = sum(path.exists() and path.stat().st_ino == inode for path, inode in before.items())
    expect(kept == len(before), f"{len(before) - kept} of {len(before)} sound parts were computed "
                                f"again:\n{text}")
    for name, row in rows(folder).items():
        expect(row["done"] == row["frames"] > 0, f"{name}: {row}")
        sinew(cluster, folder, "run", f"{name}.json", "--strict", "--quiet", "--out",
              f"{name}-whole.pc2", code=[0, 1])
        expect((folder / f"{name}.pc2").read_bytes() == (folder / f"{name}-whole.pc2").read_bytes(),
               f"{name}: not the bits of a single run")


def a_node_that_never_answers_costs_one_attempt(cluster, folder):
    cluster.wait(lambda: cluster.idle() == 3, 600, "the nodes did not come back")
    write_manifest(folder, {"friction": SHOTS["friction"]})
    moments, hold = folder / "moments.so", folder / "hold"
    subprocess.run(["cc", "-shared", "-fPIC", str(ROOT / "tests/cli/moments.c"), "-o", str(moments)],
                   check=True)
    hold.touch()
    process = subprocess.Popen(farm(chunk="9"), cwd=folder, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT,
                               env={**cluster.environment, "LD_PRELOAD": str(moments),
                                    "HOLD": str(hold), "FRAMES": "0-8"})
    stopped, silent = set(), None
    try:
        # The chunk stands still until its node does.
        wait_for(lambda: (folder / "hold.pid").exists() or process.poll() is not None, "a chunk")
        expect(process.poll() is None, "the farm ended before its chunk")
        silent = next(node for node in cluster.names if cluster.tasks(node))
        stopped = cluster.node_processes(silent)
        for pid in stopped:
            kill(pid, signal.SIGSTOP)
        hold.unlink()
        cluster.give_up(silent)
        output = process.communicate(timeout=600)[0]
    finally:
        kill(process.pid)
        for pid in stopped:
            kill(pid, signal.SIGCONT)
        if silent:
            cluster.take_back(silent)
    expect(process.returncode in (0, 1) and "incomplete" not in output, output)
    row = rows(folder)["friction"]
    expect(row["done"] == row["frames"] and row["tasks"] >= 3, f"{row}\n{output}")
    before = (folder / "friction.pc2").read_bytes()
    # The node answers again: what it still writes does not matter.
    wait_for(lambda: not cluster.tasks(), "the end of the late task")
    again = sinew(cluster, folder, *farm()[1:], code=[0, 1])
    expect("incomplete" not in again.stderr, again.stderr)
    expect((folder / "friction.pc2").read_bytes() == before, "the result changed")
    sinew(cluster, folder, "run", "friction.json", "--strict", "--quiet", "--out", "whole.pc2",
          code=[0, 1])
    expect((folder / "whole.pc2").read_bytes() == before, "not the bits of a single run")


def clocks_that_are_hours_off_change_nothing(cluster, folder):
    skew = folder / "skew.so"
    subprocess.run(["cc", "-shared", "-fPIC", str(ROOT / "tests/farm/skew.c"), "-o", str(skew)],
                   check=True)
    wrapper, log = folder / "sinew-there", folder / "commands"
    wrapper.write_text(f"""#!/bin/sh
case $SLURMD_NODENAME in n1) SKEW=18000;; n2) SKEW=-25200;; n3) SKEW=400000000;; esac
echo "$SLURMD_NODENAME $(SKEW=$SKEW LD_PRELOAD={skew} date +%s)" >>{log}
SKEW=$SKEW LD_PRELOAD={skew} exec "{SINEW}" "$@"
""")
    wrapper.chmod(0o755)
    shots = {name: SHOTS[name] for name in ("rotation-bar", "friction", "spring", "modal")}
    write_manifest(folder, shots)
    # The nodes also build the structures that they share.
    environment = {**cluster.environment, "SINEW_CACHE": str(folder / "cache")}
    words = farm("--node-command", str(wrapper))
    begin = time.monotonic()
    first = subprocess.run(words, cwd=folder, env=environment, text=True, capture_output=True,
                           timeout=600, check=False)
    seconds = time.monotonic() - begin
    text = first.stdout + first.stderr
    expect(first.returncode in (0, 1) and "incomplete" not in text, text)
    clocks = dict(line.split() for line in log.read_text().splitlines())
    dates = [float(date) for date in clocks.values()]
    expect(len(dates) >= 2 and max(dates) - min(dates) > 3600, f"clocks did not differ: {clocks}")
    # Every chunk was computed once, in times that nobody compared: a plan, the chunks, and a merge
    # where two chunks were the last ones together. The nine frames of `spring` are one run.
    for name, row in rows(folder).items():
        chunks = 1 if name == "spring" else 3
        expect(row["done"] == row["frames"] == 9 and 0 < row["seconds"] < 8 * seconds and
               row["tasks"] in (1 + chunks, 2 + chunks) and
               len(list(folder.glob(f"work/{name}/parts/*.part"))) == chunks,
               f"{name}: {row}\n{text}")
    parts = {path: path.stat().st_ino for path in folder.glob("work/*/parts/*.part")}
    # A farm whose own clock is off takes over: it keeps what is there, and computes what is missing.
    lost = sorted(parts)[0]
    lost.unlink()
    again = subprocess.run(words, cwd=folder, text=True, capture_output=True, timeout=600,
                           env={**environment, "SKEW": "-90000", "LD_PRELOAD": str(skew)},
                           check=False)
    text = again.stdout + again.stderr
    expect(again.returncode in (0, 1) and "incomplete" not in text, text)
    expect(lost.exists(), "the lost part is still missing")
    for path, inode in parts.items():
        expect(path == lost or path.stat().st_ino == inode, f"{path} was computed again")
    for name in shots:
        sinew(cluster, folder, "run", f"{name}.json", "--strict", "--quiet", "--out", "whole.pc2",
              code=[0, 1])
        expect((folder / "whole.pc2").read_bytes() == (folder / f"{name}.pc2").read_bytes(),
               f"{name}: not the bits of a single run")


def a_queue_that_is_full_is_waited_for(cluster, folder):
    """sbatch as it answers while Slurm holds MaxJobCount jobs, which takes minutes to change: to the
    first call, and to the first one that continues a chain."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "sbatch").write_text(f"""#!/bin/sh
case "$*" in *--dependency=*) kind=chain;; *) kind=first;; esac
if mkdir {programs}/$kind 2>/dev/null; then
    echo "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying" >&2
    exec sleep 100000
fi
exec {shutil.which("sbatch")} "$@"
""")
    (programs / "sbatch").chmod(0o755)
    write_manifest(folder, {name: SHOTS[name] for name in ("linear", "friction", "rotation-bar")})
    sinew(cluster, folder, "sample", "face", "--vertices", "1000", "--out", "face", code=[0])
    environment = {**cluster.environment, "PATH": f"{programs}:{os.environ['PATH']}"}
    result = subprocess.run(farm(), cwd=folder, env=environment, text=True, capture_output=True,
                            timeout=600, check=False)
    text = result.stdout + result.stderr
    expect(result.returncode in (0, 1) and text.count("waiting for room") == 1, text)
    expect((programs / "first").exists() and (programs / "chain").exists(), "sbatch was not asked")
    for name, row in rows(folder).items():  # nothing is lost, nothing is counted as an attempt
        expect(row["done"] == row["frames"] == 9 and row["tasks"] in (4, 5), f"{name}: {row}\n{text}")


def hostile_names_reach_no_shell(cluster, folder):
    name = "a 'b' \"c\" $(touch oops) `touch oops` %j ;touch oops\nd"
    place = folder / name
    place.mkdir()
    scene = {"sinew": 1, **SHOTS["rotation-bar"], "outputs": {"frames": [f"{name}.pc2"]}}
    (place / f"{name}.json").write_text(json.dumps(scene))
    (place / "shots.json").write_text(json.dumps(
        {"farm": 1, "shots": [{"name": "s1", "scene": f"{name}.json"}]}))
    result = subprocess.run(farm(), cwd=place, env=cluster.environment, text=True,
                            capture_output=True, timeout=600, check=False)
    expect(result.returncode == 0, result.stdout + result.stderr)
    expect((place / f"{name}.pc2").exists(), "no output")
    expect(not list(folder.rglob("oops")) and not pathlib.Path("/oops").exists(),
           "a name was run as a command")
    for bad in ("../up", "$(touch oops)", "a b", "a\nb", "a'b", "-x"):
        (place / "shots.json").write_text(json.dumps(
            {"farm": 1, "shots": [{"name": bad, "scene": f"{name}.json"}]}))
        expect(sinew(cluster, place, *farm()[1:]).returncode == 3, f"accepted {bad!r}")


def mistakes_and_silence_are_named(cluster, folder):
    write_manifest(folder, {"rotation-bar": SHOTS["rotation-bar"]})
    result = sinew(cluster, folder, *farm("--partition", "none")[1:], code=[4])
    expect("partition" in result.stderr, result.stderr)
    result = sinew(cluster, folder, *farm("--partition", "main", "--time", "5", "--memory",
                                          "500")[1:], code=[0])
    # A node has one GPU. An account is accepted where nobody keeps accounts.
    result = sinew(cluster, folder, *farm("--gpus", "2")[1:], code=[4])
    expect("configuration is not available" in result.stderr, result.stderr)
    write_manifest(folder / "gpu", {"rotation-bar": SHOTS["rotation-bar"]})
    process = subprocess.Popen(farm("--gpus", "1", "--account", "show", chunk="9"),
                               cwd=folder / "gpu", env=cluster.environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_for(lambda: "gpu:1" in cluster.ask("scontrol", "show", "job", "-o")
                 or process.poll() is not None, "a job with a GPU")
        output = process.communicate(timeout=600)[0]
    finally:
        kill(process.pid)
    expect(process.returncode == 0, output)
    expect("gpu:1" in cluster.ask("scontrol", "show", "job", "-o"), "no job had a GPU")
    # The controller goes away in mid-run and comes back; then it stays away.
    write_manifest(folder / "long", {"rotation-bar": SHOTS["rotation-bar"]})
    process = subprocess.Popen(farm(), cwd=folder / "long", env=cluster.environment,
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_for(cluster.tasks, "a task")
        kill(cluster.daemons["slurmctld"].pid)
        cluster.daemons["slurmctld"].wait()
        time.sleep(2)
        cluster.start_controller()
        output = process.communicate(timeout=600)[0]
    finally:
        kill(process.pid)
    expect(process.returncode in (0, 1) and "incomplete" not in output, output)
    kill(cluster.daemons["slurmctld"].pid)
    cluster.daemons["slurmctld"].wait()
    result = sinew(cluster, folder, *farm("--patience", "1")[1:], code=[4])
    expect(any(word in result.stderr for word in ("ontact", "onnect", "no answer")), result.stderr)
    local = [word for word in farm()[1:] if word not in ("--backend", "slurm")]
    sinew(cluster, folder, *local, code=[0])  # the parts are still there


TESTS = [twelve_shots_survive_killed_nodes_tasks_and_damage,
         a_node_that_never_answers_costs_one_attempt, clocks_that_are_hours_off_change_nothing,
         a_queue_that_is_full_is_waited_for, hostile_names_reach_no_shell,
         mistakes_and_silence_are_named]


def main():
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sinew-farm-"))
    os.environ["SINEW_CACHE"] = str(folder / "cache")

    def stop(number, _):
        raise Failure("took too long" if number == signal.SIGALRM else "interrupted")

    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    signal.alarm(SECONDS)
    passed = failed = 0
    try:
        with Cluster(folder / "slurm") as cluster:
            for test in TESTS:
                if word not in test.__name__:
                    continue
                place, begin = folder / test.__name__[:12], time.monotonic()
                place.mkdir()
                try:
                    test(cluster, place)
                    passed += 1
                    print(f"ok {test.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
                except (Failure, Unavailable, subprocess.SubprocessError, OSError) as failure:
                    failed += 1
                    print(f"FAILED {test.__name__}: {failure}", flush=True)
                    if "took too long" in str(failure) or "interrupted" in str(failure):
                        break
    except Unavailable as reason:
        print(f"SKIP farm: Slurm cannot run here: {reason}")
        return 0
    finally:
        signal.alarm(0)
        if not os.environ.get("KEEP"):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"kept {folder}")
    print(f"[  PASSED  ] {passed} test(s).")
    if failed:
        print(f"[  FAILED  ] {failed} test(s).")
    return failed != 0


sys.exit(main())

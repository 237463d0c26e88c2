#!/usr/bin/env python3
"""Cost of a slider loop through the Python module over the same loop in C.

    PYTHONPATH=python bench/slider_loop.py [--cpu] [BUILD] [ROUNDS]
    PYTHONPATH=python SINEW_LIBRARY=build/libsinew.so bench/slider_loop.py --calls

Runs bench/slider_loop.c and the loop below in turn, and prints the medians: microseconds per solve
on the sample face (12k vertices) with weights and positions as numpy arrays. For machines with
other work: --cpu measures CPU time, and with --calls, calls of the C function and of the module
alternate in one process.
"""
import os
import statistics
import subprocess
import sys
import time

import numpy as np

FRAMES = {"rotation": 200, "spring": 60}


def loop(model, clock):
    """The median of one round in this process."""
    import sinew
    rig = sinew.sample("face")
    session = sinew.Session(rig=rig, model=model)
    session.prepare()
    out = np.empty((rig.vertex_count, 3), np.float32)
    weights, jaw = rig.weights(), rig.index("jawOpen")
    taken = []
    for k in range(-10, FRAMES[model]):
        start = clock()
        weights[jaw] = (k + 10) % 100 / 99
        session.solve(weights, out=out)
        if k >= 0:
            taken.append(1e6 * (clock() - start))
    return statistics.median(taken)


def calls():
    """Raw calls of the C function and calls of the module, in turn and in both orders."""
    from ctypes import byref

    import sinew
    from sinew import session as inside
    from sinew._library import _Error
    rig = sinew.sample("face")
    for model, count in (("linear", 1000), ("rotation", 300)):
        session = sinew.Session(rig=rig, model=model)
        session.prepare()
        out = np.empty((rig.vertex_count, 3), np.float32)
        weights, jaw = rig.weights(), rig.index("jawOpen")
        record, result, error = inside.Input(), inside._Result(), _Error()
        taken = {"raw": [], "module": []}

        def raw():
            inside._input_init(byref(record))
            inside._result_init(byref(result))
            record.weights, result.positions_float = weights.ctypes.data, out.ctypes.data
            inside._solve_session(session._handle, byref(record), byref(result), None, byref(error))

        kinds = [("raw", raw), ("module", lambda: session.solve(weights, out=out))]
        for k in range(count):
            for name, run in kinds if k % 2 else kinds[::-1]:
                weights[jaw] = (k + 37 * (name == "raw")) % 100 / 99
                start = time.process_time()
                run()
                taken[name].append(1e6 * (time.process_time() - start))
        a, b = (statistics.median(taken[name]) for name in ("raw", "module"))
        print(f"{model}: raw {a:.0f} us of CPU time, module {b:.0f} us, {100 * (b / a - 1):+.1f}%")


def main():
    if sys.argv[1:] == ["--calls"]:
        calls()
        return
    cpu = "--cpu" in sys.argv
    given = [argument for argument in sys.argv[1:] if argument != "--cpu"]
    if given[:1] == ["--round"]:
        print(f"{loop(given[1], time.process_time if cpu else time.perf_counter):.1f}")
        return
    build = os.path.abspath(given[0] if given else "build")
    rounds = int(given[1]) if len(given) > 1 else 5
    environment = {**os.environ, "SINEW_LIBRARY": os.path.join(build, "libsinew.so")}
    for model in FRAMES:
        program = [os.path.join(build, "bench", "slider-loop"), model, str(FRAMES[model])]
        script = [sys.executable, os.path.abspath(__file__), "--round", model]
        if cpu:
            program.append("cpu")
            script.append("--cpu")
        found = {"C": [], "Python": []}
        for _ in range(rounds):
            for language, command in (("C", program), ("Python", script)):
                found[language].append(float(subprocess.run(
                    command, env=environment, capture_output=True, text=True, check=True).stdout))
        c, python = (statistics.median(found[language]) for language in ("C", "Python"))
        over = sorted(100 * (b / a - 1) for a, b in zip(found["C"], found["Python"]))
        print(f"{model}: C {c:.0f} us, Python {python:.0f} us, {100 * (python / c - 1):+.1f}%; "
              f"single rounds {over[0]:+.1f} to {over[-1]:+.1f}%, median "
              f"{statistics.median(over):+.1f}%", flush=True)


main()

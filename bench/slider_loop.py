#!/usr/bin/env python3
"""Cost of a slider loop through the Python module over the same loop in C.

    PYTHONPATH=python bench/slider_loop.py [BUILD] [ROUNDS]
    PYTHONPATH=python SINEW_LIBRARY=build/libsinew.so bench/slider_loop.py --calls

Runs bench/slider_loop.c and the loop below in turn, and prints the medians: microseconds per solve
on the sample face (12k vertices) with weights and positions as numpy arrays. With --calls, calls of
the C function and of the module alternate in one process: for machines with other work.
"""
import os
import statistics
import subprocess
import sys
import time

import numpy as np

FRAMES = 200


def loop(model):
    """The median of one round in this process."""
    import sinew
    rig = sinew.sample("face")
    session = sinew.Session(rig=rig, model=model)
    session.prepare()
    out = np.empty((rig.vertex_count, 3), np.float32)
    weights, jaw = rig.weights(), rig.index("jawOpen")
    taken = []
    for k in range(-10, FRAMES):
        start = time.perf_counter()
        weights[jaw] = (k + 10) % 100 / 99
        session.solve(weights, out=out)
        if k >= 0:
            taken.append(1e6 * (time.perf_counter() - start))
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
    if len(sys.argv) == 3 and sys.argv[1] == "--round":
        print(f"{loop(sys.argv[2]):.1f}")
        return
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    environment = {**os.environ, "SINEW_LIBRARY": os.path.join(build, "libsinew.so")}
    for model in ("rotation", "spring"):
        found = {"C": [], "Python": []}
        for _ in range(rounds):
            for language, command in (
                    ("C", [os.path.join(build, "bench", "slider-loop"), model, str(FRAMES)]),
                    ("Python", [sys.executable, os.path.abspath(__file__), "--round", model])):
                found[language].append(float(subprocess.run(
                    command, env=environment, capture_output=True, text=True, check=True).stdout))
        c, python = (statistics.median(found[language]) for language in ("C", "Python"))
        print(f"{model}: C {c:.0f} us, Python {python:.0f} us, {100 * (python / c - 1):+.1f}%")


main()

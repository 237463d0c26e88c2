#!/usr/bin/env python3
"""The figures of docs/force.md on flesh and obstacles, measured on the sample face: how far the cheek
lags behind the skull in a head shake, what a landing does, and a finger pressed into the cheek.

Leaves the frames' pictures beside the table: flesh-shake.png, flesh-landing.png and
flesh-finger.png."""
import json
import math
import os
import pathlib
import struct
import subprocess
import tempfile

COMMAND = os.environ["SINEW_COMMAND"]
RATE = 60
failed = []


def sinew(*words):
    subprocess.run([COMMAND, *map(str, words), "--quiet"], check=True)


def read_frames(path):
    data = pathlib.Path(path).read_bytes()
    points, count = struct.unpack_from("<i", data, 16)[0], struct.unpack_from("<i", data, 28)[0]
    values = struct.unpack_from(f"<{3 * points * count}f", data, 32)
    return [values[3 * points * f:3 * points * (f + 1)] for f in range(count)]


def write_curves(path, name, values):
    rows = [f"{f / RATE:.6f},{value:.9f},0" for f, value in enumerate(values)]
    pathlib.Path(path).write_text(f"time_s,{name},jawOpen\n" + "\n".join(rows) + "\n")


def need(claim, holds):
    if not holds:
        failed.append(claim)


def distance(a, b, v):
    return math.dist(a[3 * v:3 * v + 3], b[3 * v:3 * v + 3])


def solve(folder, name, values):
    """Frames without and with flesh."""
    write_curves(folder / "curves.csv", name, values)
    both = []
    for flesh in [], ["--flesh"]:
        out = folder / f"{name}{len(flesh)}.pc2"
        sinew("force", folder / "face", "--curves", folder / "curves.csv", "--fps", RATE, *flesh,
              "--out", out)
        both.append(read_frames(out))
    return both


def phase(series, frequency):
    """Amplitude and phase over whole periods."""
    mean = sum(series) / len(series)
    turn = 2 * math.pi * frequency / RATE
    c = sum((x - mean) * math.cos(turn * i) for i, x in enumerate(series)) * 2 / len(series)
    s = sum((x - mean) * math.sin(turn * i) for i, x in enumerate(series)) * 2 / len(series)
    return math.hypot(c, s), math.atan2(c, s)


def shake(folder):
    frequency, periods = 2.5, 5
    frames = round(RATE / frequency * periods)
    yaw = [0.35 * math.sin(2 * math.pi * frequency * f / RATE) for f in range(frames)]
    stiff, soft = solve(folder, "headYaw", yaw)
    later = range(round(2 * RATE / frequency), len(stiff) - len(stiff) % 24)  # swung in
    count = len(stiff[0]) // 3
    cheek = max(range(count), key=lambda v: max(distance(soft[f], stiff[f], v) for f in later[::4]))
    skull = max(range(count), key=lambda v: stiff[0][3 * v + 1])
    size, before = phase([stiff[f][3 * cheek] for f in later], frequency)
    moved, after = phase([soft[f][3 * cheek] for f in later], frequency)
    lag = 1000 * ((before - after + math.pi) % (2 * math.pi) - math.pi) / (2 * math.pi * frequency)
    most = 1000 * max(distance(soft[f], stiff[f], cheek) for f in later)
    still = 1000 * max(distance(soft[f], stiff[f], skull) for f in later)
    print(f"| head shake, ±20° at {frequency} Hz | cheek lags {lag:.0f} ms, amplitude "
          f"{moved / size:.2f} of the skull's | {most:.1f} mm | {still:.2f} mm |")
    need("the cheek lags behind a shake", lag > 0)
    need("the skull is rigid", still < 0.1 * most)
    worst = max(later, key=lambda f: distance(soft[f], stiff[f], cheek))
    sinew("render", folder / "headYaw1.pc2", "--mesh", folder / "face", "--against",
          folder / "headYaw0.pc2", "--frame", f"{worst - 6},{worst},{worst + 6}", "--azimuth", 0,
          "--heat-range", "0,0.004", "--heat-unit", "m", "--no-ground", "--size", "1200x460",
          "--out", "flesh-shake.png")


def crossing(series):
    """Seconds until the first passage through the middle between start and end, interpolated."""
    middle = (series[0] + series[-1]) / 2
    for f in range(1, len(series)):
        a, b = series[f - 1] - middle, series[f] - middle
        if a * b <= 0 and a != b:
            return (f - 1 + a / (a - b)) / RATE
    return math.nan


def turn(folder):
    begin, length, frames = 0.2, 0.12, round(1.5 * RATE)
    yaw = []
    for f in range(frames):
        t = min(max((f / RATE - begin) / length, 0), 1)
        yaw.append(0.35 * t * t * (3 - 2 * t))
    stiff, soft = solve(folder, "headYaw", yaw)
    count, moving = len(stiff[0]) // 3, range(len(stiff))
    cheek = max(range(count), key=lambda v: max(distance(soft[f], stiff[f], v) for f in moving[::3]))
    series = [[x[f][3 * cheek] for f in moving] for x in (stiff, soft)]
    lag = 1000 * (crossing(series[1]) - crossing(series[0]))
    most = 1000 * max(distance(soft[f], stiff[f], cheek) for f in moving)
    print(f"| head turn of 20° in {1000 * length:.0f} ms | cheek passes half-way {lag:.0f} ms after the "
          f"skull | {most:.1f} mm | |")
    need("the cheek lags behind a turn", lag > 3)


def jump(folder):
    height, gravity, begin = 0.3, 9.81, 0.3
    flight = 2 * math.sqrt(2 * height / gravity)
    heights = []
    for f in range(round(1.8 * RATE)):
        t = min(max(f / RATE - begin, 0), flight)
        heights.append(gravity / 2 * t * (flight - t))
    stiff, soft = solve(folder, "headY", heights)
    count, landing = len(stiff[0]) // 3, round((begin + flight) * RATE)
    after = range(landing, len(stiff))
    chin = max(range(count), key=lambda v: max(distance(soft[f], stiff[f], v) for f in after[::3]))
    down = [1000 * (soft[f][3 * chin + 1] - stiff[f][3 * chin + 1]) for f in range(len(stiff))]
    lowest = min(after, key=lambda f: down[f])
    settled = max((f for f in after if abs(down[f]) > 0.1 * abs(down[lowest])), default=landing)
    print(f"| landing after a jump of {100 * height:.0f} cm | lowest {1000 * (lowest - landing) / RATE:.0f}"
          f" ms after the landing, within a tenth after {(settled - landing) / RATE:.2f} s | "
          f"{-down[lowest]:.1f} mm | 0 |")
    highest = max(range(lowest, min(lowest + 12, len(stiff))), key=lambda f: down[f])
    sinew("render", folder / "headY1.pc2", "--mesh", folder / "face", "--against",
          folder / "headY0.pc2", "--frame", f"{landing - 2},{lowest},{highest}", "--azimuth", 45,
          "--heat-range", "0,0.014", "--heat-unit", "m", "--no-ground", "--size", "1200x460",
          "--out", "flesh-landing.png")
    need("flesh drops at the landing", down[lowest] < -1)
    need("flesh settles", settled < len(stiff) - 1)


def finger_mesh(tip, out, radius, length=0.06):
    """A capsule from its tip outwards: points and quads, counted from 0."""
    rings, sides, points, faces = 24, 32, [], []
    side = [out[1], -out[0], 0.0]
    size = math.hypot(*side)
    side = [x / size for x in side]
    other = [out[1] * side[2] - out[2] * side[1], out[2] * side[0] - out[0] * side[2],
             out[0] * side[1] - out[1] * side[0]]
    for i in range(rings + 1):
        a = math.pi * i / rings
        along = radius * -math.cos(a) + (length if 2 * i > rings else 0)
        for j in range(sides):
            b = 2 * math.pi * j / sides
            r = radius * math.sin(a)
            points.append([tip[k] + along * out[k] + r * (math.cos(b) * side[k] + math.sin(b) * other[k])
                           for k in range(3)])
    for i in range(rings):
        for j in range(sides):
            k = (j + 1) % sides
            faces.append([i * sides + j, i * sides + k, (i + 1) * sides + k, (i + 1) * sides + j])
    return points, faces


def write_shape(path, neutral, positions, extra=None):
    """The rig's faces at other positions, and a finger."""
    count = len(positions) // 3
    lines = ["v " + " ".join(f"{x:.6f}" for x in positions[3 * v:3 * v + 3]) for v in range(count)]
    lines += [line for line in neutral.read_text().splitlines() if not line.startswith("v ")]
    if extra:
        points, faces = extra
        lines += ["g finger"] + ["v " + " ".join(f"{x:.6f}" for x in p) for p in points]
        lines += ["f " + " ".join(str(count + v + 1) for v in f) for f in faces]
    path.write_text("\n".join(lines) + "\n")


def finger(folder):
    """Presses 8 mm into the left cheek, then drags 10 mm down."""
    rest = [tuple(map(float, line.split()[1:4])) for line in
            (folder / "face" / "neutral.obj").read_text().splitlines() if line.startswith("v ")]
    cheek = min(range(len(rest)), key=lambda v: math.dist(rest[v], (0.042, -0.02, 0.085)))
    radius, depth, drag = 0.009, 0.008, 0.010
    out = [0.55, 0.05, 0.83]
    size = math.hypot(*out)
    out = [x / size for x in out]
    neutral = folder / "face" / "neutral.obj"
    start = [rest[cheek][a] + out[a] * (radius + 0.004) for a in range(3)]
    inwards = [-out[a] * (depth + 0.004) for a in range(3)]
    dragged = [inwards[0], inwards[1] - drag, inwards[2]]
    write_curves(folder / "still.csv", "jawLeft", [0] * round(1.6 * RATE))
    shapes = []
    for friction in 0, 0.8:
        scene = {"sinew": 1, "model": "force", "rig": {"files": ["face"]},
                 "curves": {"file": "still.csv"}, "time": {"fps": RATE},
                 "parameters": {"friction": friction},
                 "obstacles": [{"shape": "capsule", "from": start, "radius": radius,
                                "to": [start[k] + 0.06 * out[k] for k in range(3)], "motion": [
                     {"time": 0.1}, {"time": 0.6, "move": inwards}, {"time": 0.8, "move": inwards},
                     {"time": 1.4, "move": dragged}]}],
                 "outputs": {"frames": [f"finger{friction}.pc2"]}}
        (folder / "scene.json").write_text(json.dumps(scene))
        sinew("run", folder / "scene.json")
        frames = read_frames(folder / f"finger{friction}.pc2")
        deepest, end = 0, frames[-1]
        for f, x in enumerate(frames):
            t = f / RATE
            a, b = min(max((t - 0.1) / 0.5, 0), 1), min(max((t - 0.8) / 0.6, 0), 1)
            center = [start[k] + a * inwards[k] + b * (dragged[k] - inwards[k]) for k in range(3)]
            nearest = min(math.dist(x[i:i + 3], center) for i in range(0, len(x), 3)
                          if abs(x[i] - center[0]) < 0.02 and abs(x[i + 1] - center[1]) < 0.02)
            deepest = max(deepest, 1000 * (radius - nearest))
        pressed = frames[round(0.75 * RATE)]
        dent = 1000 * max(math.dist(pressed[3 * v:3 * v + 3], rest[v]) for v in range(len(rest)))
        under = min(range(len(rest)), key=lambda v: math.dist(
            pressed[3 * v:3 * v + 3], [start[k] + inwards[k] - radius * out[k] for k in range(3)]))
        along = 1000 * (pressed[3 * under + 1] - end[3 * under + 1])
        shapes.append(along)
        print(f"| finger {1000 * depth:.0f} mm into the cheek, dragged {1000 * drag:.0f} mm down, "
              f"friction {friction} | skin under it is dragged {along:.1f} mm | {dent:.1f} mm | "
              f"penetration {max(deepest, 0):.3f} mm |")
        need("nothing is inside the finger", deepest < 0.01)
        need("the finger dents the cheek", dent > 2)
        if friction == 0:
            tip = [start[k] + inwards[k] for k in range(3)]
            write_shape(folder / "pressed.obj", neutral, pressed, finger_mesh(tip, out, radius))
            write_shape(folder / "dent.obj", neutral, pressed)
        write_shape(folder / f"end{friction}.obj", neutral, end)
    need("friction drags the skin", shapes[1] > shapes[0] + 1)
    sinew("render", *(folder / f"{name}.obj" for name in ("pressed", "dent", "end0", "end0.8")),
          "--azimuth", 65, "--look-at", "0.03,-0.03,0.07,0.06", "--label", "pressed", "--label",
          "the dent", "--label", "dragged, without friction", "--label", "dragged, friction 0.8",
          "--columns", 4, "--no-ground", "--size", "1600x460", "--out", "flesh-finger.png")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    sinew("sample", "face", "--out", folder / "face")
    print("| motion | timing | largest displacement of flesh | of the skull; penetration |\n"
          "|---|---|---|---|")
    turn(folder)
    shake(folder)
    jump(folder)
    finger(folder)
for claim in failed:
    print(f"FAILED: {claim}")
raise SystemExit(1 if failed else 0)

#!/usr/bin/env python3
"""Captured faces. Spacetime faces (dense scans of three expressions) through a rig transferred from
ICT; optical marker takes of animface on the ICT face, whole. Claims: with the marker layer the dense
error of blendforces (free commands) is at most 0.75 of bare SBS; on the takes nothing blows up, the layer meets the
markers at least twice as well as the bare command, and results jitter no more than their markers.
CAPTURE_SETS=scans or takes runs one of the two."""
import array
import csv
import json
import math
import os
import pathlib
import subprocess
import sys

SINEW = os.environ["SINEW_COMMAND"]
DATA = pathlib.Path(os.environ["SINEW_DATA"])
ICT = DATA / "free/ict-facekit"
SCANS = DATA / "research/spacetime-faces"
TAKES = DATA / "free/animface-markers"
SETS = os.environ.get("CAPTURE_SETS", "scans takes").split()
FACE_VERTICES, FACE_FACES = 9409, 9230  # of ICT: without eyes, teeth and mouth socket

# Places of the 68-point scheme found by eye on the neutral scan: point, vertex.
SCAN_POINTS = {8: 6779, 17: 5509, 19: 4884, 21: 6612, 22: 4414, 24: 4762, 26: 4139, 27: 2567,
               29: 4590, 30: 2887, 31: 3991, 33: 3488, 35: 6475, 36: 5180, 37: 6884, 39: 6283,
               41: 446, 42: 4010, 44: 3697, 45: 1298, 46: 5605, 48: 2799, 51: 4672, 54: 358,
               57: 1194, 62: 4904, 66: 5331}
# Vertices of the border above the nose, along the hairline, hardly move against the skull.
SCAN_STABLE = 8
# Markers of the takes that sit on points of the scheme.
TAKE_POINTS = {"Leyebrow_M": 24, "Leyebrow_Inside": 22, "Leyebrow_Outside": 26, "Reyebrow_M": 19,
               "Reyebrow_Inside": 21, "Reyebrow_Outside": 17, "NoseTop": 27, "NoseHead": 30,
               "NoseHead_L": 35, "NoseHead_R": 31, "Leye_Inside": 42, "Leye_Outside": 45,
               "Reye_Inside": 39, "Reye_Outside": 36, "Mouth_Up": 51, "Mouth_Down": 57,
               "Mouth_UpL1": 53, "Mouth_UpR1": 49, "Mouth_Lend": 54, "Mouth_Rend": 48,
               "Mouth_DownL": 55, "Mouth_DownR": 59}
TAKE_STABLE = "ForeHead_M,ForeHead_L,ForeHead_R,NoseTop"
METHODS = [("SBS", ["fit", "--method", "sbs", "--bounds", "none"]), ("RSBS", ["fit", "--method", "rsbs", "--bounds", "none"]),
           ("ULS", ["fit", "--method", "uls", "--bounds", "none"]), ("free BF", ["force", "--lower", "-1e6", "--upper", "1e6"]),
           ("BF", ["force"])]


def sinew(*words):
    result = subprocess.run([SINEW, *map(str, words), "--quiet"], capture_output=True, text=True)
    if result.returncode not in (0, 1):
        sys.exit(f"sinew {' '.join(map(str, words))}: {result.stderr}")
    return result.returncode


def frames_of(path):
    """Positions of a PC2 cache, an array of floats per frame."""
    data = pathlib.Path(path).read_bytes()
    vertices = int.from_bytes(data[16:20], "little")
    values = array.array("f", data[32:])
    return [values[k:k + 3 * vertices] for k in range(0, len(values), 3 * vertices)]


def write_csv(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)


def at(frame, v):
    return tuple(frame[3 * v:3 * v + 3])


def rms(values):
    values = list(values)
    return math.sqrt(sum(v * v for v in values) / len(values))


# ---- the ICT face ----

def make_face():
    """The face part of ICT and its expressions as a rig folder; returns positions and landmarks."""
    points, faces = [], []
    for line in open(ICT / "generic_neutral_mesh.obj"):
        if line.startswith("v ") and len(points) < FACE_VERTICES:
            points.append(tuple(map(float, line.split()[1:4])))
        elif line.startswith("f ") and len(faces) < FACE_FACES:
            faces.append([word.split("/")[0] for word in line.split()[1:]])
    folder = pathlib.Path("ict-face")
    (folder / "targets").mkdir(parents=True, exist_ok=True)
    with open(folder / "neutral.obj", "w") as file:
        file.writelines(f"v {x} {y} {z}\n" for x, y, z in points)
        file.writelines(f"f {' '.join(face)}\n" for face in faces)
    for path in sorted((ICT / "targets").glob("*.target")):
        lines = [line for line in open(path) if line.strip() and not line.startswith("#")
                 and int(line.split()[0]) < FACE_VERTICES]
        most = max((abs(float(x)) for line in lines for x in line.split()[1:4]), default=0)
        if not path.name.startswith("identity") and most >= 0.02:
            (folder / "targets" / path.name).write_text("".join(lines))
    landmarks = json.loads((ICT / "vertex_indices.json").read_text())["idx_to_landmark_verts"]
    return points, landmarks


# ---- scans ----

def read_ply(path):
    """Positions and triangles."""
    lines = open(path).read().split("\n")
    counts = [int(line.split()[2]) for line in lines if line.startswith("element")]
    first = lines.index("end_header") + 1
    last = first + counts[0]
    return ([tuple(map(float, line.split()[:3])) for line in lines[first:last]],
            [tuple(map(int, line.split()[1:4])) for line in lines[last:last + counts[1]]])


def hairline(points, triangles):
    """Vertices of the border that lie above the nose's tip; the scans have their top at -x."""
    edges = {}
    for triangle in triangles:
        for a, b in zip(triangle, triangle[1:] + triangle[:1]):
            edges[min(a, b), max(a, b)] = edges.get((min(a, b), max(a, b)), 0) + 1
    border = sorted({v for edge, count in edges.items() if count == 1 for v in edge})
    return [v for v in border if points[v][0] < points[SCAN_POINTS[30]][0] - 15]


def spread(points, count, start):
    """Vertices far from each other, from `start` on."""
    chosen = list(start)
    far = [min(math.dist(p, points[v]) for v in chosen) for p in points]
    while len(chosen) < count:
        v = max(range(len(points)), key=far.__getitem__)
        chosen.append(v)
        far = [min(f, math.dist(p, points[v])) for f, p in zip(far, points)]
    return chosen


def run_scans(landmarks):
    """Returns the number of broken claims."""
    neutral, triangles = read_ply(SCANS / "neutral.ply")
    border = hairline(neutral, triangles)
    stable = [border[i] for i in spread([neutral[v] for v in border], SCAN_STABLE, [0])]
    write_csv("pairs.csv", [("source", "target")] + [(landmarks[k], v) for k, v in
                                                     SCAN_POINTS.items()])
    sinew("transfer", "ict-face", "--to", SCANS / "neutral.ply", "--pairs", "pairs.csv", "--out",
          "scan-rig", "--report", "transfer.json")
    totals = json.loads(pathlib.Path("transfer.json").read_text())["totals"]
    print(f"## Spacetime faces\nThe ICT rig transferred by {len(SCAN_POINTS)} pairs (surfaces "
          f"{100 * totals['match_mean']:.2f}% of the diagonal apart on average). A clip leads from "
          "the neutral to the scanned expression in half a second and holds it for another; the "
          f"head is taken out by {SCAN_STABLE} markers along the hairline. Mean distance of all "
          "vertices of the last frame to the scan, mm, and its ratio to SBS.\n")
    print("| expression | markers | neutral | " +
          " | ".join(f"{name} | + layer" for name, _ in METHODS) + " |")
    print("|---" * (3 + 2 * len(METHODS)) + "|")
    ratios = {}
    for count in (40, 100):
        vertices = spread(neutral, count, stable)
        names = [f"s{i}" if i < len(stable) else f"m{i}" for i in range(count)]
        write_csv("scan-map.csv", zip(names, vertices))
        for pose in ("smile", "disgust", "surprise"):
            scan, _ = read_ply(SCANS / f"{pose}.ply")
            rows = [["time_s"] + [f"{n}.{a}" for n in names for a in "xyz"]]
            for f in range(31):
                t = 0.5 - 0.5 * math.cos(math.pi * min(f / 15, 1))
                rows.append([f / 30] + [a + t * (b - a) for v in vertices
                                        for a, b in zip(neutral[v], scan[v])])
            write_csv("scan-markers.csv", rows)
            cells, first = [], None
            for name, words in METHODS:
                for layer in ([], ["--layer"]):
                    sinew(*words, "scan-rig", "--markers", "scan-markers.csv", "--map",
                          "scan-map.csv", "--stable", ",".join(names[:len(stable)]), *layer,
                          "--frames", "0-30", "--out", "scan.pc2")
                    last = frames_of("scan.pc2")[-1]
                    off = sum(math.dist(at(last, v), scan[v])
                              for v in range(len(scan))) / len(scan)
                    first = first or off
                    ratios.setdefault((name, bool(layer), count), []).append(off / first)
                    cells.append(f"{off:.2f} ({off / first:.2f})")
            still = sum(math.dist(a, b) for a, b in zip(neutral, scan)) / len(scan)
            print(f"| {pose} | {count} | {still:.2f} | " + " | ".join(cells) + " |", flush=True)
    mean = {key: sum(values) / len(values) for key, values in ratios.items()}
    broken = mean["BF", True, 100] > 0.75
    print("\n100 markers, mean ratio to SBS, bare and with the layer: " + ", ".join(
        f"{name} {mean[name, False, 100]:.2f} and {mean[name, True, 100]:.2f}"
        for name, _ in METHODS[1:]) + ".\n", flush=True)
    return broken


# ---- takes ----

def similarity(a, b):
    """Horn's scale, quaternion and shift from points a to points b."""
    n = len(a)
    ca, cb = ([sum(p[k] for p in q) / n for k in range(3)] for q in (a, b))
    s = [[sum((p[i] - ca[i]) * (q[j] - cb[j]) for p, q in zip(a, b)) for j in range(3)]
         for i in range(3)]
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = s
    m = [[xx + yy + zz, yz - zy, zx - xz, xy - yx], [yz - zy, xx - yy - zz, xy + yx, zx + xz],
         [zx - xz, xy + yx, yy - xx - zz, yz + zy], [xy - yx, zx + xz, yz + zy, zz - xx - yy]]
    shift = sum(abs(v) for row in m for v in row)
    q = [1.0, 0.1, 0.2, 0.3]
    for _ in range(5000):
        q = [sum(m[i][j] * q[j] for j in range(4)) + shift * q[i] for i in range(4)]
        length = math.hypot(*q)
        q = [v / length for v in q]
    w, x, y, z = q
    turn = [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]
    size = rms(math.dist(p, cb) for p in b) / rms(math.dist(p, ca) for p in a)
    return lambda p: tuple(cb[i] + size * sum(turn[i][j] * (p[j] - ca[j]) for j in range(3))
                           for i in range(3))


def head_frame(frame, corners):
    """Coordinates relative to three vertices that move with the head only."""
    o, p, q = (at(frame, v) for v in corners)
    x = [b - a for a, b in zip(o, p)]
    length = math.hypot(*x)
    x = [v / length for v in x]
    y = [b - a for a, b in zip(o, q)]
    along = sum(a * b for a, b in zip(x, y))
    y = [b - along * a for a, b in zip(x, y)]
    length = math.hypot(*y)
    y = [v / length for v in y]
    z = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    return lambda p: tuple(sum(a * (b - c) for a, b, c in zip(axis, p, o)) for axis in (x, y, z))


def jitter(paths):
    """RMS second difference over places and time."""
    return rms(math.dist([a - 2 * b + c for a, b, c in zip(p, q, r)], (0, 0, 0))
               for path in paths for p, q, r in zip(path, path[1:], path[2:]))


def run_takes(face, landmarks):
    broken = 0
    # corners of the neck's border, which no expression moves
    corners = [min(range(len(face)), key=lambda v: face[v][1] + 0.5 * d * face[v][0])
               for d in (-1, 1)] + [max(range(len(face)), key=lambda v: -face[v][2])]
    print("## Optical marker takes on the ICT face\nWhole takes at their 60 Hz, 41 markers, head "
          "motion out and back by four of them, motions carried to the ICT face (`--retarget`). "
          "Error at the markers in mm, RMS per frame: mean and worst frame. Jitter: RMS second "
          "difference in time relative to the head, mm, of the places of the markers on the result "
          "and, in brackets, of 470 vertices all over it. Farthest: largest way of any vertex from "
          "its rest over that of any marker.\n")
    print("| take | frames | solve | error mean | worst | jitter | of the markers | farthest | "
          "outliers |")
    print("|---|---|---|---|---|---|---|---|---|")
    for take in ("Jaw", "Eyebrows"):
        rows = list(csv.reader(open(TAKES / f"{take}.csv")))
        names = [cell[:-2] for cell in rows[0][1::3]]
        places = [[tuple(map(float, row[1 + 3 * i:4 + 3 * i])) for row in rows[1:]]
                  for i in range(len(names))]
        known = [(i, landmarks[TAKE_POINTS[n]]) for i, n in enumerate(names) if n in TAKE_POINTS]
        carry = similarity([places[i][0] for i, _ in known], [face[v] for _, v in known])
        ties = dict(known)
        for i in range(len(names)):
            if i not in ties:
                there = carry(places[i][0])
                ties[i] = min(range(len(face)), key=lambda v: math.dist(face[v], there))
        write_csv("take-map.csv", [(names[i], v) for i, v in sorted(ties.items())])
        for name, words in METHODS[1:2] + METHODS[3:]:
            for layer in ([], ["--layer", "--layer-smoothing", "1e-6"]):
                code = sinew(*words, "ict-face", "--markers", TAKES / f"{take}.csv", "--map",
                             "take-map.csv", "--stable", TAKE_STABLE, "--retarget", "--fps", 60,
                             *layer, "--out", "take.pc2", "--report", "take.json")
                report = json.loads(pathlib.Path("take.json").read_text())
                frames = frames_of("take.pc2")
                still = head_frame(array.array("d", [x for p in face for x in p]), corners)
                heads = [head_frame(frame, corners) for frame in frames]
                sample = range(0, len(face), 20)
                everywhere = [[head(at(f, v)) for head, f in zip(heads, frames)] for v in sample]
                marked = [[head(at(f, v)) for head, f in zip(heads, frames)] for v in ties.values()]
                seen = [[head(p) for head, p in zip(heads, path)] for path in places]
                way = max(math.dist(p, still(face[v])) for v, path in zip(sample, everywhere)
                          for p in path)
                led = max(math.dist(p, path[0]) for path in seen for p in path)
                totals = report["totals"]
                outliers = sum(frame["outliers"] for frame in report["frames"])
                mean, worst = (10 * totals[f"marker_error_{k}"] for k in ("mean", "worst"))
                shake, given = 10 * jitter(marked), 10 * jitter(seen)
                broken += code != 0 or way > 1.5 * led or not math.isfinite(way)
                broken += name.endswith("BF") and shake > 1.05 * given
                bare = mean if not layer else bare
                broken += mean > 0.5 * bare and bool(layer)
                print(f"| {take} | {len(frames)} | {name}{' + layer' if layer else ''} | "
                      f"{mean:.2f} | {worst:.2f} | {shake:.3f} ({10 * jitter(everywhere):.3f}) | "
                      f"{given:.3f} | {way / led:.2f} | {outliers} |", flush=True)
    return broken


if not ICT.is_dir():
    print("no free/ict-facekit in the data", file=sys.stderr)
    sys.exit(77)
print("# Captured faces\n")
ict_points, ict_landmarks = make_face()
failed = 0
if "scans" in SETS and SCANS.is_dir():
    failed += run_scans(ict_landmarks)
if "takes" in SETS and TAKES.is_dir():
    failed += run_takes(ict_points, ict_landmarks)
sys.exit(failed != 0)

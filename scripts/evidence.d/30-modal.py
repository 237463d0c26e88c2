#!/usr/bin/env python3
"""Modal motion between real poses. Claims: keys met to 1e-6 of the diagonal on all; never more flipped
tets than the worse of the key poses; tets that only frames flip are listed. Words choose rows by
their names: 30-modal.py cat horse."""
import json
import math
import os
import pathlib
import struct
import subprocess
import sys

SINEW = os.environ["SINEW_COMMAND"]
DATA = pathlib.Path(os.environ["SINEW_DATA"])
ICT = "free/ict-facekit/generic_neutral_mesh.obj"
SHELL = ["--body", "shell"]
# Name, first pose, second pose (or what makes it from the first), further options.
SETS = [
    ("hand open to fist", "free/aframe-hand/open.obj", "free/aframe-hand/fist.obj", []),
    ("hand rest to grip", "free/aframe-hand/rest.obj", "free/aframe-hand/grip.obj", []),
    ("hand point to thumb up", "free/aframe-hand/point.obj", "free/aframe-hand/thumb_up.obj", []),
    ("hand tets, fingers spread", "research/libigl-tets/hand.mesh", "skeleton", []),
    ("armadillo tets, twisted 120°", "research/bartels-arma/arma_2.node", "twist", []),
    ("cactus", "research/goast-cactus/cactus0.ply", "research/goast-cactus/cactus16.ply", []),
    ("cow", "free/his-cow/rest.obj", "free/his-cow/cow-1.obj", []),
    ("body arms up", "free/makehuman/body_poses/rest.obj",
     "free/makehuman/body_poses/armsup.obj", []),
    ("cat", "research/sumner-cat/reference.obj", "research/sumner-cat/0001.obj", []),
    ("horse", "research/sumner-horse/reference.obj", "research/sumner-horse/10.obj", []),
    ("captured face, surprise", "research/spacetime-faces/neutral.ply",
     "research/spacetime-faces/surprise.ply", SHELL),
    ("captured face, disgust", "research/spacetime-faces/neutral.ply",
     "research/spacetime-faces/disgust.ply", SHELL),
    ("scanned face, laugh", "research/sumner-face/reference.obj",
     "research/sumner-face/5.verts.obj", []),
    ("modelled head, jaw open", ICT, "free/ict-facekit/targets/jawOpen.target", SHELL),
]


def sinew(*words):
    subprocess.run([SINEW, *map(str, words), "--quiet"], check=True)


def frames_of(path):
    """Frames of a PC2 as lists of floats."""
    raw = pathlib.Path(path).read_bytes()
    vertices, = struct.unpack_from("<i", raw, 16)
    count, = struct.unpack_from("<i", raw, 28)
    size = 3 * vertices
    return [struct.unpack_from(f"<{size}f", raw, 32 + 4 * size * k) for k in range(count)]


def diagonal(frame):
    return math.dist([min(frame[a::3]) for a in range(3)], [max(frame[a::3]) for a in range(3)])


def worst(a, b):
    return max(math.dist(a[i:i + 3], b[i:i + 3]) for i in range(0, len(a), 3))


# ---- poses for bodies of tets that come without one ----

def medit(path):
    """Lines of a MEDIT file, and the number of the line with its first vertex and their count."""
    lines = pathlib.Path(path).read_text().split("\n")
    at = next(i for i, line in enumerate(lines) if line.strip() == "Vertices")
    return lines, at + 2, int(lines[at + 1])


def write_pose(lines, first, points, path):
    moved = [" ".join(map(repr, p)) + " 0" for p in points]
    pathlib.Path(path).write_text("\n".join(lines[:first] + moved + lines[first + len(points):]))


def turned(q, p):
    """p rotated by the unit quaternion x y z w."""
    x, y, z, w = q
    t = (2 * (y * p[2] - z * p[1]), 2 * (z * p[0] - x * p[2]), 2 * (x * p[1] - y * p[0]))
    return (p[0] + w * t[0] + y * t[2] - z * t[1], p[1] + w * t[1] + z * t[0] - x * t[2],
            p[2] + w * t[2] + x * t[1] - y * t[0])


def times(a, b):
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw, aw * bw - ax * bx - ay * by - az * bz)


def skeleton_pose(tets, out):
    """The pose of the skeleton beside the file: bones turn about their first joint, vertices follow
    the bones near them (weights: distance to the power of -8)."""
    folder = pathlib.Path(tets).parent
    joints, bones = {}, []
    for line in (folder / "hand.tgf").read_text().splitlines():
        words = line.split()
        if len(words) > 3:
            joints[int(words[0])] = tuple(map(float, words[1:4]))
        elif len(words) >= 2:
            bones.append((int(words[0]), int(words[1])))
    raw = list(map(float, (folder / "hand-pose.dmat").read_text().split()[2:]))
    local = [tuple(raw[4 * k:4 * k + 4]) for k in range(len(bones))]
    placed = {}

    def place(bone):
        if bone not in placed:
            parents = [k for k, b in enumerate(bones) if b[1] == bones[bone][0]]
            q, t = place(parents[0]) if parents else ((0, 0, 0, 1), (0, 0, 0))
            own, r = times(q, local[bone]), joints[bones[bone][0]]
            before, after = turned(q, r), turned(own, r)
            placed[bone] = own, tuple(t[a] + before[a] - after[a] for a in range(3))
        return placed[bone]

    lines, first, count = medit(tets)
    points = []
    for line in lines[first:first + count]:
        p = tuple(map(float, line.split()[:3]))
        total, sum_of = 0, [0, 0, 0]
        for k, (a, b) in enumerate(bones):
            a, b = joints[a], joints[b]
            edge = [b[i] - a[i] for i in range(3)]
            s = sum((p[i] - a[i]) * edge[i] for i in range(3)) / sum(e * e for e in edge)
            s = min(max(s, 0), 1)
            near = math.dist(p, [a[i] + s * edge[i] for i in range(3)])
            weight = (near + 1e-3) ** -8
            q, t = place(k)
            at = turned(q, p)
            total += weight
            for i in range(3):
                sum_of[i] += weight * (at[i] + t[i])
        points.append([c / total for c in sum_of])
    write_pose(lines, first, points, out)


def twisted_pose(tets, out, degrees=120):
    """Turned about the vertical through its middle, evenly from bottom to top."""
    lines, first, count = medit(tets)
    points = [list(map(float, line.split()[:3])) for line in lines[first:first + count]]
    low, high = [min(p[a] for p in points) for a in range(3)], [max(p[a] for p in points)
                                                               for a in range(3)]
    x, z = (low[0] + high[0]) / 2, (low[2] + high[2]) / 2
    for p in points:
        angle = math.radians(degrees) * (p[1] - low[1]) / (high[1] - low[1])
        c, s, dx, dz = math.cos(angle), math.sin(angle), p[0] - x, p[2] - z
        p[0], p[2] = x + c * dx + s * dz, z - s * dx + c * dz
    write_pose(lines, first, points, out)


def poses(first, second):
    """Files of both poses; None when the data is not there."""
    if not (DATA / first).exists():
        return None
    if second in ("skeleton", "twist"):
        sinew("convert", DATA / first, "rest.mesh")
        if second == "twist":
            twisted_pose("rest.mesh", "pose.mesh")
            return "rest.mesh", "pose.mesh"
        skeleton_pose(DATA / first, "pose.mesh")
        return DATA / first, "pose.mesh"
    if not (DATA / second).exists():
        return None
    if second.endswith(".target"):
        name = pathlib.Path(second).stem
        sinew("blend", DATA / first, DATA / second, "--weights", f"{name}=1", "--out", "pose.obj")
        return DATA / first, "pose.obj"
    return DATA / first, DATA / second


print("# Modal motion between real poses\nBody and elements, modes' time, share of the second pose "
      "that 80 modes express, miss at the keys (share of the diagonal, in single precision), mean "
      "edge distortion half-way on the straight path against linear (percent), flipped tets: in the "
      "second key, most in any frame, and those that only frames flip.\n")
print("| poses | body | elements | modes s | captured | key miss | modal | linear | in key | in frames "
      "| new |")
print("|---|---|---|---|---|---|---|---|---|---|---|")
found = broken = 0
for name, first, second, options in SETS:
    if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
        continue
    pair = poses(first, second)
    if not pair:
        continue
    found += 1
    first, second = pair
    sinew("modal", first, second, "--fps", 12, "--out", "modal.pc2", "--report", "modal.json",
          *options)
    report = json.loads(pathlib.Path("modal.json").read_text())
    sinew("modal", first, second, "--fps", 4, "--amplitude", 0, "--out", "straight.pc2", *options)
    sinew("blend", first, second, "--model", "linear", "--steps", 4, "--out", "linear.pc2")
    distortion = {}
    for path in ("straight", "linear"):
        sinew("measure", first, second, "--frames", f"{path}.pc2", "--report", f"{path}.json")
        frames = json.loads(pathlib.Path(f"{path}.json").read_text())["frames"]
        distortion[path] = 100 * frames[2]["edge"]["mean"]
    moving, plain = frames_of("modal.pc2"), frames_of("linear.pc2")
    size = diagonal(plain[0])
    miss = max(worst(moving[0], plain[0]), worst(moving[-1], plain[-1])) / size
    in_key = report["keys"][-1]["inverted"]
    in_frames = max(frame["inverted"] for frame in report["frames"])
    new = report["new_inverted"]
    bad = miss > 1e-6 or in_frames > in_key
    broken += bad
    body = report["body"]
    print(f"| {name} | {body['kind']} | {body['elements']} | {body['mode_seconds']:.1f} | "
          f"{100 * report['keys'][-1]['captured']:.1f}% | {miss:.1e} | "
          f"{distortion['straight']:.2f} | {distortion['linear']:.2f} | {in_key} | {in_frames}"
          f"{' over' if bad else ''} | {new['count']}"
          f"{': ' + ', '.join(map(str, new['tets'][:12])) if new['count'] else ''} |", flush=True)
if not found:
    print("no pose sets", file=sys.stderr)
    sys.exit(77)
print(f"\n{found} pairs, {broken} with a key that is missed or more flipped tets than in the key.")
sys.exit(broken != 0)

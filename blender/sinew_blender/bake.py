# SPDX-License-Identifier: GPL-3.0-or-later
"""Baking a range of frames: what drives them, the solves, and where the result goes."""
import bpy
import numpy as np

from . import shapes

CACHE, KEYS = "CACHE", "KEYS"


def rate_of(scene):
    return scene.render.fps / scene.render.fps_base


def sample_weights(context, keys, frames):
    """Key values in each frame, as animation and drivers make them."""
    scene, present = context.scene, context.scene.frame_current
    rows = []
    try:
        for frame in frames:
            scene.frame_set(frame)
            rows.append(shapes.weights_of(keys))
    finally:
        scene.frame_set(present)
    return np.array(rows)


def key_frames(keys, frames):
    """Frames in which the artist set keyframes, with the ends of the range."""
    found = {frames[0], frames[-1]}
    paths = {block.path_from_id("value") for block in shapes.artist_keys(keys)}
    action = keys.animation_data.action if keys.animation_data else None
    for curve in action.fcurves if action else ():
        if curve.data_path in paths:
            found.update(int(round(point.co.x)) for point in curve.keyframe_points)
    return sorted(f for f in found if frames[0] <= f <= frames[-1])


def drive_of(obj, keys, frames, weights, rate):
    """Keys of a scene that drive the models which look at a whole clip."""
    names = [block.name for block in shapes.artist_keys(keys)]
    time = {"fps": rate, "from": 0, "to": (len(frames) - 1) / rate}
    if obj.sinew.model == "modal":
        poses = [{"time": (f - frames[0]) / rate,
                  "weights": dict(zip(names, map(float, weights[f - frames[0]])))}
                 for f in key_frames(keys, frames)]
        if len(poses) < 2:
            raise shapes.Problem("swinging needs two frames or more between which keys change")
        return {"keys": poses, "time": time}
    times = [k / rate for k in range(len(frames))]
    values = {name: [float(w) for w in weights[:, i]] for i, name in enumerate(names)}
    return {"curves": {"times": times, "values": values}, "time": time}


class Bake:
    """Solves the frames of a range one by one."""

    def __init__(self, context, obj):
        self.context, self.obj = context, obj
        self.keys = shapes.check(obj)
        scene = context.scene
        self.frames = list(range(scene.frame_start, scene.frame_end + 1))
        if not self.frames:
            raise shapes.Problem("the frame range of the scene is empty")
        self.rate = rate_of(scene)
        self.weights = sample_weights(context, self.keys, self.frames)
        self.whole = obj.sinew.model in shapes.WHOLE_CLIP
        drive = drive_of(obj, self.keys, self.frames, self.weights, self.rate) if self.whole else {}
        self.session, self.folder = shapes.make_session(obj, drive)
        self.rows = []
        self.unsettled = 0

    def __len__(self):
        return len(self.frames)

    def step(self):
        """Solves the next frame."""
        k = len(self.rows)
        if self.whole:
            result = self.session.solve(frame=k)
        else:
            shapes.move_obstacles(self.context, self.obj, self.session, self.folder, self.frames[k])
            result = self.session.solve(self.weights[k])
        self.unsettled += not result.converged
        self.rows.append(result.positions)

    def finish(self, target, path):
        """Writes what was solved; returns a sentence about it."""
        if target == KEYS:
            self.write_keys()
            what = f"added {len(self.rows)} keys"
        else:
            self.write_cache(path)
            what = f"wrote {len(self.rows)} frames to {path}"
        return what + (f"; {self.unsettled} did not reach the tolerance" if self.unsettled else "")

    def write_cache(self, path):
        sinew = shapes.library()
        try:
            sinew.Frames.write(bpy.path.abspath(path), self.session.rig.neutral,
                               np.array(self.rows), rate=self.rate)
        except OSError as error:
            raise shapes.Problem(str(error)) from error

    def write_keys(self):
        """A key per frame that holds the difference to the linear blend, and is 1 there alone."""
        shapes.remove_results(self.obj, self.keys)
        count = len(self.obj.data.vertices)
        basis = shapes.coordinates(self.keys.reference_key, count)
        for frame, row, weights in zip(self.frames, self.rows, self.weights):
            block = self.obj.shape_key_add(name=f"{shapes.RESULT_KEY} {frame:04d}", from_mix=False)
            difference = row - shapes.linear_blend(self.obj, self.keys, weights)
            block.data.foreach_set("co", (basis + difference).astype(np.float32).ravel())
            for at, value in ((frame - 1, 0.0), (frame, 1.0), (frame + 1, 0.0)):
                block.value = value
                block.keyframe_insert("value", frame=at)
            path = block.path_from_id("value")
            curve = self.keys.animation_data.action.fcurves.find(path)
            for point in curve.keyframe_points:
                point.interpolation = "LINEAR"
        self.obj.data.update()

    def close(self):
        self.session.close()
        self.folder.cleanup()

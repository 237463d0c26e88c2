# SPDX-License-Identifier: GPL-3.0-or-later
"""Baking a range of frames: what drives them, the solves, and where the result goes.

Everything that needs Blender's data is sampled first, on the main thread and a little at a time;
the solves then run in a thread of their own, so that the interface stays responsive.
"""
import tempfile
import threading

import bpy
import numpy as np

from . import animation, markers, scene, shapes

CACHE, KEYS = "CACHE", "KEYS"


def filtered(settings, keys, rig, frames, weights, strengths, enabled):
    """Key values after the locks, (frames, keys). Strengths and switches: one row per frame."""
    locks, numbers = scene.locks_of(settings, keys)
    if not locks:
        return weights
    session = shapes.library().Session(
        {"locks": locks, "attenuation": {"trade": True, "strength": settings.lock_strength}},
        rig=rig, model="linear")
    try:
        has, rows = {}, []
        for k in range(len(frames)):
            has = scene.patch(session, has, scene.lock_values(numbers, strengths[k], enabled[k]))
            rows.append(session.weights(weights[k]))
        return np.array(rows)
    finally:
        session.close()


def lock_curves(obj, frames):
    """Strength and switches of the locks in each frame, by their F-curves."""
    settings = obj.sinew
    strengths = animation.value_at(obj, "sinew.lock_strength", 0, settings.lock_strength, frames)
    columns = [animation.value_at(obj, f"sinew.locks[{i}].enabled", 0, lock.enabled, frames)
               for i, lock in enumerate(settings.locks)]
    enabled = [[column[k] > 0.5 for column in columns] for k in range(len(frames))]
    return [max(0.0, s) for s in strengths], enabled


class Bake:
    """Solves the frames of the scene's range."""

    def __init__(self, context, obj):
        self.context, self.obj = context, obj
        self.block = shapes.check(obj)
        shapes.library()
        found = context.scene
        self.frames = list(range(found.frame_start, found.frame_end + 1))
        if not self.frames:
            raise shapes.Problem("The frame range of the scene is empty")
        self.rate = found.render.fps / found.render.fps_base
        self.settings = scene.frozen(obj)
        self.model = self.settings.model
        self.keys = shapes.Keys.of(obj, scene.groups_of(self.settings))
        self.weights = animation.sampled(obj, self.block, self.frames, context)
        self.poses = animation.key_frames(self.block, self.frames)
        self.locks = lock_curves(obj, self.frames)
        self.folder = tempfile.TemporaryDirectory(prefix="sinew-")
        self.obstacles = scene.Obstacles(self.folder.name)
        self.take = self.points = None
        self.head_motion = obj.sinew.head_motion
        if self.model == "fit":
            self.take = markers.take_of(context, obj, self.frames, self.rate)
            self.points = markers.map_points(obj)
            self.objects = obj.sinew.marker_objects is not None
        if self.model == "modal" and len(self.poses) < 2:
            raise shapes.Problem("Swing needs at least two frames between which keys change")
        self.moving = []  # per frame: what obstacles and pins do
        self.session = self.thread = self.failure = self.curves = None
        self.rows, self.unsettled, self.cancelled = [], 0, False

    def __len__(self):
        return len(self.frames)

    @property
    def needs_frames(self):
        settings = self.obj.sinew
        return self.model == "spring" and (settings.obstacles is not None
                                           or settings.pin_target is not None)

    def sample(self):
        """Samples the obstacles and pins of the next frame; true when all are sampled."""
        if not self.needs_frames:
            return True
        found = self.context.scene
        present, k = found.frame_current, len(self.moving)
        found.frame_set(self.frames[k])
        try:
            others = self.obj.sinew.obstacles
            entries = self.obstacles.entries(self.obj, others.objects) if others else []
            self.moving.append(scene.moving(self.obj, self.keys, [], entries, self.weights[k]))
        finally:
            found.frame_set(present)
        return len(self.moving) == len(self.frames)

    def drive(self, weights):
        """Keys of a scene that drive the models whose motion depends on a whole clip."""
        names, rate, frames = self.keys.names, self.rate, self.frames
        time = {"fps": rate, "from": 0, "to": (len(frames) - 1) / rate}
        if self.model == "modal":
            poses = [{"time": (f - frames[0]) / rate,
                      "weights": dict(zip(names, map(float, weights[f - frames[0]])))}
                     for f in self.poses]
            return {"keys": poses, "time": time}
        values = {name: [float(w) for w in weights[:, i]] for i, name in enumerate(names)}
        return {"curves": {"times": [k / rate for k in range(len(frames))], "values": values},
                "time": time}

    def prepare(self):
        rig = self.keys.rig()
        document = scene.document(self.settings, self.keys, self.folder.name, with_locks=False)
        weights = self.weights
        if self.model == "fit":
            taken = markers.Prepared(self.settings, self.keys, rig, self.take, self.points,
                                     self.objects, self.folder.name)
            self.frames = self.frames[:1 + int((taken.end - taken.start) * self.rate + 1e-6)]
            times = taken.start + np.arange(len(self.frames)) / self.rate
            document.update(taken.document(self.settings.unit))
            document["time"] = {"fps": self.rate, "from": times[0], "to": times[-1]}
            self.capture, self.times = taken.capture, times
            self.curves = shapes.library().Fit(rig, taken.capture.map).take(taken.capture, times)
        else:
            weights = filtered(self.settings, self.keys, rig, self.frames, weights, *self.locks)
        if self.model in shapes.WHOLE_CLIP:
            document.update(self.drive(weights))
        self.session = shapes.library().Session(document, rig=rig, model=self.model)
        self.session.prepare()
        return weights

    def solve(self):
        """Builds and solves everything; for any thread."""
        weights, has = self.prepare(), {}
        for k in range(len(self.frames)):
            if self.cancelled:
                return
            if self.moving:
                has = scene.patch(self.session, has, self.moving[k])
            by_frame = self.model in shapes.WHOLE_CLIP or self.model == "fit"
            result = self.session.solve(frame=k) if by_frame else self.session.solve(weights[k])
            if self.model == "fit" and not self.head_motion:
                rotation, shift = self.capture.head(self.times[k])
                result.positions[:] = (result.positions - shift) @ rotation
            self.unsettled += not result.converged
            self.rows.append(result.positions)

    def start(self):
        def work():
            try:
                self.solve()
            except Exception as error:  # noqa: B902: reported by the operator
                self.failure = error

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()

    def finish(self, target, path):
        """Writes what was solved; returns a sentence about it."""
        if target == KEYS:
            self.write_keys()
            what = f"Added {len(self.rows)} shape keys"
        else:
            self.write_cache(path)
            what = f"Wrote {len(self.rows)} frames to {path}"
        if self.curves is not None:
            action = animation.write_action(self.block, f"{self.obj.name} take", self.frames,
                                            self.curves.values)
            what += f"; key values are in the action '{action.name}'"
        return what + (f"; {self.unsettled} did not reach the tolerance" if self.unsettled else "")

    def write_cache(self, path):
        try:
            shapes.library().Frames.write(bpy.path.abspath(path), self.keys.mesh(), self.rows,
                                          start=self.frames[0] / self.rate, rate=self.rate)
        except OSError as error:
            raise shapes.Problem(str(error)) from error

    def write_keys(self):
        """A key per frame that holds the difference from the linear blend, and is 1 only there."""
        shapes.remove_results(self.obj, self.block)
        shown = self.weights if self.curves is None else self.curves.values
        for frame, row, weights in zip(self.frames, self.rows, shown):
            block = self.obj.shape_key_add(name=f"{shapes.RESULT_KEY} {frame:04d}", from_mix=False)
            block.data.foreach_set("co", self.keys.difference(row, weights).ravel())
            for at, value in ((frame - 1, 0.0), (frame, 1.0), (frame + 1, 0.0)):
                block.value = value
                block.keyframe_insert("value", frame=at)
            path = block.path_from_id("value")
            for curve in animation.curves_of(self.block):
                if curve.data_path == path:
                    for point in curve.keyframe_points:
                        point.interpolation = "LINEAR"
        self.obj.data.update()

    def close(self):
        self.cancelled = True
        if self.thread and self.thread.is_alive():
            if self.session:
                self.session.cancel()
            self.thread.join()
        if self.session:
            self.session.close()
        self.folder.cleanup()

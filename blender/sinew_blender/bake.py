# SPDX-License-Identifier: GPL-3.0-or-later
"""Baking: a range of frames to a cache or to keys, and correctives; locks on an animation."""
import string

import bpy
import numpy as np

from . import animation, markers, scene, shapes
from .job import Job

CACHE, KEYS = "CACHE", "KEYS"
LONGEST_EXPRESSION = 255  # that a driver has room for


def filtered(job, rig, frames, weights, strengths, enabled):
    """Key values of a job after the locks, (frames, keys). Strengths and switches: one row per
    frame."""
    settings, keys = job.settings, job.keys
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
            if job.cancelled:
                break
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


class LockedAnimation(Job):
    """The locks applied to the animation of the frame range, as a new action."""

    def __init__(self, context, obj):
        super().__init__(context, obj)
        found = self.scene
        self.frames = list(range(found.frame_start, found.frame_end + 1))

    def read(self):
        yield from self.keys.read(self.obj, scene.groups_of(self.settings))
        if not scene.locks_of(self.settings, self.keys)[0]:
            raise shapes.Problem("There are no locks; select a vertex group and press Add Lock")
        if not animation.curves_of(self.block):
            raise shapes.Problem("The shape keys have no animation; insert keyframes first")
        self.rows = yield from animation.sampled(self.block, self.frames, self.scene)
        self.locks = lock_curves(self.obj, self.frames)

    def solve(self):
        self.rows = filtered(self, self.keys.rig(), self.frames, self.rows, *self.locks)

    def write(self):
        block = self.block
        action = animation.write_action(block, f"{block.animation_data.action.name} locked",
                                        self.frames, self.rows)
        return f"The keys now use the action '{action.name}'; the original is kept"


class Bake(Job):
    """Solves the frames of the scene's range, for keys or for a cache at a path."""

    def __init__(self, context, obj, target, path):
        super().__init__(context, obj)
        self.target, self.path = target, path
        self.frames = list(range(self.scene.frame_start, self.scene.frame_end + 1))
        if not self.frames:
            raise shapes.Problem("The frame range of the scene is empty")
        self.rate = self.scene.render.fps / self.scene.render.fps_base
        self.model = self.settings.model
        self.obstacles = scene.Obstacles(self.folder.name)
        self.take = self.points = self.curves = None
        self.head_motion = obj.sinew.head_motion
        self.objects = obj.sinew.marker_objects is not None
        self.moving = []  # per frame: what obstacles and pins do
        self.rows, self.unsettled = [], 0

    def read(self):
        obj, settings = self.obj, self.obj.sinew
        if self.model == "fit":
            self.take = yield from markers.take_of(self.scene, obj, self.frames, self.rate)
            self.points = markers.map_points(obj)
        yield from self.keys.read(obj, scene.groups_of(self.settings))
        self.weights = yield from animation.sampled(self.block, self.frames, self.scene)
        self.poses = animation.key_frames(self.block, self.frames)
        self.locks = lock_curves(obj, self.frames)
        if self.model == "modal" and len(self.poses) < 2:
            raise shapes.Problem("Swing needs at least two frames between which keys change")
        if self.model == "spring" and (settings.obstacles or settings.pin_target):
            for k, frame in enumerate(self.frames):
                self.scene.frame_set(frame)
                others = settings.obstacles
                entries = self.obstacles.entries(obj, others.objects) if others else []
                self.moving.append(scene.moving(obj, self.keys, [], entries, self.weights[k]))
                yield

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
        """Builds the session; returns the key values of each frame after the locks."""
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
            weights = filtered(self, rig, self.frames, weights, *self.locks)
        if self.model in shapes.WHOLE_CLIP:
            document.update(self.drive(weights))
        self.session = shapes.library().Session(document, rig=rig, model=self.model)
        self.session.prepare()
        return weights

    def solve(self):
        """Builds and solves everything, and writes the cache."""
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
            self.progress = (k + 1) / len(self.frames)
        if self.target == KEYS:
            shown = self.weights if self.curves is None else self.curves.values
            self.rows = [self.keys.difference(*pair) for pair in zip(self.rows, shown)]
        elif not self.cancelled:
            shapes.library().Frames.write(self.path, self.keys.mesh(), self.rows,
                                          start=self.frames[0] / self.rate, rate=self.rate)

    def write(self):
        if self.target == KEYS:
            yield from self.write_keys()
            what = f"Added {len(self.rows)} shape keys"
        else:
            what = f"Wrote {len(self.rows)} frames to {self.path}"
        if self.curves is not None:
            action = animation.write_action(self.block, f"{self.obj.name} take", self.frames,
                                            self.curves.values)
            what += f"; key values are in the action '{action.name}'"
        return what + (f"; {self.unsettled} did not reach the tolerance" if self.unsettled else "")

    def write_keys(self):
        """A key per frame that holds the difference from the linear blend, and is 1 only there."""
        shapes.remove_results(self.obj, self.block)
        yield
        for frame, row in zip(self.frames, self.rows):
            block = self.obj.shape_key_add(name=f"{shapes.RESULT_KEY} {frame:04d}", from_mix=False)
            shapes.points_of(block).foreach_set("co", row.ravel())
            for at, value in ((frame - 1, 0.0), (frame, 1.0), (frame + 1, 0.0)):
                block.value = value
                block.keyframe_insert("value", frame=at)
            path = block.path_from_id("value")
            for curve in animation.curves_of(self.block):
                if curve.data_path == path:
                    for point in curve.keyframe_points:
                        point.interpolation = "LINEAR"
            yield
        self.obj.data.update()


def hinge(terms, letters):
    """The expression of a hinge, with as many digits as a driver has room for, and how many of the
    smallest terms it has no room for."""
    terms = sorted(terms, key=lambda term: -abs(term[0]))
    for count in range(len(terms), 0, -1):
        for digits in (6, 4, 3):
            text = "max(0, -1" + "".join(
                f" {'+-'[c < 0]} {abs(c):.{digits}g}" + "".join(
                    f" * clamp({letters[d]})" if p == 1 else f" * pow(clamp({letters[d]}), {p})"
                    for d, p in factors) for c, factors in terms[:count]) + ")"
            if len(text) <= LONGEST_EXPRESSION:
                return text, len(terms) - count
    raise ValueError("a term of a hinge is too long for a driver")


class Correctives(Job):
    """Shape keys with drivers that bring the linear blend close to the model."""

    def __init__(self, context, obj):
        shapes.check_live(obj)
        super().__init__(context, obj)
        self.limit = obj.sinew.max_targets
        self.lost = 0  # terms that drivers have no room for

    def read(self):
        return self.keys.read(self.obj, scene.groups_of(self.settings))

    def solve(self):
        sinew = shapes.library()
        document = scene.document(self.settings, self.keys, self.folder.name, with_locks=False)
        self.session = sinew.Session(document, rig=self.keys.rig(), model=self.settings.model)

        def on_progress(fraction, _stage):
            self.progress = fraction

        # Expressions of Blender's drivers are too short for polynomials.
        self.baked, self.report = sinew.bake(self.session, max_targets=self.limit,
                                             style="inbetweens",
                                             self_contact=scene.touches_itself(self.settings),
                                             progress=on_progress,
                                             cancelled=lambda: self.cancelled)

    def write(self):
        for name in self.baked.targets:
            if name not in self.keys.names:
                self.add(name)
                yield
        return (f"Added {self.report.inbetweens} in-betweens and {self.report.combinations} "
                "combinations with drivers" +
                (f"; drivers had no room for {self.lost} small terms" if self.lost else ""))

    def add(self, name):
        """One corrective key and its driver. An in-between holds the whole shape at its value; as a
        key that is added to the others it holds what the linear blend lacks there.

        The expressions are such that Blender evaluates them without Python."""
        baked = self.baked
        neutral, drivers = baked.neutral.positions, baked.target_drivers(name)
        shape = baked.shape(name) - neutral
        if drivers["kind"] == "inbetween":
            slider, at = drivers["slider"], drivers["at"]
            shape = shape - at * (baked.shape(slider) - neutral)
            low, high = drivers["previous"], drivers["next"]
            expression = (f"max(0, min((a - {low!r}) / {at - low!r}, "
                          f"({high!r} - a) / {high - at!r}))")
            sources = [("a", slider)]
        elif drivers["rule"] == "hinge":
            sources = list(zip(string.ascii_letters, drivers["drivers"]))
            expression, lost = hinge(drivers["terms"], string.ascii_letters)
            self.lost += lost
        else:
            counted = {}
            for slider in drivers["drivers"]:
                counted[slider] = counted.get(slider, 0) + 1
            sources = [(chr(ord("a") + i), slider) for i, slider in enumerate(counted)]
            expression = " * ".join(f"pow(max({letter}, 0), {counted[slider]})"
                                    if counted[slider] > 1 else f"max({letter}, 0)"
                                    for letter, slider in sources)
        block = self.obj.shape_key_add(name=name, from_mix=False)
        points = (self.keys.basis + shape).astype(np.float32)
        shapes.points_of(block).foreach_set("co", points.ravel())
        block.slider_min, block.slider_max = -10, 10
        driver = block.driver_add("value").driver
        driver.type = "SCRIPTED"
        for letter, slider in sources:
            variable = driver.variables.new()
            variable.name = letter
            variable.targets[0].id_type = "KEY"
            variable.targets[0].id = self.block
            path = f'key_blocks["{bpy.utils.escape_identifier(slider)}"].value'
            variable.targets[0].data_path = path
        driver.expression = expression

# SPDX-License-Identifier: GPL-3.0-or-later
"""Following shape keys, pins, obstacles and markers while they change.

Handlers only note that an object needs a solve. A timer then reads the keys a few at a time, and
starts a thread that builds the session and solves; a later tick writes the result. The interface
never waits for a solver. Changes that arrive during a solve are combined into the next one.
"""
import tempfile
import threading
import time

import bpy
import numpy as np

from . import markers, scene, shapes

TICK = 0.005  # seconds between checks while something is in progress
READING = 0.03  # seconds of reading keys at a time


class Follower:
    """The session of one object and the work in progress."""

    def __init__(self, obj):
        self.keys = shapes.Keys(obj)
        self.settings = scene.frozen(obj)
        self.map = markers.map_points(obj) if obj.sinew.model == "fit" else None
        self.reader = self.keys.read(obj, scene.groups_of(self.settings))
        self.folder = tempfile.TemporaryDirectory(prefix="sinew-")
        self.obstacles = scene.Obstacles(self.folder.name)
        self.entries, self.dirty = [], True
        self.session = self.thread = self.asked = self.solved = self.failure = None
        self.result = None  # positions, coordinates for the key
        self.numbers, self.has = [], {}
        self.cancelled = False

    def read(self):
        """Reads some keys; true when all are read."""
        end = time.perf_counter() + READING
        while self.reader is not None and time.perf_counter() < end:
            if next(self.reader, self) is self:
                self.reader = None
                self.numbers = scene.locks_of(self.settings, self.keys)[1]
        return self.reader is None

    def ask(self, obj):
        """What is to be solved now: comparable, and independent of Blender."""
        weights = shapes.weights_of(obj.data.shape_keys)
        if self.dirty and obj.sinew.model == "spring" and obj.sinew.obstacles:
            self.entries = self.obstacles.entries(obj, obj.sinew.obstacles.objects)
        self.dirty = False
        found = scene.moving(obj, self.keys, self.numbers, self.entries, weights)
        points = markers.positions_now(obj, self.map[0]) if self.map else None
        return weights, found, points

    def start(self, asked):
        self.asked = asked
        self.thread = threading.Thread(target=self.work, args=asked, daemon=True)
        self.thread.start()

    def build(self):
        document = scene.document(self.settings, self.keys, self.folder.name)
        rig = self.keys.rig()
        if self.map:
            document.update(markers.rest_document(self.keys, self.settings, self.map,
                                                  self.folder.name))
        sinew = shapes.library()
        session = sinew.Session(document, rig=rig, model=self.settings.model)
        if self.cancelled:
            return
        self.session = session
        session.prepare()

    def work(self, weights, found, points):
        try:
            if self.session is None:
                self.build()
            if self.cancelled:
                return
            self.has = scene.patch(self.session, self.has, found)
            positions = (self.session.solve(markers=points) if points is not None
                         else self.session.solve(weights)).positions
            self.result = positions, self.keys.difference(positions, weights)
        except Exception as error:  # noqa: B902: shown by the timer
            self.failure = str(error)

    def close(self):
        self.cancelled = True
        if self.thread:
            if self.session:
                self.session.cancel()
            self.thread.join()
        if self.session:
            self.session.close()
        self.folder.cleanup()


_followers = {}  # by name of the object
_closing = []  # followers whose thread has not ended yet
_wanted = set()
_modes = {}
messages = {}  # last problem by name of the object, shown in the panel


def forget(obj):
    """Settings changed: the session is built again when it is next needed."""
    follower = _followers.pop(obj.name, None)
    if follower:
        follower.cancelled = True
        if follower.session:
            follower.session.cancel()
        _closing.append(follower)
    request(obj)


def request(obj):
    if obj.sinew.live:
        _wanted.add(obj.name)
        if not bpy.app.timers.is_registered(tick):
            bpy.app.timers.register(tick, first_interval=0)


def same(a, b):
    return (b is not None and np.array_equal(a[0], b[0]) and a[1] == b[1]
            and (a[2] is None or np.array_equal(a[2], b[2], equal_nan=True)))


def finish(obj, follower):
    """Writes a finished result; true when there was one."""
    if follower.thread is None or follower.thread.is_alive():
        return False
    follower.thread.join()
    follower.thread = None
    if follower.failure:
        messages[obj.name], follower.failure = follower.failure, None
        follower.solved = follower.asked
        return True
    positions, points = follower.result
    if obj.sinew.show == "PREVIEW":
        shapes.write_preview(obj, positions)
    else:
        shapes.write_result(obj, points)
    follower.solved = follower.asked
    messages.pop(obj.name, None)
    return True


def step(obj):
    """One step for one object; true while there is more to do."""
    follower = _followers.get(obj.name)
    if follower is None or not follower.keys.matches(obj):
        if follower:
            forget(obj)
        shapes.check(obj)
        shapes.check_live(obj)
        shapes.library()
        follower = _followers[obj.name] = Follower(obj)
    if not follower.read():
        return True
    finish(obj, follower)
    if follower.thread is None:
        asked = follower.ask(obj)
        if not same(asked, follower.solved):
            follower.start(asked)
    return follower.thread is not None


def tick():
    busy = False
    for follower in [f for f in _closing if f.thread is None or not f.thread.is_alive()]:
        _closing.remove(follower)
        follower.close()
    for name in list(_wanted):
        obj = bpy.data.objects.get(name)
        if obj is None or not obj.sinew.live:
            _wanted.discard(name)
            continue
        try:
            more = step(obj)
            if not more:
                _wanted.discard(name)
            busy = busy or more
        except shapes.Problem as problem:
            messages[name] = str(problem)
            _wanted.discard(name)
    return TICK if busy or _wanted or _closing else None


def _others_moved(obj, depsgraph):
    """Whether something else than the object itself changed."""
    if depsgraph is None:
        return True
    own = {obj.name, obj.data.name, obj.data.shape_keys.name}
    return any(update.id.name not in own for update in depsgraph.updates
               if isinstance(update.id, (bpy.types.Object, bpy.types.Mesh, bpy.types.Armature)))


@bpy.app.handlers.persistent
def on_change(changed, depsgraph=None):
    for obj in changed.objects:
        if obj.type != "MESH" or not obj.sinew.live or not obj.data.shape_keys:
            continue
        mode, _modes[obj.name] = _modes.get(obj.name, "OBJECT"), obj.mode
        if obj.mode != mode and mode in ("EDIT", "SCULPT"):  # keys may have been edited
            forget(obj)
            continue
        follower = _followers.get(obj.name)
        if follower is None:
            request(obj)
            continue
        moved = _others_moved(obj, depsgraph)
        follower.dirty = follower.dirty or moved
        if moved or follower.solved is None or not np.array_equal(
                shapes.weights_of(obj.data.shape_keys), follower.solved[0]):
            request(obj)


@bpy.app.handlers.persistent
def on_load(_unused):
    for follower in [*_followers.values(), *_closing]:
        follower.close()
    for known in (_followers, _closing, _wanted, _modes, messages):
        known.clear()


def register():
    bpy.app.handlers.depsgraph_update_post.append(on_change)
    bpy.app.handlers.frame_change_post.append(on_change)
    bpy.app.handlers.load_pre.append(on_load)


def unregister():
    on_load(None)
    for handlers, function in ((bpy.app.handlers.depsgraph_update_post, on_change),
                               (bpy.app.handlers.frame_change_post, on_change),
                               (bpy.app.handlers.load_pre, on_load)):
        if function in handlers:
            handlers.remove(function)
    if bpy.app.timers.is_registered(tick):
        bpy.app.timers.unregister(tick)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Following shape keys, pins, obstacles and markers while they change.

Handlers only note that an object needs a solve. A timer then reads the keys a few at a time, and
starts a thread that builds the session and solves. A later tick starts the next solve, if something
has changed meanwhile, and then writes the result of the last: Blender's main thread and the solver
work at the same time. The interface never waits for a solver. Changes that arrive during a solve
are combined into the next one.
"""
import tempfile
import threading

import bpy
import numpy as np

from . import markers, scene, shapes

TICK = 0.005  # seconds between checks while something is in progress
HANDOVER = 0.0005  # seconds of a tick in which a thread may end


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
        self.preview = obj.sinew.show == "PREVIEW"
        self.session = self.linear = self.thread = self.asked = self.solved = None
        self.result = self.failure = None  # weights and positions, or a message
        self.numbers, self.has = [], {}
        self.cancelled = False

    def read(self):
        """Reads some keys; true when all are read."""
        if self.reader is not None and shapes.portion(self.reader):
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
        self.linear = sinew.Session(rig=rig, model="linear")  # what Blender shows without us
        self.linear.prepare()
        session = sinew.Session(document, rig=rig, model=self.settings.model)
        if self.cancelled:
            session.close()
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
            self.result = weights, (self.session.solve(markers=points) if points is not None
                                    else self.session.solve(weights)).positions
        except Exception as error:  # noqa: B902: shown by the timer
            self.failure = str(error)

    def take(self):
        """What a finished thread left: its result and a message, one of them None; or None."""
        if self.thread is None:
            return None
        # A thread that has solved needs the interpreter for a moment to end. Blender may not give
        # it up until the next tick, and all of that time would be lost for the next solve.
        self.thread.join(HANDOVER)
        if self.thread.is_alive():
            return None
        found = self.result, self.failure
        self.thread = self.result = self.failure = None
        self.solved = self.asked
        return found

    def shape(self, weights, positions):
        """The coordinates that show these positions: of the preview, or of the key that is added
        to the linear blend."""
        if not self.preview:
            positions -= self.linear.solve(weights).positions
            positions += self.keys.basis
        return positions.astype(np.float32)

    def close(self):
        self.cancelled = True
        if self.thread:
            if self.session:
                self.session.cancel()
            self.thread.join()
        for session in (self.session, self.linear):
            if session:
                session.close()
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


def write(obj, follower, result, failure):
    """Shows a result, or says why there is none."""
    if result is None:
        messages[obj.name] = failure or "The solve was canceled"
        return
    points = follower.shape(*result)
    if follower.preview:
        shapes.write_preview(obj, points)
    else:
        shapes.write_result(obj, points)
    messages.pop(obj.name, None)


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
    done = follower.take()
    if follower.thread is None:
        asked = follower.ask(obj)
        if not same(asked, follower.solved):
            follower.start(asked)
    if done:
        write(obj, follower, *done)
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
        follower.dirty = follower.dirty or _others_moved(obj, depsgraph)
        request(obj)  # which solves only if something that matters has changed


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

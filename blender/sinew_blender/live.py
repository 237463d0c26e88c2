# SPDX-License-Identifier: GPL-3.0-or-later
"""Following shape-key values while they change.

Handlers only note that an object wants a solve. A timer starts it in a thread, and a later tick of
the timer writes the result: the interface never waits for a solver. Changes that come during a
solve are solved when it ends; those in between are skipped.
"""
import threading

import bpy
import numpy as np

from . import shapes

TICK = 0.02  # seconds between looks at the solver while something is under way


class Follower:
    """The session of one object and the solve under way."""

    def __init__(self, obj):
        self.session, self.folder = shapes.make_session(obj)
        self.thread = None
        self.result = None
        self.weights = None
        self.solved = None
        self.failure = None

    def start(self, weights):
        self.weights = weights

        def work():
            try:
                self.result = self.session.solve(weights).positions
            except Exception as error:  # noqa: B902: shown by the timer
                self.failure = str(error)

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()

    def close(self):
        if self.thread:
            self.session.cancel()
            self.thread.join()
        self.session.close()
        self.folder.cleanup()


_followers = {}  # by name of the object
_wanted = set()
messages = {}  # last problem by name of the object, shown in the panel


def forget(obj):
    """Settings changed: the session is built again when it is next needed."""
    follower = _followers.pop(obj.name, None)
    if follower:
        follower.close()
    request(obj)


def request(obj):
    if obj.sinew.live:
        _wanted.add(obj.name)
        if not bpy.app.timers.is_registered(tick):
            bpy.app.timers.register(tick, first_interval=0)


def follower_of(obj):
    """The follower of an object, built if needed; a Problem when it cannot be."""
    if obj.name not in _followers:
        _followers[obj.name] = Follower(obj)
    return _followers[obj.name]


def finish(obj, follower):
    """Writes a finished result; true when there was one."""
    if follower.thread is None or follower.thread.is_alive():
        return False
    follower.thread.join()
    follower.thread = None
    if follower.failure:
        messages[obj.name], follower.failure = follower.failure, None
        return True
    keys = obj.data.shape_keys
    if keys and len(follower.result) == len(obj.data.vertices):
        linear = shapes.linear_blend(obj, keys, follower.weights)
        shapes.write_result(obj, follower.result, linear)
        follower.solved = follower.weights
        messages.pop(obj.name, None)
    return True


def tick():
    busy = False
    for name in list(_wanted):
        obj = bpy.data.objects.get(name)
        if obj is None or not obj.sinew.live:
            _wanted.discard(name)
            continue
        try:
            keys = shapes.check(obj)
            shapes.check_live(obj)
            follower = follower_of(obj)
            finish(obj, follower)
            weights = shapes.weights_of(keys)
            same = follower.solved is not None and np.array_equal(weights, follower.solved)
            if follower.thread is None and not same:
                follower.start(weights)
            if follower.thread is None:
                _wanted.discard(name)
            else:
                busy = True
        except shapes.Problem as problem:
            messages[name] = str(problem)
            _wanted.discard(name)
    return TICK if busy or _wanted else None


@bpy.app.handlers.persistent
def on_change(scene, depsgraph=None):
    for obj in scene.objects:
        if obj.type == "MESH" and obj.sinew.live and obj.data.shape_keys:
            follower = _followers.get(obj.name)
            weights = shapes.weights_of(obj.data.shape_keys)
            if follower is None or follower.solved is None or \
                    not np.array_equal(weights, follower.solved):
                request(obj)


@bpy.app.handlers.persistent
def on_load(_unused):
    for follower in _followers.values():
        follower.close()
    _followers.clear()
    _wanted.clear()
    messages.clear()


def register():
    bpy.app.handlers.depsgraph_update_post.append(on_change)
    bpy.app.handlers.frame_change_post.append(on_change)
    bpy.app.handlers.load_post.append(on_load)


def unregister():
    on_load(None)
    for handlers in (bpy.app.handlers.depsgraph_update_post, bpy.app.handlers.frame_change_post):
        if on_change in handlers:
            handlers.remove(on_change)
    if on_load in bpy.app.handlers.load_post:
        bpy.app.handlers.load_post.remove(on_load)
    if bpy.app.timers.is_registered(tick):
        bpy.app.timers.unregister(tick)

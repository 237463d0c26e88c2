# SPDX-License-Identifier: GPL-3.0-or-later
"""Work that takes longer than the interface may wait.

What needs Blender's data is read first, on the main thread and a little at a time; a thread of its own
then solves; what it found is written on the main thread, again a little at a time.
"""
import tempfile
import threading
import types

import bpy

from . import scene, shapes


running = {}  # tasks of the interface, by name of the object


class Task:
    """`read` is a generator that runs first, on the main thread; `solve` runs in the thread; `write`
    runs on the main thread, as a generator if it takes long, and returns a sentence for a report, or
    None. `warning`: the report is one.

    Blender's data may be replaced while the thread works, by undo for example: it is found again by
    name."""

    session = None
    warning = False

    def __init__(self, context, obj):
        shapes.check(obj)
        shapes.library()
        self.name, self.scene_name = obj.name, context.scene.name
        self.reader = self.thread = self.failure = self.writer = self.sentence = None
        self.progress, self.cancelled = 0.0, False

    def announce(self):
        """For the interface: one task per object at a time."""
        if self.name in running:
            raise shapes.Problem(f"Another operation on '{self.name}' is still running; wait for it, "
                                 "or press Esc")
        running[self.name] = self

    @property
    def obj(self):
        found = bpy.data.objects.get(self.name)
        if found is None:
            raise shapes.Problem(f"'{self.name}' was removed or renamed during the operation")
        return found

    @property
    def block(self):
        return self.obj.data.shape_keys

    @property
    def scene(self):
        return bpy.data.scenes[self.scene_name]

    def read_some(self):
        """Reads for a moment; true when everything is read. The scene stays at its frame."""
        if self.reader is None:
            self.reader = self.read()
        found = self.scene
        present = found.frame_current
        try:
            return shapes.portion(self.reader)
        finally:
            if found.frame_current != present:
                found.frame_set(present)

    def start(self):
        def work():
            try:
                self.solve()
            except Exception as error:  # noqa: B902: reported by the operator
                self.failure = error

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()

    def write_some(self):
        """Writes for a moment; true when everything is written. `sentence` is then set."""
        if self.writer is None:
            shapes.check(self.obj)
            if not self.keys.matches(self.obj):
                raise shapes.Problem(f"The shape keys of '{self.name}' changed during the operation; "
                                     "repeat it")
            self.writer = self.keep()
        return shapes.portion(self.writer)

    def keep(self):
        found = self.write()
        self.sentence = (yield from found) if isinstance(found, types.GeneratorType) else found

    def run(self):
        """Everything at once, for scripts; returns the sentence."""
        while not self.read_some():
            pass
        self.solve()
        while not self.write_some():
            pass
        return self.sentence

    def close(self):
        """Ends the work. A thread that still runs is cancelled and released when it has ended: the
        interface does not wait for it."""
        self.cancelled = True
        if running.get(self.name) is self:
            del running[self.name]
        if self.thread and self.thread.is_alive():
            bpy.app.timers.register(self.close_later, persistent=True)
        else:
            self.release()

    def close_later(self):
        if self.thread.is_alive():
            if self.session:
                self.session.cancel()
            return 0.02
        self.release()
        return None

    def release(self):
        if self.session:
            self.session.close()


class Job(Task):
    """A task with the shape keys of the object, its settings, and a folder for files."""

    def __init__(self, context, obj):
        super().__init__(context, obj)
        self.settings = scene.frozen(obj)
        self.keys = shapes.Keys(obj)
        self.folder = tempfile.TemporaryDirectory(prefix="sinew-")

    def release(self):
        super().release()
        self.folder.cleanup()

"""Data over time: weight curves and point caches."""
from __future__ import annotations

import os
from ctypes import byref, c_void_p

import numpy as np

from ._arrays import address, given, view
from ._library import Handle, call, function

_create = function("sinew_curves_create", "i", "iipp")
_destroy = function("sinew_curves_destroy", "v", "p")
_set_name = function("sinew_curves_set_name", "i", "pisp")
_set_times = function("sinew_curves_set_times", "v", "pp")
_set_values = function("sinew_curves_set_values", "v", "pp")
_check = function("sinew_curves_check", "i", "pp")
_read = function("sinew_curves_read", "i", "spp")
_write = function("sinew_curves_write", "i", "spp")
_channels = function("sinew_curves_channel_count", "i", "p")
_channel = function("sinew_curves_channel_name", "s", "pi")
_time_count = function("sinew_curves_time_count", "i", "p")
_times = function("sinew_curves_times", "p", "p")
_values = function("sinew_curves_values", "p", "p")

_frames_read = function("sinew_frames_read", "i", "spp")
_frames_clip = function("sinew_frames_read_clip", "i", "ssdpp")
_frames_destroy = function("sinew_frames_destroy", "v", "p")
_frames_vertices = function("sinew_frames_vertex_count", "i", "p")
_frames_count = function("sinew_frames_count", "i", "p")
_frames_start = function("sinew_frames_start", "d", "p")
_frames_rate = function("sinew_frames_rate", "d", "p")
_frames_positions = function("sinew_frames_positions", "p", "pi")
_writer_open = function("sinew_frame_writer_open", "i", "spiddpp")
_writer_add = function("sinew_frame_writer_add", "i", "ppp")
_writer_close = function("sinew_frame_writer_close", "i", "pp")
_writer_abandon = function("sinew_frame_writer_abandon", "v", "p")


class Curves(Handle):
    """Slider weights over time: linear between keys, constant before the first and after the last.

    >>> clip = Curves(["smile"], [0.0, 1.0], [[0.0], [1.0]])
    >>> clip.names, clip.values.shape
    (['smile'], (2, 1))
    """

    _release = staticmethod(_destroy)

    def __init__(self, names, times, values):
        names = list(names)
        times = given(times, np.float64, what="times")
        values = given(values, np.float64, (len(times), len(names)), "values")
        handle = c_void_p()
        call(_create, len(names), len(times), byref(handle))
        self._handle = handle
        for i, name in enumerate(names):
            call(_set_name, handle, i, name.encode())
        _set_times(handle, address(times))
        _set_values(handle, address(values))
        call(_check, handle)

    @classmethod
    def read(cls, path) -> "Curves":
        """Read a weight CSV, a Live Link Face CSV, or the animation of a GLB or FBX."""
        handle = c_void_p()
        call(_read, os.fsencode(path), byref(handle))
        return cls._of(handle)

    def write(self, path) -> None:
        call(_write, os.fsencode(path), self._handle)

    @property
    def names(self) -> list[str]:
        return [_channel(self._handle, i).decode() for i in range(_channels(self._handle))]

    @property
    def times(self) -> np.ndarray:
        return view(_times(self._handle), (_time_count(self._handle),), np.float64, self)

    @property
    def values(self) -> np.ndarray:
        shape = (_time_count(self._handle), _channels(self._handle))
        return view(_values(self._handle), shape, np.float64, self)


class Frames(Handle):
    """A point cache: positions of all vertices, frame after frame, in single precision."""

    _release = staticmethod(_frames_destroy)

    def __init__(self, handle):
        self._handle = handle

    @classmethod
    def read(cls, path, clip: str | None = None, rate: float = 0) -> "Frames":
        """Read a PC2, MDD, … or play a clip of a GLB or FBX."""
        handle = c_void_p()
        if clip is None and rate == 0:
            call(_frames_read, os.fsencode(path), byref(handle))
        else:
            call(_frames_clip, os.fsencode(path), clip.encode() if clip else None, rate,
                 byref(handle))
        return cls(handle)

    @staticmethod
    def write(path, mesh, positions, start: float = 0, rate: float = 30) -> None:
        """Write an array (frames, vertices, 3); the file appears only when it is complete."""
        rows = np.asarray(positions, np.float64)
        if rows.ndim != 3 or rows.shape[1:] != (mesh.vertex_count, 3):
            raise ValueError(f"positions must be (frames, {mesh.vertex_count}, 3)")
        writer = c_void_p()
        call(_writer_open, os.fsencode(path), mesh._handle, len(rows), start, rate, byref(writer))
        try:
            for row in rows:
                row = np.ascontiguousarray(row)
                call(_writer_add, writer, address(row))
        except BaseException:
            _writer_abandon(writer)
            raise
        call(_writer_close, writer)

    @property
    def start(self) -> float:
        return _frames_start(self._handle)

    @property
    def rate(self) -> float:
        return _frames_rate(self._handle)

    def __len__(self) -> int:
        return _frames_count(self._handle)

    def __getitem__(self, frame: int) -> np.ndarray:
        """(vertices, 3) of a frame, read-only."""
        if not -len(self) <= frame < len(self):
            raise IndexError(frame)
        pointer = _frames_positions(self._handle, frame % len(self))
        return view(pointer, (_frames_vertices(self._handle), 3), np.float32, self)

"""Captured markers: takes, where their markers sit on a mesh, and takes prepared for a rig."""
from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_void_p

import numpy as np

from ._arrays import address, given, view
from ._library import CaptureInfo, CaptureOptions, Handle, Monitor, Rigid, call, function
from .mesh import Mesh

_create = function("sinew_markers_create", "i", "iipp")
_destroy = function("sinew_markers_destroy", "v", "p")
_set_name = function("sinew_markers_set_name", "i", "pisp")
_set_times = function("sinew_markers_set_times", "v", "pp")
_set_positions = function("sinew_markers_set_positions", "v", "pp")
_read = function("sinew_markers_read", "i", "spp")
_write = function("sinew_markers_write", "i", "spp")
_count = function("sinew_markers_count", "i", "p")
_name = function("sinew_markers_name", "s", "pi")
_time_count = function("sinew_markers_time_count", "i", "p")
_times = function("sinew_markers_times", "p", "p")
_positions = function("sinew_markers_positions", "p", "p")
_unit = function("sinew_markers_unit", "s", "p")

_map_destroy = function("sinew_marker_map_destroy", "v", "p")
_map_copy = function("sinew_marker_map_copy", "i", "ppp")
_map_read = function("sinew_marker_map_read", "i", "sppp")
_map_write = function("sinew_marker_map_write", "i", "spp")
_map_nearest = function("sinew_marker_map_nearest", "i", "pippdpp")
_map_points = function("sinew_marker_map_points", "v", "pppp")
_map_count = function("sinew_marker_map_count", "i", "p")
_map_name = function("sinew_marker_map_name", "s", "pi")
_map_vertices = function("sinew_marker_map_vertices", "p", "p")
_map_triangles = function("sinew_marker_map_triangles", "p", "p")

_options_init = function("sinew_capture_options_init", "v", "p")
_capture_create = function("sinew_capture_create", "i", "pppppp")
_capture_destroy = function("sinew_capture_destroy", "v", "p")
_capture_info = function("sinew_capture_get_info", "v", "pp")
_capture_map = function("sinew_capture_map", "p", "p")
_capture_doubt = function("sinew_capture_doubt", "s", "pi")
_capture_sample = function("sinew_capture_sample", "v", "pdp")
_capture_weights = function("sinew_capture_weights", "v", "pdp")
_capture_head = function("sinew_capture_head", "v", "pdp")

_SOURCES = ("given", "by vertex", "in place", "by names", "by shape")


class Markers(Handle):
    """Marker trajectories; a missing marker has NaN coordinates.

    >>> take = Markers(["chin"], [0.0, 0.1], [[[0, 0, 0]], [[0, 1, 0]]])
    >>> take.positions.shape
    (2, 1, 3)
    """

    _release = staticmethod(_destroy)

    def __init__(self, names, times, positions):
        names = list(names)
        times = given(times, np.float64, what="times")
        points = given(positions, np.float64, (len(times), len(names), 3), "positions")
        handle = c_void_p()
        call(_create, len(names), len(times), byref(handle))
        self._handle = handle
        for i, name in enumerate(names):
            call(_set_name, handle, i, name.encode())
        _set_times(handle, address(times))
        _set_positions(handle, address(points))

    @classmethod
    def read(cls, path) -> "Markers":
        """Read a take: CSV, C3D or TRC."""
        handle = c_void_p()
        call(_read, os.fsencode(path), byref(handle))
        return cls._of(handle)

    def write(self, path) -> None:
        """Write the take as CSV or TRC."""
        call(_write, os.fsencode(path), self._handle)

    @property
    def names(self) -> list[str]:
        return [_name(self._handle, i).decode() for i in range(_count(self._handle))]

    @property
    def unit(self) -> str:
        """Unit of length that the file specifies, or an empty string."""
        return _unit(self._handle).decode()

    @property
    def times(self) -> np.ndarray:
        return view(_times(self._handle), (_time_count(self._handle),), np.float64, self)

    @property
    def positions(self) -> np.ndarray:
        """(times, markers, 3), read-only."""
        shape = (_time_count(self._handle), _count(self._handle), 3)
        return view(_positions(self._handle), shape, np.float64, self)


class MarkerMap(Handle):
    """Points of a mesh that markers are attached to."""

    _release = staticmethod(_map_destroy)

    @classmethod
    def read(cls, path, mesh: Mesh) -> "MarkerMap":
        """Read a CSV of NAME,vertex or NAME,triangle,b0,b1,b2."""
        handle = c_void_p()
        call(_map_read, os.fsencode(path), mesh._handle, byref(handle))
        return cls._of(handle)

    @classmethod
    def nearest(cls, mesh: Mesh, names, points, reach: float = np.inf) -> "MarkerMap":
        """Attach each point to the nearest point of the mesh, at most ``reach`` away.

        >>> flat = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        >>> MarkerMap.nearest(flat, ["a"], [[0.2, 0.2, 5]]).points(flat).round(3).tolist()
        [[0.2, 0.2, 0.0]]
        """
        names = list(names)
        where = given(points, np.float64, (len(names), 3), "points")
        texts = (ctypes.c_char_p * max(1, len(names)))(*[name.encode() for name in names])
        handle = c_void_p()
        call(_map_nearest, mesh._handle, len(names), ctypes.cast(texts, c_void_p), address(where),
             reach, byref(handle))
        return cls._of(handle)

    def write(self, path) -> None:
        call(_map_write, os.fsencode(path), self._handle)

    @property
    def names(self) -> list[str]:
        return [_map_name(self._handle, i).decode() for i in range(_map_count(self._handle))]

    def points(self, mesh: Mesh, positions=None) -> np.ndarray:
        """(markers, 3): the points on the mesh, or on the mesh posed at ``positions``."""
        shape = mesh.positions if positions is None else \
            given(positions, np.float64, (mesh.vertex_count, 3), "positions")
        points = np.empty((_map_count(self._handle), 3))
        _map_points(self._handle, mesh._handle, address(shape), address(points))
        return points


class Capture(Handle):
    """A take prepared for a rig: markers attached to the face, head motion removed, gaps filled.

    >>> from sinew import sample, sample_markers
    >>> face = sample("face", vertices=1500)
    >>> take, _ = sample_markers("face", vertices=1500)
    >>> Capture(face, take).used
    60
    """

    _release = staticmethod(_capture_destroy)

    def __init__(self, rig, take: Markers, map: MarkerMap | None = None, *,
                 stable: str | None = None, cutoff: float = -1, retarget: bool = False,
                 neutral_sample: int = -1, log=None, progress=None, cancelled=None):
        """``map`` None: found automatically. ``stable``: markers that move only with the head,
        separated by commas, or "none". ``cutoff``: Hz, 0 turns smoothing off, -1 chooses it.
        ``cancelled`` is called now and then; :class:`Cancelled` is raised when it returns True."""
        self._rig = rig  # the rig must outlive the capture
        options = CaptureOptions()
        _options_init(byref(options))
        options.map = map._handle if map is not None else None
        options.stable = stable.encode() if stable else None
        options.cutoff, options.retarget, options.neutral_sample = cutoff, retarget, neutral_sample
        handle, monitor = c_void_p(), Monitor(progress, cancelled, log)
        call(_capture_create, rig._handle, take._handle, byref(options), monitor.pointer,
             byref(handle), monitor=monitor)
        self._handle = handle
        info = CaptureInfo()
        info.size = ctypes.sizeof(info)
        _capture_info(handle, byref(info))
        self.used, self.rate, self.noise = info.used, info.rate, info.noise
        self.head_moves, self.scale = bool(info.head_moves), info.scale
        self.neutral_sample = info.neutral_sample
        self.map_source = _SOURCES[info.map_source]

    @property
    def map(self) -> MarkerMap:
        """A copy of the map that is used."""
        handle = c_void_p()
        call(_map_copy, _capture_map(self._handle), byref(handle))
        return MarkerMap._of(handle)

    def doubts(self) -> dict[str, str]:
        """Markers whose point on the face is in doubt, with the reason."""
        found = {}
        for i, name in enumerate(self.map.names):
            reason = _capture_doubt(self._handle, i)
            if reason:
                found[name] = reason.decode()
        return found

    def sample(self, time: float) -> np.ndarray:
        """(markers, 3) at a time in seconds, without head motion; NaN where missing."""
        points = np.empty((_map_count(_capture_map(self._handle)), 3))
        _capture_sample(self._handle, time, address(points))
        return points

    def weights(self, time: float) -> np.ndarray:
        """Influence of each marker at a time: less where a gap was filled, 0 where missing."""
        shares = np.empty(_map_count(_capture_map(self._handle)))
        _capture_weights(self._handle, time, address(shares))
        return shares

    def head(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and translation (3,) of the head at a time."""
        motion = Rigid()
        _capture_head(self._handle, time, byref(motion))
        return np.array(motion.rotation).reshape(3, 3), np.array(motion.translation)

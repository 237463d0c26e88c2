"""Live sessions: a rig, a model and a scene that stay in memory while values change."""
from __future__ import annotations

import ctypes
import json
import os
from ctypes import byref, c_void_p
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np

from ._arrays import address, given
from ._library import (NOT_CONVERGED, OK, Change, ClipInfo, Drag, Error, Input, ManipulateInfo,
                       Monitor, SessionOptions, _Error, call, function, getter, raise_error,
                       take_text)
from ._library import Result as _Result
from .markers import MarkerMap
from .rig import Rig

_parse = function("sinew_scene_parse", "i", "ssspp")
_scene_read = function("sinew_scene_read", "i", "spp")
_scene_destroy = function("sinew_scene_destroy", "v", "p")
_loader = function("sinew_file_loader", "p", "")
_cache_open = function("sinew_cache_open", "i", "supp")
_create = function("sinew_session_create", "i", "pppp")
_destroy = function("sinew_session_destroy", "v", "p")
_patch = function("sinew_session_patch", "i", "psppp")
_text = function("sinew_session_text", "i", "ppp")
_get = function("sinew_session_get", "i", "pspp")
_revision = getter("sinew_session_revision", "u", "p")
_prepare = function("sinew_session_prepare", "i", "ppp")
_describe = function("sinew_session_describe", "i", "ppp")
_cancel = function("sinew_session_cancel", "v", "p")
_own_solver = getter("sinew_session_solver", "p", "p")
_solver_create = function("sinew_solver_create", "i", "pppp")
_solver_destroy = function("sinew_solver_destroy", "v", "p")
_solver_revision = getter("sinew_solver_revision", "u", "p")
_solver_update = function("sinew_solver_update", "i", "ppp")
_solve_session = function("sinew_session_solve", "i", "ppppp")
_solve = function("sinew_solver_solve", "i", "ppppp")
_linear = function("sinew_solver_linear", "i", "ppppp")
_weights = function("sinew_solver_weights", "i", "pppp")
_drag = function("sinew_solver_drag", "i", "pippppp")
_capture = getter("sinew_solver_capture", "p", "p")
_capture_map = getter("sinew_capture_map", "p", "p")
_clip = function("sinew_solver_clip", "i", "ppp")
_reset = function("sinew_solver_reset", "v", "p")
_save = function("sinew_solver_save_state", "i", "pppp")
_load = function("sinew_solver_load_state", "i", "ppzp")
_rig = getter("sinew_solver_rig", "p", "p")
_rig_copy = function("sinew_rig_copy", "i", "ppp")
_input_init = getter("sinew_input_init", "v", "p")
_result_init = getter("sinew_result_init", "v", "p")
_model_count = function("sinew_model_count", "i", "")
_model_at = function("sinew_model_at", "p", "i")
_model_name = function("sinew_model_name", "s", "p")
_vertices = getter("sinew_mesh_vertex_count", "i", "p")
_neutral = getter("sinew_rig_neutral", "p", "p")
_slider_count = getter("sinew_rig_slider_count", "i", "p")


_DIRECT = ("linear", "rotation")  # models without iterations

_DRIVERS = ("weights", "curves", "steps", "keys", "markers")


_cache = None


def _shared_cache():
    """The command's cache, opened once; none where its folder cannot be used."""
    global _cache
    if _cache is None:
        handle = c_void_p()
        try:
            call(_cache_open, None, 0, byref(handle))
        except (Error, OSError):
            pass
        _cache = handle
    return _cache


def models() -> list[str]:
    """Names of the models of this build."""
    return [_model_name(_model_at(i)).decode() for i in range(_model_count())]


@dataclass
class Result:
    """A solved shape and the figures of its solve."""

    positions: np.ndarray
    converged: bool
    frame: int
    time: float
    revision: int
    iterations: int
    residual: float
    energy: float
    seconds: float
    inverted: int
    contacts: int
    normals: np.ndarray | None = field(default=None, repr=False)


def _monitor(progress, log) -> Monitor:
    return Monitor(progress=progress, log=log)


def _fits(array, kind, size) -> bool:
    """Whether the library can use an array as it is."""
    return (type(array) is np.ndarray and array.dtype == kind and array.size == size
            and array.flags.c_contiguous)


class _Solving:
    """What sessions and solvers have in common. ``_target`` is solved; ``_solver`` is a solver."""

    _input: Input
    _result: _Result
    _known: tuple | None = None  # of the last solve: revision, direct model, rig, vertices, sliders

    def _prepare_records(self):
        self._input, self._result, self._error = Input(), _Result(), _Error()
        self._input_pointer, self._result_pointer = byref(self._input), byref(self._result)

    def solve(self, weights=None, *, frame: int | None = None, time: float | None = None,
              markers=None, out: np.ndarray | None = None, normals: bool = False,
              progress: Callable[[float, str], None] | None = None,
              log: Callable[[str, str], None] | None = None) -> Result:
        """Solve slider weights (a dictionary or one number per slider), or a frame or time of
        the clip. ``markers``: positions of the markers of :meth:`marker_names`, NaN where one is
        missing, for models that follow markers. ``out`` receives the positions, in double or
        single precision."""
        # A solver sweeps the caches of the processor, so that every function called here is slow:
        # what does not change between solves of the same revision is kept.
        known = self._known
        if known is None or known[0] != self._revision_to_solve():
            known = None
            rig = self.rig_handle()
            direct, count, sliders = False, _vertices(_neutral(rig)), _slider_count(rig)
        else:
            _, direct, rig, count, sliders = known
        record, result = self._input, self._result
        _input_init(self._input_pointer)
        _result_init(self._result_pointer)
        if frame is not None:
            record.frame = frame
        if time is not None:
            record.frame, record.time = -1, time
        row = points = made = None
        if weights is not None:
            row = weights
            if not _fits(row, np.float64, sliders):
                row = self._row(weights, rig)
            record.weights = address(row)
        if markers is not None:
            points = given(markers, np.float64, (len(self.marker_names()), 3), "markers")
            record.markers = address(points)
        if out is None:
            out = np.empty((count, 3))
        elif out.size != 3 * count or not out.flags.c_contiguous or not out.flags.writeable:
            raise ValueError(f"out must be a contiguous array of ({count}, 3)")
        if out.dtype == np.float32:
            result.positions_float = address(out)
        elif out.dtype == np.float64:
            result.positions = address(out)
        else:
            raise ValueError("out must be float64 or float32")
        if normals:
            made = np.empty((count, 3), np.float32)
            result.normals = address(made)
        # Questions whether to cancel cost a direct model a tenth of its time. It is over before
        # anybody notices, so it is asked only where something has to be built first.
        if direct and not progress and not log:
            error = self._error
            status = self._solve_function(self._target, self._input_pointer, self._result_pointer,
                                          None, byref(error))
            if status not in (OK, NOT_CONVERGED):
                raise_error(status, error)
        else:
            monitor = _monitor(progress, log)
            status = call(self._solve_function, self._target, self._input_pointer,
                          self._result_pointer, monitor.pointer, monitor=monitor,
                          quiet=(OK, NOT_CONVERGED))
        if known is None:
            rig = self.rig_handle()
            self._known = (result.revision, self._model() in _DIRECT, rig,
                           _vertices(_neutral(rig)), _slider_count(rig))
        return Result(out, status == OK, result.frame, result.time, result.revision,
                      result.iterations, result.residual, result.energy, result.seconds,
                      result.inverted, result.contact_count, made)

    def _row(self, weights, rig) -> np.ndarray:
        if isinstance(weights, dict):
            return Rig._of(rig, self).weights(weights)
        return given(weights, np.float64, (_slider_count(rig),), "weights")

    def linear(self, weights=None, *, frame: int | None = None) -> np.ndarray:
        """The linear blend of the same weights or frame, for comparison."""
        self._bring_up_to_date()
        rig = self.rig_handle()
        record = Input()
        _input_init(byref(record))
        if frame is not None:
            record.frame = frame
        row = self._row(weights, rig) if weights is not None else None
        record.weights = address(row)
        positions = np.empty((_vertices(_neutral(rig)), 3))
        call(_linear, self._solver_handle(), byref(record), address(positions), None)
        return positions

    def weights(self, weights=None, *, frame: int | None = None) -> np.ndarray:
        """Slider weights after the locks of the scene: of the given weights, or of a frame of the
        clip.

        >>> from sinew import sample
        >>> lock = {"name": "tip", "select": "v:0"}
        >>> bar = Session({"locks": [lock]}, rig=sample("bar", vertices=1000), model="linear")
        >>> len(bar.weights({"bend120": 1})) == len(bar.rig.sliders)
        True
        """
        self._bring_up_to_date()
        rig = self.rig_handle()
        record = Input()
        _input_init(byref(record))
        if frame is not None:
            record.frame = frame
        row = self._row(weights, rig) if weights is not None else None
        record.weights = address(row)
        given_weights = np.empty(_slider_count(rig))
        call(_weights, self._solver_handle(), byref(record), address(given_weights))
        return given_weights

    def drag(self, vertices, targets, *, start=None, axes: str = "xyz",
             influence=None) -> np.ndarray:
        """Direct manipulation: slider weights that bring vertices to target positions. ``start``:
        the initial weights (default: rest). The locks of the scene apply. ``axes``: the
        coordinates that are dragged. ``influence``: a positive number per vertex.

        >>> from sinew import sample
        >>> face = Session(rig=sample("face", vertices=1500), model="linear")
        >>> open_mouth = face.rig.shape("jawOpen")
        >>> chin = int((face.rig.neutral.positions - open_mouth)[:, 1].argmax())
        >>> weights = face.drag([chin], open_mouth[[chin]])
        >>> bool(np.abs(face.solve(weights).positions - open_mouth)[chin].max() < 0.005)
        True
        """
        self._bring_up_to_date()
        rig = self.rig_handle()
        index = given(vertices, np.int32, what="vertices").ravel()
        points = given(targets, np.float64, (len(index), 3), "targets").reshape(-1, 3)
        shares = np.ones(len(index)) if influence is None else \
            given(influence, np.float64, (len(index),), "influence")
        flags = sum(1 << "xyz".index(axis) for axis in axes)
        drags = (Drag * max(1, len(index)))()
        for drag, vertex, point, share in zip(drags, index, points, shares):
            drag.vertex, drag.axes, drag.weight = int(vertex), flags, share
            drag.target[:] = point
        now = self._row(start, rig) if start is not None else None
        found, info = np.empty(_slider_count(rig)), ManipulateInfo()
        info.size = ctypes.sizeof(info)
        call(_drag, self._solver_handle(), len(index), ctypes.cast(drags, c_void_p), address(now),
             address(found), byref(info))
        return found

    def marker_names(self) -> list[str]:
        """Names of the markers that the model follows, in the order of ``solve(markers=…)``."""
        self._bring_up_to_date()
        capture = _capture(self._solver_handle())
        return MarkerMap._of(c_void_p(_capture_map(capture)), self).names if capture else []

    def clip(self) -> dict[str, Any]:
        """Frames, rate, start and end of the clip."""
        self._bring_up_to_date()
        info = ClipInfo()
        info.size = ctypes.sizeof(info)
        call(_clip, self._solver_handle(), byref(info))
        return {"frames": info.frame_count, "rate": info.rate, "start": info.start,
                "end": info.end, "has_weights": bool(info.has_weights)}

    def reset(self) -> None:
        """Reset the state that earlier frames left in the model."""
        _reset(self._solver_handle())

    def save_state(self) -> bytes:
        """The state left by earlier frames as bytes, for :meth:`load_state`."""
        block, size = c_void_p(), ctypes.c_size_t()
        call(_save, self._solver_handle(), byref(block), byref(size))
        from ._library import free
        try:
            return ctypes.string_at(block.value, size.value)
        finally:
            free(block)

    def load_state(self, state: bytes) -> None:
        call(_load, self._solver_handle(), state, len(state))


class Session(_Solving):
    """A rig, a model and a scene that stay in memory while values change.

    >>> from sinew import sample
    >>> session = Session(rig=sample("bar", vertices=1000), model="linear")
    >>> undo = session.patch([{"op": "add", "path": "/weights", "value": {"bend120": 0.5}}])
    >>> session.get("/weights/bend120")
    0.5
    >>> _ = session.patch(undo)
    >>> session.get("/weights")
    {}
    """

    _solve_function = staticmethod(_solve_session)

    def __init__(self, scene=None, *, rig: Rig | None = None, model: str | None = None,
                 parameters: dict | None = None, cache: bool = True):
        """``scene``: a path, a dictionary, or None. ``rig`` replaces the rig of the scene.
        ``cache``: keep expensive structures on disk between programs, as the command does."""
        self._handle = None
        self._prepare_records()
        handle, scene_handle = c_void_p(), c_void_p()
        if isinstance(scene, (str, os.PathLike)):
            call(_scene_read, os.fsencode(scene), byref(scene_handle))
        else:
            document = {"sinew": 1, **(scene or {})}
            if model:
                document["model"] = model
            if parameters:
                document["parameters"] = parameters
            if not any(key in document for key in _DRIVERS):
                document["weights"] = {}  # sliders are moved by solve
            text = json.dumps(document)
            call(_parse, text.encode(), b"scene", None, byref(scene_handle))
        options = SessionOptions()
        options.size = ctypes.sizeof(options)
        options.loader = _loader()
        options.rig = rig._handle if rig is not None else None
        options.cache = _shared_cache() if cache else None
        try:
            call(_create, scene_handle, byref(options), byref(handle))
        finally:
            _scene_destroy(scene_handle)
        self._handle = self._target = handle

    def close(self) -> None:
        """Release the session now; solvers created from it must be closed first."""
        if self._handle:
            _destroy(self._handle)
            self._handle = self._target = None

    def __del__(self):
        self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def patch(self, operations: list[dict]) -> list[dict]:
        """Apply a JSON Patch, as a whole or not at all; returns the patch that undoes it."""
        inverse = c_void_p()
        change = Change()
        change.size = ctypes.sizeof(change)
        call(_patch, self._handle, json.dumps(operations).encode(), byref(inverse), byref(change))
        return json.loads(take_text(inverse))

    def set(self, pointer: str, value) -> list[dict]:
        """Set one value, for example ``session.set("/parameters/tolerance", 1e-4)``."""
        parents, made = pointer.strip("/").split("/")[:-1], []
        for depth in range(1, len(parents) + 1):
            path = "/" + "/".join(parents[:depth])
            if self.get(path) is None:
                made.append({"op": "add", "path": path, "value": {}})
        return self.patch(made + [{"op": "add", "path": pointer, "value": value}])

    def get(self, pointer: str = ""):
        """The value at a JSON pointer, or None."""
        text = c_void_p()
        call(_get, self._handle, pointer.encode(), byref(text))
        found = take_text(text)
        return None if found is None else json.loads(found)

    def text(self) -> str:
        """The document as it would be saved."""
        text = c_void_p()
        call(_text, self._handle, byref(text))
        return take_text(text)

    @property
    def revision(self) -> int:
        return _revision(self._handle)

    def prepare(self, progress=None, log=None) -> dict:
        """Load and build what the next solve needs; returns a description of what was built."""
        monitor = _monitor(progress, log)
        call(_prepare, self._handle, monitor.pointer, monitor=monitor)
        text = c_void_p()
        call(_describe, self._handle, byref(text))
        return json.loads(take_text(text) or "{}")

    def cancel(self) -> None:
        """Cancel all running solves; can be called from any thread."""
        _cancel(self._handle)

    def solver(self) -> "Solver":
        """A snapshot with its own state, for use on another thread."""
        return Solver(self)

    def rig_handle(self):
        handle = _rig(self._solver_handle())
        if not handle:
            self._bring_up_to_date()
            handle = _rig(self._solver_handle())
        return c_void_p(handle)

    def _revision_to_solve(self):
        return _revision(self._handle)

    def _model(self):
        return self.get("/model") or "linear"

    def _bring_up_to_date(self):
        monitor = _monitor(None, None)
        call(_prepare, self._handle, monitor.pointer, monitor=monitor)

    def _solver_handle(self):
        return c_void_p(_own_solver(self._handle))

    @property
    def rig(self) -> Rig:
        """A copy of the rig that is solved."""
        self._bring_up_to_date()
        handle = c_void_p()
        call(_rig_copy, self.rig_handle(), byref(handle))
        return Rig._of(handle)


class Solver(_Solving):
    """A snapshot of a session for one thread; shares the rig and the structure."""

    _solve_function = staticmethod(_solve)

    def __init__(self, session: Session):
        self._session = session
        self._handle = None
        self._prepare_records()
        handle = c_void_p()
        monitor = _monitor(None, None)
        call(_solver_create, session._handle, monitor.pointer, byref(handle), monitor=monitor)
        self._handle = self._target = handle

    def update(self) -> None:
        """Update the snapshot to the newest revision of the session."""
        monitor = _monitor(None, None)
        call(_solver_update, self._handle, monitor.pointer, monitor=monitor)

    def close(self) -> None:
        if self._handle and self._session._handle:
            _solver_destroy(self._handle)
        self._handle = self._target = None

    def __del__(self):
        self.close()

    def rig_handle(self):
        return c_void_p(_rig(self._handle))

    def _revision_to_solve(self):
        return _solver_revision(self._handle)

    def _model(self):
        return self._session._model()

    def _bring_up_to_date(self):
        """A solver stays at its revision until `update`."""

    def _solver_handle(self):
        return self._handle

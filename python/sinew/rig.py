"""Blendshape rigs."""
from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_void_p

import numpy as np

from ._arrays import address, given, view
from ._library import Handle, SampleMarkerOptions, SampleOptions, call, function
from .markers import MarkerMap, Markers
from .mesh import Mesh
from .tracks import Curves

_create = function("sinew_rig_create", "i", "ppp")
_copy_mesh = function("sinew_mesh_copy", "i", "ppp")
_destroy = function("sinew_rig_destroy", "v", "p")
_read = function("sinew_rig_read", "i", "ippp")
_write = function("sinew_rig_write", "i", "spp")
_write_animated = function("sinew_rig_write_animated", "i", "sppp")
_write_drivers = function("sinew_drivers_write", "i", "spp")
_neutral = function("sinew_rig_neutral", "p", "p")
_add_pose = function("sinew_rig_add_pose", "i", "pspp")
_add_target = function("sinew_rig_add_target", "i", "psippp")
_add_region = function("sinew_rig_add_region", "i", "psipp")
_slider_count = function("sinew_rig_slider_count", "i", "p")
_slider_name = function("sinew_rig_slider_name", "s", "pi")
_slider_rest = function("sinew_rig_slider_rest", "d", "pi")
_limits = (function("sinew_rig_slider_minimum", "d", "pi"),
           function("sinew_rig_slider_maximum", "d", "pi"))
_set_limits = function("sinew_rig_set_limits", "i", "piddp")
_find_slider = function("sinew_rig_find_slider", "i", "ps")
_target_count = function("sinew_rig_target_count", "i", "p")
_target_name = function("sinew_rig_target_name", "s", "pi")
_target_kind = function("sinew_rig_target_kind", "i", "pi")
_target_slider = function("sinew_rig_target_slider", "i", "pi")
_target_at = function("sinew_rig_target_at", "d", "pi")
_driver_count = function("sinew_rig_target_driver_count", "i", "pi")
_drivers = function("sinew_rig_target_drivers", "p", "pi")
_combine = function("sinew_rig_target_combine", "i", "pi")
_term_count = function("sinew_rig_target_term_count", "i", "pi")
_terms = function("sinew_rig_target_terms", "p", "pi")
_shape = function("sinew_rig_shape", "v", "pip")
_region_count = function("sinew_rig_region_count", "i", "p")
_region_name = function("sinew_rig_region_name", "s", "pi")
_sample = function("sinew_sample_rig", "i", "sppp")
_sample_curves = function("sinew_sample_curves", "i", "spp")
_sample_count = function("sinew_sample_count", "i", "")
_sample_name = function("sinew_sample_name", "s", "i")
_sample_markers = function("sinew_sample_markers", "i", "sppppp")
_sample_marker_init = function("sinew_sample_marker_options_init", "v", "p")
_sample_init = function("sinew_sample_options_init", "v", "p")


RULES = ("multiply", "lowest", "smooth_lowest", "polynomial", "hinge")  # as sinew_combine


class Term(ctypes.Structure):
    _fields_ = [("coefficient", ctypes.c_double), ("driver", ctypes.c_int * 3),
                ("power", ctypes.c_int * 3)]


class Rig(Handle):
    """A neutral mesh and the sliders that move it.

    >>> flat = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> rig = Rig(flat)
    >>> rig.add_pose("lift", [[0, 0, 0], [1, 0, 0], [0, 1, 1]])
    >>> rig.sliders
    ['lift']
    >>> float(rig.shape("lift")[2, 2])
    1.0
    """

    _release = staticmethod(_destroy)

    def __init__(self, neutral: Mesh):
        mesh, handle = c_void_p(), c_void_p()
        call(_copy_mesh, neutral._handle, byref(mesh))
        call(_create, mesh, byref(handle))  # takes the mesh, on failure too
        self._handle = handle

    @classmethod
    def read(cls, *paths) -> "Rig":
        """Read one rig file or folder (GLB, FBX, …), or a neutral followed by targets or poses."""
        names = [os.fsencode(path) for path in paths]
        array = (ctypes.c_char_p * len(names))(*names)
        handle = c_void_p()
        call(_read, len(names), ctypes.cast(array, c_void_p), byref(handle))
        return cls._of(handle)

    def write(self, path, curves: Curves | None = None) -> None:
        """Write a GLB, an FBX or a folder; with curves, an animated GLB or FBX."""
        if curves is None:
            call(_write, os.fsencode(path), self._handle)
        else:
            call(_write_animated, os.fsencode(path), self._handle, curves._handle)

    def write_drivers(self, path) -> None:
        """Write the driver table: how slider weights become target weights (docs/bake.md)."""
        call(_write_drivers, os.fsencode(path), self._handle)

    @property
    def neutral(self) -> Mesh:
        return Mesh._of(c_void_p(_neutral(self._handle)), self)

    @property
    def vertex_count(self) -> int:
        return self.neutral.vertex_count

    @property
    def sliders(self) -> list[str]:
        return [_slider_name(self._handle, i).decode() for i in range(_slider_count(self._handle))]

    @property
    def targets(self) -> list[str]:
        return [_target_name(self._handle, i).decode() for i in range(_target_count(self._handle))]

    @property
    def regions(self) -> list[str]:
        return [_region_name(self._handle, i).decode() for i in range(_region_count(self._handle))]

    def limits(self, slider: str) -> tuple[float, float]:
        index = self.index(slider)
        return _limits[0](self._handle, index), _limits[1](self._handle, index)

    def set_limits(self, slider: str, minimum: float, maximum: float) -> None:
        """Set the range of a slider, which locks, drags and fits respect."""
        call(_set_limits, self._handle, self.index(slider), minimum, maximum)

    def index(self, slider: str) -> int:
        """Index of a slider by name; ARKit, ICT and Left/_L spellings are understood."""
        found = _find_slider(self._handle, slider.encode())
        if found < 0:
            raise KeyError(f"the rig has no slider '{slider}'")
        return found

    def weights(self, values=None) -> np.ndarray:
        """Slider weights as an array: from a dictionary, a sequence, or the rest weights."""
        count = _slider_count(self._handle)
        if values is None or isinstance(values, dict):
            array = np.array([_slider_rest(self._handle, i) for i in range(count)])
            for name, value in (values or {}).items():
                array[self.index(name)] = value
            return array
        return given(values, np.float64, (count,), "weights")

    def shape(self, target: str) -> np.ndarray:
        """Positions of a single target at full weight."""
        names = self.targets
        if target not in names:
            raise KeyError(f"the rig has no target '{target}'")
        positions = np.empty((self.vertex_count, 3))
        _shape(self._handle, names.index(target), address(positions))
        return positions

    def target_drivers(self, target: str) -> dict:
        """What drives a target: {"kind": "plain" | "inbetween", "slider", "at", "previous", "next"}
        with the neighboring values on the slider, or {"kind": "combination", "rule", "drivers"}.
        The rules "polynomial" and "hinge" have "terms", too: [(coefficient, [(driver, power), …]),
        …], where driver is a position in "drivers" (docs/bake.md)."""
        names, sliders = self.targets, self.sliders
        if target not in names:
            raise KeyError(f"the rig has no target '{target}'")
        index = names.index(target)
        kind = ("plain", "inbetween", "combination")[_target_kind(self._handle, index)]
        if kind == "combination":
            count = _driver_count(self._handle, index)
            drivers = view(_drivers(self._handle, index), (count,), np.int32, self)
            found = {"kind": kind, "rule": RULES[_combine(self._handle, index)],
                     "drivers": [sliders[d] for d in drivers]}
            count = _term_count(self._handle, index)
            if count:
                terms = ctypes.cast(_terms(self._handle, index), ctypes.POINTER(Term))[:count]
                found["terms"] = [(t.coefficient, [(d, p) for d, p in zip(t.driver, t.power) if p])
                                  for t in terms]
            return found
        slider, at = _target_slider(self._handle, index), _target_at(self._handle, index)
        knots = [_slider_rest(self._handle, slider)]
        knots += [_target_at(self._handle, k) for k in range(len(names))
                  if _target_slider(self._handle, k) == slider]
        return {"kind": kind, "slider": sliders[slider], "at": at,
                "previous": max((k for k in knots if k < at), default=None),
                "next": min((k for k in knots if k > at), default=None)}

    def add_pose(self, name: str, positions) -> None:
        """Add a target and its slider from the positions of the posed mesh."""
        points = given(positions, np.float64, (self.vertex_count, 3), "positions")
        call(_add_pose, self._handle, name.encode(), address(points))

    def add_target(self, name: str, vertices, deltas) -> None:
        """Add a target and its slider from the displacements of some vertices."""
        index = given(vertices, np.int32, what="vertices")
        moved = given(deltas, np.float64, (len(index), 3), "deltas")
        call(_add_target, self._handle, name.encode(), len(index), address(index), address(moved))

    def add_region(self, name: str, vertices) -> None:
        index = given(vertices, np.int32, what="vertices")
        call(_add_region, self._handle, name.encode(), len(index), address(index))


def sample_names() -> list[str]:
    """Names of the built-in rigs."""
    return [_sample_name(i).decode() for i in range(_sample_count())]


def sample(name: str, vertices: int = 0) -> Rig:
    """A built-in rig; ``vertices`` is its approximate number of vertices, 0 for the default.

    >>> sample("bar", vertices=1000).sliders[0]
    'bend120'
    """
    options, handle = SampleOptions(), c_void_p()
    options.size = ctypes.sizeof(options)
    options.vertices = vertices
    call(_sample, name.encode(), byref(options), byref(handle))
    return Rig._of(handle)


def sample_markers(name: str, vertices: int = 0, *, noise: float = 0.0,
                   gaps: float = 0.0) -> tuple[Markers, MarkerMap]:
    """The clip of a built-in face as 60 markers, and where they sit. ``noise``: standard deviation
    of a coordinate in meters; ``gaps``: fraction of missing positions.

    >>> take, where = sample_markers("face", vertices=1500)
    >>> len(take.names), len(where.names)
    (60, 60)
    """
    options, more = SampleOptions(), SampleMarkerOptions()
    options.size, options.vertices = ctypes.sizeof(options), vertices
    _sample_marker_init(byref(more))
    more.noise, more.gaps = noise, gaps
    take, where = c_void_p(), c_void_p()
    call(_sample_markers, name.encode(), byref(options), byref(more), byref(take), byref(where))
    return Markers._of(take), MarkerMap._of(where)


def sample_curves(name: str) -> Curves:
    """The clip that belongs to a built-in rig."""
    handle = c_void_p()
    call(_sample_curves, name.encode(), byref(handle))
    return Curves._of(handle)

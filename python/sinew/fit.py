"""Slider weights from markers."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p

import numpy as np

from ._arrays import address, given
from ._library import FitInfo, Handle, call, function
from .markers import Capture, MarkerMap
from .rig import Rig
from .tracks import Curves

_create = function("sinew_fit_create", "i", "ppppp")
_destroy = function("sinew_fit_destroy", "v", "p")
_frame = function("sinew_fit_frame", "i", "pppppp")


class Fit(Handle):
    """Solves for the slider weights whose shape fits the markers best, frame by frame.

    >>> from sinew import sample, sample_markers
    >>> face = sample("face", vertices=1500)
    >>> take, where = sample_markers("face", vertices=1500)
    >>> fit = Fit(face, where)
    >>> weights = fit.frame(where.points(face.neutral, face.shape("jawOpen")))
    >>> bool(weights[face.index("jawOpen")] > 0.8)
    True
    """

    _release = staticmethod(_destroy)

    def __init__(self, rig: Rig, map: MarkerMap):
        self._rig, self._names = rig, map.names  # the rig must outlive the fit
        handle = c_void_p()
        call(_create, rig._handle, map._handle, None, byref(handle))
        self._handle = handle
        self.weights = rig.weights()
        self.marker_error = 0.0

    def frame(self, markers, marker_weights=None) -> np.ndarray:
        """The weights of one frame: markers in the order of the map, NaN where missing. Starts from
        the previous frame. ``marker_error`` is set to the remaining RMS distance."""
        points = given(markers, np.float64, (len(self._names), 3), "markers")
        shares = None if marker_weights is None else \
            given(marker_weights, np.float64, (len(self._names),), "marker_weights")
        info = FitInfo()
        info.size = ctypes.sizeof(info)
        call(_frame, self._handle, address(points), address(shares), address(self.weights),
             byref(info))
        self.marker_error = info.marker_error
        return self.weights.copy()

    def take(self, capture: Capture, times) -> Curves:
        """Weight curves of a prepared take at the given times."""
        rows = [self.frame(capture.sample(time), capture.weights(time)) for time in times]
        return Curves(self._rig.sliders, times, rows)

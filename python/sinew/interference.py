"""Interference: which targets disturb each other, and which vertices a lock should hold."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p
from dataclasses import dataclass, field
from typing import Callable

import numpy as np

from ._arrays import address
from ._library import Cancelled, InterferenceAdvice, InterferencePair, call, function
from .rig import Rig

_space = function("sinew_slider_space_create", "i", "ppp")
_space_destroy = function("sinew_slider_space_destroy", "v", "p")
_create = function("sinew_interference_create", "i", "pippp")
_destroy = function("sinew_interference_destroy", "v", "p")
_worst = function("sinew_interference_worst", "i", "ppip")
_advise = function("sinew_interference_advise", "i", "piipppp")


@dataclass
class Interference:
    """One target that is disturbed by another."""

    disturbed: str
    disturber: str
    disturbance: float  # motion of the disturber on the vertices of the disturbed, over its own
    cosine: float  # 1: both do the same, -1: they undo each other
    vertex: int  # where they meet most
    lock: np.ndarray | None = field(default=None, repr=False)  # vertices that a lock should hold
    reduction: float = 1.0  # of their motion by that lock


def interference(rig: Rig, limit: int = 20, advice: bool = False, *,
                 progress: Callable[[float, str], None] | None = None,
                 cancelled: Callable[[], bool] | None = None) -> list[Interference]:
    """The worst pairs of targets, worst first. With ``advice``, the vertices of a lock that
    reduces the disturbance, where one helps. ``cancelled`` is called before each pair;
    :class:`Cancelled` is raised when it returns True.

    >>> from sinew import sample
    >>> pairs = interference(sample("face", vertices=1500), limit=3)
    >>> len(pairs), pairs[0].disturbance > pairs[0].cosine
    (3, True)
    """
    space, handle = c_void_p(), c_void_p()
    call(_space, rig._handle, byref(space))
    try:
        call(_create, space, 0, None, byref(handle))
        pairs = (InterferencePair * max(1, limit))()
        count = _worst(space, handle, limit, ctypes.cast(pairs, c_void_p))
        names, found = rig.targets, []
        for k, pair in enumerate(pairs[:count]):
            if cancelled and cancelled():
                raise Cancelled("cancelled")
            if progress:
                progress(k / count, "advice")
            one = Interference(names[pair.disturbed], names[pair.disturber], pair.disturbance,
                               pair.cosine, pair.vertex)
            if advice:
                _add_advice(space, rig, pair, one)
            found.append(one)
        return found
    finally:
        if handle:
            _destroy(handle)
        _space_destroy(space)


def _add_advice(space, rig, pair, one):
    told = InterferenceAdvice()
    told.size = ctypes.sizeof(told)
    vertices = np.empty(rig.vertex_count, np.int32)
    try:
        call(_advise, space, pair.disturbed, pair.disturber, None, byref(told), address(vertices))
    except ValueError:  # a combination has no slider to try
        return
    if told.helps:
        one.lock, one.reduction = vertices[:told.vertex_count].copy(), told.reduction

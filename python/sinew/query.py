"""Queries on a triangle surface: first hit of a ray, closest point."""
from __future__ import annotations

from ctypes import byref, c_void_p

import numpy as np

from ._arrays import address, given
from ._library import Closest, Handle, call, function

_create = function("sinew_query_create", "i", "ipippp")
_destroy = function("sinew_query_destroy", "v", "p")
_move = function("sinew_query_move", "i", "ppp")
_closest = function("sinew_query_closest", "B", "ppdp")
_ray = function("sinew_query_ray", "B", "pppdp")


class Query(Handle):
    """A surface that can be queried for ray hits and closest points.

    >>> surface = Query([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> triangle, barycentric, point = surface.ray([0.2, 0.2, 1], [0, 0, -1])
    >>> triangle, point.tolist()
    (0, [0.2, 0.2, 0.0])
    >>> surface.ray([5, 5, 1], [0, 0, -1]) is None
    True
    """

    _release = staticmethod(_destroy)

    def __init__(self, positions, triangles):
        points = given(positions, np.float64, what="positions").reshape(-1, 3)
        corners = given(triangles, np.int32, what="triangles").reshape(-1, 3)
        handle = c_void_p()
        call(_create, len(points), address(points), len(corners), address(corners), byref(handle))
        self._handle, self._count = handle, len(points)

    def move(self, positions) -> None:
        """Set new positions for the same triangles."""
        points = given(positions, np.float64, (self._count, 3), "positions")
        call(_move, self._handle, address(points))

    def ray(self, origin, direction, reach: float = np.inf):
        """The first hit: (triangle, barycentric weights, point), or None."""
        start, along = given(origin, np.float64, (3,)), given(direction, np.float64, (3,))
        hit = Closest()
        if not _ray(self._handle, address(start), address(along), reach, byref(hit)):
            return None
        return hit.triangle, np.array(hit.barycentric), np.array(hit.point)

    def closest(self, point, reach: float = np.inf):
        """The closest point: (triangle, barycentric weights, point), or None beyond ``reach``."""
        place = given(point, np.float64, (3,))
        hit = Closest()
        if not _closest(self._handle, address(place), reach, byref(hit)):
            return None
        return hit.triangle, np.array(hit.barycentric), np.array(hit.point)

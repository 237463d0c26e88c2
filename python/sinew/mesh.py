"""Polygon meshes."""
from __future__ import annotations

import os
from ctypes import byref, c_void_p

import numpy as np

from ._arrays import address, given, view
from ._library import Handle, call, function

_create = function("sinew_mesh_create", "i", "ipipppp")
_destroy = function("sinew_mesh_destroy", "v", "p")
_read = function("sinew_mesh_read", "i", "spp")
_write = function("sinew_mesh_write", "i", "spp")
_pose = function("sinew_pose_read", "i", "ssdpp")
_count = {name: function(f"sinew_mesh_{name}_count", "i", "p")
          for name in ("vertex", "face", "triangle", "part")}
_positions = function("sinew_mesh_positions", "p", "p")
_triangles = function("sinew_mesh_triangles", "p", "p")
_starts = function("sinew_mesh_face_starts", "p", "p")
_corners = function("sinew_mesh_face_vertices", "p", "p")
_part_name = function("sinew_mesh_part_name", "s", "pi")


class Mesh(Handle):
    """A polygon mesh as stored in its file: the order of vertices and faces never changes.

    >>> quad = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2, 3]])
    >>> quad.vertex_count, quad.face_count, len(quad.triangles)
    (4, 1, 2)
    """

    _release = staticmethod(_destroy)

    def __init__(self, positions, faces):
        """``faces``: a list of lists of vertices, or an array (faces, corners)."""
        if isinstance(faces, np.ndarray) and faces.ndim == 2:
            starts = np.arange(len(faces) + 1, dtype=np.int32) * faces.shape[1]
            corners = faces
        else:
            starts = np.zeros(len(faces) + 1, np.int32)
            starts[1:] = np.cumsum([len(face) for face in faces])
            corners = (np.concatenate([np.asarray(face, np.int32) for face in faces])
                       if len(faces) else np.zeros(0, np.int32))
        self._make(positions, starts, corners)

    @classmethod
    def from_arrays(cls, positions, starts, corners) -> "Mesh":
        """A mesh from flat arrays, without a loop over faces: face ``i`` has the vertices
        ``corners[starts[i]:starts[i + 1]]``.

        >>> pair = Mesh.from_arrays(np.eye(4, 3), [0, 3, 6], [0, 1, 2, 0, 2, 3])
        >>> pair.face_count
        2
        """
        mesh = cls.__new__(cls)
        mesh._make(positions, starts, corners)
        return mesh

    def _make(self, positions, starts, corners):
        points = given(positions, np.float64, what="positions").reshape(-1, 3)
        starts, corners = given(starts, np.int32), given(corners, np.int32)
        if len(starts) == 0 or starts[-1] != corners.size:
            raise ValueError("the last start must be the number of corners")
        handle = c_void_p()
        call(_create, len(points), address(points), len(starts) - 1, address(starts),
             address(corners), byref(handle))
        self._handle = handle

    @classmethod
    def read(cls, path, clip: str | None = None, at: float | None = None) -> "Mesh":
        """Read a mesh; with ``at``, the pose of a clip at that time in seconds."""
        handle = c_void_p()
        name = os.fsencode(path)
        if at is None and clip is None:
            call(_read, name, byref(handle))
        else:
            call(_pose, name, clip.encode() if clip else None, at or 0.0, byref(handle))
        return cls._of(handle)

    def write(self, path) -> None:
        """Write the mesh; the extension selects the format."""
        call(_write, os.fsencode(path), self._handle)

    @property
    def vertex_count(self) -> int:
        return _count["vertex"](self._handle)

    @property
    def face_count(self) -> int:
        return _count["face"](self._handle)

    @property
    def positions(self) -> np.ndarray:
        """(vertices, 3), read-only."""
        return view(_positions(self._handle), (self.vertex_count, 3), np.float64, self)

    @property
    def triangles(self) -> np.ndarray:
        """(triangles, 3): the triangulation that the solvers use, read-only."""
        return view(_triangles(self._handle), (_count["triangle"](self._handle), 3), np.int32, self)

    @property
    def faces(self) -> list:
        """A list of arrays of vertices."""
        starts = view(_starts(self._handle), (self.face_count + 1,), np.int32, self)
        corners = view(_corners(self._handle), (int(starts[-1]),), np.int32, self)
        return [corners[starts[i]:starts[i + 1]] for i in range(self.face_count)]

    @property
    def parts(self) -> list[str]:
        return [_part_name(self._handle, i).decode() for i in range(_count["part"](self._handle))]

"""Numpy arrays over the library's memory, and pointers to numpy's."""
from __future__ import annotations

import ctypes
import math

import numpy as np


def view(pointer, shape, kind, owner) -> np.ndarray:
    """A read-only array over memory of the library; keeps a reference to its owner."""
    count = int(np.prod(shape))
    if not pointer or count == 0:
        return np.zeros(shape, kind)
    kinds = {np.float64: ctypes.c_double, np.float32: ctypes.c_float, np.int32: ctypes.c_int}
    block = (kinds[kind] * count).from_address(pointer)
    block._owner = owner  # numpy keeps the ctypes object, which keeps the owner
    array = np.frombuffer(block, kind).reshape(shape)
    array.flags.writeable = False
    return array


def given(array, kind, shape=None, what="array") -> np.ndarray:
    """The array as the library expects it: contiguous and of that type; copied only if needed."""
    made = np.ascontiguousarray(array, kind)
    if shape is not None and made.size != math.prod(shape):
        raise ValueError(f"{what} has {made.size} numbers, but {math.prod(shape)} are needed")
    return made


def address(array: np.ndarray | None):
    return None if array is None else array.__array_interface__["data"][0]

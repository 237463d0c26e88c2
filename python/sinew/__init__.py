"""Sinew: sliders that behave like flesh.

    >>> import sinew
    >>> bar = sinew.sample("bar", vertices=1000)
    >>> session = sinew.Session(rig=bar, model="rotation")
    >>> half = session.solve({"bend120": 0.5})
    >>> half.positions.shape == (bar.vertex_count, 3)
    True

A :class:`Rig` holds a neutral mesh and its sliders. A :class:`Session` keeps a rig, a model and a
scene in memory while values change: patch it, undo, solve. Arrays are NumPy arrays; where the
library owns the memory, they are read-only views of it. Calls release the interpreter lock, and
Ctrl-C cancels them.
"""
try:
    import numpy as _numpy  # noqa: F401
except ImportError as _error:
    raise ImportError("sinew needs NumPy: run 'pip install numpy', or create the virtual environment "
                      "with --system-site-packages to use the system's") from _error

from ._library import BadInput, Cancelled, Error
from .bake import BakeReport, bake
from .fit import Fit
from .interference import Interference, interference
from .markers import Capture, MarkerMap, Markers
from .mesh import Mesh
from .picture import render, save
from .query import Query
from .rig import Rig, sample, sample_curves, sample_markers, sample_names
from .session import Result, Session, Solver, models
from .tracks import Curves, Frames

__all__ = ["BadInput", "BakeReport", "Cancelled", "Capture", "Curves", "Error", "Fit", "Frames",
           "Interference", "MarkerMap", "Markers", "Mesh", "Query", "Result", "Rig", "Session",
           "Solver", "bake", "interference", "models", "render", "sample", "sample_curves",
           "sample_markers", "sample_names", "save", "version"]


def version() -> str:
    """The version of the library, "0.2.0"."""
    from ._library import function
    return function("sinew_version", "s", "")().decode()

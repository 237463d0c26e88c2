"""Physics as in-betweens and correctives."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p
from dataclasses import dataclass
from typing import Callable

import numpy as np

from ._arrays import address
from ._library import BAKE_MODEL, BAD_INPUT, BakeInfo, BakeOptions, Monitor, call, function
from .rig import Rig
from .session import Session
from .tracks import Curves

_init = function("sinew_bake_options_init", "v", "p")
_bind = function("sinew_rig_bind_curves", "i", "ppppp")


@dataclass
class BakeReport:
    samples: int
    inbetweens: int
    combinations: int
    linear_error: float
    fitted_error: float
    seconds: float


def bake(session: Session, *, max_targets: int = 40, tolerance: float = 1e-3, samples: int = 2400,
         clips: list[Curves] | None = None, style: str = "polynomials",
         self_contact: bool = False,
         progress: Callable[[float, str], None] | None = None,
         cancelled: Callable[[], bool] | None = None) -> tuple[Rig, BakeReport]:
    """Bake the session's model into its rig: correctives that bring the linear blend close to the
    model. ``style`` is "polynomials", or "inbetweens" for programs that support only in-betweens
    and products. ``self_contact``: the model keeps the surface from intersecting itself; adds hinge
    correctives where the linear blend would intersect. ``cancelled`` is called now and then; :class:`Cancelled` is raised when it returns
    True. Errors are fractions of the bounding-box diagonal on the samples that were
    fitted; measure other poses separately.

    >>> from sinew import Session, sample
    >>> session = Session(rig=sample("arm", vertices=1000), model="rotation")
    >>> baked, report = bake(session, max_targets=4, samples=60)
    >>> report.fitted_error < report.linear_error
    True
    """
    _bake = function("sinew_bake", "i", "pppppppp")
    rig = session.rig
    options = BakeOptions()
    _init(byref(options))
    options.max_targets, options.tolerance, options.max_samples = max_targets, tolerance, samples
    options.style = ("polynomials", "inbetweens").index(style)
    options.self_contact = self_contact
    sliders, vertices = len(rig.sliders), rig.vertex_count
    rows = []
    for clip in clips or []:
        bound = c_void_p()
        call(_bind, rig._handle, clip._handle, byref(bound), None)
        rows.append(np.array(Curves._of(bound).values))
    table = np.ascontiguousarray(np.concatenate(rows)) if rows else None
    options.row_count, options.rows = (len(table), address(table)) if rows else (0, None)
    failure = []

    def model(weights, positions, _user, _monitor, _error):
        try:
            w = np.ctypeslib.as_array(weights, (sliders,))
            session.solve(w, out=np.ctypeslib.as_array(positions, (vertices, 3)))
            return 0
        except BaseException as error:  # noqa: B902: carried over the C frames
            failure.append(error)
            return BAD_INPUT

    info, handle = BakeInfo(), c_void_p()
    info.size = ctypes.sizeof(info)
    monitor = Monitor(progress=progress, cancelled=cancelled)
    try:
        call(_bake, rig._handle, byref(options), ctypes.cast(BAKE_MODEL(model), c_void_p), None,
             monitor.pointer, byref(handle), byref(info), monitor=monitor)
    except Exception:
        if failure:
            raise failure[0]
        raise
    return Rig._of(handle), BakeReport(info.samples, info.inbetweens, info.combinations,
                                       info.linear_error, info.fitted_error, info.seconds)

"""Pictures without a display."""
from __future__ import annotations

import ctypes
import struct
import zlib
from ctypes import byref, c_void_p
from functools import cache
from typing import Sequence

import numpy as np

from ._arrays import address, given
from ._library import Image, Panel, RenderOptions, call, function
from .mesh import Mesh


@cache
def _functions():
    """Loaded with the first picture: they bring the graphics libraries of the system along."""
    return (function("sinew_render_options_init", "v", "p", "render"),
            function("sinew_render", "i", "ipppp", "render"),
            function("sinew_image_destroy", "v", "p", "render"))


def render(mesh: Mesh, positions=None, *, labels: Sequence[str] | None = None,
           extras: Sequence[Mesh] = (), columns: int = 0, width: int = 1280, height: int = 720,
           azimuth: float | None = None, elevation: float | None = None, zoom: float = 1.0,
           heat=None, title: str | None = None, wireframe: bool = False,
           ground: bool = True) -> np.ndarray:
    """Draw a mesh, or several shapes of it side by side: returns an array (height, width, 3)
    of bytes in the order red, green, blue. ``positions``: (vertices, 3), or a list of such arrays.
    ``labels``: one per shape. ``extras``: other meshes such as obstacles, drawn in gray beside each
    shape. ``columns``: shapes in a row, 0 for as many as fit. ``heat``: a value per vertex.

    >>> from sinew import sample
    >>> bar = sample("bar", vertices=1000)
    >>> picture = render(bar.neutral, [None, bar.shape("bend120")], labels=["rest", "bent"],
    ...                  width=320, height=180)
    >>> picture.shape, picture.dtype
    ((180, 320, 3), dtype('uint8'))
    """
    shapes = positions if isinstance(positions, (list, tuple)) else [positions]
    if labels is not None and len(labels) != len(shapes):
        raise ValueError(f"there are {len(labels)} labels for {len(shapes)} shapes")
    kept, panels = [], (Panel * len(shapes))()
    others = (c_void_p * max(1, len(extras)))(*[extra._handle for extra in extras])
    for i, (panel, shape) in enumerate(zip(panels, shapes)):
        panel.mesh = mesh._handle
        panel.extras, panel.extra_count = ctypes.cast(others, c_void_p), len(extras)
        if labels is not None:
            panel.label = labels[i].encode()
        if shape is not None:
            kept.append(given(shape, np.float64, (mesh.vertex_count, 3), "positions"))
            panel.positions = address(kept[-1])
        if heat is not None:
            kept.append(given(heat, np.float64, (mesh.vertex_count,), "heat"))
            panel.heat = address(kept[-1])
    init, draw, destroy = _functions()
    options = RenderOptions()
    init(byref(options))
    options.width, options.height, options.wireframe = width, height, wireframe
    options.columns, options.zoom, options.ground = columns, zoom, ground
    if azimuth is not None:
        options.azimuth = azimuth
    if elevation is not None:
        options.elevation = elevation
    if title is not None:
        options.title = title.encode()
    handle = c_void_p()
    call(draw, len(shapes), ctypes.cast(panels, c_void_p), byref(options), byref(handle))
    try:
        image = Image.from_address(handle.value)
        pixels = np.ctypeslib.as_array(image.pixels, (image.height, image.width, 4))
        return pixels[:, :, 2::-1].copy()
    finally:
        destroy(handle)


def save(path, picture) -> None:
    """Write a picture (height, width, 3) of bytes as a PNG file."""
    rows = np.asarray(picture, np.uint8)
    if rows.ndim != 3 or rows.shape[2] != 3:
        raise ValueError("a picture is an array (height, width, 3)")
    height, width, _ = rows.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), rows.reshape(height, -1)], axis=1)

    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))

    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n"
                   + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)) + chunk(b"IEND", b""))

"""Pictures without a display."""
from __future__ import annotations

import ctypes
import struct
import zlib
from ctypes import byref, c_void_p

import numpy as np

from ._arrays import address, given
from ._library import Image, Panel, RenderOptions, call, function
from .mesh import Mesh

_init = function("sinew_render_options_init", "v", "p")
_render = function("sinew_render", "i", "ipppp")
_destroy = function("sinew_image_destroy", "v", "p")


def render(mesh: Mesh, positions=None, *, width: int = 1280, height: int = 720,
           azimuth: float | None = None, elevation: float | None = None, heat=None,
           title: str | None = None, wireframe: bool = False) -> np.ndarray:
    """Draw a mesh, or several shapes of it side by side: returns an array (height, width, 3)
    of bytes in the order red, green, blue. ``positions``: (vertices, 3), or a list of such arrays.

    >>> from sinew import sample
    >>> bar = sample("bar", vertices=1000)
    >>> picture = render(bar.neutral, [None, bar.shape("bend120")], width=320, height=180)
    >>> picture.shape, picture.dtype
    ((180, 320, 3), dtype('uint8'))
    """
    shapes = positions if isinstance(positions, (list, tuple)) else [positions]
    kept, panels = [], (Panel * len(shapes))()
    for panel, shape in zip(panels, shapes):
        panel.mesh = mesh._handle
        if shape is not None:
            kept.append(given(shape, np.float64, (mesh.vertex_count, 3), "positions"))
            panel.positions = address(kept[-1])
        if heat is not None:
            kept.append(given(heat, np.float64, (mesh.vertex_count,), "heat"))
            panel.heat = address(kept[-1])
    options = RenderOptions()
    _init(byref(options))
    options.width, options.height, options.wireframe = width, height, wireframe
    if azimuth is not None:
        options.azimuth = azimuth
    if elevation is not None:
        options.elevation = elevation
    if title is not None:
        options.title = title.encode()
    handle = c_void_p()
    call(_render, len(shapes), ctypes.cast(panels, c_void_p), byref(options), byref(handle))
    try:
        image = Image.from_address(handle.value)
        pixels = np.ctypeslib.as_array(image.pixels, (image.height, image.width, 4))
        return pixels[:, :, 2::-1].copy()
    finally:
        _destroy(handle)


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

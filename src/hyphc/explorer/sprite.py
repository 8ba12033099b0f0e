"""Sprite sheet of leaf thumbnails, written as PNG with zlib alone, since the explorer has no dependencies."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

# No thumbnail is wider or higher than this, and all together have no more than so many pixels: browsers hold images of
# 16 384 pixels a side at the most, and the page must not weigh more than what it shows.
MAX_SIDE = 48
MAX_PIXELS = 24_000_000

_COLOUR_TYPES = {1: 0, 2: 4, 3: 2}  # channels → PNG's colour type: grey, grey with alpha, RGB


def sprite(images: npt.ArrayLike, n: int) -> dict[str, Any]:
    """Return the ``n`` images as {"uri", "columns", "width", "height", "ink"}.

    Images have shape (n, h, w) or (n, h, w, 3). Grey ones whose corners are background, as those of drawings and digits,
    become ink: black of an opacity that grows with the distance from the background, which the page can draw in any colour.
    """
    pixels = shrink(_as_bytes(images, n))
    ink = pixels.shape[3] == 1
    if ink:
        corners = pixels[:, [0, 0, -1, -1], [0, -1, 0, -1], 0]
        background = float(np.median(corners))
        ink = background <= 25 or background >= 230
        if ink:
            opacity = pixels if background <= 25 else 255 - pixels
            pixels = np.concatenate([np.zeros_like(opacity), opacity], axis=3)
    height, width = pixels.shape[1:3]
    columns = max(1, int(np.ceil(np.sqrt(n * height / width))))
    uri = "data:image/png;base64," + base64.b64encode(png(tile(pixels, columns))).decode()
    return {"uri": uri, "columns": columns, "width": width, "height": height, "ink": ink}


def _as_bytes(images: npt.ArrayLike, n: int) -> Bytes:
    """Return images as (n, h, w, channels) of uint8; other values are rescaled from [0, 1] or from their own range."""
    array = np.asarray(images)
    if array.ndim == 3:
        array = array[..., None]
    if array.ndim != 4 or array.shape[3] not in (1, 3) or array.shape[0] != n or 0 in array.shape:
        raise ValueError(f"images has shape {np.shape(images)}; pass ({n}, h, w) grey or ({n}, h, w, 3) colour images.")
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind not in "fiub":
        raise ValueError(f"images must hold numbers; got {array.dtype}.")
    low, high = float(array.min()), float(array.max())
    if not np.isfinite(low + high):
        raise ValueError("images holds NaN or infinite pixels; replace them first.")
    if low >= 0.0 and high <= 1.0:
        low, high = 0.0, 1.0
    return np.asarray(np.rint((array - low) * (255.0 / (high - low or 1.0)))).astype(np.uint8)


def shrink(pixels: Bytes) -> Bytes:
    """Return images downsampled by block means to at most `MAX_SIDE`, all together within `MAX_PIXELS`."""
    n, height, width, _ = pixels.shape
    scale = min(1.0, MAX_SIDE / max(height, width), np.sqrt(MAX_PIXELS / (n * height * width)))
    if scale == 1.0:
        return pixels
    new = [max(1, int(side * scale)) for side in (height, width)]
    shrunk = np.empty((n, *new, pixels.shape[3]), dtype=np.uint8)
    edges = [np.arange(count) * side // count for count, side in zip(new, (height, width), strict=True)]
    areas = np.diff(edges[0], append=height)[:, None, None] * np.diff(edges[1], append=width)[:, None]
    step = max(1, 16_000_000 // (height * width))
    for begin in range(0, n, step):
        rows = np.add.reduceat(pixels[begin : begin + step].astype(np.float64), edges[0], axis=1)
        shrunk[begin : begin + step] = np.rint(np.add.reduceat(rows, edges[1], axis=2) / areas)
    return shrunk


def tile(pixels: Bytes, columns: int) -> Bytes:
    """Return images side by side, ``columns`` to a row: (rows·h, columns·w, channels)."""
    n, height, width, channels = pixels.shape
    rows = -(-n // columns)
    padded = np.zeros((rows * columns, height, width, channels), dtype=np.uint8)
    padded[:n] = pixels
    grid = padded.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    return grid.reshape(rows * height, columns * width, channels)


def png(pixels: Bytes) -> bytes:
    """Return a PNG file of (h, w, channels) pixels of 8 bits, 1 to 3 channels.

    Examples
    --------
    >>> png(np.zeros((2, 2, 3), dtype=np.uint8))[1:4]
    b'PNG'
    """
    height, width, channels = pixels.shape
    lines = np.zeros((height, 1 + width * channels), dtype=np.uint8)  # each line begins with its filter: none
    lines[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

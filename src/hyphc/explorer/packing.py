"""Base64 encoding of arrays for the page's data block."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

Fields = dict[str, Any]


def encode_array(array: npt.NDArray[Any], dtype: str) -> str:
    """Return the numbers as little-endian bytes, in base64."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode()

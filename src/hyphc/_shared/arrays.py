"""Names for the arrays that everything here is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Records = Any  # array of records, or one of them


def record(*fields: tuple[Any, ...]) -> np.dtype[Any]:
    """A dtype whose entries have attributes, ``array[i].field``, in kernels and in plain Python alike."""
    return np.dtype((np.record, np.dtype(list(fields), align=True)))


def one_of(dtype: np.dtype[Any]) -> Records:
    """A single record of zeros, to be changed in place."""
    return np.zeros((), dtype=dtype)[()]

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
    hidden = [name for name, *_ in fields if hasattr(np.record, name)]
    if hidden:  # ``array[i].size`` would be the field in kernels and NumPy's own attribute in plain Python
        raise ValueError(f"Fields {hidden} are named like attributes of NumPy's records; choose other names.")
    return np.dtype((np.record, np.dtype(list(fields), align=True)))


def one_of(dtype: np.dtype[Any]) -> Records:
    """A single record of zeros, to be changed in place."""
    return np.zeros((), dtype=dtype)[()]

"""Array types, records, and views that cannot be written to."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Records = Any  # array of records, or one of them


def record_dtype(*fields: tuple[Any, ...]) -> np.dtype[Any]:
    """Return a dtype whose entries have attributes, ``array[i].field``, in kernels and in plain Python alike."""
    for name, *_ in fields:
        if hasattr(np.record, name):
            raise ValueError(
                f"{name!r} is an attribute of every NumPy record and would hide the field; choose another name."
            )
    return np.dtype((np.record, np.dtype(list(fields), align=True)))


def zero_record(dtype: np.dtype[Any]) -> Records:
    """Return a single record of zeros, to be changed in place."""
    return np.zeros((), dtype=dtype)[()]


@overload
def read_only(array: None) -> None: ...
@overload
def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]: ...
def read_only(array: npt.NDArray[Any] | None) -> npt.NDArray[Any] | None:
    """Return a view that cannot be written to; None for None."""
    if array is None:
        return None
    view = array.view()
    view.flags.writeable = False
    return view

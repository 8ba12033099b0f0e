"""pandas and polars frames with text, boolean and categorical columns; neither package is imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._runtime.arrays import Floats
from ..._runtime.sanitize import is_number
from ..._runtime.table_columns import is_missing_value
from .mixed_types import MixedTable, encode_categories


def is_frame(X: Any) -> bool:
    """Return whether X looks like a frame: named columns with a dtype each."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and not isinstance(X, MixedTable)


def has_categories(X: Any) -> bool:
    """Return whether X is a frame with a column of text or categories."""
    return is_frame(X) and first_grouping(X) is not None


def first_grouping(frame: Any) -> str | None:
    """Return the name of the first column of a frame that holds text or categories."""
    named = zip(frame.columns, _columns(frame), strict=True)
    return next((str(name) for name, column in named if _is_grouping(column)), None)


def require_columns(frame: Any) -> None:
    """Raise for the first column that holds neither numbers nor categories, and for the first infinite number."""
    for c, (name, column) in enumerate(zip(frame.columns, _columns(frame), strict=True)):
        if _holds_numbers(column):
            _require_not_infinite(column, str(name), c)
        elif not _is_grouping(column):
            _numbers(column, str(name))


def _holds_numbers(column: Any) -> bool:
    """Return whether the dtype of a column (NumPy, pandas or polars) is real or boolean."""
    dtype = column.dtype
    if hasattr(dtype, "is_numeric"):
        return bool(dtype.is_numeric()) or type(dtype).__name__ == "Boolean"
    return getattr(dtype, "kind", "") in ("f", "i", "u", "b")


def _require_not_infinite(column: Any, name: str, c: int) -> None:
    if str(column.dtype).lower().startswith(("int", "uint", "bool")):
        return
    is_pandas = hasattr(column, "isna")
    values = column.to_numpy(np.float64, na_value=np.nan) if is_pandas else np.asarray(column.to_numpy(), np.float64)
    infinite = np.isinf(values)
    if infinite.any():
        i = int(infinite.argmax())
        raise ValueError(
            f"column {name!r}, row {i} is {values[i]} (X[{i}, {c}]); correct infinite values first, or put NaN where a value is "
            "missing."
        )


def to_table(frame: Any, like: MixedTable | None = None) -> MixedTable:
    """Convert a frame to a table; categories are encoded as in ``like``, if it is given.

    Categories are columns of pandas' or polars' categorical and string types and, among objects, those that are not all numbers.
    Booleans are the numbers 0 and 1.
    """
    columns = _columns(frame)
    names = tuple(map(str, frame.columns))
    if like is not None and len(columns) != len(like.columns):
        raise ValueError(
            f"X has {len(columns)} columns but the fitted rows have {len(like.columns)}; pass the same columns."
        )
    values, categories = np.empty((len(frame), len(columns))), list[tuple[str, ...] | None]()
    for c, (name, column) in enumerate(zip(names, columns, strict=True)):
        known = None if like is None else like.categories[c]
        if known is not None or (like is None and _is_grouping(column)):
            values[:, c], found = encode_categories(list(column), name, known)
        else:
            values[:, c], found = _numbers(column, name), None
        categories.append(found)
    return MixedTable(values, tuple(categories), names)


def _columns(frame: Any) -> list[Any]:
    """Return the columns in order, by position, since names in pandas may repeat."""
    if hasattr(frame, "iloc"):
        return [frame.iloc[:, c] for c in range(frame.shape[1])]
    return list(frame.get_columns()) if hasattr(frame, "get_columns") else [frame[name] for name in frame.columns]


def _is_grouping(column: Any) -> bool:
    """Return whether a column holds text or categories: by its dtype, and for Python objects by their types."""
    kind = type(column.dtype).__name__
    if kind in ("CategoricalDtype", "StringDtype", "Categorical", "Enum", "String", "Utf8"):
        return True
    if getattr(column.dtype, "kind", "") not in ("O", "U", "S") and kind != "Object":
        return False
    # other types are not categories: the conversion to numbers raises the error
    return any(isinstance(value, str) and not is_number(value) for value in column if not is_missing_value(value))


def _numbers(column: Any, name: str) -> Floats:
    """Return the column as floats, NaN where it is missing."""
    try:
        # a difference of times is a number to Python, of unknown unit
        if getattr(column.dtype, "kind", "") in ("m", "M"):
            raise TypeError
        return np.array([np.nan if is_missing_value(value) else float(value) for value in column])
    except (TypeError, ValueError):
        raise ValueError(
            f"column {name!r} holds {column.dtype}, neither numbers nor categories; turn it into one of them (dates and times "
            "into days or seconds since some day), or leave it out."
        ) from None

"""Columns of tables: each is numbers, or classes with names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Ints
from .validation import to_array

# Whole numbers with at most so many different values, each on two rows on average, number classes; others are measurements.
MOST_CLASSES = 21
# Texts of missing labels; −1 is scikit-learn's label of noise.
NO_LABEL = ("", "-1", "-1.0", "nan")


@dataclass(frozen=True, eq=False)
class TableColumn:
    """A column of n rows: ``numbers``, NaN where missing; or ``codes`` of ``classes``, −1 where missing."""

    name: str
    numbers: Floats | None
    codes: Ints | None = None
    classes: tuple[str, ...] = ()


def parse_columns(table: Any, n: int, what: str, *, default: str = "label", classes: bool = True) -> list[TableColumn]:
    """Return the columns of a frame, a table of names and values, a single column or an array (n, d), each with its name.

    ``default`` is the name of a single column that has none; ``classes`` lets a few whole numbers be classes.

    Examples
    --------
    >>> [one, two] = parse_columns({"kind": ["a", "b", "a"], "length": [1.5, None, 2.5]}, 3, "annotations")
    >>> one.codes, one.classes, two.numbers
    (array([0, 1, 0]), ('a', 'b'), array([1.5, nan, 2.5]))
    """
    return [as_column(name, values, n, what, classes) for name, values in _named(table, default, what)]


def _named(table: Any, default: str, what: str) -> Iterator[tuple[str, Any]]:
    if isinstance(table, Mapping):
        yield from ((str(name), values) for name, values in table.items())
    elif hasattr(table, "iloc") and hasattr(table, "columns"):  # pandas: two columns may share a name
        yield from ((str(name), table.iloc[:, j]) for j, name in enumerate(table.columns))
    elif hasattr(table, "columns") and hasattr(table, "__getitem__"):
        yield from ((str(name), table[name]) for name in table.columns)
    elif hasattr(table, "tocsc"):  # a sparse matrix: column by column, never all of them full
        by_column = table.tocsc()
        for j in range(by_column.shape[1]):
            yield f"feature {j}", by_column[:, [j]].toarray().ravel()
    elif (values := to_array(table, what)).ndim == 2:
        called = getattr(table, "columns", None) or [f"feature {j}" for j in range(values.shape[1])]
        yield from zip(map(str, called), values.T, strict=True)
    else:
        name = getattr(table, "name", None)
        yield default if name is None else str(name), values


def as_column(name: str, values: Any, n: int, what: str, classes: bool = True) -> TableColumn:
    """Return a column: of numbers, unless these number classes; of classes in sorted order otherwise."""
    array = to_array(values, f"{what}: {name!r}")
    if array.dtype.kind == "c":
        raise ValueError(f"{what}: {name!r} holds {array.dtype}; take real and imaginary parts as columns.")
    if array.shape != (n,):
        raise ValueError(f"{what}: {name!r} has shape {array.shape}; pass ({n},), one value for each leaf.")
    if array.dtype.kind == "O":
        array = _unboxed(array)
    if array.dtype.kind == "b":
        return TableColumn(name, None, array.astype(np.int64), ("False", "True"))
    if array.dtype.kind in "fiu":
        numbers = array.astype(np.float64)
        return _numbered(name, numbers) if classes and _numbers_classes(numbers) else TableColumn(name, numbers)
    return _classed(name, array, array.astype(str) == "")


def _unboxed(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return objects as numbers if all are, else as text; missing ones as NaN or empty."""
    boxed = values.tolist()
    missing = [is_missing_value(value) for value in boxed]
    present = [value for value, gone in zip(boxed, missing, strict=True) if not gone]
    if present and all(isinstance(value, Real) and not isinstance(value, bool) for value in present):
        return np.array([np.nan if gone else float(value) for value, gone in zip(boxed, missing, strict=True)])
    return np.array(["" if gone else str(value) for value, gone in zip(boxed, missing, strict=True)])


def is_missing_value(value: object) -> bool:
    """Return whether a value is None, pandas' NA, or not equal to itself, as NaN and NaT are."""
    if value is None or type(value).__name__ == "NAType":
        return True
    same = value == value
    return isinstance(same, bool | np.bool_) and not same


def label_classes(labels: npt.NDArray[Any]) -> tuple[Ints, tuple[str, ...]]:
    """Return labels of any type as codes (n,), −1 where missing, and the names of their classes in order.

    None, NaN, an empty text and −1 are missing labels.

    Examples
    --------
    >>> label_classes(np.array(["b", None, "a"], dtype=object))
    (array([ 1, -1,  0]), ('a', 'b'))
    """
    if labels.dtype.kind == "O":  # mixed types have no order of their own
        labels = np.array(["" if is_missing_value(value) else str(value) for value in labels.tolist()])
    found = _classed("", labels, np.isin(labels.astype(str), NO_LABEL))
    assert found.codes is not None
    return found.codes, found.classes


def _numbers_classes(numbers: Floats) -> bool:
    present = numbers[np.isfinite(numbers)]
    if len(present) == 0 or (present != np.round(present)).any():
        return False
    return len(np.unique(present)) <= min(MOST_CLASSES, len(present) / 2)


def _numbered(name: str, numbers: Floats) -> TableColumn:
    found = _classed(name, numbers, ~np.isfinite(numbers))
    return TableColumn(name, None, found.codes, tuple(f"{float(value):.0f}" for value in found.classes))


def _classed(name: str, values: npt.NDArray[Any], missing: npt.NDArray[np.bool_]) -> TableColumn:
    classes, found = np.unique(values[~missing], return_inverse=True)
    codes = np.full(len(values), -1)
    codes[~missing] = found
    return TableColumn(name, None, codes, tuple(str(value) for value in classes.tolist()))

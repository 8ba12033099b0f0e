"""Validation of arguments: choices, finite numbers, shapes, memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from .memory import available_memory

# The square of a larger number, summed over all rows and columns and multiplied by numbers of points, may be infinite; of numbers
# that are all smaller than the other, squares may be 0.
LARGEST, SMALLEST = 1e100, 1e-100
# n leaves pay at most n³/2 times the largest similarity: what is above has no finite cost.
LARGEST_COST = 1e307
CHUNK_BYTES = 64 << 20  # temporary arrays of a blocked pass stay about this large


def require_choice(parameter: str, value: Any, choices: Collection[str]) -> None:
    """Raise for a value that is none of the choices, naming them."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{parameter}={value!r} is unknown; choose one of {', '.join(map(repr, choices))}.")


def check_effort(effort: float) -> None:
    """Raise unless it is a positive number."""
    if isinstance(effort, bool) or not isinstance(effort, Real) or not 0 < effort < np.inf:
        raise ValueError(f"effort={effort!r} is not a positive number; 1 is usual, less is sooner, more is better.")


def to_array(values: Any, what: str) -> npt.NDArray[Any]:
    """Return an array from arrays, nested lists and frames; masked entries become NaN, or None.

    Raises for what numpy would take as a single object (generators, sets, dicts, text), and for rows of different lengths.
    """
    if isinstance(values, np.ma.MaskedArray):
        is_number = values.dtype.kind in "fiub"
        visible: Any = values.astype(np.float64 if is_number else object)
        values = visible.filled(np.nan if is_number else None)
    try:
        array = np.asarray(values)
    except ValueError:
        _require_equal_lengths(values, what)
        raise
    if array.ndim == 0 and array.dtype.kind in "OUS":
        remedy = "pass an array or a frame"
        if isinstance(values, Mapping):
            remedy = "pass pandas.DataFrame(X), or np.array(list(X.values())).T"
        elif isinstance(values, Iterable) and not isinstance(values, str | bytes):
            remedy = "pass np.array(list(X))"
        shown = repr(values) if isinstance(values, str) else f"of type {type(values).__name__}"
        raise ValueError(f"{what} is {shown}, and no table of numbers; {remedy}.")
    return array


def _require_equal_lengths(values: Any, what: str) -> None:
    lengths = [len(row) if hasattr(row, "__len__") else None for row in values]
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is not None:
        first, other = ("no list" if length is None else f"{length} values" for length in (lengths[0], lengths[odd]))
        raise ValueError(
            f"{what} has rows of different lengths: row 0 has {first}, row {odd} {other}; make them equal."
        ) from None


def as_floats(values: Any, what: str) -> npt.NDArray[Any]:
    """Return a C-contiguous float32 or float64 array of ``values`` (frames included), copied only if needed."""
    array = to_array(values, what)
    if array.dtype.kind == "c":
        raise ValueError(f"{what} must hold real numbers; got {array.dtype}: take real and imaginary parts as columns.")
    if array.dtype.kind in "mMV":
        raise ValueError(f"{what} must hold numbers; got {array.dtype}: turn it into numbers, or leave it out.")
    if array.dtype.kind not in "fiub":
        array = _convert(array, what)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    return np.ascontiguousarray(array)


def _convert(array: npt.NDArray[Any], what: str) -> npt.NDArray[np.float64]:
    """Return objects and text as numbers, None and pandas' NA as NaN; raise for the first that is no number."""
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty(array.shape)
    for place, value in np.ndenumerate(array):
        try:
            numbers[place] = np.nan if type(value).__name__ == "NAType" else value
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            at = ", ".join(map(str, place))
            raise kind(
                f"{what} must hold numbers; entry [{at}] is {_short(value)} ({error}): encode or drop what is no number."
            ) from None
    return numbers


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def require_finite(array: npt.NDArray[Any], what: str, first: int = 0) -> None:
    """Raise for the first NaN or infinity, naming where it is; ``first`` is the number of the array's first row."""
    # A sum is finite only if all its terms are (overflow apart): one pass without a temporary mask.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum(dtype=np.float64)):
            return
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row, *others = bad[0].tolist()
        place = ", ".join(map(str, (first + row, *others)))
        raise ValueError(
            f"{what}[{place}] is {array[tuple(bad[0])]}; remove or impute missing and infinite values first."
        )


def require_finite_entries(matrix: Any, what: str) -> None:
    """Raise for the first NaN or infinity of a CSR matrix, naming its row and column."""
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        place = f"{what}[{row}, {matrix.indices[bad[0]]}]"
        raise ValueError(f"{place} is {matrix.data[bad[0]]}; remove or impute missing and infinite values first.")


def require_squares(array: npt.NDArray[Any], what: str, *, smallest: bool = True) -> None:
    """Raise where squares of the entries overflow or, with ``smallest``, where all of them vanish."""
    largest = max(float(array.max(initial=0.0)), -float(array.min(initial=0.0)))
    if largest > LARGEST:
        raise ValueError(f"{what} holds {largest:.3g}, whose square is too large; rescale it to below {LARGEST:g}.")
    if smallest and 0.0 < largest < SMALLEST:
        raise ValueError(
            f"{what} holds nothing above {largest:.3g}, whose square is 0; rescale it to above {SMALLEST:g}."
        )


def require_summable(largest: float, n: int, what: str) -> None:
    """Raise where the cost of n leaves may be infinite, though each similarity is finite."""
    if largest > LARGEST_COST / float(n) ** 3:
        raise ValueError(
            f"{what} up to {largest:.3g} are too large to be summed over {n} points; divide all of them alike."
        )


def has_missing(array: npt.NDArray[Any]) -> bool:
    """Return whether an entry is missing (NaN); one pass, without a temporary mask if none is."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(array.sum(dtype=np.float64))) and bool(np.isnan(array).any())


def row_chunks(n_rows: int, bytes_per_row: float) -> Iterator[slice]:
    """Yield slices of rows whose temporary arrays have about ``CHUNK_BYTES``."""
    step = max(1, int(CHUNK_BYTES / bytes_per_row))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def require_memory(n_bytes: float, what: str, remedy: str) -> None:
    """Raise a MemoryError before an allocation that cannot fit."""
    available = available_memory()
    if n_bytes > available:
        raise MemoryError(f"{what} needs {n_bytes / 1e9:.1f} GB and {available / 1e9:.1f} GB are available; {remedy}.")

"""Reader of MatrixMarket text, line by line, so that a false header allocates nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Floats

_FORMS = ("coordinate", "array")
_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_MIRRORS = {"general": 0.0, "symmetric": 1.0, "skew-symmetric": -1.0}
_EXACT = 1 << 53  # indices are read as floats, which hold whole numbers up to here


class _Header(NamedTuple):
    form: str
    pattern: bool
    mirror: float  # what a mirrored entry is multiplied by; 0 where there is none


def parse_matrix_market(lines: IO[str], most_rows: int) -> Any:
    """Return a csr_array, or an array for the format "array"; duplicate entries are summed.

    SciPy's own reader ends the process on some damaged files, so this one is NumPy's text reader and checks around it.

    Parameters
    ----------
    lines : text file
    most_rows : int
        Rows and columns that a sparse matrix may have at the most: each costs memory though the file need not mention it.
    """
    header = _header(lines.readline())
    size = _size(lines, 3 if header.form == "coordinate" else 2)
    if header.form == "array":
        return _dense(lines, size[0], size[1], header)
    if max(size[:2]) > most_rows:
        raise ValueError(
            f"the header claims {size[0]} rows and {size[1]} columns, more than a file of its size may have"
        )
    return _sparse(lines, size, header)


def _header(line: str) -> _Header:
    words = line.lower().split()
    if len(words) != 5 or words[1] != "matrix":
        raise ValueError("its first line is not '%%MatrixMarket matrix FORM FIELD SYMMETRY'")
    form, field, symmetry = words[2:]
    if form not in _FORMS or field not in _FIELDS or symmetry not in _MIRRORS:
        raise ValueError(f"matrices that are {form} {field} {symmetry} are not read; write real general ones")
    if form == "array" and field == "pattern":
        raise ValueError("an array has no pattern; write real numbers")
    return _Header(form, field == "pattern", _MIRRORS[symmetry])


def _size(lines: IO[str], count: int) -> list[int]:
    """Return the numbers of the first line that is neither blank nor a comment."""
    line = next((line for line in lines if line.strip() and not line.lstrip().startswith("%")), "")
    words = line.split()
    if len(words) != count or not all(word.isascii() and word.isdecimal() and len(word) < 19 for word in words):
        raise ValueError(f"the line after its comments does not say its size in {count} whole numbers")
    return [int(word) for word in words]


def _numbers(lines: IO[str], n_rows: int, n_columns: int) -> Floats:
    """Return a table (n_rows, n_columns) from the remaining lines."""
    if not n_rows:
        return np.empty((0, n_columns))
    found = np.loadtxt(_skip_comments(lines), dtype=np.float64, comments=None, ndmin=2)
    if found.shape != (n_rows, n_columns):
        raise ValueError(
            f"{n_rows} lines of {n_columns} numbers are announced and {len(found)} of {found.shape[1]} there"
        )
    return found


def _skip_comments(lines: IO[str]) -> Iterator[str]:
    """Yield lines that are not blank or comments; raise if there is none, where NumPy only warns."""
    has_lines = False
    for line in lines:
        if line.strip() and not line.startswith("%"):
            has_lines = True
            yield line
    if not has_lines:
        raise ValueError("no line follows its size")


def _dense(lines: IO[str], n: int, d: int, header: _Header) -> Floats:
    if not header.mirror:
        return np.ascontiguousarray(_numbers(lines, n * d, 1).reshape(d, n).T)
    if n != d:
        raise ValueError(f"a symmetric matrix is square, and this one has {n} rows and {d} columns")
    diagonal = 0 if header.mirror > 0 else 1  # a skew-symmetric one has no diagonal
    values = _numbers(lines, n * (n + 1) // 2 - n * diagonal, 1)
    full = np.zeros((n, n))
    columns, rows = np.triu_indices(n, diagonal)  # the lower triangle, column by column
    full[columns, rows] = header.mirror * values[:, 0]
    full[rows, columns] = values[:, 0]
    return full


def _sparse(lines: IO[str], size: list[int], header: _Header) -> sp.csr_array[np.float64]:
    n, d, n_entries = size
    table = _numbers(lines, n_entries, 2 if header.pattern else 3)
    places = table[:, :2]
    if not ((places >= 1) & (places <= np.minimum([n, d], _EXACT)) & (places == np.floor(places))).all():
        raise ValueError(f"an entry lies outside of the {n} rows and {d} columns")
    rows, columns = places.T.astype(np.int64) - 1
    values = np.ones(n_entries) if header.pattern else table[:, 2]
    if header.mirror:
        if n != d:
            raise ValueError(f"a symmetric matrix is square, and this one has {n} rows and {d} columns")
        off = rows != columns
        values = np.concatenate([values, header.mirror * values[off]])
        rows, columns = np.concatenate([rows, columns[off]]), np.concatenate([columns, rows[off]])
    return sp.csr_array(sp.coo_array((values, (rows, columns)), shape=(n, d)))

"""Column selection for files that are read block by block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._runtime.arrays import Ints
from .._runtime.sanitize import is_blank
from ..out_of_core.array_sources import FileRows
from ..out_of_core.row_sources import HEAD_ROWS, ParquetRows, Source, open_rows
from ..similarity.inputs.input_warnings import identifier_columns
from .arrow import describe_columns
from .columns import Column, ColumnSelection, ColumnsError, assign_roles, describe_identifiers, join_names


@dataclass(frozen=True, eq=False)
class BlockColumns:
    """Rows of the feature columns, their names, and a note for each choice; ``labels`` is a column, or None."""

    rows: Source
    columns: tuple[str, ...]
    notes: tuple[str, ...]
    labels: str | None = None
    all_rows: Source | None = None

    def label_codes(self) -> Ints:
        """Return the code of each row's label, −1 where it is missing; labels are numbered from 0."""
        assert self.labels is not None
        if isinstance(self.all_rows, ParquetRows):
            return _codes_of_text(self.all_rows.column(self.labels))
        assert self.all_rows is not None
        c, n = int(self.labels) - 1, self.all_rows.shape[0]
        step = max(1, HEAD_ROWS)
        values = np.concatenate([self.all_rows.read(b, min(b + step, n))[:, c] for b in range(0, n, step)])
        codes = np.full(n, -1)
        known = ~np.isnan(values)
        codes[known] = np.unique(values[known], return_inverse=True)[1]
        return codes

    def head(self) -> np.ndarray[Any, Any]:
        """Return the first rows."""
        return self.rows.read(0, min(HEAD_ROWS, self.rows.shape[0]))


def read_block_columns(path: str, wanted: ColumnSelection) -> BlockColumns:
    """Select columns of a Parquet, NPY or Zarr file as ``read_points`` does; text columns are dropped with a note."""
    source = open_rows(path)
    columns = _describe(source)
    roles = assign_roles(path, columns, wanted)
    text = [columns[c].name for c in roles.features if columns[c].kind == "text"]
    if text:
        what = f"{join_names(text)} holds text, which is not read block by block"
        raise ColumnsError(f"{path}: {what}; leave it out of the features.", "features", "exclude")
    called = tuple(columns[c].name for c in roles.features)
    rows = _pick(source, called, roles.features)
    labels = None if roles.labels is None else columns[roles.labels].name
    chosen = BlockColumns(rows, called, roles.notes, labels, source)
    return chosen if wanted.features is not None else _drop_identifiers(chosen)


def _describe(source: Source) -> list[Column]:
    if isinstance(source, ParquetRows):
        return describe_columns(source.head(HEAD_ROWS))
    n, d = source.shape
    return [Column(str(c + 1), "number", n, n) for c in range(d)]


def _pick(source: Source, names: tuple[str, ...], columns: tuple[int, ...]) -> Source:
    """Return the source of the given columns alone."""
    if isinstance(source, ParquetRows):
        return ParquetRows(source.path, names)
    assert isinstance(source, FileRows)
    return replace(source, columns=columns)


def _drop_identifiers(chosen: BlockColumns) -> BlockColumns:
    """Drop columns that only number the rows, judged by the first and the last rows."""
    if not isinstance(chosen.rows, ParquetRows):
        return chosen  # columns without names
    n, head = chosen.rows.shape[0], chosen.head()
    if n == 0:
        return chosen
    last = chosen.rows.read(n - 1, n)[0]
    by_name = identifier_columns(chosen.columns, head[::-1])  # backwards, nothing counts the rows
    found = [c for c in identifier_columns(chosen.columns, head) if c in by_name or last[c] == head[0, c] + n - 1]
    if not found or len(found) == len(chosen.columns):
        return chosen
    kept = tuple(name for c, name in enumerate(chosen.columns) if c not in found)
    notes = describe_identifiers(chosen.notes, chosen.columns, found)
    return replace(chosen, rows=ParquetRows(chosen.rows.path, kept), columns=kept, notes=tuple(notes))


def _codes_of_text(column: Any) -> Ints:
    """Return integer codes by dictionary encoding, without a string for each row."""
    encoded = column.cast("string").dictionary_encode().combine_chunks()
    words = encoded.dictionary.to_pylist()
    kept = np.cumsum([0 if is_blank(word) else 1 for word in words]) - 1
    numbers = np.where([is_blank(word) for word in words], -1, kept) if words else np.empty(0, dtype=np.int64)
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.asarray(np.append(numbers, -1)[codes])

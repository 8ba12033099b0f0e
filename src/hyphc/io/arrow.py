"""Parquet and Feather files, through pyarrow."""

from __future__ import annotations

from importlib.util import find_spec
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from .._runtime.atomic_write import max_unpacked_bytes
from ..out_of_core.row_sources import is_number_type
from .arrays import Arrays, check_numbers, missing_value, reading
from .columns import Column, Roles, Wanted, assign_roles
from .delimited import assembled
from .number_formats import unit_of
from .sources import FORMAT_NAMES, Source

_SAMPLE = 4_096  # rows of a text column that decide whether it names rows
TIMES = 10  # runs of one value are stored once: a file may hold so many times what another packed file may


def read_arrow(source: Source, found: str, wanted: Wanted) -> Arrays:
    """Read a table of either format."""
    if find_spec("pyarrow") is None:
        name = FORMAT_NAMES[found]
        raise ValueError(f"{source.label} is a {name} file, which needs pyarrow; run: pip install 'hyphc[io]'.")
    table, columns = _table(source, found)
    if not table.num_rows:
        raise ValueError(f"{source.label} has no rows; add the data.")
    roles = assign_roles(source.label, columns, wanted)
    called = tuple(columns[c].name for c in roles.features)
    numbers = _all_numbers(source, table, columns, roles, wanted.keep_missing)
    grouped = {roles.features.index(c): table.column(c).to_pylist() for c in roles.categories}
    names, labels = (None if c is None else _cells(table.column(c)) for c in (roles.names, roles.labels))
    known = {what: _cells(table.column(c)) for what, c in roles.known.items()}
    return Arrays(assembled(source.label, numbers, grouped, called), names, labels, called, roles.notes, known)


def _table(source: Source, found: str) -> tuple[Any, list[Column]]:
    """The whole table, checked, and what its columns hold."""
    with reading(source, found), source.open() as file:
        table = _parquet(source, file) if found == "parquet" else _feather(source, file)
        table.validate(full=True)  # text that is no UTF-8, offsets out of bounds
        return table, described(table)


def described(table: Any) -> list[Column]:
    """What the columns of a table hold."""
    return [describe_column(name, column) for name, column in zip(table.column_names, table.columns, strict=True)]


def _parquet(source: Source, file: IO[bytes]) -> Any:
    import pyarrow.parquet  # type: ignore[import-untyped]

    opened = pyarrow.parquet.ParquetFile(file)
    _require_values(opened.metadata.num_rows * opened.metadata.num_columns, source)
    return opened.read()


def _feather(source: Source, file: IO[bytes]) -> Any:
    """Batch by batch, no further than a file of this size may hold."""
    import pyarrow.ipc  # type: ignore[import-untyped]

    opened, batches, count = pyarrow.ipc.open_file(file), [], 0
    for k in range(opened.num_record_batches):
        batches.append(opened.get_batch(k))
        count += max(batches[-1].nbytes // 8, batches[-1].num_rows * batches[-1].num_columns)
        _require_values(count, source)
    return pyarrow.Table.from_batches(batches, opened.schema)


def _require_values(count: int, source: Source) -> None:
    """Runs of one value pack so well that only far more than memory has room for is refused."""
    if 8 * count > TIMES * max_unpacked_bytes(source.n_bytes):
        raise ValueError(f"it claims {count} values, more than a file of its size may have")


def _all_numbers(
    source: Source, table: Any, columns: list[Column], roles: Roles, keep_missing: bool
) -> npt.NDArray[Any]:
    """Filled column by column: float64 unless all columns are float32, and never two copies of the table."""
    wanted = [c for c in roles.features if c not in roles.categories]
    single = all(str(table.column(c).type) == "float" for c in wanted)
    X = np.empty((table.num_rows, len(wanted)), dtype=np.float32 if single else np.float64)
    for k, c in enumerate(wanted):
        X[:, k] = _numbers(source, columns[c].name, table.column(c), keep_missing)
    check_numbers(X, source.label, tuple(columns[c].name for c in wanted), keep_missing=keep_missing)
    return X


def describe_column(name: str, column: Any) -> Column:
    """What a column holds."""
    if column.null_count == len(column):
        return Column(name, "empty", 0, len(column))
    if is_number_type(column.type):
        return Column(name, "number", len(column), len(column))
    sample = column.slice(0, _SAMPLE).to_pylist()
    texts = ["" if value is None else str(value) for value in sample]
    return Column(name, "text", len(set(texts)), len(sample), unit_of(texts))


def _numbers(source: Source, name: str, column: Any, keep_missing: bool) -> npt.NDArray[np.float64]:
    import pyarrow

    if column.null_count and not keep_missing:
        row = column.is_null().to_numpy().argmax() + 1
        raise missing_value(f"{source.label}, row {row}, column {name!r}")
    try:
        return np.asarray(column.cast(pyarrow.float64(), safe=False).to_numpy())
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
        raise ValueError(
            f"{source.label}, column {name!r}: {column.type} is not a type of numbers; leave it out of the features."
        ) from None


def _cells(column: Any) -> tuple[str, ...]:
    return tuple("" if value is None else str(value) for value in column.to_pylist())

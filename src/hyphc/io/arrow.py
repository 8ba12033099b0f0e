"""Reader of Parquet and Feather files, through pyarrow."""

from __future__ import annotations

from dataclasses import replace
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from .._runtime.atomic_write import max_unpacked_bytes
from ..out_of_core.row_sources import is_number_type
from .columns import Column, ColumnSelection, assign_roles
from .points import Points, build_points, check_numbers, explain_damage, missing_value
from .sources import FORMAT_NAMES, InputFile, require_package
from .text_cells import infer_unit

_SAMPLE = 4_096  # rows of a text column that decide whether it names rows
TIMES = 10  # run-length encoding: a file may hold so many times what another compressed file may


def read_arrow(source: InputFile, found: str, wanted: ColumnSelection) -> Points:
    """Read a table of either format."""
    require_package(source.label, f"a {FORMAT_NAMES[found]} file", "pyarrow", "io")
    with explain_damage(source, found), source.open() as file:
        table = _parquet(source, file) if found == "parquet" else _feather(source, file)
        table.validate(full=True)  # text that is no UTF-8, offsets out of bounds
        columns = describe_columns(table)
    if not table.num_rows:
        raise ValueError(f"{source.label} has no rows; add the data.")
    roles = assign_roles(source.label, columns, wanted)
    numeric = [c for c in roles.features if c not in roles.categories]
    numbers = _all_numbers(source, table, columns, numeric, wanted.keep_missing)
    grouped = {c: table.column(c).to_pylist() for c in roles.categories}
    points = build_points(source.label, columns, roles, numbers, grouped, lambda c: table.column(c).to_pylist())
    return replace(points, header=tuple(column.name for column in columns))


def describe_columns(table: Any) -> list[Column]:
    """Return a description of each column of a table."""
    return [describe_column(name, column) for name, column in zip(table.column_names, table.columns, strict=True)]


def _parquet(source: InputFile, file: IO[bytes]) -> Any:
    import pyarrow.parquet  # type: ignore[import-untyped]

    opened = pyarrow.parquet.ParquetFile(file)
    _require_values(opened.metadata.num_rows * opened.metadata.num_columns, source)
    return opened.read()


def _feather(source: InputFile, file: IO[bytes]) -> Any:
    """Read batch by batch, up to the decompressed size allowed for a file of this size."""
    import pyarrow.ipc  # type: ignore[import-untyped]

    opened, batches, count = pyarrow.ipc.open_file(file), [], 0
    for k in range(opened.num_record_batches):
        batches.append(opened.get_batch(k))
        count += max(batches[-1].nbytes // 8, batches[-1].num_rows * batches[-1].num_columns)
        _require_values(count, source)
    return pyarrow.Table.from_batches(batches, opened.schema)


def _require_values(count: int, source: InputFile) -> None:
    """Raise for more values than memory could hold; runs of one value compress too well for a smaller limit."""
    if 8 * count > TIMES * max_unpacked_bytes(source.n_bytes):
        raise ValueError(f"it claims {count} values, more than a file of its size may have")


def _all_numbers(
    source: InputFile, table: Any, columns: list[Column], wanted: list[int], keep_missing: bool
) -> npt.NDArray[Any]:
    """Return the numeric columns, filled one by one without a second copy: float64 unless all are float32."""
    single = all(str(table.column(c).type) == "float" for c in wanted)
    X = np.empty((table.num_rows, len(wanted)), dtype=np.float32 if single else np.float64)
    for k, c in enumerate(wanted):
        X[:, k] = _numbers(source, columns[c].name, table.column(c), keep_missing)
    check_numbers(X, source.label, tuple(columns[c].name for c in wanted), keep_missing=keep_missing)
    return X


def describe_column(name: str, column: Any) -> Column:
    """Return a description of a column."""
    if column.null_count == len(column):
        return Column(name, "empty", 0, len(column))
    if is_number_type(column.type):
        return Column(name, "number", len(column), len(column))
    sample = column.slice(0, _SAMPLE).to_pylist()
    texts = ["" if value is None else str(value) for value in sample]
    return Column(name, "text", len(set(texts)), len(sample), infer_unit(texts))


def _numbers(source: InputFile, name: str, column: Any, keep_missing: bool) -> npt.NDArray[np.float64]:
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

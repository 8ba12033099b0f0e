"""Readers of tables with typed cells, Excel sheets and JSON lines, row by row."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

from .._runtime.numpy_files import require_plausible_zip
from .columns import find_column
from .points import explain_damage
from .sources import InputFile, decode, require_package
from .text_cells import NumberedRow

MOST_ROWS = 1 << 20  # of a sheet


def read_excel_rows(
    source: InputFile, sheet: str | None, header: int | None = None
) -> tuple[Iterator[NumberedRow], tuple[str, ...]]:
    """Return the rows of a sheet, by name or by number from 1 (default the first), and a note where there are several.

    Rows above the ``header``, a number from 1, are passed over.
    """
    require_package(source.label, "an Excel file", "openpyxl", "excel")
    from openpyxl import load_workbook

    with source.open() as file:
        content = io.BytesIO(file.read())
    with explain_damage(source, "excel"), zipfile.ZipFile(content) as archive:
        require_plausible_zip(archive, len(content.getvalue()))
    with explain_damage(source, "excel"):
        book = load_workbook(content, read_only=True, data_only=True)
    sheets = list(book.sheetnames)
    if not sheets:
        raise ValueError(f"{source.label} has no sheet; add one with the data.")
    name = sheets[0] if sheet is None else sheets[find_column(f"{source.label} (its sheets)", sheets, sheet)]
    with explain_damage(source, "excel"):
        rows = [row for row in _nonempty_rows(book[name]) if row[0] >= (header or 1)]
    book.close()
    why = "as requested" if sheet is not None else f"the first of {len(sheets)}"
    return iter(_trim(rows)), (f"sheet: {name} ({why})",) if len(sheets) > 1 else ()


def _nonempty_rows(sheet: Any) -> list[NumberedRow]:
    """Return the rows that are not empty, with their numbers."""
    sheet.reset_dimensions()  # the size that a sheet declares is often wrong, and may be a million empty rows
    rows: list[NumberedRow] = []
    for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > MOST_ROWS:  # openpyxl makes all the rows up to the number that a damaged one claims
            raise ValueError(f"it claims rows beyond {MOST_ROWS}, the last that Excel has")
        if any(cell is not None for cell in cells):
            rows.append((number, [_text(cell) for cell in cells]))
    return rows


def _trim(rows: list[NumberedRow]) -> list[NumberedRow]:
    """Return the rows without empty rows and without empty columns at the right."""
    filled = [(number, cells) for number, cells in rows if any(cells)]
    width = max((c + 1 for _, cells in filled for c, cell in enumerate(cells) if cell), default=0)
    return [(number, (cells + [""] * width)[:width]) for number, cells in filled]


def _text(cell: Any) -> str:
    """Return a cell as it would stand in a text table."""
    return "" if cell is None else str(int(cell) if isinstance(cell, bool) else cell)


def read_json_rows(source: InputFile) -> Iterator[NumberedRow]:
    """Return a header of all keys, then a row for each line, which holds an object of plain values or a list of them."""
    records, _ = decode(source, lambda file: list(_records(source, file)))
    if records and isinstance(records[0][1], list):
        return iter([(number, [_text(cell) for cell in record]) for number, record in records])
    keys = list(dict.fromkeys(key for _, record in records for key in record))
    rows = [(number, [_text(record.get(key)) for key in keys]) for number, record in records]
    return iter([(0, keys), *rows])


def _records(source: InputFile, file: Any) -> Iterator[tuple[int, Any]]:
    kind: type | None = None
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = str(error).split(":")[0]
            raise ValueError(f"{source.label}, line {number}: not JSON ({reason}); write one object a line.") from None
        kind = kind or type(record)
        values = record.values() if isinstance(record, dict) else record
        rows_alike = isinstance(record, dict | list) and type(record) is kind
        if not rows_alike or any(isinstance(value, dict | list) for value in values):
            what = "not an object of plain values like the first; write one row of the table a line"
            raise ValueError(f"{source.label}, line {number}: {what}.")
        yield number, record

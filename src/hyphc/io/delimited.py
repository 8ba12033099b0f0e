"""Reader of delimited text, in blocks, so that numbers are not held as text."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from .._runtime.arrays import Floats
from .._runtime.sanitize import is_blank, is_number
from .columns import Column, ColumnSelection, ColumnsError, Kind, assign_roles
from .points import LARGEST, Points, build_points, missing_value
from .sources import InputFile, decode
from .text_cells import COMMENT, Notation, NumberedRow, infer_notation, infer_unit, split_rows, uses_commas

BLOCK = 4_096  # rows that are text at one time; the first block decides what each column is


@dataclass
class CellRows:
    """Rows of cells, and the line of the file on which each ends."""

    cells: list[list[str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def read_delimited(source: InputFile, wanted: ColumnSelection, header: int | None = None) -> Points:
    """Read a text table; its first line is the header unless the numeric columns hold numbers there too.

    ``header`` says which line it is, from 1; those above it are passed over.
    """
    try:
        table, note = decode(source, lambda file: read_rows(source, split_rows(source, file, header), wanted, header))
    except csv.Error as error:
        raise ValueError(f"{source.label} is not a table of text ({error}); save it as CSV with UTF-8.") from None
    return replace(table, notes=note + table.notes)


def read_rows(source: InputFile, rows: Iterator[NumberedRow], wanted: ColumnSelection, at: int | None = None) -> Points:
    """Return the table of rows of cells from any reader; the first row is the header if ``at`` gives its line."""
    blocks = _blocks(source, rows)
    first = next(blocks, CellRows())
    if at is None:
        _refuse_title(source, first)
    written, commas = _notation(source, first)
    first, blocks = _plain(first, written, commas), (_plain(rows, written, commas) for rows in blocks)
    header, columns = _describe(source, first, at is not None)
    roles = assign_roles(source.label, columns, wanted)
    if header:
        first = CellRows(first.cells[1:], first.lines[1:])
    numbers = tuple(c for c in roles.features if c not in roles.categories)
    of_text = (*roles.categories, *roles.known.values(), roles.names, roles.labels)
    words: dict[int, list[str]] = {c: [] for c in of_text if c is not None}
    parts: list[Floats] = []
    for block in chain([first], blocks):
        parts.append(_numbers(source, block, columns, numbers, wanted.keep_missing))
        for c, cells in words.items():
            cells += map(itemgetter(c), block.cells)
    notes = roles.notes if header else ("header: none, so columns are called 1, 2, 3, …", *roles.notes)
    roles = replace(roles, notes=notes if written is None else (written.description, *notes))
    grouped = {c: [cell.strip() for cell in words[c]] for c in roles.categories}
    points = build_points(source.label, columns, roles, np.concatenate(parts), grouped, words.__getitem__)
    return replace(points, header=tuple(column.name for column in columns))


def _blocks(source: InputFile, numbered: Iterator[NumberedRow]) -> Iterator[CellRows]:
    """Yield blocks of rows of equal length."""
    rows, width = CellRows(), 0
    for line, cells in numbered:
        alone = rows.cells[0] if len(rows.cells) == 1 else None
        if alone and width == len(alone) == len(cells) - 1 and not any(map(is_number, alone)):
            alone.insert(0, "")  # R's write.table: the header has no cell above the names of rows
            width += 1
        width = width or len(cells)
        if len(cells) != width:
            if cells and cells[0].startswith(COMMENT):
                continue
            if width == 1 < len(cells) and not any(is_number(row[0]) for row in rows.cells):
                raise _title(source, rows.lines[0], rows.cells[0][0], line)
            found = f"{len(cells)} cell{'s' * (len(cells) != 1)} where the first line has {width}"
            remedy = "add or remove cells, or put text that holds the separator in double quotes"
            raise ValueError(f"{source.label}, line {line}: {found}; {remedy}.")
        rows.cells.append(cells)
        rows.lines.append(line)
        if len(rows.cells) == BLOCK:
            yield rows
            rows = CellRows()
    if rows.cells:
        yield rows


def _refuse_title(source: InputFile, first: CellRows) -> None:
    """Raise for a table with a title line: one cell above a row of names without numbers."""
    filled = [[cell for cell in cells if not is_blank(cell)] for cells in first.cells]
    below = next((k for k, cells in enumerate(filled) if len(cells) > 1), 0)
    if below == 0 or any(map(is_number, chain.from_iterable(filled[: below + 1]))):
        return
    if any(map(is_number, chain.from_iterable(filled[below + 1 :]))):
        raise _title(source, first.lines[0], "".join(filled[0]), first.lines[below])


def _title(source: InputFile, line: int, title: str, header: int) -> ColumnsError:
    place = f"{source.label}, line {line}: {title!r} is alone in its line, like a title above the table"
    return ColumnsError(f"{place}; if line {header} is the header, pass its number.", "header")


def _notation(source: InputFile, first: CellRows) -> tuple[Notation | None, list[int]]:
    """Return the notation of numbers with commas, and the columns that have them; None and [] where there are none."""
    values = list(zip(*first.cells[1:], strict=True))
    commas = [c for c, column in enumerate(values) if uses_commas(column)]
    cells = [cell for c in commas for cell in values[c] if "," in cell]
    try:
        return (infer_notation(cells), commas) if cells else (None, [])
    except ValueError as error:
        name = first.cells[0][commas[0]].strip()
        raise ValueError(f"{source.label}, column {name!r}: {error}.") from None


def _plain(rows: CellRows, written: Notation | None, commas: list[int]) -> CellRows:
    """Return the rows with numbers in Python's notation."""
    if written is not None:
        for cells in rows.cells:
            for c in commas:
                cells[c] = written.to_plain(cells[c])
    return rows


def _describe(source: InputFile, first: CellRows, has_header: bool) -> tuple[bool, list[Column]]:
    """Return whether the first row is a header, and a description of each column."""
    if not first.cells:
        raise ValueError(f"{source.label} holds only blank lines; give a file with data.")
    top, body = first.cells[0], first.cells[1:]
    values = list(zip(*body, strict=True)) if body else [()] * len(top)
    kinds = [_kind(column) for column in values]
    numeric = [c for c, kind in enumerate(kinds) if kind == "number"]
    decisive = numeric or range(len(top))
    header = has_header or 2 * sum(not is_number(top[c]) for c in decisive) > len(decisive)
    if header and not body:
        raise ValueError(f"{source.label} has a header and no rows; add the data.")
    if not header:
        values = list(zip(*first.cells, strict=True))
        kinds = [_kind(column) for column in values]
    called = [name.strip() for name in top] if header else [str(c + 1) for c in range(len(top))]
    described = zip(called, kinds, values, strict=True)
    return header, [
        Column(name, kind, len(set(column)), len(column), infer_unit(column) if kind == "text" else None)
        for name, kind, column in described
    ]


def _kind(cells: Sequence[str]) -> Kind:
    """Return the kind of most cells, so that a typo among many numbers is reported rather than making the column text."""
    present = [cell for cell in cells if not is_blank(cell)]
    if not present:
        return "empty"
    return "number" if 2 * sum(map(is_number, present)) >= len(present) else "text"


def _numbers(
    source: InputFile, rows: CellRows, columns: Sequence[Column], wanted: tuple[int, ...], keep_missing: bool
) -> Floats:
    """Return the numbers of a block, (rows, columns); NaN where one is missing, if that is allowed."""
    if wanted == tuple(range(len(columns))):
        picked: Any = rows.cells
    else:
        picked = [[cells[c] for c in wanted] for cells in rows.cells]
    try:
        numbers = np.array(picked, dtype=np.float64).reshape(len(rows.cells), len(wanted))
        if max(numbers.max(initial=0.0), -numbers.min(initial=0.0)) <= LARGEST:  # False for NaN
            return numbers
    except ValueError:
        pass
    for cells, line in zip(rows.cells, rows.lines, strict=True):
        for c in wanted:
            _check_cell(cells[c], f"{source.label}, line {line}, column {columns[c].name!r}", keep_missing)
    return np.array([[np.nan if is_blank(cell) else float(cell) for cell in cells] for cells in picked])


def _check_cell(cell: str, place: str, keep_missing: bool) -> None:
    """Raise for a cell that is no number, with a remedy; it may say that the value is missing if that is allowed."""
    if is_blank(cell):
        if not keep_missing:
            shown = "the cell is empty" if not cell.strip() else f"{cell.strip()!r} means that the value is missing"
            raise missing_value(place, shown)
        return
    unit = infer_unit([cell])
    if unit is not None:
        what = f"{cell!r} is a number followed by a unit; remove {unit!r}, or leave the column out of the features"
    elif not is_number(cell):
        what = f"{cell!r} is not a number; correct it, or leave the column out of the features"
    elif not math.fabs(float(cell)) <= LARGEST:
        what = f"{cell!r} is too large (the limit is {LARGEST:g}); correct it, or rescale the column"
    else:
        return
    raise ValueError(f"{place}: {what}.")

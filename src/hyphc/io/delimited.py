"""Comma-, tab- and semicolon-separated text, in blocks: numbers never wait as text."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from .._shared.arrays import Floats
from .columns import Column, Kind, Roles, Wanted, assign_roles
from .notation import AmbiguousNumbers, Notation, notation_of, with_commas
from .sources import Source, encoding_error, text_of

BLOCK = 4_096  # rows that are text at one time; the first block decides what each column is
LARGEST = 1e100  # squares and products of three such numbers still fit a float64 with room for a sum over all rows
_MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}


@dataclass
class Rows:
    """Some rows of cells, and the line of the file on which each ends."""

    cells: list[list[str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Delimited:
    """What a table of text holds once its columns have their roles."""

    header: tuple[str, ...]
    features: Floats
    columns: tuple[str, ...]
    names: list[str] | None
    labels: list[str] | None
    notes: tuple[str, ...]
    known: dict[str, list[str]]


def read_delimited(source: Source, wanted: Wanted) -> Delimited:
    """Read a table; the first line is its header unless the columns of numbers have numbers there too."""
    try:
        with text_of(source) as file:
            delimiter = "\t" if source.suffix == ".tsv" else delimiter_in(file.readline())
            file.seek(0)
            return _read(source, _blocks(source, csv.reader(file, delimiter=delimiter)), wanted)
    except UnicodeDecodeError:
        raise encoding_error(source) from None
    except csv.Error as error:
        raise ValueError(f"{source.label} is not a table of text ({error}); save it as CSV with UTF-8.") from None


def delimiter_in(line: str) -> str:
    """The one of comma, semicolon and tab that the line has most of."""
    return max(",;\t", key=line.count)


def _blocks(source: Source, reader: Any) -> Iterator[Rows]:
    """Blocks of rows of one length; blank lines are passed over."""
    rows, width = Rows(), 0
    for cells in reader:
        if not cells:
            continue
        width = width or len(cells)
        if len(cells) != width:
            raise ValueError(
                f"{source.label}, line {reader.line_num}: {_count(len(cells), 'cell')} where the first line has {width}; add or "
                "remove cells, or put text that holds the separator in double quotes."
            )
        rows.cells.append(cells)
        rows.lines.append(reader.line_num)
        if len(rows.cells) == BLOCK:
            yield rows
            rows = Rows()
    if rows.cells:
        yield rows


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def _read(source: Source, blocks: Iterator[Rows], wanted: Wanted) -> Delimited:
    first = next(blocks, Rows())
    written, commas = _notation(source, first)
    first, blocks = _plain(first, written, commas), (_plain(rows, written, commas) for rows in blocks)
    header, columns = _describe(source, first)
    roles = assign_roles(source.label, columns, wanted)
    if header:
        first = Rows(first.cells[1:], first.lines[1:])
    parts: list[Floats] = []
    names: list[str] = []
    labels: list[str] = []
    known: dict[str, list[str]] = {what: [] for what in roles.known}
    for rows in chain([first], blocks):
        parts.append(_numbers(source, rows, columns, roles))
        names += [] if roles.names is None else map(itemgetter(roles.names), rows.cells)
        labels += [] if roles.labels is None else map(itemgetter(roles.labels), rows.cells)
        for what, c in roles.known.items():
            known[what] += map(itemgetter(c), rows.cells)
    notes = roles.notes if header else ("header: none, so columns are called 1, 2, 3, …", *roles.notes)
    notes = notes if written is None else (written.words, *notes)
    return Delimited(
        tuple(column.name for column in columns),
        np.concatenate(parts),
        tuple(columns[c].name for c in roles.features),
        None if roles.names is None else names,
        None if roles.labels is None else labels,
        notes,
        known,
    )


def _notation(source: Source, first: Rows) -> tuple[Notation | None, list[int]]:
    """How numbers with commas are to be read, and the columns that have such; None and none where there are none."""
    values = list(zip(*first.cells[1:], strict=True))
    commas = [c for c, column in enumerate(values) if with_commas(column)]
    cells = [cell for c in commas for cell in values[c] if "," in cell]
    try:
        return (notation_of(cells), commas) if cells else (None, [])
    except AmbiguousNumbers as error:
        name = first.cells[0][commas[0]].strip()
        raise ValueError(f"{source.label}, column {name!r}: {error}.") from None


def _plain(rows: Rows, written: Notation | None, commas: list[int]) -> Rows:
    """The rows with numbers as Python reads them."""
    if written is not None:
        for cells in rows.cells:
            for c in commas:
                cells[c] = written.plain(cells[c])
    return rows


def _describe(source: Source, first: Rows) -> tuple[bool, list[Column]]:
    """Whether the first row is a header, and what the columns hold."""
    if not first.cells:
        raise ValueError(f"{source.label} holds only blank lines; give a file with data.")
    top, body = first.cells[0], first.cells[1:]
    values = list(zip(*body, strict=True)) if body else [()] * len(top)
    kinds = [_kind(column) for column in values]
    numeric = [c for c, kind in enumerate(kinds) if kind == "number"]
    decisive = numeric or range(len(top))
    header = 2 * sum(not _is_number(top[c]) for c in decisive) > len(decisive)
    if header and not body:
        raise ValueError(f"{source.label} has a header and no rows; add the data.")
    if not header:
        values = list(zip(*first.cells, strict=True))
        kinds = [_kind(column) for column in values]
    called = [name.strip() for name in top] if header else [str(c + 1) for c in range(len(top))]
    described = zip(called, kinds, values, strict=True)
    return header, [Column(name, kind, len(set(column)), len(column)) for name, kind, column in described]


def _kind(cells: Sequence[str]) -> Kind:
    """What most cells are: a number with a typo among many is a mistake to report, not a column of text."""
    present = [cell for cell in cells if cell.strip().lower() not in _MISSING]
    if not present:
        return "empty"
    return "number" if 2 * sum(map(_is_number, present)) >= len(present) else "text"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbers(source: Source, rows: Rows, columns: Sequence[Column], roles: Roles) -> Floats:
    """The features of a block of rows, (rows, features), all finite."""
    if len(roles.features) == len(columns) and roles.features == tuple(range(len(columns))):
        picked: Any = rows.cells
    else:
        picked = [[cells[c] for c in roles.features] for cells in rows.cells]
    try:
        numbers = np.array(picked, dtype=np.float64)
        if max(numbers.max(), -numbers.min()) <= LARGEST:  # false for NaN
            return numbers
    except ValueError:
        pass
    raise _first_bad_cell(source, rows, columns, roles)


def _first_bad_cell(source: Source, rows: Rows, columns: Sequence[Column], roles: Roles) -> ValueError:
    for cells, line in zip(rows.cells, rows.lines, strict=True):
        for c in roles.features:
            trouble = _trouble(cells[c])
            if trouble:
                return ValueError(f"{source.label}, line {line}, column {columns[c].name!r}: {trouble}.")
    raise AssertionError("only called for a block with a bad cell")


def _trouble(cell: str) -> str | None:
    """What is wrong with a cell that should be a number, and what to do."""
    if cell.strip().lower() in _MISSING:
        what = "the cell is empty" if not cell.strip() else f"{cell.strip()!r} means that the value is missing"
        return f"{what}; fill it in, or remove the row or the column"
    if not _is_number(cell):
        return f"{cell!r} is not a number; correct it, or leave the column out of the features"
    if not math.fabs(float(cell)) <= LARGEST:
        return f"{cell!r} is too large (the limit is {LARGEST:g}); correct it, or rescale the column"
    return None

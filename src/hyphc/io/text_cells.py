"""Cells of text: delimiters and comments, and numbers with decimal commas, thousands separators or units."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO

from .._runtime.sanitize import is_blank, is_number
from .sources import InputFile

NumberedRow = tuple[int, list[str]]  # the line on which a row ends, and its cells

COMMENT = "#"
SEPARATORS = ",;\t"
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?")  # 3,14 or 1.234,5
_THOUSANDS_COMMA = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")  # 1,234 or 1,234.5
_THOUSANDS_DOT = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")  # 1.234 where commas are decimal
_WITH_UNIT = re.compile(r"[+-]?\d+(?:[.,]\d+)*\s*([^\W\d_]{1,6}(?:/[^\W\d_]{1,6})?\d?|%|°[CF]?|[€$£])")  # 70.3 kg, 12%


def delimiter_in(line: str) -> str:
    """Return the most frequent of comma, semicolon and tab in the line."""
    return max(SEPARATORS, key=line.count)


def split_rows(source: InputFile, file: IO[str], header: int | None = None) -> Iterator[NumberedRow]:
    """Yield rows of cells; blank lines and comments before the table are skipped, or all lines before the ``header``, from 1.

    The separator is the one of comma, semicolon and tab that the first line has most of; without any, blanks separate. The last
    of the lines that begin with # is the header if it has as many cells as the line below it, and that one has numbers.
    """
    skipped, comment, top = sum(1 for _ in islice(file, (header or 1) - 1)), "", ""
    for top in file:
        if header is not None:
            break
        if top.strip() and not top.startswith(COMMENT):
            break
        skipped, comment = skipped + 1, top if top.strip() else comment
    else:
        top = ""
    below = next(file, "")
    separator = "\t" if source.suffix == ".tsv" else _separator(top, below)
    lines = chain(filter(None, [top, below]), file)
    first = _split(top, separator)
    if any(map(is_number, first)) and len(_split(comment[1:], separator)) == len(first) > 1:
        skipped, lines = skipped - 1, chain([comment[1:].lstrip(" ")], lines)
    return _cells(lines, separator, skipped)


def _separator(top: str, below: str) -> str:
    found = delimiter_in(top if any(separator in top for separator in SEPARATORS) else below)
    by_blanks = len((below or top).split()) > 1 and not any(separator in top + below for separator in SEPARATORS)
    return " " if by_blanks else found


def _split(line: str, separator: str) -> list[str]:
    return next(csv.reader([line.strip()], delimiter=separator, skipinitialspace=separator == " "), [])


def _cells(lines: Iterator[str], separator: str, skipped: int) -> Iterator[NumberedRow]:
    if separator == " ":
        # several blanks are one separator, and none follows the last cell
        reader = csv.reader((line.rstrip() for line in lines), delimiter=" ", skipinitialspace=True)
    else:
        reader = csv.reader(lines, delimiter=separator)
    for cells in reader:
        if cells:
            yield skipped + reader.line_num, cells


def infer_unit(cells: Sequence[str]) -> str | None:
    """Return the unit that follows a number in most of the cells that are not blank; None where none does.

    Examples
    --------
    >>> infer_unit(["70.3 kg", "81 kg", "NA"]), infer_unit(["1A", "2B", "3C"]), infer_unit(["red", "blue"])
    ('kg', None, None)
    """
    present = [cell.strip() for cell in cells if not is_blank(cell)]
    units = Counter(found[1] for found in map(_WITH_UNIT.fullmatch, present) if found is not None)
    unit, count = units.most_common(1)[0] if units else ("", 0)
    return unit if 2 * count > len(present) and not is_number(present[0]) else None


@dataclass(frozen=True)
class Notation:
    """Meaning of the comma: a decimal comma (dots then separate thousands), or a thousands separator."""

    decimal: bool

    @property
    def description(self) -> str:
        """Description for a note."""
        return "numbers: with decimal commas" if self.decimal else "numbers: with commas that separate thousands"

    def to_plain(self, cell: str) -> str:
        """Return the cell in Python's notation; cells that are not such numbers are returned unchanged."""
        text = cell.strip()
        if not self.decimal:
            return text.replace(",", "") if _THOUSANDS_COMMA.fullmatch(text) else cell
        if _DECIMAL_COMMA.fullmatch(text):
            return text.replace(".", "").replace(",", ".")
        return text.replace(".", "") if _THOUSANDS_DOT.fullmatch(text) else cell


def uses_commas(cells: Sequence[str]) -> bool:
    """Return whether most cells that are not empty are numbers with a comma, or would be if the others were."""
    present = [cell.strip() for cell in cells if cell.strip()]
    commas = sum(1 for cell in present if _DECIMAL_COMMA.fullmatch(cell) or _THOUSANDS_COMMA.fullmatch(cell))
    digits = sum(1 for cell in present if cell.lstrip("+-").replace(".", "").isdecimal())
    return commas > 0 and 2 * (commas + digits) > len(present)


def infer_notation(cells: Sequence[str]) -> Notation:
    """Return the notation in which all these cells, each with a comma, are numbers; raise if the comma may mean either.

    Examples
    --------
    >>> infer_notation(["3,14", "1.234,5"]).to_plain("1.234,5")
    '1234.5'
    >>> infer_notation(["1,234.5"]).to_plain("1,234.5")
    '1234.5'
    """
    decimal = [cell.strip() for cell in cells if not _THOUSANDS_COMMA.fullmatch(cell.strip())]
    thousands = [cell.strip() for cell in cells if not _DECIMAL_COMMA.fullmatch(cell.strip())]
    remedy = "write numbers with a decimal point and without separators of thousands"
    if decimal and thousands:
        raise ValueError(f"the comma means one thing in {decimal[0]!r} and another in {thousands[0]!r}; {remedy}")
    if not decimal and not thousands:
        shown = cells[0].strip()
        both = f"{shown.replace(',', '.', 1)} or {shown.replace(',', '')}"
        raise ValueError(f"{shown!r} may be {both}; {remedy}")
    return Notation(bool(decimal))

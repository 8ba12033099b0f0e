"""Splitting of text lines into cells: delimiter detection and comments."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain, islice
from typing import IO

from .._runtime.sanitize import is_number
from .sources import InputFile

NumberedRow = tuple[int, list[str]]  # the line on which a row ends, and its cells

COMMENT = "#"
SEPARATORS = ",;\t"


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

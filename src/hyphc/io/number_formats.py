"""Detection of decimal commas and thousands separators; ambiguous ones are refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .._runtime.sanitize import is_blank, is_number

_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?")  # 3,14 or 1.234,5
_THOUSANDS_COMMA = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")  # 1,234 or 1,234.5
_THOUSANDS_DOT = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")  # 1.234 where commas are decimal


_WITH_UNIT = re.compile(r"[+-]?\d+(?:[.,]\d+)*\s*([^\W\d_]{1,6}(?:/[^\W\d_]{1,6})?\d?|%|°[CF]?|[€$£])")  # 70.3 kg, 12%


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


class AmbiguousNumbers(ValueError):
    """Error for commas that may be either."""


def uses_commas(cells: Sequence[str]) -> bool:
    """Return whether most cells that are not empty are numbers with a comma, or would be if the others were."""
    present = [cell.strip() for cell in cells if cell.strip()]
    commas = sum(1 for cell in present if _DECIMAL_COMMA.fullmatch(cell) or _THOUSANDS_COMMA.fullmatch(cell))
    digits = sum(1 for cell in present if cell.lstrip("+-").replace(".", "").isdecimal())
    return commas > 0 and 2 * (commas + digits) > len(present)


def infer_notation(cells: Sequence[str]) -> Notation:
    """Return the notation in which all these cells, each with a comma, are numbers.

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
        raise AmbiguousNumbers(f"the comma means one thing in {decimal[0]!r} and another in {thousands[0]!r}; {remedy}")
    if not decimal and not thousands:
        shown = cells[0].strip()
        both = f"{shown.replace(',', '.', 1)} or {shown.replace(',', '')}"
        raise AmbiguousNumbers(f"{shown!r} may be {both}; {remedy}")
    return Notation(bool(decimal))

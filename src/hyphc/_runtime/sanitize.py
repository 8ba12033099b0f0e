"""Sanitised output of text that came with the data: terminals and spreadsheets show it and execute nothing."""

from __future__ import annotations

import re

# What a terminal obeys instead of showing it: control characters, halves of characters, and those that turn the direction of
# writing or begin a line.
_OBEYED = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = re.compile(r"[=+\-@\t\r]")
# Cells of a file that say that a value is missing, in small letters: of numbers, labels, annotations and categories alike.
MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "?"})
LONGEST_MESSAGE = 2_000  # characters: of a message that quotes a cell of a megabyte, the rest says nothing


def visible(text: str) -> str:
    r"""Return the text with control characters of terminals escaped.

    Examples
    --------
    >>> print(visible("red \x1b[31m, and \u202eback"))
    red \x1b[31m, and \u202eback
    """
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def truncate(text: str, most: int = LONGEST_MESSAGE) -> str:
    """Return the beginning and the end of a text of more than ``most`` characters."""
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"


def cell(text: str) -> str:
    """Return the text as a cell of a CSV file that spreadsheets show and do not compute: formulas get an apostrophe before them.

    Numbers stay numbers, whatever their sign.

    Examples
    --------
    >>> cell("=1+2"), cell("-1"), cell("- none")
    ("'=1+2", '-1', "'- none")
    """
    return f"'{text}" if _FORMULA.match(text) and not is_number(text) else text


def is_blank(cell: str) -> bool:
    """Return whether a cell of a file says that its value is missing.

    Examples
    --------
    >>> is_blank(" NA"), is_blank("0")
    (True, False)
    """
    return cell.strip().lower() in MISSING


def is_number(text: str) -> bool:
    """Return whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True

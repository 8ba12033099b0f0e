"""What tables are made of. The same results give the same bytes."""

from __future__ import annotations

from collections.abc import Sequence

from .store import Result
from .task import program_of

NOTHING, STOPPED, TOO_LARGE, FAILED = "–", "over time", "too large", "failed"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], command: str) -> str:
    """Return a table, or, as long as nothing is stored, the command that measures it."""
    if rows:
        return markdown(header, rows)
    return f"No results are stored yet; `python -m {program_of(command.split()[0])} {command}` measures them."


def best(result: Result | None) -> dict[str, float] | None:
    """The record of least cost: of several seeds, the one that a user would keep."""
    if result is None or not result["records"]:
        return None
    return min(result["records"], key=lambda record: record["cost"])


def missing(result: Result | None) -> str:
    """What stands in a cell without a number."""
    if result is None:
        return NOTHING
    return {"time limit": STOPPED, "too large": TOO_LARGE}.get(result["status"], FAILED)


def cut_short(result: Result) -> str:
    """The mark of a result whose time was over before its last seed."""
    return "†" if result["status"] == "time limit" else ""


def spaced(number: int) -> str:
    """1 000 000."""
    return f"{number:,}".replace(",", " ")

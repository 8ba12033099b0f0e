"""Give one reader many inputs, and count what came of them.

python -m tests.system.fuzzing.campaign READER N [SEED]      prints the totals and every rule that was broken
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harness.memory import can_reset_peak

from .mutation import mutate
from .readers import READERS, Reader
from .rules import judge

_SHOWN = 200  # bytes of an input


@dataclass
class Totals:
    """Counts, the slowest input, and of each broken rule how often and the first input that broke it."""

    inputs: int = 0
    refused: int = 0
    slowest: float = 0.0
    broken: dict[str, int] = field(default_factory=dict)
    examples: dict[str, bytes] = field(default_factory=dict)


def generate_inputs(name: str, seed: int) -> Iterator[bytes]:
    """Yield the undamaged files first, then mutated ones without end."""
    reader = READERS[name]
    whole = reader.seeds()
    yield from whole
    number = 0
    while True:
        yield mutate(whole, seed, number, reader.tokens)
        number += 1


def run_campaign(name: str, n: int, seed: int) -> Totals:
    """Give a reader the first n inputs of a seed; return the totals."""
    reader, totals = READERS[name], Totals()
    with TemporaryDirectory() as folder:
        for content in reader.seeds():  # what is loaded or compiled only once counts for no input
            judge(reader.read, Path(folder), content)
        for content in islice(generate_inputs(name, seed), n):
            add_input(totals, reader, Path(folder), content)
    return totals


def add_input(totals: Totals, reader: Reader, folder: Path, content: bytes) -> None:
    """Give a reader one input, and add the verdict to the totals."""
    verdict = judge(reader.read, folder, content, reader.calls_it)
    totals.inputs += 1
    totals.refused += verdict.refused
    totals.slowest = max(totals.slowest, verdict.seconds)
    if verdict.broken:
        totals.broken[verdict.broken] = totals.broken.get(verdict.broken, 0) + 1
        totals.examples.setdefault(verdict.broken, content)


def summarize(name: str, totals: Totals) -> str:
    """Return the totals as lines of text."""
    lines = [f"{name}: {totals.inputs} inputs, {totals.refused} refused, slowest {totals.slowest:.3f} s"]
    if not can_reset_peak():
        lines.append("  memory was not measured: that needs Linux, with a /proc that may be written to")
    for rule, count in totals.broken.items():
        example = totals.examples[rule]
        lines.append(f"  {count} × {rule}: {example[:_SHOWN]!r}{'…' if len(example) > _SHOWN else ''}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(summarize(sys.argv[1], run_campaign(sys.argv[1], int(sys.argv[2]), *map(int, sys.argv[3:] or ["0"]))))

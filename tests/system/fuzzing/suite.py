"""Damaged files given to every reader.

Each must be read or refused with an error of one line, in bounded time and memory.

"mutated" are inputs by number and seed, the same on every machine (`campaign`); "guided" are those that
atheris finds by the lines that they reach (`guided`). The rules are in `rules`: a result or
an error of ours that names the file in one line, within a second a kilobyte and within 256 MiB and 100 times the file's size of
memory beyond what was resident before the input; warnings count as errors. A process that dies, dies with its task, whose
result then says so.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping

from benchmarks.harness.markdown import NOTHING, spaced, table
from benchmarks.harness.sources import ROOT
from benchmarks.harness.store import Result, Store
from benchmarks.harness.task import MINUTE, Record, Task

SOURCES = ("_runtime", "io", "tree", "out_of_core/row_sources.py", "out_of_core/array_sources.py")
SEED = 20
INPUTS = {"mutated": 40_000, "guided": 10_000}
_TOTALS = re.compile(r"(\d+) inputs, (\d+) refused, slowest ([\d.]+) s")


def _readers_by_case() -> dict[str, str]:
    """Return the readers by the names of their cases, which have no blanks."""
    from .readers import READERS

    return {name.replace(" ", "-"): name for name in READERS}


def tasks() -> list[Task]:
    return [Task("fuzzing", case, kind, "readers", 60 * MINUTE) for kind in INPUTS for case in _readers_by_case()]


def records(task: Task) -> Iterator[Record]:
    """Yield the counts of one reader."""
    from .readers import READERS

    name = _readers_by_case()[task.case]
    n = INPUTS[task.kind] // READERS[name].costs
    yield {"n": n}
    about = {"seed": SEED, "date": time.strftime("%Y-%m-%d")}
    yield {**about, **(_run_mutated(name, n) if task.kind == "mutated" else _run_guided(name, n))}


def _run_mutated(name: str, n: int) -> Record:
    from .campaign import run_campaign

    totals = run_campaign(name, n, SEED)
    return {
        "inputs": totals.inputs,
        "refused": totals.refused,
        "slowest": totals.slowest,
        "broken": list(totals.broken),
    }


def _run_guided(name: str, n: int) -> Record:
    """Run atheris in a process of its own: libFuzzer ends it when it is done."""
    command = [sys.executable, "-m", "tests.system.fuzzing.guided", name, str(n), str(SEED)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
    found = _TOTALS.search(done.stdout)
    if found is None:
        return {"inputs": 0, "refused": 0, "slowest": 0.0, "broken": [f"the process ended with {done.returncode}"]}
    broken = [line.strip() for line in done.stdout.splitlines() if " × " in line]
    return {"inputs": int(found[1]), "refused": int(found[2]), "slowest": float(found[3]), "broken": broken}


def fuzz_table(store: Store) -> str:
    """Return a row for each reader, and one for all."""
    rows, sums, days = [], dict.fromkeys(INPUTS, 0), set()
    refused = broken = 0
    for case, name in _readers_by_case().items():
        found = {kind: _record(store.get("fuzzing", case, kind, "readers")) for kind in INPUTS}
        known = [record for record in found.values() if record]
        if not known:
            continue
        for kind, record in found.items():
            sums[kind] += record["inputs"] if record else 0
        n, n_refused = sum(record["inputs"] for record in known), sum(record["refused"] for record in known)
        n_broken = sum(len(record["broken"]) for record in known)
        refused, broken = refused + n_refused, broken + n_broken
        days |= {f"{record['date']} with seed {record['seed']}" for record in known}
        slowest = 1000 * max(record["slowest"] for record in known)
        counts = [spaced(record["inputs"]) if record else NOTHING for record in found.values()]
        rows.append([name, *counts, f"{100 * n_refused / max(n, 1):.1f} %", f"{slowest:.0f} ms", str(n_broken)])
    if rows:
        total = sum(sums.values())
        rows.append(["**all**", *map(spaced, sums.values()), f"{100 * refused / total:.1f} %", "", f"**{broken}**"])
    header = ["reader", *INPUTS, "refused", "slowest", "rules broken"]
    line = f"\n\n{spaced(sum(sums.values()))} inputs, on {' and '.join(sorted(days))}." if rows else ""
    return table(header, rows, "fuzzing") + line


def _record(result: Result | None) -> Record | None:
    """Return the record of a result; of a process that died, one that says so."""
    if result is None:
        return None
    if not result["records"]:
        broken = [f"the process died: {result['status']}"]
        return {"inputs": 0, "refused": 0, "slowest": 0.0, "broken": broken, "date": "an unknown day", "seed": SEED}
    record: Record = result["records"][0]
    return record


TABLES: Mapping[str, Callable[[Store], str]] = {"fuzz": fuzz_table}

"""Exact and greedy decoding of one embedding: cost and time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from hyphc import HypHC, dasgupta_cost, decode

from ..harness import paper
from ..harness.cases import DECODED, Case
from ..harness.markdown import NOTHING, markdown
from ..harness.sources import METHOD
from ..harness.store import Result, Store
from ..harness.task import Record, Task
from ..harness.timing import timed
from .tables import in_units, printed_in_brackets, sets_in_units

SOURCES = METHOD


def tasks() -> list[Task]:
    return [Task("decoding", case, "cosine", "decoding") for case in DECODED]


def records(task: Task) -> Iterator[Record]:
    """Cost and mean seconds of ten decodings of one embedding, after one that compiles."""
    similarity = Case(task.case).similarity(task.kind)
    yield {"n": similarity.n}
    points = HypHC(refine=False, random_state=0).fit(similarity).embedding_
    for method in ("exact", "greedy"):
        seconds = [timed(decode, points, method)[1] for _ in range(11)][1:]
        cost = dasgupta_cost(decode(points, method), similarity, units="ordered")
        yield {"decoding": method, "cost": cost, "seconds": float(np.mean(seconds))}


def decoding_table(store: Store) -> str:
    """Exact against greedy decoding of one embedding, the paper's figures in brackets."""
    rows = []
    results = {name: store.get("decoding", name, "cosine", "decoding") for name in DECODED}
    for what in ("exact", "greedy"):
        costs, times = [], []
        for name in DECODED:
            record = _decoded(results[name], what)
            cost = NOTHING if record is None else in_units(record["cost"], name)
            milliseconds = NOTHING if record is None else f"{1e3 * record['seconds']:.2g}"
            costs.append(cost + printed_in_brackets(paper.DECODING, what, name))
            times.append(milliseconds + printed_in_brackets(paper.DECODING_MS, what, name))
        rows += [[f"{what}, cost", *costs], [f"{what}, ms", *times]]
    ratios = []
    for name in DECODED:
        slow, fast = (_decoded(results[name], what) for what in ("exact", "greedy"))
        ratios.append(f"{slow['seconds'] / fast['seconds']:.1f}" if slow and fast else NOTHING)
    rows.append(["greedy is faster by", *ratios])
    order = [0, 2, 1, 3, 4]
    return markdown(sets_in_units(DECODED), [rows[k] for k in order])


def _decoded(result: Result | None, what: str) -> dict[str, float] | None:
    return next((record for record in (result or {}).get("records", []) if record["decoding"] == what), None)


TABLES: dict[str, Callable[[Store], str]] = {"decoding": decoding_table}

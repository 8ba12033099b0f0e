"""Generated groups of many shapes and sizes: clusters and their number.

No setting was chosen on these seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hyphc import HypHC
from sklearn.metrics import adjusted_rand_score

from ..harness.markdown import table
from ..harness.shapes import SHAPES
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import Record, Task

SOURCES = METHOD
FIRST_SEED = 4_000_000
SEEDS = 5


def tasks() -> list[Task]:
    return [Task("shapes", shape, "auto", "ours") for shape in SHAPES]


def records(task: Task) -> Iterator[Record]:
    draw = SHAPES[task.case]
    yield {"n": len(draw(np.random.default_rng(FIRST_SEED))[0])}
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        X, truth = draw(np.random.default_rng(seed))
        model = HypHC(random_state=0).fit(X)
        right = int(truth.max()) + 1
        given, found = (adjusted_rand_score(truth, labels) for labels in (model.tree_.cut(right), model.labels_))
        yield {"seed": seed, "right": right, "given": given, "found": model.n_clusters_, "found_ari": found}


def shapes_table(store: Store) -> str:
    """Return ARI at the true number, and the numbers found with their ARI: one value if all seeds agree, else one a seed."""
    results = [store.get("shapes", shape, "auto", "ours") for shape in SHAPES]
    rows = [
        [result["case"], str(result["records"][0]["right"]), *(_values(result["records"], k) for k in _COLUMNS)]
        for result in results
        if result is not None and result["records"]
    ]
    return table(
        ["groups", "number", "ARI at the true number", "number found", "ARI of the clusters found"], rows, "shapes"
    )


_COLUMNS = {"given": "{:.2f}", "found": "{}", "found_ari": "{:.2f}"}


def _values(records: list[dict[str, Any]], name: str) -> str:
    values = [_COLUMNS[name].format(record[name]) for record in records]
    return values[0] if len(set(values)) == 1 else ", ".join(values)


TABLES: dict[str, Callable[[Store], str]] = {"shapes": shapes_table}

"""Trees of a method, seed by seed: seconds, cost and, where classes are known, how well they come out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hyphc import Tree, dasgupta_cost, dendrogram_purity
from hyphc.similarity import Similarity
from sklearn.metrics import adjusted_rand_score

from .cases import GRAPHS, Case
from .methods import METHODS
from .task import Record, Task
from .timing import timed

WARM_UP = 60  # points of the run that compiles
LONG = 600.0  # seconds: what takes longer is done for one seed
REPEAT_FOR, REPEATS = 3.0, 3  # what is not random is timed again while it takes less than so many seconds together


def units_of(case: str) -> str:
    return "mean" if case in GRAPHS else "ordered"


def records(task: Task) -> Iterator[Record]:
    """A record for each seed of the task's method."""
    case, method = Case(task.case), METHODS[task.method]
    similarity = case.similarity(task.kind)
    yield {"n": similarity.n}
    few = np.random.default_rng(0).choice(similarity.n, min(WARM_UP, similarity.n), replace=False)
    method.fit(similarity.subset(np.sort(few)), 0)
    spent = 0.0
    for seed in range(method.seeds if method.seeds > 1 else REPEATS):
        tree, seconds = timed(method.fit, similarity, seed)
        yield {"seed": seed, "seconds": seconds, **_scores(case, similarity, tree)}
        spent += seconds
        if seconds > LONG or (method.seeds == 1 and spent > REPEAT_FOR):
            return


def _scores(case: Case, similarity: Similarity, tree: Tree) -> Record:
    scores: Record = {"cost": dasgupta_cost(tree, similarity, units=units_of(case.name))}
    if case.labels is not None:
        n_classes = len(np.unique(case.labels))
        scores["purity"] = dendrogram_purity(tree, case.labels)
        scores["ari"] = float(adjusted_rand_score(case.labels, tree.cut(n_classes, criterion="height")))
    return scores

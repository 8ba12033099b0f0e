"""Stage 2 of the search: trees that are built quickly from the similarity itself."""

from __future__ import annotations

from collections.abc import Iterator

from ..baselines.agglomerate import graph_agglomeration
from ..baselines.bisection import bisecting_kmeans
from ..scores.metrics import dasgupta_cost
from ..similarity import Similarity
from ..tree import Tree
from .run import LARGE_GRAPH, Run
from .sweeps import FIRST_ROUNDS, swept


def other_starts(given: float, similarity: Similarity, run: Run) -> Iterator[Tree]:
    """Agglomeration along edges or bisecting k-means, if cheaper than ``given``, and graphs also split from the top; all swept.

    Which of the two a graph needs cannot be told from their own costs: agglomeration knows small clusters best, splits the
    large ones.
    """
    own = graph_agglomeration(similarity) if similarity.has_edges else bisecting_kmeans(similarity, n_jobs=run.n_jobs)
    if dasgupta_cost(own, similarity) < given and not run.late():
        yield swept(own, similarity, run.unheard(), rounds=FIRST_ROUNDS)
    if similarity.is_sparse and similarity.n <= LARGE_GRAPH and not run.late():
        split = bisecting_kmeans(similarity, objective="reward", n_jobs=run.n_jobs)
        yield swept(split, similarity, run.unheard(), rounds=FIRST_ROUNDS)

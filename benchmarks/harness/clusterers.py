"""Ours and its peers by name, each a function of points to flat clusters, and to a tree where it makes one.

All get the same raw rows. What takes rows gets their columns as our rule for scale="auto" leaves them, what takes a graph gets
the graph of our default: peers are compared as clusterings, not as scalings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from hyphc import HypHC, Tree, as_similarity, dendrogram_purity
from hyphc.similarity import standardize
from hyphc.similarity.scaling import column_scaling
from sklearn.metrics import adjusted_rand_score

from .points import TOYS, Floats, Ints, Points, points, triplets_alike
from .task import Record, Task
from .timing import timed

WARM_UP = 60  # points of the run that compiles
# candidates by the kind of a task: settings of HypHC; "cosine" is of standardised columns
KINDS: dict[str, dict[str, Any]] = {
    "auto": {},
    "background-0": {"background": 0.0},
    "background-0.001": {"background": 0.001},
    "background-0.003": {"background": 0.003},
    "background-0.1": {"background": 0.1},
    "neighbours-10": {"n_neighbors": 10},
    "neighbours-30": {"n_neighbors": 30},
    "shared": {"edge_weights": "shared"},
    "cosine": {"metric": "cosine"},
    "cosine-as-given": {"metric": "cosine"},
}
CANDIDATES = tuple(kind for kind in KINDS if kind != "cosine-as-given")  # which is for columns that must not be scaled
NAMES = {
    "auto": "the default",
    "background-0": "no background",
    "background-0.001": "background 0.001",
    "background-0.003": "background 0.003",
    "background-0.1": "background 0.1",
    "neighbours-10": "10 neighbours",
    "neighbours-30": "30 neighbours",
    "shared": "edges weighted by shared neighbours",
    "cosine": "cosine of standardised columns",
    "cosine-as-given": "cosine of the rows as given",
}


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method says: its tree, its clusters when their number is given, and those whose number it finds itself."""

    tree: Tree | None = None
    given: Ints | None = None
    found: Ints | None = None


@dataclass(frozen=True)
class Clusterer:
    """How a method is called, what it is called in tables, and how far it goes."""

    label: str
    fit: Callable[[Floats, int, str], Answer]
    up_to: int = 25_000


def _ours(rows: Floats, k: int, kind: str) -> Answer:
    settings = KINDS[kind]
    model = HypHC(random_state=0, **settings).fit(standardize(rows) if kind == "cosine" else rows)
    return Answer(model.tree_, model.tree_.cut(k), model.labels_)


def _flat() -> Any:
    return import_module("benchmarks.peers.flat")


def _communities() -> Any:
    return import_module("benchmarks.peers.communities")


def _kmeans(rows: Floats, k: int, kind: str) -> Answer:
    return Answer(given=_flat().kmeans(scaled(rows), k))


def _spectral(rows: Floats, k: int, kind: str) -> Answer:
    return Answer(given=_flat().spectral(scaled(rows), k))


def _genie(rows: Floats, k: int, kind: str) -> Answer:
    return Answer(given=import_module("benchmarks.peers.distances").genie_clusters(scaled(rows), k))


def _evoc(rows: Floats, k: int, kind: str) -> Answer:
    evoc = import_module("benchmarks.peers.embeddings").evoc
    return Answer(given=evoc(scaled(rows), k), found=evoc(scaled(rows)))


def _fast_hdbscan(rows: Floats, k: int, kind: str) -> Answer:
    return Answer(found=import_module("benchmarks.peers.embeddings").fast_hdbscan(scaled(rows)))


def _leiden(rows: Floats, k: int, kind: str) -> Answer:
    return Answer(found=_communities().leiden_clusters(as_similarity(rows, random_state=0).graph))


def _hdbscan(rows: Floats, k: int, kind: str) -> Answer:
    return Answer(found=_flat().hdbscan(scaled(rows)))


def _linkage(method: str) -> Callable[[Floats, int, str], Answer]:
    def fit(rows: Floats, k: int, kind: str) -> Answer:
        tree = _flat().linkage_tree(scaled(rows), method)
        return Answer(tree, tree.cut(k, criterion="height"))

    return fit


def _louvain(rows: Floats, k: int, kind: str) -> Answer:
    return Answer(found=_communities().louvain_clusters(as_similarity(rows, random_state=0).graph))


def _paris(rows: Floats, k: int, kind: str) -> Answer:
    return Answer(_communities().paris(as_similarity(rows, random_state=0).graph))


CLUSTERERS = {
    "ours": Clusterer("HypHC", _ours, up_to=100_000),
    "kmeans-flat": Clusterer("k-means", _kmeans, up_to=100_000),
    "ward-flat": Clusterer("Ward", _linkage("ward")),
    "average-flat": Clusterer("average linkage", _linkage("average")),
    "spectral-flat": Clusterer("spectral clustering", _spectral),
    "genie-flat": Clusterer("Genie", _genie, up_to=100_000),
    "hdbscan-flat": Clusterer("HDBSCAN", _hdbscan),
    "fast-hdbscan-flat": Clusterer("HDBSCAN (fast_hdbscan)", _fast_hdbscan, up_to=100_000),
    "evoc-flat": Clusterer("EVoC", _evoc, up_to=100_000),
    "leiden-flat": Clusterer("Leiden", _leiden, up_to=100_000),
    "louvain-flat": Clusterer("Louvain", _louvain, up_to=100_000),
    "paris-flat": Clusterer("Paris", _paris, up_to=100_000),
}


def scaled(rows: Floats) -> Floats:
    """Columns as our default sees them."""
    return column_scaling(rows)(rows)


def records(task: Task) -> Iterator[Record]:
    """How many points, and then what the method says of them."""
    data, fit = points(task.case), CLUSTERERS[task.method].fit
    n = len(data.rows)
    yield {"n": n, "n_classes": data.n_classes}
    few = np.sort(np.random.default_rng(0).choice(n, min(WARM_UP, n), replace=False))
    fit(data.rows[few], 3, task.kind)
    answer, seconds = timed(fit, data.rows, data.asked, task.kind)
    yield {"seed": 0, "seconds": seconds, **scores(data, answer), **(drawn(answer) if task.case in TOYS else {})}


def scores(data: Points, answer: Answer) -> Record:
    """Scores of what there is: purity of a tree, ARI of clusters whose number was given, ARI and number of those found."""
    about: Record = {}
    if answer.tree is not None:
        about["purity"] = dendrogram_purity(answer.tree, data.labels)
        if data.hypernym is not None:
            about["triplets"] = triplets_alike(answer.tree, data.hypernym)
    if answer.given is not None:
        about["ari"] = _ari(data.labels, answer.given)
    if answer.found is not None:
        about |= {"auto_ari": _ari(data.labels, answer.found), "n_clusters": int(answer.found.max()) + 1}
        about["noise"] = float((answer.found < 0).mean())
    return about


def _ari(labels: Ints, clusters: Ints) -> float:
    return float(adjusted_rand_score(labels, noise_apart(clusters)))


def noise_apart(clusters: Ints) -> Ints:
    """Every point of noise, −1, as a cluster of its own."""
    noise = clusters < 0
    return np.where(noise, clusters.max() + np.cumsum(noise), clusters)


def drawn(answer: Answer) -> Record:
    """The clusters themselves, each set in one line: what the picture needs."""
    clusters = {"given": answer.given, "found": answer.found}
    return {name: " ".join(map(str, labels)) for name, labels in clusters.items() if labels is not None}

"""The methods by name, each a function of a similarity and a seed to a tree, with its own defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from hyphc import HypHC, Tree, baselines, embed
from hyphc.similarity import Similarity

FIVE = 5  # seeds of what is random, as in the paper


@dataclass(frozen=True)
class Method:
    """How a method is called, what it is called in tables, and how far it goes."""

    label: str
    fit: Callable[[Similarity, int], Tree]
    seeds: int = 1
    up_to: int = 25_000  # points: beyond, it is not run


def _peer(module: str, name: str) -> Callable[..., Tree]:
    """A peer, imported when it is called: its package may not be installed."""
    return lambda similarity, *seed: getattr(import_module(f"benchmarks.peers.{module}"), name)(similarity, *seed)


def _plain(function: Callable[..., Tree]) -> Callable[[Similarity, int], Tree]:
    return lambda similarity, seed: function(similarity)


def _bisecting(objective: str) -> Callable[[Similarity, int], Tree]:
    return lambda similarity, seed: baselines.bisecting_kmeans(similarity, objective=objective)


ALL_PAIRS_UP_TO = 5_000  # points
FEWER_TRIPLETS = 50 * 2_000_000  # of a setting, beyond: our choice, 1 % of letter's pairs


def _paper_preset(similarity: Similarity, seed: int) -> Tree:
    most = None if similarity.n <= ALL_PAIRS_UP_TO else FEWER_TRIPLETS
    return embed(similarity, preset="paper", max_triplets=most, random_state=seed, n_jobs=-1).tree


def _released_preset(similarity: Similarity, seed: int) -> Tree:
    return embed(similarity, preset="released", random_state=seed, n_jobs=-1).tree


def _continuous(similarity: Similarity, seed: int) -> Tree:
    return HypHC(refine=False, random_state=seed).fit(similarity).tree_


def _default(similarity: Similarity, seed: int) -> Tree:
    return HypHC(random_state=seed).fit(similarity).tree_


METHODS = {
    "single": Method("single linkage", _plain(baselines.single_linkage)),
    "average": Method("average linkage", _plain(baselines.average_linkage)),
    "complete": Method("complete linkage", _plain(baselines.complete_linkage)),
    "ward": Method("Ward linkage", _plain(baselines.ward_linkage)),
    "bkm": Method("BKM, splits by Moseley & Wang's reward", _bisecting("reward"), up_to=100_000),
    "bkm-means": Method("BKM, splits by two-means", _bisecting("means"), up_to=100_000),
    "cut": Method("recursive sparsest cut", _bisecting("cut"), up_to=100_000),
    "ufit": Method("UFit", _plain(_peer("ufit", "ufit")), up_to=5_000),
    "ghhc": Method("gHHC", _peer("ghhc", "ghhc"), seeds=FIVE, up_to=5_000),
    "affinity": Method("affinity clustering", _plain(_peer("affinity", "affinity"))),
    "paris": Method("Paris", _plain(_peer("communities", "paris")), up_to=2_500),
    "paris-graph": Method("Paris", _plain(_peer("communities", "paris"))),
    "louvain": Method("Louvain", _plain(_peer("communities", "louvain")), up_to=2_500),
    "louvain-graph": Method("Louvain", _plain(_peer("communities", "louvain"))),
    "genie": Method("Genie", _plain(_peer("distances", "genie"))),
    "hdbscan": Method("HDBSCAN's tree", _plain(_peer("distances", "hdbscan_tree"))),
    "sklearn-bisecting": Method(
        "scikit-learn's BisectingKMeans", _peer("distances", "sklearn_bisecting"), seeds=FIVE, up_to=5_000
    ),
    "hyphc-paper": Method("HypHC, the paper's protocol", _paper_preset, seeds=FIVE),
    "hyphc-released": Method("HypHC, settings released with the paper", _released_preset, seeds=FIVE, up_to=500),
    "hyphc-continuous": Method("HypHC, continuous only", _continuous, seeds=FIVE, up_to=100_000),
    "hyphc": Method("HypHC", _default, seeds=FIVE, up_to=100_000),
}

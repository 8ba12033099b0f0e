"""Hierarchical clustering that optimises a global objective, Dasgupta's cost.

Every public name is loaded on first use, so ``import hyphc`` costs milliseconds and pulls in neither numba,
scikit-learn, matplotlib nor torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import baselines, datasets, geometry, io, nn, plot, theory
    from .bootstrap_support import support
    from .continuous.solver import embed
    from .estimator import HypHC
    from .explorer import explore
    from .fit import weighted_leaves as grouping
    from .fit.constraints import Constraints
    from .hyperbolic.decode import decode
    from .hyperbolic.encode import encode
    from .scores.bounds import cost_bounds
    from .scores.certificate import optimality_gap
    from .scores.costs import (
        dasgupta_cost,
        dendrogram_purity,
        moseley_wang_reward,
        split_weights,
        tree_sampling_divergence,
    )
    from .scores.describe import describe
    from .scores.differences import differences
    from .scores.exact_tree import exact_search, exact_tree
    from .scores.spreading_metrics import spreading_bound
    from .search import insert, refine
    from .search.alternatives import alternatives
    from .similarity import as_similarity
    from .tree import Tree, ordering
    from .tree.compare import compare
    from .tree.consensus import central_tree, consensus
    from .tree.distances import robinson_foulds_distance, triplet_distance
    from .tree.multifurcating import MultiTree, collapsed

    __version__: str

_HOME = {
    "Constraints": "fit.constraints",
    "HypHC": "estimator",
    "MultiTree": "tree.multifurcating",
    "Tree": "tree",
    "alternatives": "search.alternatives",
    "as_similarity": "similarity",
    "central_tree": "tree.consensus",
    "collapsed": "tree.multifurcating",
    "compare": "tree.compare",
    "consensus": "tree.consensus",
    "cost_bounds": "scores.bounds",
    "dasgupta_cost": "scores.costs",
    "decode": "hyperbolic.decode",
    "dendrogram_purity": "scores.costs",
    "describe": "scores.describe",
    "differences": "scores.differences",
    "embed": "continuous.solver",
    "encode": "hyperbolic.encode",
    "exact_search": "scores.exact_tree",
    "exact_tree": "scores.exact_tree",
    "explore": "explorer",
    "insert": "search",
    "moseley_wang_reward": "scores.costs",
    "optimality_gap": "scores.certificate",
    "refine": "search",
    "robinson_foulds_distance": "tree.distances",
    "split_weights": "scores.costs",
    "spreading_bound": "scores.spreading_metrics",
    "support": "bootstrap_support",
    "tree_sampling_divergence": "scores.costs",
    "triplet_distance": "tree.distances",
}
_MODULES = {
    "baselines": "baselines",
    "datasets": "datasets",
    "geometry": "geometry",
    "grouping": "fit.weighted_leaves",
    "io": "io",
    "nn": "nn",
    "ordering": "tree.ordering",
    "plot": "plot",
    "theory": "theory",
}

__all__ = [
    "Constraints",
    "HypHC",
    "MultiTree",
    "Tree",
    "__version__",
    "alternatives",
    "as_similarity",
    "baselines",
    "central_tree",
    "collapsed",
    "compare",
    "consensus",
    "cost_bounds",
    "dasgupta_cost",
    "datasets",
    "decode",
    "dendrogram_purity",
    "describe",
    "differences",
    "embed",
    "encode",
    "exact_search",
    "exact_tree",
    "explore",
    "geometry",
    "grouping",
    "insert",
    "io",
    "moseley_wang_reward",
    "nn",
    "optimality_gap",
    "ordering",
    "plot",
    "refine",
    "robinson_foulds_distance",
    "split_weights",
    "spreading_bound",
    "support",
    "theory",
    "tree_sampling_divergence",
    "triplet_distance",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("hyphc")
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    if name in _MODULES:
        return import_module(f".{_MODULES[name]}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

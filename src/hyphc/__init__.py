"""Hierarchical clustering that optimises a global objective, Dasgupta's cost.

Every public name is loaded on first use, so ``import hyphc`` costs milliseconds and pulls in neither numba,
scikit-learn, matplotlib nor torch.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import baselines, datasets, explore, geometry, grouping, io, nn, ordering, plot, theory
    from .bounds import cost_bounds
    from .certificate import exact_tree, optimality_gap
    from .decode import decode
    from .embed import embed
    from .encode import encode
    from .estimator import HypHC
    from .metrics import (
        dasgupta_cost,
        dendrogram_purity,
        moseley_wang_reward,
        split_weights,
        tree_sampling_divergence,
    )
    from .search import insert, refine
    from .similarity import as_similarity
    from .tree import Tree
    from .tree_distances import robinson_foulds_distance, triplet_distance

    __version__: str

_HOME = {
    "HypHC": "estimator",
    "Tree": "tree",
    "as_similarity": "similarity",
    "cost_bounds": "bounds",
    "dasgupta_cost": "metrics",
    "decode": "decode",
    "dendrogram_purity": "metrics",
    "embed": "embed",
    "encode": "encode",
    "exact_tree": "certificate",
    "insert": "search",
    "moseley_wang_reward": "metrics",
    "optimality_gap": "certificate",
    "refine": "search",
    "robinson_foulds_distance": "tree_distances",
    "split_weights": "metrics",
    "tree_sampling_divergence": "metrics",
    "triplet_distance": "tree_distances",
}
_MODULES = ("baselines", "datasets", "explore", "geometry", "grouping", "io", "nn", "ordering", "plot", "theory")

__all__ = [
    "HypHC",
    "Tree",
    "__version__",
    "as_similarity",
    "baselines",
    "cost_bounds",
    "dasgupta_cost",
    "datasets",
    "decode",
    "dendrogram_purity",
    "embed",
    "encode",
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
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """Keeps ``hyphc.decode`` the function although a submodule of that name exists.

    The import system binds every loaded submodule to its package; for a name in ``_HOME`` that would hide the public function.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

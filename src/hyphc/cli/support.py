"""``hyphc fit --support``: support of the clusters, by refits with the options of the fit."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from .._runtime.arrays import Ints
from .._runtime.user_warnings import collect_warnings
from ..fit.constraints import Constraints
from ..io import Points
from ..similarity import Similarity, standardize
from ..stability import Resample, Support, support
from ..tree import Tree

STABLE = 0.8  # transfer support from which on the report calls a cluster stable
_WAYS: dict[str, Resample] = {"features": "columns", "graph": "edges"}


def compute_support(
    arguments: argparse.Namespace, tree: Tree, points: Points, similarity: Similarity, known: Constraints | None
) -> Support:
    """Return the support of the tree's clusters, resampled as requested or as fits the data, under the constraints."""
    usual: Resample = _WAYS.get(points.kind, "rows")
    data, parameters = _fit_arguments(arguments, points, similarity)
    with collect_warnings(lambda message: None):  # the number of refits says that there was an interrupt
        return support(
            tree,
            data,
            resample=arguments.resample or usual,
            n_resamples=arguments.support,
            random_state=arguments.seed,
            n_jobs=-1,
            verbose=int(sys.stderr.isatty()),
            effort=arguments.effort,
            constraints=known,
            **parameters,
        )


def _fit_arguments(arguments: argparse.Namespace, points: Points, similarity: Similarity) -> tuple[Any, dict[str, Any]]:
    """Return the arguments of HypHC for the same fit: rows with the metric's settings, or the similarity itself."""
    if points.kind != "features":
        return similarity, {}
    metric = arguments.metric or "auto"
    if metric != "auto":
        rows = standardize(points.data) if arguments.standardize else points.data
        return rows, {"metric": metric, "n_neighbors": arguments.n_neighbors}
    scale = {"yes": True, "no": False}.get(arguments.scale, bool(arguments.standardize) or "auto")
    parameters = {"n_neighbors": arguments.n_neighbors, "scale": scale, "background": arguments.background}
    return points.data, parameters


def support_row(found: Support, nodes: Ints) -> tuple[str, str, str]:
    """Return how many flat clusters, given by their nodes, are stable, and how that was measured."""
    stable = f"{found.n_stable(nodes, STABLE)} of {len(nodes)}"
    return ("stable", stable, f"flat clusters with a transfer support of at least {STABLE}; {found}")

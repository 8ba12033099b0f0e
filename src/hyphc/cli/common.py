"""What several commands do: read the data that the options describe and make it a similarity."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ..io import ColumnsError, Points, match_leaves, read_points, read_tree, unique_names
from ..similarity import Similarity, as_similarity, standardize
from ..similarity.metrics import METRICS, NEIGHBOR_METRICS
from ..tree import Tree

NEWICK_SUFFIXES = (".nwk", ".newick")


def check_usage(arguments: argparse.Namespace) -> None:
    """End with a usage error, code 2, when options contradict each other."""
    error = arguments.parser.error
    if arguments.precomputed and arguments.graph:
        error("--precomputed is a full table of similarities and --graph a list of edges; give one of them")
    given = {
        "--standardize": arguments.standardize,
        "--metric": arguments.metric,
        "--n-neighbors": arguments.n_neighbors,
    }
    for option, value in given.items():
        if value and (arguments.precomputed or arguments.graph):
            kind = "--precomputed" if arguments.precomputed else "--graph"
            error(f"{kind} similarities are taken as they are; leave out {option}")
    metric = METRICS.get(arguments.metric)
    if metric is not None and not metric.stands_alone and arguments.n_neighbors is None:
        error(f"--metric {metric.name} is a distance; add --n-neighbors, for instance 15, or choose --metric rbf")
    if metric is not None and not metric.has_neighbors and arguments.n_neighbors is not None:
        error(f"--n-neighbors goes with --metric {' or '.join(NEIGHBOR_METRICS)}, not {metric.name}")


@contextmanager
def _options_named() -> Iterator[None]:
    """A mistake about columns also says which options choose them."""
    try:
        yield
    except ColumnsError as error:
        options = ", ".join(f"--{argument}" for argument in error.arguments)
        raise ValueError(f"{str(error).removesuffix('.')} ({options}).") from None


def read_data(arguments: argparse.Namespace, path: str) -> Points:
    """The points of a file, with labels that can be used."""
    with _options_named():
        points = read_points(
            path,
            features=arguments.features,
            labels=arguments.labels,
            names=arguments.names,
            precomputed=arguments.precomputed,
            graph=arguments.graph,
        )
    if points.labels is not None and len(set(points.labels)) == points.n:
        raise ValueError(f"{points.source}: no two rows have the same label; name a column of groups with --labels.")
    return points


def similarity_of(points: Points, arguments: argparse.Namespace) -> tuple[Similarity, str]:
    """The similarity that the options ask for, and what it is in words."""
    if points.kind != "features":
        what = "weights of the edges" if points.kind == "graph" else "numbers of the file"
        return _precomputed(points), what
    if not isinstance(points.data, np.ndarray) and arguments.n_neighbors is None:
        raise ValueError(f"{points.source} is a sparse table of features; add --n-neighbors, for instance 15.")
    try:
        metric, k = arguments.metric or "cosine", arguments.n_neighbors
        data, what = points.data, METRICS[metric].words
        if arguments.standardize:
            data, constant = _standardized(points)
            what += " of standardised columns" + (f", {constant} constant ones left out" if constant else "")
        if k is not None:
            _check_neighbours(points, k)
            what = f"graph of {k} nearest neighbours, {what}"
        similarity = as_similarity(data, metric, n_neighbors=k, n_jobs=-1, random_state=arguments.seed)
    except ValueError as error:
        raise ValueError(f"{points.source}: {error}") from None
    return similarity, what


def _precomputed(points: Points) -> Similarity:
    try:
        return as_similarity(points.data, "precomputed")
    except ValueError as error:
        raise ValueError(_what_is_wrong(points) or f"{points.source}: {error}") from None


def _what_is_wrong(points: Points) -> str | None:
    """Why the matrix, dense or sparse, holds no similarities, in the words of a file: rows and columns count from 1."""
    matrix, excess = points.data, abs(points.data - points.data.T)
    i, j = map(int, np.unravel_index(matrix.argmin(), matrix.shape))
    if matrix[i, j] < 0:
        return (
            f"{points.source}, row {i + 1}, column {j + 1}: {matrix[i, j]:g} is negative; similarities are at least 0: take "
            "max(d) - d for distances d, (1 + r) / 2 for correlations r."
        )
    i, j = map(int, np.unravel_index(excess.argmax(), excess.shape))
    if matrix[i, j] != matrix[j, i]:
        return (
            f"{points.source}: row {i + 1}, column {j + 1} is {matrix[i, j]:g} but row {j + 1}, column {i + 1} is "
            f"{matrix[j, i]:g}; similarities are symmetric: take the mean of the two."
        )
    return None


def _standardized(points: Points) -> tuple[np.ndarray, int]:
    if not isinstance(points.data, np.ndarray):  # sparse
        raise ValueError("a sparse table cannot be standardised without filling it; leave out --standardize.")
    data = standardize(points.data)
    constant = points.data.shape[1] - data.shape[1]
    if data.shape[1] == 0:
        raise ValueError("every column is constant, which tells no two rows apart; name other columns with --features.")
    return data, constant


def _check_neighbours(points: Points, k: int) -> None:
    if k >= points.n:
        raise ValueError(f"--n-neighbors {k} is too many for {points.n} rows; give at most {points.n - 1}.")


def leaf_names(points: Points) -> tuple[str, ...] | None:
    """Names for the leaves that tell them apart."""
    return None if points.names is None else unique_names(points.names)


def tree_for(path: str, points: Points) -> tuple[Tree, str]:
    """A tree with its leaves in the order of the data, and how they were matched."""
    tree = read_tree(path)
    if tree.n_leaves != points.n:
        raise ValueError(
            f"{path} has {tree.n_leaves} leaves and {points.source} {points.n} rows; give the data that the tree was made from."
        )
    by_order = Path(path).suffix.lower() not in NEWICK_SUFFIXES
    with _options_named():
        return match_leaves(tree, leaf_names(points), source=path, by_order=by_order)


def print_notes(points: Points, similarity: str | None = None) -> None:
    """Say what was read and what was inferred."""
    print(f"{points.source}: {points.n} {'nodes' if points.kind == 'graph' else 'rows'}")
    notes = points.notes if similarity is None else (*points.notes, f"similarity: {similarity}")
    for note in notes:
        what, _, text = note.partition(": ")
        print(f"  {what:<11} {text}")

"""Steps that several commands share: option checks, reading data, building the similarity."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._runtime.user_warnings import collect_warnings
from ..io import ColumnsError, Points, match_leaves, read_points, read_tree, unique_names
from ..io.points import Missing
from ..similarity import Similarity, as_similarity, standardize
from ..similarity.build import metric_named
from ..similarity.inputs.input_warnings import nuisance_columns
from ..similarity.metrics import METRICS, NEIGHBOR_METRICS
from ..similarity.neighbor_metrics import Auto
from ..similarity.symmetrize import DIRECTED
from ..tree import Tree
from ..tree.prunings import CONDENSED
from .options import given_options
from .outputs import print_warning

NEWICK_SUFFIXES = (".nwk", ".newick")
_OF_ROWS = ("metric", "n_neighbors", "scale", "background", "standardize")
# Options that are parameters of ``read_points``, and not of reading annotations.
_READ_BY_DATA = ("labels", "names", "precomputed", "distances", "graph", "directed", "transpose", "sequence_distance")
LONGEST_LABEL = 1_000  # characters: what is longer is no group; arrays of text have room for the longest in every row


def check_usage(arguments: argparse.Namespace) -> None:
    """Exit with a usage error, code 2, when options contradict each other."""
    error, given = arguments.parser.error, given_options(arguments)
    as_they_are = [given[name] for name in ("precomputed", "distances", "graph") if name in given]
    if len(as_they_are) > 1:
        error(
            "--precomputed is a full table of similarities, --distances one of distances and --graph a list of edges; give one "
            "of them"
        )
    for name, flag in given.items() if as_they_are else ():
        if name in _OF_ROWS:
            what = "distances" if arguments.distances else "similarities"
            error(f"{as_they_are[0]} {what} are taken as they are; leave out {flag}")
        if name in ("categories", "transpose", "drop_missing", "impute"):
            error(f"{as_they_are[0]} numbers relate rows to each other; leave out {flag}")
    if arguments.transpose and "annotate" in given:
        error("--annotate is about rows, and --transpose clusters columns; leave out one of them")
    metric = METRICS[arguments.metric or "auto"]
    if metric.name != "auto":
        if arguments.categories:
            error(f"--categories goes with --metric auto, not {metric.name}; leave it out")
        if arguments.scale is not None:
            error(f"--scale goes with --metric auto; for {metric.name} give --standardize, or leave it out")
        if arguments.background is not None:
            error(f"--background goes with --metric auto, not {metric.name}; leave it out")
    elif arguments.standardize and arguments.scale not in (None, "yes"):
        error(f"--standardize and --scale {arguments.scale} contradict each other; give one of them")
    if not metric.stands_alone and arguments.n_neighbors is None:
        error(f"--metric {metric.name} is a distance; add --n-neighbors, for instance 15, or choose --metric rbf")
    if not metric.has_neighbors and arguments.n_neighbors is not None:
        error(f"--n-neighbors goes with --metric {' or '.join(NEIGHBOR_METRICS)}, not {metric.name}")


@contextmanager
def name_options() -> Iterator[None]:
    """Add the names of the options that select columns to an error about columns."""
    try:
        yield
    except ColumnsError as error:
        options = ", ".join(f"--{argument}" for argument in error.arguments)
        raise ValueError(f"{str(error).removesuffix('.')} ({options}).") from None


def read_data(arguments: argparse.Namespace, path: str, known: Mapping[str, str] | None = None) -> Points:
    """Return the points of a file, with usable labels, and the columns that hold constraints."""
    with name_options():
        points = read_points(path, known=known, **read_settings(arguments), **_values(arguments, _READ_BY_DATA))
    labels = [label for label in points.labels or () if label]
    longest = max(map(len, labels), default=0)
    for bad, trouble in (
        (not labels, "no row has a label"),
        (longest > LONGEST_LABEL, f"a label has {longest} characters"),
        (len(set(labels)) == len(labels), "no two rows have the same label"),
    ):
        if points.labels is not None and bad:
            raise ValueError(f"{points.source}: {trouble}; name a column of groups with --labels, or leave it out.")
    return points


def read_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of ``read_points`` that choose rows and columns; annotation columns are excluded."""
    beside = getattr(arguments, "annotate", None) or ()
    takes_missing = METRICS[getattr(arguments, "metric", None) or "auto"].takes_missing
    by_default: Missing = "keep" if takes_missing else "refuse"  # only the default metric accepts missing values
    return {
        **_values(arguments, ("features", "categories", "sheet", "header")),
        "embedding": arguments.obsm,
        "exclude": (*(arguments.exclude or ()), *beside) or None,
        "missing": "drop" if arguments.drop_missing else "impute" if arguments.impute else by_default,
    }


def _values(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(arguments, name) for name in names}


def build_similarity(points: Points, arguments: argparse.Namespace) -> tuple[Similarity, tuple[str, ...]]:
    """Return the similarity that the options describe, and notes on it."""
    given = [flag for name, flag in given_options(arguments).items() if name in _OF_ROWS]
    if points.kind != "features" and given:
        what = {"graph": "edges of a graph"}.get(points.kind, points.kind)
        raise ValueError(f"{points.source} holds {what}, which are taken as they are; leave out {given[0]}.")
    if arguments.directed is not None and points.kind not in ("graph", "similarities"):
        what = f"holds {points.kind}, and --directed is about edges or similarities"
        raise ValueError(f"{points.source} {what}; leave it out.")
    # warnings of the library, in terms of command-line options
    with collect_warnings(lambda message: print_warning(_translate_message(message, points))):
        if points.kind != "features":
            return _build_given(points, arguments.directed)
        try:
            k = arguments.n_neighbors
            if k is not None and k >= points.n:
                raise ValueError(f"--n-neighbors {k} is too many for {points.n} rows; give at most {points.n - 1}.")
            build = _build_auto if (arguments.metric or "auto") == "auto" else _build_named
            return build(points, arguments)
        except ValueError as error:
            raise ValueError(f"{points.source}: {error}") from None


def cluster_parameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of an estimator that do not concern the similarity."""
    parameters = _values(arguments, ("n_clusters", "min_size", "outliers", "effort"))
    return {**parameters, "criterion": arguments.criterion or CONDENSED, "random_state": arguments.seed}


def auto_parameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of the metric auto that the options describe."""
    scale = {"yes": True, "no": False}.get(arguments.scale, bool(arguments.standardize) or "auto")
    return {"n_neighbors": arguments.n_neighbors, "scale": scale, "background": arguments.background}


def _build_auto(points: Points, arguments: argparse.Namespace) -> tuple[Similarity, tuple[str, ...]]:
    metric = metric_named("auto", **auto_parameters(arguments), n_jobs=-1, random_state=arguments.seed)
    assert isinstance(metric, Auto)
    similarity = metric.similarity(points.data)
    scaling = similarity.source.scaling
    what = f"{min(similarity.source.n_neighbors, points.n - 1)} nearest neighbours of each row"
    what += f", with a background of {metric.background:g}" if metric.background > 0 else " and nothing else"
    columns = "columns as they are: the table is sparse" if scaling is None else scaling.why
    return similarity, (f"similarity: {what}", columns.replace("columns ", "columns: ", 1))


def _build_named(points: Points, arguments: argparse.Namespace) -> tuple[Similarity, tuple[str, ...]]:
    metric, k, data = METRICS[arguments.metric], arguments.n_neighbors, points.data
    if k is None and not isinstance(data, np.ndarray):
        raise ValueError("a sparse table of features takes --metric auto, or --n-neighbors, for instance 15.")
    what = metric.words if k is None else f"graph of {k} nearest neighbours by {metric.name} distance"
    columns = "as they are"
    if arguments.standardize:
        if not isinstance(data, np.ndarray):
            raise ValueError("a sparse table cannot be standardised without filling it; leave out --standardize.")
        data = standardize(data)
        if data.shape[1] == 0:
            raise ValueError("every column is constant, so all rows are equal; name other columns with --features.")
        constant = points.data.shape[1] - data.shape[1]
        columns = "standardised" + (f", {constant} constant left out" if constant else "")
    similarity = as_similarity(data, metric.name, n_neighbors=k, n_jobs=-1, random_state=arguments.seed)
    return similarity, (f"similarity: {what}", f"columns: {columns}")


def _build_given(points: Points, directed: str | None) -> tuple[Similarity, tuple[str, ...]]:
    """Return the similarity of numbers that are used as they are."""
    distances = points.kind == "distances"
    name = "precomputed_distances" if distances else "precomputed"
    what = "weights of the edges" if points.kind == "graph" else "numbers of the file"
    what += "" if directed is None else f", the {directed} of both directions"
    try:
        similarity = as_similarity(points.data, name, directed=directed)
        return similarity, (f"similarity: {METRICS[name].words if distances else what}",)
    except ValueError as error:
        problem = None if distances or directed is not None else _diagnose_matrix(points)
        raise ValueError(problem or f"{points.source}: {error}") from None


_OPTIONS = {
    "metric='auto' or hyphc.similarity.standardize": "--metric auto or --standardize",
    "metric='precomputed'": "--precomputed",
    "metric='precomputed_distances'": "--distances",
    "X ": "The table ",
}


def _translate_message(message: str, points: Points) -> str:
    for argument, option in _OPTIONS.items():
        message = message.replace(argument, option)
    column = re.match(r"Column (\d+) ", message)
    if column is None:
        return message
    called = repr(points.columns[int(column[1])]) if points.columns else str(int(column[1]) + 1)
    return f"column {called} {message[column.end() :]}"


def _diagnose_matrix(points: Points) -> str | None:
    """Return why the matrix, dense or sparse, holds no similarities; rows and columns count from 1 as in the file."""
    matrix, excess = points.data, abs(points.data - points.data.T)
    i, j = map(int, np.unravel_index(matrix.argmin(), matrix.shape))
    if matrix[i, j] < 0:
        remedy = "similarities are at least 0: take max(d) - d for distances d, (1 + r) / 2 for correlations r"
        return f"{points.source}, row {i + 1}, column {j + 1}: {matrix[i, j]:g} is negative; {remedy}."
    i, j = map(int, np.unravel_index(excess.argmax(), excess.shape))
    if matrix[i, j] != matrix[j, i]:
        return (
            f"{points.source}: row {i + 1}, column {j + 1} is {matrix[i, j]:g} but row {j + 1}, column {i + 1} is "
            f"{matrix[j, i]:g}; say how the two become one: --directed {', '.join(DIRECTED)}."
        )
    return None


def leaf_names(points: Points) -> tuple[str, ...] | None:
    """Return unique names for the leaves."""
    return None if points.names is None else unique_names(points.names)


def tree_for(path: str, points: Points) -> tuple[Tree, str]:
    """Return a tree with its leaves in the order of the data, and how they were matched."""
    tree = read_tree(path)
    if tree.n_leaves != points.n:
        counts = f"{path} has {tree.n_leaves} leaves and {points.source} {points.n} rows"
        raise ValueError(f"{counts}; give the data that the tree was made from.")
    by_order = Path(path).suffix.lower() not in NEWICK_SUFFIXES
    with name_options():
        return match_leaves(tree, leaf_names(points), source=path, by_order=by_order)


def nuisance_notes(
    columns: Sequence[str] | None, X: Any, also: str = " or show it beside the tree with --annotate"
) -> list[str]:
    """Return a note for each feature column named like a batch, plate, run or site."""
    if columns is None or not isinstance(X, np.ndarray):
        return []
    return [
        f"batch?: clustered by {columns[c]}, which seems to say how rows were measured and not what: leave it out with "
        f"--exclude {columns[c]},{also} {columns[c]}"
        for c in nuisance_columns(columns, X)
    ]

"""Steps that several commands share: option checks, reading data, building the similarity, printing notes."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._runtime.sanitize import truncate, visible
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

NEWICK_SUFFIXES = (".nwk", ".newick")
LONGEST_LABEL = 1_000  # characters: what is longer is a text and no group
_NOTE_WIDTH = 106  # characters; with the column before it, a line of 120


def check_usage(arguments: argparse.Namespace) -> None:
    """Exit with a usage error, code 2, when options contradict each other."""
    error = arguments.parser.error
    taken_as_they_are = [f"--{name}" for name in ("precomputed", "distances", "graph") if getattr(arguments, name)]
    if len(taken_as_they_are) > 1:
        error(
            "--precomputed is a full table of similarities, --distances one of distances and --graph a list of edges; give one "
            "of them"
        )
    given = [name for name in _OF_ROWS if getattr(arguments, name) not in (None, False)]
    if taken_as_they_are and given:
        what = "distances" if arguments.distances else "similarities"
        error(f"{taken_as_they_are[0]} {what} are taken as they are; leave out --{given[0].replace('_', '-')}")
    of_tables = [
        option for option in ("categories", "transpose", "drop_missing", "impute") if getattr(arguments, option)
    ]
    if taken_as_they_are and of_tables:
        flag = f"--{of_tables[0].replace('_', '-')}"
        error(f"{taken_as_they_are[0]} numbers relate rows to each other; leave out {flag}")
    if arguments.transpose and getattr(arguments, "annotate", None):
        error("--annotate is about rows, and --transpose clusters columns; leave out one of them")
    if arguments.categories and (arguments.metric or "auto") != "auto":
        error(f"--categories goes with --metric auto, not {arguments.metric}; leave it out")
    _check_metric(arguments)


_OF_ROWS = ("metric", "n_neighbors", "scale", "background", "standardize")


def _check_metric(arguments: argparse.Namespace) -> None:
    """Exit with a usage error for options that the metric does not have."""
    error, metric = arguments.parser.error, METRICS[arguments.metric or "auto"]
    if metric.name != "auto":
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
        points = read_points(
            path,
            **read_settings(arguments),
            known=known,
            labels=arguments.labels,
            names=arguments.names,
            precomputed=arguments.precomputed,
            distances=arguments.distances,
            graph=arguments.graph,
            directed=arguments.directed,
            transpose=arguments.transpose,
            sequence_distance=arguments.sequence_distance,
        )
    labels = [label for label in points.labels or () if label]
    if points.labels is not None and not labels:
        raise ValueError(
            f"{points.source}: no row has a label; name a column of groups with --labels, or leave it out."
        )
    longest = max(map(len, labels), default=0)
    if longest > LONGEST_LABEL:  # arrays of text have room for the longest in every row
        raise ValueError(f"{points.source}: a label has {longest} characters; name a column of groups with --labels.")
    if labels and len(set(labels)) == len(labels):
        raise ValueError(f"{points.source}: no two rows have the same label; name a column of groups with --labels.")
    return points


def read_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of ``read_points`` that choose rows and columns; annotation columns are excluded."""
    return {
        "features": arguments.features,
        "exclude": (*(arguments.exclude or ()), *(getattr(arguments, "annotate", None) or ())) or None,
        "categories": arguments.categories,
        "missing": _about_missing(arguments),
        "embedding": arguments.obsm,
        "sheet": arguments.sheet,
        "header": arguments.header,
    }


def _about_missing(arguments: argparse.Namespace) -> Missing:
    """Return the treatment of missing values: only the default metric accepts them."""
    if arguments.drop_missing:
        return "drop"
    if arguments.impute:
        return "impute"
    return "keep" if METRICS[getattr(arguments, "metric", None) or "auto"].takes_missing else "refuse"


def build_similarity(points: Points, arguments: argparse.Namespace) -> tuple[Similarity, tuple[str, ...]]:
    """Return the similarity that the options describe, and notes on it."""
    given = [f"--{name.replace('_', '-')}" for name in _OF_ROWS if getattr(arguments, name) not in (None, False)]
    if points.kind != "features" and given:
        what = {"graph": "edges of a graph"}.get(points.kind, points.kind)
        raise ValueError(f"{points.source} holds {what}, which are taken as they are; leave out {given[0]}.")
    if arguments.directed is not None and points.kind not in ("graph", "similarities"):
        raise ValueError(
            f"{points.source} holds {points.kind}, and --directed is about edges or similarities; leave it out."
        )
    with _translate_warnings(points):
        if points.kind != "features":
            return _build_given(points, arguments.directed)
        try:
            if arguments.n_neighbors is not None:
                _check_neighbours(points, arguments.n_neighbors)
            return (
                _build_auto(points, arguments)
                if (arguments.metric or "auto") == "auto"
                else _build_named(points, arguments)
            )
        except ValueError as error:
            raise ValueError(f"{points.source}: {error}") from None


def _build_auto(points: Points, arguments: argparse.Namespace) -> tuple[Similarity, tuple[str, ...]]:
    scale = {"yes": True, "no": False}.get(arguments.scale, bool(arguments.standardize) or "auto")
    metric = metric_named(
        "auto",
        n_neighbors=arguments.n_neighbors,
        scale=scale,
        background=arguments.background,
        n_jobs=-1,
        random_state=arguments.seed,
    )
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
    what, columns = metric.words, "as they are"
    if arguments.standardize:
        data, constant = _standardize(points)
        columns = "standardised" + (f", {constant} constant left out" if constant else "")
    if k is not None:
        what = f"graph of {k} nearest neighbours by {metric.name} distance"
    similarity = as_similarity(data, metric.name, n_neighbors=k, n_jobs=-1, random_state=arguments.seed)
    return similarity, (f"similarity: {what}", f"columns: {columns}")


def _build_given(points: Points, directed: str | None) -> tuple[Similarity, tuple[str, ...]]:
    """Return the similarity of numbers that are used as they are."""
    distances = points.kind == "distances"
    name = "precomputed_distances" if distances else "precomputed"
    what = "weights of the edges" if points.kind == "graph" else "numbers of the file"
    try:
        words = (
            METRICS[name].words
            if distances
            else what
            if directed is None
            else f"{what}, the {directed} of both directions"
        )
        return as_similarity(points.data, name, directed=directed), (f"similarity: {words}",)
    except ValueError as error:
        problem = None if distances or directed is not None else _diagnose_matrix(points)
        raise ValueError(problem or f"{points.source}: {error}") from None


@contextmanager
def _translate_warnings(points: Points) -> Iterator[None]:
    """Print warnings of the library in terms of command-line options."""
    with collect_warnings(lambda message: print_warning(_translate_message(message, points))):
        yield


def print_warning(message: str) -> None:
    """Print a warning to standard error."""
    print(f"hyphc: {visible(message)}", file=sys.stderr)


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
    place = int(column[1])
    called = f"column {points.columns[place]!r} " if points.columns else f"column {place + 1} "
    return called + message[column.end() :]


def _diagnose_matrix(points: Points) -> str | None:
    """Return why the matrix, dense or sparse, holds no similarities; rows and columns count from 1 as in the file."""
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
            f"{matrix[j, i]:g}; say how the two become one: --directed {', '.join(DIRECTED)}."
        )
    return None


def _standardize(points: Points) -> tuple[np.ndarray, int]:
    if not isinstance(points.data, np.ndarray):  # sparse
        raise ValueError("a sparse table cannot be standardised without filling it; leave out --standardize.")
    data = standardize(points.data)
    constant = points.data.shape[1] - data.shape[1]
    if data.shape[1] == 0:
        raise ValueError("every column is constant, so all rows are equal; name other columns with --features.")
    return data, constant


def _check_neighbours(points: Points, k: int) -> None:
    if k >= points.n:
        raise ValueError(f"--n-neighbors {k} is too many for {points.n} rows; give at most {points.n - 1}.")


def leaf_names(points: Points) -> tuple[str, ...] | None:
    """Return unique names for the leaves."""
    return None if points.names is None else unique_names(points.names)


def tree_for(path: str, points: Points) -> tuple[Tree, str]:
    """Return a tree with its leaves in the order of the data, and how they were matched."""
    tree = read_tree(path)
    if tree.n_leaves != points.n:
        raise ValueError(
            f"{path} has {tree.n_leaves} leaves and {points.source} {points.n} rows; give the data that the tree was made from."
        )
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


def print_notes(points: Points, notes: Sequence[str]) -> None:
    """Print what was read and what was inferred."""
    print(f"{visible(points.source)}: {points.n} {'nodes' if points.kind == 'graph' else 'rows'}")
    for note in (*points.notes, *notes):
        print_note(note)


def print_note(note: str) -> None:
    """Print a note in two columns, its subject and its text."""
    what, _, text = visible(truncate(note)).partition(": ")
    lines = textwrap.wrap(text, _NOTE_WIDTH, break_long_words=False, break_on_hyphens=False) or [""]
    print(f"  {what:<11} " + f"\n{'':14}".join(lines))

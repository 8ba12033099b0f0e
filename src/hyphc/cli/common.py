"""What several commands do: read the data that the options describe and make it a similarity."""

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
    """End with a usage error, code 2, when options contradict each other."""
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
    """Each metric has options of its own."""
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
def options_named() -> Iterator[None]:
    """A mistake about columns also says which options choose them."""
    try:
        yield
    except ColumnsError as error:
        options = ", ".join(f"--{argument}" for argument in error.arguments)
        raise ValueError(f"{str(error).removesuffix('.')} ({options}).") from None


def read_data(arguments: argparse.Namespace, path: str, known: Mapping[str, str] | None = None) -> Points:
    """The points of a file, with labels that can be used, and the columns that say what is ``known``."""
    with options_named():
        points = read_points(
            path,
            **how_to_read(arguments),
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


def how_to_read(arguments: argparse.Namespace) -> dict[str, Any]:
    """What decides which rows and columns of a table are clustered; columns shown beside the tree are not."""
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
    """What is done about missing values: only the default metric takes them."""
    if arguments.drop_missing:
        return "drop"
    if arguments.impute:
        return "impute"
    return "keep" if METRICS[getattr(arguments, "metric", None) or "auto"].takes_missing else "refuse"


def similarity_of(points: Points, arguments: argparse.Namespace) -> tuple[Similarity, tuple[str, ...]]:
    """The similarity that the options ask for, and notes that say what it is."""
    given = [f"--{name.replace('_', '-')}" for name in _OF_ROWS if getattr(arguments, name) not in (None, False)]
    if points.kind != "features" and given:
        what = {"graph": "edges of a graph"}.get(points.kind, points.kind)
        raise ValueError(f"{points.source} holds {what}, which are taken as they are; leave out {given[0]}.")
    if arguments.directed is not None and points.kind not in ("graph", "similarities"):
        raise ValueError(
            f"{points.source} holds {points.kind}, and --directed is about edges or similarities; leave it out."
        )
    with _warnings_told(points):
        if points.kind != "features":
            return _given(points, arguments.directed)
        try:
            if arguments.n_neighbors is not None:
                _check_neighbours(points, arguments.n_neighbors)
            return _auto(points, arguments) if (arguments.metric or "auto") == "auto" else _named(points, arguments)
        except ValueError as error:
            raise ValueError(f"{points.source}: {error}") from None


def _auto(points: Points, arguments: argparse.Namespace) -> tuple[Similarity, tuple[str, ...]]:
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


def _named(points: Points, arguments: argparse.Namespace) -> tuple[Similarity, tuple[str, ...]]:
    metric, k, data = METRICS[arguments.metric], arguments.n_neighbors, points.data
    if k is None and not isinstance(data, np.ndarray):
        raise ValueError("a sparse table of features takes --metric auto, or --n-neighbors, for instance 15.")
    what, columns = metric.words, "as they are"
    if arguments.standardize:
        data, constant = _standardized(points)
        columns = "standardised" + (f", {constant} constant left out" if constant else "")
    if k is not None:
        what = f"graph of {k} nearest neighbours by {metric.name} distance"
    similarity = as_similarity(data, metric.name, n_neighbors=k, n_jobs=-1, random_state=arguments.seed)
    return similarity, (f"similarity: {what}", f"columns: {columns}")


def _given(points: Points, directed: str | None) -> tuple[Similarity, tuple[str, ...]]:
    """Numbers that are taken as they are."""
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
        told = None if distances or directed is not None else _what_is_wrong(points)
        raise ValueError(told or f"{points.source}: {error}") from None


@contextmanager
def _warnings_told(points: Points) -> Iterator[None]:
    """What the library warns of, in the words of the command line."""
    with collect_warnings(lambda message: say(_in_options(message, points))):
        yield


def say(message: str) -> None:
    """Print a warning beside the results."""
    print(f"hyphc: {visible(message)}", file=sys.stderr)


_OPTIONS = {
    "metric='auto' or hyphc.similarity.standardize": "--metric auto or --standardize",
    "metric='precomputed'": "--precomputed",
    "metric='precomputed_distances'": "--distances",
    "X ": "The table ",
}


def _in_options(message: str, points: Points) -> str:
    for argument, option in _OPTIONS.items():
        message = message.replace(argument, option)
    column = re.match(r"Column (\d+) ", message)
    if column is None:
        return message
    place = int(column[1])
    called = f"column {points.columns[place]!r} " if points.columns else f"column {place + 1} "
    return called + message[column.end() :]


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
            f"{matrix[j, i]:g}; say how the two become one: --directed {', '.join(DIRECTED)}."
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
    with options_named():
        return match_leaves(tree, leaf_names(points), source=path, by_order=by_order)


def nuisance_notes(
    columns: Sequence[str] | None, X: Any, also: str = " or show it beside the tree with --annotate"
) -> list[str]:
    """A note for each column that was clustered by and is called a batch, plate, run, site or the like."""
    if columns is None or not isinstance(X, np.ndarray):
        return []
    return [
        f"batch?: clustered by {columns[c]}, which seems to say how rows were measured and not what: leave it out with "
        f"--exclude {columns[c]},{also} {columns[c]}"
        for c in nuisance_columns(columns, X)
    ]


def print_notes(points: Points, notes: Sequence[str]) -> None:
    """Say what was read and what was inferred."""
    print(f"{visible(points.source)}: {points.n} {'nodes' if points.kind == 'graph' else 'rows'}")
    for note in (*points.notes, *notes):
        print_note(note)


def print_note(note: str) -> None:
    """A note in two columns, what it is about and what it says."""
    what, _, text = visible(truncate(note)).partition(": ")
    lines = textwrap.wrap(text, _NOTE_WIDTH, break_long_words=False, break_on_hyphens=False) or [""]
    print(f"  {what:<11} " + f"\n{'':14}".join(lines))

"""Points to cluster from tables, arrays and graphs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from .._shared.arrays import Floats
from .arrays import read_array_file
from .columns import ColumnsError, Wanted, listed
from .delimited import read_delimited
from .edges import read_edges
from .sources import PathLike, format_of, open_source

Kind = Literal["features", "similarities", "graph"]

_COUNTS_FROM = 5  # rows: fewer may count up by chance
# What the two ends of an edge are called.
_ENDS = {("source", "target"), ("from", "to"), ("src", "dst"), ("node1", "node2"), ("u", "v")}
_ID = re.compile(r"(^|[\W_])(id|ids|index|key|nr|no)$", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Points:
    """What a file holds to be clustered.

    Attributes
    ----------
    source : str
        What messages call the file.
    data : array (n, d), or csr_array
        Features (n, d), similarities (n, n), or the adjacency matrix of a graph (n, n). An NPY file is memory-mapped.
    kind : {"features", "similarities", "graph"}
    names, labels : tuples of n str, or None
        As the file writes them; names need not differ.
    columns : tuple of d str, or None
        What the features are called.
    notes : tuple of str
        What was inferred, one choice each.
    known : mapping of str to tuple of n str
        Cells of the columns asked for as ``known``, as the file writes them.
    """

    source: str
    data: Any
    kind: Kind
    names: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.data.shape[0])


def read_points(
    path: PathLike,
    *,
    features: Sequence[str] | None = None,
    labels: str | None = None,
    names: str | None = None,
    exclude: Sequence[str] | None = None,
    known: Mapping[str, str] | None = None,
    precomputed: bool = False,
    graph: bool = False,
) -> Points:
    """Points from CSV, TSV, Parquet, NPY, NPZ, MatrixMarket or a list of edges; ``-`` is standard input.

    Parameters
    ----------
    path : path, or "-"
    features, labels, names, exclude : columns, each by its name or its number from 1
        By default columns of numbers are features, the first column of text that tells rows apart names them, and there
        are no labels. Features, and columns to exclude from them, also by a range of numbers (``2-61``) or a pattern
        (``sample_*``). In an NPZ archive they are names of arrays.
    known : mapping of str to str, optional
        Further columns, by what they say of the rows; they are read as text and are no features.
    precomputed : bool
        The numbers are similarities, (n, n).
    graph : bool
        The file lists edges, or is a matrix of weights.

    Raises
    ------
    ValueError
        One sentence with the file, the line or row, the column, and the remedy.
    """
    source = open_source(os.fspath(path))
    wanted = Wanted(
        None if features is None else tuple(features),
        labels,
        names,
        None if exclude is None else tuple(exclude),
        known or {},
    )
    found = format_of(source)
    if found == "edges" or (found == "text" and graph):
        if wanted:
            message = f"{source.label} is a list of edges and has no columns to choose; leave the choice out."
            raise ColumnsError(message, *wanted.asked)
        edges = read_edges(source)
        points = Points(source.label, edges.adjacency, "graph", names=edges.names, notes=edges.notes)
    elif found == "text":
        table = read_delimited(source, wanted)
        if not (wanted or precomputed):
            _refuse_edges(source.label, table.header)
        points = Points(
            source.label,
            table.features,
            "features",
            names=None if table.names is None else tuple(table.names),
            labels=None if table.labels is None else tuple(table.labels),
            columns=table.columns,
            notes=table.notes,
            known={what: tuple(cells) for what, cells in table.known.items()},
        )
    else:
        arrays = read_array_file(source, found, wanted)
        points = Points(
            source.label,
            arrays.data,
            "features",
            arrays.names,
            arrays.labels,
            arrays.columns,
            arrays.notes,
            arrays.known,
        )
    points = _with_kind(points, precomputed, graph)
    if features is None:
        _refuse_matrix(points)
        points = _without_identifiers(points)
    return replace(points, notes=points.notes + _warnings(points))


def _with_kind(points: Points, precomputed: bool, graph: bool) -> Points:
    """Square sparse matrices are graphs; other numbers are features unless the caller knows better."""
    n, d = points.data.shape
    if n < 2:
        raise ValueError(f"{points.source} holds one row; a tree needs at least two.")
    sparse = sp.issparse(points.data)
    kind: Kind = (
        "graph" if graph or (sparse and (precomputed or n == d)) else "similarities" if precomputed else "features"
    )
    if kind != "features" and n != d:
        what = f"{n} rows and {d} columns of numbers"
        raise ValueError(f"{points.source} has {what}; a matrix of similarities or of a graph is square: is it one?")
    data, notes = points.data, points.notes
    if kind == "graph" and not sparse:
        data = sp.csr_array(data)
    if kind == "graph" and not (graph or precomputed) and points.kind == "features":
        notes = (f"graph: a sparse square matrix, {n} nodes", *notes)
    return replace(points, data=data, kind=kind, notes=notes)


def _refuse_edges(source: str, header: tuple[str, ...]) -> None:
    """A list of edges has a tree of its own, not one of its weights."""
    ends = tuple(name.lower() for name in header[:2])
    if ends in _ENDS and len(header) <= 3:
        raise ColumnsError(
            f"{source} looks like a list of edges ({', '.join(header)}): say so, or choose features.", "graph"
        )


def _refuse_matrix(points: Points) -> None:
    """A square table with one name for each row and column relates the rows to each other."""
    if points.kind == "features" and points.columns is not None and points.columns == points.names:
        message = f"{points.source} is a square table with the same names for rows and columns: say what it holds."
        raise ColumnsError(message, "precomputed", "distances", "features")


def _without_identifiers(points: Points) -> Points:
    """Columns that only number the rows are no features; the first of them names the rows, if nothing else does."""
    called = points.columns
    if points.kind != "features" or called is None or points.n < _COUNTS_FROM:
        return points
    found = [c for c, name in enumerate(called) if _identifies(name, points.data[:, c])]
    if not found or len(found) == len(called):
        return points
    kept = [c for c in range(len(called)) if c not in found]
    columns = tuple(called[c] for c in kept)
    names, notes = points.names, [note for note in points.notes if not note.startswith("features:")]
    notes.insert(0, f"features: {listed(columns)} (the columns with numbers)")
    if names is None:
        names = tuple(str(int(number)) for number in points.data[:, found[0]])
        notes.insert(1, f"names: {called[found[0]] or 'a column without name'} (it numbers the rows)")
    for c in found:
        column = called[c] or "a column without name"
        notes.append(f"no feature: {column} (it only numbers the rows; ask for it as a feature to use it)")
    data = np.ascontiguousarray(points.data[:, kept])
    return replace(points, data=data, columns=columns, names=names, notes=tuple(notes))


def _identifies(name: str, values: Floats) -> bool:
    """Whether a column counts the rows, or has a whole number of its own for each and is called an id."""
    if np.array_equal(values, values[0] + np.arange(len(values))):
        return True
    whole = bool((values == np.round(values)).all())
    return bool(_ID.search(name)) and whole and len(np.unique(values)) == len(values)


def _warnings(points: Points) -> tuple[str, ...]:
    """What looks odd and may be meant: names that repeat."""
    n_again = 0 if points.names is None else points.n - len(set(points.names))
    if not n_again:
        return ()
    return (f"repeated: {n_again} of the names, which get numbers in the tree, as in 'frog (2)'",)

"""Points to cluster from tables, arrays and graphs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from .arrays import read_array_file
from .columns import ColumnsError, Wanted
from .delimited import read_delimited
from .edges import read_edges
from .sources import PathLike, format_of, open_source

Kind = Literal["features", "similarities", "graph"]

_COUNTS_FROM = 5  # rows: fewer may count up by chance


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
    """

    source: str
    data: Any
    kind: Kind
    names: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

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
    precomputed: bool = False,
    graph: bool = False,
) -> Points:
    """Points from CSV, TSV, Parquet, NPY, NPZ, MatrixMarket or a list of edges; ``-`` is standard input.

    Parameters
    ----------
    path : path, or "-"
    features, labels, names : columns, each by its name or its number from 1
        By default columns of numbers are features, the first column of text that tells rows apart names them, and there
        are no labels. In an NPZ archive they are names of arrays.
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
    wanted = Wanted(None if features is None else tuple(features), labels, names)
    found = format_of(source)
    if found == "edges" or (found == "text" and graph):
        if wanted:
            message = f"{source.label} is a list of edges and has no columns to choose; leave the choice out."
            raise ColumnsError(message, *wanted.asked)
        edges = read_edges(source)
        points = Points(source.label, edges.adjacency, "graph", names=edges.names, notes=edges.notes)
    elif found == "text":
        table = read_delimited(source, wanted)
        points = Points(
            source.label,
            table.features,
            "features",
            names=None if table.names is None else tuple(table.names),
            labels=None if table.labels is None else tuple(table.labels),
            columns=table.columns,
            notes=table.notes,
        )
    else:
        arrays = read_array_file(source, found, wanted)
        points = Points(
            source.label, arrays.data, "features", arrays.names, arrays.labels, arrays.columns, arrays.notes
        )
    points = _with_kind(points, precomputed, graph)
    return replace(points, notes=points.notes + _warnings(points, inferred=features is None))


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


def _warnings(points: Points, inferred: bool) -> tuple[str, ...]:
    """What looks odd and may be meant: names that repeat, and a column that only numbers the rows taken for a feature."""
    notes = []
    n_again = 0 if points.names is None else points.n - len(set(points.names))
    if n_again:
        notes.append(f"repeated: {n_again} of the names, which get numbers in the tree, as in 'frog (2)'")
    if inferred and points.kind == "features" and points.columns is not None and points.n >= _COUNTS_FROM:
        for c, name in enumerate(points.columns):
            if np.array_equal(points.data[:, c], points.data[0, c] + np.arange(points.n)):
                called = name or "a column without name"
                notes.append(f"beware: {called} only counts the rows; choose the other columns as features")
    return tuple(notes)

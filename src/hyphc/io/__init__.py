"""Files in and out: points to cluster from tables, arrays and graphs; trees as NPZ, Newick, JSON and linkage NPY."""

from __future__ import annotations

import codecs
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from zipfile import is_zipfile

import numpy as np
import scipy.sparse as sp

from .._shared.files import replaced_atomically
from ..tree import Tree
from .arrays import read_array_file
from .columns import Wanted
from .delimited import read_delimited
from .edges import read_edges
from .sources import Source, encoding_error, format_of, open_source

__all__ = ["Points", "match_leaves", "read_points", "read_tree", "unique_names", "write_tree"]

PathLike = str | os.PathLike[str]
Kind = Literal["features", "similarities", "graph"]

TREE_SUFFIXES = (".npz", ".nwk", ".newick", ".json", ".npy")
_COUNTS_FROM = 5  # rows: fewer may count up by chance
_NPZ, _NPY = b"PK\x03\x04", b"\x93NUMPY"


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
            raise ValueError(
                f"{source.label} is a list of edges and has no columns to choose; leave out --features, --labels and --names."
            )
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
                notes.append(
                    f"beware: {name or 'a column without name'} only counts the rows; leave it out with --features"
                )
    return tuple(notes)


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names that tell leaves apart: a repeated name gets a number, an empty one the number of its row.

    Examples
    --------
    >>> unique_names(["frog", "toad", "frog", ""])
    ('frog', 'toad', 'frog (2)', 'row 4')
    """
    taken, counts, result = set(names), dict[str, int](), []
    for row, name in enumerate(names, start=1):
        called = name or f"row {row}"
        counts[called] = counts.get(called, 0) + 1
        while counts[called] > 1 and (numbered := f"{called} ({counts[called]})") in taken:
            counts[called] += 1
        if counts[called] > 1:
            called = numbered
            taken.add(called)
        result.append(called)
    return tuple(result)


def read_tree(path: PathLike) -> Tree:
    """A tree from NPZ, Newick, JSON or a linkage matrix in NPY, told apart by content; ``-`` is standard input.

    Leaves of Newick text with names are numbered as they appear there: ``match_leaves`` brings them into the order of the data.
    """
    source = open_source(os.fspath(path))
    head = source.head().removeprefix(codecs.BOM_UTF8).lstrip()
    try:
        if head.startswith(_NPZ):
            return _load_npz(source)
        if head.startswith(_NPY):
            with source.open() as file:
                return Tree.from_linkage(np.load(file, allow_pickle=False))
        if head[:1] == b"{":
            return Tree.from_json(_text(source))
        if head[:1] in (b"(", b"["):
            return Tree.from_newick(_text(source))
    except (ValueError, TypeError, EOFError) as error:
        raise ValueError(f"{source.label} is not a tree: {error}") from None
    raise ValueError(f"{source.label} is not a tree; expected NPZ, Newick, JSON, or a linkage matrix in NPY.")


def _load_npz(source: Source) -> Tree:
    if source.path is None:
        raise ValueError("an NPZ archive cannot come from standard input; give the name of its file.")
    if not is_zipfile(source.path):  # numpy would leave the file open
        raise ValueError("the archive is damaged; write it again.")
    return Tree.load(source.path)


def _text(source: Source) -> str:
    with source.open() as file:
        try:
            return file.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise encoding_error(source) from None


def write_tree(tree: Tree, path: PathLike) -> None:
    """Write a tree in the format of the extension: .npz, .nwk or .newick, .json, .npy (linkage, without names); atomically."""
    suffix = Path(path).suffix.lower()
    require_tree_suffix(path)
    if suffix == ".npz":
        tree.save(path)
        return
    with replaced_atomically(path) as file:
        if suffix == ".npy":
            np.save(file, tree.to_linkage())
        elif suffix == ".json":
            file.write(tree.to_json().encode() + b"\n")
        else:
            file.write(tree.to_newick().encode() + b"\n")


def require_tree_suffix(path: PathLike) -> None:
    """Raise unless the extension is that of a tree."""
    suffix = Path(path).suffix.lower()
    if suffix not in TREE_SUFFIXES:
        raise ValueError(
            f"{os.fspath(path)} ends in {suffix or 'no extension'}; end it in one of {', '.join(TREE_SUFFIXES)}."
        )


def match_leaves(tree: Tree, names: Sequence[str] | None, *, source: str, by_order: bool) -> tuple[Tree, str]:
    """The tree with its leaves in the order of the data, and how they were matched: "by name" or "by order".

    Parameters
    ----------
    tree : Tree
    names : sequence of str, or None
        Names of the rows of the data, made unique by ``unique_names``.
    source : str
        What messages call the tree.
    by_order : bool
        Whether the order of named leaves is that of the rows when the data has no names; for Newick it is not.
    """
    if tree.names is None:
        return tree, "by order"
    if names is None:
        if by_order:
            return tree, "by order"
        raise ValueError(
            f"{source} calls its leaves by names and the data has none; tell which column has them with --names."
        )
    row = {name: i for i, name in enumerate(names)}
    unknown = next((leaf for leaf in tree.names if leaf not in row), None)
    if unknown is not None:
        raise ValueError(
            f"{source} has a leaf {unknown!r} that the data does not name; choose another column with --names."
        )
    if len(set(tree.names)) != tree.n_leaves or tree.n_leaves != len(names):
        raise ValueError(
            f"{source} has {tree.n_leaves} leaves with {len(set(tree.names))} different names and the data {len(names)} rows; "
            "each row needs one leaf."
        )
    number = np.append([row[leaf] for leaf in tree.names], np.arange(tree.n_leaves, 2 * tree.n_leaves - 1))
    return Tree(number[tree.children], tree.heights, names), "by name"

"""Reader of points to cluster from files of all formats."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import is_valid_y, squareform

from .._runtime.sanitize import is_blank
from ..scores.node_keywords import TOKEN_PATTERN
from ..similarity.inputs.input_warnings import identifier_columns
from .arrays import read_array_file
from .arrow import read_arrow
from .cell_values import read_excel_rows, read_json_rows
from .columns import TEXTS, ColumnSelection, ColumnsError, FittedColumns, describe_identifiers, join_names
from .delimited import read_delimited, read_rows
from .edges import read_edges, read_network
from .formats import Format, detect_format
from .h5ad import read_h5ad
from .points import Kind, Missing, Points, handle_missing, transpose_points
from .sequences import read_fasta, read_phylip
from .sources import InputFile, PathLike, open_source

_TABLES = ("text", "jsonl", "excel", "parquet", "feather")  # formats with named columns of any type
GRAPH_FORMATS = ("graphml", "gexf", "gml")  # whose nodes have attributes
# What the two ends of an edge are called.
_ENDS = {("source", "target"), ("from", "to"), ("src", "dst"), ("node1", "node2"), ("u", "v")}


def read_points(
    path: PathLike,
    *,
    features: Sequence[str] | None = None,
    labels: str | None = None,
    names: str | None = None,
    exclude: Sequence[str] | None = None,
    known: Mapping[str, str] | None = None,
    categories: Sequence[str] | None = None,
    precomputed: bool = False,
    distances: bool = False,
    graph: bool = False,
    directed: str | None = None,
    transpose: bool = False,
    missing: Missing = "keep",
    embedding: str | None = None,
    sheet: str | None = None,
    header: int | None = None,
    sequence_distance: str = "p",
) -> Points:
    """Read points from a file, or from standard input for ``-``; docs/files.md lists the formats and the packages they need.

    Parameters
    ----------
    path : path, or "-"
    features, labels, names, exclude, categories : columns, each by its name or its number from 1
        By default columns of numbers are features, the first text column with distinct values names them, and there
        are no labels. Several columns also by a range of numbers (``2-61``) or a pattern (``sample_*``). ``categories`` are
        features too, compared by whether they are equal. In an NPZ archive they are names of arrays.
    known : mapping of str to str, optional
        Further columns, by what they say of the rows; they are read as text and are no features.
    precomputed, distances : bool
        The numbers are similarities, (n, n), or distances: square or in SciPy's condensed form.
    graph : bool
        The file lists edges, or is a matrix of weights.
    directed : {"sum", "max", "mean"}, optional
        How ``as_similarity(..., "precomputed", directed=directed)`` will make one of the two weights of a pair; ``data`` has
        both. None refuses lists of edges and graph files whose weights differ.
    transpose : bool
        Columns are to be clustered, not rows.
    missing : {"keep", "refuse", "drop", "impute"}
        What to do with missing values: keep NaN, raise an error, drop the row, or use the mean of the
        column (for categories, the most frequent).
    embedding : str, optional
        Of an AnnData file: the key in ``obsm``, such as "X_pca", in place of ``X``.
    sheet : str, optional
        Of an Excel file: by its name or its number from 1, in place of the first.
    header : int, optional
        Of a table of text or an Excel file: the line with the names of the columns, from 1; those above it are passed over.
    sequence_distance : {"p", "jukes-cantor"}
        Of a FASTA file.

    Raises
    ------
    ValueError
        One sentence with the file, the line or row, the column, and the remedy.
    """
    source = open_source(os.fspath(path))
    chosen, left_out, grouped = (None if c is None else tuple(c) for c in (features, exclude, categories))
    relates_rows = precomputed or distances
    keep = missing != "refuse" and not relates_rows
    wanted = ColumnSelection(chosen, labels, names, left_out, grouped, keep, known or {})
    own = FormatOptions(graph, distances, embedding, sheet, sequence_distance, header, precomputed, directed)
    found = detect_format(source)
    try:
        points = _read(source, found, wanted, own)
    except ColumnsError as error:
        if "impute" not in error.arguments or not relates_rows:
            raise
        # no remedy here: a row of such a table is a column too
        raise ColumnsError(str(error), "precomputed" if precomputed else "distances") from None
    if points.kind == "features":
        if found in ("text", "jsonl", "excel") and not (wanted or relates_rows or graph):
            _refuse_edges(points)
        whole = _to_square(points) if distances else points
        points = _set_kind(whole, relates_rows, graph, of_rows=found == "h5ad")
    if distances and points.kind == "graph":
        message = f"{points.source} is a graph, whose absent entries are no distances; write all of them."
        raise ColumnsError(message, "distances")
    points = replace(points, kind="distances") if distances else points
    if points.n < 2:
        raise ValueError(f"{points.source} holds one row; a tree needs at least two.")
    if features is None:
        _refuse_matrix(points)
        points = _drop_identifiers(points)
    if known and TEXTS in known and points.kind == "features" and points.data.shape[1] == 0:
        points = _count_words(points, known[TEXTS])
    points = transpose_points(points) if transpose else points
    if missing in ("drop", "impute") and points.kind != "features":
        what = "relates rows to each other, and no row of it can be left out or filled in"
        raise ColumnsError(f"{points.source} {what}; leave it out.", "drop-missing" if missing == "drop" else "impute")
    points = _clear_missing_labels(handle_missing(points, missing))
    n_again = 0 if points.names is None else points.n - len(set(points.names))
    note = f"repeated: {n_again} of the names, which get numbers in the tree, as in 'frog (2)'"
    return points.with_notes(note) if n_again else points


def read_new_rows(
    path: PathLike,
    fitted: FittedColumns | int,
    *,
    names: str | None = None,
    exclude: Sequence[str] | None = None,
    keep_missing: bool = True,
    embedding: str | None = None,
    sheet: str | None = None,
    header: int | None = None,
) -> Points:
    """Read new rows of a fitted model, one at least; columns are matched by name, whatever their order in the file.

    Parameters
    ----------
    path : path, or "-"
    fitted : FittedColumns or int
        The columns of the fitted table, or their number if they have no names.
    names, exclude, embedding, sheet, header
        As of ``read_points``.
    keep_missing : bool
        Whether values may be missing.
    """
    source = open_source(os.fspath(path))
    found = detect_format(source)
    own = FormatOptions(embedding=embedding, sheet=sheet, header=header)
    left_out = None if exclude is None else tuple(exclude)
    if found in ("edges", *GRAPH_FORMATS, "fasta", "phylip"):
        raise ValueError(
            f"{source.label} holds no table, and the model was fitted to rows; give rows with the same columns."
        )
    if not isinstance(fitted, FittedColumns) or found not in _TABLES:
        points = _read(source, found, ColumnSelection(names=names, exclude=left_out, keep_missing=keep_missing), own)
        return _match_columns(points, fitted)
    wanted = ColumnSelection(
        features=fitted.features,
        names=names,
        exclude=left_out,
        categories=tuple(fitted.categories) or None,
        keep_missing=keep_missing,
        fitted=fitted,
    )
    return _match_columns(_read(source, found, wanted, own), fitted)


def _match_columns(points: Points, fitted: FittedColumns | int) -> Points:
    """Return the points with the columns of the fitted table in its order; by number where there are no names."""
    n_columns = fitted if isinstance(fitted, int) else len(fitted.features)
    if isinstance(fitted, FittedColumns) and points.columns is not None:
        missing = [name for name in fitted.features if name not in points.columns]
        if missing:
            lacks = f"{points.source} has no {join_names(missing)}, which the model was fitted to"
            raise ValueError(f"{lacks}; its columns are {join_names(points.columns)}.")
        order = [points.columns.index(name) for name in fitted.features]
        return points if order == list(range(points.data.shape[1])) else _pick_columns(points, order)
    if points.data.shape[1] != n_columns:
        shown = f"{points.data.shape[1]} columns of numbers, and the model was fitted to {n_columns}"
        raise ColumnsError(f"{points.source} has {shown}; give the same columns in the same order.", "exclude")
    return points


def _pick_columns(points: Points, order: list[int]) -> Points:
    return replace(points, data=points.data[:, order], columns=tuple((points.columns or ())[c] for c in order))


@dataclass(frozen=True)
class FormatOptions:
    """Options that only some formats have."""

    graph: bool = False
    condensed: bool = False
    embedding: str | None = None
    sheet: str | None = None
    sequence_distance: str = "p"
    header: int | None = None
    precomputed: bool = False
    directed: str | None = None

    def require(self, source: InputFile, found: Format) -> None:
        """Raise for options that this format does not have."""
        of_text = found in ("text", "excel") and not self.graph
        sequences = found in ("fasta", "phylip")
        text_only = "is no table of text or Excel, which alone has a line of names"
        for argument, refused, what in (
            ("obsm", self.embedding is not None and found != "h5ad", "is no AnnData file, which alone has embeddings"),
            ("sheet", self.sheet is not None and found != "excel", "is no Excel file, which alone has sheets"),
            ("header", self.header is not None and not of_text, text_only),
            ("sequence-distance", self.sequence_distance != "p" and found != "fasta", "has no sequences to compare"),
            ("graph", self.graph and sequences, "holds sequences or their distances and no edges"),
            ("precomputed", self.precomputed and sequences, "holds sequences or distances and no similarities"),
        ):
            if refused:
                raise ColumnsError(f"{source.label} {what}; leave it out.", argument)


def _read(source: InputFile, found: Format, wanted: ColumnSelection, own: FormatOptions) -> Points:
    """Read the file with the reader of its format."""
    own.require(source, found)
    if found in GRAPH_FORMATS:
        return read_network(source, found, wanted, own.directed)
    if found in ("edges", "fasta", "phylip") or (found == "text" and own.graph):
        return _read_without_columns(source, found, wanted, own)
    if found == "text":
        return read_delimited(source, wanted, own.header)
    if found == "jsonl":
        return read_rows(source, read_json_rows(source), wanted)
    if found == "excel":
        rows, notes = read_excel_rows(source, own.sheet, own.header)
        points = read_rows(source, rows, wanted, own.header)
        return replace(points, notes=notes + points.notes)
    if found == "h5ad":
        return read_h5ad(source, wanted, own.embedding)
    if found in ("parquet", "feather"):
        return read_arrow(source, found, wanted)
    return read_array_file(source, found, wanted, own.condensed)


def _read_without_columns(source: InputFile, found: Format, wanted: ColumnSelection, own: FormatOptions) -> Points:
    """Read a format without columns: graphs and sequences."""
    if wanted:
        what = {"fasta": "holds sequences", "phylip": "holds distances"}.get(found, "is a list of edges")
        message = f"{source.label} {what} and has no columns to choose; leave the choice out."
        raise ColumnsError(message, *wanted.given_arguments)
    if found == "fasta":
        return read_fasta(source, own.sequence_distance)
    if found == "phylip":
        return read_phylip(source)
    return read_edges(source, own.directed)


def _to_square(points: Points) -> Points:
    """Return condensed distances, in one column or one row, as a square matrix."""
    numbers = np.asarray(points.data) if isinstance(points.data, np.ndarray) else np.empty((2, 2))
    if 1 not in numbers.shape or not is_valid_y(numbers.ravel()) or numbers.size == 1:
        return points
    square = squareform(numbers.ravel())
    note = f"distances: {numbers.size} in condensed form, of {len(square)} rows"
    return Points(points.source, square, notes=(note,))


def _set_kind(points: Points, precomputed: bool, graph: bool, of_rows: bool = False) -> Points:
    """Return the kind of data: square sparse matrices are graphs unless the format is ``of_rows``; others are features by
    default."""
    n, d = points.data.shape
    sparse = sp.issparse(points.data)
    kind: Kind = "similarities" if precomputed else "features"
    if graph or (sparse and (precomputed or (n == d and not of_rows))):
        kind = "graph"
    if kind != "features" and n != d:
        what = f"{n} rows and {d} columns of numbers"
        raise ValueError(f"{points.source} has {what}; a matrix of similarities or of a graph is square: is it one?")
    data, notes = points.data, points.notes
    if kind == "graph" and not sparse:
        data = sp.csr_array(data)
    if kind == "graph" and not (graph or precomputed):
        notes = (f"graph: a sparse square matrix, {n} nodes", *notes)
    return replace(points, data=data, kind=kind, notes=notes)


def _refuse_edges(points: Points) -> None:
    """Raise for a table that looks like an edge list."""
    header = points.header or ()
    if tuple(name.lower() for name in header[:2]) in _ENDS and len(header) <= 3:
        shown = f"looks like a list of edges ({', '.join(header)})"
        raise ColumnsError(f"{points.source} {shown}: read it as a graph, or choose features.", "graph")


def _refuse_matrix(points: Points) -> None:
    """Raise for a square table with the same names for rows and columns: it holds similarities or distances."""
    if points.kind == "features" and points.columns is not None and points.columns == points.names:
        message = f"{points.source} is a square table with the same names for rows and columns: choose what it holds."
        raise ColumnsError(message, "precomputed", "distances", "features")


def _drop_identifiers(points: Points) -> Points:
    """Drop columns that only number the rows, unless the table has no others; the first names the rows, if nothing else does."""
    called = points.columns
    if not isinstance(points.data, np.ndarray) or points.kind != "features" or called is None:
        return points
    found = identifier_columns(called, points.data)
    if not found or list(called) == list(points.header or called) == [called[c] for c in found]:
        return points
    if len(found) == len(called) and TEXTS not in points.known:
        numbers = "numbers" if len(found) == 1 else "number"
        what = f"no column of numbers to cluster by but {join_names(called)}, which only {numbers} the rows"
        raise ColumnsError(f"{points.source} has {what}; choose features.", "features")
    names, kept = points.names, [c for c in range(len(called)) if c not in found]
    notes = describe_identifiers(points.notes, called, found)
    if names is None:
        names = tuple(str(int(number)) for number in points.data[:, found[0]])
        notes.insert(1, f"names: {called[found[0]] or 'a column without name'} (it numbers the rows)")
    data, columns = np.ascontiguousarray(points.data[:, kept]), tuple(called[c] for c in kept)
    return replace(points, data=data, columns=columns, names=names, notes=tuple(notes))


def _count_words(points: Points, column: str) -> Points:
    """Return points whose features are the TF-IDF of the words of their texts, sparse; words of a single text are left out."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(stop_words="english", token_pattern=TOKEN_PATTERN, min_df=2, sublinear_tf=True)
    try:
        frequencies = vectorizer.fit_transform(points.known[TEXTS])
    except ValueError:  # an empty vocabulary
        what = f"no column of numbers, and no two texts in {column} have a word in common"
        raise ColumnsError(f"{points.source} has {what}; choose features.", "features") from None
    n_words = frequencies.shape[1]
    note = (
        f"features: TF-IDF of the {n_words} words that occur in two or more texts of {column} (no column holds numbers)"
    )
    others = (other for other in points.notes if not other.startswith(f"{TEXTS}:"))
    return replace(points, data=sp.csr_array(frequencies, dtype=np.float64), columns=None, notes=(note, *others))


def _clear_missing_labels(points: Points) -> Points:
    """Return labels with markers of missing values replaced by empty ones, and a note with their number."""
    if points.labels is None:
        return points
    labels = tuple("" if is_blank(label) else label for label in points.labels)
    note = (
        f"unlabelled: {labels.count('')} of {points.n} rows have no label; purity and agreement are those of the others"
    )
    return replace(points, labels=labels).with_notes(*[note] * ("" in labels))

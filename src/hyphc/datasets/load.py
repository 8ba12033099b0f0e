"""Loading of data sets by name, and the paper's similarity on them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.sanitize import is_number
from ..similarity import Similarity, as_similarity, standardize
from .catalogue import BUNDLED, GRAPHS, TABLES, Dataset, TableLayout, class_names_from

PathLike = str | os.PathLike[str]
RandomState = int | np.random.Generator | None

DATA_VARIABLE = "HYPHC_DATA"


def names() -> tuple[str, ...]:
    """Return the names that ``load`` knows: feature tables first, then graphs."""
    return (*TABLES, *BUNDLED, *GRAPHS)


def load(name: str, *, data_home: PathLike | None = None) -> Dataset:
    """Return a data set by name.

    Files are looked for in ``data_home``, then in the directory that the environment variable ``HYPHC_DATA`` names, as
    ``<home>/<name>/<file>`` under UCI's file names (``zoo/zoo.data``), and ``<home>/graphs/<name>.npz`` for graphs (as
    written by ``scipy.sparse.save_npz``). Tables without files are fetched from OpenML and kept in scikit-learn's data home;
    digits, wine and breast_cancer come with scikit-learn. Iris is UCI's ``iris.data``, the file the HypHC paper used:
    scikit-learn's copy differs in two flowers and, used when there is no file, is changed back to it.

    Parameters
    ----------
    name : str
        One of ``names()``.
    data_home : path, optional
        Directory to look in first.

    Returns
    -------
    Dataset
        Features as float64, labels as the source writes them (OpenML has words where UCI has numbers).

    Examples
    --------
    >>> wine = load("wine")
    >>> wine.data.shape, wine.class_names
    ((178, 13), ('class_0', 'class_1', 'class_2'))
    """
    if name in BUNDLED:
        return _from_scikit_learn(name)
    if name not in (*TABLES, *GRAPHS):
        close = get_close_matches(str(name).lower(), names(), n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ValueError(f"Data set {name!r} is unknown{hint}; choose one of {', '.join(names())}.")
    home = find_home(name, data_home)
    if home is not None:
        paths = [home / file for file in files_of(name)]
        return _read_graph(name, *paths) if name in GRAPHS else _read_table(name, paths)
    if name in GRAPHS:
        raise _not_found(name, data_home, "")
    return _uci_iris() if name == "iris" else _from_openml(name, data_home)


def files_of(name: str) -> list[str]:
    """Return the files of a data set that does not come with scikit-learn, as paths below a home directory."""
    return [f"graphs/{name}.npz"] if name in GRAPHS else [f"{name}/{file}" for file in TABLES[name].files]


def find_home(name: str, data_home: PathLike | None = None) -> Path | None:
    """Return the first home directory that has all files of a data set."""
    return next((home for home in homes(data_home) if all((home / file).is_file() for file in files_of(name))), None)


def paper_similarity(name: str, *, data_home: PathLike | None = None) -> Similarity:
    """Return the similarity of the HypHC paper: z-scored features without constant columns, unit rows, w = (1 + cos) / 2.

    For a graph, its own edges.

    Examples
    --------
    >>> paper_similarity("wine")
    Features(n=178)
    """
    data = load(name, data_home=data_home).data
    if sp.issparse(data):
        return as_similarity(data, metric="precomputed")
    return as_similarity(standardize(data), metric="cosine")


def homes(data_home: PathLike | None) -> list[Path]:
    """Return the directories to look in: ``data_home``, and that of the environment variable."""
    given = [data_home, os.environ.get(DATA_VARIABLE)]
    return [Path(home).expanduser() for home in given if home]


def _not_found(name: str, data_home: PathLike | None, also: str) -> FileNotFoundError:
    files = files_of(name)
    places = ", ".join(str(home / file) for home in homes(data_home) for file in files)
    return FileNotFoundError(
        f"Data set {name!r} was not found (looked for {places or 'no directory: none was given'}){also}; pass data_home, or "
        f"set the environment variable {DATA_VARIABLE}, to a directory that holds {' and '.join(files)}."
    )


def _build_table(name: str, data: Any, labels: npt.NDArray[Any], description: str, **more: Any) -> Dataset:
    """Return a table of the catalogue."""
    table = TABLES[name]
    texts = {"feature_names": tuple(table.features.split()), "class_names": class_names_from(labels)}
    return Dataset(name, data, labels, description=description, citation=table.citation, **{**texts, **more})


def _read_table(name: str, paths: Sequence[Path]) -> Dataset:
    table = TABLES[name]
    cells = np.array([row for path in paths for row in _read_rows(path, table)])
    if len(cells) != table.n_rows:
        found = f"{' and '.join(map(str, paths))}: {len(cells)} rows where {name} has {table.n_rows}"
        raise ValueError(f"{found}; get the original from UCI again.")
    used = {table.label % cells.shape[1], table.identifier}
    columns = [column for column in range(cells.shape[1]) if column not in used]
    labels = _labels(cells[:, table.label])
    return _build_table(
        name,
        cells[:, columns].astype(np.float64),
        labels,
        f"UCI's {', '.join(table.files)}, all rows in their original order.",
        names=None if table.identifier is None else tuple(cells[:, table.identifier].tolist()),
        class_names=table.class_names or class_names_from(labels),
    )


def _read_rows(path: Path, table: TableLayout) -> list[list[str]]:
    """Return the cells of one file, each feature cell a finite number."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file; get the original from UCI again.") from None
    n_columns = len(table.features.split()) + 1 + (table.identifier is not None)
    used = {table.label % n_columns, table.identifier}
    rows = []
    for number, line in enumerate(lines[table.header_lines :], start=table.header_lines + 1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split(table.separator)]
        if len(cells) != n_columns:
            found = f"{len(cells)} columns where {n_columns} are due"
            raise ValueError(f"{path}, line {number}: {found}; get the file again.")
        for column, cell in enumerate(cells):
            if column not in used and not (is_number(cell) and math.isfinite(float(cell))):
                place = f"{path}, line {number}, column {column + 1}"
                raise ValueError(f"{place}: {cell!r} is no number; get the file again.")
        rows.append(cells)
    return rows


def _labels(words: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels as integers where all of them are, otherwise as text."""
    try:
        return np.asarray(words.astype(np.int64))
    except ValueError:
        return np.asarray(words.astype(np.str_))


def _read_graph(name: str, path: Path) -> Dataset:
    try:
        adjacency = sp.csr_array(sp.load_npz(path)).astype(np.float64)
    except (BadZipFile, EOFError, KeyError, OSError, ValueError) as error:
        what = f"is not a sparse matrix of scipy.sparse.save_npz ({error})"
        raise ValueError(f"{path} {what}; get the file again.") from error
    n, n_edges, citation = GRAPHS[name]
    if adjacency.shape != (n, n) or adjacency.nnz != 2 * n_edges or (adjacency - adjacency.T).nnz:
        raise ValueError(
            f"{path}: shape {adjacency.shape} with {adjacency.nnz} entries where {name} is a symmetric ({n}, {n}) matrix "
            f"with {2 * n_edges}; get the file again."
        )
    description = f"Undirected graph of {n} nodes and {n_edges} edges, all of weight 1."
    return Dataset(name=name, data=adjacency, description=description, citation=citation)


def _from_scikit_learn(name: str) -> Dataset:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return Dataset(
        name=name,
        data=np.asarray(bunch.data, dtype=np.float64),
        labels=np.asarray(bunch.target),
        feature_names=tuple(map(str, bunch.feature_names)),
        class_names=tuple(map(str, bunch.target_names)),
        description="The copy that comes with scikit-learn.",
        citation=BUNDLED[name],
    )


def _uci_iris() -> Dataset:
    """Return scikit-learn's iris with the two rows of UCI's ``iris.data`` that it corrects put back."""
    from sklearn.datasets import load_iris

    bunch = load_iris()
    data = np.array(bunch.data, dtype=np.float64)
    data[[34, 37]] = [4.9, 3.1, 1.5, 0.1]
    labels = np.array([f"Iris-{species}" for species in bunch.target_names])[bunch.target]
    return _build_table("iris", data, labels, "UCI's iris.data, restored from scikit-learn's copy.")


def _from_openml(name: str, data_home: PathLike | None) -> Dataset:
    from sklearn.datasets import fetch_openml

    table = TABLES[name]
    try:
        # This parser and no frame: the only combination that needs no pandas. Nominal columns become codes, false < true.
        bunch = fetch_openml(data_id=table.openml_id, as_frame=False, parser="liac-arff")
    except (OSError, ValueError) as error:  # no network, or OpenML refused
        raise _not_found(name, data_home, f" nor fetched from OpenML ({error})") from error
    features = [column for column, feature in enumerate(bunch.feature_names) if feature != "animal"]
    data = np.asarray(bunch.data, dtype=np.float64)[:, features]
    expected = (table.n_rows, len(table.features.split()))
    if data.shape != expected:
        found = f"OpenML's data set {table.openml_id} has shape {data.shape} where {name} has {expected}"
        raise ValueError(f"{found}; use UCI's.")
    return _build_table(name, data, _labels(np.asarray(bunch.target)), f"OpenML's data set {table.openml_id}.")

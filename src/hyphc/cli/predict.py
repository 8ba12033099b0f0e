"""``hyphc predict``: the clusters of new rows by a model that ``hyphc fit`` wrote."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Ints
from .._runtime.atomic_write import atomic_write
from ..estimator import HypHC
from ..io import Points, read_points
from ..io.columns import FittedColumns
from ..io.read import read_new_rows
from ..similarity.graph import Graph
from ..similarity.metrics import get_metric
from .common import name_options
from .fit_files import MODEL
from .outputs import format_csv, print_warning, require_suffix, require_writable_file
from .saved_fit import FIT, SavedFit

_MISSING = ("drop-missing", "impute")  # options of other commands, which an error about a missing value names
_OF_TABLES = ("exclude", "names", "sheet", "header", "obsm")


def run_predict(arguments: argparse.Namespace) -> None:
    """Write the clusters of new rows as CSV, to standard output or a file."""
    if arguments.output is not None:
        require_writable_file(arguments.output)
        require_suffix(arguments.output, ".csv")
    path = Path(arguments.model)
    if path.is_dir() and (path / FIT).is_file():
        _predict_out_of_core(arguments, SavedFit.load(path))
        return
    model = HypHC.load(_model_file(path))
    if model.similarity_.is_sparse and not get_metric(model.similarity_).takes_rows:
        clusters, names = _predict_nodes(arguments, model)
    else:
        clusters, names = _predict_rows(arguments, model)
    _write(arguments, clusters, names, getattr(model, "_cluster_names_", None), model.n_clusters_)


def _model_file(path: Path) -> Path:
    """Return the model file of a path, which may be the folder of a fit."""
    if not path.is_dir():
        return path
    if not (path / MODEL).is_file():
        raise ValueError(
            f"{path} holds no {MODEL}; give the folder of a hyphc fit that has ended, or the file of a model."
        )
    return path / MODEL


def _predict_out_of_core(arguments: argparse.Namespace, fit: SavedFit) -> None:
    """Write the clusters of new rows by the checkpoint of an out-of-core fit."""
    points = _read_rows(arguments, fit.columns, keep_missing=False)
    try:
        clusters = fit.predict(points.data)
    except ValueError as error:
        raise ValueError(f"{points.source}: {error}") from None
    _write(arguments, clusters, points.names, fit.cluster_names, fit.n_clusters)


def _write(
    arguments: argparse.Namespace,
    clusters: Ints,
    names: tuple[str, ...] | None,
    cluster_names: tuple[str, ...] | None,
    n_clusters: int,
) -> None:
    text = format_csv(clusters, names, cluster_names=cluster_names)
    if arguments.output is None:
        sys.stdout.write(text)
        return
    with atomic_write(arguments.output) as file:
        file.write(text.encode())
    joined = len(np.unique(clusters))
    print(f"wrote {arguments.output}: {len(clusters)} rows in {joined} of {n_clusters} clusters")


def _predict_rows(arguments: argparse.Namespace, model: HypHC) -> tuple[Ints, tuple[str, ...] | None]:
    """Return the clusters and the names of the rows of a table."""
    takes_missing = get_metric(model.similarity_).takes_missing
    points = _read_rows(arguments, _fitted_columns(model), keep_missing=takes_missing)
    try:
        if hasattr(model, "feature_names_in_"):
            del model.feature_names_in_  # the columns were matched by name: rows are passed without names
        return model.predict(points.data), points.names
    except ValueError as error:
        raise ValueError(f"{points.source}: {error}") from None


def _read_rows(arguments: argparse.Namespace, fitted: FittedColumns | int, *, keep_missing: bool) -> Points:
    """Return the rows of a table with the columns of the fitted one."""
    try:
        with name_options():
            return read_new_rows(
                arguments.file,
                fitted,
                names=arguments.names,
                exclude=arguments.exclude,
                keep_missing=keep_missing,
                embedding=arguments.obsm,
                sheet=arguments.sheet,
                header=arguments.header,
            )
    except ValueError as error:
        raise ValueError(_without_options(str(error))) from None


def _fitted_columns(model: HypHC) -> FittedColumns | int:
    """Return the columns of the table that the model was fitted to, or their number if they have no names."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return int(getattr(model, "n_features_in_", model.n_leaves_))
    features, table = tuple(map(str, names)), getattr(model.similarity_.source, "table", None)
    kinds = (None,) * len(features) if table is None else table.categories
    categories = {name: values for name, values in zip(features, kinds, strict=True) if values is not None}
    return FittedColumns(features, categories, getattr(model, "_other_columns_", ()))


def _without_options(message: str) -> str:
    """Return an error about a missing value without the options of ``hyphc fit`` that would fill it in."""
    return message.replace(f" ({', '.join(f'--{name}' for name in _MISSING)})", "")


def _predict_nodes(arguments: argparse.Namespace, model: HypHC) -> tuple[Ints, tuple[str, ...] | None]:
    """Return the clusters and the names of new nodes, by their edges to the nodes of the fitted graph."""
    given = [name for name in _OF_TABLES if getattr(arguments, name) is not None]
    if given:
        arguments.parser.error(f"--{given[0]} is about tables, and the model was fitted to a graph; leave it out")
    points = read_points(arguments.file, graph=True, directed=model.directed)
    fitted = model.tree_.names or tuple(map(str, range(model.n_leaves_)))
    number = {name: node for node, name in enumerate(fitted)}
    nodes = points.names or tuple(map(str, range(points.n)))
    new = [node for node, name in enumerate(nodes) if name not in number]
    old = [node for node, name in enumerate(nodes) if name in number]
    if not new:
        raise ValueError(
            f"{points.source} has no node that the fitted graph did not have; name the new nodes differently."
        )
    graph = Graph(points.data, directed=model.directed)
    edges = sp.csr_array(graph.to_csr()[new][:, old])
    columns = np.array([number[nodes[node]] for node in old], dtype=np.int64)[edges.indices]
    across = sp.csr_array((edges.data, columns, edges.indptr), shape=(len(new), len(fitted)))
    across.sort_indices()
    alone = [nodes[node] for node, degree in zip(new, np.diff(across.indptr), strict=True) if degree == 0]
    if alone:
        what = f"{len(alone)} of {len(new)} new nodes have no edge to a fitted one, for instance {alone[0]}"
        print_warning(f"{what}: nothing says which cluster they belong to.")
    return model.predict(across), tuple(nodes[node] for node in new)

"""Reader and writer of AnnData files (.h5ad): a matrix or an embedding in, clusters and tree out."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.atomic_write import atomic_write, max_unpacked_bytes
from .._runtime.table_columns import is_missing_value
from ..tree import Tree
from .columns import ColumnSelection, ColumnsError, find_column, find_columns, join_names
from .points import Points, check_numbers, explain_damage
from .sources import InputFile, PathLike, require_package

KEY = "hyphc"  # under which results are written
TIMES = 10  # constant chunks compress better than text: a file may hold so many times what another compressed one may


def read_h5ad(source: InputFile, wanted: ColumnSelection, embedding: str | None) -> Points:
    """Read ``X``, or an embedding in ``obsm``; names are those of the observations, labels a column of ``obs``."""
    require_package(source.label, "an AnnData file", "anndata", "anndata")
    import anndata

    if source.plain_path is None:
        what = "an AnnData file cannot be compressed or come from standard input"
        raise ValueError(f"{source.label}: {what}; give its file.")
    with explain_damage(source, "h5ad"):
        _require_claims(source.plain_path)
        data: Any = anndata.read_h5ad(source.plain_path)
        if (matrix := _sparse(data.X)) is not None:
            matrix.check_format(full_check=True)  # SciPy does not check indices when it reads them
    if wanted.names is not None or wanted.categories is not None:
        chosen = "names" if wanted.names is not None else "categories"
        raise ColumnsError(f"{source.label} has names of its own and no categories to cluster by.", chosen)
    if embedding is None:
        X, columns, note = _table(source, data, wanted)
    else:
        _refuse_columns(source, data, wanted)
        X, columns, note = _embedding(source, data, embedding)
    labels = None if wanted.labels is None else _read_observations(source, data, wanted.labels)
    known = {what: _read_observations(source, data, column) for what, column in wanted.known.items()}
    return Points(source.label, X, "features", tuple(map(str, data.obs_names)), labels, columns, (note,), known)


def _refuse_columns(source: InputFile, data: Any, wanted: ColumnSelection) -> None:
    """Raise for column selections: embeddings have no column names, and columns of ``obs`` are not features."""
    excluded = {*(wanted.exclude or ())}.difference(map(str, data.obs.columns))
    for argument, given in (("features", wanted.features is not None), ("exclude", bool(excluded))):
        if given:
            raise ColumnsError(f"{source.label}: all columns of an embedding are clustered by; leave it out.", argument)


def _require_claims(path: Path) -> None:
    """Raise before allocation for an HDF5 array whose declared shape is too large for the file."""
    import h5py

    size, claimed = path.stat().st_size, [0]
    with h5py.File(path) as file:
        file.visititems(lambda _, found: claimed.append(int(getattr(found, "nbytes", 0))))
    if sum(claimed) > TIMES * max_unpacked_bytes(size):
        raise ValueError(f"it claims {sum(claimed)} bytes, more than a file of its size may have")


def _table(source: InputFile, data: Any, wanted: ColumnSelection) -> tuple[Any, tuple[str, ...], str]:
    if data.X is None:
        embeddings = join_names(list(data.obsm))
        raise ColumnsError(f"{source.label} has no X; choose one of its embeddings ({embeddings}).", "obsm")
    called = [str(name) for name in data.var_names]
    kept = list(range(len(called)))
    if wanted.features is not None:
        kept = list(dict.fromkeys(c for name in wanted.features for c in find_columns(source.label, called, name)))
    beside = {str(name) for name in data.obs.columns}.difference(called)  # columns of observations are not features
    left_out = [name for name in wanted.exclude or () if name not in beside]
    excluded = {c for name in left_out for c in find_columns(source.label, called, name)}
    kept = [c for c in kept if c not in excluded]
    chosen: Any = data.X if len(kept) == len(called) else data.X[:, kept]
    columns = tuple(called[c] for c in kept)
    if (matrix := _sparse(chosen)) is None:
        X: Any = np.ascontiguousarray(np.asarray(chosen))
        check_numbers(X, source.label, columns, keep_missing=wanted.keep_missing)
    else:
        X = sp.csr_array(matrix, dtype=np.float64)
        check_numbers(X.data[:, None], f"{source.label}, entries of X")
    hint = f"; embeddings in obsm: {join_names(list(data.obsm))}" if len(data.obsm) else ""
    return X, columns, f"features: X, {len(kept)} variables{hint}"


def _sparse(X: Any) -> Any:
    return X if sp.issparse(X) else None


def _embedding(source: InputFile, data: Any, key: str) -> tuple[Any, tuple[str, ...], str]:
    keys = list(data.obsm)
    if key not in keys:
        it_has = join_names(keys) or "none"
        raise ColumnsError(f"{source.label} has no embedding {key!r} in obsm; it has {it_has}.", "obsm")
    X = np.ascontiguousarray(np.asarray(data.obsm[key], dtype=np.float64))
    columns = tuple(f"{key.removeprefix('X_')}{c + 1}" for c in range(X.shape[1]))
    check_numbers(X, f"{source.label}, obsm {key}", columns)
    return X, columns, f"features: embedding {key}, {X.shape[1]} columns"


def _read_observations(source: InputFile, data: Any, column: str) -> tuple[str, ...]:
    header = [str(name) for name in data.obs.columns]
    c = find_column(f"{source.label} (obs)", header, column)
    return tuple("" if is_missing_value(value) else str(value) for value in data.obs.iloc[:, c])


def write_h5ad(
    path: PathLike, original: PathLike, clusters: npt.NDArray[np.int64], tree: Tree, facts: dict[str, Any]
) -> None:
    """Write a copy of the file with ``obs["hyphc"]``, the flat clusters, and ``uns["hyphc"]``, linkage, leaf order and
    metadata."""
    require_package(str(path), "an AnnData file", "anndata", "anndata")
    import anndata
    import pandas as pd

    data = anndata.read_h5ad(original)
    data.obs[KEY] = pd.Categorical(clusters.astype(str), categories=[str(k) for k in range(int(clusters.max()) + 1)])
    data.uns[KEY] = {"linkage": tree.to_linkage(), "leaf_order": np.asarray(tree.leaf_order()), **facts}
    with atomic_write(path) as file:
        beside = Path(file.name + ".h5ad")
        try:
            data.write_h5ad(beside)
            with beside.open("rb") as written:
                shutil.copyfileobj(written, file)
        finally:
            beside.unlink(missing_ok=True)

"""``DaskHypHC``: a fit by parts behind scikit-learn's interface, on a Dask cluster."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, Self

import dask
import dask.array as da
import numpy as np
from distributed import Client
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from .._runtime.base_estimator import check_parameter_names, fresh_fit
from .._runtime.storage import LocalFolder, StorageFolder, as_storage_folder
from ..estimator import HypHC
from ..fit.deduplicate import warn_of_few_distinct
from ..fit.parameter_checks import JOIN, check_values
from ..out_of_core.job import PART_SIZE, Problem, Recipe
from ..out_of_core.labels import Cut, n_distinct, predicted, tree_of
from ..out_of_core.npy_source import Rows
from ..out_of_core.progress import Telling
from ..out_of_core.row_sources import ParquetRows, PickedRows, Source, open_rows, open_to_fit
from ..out_of_core.stages import fit_by_parts
from ..tree import Tree
from ..tree.prunings import CONDENSED
from .collections import as_array, labels_array, stored_rows, write_rows
from .scheduling import chosen_client, on_dask, require_seen


class DaskHypHC(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """``HypHC`` for rows that one machine cannot hold, on a Dask cluster or on a laptop's disk.

    A sample's tree divides the rows into parts; each part is fitted by a worker; the tree above them has the exact similarities
    between parts, and is repaired across their borders. Every task is a pure function of rows and seed: the tree is the same
    whatever the number of workers, and a worker that is lost costs only its tasks. docs/dask.md tells what it costs.

    Parameters
    ----------
    n_clusters, distance_threshold, criterion, min_size, outliers
        As of ``HypHC``. With neither of the first two, there are as many clusters as the sample's tree has.
    metric : {"auto", "cosine"}
    n_neighbors, edge_weights, scale, background
        As of ``HypHC``; edge weights are "fuzzy" or "binary".
    effort : float
        Of the search in each part and above them.
    random_state : int or None
        None is 0: a fit that is begun again must go on with the same sample.
    part_size : int
        Rows of a part, at most, and a quarter more where rows move to their neighbours; copies of one row, and rows that the
        sample cannot tell apart, stay together. A worker's memory holds some thousand bytes for each, and their columns a few
        times.
    sample_size : int, optional
        Rows of the sample; by default 20 000, more where there are many parts.
    storage : path or address, optional
        A folder that this machine and all workers see, or an address of fsspec, as ``s3://bucket/fit``. Finished pieces are kept
        there: a fit that is begun again with the same rows and parameters goes on where it stopped. Default: a temporary folder,
        for workers on this machine.
    verbose : int
        1 shows a line of progress on standard error.
    client : distributed.Client, optional
        Default: the current client, and Dask's threads in this process where there is none.

    Attributes
    ----------
    labels_ : dask array (n,)
        There are no ``probabilities_`` and ``outlier_scores_``; those of the model in memory (``to_local``) are.
    cost_ : float
        Dasgupta's cost, exact for the similarity that the parts made.
    tree_ : Tree
        Its arrays are memory-mapped, in ``storage_``/tree: ``Tree.load`` opens them anywhere.
    n_clusters_, n_leaves_, n_features_in_ : int
    storage_ : str
    client_ : distributed.Client or None

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.from_array(np.random.default_rng(0).normal(size=(60, 3)), chunks=(20, 3))
    >>> model = DaskHypHC(2, metric="cosine", part_size=20).fit(X)
    >>> model.labels_.compute().shape, model.tree_.n_leaves
    ((60,), 60)
    """

    @check_parameter_names
    def __init__(
        self,
        n_clusters: int | str | None = None,
        *,
        distance_threshold: float | None = None,
        metric: str = "auto",
        n_neighbors: int | None = None,
        edge_weights: str = "fuzzy",
        scale: str | bool = "auto",
        background: float | None = None,
        criterion: str = CONDENSED,
        min_size: float | None = None,
        outliers: str = JOIN,
        effort: float = 1.0,
        random_state: int | None = None,
        part_size: int = PART_SIZE,
        sample_size: int | None = None,
        storage: str | os.PathLike[str] | None = None,
        verbose: int = 0,
        client: Client | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.distance_threshold = distance_threshold
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.edge_weights = edge_weights
        self.scale = scale
        self.background = background
        self.criterion = criterion
        self.min_size = min_size
        self.outliers = outliers
        self.effort = effort
        self.random_state = random_state
        self.part_size = part_size
        self.sample_size = sample_size
        self.storage = storage
        self.verbose = verbose
        self.client = client

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of a Dask array or frame, or of a file that all workers see.

        Parameters
        ----------
        X : dask array or frame (n, d), or path or address
            NPY, Parquet (a file, or a folder of them) or Zarr: read block by block on the workers. Blocks of a Dask
            collection are computed once and written to the storage.
        y : ignored

        Notes
        -----
        Nothing is left of a fit before: one that raises leaves the model unfitted.
        """
        with fresh_fit(self):
            check_values(self.get_params(deep=False))
            recipe, cut = self._recipe(), self._cut()
            self.client_ = chosen_client(self.client)
            place = self._place()
            self.storage_ = str(place)
            blocks, source = self._rows(X, place)
            cut.check(source.shape[0])
            problem, told = Problem(source, recipe, place), Telling()
            with told.shown(self.verbose):
                problem.open()
                require_seen(self.client_, place)
                if blocks is not None:
                    write_rows(blocks, place, self.client_)
                fit_by_parts(problem, on_dask(self.client_, told), cut.stage())
            return self._settle(problem, cut)

    def _settle(self, problem: Problem, cut: Cut) -> Self:
        self._problem_, self._fitted_cut_ = problem, cut
        self.cost_ = float(problem.store.one("tree", 0, "cost"))
        self.n_clusters_ = int(problem.store.one(cut.stage().name, 0, "n_clusters"))
        self.n_leaves_, self.n_features_in_ = problem.source.shape
        self.labels_ = labels_array(problem.storage, cut.stage().name, problem.n, problem.block_rows)
        if cut.n_clusters is not None:
            warn_of_few_distinct(n_distinct(problem), self.n_clusters_)
        return self

    @property
    def tree_(self) -> Tree:
        """The tree, its arrays memory-mapped."""
        if not hasattr(self, "_problem_"):
            raise AttributeError("This DaskHypHC is not fitted yet and has no tree_; call fit first.")
        return tree_of(self._problem_)

    def predict(self, X: Any) -> Any:
        """The flat cluster that each new row would join: of a Dask array or frame, or a path, as a Dask array.

        A row is placed among the small subtrees of all parts, of some ten to a few hundred rows each. NumPy arrays give one.
        """
        check_is_fitted(self, "cost_")
        if isinstance(X, str | os.PathLike):
            source = open_rows(X)
            return _predicted_file(self._problem_, self._fitted_cut_, source)
        if isinstance(X, da.Array) or hasattr(X, "to_dask_array"):
            rows = as_array(X).rechunk({1: -1})
            return rows.map_blocks(_predict, self._problem_, self._fitted_cut_, drop_axis=1, dtype=np.int64, meta=_NONE)
        return _predict(np.asarray(X), self._problem_, self._fitted_cut_)

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        """``fit(X).labels_``."""
        return self.fit(X).labels_

    def to_local(self) -> HypHC:
        """A fitted ``HypHC`` with this tree and all rows in memory, independent of cluster and storage."""
        check_is_fitted(self, "cost_")
        return HypHC.of_parts(self._problem_, self._fitted_cut_)

    def _recipe(self) -> Recipe:
        return Recipe.of(self.get_params(deep=False), part_size=self.part_size, sample_size=self.sample_size)

    def _cut(self) -> Cut:
        wanted: Any = None if self.n_clusters == "auto" else self.n_clusters
        return Cut(wanted, self.distance_threshold, self.criterion, self.min_size, self.outliers)

    def _place(self) -> StorageFolder:
        if self.storage is not None:
            place = as_storage_folder(self.storage)
            return LocalFolder(Path(os.path.abspath(place.path))) if isinstance(place, LocalFolder) else place
        folder = tempfile.mkdtemp(prefix="hyphc-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return as_storage_folder(folder)

    def _rows(self, X: Any, place: StorageFolder) -> tuple[Any, Source]:
        """Blocks of a Dask collection, None of a file, and the rows as tasks read them."""
        if isinstance(X, str | os.PathLike):
            return None, open_to_fit(X)
        if isinstance(X, ParquetRows | PickedRows):
            return None, X
        if isinstance(X, da.Array) or hasattr(X, "to_dask_array"):
            return stored_rows(as_array(X), place, None)
        raise TypeError(
            f"X is a {type(X).__name__}; pass a Dask array or frame, or the path of a .npy, .parquet or .zarr file. "
            "hyphc.HypHC takes what fits into memory."
        )


_NONE = np.empty(0, dtype=np.int64)


def _predict(rows: Rows, problem: Problem, cut: Cut) -> Any:
    return predicted(problem, cut, rows)


def _predicted_file(problem: Problem, cut: Cut, source: Source) -> Any:
    n, step = source.shape[0], problem.block_rows
    task = dask.delayed(lambda b, e: predicted(problem, cut, source.read(b, e)), pure=False)
    ends = [(b, min(b + step, n)) for b in range(0, n, step)]
    return da.concatenate([da.from_delayed(task(b, e), (e - b,), np.int64) for b, e in ends])

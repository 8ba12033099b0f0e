"""``DaskHypHC``: an out-of-core fit on a Dask cluster behind scikit-learn's interface."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from functools import partial
from pathlib import Path
from typing import Any, Self

import dask
import dask.array as da
import numpy as np
from distributed import Client
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from .._runtime.base_estimator import check_parameter_names, fresh_fit
from .._runtime.progress import TaskProgress
from .._runtime.storage import LocalFolder, StorageFolder, as_storage_folder
from ..estimator import HypHC
from ..fit.deduplicate import warn_of_few_distinct
from ..fit.flat_cut import FlatCut
from ..fit.parameter_checks import JOIN, check_values
from ..out_of_core.array_sources import FileRows
from ..out_of_core.job import PART_SIZE, Job, JobSettings
from ..out_of_core.labels import count_distinct_rows, labels_stage, load_labels, load_tree, predict_clusters
from ..out_of_core.records import FinishedTree
from ..out_of_core.row_sources import ParquetRows, Source, open_rows, open_with_warnings
from ..out_of_core.stages import run_stages
from ..tree import Tree
from ..tree.prunings import CONDENSED
from .collections import as_array, concatenate_blocks, labels_array, plan_stored_rows, write_rows
from .scheduling import find_client, make_dask_executor, require_visible


class DaskHypHC(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """``HypHC`` for rows that one machine cannot hold, on a Dask cluster or on a laptop's disk.

    A sample's tree divides the rows into parts; each part is fitted by a worker; the tree above them has the exact similarities
    between parts, and is improved across their borders. Every task is a pure function of rows and seed: the tree is the same
    for any number of workers, and a lost worker costs only its tasks. docs/dask.md has times and costs.

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
        None is 0: a fit that is resumed needs the same sample.
    part_size : int
        Rows of a part, at most, and a quarter more where rows move to their neighbours; copies of one row, and rows that the
        sample does not separate, stay together. A worker's memory holds some thousand bytes for each, and their columns a few
        times.
    sample_size : int, optional
        Rows of the sample; by default 20 000, more where there are many parts.
    storage : path or address, optional
        A folder that this machine and all workers see, or an address of fsspec, as ``s3://bucket/fit``. Finished shards are
        stored there: a fit with the same rows and parameters resumes from them. Default: a temporary folder,
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
        Attributes of an earlier fit are removed first: a fit that raises leaves the model unfitted.
        """
        with fresh_fit(self):
            check_values(self.get_params(deep=False))
            sizes = {"part_size": self.part_size, "sample_size": self.sample_size}
            settings, cut = JobSettings.from_parameters(self.get_params(deep=False), **sizes), self._make_cut()
            self.client_ = find_client(self.client)
            place = self._choose_storage()
            self.storage_ = str(place)
            blocks, source = self._open_rows(X, place)
            cut.check(source.shape[0])
            job, progress = Job(source, settings, place), TaskProgress()
            with progress.display(self.verbose):
                job.open()
                require_visible(self.client_, place)
                if blocks is not None:
                    write_rows(blocks, place, self.client_)
                run_stages(job, make_dask_executor(self.client_, progress), labels_stage(cut))
            return self._set_fitted_attributes(job, cut)

    def _set_fitted_attributes(self, job: Job, cut: FlatCut) -> Self:
        self._job_, self._fitted_cut_ = job, cut
        self.cost_ = float(job.shard(FinishedTree).cost)
        self.n_clusters_ = int(load_labels(job, cut).n_clusters)
        self.n_leaves_, self.n_features_in_ = job.source.shape
        self.labels_ = labels_array(job.storage, labels_stage(cut).name, job.n, job.block_rows)
        if cut.n_clusters is not None:
            warn_of_few_distinct(count_distinct_rows(job), self.n_clusters_)
        return self

    @property
    def tree_(self) -> Tree:
        """The tree, memory-mapped."""
        if not hasattr(self, "_job_"):
            raise AttributeError("This DaskHypHC is not fitted yet and has no tree_; call fit first.")
        return load_tree(self._job_)

    def predict(self, X: Any) -> Any:
        """Return the flat cluster that each new row would join: a Dask array for a Dask collection or a path, else a NumPy array.

        A row is inserted among the frontier subtrees of all parts, of some ten to a few hundred rows each.
        """
        check_is_fitted(self, "cost_")
        if isinstance(X, str | os.PathLike):
            job, cut, source = self._job_, self._fitted_cut_, open_rows(X)
            task = dask.delayed(lambda b, e: predict_clusters(job, cut, source.read(b, e)), pure=False)
            return concatenate_blocks(task, source.shape[0], job.block_rows)
        if isinstance(X, da.Array) or hasattr(X, "to_dask_array"):
            rows = as_array(X).rechunk({1: -1})
            predict = partial(predict_clusters, self._job_, self._fitted_cut_)
            return rows.map_blocks(predict, drop_axis=1, dtype=np.int64, meta=np.empty(0, dtype=np.int64))
        return predict_clusters(self._job_, self._fitted_cut_, np.asarray(X))

    def to_local(self) -> HypHC:
        """Return a fitted ``HypHC`` with this tree and all rows in memory, independent of cluster and storage."""
        check_is_fitted(self, "cost_")
        return HypHC.from_out_of_core(self._job_, self._fitted_cut_)

    def _make_cut(self) -> FlatCut:
        return FlatCut.from_parameters(self.get_params(deep=False))

    def _choose_storage(self) -> StorageFolder:
        if self.storage is not None:
            place = as_storage_folder(self.storage)
            return LocalFolder(Path(os.path.abspath(place.path))) if isinstance(place, LocalFolder) else place
        folder = tempfile.mkdtemp(prefix="hyphc-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return as_storage_folder(folder)

    def _open_rows(self, X: Any, place: StorageFolder) -> tuple[Any, Source]:
        """Return the blocks of a Dask collection, None for a file, and the source from which tasks read rows."""
        if isinstance(X, str | os.PathLike):
            return None, open_with_warnings(X)
        if isinstance(X, ParquetRows | FileRows):
            return None, X
        if isinstance(X, da.Array) or hasattr(X, "to_dask_array"):
            return plan_stored_rows(as_array(X), place, None)
        raise TypeError(
            f"X is a {type(X).__name__}; pass a Dask array or frame, or the path of a .npy, .parquet or .zarr file. "
            "hyphc.HypHC takes what fits into memory."
        )

"""``hyphc.scanpy.tl.hyphc``: clusters and tree of the cells of an AnnData object."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.cluster.hierarchy as sch
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .._runtime.lazy_import import require_package
from ..estimator import HypHC
from ..similarity.group_sums import indicator
from ..tree import Tree
from ..tree.top import tree_above
from .representation import find_graph, find_rows

__all__ = ["hyphc"]

METHOD = "hyphc"  # in place of the name of a linkage
CORRELATION = "pearson"


def hyphc(
    adata: Any,
    *,
    use_rep: str | None = None,
    neighbors_key: str | None = None,
    obsp: str | None = None,
    n_clusters: int | None = None,
    key_added: str = "hyphc",
    random_state: int | None = 0,
    copy: bool = False,
    **parameters: Any,
) -> Any:
    """Cluster cells into groups, and store the groups and their tree where scanpy looks for them.

    Parameters
    ----------
    adata : AnnData
    use_rep : str, optional
        The embedding in ``obsm`` whose rows are clustered, or "X". Default: "X_pca" if it is there, else "X".
    neighbors_key : str, optional
        Cluster the graph that ``scanpy.pp.neighbors`` computed, instead of rows: "neighbors" is ``obsp["connectivities"]``, or
        another ``key_added``.
    obsp : str, optional
        Cluster the graph ``obsp[obsp]``. Give at most one of ``use_rep``, ``neighbors_key`` and ``obsp``.
    n_clusters : int, optional
        Number of groups; by default it is found.
    key_added : str
        Key of the results in ``obs`` and ``uns``.
    random_state : int or None
    copy : bool
        Whether to return a copy instead of changing ``adata``.
    **parameters
        Others of ``HypHC``.

    Returns
    -------
    None, or AnnData if ``copy``. These fields are set:

    ``obs[key_added]`` : categorical
        The group of each cell: "0", "1", …; with ``outliers="label"`` missing for outliers.
    ``uns[key_added]`` : dict
        "params", Dasgupta's "cost", and "linkage", the tree of all cells as SciPy's linkage matrix.
    ``uns[f"dendrogram_{key_added}"]`` : dict
        The part of the tree above the groups, with the keys of ``scanpy.tl.dendrogram``: ``scanpy.pl.dendrogram(adata,
        key_added)`` and ``scanpy.pl.dotplot(…, dendrogram=True)`` draw it. Heights are those of the tree. Not set for a
        single group.
    """
    given = {"use_rep": use_rep, "neighbors_key": neighbors_key, "obsp": obsp}
    named = [f"{name}={value!r}" for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ValueError(f"{' and '.join(named)} ask for different inputs; give at most one.")
    frames = require_package("pandas", "AnnData objects", "anndata")
    adata = adata.copy() if copy else adata
    is_graph = use_rep is None and len(named) == 1
    if is_graph:
        rows, source = find_graph(adata, neighbors_key, obsp)
        settings = {"metric": "precomputed", **parameters}
    else:
        rows, source = find_rows(adata, use_rep)
        settings = parameters
    model = HypHC(n_clusters, random_state=random_state, **settings).fit(rows)
    categories = [str(group) for group in range(model.n_clusters_)]
    adata.obs[key_added] = frames.Categorical.from_codes(model.labels_, categories)
    params = {
        "obsp" if is_graph else "use_rep": source,
        "n_clusters": n_clusters,
        "random_state": random_state,
        **parameters,
    }
    adata.uns[key_added] = {
        "params": {name: _storable(value) for name, value in params.items() if value is not None},
        "cost": model.cost_,
        "linkage": model.linkage_,
    }
    adata.uns.pop(f"dendrogram_{key_added}", None)
    if len(categories) > 1:
        if is_graph:
            rows, _ = find_rows(adata, None)
        correlation = _correlations(rows, model.labels_, len(categories))
        top, _ = tree_above(model.tree_, model._clusters_.nodes)
        adata.uns[f"dendrogram_{key_added}"] = _dendrogram_fields(top, categories, key_added, source, correlation)
    return adata if copy else None


def _storable(value: Any) -> Any:
    """Return a parameter as AnnData files can hold it: text for what is neither number nor text."""
    return value if isinstance(value, bool | int | float | str) else repr(value)


def _correlations(rows: Any, labels: Ints, k: int) -> Floats:
    """Return Pearson's correlations of the mean rows of the groups, (k, k); NaN where a mean row is constant."""
    kept, is_sparse = labels >= 0, bool(sp.issparse(rows))
    matrix: Any = sp.csr_array(rows) if is_sparse else np.asarray(rows, dtype=np.float64)
    totals = indicator(labels[kept], k) @ matrix[kept]
    means = (totals.toarray() if is_sparse else totals) / np.bincount(labels[kept], minlength=k)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations: Floats = np.corrcoef(means)
    return np.clip(correlations, -1.0, 1.0)


def _dendrogram_fields(tree: Tree, categories: list[str], key: str, source: str, correlation: Floats) -> dict[str, Any]:
    """Return the fields of ``scanpy.tl.dendrogram`` for a tree of the categories."""
    linkage = tree.to_linkage()
    drawn = sch.dendrogram(linkage, labels=categories, no_plot=True)
    return {
        "linkage": linkage,
        "groupby": [key],
        "use_rep": source,
        "cor_method": CORRELATION,
        "linkage_method": METHOD,
        "categories_ordered": drawn["ivl"],
        "categories_idx_ordered": drawn["leaves"],
        "dendrogram_info": drawn,
        "correlation_matrix": correlation,
    }

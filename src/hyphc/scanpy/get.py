"""``hyphc.scanpy.get.differences``: the genes by which groups of cells differ, whatever they were clustered by."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .._runtime.lazy_import import require_package
from .._runtime.validation import require_choice
from ..scores.group_differences import GroupMoments, group_differences
from ..tree import Tree

__all__ = ["differences"]

COLUMNS = ("group", "compared_with", "rank", "gene", "effect", "mean", "other_mean", "p_value", "sure")


def differences(
    adata: Any,
    key: str = "hyphc",
    *,
    compare: Literal["rest", "sibling"] = "rest",
    use_raw: bool | None = None,
    layer: str | None = None,
    top: int = 5,
) -> Any:
    """Return the genes in which each group of cells differs most from others, as a frame.

    The values are those of genes, also where principal components or a graph were clustered. Effects are Hedges' g, p-values
    those of Welch's test, as of ``hyphc.differences``.

    Parameters
    ----------
    adata : AnnData
    key : str
        The groups: ``key_added`` of ``hyphc.scanpy.tl.hyphc``, or for ``compare="rest"`` any categorical column of ``obs``.
    compare : {"rest", "sibling"}
        All other groups, or those on the other side of the group's merge in the tree: the most similar ones.
    use_raw : bool, optional
        Whether values are those of ``adata.raw``; by default if it is there, as in ``scanpy.tl.rank_genes_groups``.
    layer : str, optional
        Values of a layer instead.
    top : int
        Genes of each group.

    Returns
    -------
    pandas.DataFrame
        Columns group, compared_with, rank, gene, effect, mean, other_mean, p_value and sure: whether p times all comparisons,
        groups times genes, is at most 0.05. Groups that were found in the same cells differ by construction.
    """
    require_choice("compare", compare, ("rest", "sibling"))
    if top < 1:
        raise ValueError(f"top={top} keeps no gene; choose top >= 1.")
    frames = require_package("pandas", "AnnData objects", "anndata")
    groups = _groups(adata, key)
    categories = [str(category) for category in groups.categories]
    if len(categories) < 2:
        raise ValueError(f"obs[{key!r}] has {len(categories)} group; differences need two or more.")
    values, genes = _expression(adata, use_raw, layer)
    moments = GroupMoments.of_rows(values, np.asarray(groups.codes, dtype=np.int64), len(categories))
    if compare == "rest":
        others, names = moments.of_others(), ["rest"] * len(categories)
    else:
        siblings = _siblings(adata, key, len(categories))
        others = GroupMoments.concatenate([moments.of_union(members) for members in siblings])
        names = [", ".join(categories[member] for member in members) for members in siblings]
    found = group_differences(moments, others, genes, top)
    rows = [
        (categories[group], names[group], rank, *difference)
        for group in range(len(categories))
        for rank, difference in enumerate(found.of(group), start=1)
    ]
    return frames.DataFrame(rows, columns=list(COLUMNS))


def _groups(adata: Any, key: str) -> Any:
    """Return the categorical of a column of ``obs``, without categories that no cell has."""
    if key not in adata.obs:
        raise ValueError(
            f"obs has no {key!r}; run hyphc.scanpy.tl.hyphc(adata) first, or choose one of {list(adata.obs)}."
        )
    column = adata.obs[key]
    if not hasattr(column, "cat"):
        raise ValueError(f"obs[{key!r}] holds {column.dtype}, not categories; use .astype('category').")
    return column.cat.remove_unused_categories().array


def _expression(adata: Any, use_raw: bool | None, layer: str | None) -> tuple[Any, list[str]]:
    """Return the values of genes, and the names of the genes."""
    if layer is not None:
        if use_raw:
            raise ValueError(f"layer={layer!r} and use_raw=True ask for different values; give one of them.")
        if layer not in adata.layers:
            raise ValueError(f"layer={layer!r} is not in layers; choose one of {list(adata.layers)}.")
        return adata.layers[layer], list(map(str, adata.var_names))
    if use_raw is None:
        use_raw = adata.raw is not None
    source = adata.raw if use_raw else adata
    if source is None:
        raise ValueError("use_raw=True, and adata.raw is None; set it, or leave use_raw out.")
    if source.X is None:
        raise ValueError("adata.X is None; pass a layer.")
    return source.X, list(map(str, source.var_names))


def _siblings(adata: Any, key: str, k: int) -> list[list[int]]:
    """Return for each group the groups on the other side of its merge in the stored tree."""
    stored = adata.uns.get(f"dendrogram_{key}")
    if stored is None or len(stored["linkage"]) != k - 1:
        raise ValueError(f"uns has no tree of the {k} groups of {key!r}; run hyphc.scanpy.tl.hyphc(adata) again.")
    tree = Tree.from_linkage(stored["linkage"])
    beside = [int(tree.children[tree.parents[group] - k].sum()) - group for group in range(k)]
    return [tree.members(node).tolist() for node in beside]

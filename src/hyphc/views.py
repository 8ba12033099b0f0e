"""What a fitted model shows: pictures, a page, tables. Each leads by name to the folder that makes it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._runtime.lazy_import import import_lazily, require_package
from ._runtime.validation import require_choice
from .scores.differences import Differences, differences
from .similarity.inputs.foreign_inputs import is_annotated, is_graph
from .tree import Tree
from .tree.subtrees import called

PICTURES = ("dendrogram", "condensed_tree", "disk", "clustermap", "similarity", "scores")


class Views:
    """Methods of convenience of a fitted estimator with ``tree_`` and ``labels_``."""

    def plot(self, kind: str = "dendrogram", X: Any = None, **options: Any) -> Any:
        """Draw the fitted tree, coloured by its clusters unless ``labels`` are given; needs matplotlib.

        Parameters
        ----------
        kind : {"dendrogram", "condensed_tree", "disk", "clustermap", "similarity", "scores"}
            The function of ``hyphc.plot`` that draws: ``dendrogram``, ``condensed_tree``, ``disk``, ``clustermap`` (a
            table beside the tree), ``heatmap`` (the similarity matrix) or ``cluster_scores``.
        X : array or frame (n, d)
            Of "clustermap": the table to show.
        options
            As of that function.

        Returns
        -------
        Axes
        """
        self._fitted()
        require_choice("kind", kind, PICTURES)
        if (X is None) == (kind == "clustermap"):
            need = "needs the table to show" if X is None else "takes no table; leave X out"
            raise ValueError(f"kind={kind!r} {need}.")
        if kind == "clustermap":
            return import_lazily("plot", "clustermap")(X, self, **options)
        if kind == "similarity":
            similarity = self._fitted().similarity_
            if similarity is None:
                raise ValueError(
                    "kind='similarity' needs all rows in memory; this model was fitted by parts from disk."
                )
            return import_lazily("plot", "heatmap")(similarity, self, **options)
        return import_lazily("plot", "cluster_scores" if kind == "scores" else kind)(self, **options)

    def explore(self, path: str | os.PathLike[str] | None = None, X: Any = None, **options: Any) -> Any:
        """A page in which the fitted tree can be explored: written to a path, or without one shown in a notebook.

        Parameters
        ----------
        path : path, optional
        X : array or frame (n, d), optional
            The table that was clustered, or another of the same rows: the page's features.
        options
            As of ``hyphc.explore``.

        Returns
        -------
        Path or Page
        """
        model = self._fitted()
        given = {
            "features": X,
            "criterion": model.criterion,
            "min_size": model.min_size,
            "similarity": model.similarity_,
        }
        if model.similarity_ is not None and model.embedding_.shape[1] == 2:
            given["embedding"] = model.embedding_
        return import_lazily("explorer", "explore")(model.tree_, path, **(given | options))

    def differences(self, X: Any, **options: Any) -> Differences:
        """The columns of a table in which clusters differ most; options as of ``hyphc.differences``."""
        return differences(self._fitted().tree_, X, **options)

    def to_pandas(self, X: Any = None) -> Any:
        """The flat cluster of each row as a frame, indexed by the rows' names; of new rows ``X``, the cluster they would join.

        Returns
        -------
        DataFrame
            Column "cluster" and, of the fitted rows, "position" in the leaf order of the tree.
        """
        model, frames = self._fitted(), require_package("pandas", "frames", "io")
        if X is not None:
            index = X.index if hasattr(X, "iloc") else None
            return frames.DataFrame({"cluster": model.predict(X)}, index=index)
        names = None if model.tree_.names is None else frames.Index(model.tree_.names, name="name")
        place = np.argsort(model.tree_.leaf_order())
        return frames.DataFrame({"cluster": model.labels_, "position": place}, index=names)

    def _fitted(self) -> Any:
        """The model itself, once it is fitted."""
        check_is_fitted(self)
        return self


def row_names(X: Any) -> tuple[str, ...] | None:
    """Names of the rows of a pandas frame or AnnData object, or of the nodes of a networkx graph; None where they only count.

    Examples
    --------
    >>> row_names([[1.0], [2.0]]) is None
    True
    """
    labels = _labels_of(X)
    if labels is None or [str(label) for label in labels] == [str(i) for i in range(len(labels))]:
        return None
    return tuple(", ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels)


def _labels_of(X: Any) -> list[Any] | None:
    if is_annotated(X):
        return list(X.obs_names)
    if is_graph(X):
        return list(X.nodes)
    return X.index.tolist() if hasattr(X, "iloc") else None


def grown_names(tree: Tree, new: tuple[str, ...] | None, n: int) -> tuple[str, ...] | None:
    """Names of n leaves, of which the tree has the first: ``new`` are those of all, or of the others, or none."""
    if new is not None and len(new) == n:
        return new
    if tree.names is None and new is None:
        return None
    return (*(called(tree, i) for i in range(tree.n_leaves)), *(new or map(str, range(tree.n_leaves, n))))

"""The explorer: a tree as one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Iterable
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._runtime.validation import require_choice
from ..hyperbolic import geometry
from ..hyperbolic.decode import circle_order
from ..hyperbolic.encode import encode_by_height
from ..scores.cluster_number import ClusterNumber
from ..scores.describe import Descriptions
from ..scores.differences import LeafMeans
from ..scores.heights import with_split_weights
from ..similarity.build import check_similarity
from ..tree import Tree, TreeLike, as_tree
from ..tree.criteria import NodeScores
from ..tree.layout import zero_is_equal
from ..tree.prunings import CONDENSED
from ..tree.validation import check_names
from .columns import (
    MAX_VALUES,
    annotation_fields,
    difference_fields,
    feature_fields,
    feature_values,
    label_fields,
    palette_fields,
)
from .cuts import cut_fields
from .groups import PageTree, collapse
from .inline import Page
from .packing import Fields, encode_array
from .sprite import sprite

if TYPE_CHECKING:
    from ..similarity import SimilarityLike

__all__ = ["MAX_LEAVES", "MAX_VALUES", "explore"]

# Drawing time does not grow with the number of leaves, but the page's size does, to about 15 MB here, and so does its loading
# time; of a larger tree the top is shown, its lowest merges collapsed.
MAX_LEAVES = 200_000
# Radii that differ by less than this share count as one; then only the angles say anything about the tree.
ONE_RADIUS = 1e-6
# Letters of texts in a page, as many bytes or a few times as many; longer texts are shortened to what is left for each.
MAX_LETTERS = 20_000_000
# Costs that differ by less than this share are equal up to the order of summation.
SAME_COST = 1e-9


def explore(
    tree: TreeLike,
    path: str | os.PathLike[str] | None = None,
    *,
    labels: npt.ArrayLike | None = None,
    names: Iterable[str] | Descriptions | None = None,
    images: npt.ArrayLike | None = None,
    features: Any = None,
    annotations: Any = None,
    label_name: str | None = None,
    embedding: npt.ArrayLike | None = None,
    similarity: SimilarityLike | None = None,
    criterion: str | NodeScores = CONDENSED,
    min_size: float | None = None,
    outliers: str = "join",
    cluster_number: ClusterNumber | None = None,
    title: str | None = None,
    rows_from: int = 0,
) -> Any:
    """Write a page for exploring a tree: Poincaré disk, dendrogram, search, cuts, lists of members.

    Parameters
    ----------
    tree : Tree or SciPy linkage matrix
        n leaves, one or more. If it has support (``Tree.with_support``), branches of high support are drawn wider, and a
        slider fades those below a threshold. Above `MAX_LEAVES` (200 000) the lowest merges are closed: a leaf of the page
        then represents a group of points, with its size, most frequent label and mean features.
    path : path, optional
        The HTML file; one that exists is replaced in one step. Without it the page is returned, for a notebook to show.
    labels : array (n,), optional
        Classes, of any type; leaves can be coloured by them, and clusters show their composition.
    names : sequence of n str or Descriptions, optional
        Names of the leaves, or ``hyphc.describe(tree, …)``, which names groups as well: in the list of clusters, where one is
        pointed at, and around the disk once there are more than fifty leaves. Default: the tree's, else the numbers of the rows.
    images : array (n, h, w) or (n, h, w, 3), optional
        Thumbnails: uint8, or numbers that are stretched to it. Scaled down to 48 pixels at the most.
    features : array or frame (n, d), optional
        Numbers: a heat map below the tree, what distinguishes each cluster (``hyphc.differences``), the export.
    annotations : frame, table of names and columns, or one column, optional
        Further columns: strips below the tree, and colours. Few whole numbers, text and booleans are classes;
        other numbers have a scale.
    label_name : str, optional
        What the labels are called; by default the name of the column, or "label".
    embedding : array (n, 2), optional
        Points of the Poincaré disk, as ``HypHC.embedding_``. Default: `hyphc.hyperbolic.encode.encode_by_height`.
    similarity : Similarity, dense or sparse matrix, optional
        Adds Dasgupta's cost, and for each cluster the mean similarity across its split, of the default metric the mean weight of
        the neighbour graph's edges. A fitted tree carries what that takes.
    criterion, min_size
        Of the cuts, as in ``Tree.cut``. The page opens with the clusters that the fit found, to which a button leads back, or
        with ``tree.n_clusters`` clusters where the tree carries none. Its slider shows ``tree.cut(k)`` for every k that
        ``min_size`` and the leaves of the page allow; of a score for that k and all up to 50, and with more clusters the last
        merges are undone.
    outliers : {"join", "label"}
        Whether points outside the cores of clusters join them at first, or are outliers; a switch in the page changes it.
    cluster_number : ClusterNumber, optional
        ``HypHC.cluster_number_``: the page says why this number was found, and the p-values of the splits of a cut.
    title : str, optional
        Heading of the page.
    rows_from : int
        The number of the first row, 0 as in Python; the command line counts from 1, as its files do.

    Returns
    -------
    Path or Page
        Where the page is; or the page itself, which notebooks display and ``save(path)`` writes.

    Notes
    -----
    O(n) but for sorting and for what `similarity` takes. Labels and names are data in the page, never markup, and its
    content security policy allows no script but its own and no connection at all. docs/explorer.md has pictures.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = explore(Tree([[0, 1], [3, 2]]), f"{folder}/tree.html", labels=["a", "a", "b"])
    ...     page.name, page.stat().st_size < 200_000
    ('tree.html', True)
    """
    tree = as_tree(tree)
    n = tree.n_leaves
    described = names if isinstance(names, Descriptions) else None
    if described is not None and not np.array_equal(described.tree.children, tree.children):
        raise ValueError(
            f"names describe another tree than this one of {n} leaves; pass describe(tree, …) of this one."
        )
    require_choice("outliers", outliers, ("join", "label"))
    called = tree.names if names is None or isinstance(names, Descriptions) else check_names(names, n)
    groups = collapse(tree, MAX_LEAVES)
    shown, is_whole = groups.tree, groups.is_whole
    points = round(float(tree._points[-1]))
    heading = title if title is not None else f"Tree of {points:,} point{'s' * (points > 1)}".replace(",", "\u202f")
    data: Fields = {
        "title": heading,
        "n": shown.n_leaves,
        "points": points,
        "children": encode_array(shown.children, "<i4"),
        "heights": encode_array(shown.heights, "<f8"),
        "support": None if tree.support is None else encode_array(tree.support[n - shown.n_leaves :], "<f4"),
        "weights": None if is_whole and tree.leaf_sizes is None else encode_array(_points_of(tree, groups), "<f8"),
        "rows": None if is_whole else encode_array(groups.first, "<i4"),
        "rowsFrom": rows_from,
        "names": groups.names(called, rows_from),
        "nodeNames": None if described is None else described.names[2 * n - shown.n_leaves :],
        "texts": None if described is None or described.texts is None else _shown_texts(described.texts, groups),
        "labels": None if labels is None else label_fields(labels, label_name, n, groups),
        "annotations": annotation_fields(annotations, n, groups, int(labels is not None)),
        "colours": palette_fields(),
        "zeroIsEqual": zero_is_equal(tree),
        **_table_fields(tree, features, groups),
        "sprite": None if images is None else sprite(groups.chosen(images), shown.n_leaves),
        **_embedding_fields(groups, embedding),
        **_similarity_fields(tree, similarity, shown.n_leaves),
        **cut_fields(tree, groups, criterion, min_size),
        **_evidence_fields(tree, cluster_number, shown.n_leaves),
        "labelsOutliers": outliers == "label",
    }
    made = Page(heading, page(heading, data))
    return made if path is None else made.save(path)


def page(title: str, data: Fields) -> bytes:
    """Return the HTML file: template, style, data and scripts in one, with a content security policy of their hashes."""
    folder = resources.files(__package__) / "assets"
    style = (folder / "style.css").read_text(encoding="utf-8")
    # main.js begins when all others are defined, in whichever order
    scripts = sorted((file.name == "main.js", file.name) for file in folder.iterdir() if file.name.endswith(".js"))
    script = "".join((folder / name).read_text(encoding="utf-8") for _, name in scripts)
    script = f'"use strict";\n(() => {{\n{script}}})();\n'
    from .. import __version__

    parts = {
        "title": html.escape(title),
        "version": __version__,
        "style": style,
        "style_hash": _hash(style),
        "script": script,
        "script_hash": _hash(script),
        # The one sequence that could end the data block, or open a comment in it, starts with "<".
        "data": json.dumps(data, allow_nan=False).replace("<", "\\u003c"),
    }
    template = (folder / "page.html").read_text(encoding="utf-8")
    # One pass, so that what is filled in is not searched for more to fill in.
    filled = re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)
    return filled.encode("utf-8", errors="replace")


def _shown_texts(texts: tuple[str, ...], groups: PageTree) -> list[str]:
    """Return the texts of the leaves on the page; where they are too many letters, the long ones end in an ellipsis."""
    shown = list(texts) if groups.is_whole else [texts[i] for i in groups.first.tolist()]
    most = MAX_LETTERS // len(shown)
    if sum(map(len, shown)) <= MAX_LETTERS:
        return shown
    return [text if len(text) <= most else f"{text[: most - 1]}…" for text in shown]


def _evidence_fields(tree: Tree, number: ClusterNumber | None, k: int) -> Fields:
    """Return the rule that found the number of clusters, and the p-value of each merge on the page."""
    if number is None:
        return {"why": None, "pValues": None}
    values, n = number.p_values, tree.n_leaves
    if values is not None and values.shape != (n - 1,):
        raise ValueError(f"cluster_number has p-values of {len(values)} merges; pass that of this tree of {n} leaves.")
    return {"why": number.why, "pValues": None if values is None else encode_array(values[n - k :], "<f4")}


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _points_of(tree: Tree, groups: PageTree) -> npt.NDArray[np.float64]:
    """Return how many points each leaf of the page stands for."""
    sizes = np.ones(tree.n_leaves) if tree.leaf_sizes is None else tree.leaf_sizes
    return np.bincount(groups.of, sizes, len(groups.sizes)).astype(np.float64, copy=False)


def _table_fields(tree: Tree, features: Any, groups: PageTree) -> Fields:
    """Return the features, and those that distinguish clusters."""
    if features is None:
        return {"features": None, "differences": None}
    names, values = feature_values(features, tree.n_leaves)
    distinctive = difference_fields(tree, features if isinstance(features, LeafMeans) else values, groups.tree.n_leaves)
    return {"features": feature_fields(names, values, groups), "differences": distinctive}


def _embedding_fields(groups: PageTree, embedding: npt.ArrayLike | None) -> Fields:
    """Return angles counter-clockwise from the widest gap and, unless the points have one radius, their depths."""
    if embedding is None:
        points = encode_by_height(groups.tree)
    else:
        if np.shape(embedding) != (n := len(groups.of), 2):
            raise ValueError(f"embedding has shape {np.shape(embedding)}; pass ({n}, 2), a point for each leaf.")
        points, _ = geometry.check_ball("embedding", groups.chosen(embedding))
    angles = np.arctan2(points[:, 1], points[:, 0])
    order, _ = circle_order(angles)
    unrolled = np.empty_like(angles)
    unrolled[order] = np.where(angles[order] < angles[order[0]], angles[order] + 2 * np.pi, angles[order])
    if len(order) > 1:
        unrolled -= 2 * np.pi * np.round(unrolled.mean() / (2 * np.pi))
    radii = np.hypot(points[:, 0], points[:, 1])
    one_radius = np.ptp(radii) <= ONE_RADIUS * radii.max()
    depths = None if one_radius else encode_array(geometry.distance_to_origin(points), "<f4")
    return {"angles": encode_array(unrolled, "<f8"), "depths": depths}


def _similarity_fields(tree: Tree, similarity: SimilarityLike | None, k: int) -> Fields:
    """Return Dasgupta's cost and the mean similarity across each split on the page, from the similarity or as stored in the
    tree."""
    if similarity is not None:
        tree = with_split_weights(tree, check_similarity(similarity))
    across, cost, n = tree.split_weights, tree.cost, tree.n_leaves
    if across is None:
        return {"cost": cost, "across": None, "edgesAlone": False}
    # the weights of a blend are its graph's, and do not add up to the cost
    part = cost is not None and not np.isclose(across @ tree._points[n:], cost, rtol=SAME_COST)
    means = across / tree._points[tree.children].prod(axis=1)
    return {"cost": cost, "across": encode_array(means[n - k :], "<f4"), "edgesAlone": bool(part)}

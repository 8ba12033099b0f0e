"""The whole tree from the trees of the parts and the one above them: its cost, heights, and what cuts need."""

from __future__ import annotations

import numpy as np

from .._kernels.tree.passes import subtree_sums
from .._runtime.arrays import Floats, Ints
from .._runtime.shard_store import Arrays
from ..scores.heights import blend_heights, mean_heights, strongest_edge
from ..similarity import Graph
from ..tree.condense import default_splits, monotone_heights
from ..tree.storage import save_mapped
from ..tree.validation import order_by_height, renumbered
from .job import Problem
from .partition_trees import ground, part_similarity

FOLDER = "tree"  # of the storage, where the tree is, to be opened by ``Tree.load``


def settle(problem: Problem, part: int) -> Arrays:
    """Of a part's rows: the weight of all edges, or the similarity to all others; the furthest from the middle of all.

    Of its edges: the strongest, for two points.
    """
    leaves, total = problem.store.read(problem.stage("leaves"), part), problem.store.one("top", 0, "total")
    sizes, leaf = np.array(leaves["sizes"]), np.array(leaves["leaf"])
    rows = leaves["rows"].astype(np.float64)
    far = float(np.sqrt(((rows - total / problem.n) ** 2).sum(axis=1).max()))
    if not problem.has_edges:
        own = np.einsum("ij,ij->i", rows, rows)
        degrees = 0.5 * (problem.n - 1) + 0.5 * (rows @ total - own)
        return {"degrees": np.maximum(degrees, 0.0)[leaf], "far": np.array(far), "strongest": np.array(1.0)}
    graph, across = (
        part_similarity(problem, part).local_part,
        problem.store.read("graph", part, "leaf", "weight", "single"),
    )
    assert isinstance(graph, Graph)
    weight = graph.degrees() + np.bincount(across["leaf"], across["weight"], minlength=len(sizes))
    copied = 1.0 if sizes.max() > 1 else 0.0  # copies of a row are joined by 1
    strongest = max(copied, strongest_edge(graph), float(across["single"].max(initial=0.0)))
    return {"degrees": (weight / sizes + sizes - 1)[leaf], "far": np.array(far), "strongest": np.array(strongest)}


def assemble(problem: Problem, _: int = 0) -> Arrays:
    """Write the whole tree to the storage, as arrays that need not be read to be opened; its exact cost.

    C = Σ_v |v|·x(v): over merges below the frontier each part knows x, over those above it the tree of the frontier does.
    """
    n = problem.n
    children, near, whole = _joined(problem)
    points = subtree_sums(children, np.ones(n))
    cost = float(points[n:] @ whole)
    pairs = points[children[:, 0]] * points[children[:, 1]]
    near, degrees = np.maximum(near, 0.0), _degrees(problem)
    splits = default_splits(children, points, near, degrees)
    heights = monotone_heights(children, _heights(problem, near / pairs, whole / pairs), splits)
    del pairs, whole, points, splits
    order = order_by_height(heights)
    if order is not None:
        children, heights, near = renumbered(children, order), heights[order], near[order]
    fields = {
        "children": children,
        "heights": heights,
        "split_weights": near,
        "degrees": degrees,
        "cost": cost,
    }
    save_mapped(problem.store.place.inside(FOLDER), fields)
    return {"cost": np.array(cost)}


def _joined(problem: Problem) -> tuple[Ints, Floats, Floats]:
    """The merges of all parts and those above, and similarities across each: of neighbours alone, and of all."""
    n, top = problem.n, problem.store.read("top")
    children, near, whole = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1), np.empty(n - 1)
    tops, made = np.empty(len(top["sizes"]), dtype=np.int64), 0
    for part in range(problem.n_parts()):
        piece = problem.store.read("fits", part, "children", "tops", "near", "whole")
        ids, own = problem.store.one(problem.stage("leaves"), part, "ids"), slice(made, made + len(piece["near"]))
        number = np.concatenate([ids, n + np.arange(own.start, own.stop)])
        children[own], near[own], whole[own] = number[piece["children"]], piece["near"], piece["whole"]
        tops[top["starts"][part] : top["starts"][part + 1]] = number[piece["tops"]]
        made = own.stop
    number = np.concatenate([tops, n + np.arange(made, n - 1)])
    children[made:], near[made:], whole[made:] = number[top["children"]], top["near"], top["whole"]
    return children, near, whole


def _heights(problem: Problem, near: Floats, whole: Floats) -> Floats:
    """Heights from means of similarities across each merge, as of a tree that was fitted at once."""
    pieces = list(problem.pieces("settled", problem.n_parts(), "far", "strongest"))
    strongest = max(float(piece["strongest"]) for piece in pieces)
    background = ground(problem)
    if background is None:
        return mean_heights(whole, 1.0)
    radius = max(float(piece["far"]) for piece in pieces)
    added = background.slope * ((2 * radius) ** 2 - background.level)
    return blend_heights(near, whole - near + added, strongest, background.slope * background.level + added)


def _degrees(problem: Problem) -> Floats:
    degrees = np.empty(problem.n)
    for part, piece in enumerate(problem.pieces("settled", problem.n_parts(), "degrees")):
        degrees[problem.store.one(problem.stage("leaves"), part, "ids")] = piece["degrees"]
    return degrees

"""The whole tree from the trees of the parts and the one above them, and its exact cost."""

from __future__ import annotations

import numpy as np

from .._kernels.tree.passes import subtree_sums
from .._shared.arrays import Floats, Ints
from ..tree import Tree
from .problem import Problem


def joined(problem: Problem) -> tuple[Tree, float]:
    """The tree of all rows, and its cost."""
    n = problem.n
    top = problem.store.read("top")
    tops = np.empty(len(top["sizes"]), dtype=np.int64)
    children, whole, made = [], [], n
    for part in range(problem.n_parts()):
        piece, ids = problem.store.read("fits", part, "children", "tops", "whole"), problem.store.one(problem.stage("leaves"), part, "ids")
        number = np.concatenate([ids, made + np.arange(len(piece["children"]))])
        children.append(number[piece["children"]])
        tops[top["starts"][part] : top["starts"][part + 1]] = number[piece["tops"]]
        whole.append(piece["whole"])
        made += len(piece["children"])
    number = np.concatenate([tops, made + np.arange(len(top["children"]))])
    merges = np.concatenate([*children, number[top["children"]]])
    across = np.concatenate([*whole, top["whole"]])
    points = subtree_sums(merges, np.ones(n))
    return Tree(merges), float(points[n:] @ across)

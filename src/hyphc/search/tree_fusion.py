"""Tree fusion: for each cluster that two trees have in common, the cheaper arrangement of it.

C = Σ_v |v|·x(v), and the part below a cluster is independent of the rest. Between a common cluster and the largest common ones
within it each tree has its own arrangement, whose cost is a sum over its merges; any combination of arrangements is a tree. So
the cheapest combination takes the cheaper arrangement everywhere: exact, and linear in the leaves.
"""

from __future__ import annotations

import numpy as np

from .._kernels.search import tree_fusion as kernels
from .._kernels.tree.passes import lifted_heights, subtree_sums
from .._runtime.arrays import Floats, Ints
from ..scores.costs import split_weights
from ..similarity import Similarity
from ..tree import Tree

# An arrangement replaces another only if it is cheaper by more than the rounding error of its sum.
ROUNDING = 1e-12


def fuse(tree: Tree, other: Tree, similarity: Similarity) -> Tree:
    """Return the cheapest combination of two trees by common clusters; ``tree`` itself if that is the cheapest.

    Parameters
    ----------
    tree, other : Tree
        Trees on the same leaves. Ties go to the first.
    similarity : Similarity

    Notes
    -----
    O(n) and the split weights of both trees. Heights are as in ``refine``.

    Examples
    --------
    >>> from hyphc import as_similarity
    >>> W = as_similarity([[0, 9, 1, 0], [9, 0, 1, 0], [1, 1, 0, 9], [0, 0, 9, 0]], "precomputed")
    >>> fuse(Tree([[0, 1], [4, 2], [5, 3]]), Tree([[0, 2], [1, 3], [4, 5]]), W).children
    array([[0, 1],
           [4, 2],
           [5, 3]])
    """
    if tree.n_leaves < 3:
        return tree
    one, two = np.array(tree.children), np.array(other.children)
    twin_of_two = kernels.match_clusters(one, tree._first, np.array(tree.sizes), two)
    common = np.flatnonzero(twin_of_two >= 0)
    twin_of_one = np.full(len(twin_of_two), -1)
    twin_of_one[twin_of_two[common]] = common
    first = kernels.arrangement_costs(one, _costs(tree, similarity), twin_of_one)
    second = kernels.arrangement_costs(two, _costs(other, similarity), twin_of_two)
    cheaper = np.zeros(len(first), dtype=np.int64)
    here = twin_of_two[common]
    cheaper[here] = second[common] < first[here] - ROUNDING * np.abs(first[here])
    if not cheaper.any():
        return tree
    return _with_heights(kernels.assemble_fused(one, two, twin_of_one, twin_of_two, cheaper), similarity, tree.names)


def _costs(tree: Tree, similarity: Similarity) -> Floats:
    """Return |v|·x(v) of each merge."""
    points = subtree_sums(np.array(tree.children), similarity.sizes)
    return np.asarray(points[tree.n_leaves :] * split_weights(tree, similarity))


def _with_heights(children: Ints, similarity: Similarity, names: tuple[str, ...] | None) -> Tree:
    """Return the tree with heights w_max − (mean similarity across the split), none below a child's."""
    points = subtree_sums(children, similarity.sizes)
    means = split_weights(Tree(children), similarity) / (points[children[:, 0]] * points[children[:, 1]])
    return Tree(children, lifted_heights(children, np.maximum(similarity.maximum() - means, 0.0)), names)

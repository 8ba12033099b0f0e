"""The tree of a part. What lies inside a part costs the same wherever the part is in the whole tree: parts are independent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._kernels.tree.passes import subtree_sums
from .._runtime.arrays import Floats, Ints
from .._runtime.shard_store import Arrays
from ..fit.weighted_leaves import clusters_of_nodes, collapsed, expanded
from ..scores.costs import splits
from ..similarity import Background, Blend, Features, Graph, Similarity
from ..similarity.group_sums import indicator
from ..tree import Tree
from ..tree.prunings import by_smallest_leaf, labels_of, tops
from .job import Problem
from .partition import sums_of_leaves
from .search_settings import SWEEPS, searched

# A leaf with more than so many times as much weight of edges to other parts as to its own may move by itself.
STRAY = 0.5


class Fineness(NamedTuple):
    """Subtrees of all parts that move as one in the tree above: one for so many rows, and this many at most."""

    rows_each: int
    most: int


# Where sums of rows tell all, finer subtrees make purer trees. With edges leaves that belong elsewhere are single anyway, and a
# search of fewer subtrees is more thorough.
BY_SUMS, WITH_EDGES = Fineness(2, 250_000), Fineness(16, 60_000)
# So many subtrees there are if there are as many rows, and no more than have so many numbers in the sums of their rows: one task
# holds these a few times.
FEWEST, MOST_NUMBERS = 2_500, 1 << 24

# Without edges only small subtrees are kept of a part's tree, and a few sweeps make these as good.
FEW_SWEEPS = 4


def weights(problem: Problem, _: int = 0) -> Arrays:
    """The strength of the background: its slope and level, from all edges and all rows; of cosines, nothing.

    As in ``metric="auto"``: β·W / Σ‖x − y‖² with W the total weight of the graph, and the mean squared distance.
    """
    pieces = list(problem.pieces("graph", problem.n_parts(), "sums", "total"))
    edges, n, same, squares = np.sum([piece["sums"] for piece in pieces], axis=0).tolist()
    total = np.sum([piece["total"] for piece in pieces], axis=0)
    apart = max(0.0, n * squares - float(np.dot(total, total)))
    pairs = (n * n - same) / 2
    slope = problem.recipe.background * edges / apart if apart > 0 else 0.0
    return {"slope": np.array(slope), "level": np.array(apart / pairs if pairs > 0 else 0.0)}


class Ground(NamedTuple):
    """What turns sums of rows into a similarity: of cosines, nothing is needed."""

    slope: float
    level: float


def ground(problem: Problem) -> Ground | None:
    """As ``weights`` left it; None of cosines."""
    if not problem.has_edges:
        return None
    piece = problem.store.read("weights")
    return Ground(float(piece["slope"]), float(piece["level"]))


def similarity_of(
    sums: Floats, squares: Floats, sizes: Floats, graph: sp.csr_array[np.float64] | None, background: Ground | None
) -> Similarity:
    """The similarity of leaves of several points, from the sums of their rows and of their edges."""
    if background is None or graph is None:
        return Features(sums, offset=0.5, scale=0.5, sizes=sizes)
    return Blend(
        Graph(graph, sizes=sizes),
        Background(sums, slope=background.slope, level=background.level, squares=squares, sizes=sizes),
    )


def part_similarity(problem: Problem, part: int) -> Similarity:
    """The similarity of a part's leaves."""
    leaves = problem.store.read(problem.stage("leaves"), part, "rows", "sizes")
    sizes = np.array(leaves["sizes"])
    sums, squares = sums_of_leaves(leaves["rows"], sizes)
    graph = None
    if problem.has_edges:
        piece = problem.store.read("graph", part, "data", "indices", "indptr")
        graph = sp.csr_array((piece["data"], piece["indices"], piece["indptr"]), shape=(len(sizes), len(sizes)))
    else:  # as they are, when no row is there twice
        sums = np.array(leaves["rows"]) if (sizes == 1).all() else sums
    return similarity_of(sums, squares, sizes, graph, ground(problem))


def fit_part(problem: Problem, part: int) -> Arrays:
    """The tree of a part, in two: above its frontier of small subtrees, which may move to other parts, and below it.

    Below, with rows numbered by their place in the part: ``children``, similarities across each merge (``near`` of neighbours
    alone, ``whole`` of all), and the node of each subtree (``tops``). Above: ``upper`` joins subtrees where there are edges.
    ``frontier`` is the subtree of each leaf, ``member`` a row of each; ``sums``, ``squares`` and ``sizes`` are of their points.
    """
    similarity, leaf = (
        part_similarity(problem, part),
        np.array(problem.store.one(problem.stage("leaves"), part, "leaf")),
    )
    seed = (problem.recipe.seed + part) % 2**31
    tree = searched(problem, similarity, seed, 1, SWEEPS if problem.has_edges else FEW_SWEEPS)
    groups = _frontier(problem, part, tree, similarity)
    leaves = problem.store.read(problem.stage("leaves"), part, "rows", "sizes")
    sums, squares = sums_of_leaves(leaves["rows"], leaves["sizes"])
    mix = indicator(groups)
    above: Arrays = {"frontier": groups, "sums": np.asarray(mix @ sums), "squares": np.asarray(mix @ squares)}
    if problem.has_edges:
        above["upper"] = collapsed(tree, groups).children
    above["sizes"] = np.asarray(mix @ leaves["sizes"])
    above["member"] = problem.store.one(problem.stage("leaves"), part, "ids")[_first_rows(groups[leaf])]
    return {**above, **_below(tree, similarity, groups, leaf)}


def _first_rows(groups: Ints) -> Ints:
    return np.unique(groups, return_index=True)[1]


def frontier_size(n: int, d: int, has_edges: bool, most: int | None = None) -> float:
    """Rows at most in a subtree of the frontier, of n rows of d columns; ``most`` subtrees are allowed.

    Examples
    --------
    >>> [frontier_size(n, 32, False) for n in (1_000, 100_000, 1_000_000)], frontier_size(1_000_000, 32, True, 50_000)
    ([1.0, 2.0, 4.0], 20.0)
    """
    fine = WITH_EDGES if has_edges else BY_SUMS
    usual = max(FEWEST, min(fine.most, MOST_NUMBERS / d, n / fine.rows_each))
    return max(1.0, n / min(usual, most or np.inf))


def _frontier(problem: Problem, part: int, tree: Tree, similarity: Similarity) -> Ints:
    """The subtree of each leaf: the largest of few points, in which no leaf belongs elsewhere by its edges."""
    strays = np.zeros(tree.n_leaves)
    if problem.has_edges:
        graph = problem.store.read("graph", part, "leaf", "weight")
        across = np.bincount(graph["leaf"], graph["weight"], minlength=tree.n_leaves)
        strays[across > STRAY * similarity.local_part.degrees()] = 1.0
    children = np.array(tree.children)
    size = frontier_size(*problem.source.shape, problem.has_edges, problem.recipe.top_size)
    small = subtree_sums(children, similarity.sizes) <= size
    kept = small & (subtree_sums(children, strays) == 0)
    return labels_of(tree, by_smallest_leaf(tree, tops(tree, kept[tree.n_leaves :])))


def _below(tree: Tree, similarity: Similarity, groups: Ints, leaf: Ints) -> Arrays:
    """Merges below the frontier, of single rows: those of copies first, then those of leaves."""
    full = expanded(tree, leaf)
    n, n_copies = len(leaf), len(leaf) - tree.n_leaves
    inside = clusters_of_nodes(full, groups[leaf])
    own = inside[n:] >= 0
    number = np.arange(2 * n - 1)
    number[n:][own] = n + np.arange(own.sum())
    roots = np.flatnonzero((inside >= 0) & (np.append(inside[full.parents[:-1]], -1) < 0))
    tops = np.empty(len(roots), dtype=np.int64)
    tops[inside[roots]] = number[roots]
    merged = full.children[:n_copies]
    copied = leaf[full.leaf_order()[full._first[n : n + n_copies]]]
    pairs, alike = full.sizes[merged].prod(axis=1), _among_copies(similarity)[copied]
    near = np.concatenate([pairs * (1.0 if similarity.has_edges else alike), splits(similarity.local_part, tree)])
    whole = np.concatenate([pairs * alike, splits(similarity, tree)])
    return {"children": number[full.children[own]], "near": near[own], "whole": whole[own], "tops": tops}


def _among_copies(similarity: Similarity) -> Floats:
    """The similarity of two copies of each leaf's row."""
    if isinstance(similarity, Blend):
        return np.full(similarity.n, 1.0 + similarity.background.slope * similarity.background.level)
    assert isinstance(similarity, Features)
    rows = similarity.X.astype(np.float64) / similarity.sizes[:, None]
    return np.asarray(similarity.offset + similarity.scale * np.einsum("ij,ij->i", rows, rows))

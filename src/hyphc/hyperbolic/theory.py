"""Executable form of the paper's theory: trees and spread embeddings correspond, and so do their costs.

Everything is computed in the current precision of mpmath (``mpmath.workdps``), which is exact but slow.
Points are complex numbers in the Poincaré disk. As in the paper's appendix, a rooted binary tree on n leaves is read as an
unrooted one on n + 1: node 0, at the origin, is the parent of the root. A matrix of *distances* has it in row 0 and leaf i
in row i + 1; a matrix of *depths*, d_o(z_i ∨ z_j) or d_0(i ∨ j), is over the n leaves. Lemmas and definitions are numbered as in
the paper (Chami, Gu, Chatziafratis, Ré 2020), section 4 and appendices A and C; docs/notes/theorem.md explains them.
"""

from __future__ import annotations

from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from ..tree import Tree
from .high_precision import (
    Matrix,
    Point,
    Real,
    delta,
    distance,
    four_point_delta,
    gromov_product,
    lca_depth,
    lca_depth_of_line,
    mp,
    point_depths,
    point_distances,
)

__all__ = [
    "Claim",
    "Sarkar",
    "agreement_condition",
    "approximating_tree",
    "approximation_ratio",
    "bend_loss",
    "dasgupta_cost",
    "decode_depths",
    "decoding_error",
    "delta",
    "depth_lemma",
    "distance",
    "four_point_delta",
    "gromov_product",
    "heaviest_pairs",
    "hyphc_cost",
    "in_lca_agreement",
    "is_quasi_isometric",
    "is_spread",
    "lca_depth",
    "lca_depth_of_line",
    "lca_triplets",
    "linear_spread_threshold",
    "point_depths",
    "point_distances",
    "sarkar_embedding",
    "spread_margin",
    "spread_threshold",
    "sufficient_scale",
    "sufficient_temperature",
    "tree_constant",
    "tree_depths",
    "tree_distances",
]


class Claim(NamedTuple):
    """One inequality on a concrete instance.

    Attributes
    ----------
    measured, bound : int, float or mpmath number
        What was measured, and what the paper says it cannot exceed.
    """

    measured: Real
    bound: Real

    @property
    def holds(self) -> bool:
        """Whether it does not."""
        return bool(self.measured <= self.bound)


def tree_distances(tree: Tree, edge: Real = 1) -> list[list[Real]]:
    """Return the distances of node 0 (row 0) and the leaves when all edges, also that above the root, have one length."""
    depths = tree_depths(tree)
    n = tree.n_leaves
    rows = [[0, *(depths[i][i] for i in range(n))]]
    for i in range(n):
        rows.append([depths[i][i], *(depths[i][i] + depths[j][j] - 2 * depths[i][j] for j in range(n))])
    return [[edge * d for d in row] for row in rows]


def tree_depths(tree: Tree) -> list[list[int]]:
    """Return the number of edges between node 0 and the LCA of each pair of leaves."""
    n, parents = tree.n_leaves, tree.parents
    level = np.ones(2 * n - 1, dtype=np.int64)
    for node in range(2 * n - 3, -1, -1):  # parents before children
        level[node] = level[parents[node]] + 1
    leaves = np.arange(n)
    found: list[list[int]] = level[tree.lca(leaves[:, None], leaves[None, :])].tolist()
    return found


def is_quasi_isometric(of_tree: Matrix, of_points: Matrix, epsilon: Real, kappa: Real = 0) -> bool:
    """Test Definition A.1: d(i, j) ≤ d(z_i, z_j) ≤ (1 + ε)·d(i, j) + κ for all pairs, node 0 included."""
    return all(
        of_tree[i][j] <= of_points[i][j] <= (1 + epsilon) * of_tree[i][j] + kappa
        for i, j in combinations(range(len(of_tree)), 2)
    )


def approximating_tree(distances: Matrix) -> tuple[Tree, list[list[Real]]]:
    """Construct the tree of Proposition A.1, whose metric is below the given one by at most `tree_constant`.

    Single linkage on the Gromov products at node 0 (Gromov 1987, §6.1): the product of i and j in the tree is the largest
    min ⟨x_s, x_{s+1}⟩ over chains from i to j, and distances to node 0 stay as they are. Edges may have length 0.
    """
    n = len(distances) - 1
    products = [
        [(distances[0][i] + distances[0][j] - distances[i][j]) / mp.mpf(2) for j in range(1, n + 1)]
        for i in range(1, n + 1)
    ]
    tree = decode_depths(products)
    heights = [products[i][j] for i, j in _merging_pairs(products)]
    rows = [list(map(mp.mpf, row)) for row in distances]
    for i, j in combinations(range(n), 2):
        product = heights[tree.lca(i, j) - n]
        rows[i + 1][j + 1] = rows[j + 1][i + 1] = distances[0][i + 1] + distances[0][j + 1] - 2 * product
    return tree, rows


def tree_constant(n: int) -> Real:
    """Return C_n of Proposition A.1 for n points and the origin: 2δ·⌈log₂(n − 1)⌉.

    The paper states C_n = δ·O(n). This explicit value is Gromov's (1987, §6.1; Ghys & de la Harpe 1990, ch. 2, th. 12): by the
    four-point condition min ⟨x_s, x_{s+1}⟩ along a chain of m links exceeds the product of its ends by at most δ·⌈log₂ m⌉
    (halve the chain); a chain of distinct points has at most n − 1 links; and a distance is two known depths minus twice a
    product. Making the tree binary, with every point a leaf, changes nothing when edges may have length 0.
    """
    return 2 * delta() * max(n - 2, 0).bit_length()


def depth_lemma(tree_depth: Matrix, point_depth: Matrix, diameter: Real, epsilon: Real, kappa: Real = 0) -> Claim:
    """Test Lemma C.4: under a (1 + ε, κ)-quasi-isometry, differences of LCA depths agree within 3εM/2 + 3κ/2 + δ."""
    pairs = list(combinations(range(len(tree_depth)), 2))
    shifts = [point_depth[i][j] - tree_depth[i][j] for i, j in pairs]
    return Claim(max(shifts) - min(shifts), _depth_slack(diameter, epsilon, kappa))


def agreement_condition(shortest: Real, diameter: Real, epsilon: Real, kappa: Real = 0) -> bool:
    """Test the condition of Lemma C.5 for LCA agreement: the shortest inner edge is longer than 3εM/2 + 3κ/2 + δ."""
    return bool(shortest > _depth_slack(diameter, epsilon, kappa))


def _depth_slack(diameter: Real, epsilon: Real, kappa: Real) -> Real:
    return mp.mpf(3) / 2 * (epsilon * diameter + kappa) + delta()


def spread_margin(depths: Matrix) -> Real:
    """Return the least, over triplets, of the largest minus the smallest of three LCA depths; infinite below three points."""
    triplets = combinations(range(len(depths)), 3)
    threes = ((depths[i][j], depths[i][k], depths[j][k]) for i, j, k in triplets)
    return min((max(three) - min(three) for three in threes), default=mp.inf)


def spread_threshold(n: int) -> Real:
    """Return 3·C_n + 2δ + 1, which the margin of a spread embedding exceeds: Definition C.1, the precise form."""
    return 3 * tree_constant(n) + 2 * delta() + 1


def linear_spread_threshold(n: int) -> Real:
    """Return "δ·O(n)" of Definition 4.1 with the constant 4: at least `spread_threshold` for every n ≥ 3."""
    return 4 * n * delta()


def is_spread(depths: Matrix, threshold: Real | None = None) -> bool:
    """Return whether the margin exceeds the threshold, by default that of the precise form."""
    return bool(spread_margin(depths) > (spread_threshold(len(depths)) if threshold is None else threshold))


def lca_triplets(depths: Matrix) -> frozenset[tuple[int, int, int]]:
    """Return all {i, j|k}, as (i, j, k) with i < j: d(i ∨ j) exceeds the larger of d(i ∨ k) and d(j ∨ k).

    The appendix prints "min" in this place; then two of three relations could hold at once, which no tree allows.
    """
    orders = ((i, j, k) for i, j, k in permutations(range(len(depths)), 3) if i < j)
    return frozenset((i, j, k) for i, j, k in orders if depths[i][j] > max(depths[i][k], depths[j][k]))


def in_lca_agreement(one: Matrix, other: Matrix) -> bool:
    """Test Definition C.3: the same triplets hold."""
    return lca_triplets(one) == lca_triplets(other)


def decode_depths(depths: Matrix) -> Tree:
    """Run Algorithm 1: join what is not yet joined, pair by pair from the deepest LCA on."""
    n = len(depths)
    root, children = list(range(n)), []
    for t, (i, j) in enumerate(_merging_pairs(depths)):
        a, b = root[i], root[j]
        children.append((a, b))
        root = [n + t if r in (a, b) else r for r in root]
    return Tree(np.array(children, dtype=np.int64).reshape(-1, 2))


def _merging_pairs(depths: Matrix) -> list[tuple[int, int]]:
    """Return the n − 1 pairs that Algorithm 1 acts on, in order."""
    group, found = list(range(len(depths))), []
    for i, j in sorted(combinations(range(len(depths)), 2), key=lambda pair: -depths[pair[0]][pair[1]]):
        if group[i] != group[j]:
            found.append((i, j))
            group = [group[i] if g == group[j] else g for g in group]
    return found


def bend_loss(edge: Real) -> Real:
    """Return what a path of edges of this length, at least log(2 + √3), loses at most at a bend of 2π/3: log(4/3) for long ones.

    Two points seen from v under the angle φ have 2·⟨x, y⟩_v ≤ −2·log sin(φ/2). At a bend, the start of the path and the next
    node are seen under 2π/3 less at most the angle of parallelism of an edge, 2·atan(e^−edge); the condition keeps it obtuse.
    """
    return -2 * mp.log(mp.sin(mp.pi / 3 - mp.atan(mp.exp(-edge))))


class Sarkar(NamedTuple):
    """Leaves of a tree in the disk: ζ·d_T ≤ d ≤ (1 + ε)·ζ·d_T for unit edges, node 0 at the origin.

    Attributes
    ----------
    points : tuple of n points
    scale, epsilon : int, float or mpmath number
        ζ and ε.
    digits : int
        Decimal digits of the points; compute with as many.
    """

    points: tuple[Point, ...]
    scale: Real
    epsilon: Real
    digits: int


def sarkar_embedding(tree: Tree, scale: Real) -> Sarkar:
    """Construct Proposition C.1 (Sarkar 2011): edges of one length at angles of 2π/3, distortion 1 + ε, ε = bend_loss(ζ)/ζ.

    Edges are drawn ζ + bend_loss(ζ) long, so that the ends of a path are at least ζ apart for each of its edges, and no further
    than its length. Domain: scale ≥ log(2 + √3). At radius ρ depths lose 2ρ/log 10 digits: ``digits`` has thirty more.
    """
    if scale < mp.log(2 + mp.sqrt(3)):
        raise ValueError(f"scale={mp.nstr(mp.mpf(scale), 6)} is too short for bends of 2π/3; choose scale >= 1.317.")
    edge = scale + bend_loss(scale)
    n, longest = tree.n_leaves, max(max(row) for row in tree_depths(tree))
    digits = max(mp.mp.dps, int(2 * longest * edge / mp.log(10)) + 30)
    with mp.workdps(digits):
        step, turn = mp.tanh(edge / 2), mp.expjpi(mp.mpf(2) / 3)
        place, above = {2 * n - 2: mp.mpc(step)}, {2 * n - 2: mp.mpc(0)}
        for t in range(n - 2, -1, -1):
            a, up = place[n + t], above[n + t]
            back = (up - a) / (1 - mp.conj(a) * up)  # the way up, seen from a
            for child, direction in zip(tree.children[t].tolist(), (turn, mp.conj(turn)), strict=True):
                ahead = step * direction * back / abs(back)
                place[child], above[child] = (a + ahead) / (1 + mp.conj(a) * ahead), a
        return Sarkar(tuple(place[leaf] for leaf in range(n)), scale, (edge - scale) / scale, digits)


def sufficient_scale(n: int) -> Real:
    """Return a ζ for which Lemma C.7 makes Sarkar's embedding of n leaves spread: ζ > 6·C_n + 6δ + 2 and ε ≤ 1/(3n)."""
    return max(6 * tree_constant(n) + 6 * delta() + 3, 3 * n * bend_loss(2))


def dasgupta_cost(tree: Tree, W: Matrix) -> Real:
    """Return C_Dasgupta, Σ_{i<j} w_ij·|leaves of the smallest cluster with i and j|."""
    return mp.fsum(mp.mpf(W[i][j]) * int(tree.sizes[tree.lca(i, j)]) for i, j in combinations(range(tree.n_leaves), 2))


def hyphc_cost(depths: Matrix, W: Matrix, tau: Real) -> Real:
    """Return C_HypHC, Σ_{i<j<k} (w_ij + w_ik + w_jk − their mean weighted by e^(depth/τ)) + 2·Σ_{i<j} w_ij."""
    terms = [2 * mp.mpf(W[i][j]) for i, j in combinations(range(len(depths)), 2)]
    for i, j, k in combinations(range(len(depths)), 3):
        weights = [mp.mpf(W[a][b]) for a, b in ((i, j), (i, k), (j, k))]
        shares = [mp.exp((depths[a][b] - depths[i][j]) / tau) for a, b in ((i, j), (i, k), (j, k))]
        terms.append(mp.fsum(weights) - mp.fdot(weights, shares) / mp.fsum(shares))
    return mp.fsum(terms)


def decoding_error(depths: Matrix, W: Matrix, tau: Real) -> Claim:
    """Test Lemma C.1: |C_Dasgupta(dec(Z)) − C_HypHC(Z)| ≤ 4·e^(−1/τ)·Σ_{i<j<k} max(w_ij, w_ik, w_jk) for spread Z."""
    measured = abs(dasgupta_cost(decode_depths(depths), W) - hyphc_cost(depths, W, tau))
    return Claim(measured, 4 * mp.exp(-1 / mp.mpf(tau)) * heaviest_pairs(W))


def approximation_ratio(tree: Tree, W: Matrix, tau: Real, optimum: Real) -> Claim:
    """Test Theorem 4.1: C(dec(Z*)) / C(T*) ≤ 1 + 8·e^(−1/τ)·Σ max(w_ij, w_ik, w_jk) / C(T*); C(T*) is the optimum."""
    excess = 8 * mp.exp(-1 / mp.mpf(tau)) * heaviest_pairs(W) / optimum
    return Claim(dasgupta_cost(tree, W) / optimum, 1 + excess)


def sufficient_temperature(n: int, epsilon: Real) -> Real:
    """Return an explicit τ of Theorem 4.1 for every w ≥ 0, τ = 1/log(4(n − 2)/ε), for n ≥ 3 and ε < 4(n − 2).

    A pair is the heaviest of at most n − 2 triplets and costs at least 2·w_ij, so Σ max ≤ (n − 2)·C(T*)/2. The O(·) hides this
    n, and must: on a perfect matching it is an equality.
    """
    return 1 / mp.log(4 * (n - 2) / mp.mpf(epsilon))


def heaviest_pairs(W: Matrix) -> Real:
    """Return Σ_{i<j<k} max(w_ij, w_ik, w_jk)."""
    return mp.fsum(mp.mpf(max(W[i][j], W[i][k], W[j][k])) for i, j, k in combinations(range(len(W)), 3))

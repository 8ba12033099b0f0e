"""Random and adversarial trees and similarities for hypothesis."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hyphc import Tree, as_similarity
from hyphc.similarity import Background, Blend, Dense, Features, Graph, Similarity
from hyphc.similarity.scaling import unit_rows
from hypothesis import strategies as st

KINDS = ("features", "dense", "graph", "blend")
NON_NEGATIVE = KINDS[:3]  # a blend's background has similarities of either sign


def chain(n: int, order: np.ndarray | None = None) -> Tree:
    """Leaves join one at a time: as deep as a tree can be."""
    order = np.arange(n) if order is None else order
    children = np.empty((n - 1, 2), dtype=np.int64)
    children[:, 0] = np.concatenate([order[:1], np.arange(n, 2 * n - 2)])[: n - 1]
    children[:, 1] = order[1:]
    return Tree(children)


def balanced(n: int) -> Tree:
    """Neighbouring nodes join level by level."""
    children, level, new = [], list(range(n)), n
    while len(level) > 1:
        joined = []
        for a, b in zip(level[::2], level[1::2], strict=False):
            children.append((a, b))
            joined.append(new)
            new += 1
        level = joined + level[2 * len(joined) :]
    return Tree(np.array(children).reshape(-1, 2))


def random_tree(n: int, seed: int) -> Tree:
    rng = np.random.default_rng(seed)
    alive, children = list(range(n)), []
    for t in range(n - 1):
        pair = [alive.pop(rng.integers(len(alive))) for _ in range(2)]
        children.append(pair)
        alive.append(n + t)
    heights = np.sort(rng.integers(0, n, size=n - 1)) / 2  # with ties
    return Tree(np.array(children).reshape(-1, 2), heights if n > 1 else None)


@st.composite
def trees(draw: st.DrawFn, min_leaves: int = 1, max_leaves: int = 12) -> Tree:
    n = draw(st.integers(min_leaves, max_leaves))
    shape = draw(st.sampled_from(["random", "chain", "balanced"]))
    if shape == "chain" and n > 1:
        return chain(n, np.random.default_rng(draw(st.integers(0, 2**31))).permutation(n))
    if shape == "balanced":
        return balanced(n)
    return random_tree(n, draw(st.integers(0, 2**31)))


def weight_matrix(n: int, seed: int, values: str) -> np.ndarray:
    """Symmetric, zero on the diagonal: real numbers, few distinct ones (ties), or mostly zeros."""
    rng = np.random.default_rng(seed)
    W = rng.random((n, n))
    if values == "ties":
        W = np.round(W * 2)
    elif values == "zeros":
        W *= rng.random((n, n)) < 0.2
    W = np.triu(W, 1)
    return W + W.T


def similarity_of_kind(kind: str, n: int, seed: int) -> Similarity:
    rng = np.random.default_rng(seed)
    values = ("real", "ties", "zeros")[seed % 3]
    if kind in ("features", "blend"):
        X = rng.normal(size=(n, 1 + seed % 4))
        if values == "ties":
            X = np.round(X)  # duplicates and zero rows
        if kind == "blend":
            graph = Graph(sp.csr_array(weight_matrix(n, seed, "zeros")))
            return Blend(graph, Background(X, slope=float(np.exp(rng.uniform(np.log(1e-3), np.log(5.0))))))
        if values == "zeros":
            return Features(np.abs(X), offset=0.0, scale=2.0)
        return Features(unit_rows(X), offset=0.5, scale=0.5)  # "cosine", without its advice on wide columns
    W = weight_matrix(n, seed, values)
    return as_similarity(W if kind == "dense" else sp.csr_array(W), "precomputed")


def with_sizes(similarity: Similarity, sizes: np.ndarray) -> Similarity:
    """Leaves that stand for several points: of features, copies; of a blend's background, points around the row they were."""
    if isinstance(similarity, Features):
        X = similarity.X * sizes[:, None]
        return Features(X, offset=similarity.offset, scale=similarity.scale, sizes=sizes)
    if isinstance(similarity, Blend):
        background = similarity.background
        spread = np.random.default_rng(len(sizes)).exponential(size=len(sizes)) * (sizes > 1)
        squares = sizes * (background.squares + spread)
        around = Background(background.X * sizes[:, None], slope=background.slope, squares=squares, sizes=sizes)
        return Blend(Graph(similarity.graph.to_csr(), sizes=sizes), around)
    W = similarity.to_dense()
    return Dense(W, sizes=sizes) if isinstance(similarity, Dense) else Graph(sp.csr_array(W), sizes=sizes)


def magnitude(similarity: Similarity) -> float:
    """What no tree's cost exceeds, whatever the signs: the terms that rounding is relative to where they cancel."""
    return float(similarity.sizes.sum() * np.abs(similarity.to_dense()).sum() / 2)


@st.composite
def tree_and_similarity(
    draw: st.DrawFn, min_leaves: int = 1, max_leaves: int = 12, kinds: tuple[str, ...] = KINDS
) -> tuple[Tree, Similarity]:
    tree = draw(trees(min_leaves, max_leaves))
    kind = draw(st.sampled_from(kinds))
    return tree, similarity_of_kind(kind, tree.n_leaves, draw(st.integers(0, 2**31)))

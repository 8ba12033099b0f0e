"""After gHHC (Monath et al. 2019): inner nodes as points of the Poincaré ball, fitted to triplets by gradient descent, in torch.

Leaves are the unit rows of the features, put at one radius. The dissimilarity of a child c and a parent z is
d(c, z)·(1 + max(0, |z| − |c| + margin)), norms hyperbolic: parents should lie nearer the origin. That, the margin, the bound on
norms and the start from linkage of a sample are as in the authors' public code. The loss is our own: for a triplet whose first
two points are the most alike, their best common parent is pulled to them and the third pushed away from it, and the best common
parent of all three is pulled to that node. So are the steps, the batches and the decoding: read the row as a method of this
kind, not as a reproduction.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from hyphc import Tree
from hyphc.similarity import Features, Similarity
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from .threads import one_thread

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LEAF_NORM, MAX_NORM = 0.9, 0.8  # in the ball: leaves, and the limit of inner nodes
MARGIN = 0.25
LEARNING_RATE = 0.01
STEPS, BATCH = 400, 128
MAX_INNER = 200


def ghhc(similarity: Similarity, seed: int = 0) -> Tree:
    """A tree of all leaves: each hangs from its best inner node, each inner node from its best one nearer the origin."""
    if not isinstance(similarity, Features):
        raise ValueError(f"gHHC places leaves by their features; got {similarity!r}.")
    if similarity.n < 3:
        return Tree(np.array([[0, 1]] if similarity.n == 2 else np.empty((0, 2))))
    rng = np.random.default_rng(seed)
    rows = similarity.X.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    leaves = LEAF_NORM * rows / np.where(lengths > 0, lengths, 1.0)
    with one_thread():
        inner = _fit(leaves, _start(leaves, rng), similarity, rng)
        return _decode(leaves, inner)


def _start(leaves: Floats, rng: np.random.Generator) -> Floats:
    """Means of the clusters of average linkage on a sample of the leaves."""
    sample = leaves[rng.choice(len(leaves), min(len(leaves), MAX_INNER + 1), replace=False)]
    merges = linkage(pdist(sample), "average")
    sums = np.vstack([sample, np.zeros((len(merges), sample.shape[1]))])
    for t, (a, b, _, _) in enumerate(merges):
        sums[len(sample) + t] = sums[int(a)] + sums[int(b)]
    means = sums[len(sample) :] / merges[:, 3:]
    return means * np.minimum(1.0, MAX_NORM / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12))


def _fit(leaves: Floats, start: Floats, similarity: Features, rng: np.random.Generator) -> Floats:
    points = torch.from_numpy(leaves)
    inner = torch.from_numpy(start).clone().requires_grad_(True)
    for _ in range(STEPS):
        i, j, k = torch.from_numpy(_triplets(similarity, rng))
        near = torch.maximum(_dissimilarity(points[i], inner), _dissimilarity(points[j], inner))
        far = _dissimilarity(points[k], inner)
        best = near.argmin(dim=1, keepdim=True)
        all_three = torch.maximum(near, far).argmin(dim=1)
        pull = torch.nn.functional.softplus(near.gather(1, best) - far.gather(1, best)).mean()
        above = _dissimilarity(inner[best[:, 0]], inner).gather(1, all_three[:, None]).mean()
        (gradient,) = torch.autograd.grad(pull + near.gather(1, best).mean() + above, inner)
        with torch.no_grad():
            # a Riemannian step: the metric of the ball scales the gradient
            inner -= LEARNING_RATE * ((1 - (inner**2).sum(dim=1, keepdim=True)) ** 2 / 4) * gradient * len(inner)
            inner *= torch.clamp(MAX_NORM / torch.linalg.vector_norm(inner, dim=1, keepdim=True), max=1.0)
    return inner.detach().numpy()


def _triplets(similarity: Features, rng: np.random.Generator) -> Ints:
    """Random triplets (3, BATCH), the most similar pair first."""
    n = similarity.n
    i, j, k = (rng.integers(n - taken, size=BATCH) for taken in range(3))
    j += j >= i
    low, high = np.minimum(i, j), np.maximum(i, j)
    k += k >= low
    k += k >= high
    chosen = np.stack([i, j, k])
    pairs = np.stack([similarity.pairs(i, j), similarity.pairs(i, k), similarity.pairs(j, k)])
    order = np.array([[0, 1, 2], [0, 2, 1], [1, 2, 0]])[pairs.argmax(axis=0)]
    return np.take_along_axis(chosen, order.T, axis=0)


def _dissimilarity(children: torch.Tensor, parents: torch.Tensor) -> torch.Tensor:
    """(c, z) for all pairs."""
    square, squares = (children**2).sum(dim=1), (parents**2).sum(dim=1)
    apart = torch.cdist(children, parents) ** 2
    distance = torch.acosh(1 + 2 * apart / ((1 - square)[:, None] * (1 - squares)[None, :]) + 1e-9)
    below = 2 * torch.atanh(torch.sqrt(squares + 1e-12))[None, :] - 2 * torch.atanh(torch.sqrt(square + 1e-12))[:, None]
    return distance * (1 + torch.clamp(below + MARGIN, min=0.0))


def _decode(leaves: Floats, inner: Floats) -> Tree:
    """Parents by least dissimilarity; nodes with several children are made binary by average linkage of their means."""
    n = len(leaves)
    inner = inner[np.argsort(-np.linalg.norm(inner, axis=1), kind="stable")]  # the root last
    nodes = torch.from_numpy(inner)
    parent_of_leaf = _dissimilarity(torch.from_numpy(leaves), nodes).argmin(dim=1).numpy()
    between = _dissimilarity(nodes, nodes).numpy()
    members: list[list[tuple[int, Floats, int]]] = [[] for _ in inner]  # node of the tree, sum of rows, size
    for leaf, parent in enumerate(parent_of_leaf):
        members[parent].append((leaf, leaves[leaf], 1))
    children: list[tuple[int, int]] = []
    for z in range(len(inner)):
        if members[z]:
            joined = _join(members[z], children, n)
            if z + 1 < len(inner):
                members[z + 1 + int(between[z, z + 1 :].argmin())].append(joined)
    return Tree(np.array(children).reshape(-1, 2))


def _join(parts: list[tuple[int, Floats, int]], children: list[tuple[int, int]], n: int) -> tuple[int, Floats, int]:
    total, size = np.sum([part[1] for part in parts], axis=0), sum(part[2] for part in parts)
    if len(parts) == 1:
        return parts[0]
    nodes = [part[0] for part in parts]
    for a, b, _, _ in linkage(pdist(np.array([part[1] / part[2] for part in parts])), "average"):
        children.append((nodes[int(a)], nodes[int(b)]))
        nodes.append(n + len(children) - 1)
    return nodes[-1], total, size

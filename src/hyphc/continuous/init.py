"""Initial positions of the leaves: random, principal or spectral directions, given points, or a tree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from .._runtime.arrays import Floats
from ..hyperbolic.encode import encode_angles
from ..similarity import Similarity
from ..tree import Tree

STARTS = ("auto", "random", "pca", "spectral")
# Noise added to principal and spectral directions (of length 1 on average), so that seeds differ.
JITTER = 0.5


def initial_directions(similarity: Similarity, init: object, dim: int, rng: np.random.Generator) -> Floats:
    """Return unit vectors (n, dim) to start from.

    "auto" is "random": growing the radius from 1 makes the first steps nearly convex, and random directions then reach lower
    costs than principal ones on most sets. Given points keep their directions; a tree keeps its angles of ``encode``.
    """
    n = similarity.n
    if isinstance(init, Tree):
        if init.n_leaves != n or dim != 2:
            raise ValueError(f"init is a tree of {init.n_leaves} leaves; it must have {n}, and n_components be 2.")
        angles = encode_angles(init)
        return np.column_stack([np.cos(angles), np.sin(angles)])
    if not isinstance(init, str):
        return _unit(_check_points(init, n, dim), rng)
    if init in ("auto", "random"):
        return _unit(rng.normal(size=(n, dim)), rng)
    if init not in STARTS:
        raise ValueError(f"init={init!r} is unknown; choose one of {STARTS}, an (n, {dim}) array or a Tree.")
    if n <= dim + 1:
        return _unit(rng.normal(size=(n, dim)), rng)
    found = _principal(similarity, dim, rng) if init == "pca" else _spectral(similarity, dim, rng)
    scale = np.sqrt(np.mean(np.sum(found * found, axis=1)))
    noise = JITTER * rng.normal(size=found.shape) / np.sqrt(dim)
    return _unit(found / (scale if scale > 0.0 else 1.0) + noise, rng)


def _check_points(points: object, n: int, dim: int) -> Floats:
    array = np.array(points, dtype=np.float64)
    if array.shape != (n, dim) or not np.isfinite(array).all():
        raise ValueError(f"init must be finite points of shape ({n}, {dim}); got shape {array.shape}.")
    return array


def _unit(vectors: Floats, rng: np.random.Generator) -> Floats:
    """Return rows scaled to length 1; a zero row gets a random direction."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    lost = norms[:, 0] == 0.0
    vectors = np.where(lost[:, None], rng.normal(size=vectors.shape), vectors)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def _principal(similarity: Similarity, dim: int, rng: np.random.Generator) -> Floats:
    """Return the leading principal components: of the features, or of a similarity matrix read as inner products."""
    if similarity.is_sparse:
        raise ValueError("init='pca' needs features or a dense matrix; use init='spectral' for a graph.")
    features = similarity.features()
    if features is not None:
        X = features / similarity.sizes[:, None]
        centred = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
        axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :dim]
        found = np.zeros((similarity.n, dim))
        found[:, : axes.shape[1]] = centred @ axes
        return found
    mean = similarity.degrees() / similarity.n
    grand = mean.mean()

    def centred_product(v: Floats) -> Floats:
        total = v.sum()
        return np.asarray(similarity.product(np.ravel(v)) - mean * total - (mean @ v) + grand * total)

    return _leading(centred_product, similarity.n, dim, rng)


def _spectral(similarity: Similarity, dim: int, rng: np.random.Generator) -> Floats:
    """Return the eigenvectors of D^−½ W D^−½ after the first, divided by the first, as in spectral clustering."""
    degrees = similarity.degrees()
    root = 1.0 / np.sqrt(np.where(degrees > 0.0, degrees, 1.0))
    vectors = _leading(lambda v: root * similarity.product(root * v), similarity.n, dim + 1, rng)
    return np.asarray(vectors[:, 1:] * root[:, None])


def _leading(product: Callable[[Floats], Floats], n: int, k: int, rng: np.random.Generator) -> Floats:
    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    values, vectors = eigsh(operator, k=min(k, n - 1), which="LA", v0=rng.normal(size=n), tol=1e-4)
    found = np.zeros((n, k))
    found[:, : len(values)] = vectors[:, np.argsort(-values)]
    return found

"""Labelled points, columns as they come: scikit-learn's toy sets, the sets of the study, WordNet's nouns."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
import numpy.typing as npt
from hyphc import Tree, datasets
from scipy.spatial.distance import pdist
from sklearn.datasets import make_blobs, make_circles, make_moons

from .cases import DATA

Floats, Ints = npt.NDArray[np.float64], npt.NDArray[np.int64]

N_TOY, SEED, SEED_OF_SHAPES = 500, 30, 170  # of scikit-learn's page that compares its clusterings
SHEAR = ((0.6, -0.6), (-0.4, 0.8))
DEVIATIONS_APART = 5.0  # of blobs that are drawn anew; their deviation is 1
WORDNET, N_WORDNET = "wordnet", 82_115
N_TRIPLETS = 200_000


@dataclass(frozen=True, eq=False)
class Points:
    """Rows, their classes, and how many clusters are asked for: as many as classes, and three where there is one class."""

    rows: Floats
    labels: Ints
    hypernym: Ints | None = None  # WordNet: the noun above each one, −1 at the root

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.labels))

    @property
    def asked(self) -> int:
        return 3 if self.n_classes == 1 else self.n_classes


def points(name: str) -> Points:
    """A toy set, ``wordnet``, or a set of ``hyphc.datasets``."""
    if name in TOYS:
        rows, labels = TOYS[name]()
        return Points(rows, labels)
    if name == WORDNET:
        with np.load(Path(os.environ.get("HYPHC_DATA", DATA)) / WORDNET / "nouns.npz") as nouns:
            return Points(
                nouns["X"].astype(np.float64), nouns["lexname"].astype(np.int64), nouns["hypernym"].astype(np.int64)
            )
    found = datasets.load(name)
    return Points(np.asarray(found.data, dtype=np.float64), np.unique(found.labels, return_inverse=True)[1])


def _aniso() -> tuple[Floats, Ints]:
    X, y = make_blobs(N_TOY, random_state=SEED_OF_SHAPES)
    return X @ np.array(SHEAR), y


def _noise() -> tuple[Floats, Ints]:
    # the legacy generator is the one of scikit-learn's page
    return np.random.RandomState(SEED).rand(N_TOY, 2), np.zeros(N_TOY, dtype=np.int64)


def _blobs(centers: int) -> tuple[Floats, Ints]:
    return make_blobs(N_TOY, centers=centers, random_state=SEED)


TOYS: dict[str, Callable[[], tuple[Floats, Ints]]] = {
    "circles": lambda: make_circles(N_TOY, factor=0.5, noise=0.05, random_state=SEED),
    "moons": lambda: make_moons(N_TOY, noise=0.05, random_state=SEED),
    "varied": lambda: make_blobs(N_TOY, cluster_std=[1.0, 2.5, 0.5], random_state=SEED_OF_SHAPES),
    "aniso": _aniso,
    "blobs": lambda: _blobs(3),
    "noise": _noise,
    "one-blob": lambda: _blobs(1),
    "blobs-5": lambda: _blobs(5),
    "blobs-8": lambda: _blobs(8),
}


# one cluster each, of several shapes
CLOUDS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Floats]] = {
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.random(shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "student": lambda rng, shape: rng.standard_t(5, shape),
}


def drawn_anew(name: str, seed: int) -> tuple[Floats, int]:
    """Points of another seed and their number of clusters; of a cloud, ``gaussian-500-2`` (points, columns), or a toy."""
    kind, *shape = name.split("-")
    rng = np.random.default_rng(seed)
    if kind in CLOUDS:
        return CLOUDS[kind](rng, tuple(map(int, shape))), 1
    if kind == "blobs":
        return _blobs_apart(int(shape[0]), seed), int(shape[0])
    if kind == "moons":
        return make_moons(N_TOY, noise=0.05, random_state=seed)[0], 2
    return make_circles(N_TOY, factor=0.5, noise=0.05, random_state=seed)[0], 2


def _blobs_apart(k: int, seed: int) -> Floats:
    """The first blobs from 10 000 times the seed on whose centres are far enough apart that there are k clusters to see."""
    for candidate in count(10_000 * seed):
        X, _, centres = make_blobs(N_TOY, centers=k, random_state=candidate, return_centers=True)
        if pdist(centres).min() >= DEVIATIONS_APART:
            return X
    raise AssertionError("count() has no end")


def triplets_alike(tree: Tree, hypernym: Ints) -> float:
    """Of random triplets that the hypernyms resolve, the share of which the tree joins the same pair first; chance is 1/3."""
    rng = np.random.default_rng(0)
    triplets = rng.integers(len(hypernym), size=(N_TRIPLETS, 3))
    a, b, c = triplets[(np.diff(np.sort(triplets, axis=1), axis=1) > 0).all(axis=1)].T
    pairs = ((a, b), (a, c), (b, c))
    depth = depths(hypernym)
    shared = np.stack([depth[meeting(hypernym, depth, i, j)] for i, j in pairs])
    resolved = (shared == shared.max(axis=0)).sum(axis=0) == 1
    # nodes are numbered from the leaves to the root
    joined = np.stack([tree.lca(i, j) for i, j in pairs])
    return float((shared.argmax(axis=0) == joined.argmin(axis=0))[resolved].mean())


def depths(parent: Ints) -> Ints:
    """Steps from each node to the root, whose parent is −1."""
    depth, above = np.zeros(len(parent), dtype=np.int64), parent.copy()
    while (above >= 0).any():
        depth[above >= 0] += 1
        above = np.where(above >= 0, parent[above], -1)
    return depth


def meeting(parent: Ints, depth: Ints, i: Ints, j: Ints) -> Ints:
    """The lowest node that is above, or is, both of each pair."""
    i, j = i.copy(), j.copy()
    while (i != j).any():
        apart, lower = i != j, depth[i] >= depth[j]
        i, j = np.where(apart & lower, parent[i], i), np.where(apart & ~lower, parent[j], j)
    return i

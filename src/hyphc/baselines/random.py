"""Random trees."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from ..similarity import SimilarityLike, check_similarity
from ..tree import Tree


def random_tree(similarity: SimilarityLike | int, *, random_state: int | np.random.RandomState | None = None) -> Tree:
    """Return the tree of random merges of two subtrees until one is left, from a similarity or the number of leaves.

    Every history of merges is equally likely (the Yule distribution): depths are about 2·ln n. O(n) time.
    """
    n = similarity if isinstance(similarity, int) else check_similarity(similarity).n
    if n < 1:
        raise ValueError(f"A tree needs at least one leaf; got {n}.")
    rng = check_random_state(random_state)
    alive = np.arange(n)
    children = np.empty((n - 1, 2), dtype=np.int64)
    # draws for step t are uniform below n − t and n − t − 1; a removed entry is overwritten by the last
    left = rng.randint(0, np.arange(n, 1, -1)) if n > 1 else np.empty(0, dtype=np.int64)
    right = rng.randint(0, np.arange(n - 1, 0, -1)) if n > 1 else left
    for t, (i, j) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        last = n - 1 - t
        children[t, 0] = alive[i]
        alive[i] = alive[last]
        children[t, 1] = alive[j]
        alive[j] = n + t
    return Tree(children)

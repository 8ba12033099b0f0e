"""Rooted binary trees on up to 7 leaves, as nested pairs: 1, 1, 3, 15, 105, 945, 10 395 trees of 1, 1, 1, 2, 3, 6, 11 shapes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from hyphc import Tree

Nested = int | tuple["Nested", "Nested"]


def nested_trees(leaves: tuple[int, ...]) -> Iterator[Nested]:
    """Every tree on the leaves once: the first leaf with any others on the left, the rest on the right."""
    first, *others = leaves
    if not others:
        yield first
    for size in range(len(others)):
        for beside in combinations(others, size):
            right = tuple(leaf for leaf in others if leaf not in beside)
            for a in nested_trees((first, *beside)):
                for b in nested_trees(right):
                    yield a, b


def to_tree(nested: Nested, n: int) -> Tree:
    children: list[tuple[int, int]] = []

    def node(part: Nested) -> int:
        if isinstance(part, int):
            return part
        children.append((node(part[0]), node(part[1])))
        return n + len(children) - 1

    node(nested)
    return Tree(np.array(children, dtype=np.int64).reshape(-1, 2))


def cluster_sizes(nested: Nested, n: int) -> np.ndarray:
    """Leaves of the smallest cluster that holds i and j, (n, n); Dasgupta's cost is half its inner product with W."""
    sizes = np.zeros((n, n), dtype=np.int64)

    def leaves(part: Nested) -> list[int]:
        if isinstance(part, int):
            return [part]
        left, right = leaves(part[0]), leaves(part[1])
        sizes[np.ix_(left, right)] = len(left) + len(right)
        sizes[np.ix_(right, left)] = len(left) + len(right)
        return left + right

    leaves(nested)
    return sizes


def shape(nested: Nested) -> str:
    if isinstance(nested, int):
        return "."
    return "(" + "".join(sorted(map(shape, nested))) + ")"


def all_trees(n: int) -> list[Tree]:
    return [to_tree(nested, n) for nested in nested_trees(tuple(range(n)))]


def tree_shapes(n: int) -> list[Nested]:
    """One tree of each shape."""
    return list({shape(nested): nested for nested in nested_trees(tuple(range(n)))}.values())

"""Trees derived from a tree: the part below a node, and the same tree with other names or numbers of its leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._runtime.arrays import Ints
from .storage import Fields, carried_fields

if TYPE_CHECKING:
    from .core import Tree

Renaming = Mapping[Any, str] | Callable[[Any], str] | Iterable[str]

# of each leaf, and of each merge; degrees are left out below a node: they count similarities to leaves that are gone
_OF_LEAVES = ("leaf_sizes", "leaf_weights")
_OF_MERGES = ("split_weights", "split_squares", "support")


def members(tree: Tree, node: int) -> Ints:
    """Return the leaves below a node, in ascending order."""
    first = tree._first[node]
    return np.sort(tree.leaf_order()[first : first + tree.sizes[node]])


def below(tree: Tree, node: int) -> Fields:
    """Return arguments of ``Tree`` for the part below a node; a leaf without a name gets its number as one."""
    n, leaves = tree.n_leaves, members(tree, node)
    first, end = tree._first[node], tree._first[node] + tree.sizes[node]
    # what begins inside and was not made later lies below: clusters are nested or apart
    merges = np.flatnonzero((tree._first[n:] >= first) & (tree._first[n:] < end) & (np.arange(n, 2 * n - 1) <= node))
    number = np.full(2 * n - 1, -1)
    number[leaves] = np.arange(len(leaves))
    number[n + merges] = np.arange(len(leaves), len(leaves) + len(merges))
    carried = carried_fields(tree)
    return {
        "children": number[tree.children[merges]].reshape(-1, 2),
        "heights": tree.heights[merges],
        "names": [called(tree, leaf) for leaf in leaves.tolist()],
        **{name: carried[name][leaves] for name in _OF_LEAVES if name in carried},
        **{name: carried[name][merges] for name in _OF_MERGES if name in carried},
    }


def called(tree: Tree, leaf: int) -> str:
    """Return the name of a leaf, or its number."""
    return str(leaf) if tree.names is None else tree.names[leaf]


def names_of(tree: Tree) -> Sequence[str]:
    """Return the names of all leaves, or their numbers."""
    return list(map(str, range(tree.n_leaves))) if tree.names is None else tree.names


def numbered(tree: Tree, number: Ints) -> Fields:
    """Return the arguments of ``Tree`` that change when leaf i becomes leaf ``number[i]``."""
    n, order, carried = tree.n_leaves, np.argsort(number), carried_fields(tree)
    children = np.append(number, np.arange(n, 2 * n - 1))[tree.children]
    moved = {name: carried[name][order] for name in ("degrees", *_OF_LEAVES) if name in carried}
    return {"children": children, **moved}


def new_names(tree: Tree, names: Renaming) -> list[str]:
    """Return a name for each leaf: a function of the old one, from a table where it has the old one, or as listed."""
    old: Iterable[Any] = range(tree.n_leaves) if tree.names is None else tree.names
    if callable(names):
        return [str(names(name)) for name in old]
    if isinstance(names, Mapping):
        known = set(old)
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ValueError(f"No leaf is called {unknown[0]!r}; rename leaves that exist.")
        return [str(names.get(name, name)) for name in old]
    return [str(name) for name in names]

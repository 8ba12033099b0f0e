"""Rooted binary trees as arrays in merge order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from .._kernels.tree import lca as lca_kernels
from .._kernels.tree import passes as kernels
from .._kernels.tree.schedule import heavy_first_schedule
from .._shared.arrays import Floats, Ints
from .._shared.later import later
from . import newick, parts, storage
from .checks import (
    ROUNDING,
    check_children,
    check_finite_heights,
    check_forced_splits,
    check_heights,
    check_leaf_sizes,
    check_n_clusters,
    check_names,
    check_support,
    check_weights,
    order_by_height,
    renumbered,
)
from .cut import NodeScores, by_smallest_leaf, chosen_nodes, labels_of, nested_nodes, widest_gap
from .storage import PathLike

if TYPE_CHECKING:
    import networkx


class Tree:
    """A rooted binary tree over ``n_leaves`` leaves: immutable, and made of arrays.

    Leaves are nodes 0 … n − 1; merge t makes node n + t, the last one is the root. Merges are kept in order of
    non-decreasing height, children before their parent, as SciPy keeps them. Two trees are equal when they have the same
    clusters; the order of children, the heights, the names and the weights do not matter.

    Parameters
    ----------
    children : array of int, shape (n − 1, 2)
        The two nodes that each merge joins. Each node but the root is joined once.
    heights : array of float, shape (n − 1,), optional
        Height of each merge: finite, not negative, never below a child's. Default: the rank of the merge, 1 … n − 1.
    names : sequence of str, length n, optional
        Names of the leaves, kept by every export but the linkage matrix.
    split_weights : array of float, shape (n − 1,), optional
        Similarity across each merge, not negative: what cuts by cost, modularity or normalised cut are made from. Fitted
        trees carry it; npz and JSON keep it, Newick and linkage matrices have no place for it.
    degrees : array of float, shape (n,), optional
        Similarity of each leaf to all others together, not negative; kept like ``split_weights``.
    leaf_sizes : array of float, shape (n,), optional
        Points that each leaf stands for, positive; kept like ``split_weights``. Default: one each.
    leaf_weights : array of float, shape (n,), optional
        Similarity of the pairs of points inside each leaf; kept like ``split_weights``. Default: none.
    split_squares : array of float, shape (n − 1,), optional
        Squared distances of the points across each merge, summed: for cuts by sum of squares; kept like ``split_weights``.
    support : array of float, shape (n − 1,), optional
        How sure each merge's cluster is, from 0 to 1, NaN where nothing is known; kept like ``split_weights``, and by Newick as
        labels of inner nodes.
    forced_splits : array of int, shape (n − 1,), optional
        What every cut must do with each merge: 1 undo it, −1 keep it, 0 either; kept like ``split_weights``. So do
        constraints reach the flat clusters.
    n_clusters : int, optional
        How many flat clusters the tree has unless others are asked for; kept like ``split_weights``.

    Notes
    -----
    Every method takes O(n) or O(n log n) time and O(n) memory for any shape of tree; none is recursive.

    Examples
    --------
    >>> tree = Tree([[0, 1], [2, 3], [4, 5]], heights=[1.0, 2.0, 5.0])
    >>> tree.sizes
    array([1, 1, 1, 1, 2, 2, 4])
    >>> tree.cut(n_clusters=2)
    array([0, 0, 1, 1])
    >>> tree.to_newick()
    '((0:1.0,1:1.0):4.0,(2:2.0,3:2.0):3.0);'
    """

    _children: Ints
    _heights: Floats
    _names: tuple[str, ...] | None
    _split_weights: Floats | None
    _degrees: Floats | None
    _leaf_sizes: Floats | None
    _leaf_weights: Floats | None
    _split_squares: Floats | None
    _support: Floats | None
    _forced_splits: Ints | None
    _n_clusters: int | None

    def __init__(
        self,
        children: npt.ArrayLike,
        heights: npt.ArrayLike | None = None,
        names: Iterable[str] | None = None,
        *,
        split_weights: npt.ArrayLike | None = None,
        degrees: npt.ArrayLike | None = None,
        leaf_sizes: npt.ArrayLike | None = None,
        leaf_weights: npt.ArrayLike | None = None,
        split_squares: npt.ArrayLike | None = None,
        support: npt.ArrayLike | None = None,
        forced_splits: npt.ArrayLike | None = None,
        n_clusters: int | None = None,
    ) -> None:
        merges = check_children(children)
        n = len(merges) + 1
        levels = np.arange(1.0, n) if heights is None else check_heights(heights, merges)
        weights = None if split_weights is None else check_weights("split_weights", split_weights, n - 1, "merge")
        squares = None if split_squares is None else check_weights("split_squares", split_squares, n - 1, "merge")
        sure = None if support is None else check_support(support, n - 1)
        forced = None if forced_splits is None else check_forced_splits(forced_splits, merges)
        order = order_by_height(levels)
        if order is not None:
            merges, levels = renumbered(merges, order), levels[order]
            weights = None if weights is None else weights[order]
            squares = None if squares is None else squares[order]
            sure = None if sure is None else sure[order]
            forced = None if forced is None else forced[order]
        self._children, self._heights, self._split_weights = merges, levels, weights
        self._split_squares, self._support, self._forced_splits = squares, sure, forced
        self._names = None if names is None else check_names(names, n)
        self._degrees = None if degrees is None else check_weights("degrees", degrees, n, "leaf")
        self._leaf_sizes = None if leaf_sizes is None else check_leaf_sizes(leaf_sizes, n)
        within = None if leaf_weights is None else check_weights("leaf_weights", leaf_weights, n, "leaf")
        self._leaf_weights = within if within is not None and within.any() else None
        self._n_clusters = None if n_clusters is None else check_n_clusters(n_clusters, n)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self._children) + 1

    @property
    def children(self) -> Ints:
        """The two nodes joined by each merge, (n − 1, 2), read-only."""
        return _read_only(self._children)

    @property
    def heights(self) -> Floats:
        """Height of each merge, non-decreasing, (n − 1,), read-only."""
        return _read_only(self._heights)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the leaves, or None."""
        return self._names

    @property
    def split_weights(self) -> Floats | None:
        """Similarity across each merge, (n − 1,), read-only; None if the tree does not carry it."""
        return None if self._split_weights is None else _read_only(self._split_weights)

    @property
    def degrees(self) -> Floats | None:
        """Similarity of each leaf to all others, (n,), read-only; None if the tree does not carry it."""
        return None if self._degrees is None else _read_only(self._degrees)

    @property
    def leaf_sizes(self) -> Floats | None:
        """Points that each leaf stands for, (n,), read-only; None if each is one."""
        return None if self._leaf_sizes is None else _read_only(self._leaf_sizes)

    @property
    def leaf_weights(self) -> Floats | None:
        """Similarity of the pairs of points inside each leaf, (n,), read-only; None if the tree does not carry it."""
        return None if self._leaf_weights is None else _read_only(self._leaf_weights)

    @property
    def split_squares(self) -> Floats | None:
        """Squared distances across each merge, summed, (n − 1,), read-only; None if the tree does not carry them."""
        return None if self._split_squares is None else _read_only(self._split_squares)

    @property
    def support(self) -> Floats | None:
        """How sure each merge's cluster is, (n − 1,), read-only, NaN where unknown; None if the tree does not carry it."""
        return None if self._support is None else _read_only(self._support)

    @property
    def forced_splits(self) -> Ints | None:
        """What cuts must do with each merge, (n − 1,), read-only: 1 undo, −1 keep, 0 either; None if they are free."""
        return None if self._forced_splits is None else _read_only(self._forced_splits)

    @property
    def n_clusters(self) -> int:
        """How many flat clusters it has: as many as were found or asked for when it was fitted, else by ``widest_gap``."""
        return widest_gap(self) if self._n_clusters is None else self._n_clusters

    @cached_property
    def sizes(self) -> Ints:
        """Number of leaves below each node, (2n − 1,), read-only."""
        return _read_only(kernels.subtree_sums(self._children, np.ones(self.n_leaves, dtype=np.int64)))

    @cached_property
    def parents(self) -> Ints:
        """Parent of each node, −1 for the root, (2n − 1,), read-only."""
        parents = np.full(2 * self.n_leaves - 1, -1)
        parents[self._children] = np.arange(self.n_leaves, 2 * self.n_leaves - 1)[:, None]
        return _read_only(parents)

    @cached_property
    def _points(self) -> Floats:
        """Points below each node: its leaves, each counted by its size."""
        points: Floats = (
            self.sizes.astype(np.float64)
            if self._leaf_sizes is None
            else kernels.subtree_sums(self._children, self._leaf_sizes)
        )
        return points

    @cached_property
    def _first(self) -> Ints:
        return kernels.first_positions(self._children, np.array(self.sizes))

    @cached_property
    def _lca_tables(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        between = np.empty(self.n_leaves - 1, dtype=np.int32)
        between[self._first[self._children[:, 1]] - 1] = np.arange(self.n_leaves - 1)
        return between, lca_kernels.block_table(between)

    @cached_property
    def _heavy_first_schedule(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        return heavy_first_schedule(self._children)

    def leaf_order(self) -> Ints:
        """Leaves from left to right, as a dendrogram draws them: every cluster is a contiguous run."""
        order = np.empty(self.n_leaves, dtype=np.int64)
        order[self._first[: self.n_leaves]] = np.arange(self.n_leaves)
        return order

    @overload
    def lca(self, i: int, j: int) -> int: ...
    @overload
    def lca(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Ints: ...
    def lca(self, i: npt.ArrayLike, j: npt.ArrayLike) -> int | Ints:
        """Lowest common ancestor of nodes i and j (leaves or inner nodes; arrays broadcast), O(1) a pair.

        Examples
        --------
        >>> Tree([[0, 1], [3, 2]]).lca([0, 0], [1, 2])
        array([3, 4])
        """
        i, j = np.broadcast_arrays(_check_nodes(i, self), _check_nodes(j, self))
        first, end = self._first, self._first + self.sizes
        left = np.minimum(first[i], first[j]).ravel()
        right = np.maximum(end[i], end[j]).ravel()
        merges = lca_kernels.lca_merges(*self._lca_tables, left, right).reshape(i.shape)
        found = np.where(merges < 0, i, merges + self.n_leaves)
        return int(found) if found.ndim == 0 else found

    def cut(
        self,
        n_clusters: int | None = None,
        *,
        criterion: str | NodeScores | None = None,
        min_size: float = 1,
        height: float | None = None,
        max_size: float | None = None,
    ) -> Ints:
        """Flat clusters: a label for each leaf, numbered from 0 in order of their smallest leaf.

        Give exactly one of ``n_clusters``, ``height`` and ``max_size``.

        Parameters
        ----------
        n_clusters : int
            So many clusters: of all sets of so many nodes that hold each leaf once, the one that scores best.
        criterion : {"dasgupta", "height", "modularity", "ncut", "sse"} or callable, optional
            What scores best. "height": the last merges are undone. The others need the weights that a fitted tree carries.
            "dasgupta": the tree with these clusters below one root, and their points below them, costs least. "modularity":
            Newman's, the largest. "ncut": the normalised cut, the smallest. "sse": the sum of squared distances to the means of
            the clusters, the smallest, where points have rows. A callable takes the tree and returns a score for
            each of its 2n − 1 nodes; the sum over the clusters is made largest. Default: "dasgupta" where the tree carries its
            split weights, else "height".
        min_size : number
            Together with ``n_clusters``: clusters have at least so many points; 1 asks for nothing.
        height : float
            Keep merges at most this high, as SciPy's ``fcluster`` does.
        max_size : number
            The largest clusters with at most so many points; a leaf that stands for more is a cluster.

        Notes
        -----
        Cuts of a tree that was fitted with constraints respect them (``forced_splits``): the best of those that do is taken.

        O(n·n_clusters) time, O(n) for "height" with ``min_size=1``. Among cuts that score the same, from the root down, fewer
        clusters lie below the child with fewer leaves, or below the second child where both have as many; "height" with
        ``min_size=1`` undoes the later merge.

        Examples
        --------
        >>> Tree([[0, 1], [4, 2], [5, 3]]).cut(max_size=2)
        array([0, 0, 1, 2])
        >>> tree = Tree([[0, 1], [2, 3], [6, 7], [4, 5], [8, 9]], split_weights=[3.0, 3.0, 1.0, 3.0, 1.0])
        >>> tree.cut(3, criterion="height")
        array([0, 0, 0, 0, 1, 2])
        >>> tree.cut(3)
        array([0, 0, 1, 1, 2, 2])
        """
        return labels_of(self, chosen_nodes(self, n_clusters, criterion, min_size, height, max_size))

    def clusters(
        self,
        n_clusters: int | None = None,
        *,
        criterion: str | NodeScores | None = None,
        min_size: float = 1,
        height: float | None = None,
        max_size: float | None = None,
    ) -> Ints:
        """The nodes that are the flat clusters of ``cut``, which takes the same arguments, in the order of the labels.

        Examples
        --------
        >>> Tree([[0, 1], [4, 2], [5, 3]]).clusters(n_clusters=2)
        array([5, 3])
        """
        return chosen_nodes(self, n_clusters, criterion, min_size, height, max_size)

    def layers(
        self, n_clusters: Sequence[int], *, criterion: str | NodeScores | None = None, min_size: float = 1
    ) -> list[Ints]:
        """Several nested cuts: labels of each leaf for each number of clusters, in the order of ``n_clusters``.

        The finest is that of ``cut``. Each coarser one is the best of those whose clusters are unions of the next finer one's, so
        it may score less than a cut on its own; by height both are the same.

        Parameters
        ----------
        n_clusters : sequence of int
            In any order.
        criterion, min_size
            As in ``cut``.

        Notes
        -----
        O(n·Σ n_clusters) time.

        Examples
        --------
        >>> tree = Tree([[0, 1], [2, 3], [6, 7], [4, 5], [8, 9]], split_weights=[3.0, 3.0, 1.0, 3.0, 1.0])
        >>> tree.layers([3, 2], criterion="dasgupta")
        [array([0, 0, 1, 1, 2, 2]), array([0, 0, 0, 0, 1, 1])]
        """
        nodes = nested_nodes(self, n_clusters, criterion, min_size)
        return [labels_of(self, by_smallest_leaf(self, nodes[k])) for k in n_clusters]

    def with_names(self, names: Iterable[str] | None) -> Tree:
        """The same tree, with all that it carries, its leaves called by ``names``."""
        fields = storage.carried_fields(self)
        return Tree(self._children, self._heights, names, n_clusters=self._n_clusters, **fields)

    def renamed(self, names: parts.Renaming) -> Tree:
        """The same tree under other names: a list, a function of each old name, or a table of some of them.

        The old name of a leaf without one is its number.

        Examples
        --------
        >>> Tree([[0, 1], [3, 2]], names=["ant", "bee", "cat"]).renamed({"cat": "dog"}).renamed(str.upper).names
        ('ANT', 'BEE', 'DOG')
        """
        return self.with_names(parts.new_names(self, names))

    def members(self, node: int) -> Ints:
        """Leaves below a node, in ascending order; O(n) the first time.

        Examples
        --------
        >>> Tree([[0, 3], [4, 1], [5, 2]]).members(5)
        array([0, 1, 3])
        """
        return parts.members(self, int(_check_nodes(node, self)))

    def subtree(self, node: int) -> Tree:
        """The part below a node as a tree of its own: leaf i is ``members(node)[i]``, and is called as it was, or by its number.

        It has the heights, support and split weights of the whole; degrees, which count similarities to other leaves, are left
        out.

        Examples
        --------
        >>> Tree([[0, 3], [4, 1], [5, 2]]).subtree(5).to_newick(branch_lengths=False)
        '((0,3),1);'
        """
        return Tree(**parts.below(self, int(_check_nodes(node, self))))

    def with_n_clusters(self, n_clusters: int) -> Tree:
        """The same tree, with all that it carries, having so many flat clusters unless others are asked for."""
        fields = storage.carried_fields(self)
        return Tree(self._children, self._heights, self._names, n_clusters=n_clusters, **fields)

    def with_support(self, support: npt.ArrayLike | None) -> Tree:
        """The same tree, with all that it carries, each merge as sure as ``support`` says: plots, pages and Newick show it.

        Examples
        --------
        >>> Tree([[0, 1], [3, 2]]).with_support([0.9, 1.0]).to_newick(branch_lengths=False)
        '((0,1)0.9,2);'
        """
        fields = {**storage.carried_fields(self), "support": support}
        return Tree(self._children, self._heights, self._names, n_clusters=self._n_clusters, **fields)

    def with_forced_splits(self, forced_splits: npt.ArrayLike | None) -> Tree:
        """The same tree, with all that it carries, whose cuts must undo or keep merges as ``forced_splits`` says.

        Examples
        --------
        >>> Tree([[0, 1], [4, 2], [5, 3]]).with_forced_splits([-1, 0, 1]).cut(2, criterion="height")
        array([0, 0, 0, 1])
        """
        fields = {**storage.carried_fields(self), "forced_splits": forced_splits}
        return Tree(self._children, self._heights, self._names, n_clusters=self._n_clusters, **fields)

    def with_leaves_numbered(self, number: npt.ArrayLike, names: Iterable[str] | None = None) -> Tree:
        """The same tree with leaf i as leaf ``number[i]``, called by ``names``; what it carries moves along.

        Examples
        --------
        >>> Tree([[0, 1], [3, 2]], degrees=[5.0, 6.0, 7.0]).with_leaves_numbered([2, 0, 1]).degrees
        array([6., 7., 5.])
        """
        leaves = np.asarray(number, dtype=np.int64)
        n = self.n_leaves
        fields = storage.carried_fields(self)
        for name in fields.keys() & {"degrees", "leaf_sizes", "leaf_weights"}:
            fields[name] = fields[name][np.argsort(leaves)]
        children = np.append(leaves, np.arange(n, 2 * n - 1))[self._children]
        return Tree(children, self._heights, names, n_clusters=self._n_clusters, **fields)

    @classmethod
    def from_linkage(cls, Z: npt.ArrayLike, names: Iterable[str] | None = None) -> Tree:
        """Tree of a SciPy linkage matrix, (n − 1, 4).

        Where a merge lies below one of its children (centroid and median linkage do that) it is lifted to the child's
        height; heights that rounding put just below 0 are 0.
        """
        linkage = np.asarray(Z, dtype=np.float64)
        if linkage.ndim != 2 or linkage.shape[1] != 4:
            raise ValueError(f"A linkage matrix has shape (n - 1, 4); got {linkage.shape}.")
        merges = check_children(linkage[:, :2])
        heights = linkage[:, 2]
        with np.errstate(invalid="ignore"):  # NaN of the signalling kind, refused below
            heights = np.where((heights < 0) & (heights >= -ROUNDING * np.abs(heights).max(initial=0.0)), 0.0, heights)
        heights = check_finite_heights(heights)
        return cls(merges, kernels.lifted_heights(merges, heights), names)

    def to_linkage(self) -> Floats:
        """SciPy's linkage matrix, (n − 1, 4) float64: smaller child first, heights non-decreasing, sizes last."""
        return np.column_stack([np.sort(self._children, axis=1), self._heights, self.sizes[self.n_leaves :]])

    @classmethod
    def from_newick(cls, text: str, names: Sequence[str] | None = None) -> Tree:
        """Tree of one Newick string.

        Leaves are numbered as they appear, or as in ``names`` when it is given, or by their names when these are just the
        numbers 0 … n − 1 (then the tree keeps no names) or 1 … n. A height is the longest way down along branch lengths; without
        any, merges rank as they close. Nodes with several children are joined one after the other at one height, and a
        parent is never below its children. Labels of inner nodes are kept as support if they are numbers from 0 to 1.

        Examples
        --------
        >>> Tree.from_newick("(('Homo sapiens':1,Pan:1):2,Gorilla:3);").names
        ('Homo sapiens', 'Pan', 'Gorilla')
        """
        parsed = newick.parse(text)
        merges, heights, kept_names = numbered_merges(parsed, names)
        return cls(merges, heights, kept_names, support=parsed.support)

    def to_newick(self, names: Sequence[str] | None = None, *, branch_lengths: bool = True) -> str:
        """Newick text; leaves are called by ``names``, else by the tree's names, else by number, inner nodes by their support."""
        chosen = self._names if names is None else check_names(names, self.n_leaves)
        if chosen is None:
            chosen = tuple(map(str, range(self.n_leaves)))
        labels = None if self._support is None else newick.support_labels(self._support)
        heights = self._heights.tolist() if branch_lengths else None
        return newick.write(self._children.tolist(), heights, chosen, labels)

    def to_networkx(self) -> networkx.DiGraph:
        """A networkx.DiGraph with edges from parent to child; nodes carry ``height``, ``size`` and, if known, ``name``."""
        import networkx

        graph = networkx.DiGraph()
        heights = np.concatenate([np.zeros(self.n_leaves), self._heights]).tolist()
        graph.add_nodes_from(
            (node, {"height": height, "size": size})
            for node, (height, size) in enumerate(zip(heights, self.sizes.tolist(), strict=True))
        )
        for t, pair in enumerate(self._children.tolist()):
            parent = self.n_leaves + t
            graph.add_edges_from((parent, child, {"length": heights[parent] - heights[child]}) for child in pair)
        for leaf, name in enumerate(self._names or ()):
            graph.nodes[leaf]["name"] = name
        return graph

    def to_json(self) -> str:
        """JSON text with the keys n_leaves, children, heights, names and, if carried, split_weights, degrees, leaf_sizes."""
        return storage.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Tree:
        """Tree of the text that ``to_json`` wrote."""
        return cls(**storage.from_json(text))

    def save(self, path: PathLike, *, mapped: bool = False) -> None:
        """Write the tree to ``path`` as an npz archive, without pickle; a file already there is replaced in one step.

        ``mapped`` writes a folder of arrays instead, which ``load`` opens at once, whatever their size.
        """
        if not mapped:
            return storage.save(self, path)
        fields = {"children": self._children, "heights": self._heights, **storage.carried_fields(self)}
        names = None if self._names is None else list(self._names)
        storage.save_mapped(path, {**fields, "names": names, "n_clusters": self._n_clusters})

    @classmethod
    def load(cls, path: PathLike) -> Tree:
        """Tree of a file that ``save`` wrote; of a folder, its arrays are memory-mapped, and read when they are used."""
        return cls._mapped(path) if Path(path).is_dir() else cls(**storage.load(path))

    @classmethod
    def _mapped(cls, folder: PathLike) -> Tree:
        """The tree of a folder. Its arrays were checked when they were written, and are not read now."""
        fields = dict.fromkeys((*storage.CARRIED, "names", "n_clusters")) | storage.load_mapped(folder)
        tree = cls.__new__(cls)
        for name, value in fields.items():
            setattr(tree, f"_{name}", tuple(value) if name == "names" and value is not None else value)
        return tree

    def explore(self, path: PathLike | None = None, **options: Any) -> Any:
        """A page in which the tree can be explored, as of ``hyphc.explore``: written to a path, or shown in a notebook."""
        return later("explorer", "explore")(self, path, **options)

    def _is_cluster_of(self, children: Ints) -> npt.NDArray[np.bool_]:
        """For each merge of another tree on the same leaves: is its leaf set a cluster of this tree?"""
        position = self._first[: self.n_leaves]
        low = kernels.smallest_leaves(children, position)
        high = -kernels.smallest_leaves(children, -position)
        sizes = kernels.subtree_sums(children, np.ones(self.n_leaves, dtype=np.int64))
        merges = lca_kernels.lca_merges(*self._lca_tables, low, high + 1)[self.n_leaves :]
        # A set within [low, high] is a cluster iff it fills the range and the range is all of the node that joins it.
        return np.asarray(
            (high - low + 1 == sizes)[self.n_leaves :] & (self.sizes[self.n_leaves + merges] == sizes[self.n_leaves :])
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self.n_leaves == other.n_leaves and bool(self._is_cluster_of(other._children).all())

    def __hash__(self) -> int:
        smallest = kernels.smallest_leaves(self._children, np.arange(self.n_leaves))
        order = np.lexsort((self.sizes, smallest))
        return hash((smallest[order].tobytes(), self.sizes[order].tobytes()))

    def __repr__(self) -> str:
        top = f", height={self._heights[-1]:.6g}" if self.n_leaves > 1 else ""
        return f"Tree(n_leaves={self.n_leaves}{top})"

    def _repr_html_(self) -> str:
        from .html import tree_html

        return tree_html(self)


TreeLike = Tree | npt.ArrayLike


def as_tree(tree: TreeLike) -> Tree:
    """The tree itself, or the tree of a SciPy linkage matrix."""
    return tree if isinstance(tree, Tree) else Tree.from_linkage(tree)


def numbered_merges(
    parsed: newick.ParsedNewick, names: Sequence[str] | None = None
) -> tuple[Ints, Floats | None, Sequence[str] | None]:
    """Merges as a tree numbers nodes, in the order of the text, their heights, and the names of the leaves."""
    leaf_id, kept_names = _leaf_numbering(parsed.names, names)
    n = len(parsed.names)
    merges = np.array(parsed.merges, dtype=np.int64).reshape(-1, 2)
    merges = np.where(merges < 0, n - 1 - merges, leaf_id[np.maximum(merges, 0)])
    if parsed.heights is None:
        return merges, None, kept_names
    return merges, kernels.lifted_heights(merges, np.maximum(parsed.heights, 0.0)), kept_names


def _leaf_numbering(found: list[str], wanted: Sequence[str] | None) -> tuple[Ints, Sequence[str] | None]:
    """Leaf number of each name in order of appearance, and the names by leaf number (None when they are the numbers)."""
    n = len(found)
    if wanted is None:
        numbers = {str(i): i for i in range(n)}
        if set(found) == numbers.keys():
            return np.array([numbers[name] for name in found], dtype=np.int64), None
        if set(found) == {str(i + 1) for i in range(n)} and len(found) == n:
            return np.array([int(name) - 1 for name in found], dtype=np.int64), [str(i + 1) for i in range(n)]
        return np.arange(n), found if any(found) else None
    number = {name: i for i, name in enumerate(wanted)}
    if len(number) != len(wanted) or sorted(found) != sorted(number):
        odd = set(found).symmetric_difference(number)
        raise ValueError(f"names must list each of the {n} leaves once; look at {sorted(odd)[:3] or 'repeated names'}.")
    return np.array([number[name] for name in found], dtype=np.int64), wanted


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _check_nodes(nodes: npt.ArrayLike, tree: Tree) -> Ints:
    checked = np.asarray(nodes)
    if checked.dtype.kind not in "iu":
        raise ValueError(f"Nodes are whole numbers; got an array of {checked.dtype}.")
    n_nodes = 2 * tree.n_leaves - 1
    bad = (checked < 0) | (checked >= n_nodes)
    if bad.any():
        raise ValueError(f"Node {checked[bad].flat[0]} does not exist; nodes are 0 to {n_nodes - 1}.")
    return checked.astype(np.int64, copy=False)

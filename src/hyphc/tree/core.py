"""Rooted binary trees as arrays in merge order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._kernels.tree import passes as kernels
from .._kernels.tree.schedule import heavy_first_schedule
from .._runtime.arrays import Floats, Ints, read_only
from .._runtime.lazy_import import import_lazily
from .._runtime.storage import LocalFolder, Storage, as_storage_folder
from . import condense, linkage, newick, storage, subtrees, validation
from . import cut as cuts
from . import lca as ancestors
from .prunings import widest_gap
from .storage import PathLike

if TYPE_CHECKING:
    import networkx


def _kept_array(name: str, doc: str) -> Any:
    """Return a property that is a read-only view of the tree's array ``_name``, or None."""
    return property(lambda tree: read_only(getattr(tree, f"_{name}")), doc=doc)


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
        Similarity across each merge, not negative: needed for cuts by cost, modularity or normalised cut. Fitted trees have
        it; npz and JSON store it, Newick and linkage matrices cannot.
    degrees : array of float, shape (n,), optional
        Similarity of each leaf to all others together, not negative; kept like ``split_weights``.
    leaf_sizes : array of float, shape (n,), optional
        Points that each leaf stands for, positive; kept like ``split_weights``. Default: one each.
    leaf_weights : array of float, shape (n,), optional
        Similarity of the pairs of points inside each leaf; kept like ``split_weights``. Default: none.
    split_squares : array of float, shape (n − 1,), optional
        Squared distances of the points across each merge, summed: for cuts by sum of squares; kept like ``split_weights``.
    support : array of float, shape (n − 1,), optional
        Support of each merge's cluster, from 0 to 1, NaN where unknown; kept like ``split_weights``, and by Newick as
        labels of inner nodes.
    forced_splits : array of int, shape (n − 1,), optional
        What every cut must do with each merge: 1 undo it, −1 keep it, 0 either; kept like ``split_weights``. Flat
        clusters obey constraints by it.
    found_splits : array of int, shape (n − 1,), optional
        The merges that a fit has found to separate clusters: the turn, 1, 2, …, in which cuts into more and more clusters undo
        each, 0 for others, which follow. Before a merge is undone, its smaller side is one cluster. Kept like ``split_weights``.
    n_clusters : int, optional
        Default number of flat clusters; kept like ``split_weights``.
    cost : float, optional
        Dasgupta's cost by the similarity that the tree was fitted to; kept like ``split_weights``.

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
        found_splits: npt.ArrayLike | None = None,
        n_clusters: int | None = None,
        cost: float | None = None,
    ) -> None:
        merges = validation.check_children(children)
        n = len(merges) + 1
        levels = np.arange(1.0, n) if heights is None else validation.check_heights(heights, merges)
        weights = validation.given(validation.check_weights, split_weights, n - 1, "split_weights", "merge")
        squares = validation.given(validation.check_weights, split_squares, n - 1, "split_squares", "merge")
        sure = validation.given(validation.check_support, support, n - 1)
        forced = validation.given(validation.check_forced_splits, forced_splits, merges)
        self._leaf_sizes = validation.given(validation.check_leaf_sizes, leaf_sizes, n)
        found = validation.given(validation.check_found_splits, found_splits, merges, self._leaf_sizes)
        carried: Sequence[Any] = (weights, squares, sure, forced, found)
        self._children, self._heights, carried = validation.by_height(merges, levels, carried)
        self._split_weights, self._split_squares, self._support, self._forced_splits, self._found_splits = carried
        self._names = validation.given(validation.check_names, names, n)
        self._degrees = validation.given(validation.check_weights, degrees, n, "degrees", "leaf")
        within = validation.given(validation.check_weights, leaf_weights, n, "leaf_weights", "leaf")
        self._leaf_weights = within if within is not None and within.any() else None
        self._n_clusters = validation.given(validation.check_n_clusters, n_clusters, n)
        if found is not None and self._n_clusters is None:
            self._n_clusters = int(found.max(initial=0)) + 1
        self._cost = validation.given(validation.check_cost, cost)

    children: Ints = _kept_array("children", "Nodes joined by each merge, (n − 1, 2), read-only.")
    heights: Floats = _kept_array("heights", "Height of each merge, non-decreasing, (n − 1,), read-only.")
    sizes: Ints = _kept_array("sizes", "Number of leaves below each node, (2n − 1,), read-only.")
    parents: Ints = _kept_array("parents", "Parent of each node, −1 for the root, (2n − 1,), read-only.")
    split_weights: Floats | None = _kept_array("split_weights", "Similarity across each merge, (n − 1,), or None.")
    degrees: Floats | None = _kept_array("degrees", "Similarity of each leaf to all others, (n,), or None.")
    leaf_sizes: Floats | None = _kept_array("leaf_sizes", "Points of each leaf, (n,), or None if each is one.")
    leaf_weights: Floats | None = _kept_array("leaf_weights", "Similarity inside each leaf, (n,), or None.")
    split_squares: Floats | None = _kept_array("split_squares", "Squared distances across merges, (n − 1,), or None.")
    support: Floats | None = _kept_array("support", "Support of each merge, (n − 1,), NaN where unknown, or None.")
    forced_splits: Ints | None = _kept_array("forced_splits", "1, −1 or 0: merges to undo or keep, (n − 1,), or None.")
    found_splits: Ints | None = _kept_array("found_splits", "Turn in which cuts undo each merge, (n − 1,), or None.")

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self._children) + 1

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the leaves, or None."""
        return self._names

    @property
    def n_clusters(self) -> int:
        """Number of flat clusters: as found or asked for when the tree was fitted, else by ``widest_gap``."""
        return widest_gap(self) if self._n_clusters is None else self._n_clusters

    @property
    def cost(self) -> float | None:
        """Dasgupta's cost by the similarity that the tree was fitted to; None if the tree does not carry it."""
        return self._cost

    # private arrays are writable: numba compiles kernels once more for read-only ones
    @cached_property
    def _sizes(self) -> Ints:
        return kernels.subtree_sums(self._children, np.ones(self.n_leaves, dtype=np.int64))

    @cached_property
    def _parents(self) -> Ints:
        return kernels.parents_of(self._children)

    @cached_property
    def _points(self) -> Floats:
        """Points below each node: its leaves, each counted by its size."""
        if self._leaf_sizes is None:
            return self._sizes.astype(np.float64)
        return np.asarray(kernels.subtree_sums(self._children, self._leaf_sizes))

    @cached_property
    def _first(self) -> Ints:
        return kernels.first_positions(self._children, self._sizes)

    @property
    def _shape(self) -> kernels.Shape:
        return kernels.Shape(self._children, self._parents, self._sizes, self._first, self.leaf_order())

    @cached_property
    def _lca_tables(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        return ancestors.lca_tables(self)

    @cached_property
    def _heavy_first_schedule(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        return heavy_first_schedule(self._children)

    def leaf_order(self) -> Ints:
        """Return the leaves from left to right, as a dendrogram draws them: every cluster is a contiguous run."""
        order = np.empty(self.n_leaves, dtype=np.int64)
        order[self._first[: self.n_leaves]] = np.arange(self.n_leaves)
        return order

    # documented where they are computed
    lca = ancestors.lca
    cut = cuts.cut
    condense = condense.condense
    clusters = cuts.clusters
    layers = cuts.layers

    def with_names(self, names: Iterable[str] | None) -> Tree:
        """Return the same tree, with all that it carries, its leaves named by ``names``."""
        return self._with(names=names)

    def renamed(self, names: subtrees.Renaming) -> Tree:
        """Return the same tree under other names: a list, a function of each old name, or a table of some of them.

        The old name of a leaf without one is its number.

        Examples
        --------
        >>> Tree([[0, 1], [3, 2]], names=["ant", "bee", "cat"]).renamed({"cat": "dog"}).renamed(str.upper).names
        ('ANT', 'BEE', 'DOG')
        """
        return self.with_names(subtrees.new_names(self, names))

    def members(self, node: int) -> Ints:
        """Return the leaves below a node, in ascending order; O(n) the first time.

        Examples
        --------
        >>> Tree([[0, 3], [4, 1], [5, 2]]).members(5)
        array([0, 1, 3])
        """
        return subtrees.members(self, validation.check_node(node, self.n_leaves))

    def subtree(self, node: int) -> Tree:
        """Return the part below a node as a tree; leaf i is ``members(node)[i]``, and keeps its name, or its number as a name.

        It has the heights, support and split weights of the whole; degrees and cost, which count similarities to other leaves,
        are left out.

        Examples
        --------
        >>> Tree([[0, 3], [4, 1], [5, 2]]).subtree(5).to_newick(branch_lengths=False)
        '((0,3),1);'
        """
        return Tree(**subtrees.below(self, validation.check_node(node, self.n_leaves)))

    def with_n_clusters(self, n_clusters: int) -> Tree:
        """Return the same tree, with all that it carries, with so many flat clusters by default."""
        return self._with(n_clusters=n_clusters)

    def with_support(self, support: npt.ArrayLike | None) -> Tree:
        """Return the same tree, with all that it carries and this support of its merges: plots, pages and Newick show it.

        Examples
        --------
        >>> Tree([[0, 1], [3, 2]]).with_support([0.9, 1.0]).to_newick(branch_lengths=False)
        '((0,1)0.9,2);'
        """
        return self._with(support=support)

    def with_forced_splits(self, forced_splits: npt.ArrayLike | None) -> Tree:
        """Return the same tree, with all that it carries but ``found_splits``; its cuts undo or keep merges as given.

        Examples
        --------
        >>> Tree([[0, 1], [4, 2], [5, 3]]).with_forced_splits([-1, 0, 1]).cut(2, criterion="height")
        array([0, 0, 0, 1])
        """
        return self._with(forced_splits=forced_splits, found_splits=None)

    def with_found_splits(self, found_splits: npt.ArrayLike | None) -> Tree:
        """Return the same tree, with all that it carries; its own clusters result from undoing the merges with a turn here.

        Examples
        --------
        >>> Tree([[0, 1], [2, 3], [4, 5]]).with_found_splits([0, 0, 1]).cut()
        array([0, 0, 1, 1])
        """
        return self._with(found_splits=found_splits, n_clusters=None)

    def with_leaves_numbered(self, number: npt.ArrayLike, names: Iterable[str] | None = None) -> Tree:
        """Return the same tree with leaf i as leaf ``number[i]``, named by ``names``; all arrays of the tree are permuted alike.

        Examples
        --------
        >>> Tree([[0, 1], [3, 2]], degrees=[5.0, 6.0, 7.0]).with_leaves_numbered([2, 0, 1]).degrees
        array([6., 7., 5.])
        """
        return self._with(**subtrees.numbered(self, np.asarray(number, dtype=np.int64)), names=names)

    def _with(self, **changed: Any) -> Tree:
        return Tree(**{**storage.fields_of(self), **changed})

    @classmethod
    def from_linkage(cls, Z: npt.ArrayLike, names: Iterable[str] | None = None) -> Tree:
        """Return the tree of a SciPy linkage matrix, (n − 1, 4).

        Where a merge lies below one of its children (centroid and median linkage do that) it is lifted to the child's
        height; heights that rounding put just below 0 are 0.
        """
        return cls(*linkage.merges_of(Z), names)

    def to_linkage(self) -> Floats:
        """Return the SciPy linkage matrix, (n − 1, 4) float64: smaller child first, heights non-decreasing, sizes last."""
        return linkage.linkage_of(self)

    @classmethod
    def from_newick(cls, text: str, names: Sequence[str] | None = None) -> Tree:
        """Return the tree of one Newick string.

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
        merges, heights, kept_names = newick.numbered_merges(parsed, names)
        return cls(merges, heights, kept_names, support=parsed.support)

    def to_newick(
        self,
        names: Sequence[str] | None = None,
        *,
        branch_lengths: bool = True,
        node_names: Sequence[str] | None = None,
    ) -> str:
        """Return Newick text; leaves have ``names``, else the tree's names, else numbers, inner nodes their support.

        ``node_names`` (2n − 1,), as ``hyphc.describe(...).names``, replace the support of inner nodes; empty ones write nothing.

        Examples
        --------
        >>> Tree([[0, 1], [3, 2]]).to_newick(branch_lengths=False, node_names=["", "", "", "old owls", "birds"])
        "((0,1)'old owls',2)birds;"
        """
        chosen = subtrees.names_of(self) if names is None else validation.check_names(names, self.n_leaves)
        labels = None if self._support is None else newick.support_labels(self._support)
        if node_names is not None:
            labels = newick.name_labels(node_names, self.n_leaves)
        heights = self._heights.tolist() if branch_lengths else None
        return newick.write(self._children.tolist(), heights, chosen, labels)

    def to_networkx(self) -> networkx.DiGraph:
        """Return a networkx.DiGraph with edges from parent to child; nodes carry ``height``, ``size`` and, if known, ``name``."""
        from .networkx_export import digraph

        return digraph(self)

    def to_d3(self, names: Sequence[str] | None = None) -> str:
        """Return nested JSON as d3.hierarchy reads it: ``name``, ``size`` and, of merges, ``height`` and ``children``.

        ``size`` is the number of leaves; merges have an empty name. ``names`` replace those of the leaves.

        Examples
        --------
        >>> print(Tree([[0, 1]], heights=[2.0], names=["a", "b"]).to_d3())
        {"name": "", "size": 2, "height": 2.0, "children": [{"name": "a", "size": 1}, {"name": "b", "size": 1}]}
        """
        from .web_formats import to_d3

        return to_d3(self, names or self.names or [str(leaf) for leaf in range(self.n_leaves)])

    def to_json(self) -> str:
        """Return JSON text with the keys n_leaves, children, heights, names and those of the arrays that the tree carries."""
        return storage.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Tree:
        """Return the tree of the text that ``to_json`` wrote."""
        return cls(**storage.from_json(text))

    def save(self, path: PathLike, *, mapped: bool = False) -> None:
        """Write the tree to ``path`` as an npz archive, without pickle; a file already there is replaced in one step.

        ``mapped`` writes a folder of arrays instead, which ``load`` opens at once, whatever their size.
        """
        if not mapped:
            return storage.save(self, path)
        storage.save_mapped(path, storage.fields_of(self))

    @classmethod
    def load(cls, path: Storage) -> Tree:
        """Return the tree of a file that ``save`` wrote; the arrays of a folder are memory-mapped, and read when they are used.

        A folder may be an address, as ``s3://bucket/fit/tree``: its arrays are then fetched.
        """
        place = as_storage_folder(path)
        is_file = isinstance(place, LocalFolder) and not place.path.is_dir()
        return cls(**storage.load(str(place))) if is_file else cls._mapped(place)

    @classmethod
    def _mapped(cls, folder: Storage) -> Tree:
        """Return the tree of a folder. Its arrays were checked when they were written, and are not read now."""
        fields = dict.fromkeys(storage.CARRIED) | storage.load_mapped(folder)
        tree = cls.__new__(cls)
        for name, value in fields.items():
            setattr(tree, f"_{name}", tuple(value) if name == "names" and value is not None else value)
        return tree

    def explore(self, path: PathLike | None = None, **options: Any) -> Any:
        """Write a page in which the tree can be explored to a path, or show it in a notebook; see ``hyphc.explore``."""
        return import_lazily("explorer", "explore")(self, path, **options)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self.n_leaves == other.n_leaves and bool(ancestors.is_cluster_of(self, other._children).all())

    def __hash__(self) -> int:
        smallest = kernels.smallest_leaves(self._children, np.arange(self.n_leaves))
        order = np.lexsort((self.sizes, smallest))
        return hash((smallest[order].tobytes(), self.sizes[order].tobytes()))

    def __repr__(self) -> str:
        top = f", height={self._heights[-1]:.6g}" if self.n_leaves > 1 else ""
        return f"Tree(n_leaves={self.n_leaves}{top})"

    def _repr_html_(self) -> str:
        from .notebook_repr import tree_html

        return tree_html(self)


TreeLike = Tree | npt.ArrayLike


def as_tree(tree: TreeLike) -> Tree:
    """Return the tree itself, or the tree of a SciPy linkage matrix."""
    return tree if isinstance(tree, Tree) else Tree.from_linkage(tree)

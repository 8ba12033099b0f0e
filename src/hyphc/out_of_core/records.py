"""Typed records that stages exchange: the arrays of a shard, with their shapes.

Each stage writes one kind of record, one shard for each of its tasks, and reads records of earlier stages. Rows of a block are
numbered within it; n, d and k are the rows, the columns and the neighbours of a job; a part has r rows and m leaves, its distinct
rows. Leaves of other parts are named by the pair (part, leaf). Arrays that not every job has are None where they are not written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from .._runtime.arrays import Floats, Ints
from .._runtime.shard_store import Arrays, ShardStore
from .array_sources import Rows

Array = npt.NDArray[Any]
OptionalArray: TypeAlias = Any  # an array, or None in jobs that have no such array
NONE = type(None)  # a default of None would be a class attribute, and hide what is stored


class Record:
    """Arrays of a shard: made by a task, or loaded from the store, each array memory-mapped on first access."""

    stage: ClassVar[str]  # the name of the stage that writes it
    over: ClassVar[str]  # the stage has a task for each of the "blocks" or "parts", or "one"
    title: ClassVar[str]  # on the progress line; successive stages of one title are one stage there
    # of the time of a fit, in parts of a hundred: measured at 300 000 rows of 16 columns on two cores, for the time that is left
    share: ClassVar[float]
    has_rounds: ClassVar[bool] = False  # whether the stage is repeated, each round under its own name

    @classmethod
    def load(cls, store: ShardStore, stage: str, number: int) -> Self:
        """Return a shard of the store; nothing is read yet."""
        record = object.__new__(cls)
        record.__dict__["_load_array"] = partial(store.one, stage, number)
        return record

    def to_arrays(self) -> Arrays:
        """Return the arrays by name, without those that are None."""
        values = {name: getattr(self, name) for name in self.array_names()}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def array_names(cls) -> tuple[str, ...]:
        """Return the names of all arrays that a shard may have."""
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]  # subclasses are dataclasses

    if not TYPE_CHECKING:  # types come from the fields

        def __getattr__(self, name):
            load: Callable[[str], Array] | None = self.__dict__.get("_load_array")
            if load is None or name not in self.array_names():
                raise AttributeError(f"{type(self).__name__} has no array {name!r}.")
            self.__dict__[name] = load(name)
            return self.__dict__[name]


@dataclass(kw_only=True)
class Statistics(Record):
    """Of a block: moments of its columns, and its candidates for the sample."""

    stage, over, title = "statistics", "blocks", "reading the rows"
    share = 5
    centre: Floats  # (d,), as the following four in ``similarity.scaling.Moments``
    squares: Floats  # (d,)
    smallest: Floats  # (d,)
    largest: Floats  # (d,)
    binary: Array  # (d,)
    ids: Ints  # (c,) rows of the candidates
    hashes: npt.NDArray[np.uint64]  # (c,)
    rows: Rows  # (c, d)
    digest: npt.NDArray[np.uint8]  # (32,) SHA-256 of the block


@dataclass(kw_only=True)
class SampleTree(Record):
    """The sample of s rows, its similarity and its tree."""

    stage, over, title = "sample", "one", "tree of a sample"
    share = 7
    ids: Ints  # (s,)
    rows: Rows  # (s, d) scaled
    children: Ints  # (s − 1, 2)
    cells: Ints  # (s,) the cell of each row
    n_clusters: Array  # ()
    centre: OptionalArray = field(default_factory=NONE)  # (d,) column scaling, of metric="auto"
    factor: OptionalArray = field(default_factory=NONE)  # (d,)
    indptr: OptionalArray = field(default_factory=NONE)  # the neighbour graph as CSR, of metric="auto"
    indices: OptionalArray = field(default_factory=NONE)
    data: OptionalArray = field(default_factory=NONE)
    slope: OptionalArray = field(default_factory=NONE)  # () the background
    level: OptionalArray = field(default_factory=NONE)  # ()


@dataclass(kw_only=True)
class Assignment(Record):
    """Of a block of b rows: the cell of each."""

    stage, over, title = "assignment", "blocks", "assigning rows to parts"
    share = 11
    cell: npt.NDArray[np.int32]  # (b,)
    counts: Ints  # (cells,) rows of each cell
    nearby_cells: OptionalArray = field(default_factory=NONE)  # (b, NEARBY)


@dataclass(kw_only=True)
class Partition(Record):
    """The parts: of cells in round 0, after moves of rows in later rounds."""

    stage, over, title, has_rounds = "partition", "one", "moving rows to parts", True
    share = 0.1
    counts: Ints  # (parts,) rows of each part
    part_of_cell: OptionalArray = field(default_factory=NONE)  # (cells,) in round 0; −1 for empty cells
    new_number: OptionalArray = field(
        default_factory=NONE
    )  # (parts before,) in later rounds; −1 for parts that all rows left
    denied: OptionalArray = field(
        default_factory=NONE
    )  # (pairs, 2) in later rounds: no row moves from the first part to the second


@dataclass(kw_only=True)
class ShuffledRows(Record):
    """Rows of a block sorted by part, and the parts in which neighbours of each are searched."""

    stage, over, title, has_rounds = "shuffle", "blocks", "moving rows to parts", True
    share = 0.5
    rows: Rows  # (b, d) scaled
    ids: Ints  # (b,)
    starts: Ints  # (parts + 1,) where the rows of each part begin
    nearby_parts: OptionalArray = field(default_factory=NONE)  # (b, ·) −1 for empty cells
    queries: OptionalArray = field(default_factory=NONE)  # (q,) rows with a search in another part, sorted by that part
    query_starts: OptionalArray = field(
        default_factory=NONE
    )  # (parts + 1,) where the queries of each searched part begin
    targets: OptionalArray = field(default_factory=NONE)  # (t,) the parts searched by rows of each part, once each
    target_starts: OptionalArray = field(default_factory=NONE)  # (parts + 1,)


@dataclass(kw_only=True)
class Leaves(Record):
    """The rows of a part in ascending order, and its distinct rows, the leaves."""

    stage, over, title, has_rounds = "leaves", "parts", "moving rows to parts", True
    share = 0.5
    rows: Rows  # (m, d) of each leaf
    sizes: Floats  # (m,) rows of each leaf
    ids: Ints  # (r,)
    leaf: Ints  # (r,)


@dataclass(kw_only=True)
class Candidates(Record):
    """Nearest leaves of a part: to its own leaves, and to rows of other parts that search it."""

    stage, over, title, has_rounds = "candidates", "parts", "nearest neighbours", True
    share = 10
    neighbors: npt.NDArray[np.int32]  # (m, k) −1 if there are fewer
    distances: Floats  # (m, k) infinite where there is no neighbour
    query_part: Ints  # (q,) the part of each row that searches, sorted
    query_row: Ints  # (q,) its position among the rows of its part
    query_neighbors: npt.NDArray[np.int32]  # (q, k)
    query_distances: Floats  # (q, k)


@dataclass(kw_only=True)
class Neighbors(Record):
    """The k nearest candidates of each leaf of a part."""

    stage, over, title, has_rounds = "neighbors", "parts", "nearest neighbours", True
    share = 1
    neighbors: npt.NDArray[np.int32]  # (m, k) leaves, −1 if there are fewer
    neighbor_parts: npt.NDArray[np.int32]  # (m, k)
    distances: Floats  # (m, k)
    best_part: Ints  # (r,) the part with most edge weight of each row
    row_neighbor_parts: npt.NDArray[np.int32]  # (r, k)


@dataclass(kw_only=True)
class DirectedEdges(Record):
    """Edges of the leaves of a part to their refined neighbours, sorted by the other part."""

    stage, over, title = "edges", "parts", "graph of neighbours"
    share = 3
    leaf: Ints  # (e,)
    other_part: Ints  # (e,)
    other_leaf: Ints  # (e,)
    weight: Floats  # (e,)
    target_parts: Ints  # (t,) distinct values of ``other_part``


@dataclass(kw_only=True)
class AdjacentParts(Record):
    """Parts that share an edge in either direction."""

    stage, over, title = "adjacent-parts", "one", "graph of neighbours"
    share = 0.1
    parts: Ints  # (a,) those adjacent to each part
    starts: Ints  # (parts + 1,)


@dataclass(kw_only=True)
class PartGraph(Record):
    """Undirected edges of a part, weighted by the number of points: within as CSR, across sorted by the other part."""

    stage, over, title = "graph", "parts", "graph of neighbours"
    share = 1
    indptr: Array  # (m + 1,)
    indices: Array
    data: Array
    leaf: Ints  # (e,) edges across
    other_part: Ints  # (e,)
    other_leaf: Ints  # (e,)
    weight: Floats  # (e,) of all pairs of points
    pair_weight: Floats  # (e,) of one pair of points
    row_sum: Floats  # (d,) Σ x over points
    totals: Floats  # (4,) edge weight (half of that across), Σ s, Σ s² of leaf sizes, Σ ‖x‖²


@dataclass(kw_only=True)
class BackgroundStrength(Record):
    """The background of all rows: similarity slope · (level − ‖x − y‖²)."""

    stage, over, title = "background", "one", "graph of neighbours"
    share = 0.1
    slope: Array  # ()
    level: Array  # ()


@dataclass(kw_only=True)
class PartTree(Record):
    """The tree of a part: its f frontier subtrees, which may move to other parts, and the merges below them.

    Nodes below the frontier are rows of the part, then its merges in order.
    """

    stage, over, title = "part-trees", "parts", "trees of parts"
    share = 37
    frontier: Ints  # (m,) the subtree of each leaf
    sums: Floats  # (f, d) Σ x over the points of each subtree
    squares: Floats  # (f,) Σ ‖x‖²
    sizes: Floats  # (f,)
    member: Ints  # (f,) one row of each
    upper: OptionalArray = field(default_factory=NONE)  # (f − 1, 2) merges above the frontier, of metric="auto"
    children: Ints  # (b, 2) merges below the frontier
    graph_splits: Floats  # (b,) similarity across each merge by the neighbour graph alone
    splits: Floats  # (b,) similarity across each merge
    tops: Ints  # (f,) the node of each subtree


@dataclass(kw_only=True)
class CoarseEdges(Record):
    """Summed edges between frontier subtrees of a part and those of parts with a larger number, each pair once."""

    stage, over, title = "coarse-edges", "parts", "tree above the parts"
    share = 0.3
    subtree: Ints  # (e,)
    other_part: Ints  # (e,)
    other_subtree: Ints  # (e,)
    weight: Floats  # (e,)


@dataclass(kw_only=True)
class TopTree(Record):
    """The tree of the f frontier subtrees of all parts."""

    stage, over, title = "top-tree", "one", "tree above the parts"
    share = 2.5
    children: Ints  # (f − 1, 2)
    graph_splits: Floats  # (f − 1,) as in ``PartTree``
    splits: Floats  # (f − 1,)
    sizes: Floats  # (f,)
    starts: Ints  # (parts + 1,) where the subtrees of each part begin
    row_sum: Floats  # (d,) Σ x over all points


@dataclass(kw_only=True)
class Degrees(Record):
    """Of the rows of a part: their degrees, and what heights need."""

    stage, over, title = "degrees", "parts", "tree of all rows"
    share = 0.4
    degrees: Floats  # (r,) similarity to all others, of the graph if there is one
    radius: Array  # () largest distance from the mean of all rows
    strongest: Array  # () the largest similarity of two points


@dataclass(kw_only=True)
class FinishedTree(Record):
    """The cost of the tree, which is stored beside the shards."""

    stage, over, title = "tree", "one", "tree of all rows"
    share = 0.1
    cost: Array  # ()


@dataclass(kw_only=True)
class Labels(Record):
    """Flat clusters."""

    stage, over, title = "labels", "one", "flat clusters"
    share = 0.2
    labels: Ints  # (n,) −1 for outliers
    n_clusters: Array  # ()
    clusters: OptionalArray = field(default_factory=NONE)  # (n,) without outliers, if ``labels`` has some

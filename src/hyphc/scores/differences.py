"""Distinctive columns: for every split of a tree, the columns of a table in which its two sides differ most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.special import stdtr

from .._kernels.scores import moments as kernels
from .._runtime.arrays import Floats, Ints, Records
from .._runtime.lazy_import import require_package
from .._runtime.table_columns import TableColumn, parse_columns
from ..similarity.inputs.foreign_inputs import annotated_rows, is_annotated
from ..tree import Tree, TreeLike, as_tree
from ..tree.validation import check_node

if TYPE_CHECKING:
    import numpy.typing as npt

Compare = Literal["parts", "rest"]

# Scatter and differences below this share of a column's range are rounding: the values are equal.
EQUAL = 1e-12
# Points of both groups together: of three, J is 0, and nothing is known.
FEWEST = 4.0
# One of the largest effects of a merge; the names are those of ``Differences``.
_FOUND = np.dtype(
    [("columns", np.int64), *((name, np.float64) for name in ("effects", "means", "other_means", "p_values"))]
)


class Difference(NamedTuple):
    """Difference of two groups in one column: Hedges' g, both means, the p-value of Welch's test, and whether it is sure."""

    column: str
    effect: float
    mean: float
    other_mean: float
    p_value: float
    sure: bool


@dataclass(frozen=True, eq=False)
class Differences:
    """Columns that differ most, for each merge, as returned by ``differences``.

    Attributes
    ----------
    names : tuple of str
        What the columns are called; a column of text is one for each of its classes, "kind = a".
    columns : array of int (n − 1, top)
        Of each merge, the columns in falling order of \\|effect\\|; −1 where there is none.
    effects, means, other_means, p_values : arrays (n − 1, top)
    n_tests : int
        Comparisons made in all: merges times columns.
    alpha : float
        A difference is marked as sure where p·n_tests is at most this.
    compare : {"parts", "rest"}
    """

    names: tuple[str, ...]
    columns: Ints
    effects: Floats
    means: Floats
    other_means: Floats
    p_values: Floats
    n_tests: int
    alpha: float
    compare: Compare

    @property
    def sure(self) -> npt.NDArray[np.bool_]:
        """Whether each difference is sure, (n − 1, top)."""
        return np.asarray(self.p_values * self.n_tests <= self.alpha)

    def of(self, node: int) -> tuple[Difference, ...]:
        """Return the differences of a node of the tree, the largest first; a leaf has none."""
        n = len(self.columns) + 1
        t = check_node(node, n) - n
        if t < 0:
            return ()
        figures = [self.effects, self.means, self.other_means, self.p_values, self.sure]
        rows = zip(self.columns[t].tolist(), *(values[t].tolist() for values in figures), strict=True)
        return tuple(Difference(self.names[c], *row) for c, *row in rows if c >= 0)

    def rows(self, nodes: Iterable[int] | None = None) -> Iterator[dict[str, Any]]:
        """Yield a row for each node and column: of all merges from the root down, or of the nodes given."""
        n = len(self.columns) + 1
        for node in range(2 * n - 2, n - 1, -1) if nodes is None else nodes:
            for rank, found in enumerate(self.of(int(node)), start=1):
                yield {"node": int(node), "rank": rank, **found._asdict()}

    def to_pandas(self, nodes: Iterable[int] | None = None) -> Any:
        """Return the rows as a pandas DataFrame."""
        frames = require_package("pandas", "frames", "io")
        return frames.DataFrame(list(self.rows(nodes)), columns=["node", "rank", *Difference._fields])


@dataclass(frozen=True, eq=False)
class LeafMeans:
    """Table of leaves that stand for several points: means of columns, and their scatter Σ (x − mean)² below each leaf, (n, d).

    ``differences``, ``describe`` and ``explore`` take it in place of rows, and find what they would find in the points.
    """

    columns: tuple[str, ...]
    means: Floats
    scatter: Floats

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self.means, dtype=dtype)

    def as_table(self) -> dict[str, Floats]:
        """Return the means by the names of the columns."""
        return dict(zip(self.columns, self.means.T, strict=True))


def differences(
    tree: TreeLike, X: Any, *, compare: Compare = "parts", top: int = 5, alpha: float = 0.05
) -> Differences:
    """Find for every merge the columns of X in which its two parts, or its leaves and all others, differ most.

    Two groups of n₁ and n₂ points with means m₁, m₂ and variances v₁, v₂ differ by Hedges' g

        g = J · (m₁ − m₂) / s,    s² = ((n₁ − 1) v₁ + (n₂ − 1) v₂) / (n₁ + n₂ − 2),    J = 1 − 3 / (4 (n₁ + n₂ − 2) − 1)

    and the p-value is that of Welch's t-test, where both groups have two points or more. A difference is *sure* where
    p · (number of all comparisons) ≤ alpha: with Bonferroni's correction over every merge and every column.

    Parameters
    ----------
    tree : Tree or linkage matrix, n leaves
        Leaves that stand for several points count as so many.
    X : frame, table of names and columns, array or sparse matrix (n, d), or AnnData, of which X is taken
        Missing values (NaN, None) are left out column by column. Text and booleans become one column of 0 and 1 for each class.
    compare : {"parts", "rest"}
        "parts": the first child of a merge and the second. "rest": the leaves below a merge and all others; nothing for the root.
    top : int
        How many columns are kept of each merge.
    alpha : float

    Returns
    -------
    Differences

    Notes
    -----
    O(n) time a column, and O(n·top) memory. Moments are joined from the leaves up, and for "rest" from the root down, so that
    nothing cancels. Columns that were clustered differ between clusters by construction, and these p-values ignore the
    search that made the groups: a sure difference is not due to few points, but does not prove a group.

    Examples
    --------
    >>> X = {"height": [1.0, 1.1, 3.0, 3.2], "mass": [5.0, 4.0, 5.0, 4.0]}
    >>> differences(Tree([[0, 1], [2, 3], [4, 5]]), X, top=1).of(6)[0].column
    'height'
    """
    shown = as_tree(tree)
    if compare not in ("parts", "rest"):
        raise ValueError(f"compare={compare!r} is unknown; choose 'parts' or 'rest'.")
    if top < 1:
        raise ValueError(f"top={top} keeps no column; choose top >= 1.")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha} is no level of a test; choose one between 0 and 1, such as 0.05.")
    X = annotated_rows(X, None) if is_annotated(X) else X
    scatter = X.scatter if isinstance(X, LeafMeans) else None
    X = X.as_table() if isinstance(X, LeafMeans) else X
    columns = parse_columns(X, shown.n_leaves, "X", classes=False)
    read = [numbers for column in columns for numbers in _as_numbers(column)]
    if not read:
        raise ValueError("X has no columns; pass at least one.")
    names = tuple(name for name, _ in read)
    best = np.full((shown.n_leaves - 1, top), np.array((-1, *[np.nan] * 4), dtype=_FOUND))
    weights = np.ones(shown.n_leaves) if shown.leaf_sizes is None else shown.leaf_sizes
    for c, (_, values) in enumerate(read):
        one, other = sides(shown, values, weights, compare, None if scatter is None else scatter[:, c])
        _keep_largest(best, c, effects_of(one, other, _range(values)), one, other)
    n_tests = max(shown.n_leaves - 1 - (compare == "rest"), 1) * len(names)
    kept = {name: np.ascontiguousarray(best[name]) for name in _FOUND.fields or ()}
    return Differences(names, **kept, n_tests=n_tests, alpha=alpha, compare=compare)


def _range(values: Floats) -> float:
    present = values[np.isfinite(values)]
    return float(np.ptp(present)) if len(present) else 0.0


def _as_numbers(column: TableColumn) -> Iterator[tuple[str, Floats]]:
    """Yield the column itself, or one of 0 and 1 for each class."""
    if column.numbers is not None:
        yield column.name, np.where(np.isfinite(column.numbers), column.numbers, np.nan)
        return
    assert column.codes is not None
    if column.classes == ("False", "True"):  # one says all
        yield column.name, np.where(column.codes < 0, np.nan, column.codes)
        return
    for code, name in enumerate(column.classes):
        yield f"{column.name} = {name}", np.where(column.codes < 0, np.nan, column.codes == code)


def sides(
    tree: Tree, values: Floats, weights: Floats, compare: Compare, scatter: Floats | None = None
) -> tuple[Records, Records]:
    """Return the moments of one column in the two groups that each merge compares: two arrays of records, (n − 1,).

    ``scatter`` is that within each leaf, of leaves that stand for several points.
    """
    n, children = tree.n_leaves, tree._children
    present = np.isfinite(values)
    below = np.zeros(2 * n - 1, dtype=kernels.MOMENTS).view(np.recarray)
    below.weight[:n] = np.where(present, weights, 0.0)
    below.centre[:n] = np.where(present, values, 0.0)
    if scatter is not None:
        below.scatter[:n] = scatter
    kernels.moments_below(children, below)
    if compare == "parts":
        return below[children[:, 0]], below[children[:, 1]]
    outside = np.zeros(2 * n - 1, dtype=kernels.MOMENTS).view(np.recarray)
    kernels.moments_outside(children, below, outside)
    return below[n:], outside[n:]


def effects_of(one: Records, other: Records, spread: float) -> Floats:
    """Return Hedges' g of each pair of groups; ±inf where they differ and neither varies, NaN with fewer than four points."""
    freedom = one.weight + other.weight - 2.0
    away = one.centre - other.centre
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = np.sqrt((one.scatter + other.scatter) / freedom)
        g = (1.0 - 3.0 / (4.0 * freedom - 1.0)) * away / deviation
    still = deviation <= EQUAL * spread
    g = np.where(still, np.where(np.abs(away) <= EQUAL * spread, 0.0, np.copysign(np.inf, away)), g)
    known = (freedom >= FEWEST - 2.0) & (one.weight > 0.0) & (other.weight > 0.0)
    return np.where(known, g, np.nan)


def welch(one: Records, other: Records) -> Floats:
    """Return two-sided p-values of Welch's t-test; NaN where a group has fewer than two points."""
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = [side.scatter / (side.weight - 1.0) / side.weight for side in (one, other)]
        error = errors[0] + errors[1]
        t = np.abs(one.centre - other.centre) / np.sqrt(error)
        freedom = error**2 / (errors[0] ** 2 / (one.weight - 1.0) + errors[1] ** 2 / (other.weight - 1.0))
        p = 2.0 * stdtr(freedom, -t)
    p = np.where(error == 0.0, np.where(one.centre == other.centre, 1.0, 0.0), p)
    return np.where((one.weight >= 2.0) & (other.weight >= 2.0), p, np.nan)


def _keep_largest(best: Records, column: int, effects: Floats, one: Records, other: Records) -> None:
    """Insert a column into the (n − 1, top) largest effects so far; of equal ones the first column stays before it."""
    size = np.abs(effects)
    kept = np.where(best["columns"] < 0, -1.0, np.abs(best["effects"]))
    (rows,) = np.nonzero(size > kept[:, -1])
    place = (kept[rows] >= size[rows, None]).sum(axis=1)[:, None]
    found = np.empty((len(rows), 1), dtype=_FOUND)
    figures = column, effects[rows], one.centre[rows], other.centre[rows], welch(one[rows], other[rows])
    for name, values in zip(_FOUND.names or (), figures, strict=True):
        found[name][:, 0] = values
    old, places = best[rows], np.arange(best.shape[1])
    moved = np.where(places > place, np.roll(old, 1, axis=1), old)
    best[rows] = np.where(places == place, found, moved)

"""Features that distinguish the flat clusters, as text for the report and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..io import Points
from ..io.points import dense_values
from ..scores.differences import Difference, Differences, differences
from ..similarity.inputs.mixed_types import MixedTable
from ..tree import Tree
from .outputs import write_csv

UP_TO = 20_000_000  # values of the table: some ten seconds
TOP_COLUMNS = 3


@dataclass(frozen=True, eq=False)
class ClusterDifferences:
    """Columns by which each cluster of a cut differs from all other rows, and those that separate the sides of splits."""

    tree: Tree
    clusters: Sequence[int]
    from_rest: Differences
    of_parts: Differences

    def describe(self) -> list[str]:
        """Describe each cluster by its most distinctive columns; an asterisk marks a significant difference."""
        found = [self.from_rest.of(node)[:TOP_COLUMNS] for node in self.clusters]
        return [", ".join(map(describe_difference, most)) or "–" for most in found]

    def note(self) -> str:
        """Return the meaning of the star."""
        return star_note(self.from_rest.n_tests, self.from_rest.alpha)

    def csv(self) -> str:
        """Return a row for each pair of a cluster, or a split above them, and a column."""
        tree, n = self.tree, self.tree.n_leaves
        rows: list[list[object]] = []
        for cluster, node in enumerate(self.clusters):
            size = int(tree.sizes[node])
            rows += _rows(["cluster and rest", cluster, node, size, n - size], self.from_rest, node)
        for node in _above(tree, self.clusters):
            rows += _rows(
                ["parts of a split", "", node, *tree.sizes[tree.children[node - n]].tolist()], self.of_parts, node
            )
        return write_csv(["compared", "cluster", "node", "rows", "other_rows", "rank", *Difference._fields], rows)


def _rows(first: list[object], found: Differences, node: int) -> Iterator[list[object]]:
    for row in found.rows([node]):
        figures = [f"{value:.6g}" if isinstance(value, float) else value for value in list(row.values())[2:]]
        yield [*first, row["rank"], *figures]


def cluster_differences(tree: Tree, points: Points, clusters: Sequence[int]) -> ClusterDifferences | None:
    """Return the differences for a table that is not too large; None for graphs, similarities and sparse tables."""
    values = dense_values(points.data)
    if points.kind != "features" or values is None or values.size > UP_TO:
        return None
    names = points.columns or [f"column {c + 1}" for c in range(points.data.shape[1])]
    if len(set(names)) < len(names):
        names = [f"feature {c}" for c in range(len(names))]
    table = dict(zip(names, _columns(points.data), strict=True))
    from_rest, of_parts = differences(tree, table, compare="rest"), differences(tree, table, compare="parts")
    return ClusterDifferences(tree, list(clusters), from_rest, of_parts)


def _columns(data: Any) -> list[Any]:
    """Return numeric columns as numbers, and categorical ones as text."""
    if not isinstance(data, MixedTable):
        return list(np.asarray(data).T)
    return [
        column if words is None else [None if np.isnan(code) else words[int(code)] for code in column]
        for column, words in zip(data.values.T, data.categories, strict=True)
    ]


def star_note(n_tests: int, alpha: float) -> str:
    """Return the meaning of the asterisk that ``describe_difference`` adds."""
    return (
        f"An asterisk: p times the {n_tests} comparisons is at most {alpha:g} (Welch's test). Columns that were "
        "clustered differ by construction, so an asterisk does not prove that a group exists."
    )


def describe_difference(found: Difference) -> str:
    """Return a column with both means, and an asterisk where the difference is significant."""
    side, (mean, other) = "high" if found.effect > 0 else "low", _digits_that_differ(found.mean, found.other_mean)
    return f"{found.column} {side} ({mean}, others {other}){'*' if found.sure else ''}"


def _digits_that_differ(*values: float) -> list[str]:
    """Return numbers with three significant digits, or with as many as they differ in, up to six: 2007 and 2009."""
    for n_digits in range(3, 7):
        written = [_significant(value, n_digits) for value in values]
        if len(set(written)) == len(written):
            break
    return written


def _significant(value: float, n_digits: int) -> str:
    if not 1e-4 <= abs(value) < 1e6:  # infinite and missing values too
        return f"{value:.{n_digits}g}"
    return np.format_float_positional(value, precision=n_digits, fractional=False, trim="-")


def _above(tree: Tree, clusters: Sequence[int]) -> list[int]:
    """Return the merges above the clusters of a cut, from the root down."""
    found: set[int] = set()
    for node in clusters:
        up = int(tree.parents[node])
        while up >= 0 and up not in found:
            found.add(up)
            up = int(tree.parents[up])
    return sorted(found, reverse=True)

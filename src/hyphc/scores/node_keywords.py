"""Keywords of the nodes of a tree: the words, or the columns, that set the leaves below a node apart from all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .._runtime.table_columns import is_missing_value, parse_columns
from ..tree import Tree
from .differences import Differences, LeafMeans, differences

# Letters first: years and numbers name nothing. At least two characters, as scikit-learn has it.
TOKEN_PATTERN = r"(?u)\b[^\W\d_]\w+\b"
# Words added to each side of a comparison, distributed as in the whole: one word of a node of few is no evidence.
PRIOR_WORDS = 20.0
# Logarithms of ratios beyond this count as equal (7 times as frequent): else words of few members that occur nowhere else win.
# Chosen with the form of the score on half of the groups of a cut of WordNet (docs/howto/names.md).
LARGEST_LOG_RATIO = 2.0
# Columns kept of each merge; names take a few of them.
TOP_COLUMNS = 10
# Standardised differences beyond this count as equal: such sides do not overlap.
LARGEST_EFFECT = 10.0


class Keyword(NamedTuple):
    """A word, or a column with "high" or "low", and how strongly it sets a node apart; larger is stronger."""

    term: str
    score: float


class Evidence(Protocol):
    """Data that keywords and representatives are computed from."""

    def scan(self, least: float, top: int) -> Iterator[tuple[int, tuple[Keyword, ...]]]:
        """Yield each node with at least ``least`` points and its keywords; parents come before their children."""
        ...

    def keywords(self, node: int, top: int) -> tuple[Keyword, ...]:
        """Return the keywords of one node, the strongest first."""
        ...

    def centrality(self, leaves: Ints) -> Floats:
        """Return how close each of the leaves is to their mean; larger is closer."""
        ...


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Counts of words in the leaves, (n, number of words), scored by class-based TF-IDF."""

    tree: Tree
    counts: sp.csr_array
    words: tuple[str, ...]

    @cached_property
    def _in_order(self) -> sp.csr_array:
        """Counts of the leaves in leaf order, each times the points that it stands for: a node's rows are contiguous."""
        order = self.tree.leaf_order()
        rows = self.counts[order]
        if self.tree.leaf_sizes is None:
            return rows
        return sp.csr_array(sp.diags_array(self.tree.leaf_sizes[order]) @ rows)

    @cached_property
    def _total(self) -> Floats:
        return self._sum(2 * self.tree.n_leaves - 2)

    @cached_property
    def _idf(self) -> Floats:
        """Return 1 + log(N / N(w)) of each word: of N points, N(w) are of leaves with the word."""
        points = self.tree._points[: self.tree.n_leaves]
        holders = np.bincount(self.counts.indices, np.repeat(points, np.diff(self.counts.indptr)), len(self.words))
        return np.asarray(1.0 + np.log(points.sum() / np.maximum(holders, points.min())))

    @cached_property
    def _rank(self) -> Ints:
        """Position of each word in the alphabet: ties do not depend on the order of columns."""
        return np.argsort(np.argsort(np.array(self.words, dtype=object), kind="stable"), kind="stable")

    def _sum(self, node: int) -> Floats:
        """Return the counts below a node, dense: O(number of words + non-zero counts of its leaves)."""
        rows, first = self._in_order, self.tree._first[node]
        span = slice(rows.indptr[first], rows.indptr[first + self.tree.sizes[node]])
        return np.bincount(rows.indices[span], rows.data[span], minlength=len(self.words)).astype(np.float64)

    def scan(self, least: float, top: int) -> Iterator[tuple[int, tuple[Keyword, ...]]]:
        """Yield nodes and keywords in O(nnz log n + nodes × words).

        The counts of the larger child are those of the parent less those of the smaller one, so only smaller children are
        summed, and at most log2(n) arrays wait at a time.
        """
        tree, n = self.tree, self.tree.n_leaves
        root = 2 * n - 2
        if tree._points[root] >= least:
            yield root, self._score(self._total, None, top)
        waiting = [(root, self._total.copy())] if n > 1 else []
        while waiting:
            node, counts = waiting.pop()
            small, large = sorted(tree._children[node - n].tolist(), key=lambda v: (tree._sizes[v], v))
            of_small = self._sum(small)
            np.subtract(counts, of_small, out=counts)
            for child, own, other in ((large, counts, of_small), (small, of_small, counts)):
                if tree._points[child] >= least:
                    yield child, self._score(own, other, top)
            # the smaller one is popped first: the stack holds one array for each halving
            waiting += [
                (child, own)
                for child, own in ((large, counts), (small, of_small))
                if child >= n and tree._points[child] >= least
            ]

    def keywords(self, node: int, top: int) -> tuple[Keyword, ...]:
        parent = int(self.tree._parents[node])
        if parent < 0:
            return self._score(self._total, None, top)
        own = self._sum(node)
        return self._score(own, self._sum(parent) - own, top)

    def _score(self, own: Floats, sibling: Floats | None, top: int) -> tuple[Keyword, ...]:
        """Return the words with the largest scores; see ``hyphc.describe`` for the formula."""
        present = np.flatnonzero(own > 0)
        if len(present) == 0:
            return ()
        share = own[present] / own.sum()
        if sibling is None:  # nothing to be compared with
            scores = share
        else:
            prior = self._total[present] / self._total.sum()
            smooth = _smoothed(own, present, prior)
            rest = _smoothed(np.maximum(self._total - own, 0.0), present, prior)
            ratios = np.log([smooth / rest, smooth / _smoothed(sibling, present, prior)])
            scores = share * self._idf[present] * np.clip(ratios, 0.0, LARGEST_LOG_RATIO).mean(axis=0)
        best = np.lexsort((self._rank[present], -np.round(scores, 12)))[:top]
        return tuple(Keyword(self.words[present[i]], float(scores[i])) for i in best.tolist() if scores[i] > 0)

    @cached_property
    def _tf_idf(self) -> sp.csr_array:
        """Rows of counts times inverse document frequencies, of length 1."""
        rows = sp.csr_array(self.counts * self._idf[None, :])
        lengths = np.sqrt(rows.multiply(rows).sum(axis=1))
        return sp.csr_array(sp.diags_array(1.0 / np.where(lengths > 0, lengths, 1.0)) @ rows)

    def centrality(self, leaves: Ints) -> Floats:
        rows = self._tf_idf[leaves]
        return np.asarray(rows @ rows.sum(axis=0))


def _smoothed(counts: Floats, words: Ints, prior: Floats) -> Floats:
    """Return the shares of the words after ``PRIOR_WORDS`` words of the prior are added."""
    return np.asarray((counts[words] + PRIOR_WORDS * prior) / (counts.sum() + PRIOR_WORDS))


@dataclass(frozen=True, eq=False)
class ColumnEffects:
    """Effect sizes of the columns of a table: each node against the rest, and against its sibling."""

    tree: Tree
    rest: Differences
    parts: Differences
    rows: Floats  # standardised numbers, (n, d), missing ones 0

    def scan(self, least: float, top: int) -> Iterator[tuple[int, tuple[Keyword, ...]]]:
        for node in range(2 * self.tree.n_leaves - 2, self.tree.n_leaves - 1, -1):
            if self.tree._points[node] >= least:
                yield node, self.keywords(node, top)

    def keywords(self, node: int, top: int) -> tuple[Keyword, ...]:
        parent = int(self.tree._parents[node])
        if parent < 0:
            return ()
        sign = 1.0 if self.tree._children[parent - self.tree.n_leaves, 0] == node else -1.0
        effects = [{found.column: found.effect for found in self.rest.of(node)}]
        effects += [{found.column: sign * found.effect for found in self.parts.of(parent)}]
        scores: dict[str, float] = {}
        for found in effects:
            for column, effect in found.items():
                if np.isnan(effect) or effect == 0:
                    continue
                term = _side(column, effect > 0)
                scores[term] = scores.get(term, 0.0) + min(abs(effect), LARGEST_EFFECT) / 2
        best = sorted(scores.items(), key=lambda item: (-round(item[1], 12), item[0]))
        return tuple(Keyword(*item) for item in best[:top])

    def centrality(self, leaves: Ints) -> Floats:
        rows = self.rows[leaves]
        return np.asarray(-np.square(rows - rows.mean(axis=0)).sum(axis=1))


def _side(column: str, above: bool) -> str:
    """Return "mass high" or "mass low" for numbers; "kind = a" or "not kind = a" for a class."""
    if " = " in column:
        return column if above else f"not {column}"
    return f"{column} {'high' if above else 'low'}"


def count_words(tree: Tree, texts: Sequence[Any], stop_words: Any, vectorizer: Any) -> WordCounts:
    """Return in which texts each word occurs; a missing text has no words."""
    from sklearn.feature_extraction.text import CountVectorizer

    cleaned = check_texts(texts, tree.n_leaves)
    if vectorizer is None:
        vectorizer = CountVectorizer(stop_words=stop_words, token_pattern=TOKEN_PATTERN, binary=True)
    try:
        counts = vectorizer.fit_transform(cleaned)
    except ValueError as error:
        if "vocabulary" not in str(error):
            raise
        raise ValueError(
            "texts have no words but stop words; pass texts with words, or stop_words=None, or a vectorizer of your own."
        ) from None
    return WordCounts(tree, sp.csr_array(counts, dtype=np.float64), tuple(vectorizer.get_feature_names_out().tolist()))


def check_texts(texts: Sequence[Any], n: int) -> list[str]:
    """Return the texts, empty where one is missing; raise for other types and other lengths."""
    if isinstance(texts, str):
        raise TypeError(f"texts is one string; pass a sequence of {n}, one for each leaf.")
    given = list(texts)
    if len(given) != n:
        raise ValueError(f"texts has {len(given)} entries; pass {n}, one for each leaf.")
    cleaned = ["" if is_missing_value(text) else text for text in given]
    for i, text in enumerate(cleaned):
        if not isinstance(text, str):
            raise TypeError(
                f"texts[{i}] is {text!r}, a {type(text).__name__}; pass strings, None where one is missing."
            )
    if not any(cleaned):
        raise ValueError("texts are all empty or missing; pass at least one with words.")
    return cleaned


def check_counts(tree: Tree, counts: Any, columns: Any) -> WordCounts:
    """Return given counts with the names of their columns."""
    matrix = sp.csr_array(counts, dtype=np.float64)
    matrix.sum_duplicates()
    if matrix.shape[0] != tree.n_leaves:
        raise ValueError(f"sparse has {matrix.shape[0]} rows; pass {tree.n_leaves}, one for each leaf.")
    bad = matrix.data[~(np.isfinite(matrix.data) & (matrix.data >= 0))]
    if len(bad):
        raise ValueError(f"sparse holds {bad[0]:g}; pass counts, finite and not negative.")
    matrix.eliminate_zeros()
    if matrix.nnz == 0:
        raise ValueError("sparse has no count above 0; pass at least one.")
    d = matrix.shape[1]
    names = tuple(f"feature {j}" for j in range(d)) if columns is None else tuple(map(str, columns))
    if len(names) != d:
        raise ValueError(f"columns has {len(names)} names; pass {d}, one for each column of sparse.")
    return WordCounts(tree, matrix, names)


def compare_columns(tree: Tree, table: Any) -> ColumnEffects:
    """Return the effect sizes of a table's columns in all nodes, and its numbers, standardised."""
    rest = differences(tree, table, compare="rest", top=TOP_COLUMNS)
    parts = differences(tree, table, compare="parts", top=TOP_COLUMNS)
    table = table.as_table() if isinstance(table, LeafMeans) else table
    parsed = parse_columns(table, tree.n_leaves, "columns", classes=False)
    numbers = [column.numbers for column in parsed if column.numbers is not None]
    rows = np.column_stack(numbers) if numbers else np.zeros((tree.n_leaves, 1))
    rows = np.where(np.isfinite(rows), rows, np.nan)
    known = np.isfinite(rows)
    count = np.maximum(known.sum(axis=0), 1)
    rows = np.where(known, rows - np.where(known, rows, 0.0).sum(axis=0) / count, 0.0)
    deviation = np.sqrt(np.square(rows).sum(axis=0) / count)
    return ColumnEffects(tree, rest, parts, rows / np.where(deviation > 0, deviation, 1.0))

"""Names of groups: for every node of a tree its keywords, representative members, and a short name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._runtime.arrays import Ints
from .._runtime.lazy_import import require_package
from ..tree import Tree, TreeLike, as_tree
from ..tree.notebook_repr import tree_html
from ..tree.subtrees import names_of
from ..tree.validation import check_node
from .node_keywords import Evidence, Keyword, check_counts, compare_columns, count_words

# By default nodes of at least this share of the points are named: of 80 000 points some thousands.
LEAST_SHARE = 1e-3
# Keywords from which a name is chosen; more than a name has, since some repeat others or the parent's name.
CANDIDATES = 12
# A word of a name has at least this share of the score of the first: weaker ones are left out.
LEAST_SCORE = 0.2
BETWEEN = ", "


@dataclass(frozen=True)
class NodeDescription:
    """Facts about one node, from which a ``namer`` makes a name.

    Attributes
    ----------
    node : int
    size : int
        Number of leaves below it.
    keywords : tuple of Keyword
        Terms with their scores, the strongest first.
    representatives : tuple of int
        Leaves close to the mean of the node.
    examples : tuple of str
        Texts of the representatives, or their names where there are no texts.
    parent_name : str or None
        The name of the parent; None at the root.
    """

    node: int
    size: int
    keywords: tuple[Keyword, ...]
    representatives: tuple[int, ...]
    examples: tuple[str, ...]
    parent_name: str | None


Namer = Callable[[NodeDescription], str]


@dataclass(frozen=True, eq=False)
class Descriptions:
    """Names, keywords and representative members of the nodes of a tree, as returned by ``describe``.

    Attributes
    ----------
    tree : Tree
    names : tuple of str, length 2n − 1
        Of every node: a leaf has its own name or number, a node of fewer than ``min_size`` points an empty text.
    min_size : float
    texts : tuple of str, length n, or None
        The texts of the leaves, where these were given; a missing one is empty.
    """

    tree: Tree
    names: tuple[str, ...]
    min_size: float
    texts: tuple[str, ...] | None
    _evidence: Evidence

    @property
    def nodes(self) -> Ints:
        """Named nodes other than leaves, the largest first."""
        n = self.tree.n_leaves
        named = np.array([v for v in range(n, 2 * n - 1) if self.names[v]], dtype=np.int64)
        return named[np.lexsort((-named, -self.tree._points[named]))]

    def keywords(self, node: int, top: int = 10) -> tuple[Keyword, ...]:
        """Return the terms that set a node apart from its sibling and from the rest, the strongest first."""
        return self._evidence.keywords(check_node(node, self.tree.n_leaves), top)

    def representatives(self, node: int, top: int = 3) -> Ints:
        """Return the leaves below a node that are closest to their mean, the closest first."""
        return _central(self.tree, self._evidence, check_node(node, self.tree.n_leaves), top)

    def describe_node(self, node: int) -> NodeDescription:
        """Return all that is known of a node, as a ``namer`` gets it."""
        parent = int(self.tree._parents[check_node(node, self.tree.n_leaves)])
        above = self.names[parent] if parent >= 0 else None
        called = self.names[: self.tree.n_leaves] if self.texts is None else self.texts
        return _node_description(self.tree, self._evidence, called, node, self.keywords(node), above)

    def rows(self, nodes: Iterable[int] | None = None) -> Iterator[dict[str, Any]]:
        """Yield a row for each node: of all that are named, the largest first, or of the nodes given."""
        for node in self.nodes.tolist() if nodes is None else nodes:
            found = self.describe_node(int(node))
            words = ", ".join(keyword.term for keyword in found.keywords)
            yield {
                "node": int(node),
                "size": found.size,
                "name": self.names[node],
                "keywords": words,
                "representatives": found.representatives,
            }

    def to_pandas(self, nodes: Iterable[int] | None = None) -> Any:
        """Return the rows as a pandas DataFrame."""
        frames = require_package("pandas", "frames", "io")
        return frames.DataFrame(list(self.rows(nodes)), columns=["node", "size", "name", "keywords", "representatives"])

    def _repr_html_(self) -> str:
        return tree_html(self.tree, names=self.names)

    def __repr__(self) -> str:
        nodes = self.nodes
        first = "; ".join(f"{self.tree.sizes[v]}: {self.names[v]}" for v in nodes[1:4].tolist())
        least = f"{self.min_size:g} points or more"
        return f"Descriptions({len(nodes)} nodes of {least}{f'; {first}' if first else ''})"


def describe(
    tree: TreeLike | Any,
    *,
    texts: Sequence[str | None] | None = None,
    columns: Any = None,
    sparse: Any = None,
    min_size: float | None = None,
    n_words: int = 3,
    namer: Namer | None = None,
    stop_words: str | Sequence[str] | None = "english",
    vectorizer: Any = None,
) -> Descriptions:
    """Describe every node of a tree: keywords, representative members, and a short name.

    A word w that occurs f(v, w) times below node v, of F(v) words there, has the class-based TF-IDF

        s(v, w) = f(v, w) / F(v) · (1 + log N / N(w)) · ½ [λ(p(v, w) / p(rest, w)) + λ(p(v, w) / p(sibling, w))],

    of N points N(w) having the word; λ(x) = log x, at least 0 and at most 2, and p(u, w) = (f(u, w) + 20 q(w)) / (F(u) + 20) is
    the smoothed share of w in a set u of leaves, with q(w) its share in the whole tree. A ratio is bounded, so that words of many
    members come before words of a few that occur nowhere else. The root is compared with nothing: its keywords are the most
    frequent words. Of texts, f(v, w) counts the texts with the word. A column of a table has instead half of \\|Hedges' g\\|
    against the rest plus half of that against the sibling (``hyphc.differences``), each at most 10.

    A name joins the strongest keywords. Neither its parent nor its sibling has the same name; where the keywords are equal too, a
    number is added.

    Parameters
    ----------
    tree : Tree, linkage matrix or fitted HypHC, n leaves
        Leaves that stand for several points count as so many.
    texts : sequence of n str, optional
        A text for each leaf; None or NaN where it is missing. Give either texts, sparse counts or columns.
    columns : frame, table of names and columns, or array (n, d), optional
        Measurements of the leaves; with ``sparse`` the names of its columns.
    sparse : sparse matrix (n, d), optional
        Counts, not negative, of words or anything else.
    min_size : float, optional
        Nodes of fewer points get no name; their keywords are computed on demand. Default: n / 1000, at least 2.
    n_words : int
        Keywords of a name, at most.
    namer : callable, optional
        Gets a ``NodeDescription`` and returns the name; called once for each named node, parents first.
    stop_words : "english", sequence of str or None
        Words of the texts that are left out, as in scikit-learn's CountVectorizer.
    vectorizer : CountVectorizer, optional
        Replaces the default one, which finds words that begin with a letter.

    Returns
    -------
    Descriptions

    Notes
    -----
    O(c log n + m d) time for m named nodes, d words and c non-zero counts, and O(c + d log n) memory.

    Examples
    --------
    >>> tree = Tree([[0, 1], [2, 3], [4, 5]])
    >>> found = describe(tree, texts=["grey owl", "snowy owl", "red wine", "white wine"])
    >>> [found.keywords(node)[0].term for node in (4, 5)]
    ['owl', 'wine']
    """
    shown = as_tree(getattr(tree, "tree_", tree))
    if n_words < 1:
        raise ValueError(f"n_words={n_words} leaves names empty; choose n_words >= 1.")
    least = max(2.0, LEAST_SHARE * float(shown._points[-1])) if min_size is None else float(min_size)
    if not least >= 1:
        raise ValueError(f"min_size={min_size} is no number of points; choose min_size >= 1.")
    evidence = _evidence(shown, texts, columns, sparse, stop_words, vectorizer)
    member_texts = None if texts is None else tuple(text if isinstance(text, str) else "" for text in texts)
    names = _name_nodes(shown, evidence, member_texts or tuple(names_of(shown)), least, namer, n_words)
    return Descriptions(shown, names, least, member_texts, evidence)


def _evidence(tree: Tree, texts: Any, columns: Any, sparse: Any, stop_words: Any, vectorizer: Any) -> Evidence:
    """Return what was given as one kind of evidence; raise unless just one was."""
    given = [name for name, value in (("texts", texts), ("columns", columns), ("sparse", sparse)) if value is not None]
    if given not in (["texts"], ["columns"], ["sparse"], ["columns", "sparse"]):
        what = f"{' and '.join(given)} were given" if given else "nothing to describe nodes by was given"
        raise ValueError(f"{what}; pass texts=, or columns=, or sparse= with columns= as names of its columns.")
    if texts is not None:
        return count_words(tree, texts, stop_words, vectorizer)
    if sparse is not None:
        return check_counts(tree, sparse, columns)
    return compare_columns(tree, columns)


def _name_nodes(
    tree: Tree, evidence: Evidence, texts: tuple[str, ...], least: float, namer: Namer | None, n_words: int
) -> tuple[str, ...]:
    """Return the names of all nodes, parents before children; only a namer gets representatives, which take long."""
    n = tree.n_leaves
    names = [*names_of(tree), *[""] * (n - 1)]
    inner = range(n, 2 * n - 1)
    for node, keywords in evidence.scan(least, CANDIDATES):
        if node not in inner:
            continue
        parent = int(tree._parents[node])
        above = names[parent] if parent >= 0 else None
        beside = names[int(tree._children[parent - n].sum()) - node] if parent >= 0 else None
        if namer is None:
            name = name_from_keywords(keywords, n_words, (above, beside))
        else:
            name = namer(_node_description(tree, evidence, texts, node, keywords, above))
        if not isinstance(name, str) or not name.strip():
            raise TypeError(f"namer returned {name!r} for node {node}; return a text that is not empty.")
        names[node] = _distinct(" ".join(name.split()), (above, beside))
    return tuple(names)


def _node_description(
    tree: Tree, evidence: Evidence, texts: tuple[str, ...], node: int, keywords: tuple[Keyword, ...], above: str | None
) -> NodeDescription:
    closest = _central(tree, evidence, node, 3).tolist()
    examples = tuple(texts[i] for i in closest)
    return NodeDescription(node, int(tree.sizes[node]), keywords, tuple(closest), examples, above)


def _central(tree: Tree, evidence: Evidence, node: int, top: int) -> Ints:
    leaves = tree.members(node)
    closeness = np.round(evidence.centrality(leaves), 9)  # of equal ones the first leaf
    return np.asarray(leaves[np.argsort(-closeness, kind="stable")[:top]])


def name_from_keywords(keywords: Sequence[Keyword], n_words: int, taken: Sequence[str | None] = ()) -> str:
    """Return the strongest keywords joined, without forms of one word; "other" where there are none.

    The last word is exchanged for the next keyword while the name is taken.
    """
    chosen: list[str] = []
    for keyword in keywords:
        full = len(chosen) == n_words or keyword.score < LEAST_SCORE * keywords[0].score
        if full and not _is_taken(chosen, taken):
            break
        if not any(_same_word(keyword.term, word) for word in chosen):
            chosen = [*(chosen[: n_words - 1] if full else chosen), keyword.term]
    return BETWEEN.join(chosen) or "other"


def _is_taken(words: Sequence[str], taken: Sequence[str | None]) -> bool:
    """Return whether a name has the same words, in any order."""
    return any(name is not None and set(name.split(BETWEEN)) == set(words) for name in taken)


def _same_word(one: str, other: str) -> bool:
    """Return whether two words are singular and plural of one, in most cases of English."""
    short, long = sorted((one, other), key=len)
    return long in (short, f"{short}s", f"{short}es") or (short[-1:] == "y" and long == f"{short[:-1]}ies")


def _distinct(name: str, taken: Sequence[str | None]) -> str:
    """Return the name, with the first number from 2 on that makes it differ from those taken."""
    shown, number = name, 2
    while shown in taken:
        shown, number = f"{name} ({number})", number + 1
    return shown

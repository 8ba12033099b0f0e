"""Reading and writing of Newick text, without recursion: trees may be a million levels deep."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from .._kernels.tree.passes import lifted_heights
from .._runtime.arrays import Floats, Ints

_TOKEN = re.compile(r"\s+|\[[^\]]*\]|(?P<quoted>'[^']*(?:''[^']*)*')|(?P<mark>[(),:;])|(?P<word>[^\s()\[\]:;,']+)")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9.+\-|/]+")


class ParsedNewick(NamedTuple):
    """Merges over leaves 0 … n − 1 in order of appearance; merge t is node −1 − t.

    ``heights`` is None without branch lengths, and ``support`` unless the labels of inner nodes are numbers from 0 to 1. A node
    with several children is several merges; ``ends`` marks the last merge of each node.
    """

    names: list[str]
    merges: list[tuple[int, int]]
    heights: list[float] | None
    support: list[float] | None
    ends: list[bool]


def quote(name: str) -> str:
    """Return the name as Newick writes it: bare when that is safe, else in single quotes with inner quotes doubled."""
    return name if _PLAIN_NAME.fullmatch(name) else "'" + name.replace("'", "''") + "'"


def support_labels(support: Iterable[float]) -> list[str]:
    """Return the support of inner nodes as labels; empty where it is unknown, and at the root, where it is 1."""
    labels = ["" if math.isnan(value) else f"{value:.4g}" for value in support]
    return [*labels[:-1], ""] if labels else labels


def name_labels(names: Sequence[str], n: int) -> list[str]:
    """Return the names of the inner nodes as labels, those of the leaves left out."""
    if len(names) != 2 * n - 1:
        raise ValueError(f"node_names has {len(names)} entries; pass {2 * n - 1}, one for each node, leaves first.")
    return [quote(name) if name else "" for name in list(names)[n:]]


def write(
    children: list[list[int]], heights: list[float] | None, names: Sequence[str], labels: Sequence[str] | None = None
) -> str:
    """Return Newick text of inner nodes in order (leaves 0 … n − 1, inner node t is n + t, children first, the root last).

    With branch lengths when heights are given; ``labels`` are written behind inner nodes as they are.
    """
    n = len(names)
    parts: list[str] = []
    # An entry is a node still to write, or text: what follows a subtree waits on the stack below it.
    stack: list[tuple[int, float] | str] = [(n + len(children) - 1, -1.0)]
    while stack:
        entry = stack.pop()
        if isinstance(entry, str):
            parts.append(entry)
            continue
        node, parent_height = entry
        height = heights[node - n] if heights is not None and node >= n else 0.0
        length = f":{parent_height - height!r}" if heights is not None and parent_height >= 0 else ""
        if node < n:
            parts.append(quote(names[node]) + length)
            continue
        parts.append("(")
        stack.append(")" + (labels[node - n] if labels is not None else "") + length)
        for place, child in enumerate(reversed(children[node - n])):
            stack += [",", (child, height)] if place else [(child, height)]
    return "".join(parts) + ";"


class _Reader:
    """Builds merges while the text is read; a finished subtree is (node, height above its leaves)."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.merges: list[tuple[int, int]] = []
        self.heights: list[float] = []
        self.support: list[float] = []
        self.ends: list[bool] = []
        self.open_groups: list[list[tuple[int, float]]] = [[]]
        self.current: tuple[int, float] | None = None
        self.may_be_named = True
        self.any_length = False

    def name(self, name: str) -> None:
        if not self.may_be_named:
            raise ValueError(f"Newick: {name!r} follows another name; put names with blanks in single quotes.")
        self.begin_leaf(name)
        self.may_be_named = False

    def begin_leaf(self, name: str) -> None:
        if self.current is None:
            self.current = (len(self.names), 0.0)
            self.names.append(name)
        elif name and self.current[0] < 0:  # an inner node's label: a Tree keeps those that are support
            self.support[-1 - self.current[0]] = _share(name)

    def length(self, text: str) -> None:
        try:
            value = float(text)
        except ValueError:
            raise ValueError(f"Newick: branch length {text!r} is not a number; write lengths as ':0.5'.") from None
        self.begin_leaf("")
        assert self.current is not None
        self.current = (self.current[0], self.current[1] + value)
        self.any_length = True
        self.may_be_named = False

    def end_child(self) -> None:
        self.begin_leaf("")
        assert self.current is not None
        self.open_groups[-1].append(self.current)
        self.current = None
        self.may_be_named = True

    def close(self) -> None:
        self.end_child()
        group = self.open_groups.pop()
        if not self.open_groups:
            raise ValueError("Newick: a ')' has no '(' before it; check that the parentheses are balanced.")
        height = max(top for _, top in group)
        node = group[0][0]
        for other, _ in group[1:]:
            self.merges.append((node, other))
            self.heights.append(height)
            self.support.append(math.nan)
            self.ends.append(False)
            node = -len(self.merges)
        if len(group) > 1:
            self.ends[-1] = True
        self.current = (node, height)

    def finish(self) -> ParsedNewick:
        if len(self.open_groups) > 1:
            raise ValueError(
                f"Newick: {len(self.open_groups) - 1} '(' are never closed; check that the text is complete."
            )
        if self.open_groups[0]:
            raise ValueError(
                "Newick: the text holds several subtrees at its top; wrap them in one pair of parentheses."
            )
        if self.current is None:
            raise ValueError("Newick: the text is empty; a tree looks like '((A,B),C);'.")
        shares = [share for share in self.support if not math.isnan(share)]
        known = self.support if shares and all(0 <= share <= 1 for share in shares) else None
        return ParsedNewick(self.names, self.merges, self.heights if self.any_length else None, known, self.ends)


def _share(label: str) -> float:
    """Return a label as a number; infinity for text, which is no support."""
    try:
        return float(label)
    except ValueError:
        return math.inf


def parse(text: str) -> ParsedNewick:
    """Read one tree. Nodes with more than two children become successive merges at one height; a node with one child vanishes."""
    reader = _Reader()
    position = 0
    expects_length = ended = False
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"Newick: cannot read {text[position : position + 20]!r} at character {position}.")
        position = match.end()
        token, kind = match.group(), match.lastgroup
        if kind is None:
            continue
        if ended:
            raise ValueError(f"Newick: {token!r} follows the ';' that ends the tree; pass one tree at a time.")
        if kind == "mark":
            ended = token == ";"
            expects_length = token == ":"
            if token == "(":
                if reader.current is not None:
                    raise ValueError(f"Newick: '(' at character {position - 1} follows a name; is a comma missing?")
                reader.open_groups.append([])
            elif token == ",":
                reader.end_child()
            elif token == ")":
                reader.close()
        elif expects_length:
            reader.length(token)
            expects_length = False
        else:
            reader.name(token[1:-1].replace("''", "'") if kind == "quoted" else token)
    return reader.finish()


def numbered_merges(
    parsed: ParsedNewick, names: Sequence[str] | None = None
) -> tuple[Ints, Floats | None, Sequence[str] | None]:
    """Return merges with nodes numbered as in a tree, in the order of the text, their heights, and the names of the leaves."""
    leaf_id, kept_names = _leaf_numbering(parsed.names, names)
    n = len(parsed.names)
    merges = np.array(parsed.merges, dtype=np.int64).reshape(-1, 2)
    merges = np.where(merges < 0, n - 1 - merges, leaf_id[np.maximum(merges, 0)])
    if parsed.heights is None:
        return merges, None, kept_names
    return merges, lifted_heights(merges, np.maximum(parsed.heights, 0.0)), kept_names


def _leaf_numbering(found: list[str], wanted: Sequence[str] | None) -> tuple[Ints, Sequence[str] | None]:
    """Return the leaf number of each name in order of appearance, and the names by leaf number, None if these are equal."""
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

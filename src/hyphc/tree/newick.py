"""Newick text ↔ merges, iteratively: nesting a million deep is read and written like any other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_TOKEN = re.compile(r"\s+|\[[^\]]*\]|(?P<quoted>'(?:[^']|'')*')|(?P<mark>[(),:;])|(?P<word>[^\s()\[\]:;,']+)")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9.+\-|/]+")


class ParsedNewick(NamedTuple):
    """Merges over leaves 0 … n − 1 in order of appearance; merge t is node −1 − t. ``heights`` is None without branch lengths."""

    names: list[str]
    merges: list[tuple[int, int]]
    heights: list[float] | None


def quote(name: str) -> str:
    """The name as Newick writes it: bare when that is safe, else in single quotes with inner quotes doubled."""
    return name if _PLAIN_NAME.fullmatch(name) else "'" + name.replace("'", "''") + "'"


def write(children: list[list[int]], heights: list[float] | None, names: Sequence[str]) -> str:
    """Newick text of merges in order (leaves 0 … n − 1, merge t is node n + t); branch lengths when heights are given."""
    n = len(names)
    parts: list[str] = []
    # An entry is a node still to write, or text: what follows a subtree waits on the stack below it.
    stack: list[tuple[int, float] | str] = [(2 * n - 2, -1.0)]
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
        else:
            left, right = children[node - n]
            parts.append("(")
            stack += [")" + length, (right, height), ",", (left, height)]
    return "".join(parts) + ";"


class _Reader:
    """Builds merges while the text is read; a finished subtree is (node, height above its leaves)."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.merges: list[tuple[int, int]] = []
        self.heights: list[float] = []
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
        if self.current is None:  # otherwise the name is an inner node's label, which a Tree does not keep
            self.current = (len(self.names), 0.0)
            self.names.append(name)

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
            node = -len(self.merges)
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
        return ParsedNewick(self.names, self.merges, self.heights if self.any_length else None)


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

"""``hyphc compare``: two trees of the same leaves."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from .._runtime.sanitize import truncate, visible
from ..io.trees import read_tree, row_numbers
from ..tree import Tree
from ..tree.compare import Difference, compare, matched
from .pictures import require_picture, save_figure

DRAWN_UP_TO = 5_000  # leaves: lines of more are a solid block
_NAMED = 4  # leaves of a cluster that are called by name


def run_compare(arguments: argparse.Namespace) -> None:
    """Print how much two trees have in common; draw them if requested."""
    if arguments.output is not None:
        require_picture(arguments.output)
    tree, other = read_tree(arguments.tree), read_tree(arguments.other)
    other = matched(tree, other)
    found = compare(tree, other, n_differences=arguments.differences)
    how = "by name" if tree.names is not None and other.names is not None else "by order"
    print(f"{arguments.tree} and {arguments.other}: {tree.n_leaves} leaves, matched {how}\n")
    print(found)
    _print_differences(arguments.tree, tree, found.only_in_first)
    _print_differences(arguments.other, other, found.only_in_second)
    if arguments.output is not None:
        _draw(tree, other, arguments.output, (Path(arguments.tree).name, Path(arguments.other).name))
        print(f"\nwrote {arguments.output}")


def _print_differences(source: str, tree: Tree, differences: Sequence[Difference]) -> None:
    if not differences:
        return
    print(f"\nlargest clusters only in {source}")
    for one in differences:
        print(f"  {one.size:>6} leaves, {one.moves:>5} would have to move: {_some_leaves(tree, one.node)}")


def _some_leaves(tree: Tree, node: int) -> str:
    begin, size = int(tree._first[node]), int(tree.sizes[node])
    leaves = tree.leaf_order()[begin : begin + min(size, _NAMED)].tolist()
    called = [str(leaf + 1) if tree.names is None else tree.names[leaf] for leaf in leaves]
    return visible(truncate(", ".join(called))) + (", …" if size > _NAMED else "")


def _draw(tree: Tree, other: Tree, path: Path, titles: tuple[str, str]) -> None:
    if tree.n_leaves > DRAWN_UP_TO:
        raise ValueError(f"{tree.n_leaves} leaves are too many to draw face to face; leave out --output.")
    from matplotlib.figure import Figure  # without pyplot: no display, no state

    from .. import plot

    names = tree.names or row_numbers(tree.n_leaves)  # as the lists above count
    figure = Figure(figsize=(9, min(14.0, max(4.0, 0.14 * tree.n_leaves))), layout="constrained")
    plot.tanglegram(tree, other, names=names, titles=titles, mark_differences=True, ax=figure.subplots())
    save_figure(figure, path)

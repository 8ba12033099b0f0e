"""``hyphc cut``, ``hyphc convert`` and ``hyphc compare``: operations on tree files without their data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._runtime.arrays import Ints
from .._runtime.atomic_write import atomic_write
from .._runtime.sanitize import truncate, visible
from ..io.trees import read_tree, require_tree_suffix, row_numbers, write_tree
from ..tree import Tree
from ..tree.compare import Difference, compare, matched
from ..tree.prunings import CONDENSED, own_clusters
from .outputs import format_csv, format_excel, require_table_suffix, require_writable_file

DRAWN_UP_TO = 5_000  # leaves: lines of more are a solid block
_NAMED = 4  # leaves of a cluster that are called by name


def run_cut(arguments: argparse.Namespace) -> None:
    """Write flat clusters as CSV, to standard output or a file."""
    _check_usage(arguments)
    if arguments.output is not None:
        require_writable_file(arguments.output)
        require_table_suffix(arguments.output)
    tree = read_tree(arguments.tree)
    require_weights(tree, arguments)
    clusters = _chosen_clusters(tree, arguments)
    text = format_csv(clusters, tree.names)
    if arguments.output is None:
        sys.stdout.write(text)
        return
    with atomic_write(arguments.output) as file:
        sheet = arguments.output.suffix.lower() == ".xlsx"
        file.write(format_excel(clusters, tree.names) if sheet else text.encode())
    print(f"wrote {arguments.output}: {int(clusters.max()) + 1} clusters of {tree.n_leaves} leaves")


def _check_usage(arguments: argparse.Namespace) -> None:
    """Exit with a usage error for options that only apply to a number of clusters."""
    for option, value in (("--height", arguments.height), ("--max-size", arguments.max_size)):
        if value is not None and arguments.criterion is not None:
            arguments.parser.error(f"--criterion is about a number of clusters; leave out {option}")
        if value is not None and arguments.min_size is not None:
            arguments.parser.error(f"--min-size is about a number of clusters; leave out {option}")


def require_weights(tree: Tree, arguments: argparse.Namespace) -> None:
    """Raise if the tree lacks the weights that the criterion needs."""
    if tree.split_weights is None and arguments.criterion not in (None, CONDENSED, "height"):
        raise ValueError(
            f"{arguments.tree} holds no split weights, which --criterion {arguments.criterion} needs; give the tree.npz or "
            "tree.json that hyphc fit writes."
        )


def _chosen_clusters(tree: Tree, arguments: argparse.Namespace) -> Ints:
    """Return the requested clusters, or the tree's own where no number, height or size is given."""
    names = ("n_clusters", "criterion", "min_size", "height", "max_size")
    options = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if options.keys() & {"n_clusters", "height", "max_size"}:
        return tree.cut(**options)
    clusters = own_clusters(tree, arguments.criterion or CONDENSED, arguments.min_size)
    k = len(clusters.nodes)
    why = "where the heights jump most" if tree._n_clusters is None else "as when the tree was fitted"
    print(f"hyphc: cut {why}, into {k} cluster{'s' * (k != 1)}", file=sys.stderr)
    return clusters.labels


def run_convert(arguments: argparse.Namespace) -> None:
    """Convert a tree from one format to another."""
    require_tree_suffix(arguments.output)
    require_writable_file(arguments.output)
    tree = read_tree(arguments.tree)
    write_tree(tree, arguments.output)
    suffix = arguments.output.suffix.lower()
    lost = ["the names"] if tree.names is not None and suffix == ".npy" else []
    lost += ["the split weights"] if tree.split_weights is not None and suffix not in (".npz", ".json") else []
    without = f" without {' and '.join(lost)}, for which the format has no place" if lost else ""
    print(f"wrote {arguments.output}: {tree.n_leaves} leaves{without}")


def run_compare(arguments: argparse.Namespace) -> None:
    """Print how much two trees have in common; draw them if requested."""
    if arguments.output is not None:
        from ..plot import save_figure
        from .pictures import require_pictures  # loads more than the other commands here need

        require_pictures([arguments.output])
    tree, other = read_tree(arguments.tree), read_tree(arguments.other)
    other = matched(tree, other)
    found = compare(tree, other, n_differences=arguments.differences)
    how = "by name" if tree.names is not None and other.names is not None else "by order"
    print(f"{arguments.tree} and {arguments.other}: {tree.n_leaves} leaves, matched {how}\n")
    print(found)
    _print_differences(arguments.tree, tree, found.only_in_first)
    _print_differences(arguments.other, other, found.only_in_second)
    if arguments.output is not None:
        figure = _draw(tree, other, (Path(arguments.tree).name, Path(arguments.other).name))
        save_figure(figure, arguments.output)
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


def _draw(tree: Tree, other: Tree, titles: tuple[str, str]) -> Any:
    if tree.n_leaves > DRAWN_UP_TO:
        raise ValueError(f"{tree.n_leaves} leaves are too many to draw face to face; leave out --output.")
    from matplotlib.figure import Figure  # without pyplot: no display, no state

    from .. import plot

    names = tree.names or row_numbers(tree.n_leaves)  # as the lists above count
    figure = Figure(figsize=(9, min(14.0, max(4.0, 0.14 * tree.n_leaves))), layout="constrained")
    plot.tanglegram(tree, other, names=names, titles=titles, mark_differences=True, ax=figure.subplots())
    return figure

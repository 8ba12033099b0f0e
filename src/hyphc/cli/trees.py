"""``hyphc cut`` and ``hyphc convert``: operations on a tree file without its data."""

from __future__ import annotations

import argparse
import sys

from .._runtime.arrays import Ints
from .._runtime.atomic_write import atomic_write
from ..io.trees import read_tree, require_tree_suffix, write_tree
from ..tree import Tree
from ..tree.prunings import CONDENSED, own_clusters
from .outputs import format_csv, format_excel, require_table_suffix, require_writable_file


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

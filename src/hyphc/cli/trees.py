"""``hyphc score``, ``hyphc cut`` and ``hyphc convert``: what can be done with a tree in a file."""

from __future__ import annotations

import argparse
import sys

from .._shared.files import replaced_atomically
from ..io import read_tree, require_tree_suffix, write_tree
from .common import check_usage, clusters_csv, print_notes, read_data, require_writable_file, similarity_of, tree_for


def run_score(arguments: argparse.Namespace) -> None:
    """Print what a tree costs and how far from the best it can be."""
    # it loads scikit-learn, for which the other commands need not wait
    from .report import print_rows, score, score_rows

    check_usage(arguments)
    points = read_data(arguments, arguments.data)
    tree, how = tree_for(arguments.tree, points)
    similarity, what = similarity_of(points, arguments)
    print_notes(points, what)
    print(f"{arguments.tree}: {tree.n_leaves} leaves, matched to the data {how}\n")
    print_rows(score_rows(score(tree, similarity, points.labels, arguments.seed)))


def run_cut(arguments: argparse.Namespace) -> None:
    """Flat clusters as CSV, to standard output or a file."""
    if arguments.output is not None:
        require_writable_file(arguments.output)
    tree = read_tree(arguments.tree)
    n_clusters = arguments.n_clusters
    if n_clusters is None and arguments.height is None and arguments.max_size is None:
        from ..tree.cut import automatic_n_clusters

        n_clusters = automatic_n_clusters(tree)
        print(f"hyphc: cut where the heights jump most, into {n_clusters} clusters", file=sys.stderr)
    clusters = tree.cut(n_clusters, height=arguments.height, max_size=arguments.max_size)
    text = clusters_csv(clusters, tree.names)
    if arguments.output is None:
        sys.stdout.write(text)
        return
    with replaced_atomically(arguments.output) as file:
        file.write(text.encode())
    print(f"wrote {arguments.output}: {int(clusters.max()) + 1} clusters of {tree.n_leaves} leaves")


def run_convert(arguments: argparse.Namespace) -> None:
    """A tree from one format to another."""
    require_tree_suffix(arguments.output)
    require_writable_file(arguments.output)
    tree = read_tree(arguments.tree)
    write_tree(tree, arguments.output)
    loses_names = tree.names is not None and arguments.output.suffix.lower() == ".npy"
    lost = " without the names, for which a linkage matrix has no place" if loses_names else ""
    print(f"wrote {arguments.output}: {tree.n_leaves} leaves{lost}")

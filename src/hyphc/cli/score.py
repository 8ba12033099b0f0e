"""``hyphc score``: cost of a tree and its certified gap to the optimum."""

from __future__ import annotations

import argparse

from .common import build_similarity, check_usage, print_notes, read_data, tree_for
from .report import print_rows, score, score_rows


def run_score(arguments: argparse.Namespace) -> None:
    """Print the cost of a tree and its certified gap to the optimum."""
    check_usage(arguments)
    points = read_data(arguments, arguments.data)
    tree, how = tree_for(arguments.tree, points)
    similarity, notes = build_similarity(points, arguments)
    print_notes(points, notes)
    print(f"{arguments.tree}: {tree.n_leaves} leaves, matched to the data {how}\n")
    print_rows(score_rows(score(tree, similarity, points.labels, arguments.seed, arguments.effort)))

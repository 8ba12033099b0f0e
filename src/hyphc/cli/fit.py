"""``hyphc fit``: from a file to a folder with the tree, its clusters, its pictures and a report."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..estimator import HypHC
from ..io import Points, write_tree
from ..similarity import Similarity
from ..stability import Support
from ..tree import Tree
from .annotated import check_annotated, write_annotated
from .common import check_usage, leaf_names, print_note, print_notes, read_data, similarity_of
from .fit_by_parts import run_fit_by_parts
from .outputs import clusters_csv, require_writable_folder
from .pictures import PLOT_REMEDY, can_plot, draw, write_explorer
from .report import (
    FlatClusters,
    agreement_rows,
    compare,
    comparison_row,
    how_many,
    markdown_report,
    print_rows,
    score,
    score_rows,
)
from .support import support_row, supported

INTERRUPTED = 130
_TREE_FILES = {
    "tree.npz": "the tree, for hyphc.Tree.load and the other commands",
    "tree.nwk": "the tree as Newick",
    "tree.json": "the tree as JSON",
    "linkage.npy": "the tree as SciPy's linkage matrix",
}


def run_fit(arguments: argparse.Namespace) -> int | None:
    """Read, fit, score and write; the exit code."""
    check_usage(arguments)
    if arguments.resample is not None and arguments.support is None:
        arguments.parser.error("--resample is about --support; say how many refits, for instance --support 100")
    folder = arguments.output or Path(_default_folder(arguments.file))
    require_writable_folder(folder)
    check_annotated(arguments)
    if arguments.scheduler or arguments.workers or arguments.memory:
        folder.mkdir(parents=True, exist_ok=True)
        run_fit_by_parts(arguments, folder)
        return None
    points = read_data(arguments, arguments.file)
    _check_clusters(arguments, points.n)
    similarity, notes = similarity_of(points, arguments)
    print_notes(points, notes)
    model = _fitted(arguments, similarity)
    told = replace(model.plan_, rows="")  # the notes have said it
    plan, clusters = f"plan: {told}", how_many(model)
    print_note(plan)
    print_note(f"clusters: {clusters}")
    sure = (
        supported(arguments, model.tree_, points, similarity) if arguments.support and not model.interrupted_ else None
    )
    tree = model.tree_.with_names(leaf_names(points))
    tree = tree if sure is None else tree.with_support(sure.transfer)
    result = score(tree, similarity, points.labels, arguments.seed, arguments.effort)
    rows = [*score_rows(result), *agreement_rows(model.labels_, points.labels)]
    rows += [comparison_row(result.cost, compare(similarity, points.labels))]
    rows += [] if sure is None else [support_row(sure, model.n_clusters_, model.criterion, model.min_size)]
    print()
    print_rows(rows)
    with _staged(folder) as stage:
        files = _write_trees(stage, tree) + _write_pictures(stage, tree, model, points)
        files += [_write_clusters(stage / "clusters.csv", points, model, sure)]
        facts = [f"{points.n} {'nodes' if points.kind == 'graph' else 'rows'}", *points.notes, *notes, plan]
        facts += ["interrupted: this is the best tree found until then"] if model.interrupted_ else []
        title = f"A tree of {points.source}"
        flat = FlatClusters(model.labels_, clusters, points.labels)
        report = markdown_report(title, facts, rows, flat, files, arguments.command_line)
        (stage / "report.md").write_text(report, encoding="utf-8")
    write_annotated(arguments, model, tree)
    print(f"\nwrote {folder}: {', '.join(name for name, _ in files)}, report.md")
    print(f"open {folder / 'explorer.html'} in a browser; {folder / 'report.md'} sums it up")
    if model.interrupted_:
        print("hyphc: interrupted; the best tree found until then was written.", file=sys.stderr)
        return INTERRUPTED
    return None


def _check_clusters(arguments: argparse.Namespace, n: int) -> None:
    """Tell before the work of clusters that no tree of n leaves has."""
    k, least = arguments.n_clusters, arguments.min_size or 1
    if k is not None and k > n:
        raise ValueError(f"--n-clusters {k} is more than the {n} rows; give at most {n}.")
    if least * (k or 1) > n:
        clusters = f"{k or 1} cluster{'s' * ((k or 1) > 1)}"
        raise ValueError(f"--min-size {least} is too large for {clusters} of {n} rows; give at most {n // (k or 1)}.")


def _fitted(arguments: argparse.Namespace, similarity: Similarity) -> HypHC:
    verbose = int(sys.stderr.isatty())
    model = HypHC(
        arguments.n_clusters,
        criterion=arguments.criterion or "dasgupta",
        min_size=arguments.min_size or 1,
        effort=arguments.effort,
        time_budget=arguments.time_budget,
        random_state=arguments.seed,
        verbose=verbose,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Interrupted")  # run_fit says so in its own words
        return model.fit(similarity)


def _default_folder(file: str) -> str:
    return "hyphc-output" if file == "-" else f"{Path(file).stem}-hyphc"


@contextmanager
def _staged(folder: Path) -> Iterator[Path]:
    """A hidden folder next to ``folder``, whose files move there when the block ends well; otherwise nothing is left."""
    made = [parent for parent in (folder.parent, *folder.parent.parents) if not parent.exists()]
    folder.parent.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        yield stage
        folder.mkdir(exist_ok=True)
        for file in sorted(stage.iterdir()):
            os.replace(file, folder / file.name)
        made.clear()
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        for parent in made:
            parent.rmdir()


def _write_trees(stage: Path, tree: Tree) -> list[tuple[str, str]]:
    for name in _TREE_FILES:
        write_tree(tree, stage / name)
    return list(_TREE_FILES.items())


def _write_pictures(stage: Path, tree: Tree, model: HypHC, points: Points) -> list[tuple[str, str]]:
    """The picture, left out with the reason where it cannot be drawn, and the explorer."""
    files = []
    labels = None if points.labels is None else np.asarray(points.labels)
    if can_plot():
        draw(tree, stage / "tree.png", labels=labels, clusters=model.labels_, embedding=model.embedding_)
        files.append(("tree.png", "a picture of it"))
    else:
        print(f"\ntree.png was left out: {PLOT_REMEDY}")
    write_explorer(
        tree,
        stage / "explorer.html",
        points,
        embedding=model.embedding_,
        similarity=model.similarity_,
        criterion=model.criterion,
        min_size=model.min_size,
    )
    return [*files, ("explorer.html", "a page to explore it in a browser")]


def _write_clusters(path: Path, points: Points, model: HypHC, sure: Support | None) -> tuple[str, str]:
    clusters, support = model.labels_, None
    if sure is not None:
        nodes = model.tree_.clusters(model.n_clusters_, criterion=model.criterion, min_size=model.min_size)
        support = sure.of_nodes(nodes)[clusters]
    text = clusters_csv(clusters, points.names, points.labels, support, points.rows)
    path.write_text(text, encoding="utf-8", newline="")
    about = "" if sure is None else ", and how sure that cluster is"
    return path.name, f"the flat cluster of each row, numbered from 0{about}"

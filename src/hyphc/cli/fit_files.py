"""Assessment and output files of ``hyphc fit``: all of them, or the tree alone where time or memory is short."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._runtime.arrays import Ints
from .._runtime.user_warnings import collect_warnings
from ..estimator import HypHC
from ..fit.constraints import Constraints
from ..io import Points, write_tree
from ..io.h5ad import KEY, write_h5ad
from ..io.points import numeric_columns
from ..scores.describe import describe
from ..similarity import Similarity, standardize
from ..stability import Resample, Support, support
from ..tree import Tree
from . import report
from .common import auto_parameters, leaf_names
from .differences import cluster_differences
from .outputs import format_csv, print_warning, require_suffix, require_writable_file, staging_folder
from .pictures import PLOT_REMEDY, Look, as_classes, can_plot, column_label, draw, draw_clustermap, write_explorer

STABLE = 0.8  # transfer support from which on the report calls a cluster stable
_WAYS: dict[str, Resample] = {"features": "columns", "graph": "edges"}
Rows = list[tuple[str, str, str]]
_TREE_FILES = {
    "tree.npz": "the tree, for hyphc.Tree.load and the other commands",
    "tree.nwk": "the tree as Newick",
    "tree.json": "the tree as JSON",
    "linkage.npy": "the tree as SciPy's linkage matrix",
}


@dataclass(frozen=True)
class Fitted:
    """A fitted model, its command-line options, and the notes printed so far."""

    arguments: argparse.Namespace
    points: Points
    notes: tuple[str, ...]
    plan: str
    model: HypHC
    beside: dict[str, Any]  # annotations
    known: Constraints | None = None

    def tree(self, sure: Support | None = None) -> Tree:
        """Return the tree with names, and with support if it was computed."""
        tree = self.model.tree_.with_names(leaf_names(self.points))
        return tree if sure is None else tree.with_support(sure.transfer)


@dataclass(frozen=True)
class Assessment:
    """Quality of the tree as rows of a table, and the support of its clusters."""

    rows: Rows
    sure: Support | None = None


def assess(fitted: Fitted, similarity: Similarity) -> Assessment:
    """Compute support if requested, certificate and comparison: all that may take as long as a fit."""
    arguments, model, points = fitted.arguments, fitted.model, fitted.points
    sure = compute_support(fitted, similarity) if arguments.support else None
    result = report.score(fitted.tree(sure), similarity, points.labels, arguments.seed, arguments.effort)
    rows = [*report.score_rows(result), *report.agreement_rows(model.labels_, points.labels)]
    rows += [report.comparison_row(result.cost, report.compare(similarity, points.labels))]
    if sure is not None:
        nodes = _cluster_nodes(model)
        stable = f"{sure.n_stable(nodes, STABLE)} of {len(nodes)}"
        rows += [("stable", stable, f"flat clusters with a transfer support of at least {STABLE}; {sure}")]
    return Assessment(rows, sure)


def compute_support(fitted: Fitted, similarity: Similarity) -> Support:
    """Return the support of the tree's clusters, resampled as requested or as fits the data, under the constraints."""
    arguments, points = fitted.arguments, fitted.points
    data, parameters = _fit_arguments(arguments, points, similarity)
    with collect_warnings(lambda message: None):  # an interrupt is reported by the number of refits
        return support(
            fitted.model.tree_,
            data,
            resample=arguments.resample or _WAYS.get(points.kind, "rows"),
            n_resamples=arguments.support,
            random_state=arguments.seed,
            n_jobs=-1,
            verbose=int(sys.stderr.isatty()),
            effort=arguments.effort,
            constraints=fitted.known,
            **parameters,
        )


def _fit_arguments(arguments: argparse.Namespace, points: Points, similarity: Similarity) -> tuple[Any, dict[str, Any]]:
    """Return the arguments of HypHC for the same fit: rows with the metric's settings, or the similarity itself."""
    if points.kind != "features":
        return similarity, {}
    if (arguments.metric or "auto") == "auto":
        return points.data, auto_parameters(arguments)
    rows = standardize(points.data) if arguments.standardize else points.data
    return rows, {"metric": arguments.metric, "n_neighbors": arguments.n_neighbors}


def assess_cost(fitted: Fitted) -> Assessment:
    """Return the cost alone."""
    model, labels = fitted.model, fitted.points.labels
    left_out = ("gap", "left out", "hyphc score makes up for it")
    return Assessment([*report.cost_rows(model.cost_), left_out, *report.agreement_rows(model.labels_, labels)])


def write_tree_alone(fitted: Fitted, folder: Path) -> None:
    """Write the tree and its clusters."""
    with staging_folder(folder) as stage:
        _write_trees(stage, fitted.tree())
        _write_clusters(stage / "clusters.csv", fitted.points, fitted.model, None)


def write_all(fitted: Fitted, assessment: Assessment, folder: Path) -> list[str]:
    """Write tree, plots, clusters and report; return the names of the files."""
    points, model, arguments = fitted.points, fitted.model, fitted.arguments
    tree = fitted.tree(assessment.sure)
    with staging_folder(folder) as stage:
        files = _write_trees(stage, tree) + _write_pictures(stage, tree, fitted)
        named = _cluster_names(fitted, tree)
        files += [_write_clusters(stage / "clusters.csv", points, model, assessment.sure, named)]
        differ = cluster_differences(tree, points, _cluster_nodes(model).tolist())
        if differ is not None:
            (stage / "differences.csv").write_text(differ.csv(), encoding="utf-8", newline="")
            files += [("differences.csv", "the columns by which clusters, and the parts of splits, differ most")]
        about = [f"{points.n} {'nodes' if points.kind == 'graph' else 'rows'}", *fitted.notes, fitted.plan]
        about += ["interrupted: this is the best tree found until then"] if model.interrupted_ else []
        flat = report.FlatClusters(
            model.labels_,
            f"{report.describe_cluster_number(model)}{report.describe_joined(model)}",
            points.labels,
            differ,
            named,
        )
        title, command = f"A tree of {points.source}", arguments.command_line
        text = report.markdown_report(title, about, assessment.rows, flat, files, command)
        (stage / "report.md").write_text(text, encoding="utf-8")
    if arguments.h5ad is not None:
        facts = {"cost": model.cost_, "n_clusters": model.n_clusters_, "command": arguments.command_line}
        write_h5ad(arguments.h5ad, arguments.file, model.labels_, tree, facts)
        print(f"\nwrote {arguments.h5ad}: clusters in obs[{KEY!r}], the tree as linkage in uns[{KEY!r}]")
    return [*(name for name, _ in files), "report.md"]


def _write_trees(stage: Path, tree: Tree) -> list[tuple[str, str]]:
    for name in _TREE_FILES:
        write_tree(tree, stage / name)
    return list(_TREE_FILES.items())


def _write_pictures(stage: Path, tree: Tree, fitted: Fitted) -> list[tuple[str, str]]:
    """Write the plots, or a note with the reason where they cannot be drawn, and the explorer."""
    files, model, points = [], fitted.model, fitted.points
    label_name = column_label(fitted.arguments.labels or "label")
    groups = None if points.labels is None else as_classes(points.labels)
    look = Look(points.source, model.labels_, groups, label_name)
    if can_plot():
        draw(tree, stage / "tree.png", look, embedding=model.embedding_)
        files.append(("tree.png", "a picture of it"))
        if numeric_columns(points) is not None:
            draw_clustermap(tree, stage / "clustermap.png", look, points, fitted.beside)
            files.append(("clustermap.png", "the table beside the tree"))
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
        annotations=fitted.beside,
        label_name=label_name,
    )
    return [*files, ("explorer.html", "a page to explore it in a browser")]


def _cluster_nodes(model: HypHC) -> Ints:
    """Return the nodes of the flat clusters, in the order of the labels."""
    return model._clusters_.nodes


def _cluster_names(fitted: Fitted, tree: Tree) -> tuple[str, ...] | None:
    """Return the names of the flat clusters by the texts of their rows; None without texts, or without words in them."""
    texts = fitted.points.known.get("texts")
    if texts is None:
        return None
    nodes = _cluster_nodes(fitted.model)
    try:
        names = describe(tree, texts=texts, min_size=max(2.0, float(tree.sizes[nodes].min()))).names
    except ValueError as error:  # the fit is done: its results are written without names
        print_warning(f"--texts {fitted.arguments.texts}: {error}")
        return None
    return tuple(names[node] for node in nodes.tolist())


def _write_clusters(
    path: Path, points: Points, model: HypHC, sure: Support | None, named: tuple[str, ...] | None = None
) -> tuple[str, str]:
    clusters, support = model.labels_, None
    if sure is not None:
        support = np.append(sure.of_nodes(_cluster_nodes(model)), np.nan)[clusters]  # the last for outliers, −1
    firmness = {"probability": model.probabilities_, "outlier_score": model.outlier_scores_}
    text = format_csv(clusters, points.names, points.labels, support, points.rows, named, **firmness)
    path.write_text(text, encoding="utf-8", newline="")
    about = "" if sure is None else ", how sure that cluster is"
    return path.name, f"the flat cluster of each row, numbered from 0{about}, and how firmly the row belongs to it"


def check_h5ad(arguments: argparse.Namespace) -> None:
    """Exit or raise before the fit if the copy of an AnnData file cannot be written."""
    if not arguments.file.lower().endswith(".h5ad"):
        arguments.parser.error("--h5ad writes a copy of an AnnData FILE, which ends in .h5ad")
    if arguments.drop_missing or arguments.transpose:
        arguments.parser.error("--h5ad has a place for each row of FILE; leave out --drop-missing and --transpose")
    require_suffix(arguments.h5ad, ".h5ad")
    require_writable_file(arguments.h5ad)

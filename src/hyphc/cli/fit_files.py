"""Assessment and output files of ``hyphc fit``: all of them, or the tree alone where time or memory is short."""

from __future__ import annotations

import argparse
import sys
from copy import copy
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .._runtime.arrays import Ints
from .._runtime.palette import MISSING, cluster_colors
from .._runtime.user_warnings import collect_warnings
from ..bootstrap_support import Resample, Support, support
from ..estimator import HypHC
from ..fit.constraints import Constraints
from ..io import Points, write_tree
from ..io.h5ad import KEY, write_h5ad
from ..io.points import numeric_columns
from ..io.trees import row_numbers
from ..scores.describe import LEAST_SHARE, Descriptions, describe
from ..similarity import Similarity, standardize
from ..similarity.scaling import standardization
from ..tree import Tree
from ..tree.web_formats import itol_color_strip
from . import report
from .common import auto_parameters, leaf_names
from .differences import cluster_differences
from .outputs import format_csv, print_warning, require_suffix, require_writable_file, staging_folder
from .pictures import (
    DISK_UP_TO,
    PLOT_REMEDY,
    Look,
    as_classes,
    can_plot,
    cluster_names,
    column_label,
    describe_columns,
    draw,
    draw_clustermap,
    picture_paths,
    style_of,
    write_explorer,
)

STABLE = 0.8  # transfer support from which on the report calls a cluster stable
_WAYS: dict[str, Resample] = {"features": "columns", "graph": "edges"}
Rows = list[tuple[str, str, str]]
MODEL = "model.npz"
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
    rows += report.association_rows(model.labels_, fitted.beside, arguments.seed)
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
        described = _describe_groups(fitted, tree)
        files = _write_trees(stage, tree) + _write_pictures(stage, tree, fitted, described)
        nodes = _cluster_nodes(model).tolist()
        named = None if described is None or len(nodes) < 2 else cluster_names(described, nodes)
        files += [_write_clusters(stage / "clusters.csv", points, model, assessment.sure, named)]
        differ = cluster_differences(tree, points, nodes)
        files += [_write_model(stage, fitted, named), *_write_exchange(stage, tree, fitted)]
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


def _write_pictures(stage: Path, tree: Tree, fitted: Fitted, described: Descriptions | None) -> list[tuple[str, str]]:
    """Write the plots, or a note with the reason where they cannot be drawn, and the explorer."""
    files, model, points = [], fitted.model, fitted.points
    label_name = column_label(fitted.arguments.labels or "label")
    groups = None if points.labels is None else as_classes(points.labels)
    look = Look(points.source, model.labels_, groups, label_name)
    if can_plot():
        with style_of(fitted.arguments), collect_warnings(print_warning):
            files += _draw_all(stage, tree, fitted, look, described)
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
        outliers=model.outliers,
        cluster_number=model.cluster_number_,
        annotations=fitted.beside,
        label_name=label_name,
        names=described,
    )
    return [*files, ("explorer.html", "a page to explore it in a browser")]


def _write_model(stage: Path, fitted: Fitted, named: tuple[str, ...] | None) -> tuple[str, str]:
    """Write the model as if it had been fitted in Python to the table: with its metric, the columns, and their scaling."""
    arguments, points, model = fitted.arguments, fitted.points, copy(fitted.model)
    model.set_params(checkpoint=None, verbose=0)  # of this run alone
    if points.kind == "features":
        model.set_params(**_fit_arguments(arguments, points, model.similarity_)[1])
        if arguments.standardize and (arguments.metric or "auto") != "auto":
            model._column_scaling_ = standardization(points.data)
        columns = points.columns
    else:
        metric = "precomputed_distances" if points.kind == "distances" else "precomputed"
        model.set_params(metric=metric, directed=arguments.directed)
        columns = None if points.kind == "graph" else leaf_names(points)
    model.n_features_in_ = points.data.shape[1]
    if columns is not None:
        model.feature_names_in_ = np.array(columns, dtype=object)
    model._other_columns_ = tuple(name for name in points.header or () if name not in (columns or ()))
    model.tree_, model._cluster_names_ = fitted.tree(), named
    model.save(stage / MODEL)
    return MODEL, "the model, for hyphc predict and hyphc.HypHC.load"


def _write_exchange(stage: Path, tree: Tree, fitted: Fitted) -> list[tuple[str, str]]:
    """Write the tree for d3, its clusters for iTOL, and a graph with its communities for Gephi."""
    names, labels = tree.names or row_numbers(tree.n_leaves), fitted.model.labels_
    (stage / "tree.d3.json").write_text(tree.to_d3(names) + "\n", encoding="utf-8")
    palette = np.rint(255 * np.vstack([cluster_colors(fitted.model.n_clusters_), [MISSING] * 3])).astype(int)
    colours = ["#{:02x}{:02x}{:02x}".format(*palette[k]) for k in labels.tolist()]  # the last for outliers, −1
    strip = itol_color_strip(names, [f"cluster {k}" for k in labels.tolist()], colours, "clusters")
    (stage / "itol_clusters.txt").write_text(strip, encoding="utf-8")
    files = [
        ("tree.d3.json", "the tree as nested JSON, for d3"),
        ("itol_clusters.txt", "clusters for iTOL, beside tree.nwk"),
    ]
    if fitted.points.kind != "graph" or find_spec("networkx") is None:
        return files
    import networkx

    graph = replace_model(fitted.model, tree).to_networkx()
    networkx.write_gexf(graph, stage / "graph.gexf")
    labels_of = dict(graph.nodes(data="label"))  # networkx writes what nodes are called as their label in GML
    is_unique = len(set(labels_of.values())) == len(graph)
    networkx.write_gml(networkx.relabel_nodes(graph, labels_of) if is_unique else graph, stage / "graph.gml")
    about = "the graph with clusters and nested communities as attributes of nodes"
    return [*files, ("graph.gexf", f"{about}, for Gephi"), ("graph.gml", about)]


def replace_model(model: HypHC, tree: Tree) -> HypHC:
    """Return the model with its tree under the names of the file."""
    named = copy(model)
    named.tree_ = tree
    return named


def _draw_all(
    stage: Path, tree: Tree, fitted: Fitted, look: Look, described: Descriptions | None
) -> list[tuple[str, str]]:
    """Draw the dendrogram, the disk and the table, each on a sheet of its own, in the formats wanted."""
    from ..plot.common import MOST_NAMES

    model, points, formats = fitted.model, fitted.points, fitted.arguments.format or ("png",)
    files: list[tuple[str, str]] = []

    def paths_of(name: str, about: str) -> list[Path]:
        paths = picture_paths(stage / name, formats)
        files.extend((path.name, about) for path in paths)
        return paths

    names = described if tree.n_leaves > MOST_NAMES else None
    draw(tree, paths_of("tree", "a picture of it"), look, names=names)
    if tree.n_leaves <= DISK_UP_TO:
        paths = paths_of("disk", "the same in the Poincaré disk")
        draw(tree, paths, look, embedding=model.embedding_, kind="disk", names=names)
    if numeric_columns(points) is not None:
        draw_clustermap(tree, paths_of("clustermap", "the table beside the tree"), look, points, fitted.beside)
    return files


def _cluster_nodes(model: HypHC) -> Ints:
    """Return the nodes of the flat clusters, in the order of the labels."""
    return model._clusters_.nodes


def _describe_groups(fitted: Fitted, tree: Tree) -> Descriptions | None:
    """Return names of all groups, by the texts of their rows or by the columns of the table; None without either."""
    texts, n = fitted.points.known.get("texts"), float(tree._points[-1])
    smallest = float(tree._points[_cluster_nodes(fitted.model)].min())
    least = max(2.0, min(LEAST_SHARE * n, smallest))
    if texts is None:
        return describe_columns(tree, fitted.points, least)
    try:
        return describe(tree, texts=texts, min_size=least)
    except ValueError as error:  # the fit is done: its results are written without names
        print_warning(f"--texts {fitted.arguments.texts}: {error}")
        return None


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

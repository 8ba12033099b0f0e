"""Output files of an out-of-core fit: clusters of all rows, and the top of the tree as picture, page, Newick and report."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .._runtime.arrays import Ints
from .._runtime.lazy_import import require_package
from .._runtime.sanitize import cell, visible
from .._runtime.user_warnings import collect_warnings
from ..fit.flat_cut import FlatCut
from ..io.block_columns import BlockColumns
from ..io.trees import TREE_FILE, write_tree
from ..out_of_core.job import Job
from ..out_of_core.labels import load_labels, load_tree
from ..out_of_core.overview import Overview, make_overview
from ..out_of_core.records import FinishedTree
from ..out_of_core.row_sources import ParquetRows
from ..scores.describe import Descriptions, describe
from ..scores.differences import Difference, LeafMeans
from ..scores.group_differences import ALPHA, GroupDifferences, group_differences
from . import report
from .differences import TOP_COLUMNS, describe_difference, star_note
from .outputs import print_warning, staging_folder, write_csv
from .pictures import PLOT_REMEDY, Look, can_plot, cluster_names, draw, picture_paths, style_of
from .saved_fit import FIT, TOP, SavedFit, save_top
from .saved_fit import TOP_COLUMNS as TOP_COLUMN_FILE

ROWS_AT_ONCE = 1_000_000  # of clusters.csv, as text in memory
Files = list[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class FinishedFit:
    """A finished out-of-core fit and the options of its command."""

    arguments: argparse.Namespace
    chosen: BlockColumns
    job: Job
    cut: FlatCut
    notes: tuple[str, ...]

    @cached_property
    def labels(self) -> Ints:
        """The flat cluster of each row, −1 for outliers."""
        return np.array(load_labels(self.job, self.cut).labels)

    @cached_property
    def n_clusters(self) -> int:
        """The number of flat clusters."""
        return int(load_labels(self.job, self.cut).n_clusters)

    @cached_property
    def overview(self) -> Overview:
        """The top of the tree."""
        return make_overview(self.job, self.cut)

    @property
    def has_names(self) -> bool:
        """Whether the columns of the file have names."""
        return isinstance(self.chosen.rows, ParquetRows)

    @cached_property
    def features(self) -> LeafMeans:
        """Means of the columns in the groups of the top."""
        names = self.chosen.columns if self.has_names else tuple(f"column {name}" for name in self.chosen.columns)
        return self.overview.features(names)

    @cached_property
    def descriptions(self) -> Descriptions | None:
        """Names of the nodes of the top by the columns that set them apart; None for a single cluster."""
        tree, nodes = self.overview.tree, self.overview.nodes
        if len(nodes) < 2:
            return None
        least = max(2.0, float(tree._points[nodes].min()))
        return describe(tree, columns=self.features, min_size=least, n_words=2)

    @property
    def cluster_names(self) -> tuple[str, ...] | None:
        """Names of the flat clusters."""
        if self.descriptions is None:
            return None
        return cluster_names(self.descriptions, self.overview.nodes.tolist())

    def score_rows(self) -> list[tuple[str, str, str]]:
        """Return the cost, and the agreement of clusters with labels, as rows of a table."""
        rows = report.cost_rows(float(self.job.shard(FinishedTree).cost))
        rows += [("gap", "left out", "it needs all rows in memory")]
        if self.chosen.labels is not None:
            rows += [report.agreement_row(self.labels, self.chosen.label_codes())]
        return rows


@dataclass(frozen=True, eq=False)
class FromRest:
    """Columns by which the flat clusters differ from all other rows."""

    found: GroupDifferences
    sizes: Ints

    def describe(self) -> list[str]:
        """Describe each cluster by its most distinctive columns; an asterisk marks a significant difference."""
        most = [self.found.of(cluster)[:TOP_COLUMNS] for cluster in range(len(self.sizes))]
        return [", ".join(map(describe_difference, differences)) or "–" for differences in most]

    def note(self) -> str:
        """Return the meaning of the star."""
        return star_note(self.found.n_tests, ALPHA)

    def csv(self) -> str:
        """Return a row for each pair of a cluster and a column."""
        n, rows = int(self.sizes.sum()), []
        for cluster, size in enumerate(self.sizes.tolist()):
            for rank, found in enumerate(self.found.of(cluster), start=1):
                figures = [f"{value:.6g}" if isinstance(value, float) else value for value in found]
                rows.append(["cluster and rest", cluster, size, n - size, rank, *figures])
        return write_csv(["compared", "cluster", "rows", "other_rows", "rank", *Difference._fields], rows)


def write_folder(fit: FinishedFit, folder: Path) -> list[str]:
    """Write all files; return their names."""
    with staging_folder(folder) as stage:
        files = _write_tree(stage, fit)
        files += [_write_clusters(stage, fit)]
        np.save(stage / "labels.npy", fit.labels)
        files += [("labels.npy", "the same as an array")]
        differ = _differences(fit)
        if differ is not None:
            (stage / "differences.csv").write_text(differ.csv(), encoding="utf-8", newline="")
            files += [("differences.csv", "the columns by which clusters differ most from all other rows")]
        files += _write_pictures(stage, fit)
        others = _other_columns(fit.chosen)
        names = fit.chosen.columns if fit.has_names else None
        n_columns = (fit.chosen.all_rows or fit.chosen.rows).shape[1]
        SavedFit(fit.job, fit.cut, n_columns, names, others, fit.cluster_names).save(stage, folder)
        files += [(FIT, "the fit, for hyphc predict, which needs the checkpoint too")]
        (stage / "report.md").write_text(_report(fit, differ, files), encoding="utf-8")
    return [*(name for name, _ in files), "report.md"]


def _write_tree(stage: Path, fit: FinishedFit) -> Files:
    top, n_leaves = fit.overview.tree, fit.overview.tree.n_leaves
    load_tree(fit.job).with_n_clusters(fit.n_clusters).save(stage / TREE_FILE)
    save_top(stage, top, fit.features)
    write_tree(top, stage / "top.nwk")
    return [
        (TREE_FILE, "the tree of all rows, for hyphc.Tree.load and the other commands"),
        (TOP, f"the top of the tree: {n_leaves} groups of rows with their sizes"),
        (TOP_COLUMN_FILE, "means of the columns in these groups, for hyphc explore"),
        ("top.nwk", "the top of the tree as Newick, each group called by its first row"),
    ]


def _write_clusters(stage: Path, fit: FinishedFit) -> tuple[str, str]:
    """Write the cluster of each row: as Parquet if the rows are in Parquet, else as CSV."""
    about = "the flat cluster of each row, numbered from 0"
    labels, names = fit.labels, fit.cluster_names
    if isinstance(fit.chosen.rows, ParquetRows):
        pyarrow = require_package("pyarrow", "Parquet files", "dask")
        parquet = require_package("pyarrow.parquet", "Parquet files", "dask")
        columns: dict[str, Any] = {"row": np.arange(1, len(labels) + 1), "cluster": labels}
        if names is not None:
            codes = pyarrow.array(np.where(labels < 0, 0, labels), mask=labels < 0)
            columns["cluster_name"] = pyarrow.DictionaryArray.from_arrays(codes, pyarrow.array(names))
        parquet.write_table(pyarrow.table(columns), stage / "clusters.parquet")
        return "clusters.parquet", about
    with (stage / "clusters.csv").open("w", encoding="utf-8", newline="") as file:
        file.write("row,cluster\n" if names is None else "row,cluster,cluster_name\n")
        ends = _line_ends(names, fit.n_clusters)
        for start in range(0, len(labels), ROWS_AT_ONCE):
            block = enumerate(labels[start : start + ROWS_AT_ONCE].tolist(), start + 1)
            file.writelines(f"{row},{ends[cluster]}" for row, cluster in block)
    return "clusters.csv", about


def _line_ends(names: tuple[str, ...] | None, n_clusters: int) -> list[str]:
    """Return the rest of a line of ``clusters.csv`` after the row's number, for each cluster and for outliers, −1."""
    rows = [[str(cluster)] for cluster in (*range(n_clusters), -1)]
    if names is not None:
        rows = [[*row, cell(visible(name))] for row, name in zip(rows, (*names, ""), strict=True)]
    return [write_csv(row, []) for row in rows]


def _differences(fit: FinishedFit) -> FromRest | None:
    if fit.n_clusters < 2:
        return None
    moments = fit.overview.cluster_moments()
    found = group_differences(moments, moments.of_others(), fit.features.columns)
    return FromRest(found, np.bincount(fit.labels[fit.labels >= 0], minlength=fit.n_clusters))


def _write_pictures(stage: Path, fit: FinishedFit) -> Files:
    """Draw the top of the tree where that is possible, and write its page."""
    from ..explorer import explore

    overview, files, source = fit.overview, [], fit.arguments.file
    if can_plot():
        paths = picture_paths(stage / "tree", fit.arguments.format or ("png",))
        with style_of(fit.arguments), collect_warnings(print_warning):
            draw(overview.tree, paths, Look(Path(source).name, overview.clusters), names=fit.descriptions)
        files += [(path.name, "a picture of the top of the tree") for path in paths]
    else:
        print(f"\ntree.png was left out: {PLOT_REMEDY}")
    explore(
        overview.tree,
        stage / "explorer.html",
        features=fit.features,
        names=fit.descriptions,
        criterion=fit.cut.criterion,
        min_size=fit.cut.min_size,
        title=f"Tree of {source}",
        rows_from=1,
    )
    return [*files, ("explorer.html", "a page to explore the top of the tree in a browser")]


def _other_columns(chosen: BlockColumns) -> tuple[str, ...] | None:
    """Return the names of columns that were not clustered by."""
    if not isinstance(chosen.all_rows, ParquetRows):
        return None
    return tuple(name for name in chosen.all_rows._schema.names if name not in chosen.columns)


def _report(fit: FinishedFit, differ: FromRest | None, files: Files) -> str:
    top, arguments = fit.overview.tree, fit.arguments
    about = [f"{len(fit.labels)} rows", *fit.notes]
    about += [
        f"fit: out of core, in {fit.job.n_parts()} parts",
        f"pictures: the top of the tree, {top.n_leaves} groups of rows; a group is called by its first row",
    ]
    why = f"{fit.n_clusters}, {'as requested' if arguments.n_clusters else 'as many as the tree of a sample has'}"
    flat = report.FlatClusters(fit.labels, why, None, differ, fit.cluster_names)
    return report.markdown_report(
        f"A tree of {arguments.file}", about, fit.score_rows(), flat, files, arguments.command_line
    )

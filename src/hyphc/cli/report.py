"""Quality of a tree as text: ``hyphc score``, lines for the terminal, and the one-page report."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import baselines
from .._runtime.sanitize import truncate, visible
from ..estimator import HypHC
from ..io import match_leaves, read_tree
from ..io.best_known import is_entry, read_entry, similarity_of
from ..io.trees import row_numbers
from ..scores.association import cluster_association
from ..scores.bounds import CostBounds, cost_bounds
from ..scores.certificate import OptimalityGap, optimality_gap
from ..scores.costs import dasgupta_cost, dendrogram_purity, in_units
from ..similarity import Similarity
from ..tree import Tree
from ..tree.transfer_distance import restricted
from .common import NEWICK_SUFFIXES, build_similarity, check_usage, read_data, tree_for
from .options import given_options
from .outputs import print_notes

LINKAGE_UP_TO = 2_000  # points: average linkage needs all pairs
CERTIFICATE_EFFORT = 0.02  # of the default of optimality_gap: a second or two instead of a minute
_LISTED_CLUSTERS = 20
UNKNOWN = "unknown"  # in place of a figure that proves nothing
_ALIKE = ("gap", "0.00 %", "the bounds coincide: all similarities are equal, and every tree costs the same")
ROUNDING = 1e-10  # costs of one tree, summed in another order, differ by less than this share


def run_score(arguments: argparse.Namespace) -> None:
    """Print the cost of a tree and its certified gap to the optimum."""
    check_usage(arguments)
    if is_entry(arguments.data):
        _score_against_best_known(arguments)
        return
    points = read_data(arguments, arguments.data)
    tree, how = tree_for(arguments.tree, points)
    similarity, notes = build_similarity(points, arguments)
    print_notes(points, notes)
    print(f"{arguments.tree}: {tree.n_leaves} leaves, matched to the data {how}\n")
    print_rows(score_rows(score(tree, similarity, points.labels, arguments.seed, arguments.effort)))


def _score_against_best_known(arguments: argparse.Namespace) -> None:
    """Print the scores of a tree on the similarity of an entry, and its cost beside the best known one."""
    given = given_options(arguments).items() - {("effort", "--effort"), ("seed", "--seed")}
    if given:
        flag = sorted(flag for _, flag in given)[0]
        raise ValueError(f"{arguments.data} says how its similarity is built; leave out {flag}.")
    entry = read_entry(arguments.data)
    tree = _tree_of_rows(arguments.tree, entry.n)
    similarity = similarity_of(entry)
    result = score(tree, similarity, None, arguments.seed, arguments.effort)
    print(f"{arguments.tree}: {tree.n_leaves} leaves, leaf i is row i of {entry.similarity['data']}\n")
    print_rows(score_rows(result))
    excess = result.cost / entry.cost - 1.0
    known = f"best known: {entry.cost:.12g}, by {entry.method}, seed {entry.seed}"
    print(f"{known}; this tree costs {100 * abs(excess):.6f} % {'less' if excess < 0 else 'more'}")


def _tree_of_rows(path: str, n: int) -> Tree:
    """Return a tree whose leaf i is row i: by order, or in Newick by the numbers 1 … n that leaves are named by."""
    tree = read_tree(path)
    if tree.n_leaves != n:
        raise ValueError(
            f"{path} has {tree.n_leaves} leaves and the entry {n}; give a tree of the rows of its data set."
        )
    if tree.names is None or Path(path).suffix.lower() not in NEWICK_SUFFIXES:
        return tree.with_names(None)
    if set(tree.names) != set(row_numbers(n)):
        raise ValueError(f"{path} has leaves that are no row numbers; name them 1 … {n}, the rows of the data set.")
    return match_leaves(tree, row_numbers(n), source=path, by_order=False)[0].with_names(None)


@dataclass(frozen=True)
class Score:
    """Cost, bounds and certificate of a tree; ``mean`` is None when all similarities are 0.

    ``alike`` is True if every tree costs the same, because all similarities are equal.
    """

    cost: float
    mean: float | None
    bounds: CostBounds
    gap: OptimalityGap
    purity: float | None
    alike: bool = False


@dataclass(frozen=True)
class Comparison:
    """Average linkage on the same similarity."""

    cost: float
    purity: float | None


def score(tree: Tree, similarity: Similarity, labels: Sequence[str] | None, seed: int, effort: float = 1.0) -> Score:
    """Return all scores of a tree; the certificate of a graph may take ``effort`` times a second or two."""
    cost, bounds = dasgupta_cost(tree, similarity), cost_bounds(similarity, random_state=seed)
    return Score(
        cost,
        in_units(cost, similarity, "mean") if similarity.total() > 0 else None,
        bounds,
        optimality_gap(tree, similarity, effort=CERTIFICATE_EFFORT * effort, random_state=seed, n_jobs=-1),
        None if labels is None else compute_purity(tree, labels),
        bounds.exact and tree.n_leaves > 2 and _same(bounds.lower, bounds.upper),
    )


def _same(cost: float, other: float) -> bool:
    """Return whether two costs differ by rounding only."""
    return abs(cost - other) <= ROUNDING * max(abs(cost), abs(other))


def compare(similarity: Similarity, labels: Sequence[str] | None) -> Comparison | None:
    """Return cost and purity of average linkage; None where its n × n distances do not fit."""
    if similarity.n > LINKAGE_UP_TO:
        return None
    tree = baselines.average_linkage(similarity)
    purity = None if labels is None else compute_purity(tree, labels)
    return Comparison(dasgupta_cost(tree, similarity), purity)


def compute_purity(tree: Tree, labels: Sequence[str]) -> float:
    """Return the dendrogram purity of the leaves that have a label."""
    known = np.flatnonzero(np.asarray(labels) != "")
    return dendrogram_purity(restricted(tree, known)[0], np.asarray(labels)[known])


def score_rows(result: Score) -> list[tuple[str, str, str]]:
    """Return the scores as rows: name, value and meaning."""
    rows = cost_rows(result.cost)
    if result.mean is not None:
        rows.append(("", f"{result.mean:.10g}", "divided by the total similarity, as in scikit-network"))
    rows += [_bound_row(result.bounds, "lower", "no tree costs less")]
    rows += [_bound_row(result.bounds, "upper", "no binary tree costs more")]
    rows += [_ALIKE] if result.alike else [gap_row(result.gap), *room_rows(result.gap)]
    if result.purity is not None:
        rows.append(("purity", f"{result.purity:.4f}", "dendrogram purity of the labels; 1 is perfect"))
    return rows


def cost_rows(cost: float) -> list[tuple[str, str, str]]:
    """Return the cost as rows."""
    return [
        ("cost", f"{cost:.10g}", "Dasgupta's cost, each pair counted once"),
        ("", f"{2 * cost:.10g}", "each pair counted twice, as in the HypHC paper"),
    ]


def gap_row(gap: OptimalityGap) -> tuple[str, str, str]:
    """Return the certified gap to the optimum: the upper confidence limit, since the estimate alone is no guarantee."""
    if gap.weak:
        return ("gap", UNKNOWN, f"nothing could be certified: {gap.reason}")
    limit = f"at most {100 * gap.confidence_interval[1]:.2f} %"
    how = "for certain" if gap.exact else f"with {100 * gap.confidence:.6g} % confidence"
    return ("gap", limit, f"above the cost of the best tree, {how}")


def room_rows(gap: OptimalityGap) -> list[tuple[str, str, str]]:
    """Return the cluster sizes at which a graph's tree leaves the largest gap to its lower bound."""
    if gap.weak or not gap.loose_levels:
        return []
    level, *_ = gap.loose_levels
    text = f"clusters up to it leave edges of weight {level.cut:.6g} between them; every tree leaves {level.bound:.6g} at least"
    return [("most room", f"size {level.t:.6g}", text)]


def _bound_row(bounds: CostBounds, side: str, meaning: str) -> tuple[str, str, str]:
    """Return the lower or upper bound and its meaning, or that there is none: a value within its error is no proof."""
    what, error = f"{side} bound", getattr(bounds, f"{side}_error")
    if not getattr(bounds, f"{side}_certified"):
        why = "the sampled triplets leave an error as large as the bound" if error else "the bound is below 0"
        return (what, UNKNOWN, f"nothing could be certified: {why}")
    return (
        what,
        f"{getattr(bounds, side):.6g}",
        meaning + (f" (estimate, standard error {error:.2g})" if error else ""),
    )


def comparison_row(cost: float, other: Comparison | None) -> tuple[str, str, str]:
    """Return the cost of average linkage, and how far it lies above that of the tree."""
    if other is None:
        return ("average linkage", "left out", f"needs all pairs; compared up to {LINKAGE_UP_TO} rows")
    purity = "" if other.purity is None else f"; purity {other.purity:.4f}"
    if _same(other.cost, cost):
        return ("average linkage", f"{other.cost:.10g}", f"the same cost{purity}")
    share = abs(other.cost / cost - 1) if cost > 0 else 0.0
    side = "more" if other.cost > cost else "less"
    return ("average linkage", f"{other.cost:.10g}", f"costs {100 * share:.2g} % {side} than this tree{purity}")


def agreement_rows(clusters: npt.NDArray[np.int64], labels: Sequence[str] | None) -> list[tuple[str, str, str]]:
    """Return the agreement of flat clusters with the labels, if there are any."""
    if labels is None:
        return []
    known = np.asarray(labels) != ""
    codes = np.full(len(clusters), -1)
    codes[known] = np.unique(np.asarray(labels)[known], return_inverse=True)[1]
    return [agreement_row(clusters, codes)]


def agreement_row(clusters: npt.NDArray[np.int64], labels: npt.NDArray[np.int64]) -> tuple[str, str, str]:
    """Return the adjusted Rand index over the rows that have a label, those not numbered −1."""
    from sklearn.metrics import adjusted_rand_score

    known = labels >= 0
    value = float(adjusted_rand_score(labels[known], clusters[known]))
    left_out = "" if known.all() else f"; {int((~known).sum())} rows without a label are left out"
    text = f"adjusted Rand index of flat clusters and labels; 1 is perfect, 0 chance{left_out}"
    return ("agreement", f"{value:.4f}", text)


def association_rows(
    clusters: npt.NDArray[np.int64], beside: Mapping[str, Any], seed: int
) -> list[tuple[str, str, str]]:
    """Return how much the flat clusters have in common with each annotation: are groups batches?"""
    rows = []
    for name, column in beside.items():
        try:
            found = cluster_association(clusters, column, seed)
        except ValueError:  # a column without values
            continue
        text = "adjusted mutual information of flat clusters and this column; 1 is the same, 0 chance; "
        text += f"p = {found.p_value:.3g} by permutation of {found.n_rows} rows"
        text += "; groups follow this column" if found.is_clear else ""
        rows.append((f"clusters by {escape_markdown(name)}", f"{found.adjusted_mutual_information:.4f}", text))
    return rows


def describe_cluster_number(model: HypHC) -> str:
    """Describe how many flat clusters there are and why, with the runner-up numbers."""
    found, k = model.cluster_number_, model.n_clusters_
    sizes = f", each of at least {model.min_size} points" if (model.min_size or 1) > 1 else ""
    if found is None:
        return f"{k}, as requested{sizes}"
    text = f"{found.n_clusters} found: {found.why}"
    if found.runners_up:
        text += "; next come " + " and ".join(f"{other} (p = {p:.2g})" for other, p in found.runners_up)
    within = " within what is known" if model.tree_.forced_splits is not None else ""
    return text if k == found.n_clusters else f"{text}; cut into {k}{sizes}{within}"


def describe_joined(model: HypHC) -> str:
    """Describe how many points split off above the cores of the clusters, and where they were assigned."""
    joined = int(model._clusters_.joined.sum())
    if joined == 0:
        return ""
    fate = "joined them" if model.outliers == "join" else "have the cluster -1"
    return f"; {joined} point{'s' * (joined > 1)} outside the cores of clusters {fate}"


def print_rows(rows: Sequence[tuple[str, str, str]]) -> None:
    """Print rows in aligned columns."""
    width = max(len(value) for _, value, _ in rows)
    for what, value, meaning in rows:
        print(f"{what:<16} {value:>{width}}  {meaning}")


@dataclass(frozen=True, eq=False)
class FlatClusters:
    """Cluster of each row, the reason for their number, the rows' labels, and the distinctive features."""

    of: npt.NDArray[np.int64]
    why: str
    labels: Sequence[str] | None
    differ: Any = None  # describes each cluster, and has a note
    names: tuple[str, ...] | None = None


def markdown_report(
    title: str,
    facts: Sequence[str],
    rows: Sequence[tuple[str, str, str]],
    clusters: FlatClusters,
    files: Sequence[tuple[str, str]],
    command_line: str,
) -> str:
    """Return the one-page report as Markdown. Text from the file is escaped."""
    lines = [f"# {escape_markdown(title)}", ""]
    lines += [f"- {escape_markdown(fact)}" for fact in facts]
    shown = [name for name, _ in files if name in ("tree.png", "tree.svg")]
    lines += ["", f"![The tree]({shown[0]})"] if shown else []
    lines += ["", "## How good the tree is", "", "| | | |", "|---|---:|---|"]
    lines += [f"| {what} | {value} | {escape_markdown(meaning)} |" for what, value, meaning in rows]
    lines += ["", "## Flat clusters", "", f"{escape_markdown(clusters.why)}.", "", *_cluster_table(clusters)]
    lines += ["", "## Files", "", *(f"- [{name}]({name}): {about}" for name, about in files)]
    lines += ["", "Made by:", "", f"    {visible(' '.join(command_line.split()))}", ""]
    return "\n".join(lines)


def _cluster_table(flat: FlatClusters) -> list[str]:
    """Return sizes, largest first, the most common label of each cluster, and its distinctive features."""
    sizes, descriptions = np.bincount(flat.of[flat.of >= 0]), None if flat.differ is None else flat.differ.describe()
    largest = np.argsort(-sizes, kind="stable")[:_LISTED_CLUSTERS].tolist()
    titles = [
        "cluster",
        "rows",
        *["name"] * bool(flat.names),
        *["mostly"] * bool(flat.labels),
        *["stands out by"] * (descriptions is not None),
    ]
    lines = [f"| {' | '.join(titles)} |", "|---:|---:|" + "---|" * (len(titles) - 2)]
    for cluster in largest:
        cells = [str(cluster), str(sizes[cluster])]
        if flat.names:
            cells.append(escape_markdown(flat.names[cluster]))
        if flat.labels:
            members = np.flatnonzero(flat.of == cluster).tolist()
            common = Counter(flat.labels[i] for i in members if flat.labels[i]).most_common(1)
            cells.append("".join(f"{escape_markdown(label)} ({count})" for label, count in common) or "–")
        if descriptions is not None:
            cells.append(escape_markdown(descriptions[cluster]))
        lines.append(f"| {' | '.join(cells)} |")
    if len(sizes) > len(largest):
        lines += ["", f"The {len(sizes) - len(largest)} smaller clusters are in the table of clusters."]
    if flat.differ is not None:
        lines += ["", f"{flat.differ.note()} More in differences.csv."]
    return lines


def escape_markdown(text: str) -> str:
    """Return text escaped for Markdown, on one line."""
    escaped = "".join(f"\\{character}" if character in "\\`*_{}[]<>|#!~" else character for character in truncate(text))
    return visible(" ".join(escaped.split()))

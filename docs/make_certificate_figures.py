"""Draw the figures of notes/certificate.md and notes/theorem.md: ``python docs/make_certificate_figures.py [NAME …]``.

Two of them need the data (HYPHC_DATA).
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import mpmath as mp
import numpy as np
from hyphc import HypHC, Tree, baselines, datasets, exact_tree, optimality_gap, spreading_bound, theory
from hyphc.scores.gap_by_level import cuts_of
from hyphc.similarity import Graph, standardize

IMAGES = Path(__file__).parent / "images"
DATA_SETS = ("zoo", "iris", "glass", "segmentation")
SIZES = range(3, 14)


def draw_gap_against_k() -> None:
    """How much a larger k tightens the bound, with 99 % intervals: HypHC's tree (lines) and average linkage's (dots)."""
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    for colour, name in zip(plt.get_cmap("tab10").colors, DATA_SETS, strict=False):
        similarity = datasets.paper_similarity(name)
        fitted = HypHC(metric="cosine", random_state=0).fit(standardize(datasets.load(name).data)).tree_
        for tree, style in ((fitted, "-"), (baselines.average_linkage(similarity), ":")):
            results = [optimality_gap(tree, similarity, k=k, random_state=0, n_jobs=-1) for k in SIZES]
            gaps = 100 * np.array([result.gap for result in results])
            low, high = 100 * np.array([result.confidence_interval for result in results]).T
            axes.plot(SIZES, gaps, style, color=colour, label=name if style == "-" else None)
            if style == "-":
                axes.fill_between(SIZES, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set(xlabel="leaves in a subset, k", ylabel="at most … % above the best tree", ylim=(0, None))
    axes.legend(frameon=False, title="HypHC (average linkage dotted)")
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, "gap_against_k.png")


def draw_cuts_against_size() -> None:
    """What the clusters of citeseer's tree leave between them at each size, and what every tree must leave."""
    graph = Graph(datasets.load("citeseer").data)
    tree = HypHC(random_state=0).fit(graph).tree_
    bound = spreading_bound(graph, n_jobs=-1)
    t, total = bound.levels[1:-1], graph.total()
    cuts, linkage = (100 * cuts_of(T, graph, t) / total for T in (tree, baselines.average_linkage(graph)))
    least = 100 * bound.cuts[1:] / total
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    axes.plot(t, linkage, ":", color="black", label="average linkage")
    axes.plot(t, cuts, color="tab:blue", label="HypHC")
    axes.plot(t, least, color="tab:orange", label="every tree: at least")
    axes.fill_between(t, least, cuts, color="tab:blue", alpha=0.12, linewidth=0)
    packed = np.array([packing.t for packing in bound.packings])
    axes.plot(packed, np.interp(packed, t, least), ".", color="tab:orange")
    axes.set(xscale="log", yscale="log", xlim=(1, graph.n), ylim=(0.02, 110))
    axes.set(xlabel="points in a cluster, at most: t", ylabel="weight between clusters, % of all")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, "cuts_against_size.png")


def draw_error_against_temperature() -> None:
    """Lemma C.1 on seven points of iris: what it allows, and what embeddings of their optimal tree do."""
    rows = np.random.default_rng(0).choice(150, 7, replace=False)
    W = datasets.paper_similarity("iris").block(rows)
    tree = exact_tree(W)
    cost = theory.dasgupta_cost(tree, W.tolist())
    embeddings = {
        "spread (ζ = 49)": sarkar_depths(tree, theory.sufficient_scale(7)),
        "deepest LCA leads by more than 1 (ζ = 2)": sarkar_depths(tree, mp.mpf(2)),
        "not spread (a circle)": circle_depths(tree),
    }
    temperatures = np.geomspace(60, 0.05, 60)
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    with mp.workdps(60):
        claims = {
            label: [theory.decoding_error(depths, W.tolist(), tau) for tau in temperatures]
            for label, depths in embeddings.items()
        }
        bounds = [float(claim.bound / cost) for claim in claims["spread (ζ = 49)"]]
        axes.plot(temperatures, bounds, color="black", label="the lemma's bound")
        axes.plot(
            temperatures, 2 * np.array(bounds), "--", color="black", label="the theorem's bound on C(dec Z*)/C(T*) − 1"
        )
        for label, measured in claims.items():
            axes.plot(temperatures, [float(claim.measured / cost) for claim in measured], label=label)
    axes.set(xscale="log", yscale="log", xlabel="temperature τ", ylabel="|C_Dasgupta − C_HypHC| / C_Dasgupta")
    axes.set(ylim=(1e-13, 30), xlim=(60, 0.05))
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(0, -0.14))
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, "error_against_temperature.png")


def sarkar_depths(tree: Tree, scale: mp.mpf) -> list[list[mp.mpf]]:
    sarkar = theory.sarkar_embedding(tree, scale)
    with mp.workdps(sarkar.digits):
        return theory.point_depths(sarkar.points)


def circle_depths(tree: Tree) -> list[list[mp.mpf]]:
    """Leaves in the tree's order at nearly equal angles."""
    angles = np.empty(tree.n_leaves)
    angles[tree.leaf_order()] = np.linspace(0, 5.2, tree.n_leaves) + 1e-2 * np.arange(tree.n_leaves) ** 2
    return theory.point_depths([mp.mpf("0.99") * mp.expj(angle) for angle in angles])


def save(figure: plt.Figure, name: str) -> None:
    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / name, dpi=110, bbox_inches="tight")
    plt.close(figure)


FIGURES = {
    "error_against_temperature": draw_error_against_temperature,
    "gap_against_k": draw_gap_against_k,
    "cuts_against_size": draw_cuts_against_size,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or FIGURES:
        FIGURES[name]()

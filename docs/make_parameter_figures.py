"""Draw the pictures of the page on choosing parameters: ``python docs/make_parameter_figures.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from hyphc import HypHC, Tree, plot
from hyphc._runtime.palette import cluster_colors
from hyphc.tree.transfer_distance import restricted
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

IMAGES = Path(__file__).resolve().parent / "images"
EFFORTS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30]


def spirals() -> tuple[np.ndarray, np.ndarray]:
    """Return three spirals of 200 points each, and the spiral of each point."""
    rng = np.random.default_rng(0)
    arms = []
    for k in range(3):
        radius = np.sqrt(rng.uniform(0.05, 1, 200)) * 2 * np.pi
        angle = radius + k * 2 * np.pi / 3
        places = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        arms.append(places + rng.normal(scale=0.3, size=(200, 2)))
    return np.vstack(arms), np.repeat(range(3), 200)


def normal_groups(centres: list[tuple[int, int]], sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return normal groups of standard deviation 1, and the group of each point."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(centre, size=(size, 2)) for centre, size in zip(centres, sizes, strict=True)])
    return X, np.repeat(range(len(sizes)), sizes)


def ring() -> tuple[np.ndarray, np.ndarray]:
    """Return a ring of 1 000 points around three groups of 200, and the group of each point."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 1_000)
    around = 10 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(scale=0.5, size=(1_000, 2))
    inside = [rng.normal(centre, 0.7, size=(200, 2)) for centre in [(-3, 0), (3, 1), (0, -4)]]
    return np.vstack([around, *inside]), np.repeat(range(4), [1_000, 200, 200, 200])


def draw_n_neighbors() -> None:
    """Draw thin shapes that are cut into three, and small groups that are counted, for few and many neighbours."""
    figure, axes = plt.subplots(2, 3, figsize=(9, 6), layout="constrained")
    X, truth = spirals()
    for ax, k in zip(axes[0], (4, 15, 120), strict=True):
        labels = HypHC(3, n_neighbors=k, random_state=0).fit_predict(X)
        scatter(ax, X, labels, f"n_neighbors={k}, cut into 3: ARI {adjusted_rand_score(truth, labels):.2f}")
    X, _ = normal_groups([(0, 0), (8, 0), (0, 8), (8, 8), (16, 0), (16, 8)], [200] * 3 + [10] * 3)
    for ax, k in zip(axes[1], (4, 6, 15), strict=True):
        model = HypHC(n_neighbors=k, random_state=0).fit(X)
        scatter(ax, X, model.labels_, f"n_neighbors={k}: {model.n_clusters_} clusters found")
    save(figure, "parameters_n_neighbors.png")


def draw_background() -> None:
    """Draw separate groups joined with and without a background, and a ring that a strong background splits."""
    figure, axes = plt.subplot_mosaic("AAABBB\nCCDDEE", figsize=(9, 5.8), layout="constrained", height_ratios=[1, 1.3])
    pairs = {"A1": (0, 0), "A2": (10, 0), "B1": (40, 60), "B2": (50, 60), "C1": (80, 0), "C2": (90, 0)}
    X, truth = normal_groups(list(pairs.values()), [40] * 6)
    for ax, strength in zip((axes["A"], axes["B"]), (0, 0.0001), strict=True):
        tree = HypHC(6, background=strength, random_state=0).fit(X).tree_
        draw_top(ax, tree, truth, list(pairs))
        ax.set_title(f"three pairs of groups, background={strength}", fontsize=9)
    X, _ = ring()
    for ax, strength in zip((axes["C"], axes["D"], axes["E"]), (0.0001, 0.01, 0.1), strict=True):
        model = HypHC(background=strength, random_state=0).fit(X)
        scatter(ax, X, model.labels_, f"background={strength}: {model.n_clusters_} clusters found")
    save(figure, "parameters_background.png")


def draw_top(ax: plt.Axes, tree: Tree, truth: np.ndarray, names: list[str]) -> None:
    """Draw the order in which groups are joined, a step for each merge; one point stands for each group."""
    leaves = np.searchsorted(truth, range(len(names)))
    top, _ = restricted(tree, leaves)
    shown = Tree(top.children, heights=np.arange(1.0, len(names)), names=names)
    plot.dendrogram(shown, ax=ax)
    ax.get_legend().remove()  # of the cut into two, which this picture is not about
    ax.set_ylabel("")
    ax.set_yticks([])


def draw_criterion() -> None:
    """Draw the cut into eight clusters of one tree by each criterion."""
    centres = [(0, 0), (30, 0), (15, 26), (60, 0), (70, 8), (80, 16), (90, 0), (100, 8)]
    X, truth = normal_groups(centres, [1_000] * 3 + [50] * 5)
    tree = HypHC(random_state=0).fit(X).tree_
    figure, axes = plt.subplots(2, 3, figsize=(11, 2.9), layout="constrained")
    for ax, criterion in zip(axes.flat, ("condensed", "height", "ncut", "sse", "dasgupta", "modularity"), strict=True):
        labels = tree.cut(8, criterion=criterion)
        scatter(ax, X, labels, f'criterion="{criterion}": ARI {adjusted_rand_score(truth, labels):.2f}')
        ax.set_aspect("equal")
    save(figure, "parameters_criterion.png")


def draw_min_size() -> None:
    """Draw the condensed tree and the clusters of three minimum sizes."""
    X, _ = normal_groups([(0, 0), (9, 0), (4, 9), (14, 9)], [400, 300, 60, 12])
    figure, axes = plt.subplots(2, 3, figsize=(11, 5.5), layout="constrained")
    tree = HypHC(random_state=0).fit(X).tree_
    for column, size, k in zip(axes.T, (None, 30, 100), (None, 3, 2), strict=True):
        labels = tree.cut(k, min_size=size) if k else tree.cut()
        number = f"cut into {k}" if k else f"{labels.max() + 1} clusters found"
        scatter(column[0], X, labels, f"min_size={size}: {number}")
        plot.condensed_tree(tree, min_size=size, n_clusters=k, ax=column[1])
    save(figure, "parameters_min_size.png")


def draw_effort() -> None:
    """Draw the cost above the lowest of all efforts, against the effort."""
    digits = load_digits().data
    problems: dict[str, tuple[Any, str]] = {
        "digits, default similarity": (digits, "auto"),
        "digits, cosine": (digits, "cosine"),
        "graph with hubs": (nx.barabasi_albert_graph(600, 3, seed=0), "precomputed"),
        "graph with communities": (nx.planted_partition_graph(20, 30, 0.3, 0.01, seed=0), "precomputed"),
    }
    figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for name, (X, metric) in problems.items():
        costs = np.array([HypHC(metric=metric, effort=effort, random_state=0).fit(X).cost_ for effort in EFFORTS])
        above = 100 * (costs / costs.min() - 1)
        print(name, *(f"{effort}: {percent:.4f} %" for effort, percent in zip(EFFORTS, above, strict=True)), sep=", ")
        ax.plot(EFFORTS, above, marker="o", label=name)
    ax.set(xscale="log", xlabel="effort", ylabel="cost above the lowest, %")
    ax.set_yscale("symlog", linthresh=0.01)
    ax.set_ylim(bottom=0)
    ax.set_yticks([0, 0.01, 0.1, 1], ["0", "0.01", "0.1", "1"])
    ax.axvline(1, color="0.8", zorder=0)
    ax.legend(frameon=False, fontsize=8)
    save(figure, "parameters_effort.png")


def scatter(ax: plt.Axes, X: np.ndarray, labels: np.ndarray, title: str) -> None:
    ax.scatter(*X.T, s=4, c=cluster_colors(int(labels.max()) + 1)[labels], linewidths=0)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_title(title, fontsize=9)


def save(figure: plt.Figure, name: str) -> None:
    figure.savefig(IMAGES / name, dpi=110)


if __name__ == "__main__":
    draw_n_neighbors()
    draw_background()
    draw_criterion()
    draw_min_size()
    draw_effort()

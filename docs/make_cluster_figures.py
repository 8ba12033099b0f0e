"""Draw the pictures of the page on flat clusters: ``python docs/make_cluster_figures.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from hyphc import HypHC, plot
from hyphc._runtime.palette import cluster_colors
from sklearn.metrics import adjusted_rand_score

IMAGES = Path(__file__).resolve().parent / "images"
SIZES = [1000] * 3 + [50] * 5
CENTRES = [(0, 0), (30, 0), (15, 26), (60, 0), (70, 8), (80, 16), (90, 0), (100, 8)]


def draw_unbalanced() -> None:
    """Draw three large and five small groups, cut into eight by the condensed tree and by a score."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(centre, size=(size, 2)) for size, centre in zip(SIZES, CENTRES, strict=True)])
    truth, model = np.repeat(np.arange(8), SIZES), HypHC(random_state=0).fit(X)
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
    for ax, criterion in zip(axes, ("condensed", "dasgupta"), strict=False):
        labels = model.tree_.cut(8, criterion=criterion)
        _scatter(ax, X, labels)
        ax.set_title(f'criterion="{criterion}": ARI {adjusted_rand_score(truth, labels):.2f}', fontsize=9)
    plot.condensed_tree(model, ax=axes[2])
    axes[2].set_title(f"condensed tree: {model.n_clusters_} clusters found", fontsize=9)
    figure.savefig(IMAGES / "clusters_unbalanced.png", dpi=110)


def draw_graph() -> None:
    """Draw the communities of the characters of Les Misérables."""
    graph = nx.les_miserables_graph()
    model = HypHC(metric="precomputed", random_state=0).fit(graph)
    places = nx.spring_layout(graph, seed=3, iterations=200, k=0.25)
    colors = cluster_colors(model.n_clusters_)[model.labels_]
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=[1.3, 1])
    nx.draw_networkx_edges(graph, places, ax=axes[0], edge_color="0.8", width=0.6)
    nx.draw_networkx_nodes(
        graph, places, ax=axes[0], node_color=colors, node_size=60, edgecolors="white", linewidths=0.5
    )
    axes[0].axis("off")
    axes[0].set_title(f"77 characters, {model.n_clusters_} communities", fontsize=9)
    plot.condensed_tree(model, ax=axes[1])
    axes[1].set_title(model.cluster_number_.why, fontsize=9)
    figure.savefig(IMAGES / "clusters_graph.png", dpi=110)


def draw_noise() -> None:
    """Draw noise, in which no split is significant, beside three groups that touch."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(600, 10))
    groups = rng.normal(size=(600, 10)) + 3.2 * np.eye(10)[np.repeat([0, 1, 2], 200)]
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.2), layout="constrained")
    for pair, X in zip((axes[:2], axes[2:]), (noise, groups), strict=True):
        model = HypHC(random_state=0).fit(X)
        axis = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:2]
        _scatter(pair[0], X @ axis.T, model.labels_)
        plural = "s" if model.n_clusters_ > 1 else ""
        pair[0].set_title(f"10 columns, first two components: {model.n_clusters_} cluster{plural}", fontsize=9)
        plot.condensed_tree(model, ax=pair[1])
        pair[1].set_title(f"smallest p: {np.nanmin(model.cluster_number_.p_values):.2g}", fontsize=9)
    figure.savefig(IMAGES / "clusters_noise.png", dpi=110)


def _scatter(ax: plt.Axes, X: np.ndarray, labels: np.ndarray) -> None:
    ax.scatter(*X.T, s=3, c=cluster_colors(int(labels.max()) + 1)[labels], linewidths=0)
    ax.set_xticks([])
    ax.set_yticks([])


if __name__ == "__main__":
    draw_unbalanced()
    draw_graph()
    draw_noise()

"""Draws the figures of paper.md: ``python docs/make_paper_figures.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from hyphc import Tree, dasgupta_cost, datasets, decode, embed, geometry, plot
from hyphc.similarity import as_similarity
from matplotlib.axes import Axes
from matplotlib.figure import Figure

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE, GREEN = "#0072b2", "#d55e00", "#009e73"
ANIMALS = ["cat", "dog", "trout", "frog", "toad"]
# How alike two of the animals are: mammals and amphibians go together, everything else hardly.
LIKENESS = [[0, 8, 1, 1, 1], [8, 0, 1, 1, 1], [1, 1, 0, 2, 2], [1, 1, 2, 0, 9], [1, 1, 2, 9, 0]]


def draw_cost() -> None:
    """The same five animals in two trees, and what each costs."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
    for ax, newick in zip(axes, ("((cat,dog),(trout,(frog,toad)));", "((cat,toad),(trout,(frog,dog)));"), strict=True):
        tree = Tree.from_newick(newick)
        order = [ANIMALS.index(name) for name in tree.names]
        likeness = np.array(LIKENESS, dtype=float)[np.ix_(order, order)]
        plot.dendrogram(Tree(tree.children, names=tree.names), labels=["a"] * 5, ax=ax)
        if ax.get_legend():
            ax.get_legend().remove()
        ax.set(title=f"costs {dasgupta_cost(tree, likeness):.0f}", yticks=[], ylabel="")
        ax.spines[:].set_visible(False)
    save(figure, "paper_cost.png")


def draw_ancestors() -> None:
    """Two leaves on a circle, ever closer together: their common ancestor moves out."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.2))
    radius = np.tanh(3.0 / 2)  # hyperbolic radius 3
    for ax, degrees in zip(axes, (150, 60, 15), strict=True):
        half = np.radians(degrees / 2)
        x, y = radius * np.array([np.sin(half), np.cos(half)]), radius * np.array([-np.sin(half), np.cos(half)])
        line = geometry.geodesic(x, y, np.linspace(0, 1, 200))
        ancestor = geometry.lca_point(x, y)
        empty_disk(ax)
        ax.plot(*line.T, color=BLUE)
        ax.plot([0, ancestor[0]], [0, ancestor[1]], ":", color="0.4")
        ax.plot(*np.array([x, y]).T, "o", color=BLUE)
        ax.plot(*ancestor, "D", color=ORANGE)
        ax.plot(0, 0, "+", color="0.4")
        ax.set_title(f"{degrees}° apart: depth {float(geometry.lca_depth(x, y)):.2f}", fontsize=10)
    save(figure, "paper_ancestors.png")


def draw_softmax() -> None:
    """Shares of the three pairs of a triplet as the temperature falls."""
    depths = np.array([2.0, 1.6, 1.0])
    tau = np.geomspace(3, 0.03, 200)[:, None]
    shares = np.exp((depths - depths.max()) / tau)
    shares /= shares.sum(axis=1, keepdims=True)
    figure, ax = plt.subplots(figsize=(6, 3.2))
    for depth, share, colour in zip(depths, shares.T, (BLUE, ORANGE, GREEN), strict=True):
        ax.plot(tau, share, color=colour, label=f"pair with an ancestor at depth {depth}")
    ax.set(xscale="log", xlabel="temperature τ", ylabel="share of the pair", ylim=(0, 1.02), xlim=(3, 0.03))
    ax.legend(frameon=False, fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    save(figure, "paper_softmax.png")


def draw_decoding() -> None:
    """Eight leaves on a circle and the tree that their gaps say."""
    degrees = np.array([0.0, 12, 40, 60, 134, 156, 205, 290])
    points = np.tanh(3.0 / 2) * np.column_stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    names = list("abcdefgh")
    tree = decode(points).with_names(names)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6))
    empty_disk(left)
    left.plot(*points.T, "o", color=BLUE)
    gaps = np.diff(np.append(degrees, 360.0))
    for name, start, gap, point in zip(names, degrees, gaps, points, strict=True):
        left.text(*(1.15 * point / np.linalg.norm(point)), name, ha="center", va="center")
        middle = np.radians(start + gap / 2)
        left.text(
            0.72 * np.cos(middle),
            0.72 * np.sin(middle),
            f"{gap:.0f}°",
            ha="center",
            va="center",
            fontsize=8,
            color=ORANGE,
        )
    left.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25))
    plot.dendrogram(Tree(tree.children, names=names), labels=["a"] * 8, ax=right)
    if right.get_legend():
        right.get_legend().remove()
    right.set(yticks=[], ylabel="")
    right.spines[:].set_visible(False)
    save(figure, "paper_decoding.png")


def draw_descent() -> None:
    """Leaves of 120 digits at the start, on the way and at the end of the descent, with the trees that they decode to."""
    digits = datasets.load("digits")
    rows = np.random.default_rng(0).choice(np.flatnonzero(digits.labels.astype(int) < 4), 120, replace=False)
    similarity = as_similarity(digits.data[rows], "euclidean", n_neighbors=15)
    recorder = plot.Recorder(n_frames=30)
    embed(similarity, random_state=0, callback=recorder)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.6))
    frames = recorder.frames
    for ax, k in zip(axes, (0, len(frames) // 3, len(frames) - 1), strict=True):
        points = frames[k].embedding
        tree = decode(points)
        plot.disk(tree, embedding=points, labels=digits.labels[rows].astype(int), ax=ax)
        if ax.get_legend():
            ax.get_legend().remove()
        ax.set_title(f"costs {dasgupta_cost(tree, similarity, units='mean'):.1f}", fontsize=10)
    save(figure, "paper_descent.png")


def empty_disk(ax: Axes) -> None:
    ax.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.75"))
    ax.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), aspect="equal")
    ax.axis("off")


def save(figure: Figure, name: str) -> None:
    figure.tight_layout()
    figure.savefig(IMAGES / name, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    for draw in (draw_cost, draw_ancestors, draw_softmax, draw_decoding, draw_descent):
        draw()

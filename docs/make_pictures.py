"""Draws the pictures of the README and the docs: ``python docs/make_pictures.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from hyphc import HypHC, Tree, datasets, geometry
from matplotlib.collections import LineCollection

IMAGES = Path(__file__).parent / "images"


def disk_positions(tree: Tree) -> np.ndarray:
    """Every node in the Poincaré disk: its angle is the middle of its leaves', its depth log(n / size)."""
    n = tree.n_leaves
    turn = np.empty(2 * n - 1)
    turn[tree.leaf_order()] = np.arange(n) / n * 2 * np.pi
    for t, (a, b) in enumerate(tree.children):
        turn[n + t] = (turn[a] * tree.sizes[a] + turn[b] * tree.sizes[b]) / tree.sizes[n + t]
    radius = np.tanh(np.log(n / tree.sizes) / 2)
    return radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])


def draw_digits() -> None:
    digits = datasets.load("digits")
    sample = np.random.default_rng(0).choice(len(digits.data), 300, replace=False)
    tree = HypHC(metric="euclidean", n_neighbors=15, random_state=0).fit(digits.data[sample]).tree_
    positions = disk_positions(tree)
    parents = np.repeat(np.arange(tree.n_leaves, 2 * tree.n_leaves - 1), 2)
    children = tree.children.ravel()
    steps = np.linspace(0, 1, 25)
    arcs = geometry.geodesic(positions[parents, None], positions[children, None], steps)  # (edges, 25, 2)
    labels = digits.labels[sample].astype(int)
    figure, axes = plt.subplots(figsize=(6.4, 6))
    axes.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.8"))
    axes.add_collection(LineCollection(arcs, colors="0.45", linewidths=0.6))
    for digit in range(10):
        leaves = positions[: tree.n_leaves][labels == digit]
        axes.scatter(*leaves.T, s=16, color=plt.get_cmap("tab10")(digit), label=str(digit), zorder=2)
    axes.set(xlim=(-1.03, 1.03), ylim=(-1.03, 1.03), aspect="equal")
    axes.axis("off")
    axes.legend(title="digit", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.savefig(IMAGES / "digits.png", dpi=110, bbox_inches="tight")
    plt.close(figure)


if __name__ == "__main__":
    draw_digits()

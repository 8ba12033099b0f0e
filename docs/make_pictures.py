"""Draws the pictures of the README, the tutorial and the how-to pages: ``python docs/make_pictures.py``."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from hyphc import HypHC, cli, datasets, explore, plot
from hyphc._runtime.palette import cluster_colors
from matplotlib.collections import LineCollection
from photograph import photograph, save_small
from sklearn.datasets import load_iris

IMAGES = Path(__file__).resolve().parent / "images"


def draw_digits() -> None:
    """Draw the tree of all digits: the groups that are found in columns of equal width, with images of each below."""
    digits = datasets.load("digits")
    model = HypHC(random_state=0).fit(digits.data)
    tree, n = model.tree_, len(digits.data)
    order = tree.leaf_order()
    groups = [np.intersect1d(order, tree.members(node)) for node in tree.clusters()]
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    groups.sort(key=lambda members: rank[members].min())
    x, color = np.empty(2 * n - 1), np.empty((2 * n - 1, 3))
    for column, members in enumerate(groups):
        inside = np.argsort(np.argsort(rank[members]))
        x[members] = column + 0.06 + 0.88 * (inside + 0.5) / len(members)
        color[members] = cluster_colors(model.n_clusters_)[model.labels_[members[0]]]
    heights = np.concatenate((np.zeros(n), tree.heights))
    lines, colors = [], []
    for node, (left, right) in enumerate(tree.children, start=n):
        x[node] = (x[left] + x[right]) / 2
        one_group = np.array_equal(color[left], color[right])
        color[node] = color[left] if one_group else 0.35
        for child in (left, right):
            lines.append([(x[child], heights[child]), (x[child], heights[node]), (x[node], heights[node])])
            colors.append(color[child])
    rows, columns, edge = 4, 3, 10  # of the images below a group; an image has 8 × 8 pixels
    tall = 0.9 * rows / columns
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(11, 5.2), height_ratios=[3.4, tall + 0.3], layout="constrained"
    )
    above.add_collection(LineCollection(lines, colors=colors, linewidths=0.7, capstyle="round"))
    above.set(xlim=(0, len(groups)), ylim=(0, 1.03 * heights.max()), xticks=[], ylabel="height of the merge")
    above.spines[["top", "right", "bottom"]].set_visible(False)
    for column, members in enumerate(groups):
        distances = np.linalg.norm(digits.data[members] - digits.data[members].mean(axis=0), axis=1)
        evenly = np.linspace(0, len(members) - 1, rows * columns).astype(int)
        shown = members[np.argsort(distances, kind="stable")[evenly]]
        images = np.pad(digits.data[shown].reshape(rows, columns, 8, 8) / 16, ((0, 0), (0, 0), (1, 1), (1, 1)))
        ink = images.swapaxes(1, 2).reshape(rows * edge, columns * edge, 1)
        below.imshow(1 - ink * (1 - color[members[0]]), extent=(column + 0.05, column + 0.95, 0, tall))
        text = {"ha": "center", "va": "bottom", "color": color[members[0]], "weight": "bold"}
        below.text(column + 0.5, tall + 0.05, str(len(members)), **text)
    below.set(xlim=(0, len(groups)), ylim=(0, tall + 0.3), aspect="auto")
    below.axis("off")
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=110)
    save_small(drawn.getvalue(), IMAGES / "digits.png")


def draw_iris() -> None:
    """What the tutorial's first fit draws."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # the title is the file as it was named
        cli.main(["datasets", "--write", "iris", "iris.csv"])
        cli.main(["fit", "iris.csv"])
        shutil.copy("iris-hyphc/tree.png", IMAGES / "tutorial_iris.png")


def draw_cluster_scores() -> None:
    ax = plot.cluster_scores(HypHC(random_state=0).fit(load_iris().data))
    ax.figure.savefig(IMAGES / "howto_cluster_scores.png", dpi=110)


def draw_explorer() -> None:
    """The page with names and a heat map, its second cluster selected."""
    wine = datasets.load("wine")
    names = [f"bottle {i}" for i in range(1, len(wine.data) + 1)]
    table = pd.DataFrame(wine.data, columns=wine.feature_names, index=names)
    model = HypHC(n_clusters=3, random_state=0).fit(table)
    with tempfile.TemporaryDirectory() as folder:
        page = model.explore(f"{folder}/wine.html", table, labels=wine.labels, label_name="cultivar", title="Wine")
        photograph(page, IMAGES / "explorer_names.png", "explorer.select(explorer.model.clusters[1])")


def draw_pages_of_digits() -> None:
    """The page of docs/explorer.md: the pointer on the sixes; the sixes in the centre, in dark colours; on a telephone."""
    digits = datasets.load("digits")
    model = HypHC(random_state=0).fit(digits.data)
    labels, images = digits.labels.astype(int), digits.data.reshape(-1, 8, 8)
    sixes = "const m = explorer.model, v = m.clusters.find((c) => (m.labelCounts(c)[0] ?? [])[0] === 6); "
    scripts = {
        "light": sixes + "explorer.hover(v, 560, 300)",
        "dark": sixes + "explorer.toggleTheme(); explorer.select(v, true)",
        "narrow": "",
    }
    with tempfile.TemporaryDirectory() as folder:
        shown = {"labels": labels, "label_name": "digit", "images": images, "embedding": model.embedding_}
        page = explore(model.tree_, f"{folder}/digits.html", **shown, title="Handwritten digits")
        for name, script in scripts.items():
            size = (390, 844) if name == "narrow" else (1280, 800)
            photograph(page, IMAGES / f"explorer_{name}.png", script, size=size)


if __name__ == "__main__":
    for draw in (draw_digits, draw_iris, draw_cluster_scores, draw_explorer, draw_pages_of_digits):
        draw()

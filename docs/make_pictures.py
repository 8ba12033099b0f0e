"""Draws the pictures of the README, the tutorial and the how-to pages: ``python docs/make_pictures.py``."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pandas as pd
from hyphc import HypHC, cli, datasets, explore, plot
from photograph import photograph
from sklearn.datasets import load_iris

IMAGES = Path(__file__).resolve().parent / "images"


def draw_digits() -> None:
    digits = datasets.load("digits")
    sample = np.random.default_rng(0).choice(len(digits.data), 300, replace=False)
    model = HypHC(random_state=0).fit(digits.data[sample])
    ax = plot.disk(model, labels=digits.labels[sample].astype(int))
    ax.get_legend().set_title("digit")
    ax.figure.savefig(IMAGES / "digits.png", dpi=110)


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

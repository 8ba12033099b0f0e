"""Draws the pictures of the README, the tutorial and the how-to pages: ``python docs/make_pictures.py``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pandas as pd
from hyphc import HypHC, cli, datasets, plot
from photograph import photograph

IMAGES = Path(__file__).parent / "images"


def draw_digits() -> None:
    digits = datasets.load("digits")
    sample = np.random.default_rng(0).choice(len(digits.data), 300, replace=False)
    model = HypHC(random_state=0).fit(digits.data[sample])
    ax = plot.disk(model, labels=digits.labels[sample].astype(int))
    ax.get_legend().set_title("digit")
    ax.figure.savefig(IMAGES / "digits.png", dpi=110)


def draw_wine() -> None:
    """What the tutorial's first fit draws."""
    with tempfile.TemporaryDirectory() as folder:
        table, results = f"{folder}/wine.csv", f"{folder}/wine-hyphc"
        cli.main(["datasets", "--write", "wine", table])
        cli.main(["fit", table, "--output", results])
        shutil.copy(f"{results}/tree.png", IMAGES / "tutorial_wine.png")


def draw_cluster_scores() -> None:
    ax = plot.cluster_scores(HypHC(random_state=0).fit(datasets.load("wine").data))
    ax.figure.savefig(IMAGES / "howto_cluster_scores.png", dpi=110)


def draw_explorer() -> None:
    """The page with names and a heat map, its second cluster selected."""
    wine = datasets.load("wine")
    names = [f"bottle {i}" for i in range(1, len(wine.data) + 1)]
    table = pd.DataFrame(wine.data, columns=wine.feature_names, index=names)
    model = HypHC(random_state=0).fit(table)
    with tempfile.TemporaryDirectory() as folder:
        page = model.explore(f"{folder}/wine.html", table, labels=wine.labels, label_name="cultivar", title="Wine")
        photograph(page, IMAGES / "explorer_names.png", "explorer.select(explorer.model.clusters[1])")


if __name__ == "__main__":
    for draw in (draw_digits, draw_wine, draw_cluster_scores, draw_explorer):
        draw()

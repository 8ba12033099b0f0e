"""Draws the picture of the README: ``python docs/make_pictures.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
from hyphc import HypHC, datasets, plot

IMAGES = Path(__file__).parent / "images"


def draw_digits() -> None:
    digits = datasets.load("digits")
    sample = np.random.default_rng(0).choice(len(digits.data), 300, replace=False)
    model = HypHC(random_state=0).fit(digits.data[sample])
    ax = plot.disk(model, labels=digits.labels[sample].astype(int))
    ax.get_legend().set_title("digit")
    ax.figure.savefig(IMAGES / "digits.png", dpi=110)


if __name__ == "__main__":
    draw_digits()

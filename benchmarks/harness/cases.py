"""The data: which sets there are, and each similarity of theirs by name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
from hyphc import as_similarity, datasets
from hyphc.similarity import Similarity, standardize

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
if "HYPHC_DATA" not in os.environ and DATA.is_dir():
    os.environ["HYPHC_DATA"] = str(DATA)

SMALL = ("zoo", "iris", "glass", "segmentation", "wine")
DECODED = ("zoo", "iris", "glass", "segmentation")  # those on which the paper compares decodings, and classifies
PAPER = ("zoo", "iris", "glass", "segmentation", "spambase", "letter")
GRAPHS = ("polblogs", "citeseer", "cora_ml")
# twelve labelled sets, alphabetical; every other one selects a setting, the rest confirm it
STUDY = (
    "breast_cancer",
    "digits",
    "ecoli",
    "glass",
    "iris",
    "letter",
    "segmentation",
    "spambase",
    "vehicle",
    "wine",
    "yeast",
    "zoo",
)
SELECTING, CONFIRMING = STUDY[::2], STUDY[1::2]
PLANTED = "planted"  # the shape of the paper's CIFAR-100 features, which are not to be had: 50 000 x 2048, 100 classes
PLANTED_SHAPE, PLANTED_CLASSES = (50_000, 2048), 100


@dataclass(frozen=True)
class Case:
    """A data set. Columns are standardised, constant ones dropped, as in the paper; planted data and graphs stay as they are."""

    name: str

    @cached_property
    def _data(self) -> datasets.Dataset:
        if self.name == PLANTED:
            return datasets.planted(*PLANTED_SHAPE, n_classes=PLANTED_CLASSES, random_state=0)
        return datasets.load(self.name)

    @cached_property
    def rows(self) -> npt.NDArray[np.float64]:
        return self._data.data if self.name == PLANTED else standardize(self._data.data)

    @property
    def labels(self) -> npt.NDArray[np.generic] | None:
        return self._data.labels

    def similarity(self, kind: str) -> Similarity:
        """``edges``: a graph's own; ``cosine``: (1 + cos) / 2, the paper's."""
        if kind == "edges":
            return as_similarity(self._data.data, "precomputed")
        return as_similarity(self.rows, kind)

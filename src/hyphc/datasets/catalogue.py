"""Container of a data set, and the catalogue: layout of files, and citations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..tree import Tree


@dataclass(frozen=True, eq=False)
class Dataset:
    """Points to cluster, with labels and a known tree where there is one.

    Attributes
    ----------
    name : str
    data : array (n, d), or csr_array (n, n)
        Features, or the adjacency matrix of a graph.
    labels : array (n,) or None
        The known group of each point, as its source writes it: numbers or words.
    names : tuple of n str, or None
        Names of the rows; not always unique (zoo has two frogs).
    feature_names : tuple of d str, or None
    class_names : tuple of str, or None
        A name for each group, in the order of ``np.unique(labels)``.
    tree : Tree or None
        The hierarchy the points were drawn from, where there is one.
    description, citation : str
    """

    name: str
    data: Any
    labels: npt.NDArray[Any] | None = None
    names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None
    tree: Tree | None = None
    description: str = ""
    citation: str = ""


def class_names_from(labels: npt.NDArray[Any]) -> tuple[str, ...]:
    """Return the distinct labels in order, as text."""
    return tuple(str(label) for label in np.unique(labels))


@dataclass(frozen=True)
class TableLayout:
    """Layout of the files of a data set, and where OpenML keeps a copy."""

    files: tuple[str, ...]
    n_rows: int
    features: str  # separated by blanks
    citation: str
    label: int = -1  # column of the label
    identifier: int | None = None  # column of the row names
    separator: str | None = ","  # None is white space
    header_lines: int = 0
    class_names: tuple[str, ...] | None = None
    openml_id: int | None = None


def _uci(authors: str, title: str, doi: str | None = None) -> str:
    link = f" https://doi.org/{doi}" if doi else ""
    return f"{authors}. {title} [Dataset]. UCI Machine Learning Repository.{link}"


_ZOO_CLASSES = ("mammal", "bird", "reptile", "fish", "amphibian", "insect", "other invertebrate")
_GLASS_CLASSES = (
    "building windows, float processed",
    "building windows, not float processed",
    "vehicle windows, float processed",
    "containers",
    "tableware",
    "headlamps",
)
_SPAM_WORDS = (
    "make address all 3d our over remove internet order mail receive will people report addresses free business email you "
    "credit your font 000 money hp hpl george 650 lab labs telnet 857 data 415 85 technology 1999 parts pm direct cs meeting "
    "original project re edu table conference"
)
_SPAM_FEATURES = " ".join(
    [f"word_freq_{word}" for word in _SPAM_WORDS.split()]
    + [f"char_freq_{character}" for character in ";([!$#"]
    + [f"capital_run_length_{statistic}" for statistic in ("average", "longest", "total")]
)

# OpenML's numbers of the same data. Its copies may come in another order of rows, name classes by words where the UCI files
# have numbers, and lack the names of rows.
TABLES = {
    "zoo": TableLayout(
        ("zoo.data",),
        101,
        "hair feathers eggs milk airborne aquatic predator toothed backbone breathes venomous fins legs tail domestic catsize",
        _uci("Forsyth, R. (1990)", "Zoo", "10.24432/C5R59V"),
        identifier=0,
        class_names=_ZOO_CLASSES,
        openml_id=62,
    ),
    "iris": TableLayout(
        ("iris.data",),
        150,
        "sepal_length sepal_width petal_length petal_width",
        _uci("Fisher, R. A. (1936)", "Iris", "10.24432/C56C76"),
    ),
    "glass": TableLayout(
        ("glass.data",),
        214,
        "RI Na Mg Al Si K Ca Ba Fe",
        _uci("German, B. (1987)", "Glass Identification", "10.24432/C5WW2P"),
        identifier=0,
        class_names=_GLASS_CLASSES,
        openml_id=41,
    ),
    "segmentation": TableLayout(
        ("segmentation.data", "segmentation.test"),
        2310,
        "region-centroid-col region-centroid-row region-pixel-count short-line-density-5 short-line-density-2 vedge-mean "
        "vedge-sd hedge-mean hedge-sd intensity-mean rawred-mean rawblue-mean rawgreen-mean exred-mean exblue-mean "
        "exgreen-mean value-mean saturation-mean hue-mean",
        _uci("Brodley, C. (1990)", "Image Segmentation", "10.24432/C5GP4N"),
        label=0,
        header_lines=5,
        openml_id=36,
    ),
    "spambase": TableLayout(
        ("spambase.data",),
        4601,
        _SPAM_FEATURES,
        _uci("Hopkins, M., Reeber, E., Forman, G. & Suermondt, J. (1999)", "Spambase", "10.24432/C53G6X"),
        class_names=("not spam", "spam"),
        openml_id=44,
    ),
    "letter": TableLayout(
        ("letter-recognition.data",),
        20_000,
        "x-box y-box width high onpix x-bar y-bar x2bar y2bar xybar x2ybr xy2br x-ege xegvy y-ege yegvx",
        _uci("Slate, D. (1991)", "Letter Recognition", "10.24432/C5ZP40"),
        label=0,
        openml_id=6,
    ),
    "ecoli": TableLayout(
        ("ecoli.data",),
        336,
        "mcg gvh lip chg aac alm1 alm2",
        _uci("Nakai, K. (1996)", "Ecoli", "10.24432/C5388M"),
        identifier=0,
        separator=None,
        openml_id=39,
    ),
    "yeast": TableLayout(
        ("yeast.data",),
        1484,
        "mcg gvh alm mit erl pox vac nuc",
        _uci("Nakai, K. (1996)", "Yeast", "10.24432/C5KG68"),
        identifier=0,
        separator=None,
        openml_id=181,
    ),
    "vehicle": TableLayout(
        tuple(f"xa{part}.dat" for part in "abcdefghi"),
        846,
        "compactness circularity distance-circularity radius-ratio axis-aspect-ratio length-aspect-ratio scatter-ratio "
        "elongatedness axis-rectangularity length-rectangularity variance-major variance-minor gyration-radius skewness-major "
        "skewness-minor kurtosis-minor kurtosis-major hollows-ratio",
        _uci("Mowforth, P. & Shepherd, B.", "Statlog (Vehicle Silhouettes)"),
        separator=None,
        openml_id=54,
    ),
}
BUNDLED = {
    "digits": _uci("Alpaydin, E. & Kaynak, C. (1998)", "Optical Recognition of Handwritten Digits", "10.24432/C50P49"),
    "wine": _uci("Aeberhard, S. & Forina, M. (1992)", "Wine", "10.24432/C5PC7J"),
    "breast_cancer": _uci(
        "Wolberg, W., Mangasarian, O., Street, N. & Street, W. (1993)",
        "Breast Cancer Wisconsin (Diagnostic)",
        "10.24432/C5DW2B",
    ),
}
# Nodes and edges of the largest connected component, the form in which papers on tree costs use them.
_DEEP_GAUSSIAN = "Bojchevski, A. & Günnemann, S. (2018). Deep Gaussian Embedding of Graphs. ICLR."
GRAPHS = {
    "polblogs": (
        1222,
        16_714,
        "Adamic, L. & Glance, N. (2005). The political blogosphere and the 2004 U.S. election. LinkKDD.",
    ),
    "citeseer": (2110, 3668, _DEEP_GAUSSIAN),
    "cora_ml": (2810, 7981, _DEEP_GAUSSIAN),
}

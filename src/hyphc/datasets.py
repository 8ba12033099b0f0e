"""Data sets by name, the paper's similarity on them, and synthetic hierarchies of any size whose tree is known."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .similarity import Similarity, as_similarity, standardize
from .tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
PathLike = str | os.PathLike[str]
RandomState = int | np.random.Generator | None

DATA_VARIABLE = "HYPHC_DATA"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Points to cluster, and what is known about them.

    Attributes
    ----------
    name : str
    data : array (n, d), or csr_array (n, n)
        Features, or the adjacency matrix of a graph.
    labels : array (n,) or None
        The known group of each point, as its source writes it: numbers or words.
    names : tuple of n str, or None
        What each row is called; not always unique (zoo has two frogs).
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


@dataclass(frozen=True)
class _Table:
    """How the files of a data set are laid out, and where OpenML keeps a copy."""

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
_TABLES = {
    "zoo": _Table(
        ("zoo.data",),
        101,
        "hair feathers eggs milk airborne aquatic predator toothed backbone breathes venomous fins legs tail domestic catsize",
        _uci("Forsyth, R. (1990)", "Zoo", "10.24432/C5R59V"),
        identifier=0,
        class_names=_ZOO_CLASSES,
        openml_id=62,
    ),
    "iris": _Table(
        ("iris.data",),
        150,
        "sepal_length sepal_width petal_length petal_width",
        _uci("Fisher, R. A. (1936)", "Iris", "10.24432/C56C76"),
    ),
    "glass": _Table(
        ("glass.data",),
        214,
        "RI Na Mg Al Si K Ca Ba Fe",
        _uci("German, B. (1987)", "Glass Identification", "10.24432/C5WW2P"),
        identifier=0,
        class_names=_GLASS_CLASSES,
        openml_id=41,
    ),
    "segmentation": _Table(
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
    "spambase": _Table(
        ("spambase.data",),
        4601,
        _SPAM_FEATURES,
        _uci("Hopkins, M., Reeber, E., Forman, G. & Suermondt, J. (1999)", "Spambase", "10.24432/C53G6X"),
        class_names=("not spam", "spam"),
        openml_id=44,
    ),
    "letter": _Table(
        ("letter-recognition.data",),
        20_000,
        "x-box y-box width high onpix x-bar y-bar x2bar y2bar xybar x2ybr xy2br x-ege xegvy y-ege yegvx",
        _uci("Slate, D. (1991)", "Letter Recognition", "10.24432/C5ZP40"),
        label=0,
        openml_id=6,
    ),
    "ecoli": _Table(
        ("ecoli.data",),
        336,
        "mcg gvh lip chg aac alm1 alm2",
        _uci("Nakai, K. (1996)", "Ecoli", "10.24432/C5388M"),
        identifier=0,
        separator=None,
        openml_id=39,
    ),
    "yeast": _Table(
        ("yeast.data",),
        1484,
        "mcg gvh alm mit erl pox vac nuc",
        _uci("Nakai, K. (1996)", "Yeast", "10.24432/C5KG68"),
        identifier=0,
        separator=None,
        openml_id=181,
    ),
    "vehicle": _Table(
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
_BUNDLED = {
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
_GRAPHS = {
    "polblogs": (
        1222,
        16_714,
        "Adamic, L. & Glance, N. (2005). The political blogosphere and the 2004 U.S. election. LinkKDD.",
    ),
    "citeseer": (2110, 3668, _DEEP_GAUSSIAN),
    "cora_ml": (2810, 7981, _DEEP_GAUSSIAN),
}


def names() -> tuple[str, ...]:
    """The names that ``load`` knows: feature tables first, then graphs."""
    return (*_TABLES, *_BUNDLED, *_GRAPHS)


def load(name: str, *, data_home: PathLike | None = None) -> Dataset:
    """A data set by name.

    Files are looked for in ``data_home``, then in the directory that the environment variable ``HYPHC_DATA`` names, as
    ``<home>/<name>/<file>`` under UCI's file names (``zoo/zoo.data``), and ``<home>/graphs/<name>.npz`` for graphs (as
    written by ``scipy.sparse.save_npz``). Tables without files are fetched from OpenML and kept in scikit-learn's data home;
    digits, wine and breast_cancer come with scikit-learn. Iris is UCI's ``iris.data``, the file the HypHC paper used:
    scikit-learn's copy differs in two flowers and, used when there is no file, is changed back to it.

    Parameters
    ----------
    name : str
        One of ``names()``.
    data_home : path, optional
        Directory to look in first.

    Returns
    -------
    Dataset
        Features as float64, labels as the source writes them (OpenML has words where UCI has numbers).

    Examples
    --------
    >>> wine = load("wine")
    >>> wine.data.shape, wine.class_names
    ((178, 13), ('class_0', 'class_1', 'class_2'))
    """
    if name in _BUNDLED:
        return _from_scikit_learn(name)
    if name in _GRAPHS:
        return _read_graph(name, _homes(data_home))
    if name not in _TABLES:
        close = get_close_matches(str(name).lower(), names(), n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ValueError(f"Data set {name!r} is unknown{hint}; choose one of {', '.join(names())}.")
    homes = _homes(data_home)
    for home in homes:
        paths = [home / name / file for file in _TABLES[name].files]
        if all(path.is_file() for path in paths):
            return _read_table(name, paths)
    return _uci_iris() if name == "iris" else _from_openml(name, homes)


def paper_similarity(name: str, *, data_home: PathLike | None = None) -> Similarity:
    """The similarity of the HypHC paper: z-scored features without constant columns, unit rows, w = (1 + cos) / 2.

    For a graph, its own edges.

    Examples
    --------
    >>> paper_similarity("wine")
    Features(n=178)
    """
    data = load(name, data_home=data_home).data
    if sp.issparse(data):
        return as_similarity(data, metric="precomputed")
    return as_similarity(standardize(data), metric="cosine")


def _homes(data_home: PathLike | None) -> list[Path]:
    given = [data_home, os.environ.get(DATA_VARIABLE)]
    return [Path(home).expanduser() for home in given if home]


def _not_found(name: str, files: Sequence[str], homes: Sequence[Path], also: str) -> FileNotFoundError:
    places = ", ".join(str(home / file) for home in homes for file in files) or "no directory: none was given"
    return FileNotFoundError(
        f"Data set {name!r} was not found (looked for {places}){also}; pass data_home, or set the environment variable "
        f"{DATA_VARIABLE}, to a directory that holds {' and '.join(files)}."
    )


def _read_table(name: str, paths: Sequence[Path]) -> Dataset:
    table = _TABLES[name]
    cells = np.array([row for path in paths for row in _read_rows(path, table)])
    if len(cells) != table.n_rows:
        files = " and ".join(map(str, paths))
        raise ValueError(
            f"{files}: {len(cells)} rows where {name} has {table.n_rows}; get the original from UCI again."
        )
    used = {table.label % cells.shape[1], table.identifier}
    columns = [column for column in range(cells.shape[1]) if column not in used]
    labels = _labels(cells[:, table.label])
    return Dataset(
        name=name,
        data=cells[:, columns].astype(np.float64),
        labels=labels,
        names=None if table.identifier is None else tuple(cells[:, table.identifier].tolist()),
        feature_names=tuple(table.features.split()),
        class_names=table.class_names or _class_names(labels),
        description=f"UCI's {', '.join(table.files)}, all rows in their original order.",
        citation=table.citation,
    )


def _read_rows(path: Path, table: _Table) -> list[list[str]]:
    """The cells of one file, each feature cell a finite number."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file; get the original from UCI again.") from None
    n_columns = len(table.features.split()) + 1 + (table.identifier is not None)
    used = {table.label % n_columns, table.identifier}
    rows = []
    for number, line in enumerate(lines[table.header_lines :], start=table.header_lines + 1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split(table.separator)]
        if len(cells) != n_columns:
            raise ValueError(
                f"{path}, line {number}: {len(cells)} columns where {n_columns} are due; get the file again."
            )
        for column, cell in enumerate(cells):
            if column not in used and not _is_finite(cell):
                raise ValueError(
                    f"{path}, line {number}, column {column + 1}: {cell!r} is no number; get the file again."
                )
        rows.append(cells)
    return rows


def _is_finite(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _labels(words: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Labels as integers where all of them are, otherwise as words."""
    try:
        return np.asarray(words.astype(np.int64))
    except ValueError:
        return np.asarray(words.astype(np.str_))


def _class_names(labels: npt.NDArray[Any]) -> tuple[str, ...]:
    return tuple(str(label) for label in np.unique(labels))


def _read_graph(name: str, homes: Sequence[Path]) -> Dataset:
    file = f"graphs/{name}.npz"
    path = next((home / file for home in homes if (home / file).is_file()), None)
    if path is None:
        raise _not_found(name, [file], homes, "")
    try:
        adjacency = sp.csr_array(sp.load_npz(path)).astype(np.float64)
    except (BadZipFile, EOFError, KeyError, OSError, ValueError) as error:
        raise ValueError(
            f"{path} is not a sparse matrix of scipy.sparse.save_npz ({error}); get the file again."
        ) from error
    n, n_edges, citation = _GRAPHS[name]
    if adjacency.shape != (n, n) or adjacency.nnz != 2 * n_edges or (adjacency - adjacency.T).nnz:
        raise ValueError(
            f"{path}: shape {adjacency.shape} with {adjacency.nnz} entries where {name} is a symmetric ({n}, {n}) matrix "
            f"with {2 * n_edges}; get the file again."
        )
    description = f"Undirected graph of {n} nodes and {n_edges} edges, all of weight 1."
    return Dataset(name=name, data=adjacency, description=description, citation=citation)


def _from_scikit_learn(name: str) -> Dataset:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return Dataset(
        name=name,
        data=np.asarray(bunch.data, dtype=np.float64),
        labels=np.asarray(bunch.target),
        feature_names=tuple(map(str, bunch.feature_names)),
        class_names=tuple(map(str, bunch.target_names)),
        description="The copy that comes with scikit-learn.",
        citation=_BUNDLED[name],
    )


def _uci_iris() -> Dataset:
    """scikit-learn's iris with the two rows of UCI's ``iris.data`` that it corrects put back."""
    from sklearn.datasets import load_iris

    bunch = load_iris()
    data = np.array(bunch.data, dtype=np.float64)
    data[[34, 37]] = [4.9, 3.1, 1.5, 0.1]
    labels = np.array([f"Iris-{species}" for species in bunch.target_names])[bunch.target]
    return Dataset(
        name="iris",
        data=data,
        labels=labels,
        feature_names=tuple(_TABLES["iris"].features.split()),
        class_names=_class_names(labels),
        description="UCI's iris.data, restored from scikit-learn's copy.",
        citation=_TABLES["iris"].citation,
    )


def _from_openml(name: str, homes: Sequence[Path]) -> Dataset:
    from sklearn.datasets import fetch_openml

    table = _TABLES[name]
    try:
        # This parser and no frame: the only combination that needs no pandas. Nominal columns become codes, false < true.
        bunch = fetch_openml(data_id=table.openml_id, as_frame=False, parser="liac-arff")
    except (OSError, ValueError) as error:  # no network, or OpenML refused
        files = [f"{name}/{file}" for file in table.files]
        raise _not_found(name, files, homes, f" nor fetched from OpenML ({error})") from error
    features = [column for column, feature in enumerate(bunch.feature_names) if feature != "animal"]
    data = np.asarray(bunch.data, dtype=np.float64)[:, features]
    expected = (table.n_rows, len(table.features.split()))
    if data.shape != expected:
        raise ValueError(
            f"OpenML's data set {table.openml_id} has shape {data.shape} where {name} has {expected}; use UCI's."
        )
    labels = _labels(np.asarray(bunch.target))
    return Dataset(
        name=name,
        data=data,
        labels=labels,
        feature_names=tuple(table.features.split()),
        class_names=_class_names(labels),
        description=f"OpenML's data set {table.openml_id}.",
        citation=table.citation,
    )


def planted(
    n: int,
    d: int = 32,
    *,
    n_classes: int = 10,
    decay: float = 0.6,
    noise: float = 0.1,
    random_state: RandomState = None,
    dtype: npt.DTypeLike = np.float32,
) -> Dataset:
    """Points drawn along a random tree, which is returned with them.

    All n points are split in two at a random place between ¼ and ¾, then each part again, down to single points. Each part has
    a centre: that of its parent plus decay^level times a standard normal vector, level = 0 for the first split. The points are
    the centres of the single points plus noise, in random order. Upper levels can be recovered from the points; those where
    decay^level falls to the noise cannot.

    Parameters
    ----------
    n, d : int
        Points and features.
    n_classes : int
        ``labels`` are the groups there are after splitting the largest group first until there are so many:
        ``tree.cut(n_clusters=n_classes)`` up to their numbers. A node's height is its number of points.
    decay : float, in (0, 1)
        How fast parts close in on their parent's centre.
    noise : float
        Standard deviation of the noise.
    random_state : int, Generator or None
    dtype : float32 or float64

    Notes
    -----
    O(n·d) time and memory beyond the sort of the tree: a million points in 32 dimensions take seconds.

    Examples
    --------
    >>> example = planted(200, 8, n_classes=4, random_state=0)
    >>> example.data.shape, example.tree.n_leaves, len(example.class_names)
    ((200, 8), 200, 4)
    """
    kind: Any = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype={kind} is no float32 or float64; choose one of these.")
    if d < 1:
        raise ValueError(f"d={d} leaves no features; choose d >= 1.")
    if not (0 < decay < 1 and 0 <= noise < np.inf):
        raise ValueError(f"decay={decay} must lie between 0 and 1, and noise={noise} must be finite and >= 0.")
    rng = np.random.default_rng(random_state)
    hierarchy = _Hierarchy.draw(n, n_classes, rng)
    X = np.empty((n, d), dtype=kind)
    centres = np.zeros((1, d), dtype=kind)
    for level, (first, last) in enumerate(hierarchy.parts):
        single = last - first == 1
        rows = hierarchy.order[first[single]]
        X[rows] = centres[single]
        X[rows] += noise * rng.standard_normal((len(rows), d), dtype=kind.type)
        centres = np.repeat(centres[~single], 2, axis=0)
        centres += decay**level * rng.standard_normal(centres.shape, dtype=kind.type)
    return hierarchy.dataset("planted", X, f"{n} points in {d} dimensions along a random tree.")


def planted_graph(
    n: int, mean_degree: float = 7.0, *, n_classes: int = 10, random_state: RandomState = None
) -> Dataset:
    """A graph of communities within communities, along a random tree that is returned with it.

    The tree is that of ``planted``. Each of the n·mean_degree / 2 edges is drawn so: a node, one of the parts that hold it,
    from all n nodes down to the smallest, and another node of that part, all uniformly. Hence the smaller a part, the denser.
    Repeated edges are merged, so the mean degree is a little below ``mean_degree``; all weights are 1. The graph need not be
    connected.

    Examples
    --------
    >>> example = planted_graph(1000, 6.0, n_classes=5, random_state=0)
    >>> example.data.shape, example.tree.n_leaves, len(example.class_names)
    ((1000, 1000), 1000, 5)
    """
    if not (np.isfinite(mean_degree) and mean_degree >= 0):
        raise ValueError(f"mean_degree={mean_degree} is no number of edges a node; choose one >= 0.")
    rng = np.random.default_rng(random_state)
    hierarchy = _Hierarchy.draw(n, n_classes, rng)
    node, partner = hierarchy.draw_pairs(round(n * mean_degree / 2) if n > 1 else 0, rng)
    ends = hierarchy.order[np.concatenate([[node, partner], [partner, node]], axis=1)]
    adjacency = sp.csr_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(n, n))
    adjacency.data[:] = 1.0  # repeated edges were summed
    adjacency.sort_indices()
    return hierarchy.dataset(
        "planted_graph", adjacency, f"{n} nodes, {adjacency.nnz // 2} edges in nested communities."
    )


@dataclass(frozen=True)
class _Hierarchy:
    """A random binary tree whose parts are runs of positions 0 … n − 1.

    ``parts[level]`` holds the first and one past the last position of each part at that level, from left to right;
    ``order[position]`` is the row of the data at a position, ``classes[position]`` its class.
    """

    parts: list[tuple[Ints, Ints]]
    order: Ints
    classes: Ints
    tree: Tree

    @classmethod
    def draw(cls, n: int, n_classes: int, rng: np.random.Generator) -> _Hierarchy:
        if n < 1:
            raise ValueError(f"n={n} leaves no points; choose n >= 1.")
        if not 1 <= n_classes <= n:
            raise ValueError(f"n_classes={n_classes} is not between 1 and the n={n} points; choose one that is.")
        parts = _split_parts(n, rng)
        order = rng.permutation(n)
        return cls(parts, order, *_classes_and_tree(parts, order, n_classes))

    def dataset(self, name: str, data: Any, description: str) -> Dataset:
        labels = np.empty_like(self.classes)
        labels[self.order] = self.classes
        return Dataset(name, data, labels, class_names=_class_names(labels), tree=self.tree, description=description)

    def draw_pairs(self, n_pairs: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Two different positions each, from a uniformly drawn part around the first of them."""
        depth = np.zeros(len(self.order), dtype=np.int64)  # how many parts of two or more hold a position
        for level, (first, last) in enumerate(self.parts):
            depth[first[last - first == 1]] = level
        node = rng.integers(len(self.order), size=n_pairs)
        level_of = rng.integers(depth[node])
        start, size = np.empty_like(node), np.empty_like(node)
        for level, (first, last) in enumerate(self.parts):
            here = np.flatnonzero(level_of == level)
            found = np.searchsorted(first, node[here], side="right") - 1
            start[here], size[here] = first[found], (last - first)[found]
        # One of the size − 1 others, counted round from the node itself.
        step = 1 + rng.integers(size - 1)
        return node, start + (node - start + step) % size


def _split_parts(n: int, rng: np.random.Generator) -> list[tuple[Ints, Ints]]:
    parts = [(np.array([0]), np.array([n]))]
    while True:
        first, last = parts[-1]
        wide = last - first > 1
        if not wide.any():
            return parts
        first, last = first[wide], last[wide]
        size = last - first
        middle = first + np.clip((size * rng.uniform(0.25, 0.75, len(size))).astype(np.int64), 1, size - 1)
        parts.append((np.column_stack([first, middle]).ravel(), np.column_stack([middle, last]).ravel()))


def _classes_and_tree(parts: list[tuple[Ints, Ints]], order: Ints, n_classes: int) -> tuple[Ints, Tree]:
    n = len(order)
    first, last = (np.concatenate(ends) for ends in zip(*parts, strict=True))
    wide = last - first > 1
    # Inner nodes are numbered as they come; every part but the first is a child, two of each inner node after each other.
    node = np.where(wide, n + np.cumsum(wide) - 1, order[first])
    sizes, children = (last - first)[wide], node[1:].reshape(-1, 2)
    ascending = np.argsort(sizes, kind="stable")
    rank = np.empty_like(node, shape=2 * n - 1)
    rank[:n], rank[n + ascending] = np.arange(n), np.arange(n, 2 * n - 1)
    # The last merges are the splits of the largest groups: between them lie the classes.
    borders = np.sort(first[2::2][ascending[n - n_classes :]])
    classes = np.searchsorted(borders, np.arange(n), side="right")
    return classes, Tree(rank[children[ascending]], heights=sizes[ascending])

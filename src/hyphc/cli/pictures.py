"""``hyphc plot`` and ``hyphc explore``: plots and the explorer page of a tree, and columns shown beside it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._runtime.user_warnings import collect_warnings
from ..io import Points, read_points, read_tree
from ..io.points import numeric_columns
from ..io.trees import row_numbers
from ..scores.describe import BETWEEN, Descriptions, describe, name_from_keywords
from ..scores.differences import LeafMeans
from ..tree import Tree
from ..tree.prunings import CONDENSED, own_clusters
from .common import leaf_names, read_data, read_settings, tree_for
from .options import data_options, given_options
from .outputs import print_warning, require_suffix, require_writable_file
from .saved_fit import load_top
from .trees import require_weights

PLOT_REMEDY = "pictures need matplotlib; run: pip install 'hyphc[plot]'"
DISK_UP_TO = 20_000  # leaves: more are a solid ring
MOST_TIPS = 40  # of a dendrogram of groups: as many names as a page holds
LEAST_LINES = 12  # for which a dendrogram of few leaves has room
SCREEN_WIDTH, SCREEN_FONT = "200mm", 9.0  # of pictures for which no size is given
_PICTURES = (".png", ".svg", ".pdf")


def can_plot() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def require_pictures(paths: Sequence[Path]) -> None:
    """Raise before the work if a plot cannot be written or drawn."""
    for path in paths:
        require_suffix(path, *_PICTURES)
        require_writable_file(path)
    if not can_plot():
        raise ValueError(f"{PLOT_REMEDY}.")


def picture_paths(path: Path, formats: Sequence[str] | None) -> list[Path]:
    """Return the files of a picture: one for each format, or the path itself."""
    if formats is None:
        return [path]
    stem = path.with_suffix("") if path.suffix.lower() in _PICTURES else path
    return [stem.with_name(f"{stem.name}.{name}") for name in formats]


def style_of(arguments: argparse.Namespace) -> AbstractContextManager[Any]:
    """Return the context in which pictures have the size, fonts and colours of the options; raise for those not possible."""
    from ..plot.figure_style import figure_style, make_style

    given = {
        "width": arguments.width,
        "height": arguments.height,
        "font_size": arguments.font_size,
        "palette": arguments.palette,
        "colors": arguments.colors,
    }
    make_style(arguments.preset, **given)
    if arguments.preset is None:
        given |= {"width": given["width"] or SCREEN_WIDTH, "font_size": given["font_size"] or SCREEN_FONT}
    return figure_style(arguments.preset, **given)


def run_plot(arguments: argparse.Namespace) -> None:
    """Draw a tree into a file."""
    path = arguments.output or _beside(arguments.tree, ".png")
    paths = picture_paths(path, arguments.format)
    require_pictures(paths)
    if arguments.kind == "clustermap" and arguments.data is None:
        arguments.parser.error("--kind clustermap shows DATA beside the tree; name that file after the tree")
    _check_colours(arguments)
    style = style_of(arguments)
    tree, points, features = _tree_and_points(arguments)
    look = Look(Path(arguments.tree).name if points is None else points.source)
    if points is not None and points.labels is not None:
        look = look._replace(labels=as_classes(points.labels), label_name=column_label(arguments.labels))
    if arguments.labels is None or arguments.kind == "clustermap":
        look = look._replace(clusters=_clusters(tree, arguments))
    with style, collect_warnings(print_warning):
        if arguments.kind == "clustermap":
            assert points is not None
            draw_clustermap(tree, paths, look, points, read_annotations(arguments, arguments.data))
        else:
            names = None if points is None else name_nodes(tree, points, arguments.kind)
            names = names if features is None else describe_means(tree, features)
            draw(tree, paths, look, kind=arguments.kind, min_size=arguments.min_size, names=names)
    print(f"wrote {', '.join(map(str, paths))}")


def name_nodes(tree: Tree, points: Points, kind: str) -> Descriptions | None:
    """Return names of groups by the columns of the table, for trees whose leaves are too many to be named."""
    from ..plot.common import MOST_NAMES

    if tree.n_leaves <= MOST_NAMES or kind not in ("dendrogram", "disk"):
        return None
    return describe_columns(tree, points)


def describe_columns(tree: Tree, points: Points, min_size: float | None = None) -> Descriptions | None:
    """Return names of nodes by the effect sizes of the table's columns; None for graphs, similarities and unnamed columns."""
    values = numeric_columns(points)
    if values is None or tree.n_leaves < 2:
        return None
    numbers, columns = values
    try:
        return describe(tree, columns=dict(zip(columns, numbers.T, strict=True)), min_size=min_size, n_words=2)
    except ValueError as error:
        print_warning(f"groups are not named: {error}")
        return None


def cluster_names(found: Descriptions, nodes: Sequence[int]) -> tuple[str, ...]:
    """Return a name for each flat cluster; where several would have the same, the largest keeps it, others get further words."""
    names: dict[int, str] = {}
    for node in sorted(nodes, key=lambda v: (-found.tree.sizes[v], v)):
        name, taken = found.names[node], list(names.values())
        if name in taken:
            n_words = 1 + len(name.split(BETWEEN))
            longer = name_from_keywords(found.keywords(node), n_words, taken)
            name = next(own for k in count(1) if (own := longer if k == 1 else f"{longer} ({k})") not in taken)
        names[node] = name
    return tuple(names[node] for node in nodes)


def _check_colours(arguments: argparse.Namespace) -> None:
    """Exit with a usage error for an option that this kind of plot does not have."""
    error = arguments.parser.error
    if arguments.kind == "clustermap":
        return
    if arguments.kind == "condensed_tree" and arguments.labels is not None:
        error("--labels is about colours of leaves, and --kind condensed_tree shows clusters; leave out one of them")
    if arguments.annotate:
        error("--annotate goes with --kind clustermap, which shows columns beside the tree; leave it out")
    for option, flag in given_options(arguments).items():
        if arguments.labels is not None and option in ("n_clusters", "criterion", "min_size"):
            error(f"{flag} is about colours by cluster, and --labels asks for others; leave out one of them")


def run_explore(arguments: argparse.Namespace) -> None:
    """Write the explorer of a tree."""
    path = arguments.output or _beside(arguments.tree, ".html")
    require_writable_file(path)
    tree, points, features = _tree_and_points(arguments)
    require_weights(tree, arguments)
    options: dict[str, Any] = {"criterion": arguments.criterion or CONDENSED, "min_size": arguments.min_size}
    if features is not None:
        options |= {"features": features, "names": describe_means(tree, features)}
    if points is not None:
        options |= {
            "annotations": read_annotations(arguments, arguments.data),
            "label_name": column_label(arguments.labels or "label"),
        }
    write_explorer(tree, path, points, **options)
    print(f"wrote {path}; open it in a browser")


def _beside(tree: str, suffix: str) -> Path:
    """Return where a picture goes by default: beside the file or the folder of the tree, under its name."""
    path = Path(tree)
    if not path.is_dir():
        return path.with_suffix(suffix)
    folder = path.resolve()
    return folder.with_name(folder.name + suffix)


def _tree_and_points(arguments: argparse.Namespace) -> tuple[Tree, Points | None, LeafMeans | None]:
    """Return the tree with names, and the data if it was given; of an out-of-core fit without data, the top and its columns."""
    if arguments.data is None:
        given = given_options(arguments)
        for option in data_options():
            if option in given:
                arguments.parser.error(f"{given[option]} is about DATA; name that file after the tree")
        top = load_top(arguments.tree)
        return (read_tree(arguments.tree), None, None) if top is None else (top[0], None, top[1])
    points = read_data(arguments, arguments.data)
    tree, _ = tree_for(arguments.tree, points)
    names = leaf_names(points)
    return tree if names is None else tree.with_names(names), points, None


def describe_means(tree: Tree, features: LeafMeans) -> Descriptions | None:
    """Return names of the nodes of the top of a tree by the columns of its groups; None for a tree of one cluster."""
    nodes = own_clusters(tree).nodes
    if len(nodes) < 2:
        return None
    return describe(tree, columns=features, min_size=max(2.0, float(tree._points[nodes].min())), n_words=2)


def _clusters(tree: Tree, arguments: argparse.Namespace) -> npt.NDArray[np.int64]:
    n_clusters, n, criterion = arguments.n_clusters, tree.n_leaves, arguments.criterion or CONDENSED
    if n_clusters is not None and n_clusters > n:
        raise ValueError(f"--n-clusters {n_clusters} is more than the {n} leaves; give at most that many.")
    require_weights(tree, arguments)
    if n_clusters is None:
        return own_clusters(tree, criterion, arguments.min_size).labels
    return tree.cut(n_clusters, criterion=criterion, min_size=arguments.min_size)


class Look(NamedTuple):
    """Title and colours of a picture: ``labels`` if they are given, else ``clusters``."""

    title: str
    clusters: npt.ArrayLike | None = None
    labels: npt.ArrayLike | None = None
    label_name: str = "label"

    def named_labels(self) -> Any:
        """Return the labels with their name, by which colours are chosen; None where clusters are shown."""
        return None if self.labels is None else _NamedColumn(self.label_name, np.asarray(self.labels))

    def fitted(self, tree: Tree) -> SimpleNamespace:
        """Return the attributes of a fitted model that plots use."""
        return SimpleNamespace(tree_=tree, labels_=self.clusters)


def draw(
    tree: Tree,
    paths: Sequence[Path],
    look: Look,
    *,
    embedding: npt.ArrayLike | None = None,
    kind: str = "dendrogram",
    min_size: int | None = None,
    names: Descriptions | None = None,
) -> None:
    """Draw the tree as a dendrogram, in the disk, or condensed, into files of the extensions' formats; atomically.

    Rows without names are numbered from 1, as in every file of the command line. Above 60 leaves groups are shown, with their
    names where they have any.
    """
    from matplotlib.figure import Figure  # without pyplot: no display, no state

    from .. import plot
    from ..plot.common import MOST_NAMES
    from ..plot.dendrogram import LINES_BESIDES
    from ..plot.figure_style import figure_inches
    from ..plot.glyphs import printable

    fitted, few = look.fitted(tree), tree.n_leaves <= MOST_NAMES
    written = tree.names or row_numbers(tree.n_leaves) if names is None else names
    tips = tree.n_leaves if few else MOST_TIPS
    lines = max(tips, LEAST_LINES) + LINES_BESIDES if kind == "dendrogram" else None
    figure = Figure(figsize=figure_inches((8.0, 7.0), lines), layout="constrained")
    ax = figure.subplots()
    if kind == "condensed_tree":
        plot.condensed_tree(fitted, min_size=min_size, ax=ax)
    elif kind == "disk":
        plot.disk(
            fitted, embedding=embedding, labels=look.named_labels(), names=written if few or names else None, ax=ax
        )
    else:
        plot.dendrogram(fitted, labels=look.named_labels(), names=written, max_leaves=tips, orientation="left", ax=ax)
    title = "cluster" if look.labels is None else printable([look.label_name], None)[0][0].replace("$", r"\$")
    for legend in filter(None, [ax.get_legend(), *figure.legends]):
        legend.set_title(title)
    (shown,), style = printable([look.title], None)
    figure.suptitle(shown, **style)
    _save(figure, paths)


def draw_clustermap(tree: Tree, paths: Sequence[Path], look: Look, points: Points, annotations: dict[str, Any]) -> None:
    """Draw the table beside the tree; labels are one strip more, beside the clusters."""
    from matplotlib.figure import Figure

    from .. import plot
    from ..plot.clustermap import clustermap_inches

    table = _features(points)
    if table is None:
        raise ValueError(f"{points.source} holds no table of numbers to draw; choose another --kind.")
    strips = annotations if look.labels is None else {look.label_name: look.labels, **annotations}
    figure = Figure(figsize=clustermap_inches())
    plot.clustermap(
        table,
        look.fitted(tree),
        annotations=strips or None,
        names=tree.names or row_numbers(tree.n_leaves),
        title=look.title,
        ax=figure.add_axes((0.015, 0.015, 0.97, 0.97)),
    )
    _save(figure, paths)


def _save(figure: Any, paths: Sequence[Path]) -> None:
    """Write a figure in the formats of the extensions, atomically."""
    from ..plot import save_figure

    save_figure(figure, paths[0], formats=[path.suffix[1:].lower() for path in paths])


def write_explorer(tree: Tree, path: Path, points: Points | None, **options: Any) -> None:
    """Write the explorer page with the features, labels and annotations of the leaves; options as of ``explore``."""
    from ..explorer import explore

    if points is not None:
        options.setdefault("names", describe_columns(tree, points))
        options |= {"labels": points.labels, "features": _features(points), "title": f"Tree of {points.source}"}
    explore(tree, path, rows_from=1, **options)


class _NamedColumn:
    """Values with a name: the attributes of a series that plots use."""

    def __init__(self, name: str, values: npt.NDArray[Any]) -> None:
        self.name, self._values = name, values

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self._values, dtype=dtype)


class _Frame:
    """Numbers with column names: the attributes of a frame that the explorer uses."""

    def __init__(self, values: npt.NDArray[Any], columns: Sequence[str]) -> None:
        self.columns, self._values = columns, values

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self._values, dtype=dtype)


def _features(points: Points) -> _Frame | None:
    """Return the features up to the size limit of a page; None for similarities, graphs and sparse tables."""
    values = numeric_columns(points)
    if values is None:
        return None
    from ..explorer import MAX_LEAVES, MAX_VALUES

    numbers, columns = values
    d = min(numbers.shape[1], MAX_VALUES // min(points.n, MAX_LEAVES))
    return _Frame(numbers[:, :d], columns[:d])


def read_annotations(arguments: argparse.Namespace, path: str) -> dict[str, Any]:
    """Return the columns of ``--annotate`` by name: numeric where all values are numbers, else text. Each is read like labels."""
    wanted: Sequence[str] = arguments.annotate or ()
    if wanted and path == "-":
        raise ValueError("--annotate reads the file once more, and standard input is gone; give the name of a file.")
    found = {}
    for column in wanted:
        points = read_points(path, **read_settings(arguments), labels=column)
        if points.labels is None:
            raise ValueError(f"{points.source} has no column {column!r} to annotate with.")
        found[column_label(column)] = _values(points.labels)
    return found


def column_label(column: str) -> str:
    """Return the legend title of a column chosen by name, or by its number."""
    return f"column {column}" if column.isdecimal() else column


def _values(texts: Sequence[str]) -> Any:
    """Return numbers, NaN where missing, if every other cell is one; else texts, None where missing."""
    try:
        return np.array([float(text) if text else np.nan for text in texts])
    except ValueError:
        return as_classes(texts)


def as_classes(labels: Sequence[str]) -> npt.NDArray[np.object_]:
    """Return labels for a picture: None where one is missing, which is drawn in grey and is no class."""
    return np.array([label or None for label in labels], dtype=object)

"""Tables of options that several commands share, and the types of their values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

# Options with their placeholders to help texts; a title to options under it; another name to options of which one may be given.
Options: TypeAlias = Mapping[str, "str | Options"]


class Choices:
    """Allowed values of an option, computed lazily: the names come from modules that load NumPy."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)


def metrics_of_rows() -> list[str]:
    """Return the metrics that take a table."""
    from ..similarity.metrics import METRICS

    return [name for name, metric in METRICS.items() if metric.takes_rows]


def directed_choices() -> Iterable[str]:
    """Return the rules of symmetrisation."""
    from ..similarity.symmetrize import DIRECTED

    return DIRECTED


def criteria() -> Iterable[str]:
    """Return the criteria of cuts."""
    from ..tree.prunings import CRITERIA

    return CRITERIA


def whole(least: int) -> Callable[[str], int]:
    """Return a converter of whole numbers; argparse uses the name of a converter in its errors."""

    def convert(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is too small; give a whole number of at least {least}")
        return value

    convert.__name__ = "whole number"
    return convert


def number(what: str, *, zero: bool = False) -> Callable[[str], float]:
    """Return a converter of finite numbers above 0, or of at least 0 if ``zero``."""

    def convert(text: str) -> float:
        value = float(text)
        if not (0 < value < float("inf") or (zero and value == 0)):
            raise argparse.ArgumentTypeError(f"{text} is not a {what}")
        return value

    convert.__name__ = what
    return convert


def column_list(text: str) -> tuple[str, ...]:
    """Return the columns of a list separated by commas."""
    return tuple(column.strip() for column in text.split(","))


def length(text: str) -> str:
    """Return a length after a check of its form; the plots, which load NumPy, read it."""
    if re.fullmatch(r"(\d+\.?\d*|\.\d+)(mm|cm|in|pt)?", text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no length; give a number with mm, cm, in or pt, such as 85mm")
    return text


def format_list(text: str) -> tuple[str, ...]:
    """Return the formats of a list separated by commas."""
    formats = tuple(name.strip().lower() for name in text.split(","))
    wrong = [name for name in formats if name not in FORMATS]
    if wrong:
        raise argparse.ArgumentTypeError(f"{wrong[0]!r} is no format of pictures; give some of {','.join(FORMATS)}")
    return tuple(dict.fromkeys(formats))


def color_list(text: str) -> str | tuple[str, ...]:
    """Return colours separated by commas; a single word is the name of a colormap."""
    colors = tuple(color.strip() for color in text.split(","))
    return colors if len(colors) > 1 or colors[0].startswith("#") else colors[0]


def column_colors(text: str) -> dict[str, Any]:
    """Return the colours of columns: ``COLUMN:VALUE=COLOUR`` of a class, ``COLUMN=COLORMAP`` of numbers."""
    found: dict[str, Any] = {}
    for part in text.split(","):
        place, _, color = part.strip().rpartition("=")
        column, _, value = place.partition(":")
        if not column or not color:
            example = "site:north=teal,site:south=#E69F00,dose=viridis"
            raise argparse.ArgumentTypeError(f"{part!r} names no column or no colour; give them as in {example}")
        if value and isinstance(found.setdefault(column, {}), dict):
            found[column][value] = color
        else:
            found[column] = color
    return found


# Types, choices and defaults of the options; one that is not here and has no placeholder is a flag.
_TYPES: dict[Callable[[str], Any], str] = {
    column_list: "--features --exclude --categories --annotate",
    whole(1): "--header --n-neighbors --n-clusters --max-size --min-size --support --workers",
    whole(0): "--seed --differences",
    number("positive number of points"): "--font-size",
    format_list: "--format",
    color_list: "--palette",
    column_colors: "--colors",
    number("number of at least 0", zero=True): "--background",
    number("positive number"): "--effort",
    number("positive number of seconds"): "--time-budget",
    Path: "--output --h5ad output",
}
# Types by placeholder: --height is one of a tree for hyphc cut, and a length of paper for pictures.
_PLACEHOLDERS: dict[str, Callable[[str], Any]] = {"H": float, "LENGTH": length}
FORMATS = ("pdf", "svg", "png")
_CHOICES: dict[str, Iterable[str]] = {
    "--directed": Choices(directed_choices),
    "--sequence-distance": ("p", "jukes-cantor"),
    "--metric": Choices(metrics_of_rows),
    "--scale": ("yes", "no", "auto"),
    "--criterion": Choices(criteria),
    "--outliers": ("join", "label"),
    "--resample": ("columns", "rows", "edges"),
    "--kind": ("dendrogram", "disk", "condensed_tree", "clustermap"),
    "--preset": ("one-column", "two-columns", "slide"),
}
_DEFAULTS = {
    "--sequence-distance": "p",
    "--outliers": "join",
    "--kind": "dendrogram",
    "--effort": 1.0,
    "--differences": 5,
}
_DEFAULTS |= {"--seed": 0}

# Headings of options in help texts, with what stands below them.
TITLES = {
    "pictures": "Text remains editable: Type 42 fonts in PDF, <text> in SVG. The default height depends on the\npicture.",
    "what the file holds": None,
    "similarity of rows": None,
    "constraints": "Empty cells constrain nothing. Contradictions are reported with their rows.",
    "rows beyond memory or one machine": "NPY, Parquet or Zarr files are then fitted out of core with Dask (pip install "
    "'hyphc[dask]').\nPictures, page and report show the top of the tree: groups of rows with their sizes. An\n"
    "interrupt keeps the checkpoint: the same command with the same --output resumes the fit, and\n"
    "hyphc predict needs it. Unsupported options are an error.",
}
COLUMNS: dict[str, str | Options] = {
    "--features COL,COL": "columns to cluster by, as names, numbers, ranges such as 2-61 or patterns such as 'sample_*' "
    "(default: all columns of numbers)",
    "--exclude COL,COL": "columns not to cluster by, in the same form",
    "--labels COL": "known groups, for the purity of the tree; not used for clustering; rows without one are not scored",
    "--names COL": "names of the rows (default: the first text column with distinct values)",
    "--categories COL,COL": "categorical columns to cluster by as well, in the same form",
    "missing values": {
        "--drop-missing": "leave out rows with missing values",
        "--impute": "replace missing values by column means, or by the most frequent category (default: the metric auto skips "
        "them, other metrics raise an error)",
    },
    "--transpose": "cluster the columns, not the rows",
    "--precomputed": "the numbers are similarities, a square table",
    "--distances": "the numbers are distances, a square table or SciPy's condensed form",
    "--graph": "the file lists edges (two nodes and an optional weight on each line), or is an adjacency matrix",
    "--directed HOW": "for directed edges or similarities: combine both weights by %(choices)s (default: an error if they "
    "differ)",
    "--sheet SHEET": "sheet of an Excel file, by name or number (default: the first)",
    "--header ROW": "line with the column names of a text table or an Excel file, from 1; lines above it are skipped (default: "
    "the first line, if it has names)",
    "--obsm KEY": "embedding of an AnnData file, such as X_pca (default: X)",
    "--sequence-distance": "distance of aligned FASTA sequences: p-distance or Jukes-Cantor (default: %(default)s)",
}
SIMILARITY: Options = {
    "--metric METRIC": "one of %(choices)s (default: auto, nearest neighbours with a weak background)",
    "--n-neighbors K": "number of neighbours of each row (default for auto: 15); with cosine, a correlation or a distance the "
    "neighbour graph alone is clustered",
    "--scale": "for auto: standardise columns or not (default: auto, decided from the columns)",
    "--background B": "for auto: strength of the background, which orders merges of distant groups (default: 0.0001)",
    "--standardize": "standardise columns to mean 0 and standard deviation 1; with auto the same as --scale yes",
}
CONSTRAINTS: Options = {
    "--must-link COL": "rows with the same value stay together: a cluster, never cut",
    "--cannot-link COL": "rows with the same value are never in one flat cluster",
    "--classes COL": "rows with different values are never in one flat cluster",
    "--order COL": "numbers or dates; every cluster is contiguous in this order",
    "--constraint-tree FILE": "each cluster of this tree must be a cluster of the result, for instance each pair of "
    "parentheses of a Newick file; rows that it does not name are in none of these clusters",
}
WORKERS: Options = {
    "--workers N": "number of worker processes on this machine",
    "--memory SIZE": "memory of each worker, such as 2GB; one worker if --workers is not given",
    "--scheduler ADDRESS": "address of a Dask scheduler, such as tcp://head:8786",
}
ANNOTATE: dict[str, str | Options] = {
    "--annotate COLUMNS": "columns shown beside the tree but not used for clustering: classes or numbers; not from standard "
    "input"
}
PICTURES: Options = {
    "pictures": {
        "--preset": "size and font: a column of a journal (85 mm, 7 points), two columns (180 mm, 7 points), or a slide "
        "(320 mm x 180 mm, 14 points)",
        "--width LENGTH": "width of the figure in mm, or with a unit: 85mm, 8.5cm, 3.3in, 240pt",
        "--height LENGTH": "height of the figure, in the same form",
        "--font-size POINTS": "size of text; names of many leaves may be smaller, down to 5 points",
        "--format FORMATS": "one or more of pdf,svg,png, separated by commas",
        "--palette COLORS": "colours of clusters or labels, such as '#0072B2,#E69F00', or a colormap of matplotlib (default: "
        "safe for colour-blind readers)",
        "--colors COLORS": "colours of single columns, such as site:north=teal,site:south=#E69F00,dose=viridis",
    }
}
CRITERION: Options = {
    "--criterion CRITERION": "which K clusters: %(choices)s (default: condensed)",
    "--min-size M": "minimum cluster size",
}
SEED: Options = {"--seed SEED": "seed of all random choices (default: %(default)s)"}
TREE: Options = {"tree TREE": "NPZ, Newick, JSON or linkage NPY, or the folder of hyphc fit"}


def add_options(parser: argparse._ActionsContainer, options: Options) -> None:
    """Add options to a parser or to a group of its options."""
    for name, about in options.items():
        if isinstance(about, str):
            parser.add_argument(name.split()[0], help=about, **_settings(*name.split()))
        elif name in TITLES:
            add_options(parser.add_argument_group(name, TITLES[name]), about)
        else:
            add_options(parser.add_mutually_exclusive_group(), about)


def _settings(name: str, *shown: str) -> dict[str, Any]:
    """Return the arguments of ``add_argument`` for an option and its placeholders; that of an optional one is in brackets."""
    if not shown and name not in _CHOICES:
        return {"action": "store_true"}
    settings: dict[str, Any] = {"choices": _CHOICES.get(name), "default": _DEFAULTS.get(name)}
    by_name = next((kind for kind, names in _TYPES.items() if name in names.split()), None)
    settings |= {"type": _PLACEHOLDERS.get(shown[0], by_name) if shown else by_name}
    if len(shown) > 1:
        return settings | {"nargs": len(shown), "metavar": shown}
    if shown and shown[0].startswith("["):
        return settings | {"nargs": "?", "metavar": shown[0].strip("[]")}
    return settings | {"metavar": shown[0] if shown else None}


def data_options() -> list[str]:
    """Return the names of all options that describe how DATA is read."""
    parser = argparse.ArgumentParser(add_help=False)
    add_options(parser, COLUMNS | ANNOTATE)
    return [action.dest for action in parser._actions]


def given_options(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the options whose values differ from their defaults: name to flag."""
    values = vars(arguments)
    return {
        action.dest: action.option_strings[0]
        for action in arguments.parser._actions
        if action.option_strings and values.get(action.dest, action.default) != action.default
    }

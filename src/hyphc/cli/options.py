"""Groups of options that several commands share, and the types of their values."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from typing import Any


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


def whole(least: int) -> Any:
    def convert(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is too small; give a whole number of at least {least}")
        return value

    convert.__name__ = "whole number"  # argparse names the type in its message about other text
    return convert


def positive(what: str) -> Callable[[str], float]:
    """Return a converter of numbers above 0; argparse uses its name in errors."""

    def convert(text: str) -> float:
        value = float(text)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not a positive {what}")
        return value

    convert.__name__ = what
    return convert


def strength(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of at least 0")
    return value


def column_list(text: str) -> tuple[str, ...]:
    return tuple(column.strip() for column in text.split(","))


def add_columns(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what the file holds")
    group.add_argument(
        "--features",
        type=column_list,
        metavar="COL,COL",
        help="columns to cluster by, as names, numbers, ranges such as 2-61 or patterns such as 'sample_*' (default: all "
        "columns of numbers)",
    )
    group.add_argument(
        "--exclude", type=column_list, metavar="COL,COL", help="columns not to cluster by, in the same form"
    )
    group.add_argument(
        "--labels",
        metavar="COL",
        help="known groups, for the purity of the tree; not used for clustering; rows without one are not scored",
    )
    group.add_argument(
        "--names", metavar="COL", help="names of the rows (default: the first text column with distinct values)"
    )
    group.add_argument(
        "--categories",
        type=column_list,
        metavar="COL,COL",
        help="categorical columns to cluster by as well, in the same form",
    )
    missing = group.add_mutually_exclusive_group()
    missing.add_argument("--drop-missing", action="store_true", help="leave out rows with missing values")
    missing.add_argument(
        "--impute",
        action="store_true",
        help="replace missing values by column means, or by the most frequent category (default: the metric auto skips them, "
        "other metrics raise an error)",
    )
    group.add_argument("--transpose", action="store_true", help="cluster the columns, not the rows")
    group.add_argument("--precomputed", action="store_true", help="the numbers are similarities, a square table")
    group.add_argument(
        "--distances", action="store_true", help="the numbers are distances, a square table or SciPy's condensed form"
    )
    group.add_argument(
        "--graph",
        action="store_true",
        help="the file lists edges (two nodes and perhaps a weight a line), or is a matrix of them",
    )
    group.add_argument(
        "--directed",
        metavar="HOW",
        choices=Choices(directed_choices),
        help="for directed edges or similarities: combine both weights by %(choices)s (default: an error if they differ)",
    )
    group.add_argument(
        "--sheet", metavar="SHEET", help="sheet of an Excel file, by name or number (default: the first)"
    )
    group.add_argument(
        "--header",
        type=whole(1),
        metavar="ROW",
        help="line with the column names of a text table or an Excel file, from 1; lines above it are skipped (default: the "
        "first line, if it has names)",
    )
    group.add_argument("--obsm", metavar="KEY", help="embedding of an AnnData file, such as X_pca (default: X)")
    group.add_argument(
        "--sequence-distance",
        choices=("p", "jukes-cantor"),
        default="p",
        help="distance of aligned FASTA sequences: p-distance or Jukes-Cantor (default: %(default)s)",
    )


def data_options() -> list[str]:
    """Return the names of all options that describe how DATA is read."""
    parser = argparse.ArgumentParser(add_help=False)
    add_columns(parser)
    add_annotations(parser)
    return [action.dest for action in parser._actions]


def given_options(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the options whose values differ from their defaults: name to flag."""
    values = vars(arguments)
    return {
        action.dest: action.option_strings[0]
        for action in arguments.parser._actions
        if action.option_strings and values.get(action.dest, action.default) != action.default
    }


def add_annotations(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--annotate",
        type=column_list,
        metavar="COLUMNS",
        help="columns shown beside the tree but not used for clustering: classes or numbers; not from standard input",
    )


def add_similarity(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("similarity of rows")
    group.add_argument(
        "--metric",
        metavar="METRIC",
        choices=Choices(metrics_of_rows),
        help="one of %(choices)s (default: auto, nearest neighbours with a weak background)",
    )
    group.add_argument(
        "--n-neighbors",
        type=whole(1),
        metavar="K",
        help="neighbours of each row (default of auto: 15); with cosine, a correlation or a distance: cluster their graph alone",
    )
    group.add_argument(
        "--scale",
        choices=("yes", "no", "auto"),
        help="for auto: standardise columns or not (default: auto, decided from the columns)",
    )
    group.add_argument(
        "--background",
        type=strength,
        metavar="B",
        help="for auto: strength of the background, which orders merges of distant groups (default: 0.0001)",
    )
    group.add_argument(
        "--standardize",
        action="store_true",
        help="standardise columns to mean 0 and standard deviation 1; with auto the same as --scale yes",
    )


def add_criterion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--criterion",
        metavar="CRITERION",
        choices=Choices(criteria),
        help="which K clusters: %(choices)s (default: condensed)",
    )
    parser.add_argument("--min-size", type=whole(1), metavar="M", help="minimum cluster size")


def add_outliers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--outliers",
        choices=("join", "label"),
        default="join",
        help="rows that split off above the core of a cluster join it, or get the label -1 (default: %(default)s)",
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=whole(0), default=0, help="seed of all random choices (default: %(default)s)")


def add_known(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "constraints", "Empty cells constrain nothing. Contradictions are reported with their rows."
    )
    group.add_argument(
        "--must-link", metavar="COL", help="rows with the same value stay together: a cluster, never cut"
    )
    group.add_argument("--cannot-link", metavar="COL", help="rows with the same value are never in one flat cluster")
    group.add_argument("--classes", metavar="COL", help="rows with different values are never in one flat cluster")
    group.add_argument("--order", metavar="COL", help="numbers or dates; every cluster is contiguous in this order")
    group.add_argument(
        "--constraint-tree",
        metavar="FILE",
        help="each cluster of this tree, for instance each pair of parentheses of a Newick file, is one of the result; rows that "
        "it does not name are in none of them",
    )


def add_support(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--support",
        type=whole(1),
        metavar="N",
        help="refit N times on resampled data, and report how often each cluster recurs; 100 is usual",
    )
    parser.add_argument(
        "--resample",
        choices=("columns", "rows", "edges"),
        help="for --support: what is resampled (default: columns; edges of a graph; rows of a table of similarities)",
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "rows beyond memory or one machine",
        "NPY, Parquet or Zarr files are then fitted out of core with Dask (pip install 'hyphc[dask]').\n"
        "The results are labels.npy and checkpoint/tree. An interrupt keeps the checkpoint: the same\n"
        "command with the same --output resumes the fit. Unsupported options are an error.",
    )
    group.add_argument("--workers", type=whole(1), metavar="N", help="number of worker processes on this machine")
    group.add_argument(
        "--memory", metavar="SIZE", help="memory of each worker, such as 2GB; without --workers there is one"
    )
    group.add_argument("--scheduler", metavar="ADDRESS", help="address of a Dask scheduler, such as tcp://head:8786")

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
    group.add_argument("--exclude", type=column_list, metavar="COL,COL", help="columns not to cluster by, given alike")
    group.add_argument(
        "--labels",
        metavar="COL",
        help="known groups, to measure how pure the tree is; not clustered by; rows without one do not count",
    )
    group.add_argument(
        "--names", metavar="COL", help="names of the rows (default: the first text column that tells rows apart)"
    )
    group.add_argument(
        "--categories",
        type=column_list,
        metavar="COL,COL",
        help="columns of text or codes to cluster by as well, given alike; rows are compared by whether they are equal",
    )
    missing = group.add_mutually_exclusive_group()
    missing.add_argument("--drop-missing", action="store_true", help="leave out rows with missing values")
    missing.add_argument(
        "--impute",
        action="store_true",
        help="put means of columns, of categories the commonest, in place of missing values (default: auto skips them, other "
        "metrics refuse them)",
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
        help="of edges or similarities in two directions: the %(choices)s of both weights (default: refuse those that differ)",
    )
    group.add_argument("--sheet", metavar="SHEET", help="of an Excel file: by name or number (default: the first)")
    group.add_argument(
        "--header",
        type=whole(1),
        metavar="ROW",
        help="of a table of text or an Excel file: the line with the names of the columns, counted from 1; lines above it are "
        "passed over (default: the first line, if it has names)",
    )
    group.add_argument("--obsm", metavar="KEY", help="of an AnnData file: an embedding, such as X_pca (default: X)")
    group.add_argument(
        "--sequence-distance",
        choices=("p", "jukes-cantor"),
        default="p",
        help="of aligned FASTA: share of sites that differ, or corrected by Jukes and Cantor (default: %(default)s)",
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
        help="columns of the data shown beside the tree, and not clustered by: classes or numbers; not of standard input",
    )


def add_similarity(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how alike two rows are")
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
        help="of auto: bring columns to one scale or leave them as they are (default: auto, decided from the columns)",
    )
    group.add_argument(
        "--background",
        type=strength,
        metavar="B",
        help="of auto: strength of the background, which joins what no neighbours join (default: 0.0001)",
    )
    group.add_argument(
        "--standardize",
        action="store_true",
        help="bring columns to mean 0 and standard deviation 1 first; with auto the same as --scale yes",
    )


def add_criterion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--criterion",
        metavar="CRITERION",
        choices=Choices(criteria),
        help="which K clusters: %(choices)s (default: condensed)",
    )
    parser.add_argument("--min-size", type=whole(1), metavar="M", help="clusters have at least so many points each")


def add_outliers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--outliers",
        choices=("join", "label"),
        default="join",
        help="rows that fall out above the core of a cluster join it, or have the cluster -1 (default: %(default)s)",
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
    group.add_argument(
        "--order", metavar="COL", help="numbers or dates; every cluster is a run of neighbours in this order"
    )
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
        help="fit again N times on resampled data, and say how often each cluster recurs; 100 is usual",
    )
    parser.add_argument(
        "--resample",
        choices=("columns", "rows", "edges"),
        help="of --support: what is resampled (default: columns, of a graph edges, of a table of similarities rows)",
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "rows beyond memory or one machine",
        "NPY, Parquet or Zarr files are then fitted out of core with Dask (pip install 'hyphc[dask]').\n"
        "The results are labels.npy and checkpoint/tree. An interrupt keeps the checkpoint: begun again\n"
        "with the same --output, a fit goes on where it stopped. Options that cannot be carried out\n"
        "are refused.",
    )
    group.add_argument("--workers", type=whole(1), metavar="N", help="so many processes of this machine")
    group.add_argument("--memory", metavar="SIZE", help="of each worker, such as 2GB; without --workers there is one")
    group.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster, such as tcp://head:8786")

"""Options and help texts of the command line. Every example of every help is run by a test."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any


class Choices:
    """What an option may be, asked for when it is needed: where the names come from loads NumPy, which other helps do without."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)


def metrics_of_rows() -> list[str]:
    """The metrics that a table can have."""
    from ..similarity.metrics import METRICS

    return [name for name, metric in METRICS.items() if metric.takes_rows]


def criteria() -> Iterable[str]:
    """What a cut can be best by."""
    from ..tree.cut import CRITERIA

    return CRITERIA


# Most examples begin here, so that each help can be tried from nothing.
_FIRST = ("hyphc datasets --write iris iris.csv", "hyphc fit iris.csv --labels label")

_DESCRIPTION = """Hierarchical clustering that optimises Dasgupta's cost: from a file of points
or a graph to a tree, flat clusters, pictures, and a report on how good the
tree is.

Exit codes: 0 done; 1 a mistake, told in one sentence; 2 a command line that
cannot be understood; 130 interrupted."""

_FORMATS = """CSV or other text, Excel, Parquet, Feather, JSON lines, NPY, NPZ,
MatrixMarket, AnnData (.h5ad), GraphML, a list of edges, aligned FASTA or
PHYLIP distances, also packed (.gz, .bz2, .xz, .zst); "-" reads standard
input. Columns are given by name, or by number from 1."""


def build_parser() -> argparse.ArgumentParser:
    """The parser of ``hyphc`` with all its commands."""
    parser = argparse.ArgumentParser(
        prog="hyphc",
        description=_DESCRIPTION,
        epilog=_examples("hyphc demo", *_FIRST),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # a new option could change what an abbreviation means
    )
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in (
        _add_fit,
        _add_score,
        _add_compare,
        _add_cut,
        _add_plot,
        _add_explore,
        _add_convert,
        _add_datasets,
        _add_demo,
    ):
        add(commands)
    return parser


class _Version(argparse.Action):
    """``--version``; the installed version is looked up only when it is asked for, which takes a moment."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from .. import __version__

        print(f"hyphc {__version__}")
        parser.exit()


def _command(
    commands: Any, name: str, module: str, summary: str, description: str, *examples: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=_examples(*examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # a new option could change what an abbreviation means
    )
    parser.set_defaults(module=module, function=f"run_{name}", parser=parser)
    return parser


def _examples(*lines: str) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in lines)


def _whole(least: int) -> Any:
    def convert(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is too small; give a whole number of at least {least}")
        return value

    convert.__name__ = "whole number"  # argparse names the type in its message about other text
    return convert


def _positive(what: str) -> Callable[[str], float]:
    """A converter of numbers above 0; argparse names it in its own errors."""

    def convert(text: str) -> float:
        value = float(text)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not a positive {what}")
        return value

    convert.__name__ = what
    return convert


def _strength(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of at least 0")
    return value


_strength.__name__ = "number"


def _column_list(text: str) -> tuple[str, ...]:
    return tuple(column.strip() for column in text.split(","))


def _add_columns(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what the file holds")
    group.add_argument(
        "--features",
        type=_column_list,
        metavar="COL,COL",
        help="columns to cluster by, as names, numbers, ranges such as 2-61 or patterns such as 'sample_*' (default: all "
        "columns of numbers)",
    )
    group.add_argument("--exclude", type=_column_list, metavar="COL,COL", help="columns not to cluster by, given alike")
    group.add_argument(
        "--labels", metavar="COL", help="known groups, to measure how pure the tree is; not clustered by"
    )
    group.add_argument(
        "--names", metavar="COL", help="names of the rows (default: the first text column that tells rows apart)"
    )
    group.add_argument(
        "--categories",
        type=_column_list,
        metavar="COL,COL",
        help="columns of text or codes to cluster by as well, given alike; rows are compared by whether they are equal",
    )
    missing = group.add_mutually_exclusive_group()
    missing.add_argument("--drop-missing", action="store_true", help="leave out rows with missing values")
    missing.add_argument(
        "--impute",
        action="store_true",
        help="put means of columns in place of missing values (default: auto skips them, other metrics refuse them)",
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
    group.add_argument("--sheet", metavar="SHEET", help="of an Excel file: by name or number (default: the first)")
    group.add_argument("--obsm", metavar="KEY", help="of an AnnData file: an embedding, such as X_pca (default: X)")
    group.add_argument(
        "--sequence-distance",
        choices=("p", "jukes-cantor"),
        default="p",
        help="of aligned FASTA: share of sites that differ, or corrected by Jukes and Cantor (default: %(default)s)",
    )


def _add_annotations(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--annotate",
        type=_column_list,
        metavar="COLUMNS",
        help="columns of the data shown beside the tree, and not clustered: classes or numbers (needs a file)",
    )


def _add_similarity(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how alike two rows are")
    group.add_argument(
        "--metric",
        metavar="METRIC",
        choices=Choices(metrics_of_rows),
        help="one of %(choices)s (default: auto, nearest neighbours with a weak background)",
    )
    group.add_argument(
        "--n-neighbors",
        type=_whole(1),
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
        type=_strength,
        metavar="B",
        help="of auto: strength of the background, which joins what no neighbours join (default: 0.003)",
    )
    group.add_argument(
        "--standardize",
        action="store_true",
        help="bring columns to mean 0 and deviation 1 first; with auto the same as --scale yes",
    )


def _add_criterion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--criterion",
        metavar="CRITERION",
        choices=Choices(criteria),
        help="which K clusters are best, by %(choices)s (default: dasgupta where the tree carries weights, else height)",
    )
    parser.add_argument("--min-size", type=_whole(1), metavar="M", help="clusters have at least so many leaves each")


def _add_seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=_whole(0), default=0, help="seed of all random choices (default: %(default)s)")


def _add_fit(commands: Any) -> None:
    parser = _command(
        commands,
        "fit",
        "fit",
        "cluster a file: tree, clusters, pictures and report",
        f"""Cluster the rows of a file, or the nodes of a graph, and write to a folder:
the tree (tree.npz, tree.nwk, tree.json, linkage.npy), flat clusters
(clusters.csv), pictures (tree.png, clustermap.png), what distinguishes the
clusters (differences.csv), a page to explore the tree in a browser
(explorer.html), and a report (report.md) with the cost, what no tree can
beat, and how far from the best the tree can be.

It also says what was done to the columns, what the fit did, and how many flat
clusters it found and why.

FILE is {_FORMATS}

Ctrl-C ends the fit with the best tree so far, which is written; the exit code
is then 130, or 143 if the system asked it to end (SIGTERM).""",
        *_FIRST,
        "hyphc fit iris.csv --features petal_length,petal_width --n-clusters 3 --output petals",
        "hyphc fit iris.csv --metric cosine --standardize --time-budget 5 --output cosine",
        "hyphc fit iris.csv --support 50 --resample rows --output sure",
        "hyphc fit iris.csv --classes label --output pure",
        "hyphc fit - --n-neighbors 10 --scale yes --output piped < iris.csv",
    )
    parser.add_argument("file", metavar="FILE", help="what to cluster")
    _add_columns(parser)
    _add_annotations(parser)
    _add_similarity(parser)
    parser.add_argument(
        "--n-clusters", type=_whole(1), metavar="K", help="number of flat clusters (default: found from the tree)"
    )
    _add_criterion(parser)
    parser.add_argument(
        "--effort",
        type=_positive("number"),
        default=1.0,
        metavar="X",
        help="search for a tree, and for the proof of its gap, X times as much as usual (default: 1)",
    )
    parser.add_argument(
        "--time-budget",
        type=_positive("number of seconds"),
        metavar="SECONDS",
        help="search for so long (default: until little is gained)",
    )
    parser.add_argument(
        "--checkpoint",
        type=Path,
        metavar="DIR",
        help="keep in DIR where the fit stands; the same command, begun again, goes on from there",
    )
    _add_known(parser)
    _add_support(parser)
    _add_seed(parser)
    _add_workers(parser)
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="folder for the results (default: FILE's name + -hyphc)"
    )
    parser.add_argument(
        "--h5ad", type=Path, metavar="COPY", help="of an AnnData FILE: a copy with clusters in obs and the tree in uns"
    )


def _add_known(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "what is known beforehand", "Empty cells say nothing. Contradictions are told with the rows."
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


def _add_support(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--support",
        type=_whole(1),
        metavar="N",
        help="fit again N times on data drawn anew, and say how sure each cluster is; 100 is usual",
    )
    parser.add_argument(
        "--resample",
        choices=("columns", "rows", "edges"),
        help="of --support: what is drawn anew (default: columns, of a graph edges, of a table of similarities rows)",
    )


def _add_workers(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "rows beyond memory or one machine",
        "NPY, Parquet or Zarr files are then fitted by parts with Dask (pip install 'hyphc[dask]').\n"
        "The results are labels.npy and checkpoint/tree; begun again with the same --output, a fit\n"
        "goes on where it stopped.",
    )
    group.add_argument("--workers", type=_whole(1), metavar="N", help="so many processes of this machine")
    group.add_argument("--memory", metavar="SIZE", help="of each worker, such as 2GB; without --workers there is one")
    group.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster, such as tcp://head:8786")


def _add_score(commands: Any) -> None:
    parser = _command(
        commands,
        "score",
        "score",
        "what a tree costs, and how far from the best it can be",
        f"""Print Dasgupta's cost of a tree in the three units in use, the bounds that
hold for every tree, and how far from the best tree it can be. The tree may
come from anywhere: NPZ, Newick, JSON, or SciPy's linkage matrix in NPY.
Leaves with names are matched to rows by name, others by order. Give the
options that the tree was made with.

DATA is {_FORMATS}""",
        *_FIRST,
        "hyphc score iris-hyphc/tree.nwk iris.csv",
        "hyphc score iris-hyphc/linkage.npy iris.csv --labels label --effort 50",
    )
    parser.add_argument("tree", metavar="TREE", help="the tree")
    parser.add_argument("data", metavar="DATA", help="the points or the graph")
    _add_columns(parser)
    _add_similarity(parser)
    parser.add_argument(
        "--effort",
        type=_positive("number"),
        default=1.0,
        metavar="X",
        help="X times the usual effort for the gap of a graph: 50 takes up to a minute (default: 1, a second or two)",
    )
    _add_seed(parser)


def _add_compare(commands: Any) -> None:
    parser = _command(
        commands,
        "compare",
        "compare",
        "how much two trees have in common, and where they differ",
        "Compare two trees of the same leaves: clusters in common, Robinson-Foulds,\n"
        "triplet, transfer and cophenetic agreement, and the largest clusters that are in\n"
        "one and not in the other, with how many leaves would have to move to make each\n"
        "a cluster of the other tree. Leaves are matched by name where both trees have\n"
        "names, otherwise by order. With --output a picture shows the trees face to\n"
        "face, in red what the other does not have.",
        *_FIRST,
        "hyphc fit iris.csv --metric cosine --standardize --output cosine",
        "hyphc compare iris-hyphc/tree.npz cosine/tree.nwk --output both.png",
    )
    parser.add_argument("tree", metavar="TREE", help="NPZ, Newick, JSON or linkage NPY")
    parser.add_argument("other", metavar="OTHER", help="another tree of the same leaves")
    parser.add_argument(
        "--differences", type=_whole(0), default=5, metavar="N", help="clusters listed of each tree (default: 5)"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="draw both into this PNG, SVG or PDF")


def _add_cut(commands: Any) -> None:
    parser = _command(
        commands,
        "cut",
        "trees",
        "flat clusters of a tree, as CSV",
        "Cut a tree into flat clusters and print them as CSV: the number of each leaf\n"
        "from 1, its name if it has one, and its cluster from 0. Without K, H or N, there\n"
        "are as many clusters as the fit found; of a tree from elsewhere, as many as there\n"
        "are where the heights of its merges jump most.\n\n"
        "Of all ways to take K clusters from the tree, --criterion says which is best:\n"
        "  dasgupta    clusters below one root, and rows below them, cost least\n"
        "  height      the last merges are undone\n"
        "  modularity  Newman's modularity is largest\n"
        "  ncut        the normalised cut is smallest\n"
        "  sse         squared distances to the means are smallest\n"
        "All but height need the split weights that hyphc fit keeps in tree.npz and\n"
        "tree.json.",
        *_FIRST,
        "hyphc cut iris-hyphc/tree.npz --n-clusters 3",
        "hyphc cut iris-hyphc/tree.npz --n-clusters 3 --criterion modularity --min-size 5",
        "hyphc cut iris-hyphc/tree.nwk --max-size 10 --output small.csv",
    )
    parser.add_argument("tree", metavar="TREE", help="NPZ, Newick, JSON or linkage NPY")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--n-clusters", type=_whole(1), metavar="K", help="so many clusters")
    which.add_argument("--height", type=float, metavar="H", help="undo all merges above this height")
    which.add_argument(
        "--max-size", type=_whole(1), metavar="N", help="the largest clusters with at most so many leaves"
    )
    _add_criterion(parser)
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write to this file, CSV or .xlsx, instead of standard output"
    )


def _add_plot(commands: Any) -> None:
    parser = _command(
        commands,
        "plot",
        "pictures",
        "draw a tree (needs matplotlib)",
        "Draw a tree in the Poincaré disk, as a dendrogram, or both side by side, or\n"
        "the table DATA beside it (clustermap), to PNG, SVG or PDF. Colours are the\n"
        "labels if DATA and --labels are given, else flat clusters.",
        *_FIRST,
        "hyphc plot iris-hyphc/tree.npz --kind disk --n-clusters 3 --output disk.png",
        "hyphc plot iris-hyphc/tree.npz iris.csv --labels label --output iris.svg",
        "hyphc plot iris-hyphc/tree.npz iris.csv --annotate label --kind clustermap --output map.png",
    )
    parser.add_argument("tree", metavar="TREE", help="NPZ, Newick, JSON or linkage NPY")
    parser.add_argument(
        "data", metavar="DATA", nargs="?", help="the file that the tree was made from, for names and labels"
    )
    _add_columns(parser)
    _add_annotations(parser)
    parser.add_argument(
        "--kind",
        choices=("both", "disk", "dendrogram", "clustermap"),
        default="both",
        help="what to draw (default: %(default)s)",
    )
    parser.add_argument(
        "--n-clusters", type=_whole(1), metavar="K", help="number of colours (default: as of hyphc cut)"
    )
    _add_criterion(parser)
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="the picture (default: TREE with the extension .png)"
    )


def _add_explore(commands: Any) -> None:
    parser = _command(
        commands,
        "explore",
        "pictures",
        "write a page to explore a tree in a browser",
        "Write one HTML file, which needs no network, to explore a tree in a browser:\n"
        "pan and zoom in the Poincaré disk, search, cut, list and export clusters. With\n"
        "DATA it also shows names, labels and features. It opens with the clusters that\n"
        "hyphc cut prints without K, and its slider cuts as hyphc cut does.",
        *_FIRST,
        "hyphc explore iris-hyphc/tree.npz --output plain.html",
        "hyphc explore iris-hyphc/tree.npz iris.csv --labels label --output iris.html",
    )
    parser.add_argument("tree", metavar="TREE", help="NPZ, Newick, JSON or linkage NPY")
    parser.add_argument("data", metavar="DATA", nargs="?", help="the file that the tree was made from")
    _add_columns(parser)
    _add_annotations(parser)
    _add_criterion(parser)
    parser.add_argument("--output", type=Path, metavar="FILE", help="the page (default: TREE with the extension .html)")


def _add_convert(commands: Any) -> None:
    parser = _command(
        commands,
        "convert",
        "trees",
        "a tree from one format to another",
        "Read a tree and write it in the format of the new file's extension: .npz, .nwk\n"
        "or .newick, .json, or .npy (SciPy's linkage matrix, which has no place for\n"
        "names).",
        *_FIRST,
        "hyphc convert iris-hyphc/tree.npz iris.nwk",
        "hyphc convert iris.nwk iris.json",
    )
    parser.add_argument("tree", metavar="IN", help="NPZ, Newick, JSON or linkage NPY")
    parser.add_argument("output", metavar="OUT", type=Path, help="the file to write")


def _add_datasets(commands: Any) -> None:
    parser = _command(
        commands,
        "datasets",
        "data",
        "data sets that are known by name",
        "List the data sets known by name, their sizes, and whether they are at hand; or\n"
        "write one to a file to begin with. A graph is written as a list of edges.",
        "hyphc datasets",
        "hyphc datasets --write wine wine.csv",
        "hyphc fit wine.csv --labels label --output wine",
    )
    parser.add_argument(
        "--write", nargs=2, metavar=("NAME", "FILE"), help="write a data set as CSV (or TSV, by the extension)"
    )


def _add_demo(commands: Any) -> None:
    parser = _command(
        commands,
        "demo",
        "data",
        "cluster scikit-learn's digits, compare methods, explore the tree",
        "Cluster the 1797 digits of scikit-learn with HypHC as it comes, save the tree, and\n"
        "write a page to explore it in a browser; then compare what the trees of several\n"
        "methods cost under the cosine similarity of the HypHC paper.",
        "hyphc demo",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        default=Path("hyphc-demo"),
        help="folder for the results (default: %(default)s)",
    )
    _add_seed(parser)

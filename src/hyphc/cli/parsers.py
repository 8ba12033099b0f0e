"""Parsers and help texts of the command line. A test runs every example of every help text."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .options import (
    add_annotations,
    add_columns,
    add_criterion,
    add_known,
    add_outliers,
    add_seed,
    add_similarity,
    add_support,
    add_workers,
    positive,
    strength,
    whole,
)

# Most examples begin with this data set, so that each help text can be tried without a file.
_FIRST = ("hyphc datasets --write iris iris.csv", "hyphc fit iris.csv --labels label")

_DESCRIPTION = """Hierarchical clustering that optimises Dasgupta's cost: from a file of points
or a graph to a tree, flat clusters, pictures, and a report on how good the
tree is.

Exit codes: 0 done; 1 an error, explained in one sentence; 2 a command line that
cannot be parsed; 130 interrupted."""

_FORMATS = """CSV or other text, Excel, Parquet, Feather, JSON lines, NPY, NPZ,
MatrixMarket, AnnData (.h5ad), GraphML, a list of edges, aligned FASTA or
PHYLIP distances, also compressed (.gz, .bz2, .xz, .zst); "-" reads standard
input. Columns are given by name, or by number from 1."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of ``hyphc`` with all its commands."""
    parser = argparse.ArgumentParser(
        prog="hyphc",
        description=_DESCRIPTION,
        epilog=_examples("hyphc demo", *_FIRST),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # a new option could change the meaning of an abbreviation
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
    """Action of ``--version`` that looks the installed version up lazily."""

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
        allow_abbrev=False,  # a new option could change the meaning of an abbreviation
    )
    parser.set_defaults(module=module, function=f"run_{name}", parser=parser)
    return parser


def _examples(*lines: str) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in lines)


strength.__name__ = "number"


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
(explorer.html), and a report (report.md) with the cost, its lower bound, and
the certified gap to the optimum.

It also prints how columns were scaled, the plan of the fit, and the number of
flat clusters with the reason.

FILE is {_FORMATS}

Ctrl-C ends the fit with the best tree so far, which is written; the exit code
is then 130, or 143 after SIGTERM.""",
        *_FIRST,
        "hyphc fit iris.csv --features petal_length,petal_width --n-clusters 3 --output petals",
        "hyphc fit iris.csv --metric cosine --standardize --time-budget 2 --output cosine",
        "hyphc fit iris.csv --support 20 --resample rows --output sure",
        "hyphc fit iris.csv --classes label --output pure",
        "hyphc fit - --n-neighbors 10 --scale yes --output piped < iris.csv",
    )
    parser.add_argument("file", metavar="FILE", help="what to cluster")
    add_columns(parser)
    add_annotations(parser)
    add_similarity(parser)
    parser.add_argument(
        "--n-clusters", type=whole(1), metavar="K", help="number of flat clusters (default: found from the tree)"
    )
    add_criterion(parser)
    add_outliers(parser)
    _add_search(parser)
    add_known(parser)
    add_support(parser)
    add_seed(parser)
    add_workers(parser)
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="folder for the results (default: FILE's name less its extension + -hyphc)",
    )
    parser.add_argument(
        "--h5ad", type=Path, metavar="COPY", help="of an AnnData FILE: a copy with clusters in obs and the tree in uns"
    )


def _add_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--effort",
        type=positive("number"),
        default=1.0,
        metavar="X",
        help="X times the default effort of the search and of the gap's certificate (default: 1)",
    )
    parser.add_argument(
        "--time-budget",
        type=positive("number of seconds"),
        metavar="SECONDS",
        help="time limit of the search (default: until it gains little)",
    )
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="save the state of the fit in DIR; the same command resumes from it; with --workers or --scheduler also an "
        "address, such as s3://bucket/fit",
    )


def _add_score(commands: Any) -> None:
    parser = _command(
        commands,
        "score",
        "score",
        "cost of a tree, and its certified gap to the optimum",
        f"""Print Dasgupta's cost of a tree in the three units in use, the bounds that
hold for every tree, and the certified gap to the optimum. The tree may be of
any method: NPZ, Newick, JSON, or SciPy's linkage matrix in NPY. Leaves with
names are matched to rows by name, others by order. Give the options that the
tree was fitted with.

DATA is {_FORMATS}""",
        *_FIRST,
        "hyphc score iris-hyphc/tree.nwk iris.csv",
        "hyphc score iris-hyphc/linkage.npy iris.csv --labels label --effort 50",
    )
    parser.add_argument("tree", metavar="TREE", help="the tree")
    parser.add_argument("data", metavar="DATA", help="the points or the graph")
    add_columns(parser)
    add_similarity(parser)
    parser.add_argument(
        "--effort",
        type=positive("number"),
        default=1.0,
        metavar="X",
        help="X times the default effort for the gap of a graph: 50 takes up to a minute (default: 1, a second or two)",
    )
    add_seed(parser)


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
        "names, otherwise by order. With --output the trees are drawn side by side, with\n"
        "clusters that the other lacks in red.",
        *_FIRST,
        "hyphc fit iris.csv --metric cosine --standardize --output cosine",
        "hyphc compare iris-hyphc/tree.npz cosine/tree.nwk --output both.png",
    )
    parser.add_argument("tree", metavar="TREE", help="NPZ, Newick, JSON or linkage NPY")
    parser.add_argument("other", metavar="OTHER", help="another tree of the same leaves")
    parser.add_argument(
        "--differences", type=whole(0), default=5, metavar="N", help="clusters listed of each tree (default: 5)"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="draw both into this PNG, SVG or PDF")


def _add_cut(commands: Any) -> None:
    parser = _command(
        commands,
        "cut",
        "trees",
        "flat clusters of a tree, as CSV",
        "Cut a tree into flat clusters and print them as CSV: the number of each leaf\n"
        "from 1, its name if it has one, and its cluster from 0. Without K, H or N, these\n"
        "are the clusters that the fit found; for other trees, the cut at the largest gap\n"
        "between the heights of successive merges.\n\n"
        "--criterion selects the K clusters of the tree:\n"
        "  condensed   the groups below its highest splits (the default); small groups at a\n"
        "              merge join the larger side\n"
        "  dasgupta    minimise the cost of the three-level tree of root, clusters and rows\n"
        "  height      undo the last merges\n"
        "  modularity  maximise Newman's modularity\n"
        "  ncut        minimise the normalised cut\n"
        "  sse         minimise the sum of squared distances to the means\n"
        "All but condensed and height need the split weights that hyphc fit stores in\n"
        "tree.npz and tree.json.",
        *_FIRST,
        "hyphc cut iris-hyphc/tree.npz --n-clusters 3",
        "hyphc cut iris-hyphc/tree.npz --n-clusters 3 --criterion modularity --min-size 5",
        "hyphc cut iris-hyphc/tree.nwk --max-size 10 --output small.csv",
    )
    parser.add_argument("tree", metavar="TREE", help="NPZ, Newick, JSON or linkage NPY")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--n-clusters", type=whole(1), metavar="K", help="number of clusters")
    which.add_argument("--height", type=float, metavar="H", help="undo all merges above this height")
    which.add_argument("--max-size", type=whole(1), metavar="N", help="maximum number of leaves of a cluster")
    add_criterion(parser)
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
        "data", metavar="DATA", nargs="?", help="the file that the tree was fitted to, for names and labels"
    )
    add_columns(parser)
    add_annotations(parser)
    parser.add_argument(
        "--kind",
        choices=("both", "disk", "dendrogram", "clustermap"),
        default="both",
        help="what to draw (default: %(default)s)",
    )
    parser.add_argument("--n-clusters", type=whole(1), metavar="K", help="number of colours (default: as of hyphc cut)")
    add_criterion(parser)
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
    parser.add_argument("data", metavar="DATA", nargs="?", help="the file that the tree was fitted to")
    add_columns(parser)
    add_annotations(parser)
    add_criterion(parser)
    parser.add_argument("--output", type=Path, metavar="FILE", help="the page (default: TREE with the extension .html)")


def _add_convert(commands: Any) -> None:
    parser = _command(
        commands,
        "convert",
        "trees",
        "a tree from one format to another",
        "Read a tree and write it in the format of the new file's extension: .npz, .nwk\n"
        "or .newick, .json, or .npy (SciPy's linkage matrix, without names).",
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
        "data sets by name",
        "List the data sets, their sizes, and whether they are available offline; or write\n"
        "one to a file. A graph is written as a list of edges.",
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
        "Cluster the 1797 digits of scikit-learn with HypHC's defaults, save the tree, and\n"
        "write a page to explore it in a browser; then compare the costs of the trees of\n"
        "several methods under the cosine similarity of the HypHC paper.",
        "hyphc demo",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        default=Path("hyphc-demo"),
        help="folder for the results (default: %(default)s)",
    )
    add_seed(parser)

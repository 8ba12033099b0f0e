"""Commands of the command line with their options and help texts. A test runs every example of every help text."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

from .options import (
    ANNOTATE,
    COLUMNS,
    CONSTRAINTS,
    CRITERION,
    PICTURES,
    SEED,
    SIMILARITY,
    TREE,
    WORKERS,
    Options,
    add_options,
)

# Most examples begin with this data set, so that each help text can be tried without a file.
_FIRST = ("hyphc datasets --write iris iris.csv", "hyphc fit iris.csv --labels label")

_DESCRIPTION = """Hierarchical clustering that optimises Dasgupta's cost: from a file of points
or a graph to a tree, flat clusters, pictures, and a report on how good the
tree is.

Exit codes: 0 done; 1 an error, explained in one sentence; 2 a command line that
cannot be parsed; 130 interrupted."""

_FORMATS = """CSV or other text, Excel, Parquet, Feather, JSON lines, NPY, NPZ,
MatrixMarket, AnnData (.h5ad), GraphML, GEXF, GML, a list of edges, aligned
FASTA or PHYLIP distances, also compressed (.gz, .bz2, .xz, .zst); "-" reads standard
input. Columns are given by name, or by number from 1."""


class Command(NamedTuple):
    """A command, the module with its function ``run_<name>``, its help texts, and its options in sections."""

    name: str
    module: str
    summary: str
    description: str
    examples: tuple[str, ...]
    options: Options


_FIT = Command(
    "fit",
    "fit",
    "cluster a file: tree, clusters, pictures and report",
    f"""Cluster the rows of a file, or the nodes of a graph, and write to a folder:
the tree (tree.npz, tree.nwk, tree.json, linkage.npy), the model for new rows
(model.npz), the tree for d3 and its clusters for iTOL (tree.d3.json,
itol_clusters.txt), a graph with its communities (graph.gexf, graph.gml), flat
clusters (clusters.csv), pictures (tree.png, disk.png, clustermap.png),
what distinguishes the clusters (differences.csv), a page to explore the tree in
a browser (explorer.html), and a report (report.md) with the cost, its lower bound, and
the certified gap to the optimum.

It also prints how columns were scaled, the plan of the fit, and the number of
flat clusters with the reason.

FILE is {_FORMATS}

Ctrl-C ends the fit with the best tree so far, which is written; the exit code
is then 130, or 143 after SIGTERM.""",
    (
        *_FIRST,
        "hyphc fit iris.csv --features petal_length,petal_width --n-clusters 3 --output petals",
        "hyphc fit iris.csv --metric cosine --standardize --time-budget 2 --output cosine",
        "hyphc fit iris.csv --support 20 --resample rows --output sure",
        "hyphc fit iris.csv --classes label --output pure",
        "hyphc fit - --n-neighbors 10 --scale yes --output piped < iris.csv",
    ),
    {
        "file FILE": "what to cluster",
        "what the file holds": COLUMNS,
        **ANNOTATE,
        "--texts COL": "column of texts whose words name the clusters; rows are clustered by their words (TF-IDF) only if no "
        "column holds numbers",
        "similarity of rows": SIMILARITY,
        "--n-clusters K": "number of flat clusters (default: found from the tree)",
        **CRITERION,
        "--outliers": "rows that split off above the core of a cluster join it, or get the label -1 (default: %(default)s)",
        "--effort X": "X times the default effort of the search and of the gap's certificate (default: 1)",
        "--time-budget SECONDS": "time limit of the search (default: it stops when the cost hardly decreases)",
        "--checkpoint DIR": "save the state of the fit in DIR; the same command resumes from it; with --workers or --scheduler "
        "also an address, such as s3://bucket/fit",
        "constraints": CONSTRAINTS,
        "--support N": "refit N times on resampled data, and report how often each cluster recurs; 100 is usual",
        "--resample": "for --support: what is resampled (default: columns; edges of a graph; rows of a table of similarities)",
        **SEED,
        **PICTURES,
        "rows beyond memory or one machine": WORKERS,
        "--output DIR": "folder for the results (default: FILE's name less its extension + -hyphc)",
        "--h5ad COPY": "of an AnnData FILE: a copy with clusters in obs and the tree in uns",
    },
)
_PREDICT = Command(
    "predict",
    "predict",
    "clusters of new rows, by a model of hyphc fit",
    """Assign the rows of a new file to the clusters of a model, and print them as CSV:
the number of each row from 1, its name if it has one, its cluster from 0, and
the name of the cluster if there are names. Each row is assigned by itself, to the
cluster at its cheapest position in the tree; the model does not change.

MODEL is the model.npz that hyphc fit writes, or its folder. Columns of NEWFILE are
matched by name, in any order, and scaled as in the fit; columns that the model
does not use are optional. For a model of a graph NEWFILE lists edges between new
nodes and fitted ones; for one of similarities or distances it has a column for
each fitted row.""",
    (
        *_FIRST,
        "hyphc predict iris-hyphc/model.npz iris.csv",
        "hyphc predict iris-hyphc iris.csv --output new.csv",
    ),
    {
        "model MODEL": "the model.npz of hyphc fit, or the folder of a fit, in memory or out of core",
        "file NEWFILE": "new rows; a table as that of the fit, in any format that hyphc fit reads",
        "--exclude COL,COL": "columns that the fitted file did not have, not to be used",
        "--names COL": COLUMNS["--names COL"],
        "--sheet SHEET": COLUMNS["--sheet SHEET"],
        "--header ROW": COLUMNS["--header ROW"],
        "--obsm KEY": COLUMNS["--obsm KEY"],
        "--output FILE": "write to this file, CSV, instead of standard output",
    },
)
_SCORE = Command(
    "score",
    "report",
    "cost of a tree, and its certified gap to the optimum",
    f"""Print Dasgupta's cost of a tree in three units, the bounds that hold for every
tree, and the certified gap to the optimum. The tree may come from any method:
NPZ, Newick, JSON, or SciPy's linkage matrix in NPY. Leaves with names are
matched to rows by name, others by order. Give the options that the tree was
fitted with.

DATA may also be an entry of best known costs, such as
best_known/wine-cosine.json: its similarity is built from its data set, and the
cost is compared with the best known one.

DATA is {_FORMATS}""",
    (
        *_FIRST,
        "hyphc score iris-hyphc/tree.nwk iris.csv",
        "hyphc score iris-hyphc/linkage.npy iris.csv --labels label --effort 50",
        "hyphc score best_known/wine-cosine.npz best_known/wine-cosine.json",
    ),
    {
        "tree TREE": "the tree",
        "data DATA": "the points or the graph",
        "what the file holds": COLUMNS,
        "similarity of rows": SIMILARITY,
        "--effort X": "X times the default effort for the gap of a graph: 50 takes up to a minute (default: 1, a second or two)",
        **SEED,
    },
)
_VERIFY = Command(
    "verify",
    "verify",
    "check best known costs and their bounds",
    """Check an entry of best known costs, or all entries of a folder, against the
data: the similarity is built and its checksum compared, the tree's cost must
agree to 1e-9, the packings that bound a graph's cost are verified, and a
statistical bound is computed again from its seed. Entries of a folder
whose data are not on this machine are skipped, with the reason. The exit code is 1
if an entry fails a check.""",
    ("hyphc verify best_known/wine-cosine.json", "hyphc verify best_known --skip-bounds"),
    {
        "entry ENTRY": "a JSON file of best_known/, or a folder of them",
        "--skip-bounds": "check similarities and costs only: some bounds take a minute",
    },
)
_COMPARE = Command(
    "compare",
    "trees",
    "how much two trees have in common, and where they differ",
    """Compare two trees of the same leaves: clusters in common, Robinson-Foulds,
triplet, transfer and cophenetic agreement, and the largest clusters of each tree
that the other lacks, with the number of leaves that must move to make each a
cluster of the other tree. Leaves are matched by name where both trees have
names, otherwise by order. With --output the trees are drawn side by side, with
clusters that the other lacks in red.""",
    (
        *_FIRST,
        "hyphc fit iris.csv --metric cosine --standardize --output cosine",
        "hyphc compare iris-hyphc/tree.npz cosine/tree.nwk --output both.png",
    ),
    {
        **TREE,
        "other OTHER": "another tree of the same leaves",
        "--differences N": "clusters listed of each tree (default: 5)",
        "--output FILE": "draw both into this PNG, SVG or PDF",
    },
)
_CUT = Command(
    "cut",
    "trees",
    "flat clusters of a tree, as CSV",
    """Cut a tree into flat clusters and print them as CSV: the number of each leaf
from 1, its name if it has one, and its cluster from 0. Without K, H or N, these
are the clusters that the fit found; for other trees, the cut at the largest gap
between the heights of successive merges.

--criterion selects the K clusters of the tree:
  condensed   the groups below its highest splits (the default); small groups at a
              merge join the larger side
  dasgupta    minimise the cost of the three-level tree of root, clusters and rows
  height      undo the last merges
  modularity  maximise Newman's modularity
  ncut        minimise the normalised cut
  sse         minimise the sum of squared distances to the means
All but condensed and height need the split weights that hyphc fit stores in
tree.npz and tree.json.""",
    (
        *_FIRST,
        "hyphc cut iris-hyphc/tree.npz --n-clusters 3",
        "hyphc cut iris-hyphc/tree.npz --n-clusters 3 --criterion modularity --min-size 5",
        "hyphc cut iris-hyphc/tree.nwk --max-size 10 --output small.csv",
    ),
    {
        **TREE,
        "which clusters": {
            "--n-clusters K": "number of clusters",
            "--height H": "undo all merges above this height",
            "--max-size N": "maximum number of leaves of a cluster",
        },
        **CRITERION,
        "--output FILE": "write to this file, CSV or .xlsx, instead of standard output",
    },
)
_PLOT = Command(
    "plot",
    "pictures",
    "draw a tree (needs matplotlib)",
    """Draw a tree to PNG, SVG or PDF. --kind selects the picture:
  dendrogram      merges at their heights (the default)
  disk            the tree in the Poincaré disk
  condensed_tree  groups as icicles, as wide as the points still in them
  clustermap      the table DATA in leaf order beside the tree
Colours are the labels if DATA and --labels are given, else flat clusters.""",
    (
        *_FIRST,
        "hyphc plot iris-hyphc/tree.npz --kind disk --n-clusters 3 --output disk.png",
        "hyphc plot iris-hyphc/tree.npz --kind condensed_tree --output condensed.png",
        "hyphc plot iris-hyphc/tree.npz iris.csv --labels label --output iris.svg",
        "hyphc plot iris-hyphc/tree.npz iris.csv --annotate label --kind clustermap --output map.png",
        "hyphc plot iris-hyphc/tree.npz --preset one-column --format pdf,svg --output figure",
    ),
    {
        **TREE,
        "data [DATA]": "the file that the tree was fitted to, for names and labels",
        "what the file holds": COLUMNS,
        **ANNOTATE,
        "--kind": "what to draw (default: %(default)s)",
        "--n-clusters K": "number of clusters to colour (default: as hyphc cut)",
        **CRITERION,
        **PICTURES,
        "--output FILE": "the picture; --format replaces its extension (default: TREE with the extension .png; beside a folder)",
    },
)
_EXPLORE = Command(
    "explore",
    "pictures",
    "write a page to explore a tree in a browser",
    """Write one HTML file, which needs no network, to explore a tree in a browser:
pan and zoom in the Poincaré disk, search, cut, list and export clusters. With
DATA it also shows names, labels and features. It opens with the clusters that
hyphc cut prints without K, and its slider cuts as hyphc cut does.""",
    (
        *_FIRST,
        "hyphc explore iris-hyphc/tree.npz --output plain.html",
        "hyphc explore iris-hyphc/tree.npz iris.csv --labels label --output iris.html",
    ),
    {
        **TREE,
        "data [DATA]": "the file that the tree was fitted to",
        "what the file holds": COLUMNS,
        **ANNOTATE,
        **CRITERION,
        "--output FILE": "the page (default: TREE with the extension .html; beside a folder)",
    },
)
_CONVERT = Command(
    "convert",
    "trees",
    "a tree from one format to another",
    """Read a tree and write it in the format of the new file's extension: .npz, .nwk
or .newick, .json, or .npy (SciPy's linkage matrix, without names).""",
    (*_FIRST, "hyphc convert iris-hyphc/tree.npz iris.nwk", "hyphc convert iris.nwk iris.json"),
    {"tree IN": "NPZ, Newick, JSON or linkage NPY", "output OUT": "the file to write"},
)
_DATASETS = Command(
    "datasets",
    "data",
    "data sets by name",
    """List the data sets, their sizes, and whether they are available offline; or write
one to a file. A graph is written as a list of edges.""",
    (
        "hyphc datasets",
        "hyphc datasets --write wine wine.csv",
        "hyphc fit wine.csv --labels label --output wine",
    ),
    {"--write NAME FILE": "write a data set as CSV (or TSV, by the extension)"},
)
_DEMO = Command(
    "demo",
    "data",
    "cluster scikit-learn's digits, compare methods, explore the tree",
    """Cluster the 1797 digits of scikit-learn with HypHC's defaults, save the tree, and
write a page to explore it in a browser; then compare the costs of the trees of
several methods under the cosine similarity of the HypHC paper.""",
    ("hyphc demo",),
    {"--output DIR": "folder for the results (default: hyphc-demo)", **SEED},
)
_COMPILE = Command(
    "compile",
    "cache",
    "compile all kernels in advance",
    """Compile the kernels of every kind of input, by small fits, and print how long each
took: two to three minutes in all. Otherwise the first fit of each kind compiles
its own. Use it when a container image is built, or before a presentation. numba
keeps compiled kernels beside the sources, or in NUMBA_CACHE_DIR, or in the user's
cache folder.""",
    ("hyphc compile",),
    {},
)
_CLEAR_CACHE = Command(
    "clear-cache",
    "cache",
    "remove compiled kernels, which are compiled again when needed",
    """Remove the compiled kernels of hyphc that numba keeps on disk: beside the sources,
in NUMBA_CACHE_DIR, and in the user's cache folder. The next fit compiles them
again, which takes some ten seconds. Use it after an update of a checkout: numba
does not notice when a function that a kernel calls has changed, and a fit with old
kernels can end with an error, such as AttributeError. Other packages keep theirs.""",
    ("hyphc clear-cache",),
    {},
)
COMMANDS = (
    _FIT,
    _PREDICT,
    _SCORE,
    _VERIFY,
    _COMPARE,
    _CUT,
    _PLOT,
    _EXPLORE,
    _CONVERT,
    _DATASETS,
    _DEMO,
    _COMPILE,
    _CLEAR_CACHE,
)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of ``hyphc`` with all its commands."""
    parser = argparse.ArgumentParser(prog="hyphc", **_texts(_DESCRIPTION, ("hyphc demo", *_FIRST)))
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        own = parsers.add_parser(command.name, help=command.summary, **_texts(command.description, command.examples))
        add_options(own, command.options)
        function = f"run_{command.name.replace('-', '_')}"
        own.set_defaults(module=command.module, function=function, parser=own)
    return parser


def _texts(description: str, examples: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of a parser with these texts, as they are."""
    return {
        "description": description,
        "epilog": "\n  ".join(["examples:", *examples]),
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,  # a new option could change the meaning of an abbreviation
    }


class _Version(argparse.Action):
    """Action of ``--version`` that looks the installed version up lazily."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from .. import __version__

        print(f"hyphc {__version__}")
        parser.exit()

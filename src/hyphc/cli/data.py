"""``hyphc datasets`` and ``hyphc demo``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .. import baselines, datasets
from .._runtime.atomic_write import atomic_write
from ..datasets.catalogue import BUNDLED, GRAPHS, TABLES
from ..datasets.load import DATA_VARIABLE, files_of, find_home
from ..estimator import HypHC
from ..io import write_tree
from ..scores.bounds import cost_bounds
from ..scores.costs import dasgupta_cost, dendrogram_purity
from ..similarity import Similarity, as_similarity, standardize
from ..tree import Tree
from .outputs import require_suffix, require_writable_file, require_writable_folder, write_csv
from .report import describe_cluster_number


def run_datasets(arguments: argparse.Namespace) -> None:
    """List the data sets, or write one."""
    if arguments.write is not None:
        _write(*arguments.write)
        return
    print(f"{'name':<14} {'rows':>6} {'columns':>8}  available")
    for name in datasets.names():
        rows, columns = _shape(name)
        print(f"{name:<14} {rows:>6} {columns:>8}  {_at_hand(name)}")
    print("\nwrite one with: hyphc datasets --write NAME FILE.csv")


def _shape(name: str) -> tuple[int, str]:
    """Return the number of rows and columns, or of nodes and edges, as text."""
    if name in TABLES:
        return TABLES[name].n_rows, str(len(TABLES[name].features.split()))
    if name in GRAPHS:
        return GRAPHS[name][0], "graph"
    n, d = datasets.load(name).data.shape
    return n, str(d)


def _at_hand(name: str) -> str:
    if name in BUNDLED:
        return "yes, with scikit-learn"
    home = find_home(name)
    if home is not None:
        return f"yes, in {home}"
    if name == "iris":
        return "yes, with scikit-learn"
    if name in TABLES:
        return "no, fetched from OpenML when asked for"
    return f"no, put {files_of(name)[0]} into a folder and set {DATA_VARIABLE} to it"


def _write(name: str, file: str) -> None:
    path = Path(file)
    require_suffix(path, *_DELIMITERS)
    require_writable_file(path)
    dataset = _load(name)
    header, rows = _edge_rows(dataset.data) if sp.issparse(dataset.data) else _table_rows(dataset)
    with atomic_write(path) as target:
        target.write(write_csv(header, rows, _DELIMITERS[path.suffix.lower()]).encode())
    hint = " --graph" if sp.issparse(dataset.data) else ""
    print(f"wrote {file}: {', '.join(header[:3])}{', …' if len(header) > 3 else ''}")
    print(f"next: hyphc fit {file}{hint}")


_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def _load(name: str) -> datasets.Dataset:
    try:
        return datasets.load(name)
    except FileNotFoundError:
        remedy = f"set {DATA_VARIABLE} to a folder with {' and '.join(files_of(name))}"
        raise ValueError(f"data set {name} is not available and could not be fetched; {remedy}.") from None


def _table_rows(dataset: datasets.Dataset) -> tuple[list[str], Iterable[Any]]:
    """Return a header and rows: names if there are any, features, and the label as text."""
    header = list(dataset.feature_names or map(str, range(1, dataset.data.shape[1] + 1)))
    columns = dataset.data.T.tolist()
    if dataset.names is not None:
        header, columns = ["name", *header], [dataset.names, *columns]
    if dataset.labels is not None:
        classes, codes = np.unique(dataset.labels, return_inverse=True)
        words = dataset.class_names or tuple(map(str, classes.tolist()))
        header, columns = [*header, "label"], [*columns, [words[code] for code in codes.tolist()]]
    return header, zip(*columns, strict=True)


def _edge_rows(adjacency: Any) -> tuple[list[str], Iterable[Any]]:
    upper = sp.coo_array(sp.triu(adjacency, k=1))
    columns = (upper.row.tolist(), upper.col.tolist(), upper.data.tolist())
    return ["source", "target", "weight"], zip(*columns, strict=True)


def run_demo(arguments: argparse.Namespace) -> None:
    """Cluster the digits, write the tree and its explorer, and compare what trees of several methods cost."""
    folder: Path = arguments.output or Path("hyphc-demo")
    require_writable_folder(folder)
    digits = datasets.load("digits")
    model = HypHC(random_state=arguments.seed, verbose=int(sys.stderr.isatty())).fit(digits.data)
    _print_result(model, digits)
    folder.mkdir(parents=True, exist_ok=True)
    _write_demo(model, digits, folder)
    similarity = as_similarity(standardize(digits.data), "cosine")
    print("\nWhat trees cost under the similarity of the HypHC paper, (1 + cosine) / 2, of standardised pixels:")
    assert digits.labels is not None
    _compare(_methods(arguments.seed), similarity, digits.labels)
    print(f"\nexplore the tree in a browser: {folder / 'digits.html'}")


def _print_result(model: HypHC, digits: datasets.Dataset) -> None:
    """Print what the fit found, and its agreement with the digits."""
    from sklearn.metrics import adjusted_rand_score

    print(
        f"{model.n_leaves_} handwritten digits, clustered by HypHC as it comes; {model.similarity_.source.scaling.why}"
    )
    print(f"clusters: {describe_cluster_number(model)}")
    for k in sorted({model.n_clusters_, 10}):
        clusters = model.labels_ if k == model.n_clusters_ else model.tree_.cut(k)
        agreement = adjusted_rand_score(digits.labels, clusters)
        print(f"adjusted Rand index of {k} clusters and the digits: {agreement:.3f}")
    print(f"dendrogram purity of the tree: {dendrogram_purity(model.tree_, np.asarray(digits.labels)):.3f}")


def _write_demo(model: HypHC, digits: datasets.Dataset, folder: Path) -> None:
    from ..explorer import explore

    for name in ("digits.npz", "digits.nwk"):
        write_tree(model.tree_, folder / name)
    print(f"saved the tree: {folder / 'digits.npz'} (hyphc.Tree.load) and digits.nwk (Newick)")
    # ink on paper: the data has 16 for the darkest pixel
    thumbnails = (255 - digits.data.reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    explore(
        model.tree_,
        folder / "digits.html",
        labels=digits.labels,
        images=thumbnails,
        embedding=model.embedding_,
        similarity=model.similarity_,
        title="1797 handwritten digits",
    )


def _methods(seed: int) -> dict[str, Callable[[Similarity], Tree]]:
    def fit(refine: bool) -> Callable[[Similarity], Tree]:
        model = HypHC(refine=refine, random_state=seed, verbose=int(sys.stderr.isatty()))
        return lambda similarity: model.fit(similarity).tree_

    return {
        "random tree": lambda similarity: baselines.random_tree(similarity, random_state=seed),
        "single linkage": baselines.single_linkage,
        "complete linkage": baselines.complete_linkage,
        "Ward linkage": baselines.ward_linkage,
        "average linkage": baselines.average_linkage,
        "HypHC, continuous": fit(refine=False),
        "HypHC": fit(refine=True),
    }


def _compare(methods: dict[str, Callable[[Similarity], Tree]], similarity: Similarity, labels: npt.ArrayLike) -> None:
    """Print a table of what each method's tree costs, with the bounds that hold for every tree."""
    bounds = cost_bounds(similarity)
    print(f"\n{'method':<18} {'Dasgupta cost':>14} {'above bound':>12} {'purity':>7} {'seconds':>8}")
    for name, method in methods.items():
        begin = time.perf_counter()
        tree = method(similarity)
        seconds = time.perf_counter() - begin
        cost = dasgupta_cost(tree, similarity)
        above = cost / bounds.lower - 1
        purity = dendrogram_purity(tree, labels)
        print(f"{name:<18} {cost:>14.6g} {above:>12.2%} {purity:>7.3f} {seconds:>8.2f}")
    print(f"{'lower bound':<18} {bounds.lower:>14.6g}    no tree costs less")
    print(f"{'upper bound':<18} {bounds.upper:>14.6g}    no tree costs more")

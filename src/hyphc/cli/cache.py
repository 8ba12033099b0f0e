"""``hyphc compile`` and ``hyphc clear-cache``: the compiled kernels that numba keeps on disk."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .. import _kernels, datasets
from .._runtime.user_warnings import collect_warnings
from ..estimator import HypHC
from ..similarity.knn.exact import TREE_DIMENSIONS
from ..similarity.knn.reduced_search import LEAST_COLUMNS
from ..similarity.knn.search import EXACT_LIMIT, neighbor_graph
from .outputs import human_size

SUFFIXES = (".nbi", ".nbc")  # numba's index of a function, and its machine code


def run_compile(arguments: argparse.Namespace) -> None:
    """Compile the kernels of every kind of input by small fits, and print how long each kind took."""
    begin = time.perf_counter()
    for kind, run in kinds_of_input().items():
        started = time.perf_counter()
        with collect_warnings(lambda message: None):  # about the quality of these small fits
            run()
        print(f"{kind:<44}{time.perf_counter() - started:6.1f} s")
    print(f"compiled in {time.perf_counter() - begin:.1f} s, in {_common(sorted(set(cache_folders())))}")


def kinds_of_input() -> dict[str, Callable[[], Any]]:
    """Return for each kind of input what compiles its kernels."""
    rows = np.asarray(datasets.load("iris").data, dtype=np.float64)
    repeated = np.vstack([rows, rows[:20]])
    many = np.random.default_rng(0).standard_normal((EXACT_LIMIT + 1, TREE_DIMENSIONS + 1))
    # of more columns, but few directions: searched by principal components
    wide = many @ np.random.default_rng(1).standard_normal((TREE_DIMENSIONS + 1, LEAST_COLUMNS))
    graph = neighbor_graph(rows, 5)
    quick: dict[str, Any] = {"random_state": 0, "effort": 0.1}

    def fit(X: Any, **options: Any) -> HypHC:
        model = HypHC(**quick, **options).fit(X)
        model.predict(X[:3])
        return model

    kinds: dict[str, Callable[[], Any]] = {
        "table": lambda: fit(repeated),
        "table of many rows": lambda: fit(many),
        "table of many rows in single precision": lambda: fit(many.astype(np.float32)),
        "table of many rows and columns": lambda: neighbor_graph(wide, 5),
        "graph": lambda: fit(graph, metric="precomputed"),
        "matrix of similarities": lambda: fit(rows, metric="rbf"),
        "cosine": lambda: fit(rows, metric="cosine"),
        "cosine in single precision": lambda: fit(rows.astype(np.float32), metric="cosine"),
        "cosine of many rows in single precision": lambda: fit(many.astype(np.float32), metric="cosine"),
        "continuous method": lambda: HypHC(metric="cosine", refine=False, max_iter=20, random_state=0).fit(rows),
        "optimality gap": lambda: HypHC(**quick).fit(rows).optimality_gap(),
    }
    return kinds


def run_clear_cache(arguments: argparse.Namespace) -> None:
    """Remove the compiled kernels of the package, and print how many files and bytes were removed from where."""
    folders = sorted(set(cache_folders()))
    removed = {folder: _remove(folder) for folder in folders if folder.is_dir()}
    n_files, size = (sum(counts) for counts in zip((0, 0), *removed.values(), strict=True))
    if n_files:
        print(f"removed {n_files} file{'s' * (n_files > 1)} ({human_size(size)}) from {_common(folders)}")
    else:
        print(f"no compiled kernels in {_common(folders)}")


def cache_folders() -> Iterator[Path]:
    """Yield the folder in which numba keeps each kernel: beside its source, or where it may write instead."""
    for module in pkgutil.walk_packages(_kernels.__path__, f"{_kernels.__name__}."):
        for function in vars(importlib.import_module(module.name)).values():
            path = getattr(getattr(function, "stats", None), "cache_path", None)
            if path is not None:
                yield Path(path)


def _common(folders: list[Path]) -> str:
    """Return the deepest folder that contains all; without any, words for it."""
    if not folders:
        return "any folder: numba can write to none"
    parents = [folder for folder in (folders[0], *folders[0].parents) if all(f.is_relative_to(folder) for f in folders)]
    return str(parents[0])


def _remove(folder: Path) -> tuple[int, int]:
    """Remove compiled kernels; return the number of files and their bytes."""
    files = [path for path in folder.iterdir() if path.suffix in SUFFIXES]
    size = sum(path.stat().st_size for path in files)
    for path in files:
        path.unlink(missing_ok=True)
    return len(files), size

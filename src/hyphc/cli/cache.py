"""``hyphc clear-cache``: removal of the compiled kernels that numba keeps on disk."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

from .. import _kernels
from .outputs import human_size

SUFFIXES = (".nbi", ".nbc")  # numba's index of a function, and its machine code


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

"""``hyphc clear-cache``: removal of the compiled kernels that numba keeps on disk."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numba.core.caching
import numba.misc.appdirs

from .outputs import human_size

NUMBA: Any = numba  # its functions have no types
PACKAGE = Path(__file__).absolute().parents[1]  # links are not resolved: numba names folders after the path of import
SUFFIXES = (".nbi", ".nbc")  # numba's index of a function, and its machine code


def run_clear_cache(arguments: argparse.Namespace) -> None:
    """Remove the compiled kernels of the package, and print how many files and bytes were removed from where."""
    removed = {place: _remove(folders) for place, folders in cache_folders(PACKAGE).items()}
    for place, (n_files, size) in removed.items():
        if n_files:
            print(f"removed {n_files} file{'s' * (n_files > 1)} ({human_size(size)}) from {place}")
    if not any(n_files for n_files, _ in removed.values()):
        print(f"no compiled kernels in {', '.join(map(str, removed))}")


def cache_folders(package: Path) -> dict[Path, list[Path]]:
    """Return the places where numba may keep kernels of a package, and the folders of the package in each.

    Places that packages share have a folder for each folder of sources, named after its path.
    """
    sources = sorted({path.parent for path in package.rglob("*.py")})
    shared = [NUMBA.config.CACHE_DIR, NUMBA.misc.appdirs.user_cache_dir("numba", appauthor=False)]
    subpath = NUMBA.core.caching._CacheLocator.get_suitable_cache_subpath
    names = [subpath(str(folder / "module.py")) for folder in sources]
    found = {package: sorted(package.rglob("__pycache__"))}
    return found | {Path(place): [Path(place, name) for name in names] for place in shared if place}


def _remove(folders: list[Path]) -> tuple[int, int]:
    """Remove compiled kernels; return the number of files and their bytes."""
    files = [path for folder in folders if folder.is_dir() for path in folder.iterdir() if path.suffix in SUFFIXES]
    size = sum(path.stat().st_size for path in files)
    for path in files:
        path.unlink(missing_ok=True)
    return len(files), size

"""Expression of 765 genes in 700 blood cells, the file that scanpy's wheel brings; it is read where it lies, never kept here."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
from hyphc.datasets.load import homes

FILE = "10x_pbmc68k_reduced.h5ad"


def blood_cells() -> npt.NDArray[np.float64]:
    """Scaled expression (700, 765); from ``pbmc68k_reduced/`` of HYPHC_DATA, else from scanpy, which need not be importable."""
    package = find_spec("scanpy")
    folders = [home / "pbmc68k_reduced" for home in homes(None)]
    folders += [Path(place) / "datasets" for place in (package.submodule_search_locations or [])] if package else []
    path = next((folder / FILE for folder in folders if (folder / FILE).is_file()), None)
    if path is None:
        raise FileNotFoundError(f"{FILE} was not found; run: pip install --no-deps scanpy, and pip install h5py.")
    import h5py

    with h5py.File(path) as file:
        return np.asarray(file["X"][:], dtype=np.float64)

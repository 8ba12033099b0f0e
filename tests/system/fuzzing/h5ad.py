"""AnnData files that are valid HDF5 with unexpected content: HDF5's own library does not return from some damaged files.

An input is a list of changes of four bytes each: the object of a valid file, the change, the value and the attribute.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp

from .seeds import table

STEP = 4  # bytes of a change
_VALUES: tuple[Any, ...] = (
    0, -1, 2**40, np.nan, np.inf, 1e300, "", "x", "csr_matrix", "categorical", "0.0.0", "nullable-integer", True,
    np.arange(3), np.arange(-3, 3), np.zeros((2, 2)), np.full((6, 3), np.nan), np.zeros((0, 3)), np.zeros(6, "c16"),
    np.array([7, 9, 2**40]), np.array([b"\xff", b"a\nb"]), np.zeros((6, 3, 2)), np.ones((6, 3), "?"), np.zeros(6, "f2"),
)  # fmt: skip
_ATTRIBUTES = ("encoding-type", "encoding-version", "shape", "_index", "column-order", "ordered", "categories")


@cache
def _valid_file(sparse: bool) -> bytes:
    import anndata
    import pandas as pd

    names = [f"cell {k}" for k in range(6)]
    obs = pd.DataFrame({"type": pd.Categorical(list("aabbab")), "n": range(6)}, index=names)
    X = sp.csr_matrix(table()) if sparse else table()
    data = anndata.AnnData(X, obs=obs, obsm={"X_pca": table()[:, :2]})
    with TemporaryDirectory() as folder:
        data.write_h5ad(Path(folder) / "whole.h5ad")
        return (Path(folder) / "whole.h5ad").read_bytes()


def seeds() -> list[bytes]:
    """Return inputs that change nothing in a table and in a sparse matrix, and a few that change something."""
    return [bytes(STEP), b"\x01" + bytes(STEP - 1), bytes(range(3 * STEP)), bytes(range(1, 60, 5))]


def build_h5ad(content: bytes) -> bytes:
    """Return the file after all changes; the first byte selects the file, and the first change is skipped."""
    import h5py

    image = io.BytesIO(_valid_file(sparse=bool(content[:1]) and content[0] % 2 == 1))
    with h5py.File(image, "r+") as file:
        for begin in range(STEP, min(len(content), 8 * STEP), STEP):
            _change(file, *content[begin : begin + STEP].ljust(STEP, b"\0"))
    return image.getvalue()


def _change(file: Any, place: int, what: int, value: int, attribute: int) -> None:
    found: list[str] = []
    file.visit(found.append)
    if found:
        name, to = found[place % len(found)], _VALUES[value % len(_VALUES)]
        _CHANGES[what % len(_CHANGES)](file, name, to, _ATTRIBUTES[attribute % len(_ATTRIBUTES)])


def _remove(file: Any, name: str, value: Any, attribute: str) -> None:
    del file[name]


def _replace(file: Any, name: str, value: Any, attribute: str) -> None:
    """Replace an object by an array that keeps its attributes."""
    kept = dict(file[name].attrs)
    del file[name]
    file[name] = value
    file[name].attrs.update(kept)


def _replace_by_group(file: Any, name: str, value: Any, attribute: str) -> None:
    kept = dict(file[name].attrs)
    del file[name]
    file.create_group(name).attrs.update(kept)


def _set_attribute(file: Any, name: str, value: Any, attribute: str) -> None:
    file[name].attrs[attribute] = value


def _remove_attribute(file: Any, name: str, value: Any, attribute: str) -> None:
    if attribute in file[name].attrs:
        del file[name].attrs[attribute]


_CHANGES: tuple[Callable[[Any, str, Any, str], None], ...] = (
    _remove,
    _replace,
    _replace,
    _replace_by_group,
    _set_attribute,
    _set_attribute,
    _remove_attribute,
)

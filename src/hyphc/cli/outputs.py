"""What commands write: places that can be written to, told before the work, and flat clusters as CSV."""

from __future__ import annotations

import csv
import io
import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt


def require_writable_folder(folder: Path) -> None:
    """Raise now rather than after the work when the folder cannot be made or written to."""
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        raise ValueError(f"{existing} is a file and no folder; choose another --output.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise ValueError(f"{existing} may not be written to by you; choose another --output.")


def require_writable_file(path: Path) -> None:
    """Raise now when a file cannot be put there."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file.")
    if not path.parent.is_dir():
        raise ValueError(f"the folder {path.parent} does not exist; make it, or choose another file.")
    require_writable_folder(path.parent)


_NO_TEXT = (".xls", ".ods", ".parquet", ".feather", ".npy", ".npz", ".h5ad", ".json")  # formats that CSV is not


def require_table_suffix(path: Path) -> None:
    """Raise now when the extension promises what is not written: clusters are CSV, or Excel's .xlsx."""
    suffix = path.suffix.lower()
    if suffix in _NO_TEXT:
        raise ValueError(f"{path} ends in {suffix}; end it in .csv or .xlsx.")
    if suffix == ".xlsx" and find_spec("openpyxl") is None:
        raise ValueError(f"{path} is an Excel file, which needs openpyxl; run: pip install 'hyphc[excel]'.")


def excel_of(text: str) -> bytes:
    """A table of CSV as a workbook of one sheet; whole numbers are numbers there, and nothing is a formula."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet("clusters")
    for row in csv.reader(io.StringIO(text)):
        cells = [WriteOnlyCell(sheet) for _ in row]
        for cell, value in zip(cells, row, strict=True):
            cell.value = int(value) if value.isdecimal() else value
            cell.data_type = "n" if value.isdecimal() else "s"  # text that begins with = stays text
        sheet.append(cells)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def clusters_csv(
    clusters: npt.NDArray[np.int64],
    names: tuple[str, ...] | None,
    labels: tuple[str, ...] | None = None,
    support: npt.NDArray[np.float64] | None = None,
    rows: tuple[int, ...] | None = None,
) -> str:
    """Rows in their original order, numbered from 1, with their names, clusters and labels, as CSV.

    ``rows`` are their numbers where some were left out.
    ``support`` says how sure the cluster of each row is; empty where nothing is known.
    """
    sure = None if support is None else ["" if np.isnan(value) else f"{value:.4g}" for value in support.tolist()]
    columns = {
        "row": range(1, len(clusters) + 1) if rows is None else rows,
        "name": names,
        "cluster": clusters.tolist(),
        "label": labels,
        "support": sure,
    }
    present = {title: values for title, values in columns.items() if values is not None}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(present)
    writer.writerows(zip(*present.values(), strict=True))
    return text.getvalue()

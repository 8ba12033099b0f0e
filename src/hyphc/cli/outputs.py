"""Output of commands: checks that files can be written, staging, flat clusters as CSV or Excel, notes and warnings."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._runtime.folder_lock import FolderLock
from .._runtime.sanitize import cell, truncate, visible
from .._runtime.storage import is_address
from ..io.sources import require_package

if TYPE_CHECKING:
    from ..io import Points

STAGE = ".new."  # prefix of staging folders
WAIT = 60.0  # seconds to wait for another process that moves its files to the same folder
_NOTE_WIDTH = 106  # characters; with the column before it, a line of 120


def require_writable_folder(folder: Path) -> None:
    """Raise before the work if the folder cannot be created or written to."""
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        raise ValueError(f"{existing} is a file and no folder; choose another --output.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise ValueError(f"{existing} may not be written to by you; choose another --output.")


def require_writable_file(path: Path) -> None:
    """Raise before the work if the file cannot be written."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file.")
    if not path.parent.is_dir():
        raise ValueError(f"the folder {path.parent} does not exist; make it, or choose another file.")
    require_writable_folder(path.parent)


@contextmanager
def staging_folder(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder inside ``folder``; its files move up if the block succeeds, and are removed otherwise.

    Inside, since that is the same disk, and the one place that must be writable. Two processes move their files one after the
    other, never in turns. What a process that was killed has left here is removed.
    """
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FolderLock.acquire(folder, wait=WAIT) or FolderLock(None):
            _remove_orphans(folder)
            stage = Path(tempfile.mkdtemp(dir=folder, prefix=STAGE))
            own = FolderLock.acquire(stage) or FolderLock(None)
        try:
            yield stage
            with FolderLock.acquire(folder, wait=WAIT) or FolderLock(None):
                own.release()  # the lock is a file in the folder; the lock of the parent prevents removal as an orphan
                for file in sorted(stage.iterdir()):
                    os.replace(file, folder / file.name)
            made.clear()
        finally:
            own.release()
            shutil.rmtree(stage, ignore_errors=True)
    finally:
        for parent in made:
            with suppress(OSError):  # another process has written there
                parent.rmdir()


def _remove_orphans(folder: Path) -> None:
    """Remove staging folders of processes that no longer exist: their lock is free."""
    for stage in folder.glob(f"{STAGE}*"):
        lock = FolderLock.acquire(stage)
        if lock is not None:
            lock.release()
            shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def report_kept_checkpoint(place: str | Path | None) -> Iterator[None]:
    """If an interrupt ends the block, print that the checkpoint is kept, its size, and how to resume."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        files = [] if place is None or is_address(str(place)) else Path(place).rglob("*")
        size = sum(path.stat().st_size for path in files if path.is_file())
        if str(interrupt) or place is None or not (size or is_address(str(place))):
            raise
        large = f" ({human_size(size)})" if size else ""
        raise type(interrupt)(
            f"no result was written, but the checkpoint was kept in {place}{large}: the same command resumes from it"
        ) from None


def human_size(n_bytes: int) -> str:
    """Return a number of bytes in a unit that suits it."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} bytes"


_WHOLE = re.compile("0|[1-9][0-9]{0,14}")  # more digits than 15 are lost in a sheet
_NO_TEXT = (".xls", ".ods", ".parquet", ".feather", ".npy", ".npz", ".h5ad", ".json")  # formats that CSV is not


def require_suffix(path: Path, *allowed: str) -> None:
    """Raise unless the extension is one of these."""
    if path.suffix.lower() not in allowed:
        one_of = f"one of {', '.join(allowed)}" if len(allowed) > 2 else " or ".join(allowed)
        raise ValueError(f"{path} ends in {path.suffix or 'no extension'}; end it in {one_of}.")


def require_table_suffix(path: Path) -> None:
    """Raise unless the extension may be that of CSV, or is that of Excel's .xlsx."""
    if path.suffix.lower() in _NO_TEXT:
        require_suffix(path, ".csv", ".xlsx")
    if path.suffix.lower() == ".xlsx":
        require_package(str(path), "an Excel file", "openpyxl", "excel")


def format_excel(clusters: npt.NDArray[np.int64], names: tuple[str, ...] | None) -> bytes:
    """Return the clusters as a workbook of one sheet; integers are numbers, and no cell is a formula."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet("clusters")
    columns = _columns(clusters, names)
    for row in [tuple(columns), *zip(*columns.values(), strict=True)]:
        cells = [WriteOnlyCell(sheet) for _ in row]
        for place, value in zip(cells, map(str, row), strict=True):
            whole = _WHOLE.fullmatch(value) is not None
            place.value = int(value) if whole else visible(value)
            place.data_type = "n" if whole else "s"  # text that begins with = stays text
        sheet.append(cells)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def format_csv(
    clusters: npt.NDArray[np.int64],
    names: tuple[str, ...] | None,
    labels: tuple[str, ...] | None = None,
    support: npt.NDArray[np.float64] | None = None,
    rows: tuple[int, ...] | None = None,
    cluster_names: tuple[str, ...] | None = None,
    **numbers: npt.NDArray[np.float64],
) -> str:
    """Return rows in their original order, numbered from 1, with names, clusters and labels, as CSV.

    ``rows`` are their numbers where some were left out. Spreadsheets would compute a name like ``=1+2``: such text gets an
    apostrophe before it. ``support`` is that of each row's cluster; empty where unknown. ``cluster_names`` are
    those of clusters 0, 1, …; ``numbers`` are further columns.
    """
    called, groups = (None if texts is None else tuple(map(cell, texts)) for texts in (names, labels))
    columns = _columns(clusters, called, rows) | ({} if groups is None else {"label": groups})
    if cluster_names is not None:  # the last for outliers, −1
        columns["cluster_name"] = [cell(visible((*cluster_names, "")[k])) for k in clusters.tolist()]
    figures = numbers if support is None else {"support": support, **numbers}
    columns |= {title: _format_number(values) for title, values in figures.items()}
    return write_csv(columns, zip(*columns.values(), strict=True))


def write_csv(header: Iterable[str], rows: Iterable[Iterable[object]], delimiter: str = ",") -> str:
    """Return a header and rows as CSV, or with another delimiter."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def _format_number(numbers: npt.NDArray[np.float64]) -> list[str]:
    """Return numbers in four digits, empty where unknown."""
    return ["" if np.isnan(value) else f"{value:.4g}" for value in numbers.tolist()]


def _columns(
    clusters: npt.NDArray[np.int64], names: Sequence[str] | None, rows: Sequence[int] | None = None
) -> dict[str, Sequence[int] | Sequence[str]]:
    columns = {"row": rows or range(1, len(clusters) + 1), "name": names, "cluster": clusters.tolist()}
    return {title: values for title, values in columns.items() if values is not None}


def print_warning(message: str) -> None:
    """Print a warning to standard error."""
    print(f"hyphc: {visible(message)}", file=sys.stderr)


def print_notes(points: Points, notes: Sequence[str]) -> None:
    """Print what was read and what was inferred."""
    print(f"{visible(points.source)}: {points.n} {'nodes' if points.kind == 'graph' else 'rows'}")
    for note in (*points.notes, *notes):
        print_note(note)


def print_note(note: str) -> None:
    """Print a note in two columns, its subject and its text."""
    what, _, text = visible(truncate(note)).partition(": ")
    lines = textwrap.wrap(text, _NOTE_WIDTH, break_long_words=False, break_on_hyphens=False) or [""]
    print(f"  {what:<11} " + f"\n{'':14}".join(lines))

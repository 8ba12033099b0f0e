"""Files of an out-of-core fit that later commands read: the top of the tree, and what ``hyphc predict`` needs."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._runtime.arrays import Ints
from .._runtime.numpy_files import damage_as_value_error, first_sentence, require_plausible
from .._runtime.storage import is_address
from ..fit.flat_cut import FlatCut
from ..io.columns import FittedColumns
from ..io.points import LARGEST
from ..out_of_core.job import Job
from ..out_of_core.labels import labels_stage, load_labels, predict_clusters
from ..out_of_core.row_sources import describe_file, file_described
from ..scores.differences import LeafMeans
from ..tree import Tree

FIT, TOP, TOP_COLUMNS = "fit.json", "top.npz", "top_columns.npz"
FORMAT = 1
_TEXTS = ("names", "others", "cluster_names")


@dataclass(frozen=True, eq=False)
class SavedFit:
    """A finished out-of-core fit: the job, its cut, and names of columns and clusters.

    ``n_columns`` is how many columns the fitted file had; ``names`` are those of the columns that were clustered by, and
    ``others`` of the others, None where columns have no names.
    """

    job: Job
    cut: FlatCut
    n_columns: int
    names: tuple[str, ...] | None
    others: tuple[str, ...] | None
    cluster_names: tuple[str, ...] | None

    def save(self, folder: Path, final: Path) -> None:
        """Write the description to a folder that moves to ``final``; a storage inside is stored relative to it."""
        place = str(self.job.storage)
        if not is_address(place) and Path(place).is_relative_to(final.resolve()):
            place = os.path.relpath(place, final.resolve())
        facts = {
            "format": FORMAT,
            "storage": place,
            "file": describe_file(self.job.source),
            "cut": asdict(self.cut),
            "n_columns": self.n_columns,
            **{name: getattr(self, name) for name in _TEXTS},
        }
        (folder / FIT).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> SavedFit:
        """Return the fit of a folder that ``hyphc fit`` wrote; raise if its checkpoint is gone or is that of another fit."""
        try:
            facts = json.loads((folder / FIT).read_text(encoding="utf-8"))
            if facts["format"] != FORMAT:
                raise ValueError("it was written by a later version")
            source, cut = file_described(**facts["file"]), FlatCut(**facts["cut"])
            columns = facts["file"]["columns"]
            texts = [_checked_texts(facts[name]) for name in _TEXTS]
            place, n_columns = str(facts["storage"]), _checked_count(facts["n_columns"])
            _check_columns(columns, n_columns, texts[0])
            storage = place if is_address(place) else str((folder / place).resolve())
            is_there = is_address(storage) or Path(storage).is_dir()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            raise ValueError(f"{folder / FIT} is damaged ({error}); fit again with the same --output.") from None
        if not is_there:
            raise ValueError(
                f"{folder / FIT}: new rows need the checkpoint {storage}, which is gone; fit again with the same --output."
            )
        try:
            fit = cls(Job.reopen(source, storage), cut, n_columns, *texts)
            fit.job.store.digest(labels_stage(cut).name)  # raises if the fit is not finished
            n_clusters = fit.n_clusters
        except (ValueError, OSError) as error:
            why = f"its checkpoint {storage} cannot be used ({first_sentence(error)})"
            raise ValueError(f"{folder / FIT}: {why}; fit again with the same --output.") from None
        if fit.cluster_names is not None and len(fit.cluster_names) != n_clusters:
            why = f"it has names of {len(fit.cluster_names)} clusters of {n_clusters}"
            raise ValueError(f"{folder / FIT} is damaged ({why}); fit again with the same --output.")
        return fit

    @property
    def columns(self) -> FittedColumns | int:
        """The columns that new rows must have, or their number if they have no names."""
        return self.n_columns if self.names is None else FittedColumns(self.names, others=self.others or ())

    @property
    def n_clusters(self) -> int:
        """The number of flat clusters."""
        return int(load_labels(self.job, self.cut).n_clusters)

    def predict(self, rows: Any) -> Ints:
        """Return the clusters of new rows with these columns, block by block."""
        chosen = self.job.source.columns if self.names is None else None  # type: ignore[union-attr]  # a file's
        step, found = self.job.block_rows, []
        for start in range(0, rows.shape[0], step):
            block: Any = rows[start : start + step]
            block = np.asarray(block.toarray() if hasattr(block, "toarray") else block, dtype=np.float64)
            found.append(predict_clusters(self.job, self.cut, block if chosen is None else block[:, list(chosen)]))
        return np.concatenate(found)


def _checked_texts(names: Any) -> tuple[str, ...] | None:
    """Return a list of texts as a tuple, None as it is; raise for anything else."""
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError("names are no list of texts")
    return None if names is None else tuple(names)


def _checked_count(count: Any) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ValueError(f"its number of columns is {count!r:.50}")
    return count


def _check_columns(columns: Any, n_columns: int, names: tuple[str, ...] | None) -> None:
    """Raise unless the columns that were clustered by are numbers of columns, or texts where columns have names."""
    for column in columns or ():
        is_number = isinstance(column, int) and not isinstance(column, bool) and 0 <= column < n_columns
        if not (is_number if names is None else isinstance(column, str)):
            raise ValueError(f"it has no column {column!r:.50}")


def save_top(folder: Path, tree: Tree, features: LeafMeans) -> None:
    """Write the top of a tree, and the column means of its leaves."""
    tree.save(folder / TOP)
    np.savez(folder / TOP_COLUMNS, columns=np.array(features.columns), means=features.means, scatter=features.scatter)


def load_top(path: str | Path) -> tuple[Tree, LeafMeans] | None:
    """Return the top of the tree of an out-of-core fit, with the column means of its leaves; None for any other path."""
    folder = Path(path)
    if not (folder / TOP).is_file():
        return None
    tree, file = Tree.load(folder / TOP), folder / TOP_COLUMNS
    try:
        with damage_as_value_error(), file.open("rb") as opened, np.load(opened, allow_pickle=False) as stored:
            require_plausible(stored, file.stat().st_size)
            columns, means, scatter = (stored[name] for name in ("columns", "means", "scatter"))
            if means.shape != (tree.n_leaves, columns.size) or scatter.shape != means.shape or columns.ndim != 1:
                raise ValueError(f"its arrays are of shapes {means.shape} and {scatter.shape}")
            if columns.dtype.kind != "U" or means.dtype != np.float64 or scatter.dtype != np.float64:
                raise ValueError(f"its arrays hold {columns.dtype}, {means.dtype} and {scatter.dtype}")
            if not (np.abs(means) <= LARGEST).all() or not (scatter >= 0.0).all() or np.isinf(scatter).any():
                raise ValueError("its means or their scatter are no numbers that rows have")
    except (ValueError, KeyError) as error:
        raise ValueError(f"{file} is damaged ({error}); fit again with the same --output.") from None
    return tree, LeafMeans(tuple(map(str, columns.tolist())), means, scatter)

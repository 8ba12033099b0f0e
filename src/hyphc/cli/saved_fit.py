"""Files of an out-of-core fit that later commands read: the top of the tree, and what ``hyphc predict`` needs."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._runtime.arrays import Ints
from .._runtime.numpy_files import damage_as_value_error, require_plausible
from .._runtime.storage import is_address
from ..fit.flat_cut import FlatCut
from ..io.columns import FittedColumns
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
        """Return the fit of a folder that ``hyphc fit`` wrote; raise if its checkpoint is gone."""
        try:
            facts = json.loads((folder / FIT).read_text(encoding="utf-8"))
            if facts["format"] != FORMAT:
                raise ValueError("it was written by a later version")
            source, cut = file_described(**facts["file"]), FlatCut(**facts["cut"])
            texts = [None if facts[name] is None else tuple(map(str, facts[name])) for name in _TEXTS]
            place, n_columns = str(facts["storage"]), int(facts["n_columns"])
            storage = place if is_address(place) else str((folder / place).resolve())
            is_there = is_address(storage) or Path(storage).is_dir()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            raise ValueError(f"{folder / FIT} is damaged ({error}); fit again with the same --output.") from None
        if not is_there:
            raise ValueError(
                f"new rows need the checkpoint {storage}, which is gone; fit again with the same --output."
            )
        job = Job.reopen(source, storage)
        job.store.digest(labels_stage(cut).name)  # raises if the fit is not finished
        return cls(job, cut, n_columns, *texts)

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
        with damage_as_value_error(), np.load(file, allow_pickle=False) as stored:
            require_plausible(stored, file.stat().st_size)
            columns, means, scatter = (stored[name] for name in ("columns", "means", "scatter"))
            if means.shape != (tree.n_leaves, len(columns)) or scatter.shape != means.shape:
                raise ValueError(f"its arrays are of shapes {means.shape} and {scatter.shape}")
    except (ValueError, KeyError) as error:
        raise ValueError(f"{file} is damaged ({error}); fit again with the same --output.") from None
    return tree, LeafMeans(tuple(map(str, columns.tolist())), means, scatter)

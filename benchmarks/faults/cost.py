"""What checkpoints cost: processor seconds of writing them beside those of the fit, states as often as by default."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from hyphc import HypHC, datasets
from hyphc.fit import resume

CASES = ("letter", "cora_ml")


def measured(case: str, effort: float) -> dict[str, Any]:
    """A fit whose kernels are compiled, with the seconds of all threads in it and in the writing of states."""
    data = datasets.load(case).data
    metric = "auto" if isinstance(data, np.ndarray) else "precomputed"
    HypHC(metric=metric, random_state=0, effort=0.1).fit(data)
    spent: list[float] = []
    save_if_due = resume.FitCheckpoint.save_if_due

    def timed(checkpoint: resume.FitCheckpoint, frame: Any, now: bool = False) -> None:
        begin, number = time.process_time(), checkpoint._number
        save_if_due(checkpoint, frame, now)
        if checkpoint._number > number:
            spent.append(time.process_time() - begin)

    resume.FitCheckpoint.save_if_due = timed  # type: ignore[method-assign]  # in a process of its own
    with tempfile.TemporaryDirectory() as folder:
        begin = time.process_time()
        model = HypHC(metric=metric, random_state=0, effort=effort, checkpoint=folder).fit(data)
        seconds = time.process_time() - begin
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    told = {"states": len(spent), "writing": sum(spent), "seconds": seconds, "bytes": size}
    return {**told, "effort": effort, "points": model.n_leaves_}

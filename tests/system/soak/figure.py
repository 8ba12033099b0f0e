"""Curves of long runs: memory and time against points added, memory against fits."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from benchmarks.harness.store import Store

from .suite import FITS, INSERTIONS


def draw_soak(store: Store, path: Path) -> None:
    """Three panels; nothing is drawn until both runs are stored."""
    grown, fits = ((store.of(task) or {}).get("records", []) for task in (INSERTIONS, FITS))
    if not (grown and fits):
        return
    figure, axes = plt.subplots(1, 3, figsize=(10.8, 3.4), layout="constrained")
    sizes = [record["size"] / 1e6 for record in grown]
    axes[0].plot(sizes, [record["memory_mb"] for record in grown], color="#0072B2")
    axes[0].set(xlabel="million points added", ylabel="memory, MB", title="partial_fit: memory")
    axes[1].plot(sizes, [record["seconds"] for record in grown], color="#D55E00")
    axes[1].set(
        xlabel="million points added", ylabel="processor seconds a batch", title="partial_fit: time of 10 000 points"
    )
    axes[2].plot([record["fits"] for record in fits], [record["memory_mb"] for record in fits], color="#009E73")
    axes[2].set(xlabel="fits", ylabel="memory, MB", title="fits in one process")
    for axis in axes:
        axis.set_ylim(0, 1.15 * axis.dataLim.y1)  # a flat curve is not the frame
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=130)
    plt.close(figure)

"""Triplets per second: losses in torch and the compiled kernel.

Value and gradient of the block loss and of the triplet loss.

All get the same points and similarities, one thread; torch in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import comb

import numpy as np
from hyphc.continuous import objective

from ..harness.markdown import table
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import Record, Task
from ..harness.timing import best_seconds

SOURCES = (*METHOD, "nn")
SIZES = (64, 128, 256)
TAU, RADIUS = 0.5, 5.0
TRIPLETS = 100_000


def tasks() -> list[Task]:
    return [Task("nn", str(m), "block", "losses") for m in SIZES]


def records(task: Task) -> Iterator[Record]:
    """Triplets a second of the three ways."""
    import torch
    from hyphc import nn

    torch.set_num_threads(1)
    m = int(task.case)
    yield {"n": m}
    rng = np.random.default_rng(0)
    angles, W = rng.uniform(-np.pi, np.pi, m), rng.random((m, m))
    W = 0.5 * (W + W.T)
    z = np.tanh(RADIUS / 2) * np.column_stack([np.cos(angles), np.sin(angles)])
    points = torch.tensor(z, dtype=torch.float32, requires_grad=True)
    weights, loss = torch.tensor(W, dtype=torch.float32), nn.HypHCLoss(TAU)
    size = min(TRIPLETS, comb(m, 3))
    triplets, similarities = nn.TripletSampler(W, random_state=0)(size)
    kernel = partial(objective.circle_block_objective, angles, RADIUS, W, TAU)
    yield {
        "triplets": size / best_seconds(lambda: loss(points, triplets, similarities).backward(), 10),
        "block": comb(m, 3) / best_seconds(lambda: loss.block(points, weights).backward(), 10),
        "kernel": comb(m, 3) / best_seconds(kernel, 10),
    }


def losses_table(store: Store) -> str:
    rows = []
    for m in SIZES:
        result = store.get("nn", str(m), "block", "losses")
        for record in (result or {}).get("records", []):
            rates = [f"{record[way]:.2g}" for way in ("triplets", "block", "kernel")]
            rows.append([str(m), *rates, f"{record['block'] / record['triplets']:.0f}"])
    header = ["points", "explicit triplets, a second", "block loss", "compiled kernel", "block / explicit"]
    return table(header, rows, "nn")


TABLES: dict[str, Callable[[Store], str]] = {"losses": losses_table}

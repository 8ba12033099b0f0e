"""``hyphc fit`` of rows beyond memory or one machine: by parts, on workers of a cluster or of this machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..pipeline.from_disk import n_bytes
from .common import print_note
from .known import COLUMNS

# What a fit by parts has no answer for.
LEFT_OUT: tuple[str, ...] = (
    "features",
    "labels",
    "names",
    "precomputed",
    "distances",
    "graph",
    "standardize",
    "time_budget",
)
LEFT_OUT += (*COLUMNS, "constraint_tree")
SCALES: dict[str | None, str | bool] = {None: "auto", "auto": "auto", "yes": True, "no": False}


def run_fit_by_parts(arguments: argparse.Namespace, folder: Path) -> None:
    """Fit, and write the tree and its clusters to the folder; begun again, it goes on where it stopped."""
    _check_usage(arguments)
    from ..dask import DaskHypHC

    with _client(arguments) as client:
        model = DaskHypHC(
            arguments.n_clusters,
            metric=arguments.metric or "auto",
            n_neighbors=arguments.n_neighbors,
            scale=SCALES[arguments.scale],
            background=arguments.background,
            criterion=arguments.criterion or "dasgupta",
            min_size=arguments.min_size or 1,
            effort=arguments.effort,
            random_state=arguments.seed,
            storage=arguments.checkpoint or folder / "checkpoint",
            verbose=1,
            client=client,
        )
        model.fit(arguments.file)
    _write(model, folder)


def _check_usage(arguments: argparse.Namespace) -> None:
    if arguments.scheduler is not None and (arguments.workers is not None or arguments.memory is not None):
        raise ValueError("--scheduler brings workers of its own; leave out --workers and --memory.")
    given = [name for name in LEFT_OUT if getattr(arguments, name)]
    if given:
        option = given[0].replace("_", "-")
        raise ValueError(f"--{option} cannot be used with a fit by parts; all columns of numbers are clustered by.")


@contextmanager
def _client(arguments: argparse.Namespace) -> Iterator[Any]:
    """A client of the scheduler given, or of workers on this machine, closed at the end."""
    from distributed import Client, LocalCluster

    if arguments.scheduler is not None:
        with Client(arguments.scheduler) as client:
            print_note(f"cluster: {arguments.scheduler}, dashboard {client.dashboard_link or 'off'}")
            yield client
        return
    workers = {"n_workers": arguments.workers or 1, "threads_per_worker": 1, "host": "127.0.0.1"}
    memory = {} if arguments.memory is None else {"memory_limit": int(n_bytes(arguments.memory))}
    with LocalCluster(**workers, **memory, dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client:
        print_note(f"workers: {workers['n_workers']} on this machine, dashboard {client.dashboard_link or 'off'}")
        yield client


def _write(model: Any, folder: Path) -> None:
    """The labels beside the checkpoint, which holds the tree."""
    np.save(folder / "labels.npy", model.labels_.compute(scheduler="threads"))
    print(f"\n{model.n_leaves_} rows, {model.n_clusters_} clusters, Dasgupta's cost {model.cost_:.8g}")
    print(f"wrote {folder}: labels.npy, and {model.storage_}/tree (hyphc.Tree.load opens it)", file=sys.stdout)

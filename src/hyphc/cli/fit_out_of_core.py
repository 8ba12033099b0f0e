"""``hyphc fit`` out of core, on Dask workers of a cluster or of this machine."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .._runtime.memory import n_bytes
from ..io.block_columns import BlockColumns, read_block_columns
from ..io.columns import ColumnSelection
from ..out_of_core.job import METRICS
from .common import auto_parameters, cluster_parameters, name_options, nuisance_notes
from .options import given_options
from .out_of_core_files import FinishedFit, write_folder
from .outputs import print_note, report_kept_checkpoint
from .report import print_rows

# Options that an out-of-core fit supports. Every other option of the parser is refused, so that none is ignored.
CARRIED_OUT = frozenset({"file", "features", "exclude", "labels", "metric", "n_neighbors", "scale", "background"})
CARRIED_OUT |= {"standardize", "n_clusters", "criterion", "min_size", "effort", "seed", "checkpoint", "output"}
CARRIED_OUT |= {"outliers", "workers", "memory", "scheduler"}
CARRIED_OUT |= {"preset", "width", "height", "font_size", "format", "palette", "colors"}
# Reasons for refusing an option, where there is a specific one.
_REASONS = {
    "annotate": "pictures show groups of rows; leave the column out with --exclude",
    "names": "results are in the order of the rows; leave the column out with --exclude",
    "categories": "only numbers are read block by block; write the category as columns of 0 and 1",
    "drop_missing": "write the file without rows that miss a value",
    "impute": "write the file with the values filled in",
}
_OTHERWISE = "leave it out, or fit in memory, without --workers, --memory and --scheduler"


def run_fit_out_of_core(arguments: argparse.Namespace, folder: Path) -> None:
    """Fit, and write the tree and its clusters to the folder; resume if a checkpoint is there."""
    check_out_of_core(arguments)
    with name_options():
        wanted = ColumnSelection(arguments.features, arguments.labels, exclude=arguments.exclude, in_memory=False)
        chosen = read_block_columns(arguments.file, wanted)
    notes = _print_columns(arguments, chosen)
    folder.mkdir(parents=True, exist_ok=True)
    storage = arguments.checkpoint or folder / "checkpoint"
    try:
        with report_kept_checkpoint(storage), _client(arguments) as client:
            model = _fit_model(arguments, chosen, storage, client)
            _write(model, chosen, notes, folder, arguments)
    finally:
        with suppress(OSError):  # it holds something
            folder.rmdir()


def check_out_of_core(arguments: argparse.Namespace) -> None:
    """Exit with a usage error for each given option that an out-of-core fit does not support."""
    error = arguments.parser.error
    if arguments.scheduler is not None and (arguments.workers is not None or arguments.memory is not None):
        error("--scheduler brings workers of its own; leave out --workers and --memory")
    for option, flag in given_options(arguments).items():
        if option not in CARRIED_OUT:
            error(f"{flag} cannot be used with an out-of-core fit: {_REASONS.get(option, _OTHERWISE)}")
    metric = arguments.metric or "auto"
    if metric not in METRICS:
        error(f"--metric {metric} cannot be fitted out of core; choose {' or '.join(METRICS)}")
    for option in ("n_neighbors", "standardize"):
        if metric != "auto" and getattr(arguments, option):
            error(f"--{option.replace('_', '-')} goes with --metric auto in an out-of-core fit; leave it out")


def _print_columns(arguments: argparse.Namespace, chosen: BlockColumns) -> tuple[str, ...]:
    """Print what is read, and return the notes."""
    print(f"{arguments.file}: {chosen.rows.shape[0]} rows")
    notes = list(chosen.notes)
    if arguments.features is None:
        notes += nuisance_notes(chosen.columns, chosen.head(), " or compare the clusters with it by --labels")
    for note in notes:
        print_note(note)
    return tuple(notes)


def _fit_model(arguments: argparse.Namespace, chosen: BlockColumns, storage: str | Path, client: Any) -> Any:
    from ..dask import DaskHypHC

    return DaskHypHC(
        metric=arguments.metric or "auto",
        storage=storage,
        verbose=1,
        client=client,
        **auto_parameters(arguments),
        **cluster_parameters(arguments),
    ).fit(chosen.rows)


@contextmanager
def _client(arguments: argparse.Namespace) -> Iterator[Any]:
    """Yield a client of the given scheduler, or of workers on this machine, and close it at the end."""
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


def _write(
    model: Any, chosen: BlockColumns, notes: tuple[str, ...], folder: Path, arguments: argparse.Namespace
) -> None:
    """Write all that is known of the tree beside the checkpoint, and print a summary."""
    finished = FinishedFit(arguments, chosen, model._job_, model._fitted_cut_, notes)
    print(f"\n{model.n_leaves_} rows, {model.n_clusters_} clusters")
    print_rows(finished.score_rows())
    names = write_folder(finished, folder)
    print(f"\nwrote {folder}: {', '.join(names)}; the checkpoint, which new rows need, is {model.storage_}")
    print(f"open {folder / 'explorer.html'} in a browser; {folder / 'report.md'} sums it up")

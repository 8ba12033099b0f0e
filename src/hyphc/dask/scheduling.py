"""Run the tasks of an out-of-core fit on a Dask cluster, or on Dask's threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from uuid import uuid4

import dask
from distributed import Client, default_client

from .._runtime.shard_store import MANIFEST, naming_storage
from .._runtime.storage import Storage, as_storage_folder
from ..out_of_core.stages import Executor, Listener, Stage
from .waiting import wait_for

# Dask reruns tasks of lost workers by itself; a task that raised is retried this often: a storage may be slow to show what
# another machine wrote.
RETRIES = 2


def find_client(client: Client | None) -> Client | None:
    """Return the client given, else the default one, else None."""
    if client is not None:
        return client
    try:
        found: Client = default_client()
    except ValueError:
        return None
    return found


def make_dask_executor(client: Client | None, report: Listener) -> Executor:
    """Return an executor on a client's workers; without a client, on Dask's threads in this process."""
    return partial(_run_on_threads if client is None else partial(_run_on_cluster, client), report)


def _run_on_cluster(client: Client, report: Listener, task: Callable[[int], None], count: int, stage: Stage) -> None:
    report(stage.title, 0, count, stage.begins)
    # unique keys: the scheduler may still hold tasks of an earlier fit
    keys = [f"hyphc-{stage.name}-{uuid4().hex[:8]}-{number}" for number in range(count)]
    futures = client.map(task, range(count), key=keys, pure=False, retries=RETRIES)
    wait_for(client, futures, lambda done: report(stage.title, done, count, stage.done(done, count)))


def _run_on_threads(report: Listener, task: Callable[[int], None], count: int, stage: Stage) -> None:
    report(stage.title, 0, count, stage.begins)
    dask.compute(*(dask.delayed(task)(number) for number in range(count)), scheduler="threads")
    report(stage.title, count, count, stage.ends)


def require_visible(client: Client | None, storage: Storage) -> None:
    """Raise unless every worker can read the storage."""
    seen = {} if client is None else client.run(_sees_storage, storage)
    blind = sorted(worker for worker, found in seen.items() if not found)
    if blind:
        raise OSError(
            f"storage={str(storage)!r} is not seen by {blind[0]}{f' and {len(blind) - 1} more' if len(blind) > 1 else ''}; "
            "give a folder or an address that this machine and all workers share."
        )


def _sees_storage(storage: Storage) -> bool:
    with naming_storage(storage):
        return as_storage_folder(storage).exists(MANIFEST)
